/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of `ebeam top` on a terminal share: top_live.c (steps, loop), top_live_keys.c. */
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

/* The loop looks around so often: no step is shorter. */
#define TOP_LIVE_STEP_MIN_NS 100000000u

struct live_top {
	struct top *top;
	pthread_t thread; /* the one that draws */
	struct terminal *terminal;
	struct screen *screen;
	struct loop *loop;
	struct loop_alarm *alarm;	     /* of the next step */
	struct panel *panels[NR_TOP_PANELS]; /* NULL until it was shown */
	const char *tabs[NR_TOP_PANELS + 1];
	struct top_overlay *overlay;
	char message[512]; /* at the bottom; "" = none */
	uint64_t message_ns;
	uint64_t step_began_ns;
	unsigned int steps;	      /* of this node */
	unsigned int frames;	      /* that were shown with their rates, of all nodes */
	uint64_t successor_ns;	      /* when one was searched for */
	int successor;		      /* of the node that has exited; 0 = none yet */
	int wanted_node;	      /* pid of the one to look at instead; 0 = none */
	bool due;		      /* a step */
	enum top_events_state events; /* as it was seen last */
	bool stepping, quit, dirty;
};

/* ---- top_live.c ------------------------------------------------------------------------------ */

/* At the bottom of the screen, for a while. */
void live_top_say(struct live_top *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next warning, if nothing else is said. */
void live_top_report_warning(struct live_top *l);
struct panel *live_top_panel(struct live_top *l); /* the one that is shown */
struct top_view live_top_view(struct live_top *l, struct panel_source *source);
void live_top_draw(struct live_top *l);

/* Callbacks of the loop return as those below: see loop.h. */
int live_top_step(struct live_top *l, struct error *err);
/* The next step, and from then on all of them, on a grid: however long each takes. */
void live_top_set_alarm(struct live_top *l);
/* The rows of a panel that was chosen since the last step, once: paused or not. */
int live_top_read_panel(struct live_top *l, struct error *err);
/* The nodes of the host can be read when the one that was looked at is gone, too. */
void live_top_read_nodes(struct live_top *l);

/* ---- top_live_keys.c ------------------------------------------------------------------------- */

/* All that were typed. */
int live_top_keys(void *ctx, struct error *err);
/* What keys asked for, unless a reading goes on: then once it is done. */
int live_top_do_chosen(struct live_top *l, struct error *err);
void live_top_close_overlay(struct live_top *l);

#endif
