/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flame graph as one static SVG, root on top: no script, a tooltip per frame from <title>.
 * Frames narrower than 0.1 % of the picture are not drawn, and the picture says how much that is.
 *
 * Both sources, a call tree and a difference, become a list of boxes first; drawing knows boxes
 * only.  Widths are samples (of B in a difference).
 */
#include "export/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/vec.h"
#include "export/paint.h"
#include "model/profile/calltree.h"

#define SVG_WIDTH      1200
#define SVG_MARGIN     12
#define SVG_INNER      (SVG_WIDTH - 2 * SVG_MARGIN)
#define SVG_ROW	       18
#define SVG_TOP	       74 /* titles and legend */
#define SVG_BOTTOM     30
#define SVG_MIN_SHARE  1000 /* boxes under 1/1000 of all samples are culled */
#define SVG_CHAR_WIDTH 6.7  /* of a monospace font at 11 px, rounded up */
#define SVG_COORD      100  /* coordinates are printed in hundredths */

struct box {
	uint64_t start, width; /* samples */
	uint32_t depth;
	uint32_t fill;
	const char *name;
	char *title; /* escaped, owned */
};

struct picture {
	VEC(struct box) boxes;
	uint64_t samples;    /* width of the root */
	const char *unit;    /* of `samples` */
	uint32_t depth;	     /* of the deepest box */
	uint32_t culled;     /* boxes not drawn */
	uint64_t culled_sum; /* samples in those of them whose parent is drawn */
	bool used[NR_PAINTS];
	bool is_diff;
	struct strbuf heading, facts; /* escaped */
};

static void picture_free(struct picture *p)
{
	for (size_t i = 0; i < p->boxes.len; i++)
		free(p->boxes.data[i].title);
	vec_free(&p->boxes);
	strbuf_free(&p->heading);
	strbuf_free(&p->facts);
}

/* Width of so many samples in the picture, in hundredths of a pixel. */
static uint64_t coord(const struct picture *p, uint64_t samples)
{
	unsigned __int128 n = (unsigned __int128)samples * SVG_INNER * SVG_COORD;

	return p->samples ? (uint64_t)((n + p->samples / 2) / p->samples) : 0;
}

static void add_count(struct strbuf *sb, uint64_t n)
{
	char text[32];

	strbuf_addstr(sb, units_format_count(n, text, sizeof(text)));
}

static void add_share(struct strbuf *sb, const char *what, uint64_t n, uint64_t of)
{
	strbuf_addstr(sb, what);
	add_count(sb, n);
	strbuf_addstr(sb, " (");
	export_add_percent(sb, n, of, 2);
	strbuf_addstr(sb, " %)");
}

/*
 * Whether the box of a node is drawn; if not, counts it, and its samples if its parent is drawn
 * (else the parent's samples, which include them, are counted already).
 */
static bool keep_box(struct picture *p, uint64_t total, bool parent_kept)
{
	if (parent_kept && total && total * SVG_MIN_SHARE >= p->samples)
		return true;
	if (!total)
		return false;
	p->culled++;
	if (parent_kept)
		p->culled_sum += total;
	return false;
}

static enum paint_id node_paint(const struct calltree_node *n, enum frame_kind kind)
{
	enum paint_id paint = paint_of_frame(kind);

	for (int k = 0; paint_by_sample(kind) && k < NR_SAMPLE_KINDS; k++) {
		enum paint_id by_sample = paint_of_sample((enum sample_kind)k);

		if (n->by_kind[k] == n->total && by_sample != PAINT_NATIVE)
			return by_sample;
	}
	return paint;
}

static char *node_title(const struct snap_frame *fr, const struct calltree_node *n, uint64_t of)
{
	struct strbuf sb = STRBUF_INIT;

	export_add_xml(&sb, fr->name);
	add_share(&sb, "\ntotal ", n->total, of);
	add_share(&sb, ", self ", n->self, of);
	if (fr->file) {
		strbuf_addch(&sb, '\n');
		export_add_xml(&sb, fr->file);
		if (fr->line)
			strbuf_addf(&sb, ":%" PRIu32, fr->line);
	}
	return strbuf_detach(&sb, NULL);
}

