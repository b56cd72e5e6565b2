/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam top -j`: a frame as one line of JSON; see top.h.  Rates are per second, shares 0..1, sizes
 * in bytes; what is not known is null. */
#include "cmd/top/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/output/envelope.h"
#include "cmd/run/target.h"
#include "cmd/top/top_samples.h"
#include "model/stats/sched_use.h"
#include "view/table/event_rate_columns.h"
#include "view/table/process_columns.h"
#include "view/table/row_order.h"

/* Most rows of each table. */
#define ROWS_DEFAULT 20u

static void write_totals(struct jsonw *w, const struct top_frame *f)
{
	jsonw_begin_object(w, "limits");
	for (int i = 0; i < NR_TOP_LIMITS; i++) {
		jsonw_begin_object(w, top_limit_name((enum top_limit_kind)i));
		jsonw_known(w, "count", f->limits[i].count);
		jsonw_known(w, "limit", f->limits[i].limit);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
	jsonw_begin_object(w, "memory");
	for (int i = 0; i < NR_TOP_MEMORIES; i++)
		jsonw_known(w, top_memory_name((enum top_memory_kind)i), f->memory[i]);
	jsonw_end_object(w);
	jsonw_begin_object(w, "rates");
	for (int i = 0; i < NR_TOP_RATES; i++)
		jsonw_double(w, top_rate_name((enum top_rate_kind)i), f->rates[i]);
	jsonw_end_object(w);
	jsonw_begin_object(w, "run_queues");
	jsonw_known(w, "total", f->run_queue);
	jsonw_known(w, "normal", f->run_queues[TOP_QUEUE_NORMAL]);
	jsonw_known(w, "dirty_cpu", f->run_queues[TOP_QUEUE_DIRTY_CPU]);
	jsonw_known(w, "dirty_io", f->run_queues[TOP_QUEUE_DIRTY_IO]);
	jsonw_end_object(w);
}

static void write_scheduler(struct jsonw *w, const struct top_scheduler *s)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "type", sched_type_name(s->type));
	jsonw_uint(w, "number", s->number);
	jsonw_bool(w, "online", !s->offline);
	jsonw_double(w, "work", top_scheduler_work(s));
	for (int i = 0; i < NR_TOP_SHARES; i++)
		jsonw_double(w, top_share_name((enum top_share_kind)i),
			     s->known ? s->share[i] : NAN);
	jsonw_uint_if(w, "at_least_ns", s->at_least_ns, s->at_least_ns);
	jsonw_known(w, "run_queue", s->run_queue);
	jsonw_double(w, "reductions_per_s", s->reductions);
	jsonw_double(w, "context_switches_per_s", s->context_switches);
	jsonw_double(w, "gcs_per_s", s->gcs);
	jsonw_end_object(w);
}

static void write_system(struct jsonw *w, const struct top_frame *f)
{
	jsonw_begin_object(w, "os");
	jsonw_double(w, "cpu", f->os_cpu);
	jsonw_known(w, "rss", f->os_rss);
	jsonw_end_object(w);
	jsonw_begin_object(w, "ebeam");
	jsonw_double(w, "cpu", f->own_cpu);
	jsonw_known(w, "rss", f->own_rss);
	jsonw_double(w, "probes_cost", f->probes_cost);
	jsonw_end_object(w);
}

/* Processes of a capture, from its samples. */
static void write_sampled(struct jsonw *w, const struct snapshot *s)
{
	for (uint32_t i = 0; s && i < MIN(s->nr_processes, ROWS_DEFAULT); i++) {
		const struct snap_process *p = &s->processes[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "pid", p->pid);
		jsonw_string(w, "name", p->name);
		jsonw_string(w, "registered_name", p->registered);
		jsonw_string(w, "label", p->label);
		jsonw_string(w, "initial_call", p->initial_call);
		jsonw_uint(w, "samples", p->samples);
		jsonw_end_object(w);
	}
}

static uint64_t row_pid(const void *row)
{
	return ((const struct process_row *)row)->pid;
}

/* Writes the first processes in the order of the column `sort`. */
static void write_rows(struct jsonw *w, struct top *t, const char *sort)
{
	const struct process_rows *rows = &t->processes.table.rows;
	struct process_columns_ctx names = {.strings = &t->processes.source.strings};
	struct table table = {.ctx = &names,
			      .columns = process_columns,
			      .rows = rows->v.data,
			      .nr_rows = rows->v.len,
			      .row_size = sizeof(struct process_row)};
	bool reverse = *sort == '-';
	struct row_order order = {
		.table = &table,
		.column =
			table_find_column(process_columns, sort + reverse, strlen(sort + reverse)),
		.reverse = reverse,
		.id = row_pid,
	};
	struct row_window window = {0};
	struct strbuf text = STRBUF_INIT;

	row_order_window(&order, 0, ROWS_DEFAULT, &window);
	for (size_t i = 0; i < MIN(rows->v.len, ROWS_DEFAULT); i++) {
		strbuf_reset(&text);
		process_row_json(&text, names.strings, &rows->v.data[window.rows[i - window.first]],
				 PROCESS_JSON_TOP);
		jsonw_raw(w, NULL, text.buf);
	}
	strbuf_free(&text);
	free(window.rows);
}

/* CPU of processes that ended before they could be read: they have no row. */
static void write_ended(struct jsonw *w, const struct process_table *t)
{
	jsonw_begin_object(w, "ended");
	jsonw_double(w, "cpu", t->ended_cpu);
	jsonw_begin_array(w, "by_initial_call");
	for (unsigned int i = 0; i < t->nr_ended; i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "initial_call", t->ended[i].initial_call);
		jsonw_double(w, "cpu", t->ended[i].percent);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

static void write_processes(struct jsonw *w, struct top *t, const char *sort)
{
	jsonw_begin_array(w, "processes");
	if (t->node)
		write_rows(w, t, sort);
	else
		write_sampled(w, top_samples_snapshot(t->samples));
	jsonw_end_array(w);
}

static void write_functions(struct jsonw *w, const struct snapshot *s)
{
	jsonw_begin_array(w, "functions");
	for (uint32_t i = 0; s && i < MIN(s->nr_functions, ROWS_DEFAULT); i++) {
		const struct snap_function *f = &s->functions[i];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "mfa", f->name);
		jsonw_uint(w, "self", f->self);
		jsonw_uint(w, "total", f->total);
		jsonw_string(w, "kind", frame_kind_name(f->kind));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

/* null: events were not asked for (--panel events), or cannot be counted. */
static void write_events(struct jsonw *w, struct top *t)
{
	struct event_rates *r = top_event_rates(t);

	if (!r) {
		jsonw_null(w, "events");
		return;
	}
	table_json_rows(
		w, "events",
		&(struct table){event_rate_columns, r->rows, r->nr, sizeof(r->rows[0]), NULL},
		&(struct table_options){0});
}

int top_json(struct top *t, struct error *err)
{
	const struct top_frame *f = &t->frame;
	const struct envelope_counter counters[] = {
		{"frame", f->frames},
		{"samples", f->samples},
		{"lost", f->lost},
		{"refused", f->refused},
		{"processes", t->processes.totals.processes},
		{"torn", t->processes.totals.torn},
		{"vanished", t->processes.totals.vanished},
	};
	const struct envelope_node recorded = {
		.os_pid = f->node.os_pid,
		.name = f->node.name,
		.otp = f->node.otp,
		.erts = f->node.erts,
		.flavor = f->node.flavor,
		.untested = f->node.untested,
		.epoch_ns = f->epoch_ns,
	};
	const char *warnings[TOP_WARNINGS + 1];
	size_t nr = top_warnings(t, warnings);
	struct jsonw w = JSONW(t->ctx->out);

	w.one_line = true;
	if (t->node && f->state != TOP_EXITED)
		target_json_begin(&w, t->ctx, t->node);
	else
		envelope_begin(&w, t->ctx->command->name, &recorded);
	jsonw_begin_object(&w, "data");
	jsonw_string(&w, "state", top_state_name(f->state));
	jsonw_known(&w, "uptime_s", f->node.uptime_s);
	jsonw_double(&w, "interval_s", f->interval_s);
	jsonw_double(&w, "window_s", f->window_s);
	write_totals(&w, f);
	jsonw_begin_array(&w, "schedulers");
	for (uint32_t i = 0; i < f->nr_schedulers; i++)
		write_scheduler(&w, &f->schedulers[i]);
	jsonw_end_array(&w);
	write_system(&w, f);
	write_processes(&w, t, t->ctx->opt.sort ? t->ctx->opt.sort : "cpu");
	if (t->node)
		write_ended(&w, &t->processes.table);
	write_functions(&w, top_samples_snapshot(t->samples));
	write_events(&w, t);
	jsonw_end_object(&w);
	if (t->panel_error[0])
		warnings[nr++] = t->panel_error;
	return envelope_end(&w, warnings, nr, counters, ARRAY_SIZE(counters), err);
}
