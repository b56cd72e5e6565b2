/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `ebeam top` share.  Each step reads the node, or the next part of a capture,
 * into a frame (model/top/top_frame.h) and into the rows of the panel that is shown; then both are
 * drawn (top_live.c: on a terminal, top_batch.c: as text and JSON).
 *
 *   top.c             the command, a step
 *   top_node.c        totals of the node -> frame
 *   top_samples.c     samples -> window; shares of schedulers, CPU of processes and functions
 *   top_processes.c   the process table
 *   top_events.c      probes of events, while their rates are shown
 *   top_panels.c      the list of panels, and the short ones
 */
#ifndef EBEAM_CMD_TOP_H
#define EBEAM_CMD_TOP_H

#include "beam/sched/sched_now.h"
#include "beam/vm/vm_totals.h"
#include "cmd/command/command.h"
#include "cmd/output/rows.h"
#include "cmd/run/summary.h"
#include "cmd/top/top_apps.h"
#include "cmd/top/top_events.h"
#include "cmd/top/top_processes.h"
#include "model/top/top_frame.h"
#include "view/table/process_columns.h"
#include "view/table/process_match.h"
#include "view/top/panel.h"

struct top;
struct top_samples;

/* A panel that the user can choose.  Its rows come from a row_source, or from `top` itself. */
struct top_panel {
	const char *name; /* --panel, JSON */
	const char *title;
	uint32_t key;
	const char *columns;	       /* shown at first; NULL = the default ones of the table */
	const char *sort;	       /* column; NULL = the order of the rows */
	const struct row_source *rows; /* NULL: the functions below */
	int (*read)(struct top *t, struct error *err);
	void (*source)(struct top *t, struct panel_source *out); /* sets all but `reading` */
	/* The pid of the process that a row is about, "<0.80.0>"; "" = none.  NULL: no row is. */
	void (*process)(const struct top *t, const void *row, char pid[PROCESS_PID_SIZE]);
	bool replay; /* works with a capture, too */
};
#define NR_TOP_PANELS 9
extern const struct top_panel top_panels[NR_TOP_PANELS];

struct top {
	struct command_context *ctx;
	struct beam_node *node; /* NULL: a capture */
	uint64_t step_ns;

	struct top_frame frame;
	struct vm_totals_reader *reader;
	struct vm_totals totals;
	struct sched_now *sched_now; /* NULL: what schedulers are doing is not known */
	struct top_totals before, now;
	uint64_t read_ns;	     /* when `now` was read; 0 = never */
	uint64_t since_ns;	     /* rows that were read before are too old for rates */
	uint64_t own_ns, own_cpu_ns; /* time of the last reading, and CPU time of ebeam then */

	struct top_processes processes;
	uint64_t processes_frame;    /* frame.frames when processes were read; 0 = never */
	struct top_samples *samples; /* NULL = none */
	char samples_error[1100];    /* why samples are not taken; "" = they are */
	struct summary summary;	     /* of sampling and probes that have ended, of all nodes */
	struct process_totals sums;  /* of the nodes before this one */
	uint64_t readings;	     /* frames of the nodes before this one */
	unsigned int warned;	     /* bit set: warnings that top_next_warning() has returned */
	char undecoded[128];	     /* the warning about undecoded messages; "" = none */

	struct top_events *events; /* NULL until the panel of events was shown */
	char events_text[1100];	   /* why the panel of events has no rows yet */
	bool events_end;	   /* probes of events are being detached for good */
	bool paused;		   /* by the user: no steps */
	bool screen;		   /* the terminal is drawn on: no other thread may log */

	unsigned int shown; /* index in top_panels[] */
	uint64_t reading;
	uint64_t rows_frame[NR_TOP_PANELS]; /* frame.frames when rows were read; 0 = never */
	struct top_apps *apps;		    /* NULL until the panel was shown */
	void *views[NR_TOP_PANELS];	    /* of row_sources that were opened */
	struct process_columns_ctx process_columns;
	struct process_match process_match; /* the filter that was typed */
	char note[320];			    /* of the panel that is shown */
	char panel_error[1100];		    /* why the panel shown has no rows; "" = it has */
};

/* Initializes the frame; t->node is open. */
int top_node_open(struct top *t, struct error *err);
void top_node_close(struct top *t);
/* Reads into the frame what is known without samples.  -ESRCH: the node has exited. */
int top_node_read(struct top *t, struct error *err);

/* Reads the rows of the panel shown.  0 also if they cannot be read: then panel_error says why.
 * Fails only with -ESRCH, if the node has exited, or with what top_processes.yield() returns. */
int top_panel_read(struct top *t, struct error *err);
/* Sets which fields of processes the next readings need, for the columns of the panel shown. */
void top_panel_want(struct top *t, const struct panel *panel);
/* Have the rows of the panel shown been read in this frame (or need none to be read)? */
bool top_panel_is_read(const struct top *t);
/* Shows another panel from now on. */
void top_panel_show(struct top *t, unsigned int panel);
void top_panel_source(struct top *t, struct panel_source *out);
void top_panels_close(struct top *t);
/* Attaches the probes of events if the panel of events of a running node is shown, else detaches
 * them.  Never waits: to be called when another panel is shown, and again and again. */
void top_watch_events(struct top *t);
/* Before the node is closed: detaches probes of events in the background; true once all are. */
bool top_end_events(struct top *t);
/* Rates of events, if the panel of events is shown, else NULL. */
struct event_rates *top_event_rates(struct top *t);
/* The index of the panel of that name, which must exist. */
unsigned int top_panel_find(const char *name);

/* One step: reads totals, samples, the panel and events.  -ESRCH: the node has exited, and the
 * frame says so.  If sampling fails, steps go on without samples, and samples_error says why. */
int top_step(struct top *t, struct error *err);
/* After a pause: the next step computes no rates against the last reading. */
void top_forget_before(struct top *t);
/* To be called between two steps: drains the samples; handles errors as top_step() does. */
void top_drain(struct top *t);

/* The frame as one line of JSON. */
int top_json(struct top *t, struct error *err);
void top_start_samples(struct top *t);
/* Warnings about what cannot be shown; the texts belong to *t.  Returns how many. */
#define TOP_WARNINGS 3
unsigned int top_warnings(struct top *t, const char *out[TOP_WARNINGS]);
/* A warning that was not returned before; NULL = none. */
const char *top_next_warning(struct top *t);
/* After the node has exited: the OS pid of a node that has the same name now; 0 = none. */
int top_successor(const struct top *t);
/* Changes to another node, without samples yet.  If it cannot be opened, *t stays as it is. */
int top_change_node(struct top *t, int os_pid, struct error *err);
int top_batch(struct top *t, struct error *err);
int top_live(struct top *t, struct error *err);

#endif
