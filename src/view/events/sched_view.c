/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_view.h. */
#include "view/events/sched_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/events/group_rows.h"
#include "view/events/sched_cpus_view.h"
#include "view/table/cells.h"
#include "view/table/histogram.h"
#include "view/table/stack_show.h"

struct sched_row {
	struct group_row of;
	struct sched_count seen;
	uint64_t time_ns, dirty_ns, slices; /* scaled */
	uint64_t mean_ns;
	uint64_t reductions, waits, wait_ns, mean_wait_ns; /* scaled */
	double share;					   /* of the time */
};

static void add_count(struct strbuf *out, uint64_t n, double scale)
{
	cell_count(out, units_scale(n, scale));
}

static void add_longest(struct strbuf *out, uint64_t ns, bool cut)
{
	strbuf_addstr(out, cut ? ">= " : "");
	cell_ns(out, ns);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A cell with a time that processes waited in run queues; empty if there were no waits. */
#define WAIT_CELL(name, ns)                                                                        \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		const struct sched_row *r = row;                                                   \
                                                                                                   \
		UNUSED(ctx);                                                                       \
		if (r->waits)                                                                      \
			cell_ns(out, (double)(ns));                                                \
	}

WAIT_CELL(waited, r->wait_ns)
WAIT_CELL(max_wait, r->seen.max_wait_ns)

static void text_longest(struct strbuf *out, const void *row, const void *ctx)
{
	const struct sched_row *r = row;

	UNUSED(ctx);
	add_longest(out, r->seen.max_ns, r->seen.max_cut);
}

static void json_more(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	const struct sched_row *r = row;

	UNUSED(key);
	UNUSED(ctx);
	jsonw_bool(w, "max_at_least", r->seen.max_cut);
	jsonw_uint(w, "waits", r->waits);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct sched_row, member)
#define NR_OF_TOTALS			 10 /* columns, from the first, that JSON's totals have */

const struct table_column sched_columns[] = {
	{FIELD("time_ns", "TIME", NS, time_ns)},
	{FIELD("share", "SHARE", SHARE, share), .json = table_json_none},
	{FIELD("dirty_ns", "DIRTY", NS, dirty_ns), .hidden = true},
	{FIELD("slices", "SLICES", COUNT, slices)},
	{FIELD("mean_ns", "MEAN", NS, mean_ns), .hidden = true},
	{FIELD("max_ns", "MAX", NS, seen.max_ns), .text = text_longest},
	{FIELD("reductions", "REDS", COUNT, reductions)},
	{FIELD("wait_ns", "WAITED", NS, wait_ns), .text = text_waited},
	{FIELD("mean_wait_ns", "MEAN WAIT", NS, mean_wait_ns), .hidden = true},
	{FIELD("max_wait_ns", "MAX WAIT", NS, seen.max_wait_ns), .text = text_max_wait},
	GROUP_COLUMNS,
	{.json = json_more},
};

/* ---- longest slices -------------------------------------------------------------------------- */

/* Adds "<0.80.0>  my_server" or "#Port<0.5>  tcp_inet (tcp_inet)". */
static void add_whose(struct strbuf *out, const struct names *n, const struct sched_long *l)
{
	const struct name_process *p = names_process(n, l->process);
	const char *port = names_string(n, l->port), *name = names_string(n, l->port_name);
	const char *driver = names_string(n, l->driver);

	strbuf_addf(out, "%s  ", p ? p->pid : port ? port : "-");
	process_group_name_of(n, l->process, out);
	if (p || !port)
		return;
	names_format_text(out, name ? name : "", name ? strlen(name) : 0);
	if (driver)
		strbuf_addf(out, " (%s)", driver);
}

static void write_long(FILE *f, const struct names *n, const struct sched_long *l)
{
	const struct name_thread *t = names_thread(n, l->thread);
	const struct name_function *of;
	const struct name_frame *frame;
	struct strbuf line = STRBUF_INIT;
	uint32_t stack = l->stack;

	strbuf_addstr(&line, "  ");
	add_longest(&line, l->ns, l->cut);
	strbuf_addstr(&line, "  ");
	add_whose(&line, n, l);
	if (t)
		strbuf_addf(&line, "  on %s scheduler %u", sched_type_name(t->type), t->scheduler);
	if (l->reductions != EVENT_UNKNOWN)
		strbuf_addf(&line, ", %" PRIu64 " reductions", l->reductions);
	table_clean_text(&line, false);
	fprintf(f, "%s\n", line.buf);
	while ((of = names_next_frame(n, &stack, &frame))) {
		strbuf_reset(&line);
		names_format_function(&line, of);
		if (frame->file) {
			strbuf_addstr(&line, "  ");
			names_format_text(&line, frame->file, strlen(frame->file));
			strbuf_addf(&line, ":%u", frame->line);
		}
		table_clean_text(&line, false);
		fprintf(f, "      %s\n", line.buf);
	}
	strbuf_free(&line);
}

