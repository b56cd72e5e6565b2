/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files breakpoints*.c. */
#ifndef EBEAM_PROBE_BREAKPOINTS_INTERNAL_H
#define EBEAM_PROBE_BREAKPOINTS_INTERNAL_H

#include <linux/perf_event.h>

#include "abi/record.h"
#include "base/vec.h"
#include "probe/breakpoint/breakpoints.h"
#include "probe/breakpoint/gap_estimate.h"
#include "probe/breakpoint/window_wait.h"

/* ns between the two readings of a position that give a thread's speed. */
#define BREAKPOINTS_SPEED_NS 300000u

/* A breakpoint of one site on one thread.  Positions are reductions of the thread's scheduler, 0 =
 * not known. */
struct armed {
	int fd;		   /* -1 = none */
	uint64_t since_ns; /* when it was last (tried to be) enabled; without event: off since */
	uint64_t given;	   /* hits for which its event was enabled; 0: it has never been */
	uint64_t hits;	   /* as last read */
	uint64_t on_ns;	   /* as last read: time of the thread in which it was on */
	/* on_ns, hits and position at the last tick. */
	uint64_t ticked_ns, ticked_hits, ticked;
	uint64_t off; /* position at which its hits were spent; 0: it is on */
	/* The current window; fresh: its rate has not been read yet (breakpoints_tick_entry()). */
	bool fresh;
	bool begun;	   /* the window began since the last tick */
	bool by_chance;	   /* began by chance (go_on_by_chance()), in a process */
	bool in_process;   /* the thread ran a process as the window began */
	uint64_t on;	   /* position as the window began, or rather its slice */
	uint64_t gap_from; /* position at which the gap before the window began; 0: no gap */
	double gap;	   /* reductions of earlier gaps that no window measured */
};

struct watched_thread {
	int os_tid;
	uint16_t scheduler; /* 0 = not known */
	bool seen;	    /* still in the list of threads that was read last */
	uint64_t used_ns;   /* CPU time, as last read */
	uint64_t tick_ns;   /* when used_ns was read */
	double credit;	    /* hits */
	uint64_t off_ns;    /* CLOCK_MONOTONIC: a site is off since then; 0 = all are on */
	uint64_t hits;	    /* of all its sites */
	uint64_t position;  /* as last read; below: as first read, and used_ns at that time */
	uint64_t first_position, first_used_ns;
	bool in_process;
	uint64_t sampled; /* position as the sample of its speed began; 0: none */
	uint64_t sampled_ns;
	double fastest; /* speed, reductions a ns: decaying maximum */
	struct armed armed[EBEAM_BREAKPOINTS];
};

/* What was counted of an entry, on all threads and at all sites at which it stood. */
struct entry_use {
	uint64_t on_ns, hits; /* on_ns: CPU time of the threads in which it was on */
	double off_ns;	      /* CPU time of the threads in which it was off */
	double carried;	      /* reductions of gaps at sites and threads that are gone */
	/* Sums over windows whose hits were spent: hits and reductions from the last tick to the
	 * moment when they were spent. */
	double last_hits, last_length;
	struct window_waits waits;
	struct gap_estimate gaps;   /* of windows that began by chance */
	struct gap_estimate others; /* of other windows, used if windows by chance are too few */
};

struct breakpoints {
	struct breakpoints_config config;
	struct {
		uint64_t addr; /* 0 = free */
		struct call_point point;
	} sites[EBEAM_BREAKPOINTS];
	VEC(struct watched_thread) threads;
	struct entry_use entries[EBEAM_CALL_FUNCTIONS]; /* by call_point.point */
	struct breakpoints_state state;
	uint64_t cpu_ns; /* CPU time of the threads since they are watched */
	uint64_t listed_ns, ticked_ns, opened_ns;
	double idle_credit;   /* hits that the node earned by being idle (BUDGET_MIN_BUSY) */
	uint64_t idle_cpu_ns; /* cpu_ns when idle_credit was last updated */
	unsigned int hit_ns;  /* cost of a hit, with the program as it was measured */
	uint64_t waiting_ns;  /* since when a thread waits: go_on_together(); 0 = none does */
	uint64_t random;      /* state of random.h */
	bool closing;
};

static inline bool is_return_site(const struct breakpoints *b, unsigned int i)
{
	return b->sites[i].addr && b->sites[i].point.kind == CALL_KIND_RETURN;
}

static inline bool is_spent(const struct armed *a)
{
	return a->fd < 0 || a->hits >= a->given;
}

/* NULL for a return site. */
static inline struct entry_use *entry_use(struct breakpoints *b, unsigned int i)
{
	uint32_t point = b->sites[i].point.point;

	return is_return_site(b, i) || point >= EBEAM_CALL_FUNCTIONS ? NULL : &b->entries[point];
}

/* At a tick, for an entry: updates the time in which it was off, and takes the rate of calls from a
 * new window.  used_ns: CPU time of the thread since the last tick. */
void breakpoints_tick_entry(struct breakpoints *b, struct watched_thread *t, unsigned int i,
			    uint64_t used_ns);
/* Adds the open gap of an entry to `carried`, as its site is removed, or as another window begins
 * before the last one was measured. */
void breakpoints_keep_gap(struct breakpoints *b, struct watched_thread *t, unsigned int i);
/* Sets the position (armed.off) at which the hits of an entry were spent, if that is not done
 * yet. */
void breakpoints_spent(const struct breakpoints *b, struct watched_thread *t, unsigned int i);
/* Reads the position of a thread; false if it is not known. */
bool breakpoints_position(const struct breakpoints *b, struct watched_thread *t);
/* Reads when a site was hit by a thread; false if it never was. */
bool breakpoints_site_hit(const struct breakpoints *b, const struct watched_thread *t,
			  unsigned int i, struct call_site_hit *hit);

/* Attributes of an execution breakpoint in user space, disabled. */
struct perf_event_attr breakpoints_attr(uint64_t addr);
/* Fills *err: why a breakpoint cannot be placed.  Returns rc. */
int breakpoints_refuse(int rc, struct error *err);

#endif
