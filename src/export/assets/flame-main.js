/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of mouse, keyboard and window, and the start of the page. */

function nameOf(app, box) {
	const item = box.node === NARROW ? -1 : box.layer.tree.item[box.node];
	return item < 0 ? '' : app.profile.items.name[item];
}

function boxAt(app, event) {
	const rect = $('canvas').getBoundingClientRect();
	return app.view.at(event.clientX - rect.left, event.clientY - rect.top);
}

function showOutline(box) {
	const outline = $('outline');
	outline.hidden = !box;
	if (!box) return;
	Object.assign(outline.style, {
		left: box.x - 1 + 'px',
		top: box.top - 1 + 'px',
		width: Math.max(box.w, 2) + 1 + 'px',
		height: ROW + 1 + 'px',
	});
}

function listenPointer(app) {
	const scroll = $('scroll');
	const clear = () => {
		app.hover = null;
		$('tooltip').hidden = true;
		showOutline(app.cursor);
	};
	scroll.addEventListener('mousemove', event => {
		const box = boxAt(app, event);
		if (!box || !$('menu').hidden) {
			clear();
			return;
		}
		if (app.hover?.node !== box.node || app.hover?.layer !== box.layer || app.hover?.x !== box.x) {
			app.hover = box;
			fillTooltip(app.view, box, app.top);
			showOutline(box);
		}
		placeTooltip(event.clientX, event.clientY);
	});
	scroll.addEventListener('mouseleave', clear);
	scroll.addEventListener('scroll', () => {
		clear();
		app.view.redraw();
	});
	scroll.addEventListener('click', event => {
		const box = boxAt(app, event);
		if (box) app.zoomTo(box);
	});
	scroll.addEventListener('dblclick', event => {
		const box = boxAt(app, event);
		if (box && nameOf(app, box)) copyText(nameOf(app, box));
	});
	scroll.addEventListener('contextmenu', event => {
		const box = boxAt(app, event);
		if (!box || !nameOf(app, box)) return;
		event.preventDefault();
		showMenu(app, box, event.clientX, event.clientY);
	});
}

function showMenu(app, box, x, y) {
	const { items } = app.profile;
	const { tree } = box.layer;
	const item = tree.item[box.node],
		fn = items.fn[item];
	const entry = (text, run) =>
		make(
			'button',
			{
				role: 'menuitem',
				onclick: () => {
					$('menu').hidden = true;
					run();
				},
			},
			text,
		);
	const stack = () =>
		pathOf(tree, box.node)
			.map(i => items.name[i])
			.join('\n');
	$('tooltip').hidden = true;
	$('menu').replaceChildren(
		...[
			entry('Copy name', () => copyText(items.name[item])),
			entry('Copy stack', () =>
				copyText(stack(), 'the stack, ' + plural(tree.depth[box.node], 'frame')),
			),
			fn >= 0
				? entry('Highlight this function', () => app.change({ fn, query: '' }, 'look'))
				: null,
			fn >= 0
				? entry('Callers and callees', () =>
						app.change({ fn, sandwich: true, query: '' }, 'tree', true),
					)
				: null,
			entry('Search this name', () =>
				app.change({ query: items.name[item], regex: false }, 'look'),
			),
		].filter(Boolean),
	);
	$('menu').hidden = false;
	const { width, height } = $('menu').getBoundingClientRect();
	$('menu').style.left = Math.min(x, innerWidth - width - 8) + 'px';
	$('menu').style.top = Math.min(y, innerHeight - height - 8) + 'px';
	$('menu').firstChild.focus();
}

/* ---- keyboard ------------------------------------------------------------------------------- */

function setCursor(app, layer, node) {
	const box = node > EMPTY ? app.view.place(layer, node) : null;
	if (!box) return;
	const scroll = $('scroll');
	app.cursor = box;
	if (box.top < scroll.scrollTop || box.top + ROW > scroll.scrollTop + scroll.clientHeight)
		scroll.scrollTop = box.top - scroll.clientHeight / 2;
	showOutline(box);
	fillTooltip(app.view, box, app.top);
	const rect = $('canvas').getBoundingClientRect();
	placeTooltip(rect.left + box.x + Math.min(box.w / 2, 200), rect.top + box.top - scroll.scrollTop + ROW / 2);
	$('spoken').textContent = $('tooltip').textContent;
}

