/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data of the page: unpacks what src/export/html_data.c wrote and turns it into typed arrays.
 *
 *   items   what a box can show: frames first, then one item per group of every way to split
 *   nodes   a prefix tree of frames in depth-first order; node 0 is the root, without a frame
 *   rows    samples: node of the leaf, process, thread, kind, count (and countB in a difference)
 */
const PAINT_OF_KIND = {
	erlang: 0,
	bif: 1,
	nif: 2,
	native: 3,
	kernel: 9,
	runtime: 10,
	state: 11,
	elided: 12,
	group: 13,
};

/* Zlib in base64 -> object.  The browser's own inflate: nothing to load, nothing to maintain. */
async function unpack(base64) {
	if (typeof DecompressionStream === 'undefined')
		throw new Error('This browser cannot unpack the data: it has no DecompressionStream.');
	const binary = atob(base64.trim());
	const bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
	return JSON.parse(await new Response(stream).text());
}

/* "up" says how many levels a node's parent stands above the node before it. */
function loadNodes(d) {
	const n = d.nodes.frame.length + 1;
	const nodes = {
		n,
		parent: new Int32Array(n),
		frame: new Int32Array(n),
	};
	nodes.parent[0] = nodes.frame[0] = -1;
	for (let i = 1; i < n; i++) {
		let parent = i - 1;
		for (let up = d.nodes.up[i - 1]; up > 0; up--) parent = nodes.parent[parent];
		nodes.parent[i] = parent;
		nodes.frame[i] = d.nodes.frame[i - 1];
	}
	return nodes;
}

function loadRows(d) {
	const n = d.rows.node.length;
	const rows = {
		n,
		node: new Int32Array(n),
		process: new Int32Array(n).fill(-1),
		thread: new Int32Array(n).fill(-1),
		kind: new Int32Array(n).fill(-1),
		count: Float64Array.from(d.rows.count),
		countB: d.rows.countB ? Float64Array.from(d.rows.countB) : null,
	};
	let node = 0;
	for (let i = 0; i < n; i++) {
		node += d.rows.node[i];
		rows.node[i] = node;
		if (d.rows.countB) continue;
		rows.process[i] = d.rows.process[i] - 1; /* 0 = none */
		rows.thread[i] = d.rows.thread[i];
		rows.kind[i] = d.rows.kind[i];
	}
	return rows;
}

/* A difference does not say modules: what stands before the colon of a plain name. */
function moduleOf(name, kind) {
	const code = kind === 'erlang' || kind === 'bif' || kind === 'nif' || kind === 'native';
	const colon = name.indexOf(':');
	return code && colon > 0 && !name.slice(0, colon).includes("'") ? name.slice(0, colon) : '';
}

/* Frames as items.  `fn` tells which frames are the same function (lines apart). */
function loadItems(d) {
	const text = id => d.strings[id];
	const f = d.frames;
	const name = f.name.map(text),
		kind = f.kind.map(k => d.frameKinds[k]);
	return {
		nrFrames: name.length,
		name,
		module: f.module.map((id, i) => text(id) || moduleOf(name[i], kind[i])),
		file: f.file.map(text),
		line: f.line,
		kind,
		paint: kind.map(k => PAINT_OF_KIND[k]),
		shade: f.shade,
		fn: f.fn,
	};
}

/* The item that stands for a function: its first frame, or, if lines make several of one function,
 * an item of its own without a line. */
function itemsOfFunctions(items, nrFns, d) {
	const fnItem = new Int32Array(nrFns).fill(-1);
	for (let i = 0; i < items.nrFrames; i++) {
		const fn = items.fn[i];
		if (fn < 0 || fnItem[fn] >= 0) continue;
		fnItem[fn] = i;
		if (!d.functions) continue;
		const item = addItem(items, d.strings[d.functions[fn]]);
		for (const key of ['module', 'file', 'kind', 'paint', 'shade', 'fn'])
			items[key][item] = items[key][i];
		fnItem[fn] = item;
	}
	return fnItem;
}

