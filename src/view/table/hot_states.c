/* SPDX-License-Identifier: BSD-2-Clause */
/* See hot_internal.h.  Shares are percent of the sum of the times of all processes. */
#include "view/table/hot_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct state {
	enum sample_kind kind;
	uint64_t amount, margin;
	bool has_margin;
};

struct state_function {
	const struct snap_function *function;
	enum sample_kind kind;
	uint64_t self, total;
};

/* The ctx of the tables. */
struct hot_sums {
	uint64_t all; /* sum of a snapshot: ns if is_time, else samples */
	bool is_time;
};

struct hot_states {
	const struct snapshot *s;
	struct state states[NR_SAMPLE_KINDS]; /* states that occur, the largest first */
	size_t nr_states;
	VEC(struct state_function) functions; /* in the order of states[], then of s->functions[] */
	size_t nr_functions;		      /* before keep_rows() left most of them out */
};

/* ---- columns ------------------------------------------------------------------------------ */

static void add_name(struct strbuf *out, enum sample_kind kind)
{
	strbuf_addf(out, "[%s]", sample_kind_name(kind));
}

static void add_amount(struct strbuf *out, uint64_t amount, const struct hot_sums *sums)
{
	if (sums->is_time)
		hot_add_time(out, amount);
	else
		hot_add_count(out, amount);
}

static void state_name(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_name(out, ((const struct state *)row)->kind);
}

static void state_share(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct state *)row)->amount,
		      ((const struct hot_sums *)ctx)->all);
}

static void state_amount(struct strbuf *out, const void *row, const void *ctx)
{
	add_amount(out, ((const struct state *)row)->amount, ctx);
}

static void state_margin(struct strbuf *out, const void *row, const void *ctx)
{
	if (((const struct state *)row)->has_margin)
		add_amount(out, ((const struct state *)row)->margin, ctx);
}

static const struct table_column state_columns[] = {
	{"state", "STATE", .text = state_name},
	{"share", "SHARE", TABLE_RIGHT, .text = state_share},
	{"time", "TIME", TABLE_RIGHT, .text = state_amount},
	{"margin", "+-", TABLE_RIGHT, .text = state_margin},
	{0},
};

static void function_state(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_name(out, ((const struct state_function *)row)->kind);
}

static void function_self(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct state_function *)row)->self,
		      ((const struct hot_sums *)ctx)->all);
}

static void function_amount(struct strbuf *out, const void *row, const void *ctx)
{
	add_amount(out, ((const struct state_function *)row)->self, ctx);
}

static void function_total(struct strbuf *out, const void *row, const void *ctx)
{
	hot_add_share(out, ((const struct state_function *)row)->total,
		      ((const struct hot_sums *)ctx)->all);
}

static void function_kind(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, frame_kind_name(((const struct state_function *)row)->function->kind));
}

/* Is the function only the one in which the process last stopped?  While a process runs, its
 * current function is in registers of the CPU; memory shows it only for BIFs and NIFs on dirty
 * schedulers. */
static bool is_last_stop(const struct state_function *f)
{
	return f->kind == SAMPLE_RUNNING && f->self && f->function->kind == FRAME_ERLANG;
}

static void function_name(struct strbuf *out, const void *row, const void *ctx)
{
	const struct state_function *f = row;

	(void)ctx;
	strbuf_addf(out, "%s%s", f->function->name, is_last_stop(f) ? " ~" : "");
}

static const struct table_column state_function_columns[] = {
	{"state", "STATE", .text = function_state},
	{"self", "SELF", TABLE_RIGHT, .text = function_self},
	{"time", "TIME", TABLE_RIGHT, .text = function_amount},
	{"total", "TOTAL", TABLE_RIGHT, .text = function_total},
	{"kind", "KIND", .text = function_kind},
	{"function", "FUNCTION", .text = function_name},
	{0},
};

/* ---- states and functions ----------------------------------------------------------------- */

