/* SPDX-License-Identifier: BSD-2-Clause */
/* What unit tests write, compared with a file byte for byte.  Asserts (cmocka). */
#ifndef EBEAM_TESTS_GOLDEN_H
#define EBEAM_TESTS_GOLDEN_H

#include <stddef.h>

/* `path` is below tests/golden; REGOLDEN=1 in the environment writes the file anew. */
void golden_check(const char *path, const char *bytes, size_t size);

/* The lines of a file (`path` from the root of the repository) between "<!-- NAME -->" and
 * "<!-- end of NAME -->"; written anew likewise. */
void golden_check_section(const char *path, const char *name, const char *text);

#endif
