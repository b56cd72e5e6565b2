/* SPDX-License-Identifier: BSD-2-Clause */
/* Assertions (cmocka) on profiles and snapshots made from records. */
#ifndef EBEAM_TESTS_SNAPCHECK_H
#define EBEAM_TESTS_SNAPCHECK_H

#include "lib/records.h"
#include "model/profile/profile.h"
#include "model/profile/snapshot.h"

/* A profile of all records, which are closed. */
struct profile *apply_records(struct records *r);
/* A snapshot that fulfils what holds for every snapshot: indices, sums, clean texts. */
struct snapshot *take_snapshot(const struct profile *p, struct snapshot_options opts);

/* Everything in a snapshot but its options, as text to compare; the caller frees. */
char *snapcheck_dump(const struct snapshot *s);
/* The stack at an index, its frames joined by ";". */
void assert_stack(const struct snapshot *s, uint32_t at, const char *expect, uint64_t count);
/* UTF-8 without control characters. */
void assert_clean_text(const char *text);
/* NULL if there is none. */
const struct snap_function *find_function(const struct snapshot *s, const char *name);

#endif
