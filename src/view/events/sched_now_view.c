/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_now_view.h. */
#include "view/events/sched_now_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "names/names.h"

#define ROW(p) ((const struct sched_now_row *)(p))

/* Frames of the native stack that a line of a terminal has room for. */
#define NATIVE_SHOWN 3u

/* ---- columns --------------------------------------------------------------------------------- */

static void add_name(struct strbuf *out, const char *name)
{
	if (name)
		names_format_module(out, name, strlen(name));
}

static void col_number(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%u", ROW(row)->number);
	if (ROW(row)->last_number)
		strbuf_addf(out, "-%u", ROW(row)->last_number);
}

static void col_registered(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_name(out, ROW(row)->registered_name);
}

static void col_function(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (ROW(row)->function)
		strbuf_addf(out, "%s%s", ROW(row)->function, ROW(row)->slice_start ? " ~" : "");
}

static void add_bound(struct strbuf *out, const char *sign, uint64_t ns)
{
	char buf[32];

	if (ns != UINT64_MAX)
		strbuf_addf(out, "%s %s", sign, units_format_ns(ns, buf, sizeof(buf)));
}

static void col_at_least(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_bound(out, ">=", ROW(row)->at_least_ns);
}

static void col_at_most(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_bound(out, "<=", ROW(row)->at_most_ns);
}

static void add_percent(struct strbuf *out, double percent)
{
	if (!isnan(percent))
		strbuf_addf(out, "%.0f%%", percent);
}

static void col_on_cpu(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_percent(out, ROW(row)->on_cpu);
}

static void col_cpu_wait(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	add_percent(out, ROW(row)->cpu_wait);
}

/* Left out for schedulers that wait for work: the file is only what they poll for events. */
static void col_file(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ROW(row)->rests ? "" : ROW(row)->file);
}

/* Left out for schedulers that wait for work: the native stack shows only how they sleep. */
static void col_native(struct strbuf *out, const void *row, const void *ctx)
{
	const struct sched_now_answer *a = ctx;
	const struct sched_now_row *r = row;
	unsigned int shown = a && a->all_frames ? r->nr_native : MIN(r->nr_native, NATIVE_SHOWN);

	if (r->rests)
		return;
	for (unsigned int i = 0; i < shown; i++)
		strbuf_addf(out, "%s%s", i ? " < " : "", r->native[i]);
	if (r->nr_native > shown)
		strbuf_addstr(out, " < ...");
}

static void json_texts(struct jsonw *w, const char *name, const char *const *texts, unsigned int nr)
{
	jsonw_begin_array(w, name);
	for (unsigned int i = 0; i < nr; i++)
		jsonw_string(w, NULL, texts[i]);
	jsonw_end_array(w);
}

static void json_native(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	json_texts(w, name, ROW(row)->native, ROW(row)->nr_native);
}

static void json_lock(struct jsonw *w, const struct sched_now_row *r)
{
	if (!r->lock.type) {
		jsonw_null(w, "lock");
		return;
	}
	jsonw_begin_object(w, "lock");
	jsonw_string(w, "type", r->lock.type);
	jsonw_uint_if(w, "owner_tid", r->lock.owner_tid, r->lock.owner_tid);
	jsonw_string(w, "owner_thread", r->lock.thread);
	jsonw_string(w, "owner_pid", r->lock.owner ? r->lock.owner->pid : NULL);
	jsonw_bool(w, "owner_ended", r->lock.ended);
	jsonw_end_object(w);
}

/* What has no column of its own. */
static void json_rest(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(name);
	UNUSED(ctx);
	jsonw_uint_if(w, "longest_ns", ROW(row)->longest.ns, ROW(row)->longest.ns);
	jsonw_string(w, "longest_pid", ROW(row)->longest.pid);
	json_lock(w, ROW(row));
}

#define FIELD(name, title, type, member)                                                           \
	TABLE_FIELD(name, title, type, struct sched_now_row, member)

