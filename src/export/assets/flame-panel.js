/* SPDX-License-Identifier: BSD-2-Clause */
/* Everything beside the graph that shows numbers: header, kinds, tables, cards, tooltip. */
const TABLE_STEP = 100; /* rows shown at first, and more at each click */

function $(id) {
	return document.getElementById(id);
}

/* Elements are only ever made with text, never from markup: names cannot break out. */
function make(tag, props, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props ?? {})) {
		if (key === 'style') Object.assign(e.style, value);
		else if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
		else if (key in e) e[key] = value;
		else e.setAttribute(key, value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

function count(n) {
	return n.toLocaleString('en-US');
}

/* With its unit: "1,234 samples", "12.3 ms", "1.2 MiB". */
function amount(n, unit) {
	const steps = { ns: [1000, 'ns', 'us', 'ms', 's'], bytes: [1024, 'B', 'KiB', 'MiB', 'GiB'] }[unit];
	if (!steps) return count(n) + ' ' + unit;
	let step = 1;
	for (; n >= steps[0] && step < steps.length - 1; step++) n /= steps[0];
	return (step === 1 ? count(n) : n.toFixed(1)) + ' ' + steps[step];
}

/* The unit only where the number alone would not say it. */
function short(n, unit) {
	return unit === 'ns' || unit === 'bytes' ? amount(n, unit) : count(n);
}

function percent(n, of) {
	const p = of > 0 ? (100 * n) / of : 0;
	if (p > 0 && p < 0.005) return '<0.01 %';
	return p.toFixed(p >= 9.995 || p === 0 ? 1 : 2) + ' %';
}

function points(delta) {
	const text = Math.abs(delta).toFixed(Math.abs(delta) >= 9.995 ? 1 : 2);
	return Number(text) === 0 ? '0.00' : (delta > 0 ? '+' : '\u2212') + text;
}

function plural(n, word) {
	return count(n) + ' ' + word + (n === 1 ? '' : word.endsWith('s') ? 'es' : 's');
}

function seconds(ns) {
	const s = Number(ns) / 1e9;
	if (!(s > 0)) return '';
	return s < 120
		? s.toFixed(1) + ' s'
		: s < 7200
			? (s / 60).toFixed(1) + ' min'
			: (s / 3600).toFixed(1) + ' h';
}

function localTime(rfc3339) {
	return rfc3339 ? rfc3339.replace('T', ' ').replace(/Z$/, ' UTC') : '';
}

function swatch(color) {
	return make('i', { className: 'swatch', style: { background: color } });
}

/* ---- header ------------------------------------------------------------------------------- */

function fact(value, word) {
	return value ? make('span', {}, make('b', {}, String(value)), word ? ' ' + word : '') : null;
}

function showHeader(profile) {
	const { meta, metaA } = profile;
	const node = meta.values.node || 'BEAM node';
	if (profile.isDiff) {
		const nodeA = metaA.values.node || 'BEAM node';
		const where = (m, name) => [name, localTime(m.values.start)].filter(Boolean).join(', ');
		$('node').append(
			'A ',
			make('span', { className: 'vs' }, where(metaA, nodeA)),
			' \u2192 B ',
			make('span', { className: 'vs' }, where(meta, node)),
		);
		$('facts').append(
			fact(amount(profile.samples, profile.unit), 'in A'),
			fact(amount(profile.samplesB, profile.unit), 'in B'),
		);
		return;
	}
	const v = meta.values;
	$('node').textContent = node;
	$('facts').append(
		...[
			v.otp
				? make(
						'span',
						{},
						'OTP ',
						make('b', {}, v.otp),
						v.erts
							? ' (ERTS ' +
									v.erts +
									(v.flavor ? ', ' + v.flavor : '') +
									')'
							: '',
					)
				: null,
			fact(amount(profile.samples, profile.unit), v.title),
			v.duration_ns
				? make(
						'span',
						{},
						'in ',
						make('b', {}, seconds(v.duration_ns)),
						v.freq ? ' at ' + v.freq + ' Hz' : '',
					)
				: null,
			v.start ? make('span', {}, localTime(v.start)) : null,
		].filter(Boolean),
	);
}

function showWarnings(profile) {
	const lines = [];
	for (const [side, meta] of [
		['A', profile.metaA],
		['B', profile.meta],
	]) {
		if (!meta) continue;
		const prefix = profile.isDiff ? side + ': ' : '';
		if (!meta.ended) lines.push(prefix + 'The recording was cut short: it has no end record.');
		lines.push(...meta.warnings.map(w => prefix + w));
	}
	for (const line of lines) $('warnings').append(make('div', {}, line));
	$('warnings').hidden = lines.length === 0;
}

function healthList(meta, samples) {
	const list = make('dl');
	for (const s of meta.statuses) {
		list.append(
			make('dt', {}, percent(s.count, samples)),
			make('dd', {}, make('b', {}, s.name), ': ' + s.text),
		);
	}
	for (const c of meta.counters) {
		list.append(
			make('dt', {}, count(c.count)),
			make(
				'dd',
				{},
				make('b', {}, c.name),
				': ' + c.text + (c.advice ? ' (' + c.advice + ')' : ''),
			),
		);
	}
	return list;
}

function showHealth(profile) {
	const sides = profile.isDiff
		? [
				['A', profile.metaA, profile.samples],
				['B', profile.meta, profile.samplesB],
			]
		: [['', profile.meta, profile.samples]];
	let complete = 0,
		samples = 0,
		lost = 0;
	$('health-card').append(make('h2', {}, 'How whole the picture is'));
	for (const [side, meta, n] of sides) {
		complete += meta.complete;
		samples += n;
		lost += meta.lost;
		if (side) $('health-card').append(make('p', {}, 'Recording ' + side));
		$('health-card').append(healthList(meta, n));
	}
	$('health').textContent = percent(complete, samples) + ' complete, ' + count(lost) + ' lost';
	$('health').title = 'Stacks walked from root to leaf, and ' + profile.unit + ' known to be missing';
	$('health').classList.toggle('warn', lost > 0 || complete < 0.99 * samples);
}

/* ---- kinds: what the time went to, and the colour key ---------------------------------------- */

function frameKey(profile, fills) {
	const { items } = profile;
	const used = new Set();
	for (let i = 0; i < items.nrFrames; i++) used.add(items.paint[i]);
	for (const k of profile.kinds) if (k.count > 0) used.delete(k.paint);
	return [...used]
		.sort((a, b) => a - b)
		.map(p =>
			make(
				'span',
				{ className: 'kind', title: 'Colour of frames' },
				swatch(fills[p][0]),
				profile.paints[p].title,
			),
		);
}

function showDiffScale(view) {
	const from = css(view.blue),
		mid = css(view.neutral),
		to = css(view.red);
	$('kinds-bar').hidden = true;
	$('kinds-list').replaceChildren(
		make(
			'span',
			{ className: 'kind' },
			'smaller share in B',
			make('i', {
				className: 'ramp',
				style: { background: `linear-gradient(90deg, ${from}, ${mid}, ${to})` },
			}),
			'larger share in B',
		),
		make(
			'span',
			{ className: 'kind' },
			'full colour = ' + points(view.largest).replace('+', '') + ' points',
		),
	);
}

function showKinds(profile, view, off, toggle) {
	if (profile.isDiff) {
		showDiffScale(view);
		return;
	}
	const present = profile.kinds
		.map((k, id) => ({ ...k, id }))
		.filter(k => k.count > 0)
		.sort((a, b) => b.count - a.count || a.id - b.id);
	const shade = k => view.fills[k.paint][0];
	$('kinds-bar').replaceChildren(
		...present.map(k =>
			make('i', {
				style: {
					flex: String(k.count),
					background: shade(k),
					opacity: off.has(k.name) ? 0.2 : 1,
				},
			}),
		),
	);
	const list = present.map(k =>
		make(
			'button',
			{
				className: 'kind',
				'aria-pressed': String(!off.has(k.name)),
				'data-kind': k.name,
				title: off.has(k.name)
					? 'Show these ' + profile.unit + ' again'
					: 'Hide these ' + profile.unit + '; Alt: only these',
				onclick: e => toggle(k.name, e.altKey),
			},
			swatch(shade(k)),
			k.title + ' ',
			make('b', {}, percent(k.count, profile.samples)),
		),
	);
	const key = frameKey(profile, view.fills);
	if (key.length) list.push(make('span', { className: 'kind-key' }, ...key));
	$('kinds-list').replaceChildren(...list);
}

/* ---- tables --------------------------------------------------------------------------------- */

function heat(value, of, color) {
	const share = of > 0 ? Math.min(1, value / of) : 0;
	if (share < 0.003) return null;
	return make('i', {
		className: 'bar',
		style: { background: color, width: (100 * share).toFixed(2) + '%' },
	});
}

function deltaCell(delta) {
	return make(
		'td',
		{ className: Math.abs(delta) < 0.005 ? 'zero' : delta > 0 ? 'more' : 'less' },
		points(delta),
	);
}

function shareCell(n, of, unit) {
	return make('td', { className: n ? '' : 'zero', title: amount(n, unit) }, n ? percent(n, of) : '0');
}

/* columns: {key, title, hint, value(row) for sorting, cell(row)}; the first one is the name. */
const TABLES = {
	functions: {
		sort: 'self',
		columns: c => [
			{ key: 'name', title: 'Function', value: f => c.items.name[f.item], cell: null },
			{
				key: 'self',
				title: 'Self',
				hint: 'On top of the stack',
				value: f => f.self,
				cell: f => shareCell(f.self, c.samples, c.unit),
			},
			{
				key: 'total',
				title: 'Total',
				hint: 'Anywhere in the stack',
				value: f => f.total,
				cell: f => shareCell(f.total, c.samples, c.unit),
			},
		],
	},
	changes: {
		sort: 'delta',
		columns: c => [
			{ key: 'name', title: 'Function', value: f => c.items.name[f.item], cell: null },
			{
				key: 'a',
				title: 'A',
				hint: 'Self share in A',
				value: f => f.self,
				cell: f => shareCell(f.self, c.samples, c.unit),
			},
			{
				key: 'b',
				title: 'B',
				hint: 'Self share in B',
				value: f => f.selfB,
				cell: f => shareCell(f.selfB, c.samplesB, c.unit),
			},
			{
				key: 'delta',
				title: 'Self \u0394',
				hint: 'Change of the self share, in percent points',
				value: f => Math.abs(f.deltaSelf),
				cell: f => deltaCell(f.deltaSelf),
			},
			{
				key: 'deltaTotal',
				title: 'Total \u0394',
				hint: 'Change of the total share, in percent points',
				value: f => Math.abs(f.deltaTotal),
				cell: f => deltaCell(f.deltaTotal),
			},
		],
	},
	processes: {
		sort: 'samples',
		columns: c => [
			{ key: 'name', title: 'Process', value: p => p.title, cell: null },
			{
				key: 'samples',
				title: c.unit === 'ns' ? 'Time' : c.unit[0].toUpperCase() + c.unit.slice(1),
				value: p => p.samples,
				cell: p => make('td', {}, short(p.samples, c.unit)),
			},
			{
				key: 'share',
				title: 'Share',
				value: p => p.samples,
				cell: p => shareCell(p.samples, c.samples, c.unit),
			},
		],
	},
};

function sortRows(rows, column, descending) {
	const sign = descending ? -1 : 1;
	return rows.sort((a, b) => {
		const x = column.value(a),
			y = column.value(b);
		if (x !== y) return (x < y ? -1 : 1) * sign;
		if (a.total !== b.total) return b.total - a.total;
		return a.title < b.title ? -1 : a.title > b.title ? 1 : a.order - b.order;
	});
}

class Table {
	constructor() {
		this.kind = '';
		this.sort = {};
		this.shown = TABLE_STEP;
		$('more').addEventListener('click', () => {
			this.shown += 5 * TABLE_STEP;
			this.render();
		});
	}

	/* context: {items, samples, samplesB, nameCell(row), isOn(row), onRow(row, event)} */
	set(kind, rows, context) {
		if (kind !== this.kind) this.shown = TABLE_STEP;
		this.kind = kind;
		this.rows = rows;
		this.context = context;
		this.columns = TABLES[kind].columns(context);
		this.sort[kind] ??= { key: TABLES[kind].sort, descending: true };
		this.render();
	}

	sortBy(key) {
		const sort = this.sort[this.kind];
		sort.descending = sort.key === key ? !sort.descending : key !== 'name';
		sort.key = key;
		this.render();
	}

	head() {
		const sort = this.sort[this.kind];
		return make(
			'tr',
			{},
			...this.columns.map(c => {
				const th = make(
					'th',
					{ scope: 'col' },
					make(
						'button',
						{
							title: c.hint ?? '',
							'data-key': c.key,
							onclick: () => this.sortBy(c.key),
						},
						c.title,
					),
				);
				if (c.key === sort.key)
					th.setAttribute('aria-sort', sort.descending ? 'descending' : 'ascending');
				return th;
			}),
		);
	}

	row(data) {
		const { context } = this;
		const tr = make('tr', { tabIndex: 0, title: data.title, onclick: e => context.onRow(data, e) });
		tr.addEventListener('keydown', e => {
			if (e.key === 'Enter' || e.key === ' ') {
				e.preventDefault();
				context.onRow(data, e);
			}
		});
		tr.classList.toggle('on', context.isOn(data));
		tr.append(context.nameCell(data), ...this.columns.slice(1).map(c => c.cell(data)));
		return tr;
	}

	render() {
		const sort = this.sort[this.kind];
		const column = this.columns.find(c => c.key === sort.key);
		sortRows(this.rows, column, sort.descending);
		const table = $('table');
		table.querySelector('colgroup')?.remove();
		table.prepend(
			make(
				'colgroup',
				{},
				make('col'),
				...this.columns.slice(1).map(() => make('col', { className: 'num' })),
			),
		);
		table.tHead.replaceChildren(this.head());
		table.tBodies[0].replaceChildren(...this.rows.slice(0, this.shown).map(r => this.row(r)));
		const left = this.rows.length - this.shown;
		$('more').hidden = left <= 0;
		$('more').textContent = left > 0 ? 'Show more (' + count(left) + ' left)' : '';
	}
}

/* ---- tooltip -------------------------------------------------------------------------------- */

function whereText(items, item) {
	if (!items.file[item]) return '';
	return items.file[item] + (items.line[item] ? ':' + items.line[item] : '');
}

function tooltipRows(profile, tree, node, top) {
	const { samples, samplesB } = profile;
	const list = make('dl');
	const line = (title, value, note) =>
		list.append(make('dt', {}, title), make('dd', {}, value), make('dd', {}, note));
	if (profile.isDiff) {
		const delta = n => 100 * (n[1] / samplesB - n[0] / samples);
		const total = [tree.total[node], tree.totalB[node]],
			self = [tree.self[node], tree.selfB[node]];
		line(
			'A',
			percent(total[0], samples),
			amount(total[0], profile.unit) + ', self ' + percent(self[0], samples),
		);
		line(
			'B',
			percent(total[1], samplesB),
			amount(total[1], profile.unit) + ', self ' + percent(self[1], samplesB),
		);
		line('Change', points(delta(total)), 'points of the total share, self ' + points(delta(self)));
		return list;
	}
	line(
		'Total',
		short(tree.total[node], profile.unit),
		percent(tree.total[node], samples) +
			' of all' +
			(top > 0 ? ', ' + percent(tree.total[node], tree.total[top]) + ' of the zoom' : ''),
	);
	line('Self', short(tree.self[node], profile.unit), percent(tree.self[node], samples) + ' of all');
	return list;
}

function fillTooltip(view, box, top) {
	const { profile } = view;
	const { items } = profile;
	const { tree } = box.layer;
	if (box.node === NARROW) {
		$('tooltip').replaceChildren(make('h3', {}, 'Too narrow to draw'), 'Zoom in to see these frames.');
		return;
	}
	const item = tree.item[box.node];
	const name = item < 0 ? 'all ' + profile.unit : items.name[item];
	const mono = tree.mono[box.node];
	const parts = [make('h3', {}, name)];
	if (item >= 0) {
		const doing =
			mono >= 0 && profile.kinds[mono]?.overrides ? ' \u00b7 ' + profile.kinds[mono].title : '';
		parts.push(
			make(
				'div',
				{ className: 'tag' },
				swatch(view.fillOf(tree, box.node)),
				KIND_TITLES[items.kind[item]] + doing,
			),
		);
	}
	parts.push(tooltipRows(profile, tree, box.node, top));
	const where = item < 0 ? '' : whereText(items, item);
	if (where) parts.push(make('div', { className: 'where mono' }, where));
	$('tooltip').replaceChildren(...parts);
}

const KIND_TITLES = {
	erlang: 'Erlang function',
	bif: 'BIF',
	nif: 'NIF',
	native: 'Native code',
	kernel: 'Kernel',
	runtime: 'JIT runtime',
	state: 'State of the thread',
	elided: 'Frames that are not shown one by one',
	group: 'Group',
};

function placeTooltip(x, y) {
	const tip = $('tooltip');
	tip.hidden = false;
	const { width, height } = tip.getBoundingClientRect();
	const left = x + 14 + width > innerWidth - 8 ? x - width - 14 : x + 14;
	const top = y + 18 + height > innerHeight - 8 ? y - height - 12 : y + 18;
	tip.style.left = Math.max(8, left) + 'px';
	tip.style.top = Math.max(8, top) + 'px';
}

let toastTimer = 0;
function toast(text) {
	$('toast').textContent = text;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => {
		$('toast').textContent = '';
	}, 1800);
}

async function copyText(text, what) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = make('textarea', { value: text, style: { position: 'fixed', opacity: '0' } });
		document.body.append(area);
		area.select();
		document.execCommand('copy');
		area.remove();
	}
	toast('Copied ' + (what ?? text));
}
