/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawing: one or two trees on one canvas.  layout() decides once per zoom, size or tree which
 * boxes are wide enough to be seen; draw() paints those in the visible rows; hit() finds the one
 * under the pointer.  The canvas is as high as the window and sticks to it while #space scrolls.
 */
const ROW = 20;
const MIN_WIDTH = 0.3; /* px */
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const DELTA_FLOOR = 2; /* points; as PAINT_DELTA_FLOOR */
const NARROW = -1; /* stands for neighbours that are too narrow to draw */
const SHADES = [
	[255, 0],
	[255, 8],
	[255, 16],
	[0, 3],
	[0, 7],
]; /* as paint_shade() */
const DARK_SHADES = [
	[0, 0],
	[255, 5],
	[0, 8],
	[0, 16],
	[0, 4],
]; /* text must stay readable */

function mixColor(rgb, to, amount) {
	return rgb.map((c, i) => Math.trunc((c * (100 - amount) + to[i] * amount) / 100));
}

function parseColor(hex) {
	return [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16));
}

function css(rgb) {
	return 'rgb(' + rgb.join(' ') + ')';
}

/* A tree in the picture: rows of boxes going down (or up) from y. */
class Layer {
	/* rootRow: 'path' = with the boxes above root, 'only' = root, 'none' = not even that */
	constructor(tree, root, direction, rootRow) {
		this.rootRow = rootRow;
		this.tree = tree;
		this.root = root; /* the box that spans the whole width */
		this.direction = direction; /* 1 = children below, -1 = above */
		this.levels = []; /* per row: {nodes, xs, ws}, from left to right */
		this.base = 0; /* row of level 0 */
	}

	/* Level by level, so that every level is sorted by x. */
	layout(width) {
		const { tree, root } = this;
		const total = tree.weight[root];
		const scale = total > 0 ? width / total : 0;
		const x0 = tree.x[root];
		this.levels = [];
		if (this.rootRow === 'path') {
			for (let at = tree.parent[root]; at >= 0; at = tree.parent[at])
				this.levels.unshift({ nodes: [at], xs: [0], ws: [width] });
		}
		this.nrAncestors = this.levels.length;
		let level = { nodes: [root], xs: [0], ws: [width] };
		while (level.nodes.length) {
			this.levels.push(level);
			const below = { nodes: [], xs: [], ws: [] };
			for (const node of level.nodes) {
				if (node === NARROW) continue;
				let narrowX = 0,
					narrowEnd = -1;
				const flush = () => {
					if (narrowEnd - narrowX >= 1) {
						below.nodes.push(NARROW);
						below.xs.push(narrowX);
						below.ws.push(narrowEnd - narrowX);
					}
					narrowEnd = -1;
				};
				for (let c = tree.first[node]; c !== EMPTY; c = tree.next[c]) {
					const x = (tree.x[c] - x0) * scale,
						w = tree.weight[c] * scale;
					if (w < MIN_WIDTH) {
						if (narrowEnd < 0) narrowX = x;
						narrowEnd = x + w;
						continue;
					}
					flush();
					below.nodes.push(c);
					below.xs.push(x);
					below.ws.push(w);
				}
				flush();
			}
			level = below;
		}
		if (this.rootRow === 'none') this.levels.shift();
	}
}

class FlameView {
	constructor(profile, elements) {
		this.profile = profile;
		this.scroll = elements.scroll;
		this.space = elements.space;
		this.canvas = elements.canvas;
		this.ctx = this.canvas.getContext('2d', { alpha: false });
		this.layers = [];
		this.nrRows = 0;
		this.flip = false;
		this.hit = null; /* per item: 1 = matches the search */
		this.fn = -1; /* selected function */
		this.dim = false; /* fade what is not marked */
		this.textWidth = new Float32Array(profile.items.name.length);
		this.shortName = new Array(profile.items.name.length);
		this.shortWidth = new Float32Array(profile.items.name.length);
		this.queued = false;
	}