static const struct table_column columns[] = {
	{FIELD("type", "SCHEDULER", TEXT, type)},
	{FIELD("scheduler", "NO", ID, number), .text = col_number},
	{FIELD("doing", "DOING", TEXT, doing)},
	{FIELD("pid", "PID", TEXT, pid)},
	{FIELD("port", "PORT", TEXT, port), .hidden = true},
	{FIELD("registered_name", "NAME", TEXT, registered_name), .text = col_registered},
	{FIELD("function", "FUNCTION", TEXT, function), .text = col_function},
	{FIELD("function_from", "FROM", TEXT, function_from), .hidden = true},
	{FIELD("at_least_ns", "FOR", NS, at_least_ns), .text = col_at_least},
	{FIELD("at_most_ns", "AT MOST", NS, at_most_ns), .text = col_at_most},
	{FIELD("run_queue", "QUEUE", COUNT, run_queue)},
	{FIELD("os_tid", "OS TID", ID, os_tid), .hidden = true},
	{FIELD("thread_state", "THREAD", TEXT, thread_state)},
	{FIELD("on_cpu", "ON CPU", PERCENT, on_cpu), .text = col_on_cpu},
	{FIELD("cpu_wait", "CPU WAIT", PERCENT, cpu_wait), .text = col_cpu_wait},
	{FIELD("syscall", "SYSCALL", TEXT, syscall)},
	{FIELD("file", "FILE", TEXT, file), .text = col_file},
	{FIELD("wchan", "WCHAN", TEXT, wchan), .hidden = true},
	{FIELD("holds_progress", "PROGRESS", TEXT, holds_progress), .hidden = true},
	{"native_stack", "NATIVE STACK", .text = col_native, .json = json_native},
	{.json = json_rest},
};

const struct table sched_now_table = {.columns = columns, .row_size = sizeof(struct sched_now_row)};

static struct table table_of(const struct sched_now_answer *a)
{
	return (struct table){columns, a->rows, a->nr, sizeof(*a->rows), a};
}

/* ---- text ------------------------------------------------------------------------------------ */

static bool add_holders(struct strbuf *out, const struct sched_now_answer *a)
{
	bool any = false;

	for (size_t i = 0; i < a->nr; i++) {
		const struct sched_now_row *r = &a->rows[i];

		if (!r->holds_progress)
			continue;
		strbuf_addf(out, "%sscheduler %u", any ? "; " : ": ", r->number);
		if (r->pid)
			strbuf_addf(out, " with %s", r->pid);
		if (r->function)
			strbuf_addf(out,
				    r->slice_start ? ", whose time slice began in %s," : " in %s",
				    r->function);
		strbuf_addf(out, " %s", r->holds_how);
		if (r->runnable)
			strbuf_addstr(out, " (its thread waits for a CPU)");
		any = true;
	}
	return any;
}

