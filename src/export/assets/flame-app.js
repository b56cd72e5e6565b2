/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page: one state object, one update() that brings graph, tables and address up to date with
 * it, and the events that change it.  The state lives in location.hash, so that a view can be
 * shared with the file and the browser's Back button undoes a zoom.
 */
const HELP = [
	['click', 'zoom into a frame; click one above to zoom out'],
	['double click', 'copy the name'],
	['right click', 'copy, highlight, callers and callees'],
	['/ or Ctrl-F', 'search'],
	['arrows, Enter', 'move through the frames, zoom'],
	['Esc', 'undo the last thing: search, selection, zoom, filter'],
	['i', 'invert: leaves first'],
	['f', 'flip: root at the bottom'],
	['k', 'one root per kind of work'],
	['n', 'all frames of C code, or the innermost'],
	['w', 'widths of A or B (difference only)'],
	['p', 'show or hide the tables'],
	['c', 'copy the name of the frame under the cursor'],
	['t', 'light or dark'],
	['r', 'reset'],
];

class App {
	constructor(profile) {
		this.profile = profile;
		this.view = new FlameView(profile, { scroll: $('scroll'), space: $('space'), canvas: $('canvas') });
		this.table = new Table();
		this.tab = 'functions';
		this.cursor = null; /* box under the keyboard */
		this.hover = null;
		this.state = this.initialState();
		this.tableTimer = 0;
	}

	initialState() {
		const { profile } = this;
		return {
			by: profile.isDiff ? 'none' : profile.by,
			kinds: !profile.isDiff && profile.kindRoot,
			native: true,
			invert: false,
			flip: false,
			off: new Set() /* names of hidden kinds */,
			process: -1,
			fn: -1,
			sandwich: false,
			query: '',
			regex: false,
			widths: 'b',
			zoom: [] /* items from the root */,
		};
	}

	/* ---- state <-> address ------------------------------------------------------------ */

	writeHash(push) {
		const s = this.state,
			start = this.initialState();
		const q = new URLSearchParams();
		if (s.by !== start.by) q.set('by', s.by);
		if (s.kinds !== start.kinds) q.set('kinds', s.kinds ? '1' : '0');
		if (!s.native) q.set('native', 'leaf');
		if (s.invert) q.set('invert', '1');
		if (s.flip) q.set('flip', '1');
		if (s.off.size) q.set('hide', [...s.off].sort().join('.'));
		if (s.process >= 0) q.set('process', String(s.process));
		if (s.fn >= 0) q.set('fn', String(s.fn));
		if (s.sandwich) q.set('sandwich', '1');
		if (s.query) q.set('q', s.query);
		if (s.regex) q.set('regex', '1');
		if (s.widths !== start.widths) q.set('widths', s.widths);
		if (s.zoom.length) q.set('zoom', s.zoom.join('.'));
		const hash = q.size ? '#' + q : location.pathname + location.search;
		if (push) history.pushState(null, '', hash);
		else history.replaceState(null, '', hash);
	}

	/* The address may come from anywhere: every part is checked, what is bad is ignored. */
	readHash() {
		const q = new URLSearchParams(location.hash.slice(1));
		const s = this.initialState();
		const index = (key, limit) => {
			const n = /^\d{1,9}$/.test(q.get(key) ?? '') ? Number(q.get(key)) : -1;
			return n < limit ? n : -1;
		};
		if (
			!this.profile.isDiff &&
			(q.get('by') === 'none' || this.profile.groups[q.get('by')]) &&
			q.get('by') !== 'kind'
		)
			s.by = q.get('by');
		if (q.has('kinds') && !this.profile.isDiff) s.kinds = q.get('kinds') === '1';
		s.native = q.get('native') !== 'leaf';
		s.invert = q.get('invert') === '1';
		s.flip = q.get('flip') === '1';
		s.off = new Set(
			(q.get('hide') ?? '').split('.').filter(k => this.profile.kinds.some(x => x.name === k)),
		);
		s.process = index('process', this.profile.processes.length);
		s.fn = index('fn', this.profile.nrFns);
		if (s.fn >= 0 && this.profile.fnItem[s.fn] < 0) s.fn = -1;
		s.sandwich = s.fn >= 0 && q.get('sandwich') === '1';
		s.query = q.get('q') ?? '';
		s.regex = q.get('regex') === '1';
		s.widths = this.profile.isDiff && q.get('widths') === 'a' ? 'a' : 'b';
		s.zoom = (q.get('zoom') ?? '')
			.split('.')
			.filter(x => /^\d{1,9}$/.test(x))
			.map(Number);
		this.state = s;
	}

	/* ---- state -> picture --------------------------------------------------------------- */