	/* The theme's colours; boxes get theirs from the profile's paints. */
	setTheme(dark) {
		const style = getComputedStyle(document.documentElement);
		const get = name => style.getPropertyValue(name).trim();
		this.dark = dark;
		this.bg = get('--bg');
		this.ink = dark ? '#f6f3ec' : '#24211d';
		this.accent = get('--accent');
		this.onAccent = get('--on-accent');
		this.rootFill = get('--sunken');
		this.narrow = get('--line');
		this.fills = this.profile.paints.map(p =>
			(dark ? DARK_SHADES : SHADES).map(([to, amount]) =>
				css(mixColor(parseColor(dark ? p.dark : p.light), [to, to, to], amount)),
			),
		);
		this.neutral = dark ? [67, 70, 77] : [233, 231, 227];
		this.red = dark ? [190, 72, 66] : [226, 104, 95];
		this.blue = dark ? [62, 112, 184] : [95, 147, 214];
	}

	setLayers(layers) {
		this.layers = layers;
	}

	/* Rows from top to bottom: layers that go up come first. */
	layout() {
		const width = this.scroll.clientWidth;
		let row = 0;
		for (const layer of this.layers) {
			layer.layout(width);
			layer.base = layer.direction > 0 ? row : row + layer.levels.length - 1;
			row += layer.levels.length;
		}
		this.nrRows = row;
		this.width = width;
		this.largest = this.profile.isDiff ? this.largestDelta() : 0;
		this.space.style.height = Math.max(row * ROW + 8, 0) + 'px';
		this.redraw();
	}

	redraw() {
		if (this.queued) return;
		this.queued = true;
		requestAnimationFrame(() => {
			this.queued = false;
			this.draw();
		});
	}

	rowTop(row) {
		const height = Math.max(this.scroll.clientHeight, this.nrRows * ROW + 8);
		return this.flip ? height - (row + 1) * ROW - 4 : row * ROW + 4;
	}

	rowOf(layer, level) {
		return layer.base + layer.direction * level;
	}

	delta(tree, node) {
		const { samples, samplesB } = this.profile;
		return 100 * (tree.totalB[node] / samplesB - tree.total[node] / samples);
	}

	largestDelta() {
		let largest = DELTA_FLOOR;
		for (const { tree } of this.layers) {
			for (let i = 1; i < tree.n; i++) largest = Math.max(largest, Math.abs(this.delta(tree, i)));
		}
		return largest;
	}

	paintOf(tree, node) {
		const { items, kinds } = this.profile;
		const item = tree.item[node],
			kind = items.kind[item],
			mono = tree.mono[node];
		if (
			mono >= 0 &&
			(kind === 'native' || kind === 'runtime' || kind === 'state') &&
			kinds[mono].overrides
		)
			return kinds[mono].paint;
		return items.paint[item];
	}

	fillOf(tree, node) {
		if (node === 0) return this.rootFill;
		if (this.profile.isDiff) {
			const delta = this.delta(tree, node);
			const amount = Math.round(100 * Math.sqrt(Math.abs(delta) / this.largest));
			return css(mixColor(this.neutral, delta > 0 ? this.red : this.blue, amount));
		}
		return this.fills[this.paintOf(tree, node)][this.profile.items.shade[tree.item[node]]];
	}

	isMarked(tree, node) {
		const item = tree.item[node];
		if (item < 0) return false;
		return this.hit ? this.hit[item] === 1 : this.fn >= 0 && this.profile.items.fn[item] === this.fn;
	}

	resizeCanvas() {
		const dpr = window.devicePixelRatio || 1;
		const w = this.scroll.clientWidth,
			h = this.scroll.clientHeight;
		if (this.canvas.width !== Math.round(w * dpr) || this.canvas.height !== Math.round(h * dpr)) {
			this.canvas.width = Math.round(w * dpr);
			this.canvas.height = Math.round(h * dpr);
			this.canvas.style.height = h + 'px';
		}
		this.ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
		return { w, h };
	}

	draw() {
		const { ctx } = this;
		const { w, h } = this.resizeCanvas();
		const top = this.scroll.scrollTop;
		ctx.globalAlpha = 1;
		ctx.fillStyle = this.bg;
		ctx.fillRect(0, 0, w, h);
		ctx.font = FONT;
		ctx.textBaseline = 'middle';
		for (const layer of this.layers) {
			for (let k = 0; k < layer.levels.length; k++) {
				const y = this.rowTop(this.rowOf(layer, k)) - top;
				if (y > -ROW && y < h) this.drawLevel(layer, k, y);
			}
		}
		ctx.globalAlpha = 1;
	}

