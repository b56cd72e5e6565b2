/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam top` on a terminal: shared by top_live.c (steps, loop) and top_live_keys.c. */
#ifndef EBEAM_CMD_TOP_LIVE_H
#define EBEAM_CMD_TOP_LIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/command/loop.h"
#include "cmd/top/top.h"
#include "cmd/top/top_overlay.h"
#include "view/screen/terminal.h"
#include "view/top/top_screen.h"

/* Period of the loop's timer, and the shortest step. */
#define TOP_LIVE_STEP_MIN_NS 100000000u

struct live_top {
	struct top *top;
	pthread_t thread; /* the main one, which draws */
	struct terminal *terminal;
	struct screen *screen;
	struct loop *loop;
	struct loop_alarm *alarm;	     /* of the next step */
	struct panel *panels[NR_TOP_PANELS]; /* each NULL until it was shown */
	const char *tabs[NR_TOP_PANELS + 1];
	struct top_overlay *overlay;
	char message[512]; /* at the bottom; "" = none */
	uint64_t message_ns;
	uint64_t step_began_ns;
	unsigned int steps;	      /* of the current node */
	unsigned int frames;	      /* frames shown with rates, of all nodes */
	uint64_t successor_ns;	      /* when top_successor() was last called */
	int successor;		      /* what top_successor() returned; 0 = none yet */
	int wanted_node;	      /* OS pid of the node to change to; 0 = none */
	bool due;		      /* a step is due */
	enum top_events_state events; /* the last state that was seen */
	bool stepping, quit, dirty;
};

/* ---- top_live.c ------------------------------------------------------------------------------ */

/* Shows a message at the bottom of the screen, for MESSAGE_NS. */
void live_top_say(struct live_top *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Shows the next warning at the bottom of the screen, unless there is a message. */
void live_top_report_warning(struct live_top *l);
struct panel *live_top_panel(struct live_top *l); /* the one that is shown */
struct top_view live_top_view(struct live_top *l, struct panel_source *source);
void live_top_draw(struct live_top *l);

/* These return what callbacks of the loop do, see loop.h. */
int live_top_step(struct live_top *l, struct error *err);
/* Sets the alarm of the next step, and of all later ones at multiples of step_ns after it, however
 * long each step takes. */
void live_top_set_alarm(struct live_top *l);
/* Reads the rows of a panel that was chosen since the last step, once, even when paused. */
int live_top_read_panel(struct live_top *l, struct error *err);
/* Reads the panel of the host's nodes, if it is shown, after the node has exited. */
void live_top_read_nodes(struct live_top *l);

/* ---- top_live_keys.c ------------------------------------------------------------------------- */

/* Handles all keys that were typed. */
int live_top_keys(void *ctx, struct error *err);
/* Reads the panel, or changes to the node, that a key has chosen; unless a reading is under way:
 * then it is to be called again after it. */
int live_top_do_chosen(struct live_top *l, struct error *err);
void live_top_close_overlay(struct live_top *l);

#endif
