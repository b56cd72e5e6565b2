/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of a process: the `after` of the receive in which it waits, and the messages that
 * erlang:send_after/3 and erlang:start_timer/3 will send to it, by whomever they were started
 * (the VM does not keep that).  And how many such messages a node has, for whom.
 *
 * erl_hl_timer.c, time.c, erl_time_sup.c, OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_TIMERS_H
#define EBEAM_BEAM_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/process/process.h"

/* Beyond this the trees of a process are cut, and those of a node. */
#define TIMERS_MAX     1000000u
#define TIMERS_ALL_MAX 4000000u

struct timer_item {
	bool receive; /* the `after` of its receive; else a message that will be sent */
	bool by_name; /* to the name of the process, not to its pid */
	/* While the process is suspended: its receive from OTP 28 on, what is sent to its pid from
	 * 29 on. */
	bool paused;
	/* Milliseconds, as erlang:read_timer/1 has them; 0 = it is about to go off, or did and the
	 * process has not run since; less = it is late by so much: the scheduler that has it does
	 * not look at its timers. */
	int64_t left;
	uint64_t message; /* a term */
	uint32_t ref[3];  /* as in its reference: number 0 to 2; all 0 = not known */
};

struct timer_list {
	VEC(struct timer_item) v; /* the receive first, then the soonest first */
	/* False: the node's clock is not known; time is counted from when a scheduler last looked
	 * at its timers, so that `left` is too long. */
	bool clock_known;
	uint64_t unreadable;
	bool cut;
};

/* The `after` of its receive alone: true, and how long until it goes off, if that is known and it
 * is not paused. */
bool timer_of_receive(struct beam_node *n, const struct process_facts *p, int64_t *left_ms);
void timers_read(struct beam_node *n, const struct process_facts *p, struct timer_list *out);
void timers_free(struct timer_list *t);

/* What timers of one receiver will send. */
struct timer_receiver {
	bool by_name;
	uint64_t to; /* a registered name, which nobody may have; else the address of a Process */
	uint64_t nr;
};

/* Of all BIF timers of a node, those that wait with a suspended process left out. */
struct timer_totals {
	VEC(struct timer_receiver) v; /* who gets most first */
	uint64_t nr, unreadable;
	bool cut; /* there are more */
};

/* A million take a third of a second. */
void timer_totals_read(struct beam_node *n, struct timer_totals *out);
void timer_totals_free(struct timer_totals *t);

#endif
