/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of C functions in a run (live.h).  Comparing a stripped file with references takes a moment
 * (beam/resolve/native_function.h).  Records are held back meanwhile: rings would overflow if each
 * frame waited for its name.
 */
#ifndef EBEAM_CMD_LIVE_NAMES_H
#define EBEAM_CMD_LIVE_NAMES_H

#include "cmd/run/live.h"

/* Starts to compare, and holds records back. */
void live_names_start(struct live *l);
/* Releases records when names are known, and holds them back again when a library was loaded whose
 * functions have no symbols. */
void live_names_update(struct live *l);
/* Waits for what is compared, if records are held back. */
void live_names_wait(struct live *l);
/* Functions that were found without a symbol get their names in native stacks, too.  Left out are
 * names with a dot, which are fields of a struct, and callbacks of drivers.  plan: may be NULL. */
void live_names_of_probes(struct beam_node *n, const struct source_plan *plan);
/* Build ids of the files that native functions are of, which say which builds were profiled. */
void live_names_add_build_ids(struct live *l);

#endif
