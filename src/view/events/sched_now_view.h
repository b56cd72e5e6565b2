/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer of `ebeam sched --now`: what each scheduler is doing, thread progress, blocked
 * multi-scheduling.  Not known: texts are NULL, numbers UINT64_MAX or NAN.
 */
#ifndef EBEAM_VIEW_SCHED_NOW_H
#define EBEAM_VIEW_SCHED_NOW_H

#include "view/table/table.h"

#define SCHED_NOW_FRAMES 32

struct sched_now_row {
	const char *type;
	uint16_t number;
	uint16_t last_number; /* in the text: of several idle ones in one row; else 0 */
	const char *doing, *pid, *port, *registered_name, *function, *function_from;
	bool rests;
	bool slice_start; /* `function` is the one in which the time slice began */
	/* How long the scheduler has been doing what `doing` says, at least and at most. */
	uint64_t at_least_ns, at_most_ns;
	uint64_t run_queue;
	uint32_t os_tid; /* UINT32_MAX = not known */
	const char *thread_state, *syscall, *wchan;
	char file[256];		 /* the descriptor in its system call refers to it; "" = none */
	double on_cpu, cpu_wait; /* percent of the time between the samples */
	bool runnable;		 /* its thread is runnable, but has no CPU */
	/* How the thread holds up thread progress: a word, and a sentence. */
	const char *holds_progress, *holds_how;
	const char *native[SCHED_NOW_FRAMES];
	unsigned int nr_native;
	/* The lock of the C library that its thread waits for. */
	struct {
		const char *type;		   /* "mutex"; NULL = none */
		uint32_t owner_tid;		   /* thread that has it; 0 = not known */
		bool ended;			   /* that thread has ended */
		const char *thread;		   /* its name */
		const struct sched_now_row *owner; /* the scheduler that it is; NULL = none */
	} lock;
	/* The process with the longest time slice on this scheduler in all samples. */
	struct {
		uint64_t ns; /* at least; 0 = none */
		const char *pid, *name;
		bool over; /* the slice has ended: the rest of the row is about another one */
	} longest;
};

enum sched_now_progress {
	PROGRESS_UNKNOWN,
	PROGRESS_MOVES,
	PROGRESS_STILL,
	PROGRESS_NOT_NEEDED, /* all schedulers wait for work */
};

struct sched_now_answer {
	bool all_frames;    /* in the text: native stacks are not cut */
	bool live, stopped; /* a live node, not a core file; it is stopped by SIGSTOP */
	unsigned int nr_samples;
	uint64_t duration_ns;
	struct sched_now_row *rows;
	size_t nr;
	struct {
		enum sched_now_progress state;
		uint64_t value, still_ns;
		const char *waits_for; /* thread that is no scheduler and holds up progress */
	} progress;
	struct {
		bool blocked, dirty;
		unsigned int nr, nr_pids; /* processes that block it; how many are in pids[] */
		const char *const *pids;
	} block; /* of multi-scheduling */
};

extern const struct table sched_now_table; /* its columns; the caller sets the rows */

int sched_now_view_write(FILE *f, const struct sched_now_answer *a, const struct table_options *o,
			 struct error *err);
/* Writes the member "data" of the JSON answer. */
void sched_now_view_json(struct jsonw *w, const struct sched_now_answer *a,
			 const struct table_options *o);

#endif
