/* SPDX-License-Identifier: BSD-2-Clause */
/* The panels of `top`; see top.h. */
#include "cmd/top/top.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/log.h"
#include "cmd/top/top_samples.h"
#include "view/table/event_rate_columns.h"
#include "view/table/hot.h"
#include "view/table/process_columns.h"
#include "view/table/scheduler_columns.h"

/* Percent of a core: processes that ended are noted from here on. */
#define ENDED_MIN_PERCENT 0.5
#define ENDED_CALLS	  2 /* initial calls that the note names */

/* ---- processes ------------------------------------------------------------------------------- */

static int read_processes(struct top *t, struct error *err)
{
	int rc = 0;

	/* Read once a frame, as two panels use them. */
	if (t->processes.is_open && t->processes_frame != t->frame.frames)
		rc = top_processes_read(&t->processes, t->since_ns, err);
	if (rc == 0)
		t->processes_frame = t->frame.frames;
	top_samples_give_cpu(t->samples, &t->processes.table);
	return rc;
}

static void process_pid(const struct top *t, const void *row, char pid[PROCESS_PID_SIZE])
{
	if (t->ctx->opt.input)
		snprintf(pid, PROCESS_PID_SIZE, "%s", ((const struct snap_process *)row)->pid);
	else if (process_pid_format(((const struct process_row *)row)->pid, pid) <= 0)
		pid[0] = '\0';
}

static uint64_t process_id(const void *row)
{
	return ((const struct process_row *)row)->pid;
}