function addItem(items, name) {
	items.name.push(name);
	items.module.push('');
	items.file.push('');
	items.line.push(0);
	items.kind.push('group');
	items.paint.push(PAINT_OF_KIND.group);
	items.shade.push(0);
	items.fn.push(-1);
	return items.name.length - 1;
}

/* One item per distinct text; returns the item of each row. */
function groupRows(items, rows, textOf) {
	const known = new Map();
	const group = new Int32Array(rows.n);
	for (let i = 0; i < rows.n; i++) {
		const text = textOf(i);
		let id = known.get(text);
		if (id === undefined) known.set(text, (id = addItem(items, text)));
		group[i] = id;
	}
	return group;
}

function processTitle(p) {
	return p.name && p.name !== p.pid ? p.pid + ' ' + p.name : p.pid;
}

/* Every way to split, as arrays of items.  The one that the file was made with knows best: it
 * has the names that processes bore when they were sampled. */
function loadGroups(profile, d) {
	const { items, rows, processes, threads, kinds } = profile;
	const thread = i => threads[rows.thread[i]] ?? '[unknown thread]';
	const process = text => i => (rows.process[i] < 0 ? thread(i) : text(processes[rows.process[i]]));
	const ways = {
		name: process(p => p.name || p.pid),
		process: process(processTitle),
		'initial-call': process(p => p.initial || '[unknown initial call]'),
		scheduler: thread,
		kind: i => '[' + (kinds[rows.kind[i]]?.title ?? '?') + ']',
	};
	if (d.by !== 'none') ways[d.by] = i => d.strings[d.rows.group[i]] || '[unknown]';
	const groups = Object.create(null); /* the address names one of them */
	for (const [by, textOf] of Object.entries(ways)) groups[by] = groupRows(items, rows, textOf);
	return groups;
}

/* rank[item]: order of siblings, by name. */
function rankItems(items) {
	const order = Array.from(items.name.keys());
	const name = items.name;
	order.sort((a, b) => (name[a] < name[b] ? -1 : name[a] > name[b] ? 1 : a - b));
	const rank = new Int32Array(order.length);
	order.forEach((item, at) => {
		rank[item] = at;
	});
	return rank;
}

function loadProcesses(d) {
	const text = id => d.strings[id];
	const p = d.processes;
	return p.pid.map((pid, i) => ({
		pid: text(pid),
		name: text(p.name[i]),
		registered: text(p.registered[i]),
		label: text(p.label[i]),
		initial: text(p.initial[i]),
	}));
}

function loadProfile(d) {
	const profile = {
		isDiff: d.mode === 'diff',
		meta: d.meta,
		metaA: d.metaA,
		by: d.by,
		kindRoot: d.kindRoot,
		lines: d.lines,
		unit: d.meta.values.unit || 'samples', /* what is counted */
		paints: d.paints,
		kinds: d.kinds,
		items: loadItems(d),
		nodes: loadNodes(d),
		rows: loadRows(d),
		threads: d.threads.map(id => d.strings[id]),
		processes: loadProcesses(d),
		samples: 0,
		samplesB: 0,
	};
	const { rows, items } = profile;
	/* The kind of samples that no table counts. */
	profile.spins = d.idle === false ? d.kinds.findIndex(k => k.name === 'wait') : NaN;
	for (let i = 0; i < rows.n; i++) {
		profile.samples += rows.count[i];
		profile.samplesB += rows.countB ? rows.countB[i] : 0;
	}
	profile.nrFns = items.fn.reduce((max, fn) => Math.max(max, fn + 1), 0);
	profile.fnItem = itemsOfFunctions(items, profile.nrFns, d);
	profile.groups = profile.isDiff ? Object.create(null) : loadGroups(profile, d);
	profile.rank = rankItems(items);
	return profile;
}
