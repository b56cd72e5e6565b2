/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks, added up by lock, by lock and process that waited, by lock and function that
 * waited, and by lock and process that ended the wait by releasing it.  A wait may stand for others
 * like it, so numbers are estimates; waits that stand for themselves only, as all long ones do, are
 * exact.
 *
 * Waits may be recorded in windows, each at a random place of a span of time that it stands for.
 * They are those that began in it.  Of one that goes on at its end the time is not known, nor are
 * those known that went on at its begin: as a window is as likely to begin in a wait as to end in
 * it, the time until its end counts twice.  So the number of waits, and the time of those that are
 * shorter than a window, are right on average; of a wait of L in a window of W the time is on
 * average W / L of what it was if L is longer.
 */
#ifndef EBEAM_MODEL_LOCK_STATS_H
#define EBEAM_MODEL_LOCK_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/histogram.h"
#include "base/keytab.h"

/* Rows of each table; further ones are counted in `overflows`. */
#define LOCK_STATS_ROWS 65536u

/* id: in the dictionary, with what is known of it now; pid: id of its pid's text.  0 = none, or not
 * known. */
struct lock_process {
	uint32_t id, pid;
};

struct lock_wait {
	uint32_t lock; /* id of the lock's name; 0 = not known */
	struct lock_process waiter, releaser;
	uint32_t function, caller; /* where it waited: of the dictionary; 0 = not known */
	enum sample_kind kind;
	uint64_t ns;
	double stands_for; /* waits like it in the window, >= 1 */
	double window;	   /* what the window stands for: 1 = only itself; 0 = it is left out */
	bool goes_on;	   /* at the end of its window */
};

/* An estimated sum; the variance: of what was left out within windows, and in what
 * lock_stats_rows() returns all of it, NAN = not known. */
struct lock_estimate {
	double sum, variance;
	/* Of windows that stand for more than themselves, by what they stand for: of the one under
	 * way, whose number is `number`; of all; and the squares of those before. */
	double window, windows, squares;
	unsigned int number;
};

struct lock_sum {
	uint64_t key; /* 1 + (lock, process), (lock, place) or (lock, kind) */
	uint32_t lock, process, function, caller;
	uint32_t nr; /* rows that are added up in it: processes */
	enum sample_kind kind;
	struct lock_estimate waits, ns;
	uint64_t max_ns;
	double sure_ns; /* of rows: the lower end of the confidence interval of ns */
};

/* How long waits were.  Each may stand for a number that is not whole: so the rest of each power of
 * two is carried on.  powers: the number of waits of each (histogram_power()). */
struct lock_lengths {
	struct histogram ns;
	struct lock_estimate powers[HISTOGRAM_POWERS];
	double rests[HISTOGRAM_POWERS];
};

struct lock_stats {
	struct keytab locks, waiters, places, releasers; /* of struct lock_sum */
	struct keytab numbers; /* of pairs of functions, struct lock_number */
	struct lock_sum all;
	struct lock_lengths lengths;
	uint64_t overflows;   /* waits that are not in all tables */
	uint64_t cut;	      /* waits that went on at the end of a window that stands for more */
	unsigned int windows; /* that stand for more than themselves, and have ended */
	double left_out;      /* sum of the parts of their spans that they leave out */
};

void lock_stats_open(struct lock_stats *s);
void lock_stats_close(struct lock_stats *s);
void lock_stats_add(struct lock_stats *s, const struct lock_wait *w);
/* All waits of the window were added. */
void lock_stats_end_window(struct lock_stats *s, double stands_for);

/* Variance of an estimate, by what was left out within windows and between them; NAN = not known,
 * as there is only one window. */
double lock_stats_variance(const struct lock_stats *s, const struct lock_estimate *e);
/* Half width of the 95 % confidence interval of an estimate with that variance, rounded; by
 * Student's t if it is of windows.  UINT64_MAX: not known. */
uint64_t lock_stats_margin(const struct lock_stats *s, double variance);
/* Rows of one of its tables, malloc'ed, *nr of them: first those of which most time is sure, by the
 * 95 % confidence interval. */
struct lock_sum *lock_stats_rows(const struct lock_stats *s, const struct keytab *of, size_t *nr);
/* Adds up rows of the same lock whose processes are in the same group; in the same order.  How
 * windows of a group differ is not kept: as much as those of the lock, at least. */
void lock_stats_join(const struct lock_stats *s, struct lock_sum *rows, size_t *nr,
		     uint32_t (*group_of)(void *arg, uint32_t process), void *arg);

#endif