	chosenRows() {
		const { rows, kinds } = this.profile;
		const s = this.state;
		if (s.process < 0 && !s.off.size) return null;
		const shown = kinds.map(k => !s.off.has(k.name));
		const chosen = [];
		for (let i = 0; i < rows.n; i++) {
			if (
				(s.process < 0 || rows.process[i] === s.process) &&
				(rows.kind[i] < 0 || shown[rows.kind[i]])
			)
				chosen.push(i);
		}
		return chosen;
	}

	buildTrees() {
		const { profile, state } = this;
		const rows = this.chosenRows();
		const head = [];
		if (state.kinds && profile.groups.kind) head.push(profile.groups.kind);
		if (state.by !== 'none' && profile.groups[state.by]) head.push(profile.groups[state.by]);
		this.tree = buildTree(profile, { rows, head, invert: state.invert, native: state.native });
		this.trees = [this.tree];
		if (state.sandwich) {
			const of = part =>
				buildTree(profile, {
					rows,
					native: state.native,
					fn: state.fn,
					fnItem: profile.fnItem[state.fn],
					part,
				});
			this.trees = [of('callers'), of('callees')];
		}
	}

	weightOf(tree) {
		return this.profile.isDiff && this.state.widths === 'b' ? tree.totalB : tree.total;
	}

	layTrees() {
		for (const tree of this.trees) layTree(tree, this.weightOf(tree));
		if (this.tree.weight === null) layTree(this.tree, this.weightOf(this.tree));
	}

	/* Which frame the picture is zoomed to; in a sandwich there is no zoom. */
	setLayers() {
		const [first, second] = this.trees;
		if (this.state.sandwich) {
			const layers = [];
			const top = tree => (tree.first[0] === EMPTY ? 0 : tree.first[0]);
			if (first.first[top(first)] !== EMPTY)
				layers.push(new Layer(first, top(first), -1, 'none'));
			layers.push(new Layer(second, top(second), 1, 'only'));
			this.view.setLayers(layers);
			this.top = 0;
			return;
		}
		this.top = nodeAt(this.tree, this.state.zoom);
		if (this.weightOf(this.tree)[this.top] === 0) this.top = 0;
		this.state.zoom = pathOf(this.tree, this.top);
		this.view.setLayers([new Layer(this.tree, this.top, 1, 'path')]);
	}

	search() {
		const { items } = this.profile;
		const { query, regex } = this.state;
		$('search').classList.remove('bad');
		this.view.hit = null;
		$('match').textContent = '';
		if (!query) return;
		let test;
		if (regex) {
			try {
				const re = new RegExp(query, 'iu');
				test = name => re.test(name);
			} catch {
				$('search').classList.add('bad');
				$('match').textContent = 'no valid expression';
				return;
			}
		} else {
			const plain = query.toLowerCase();
			test = name => name.toLowerCase().includes(plain);
		}
		const hit = Uint8Array.from(items.name, name => (test(name) ? 1 : 0));
		const { a, b } = countMatches(this.profile, this.tree, hit);
		const names = new Set();
		for (let i = 1; i < this.tree.n; i++) {
			if (hit[this.tree.item[i]]) names.add(items.name[this.tree.item[i]]);
		}
		this.view.hit = hit;
		$('match').replaceChildren(
			...(this.profile.isDiff
				? [
						make(
							'b',
							{},
							percent(a, this.tree.total[0]) +
								' \u2192 ' +
								percent(b, this.tree.totalB[0]),
						),
					]
				: [
						make('b', {}, percent(a, this.tree.total[0])),
						' of ' + this.profile.unit + ', ' + plural(names.size, 'name'),
					]),
		);
		const { unit } = this.profile;
		const of = amount(this.tree.total[0], unit);
		$('match').title = amount(a, unit) + ' of ' + of + ', each counted once';
	}

	/* what: 'tree' > 'zoom' > 'look': how much of the work must be done again. */
	update(what, push) {
		if (what === 'tree') {
			this.buildTrees();
			this.tree.weight = null;
		}
		if (what !== 'look') {
			this.layTrees();
			this.setLayers();
		}
		this.cursor = this.hover = null;
		$('tooltip').hidden = $('outline').hidden = true;
		this.view.flip = this.state.flip;
		this.view.fn = this.state.fn;
		this.view.dim = !this.state.sandwich;
		this.search();
		this.view.layout();
		this.showControls();
		this.showPath();
		this.showEmpty();
		this.writeHash(push);
		clearTimeout(this.tableTimer);
		this.tableTimer = setTimeout(() => this.showPanel(), 0);
	}