static void fill_from_tree(struct picture *p, const struct calltree *t)
{
	const struct snapshot *s = t->snapshot;
	uint32_t nr_head = calltree_head_frames(s);
	uint64_t *start = xcalloc(t->nr_nodes, sizeof(*start)); /* of the next child */
	bool *kept = xcalloc(t->nr_nodes, sizeof(*kept));

	kept[0] = true;
	for (uint32_t i = 1; i < t->nr_nodes; i++) {
		const struct calltree_node *n = &t->nodes[i];
		const struct snap_frame *fr = &s->frames[n->frame];
		enum paint_id paint = n->depth <= nr_head ? PAINT_GROUP : node_paint(n, fr->kind);
		struct box box = {
			.start = start[n->parent],
			.width = n->total,
			.depth = n->depth,
			.fill = paint_shade(paints[paint].light, paint_shade_of(fr->module)),
			.name = fr->name};

		start[i] = start[n->parent];
		start[n->parent] += n->total;
		kept[i] = keep_box(p, n->total, kept[n->parent]);
		if (!kept[i])
			continue;
		p->used[paint] = true;
		p->depth = MAX(p->depth, n->depth);
		box.title = node_title(fr, n, s->samples);
		vec_push(&p->boxes, box);
	}
	free(start);
	free(kept);
}

static double delta_of(const struct diff *d, const struct diff_node *n)
{
	return 100.0 * ((double)n->total_b / (double)d->b->samples -
			(double)n->total_a / (double)d->a->samples);
}

static char *diff_title(const struct diff *d, const struct diff_node *n)
{
	struct strbuf sb = STRBUF_INIT;

	export_add_xml(&sb, n->name);
	add_share(&sb, "\nA: total ", n->total_a, d->a->samples);
	add_share(&sb, ", self ", n->self_a, d->a->samples);
	add_share(&sb, "\nB: total ", n->total_b, d->b->samples);
	add_share(&sb, ", self ", n->self_b, d->b->samples);
	strbuf_addf(&sb, "\nchange of total: %+.2f percentage points", delta_of(d, n));
	return strbuf_detach(&sb, NULL);
}

static void fill_from_diff(struct picture *p, const struct diff *d)
{
	uint64_t *start = xcalloc(d->nr_nodes, sizeof(*start));
	bool *kept = xcalloc(d->nr_nodes, sizeof(*kept));
	double largest = 0;

	for (uint32_t i = 1; i < d->nr_nodes; i++)
		largest = MAX(largest, fabs(delta_of(d, &d->nodes[i])));
	kept[0] = true;
	for (uint32_t i = 1; i < d->nr_nodes; i++) {
		const struct diff_node *n = &d->nodes[i];
		struct box box = {.start = start[n->parent],
				  .width = n->total_b,
				  .depth = n->depth,
				  .fill = paint_delta(delta_of(d, n), largest),
				  .name = n->name};

		start[i] = start[n->parent];
		start[n->parent] += n->total_b;
		kept[i] = keep_box(p, n->total_b, kept[n->parent]);
		if (!kept[i])
			continue;
		p->depth = MAX(p->depth, n->depth);
		box.title = diff_title(d, n);
		vec_push(&p->boxes, box);
	}
	free(start);
	free(kept);
}

/* Adds the name, or as much of it as fits into `fit` characters with ".." at the end. */
static void add_label(struct strbuf *out, const char *name, size_t fit)
{
	struct strbuf cut = STRBUF_INIT;
	size_t chars = 0, keep = 0;

	for (const char *c = name; *c; c++) {
		chars += (*c & 0xc0) != 0x80;
		if (chars <= fit - 2)
			keep = (size_t)(c - name) + 1;
	}
	if (chars <= fit) {
		export_add_xml(out, name);
		return;
	}
	strbuf_add(&cut, name, keep);
	strbuf_addstr(&cut, "..");
	export_add_xml(out, cut.buf);
	strbuf_free(&cut);
}

