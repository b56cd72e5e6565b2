/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data of the HTML page.  Small texts (meta, counters) go through jansson; the large part is
 * arrays of numbers, written directly:
 *
 *   strings      every text once; other parts have indices of it, 0 = ""
 *   frames       columns name, module, file, line, kind, shade, fn (function, -1 = none)
 *   nodes        prefix tree of frames, depth first, without its root: frame, and up = how many
 *                levels the node's parent stands above the node before it
 *   rows         samples: node (difference to the row before), process + 1, thread, kind, group
 *                (text, by the snapshot's own grouping), count; of a difference: node, count (A),
 *                countB
 *   functions    names, only if the names of frames include lines
 *   processes    columns pid, name, registered, label, initial
 *
 * Group and kind frames of a snapshot are left out, since the page splits by itself; those of a
 * difference are frames of kind "group".
 */
#include "export/html_data.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "export/formats.h"
#include "export/paint.h"
#include "export/strtab.h"
#include "model/profile/calltree.h"

#define KIND_GROUP (FRAME_STATE + 1) /* kind of group frames, in the page only */

struct column {
	VEC(int64_t) v;
};

struct html_data {
	struct strbuf *out;
	struct strtab strings;
	struct column name, module, file, line, kind, shade, fn;		 /* frames */
	struct column up, frame;						 /* nodes */
	struct column node, process, thread, sample_kind, group, count, count_b; /* rows */
	struct column threads, functions;
	struct column pid, pname, registered, label, initial; /* processes */
	uint32_t last_depth;				      /* of the last node added */
	int64_t last_node;				      /* of the last row added */
	bool is_diff;
	bool bad; /* a text is no valid UTF-8 */
};

static void put(struct column *c, int64_t value)
{
	vec_push(&c->v, value);
}

static void put_text(struct html_data *h, struct column *c, const char *text)
{
	put(c, strtab_id(&h->strings, text));
}

/* ---- numbers and texts -> JSON -------------------------------------------------------------- */

static void add_number(struct strbuf *out, int64_t n)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	do {
		digits[--at] = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (n < 0)
		digits[--at] = '-';
	strbuf_add(out, digits + at, sizeof(digits) - at);
}

struct named_column {
	const char *key;
	struct column *column;
};

/* Adds "key":[...] for each column, and frees the columns. */
static void add_columns(struct strbuf *out, const struct named_column *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct column *c = list[i].column;

		strbuf_addf(out, "%s\"%s\":[", i ? "," : "", list[i].key);
		for (size_t j = 0; j < c->v.len; j++) {
			if (j)
				strbuf_addch(out, ',');
			add_number(out, c->v.data[j]);
		}
		strbuf_addch(out, ']');
		vec_free(&c->v);
	}
}

/* Adds a value, and frees it. */
static void add_value(struct html_data *h, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	if (text)
		strbuf_addstr(h->out, text);
	else
		h->bad = true;
	free(text);
	json_decref(value);
}

/* Adds "key":value, and frees the value. */
static void add_json(struct html_data *h, const char *key, json_t *value)
{
	strbuf_addf(h->out, "\"%s\":", key);
	add_value(h, value);
	strbuf_addch(h->out, ',');
}

static void add_strings(struct html_data *h)
{
	strbuf_addstr(h->out, "\"strings\":[");
	for (size_t i = 0; i < h->strings.strings.len; i++) {
		if (i)
			strbuf_addch(h->out, ',');
		add_value(h, json_string(h->strings.strings.data[i]));
	}
	strbuf_addstr(h->out, "],");
}

/* ---- facts about a recording ---------------------------------------------------------------- */

static json_t *make_statuses(const struct snapshot *s)
{
	static const char *const text[] = {
#define STATUS(name, json, words) words,
#include "abi/status.def"
#undef STATUS
	};
	json_t *list = json_array();

	for (int i = 0; i < NR_SAMPLE_STATUSES; i++) {
		if (s->by_status[i])
			json_array_append_new(
				list, json_pack("{s:s, s:s, s:I}", "name",
						sample_status_name((enum sample_status)i), "text",
						text[i], "count", (json_int_t)s->by_status[i]));
	}
	return list;
}