static int compare_states(const void *a, const void *b)
{
	const struct state *x = a, *y = b;

	if (x->amount != y->amount)
		return x->amount > y->amount ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static void take_states(struct hot_states *h)
{
	for (int k = 0; k < NR_SAMPLE_KINDS; k++) {
		struct state *state = &h->states[h->nr_states];

		if (!h->s->by_kind[k])
			continue;
		*state = (struct state){.kind = (enum sample_kind)k, .amount = h->s->by_kind[k]};
		state->has_margin = snapshot_margin(h->s, state->kind, &state->margin);
		h->nr_states++;
	}
	qsort(h->states, h->nr_states, sizeof(*h->states), compare_states);
}

/* Adds the weight of a stack to the sums of its functions: once to each total, however often the
 * function is in the stack. */
static void take_stack(const struct snapshot *s, const struct snap_stack *stack, uint32_t number,
		       struct state_function *sums, uint32_t *last)
{
	const uint32_t *frames = s->stack_frames + stack->first_frame;

	for (uint32_t i = 0; i < stack->nr_frames; i++) {
		uint32_t f = s->frames[frames[i]].function;

		if (f == SNAPSHOT_NONE)
			continue;
		if (i == stack->nr_frames - 1)
			sums[f].self += stack->count;
		if (last[f] != number + 1)
			sums[f].total += stack->count;
		last[f] = number + 1;
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct state_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

/* Appends the functions of a state to h->functions, those with most self time first. */
static void take_functions(struct hot_states *h, enum sample_kind kind)
{
	const struct snapshot *s = h->s;
	struct state_function *sums = xcalloc(MAX(s->nr_functions, 1u), sizeof(*sums));
	uint32_t *last = xcalloc(MAX(s->nr_functions, 1u), sizeof(*last));
	size_t before = h->functions.len;

	for (uint32_t i = 0; i < s->nr_stacks; i++)
		if (s->stacks[i].kind == kind)
			take_stack(s, &s->stacks[i], i, sums, last);
	for (uint32_t i = 0; i < s->nr_functions; i++) {
		sums[i].function = &s->functions[i];
		sums[i].kind = kind;
		if (sums[i].total)
			vec_push(&h->functions, sums[i]);
	}
	if (h->functions.len > before)
		qsort(h->functions.data + before, h->functions.len - before, sizeof(*sums),
		      compare_functions);
	free(sums);
	free(last);
}

/* Leaves out functions beyond `limit` rows.  Each state gets an equal number of rows, so that
 * states with little time have functions, too; the first states get the rows that others do not
 * need. */
static void keep_rows(struct hot_states *h, size_t limit)
{
	size_t rows[NR_SAMPLE_KINDS] = {0}, keep[NR_SAMPLE_KINDS], left = limit, kept = 0, at = 0;

	for (size_t i = 0, k = 0; i < h->functions.len; i++) {
		while (h->functions.data[i].kind != h->states[k].kind)
			k++;
		rows[k]++;
	}
	for (size_t k = 0; k < h->nr_states; k++) {
		keep[k] = MIN(rows[k], limit / h->nr_states);
		left -= keep[k];
	}
	for (size_t k = 0; k < h->nr_states; k++) {
		size_t more = MIN(rows[k] - keep[k], left);

		left -= more;
		memmove(h->functions.data + kept, h->functions.data + at,
			(keep[k] + more) * sizeof(*h->functions.data));
		kept += keep[k] + more;
		at += rows[k];
	}
	h->nr_functions = h->functions.len;
	h->functions.len = kept;
}

bool hot_has_states(const struct snapshot *s)
{
	for (int k = 0; k < NR_SAMPLE_KINDS; k++)
		if (s->by_kind[k] && sample_kind_is_state((enum sample_kind)k))
			return true;
	return false;
}

int hot_write_states(FILE *f, const struct snapshot *s, const struct hot_options *o,
		     struct error *err)
{
	struct hot_sums sums = {s->samples, strcmp(hot_unit(s), "ns") == 0};
	struct hot_states h = {.s = s};
	struct table table = {.columns = state_columns,
			      .rows = h.states,
			      .row_size = sizeof(*h.states),
			      .ctx = &sums};
	struct hot_options all = *o;
	char title[96];
	int rc;

	take_states(&h);
	for (size_t k = 0; k < h.nr_states; k++)
		take_functions(&h, h.states[k].kind);
	if (h.functions.len)
		keep_rows(&h, o->limit ? o->limit : HOT_DEFAULT_LIMIT);
	table.nr_rows = h.nr_states;
	all.limit = NR_SAMPLE_KINDS;
	rc = hot_write_section(f, "States", &table, &all, err);
	table = (struct table){.columns = state_function_columns,
			       .rows = h.functions.data,
			       .nr_rows = h.functions.len,
			       .row_size = sizeof(*h.functions.data),
			       .ctx = &sums};
	if (h.nr_functions > h.functions.len)
		snprintf(title, sizeof(title), "Functions by state (%zu of %zu)", h.functions.len,
			 h.nr_functions);
	else
		snprintf(title, sizeof(title), "Functions by state");
	rc = rc ? rc : hot_write_section(f, title, &table, o, err);
	for (size_t i = 0; rc == 0 && i < h.functions.len; i++) {
		if (is_last_stop(&h.functions.data[i])) {
			fprintf(f, "\n~ where the process last stopped; ebeam record --mode cpu "
				   "shows where it is while it runs\n");
			break;
		}
	}
	vec_free(&h.functions);
	return rc;
}
