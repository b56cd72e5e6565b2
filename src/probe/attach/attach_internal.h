/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by attach.c (groups, on and off) and attach_cost.c (hits, and what they cost). */
#ifndef EBEAM_PROBE_ATTACH_INTERNAL_H
#define EBEAM_PROBE_ATTACH_INTERNAL_H

#include <pthread.h>

#include "base/vec.h"
#include "probe/attach/attach.h"
#include "probe/attach/run_times.h"
#include "probe/kernel/uprobe.h"

/* Points of one program in one file. */
struct bundle {
	const char *program_name, *path;
	struct bpf_program *program;
	bool at_return;
	struct run_time run_time; /* of programs that count their hits */
	uint64_t hits;		  /* of them, so far, and what they took */
	double run_ns;
	VEC(unsigned int) points;
	VEC(struct uprobe) uprobes; /* empty: off */
};

struct group {
	uint64_t kinds;
	uint64_t gives; /* those and others that its programs could give */
	bool on;
	VEC(struct bundle) bundles;
};

struct attach {
	VEC(const struct source_point *) points; /* of the plan, and calls */
	int os_pid;
	const char *exe; /* borrowed, as are: */
	struct mem *mem; /* NULL = nothing is proven */
	const struct elf_file *elf;
	uint64_t bias;
	bool proven;
	enum attach_way way;
	unsigned int group_of[SOURCE_MAX_POINTS];
	bool shares_trap[SOURCE_MAX_POINTS]; /* a return whose entry is probed anyhow */
	VEC(struct group) groups;
	struct event_switches *switches;
	int stats_fd;	/* while open, the kernel counts runs and their time; -1 = it does not */
	int work_fd;	/* event_work; -1 = programs do not count their hits */
	bool own_times; /* they measure what they take, too */
	int cookies_fd; /* event_cookies; -1 = the kernel keeps cookies */
	int nr_cpus;
	pthread_mutex_t lock;
	pthread_cond_t closed;
	unsigned int closing; /* threads */
	uint64_t switch_ns;   /* atomic */
};

#endif