static json_t *make_counters(const struct snapshot *s)
{
	static const struct {
		const char *name, *text, *advice;
	} known[] = {
#define COUNTER(name, json, words, advice)	{json, words, advice},
#define COUNTER_USER(name, json, words, advice) {json, words, advice},
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
	};
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		uint64_t value = snapshot_counter(s, known[i].name);

		if (value)
			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:I}", "name",
							      known[i].name, "text", known[i].text,
							      "advice", known[i].advice, "count",
							      (json_int_t)value));
	}
	if (s->dropped_unknown)
		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:I}", "name", "dropped_unknown", "text",
					"records dropped, as they refer to undefined ids", "advice",
					"", "count", (json_int_t)s->dropped_unknown));
	return list;
}

static json_t *make_meta(const struct snapshot *s)
{
	json_t *values = json_object(), *warnings = json_array();
	const char *p = export_meta(s, "warnings", "");
	bool bad = false;

	for (uint32_t i = 0; i < s->nr_meta; i++) {
		if (strcmp(s->meta[i].key, "warnings") != 0)
			bad |= json_object_set_new(values, s->meta[i].key,
						   json_string(s->meta[i].value)) != 0;
	}
	while (*p) {
		size_t len = strcspn(p, "\n");

		if (len)
			bad |= json_array_append_new(warnings, json_stringn(p, len)) != 0;
		p += len + (p[len] == '\n');
	}
	if (bad) {
		json_decref(values);
		values = NULL; /* so that json_pack() fails */
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I, s:b}", "values", values, "warnings",
			 warnings, "statuses", make_statuses(s), "counters", make_counters(s),
			 "complete", (json_int_t)s->by_status[SAMPLE_STATUS_COMPLETE], "lost",
			 (json_int_t)export_lost(s), "ended", (int)s->ended);
}

static json_t *make_paints(void)
{
	json_t *list = json_array();
	char light[8], dark[8];

	for (int i = 0; i < NR_PAINTS; i++) {
		snprintf(light, sizeof(light), "#%06" PRIx32, paints[i].light);
		snprintf(dark, sizeof(dark), "#%06" PRIx32, paints[i].dark);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "title", paints[i].title,
						      "light", light, "dark", dark));
	}
	return list;
}

/* The colour of a sample kind: that of the code for SAMPLE_ERLANG, _BIF and _NIF. */
static enum paint_id kind_paint(enum sample_kind kind)
{
	switch (kind) {
	case SAMPLE_ERLANG:
		return PAINT_ERLANG;
	case SAMPLE_BIF:
		return PAINT_BIF;
	case SAMPLE_NIF:
		return PAINT_NIF;
	default:
		return paint_of_sample(kind);
	}
}

static json_t *make_kinds(const struct snapshot *s)
{
	json_t *list = json_array();

	for (int i = 0; i < NR_SAMPLE_KINDS; i++) {
		enum sample_kind k = (enum sample_kind)i;

		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:I, s:i, s:b}", "name",
						sample_kind_name(k), "title", sample_kind_title(k),
						"count", (json_int_t)(s ? s->by_kind[i] : 0),
						"paint", (int)kind_paint(k), "overrides",
						(int)(paint_of_sample(k) != PAINT_NATIVE)));
	}
	return list;
}

static json_t *make_frame_kinds(void)
{
	json_t *list = json_array();

	for (int i = 0; i < KIND_GROUP; i++)
		json_array_append_new(list, json_string(frame_kind_name((enum frame_kind)i)));
	json_array_append_new(list, json_string("group"));
	return list;
}

/* ---- nodes, rows, frames -------------------------------------------------------------------- */

static void add_node(struct html_data *h, uint32_t depth, int64_t frame)
{
	put(&h->up, (int64_t)h->last_depth + 1 - (int64_t)depth);
	put(&h->frame, frame);
	h->last_depth = depth;
}

static void add_row(struct html_data *h, int64_t node)
{
	put(&h->node, node - h->last_node);
	h->last_node = node;
}

/* Adds a part: "key":{columns}. */
static void add_part(struct html_data *h, const char *key, const struct named_column *list,
		     size_t nr)
{
	strbuf_addf(h->out, "\"%s\":{", key);
	add_columns(h->out, list, nr);
	strbuf_addstr(h->out, "},");
}

