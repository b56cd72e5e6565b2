/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the exporters share: a profile with all that can be in one, its change, and
 * exporters that write into memory.  Everything asserts (cmocka).
 */
#ifndef EBEAM_TESTS_EXPORTFIX_H
#define EBEAM_TESTS_EXPORTFIX_H

#include <jansson.h>

#include "export/export.h"
#include "lib/snapfix.h"

/* 21 samples: two processes, all sorts of frames, names that bite, recursion, an empty stack. */
struct snapfix *exportfix_profile(bool lines, enum snapshot_by by);
/* 20 samples of the same node later, by name. */
struct snapfix *exportfix_after(void);

struct output {
	char *bytes; /* free() it */
	size_t size;
};

struct output exportfix_write(const char *format, const struct snapshot *s);
struct output exportfix_write_diff(const char *format, const struct diff *d);

/* Compare with tests/golden/export/NAME.exp; REGOLDEN=1 in the environment writes it anew. */
void exportfix_check_golden(const char *name, const struct output *o);

json_t *exportfix_parse(const struct output *o);
const char *exportfix_string(const json_t *o, const char *key);
/* Sum of the integers of a list, or of the member `key` of the objects in it. */
uint64_t exportfix_sum(const json_t *list, const char *key);
/* The envelope of CLI.md, with the facts of the two profiles. */
void exportfix_check_envelope(const json_t *top);

#endif