static void write_longest(FILE *f, const struct sched_answer *a)
{
	const struct sched_stats *s = a->stats;
	struct strbuf line = STRBUF_INIT;

	if (!s->nr_longest)
		return;
	add_count(&line, s->nr_long, a->long_scale);
	fprintf(f, "\nlongest slices (of %s long ones), with their stacks\n", line.buf);
	for (unsigned int i = 0; i < s->nr_longest; i++)
		write_long(f, s->groups.names, &s->longest[i]);
	strbuf_free(&line);
}

static void long_json(struct jsonw *w, const struct names *n, const struct sched_long *l)
{
	const struct name_process *p = names_process(n, l->process);
	const struct name_thread *t = names_thread(n, l->thread);
	const struct name_function *entry = names_function(n, l->entry);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(w, NULL);
	jsonw_uint(w, "duration_ns", l->ns);
	jsonw_bool(w, "at_least", l->cut);
	jsonw_string(w, "pid", p ? p->pid : NULL);
	process_group_name_of(n, l->process, &text);
	jsonw_string(w, "name", text.len ? text.buf : names_string(n, l->port_name));
	jsonw_string(w, "port", names_string(n, l->port));
	jsonw_string(w, "driver", names_string(n, l->driver));
	strbuf_reset(&text);
	if (entry)
		names_format_function(&text, entry);
	jsonw_text(w, "entry", &text);
	jsonw_known(w, "reductions", l->reductions);
	jsonw_string(w, "type", t ? sched_type_name(t->type) : NULL);
	jsonw_uint(w, "scheduler", t ? t->scheduler : 0);
	stack_show_frames_json(w, n, l->stack);
	jsonw_end_object(w);
	strbuf_free(&text);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint64_t mean(uint64_t sum, uint64_t nr)
{
	return nr ? sum / nr : 0;
}

static struct sched_row make_row(const struct sched_answer *a, const struct sched_count *seen)
{
	const struct sched_part part = sched_count_seen(seen, a->joined);
	const struct sched_part *whole = &seen->all_long;
	struct sched_row r = {
		.seen = *seen,
		.slices = units_scale(part.nr, a->scale),
		.time_ns = units_scale(part.ns - part.dirty_ns, a->time_scale),
		.dirty_ns = units_scale(part.dirty_ns, a->dirty_scale),
		.mean_ns = mean(seen->time_ns - seen->unseen_ns, seen->slices),
		.reductions = units_scale(seen->reductions, a->scale),
		.waits = units_scale(seen->waits, a->scale),
		.wait_ns = units_scale(seen->wait_ns, a->time_scale),
		.mean_wait_ns = mean(seen->wait_ns, seen->waits),
	};

	if (a->joined) {
		r.slices += whole->nr;
		r.dirty_ns += whole->dirty_ns;
		r.time_ns += whole->ns - whole->dirty_ns;
	}
	r.time_ns += r.dirty_ns;
	if (a->joined && whole->nr)
		r.mean_ns = mean(r.time_ns, r.slices);
	r.share = a->duration_ns ? (double)r.time_ns / (double)a->duration_ns : NAN;
	return r;
}

/* A row for each group with a slice or a wait; the rows are malloc'ed. */
static struct table make_table(const struct sched_answer *a)
{
	const struct sched_stats *s = a->stats;
	struct sched_row *rows = xcalloc(s->counts.len, sizeof(*rows));
	struct table t = {.columns = sched_columns, .rows = rows, .row_size = sizeof(*rows)};

	for (size_t i = 0; i < s->counts.len; i++) {
		struct sched_row *r = &rows[t.nr_rows];

		*r = make_row(a, &s->counts.data[i]);
		r->of = (struct group_row){&s->groups, (uint32_t)i};
		t.nr_rows += r->slices || r->seen.time_ns || r->seen.waits;
	}
	return t;
}

/* Are sums biased?  With a duty cycle below 1, a slice or a wait whose begin or end was not seen is
 * in no sum.  Long ones are missed more often than short ones, and all are scaled by the same
 * factor. */
static bool excludes_truncated(const struct sched_answer *a)
{
	return a->scale > 1;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct sched_answer *a = answer;
	const struct sched_stats *s = a->stats;
	const struct sched_row total = make_row(a, &s->total);
	const struct table t = make_table(a);

	jsonw_uint(w, "from_ns", a->from_ns);
	jsonw_uint(w, "duration_ns", a->duration_ns);
	jsonw_double(w, "share_seen", 1 / a->scale);
	jsonw_bool(w, "truncated_excluded", excludes_truncated(a));
	jsonw_string(w, "by", process_group_by_name(s->groups.by));
	sched_cpus_json(w, a);
	jsonw_begin_object(w, "totals");
	for (int i = 0; i < NR_OF_TOTALS; i++)
		table_json_field(&sched_columns[i], w, &total, NULL);
	json_more(w, NULL, &total, NULL);
	jsonw_uint(w, "unknown_waits", units_scale(s->unknown_waits, a->scale));
	jsonw_uint(w, "untracked", units_scale(s->untracked, a->scale));
	jsonw_end_object(w);
	jsonw_begin_object(w, "left");
	for (int i = 0; i < NR_SCHED_LEFT; i++)
		jsonw_uint(w, sched_left_name((enum sched_left)i),
			   units_scale(s->left[i], a->scale));
	jsonw_end_object(w);
	histogram_json(w, "run_queue", &s->run_queue, a->scale);
	histogram_json(w, "dirty_run_queue", &s->dirty_run_queue, a->scale);
	histogram_json(w, "slices", &s->slices, a->scale);
	histogram_json(w, "dirty_slices", &s->dirty_slices, a->scale);
	histogram_json(w, "reductions", &s->reductions, a->scale);
	jsonw_uint(w, "long_slices", units_scale(s->nr_long, a->long_scale));
	jsonw_begin_rows(w, "longest");
	for (unsigned int i = 0; i < s->nr_longest; i++)
		long_json(w, s->groups.names, &s->longest[i]);
	jsonw_end_array(w);
	table_json_rows(w, "rows", &t, o);
	free((void *)t.rows);
}

static void write_left(FILE *f, const struct sched_answer *a)
{
	static const char *const words[NR_SCHED_LEFT] = {
		[SCHED_LEFT_WAITING] = "to wait",
		[SCHED_LEFT_PREEMPTED] = "preempted",
		[SCHED_LEFT_YIELDED] = "yielded",
		[SCHED_LEFT_TO_DIRTY] = "to a dirty scheduler",
		[SCHED_LEFT_SUSPENDED] = "suspended",
		[SCHED_LEFT_EXITED] = "exited",
	};
	struct strbuf line = STRBUF_INIT;

	for (int i = 0; i < NR_SCHED_LEFT; i++) {
		if (!a->stats->left[i])
			continue;
		strbuf_addstr(&line, line.len ? ", " : "");
		add_count(&line, a->stats->left[i], a->scale);
		strbuf_addf(&line, " %s", words[i]);
	}
	if (line.len)
		fprintf(f, "slices ended: %s\n", line.buf);
	strbuf_free(&line);
}

static void write_head(FILE *f, const void *answer)
{
	const struct sched_answer *a = answer;
	const struct sched_stats *s = a->stats;
	double seconds = (double)a->duration_ns / 1e9;
	double busy = sched_percent_of_type(s, THREAD_NORMAL);
	const struct sched_row total = make_row(a, &s->total);
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s", seconds);
	if (!isnan(busy))
		strbuf_addf(&line, "  schedulers %.1f %% busy", busy);
	strbuf_addstr(&line, "  slices ");
	add_count(&line, total.slices, 1);
	if (seconds > 0) {
		strbuf_addstr(&line, " (");
		add_count(&line, total.slices, 1 / seconds);
		strbuf_addstr(&line, "/s)");
	}
	strbuf_addstr(&line, "  longer than ");
	cell_ns(&line, (double)s->long_ns);
	strbuf_addstr(&line, ": ");
	add_count(&line, s->nr_long, a->long_scale);
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

static int write_rest(FILE *f, const void *answer, const struct table_options *o, struct error *err)
{
	const struct sched_answer *a = answer;
	const struct sched_stats *s = a->stats;
	const struct table t = make_table(a);
	struct strbuf line = STRBUF_INIT;
	int rc;

	if (excludes_truncated(a))
		fprintf(f,
			"Slices and waits that a sampling window truncated are excluded: %scounts "
			"are too low, most of all for long slices and waits%s%s\n",
			a->by_memory ? "" : "times and ",
			a->joined ? "; only long slices are complete in TIME, SLICES and MAX" : "",
			a->by_memory ? ". Times are the busy time of the schedulers, divided in "
				       "proportion to the slices that were seen"
				     : "");
	fputc('\n', f);
	rc = sched_cpus_write(f, a, o->color, err);
	fputs(s->cpus.len ? "\n" : "", f);
	histogram_write(f, "run-queue latency", &s->run_queue, HISTOGRAM_NS, a->scale);
	if (s->dirty_run_queue.nr)
		histogram_write(f, "run-queue latency, dirty schedulers", &s->dirty_run_queue,
				HISTOGRAM_NS, a->scale);
	if (s->unknown_waits) {
		add_count(&line, s->unknown_waits, a->scale);
		fprintf(f,
			"  (without %s slices of which it is not known when they became "
			"runnable)\n",
			line.buf);
	}
	histogram_write(f, "slices", &s->slices, HISTOGRAM_NS, a->scale);
	if (s->dirty_slices.nr)
		histogram_write(f, "slices on dirty schedulers", &s->dirty_slices, HISTOGRAM_NS,
				a->scale);
	histogram_write(f, "reductions of a slice", &s->reductions, HISTOGRAM_COUNT, a->scale);
	write_left(f, a);
	if (rc == 0)
		rc = group_rows_write(f, &s->groups, &t, o, err);
	if (s->untracked) {
		strbuf_reset(&line);
		add_count(&line, s->untracked, a->scale);
		fprintf(f, "%s events were left out: more than %u processes at one time\n",
			line.buf, s->max_processes);
	}
	write_longest(f, a);
	free((void *)t.rows);
	strbuf_free(&line);
	return rc;
}

const struct answer_view sched_view = {write_head, write_rest, write_json};
