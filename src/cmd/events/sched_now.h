/* SPDX-License-Identifier: BSD-2-Clause */
/* What reading (sched_now.c) and showing (sched_now_show.c) of `ebeam sched --now` share. */
#ifndef EBEAM_CMD_SCHED_NOW_H
#define EBEAM_CMD_SCHED_NOW_H

#include "beam/sched/sched_block.h"
#include "beam/sched/sched_function.h"
#include "beam/sched/sched_now.h"
#include "beam/term/pid.h"
#include "cmd/command/command.h"
#include "target/thread_state.h"
#include "target/unwind.h"
#include "view/table/table.h"

#define NATIVE_FRAMES 32

/* A scheduler, and its thread. */
struct now_row {
	const struct sched_one *one;
	int os_tid; /* 0 = not known */
	struct thread_state first, before, last;
	bool stood; /* the thread did not run while it was sampled */
	struct unwind_regs regs;
	/* How long it is at this already, at least and at most; SCHED_NOW_UNKNOWN. */
	uint64_t at_least_ns, at_most_ns;
	double on_cpu, cpu_wait; /* percent of the time between the samples; NAN */
	bool runnable;		 /* it is to run, but has no CPU */
	enum progress_holder holds;
	char *function;
	enum function_from from;
	/* Of all samples, the process that it ran for the longest time without a pause. */
	struct {
		uint64_t ns; /* at least; 0 = none */
		uint64_t epid, registered;
	} longest;
	char file[256]; /* behind the descriptor of its system call; "" = none */
	char *native[NATIVE_FRAMES];
	unsigned int nr_native;
};

struct now_view {
	struct beam_node *node;
	struct stack_code code;
	struct callsites *sites;
	struct unwinder *unwinder;
	struct id_format pids, ports;
	struct sched_now *now;
	struct now_row *rows;
	size_t nr;
	struct sched_block block; /* of multi-scheduling, as of the last sample */
	bool live, has_ports;
	bool stopped;		    /* the whole node is */
	uint64_t first_ns, last_ns; /* samples */
	unsigned int nr_samples;
};

extern const struct table_column sched_now_columns[];

int sched_now_write(struct command_context *ctx, const struct now_view *v, const struct table *t,
		    const struct table_options *o, struct error *err);
int sched_now_json(struct command_context *ctx, const struct now_view *v, const struct table *t,
		   const struct table_options *o, struct error *err);

#endif
