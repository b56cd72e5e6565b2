/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of breakpoints.h share. */
#ifndef EBEAM_PROBE_BREAKPOINTS_INTERNAL_H
#define EBEAM_PROBE_BREAKPOINTS_INTERNAL_H

#include <linux/perf_event.h>

#include "abi/record.h"
#include "base/vec.h"
#include "probe/breakpoint/breakpoints.h"
#include "probe/breakpoint/gap_estimate.h"
#include "probe/breakpoint/window_wait.h"

/* How long a sample of a thread's speed takes. */
#define BREAKPOINTS_SPEED_NS 300000u

/* Positions are reductions of a thread's scheduler, 0 = not known. */
struct armed {
	int fd;		   /* -1 = none */
	uint64_t since_ns; /* without one, since then */
	uint64_t given;	   /* hits, so far; 0: it has never been on */
	uint64_t hits;	   /* as last read */
	uint64_t on_ns;	   /* likewise: of the thread's time */
	/* At the last tick: on_ns, hits, and where that was. */
	uint64_t ticked_ns, ticked_hits, ticked;
	uint64_t off; /* position at which its hits were spent; 0: it is on */
	/* Of its window, as long as how often it is hit there has yet to be seen: */
	bool fresh;
	bool begun;	   /* since the last tick */
	bool by_chance;	   /* it began at a reduction like any other */
	bool in_process;   /* as it went on the thread was in a process, */
	uint64_t on;	   /* position of then, without what that process had done in its slice; */
	uint64_t gap_from; /* and it had been off since; 0: it was not */
	double gap; /* reductions that it was off before, in all gaps that no window measured */
};

struct watched_thread {
	int os_tid;
	uint16_t scheduler; /* 0 = not known */
	bool seen;	    /* in the list that was just read */
	uint64_t used_ns;   /* of CPU, as last read */
	uint64_t tick_ns;   /* when that was */
	double credit;	    /* hits */
	uint64_t off_ns;    /* CLOCK_MONOTONIC: since then something is off; 0 = all is on */
	uint64_t hits;	    /* of all its sites */
	uint64_t position;  /* as last read; and the first, with the CPU that it had used: */
	uint64_t first_position, first_used_ns;
	bool in_process;
	uint64_t sampled; /* position as a sample of its speed began; 0: it is not to go on */
	uint64_t sampled_ns;
	double fastest; /* reductions a ns: decaying maximum */
	struct armed armed[EBEAM_BREAKPOINTS];
};

/* How an entry was watched, on all threads, wherever it stood. */
struct entry_use {
	uint64_t on_ns, hits; /* while the threads ran */
	double off_ns;
	double carried; /* reductions of gaps of sites that it has left */
	/* Of windows whose hits were spent, between the last tick and then: hits, reductions. */
	double last_hits, last_length;
	struct window_waits waits;
	struct gap_estimate gaps;   /* of windows that began by chance */
	struct gap_estimate others; /* of those that did not: they tell more than nothing */
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
	uint64_t cpu_ns; /* that the threads used since they are watched */
	uint64_t listed_ns, ticked_ns, opened_ns;
	double idle_credit;   /* hits, of the node: it is limited as if it was as busy as that */
	uint64_t idle_cpu_ns; /* cpu_ns, as that was last read */
	unsigned int hit_ns;  /* with the program, as it runs */
	uint64_t waiting_ns;  /* since when a thread could go on, and waits for others; 0 = none */
	uint64_t random;      /* random.h */
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

/* NULL: it is a return site. */
static inline struct entry_use *entry_use(struct breakpoints *b, unsigned int i)
{
	uint32_t point = b->sites[i].point.point;

	return is_return_site(b, i) || point >= EBEAM_CALL_FUNCTIONS ? NULL : &b->entries[point];
}

/* Of an entry, at a tick in which the thread used so much of a CPU: what it was off, and how often
 * it is hit when it has just come on. */
void breakpoints_tick_entry(struct breakpoints *b, struct watched_thread *t, unsigned int i,
			    uint64_t used_ns);
/* What an entry missed so far at a site that is left, or that begins another window before the
 * last was read. */
void breakpoints_keep_gap(struct breakpoints *b, struct watched_thread *t, unsigned int i);
/* The hits of a site are spent, if not before: where was that? */
void breakpoints_spent(const struct breakpoints *b, struct watched_thread *t, unsigned int i);
/* Reads the position of a thread; false: it is not known. */
bool breakpoints_position(const struct breakpoints *b, struct watched_thread *t);
/* When a site was hit by a thread; false: it never was. */
bool breakpoints_site_hit(const struct breakpoints *b, const struct watched_thread *t,
			  unsigned int i, struct call_site_hit *hit);

/* Of an execution breakpoint in user space, disabled. */
struct perf_event_attr breakpoints_attr(uint64_t addr);
/* Why it cannot be had; returns rc. */
int breakpoints_refuse(int rc, struct error *err);

#endif
