/* SPDX-License-Identifier: BSD-2-Clause */
/* The schedulers of a node: one struct ErtsSchedulerData each, in three arrays. */
#ifndef EBEAM_BEAM_SCHED_H
#define EBEAM_BEAM_SCHED_H

#include "abi/config.h"
#include "abi/record.h"
#include "beam/node/node.h"

struct sched_thread {
	uint64_t thread_pointer; /* pthread_t = fs base of its thread */
	struct thread_info info;
};

/* All schedulers in the arrays that were found; *out malloc'ed.  Returns their number (0 if no
 * array was found) or negative errno. */
int sched_threads(struct beam_node *n, struct sched_thread **out);

/* 1 if the scheduler has a process or a port now, else 0; or negative errno. */
int sched_is_busy(struct beam_node *n, const struct thread_info *scheduler);

/* RUNQ_FLG_* of a normal scheduler's run queue, by its ErtsSchedulerData.  0 or negative errno. */
int sched_run_queue_flags(struct mem *mem, const struct beam_layout *l, raddr esdp,
			  uint32_t *flags);

/* Type and number from the kernel's name of a thread ("1_scheduler", "erts_dcpus_2"); THREAD_OTHER
 * for other names. */
enum thread_type sched_type_of_name(const char *name, uint16_t *number);
/* Calls found() for each thread with a scheduler's name.  ERROR_KIND_* of proc_threads_read(). */
int sched_find_tids(int os_pid,
		    void (*found)(void *arg, enum thread_type type, uint16_t number, int os_tid),
		    void *arg, struct error *err);

#endif