	drawLevel(layer, k, y) {
		const { nodes, xs, ws } = layer.levels[k];
		const marking = this.hit !== null || this.fn >= 0;
		const dim = this.hit !== null || (this.fn >= 0 && this.dim);
		const ancestor = k < layer.nrAncestors;
		for (let i = 0; i < nodes.length; i++) {
			if (nodes[i] === NARROW) {
				this.ctx.globalAlpha = 0.7;
				this.ctx.fillStyle = this.narrow;
				this.ctx.fillRect(xs[i], y + 6, ws[i], ROW - 13);
				continue;
			}
			const marked = marking && this.isMarked(layer.tree, nodes[i]);
			const faded = this.dark ? 0.42 : 0.38;
			this.ctx.globalAlpha = marked ? 1 : dim ? faded : ancestor ? 0.55 : 1;
			this.drawBox(layer.tree, nodes[i], xs[i], ws[i], y, marked);
		}
	}

	drawBox(tree, node, x, w, y, marked) {
		const { ctx } = this;
		ctx.fillStyle = marked ? this.accent : this.fillOf(tree, node);
		if (w > 6) {
			ctx.beginPath();
			ctx.roundRect(x, y, w - 1, ROW - 1, 2);
			ctx.fill();
		} else {
			ctx.fillRect(x, y, w > 2 ? w - 0.5 : w, ROW - 1);
		}
		if (w < 24) return;
		const text = this.label(tree, node, w - 9);
		if (text) {
			ctx.fillStyle = marked ? this.onAccent : this.ink;
			ctx.fillText(text, x + 4, y + ROW / 2);
		}
	}

	/* The name, or the name without its module, or as much of the name as fits. */
	label(tree, node, room) {
		const { items } = this.profile;
		const item = tree.item[node];
		if (item < 0) return 'all ' + this.profile.unit;
		const name = items.name[item];
		if (!this.textWidth[item]) this.textWidth[item] = Math.max(1, this.ctx.measureText(name).width);
		const full = this.textWidth[item];
		if (full <= room) return name;
		const module = items.module[item];
		if (module && name.length > module.length + 1 && name.startsWith(module)) {
			if (!this.shortName[item]) {
				this.shortName[item] = name.slice(module.length + 1);
				this.shortWidth[item] = this.ctx.measureText(this.shortName[item]).width;
			}
			if (this.shortWidth[item] <= room) return this.shortName[item];
			return this.cut(this.shortName[item], this.shortWidth[item], room);
		}
		return this.cut(name, full, room);
	}

	cut(text, width, room) {
		let chars = Math.ceil((text.length * room) / width);
		while (chars >= 2 && this.ctx.measureText(text.slice(0, chars) + '\u2026').width > room) chars--;
		if (chars > 0 && text.codePointAt(chars - 1) > 0xffff) chars--; /* not half a character */
		return chars >= 2 ? text.slice(0, chars) + '\u2026' : '';
	}

	/* {layer, node, x, w, top} of the box at a point of the canvas; null if there is none. */
	at(x, y) {
		const row = this.flip
			? Math.floor(
					(Math.max(this.scroll.clientHeight, this.nrRows * ROW + 8) -
						4 -
						(y + this.scroll.scrollTop)) /
						ROW,
				)
			: Math.floor((y + this.scroll.scrollTop - 4) / ROW);
		for (const layer of this.layers) {
			const k = (row - layer.base) * layer.direction;
			if (k < 0 || k >= layer.levels.length) continue;
			const { nodes, xs, ws } = layer.levels[k];
			let lo = 0,
				hi = nodes.length - 1;
			while (lo < hi) {
				const mid = (lo + hi + 1) >> 1;
				if (xs[mid] <= x) lo = mid;
				else hi = mid - 1;
			}
			if (x >= xs[lo] && x < xs[lo] + Math.max(ws[lo], 1))
				return { layer, node: nodes[lo], x: xs[lo], w: ws[lo], top: this.rowTop(row) };
		}
		return null;
	}

	/* Where a node is drawn; null if it is too narrow. */
	place(layer, node) {
		for (let k = 0; k < layer.levels.length; k++) {
			const i = layer.levels[k].nodes.indexOf(node);
			if (i >= 0)
				return {
					layer,
					node,
					x: layer.levels[k].xs[i],
					w: layer.levels[k].ws[i],
					top: this.rowTop(this.rowOf(layer, k)),
				};
		}
		return null;
	}
}
