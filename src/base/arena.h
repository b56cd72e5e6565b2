/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena of bytes that are freed together: strings of a dictionary or of a snapshot.  Memory
 * from it never moves and is freed by arena_free() only.  ARENA_INIT (all zero) before use. */
#ifndef EBEAM_BASE_ARENA_H
#define EBEAM_BASE_ARENA_H

#include <stddef.h>

#include "base/strbuf.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *chunks; /* newest first */
	size_t used, size;	    /* bytes in the newest chunk */
	size_t total;		    /* bytes allocated by callers */
};

#define ARENA_INIT                                                                                 \
	{                                                                                          \
		0                                                                                  \
	}

/* `size` bytes without alignment, for strings. */
char *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));
/* A copy of `len` bytes, NUL terminated. */
char *arena_strndup(struct arena *a, const char *s, size_t len) __attribute__((returns_nonnull));
/* A copy; NULL if text is NULL or empty. */
const char *arena_copy(struct arena *a, const char *text);
/* A copy, NULL if it is empty; empties the strbuf for its next use. */
const char *arena_text(struct arena *a, struct strbuf *text);
void arena_free(struct arena *a);

#endif