static void write_progress(FILE *f, const struct sched_now_answer *a)
{
	struct strbuf line = STRBUF_INIT;

	strbuf_addstr(&line, "thread progress ");
	switch (a->progress.state) {
	case PROGRESS_UNKNOWN:
		strbuf_addstr(&line, a->live ? "is not known: ebeam cannot read its value, and no "
					       "scheduler leads it"
					     : "is not known: a core file shows only one moment");
		break;
	case PROGRESS_MOVES:
		strbuf_addstr(&line, "moves");
		break;
	case PROGRESS_NOT_NEEDED:
		strbuf_addstr(&line, "stands still: all schedulers wait for work, none needs it");
		break;
	case PROGRESS_STILL:
		strbuf_addstr(&line, "stands still");
		add_bound(&line, " for >=", a->progress.still_ns);
		if (!add_holders(&line, a))
			strbuf_addf(&line, ": it waits for %s, which is not a scheduler",
				    a->progress.waits_for ? a->progress.waits_for
							  : "another thread");
	}
	if (a->stopped)
		strbuf_addstr(&line, " (the node is stopped by a signal or a debugger)");
	table_clean_text(&line, false);
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

static void write_block(FILE *f, const struct sched_now_answer *a)
{
	bool dirty = a->block.dirty;

	if (!a->block.blocked)
		return;
	fprintf(f, "multi-scheduling is blocked: only scheduler 1 runs%s, until ",
		dirty ? "" : ", and the dirty ones");
	for (unsigned int i = 0; i < a->block.nr_pids; i++)
		fprintf(f, "%s%s", i ? ", " : "", a->block.pids[i]);
	if (a->block.nr > a->block.nr_pids)
		fprintf(f, " and %u more", a->block.nr - a->block.nr_pids);
	fprintf(f, "%s unblocked it (erlang:system_flag(multi_scheduling, %s)) or exited\n",
		a->block.nr == 1 ? " has" : " have", dirty ? "unblock" : "unblock_normal");
}

/* The scheduler as others write it: "scheduler 2 with <0.9.0> my_server in m:f/1". */
static void add_scheduler(struct strbuf *out, const struct sched_now_row *r, const char *has)
{
	strbuf_addf(out, "%s scheduler %u", r->type, r->number);
	if (!r->pid)
		return;
	strbuf_addf(out, "%s %s", has, r->pid);
	strbuf_addstr(out, r->registered_name ? " " : "");
	add_name(out, r->registered_name);
	if (r->function && !r->slice_start)
		strbuf_addf(out, " in %s", r->function);
}

static void write_locks(FILE *f, const struct sched_now_answer *a)
{
	struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < a->nr; i++) {
		const struct sched_now_row *r = &a->rows[i];

		if (!r->lock.type)
			continue;
		strbuf_reset(&line);
		add_scheduler(&line, r, " with");
		strbuf_addf(&line, " waits for a %s of C code", r->lock.type);
		if (r->lock.owner == r) {
			strbuf_addstr(&line, " that it has itself: it waits for ever");
		} else if (r->lock.ended) {
			strbuf_addstr(&line, " whose owner, a thread, has ended");
		} else if (r->lock.owner) {
			strbuf_addstr(&line, ", held by ");
			add_scheduler(&line, r->lock.owner, ", which runs");
			strbuf_addf(&line, " (OS thread %u)", r->lock.owner_tid);
		} else if (r->lock.owner_tid) {
			strbuf_addf(&line, ", held by the thread %s (OS thread %u)",
				    r->lock.thread ? r->lock.thread : "", r->lock.owner_tid);
		} else {
			strbuf_addstr(&line, "; who has it is not known");
		}
		table_clean_text(&line, false);
		fprintf(f, "%s\n", line.buf);
	}
	strbuf_free(&line);
}

/* Lines for long slices that ended before the last sample, which the rows show. */
static void write_longest(FILE *f, const struct sched_now_answer *a)
{
	struct strbuf line = STRBUF_INIT;
	char time[32];

	for (size_t i = 0; i < a->nr; i++) {
		const struct sched_now_row *r = &a->rows[i];

		if (!r->longest.over)
			continue;
		strbuf_reset(&line);
		strbuf_addf(&line, "%s scheduler %u ran %s%s", r->type, r->number, r->longest.pid,
			    r->longest.name ? " " : "");
		add_name(&line, r->longest.name);
		strbuf_addf(&line,
			    " for >= %s in one time slice (ebeam sched -d 10 shows the function)",
			    units_format_ns(r->longest.ns, time, sizeof(time)));
		table_clean_text(&line, false);
		fprintf(f, "%s\n", line.buf);
	}
	strbuf_free(&line);
}

static bool may_join(const struct sched_now_row *r)
{
	return r->rests && strcmp(r->type, "normal") != 0;
}

/* Rows of the table: dirty schedulers of which nothing is to be said, as the ones beside them, are
 * in one row. */
