/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop of a command: one epoll set for timers, the signals of signals.h and the exit of
 * the target process.
 *
 * Opening a loop catches INT, TERM and HUP: the first one ends loop_run(), the second one ends
 * the program (130 for INT) also after loop_run() has returned, until the program ends.
 *
 * Callbacks run one at a time, in loop_run().  They return 0 to go on, a positive number to end
 * the loop (LOOP_END_STOPPED), a negative errno with *err to fail it.
 */
#ifndef EBEAM_CMD_LOOP_H
#define EBEAM_CMD_LOOP_H

#include <stdint.h>

#include "base/error.h"

struct loop;
struct loop_alarm;

enum loop_end {
	LOOP_END_STOPPED = 1,  /* a callback returned a positive number */
	LOOP_END_SIGNAL = 2,   /* first INT, TERM or HUP */
	LOOP_END_DEADLINE = 3, /* loop_set_deadline() */
	LOOP_END_EXITED = 4,   /* the process of loop_watch_pid() is gone */
};

int loop_open(struct loop **out, struct error *err);
void loop_close(struct loop *l); /* NULL ok */

/* Calls fn every period_ns (> 0).  Periods that were missed are not made up for. */
int loop_add_timer(struct loop *l, uint64_t period_ns, int (*fn)(void *ctx, struct error *err),
		   void *ctx, struct error *err);
/* A timer that is set with loop_set_alarm(), any number of times; freed with the loop. */
int loop_add_alarm(struct loop *l, struct loop_alarm **out, int (*fn)(void *ctx, struct error *err),
		   void *ctx, struct error *err);
/* Calls fn at first_ns of CLOCK_MONOTONIC (at once if that is past), and then at multiples of
 * period_ns after first_ns (0: only once), however late each call is.  Periods that were missed are
 * not made up for. */
void loop_set_alarm(struct loop_alarm *a, uint64_t first_ns, uint64_t period_ns);
/* Calls fn whenever fd (borrowed) is readable, or has hung up. */
int loop_add_fd(struct loop *l, int fd, int (*fn)(void *ctx, struct error *err), void *ctx,
		struct error *err);
/* Calls fn on the signal `signo`, which must not be one of signals.h.  Blocks the signal until the
 * loop is closed. */
int loop_add_signal(struct loop *l, int signo, int (*fn)(void *ctx, struct error *err), void *ctx,
		    struct error *err);
/* Ends the loop in `ns` from now (0 = at once); may be set once. */
int loop_set_deadline(struct loop *l, uint64_t ns, struct error *err);
/* Ends the loop when the process exits.  ERROR_KIND_NO_NODE if it is gone already. */
int loop_watch_pid(struct loop *l, int os_pid, struct error *err);

/*
 * Runs until something ends it: an enum loop_end, or the negative errno of a callback.  If several
 * things happen at once, all callbacks that are due run first, then the smallest number wins.
 * May be called again; a signal seen earlier ends it again at once.
 */
int loop_run(struct loop *l, struct error *err);

/* To be called during long work of a callback: runs the callbacks that are due now, without
 * waiting.  Returns 0 if the loop goes on, else what loop_run() will return.  The working callback
 * may be called again meanwhile, and must be prepared for that. */
int loop_poll(struct loop *l, struct error *err);

#endif
