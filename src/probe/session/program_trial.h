/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries BPF programs of ebeam on this kernel: loads each by itself, as a run would load it, and
 * unloads it.  So each refused program is known by name, and the others are tried all the same. */
#ifndef EBEAM_PROBE_PROGRAM_TRIAL_H
#define EBEAM_PROBE_PROGRAM_TRIAL_H

#include "base/vec.h"
#include "probe/kernel/verifier_log.h"
#include "probe/session/session.h"

struct program_trial {
	char name[64];
	/* 0 = the kernel accepts it; negative errno.  -ENOTSUP also for a program that can be
	 * preempted and has a private stack: the kernel accepts it, but it is not safe, and
	 * verifier.words says so. */
	int rc;
	struct verifier_log verifier;
	unsigned int deepest; /* verifier_log_deepest() */
	/* 1 = the kernel gives the program a stack per CPU (private stack), which another thread
	 * that runs it may overwrite if it can be preempted; -1 = not known, as the kernel shows no
	 * code. */
	int private_stack;
	char *log; /* all that the verifier said; NULL unless it is kept */
};

struct program_trials {
	VEC(struct program_trial) v;
};

struct program_choice {
	bool (*wants)(void *arg, const char *program); /* NULL = all */
	void *arg;
	bool keep_logs; /* keep logs of refused programs, with each instruction */
};

/* The program that measures what uprobes cost: not part of a session, but needed for its budget. */
#define PROGRAM_CALIBRATE "calibrate_hit"

/* Configuration as of a node with all kinds of events and calls; borrows the plan, which has no
 * points.  The caller fills in the rest; PROGRAM_TRIAL_TERM stands for any term. */
#define PROGRAM_TRIAL_TERM 0x2cbull
void program_trials_config(struct session_config *c, struct source_plan *plan,
			   const struct beam_layout *layout, unsigned int otp);

/* True if commands have to do without the program; with `force` a private stack is no reason. */
bool program_trial_refused(const struct program_trial *t, bool force);

/* Adds results to *out.  Of the configuration only the constants of programs and the way of
 * attaching matter. Any thread. Fails if none could be tried, with the errors of
 * session_open(). */
int program_trials_run(struct program_trials *out, const struct session_config *c,
		       const struct program_choice *choice, struct error *err);
void program_trials_free(struct program_trials *t);

#endif
