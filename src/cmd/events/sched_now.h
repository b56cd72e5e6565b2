/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the parts of `ebeam sched --now`: sched_now.c samples, sched_now_show.c shows. */
#ifndef EBEAM_CMD_SCHED_NOW_H
#define EBEAM_CMD_SCHED_NOW_H

#include "base/arena.h"
#include "beam/resolve/thread_lock.h"
#include "beam/sched/sched_block.h"
#include "beam/sched/sched_function.h"
#include "beam/sched/sched_now.h"
#include "beam/term/pid.h"
#include "cmd/command/command.h"
#include "target/thread_state.h"
#include "target/unwind.h"
#include "view/events/sched_now_view.h"

/* A scheduler, and its thread. */
struct now_row {
	const struct sched_one *one;
	struct sched_now_row *shown;
	int os_tid; /* 0 = not known */
	struct thread_state first, before, last;
	bool stood; /* the thread did not run during the last sample */
	struct unwind_regs regs;
	raddr native[SCHED_NOW_FRAMES]; /* C functions from the leaf on */
	unsigned int nr_native;
	bool has_lock;
	struct thread_lock lock; /* that it waits for */
	/* Of all samples, the process that it ran longest in one time slice. */
	struct {
		uint64_t ns; /* at least; 0 = none */
		uint64_t epid, registered;
	} longest;
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
	bool has_ports;
	uint64_t first_ns, last_ns; /* times of the first and the last sample */
	struct arena texts;
	struct sched_now_answer a;
};

/* Makes the answer of the samples, and writes it. */
int sched_now_show(struct command_context *ctx, struct now_view *v, const struct table_options *o,
		   struct error *err);

#endif
