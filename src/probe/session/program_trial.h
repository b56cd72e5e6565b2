/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries BPF programs of the product on this kernel: each is loaded by itself, as a run would load
 * it, and let go.  So a refusal names one program, and the others are tried all the same.
 */
#ifndef EBEAM_PROBE_PROGRAM_TRIAL_H
#define EBEAM_PROBE_PROGRAM_TRIAL_H

#include "base/vec.h"
#include "probe/kernel/verifier_log.h"
#include "probe/session/session.h"

struct program_trial {
	char name[64];
	/* 0 = the kernel takes it; negative errno.  -ENOTSUP also for a program that can be
	 * preempted and has a stack per CPU: then it is taken, but not safe, and verifier.words
	 * says so. */
	int rc;
	struct verifier_log verifier;
	unsigned int deepest; /* verifier_log_deepest() */
	/* Whether the kernel gives it a stack for each CPU, which another thread that runs the
	 * program may overwrite where it can be preempted; -1 = it does not show its code. */
	int private_stack;
	char *log; /* all that the verifier said; NULL unless it is kept */
};

struct program_trials {
	VEC(struct program_trial) v;
};

struct program_choice {
	bool (*wants)(void *arg, const char *program); /* NULL = all */
	void *arg;
	bool keep_logs; /* of programs that are refused, with each instruction */
};

/* The one that measures what uprobes cost: no program of a session, but of its budget. */
#define PROGRAM_CALIBRATE "calibrate_hit"

/* As of some node with all kinds of events and calls: a plan without points, which the
 * configuration borrows.  The caller says what else it is about; any term there is this one. */
#define PROGRAM_TRIAL_TERM 0x2cbull
void program_trials_config(struct session_config *c, struct source_plan *plan,
			   const struct beam_layout *layout, unsigned int otp);

/* Commands do without it; with --force a stack by CPU is no reason. */
bool program_trial_refused(const struct program_trial *t, bool force);

/* Adds to *out.  Of the configuration only what programs get counts, and the way in which they
 * are attached.  Any thread.  Fails if none could be tried, as session_open() would. */
int program_trials_run(struct program_trials *out, const struct session_config *c,
		       const struct program_choice *choice, struct error *err);
void program_trials_free(struct program_trials *t);

#endif
