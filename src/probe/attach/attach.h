/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attaches the points of a plan and detaches them, group by group.
 *
 * A group is what is enabled and disabled together: the points of kinds that have a point in
 * common, and those that share a BPF program.  So each kind is in one group, and all kinds of a
 * group are watched at the same times.
 *
 * Where the kernel has uprobe_multi (6.6, with its filter by process repaired) a group has one link
 * for each program, file, and side of a function (entry or return), which takes about 1 ms to make.
 * Else each point is a perf event of its own.  The kernel takes up to 0.1 s to remove a link or a
 * perf event, so threads close them.  The breakpoints of a link are gone when its removal begins;
 * perf events are removed one after the other, and each is hit until its turn comes.
 *
 * Order:  open  ->  choose programs, load them  ->  on and off ...  ->  close.  Not locked: one
 * thread at a time, except for functions that say "any thread".
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
	ATTACH_BEST,  /* ATTACH_MULTI if the kernel has it, else ATTACH_PERF */
	ATTACH_PERF,  /* each point by a perf event */
	ATTACH_MULTI, /* many points by one uprobe_multi link */
};

/* ATTACH_MULTI or ATTACH_PERF: the best that this kernel offers to this process. */
enum attach_way attach_way(void);

/* Borrows the plan (NULL: none yet) and `exe`, the path of the node's executable. */
void attach_open(struct attach **out, const struct source_plan *plan, int os_pid, const char *exe,
		 enum attach_way way);
/* From here on attach_on() and attach_probes() check in the node's memory that the first probe in
 * the executable is there, and fail if not: ERROR_KIND_FAILED.  Borrows mem and elf. */
void attach_prove(struct attach *a, struct mem *mem, const struct elf_file *elf, uint64_t bias);
/* Detaches all groups, and waits until the kernel has removed them. */
void attach_close(struct attach *a);

/* Before the load: selects the BPF programs that the points need, and sets them up for the way.
 * ERROR_KIND_FAILED. */
int attach_choose(struct attach *a, struct bpf_object *obj, struct error *err);
/* Before the load: the same for a program whose points attach_add() adds later. */
void attach_prepare(const struct attach *a, struct bpf_program *program);
/* Whether the kernel counts runs of programs and their time for this process (BPF_ENABLE_STATS,
 * CAP_SYS_ADMIN).  It does from here to attach_close() at the latest. */
bool attach_count_runs(struct attach *a);
/* After the load. `switches`: the memory in which the BPF programs check whether they are
 * enabled. */
void attach_loaded(struct attach *a, struct event_switches *switches);
/* After the load, and before any group is on: adds the points, which are borrowed, as one more
 * group.  ERROR_KIND_FAILED. */
int attach_add(struct attach *a, struct bpf_object *obj, const struct source_point *points,
	       unsigned int nr, struct error *err);
/* After the load, on a kernel without BPF cookies (before 5.15): programs find the cookies in this
 * map (event_cookies).  Borrows the descriptor. */
void attach_cookies(struct attach *a, int map_fd);
/* Whether runs of the programs are counted, by the kernel or by the programs themselves. */
bool attach_counts(const struct attach *a);
/* After attach_loaded(): programs count their hits themselves, by point, in this map (event_work),
 * as that takes less time than statistics of the kernel.  `times`: they measure their run times,
 * too, as the kernel keeps no statistics.  Borrows the descriptor. */
void attach_own_work(struct attach *a, int map_fd, bool times);

unsigned int attach_nr_groups(const struct attach *a);
uint64_t attach_kinds(const struct attach *a, unsigned int group);
/* Number of the group that a point of the plan belongs to. */
unsigned int attach_group_of(const struct attach *a, unsigned int point);
unsigned int attach_nr_links(const struct attach *a); /* links that exist while all groups are on */
bool attach_is_perf(const struct attach *a);

/*
 * attach_on() attaches and enables a group: events come from here on.  ERROR_KIND_PRIVILEGE or
 * ERROR_KIND_KERNEL; the group stays off then.  attach_off() disables it, so that no event comes
 * from here on, and detaches it, so that a moment later no probe is hit.  No effect if the group is
 * on or off already.
 */
int attach_on(struct attach *a, unsigned int group, struct error *err);
void attach_off(struct attach *a, unsigned int group);
/* The two halves of attach_on(): attach_probes() attaches, so that probes are hit but give no
 * events; attach_enable() has their events come. */
int attach_probes(struct attach *a, unsigned int group, struct error *err);
void attach_enable(struct attach *a, unsigned int group);
/* The first half of attach_off(): the probes stay attached, but give no events any more. */
void attach_disable(struct attach *a, unsigned int group);
/* attach_wait() waits until the kernel has removed all groups that are off; attach_is_closing() is
 * true until then.  Any thread. */
void attach_wait(struct attach *a);
bool attach_is_closing(struct attach *a);

/* CPU time of ebeam that attaching and detaching took so far, ns; any thread. */
uint64_t attach_switch_ns(const struct attach *a);

/* Hits and costs of a group so far, while on or off.  Any thread, but only one at a time if
 * programs count their hits.  False if the kernel does not count runs. */
struct attach_hits {
	uint64_t hits;
	uint64_t trap_ns; /* cost of the traps, by calibration */
	/* Run time of the programs by the clock, with the time in which they were preempted.  For
	 * programs that count their hits: hits times the time of one run. */
	uint64_t run_ns;
};
bool attach_hits(struct attach *a, unsigned int group, const struct calibration *cost,
		 struct attach_hits *out);
/* What one hit of a point costs without its BPF program, ns.  A return whose call is probed at the
 * same instruction counts only what it adds. */
unsigned int attach_trap_ns(const struct attach *a, unsigned int point,
			    const struct calibration *cost);

#endif
