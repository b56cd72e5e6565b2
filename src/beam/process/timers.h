/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of a process: the `after` of the receive in which it waits, and the messages that
 * erlang:send_after/3 and erlang:start_timer/3 will send to it, whoever started them (the VM does
 * not store that).  Also the number of such messages by receiver, for a whole node.
 *
 * erl_hl_timer.c, time.c, erl_time_sup.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_TIMERS_H
#define EBEAM_BEAM_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/process/process.h"

/* Limits of the timers of a process, and of a node; further ones are left out. */
#define TIMERS_MAX     1000000u
#define TIMERS_ALL_MAX 4000000u

/* A timer that is so late has a scheduler that does not handle its timers. */
#define TIMER_OVERDUE_MS 1000

struct timer_item {
	bool receive; /* the `after` of its receive; false: a message that will be sent */
	bool by_name; /* sent to the name of the process, not to its pid */
	/* As the process is suspended: its `after` since OTP 28, messages to its pid since 29. */
	bool paused;
	/* Milliseconds, as from erlang:read_timer/1; 0 = about to fire, or has fired and the
	 * process has not run since; negative = it is late, as its scheduler does not handle
	 * timers. */
	int64_t left;
	uint64_t message; /* a term */
	uint32_t ref[3];  /* numbers 0 to 2 of its reference; all 0 = unknown */
};

struct timer_list {
	VEC(struct timer_item) v; /* the receive first, then by time */
	/* False: the node's clock was not found.  `left` is then from the moment when a scheduler
	 * last handled its timers, so it is too large. */
	bool clock_known;
	uint64_t unreadable;
	bool cut;
};

/* Reads the `after` of its receive only: true if its time is known and it is not paused. */
bool timer_of_receive(struct beam_node *n, const struct process_facts *p, int64_t *left_ms);
void timers_read(struct beam_node *n, const struct process_facts *p, struct timer_list *out);
void timers_free(struct timer_list *t);

/* Number of timers for one receiver. */
struct timer_receiver {
	bool by_name;
	uint64_t to; /* a registered name, maybe of no process; else the address of a Process */
	uint64_t nr;
};

/* Number of the BIF timers of a node by receiver, without paused timers of suspended processes. */
struct timer_totals {
	VEC(struct timer_receiver) v; /* sorted by number, the highest first */
	uint64_t nr, unreadable;
	uint64_t overdue; /* by TIMER_OVERDUE_MS or more; 0 without the node's clock */
	bool cut;	  /* there are more than TIMERS_ALL_MAX */
};

/* Reading a million timers takes a third of a second. */
void timer_totals_read(struct beam_node *n, struct timer_totals *out);
void timer_totals_free(struct timer_totals *t);

/* A BIF timer of any process. */
struct timer_any {
	bool by_name;
	uint64_t to;	  /* a registered name, maybe of no process, or a pid; 0 = unreadable */
	uint64_t message; /* a term */
	int64_t left;	  /* ms; without the node's clock, as in struct timer_list */
};
/* Visits each BIF timer of a node, without paused ones of suspended processes, at most
 * TIMERS_ALL_MAX.  Returns how many could not be read; 1 more if there are more. */
uint64_t timers_each(struct beam_node *n, void (*visit)(void *arg, const struct timer_any *t),
		     void *arg);

#endif
