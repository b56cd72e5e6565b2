/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the points of a plan into the kernel and takes them out again, group by group.
 *
 * A group is what is watched together or not at all: the points of kinds that have a point in
 * common, and those that share a BPF program.  So each kind is in one group, and what is known of
 * one of its kinds is known of all of them at the same times.
 *
 * Where the kernel has it (6.6, with its filter by process repaired) a group has one link for each
 * program, file, and side of a function (entry or return), which takes about 1 ms to make.  Else
 * each point is a perf event of its own.  Either takes the kernel up to some 0.1 s to remove, so
 * they are closed by threads.  The breakpoints of a link are gone as that begins; perf events are
 * removed one after the other, and each is hit until it is its turn.
 *
 * Order:  open  ->  choose programs, load them  ->  on and off ...  ->  close.  Not locked: one
 * thread at a time, but for what says otherwise.
 */
#ifndef EBEAM_PROBE_ATTACH_H
#define EBEAM_PROBE_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/config.h"
#include "base/error.h"
#include "probe/kernel/calibrate.h"
#include "probe/site/sources.h"

struct attach;
struct bpf_object;
struct bpf_program;

enum attach_way {
	ATTACH_BEST,  /* by many, if the kernel has it */
	ATTACH_PERF,  /* one by one */
	ATTACH_MULTI, /* by many */
};

/* Which of both this kernel offers to this process; never ATTACH_BEST. */
enum attach_way attach_way(void);

/* Borrows the plan (NULL: none yet) and `exe`: the node's executable as a path. */
void attach_open(struct attach **out, const struct source_plan *plan, int os_pid, const char *exe,
		 enum attach_way way);
/* From here on the first probe in the executable must show in the node's memory, else attach_on()
 * and attach_probes() fail: ERROR_KIND_FAILED.  Borrows both. */
void attach_prove(struct attach *a, struct mem *mem, const struct elf_file *elf, uint64_t bias);
/* Takes away what is there; waits until it is. */
void attach_close(struct attach *a);

/* Before the load: the programs that are needed, made for the way.  ERROR_KIND_FAILED. */
int attach_choose(struct attach *a, struct bpf_object *obj, struct error *err);
/* Before the load: a program of points that come later is needed. */
void attach_prepare(const struct attach *a, struct bpf_program *program);
/* Whether the kernel counts runs of programs and their time for this process (BPF_ENABLE_STATS,
 * CAP_SYS_ADMIN).  It does from here to attach_close() at the latest. */
bool attach_count_runs(struct attach *a);
/* After the load.  `switches`: where the programs look. */
void attach_loaded(struct attach *a, struct event_switches *switches);
/* After the load, and before anything is on: points, which are borrowed, as one more group.
 * ERROR_KIND_FAILED. */
int attach_add(struct attach *a, struct bpf_object *obj, const struct source_point *points,
	       unsigned int nr, struct error *err);
/* After the load, where the kernel keeps no cookies: programs find them in this map
 * (event_cookies). Borrows the descriptor. */
void attach_cookies(struct attach *a, int map_fd);
/* Is it known how often programs run, from the kernel or themselves? */
bool attach_counts(const struct attach *a);
/* After attach_loaded(): programs count their hits themselves, by point, in this map (event_work),
 * as they take less time than it would take the kernel to measure that, or as the kernel does not:
 * then they measure what they take, too (`times`).  Borrows the descriptor. */
void attach_own_work(struct attach *a, int map_fd, bool times);

unsigned int attach_nr_groups(const struct attach *a);
uint64_t attach_kinds(const struct attach *a, unsigned int group);
/* Of a point of the plan. */
unsigned int attach_group_of(const struct attach *a, unsigned int point);
unsigned int attach_nr_links(const struct attach *a); /* as many as there are if all is on */
bool attach_is_perf(const struct attach *a);

/*
 * On: from here on its events come.  ERROR_KIND_PRIVILEGE or ERROR_KIND_KERNEL, and it is off.
 * Off: from here on no event comes, and a moment later nothing is hit.  Nothing if it is so
 * already.
 */
int attach_on(struct attach *a, unsigned int group, struct error *err);
void attach_off(struct attach *a, unsigned int group);
/* The first half of attach_on(): its probes are there, and nothing comes of them; and the other. */
int attach_probes(struct attach *a, unsigned int group, struct error *err);
void attach_enable(struct attach *a, unsigned int group);
/* The first half of attach_off(): the probes are there, and nothing comes of them any more. */
void attach_disable(struct attach *a, unsigned int group);
/* Until all that is off is out of the kernel; whether it is not yet: any thread. */
void attach_wait(struct attach *a);
bool attach_is_closing(struct attach *a);

/* CPU of ebeam that it took to put probes on and off so far; any thread. */
uint64_t attach_switch_ns(const struct attach *a);

/* What its programs did so far, off or on; any thread, but of programs that count their hits one at
 * a time.  False if the kernel does not tell. */
struct attach_hits {
	uint64_t hits;
	uint64_t trap_ns; /* what the traps to them cost, by calibration */
	/* What they took, by the clock: also while they were preempted.  Of those that count their
	 * hits what a run takes, times that. */
	uint64_t run_ns;
};
bool attach_hits(struct attach *a, unsigned int group, const struct calibration *cost,
		 struct attach_hits *out);
/* What one hit of a point costs without its program; a return whose call is probed at the same
 * instruction costs only what it adds. */
unsigned int attach_trap_ns(const struct attach *a, unsigned int point,
			    const struct calibration *cost);

#endif
