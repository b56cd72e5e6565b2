/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `ebeam top` share.  One step reads the node, or a capture as far as it was
 * then, into a frame (model/top/top_frame.h) and the rows of the panel that is shown; then both are
 * drawn (top_live.c: on a terminal, top_batch.c: as text and JSON).
 *
 *   top.c             options, which way
 *   top_node.c        totals of the node -> frame
 *   top_samples.c     samples -> window; shares of schedulers, CPU of processes and functions
 *   top_processes.c   the process table
 *   top_events.c      probes of events, while their rates are shown
 *   top_panels.c      the registry of panels and those that are short
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
	const char *columns;	       /* shown at first; NULL = as the registry has them */
	const char *sort;	       /* NULL = as rows stand */
	const struct row_source *rows; /* NULL: the functions below */
	int (*read)(struct top *t, struct error *err);
	void (*source)(struct top *t, struct panel_source *out); /* all but `reading` */
	/* The pid that the row is about, "<0.80.0>"; "" = none.  NULL: never one. */
	void (*process)(const struct top *t, const void *row, char pid[PROCESS_PID_SIZE]);
	bool replay; /* a capture has it too */
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
	struct sched_now *sched_now; /* NULL: where schedulers stand is not known */
	struct top_totals before, now;
	uint64_t read_ns;	     /* when `now` was read; 0 = never */
	uint64_t since_ns;	     /* what was read before that is too old for rates */
	uint64_t own_ns, own_cpu_ns; /* CPU that ebeam had used then */

	struct top_processes processes;
	uint64_t processes_frame;    /* frame.frames when they were read; 0 = never */
	struct top_samples *samples; /* NULL = none */
	char samples_error[1100];    /* why there are none; "" */
	struct summary summary;	     /* of samples that were closed, of all nodes */
	struct process_totals sums;  /* likewise */
	uint64_t readings;	     /* likewise: frames */
	unsigned int warned;	     /* bits of top_next_warning() */
	char undecoded[128];	     /* its text; "" */

	struct top_events *events; /* NULL until they are shown */
	char events_text[1100];	   /* why they have no rows yet */
	bool events_end;	   /* they are to go for good */
	bool paused;		   /* nobody looks at what is read */
	bool screen;		   /* is drawn on: no other thread may log */

	unsigned int shown; /* index in top_panels[] */
	uint64_t reading;
	uint64_t rows_frame[NR_TOP_PANELS]; /* frame.frames when rows were read; 0 = never */
	struct top_apps *apps;		    /* NULL until they are shown */
	void *views[NR_TOP_PANELS];	    /* of row_sources that were opened */
	struct process_columns_ctx process_columns;
	struct process_match process_match; /* of what is typed as the filter */
	char note[320];			    /* of the panel shown */
	char panel_error[1100];		    /* why the panel shown has no rows; "" */
};

/* The node is open; the frame is initialized. */
int top_node_open(struct top *t, struct error *err);
void top_node_close(struct top *t);
/* What is known without samples.  -ESRCH: the node has exited. */
int top_node_read(struct top *t, struct error *err);

/* Rows of the panel shown.  What cannot be read stands in panel_error, and is no failure; that the
 * node has exited (-ESRCH) is, and so is what yield() of top_processes.h returns. */
int top_panel_read(struct top *t, struct error *err);
/* What this panel, which is the one shown, needs to be read. */
void top_panel_want(struct top *t, const struct panel *panel);
/* In the frame that is shown, or there is nothing to read for it. */
bool top_panel_is_read(const struct top *t);
/* Another one is shown from now on. */
void top_panel_show(struct top *t, unsigned int panel);
void top_panel_source(struct top *t, struct panel_source *out);
void top_panels_close(struct top *t);
/* Whether probes of events are to be there now: in the panel of events, of a node that runs.  Never
 * waits; to be called when another panel is shown, and again and again. */
void top_watch_events(struct top *t);
/* Before the node is closed, in the background: true once nothing of them is left. */
bool top_end_events(struct top *t);
/* Their rates, if they are shown; NULL = not. */
struct event_rates *top_event_rates(struct top *t);
/* By a name that is one of theirs. */
unsigned int top_panel_find(const char *name);

/* One step: all of the above.  -ESRCH: the node has exited, and the frame says so.  If samples can
 * be had no more, it goes on without, and samples_error says why. */
int top_step(struct top *t, struct error *err);
/* Nobody looked for long: what was read last says nothing of what happens now. */
void top_forget_before(struct top *t);
/* Between two steps: takes samples in, likewise. */
void top_drain(struct top *t);

/* The frame as one line of JSON. */
int top_json(struct top *t, struct error *err);
void top_start_samples(struct top *t);
/* What keeps it from showing all, of all panels; texts of *t.  Their number. */
#define TOP_WARNINGS 3
unsigned int top_warnings(struct top *t, const char *out[TOP_WARNINGS]);
/* One of them that was not shown yet; NULL = none. */
const char *top_next_warning(struct top *t);
/* After the node has exited: the pid of one that runs under its name now; 0 = none. */
int top_successor(const struct top *t);
/* Looks at that node from now on, without samples yet.  If it cannot be opened whole, all stays. */
int top_change_node(struct top *t, int os_pid, struct error *err);
int top_batch(struct top *t, struct error *err);
int top_live(struct top *t, struct error *err);

#endif
