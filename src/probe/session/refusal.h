/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a run if the kernel refuses some of its programs. */
#ifndef EBEAM_PROBE_REFUSAL_H
#define EBEAM_PROBE_REFUSAL_H

#include "probe/session/program_trial.h"

/* "the kernel refuses PROGRAM: the verifier's last words". */
void refusal_text(char *buf, size_t size, const struct program_trial *t);

/*
 * Of a run whose programs could not be loaded, for which *err stands: tries them one by one, and
 * takes out of its plan the kinds of events whose programs are refused, and calls of functions if
 * they are beside those (c->calls_beside; then c->calls is false).  0 if something is left
 * that can be loaded; else `rc`, with *err naming the first program that is refused, if there is
 * one.
 */
int refusal_drop(struct session_config *c, const struct program_choice *choice, int rc,
		 struct error *err);

#endif
