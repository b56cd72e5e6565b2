/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See arena.h.  Chunks double from 4 KiB to 256 KiB, so that a small dictionary stays small and
 * a large one takes few allocations; what is larger than a chunk gets one of its own.
 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define ARENA_MIN_CHUNK 4096u
#define ARENA_MAX_CHUNK (256u << 10)

struct arena_chunk {
	struct arena_chunk *next;
	char bytes[];
};

static void arena_grow(struct arena *a, size_t size)
{
	size_t want = MIN(MAX(2 * a->size, ARENA_MIN_CHUNK), ARENA_MAX_CHUNK);
	struct arena_chunk *chunk;

	want = MAX(want, size);
	chunk = xmalloc(sizeof(*chunk) + want);
	chunk->next = a->chunks;
	a->chunks = chunk;
	a->used = 0;
	a->size = want;
}

char *arena_alloc(struct arena *a, size_t size)
{
	char *p;

	if (!a->chunks || size > a->size - a->used)
		arena_grow(a, size);
	p = a->chunks->bytes + a->used;
	a->used += size;
	a->total += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *p = arena_alloc(a, len + 1);

	memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

const char *arena_copy(struct arena *a, const char *text)
{
	return text && *text ? arena_strndup(a, text, strlen(text)) : NULL;
}

const char *arena_text(struct arena *a, struct strbuf *text)
{
	const char *copy = arena_copy(a, text->buf);

	strbuf_reset(text);
	return copy;
}

void arena_free(struct arena *a)
{
	struct arena_chunk *chunk = a->chunks, *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	memset(a, 0, sizeof(*a));
}