	showEmpty() {
		const nothing = this.tree.total[0] + this.tree.totalB[0] === 0;
		$('empty').hidden = !nothing;
		$('empty').textContent = this.profile.rows.n
			? 'None of the ' + this.profile.unit + ' passes the filters. Esc or Reset shows all of them.'
			: 'This recording holds no ' + this.profile.unit + '.';
	}

	showControls() {
		const s = this.state;
		const press = (id, on) => $(id).setAttribute('aria-pressed', String(on));
		$('by').value = s.by;
		press('kind-split', s.kinds);
		press('native', s.native);
		press('invert', s.invert);
		press('flip', s.flip);
		press('regex', s.regex);
		for (const button of $('widths').querySelectorAll('button'))
			button.setAttribute('aria-pressed', String(button.dataset.width === s.widths));
		if ($('search').value !== s.query) $('search').value = s.query;
		for (const id of ['by', 'kind-split', 'invert', 'flip'])
			$(id).disabled = s.sandwich && id !== 'flip';
		showKinds(this.profile, this.view, s.off, (name, only) => this.toggleKind(name, only));
	}

	showPath() {
		const { items } = this.profile;
		const s = this.state;
		const parts = [];
		const chip = (text, title, undo) =>
			parts.push(
				make('button', { className: 'chip', title, onclick: undo }, make('span', {}, text)),
			);
		if (s.process >= 0)
			chip(processTitle(this.profile.processes[s.process]), 'Show all processes again', () =>
				this.change({ process: -1 }, 'tree'),
			);
		if (s.sandwich) {
			chip('callers and callees', 'Back to the flame graph', () =>
				this.change({ sandwich: false }, 'tree'),
			);
			parts.push(
				make(
					'button',
					{ className: 'step', 'aria-current': 'true' },
					items.name[this.profile.fnItem[s.fn]],
				),
			);
			$('path').replaceChildren(...parts);
			return;
		}
		const steps = ['all', ...s.zoom.map(item => items.name[item])];
		steps.forEach((name, depth) => {
			if (depth) parts.push(make('span', { className: 'sep' }, '\u203a'));
			const step = make(
				'button',
				{
					className: 'step',
					title: name,
					onclick: () => this.change({ zoom: s.zoom.slice(0, depth) }, 'zoom', true),
				},
				name,
			);
			if (depth === steps.length - 1) step.setAttribute('aria-current', 'true');
			parts.push(step);
		});
		$('path').replaceChildren(...parts);
	}

	/* ---- panel --------------------------------------------------------------------------- */

	/* Kept until tree or zoom change: searching does not count anew. */
	functionRows() {
		const { profile, tree } = this;
		const top = this.state.sandwich ? 0 : this.top;
		if (this.counted?.tree === tree && this.counted.top === top) return this.counted;
		const { samples, samplesB, functions } = countFunctions(profile, tree, top);
		functions.forEach((f, order) => {
			f.order = order;
			f.item = profile.fnItem[f.fn];
			f.title = profile.items.name[f.item];
			f.deltaSelf = profile.isDiff
				? 100 * (f.selfB / (samplesB || 1) - f.self / (samples || 1))
				: 0;
			f.deltaTotal = profile.isDiff
				? 100 * (f.totalB / (samplesB || 1) - f.total / (samples || 1))
				: 0;
		});
		this.counted = { tree, top, samples, samplesB, functions };
		return this.counted;
	}

	showFunctions() {
		const { profile, view } = this;
		const { items } = profile;
		const { samples, samplesB, functions } = this.functionRows();
		const colorOf = f => view.fills[items.paint[f.item]][0];
		$('scope').textContent =
			this.top > 0 && !this.state.sandwich ? 'in the zoom' : plural(functions.length, 'function');
		this.table.set(profile.isDiff ? 'changes' : 'functions', functions, {
			items,
			unit: profile.unit,
			samples,
			samplesB,
			nameCell: f =>
				make(
					'td',
					{},
					profile.isDiff ? null : swatch(colorOf(f)),
					make('span', {}, f.title),
					profile.isDiff ? null : heat(f.self, samples, colorOf(f)),
				),
			isOn: f => f.fn === this.state.fn,
			onRow: f =>
				this.change(
					{ fn: this.state.fn === f.fn ? -1 : f.fn, sandwich: false, query: '' },
					this.state.sandwich ? 'tree' : 'look',
				),
		});
	}

