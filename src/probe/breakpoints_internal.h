/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of breakpoints.h share. */
#ifndef EBEAM_PROBE_BREAKPOINTS_INTERNAL_H
#define EBEAM_PROBE_BREAKPOINTS_INTERNAL_H

#include <linux/perf_event.h>

#include "abi/record.h"
#include "base/vec.h"
#include "probe/breakpoints.h"
#include "probe/gap_estimate.h"

struct armed {
	int fd;		    /* -1 = none */
	uint64_t since_ns;  /* without one, since then */
	uint64_t given;	    /* hits, so far */
	uint64_t hits;	    /* as last read */
	uint64_t on_ns;	    /* likewise: of the thread's time */
	uint64_t ticked_ns; /* on_ns at the last tick */
	bool fresh;	    /* how often it is hit has yet to be seen; then: */
	double gap_ns;	    /* of the thread's time it was off before, */
	double off_ns;	    /* and since */
};

struct watched_thread {
	int os_tid;
	bool seen;	  /* in the list that was just read */
	uint64_t used_ns; /* of CPU, as last read */
	uint64_t tick_ns; /* when that was */
	double credit;	  /* hits */
	uint64_t off_ns;  /* CLOCK_MONOTONIC: since then something is off; 0 = all is on */
	struct armed armed[EBEAM_BREAKPOINTS];
};

/* How an entry was watched, on all threads, wherever it stood. */
struct entry_use {
	uint64_t on_ns, hits; /* while the threads ran */
	double off_ns;
	struct gap_estimate gaps;
};

struct breakpoints {
	struct breakpoints_config config;
	struct {
		uint64_t addr; /* 0 = free */
		struct call_point point;
	} places[EBEAM_BREAKPOINTS];
	VEC(struct watched_thread) threads;
	struct entry_use entries[EBEAM_CALL_FUNCTIONS]; /* by call_point.point */
	struct breakpoints_state state;
	uint64_t cpu_ns; /* that the threads used since they are watched */
	uint64_t listed_ns, ticked_ns, opened_ns;
	double idle_credit;   /* hits, of the node: it is limited as if it was as busy as that */
	uint64_t idle_cpu_ns; /* cpu_ns, as that was last looked at */
	unsigned int hit_ns;  /* with the program, as it runs */
	uint64_t waiting_ns;  /* since when a thread could go on, and waits for others; 0 = none */
	bool closing;
};

static inline bool is_site(const struct breakpoints *b, unsigned int i)
{
	return b->places[i].addr && b->places[i].point.kind == CALL_KIND_RETURN;
}

static inline bool is_spent(const struct armed *a)
{
	return a->fd < 0 || a->hits >= a->given;
}

/* NULL: it is a place of return. */
static inline struct entry_use *entry_use(struct breakpoints *b, unsigned int i)
{
	uint32_t point = b->places[i].point.point;

	return is_site(b, i) || point >= EBEAM_CALL_FUNCTIONS ? NULL : &b->entries[point];
}

/* Of an entry, at a tick in which the thread used so much of a CPU: what it was off, and how often
 * it is hit when it has just come on. */
void breakpoints_tick_entry(struct breakpoints *b, struct watched_thread *t, unsigned int i,
			    uint64_t used_ns);

/* Of an execution breakpoint in user space, disabled. */
struct perf_event_attr breakpoints_attr(uint64_t addr);
/* Why it cannot be had; returns rc. */
int breakpoints_refuse(int rc, struct error *err);

#endif