static void add_coord(struct strbuf *out, const char *attribute, uint64_t hundredths)
{
	strbuf_addf(out, " %s=\"%" PRIu64 ".%02u\"", attribute, hundredths / SVG_COORD,
		    (unsigned int)(hundredths % SVG_COORD));
}

static void draw_box(struct strbuf *out, const struct picture *p, const struct box *box)
{
	uint64_t x = coord(p, box->start), w = coord(p, box->start + box->width) - x;
	uint32_t y = SVG_TOP + (box->depth - 1) * SVG_ROW;
	double room = (double)w / SVG_COORD - 8;
	size_t fit = room > 0 ? (size_t)(room / SVG_CHAR_WIDTH) : 0;

	strbuf_addstr(out, "<g><title>");
	strbuf_addstr(out, box->title);
	strbuf_addstr(out, "</title><rect");
	add_coord(out, "x", x + SVG_MARGIN * SVG_COORD);
	strbuf_addf(out, " y=\"%" PRIu32 "\"", y);
	add_coord(out, "width", w);
	strbuf_addf(out, " height=\"%d\" fill=\"#%06" PRIx32 "\"/>", SVG_ROW - 1, box->fill);
	if (fit >= 3) {
		strbuf_addstr(out, "<text");
		add_coord(out, "x", x + (SVG_MARGIN + 4) * SVG_COORD);
		strbuf_addf(out, " y=\"%" PRIu32 "\">", y + 12);
		add_label(out, box->name, fit);
		strbuf_addstr(out, "</text>");
	}
	strbuf_addstr(out, "</g>\n");
}

static void draw_swatch(struct strbuf *out, double *x, uint32_t rgb, const char *text)
{
	strbuf_addf(
		out,
		"<rect x=\"%.0f\" y=\"50\" width=\"11\" height=\"11\" rx=\"2\" fill=\"#%06" PRIx32
		"\"/><text x=\"%.0f\" y=\"60\">%s</text>\n",
		*x, rgb, *x + 16, text);
	*x += 16 + (double)strlen(text) * SVG_CHAR_WIDTH + 18;
}

static void draw_legend(struct strbuf *out, const struct picture *p)
{
	double x = SVG_MARGIN;

	if (p->is_diff) {
		draw_swatch(out, &x, paint_delta(PAINT_DELTA_FLOOR, 0), "larger share in B");
		draw_swatch(out, &x, paint_delta(-PAINT_DELTA_FLOOR, 0), "smaller share in B");
		draw_swatch(out, &x, paint_delta(0, 0), "no change");
		return;
	}
	for (int i = 0; i < PAINT_GROUP; i++) {
		if (p->used[i])
			draw_swatch(out, &x, paints[i].light, paints[i].title);
	}
}

static void draw_footer(struct strbuf *out, const struct picture *p, uint32_t y)
{
	if (!p->culled)
		return;
	strbuf_addf(out, "<text class=\"m\" x=\"%d\" y=\"%" PRIu32 "\">", SVG_MARGIN, y);
	add_count(out, p->culled);
	strbuf_addstr(out, " frames narrower than 0.1 % of the picture are not drawn; ");
	export_add_percent(out, p->culled_sum, p->samples, 2);
	strbuf_addf(out, " %% of the %s end in them.</text>\n", p->unit);
}

