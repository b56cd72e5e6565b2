/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_tree.h. */
#include "view/table/process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "view/table/process_columns.h"
#include "view/table/table.h"

#define SAME_MAX       6  /* up to so many leaves of one name and parent are all shown */
#define SAME_SHOWN     3  /* if there are more, so many of them */
#define INDENT_MAX     40 /* levels of the tree that are indented */
#define NAME_MAX_BYTES 60 /* longer names are truncated */

/* ---- the tree ----------------------------------------------------------------------------- */

struct by_key {
	uint64_t key;
	uint32_t row;
};

static int by_key(const void *va, const void *vb)
{
	const struct by_key *a = va, *b = vb;

	return a->key < b->key ? -1 : a->key > b->key ? 1 : a->row < b->row ? -1 : a->row > b->row;
}

static uint32_t find(const struct by_key *keys, size_t nr, uint64_t key)
{
	size_t from = 0, to = nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (keys[middle].key < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from < nr && keys[from].key == key ? keys[from].row : PROCESS_TREE_ROOT;
}

static void find_above(struct process_tree *t, const uint64_t *ancestors)
{
	struct by_key *pids = xcalloc(t->nr, sizeof(*pids)),
		      *names = xcalloc(t->nr, sizeof(*names));
	size_t nr_names = 0;

	for (size_t i = 0; i < t->nr; i++) {
		pids[i] = (struct by_key){t->rows[i].pid, (uint32_t)i};
		if (t->rows[i].registered)
			names[nr_names++] = (struct by_key){
				PROCESS_PID_TEXT | t->rows[i].registered, (uint32_t)i};
	}
	qsort(pids, t->nr, sizeof(*pids), by_key);
	qsort(names, nr_names, sizeof(*names), by_key);
	for (size_t i = 0; i < t->nr; i++) {
		t->above[i] = PROCESS_TREE_ROOT;
		for (size_t k = 0; k < PROCESS_TREE_ANCESTORS; k++) {
			uint64_t key = ancestors[i * PROCESS_TREE_ANCESTORS + k];
			uint32_t row = key == PROCESS_PID_NONE	? PROCESS_TREE_ROOT
				       : key & PROCESS_PID_TEXT ? find(names, nr_names, key)
								: find(pids, t->nr, key);

			if (row != PROCESS_TREE_ROOT && row != i) {
				t->above[i] = row;
				break;
			}
		}
	}
	free(pids);
	free(names);
}

/* The children of each row, as linked lists of rows in the order of pids: first[parent], next[]. */
struct children {
	uint32_t *first, *next;
	uint32_t roots;
};

static void find_children(const struct process_tree *t, struct children *c)
{
	struct by_key *pids = xcalloc(t->nr, sizeof(*pids));

	c->first = xmalloc(t->nr * sizeof(*c->first));
	c->next = xmalloc(t->nr * sizeof(*c->next));
	c->roots = PROCESS_TREE_ROOT;
	for (size_t i = 0; i < t->nr; i++) {
		uint64_t pid = t->rows[i].pid;

		c->first[i] = PROCESS_TREE_ROOT;
		pids[i] = (struct by_key){pid << 32 | pid >> 32, (uint32_t)i};
	}
	qsort(pids, t->nr, sizeof(*pids), by_key);
	for (size_t i = t->nr; i-- > 0;) {
		uint32_t row = pids[i].row, above = t->above[row];
		uint32_t *list = above == PROCESS_TREE_ROOT ? &c->roots : &c->first[above];

		c->next[row] = *list;
		*list = row;
	}
	free(pids);
}

/* Appends a root and all rows below it to t->order (nr rows so far), depth first.  Returns the new
 * number of rows. */
static size_t order_from(struct process_tree *t, const struct children *c, uint32_t root,
			 bool *seen, size_t nr)
{
	uint32_t row = root, depth = 0;

	for (;;) {
		uint32_t down = c->first[row];

		seen[row] = true;
		t->depth[row] = depth;
		t->order[nr++] = row;
		while (down != PROCESS_TREE_ROOT && seen[down])
			down = c->next[down];
		if (down != PROCESS_TREE_ROOT) {
			row = down;
			depth++;
			continue;
		}
		for (; row != root; row = t->above[row], depth--) {
			uint32_t beside = c->next[row];

			while (beside != PROCESS_TREE_ROOT && seen[beside])
				beside = c->next[beside];
			if (beside != PROCESS_TREE_ROOT) {
				row = beside;
				break;
			}
		}
		if (row == root)
			return nr;
	}
}

static void order_all(struct process_tree *t)
{
	struct children c;
	bool *seen = xcalloc(t->nr, sizeof(*seen));
	size_t nr = 0;

	find_children(t, &c);
	for (uint32_t row = c.roots; row != PROCESS_TREE_ROOT; row = c.next[row])
		nr = order_from(t, &c, row, seen, nr);
	/* Rows of a circle are below no root: the first one found becomes a root.  It stays in the
	 * list of its former parent, where order_from() skips it, as it was seen. */
	for (uint32_t row = 0; row < t->nr; row++)
		if (!seen[row]) {
			t->above[row] = PROCESS_TREE_ROOT;
			nr = order_from(t, &c, row, seen, nr);
		}
	free(c.first);
	free(c.next);
	free(seen);
}

void process_tree_build(struct process_tree *t, const struct process_strings *strings,
			const struct process_row *rows, size_t nr, const uint64_t *ancestors,
			const bool *wanted)
{
	*t = (struct process_tree){.strings = strings, .rows = rows, .nr = nr};
	t->above = xcalloc(nr, sizeof(*t->above));
	t->order = xcalloc(nr, sizeof(*t->order));
	t->depth = xcalloc(nr, sizeof(*t->depth));
	t->shown = xcalloc(nr, sizeof(*t->shown));
	find_above(t, ancestors);
	order_all(t);
	for (size_t i = 0; i < nr; i++)
		for (uint32_t row = (uint32_t)i;
		     row != PROCESS_TREE_ROOT && (!wanted || wanted[i]) && !t->shown[row];
		     row = t->above[row])
			t->shown[row] = true;
}

void process_tree_free(struct process_tree *t)
{
	free(t->above);
	free(t->order);
	free(t->depth);
	free(t->shown);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* A line for a process; or for the leaves of a group that are not shown: `row` is then one of
 * them. */
struct line {
	const struct process_row *row;
	char *branch; /* owned; lines in front of the name that draw the tree */
	uint32_t nr;  /* 0 = a process; else how many leaves are not shown */
	uint64_t memory, messages, reductions;
};

struct lines {
	VEC(struct line) v;
	struct process_columns_ctx ctx;
};

#define LINE(p) ((const struct line *)(p))

static void text_process(struct strbuf *out, const void *p, const void *ctx)
{
	const struct process_columns_ctx *c = ctx;
	const struct process_string *name =
		process_strings_get(c->strings, process_row_name(LINE(p)->row));
	size_t cut = NAME_MAX_BYTES - 3;

	strbuf_addstr(out, LINE(p)->branch);
	if (LINE(p)->nr)
		strbuf_addf(out, "%u more ", LINE(p)->nr);
	if (name->len > NAME_MAX_BYTES) {
		while (cut > 0 && ((unsigned char)name->text[cut] & 0xc0) == 0x80)
			cut--; /* not within a character */
		strbuf_add(out, name->text, cut);
		strbuf_addstr(out, "...");
	} else {
		strbuf_addstr(out, name->len ? name->text : "?");
	}
}

static void column(struct strbuf *out, const struct line *l, const void *ctx,
		   enum process_field field)
{
	for (const struct table_column *c = process_columns; c->name; c++)
		if (strcmp(c->name, process_fields[field].name) == 0)
			table_cell(c, out, l->row, ctx);
}

static void text_line_pid(struct strbuf *out, const void *p, const void *ctx)
{
	if (!LINE(p)->nr)
		column(out, p, ctx, PROCESS_FIELD_PID);
}

/* A number of a process, or the sum of the leaves that are not shown. */
static void text_sum(struct strbuf *out, const void *p, const void *ctx, enum process_field field)
{
	struct process_row sum = *LINE(p)->row;
	struct line l = {.row = &sum};

	if (LINE(p)->nr) {
		sum.memory = LINE(p)->memory;
		sum.message_queue_len = LINE(p)->messages;
		sum.reductions = LINE(p)->reductions;
	}
	column(out, &l, ctx, field);
}

static void text_line_memory(struct strbuf *out, const void *p, const void *ctx)
{
	text_sum(out, p, ctx, PROCESS_FIELD_MEMORY);
}

static void text_line_messages(struct strbuf *out, const void *p, const void *ctx)
{
	text_sum(out, p, ctx, PROCESS_FIELD_MESSAGES);
}

static void text_line_reductions(struct strbuf *out, const void *p, const void *ctx)
{
	text_sum(out, p, ctx, PROCESS_FIELD_REDUCTIONS);
}

static void text_line_status(struct strbuf *out, const void *p, const void *ctx)
{
	if (!LINE(p)->nr)
		column(out, p, ctx, PROCESS_FIELD_STATUS);
}

static void text_line_function(struct strbuf *out, const void *p, const void *ctx)
{
	if (!LINE(p)->nr)
		column(out, p, ctx, PROCESS_FIELD_CURRENT_FUNCTION);
}

static const struct table_column tree_columns[] = {
	{"process", "PROCESS", .text = text_process},
	{"pid", "PID", .text = text_line_pid},
	{"memory", "MEMORY", TABLE_RIGHT, .text = text_line_memory},
	{"message_queue_len", "MAILBOX", TABLE_RIGHT, .text = text_line_messages},
	{"reductions", "REDUCTIONS", TABLE_RIGHT, .text = text_line_reductions},
	{"status", "STATUS", .text = text_line_status},
	{"current_function", "CURRENT FUNCTION", .text = text_line_function},
	{0},
};

/* ---- from the tree to lines --------------------------------------------------------------- */

struct drawing {
	const struct process_tree *t;
	struct lines *lines;
	const uint32_t *shown; /* rows that are shown, in the order of the tree */
	size_t nr;
	const uint32_t *last; /* by row: 1 if it is the last one shown below its parent */
	bool all;
};

static bool is_leaf(const struct drawing *d, size_t i)
{
	return i + 1 == d->nr || d->t->depth[d->shown[i + 1]] <= d->t->depth[d->shown[i]];
}

/* The lines in front of the i-th row shown: "│  ├─ ".  malloc'ed. */
static char *branch(const struct drawing *d, size_t i)
{
	struct strbuf out = STRBUF_INIT;
	uint32_t depth = d->t->depth[d->shown[i]], row = d->shown[i];
	bool more[INDENT_MAX + 1] = {false};

	if (depth > INDENT_MAX) {
		strbuf_addf(&out, "%*s", 3 * INDENT_MAX, "");
		return strbuf_detach(&out, NULL);
	}
	for (uint32_t level = depth; level > 0; level--, row = d->t->above[row])
		more[level] = !d->last[row];
	for (uint32_t level = 1; level < depth; level++)
		strbuf_addstr(&out, more[level] ? "\xe2\x94\x82  " : "   ");
	if (depth)
		strbuf_addstr(&out, more[depth] ? "\xe2\x94\x9c\xe2\x94\x80 "
						: "\xe2\x94\x94\xe2\x94\x80 ");
	return strbuf_detach(&out, NULL);
}

static void add_line(struct drawing *d, size_t at, size_t row_at)
{
	struct line l = {.row = &d->t->rows[d->shown[row_at]], .branch = branch(d, at)};

	vec_push(&d->lines->v, l);
}

static int by_memory(const void *va, const void *vb)
{
	const struct by_key *a = va, *b = vb;

	return a->key > b->key ? -1 : a->key < b->key ? 1 : a->row < b->row ? -1 : a->row > b->row;
}

/* Adds lines for the leaves [from, to) of one name and parent: SAME_SHOWN with most memory, and one
 * line for all others. */
static void add_group(struct drawing *d, size_t from, size_t to)
{
	struct by_key *keys = xcalloc(to - from, sizeof(*keys));
	struct line rest;

	for (size_t i = from; i < to; i++)
		keys[i - from] = (struct by_key){d->t->rows[d->shown[i]].memory, (uint32_t)i};
	qsort(keys, to - from, sizeof(*keys), by_memory);
	for (size_t i = 0; i < SAME_SHOWN; i++)
		add_line(d, from, keys[i].row);
	rest = (struct line){.row = &d->t->rows[d->shown[keys[SAME_SHOWN].row]],
			     .branch = branch(d, to - 1),
			     .nr = (uint32_t)(to - from - SAME_SHOWN)};
	for (size_t i = SAME_SHOWN; i < to - from; i++) {
		const struct process_row *r = &d->t->rows[d->shown[keys[i].row]];

		rest.memory += r->memory;
		rest.messages += r->message_queue_len;
		rest.reductions += r->reductions;
	}
	vec_push(&d->lines->v, rest);
	free(keys);
}

static void add_lines(struct drawing *d)
{
	for (size_t i = 0; i < d->nr;) {
		const struct process_row *r = &d->t->rows[d->shown[i]];
		size_t end = i + 1;

		while (!d->all && is_leaf(d, i) && end < d->nr && is_leaf(d, end) &&
		       d->t->above[d->shown[end]] == d->t->above[d->shown[i]] &&
		       process_row_name(&d->t->rows[d->shown[end]]) == process_row_name(r))
			end++;
		if (end - i > SAME_MAX) {
			add_group(d, i, end);
		} else {
			end = i + 1;
			add_line(d, i, i);
		}
		i = end;
	}
}

void process_tree_write(FILE *f, const struct process_tree *t, bool all, bool color)
{
	struct lines lines = {.ctx = {.strings = t->strings, .max_width = 48}};
	uint32_t *shown = xcalloc(t->nr, sizeof(*shown)), *last = xcalloc(t->nr, sizeof(*last));
	uint32_t *latest = xmalloc((t->nr + 1) * sizeof(*latest));
	struct drawing d = {.t = t, .lines = &lines, .shown = shown, .last = last, .all = all};
	struct table table = {
		.columns = tree_columns, .row_size = sizeof(struct line), .ctx = &lines.ctx};
	struct table_options options = {.color = color};

	memset(latest, 0xff, (t->nr + 1) * sizeof(*latest));
	for (size_t i = 0; i < t->nr; i++)
		if (t->shown[t->order[i]])
			shown[d.nr++] = t->order[i];
	/* latest[parent]: its last child that is shown; latest[t->nr]: the last root. */
	for (size_t i = 0; i < d.nr; i++) {
		uint32_t above = t->above[shown[i]];

		latest[above == PROCESS_TREE_ROOT ? t->nr : above] = shown[i];
	}
	for (size_t i = 0; i <= t->nr; i++)
		if (latest[i] != UINT32_MAX)
			last[latest[i]] = 1;
	add_lines(&d);
	table.rows = lines.v.data;
	table.nr_rows = lines.v.len;
	table_write(f, &table, &options, NULL);
	for (size_t i = 0; i < lines.v.len; i++)
		free(lines.v.data[i].branch);
	vec_free(&lines.v);
	free(shown);
	free(last);
	free(latest);
}
