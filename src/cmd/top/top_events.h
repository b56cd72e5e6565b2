/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rates of events of the VM for `top`.  The probes are attached only while their panel is shown,
 * and only count: BPF delivers no events, so none can be lost.
 *
 * A thread attaches the probes, drains their records, and detaches them, as each of these takes
 * longer than the answer to a key may.  It has a struct beam_node of its own, so that it shares
 * nothing with the thread that reads the node.
 */
#ifndef EBEAM_CMD_TOP_EVENTS_H
#define EBEAM_CMD_TOP_EVENTS_H

#include <stdbool.h>

#include "base/error.h"
#include "cmd/command/command.h"
#include "model/stats/event_rates.h"

struct top_events;

/* The kinds that are counted, as a bit set. */
uint64_t top_events_kinds(void);

enum top_events_state {
	TOP_EVENTS_OFF,	      /* no probe is attached */
	TOP_EVENTS_ATTACHING, /* probes are being attached */
	TOP_EVENTS_ON,
	TOP_EVENTS_LEAVING, /* probes are being detached */
	TOP_EVENTS_FAILED,  /* see top_events_error() */
};

/* Attaches nothing yet.  Borrows the options.  silent: the thread does not log, as the terminal is
 * drawn on. */
void top_events_open(struct top_events **out, int os_pid, const struct options *opt, bool silent);
/* Waits until all probes are detached.  NULL ok. */
void top_events_close(struct top_events *e);

/*
 * Attaches probes in the background, or detaches them.  Never waits.  To be called again and again,
 * as attaching has to wait for the end of detaching, and vice versa.  After a failure, probes are
 * attached again only when this was called with `wanted` false in between.
 */
void top_events_want(struct top_events *e, bool wanted);
/* Waits until all probes are attached, or that has failed and been undone; false: not within ns. */
bool top_events_wait(struct top_events *e, uint64_t ns);
/* Detaches all probes, and waits until that is done; false: not within ns (0: now). */
bool top_events_leave(struct top_events *e, uint64_t ns);
enum top_events_state top_events_state(struct top_events *e);
const struct error *top_events_error(const struct top_events *e); /* of TOP_EVENTS_FAILED */
/* In TOP_EVENTS_ON: why the overhead of the probes is not known and not limited; "" = it is. */
const char *top_events_unlimited(const struct top_events *e);

/*
 * In TOP_EVENTS_ON: ends an interval, whose rates top_events_rates() returns.  *cost: overhead of
 * the probes in the last seconds (older ones weigh less), see budget_share(); NAN = not known.
 */
void top_events_step(struct top_events *e, double *cost);
/* After a pause: the rates before, and those of the interval that ends with the next step, are
 * dropped. */
void top_events_forget(struct top_events *e);
/*
 * A counter of all probes since the start (COUNTER_EVENTS is always 0).  COUNTER_EVENTS_LOST is as
 * of the last step; COUNTER_BAD_RECORD includes records that were refused or of unknown kind.
 */
uint64_t top_events_counter(struct top_events *e, enum counter_id id);
/* Rates of the last step; before the first one, a row without numbers for each kind. */
struct event_rates *top_events_rates(struct top_events *e);

#endif