static void draw(struct strbuf *out, const struct picture *p)
{
	uint32_t height = SVG_TOP + MAX(p->depth, 1u) * SVG_ROW + SVG_BOTTOM;

	strbuf_addf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%" PRIu32
		    "\" viewBox=\"0 0 %d %" PRIu32 "\">\n",
		    SVG_WIDTH, height, SVG_WIDTH, height);
	strbuf_addstr(out,
		      "<style>text{font:11px ui-monospace,Menlo,\"DejaVu Sans Mono\",monospace;"
		      "fill:#24211d}text.t{font:600 16px system-ui,\"DejaVu Sans\",sans-serif}"
		      "text.m{fill:#6b655c}g:hover rect{stroke:#24211d}</style>\n");
	strbuf_addstr(out, "<rect width=\"100%\" height=\"100%\" fill=\"#fbfaf8\"/>\n");
	strbuf_addf(out, "<text class=\"t\" x=\"%d\" y=\"22\">%s</text>\n", SVG_MARGIN,
		    p->heading.buf);
	strbuf_addf(out, "<text class=\"m\" x=\"%d\" y=\"40\">%s</text>\n", SVG_MARGIN,
		    p->facts.buf);
	draw_legend(out, p);
	for (size_t i = 0; i < p->boxes.len; i++)
		draw_box(out, p, &p->boxes.data[i]);
	draw_footer(out, p, height - 10);
	strbuf_addstr(out, "</svg>\n");
}

static int write_picture(FILE *f, const struct picture *p, struct error *err)
{
	struct strbuf out = STRBUF_INIT;

	draw(&out, p);
	fwrite(out.buf, 1, out.len, f);
	strbuf_free(&out);
	return export_finish(f, err);
}

static void add_facts(struct strbuf *sb, const struct snapshot *s)
{
	uint64_t ms = export_meta_number(s, "duration_ns") / 1000000;

	export_add_amount(sb, s, s->samples);
	if (ms)
		strbuf_addf(sb, " in %" PRIu64 ".%" PRIu64 " s", ms / 1000, ms % 1000 / 100);
	if (export_meta(s, "freq", NULL)) {
		strbuf_addstr(sb, " at ");
		export_add_xml(sb, export_meta(s, "freq", ""));
		strbuf_addstr(sb, " Hz");
	}
	strbuf_addstr(sb, ", ");
	export_add_percent(sb, s->by_status[SAMPLE_STATUS_COMPLETE], s->samples, 1);
	strbuf_addstr(sb, " % of stacks complete, ");
	add_count(sb, export_lost(s));
	strbuf_addstr(sb, " lost");
	if (export_meta(s, "otp", NULL)) {
		strbuf_addstr(sb, ", OTP ");
		export_add_xml(sb, export_meta(s, "otp", ""));
	}
	if (export_meta(s, "untested", NULL)) {
		strbuf_addch(sb, ' ');
		export_add_xml(sb, export_meta(s, "untested", ""));
	}
	if (export_meta(s, "start", NULL)) {
		strbuf_addstr(sb, ", ");
		export_add_xml(sb, export_meta(s, "start", ""));
	}
}

int export_svg(FILE *f, const struct snapshot *s, struct error *err)
{
	struct picture p = {.samples = s->samples,
			    .unit = export_unit(s),
			    .heading = STRBUF_INIT,
			    .facts = STRBUF_INIT};
	struct calltree *t;
	int rc;

	export_add_xml(&p.heading, export_meta(s, "node", "BEAM node"));
	add_facts(&p.facts, s);
	t = calltree_open(s);
	fill_from_tree(&p, t);
	rc = write_picture(f, &p, err);
	picture_free(&p);
	calltree_close(t);
	return rc;
}

int export_svg_diff(FILE *f, const struct diff *d, struct error *err)
{
	struct picture p = {.samples = d->b->samples,
			    .unit = export_unit(d->b),
			    .is_diff = true,
			    .heading = STRBUF_INIT,
			    .facts = STRBUF_INIT};
	int rc;

	export_add_xml(&p.heading, export_meta(d->b, "node", "BEAM node"));
	strbuf_addstr(&p.heading, ": what changed");
	strbuf_addstr(&p.facts, "widths show B: ");
	add_facts(&p.facts, d->b);
	strbuf_addstr(&p.facts, "; A: ");
	add_count(&p.facts, d->a->samples);
	strbuf_addstr(&p.facts, " samples");
	if (export_meta(d->a, "start", NULL)) {
		strbuf_addstr(&p.facts, ", ");
		export_add_xml(&p.facts, export_meta(d->a, "start", ""));
	}
	fill_from_diff(&p, d);
	rc = write_picture(f, &p, err);
	picture_free(&p);
	return rc;
}