	showProcesses() {
		const { profile } = this;
		const { rows } = profile;
		const samples = new Float64Array(profile.processes.length);
		const shown = profile.kinds.map(k => !this.state.off.has(k.name));
		let all = 0;
		for (let i = 0; i < rows.n; i++) {
			if (!shown[rows.kind[i]]) continue;
			all += rows.count[i];
			if (rows.process[i] >= 0) samples[rows.process[i]] += rows.count[i];
		}
		const list = profile.processes.map((p, order) => ({
			order,
			p,
			title: processTitle(p),
			samples: samples[order],
		}));
		$('scope').textContent = plural(list.length, 'process');
		this.table.set('processes', list, {
			items: profile.items,
			unit: profile.unit,
			samples: all,
			nameCell: r =>
				make(
					'td',
					{},
					make('span', {}, r.p.name || r.p.pid),
					r.p.name && r.p.name !== r.p.pid ? make('small', {}, r.p.pid) : null,
					heat(r.samples, all, 'var(--accent)'),
				),
			isOn: r => r.order === this.state.process,
			onRow: r => this.change({ process: this.state.process === r.order ? -1 : r.order }, 'tree'),
		});
	}

	showCard() {
		const { items } = this.profile;
		const { fn, sandwich } = this.state;
		$('card').hidden = fn < 0;
		if (fn < 0) return;
		const item = this.profile.fnItem[fn];
		const { samples, functions } = this.functionRows();
		const f = functions.find(x => x.fn === fn);
		const where = whereText(items, item);
		const numbers = !f
			? 'not in this view'
			: this.profile.isDiff
				? 'self ' + points(f.deltaSelf) + ', total ' + points(f.deltaTotal) + ' points'
				: 'self ' + percent(f.self, samples) + ', total ' + percent(f.total, samples);
		$('card').replaceChildren(
			make('h2', {}, items.name[item]),
			make(
				'div',
				{ className: 'where' },
				[numbers, KIND_TITLES[items.kind[item]], where].filter(Boolean).join(' \u00b7 '),
			),
			make(
				'div',
				{ className: 'actions' },
				make(
					'button',
					{
						id: 'sandwich',
						'aria-pressed': String(sandwich),
						onclick: () => this.change({ sandwich: !sandwich }, 'tree', true),
					},
					'Callers and callees',
				),
				make('button', { onclick: () => copyText(items.name[item]) }, 'Copy name'),
				make(
					'button',
					{ onclick: () => this.change({ fn: -1, sandwich: false }, 'tree') },
					'Clear',
				),
			),
		);
	}

	showPanel() {
		for (const id of ['functions', 'processes'])
			$('tab-' + id).setAttribute('aria-selected', String(id === this.tab));
		if (this.tab === 'functions') this.showFunctions();
		else this.showProcesses();
		this.showCard();
	}

	/* ---- changes ------------------------------------------------------------------------- */

	change(changes, what, push = false) {
		Object.assign(this.state, changes);
		this.update(what, push);
	}

	/* A split adds or removes boxes at the root: the zoom goes with its frames if it can. */
	changeHead(changes) {
		const { profile } = this;
		const frames = this.state.zoom.filter(item => item < profile.items.nrFrames);
		Object.assign(this.state, changes);
		const split = this.state.kinds || this.state.by !== 'none';
		this.state.zoom = split ? [] : frames;
		this.update('tree');
	}

	toggleKind(name, only) {
		let off = new Set(this.state.off);
		if (only)
			off = new Set(
				this.profile.kinds.filter(k => k.count > 0 && k.name !== name).map(k => k.name),
			);
		else if (!off.delete(name)) off.add(name);
		this.change({ off }, 'tree');
	}

	zoomTo(box) {
		if (box.node === NARROW) return;
		if (this.state.sandwich) {
			const fn = this.profile.items.fn[box.layer.tree.item[box.node]];
			if (fn >= 0 && fn !== this.state.fn) this.change({ fn }, 'tree', true);
			return;
		}
		const zoom = pathOf(box.layer.tree, box.node);
		if (zoom.join() !== this.state.zoom.join()) this.change({ zoom }, 'zoom', true);
	}

	/* Undo the most recent sort of narrowing. */
	escape() {
		const s = this.state;
		if (this.closePopovers()) return;
		if (s.query) this.change({ query: '' }, 'look');
		else if (s.sandwich) this.change({ sandwich: false }, 'tree');
		else if (s.fn >= 0) this.change({ fn: -1 }, 'look');
		else if (s.zoom.length) this.change({ zoom: [] }, 'zoom', true);
		else if (s.process >= 0 || s.off.size) this.change({ process: -1, off: new Set() }, 'tree');
	}

	reset() {
		this.state = this.initialState();
		this.update('tree', true);
	}

	setTheme(theme) {
		document.documentElement.dataset.theme = theme;
		this.view.setTheme(theme === 'dark');
		$('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
	}

	closePopovers() {
		let any = false;
		for (const id of ['menu', 'health-card', 'help-card']) {
			any ||= !$(id).hidden;
			$(id).hidden = true;
		}
		$('health').setAttribute('aria-expanded', 'false');
		return any;
	}
}
