/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ebeam sched --now` shows: what each scheduler does at a moment, thread progress, blocked
 * multi-scheduling.  Texts are NULL, numbers UINT64_MAX or NAN where they are not known.
 */
#ifndef EBEAM_VIEW_SCHED_NOW_H
#define EBEAM_VIEW_SCHED_NOW_H

#include "view/table/table.h"

#define SCHED_NOW_FRAMES 32

struct sched_now_row {
	const char *type;
	uint16_t number;
	const char *doing, *pid, *port, *registered_name, *function, *function_from;
	bool rests;
	bool slice_start; /* the function is the one in which its time slice began */
	/* How long it is at this already, at least and at most. */
	uint64_t at_least_ns, at_most_ns;
	uint64_t run_queue;
	uint32_t os_tid; /* UINT32_MAX */
	const char *thread_state, *syscall, *wchan;
	char file[256];		 /* behind the descriptor of its system call; "" = none */
	double on_cpu, cpu_wait; /* percent of the time between the samples */
	bool runnable;		 /* its thread is to run, but has no CPU */
	/* Whether it holds thread progress up: a word, and a sentence about it. */
	const char *holds_progress, *holds_how;
	const char *native[SCHED_NOW_FRAMES];
	unsigned int nr_native;
	/* Of all samples, the process that it ran for the longest time without a pause. */
	struct {
		uint64_t ns; /* at least; 0 = none */
		const char *pid, *name;
		bool over; /* and the row does not show that */
	} longest;
};

enum sched_now_progress {
	PROGRESS_UNKNOWN,
	PROGRESS_MOVES,
	PROGRESS_STILL,
	PROGRESS_NOT_NEEDED, /* all wait for work */
};

struct sched_now_answer {
	bool live, stopped; /* a node that runs; the whole node is stopped */
	unsigned int nr_samples;
	uint64_t duration_ns;
	struct sched_now_row *rows;
	size_t nr;
	struct {
		enum sched_now_progress state;
		uint64_t value, still_ns;
		const char *waits_for; /* of what is no scheduler */
	} progress;
	struct {
		bool blocked, dirty;
		unsigned int nr, nr_pids; /* processes that asked for it; those that are named */
		const char *const *pids;
	} block; /* of multi-scheduling */
};

extern const struct table sched_now_table; /* without rows */

int sched_now_view_write(FILE *f, const struct sched_now_answer *a, const struct table_options *o,
			 struct error *err);
/* Writes "data". */
void sched_now_view_json(struct jsonw *w, const struct sched_now_answer *a,
			 const struct table_options *o);

#endif
