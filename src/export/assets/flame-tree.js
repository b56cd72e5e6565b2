/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trees of boxes: rows of a profile merged along a path of items that depends on the view
 * (split, inverted, callers or callees of one function).  Typed arrays and one hash table, so that
 * 50,000 stacks take some ten milliseconds; parents always stand before their children.
 */
const EMPTY = -1;
const MIXED = -2; /* samples of more than one kind */

function grown(array, size) {
	const bigger = new array.constructor(size);
	bigger.set(array);
	return bigger;
}

class TreeBuilder {
	constructor(nrRows, hint) {
		this.n = 0;
		this.parent = new Int32Array(hint);
		this.item = new Int32Array(hint);
		this.depth = new Int32Array(hint);
		this.mono = new Int8Array(hint);
		this.self = new Float64Array(hint);
		this.selfB = new Float64Array(hint);
		this.leaf = new Int32Array(nrRows);
		this.slots = new Int32Array(1024).fill(EMPTY);
		this.last = []; /* items and nodes of the path before */
		this.lastNodes = [];
		this.add(-1, -1);
	}

	add(parent, item) {
		const id = this.n++;
		if (id === this.parent.length) {
			for (const a of ['parent', 'item', 'depth', 'mono', 'self', 'selfB'])
				this[a] = grown(this[a], 2 * id);
		}
		this.parent[id] = parent;
		this.item[id] = item;
		this.depth[id] = parent < 0 ? 0 : this.depth[parent] + 1;
		this.mono[id] = EMPTY;
		return id;
	}

	slotOf(parent, item) {
		const mask = this.slots.length - 1;
		let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(item + 1, 0x85ebca6b);
		h ^= h >>> 15;
		for (let at = h & mask; ; at = (at + 1) & mask) {
			const id = this.slots[at];
			if (id === EMPTY || (this.parent[id] === parent && this.item[id] === item)) return at;
		}
	}

	child(parent, item) {
		const at = this.slotOf(parent, item);
		if (this.slots[at] !== EMPTY) return this.slots[at];
		const id = this.add(parent, item);
		this.slots[at] = id;
		if (this.n * 2 > this.slots.length) {
			this.slots = new Int32Array(2 * this.slots.length).fill(EMPTY);
			for (let i = 1; i < this.n; i++) this.slots[this.slotOf(this.parent[i], this.item[i])] = i;
		}
		return id;
	}

	/* Neighbouring rows share most of their path: start where they part. */
	addRow(row, path, len, count, countB, kind) {
		const { last, lastNodes } = this;
		let k = 0;
		while (k < len && k < last.length && last[k] === path[k]) k++;
		last.length = lastNodes.length = k;
		let node = k ? lastNodes[k - 1] : 0;
		for (; k < len; k++) {
			node = this.child(node, path[k]);
			last.push(path[k]);
			lastNodes.push(node);
		}
		this.leaf[row] = node;
		this.self[node] += count;
		this.selfB[node] += countB;
		this.mono[node] = this.mono[node] === EMPTY || this.mono[node] === kind ? kind : MIXED;
	}

	finish(rank) {
		const n = this.n;
		const tree = {
			n,
			parent: this.parent.subarray(0, n),
			item: this.item.subarray(0, n),
			depth: this.depth.subarray(0, n),
			mono: this.mono.subarray(0, n),
			self: this.self.subarray(0, n),
			selfB: this.selfB.subarray(0, n),
			total: this.self.slice(0, n),
			totalB: this.selfB.slice(0, n),
			first: new Int32Array(n).fill(EMPTY),
			next: new Int32Array(n).fill(EMPTY),
			leaf: this.leaf,
			x: new Float64Array(n),
			weight: null /* total or totalB; set by layTree() */,
		};
		for (let i = n - 1; i > 0; i--) {
			const up = tree.parent[i];
			tree.total[up] += tree.total[i];
			tree.totalB[up] += tree.totalB[i];
			if (tree.mono[up] === EMPTY) tree.mono[up] = tree.mono[i];
			else if (tree.mono[up] !== tree.mono[i]) tree.mono[up] = MIXED;
		}
		linkChildren(tree, rank);
		return tree;
	}
}

/* Counting sort of all nodes by rank, then to the front of their parents' lists, last first. */
function linkChildren(tree, rank) {
	const start = new Int32Array(rank.length + 1);
	for (let i = 1; i < tree.n; i++) start[rank[tree.item[i]] + 1]++;
	for (let r = 1; r <= rank.length; r++) start[r] += start[r - 1];
	const order = new Int32Array(tree.n - 1);
	for (let i = 1; i < tree.n; i++) order[start[rank[tree.item[i]]]++] = i;
	for (let k = order.length - 1; k >= 0; k--) {
		const node = order[k],
			up = tree.parent[node];
		tree.next[node] = tree.first[up];
		tree.first[up] = node;
	}
}

/* x of every node in samples, by the widths of one side. */
function layTree(tree, weight) {
	tree.weight = weight;
	tree.x[0] = 0;
	for (let i = 0; i < tree.n; i++) {
		let x = tree.x[i];
		for (let c = tree.first[i]; c !== EMPTY; c = tree.next[c]) {
			tree.x[c] = x;
			x += weight[c];
		}
	}
}

