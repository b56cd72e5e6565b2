/* SPDX-License-Identifier: BSD-2-Clause */
/* What is left of a run if the kernel refuses some of its programs. */
#ifndef EBEAM_PROBE_REFUSAL_H
#define EBEAM_PROBE_REFUSAL_H

#include "probe/session/program_trial.h"

/* "the kernel refuses PROGRAM: the verifier's last words". */
void refusal_text(char *buf, size_t size, const struct program_trial *t);

/*
 * For a run whose programs could not be loaded, with *err set: tries the programs one by one, and
 * takes the kinds of events out of its plan whose programs are refused, and the calls of functions
 * if they come beside events (c->calls_beside; then c->calls becomes false).  0 if something is
 * left that can be loaded; else `rc`, with *err naming the first refused program, if there is one.
 */
int refusal_drop(struct session_config *c, const struct program_choice *choice, int rc,
		 struct error *err);

#endif
