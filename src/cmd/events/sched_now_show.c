/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam sched --now`; see sched_now.h. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "cmd/events/sched_now.h"
#include "cmd/output/envelope.h"
#include "cmd/run/target.h"
#include "model/stats/sched_use.h"
#include "names/names.h"
#include "view/table/cells.h"

#define ROW(p)	((const struct now_row *)(p))
#define VIEW(c) ((const struct now_view *)(c))

/* Of the native stack: what a line has room for. */
#define NATIVE_SHOWN 3

/* ---- values ---------------------------------------------------------------------------------- */

/* A scheduler that rests may do so because it may not run anything. */
static const char *doing_name(const struct now_view *v, const struct sched_one *one)
{
	const struct sched_sample *s = &one->now;
	bool normal = one->type == THREAD_NORMAL;

	static const char *const names[] = {
		[SCHED_DOING_NOTHING] = "idle",
		[SCHED_DOING_PROCESS] = "process",
		[SCHED_DOING_PORT] = "port",
		[SCHED_DOING_OTHER] = "other",
	};

	if (s->doing == SCHED_DOING_PROCESS && (s->state & PSFLG_GC))
		return "gc";
	if (s->doing == SCHED_DOING_NOTHING && v->block.blocked &&
	    (normal ? s->suspended : v->block.dirty))
		return "blocked";
	if (s->doing == SCHED_DOING_NOTHING && s->suspended)
		return "offline";
	return names[s->doing];
}

static const char *pid_of(const struct now_view *v, const struct now_row *r, char *buf, size_t size)
{
	const struct sched_sample *s = &r->one->now;

	return s->doing == SCHED_DOING_PROCESS && TERM_IS_PID(s->epid)
		       ? pid_format(&v->pids, s->epid, buf, size)
		       : NULL;
}

static const char *port_of(const struct now_view *v, const struct now_row *r, char *buf,
			   size_t size)
{
	const struct sched_sample *s = &r->one->now;

	return s->doing == SCHED_DOING_PORT && v->has_ports && TERM_IS_PORT(s->port_id)
		       ? port_format(&v->ports, s->port_id, buf, size)
		       : NULL;
}

static const char *registered_of(const struct now_view *v, const struct now_row *r)
{
	const struct sched_sample *s = &r->one->now;

	return s->doing == SCHED_DOING_PROCESS && s->registered
		       ? beam_atom_text(v->node->atoms, s->registered, NULL)
		       : NULL;
}

static const char *thread_of(const struct now_row *r)
{
	switch (r->last.state) {
	case 'R':
		return r->runnable ? "runnable" : "on_cpu";
	case 'S':
	case 'I':
		return "sleeping";
	case 'D':
		return "uninterruptible";
	case 'T':
	case 't':
		return "stopped";
	case 'Z':
	case 'X':
		return "dead";
	default:
		return NULL;
	}
}

/* "read", or "syscall 999". */
static const char *syscall_of(const struct now_row *r, char *buf, size_t size)
{
	const char *name;
	bool fd;

	if (!r->stood || r->last.where != THREAD_IN_SYSCALL)
		return NULL;
	name = syscall_name(r->last.syscall, &fd);
	if (!name)
		snprintf(buf, size, "syscall %" PRId64, r->last.syscall);
	return name ? name : buf;
}

static const char *wchan_of(const struct now_row *r)
{
	return r->stood && r->last.wchan[0] ? r->last.wchan : NULL;
}

static const char *holder_of(const struct now_row *r)
{
	static const char *const names[] = {
		[PROGRESS_HOLDER_BEHIND] = "behind",
		[PROGRESS_HOLDER_LEADER] = "leader",
		[PROGRESS_HOLDER_ALONE] = "alone",
	};

	return names[r->holds];
}

/* ---- columns --------------------------------------------------------------------------------- */

#define TEXT_COLUMN(column, value)                                                                 \
	static void col_##column(struct strbuf *out, const void *row, const void *ctx)             \
	{                                                                                          \
		const struct now_view *v = ctx;                                                    \
		const struct now_row *r = row;                                                     \
		char buf[64] = "";                                                                 \
		const char *text = (value);                                                        \
                                                                                                   \
		UNUSED(v);                                                                         \
		UNUSED(buf);                                                                       \
		if (text)                                                                          \
			strbuf_addstr(out, text);                                                  \
	}

TEXT_COLUMN(type, sched_type_name(r->one->type))
TEXT_COLUMN(doing, doing_name(v, r->one))
TEXT_COLUMN(pid, pid_of(v, r, buf, sizeof(buf)))
TEXT_COLUMN(port, port_of(v, r, buf, sizeof(buf)))
TEXT_COLUMN(thread_state, thread_of(r))
TEXT_COLUMN(syscall, syscall_of(r, buf, sizeof(buf)))
/* Of those that rest it is where they wait for events. */
TEXT_COLUMN(file, r->one->now.doing == SCHED_DOING_NOTHING ? NULL : r->file)
TEXT_COLUMN(wchan, wchan_of(r))
TEXT_COLUMN(function_from, function_from_name(r->from))
TEXT_COLUMN(holds_progress, holder_of(r))

static void col_scheduler(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%u", ROW(row)->one->number);
}

static void col_registered(struct strbuf *out, const void *row, const void *ctx)
{
	const char *name = registered_of(VIEW(ctx), ROW(row));

	if (name)
		names_format_module(out, name, strlen(name));
}

static void col_function(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (ROW(row)->function)
		strbuf_addf(out, "%s%s", ROW(row)->function,
			    ROW(row)->from == FUNCTION_SLICE_START ? " ~" : "");
}

static void add_bound(struct strbuf *out, const char *sign, uint64_t ns)
{
	char buf[32];

	if (ns != SCHED_NOW_UNKNOWN)
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

static void col_os_tid(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	if (ROW(row)->os_tid)
		strbuf_addf(out, "%d", ROW(row)->os_tid);
}

/* Of those that rest it is how they sleep. */
static void col_native(struct strbuf *out, const void *row, const void *ctx)
{
	const struct now_row *r = row;

	UNUSED(ctx);
	if (r->one->now.doing == SCHED_DOING_NOTHING)
		return;
	for (unsigned int i = 0; i < MIN(r->nr_native, (unsigned int)NATIVE_SHOWN); i++)
		strbuf_addf(out, "%s%s", i ? " < " : "", r->native[i]);
	if (r->nr_native > NATIVE_SHOWN)
		strbuf_addstr(out, " < ...");
}

TABLE_VALUE(run_queue, struct now_row, cell_known(r->one->now.run_queue))

static int by_scheduler(const void *a, const void *b)
{
	return ROW(a)->one->number < ROW(b)->one->number   ? -1
	       : ROW(a)->one->number > ROW(b)->one->number ? 1
							   : 0;
}

static int by_os_tid(const void *a, const void *b)
{
	return ROW(a)->os_tid < ROW(b)->os_tid ? -1 : ROW(a)->os_tid > ROW(b)->os_tid;
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct now_row, member)

const struct table_column sched_now_columns[] = {
	{"type", "SCHEDULER", .text = col_type},
	{"scheduler", "NO", TABLE_RIGHT, .text = col_scheduler, .compare = by_scheduler},
	{"doing", "DOING", .text = col_doing},
	{"pid", "PID", .text = col_pid},
	{"port", "PORT", .hidden = true, .text = col_port},
	{"registered_name", "NAME", .text = col_registered},
	{"function", "FUNCTION", .text = col_function},
	{"function_from", "FROM", .hidden = true, .text = col_function_from},
	{FIELD("at_least_ns", "FOR", NS, at_least_ns), .text = col_at_least},
	{FIELD("at_most_ns", "AT MOST", NS, at_most_ns), .text = col_at_most},
	{TABLE_NUMBER("run_queue", "QUEUE", COUNT, run_queue)},
	{"os_tid", "OS TID", TABLE_RIGHT, .hidden = true, .text = col_os_tid, .compare = by_os_tid},
	{"thread_state", "THREAD", .text = col_thread_state},
	{FIELD("on_cpu", "ON CPU", PERCENT, on_cpu), .text = col_on_cpu},
	{FIELD("cpu_wait", "CPU WAIT", PERCENT, cpu_wait), .text = col_cpu_wait},
	{"syscall", "SYSCALL", .text = col_syscall},
	{"file", "FILE", .text = col_file},
	{"wchan", "WCHAN", .hidden = true, .text = col_wchan},
	{"holds_progress", "PROGRESS", .hidden = true, .text = col_holds_progress},
	{"native_stack", "NATIVE STACK", .text = col_native},
	{0},
};

/* ---- thread progress ------------------------------------------------------------------------- */

enum progress_state {
	PROGRESS_UNKNOWN,
	PROGRESS_MOVES,
	PROGRESS_STILL,
	PROGRESS_NOT_NEEDED, /* all wait for work */
};

struct shown_progress {
	enum progress_state state;
	uint64_t still_ns;     /* SCHED_NOW_UNKNOWN */
	const char *waits_for; /* of what is no scheduler; NULL */
	unsigned int nr_holders;
};

/* The leader's note of the thread that it waits for, if that is none of the schedulers'. */
static const char *other_holder(const struct now_view *v)
{
	size_t nr_normal = v->node->anchors.nr_sched;

	for (size_t i = 0; i < v->nr; i++) {
		const struct sched_sample *s = &v->rows[i].one->now;

		if (v->rows[i].one->type != THREAD_NORMAL || !s->known || !s->leader)
			continue;
		if (s->leader_unmanaged != -1)
			return "an unmanaged thread";
		if (s->leader_check == 0)
			return "the aux thread";
		if (s->leader_check > 0 && (size_t)s->leader_check > nr_normal)
			return "a poll thread";
	}
	return NULL;
}

static struct shown_progress progress_of(const struct now_view *v)
{
	const struct sched_progress *p = sched_now_progress(v->now);
	struct shown_progress t = {.still_ns = SCHED_NOW_UNKNOWN};
	bool works = false;

	for (size_t i = 0; i < v->nr; i++) {
		const struct sched_one *one = v->rows[i].one;

		works |= one->type == THREAD_NORMAL && one->now.known &&
			 one->now.confirmed != PROGRESS_WAITING;
		t.nr_holders += v->rows[i].holds != PROGRESS_HOLDER_NONE;
	}
	if (!v->live)
		return t;
	if (p->known && p->moves) {
		t.state = PROGRESS_MOVES;
	} else if (t.nr_holders) {
		t.state = PROGRESS_STILL;
	} else if (!works) {
		t.state = PROGRESS_NOT_NEEDED;
	} else if (p->known) {
		t.state = PROGRESS_STILL;
		t.waits_for = other_holder(v);
	}
	if (p->known && t.state == PROGRESS_STILL && v->last_ns > p->same_ns)
		t.still_ns = v->last_ns - p->same_ns;
	else if (t.nr_holders && v->last_ns > v->first_ns)
		t.still_ns = v->last_ns - v->first_ns;
	return t;
}

static void add_holders(struct strbuf *out, const struct now_view *v)
{
	static const char *const how[] = {
		[PROGRESS_HOLDER_BEHIND] = "has not confirmed it",
		[PROGRESS_HOLDER_LEADER] = "leads it and does not check",
		[PROGRESS_HOLDER_ALONE] = "does not come to check",
	};
	const char *between = ": ";

	for (size_t i = 0; i < v->nr; i++) {
		const struct now_row *r = &v->rows[i];
		char buf[64];
		const char *pid = pid_of(v, r, buf, sizeof(buf));

		if (r->holds == PROGRESS_HOLDER_NONE)
			continue;
		strbuf_addf(out, "%sscheduler %u", between, r->one->number);
		if (pid)
			strbuf_addf(out, " with %s", pid);
		if (r->function)
			strbuf_addf(out,
				    r->from == FUNCTION_SLICE_START
					    ? ", whose time slice began in %s,"
					    : " in %s",
				    r->function);
		strbuf_addf(out, " %s", how[r->holds]);
		if (r->runnable)
			strbuf_addstr(out, " (its thread waits for a CPU)");
		between = "; ";
	}
}

static void write_progress(FILE *f, const struct now_view *v)
{
	struct shown_progress t = progress_of(v);
	struct strbuf line = STRBUF_INIT;
	char buf[32];

	strbuf_addstr(&line, "thread progress ");
	if (t.state == PROGRESS_UNKNOWN) {
		strbuf_addstr(&line, v->live ? "is not known: its value is hidden, and no "
					       "scheduler leads it"
					     : "is not known: a core file is one moment");
	} else if (t.state == PROGRESS_MOVES) {
		strbuf_addstr(&line, "moves");
	} else if (t.state == PROGRESS_NOT_NEEDED) {
		strbuf_addstr(&line, "stands still: all schedulers wait for work, none needs it");
	} else {
		strbuf_addstr(&line, "stands still");
		if (t.still_ns != SCHED_NOW_UNKNOWN)
			strbuf_addf(&line, " for >= %s",
				    units_format_ns(t.still_ns, buf, sizeof(buf)));
		add_holders(&line, v);
		if (!t.nr_holders)
			strbuf_addf(&line, ": it waits for %s, no scheduler",
				    t.waits_for ? t.waits_for : "another thread");
	}
	if (v->stopped)
		strbuf_addstr(&line, " (the node is stopped by a signal or a debugger)");
	table_clean_text(&line, false);
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

/* ---- blocked multi-scheduling ---------------------------------------------------------------- */

static void write_block(FILE *f, const struct now_view *v)
{
	const struct sched_block *b = &v->block;
	char buf[64];

	if (!b->blocked)
		return;
	fprintf(f, "multi-scheduling is blocked: scheduler 1 alone runs%s, until ",
		b->dirty ? "" : " beside the dirty ones");
	for (unsigned int i = 0; i < MIN(b->nr, SCHED_BLOCKERS_MAX); i++)
		fprintf(f, "%s%s", i ? ", " : "",
			pid_format(&v->pids, b->epid[i], buf, sizeof(buf)));
	if (b->nr > SCHED_BLOCKERS_MAX)
		fprintf(f, " and %u more", b->nr - SCHED_BLOCKERS_MAX);
	fprintf(f, "%s unblocked it (erlang:system_flag(multi_scheduling, %s)) or exited\n",
		b->nr == 1 ? " has" : " have", b->dirty ? "unblock" : "unblock_normal");
}

static void json_block(struct jsonw *w, const struct now_view *v)
{
	const struct sched_block *b = &v->block;
	char buf[64];

	jsonw_begin_object(w, "multi_scheduling");
	jsonw_string(w, "state", !b->blocked ? "enabled" : b->dirty ? "blocked" : "blocked_normal");
	jsonw_begin_array(w, "blocked_by");
	for (unsigned int i = 0; i < MIN(b->nr, SCHED_BLOCKERS_MAX); i++)
		jsonw_string(w, NULL, pid_format(&v->pids, b->epid[i], buf, sizeof(buf)));
	jsonw_end_array(w);
	jsonw_uint(w, "blockers", b->nr);
	jsonw_end_object(w);
}

/* ---- what is over ---------------------------------------------------------------------------- */

/* The rows are of the last sample: what lasted this long before it is reported below them. */
#define LONGEST_NS 100000000u

static bool is_over(const struct now_view *v, const struct now_row *r)
{
	const struct sched_sample *s = &r->one->now;

	return r->longest.ns >= LONGEST_NS &&
	       !(s->known && s->doing == SCHED_DOING_PROCESS && s->epid == r->longest.epid &&
		 v->last_ns - r->one->same_ns == r->longest.ns);
}

static void write_longest(FILE *f, const struct now_view *v)
{
	struct strbuf line = STRBUF_INIT;
	char pid[64], time[32];

	for (size_t i = 0; i < v->nr; i++) {
		const struct now_row *r = &v->rows[i];
		const char *name;

		if (!is_over(v, r))
			continue;
		strbuf_reset(&line);
		strbuf_addf(&line, "%s scheduler %u was with %s", sched_type_name(r->one->type),
			    r->one->number,
			    pid_format(&v->pids, r->longest.epid, pid, sizeof(pid)));
		name = r->longest.registered
			       ? beam_atom_text(v->node->atoms, r->longest.registered, NULL)
			       : NULL;
		if (name) {
			strbuf_addch(&line, ' ');
			names_format_module(&line, name, strlen(name));
		}
		strbuf_addf(&line, " for >= %s without a pause (which function: ebeam sched -d 10)",
			    units_format_ns(r->longest.ns, time, sizeof(time)));
		table_clean_text(&line, false);
		fprintf(f, "%s\n", line.buf);
	}
	strbuf_free(&line);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool has_start_mark(const struct now_view *v)
{
	for (size_t i = 0; i < v->nr; i++)
		if (v->rows[i].from == FUNCTION_SLICE_START)
			return true;
	return false;
}

int sched_now_write(struct command_context *ctx, const struct now_view *v, const struct table *t,
		    const struct table_options *o, struct error *err)
{
	int rc = table_write(ctx->out, t, o, err);
	char buf[32];

	if (rc)
		return rc;
	fprintf(ctx->out, "\n");
	if (v->live)
		fprintf(ctx->out, "%u samples in %s; ", v->nr_samples,
			units_format_ns(v->last_ns - v->first_ns, buf, sizeof(buf)));
	write_progress(ctx->out, v);
	write_block(ctx->out, v);
	write_longest(ctx->out, v);
	if (has_start_mark(v))
		fprintf(ctx->out, "~ its time slice began in this function: where Erlang code is "
				  "by now stands in the registers of a CPU (ebeam record)\n");
	return 0;
}

static void json_row(struct jsonw *w, const struct now_view *v, const struct now_row *r)
{
	const struct sched_sample *s = &r->one->now;
	char buf[64];

	jsonw_begin_object(w, NULL);
	jsonw_string(w, "type", sched_type_name(r->one->type));
	jsonw_uint(w, "scheduler", r->one->number);
	jsonw_string(w, "doing", doing_name(v, r->one));
	jsonw_string(w, "pid", pid_of(v, r, buf, sizeof(buf)));
	jsonw_string(w, "port", port_of(v, r, buf, sizeof(buf)));
	jsonw_string(w, "registered_name", registered_of(v, r));
	jsonw_string(w, "function", r->function);
	jsonw_string(w, "function_from", function_from_name(r->from));
	jsonw_known(w, "at_least_ns", r->at_least_ns);
	jsonw_known(w, "at_most_ns", r->at_most_ns);
	jsonw_uint_if(w, "longest_ns", r->longest.ns > 0, r->longest.ns);
	jsonw_string(w, "longest_pid",
		     r->longest.ns ? pid_format(&v->pids, r->longest.epid, buf, sizeof(buf))
				   : NULL);
	jsonw_known(w, "run_queue", s->run_queue);
	if (r->os_tid)
		jsonw_int(w, "os_tid", r->os_tid);
	else
		jsonw_null(w, "os_tid");
	jsonw_string(w, "thread_state", thread_of(r));
	jsonw_double(w, "on_cpu", r->on_cpu);
	jsonw_double(w, "cpu_wait", r->cpu_wait);
	jsonw_string(w, "syscall", syscall_of(r, buf, sizeof(buf)));
	jsonw_string(w, "file", r->file[0] ? r->file : NULL);
	jsonw_string(w, "wchan", wchan_of(r));
	jsonw_string(w, "holds_progress", holder_of(r));
	jsonw_begin_array(w, "native_stack");
	for (unsigned int i = 0; i < r->nr_native; i++)
		jsonw_string(w, NULL, r->native[i]);
	jsonw_end_array(w);
	jsonw_end_object(w);
}

int sched_now_json(struct command_context *ctx, const struct now_view *v, const struct table *t,
		   const struct table_options *o, struct error *err)
{
	static const char *const states[] = {
		[PROGRESS_MOVES] = "moves",
		[PROGRESS_STILL] = "still",
		[PROGRESS_NOT_NEEDED] = "not_needed",
	};
	const struct sched_progress *p = sched_now_progress(v->now);
	struct shown_progress shown = progress_of(v);
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, v->node);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "samples", v->nr_samples);
	jsonw_uint(&w, "duration_ns", v->last_ns - v->first_ns);
	jsonw_bool(&w, "stopped", v->stopped);
	jsonw_begin_object(&w, "thread_progress");
	jsonw_string(&w, "state", states[shown.state]);
	jsonw_uint_if(&w, "value", p->known, p->value);
	jsonw_known(&w, "at_least_ns", shown.still_ns);
	jsonw_string(&w, "waits_for", shown.waits_for);
	jsonw_end_object(&w);
	json_block(&w, v);
	jsonw_begin_rows(&w, "schedulers");
	for (size_t i = 0; i < nr; i++)
		json_row(&w, v, &v->rows[order[i]]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	free(order);
	return envelope_end(&w, NULL, 0, NULL, 0, err);
}