/*
 * o.rows: which rows (all of them if null); o.head: arrays of items per row that go above the
 * frames; o.invert; o.native false: of frames of C code only the innermost; o.fn with o.part: only
 * rows with that function, from its outermost call down ('callees') or up ('callers').
 */
function buildTree(profile, o) {
	const { rows, nodes, items } = profile;
	const chosen = o.rows ?? rows.node.keys();
	const builder = new TreeBuilder(rows.n, Math.max(1024, nodes.n + 64));
	const frames = [],
		path = [];

	builder.leaf.fill(EMPTY);
	for (const row of chosen) {
		let nr = 0,
			len = 0,
			inC = false,
			last = '';
		for (let at = rows.node[row]; at > 0; at = nodes.parent[at]) {
			const frame = nodes.frame[at]; /* leaf first */
			/* A frame outside of a C stack says that it is not whole. */
			const kind = items.kind[frame];
			const native = kind === 'native' || (kind === 'elided' && last === 'native');
			last = kind;
			if (native && inC && !o.native) continue;
			inC ||= native;
			frames[nr++] = frame;
		}
		if (o.fn !== undefined) {
			let at = nr - 1;
			while (at >= 0 && items.fn[frames[at]] !== o.fn) at--;
			if (at < 0) continue;
			path[len++] = o.fnItem;
			if (o.part === 'callees') {
				for (let i = at - 1; i >= 0; i--) path[len++] = frames[i];
			} else {
				for (let i = at + 1; i < nr; i++) path[len++] = frames[i];
			}
		} else {
			for (const head of o.head) path[len++] = head[row];
			if (o.invert) {
				for (let i = 0; i < nr; i++) path[len++] = frames[i];
			} else {
				for (let i = nr - 1; i >= 0; i--) path[len++] = frames[i];
			}
		}
		builder.addRow(row, path, len, rows.count[row], rows.countB ? rows.countB[row] : 0, rows.kind[row]);
	}
	return builder.finish(profile.rank);
}

/* Items from the root to a node, and back. */
function pathOf(tree, node) {
	const path = [];
	for (; node > 0; node = tree.parent[node]) path.push(tree.item[node]);
	return path.reverse();
}

/* The deepest node that follows the path. */
function nodeAt(tree, path) {
	let node = 0;
	for (const item of path) {
		let c = tree.first[node];
		while (c !== EMPTY && tree.item[c] !== item) c = tree.next[c];
		if (c === EMPTY) break;
		node = c;
	}
	return node;
}

/*
 * Self and total of every function in the rows whose leaf lies in the subtree of `top`: each
 * sample once per function, whatever recursion.  Only frames from `top` down count, and none of a
 * scheduler that spins for work, as in all tables.
 */
function countFunctions(profile, tree, top) {
	const { rows, nodes, items, nrFns } = profile;
	const self = new Float64Array(nrFns),
		total = new Float64Array(nrFns),
		selfB = new Float64Array(nrFns),
		totalB = new Float64Array(nrFns);
	const seen = new Int32Array(nrFns).fill(EMPTY); /* row that counted it last */
	const inside = new Uint8Array(tree.n);
	let samples = 0,
		samplesB = 0;

	inside[top] = 1;
	for (let i = top + 1; i < tree.n; i++) inside[i] = inside[tree.parent[i]];
	for (let row = 0; row < rows.n; row++) {
		const leaf = tree.leaf[row];
		if (leaf === EMPTY || !inside[leaf]) continue;
		const a = rows.count[row],
			b = rows.countB ? rows.countB[row] : 0;
		samples += a;
		samplesB += b;
		if (rows.kind[row] === profile.spins) continue;
		for (let at = leaf; at > 0; at = tree.parent[at]) {
			const fn = items.fn[tree.item[at]];
			if (fn >= 0 && seen[fn] !== row) {
				seen[fn] = row;
				total[fn] += a;
				totalB[fn] += b;
			}
			if (at === top) break;
		}
		const last = rows.node[row] > 0 ? items.fn[nodes.frame[rows.node[row]]] : EMPTY;
		if (last >= 0 && seen[last] === row) {
			self[last] += a;
			selfB[last] += b;
		}
	}
	const functions = [];
	for (let fn = 0; fn < nrFns; fn++) {
		if (seen[fn] === EMPTY) continue;
		functions.push({ fn, self: self[fn], total: total[fn], selfB: selfB[fn], totalB: totalB[fn] });
	}
	return { samples, samplesB, functions };
}

/* Samples of the chosen rows with at least one frame (or group) that `hit` marks. */
function countMatches(profile, tree, hit) {
	const { rows } = profile;
	const marked = new Uint8Array(tree.n);
	let a = 0,
		b = 0;

	for (let i = 1; i < tree.n; i++) marked[i] = marked[tree.parent[i]] | hit[tree.item[i]];
	for (let row = 0; row < rows.n; row++) {
		const leaf = tree.leaf[row];
		if (leaf === EMPTY || !marked[leaf]) continue;
		a += rows.count[row];
		b += rows.countB ? rows.countB[row] : 0;
	}
	return { a, b };
}
