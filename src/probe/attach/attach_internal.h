/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by attach.c (groups, on and off) and attach_cost.c (hits, and what they cost). */
#ifndef EBEAM_PROBE_ATTACH_INTERNAL_H
#define EBEAM_PROBE_ATTACH_INTERNAL_H

#include <pthread.h>

#include "base/vec.h"
#include "probe/attach/attach.h"
#include "probe/attach/run_times.h"
#include "probe/kernel/uprobe.h"

/* The points of one program, in one file, at entries or at returns. */
struct bundle {
	const char *program_name, *path;
	struct bpf_program *program;
	bool at_return;
	/* If programs count their hits: run time of one run; hits so far, and run time of these. */
	struct run_time run_time;
	uint64_t hits;
	double run_ns;
	VEC(unsigned int) points;
	VEC(struct uprobe) uprobes; /* empty while off */
};

struct group {
	uint64_t kinds;
	uint64_t gives; /* kinds that its programs can give, asked for or not */
	bool on;
	VEC(struct bundle) bundles;
};

struct attach {
	VEC(const struct source_point *) points; /* of the plan, and of attach_add() */
	int os_pid;
	const char *exe; /* borrowed, as are mem and elf */
	struct mem *mem; /* NULL = attached probes are not checked */
	const struct elf_file *elf;
	uint64_t bias;
	bool proven;
	enum attach_way way;
	unsigned int group_of[SOURCE_MAX_POINTS];
	bool shares_trap[SOURCE_MAX_POINTS]; /* returns whose entry is probed at the same site */
	VEC(struct group) groups;
	struct event_switches *switches;
	int stats_fd;	/* open while the kernel counts runs of programs and their time; else -1 */
	int work_fd;	/* event_work; -1 = programs do not count their hits */
	bool own_times; /* programs measure their run times, too */
	int cookies_fd; /* event_cookies; -1 = the kernel keeps cookies */
	int nr_cpus;
	pthread_mutex_t lock;
	pthread_cond_t closed;
	unsigned int closing; /* threads that close links */
	uint64_t switch_ns;   /* CPU time of attaching and detaching; atomic */
};

#endif