/* Adds all columns as "frames":{...}, "nodes":{...}, ..., and ends the JSON object. */
static void finish(struct html_data *h)
{
	const struct named_column frames[] = {
		{"name", &h->name}, {"module", &h->module}, {"file", &h->file}, {"line", &h->line},
		{"kind", &h->kind}, {"shade", &h->shade},   {"fn", &h->fn},
	};
	const struct named_column nodes[] = {{"up", &h->up}, {"frame", &h->frame}};
	const struct named_column rows[] = {
		{"node", &h->node},	{"count", &h->count},	   {"process", &h->process},
		{"thread", &h->thread}, {"kind", &h->sample_kind}, {"group", &h->group},
	};
	const struct named_column rows_of_diff[] = {
		{"node", &h->node}, {"count", &h->count}, {"countB", &h->count_b}};
	const struct named_column processes[] = {
		{"pid", &h->pid},     {"name", &h->pname},	{"registered", &h->registered},
		{"label", &h->label}, {"initial", &h->initial},
	};
	const struct named_column lists[] = {{"threads", &h->threads},
					     {"functions", &h->functions}};

	add_json(h, "paints", make_paints());
	add_json(h, "frameKinds", make_frame_kinds());
	add_strings(h);
	add_part(h, "frames", frames, ARRAY_SIZE(frames));
	add_part(h, "nodes", nodes, ARRAY_SIZE(nodes));
	if (h->is_diff)
		add_part(h, "rows", rows_of_diff, ARRAY_SIZE(rows_of_diff));
	else
		add_part(h, "rows", rows, ARRAY_SIZE(rows));
	add_part(h, "processes", processes, ARRAY_SIZE(processes));
	add_columns(h->out, lists, h->functions.v.len ? 2 : 1);
	strbuf_addch(h->out, '}');
	strtab_free(&h->strings);
}

static int64_t add_frame(struct html_data *h, const struct snap_frame *fr)
{
	put_text(h, &h->name, fr->name);
	put_text(h, &h->module, fr->module);
	put_text(h, &h->file, fr->file);
	put(&h->line, fr->line);
	put(&h->kind, fr->kind);
	put(&h->shade, paint_shade_of(fr->module));
	put(&h->fn, fr->function == SNAPSHOT_NONE ? -1 : (int64_t)fr->function);
	return (int64_t)h->name.v.len - 1;
}

/* Adds the nodes of the tree, and the frames that they use. */
static void add_tree(struct html_data *h, const struct calltree *t)
{
	const struct snapshot *s = t->snapshot;
	int64_t *frame_of = xmalloc(s->nr_frames * sizeof(*frame_of));

	for (uint32_t i = 0; i < s->nr_frames; i++)
		frame_of[i] = -1;
	for (uint32_t i = 1; i < t->nr_nodes; i++) {
		uint32_t frame = t->nodes[i].frame;

		if (frame_of[frame] < 0)
			frame_of[frame] = add_frame(h, &s->frames[frame]);
		add_node(h, t->nodes[i].depth, frame_of[frame]);
	}
	free(frame_of);
}

struct row_order {
	uint32_t node, stack;
};

static int compare_rows(const void *pa, const void *pb)
{
	const struct row_order *a = pa, *b = pb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->stack < b->stack ? -1 : 1;
}

/* The text of a stack's group, such as the name that its process had; NULL = no grouping. */
static const char *group_text(const struct snapshot *s, const struct snap_stack *st)
{
	uint32_t head = calltree_head_frames(s);

	if (s->options.by == SNAPSHOT_BY_NONE || st->nr_frames < head)
		return NULL;
	return s->frames[s->stack_frames[st->first_frame + head - 1]].name;
}

/* Adds the rows in the order of nodes, for small differences between neighbours. */
static void add_rows(struct html_data *h, const struct calltree *t)
{
	const struct snapshot *s = t->snapshot;
	struct row_order *order = xmalloc(s->nr_stacks * sizeof(*order));

	for (uint32_t i = 0; i < s->nr_stacks; i++)
		order[i] = (struct row_order){.node = t->stack_nodes[i], .stack = i};
	qsort(order, s->nr_stacks, sizeof(*order), compare_rows);
	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *st = &s->stacks[order[i].stack];

		add_row(h, order[i].node);
		put(&h->process, st->process == SNAPSHOT_NONE ? 0 : (int64_t)st->process + 1);
		put(&h->thread, st->thread);
		put(&h->sample_kind, st->kind);
		put_text(h, &h->group, group_text(s, st));
		put(&h->count, (int64_t)st->count);
	}
	free(order);
}

