/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocation that cannot fail: out of memory ends the process with a message and
 * exit code 1.  Sizes that come from a node or a file are checked by the caller
 * against a bound before they get here.
 */
#ifndef EBEAM_BASE_XALLOC_H
#define EBEAM_BASE_XALLOC_H

#include <stddef.h>

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t nr, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));

#endif
