/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rates of events of the VM for `top`: probes that are there only while somebody looks at them, and
 * count: no event is reported, so none can be lost.
 *
 * A thread of its own places them, takes in what they tell, and takes them away, as each of these
 * takes longer than a key may wait for its answer; it has a node of its own, so that nothing is
 * shared with whoever reads the node meanwhile.
 */
#ifndef EBEAM_CMD_TOP_EVENTS_H
#define EBEAM_CMD_TOP_EVENTS_H

#include <stdbool.h>

#include "base/error.h"
#include "cmd/command/command.h"
#include "model/stats/event_rates.h"

struct top_events;

/* What is counted, as a bit set. */
uint64_t top_events_kinds(void);

enum top_events_state {
	TOP_EVENTS_OFF,	      /* nothing is attached */
	TOP_EVENTS_ATTACHING, /* not yet */
	TOP_EVENTS_ON,
	TOP_EVENTS_LEAVING, /* probes are being taken away */
	TOP_EVENTS_FAILED,  /* top_events_error() */
};

/* Nothing is attached yet.  Borrows the options.  silent: its thread logs nothing, as somebody
 * draws on the terminal. */
void top_events_open(struct top_events **out, int os_pid, const struct options *opt, bool silent);
/* Waits until all is taken away.  NULL ok. */
void top_events_close(struct top_events *e);

/*
 * Whether probes are to be there.  Never waits: places them or takes them away in the background,
 * one after the other; call it again and again.  After a failure they are not tried again until
 * they were not wanted.
 */
void top_events_want(struct top_events *e, bool wanted);
/* Until it is known whether they are there, or nothing is left of what failed; false: it is not,
 * after ns. */
bool top_events_wait(struct top_events *e, uint64_t ns);
/* They are not wanted any more.  Until all is taken away; false: it is not, after ns (0: now). */
bool top_events_leave(struct top_events *e, uint64_t ns);
enum top_events_state top_events_state(struct top_events *e);
const struct error *top_events_error(const struct top_events *e); /* of TOP_EVENTS_FAILED */
/* If they are there: why it is not known what they cost, and not limited; "" = it is known. */
const char *top_events_unlimited(const struct top_events *e);

/*
 * Ends an interval if they are there, and its rows are those of the next calls.  *cost: what probes
 * took in the last seconds (older ones fade away), as budget_share() says it; NAN = not known.
 */
void top_events_step(struct top_events *e, double *cost);
/* Nobody looked for long: the interval that ends with the next step says nothing, nor do the rates
 * of before. */
void top_events_forget(struct top_events *e);
/*
 * What went wrong with all probes that were there, so far (COUNTER_EVENTS stays 0): of events that
 * were lost, as of the last step; records that were refused, or of a kind that is not known, are
 * among COUNTER_BAD_RECORD.
 */
uint64_t top_events_counter(struct top_events *e, enum counter_id id);
/* Rows of the last step, whatever came since; those of kinds that wait before. */
struct event_rates *top_events_rates(struct top_events *e);

#endif