static void add_processes(struct html_data *h, const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nr_threads; i++)
		put_text(h, &h->threads, s->threads[i].display);
	for (uint32_t i = 0; i < s->nr_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		put_text(h, &h->pid, p->pid);
		put_text(h, &h->pname, p->name);
		put_text(h, &h->registered, p->registered);
		put_text(h, &h->label, p->label);
		put_text(h, &h->initial, p->initial_call);
	}
}

int html_data_of_snapshot(struct strbuf *out, const struct snapshot *s)
{
	struct html_data h = {.out = out};
	struct calltree *t;

	strtab_init(&h.strings);
	t = calltree_open_below(s, calltree_head_frames(s));
	strbuf_addf(out,
		    "{\"mode\":\"profile\",\"by\":\"%s\",\"kindRoot\":%s,\"lines\":%s,\"idle\":%s,",
		    snapshot_by_name(s->options.by), s->options.kind_root ? "true" : "false",
		    s->options.lines ? "true" : "false", s->options.idle ? "true" : "false");
	add_json(&h, "meta", make_meta(s));
	add_json(&h, "kinds", make_kinds(s));
	add_tree(&h, t);
	add_rows(&h, t);
	add_processes(&h, s);
	for (uint32_t i = 0; s->options.lines && i < s->nr_functions; i++)
		put_text(&h, &h.functions, s->functions[i].name);
	finish(&h);
	calltree_close(t);
	return h.bad ? -EILSEQ : 0;
}

/* ---- differences ---------------------------------------------------------------------------- */

/* The identity of a frame in a difference; a group frame differs from a function with its name. */
struct diff_frame {
	uint32_t name;
	enum frame_kind kind;
	bool group;
};

struct diff_frames {
	VEC(struct diff_frame) all;
	struct idmap ids;
};

static bool diff_frame_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct diff_frames *frames = ctx;
	const struct diff_frame *a = &frames->all.data[id], *b = key;

	return a->name == b->name && a->kind == b->kind && a->group == b->group;
}

static int64_t diff_frame_id(struct html_data *h, struct diff_frames *frames,
			     const struct diff_node *n, uint32_t nr_head)
{
	struct diff_frame key = {.name = strtab_id(&h->strings, n->name),
				 .kind = n->kind,
				 .group = n->depth <= nr_head};
	uint32_t hash = hash_mix(hash_mix(key.name, (uint64_t)key.kind), key.group);
	uint32_t id = idmap_find(&frames->ids, hash, diff_frame_equal, frames, &key);
	struct snap_frame fr = {.name = n->name, .module = "", .kind = n->kind};

	if (id != IDMAP_NONE)
		return id;
	id = (uint32_t)frames->all.len;
	vec_push(&frames->all, key);
	idmap_add(&frames->ids, hash, id);
	fr.function = key.group || n->kind == FRAME_ELIDED ? SNAPSHOT_NONE : id;
	add_frame(h, &fr);
	if (key.group)
		h->kind.v.data[id] = KIND_GROUP;
	return id;
}

int html_data_of_diff(struct strbuf *out, const struct diff *d)
{
	struct html_data h = {.out = out, .is_diff = true};
	struct diff_frames frames = {0};
	uint32_t nr_head = calltree_head_frames(d->b);

	strtab_init(&h.strings);
	strbuf_addstr(out, "{\"mode\":\"diff\",\"by\":\"none\",");
	add_json(&h, "metaA", make_meta(d->a));
	add_json(&h, "meta", make_meta(d->b));
	add_json(&h, "kinds", json_array());
	for (uint32_t i = 0; i < d->nr_nodes; i++) {
		const struct diff_node *n = &d->nodes[i];

		if (i)
			add_node(&h, n->depth, diff_frame_id(&h, &frames, n, nr_head));
		if (!n->self_a && !n->self_b)
			continue;
		add_row(&h, i);
		put(&h.count, (int64_t)n->self_a);
		put(&h.count_b, (int64_t)n->self_b);
	}
	vec_free(&frames.all);
	idmap_free(&frames.ids);
	finish(&h);
	return h.bad ? -EILSEQ : 0;
}