static uint64_t name_id(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static uint64_t sampled_id(const void *row)
{
	return name_id(((const struct snap_process *)row)->pid);
}

static uint64_t function_id(const void *row)
{
	return name_id(((const struct snap_function *)row)->name);
}

/* Notes the CPU that no row has: of processes that ended before they could be read. */
static void note_ended(struct top *t, const char *more, struct panel_source *out)
{
	const struct process_table *table = &t->processes.table;
	double cpu = table->ended_cpu;
	int len;

	if (cpu < ENDED_MIN_PERCENT)
		return;
	len = snprintf(t->note, sizeof(t->note),
		       "not in these rows: %.1f%% CPU of processes that ended in the last %.0f s%s",
		       cpu, t->frame.window_s, more);
	for (unsigned int i = 0; i < MIN(table->nr_ended, ENDED_CALLS); i++) {
		if (len < (int)sizeof(t->note))
			len += snprintf(t->note + len, sizeof(t->note) - (size_t)len, "%s%.1f%% %s",
					i ? ", " : ": ", table->ended[i].percent,
					table->ended[i].initial_call);
	}
	out->note = t->note;
}

/* The rows of processes of a capture come from its samples. */
static void sampled_processes(struct top *t, struct panel_source *out)
{
	const struct snapshot *s = top_samples_snapshot(t->samples);

	out->table = (struct table){.columns = sampled_process_columns,
				    .rows = s ? s->processes : NULL,
				    .nr_rows = s ? s->nr_processes : 0,
				    .row_size = sizeof(struct snap_process),
				    .ctx = s ? &s->samples : NULL};
	out->id = sampled_id;
	out->nothing = "no samples in these seconds";
}

static void processes(struct top *t, struct panel_source *out)
{
	if (t->ctx->opt.input) {
		sampled_processes(t, out);
		return;
	}
	t->process_columns = (struct process_columns_ctx){.strings = &t->processes.source.strings,
							  .match = &t->process_match};
	out->table = (struct table){.columns = process_columns,
				    .rows = t->processes.table.rows.v.data,
				    .nr_rows = t->processes.table.rows.v.len,
				    .row_size = sizeof(struct process_row),
				    .ctx = &t->process_columns};
	out->id = process_id;
	out->matches = process_row_matches;
	out->nothing = "no processes";
	note_ended(t, "", out);
}

/* ---- functions ------------------------------------------------------------------------------- */

static void functions(struct top *t, struct panel_source *out)
{
	const struct snapshot *s = top_samples_snapshot(t->samples);

	out->table = (struct table){.columns = function_columns,
				    .rows = s ? s->functions : NULL,
				    .nr_rows = s ? s->nr_functions : 0,
				    .row_size = sizeof(struct snap_function),
				    .ctx = s ? &s->samples : NULL};
	out->id = function_id;
	out->nothing = t->samples_error[0] ? t->samples_error
					   : "no samples: the node used no CPU, or none yet";
}

/* ---- applications ---------------------------------------------------------------------------- */

static int read_applications(struct top *t, struct error *err)
{
	int rc = read_processes(t, err);

	if (rc == 0 && !t->apps)
		rc = top_apps_open(&t->apps, t->node, err);
	return rc ? rc
		  : top_apps_read(t->apps, &t->processes.source, &t->processes.table,
				  top_samples_snapshot(t->samples), top_samples_of_core(t->samples),
				  err);
}

static void applications(struct top *t, struct panel_source *out)
{
	out->table = (struct table){.columns = app_columns, .row_size = sizeof(struct top_app_row)};
	if (t->apps)
		top_apps_table(t->apps, &out->table);
	out->id = top_apps_id;
	out->nothing = "no applications";
	note_ended(t, "; CODE CPU% includes it", out);
}

/* ---- schedulers ------------------------------------------------------------------------------ */

static uint64_t scheduler_id(const void *row)
{
	const struct top_scheduler *s = row;

	return (uint64_t)s->type << 16 | s->number;
}

static void schedulers(struct top *t, struct panel_source *out)
{
	out->table = (struct table){.columns = scheduler_columns,
				    .rows = t->frame.schedulers,
				    .nr_rows = t->frame.nr_schedulers,
				    .row_size = sizeof(struct top_scheduler)};
	out->id = scheduler_id;
	out->nothing = "the schedulers of this build were not found";
}

/* ---- events ---------------------------------------------------------------------------------- */

/* If detaching the probes takes longer at the end, a line says what is waited for. */
#define LEAVE_QUIETLY_NS 500000000u

static int read_events(struct top *t, struct error *err)
{
	(void)err;
	top_watch_events(t);
	if (t->events)
		top_events_step(t->events, &t->frame.probes_cost);
	return 0;
}

static bool events_shown(const struct top *t)
{
	return top_panels[t->shown].read == read_events;
}

/* While paused no probes are attached; those that are attached stay, as their rows are shown. */
static bool may_be_there(struct top *t)
{
	enum top_events_state state;

	if (!t->paused)
		return true;
	state = t->events ? top_events_state(t->events) : TOP_EVENTS_OFF;
	return state == TOP_EVENTS_ON || state == TOP_EVENTS_FAILED;
}

void top_watch_events(struct top *t)
{
	bool wanted = events_shown(t) && t->node && t->frame.state != TOP_EXITED &&
		      !t->events_end && may_be_there(t);

	if (!t->events && wanted)
		top_events_open(&t->events, t->node->os_pid, &t->ctx->opt, t->screen);
	if (t->events)
		top_events_want(t->events, wanted);
	if (!wanted)
		t->frame.probes_cost = NAN;
}

bool top_end_events(struct top *t)
{
	t->events_end = true;
	return !t->events || top_events_leave(t->events, 0);
}

/* Detaches the probes, waits for that, and keeps the counters. */
static void close_events(struct top *t)
{
	bool said = false;

	if (!t->events)
		return;
	while (!top_events_leave(t->events, LEAVE_QUIETLY_NS)) {
		if (!said)
			log_warn("ebeam: detaching the probes of events ...");
		said = true;
	}
	for (int id = 0; id < NR_COUNTERS; id++)
		t->summary.counters[id] += top_events_counter(t->events, (enum counter_id)id);
	top_events_close(t->events);
	t->events = NULL;
}

struct event_rates *top_event_rates(struct top *t)
{
	if (!t->node)
		return top_samples_events(t->samples);
	if (!t->events || !events_shown(t) || top_events_state(t->events) != TOP_EVENTS_ON)
		return NULL;
	return top_events_rates(t->events);
}

static uint64_t event_id(const void *row)
{
	return ((const struct event_rate *)row)->kind;
}

/* The text that the panel of events shows instead of rows. */
static const char *no_events(struct top *t)
{
	if (t->frame.state == TOP_EXITED)
		return "the node has exited";
	switch (t->events ? top_events_state(t->events) : TOP_EVENTS_OFF) {
	case TOP_EVENTS_OFF:
		return t->paused ? "paused: probes are attached when you continue"
				 : "attaching probes ...";
	case TOP_EVENTS_FAILED:
		snprintf(t->events_text, sizeof(t->events_text), "no events: %s",
			 top_events_error(t->events)->msg);
		return t->events_text;
	case TOP_EVENTS_LEAVING:
		return "detaching earlier probes ...";
	default:
		return "attaching probes ...";
	}
}

static void events(struct top *t, struct panel_source *out)
{
	struct event_rates *rates = top_event_rates(t);

	out->table = (struct table){.columns = event_rate_columns,
				    .rows = rates ? rates->rows : NULL,
				    .nr_rows = rates ? rates->nr : 0,
				    .row_size = sizeof(struct event_rate)};
	out->id = event_id;
	out->style = event_rate_style;
	out->nothing = t->node ? no_events(t) : "no events in this capture, or none yet";
}

/* ---- the registry ---------------------------------------------------------------------------- */

const struct top_panel top_panels[NR_TOP_PANELS] = {
	{.name = "processes",
	 .title = "Processes",
	 .key = '1',
	 .columns = PROCESS_COLUMNS_TOP,
	 .sort = "cpu",
	 .read = read_processes,
	 .source = processes,
	 .process = process_pid,
	 .replay = true},
	{.name = "functions",
	 .title = "Functions",
	 .key = '2',
	 .sort = "self",
	 .source = functions,
	 .replay = true},
	{.name = "schedulers",
	 .title = "Schedulers",
	 .key = '3',
	 .sort = "scheduler",
	 .source = schedulers,
	 .replay = true},
	{.name = "memory",
	 .title = "Memory",
	 .key = '4',
	 .sort = "carriers_size",
	 .rows = &allocator_rows},
	{.name = "ets", .title = "ETS", .key = '5', .sort = "memory", .rows = &ets_rows},
	{.name = "ports", .title = "Ports", .key = '6', .sort = "output", .rows = &port_rows},
	{.name = "applications",
	 .title = "Applications",
	 .key = '7',
	 .sort = "cpu",
	 .read = read_applications,
	 .source = applications},
	{.name = "nodes", .title = "Nodes", .key = '8', .sort = "os_pid", .rows = &node_rows},
	{.name = "events",
	 .title = "Events",
	 .key = '9',
	 .sort = "rate",
	 .read = read_events,
	 .source = events,
	 .replay = true},
};

unsigned int top_panel_find(const char *name)
{
	unsigned int i = 0;

	while (i + 1 < NR_TOP_PANELS && strcmp(top_panels[i].name, name) != 0)
		i++;
	return i;
}

static int read_rows(struct top *t, struct error *err)
{
	const struct top_panel *p = &top_panels[t->shown];
	void **view = &t->views[t->shown];
	int rc = 0;

	if (t->ctx->opt.input)
		return 0;
	if (!p->rows)
		return p->read ? p->read(t, err) : 0;
	if (!*view)
		rc = rows_open(p->rows, view, t->node, err);
	return rc ? rc : rows_read(p->rows, *view, err);
}

/* Keys are handled while rows are read, so t->shown may be another panel afterwards. */
int top_panel_read(struct top *t, struct error *err)
{
	unsigned int panel = t->shown;
	bool processes = t->ctx->opt.json && top_panels[t->shown].read != read_processes &&
			 top_panels[t->shown].read != read_applications;
	int rc = processes ? read_processes(t, err) : 0; /* each line of JSON has them */

	rc = rc ? rc : read_rows(t, err);
	t->reading++;
	t->rows_frame[panel] = t->frame.frames;
	if (panel == t->shown)
		t->panel_error[0] = '\0';
	if (rc >= 0 || rc == -ESRCH)
		return rc;
	if (panel == t->shown)
		snprintf(t->panel_error, sizeof(t->panel_error), "%s", err->msg);
	else
		t->rows_frame[panel] = 0; /* the error was not shown: read again */
	*err = (struct error){0};
	return 0;
}

void top_panel_want(struct top *t, const struct panel *panel)
{
	struct panel_source source;
	struct strbuf names = STRBUF_INIT;
	const char *sort = panel_sort(panel);

	top_panel_source(t, &source);
	if (source.table.columns != process_columns)
		return;
	panel_columns(panel, &source, &names);
	if (sort)
		strbuf_addf(&names, ",%s", sort + (*sort == '-'));
	top_processes_want(&t->processes, process_columns_fields(names.buf));
	strbuf_free(&names);
}

bool top_panel_is_read(const struct top *t)
{
	const struct top_panel *p = &top_panels[t->shown];

	return !t->node || (!p->rows && !p->read) || t->rows_frame[t->shown] == t->frame.frames;
}

void top_panel_show(struct top *t, unsigned int panel)
{
	if (t->panel_error[0])
		t->rows_frame[t->shown] = 0;
	t->panel_error[0] = '\0';
	t->shown = panel;
	t->reading++;
}

void top_panel_source(struct top *t, struct panel_source *out)
{
	const struct top_panel *p = &top_panels[t->shown];

	*out = (struct panel_source){.reading = t->reading};
	if (!p->rows) {
		p->source(t, out);
	} else if (t->ctx->opt.input) {
		out->table = *p->rows->table;
		out->nothing = "a capture only has processes, functions, schedulers and events";
	} else {
		out->table = *p->rows->table;
		if (t->views[t->shown])
			p->rows->rows(t->views[t->shown], &out->table);
		out->id = p->rows->id;
	}
	if (t->panel_error[0])
		out->nothing = t->panel_error;
}

void top_panels_close(struct top *t)
{
	for (unsigned int i = 0; i < NR_TOP_PANELS; i++) {
		if (t->views[i])
			rows_close(top_panels[i].rows, t->views[i]);
		t->views[i] = NULL;
	}
	top_apps_close(t->apps);
	t->apps = NULL;
	close_events(t);
	process_match_free(&t->process_match);
}