static struct sched_now_row *join_idle(const struct sched_now_answer *a, size_t *nr)
{
	struct sched_now_row *rows = xcalloc(MAX(a->nr, 1u), sizeof(*rows));

	*nr = 0;
	for (size_t i = 0; i < a->nr; i++) {
		const struct sched_now_row *r = &a->rows[i];
		struct sched_now_row *last = *nr ? &rows[*nr - 1] : NULL;

		if (!last || !may_join(last) || !may_join(r) || strcmp(last->type, r->type) != 0 ||
		    strcmp(last->doing, r->doing) != 0) {
			rows[(*nr)++] = *r;
			continue;
		}
		last->last_number = r->number;
		last->at_least_ns = MIN(last->at_least_ns, r->at_least_ns);
		last->at_most_ns = UINT64_MAX;
		last->os_tid = UINT32_MAX;
		last->on_cpu = fmax(last->on_cpu, r->on_cpu);
		last->cpu_wait = fmax(last->cpu_wait, r->cpu_wait);
		if (last->thread_state != r->thread_state)
			last->thread_state = NULL;
		if (last->syscall != r->syscall)
			last->syscall = NULL;
		if (last->wchan && (!r->wchan || strcmp(last->wchan, r->wchan) != 0))
			last->wchan = NULL;
	}
	return rows;
}

static int write_rows(FILE *f, const struct sched_now_answer *a, const struct table_options *o,
		      struct error *err)
{
	struct table t = table_of(a);
	struct sched_now_row *rows = join_idle(a, &t.nr_rows);
	int rc;

	t.rows = rows;
	rc = table_write(f, &t, o, err);
	free(rows);
	return rc;
}

int sched_now_view_write(FILE *f, const struct sched_now_answer *a, const struct table_options *o,
			 struct error *err)
{
	int rc = write_rows(f, a, o, err);
	bool slice_start = false;
	char buf[32];

	if (rc)
		return rc;
	fputc('\n', f);
	if (a->live)
		fprintf(f, "%u samples in %s; ", a->nr_samples,
			units_format_ns(a->duration_ns, buf, sizeof(buf)));
	write_progress(f, a);
	write_block(f, a);
	write_locks(f, a);
	write_longest(f, a);
	for (size_t i = 0; i < a->nr; i++)
		slice_start |= a->rows[i].slice_start;
	if (slice_start)
		fprintf(f, "~ function in which the time slice began; the current one is only in "
			   "registers of the CPU (ebeam record shows it)\n");
	return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void sched_now_view_json(struct jsonw *w, const struct sched_now_answer *a,
			 const struct table_options *o)
{
	static const char *const states[] = {
		[PROGRESS_MOVES] = "moves",
		[PROGRESS_STILL] = "still",
		[PROGRESS_NOT_NEEDED] = "not_needed",
	};
	const struct table t = table_of(a);

	jsonw_begin_object(w, "data");
	jsonw_uint(w, "samples", a->nr_samples);
	jsonw_uint(w, "duration_ns", a->duration_ns);
	jsonw_bool(w, "stopped", a->stopped);
	jsonw_begin_object(w, "thread_progress");
	jsonw_string(w, "state", states[a->progress.state]);
	jsonw_known(w, "value", a->progress.value);
	jsonw_known(w, "at_least_ns", a->progress.still_ns);
	jsonw_string(w, "waits_for", a->progress.waits_for);
	jsonw_end_object(w);
	jsonw_begin_object(w, "multi_scheduling");
	jsonw_string(w, "state",
		     !a->block.blocked ? "enabled"
		     : a->block.dirty  ? "blocked"
				       : "blocked_normal");
	json_texts(w, "blocked_by", a->block.pids, a->block.nr_pids);
	jsonw_uint(w, "blockers", a->block.nr);
	jsonw_end_object(w);
	table_json_rows(w, "schedulers", &t, o);
	jsonw_end_object(w);
}