/* Next or previous box of the same row. */
function sideways(app, step) {
	const { layer, node } = app.cursor;
	for (const level of layer.levels) {
		const at = level.nodes.indexOf(node);
		for (let i = at + step; at >= 0 && i >= 0 && i < level.nodes.length; i += step) {
			if (level.nodes[i] !== NARROW) return level.nodes[i];
		}
	}
	return EMPTY;
}

function widestChild(layer, node) {
	const { tree } = layer;
	let best = EMPTY;
	for (let c = tree.first[node]; c !== EMPTY; c = tree.next[c]) {
		if (best === EMPTY || tree.weight[c] > tree.weight[best]) best = c;
	}
	return best;
}

function moveCursor(app, key) {
	const down = (key === 'ArrowDown') !== app.state.flip;
	if (!app.cursor) {
		const layer = app.view.layers[app.view.layers.length - 1];
		setCursor(app, layer, layer.root);
		return;
	}
	const { layer, node } = app.cursor;
	if (key === 'ArrowLeft' || key === 'ArrowRight')
		setCursor(app, layer, sideways(app, key === 'ArrowLeft' ? -1 : 1));
	else if (down === layer.direction > 0) setCursor(app, layer, widestChild(layer, node));
	else setCursor(app, layer, layer.tree.parent[node]);
}

function typing(event) {
	return event.target.matches?.('input, select, textarea');
}

function listenKeys(app) {
	const keys = {
		'/': () => $('search').select(),
		i: () => app.changeHead({ invert: !app.state.invert, zoom: [] }),
		f: () => app.change({ flip: !app.state.flip }, 'look'),
		k: () => $('kind-split').click(),
		n: () => $('native').click(),
		w: () => app.profile.isDiff && app.change({ widths: app.state.widths === 'a' ? 'b' : 'a' }, 'zoom'),
		p: () => $('panel-toggle').click(),
		t: () => $('theme').click(),
		r: () => app.reset(),
		'?': () => $('help').click(),
		c: () => {
			const box = app.cursor ?? app.hover;
			if (box && nameOf(app, box)) copyText(nameOf(app, box));
		},
	};
	document.addEventListener('keydown', event => {
		if (
			(event.ctrlKey || event.metaKey) &&
			event.key === 'f' &&
			document.activeElement !== $('search')
		) {
			event.preventDefault(); /* a second Ctrl-F is the browser's own */
			$('search').select();
			return;
		}
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === 'Escape') {
			event.preventDefault();
			if (typing(event)) event.target.blur();
			app.escape();
		} else if (!typing(event) && keys[event.key]) {
			event.preventDefault();
			keys[event.key]();
		}
	});
	$('scroll').addEventListener('keydown', event => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key.startsWith('Arrow')) {
			event.preventDefault();
			moveCursor(app, event.key);
		} else if (event.key === 'Enter' && app.cursor) {
			const { layer, node } = app.cursor;
			app.zoomTo(app.cursor);
			if (!app.state.sandwich)
				setCursor(app, app.view.layers[0], layer.tree === app.tree ? node : EMPTY);
		}
	});
}

/* ---- controls ------------------------------------------------------------------------------- */

function listenControls(app) {
	const flipFlag = (id, key, what) =>
		$(id).addEventListener('click', () => app.change({ [key]: !app.state[key] }, what));
	$('by').addEventListener('change', () => app.changeHead({ by: $('by').value }));
	$('kind-split').addEventListener('click', () => app.changeHead({ kinds: !app.state.kinds }));
	$('native').addEventListener('click', () => app.changeHead({ native: !app.state.native }));
	$('invert').addEventListener('click', () => app.changeHead({ invert: !app.state.invert }));
	flipFlag('flip', 'flip', 'look');
	flipFlag('regex', 'regex', 'look');
	$('reset').addEventListener('click', () => app.reset());
	$('widths').addEventListener('click', event => {
		if (event.target.dataset.width) app.change({ widths: event.target.dataset.width }, 'zoom');
	});
	$('search').addEventListener('input', () => app.change({ query: $('search').value }, 'look'));
	$('theme').addEventListener('click', () => {
		const theme = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
		try {
			localStorage.setItem('ebeam-theme', theme);
		} catch {
			/* no storage here: the choice lasts as long as the page */
		}
		app.setTheme(theme);
		app.update('look');
	});
	$('panel-toggle').addEventListener('click', () => showPanel(app, $('panel').classList.contains('closed')));
	for (const tab of ['functions', 'processes']) {
		$('tab-' + tab).addEventListener('click', () => {
			app.tab = tab;
			app.showPanel();
		});
	}
	for (const [button, card] of [
		['health', 'health-card'],
		['help', 'help-card'],
	]) {
		$(button).addEventListener('click', event => {
			const show = $(card).hidden;
			event.stopPropagation();
			app.closePopovers();
			$(card).hidden = !show;
			if (button === 'health') $(button).setAttribute('aria-expanded', String(show));
		});
	}
	document.addEventListener('click', event => {
		if (!event.target.closest('.popover, #menu')) app.closePopovers();
	});
}

