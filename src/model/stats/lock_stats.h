/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits for locks, added up by lock, by lock and process that waited, by lock and function that
 * waited, and by lock and process that ended the wait by releasing it.  A wait may stand for others
 * like it, so numbers are estimates; waits that stand for themselves only, as all long ones do, are
 * exact.
 */
#ifndef EBEAM_MODEL_LOCK_STATS_H
#define EBEAM_MODEL_LOCK_STATS_H

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
	double stands_for; /* >= 1 */
};

struct lock_sum {
	uint64_t key; /* 1 + (lock, process), (lock, place) or (lock, kind) */
	uint32_t lock, process, function, caller;
	uint32_t nr; /* rows that are added up in it: processes */
	enum sample_kind kind;
	double waits, ns;
	double waits_variance, ns_variance; /* of these estimates */
	uint64_t max_ns;
};

/* How long waits were.  Each may stand for a number that is not whole: so the rest of each power of
 * two is carried on.  variances: of the number of waits of each (histogram_power()). */
struct lock_lengths {
	struct histogram ns;
	double variances[HISTOGRAM_POWERS], rests[HISTOGRAM_POWERS];
};

struct lock_stats {
	struct keytab locks, waiters, places, releasers; /* of struct lock_sum */
	struct keytab numbers; /* of pairs of functions, struct lock_number */
	struct lock_sum all;
	struct lock_lengths lengths;
	uint64_t overflows;
};

void lock_stats_open(struct lock_stats *s);
void lock_stats_close(struct lock_stats *s);
void lock_stats_add(struct lock_stats *s, const struct lock_wait *w);

/* malloc'ed, *nr of them: first those of which most time is sure, by the 95 % confidence
 * interval. */
struct lock_sum *lock_stats_rows(const struct keytab *of, size_t *nr);
/* Adds up rows of the same lock whose processes are in the same group; in the same order. */
void lock_stats_join(struct lock_sum *rows, size_t *nr,
		     uint32_t (*group_of)(void *arg, uint32_t process), void *arg);

#endif