function showPanel(app, open) {
	$('panel').classList.toggle('closed', !open);
	$('panel-toggle').setAttribute('aria-pressed', String(open));
	app.view.layout();
	showOutline(null);
}

function listenWindow(app) {
	new ResizeObserver(() => app.view.layout()).observe($('scroll'));
	window.addEventListener('popstate', () => {
		app.readHash();
		app.update('tree');
	});
	window.addEventListener('hashchange', () => {
		app.readHash();
		app.update('tree');
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => {
		app.setTheme(event.matches ? 'dark' : 'light');
		app.update('look');
	});
}

function firstTheme() {
	let stored = null;
	try {
		stored = localStorage.getItem('ebeam-theme');
	} catch {
		/* no storage here */
	}
	if (stored === 'dark' || stored === 'light') return stored;
	return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

function showHelp(profile) {
	const list = make('dl');
	for (const [key, text] of HELP) list.append(make('dt', {}, make('kbd', {}, key)), make('dd', {}, text));
	$('help-card').append(make('h2', {}, 'Keys'), list);
	const { version } = profile.meta.values;
	$('help-card').append(make('p', {}, 'Recorded by ebeam' + (version ? ' ' + version : '') + '.'));
}

/* For tests and for the browser's console: where a name is drawn, and what is on screen. */
function expose(app) {
	window.ebeam = {
		profile: app.profile,
		state: () => app.state,
		locate(name) {
			const rect = $('canvas').getBoundingClientRect();
			const found = [];
			for (const layer of app.view.layers) {
				for (let k = 0; k < layer.levels.length; k++) {
					layer.levels[k].nodes.forEach((node, i) => {
						if (node !== NARROW && nameOf(app, { layer, node }) === name)
							found.push({
								x: rect.left + layer.levels[k].xs[i],
								y:
									rect.top +
									app.view.rowTop(app.view.rowOf(layer, k)) -
									$('scroll').scrollTop,
								width: layer.levels[k].ws[i],
								height: ROW,
								depth: layer.tree.depth[node],
								total: layer.tree.total[node],
								totalB: layer.tree.totalB[node],
								self: layer.tree.self[node],
								fill: app.view.fillOf(layer.tree, node),
							});
					});
				}
			}
			return found;
		},
		drawNow() {
			app.view.draw();
		},
	};
}

async function main() {
	let profile;
	try {
		profile = loadProfile(await unpack($('data').textContent));
	} catch (error) {
		$('node').textContent = 'This flame graph cannot be shown';
		$('empty').hidden = false;
		$('empty').textContent = error.message;
		return;
	}
	const app = new App(profile);
	showHeader(profile);
	showWarnings(profile);
	showHealth(profile);
	showHelp(profile);
	for (const id of ['by-label', 'kind-split', 'tab-processes']) $(id).hidden = profile.isDiff;
	$('widths').hidden = !profile.isDiff;
	$('panel').classList.toggle('diff', profile.isDiff);
	app.setTheme(firstTheme());
	app.readHash();
	if (innerWidth <= 1000) showPanel(app, false);
	app.update('tree');
	listenPointer(app);
	listenKeys(app);
	listenControls(app);
	listenWindow(app);
	expose(app);
	document.documentElement.dataset.ready = 'true';
}

main();
