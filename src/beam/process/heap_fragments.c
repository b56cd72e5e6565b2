/* SPDX-License-Identifier: BSD-2-Clause */
/* See heap_fragments.h. */
#include "beam/process/heap_fragments.h"

#include "base/bytes.h"

#define HEAD_MAX  64
#define WORDS_MAX (1ull << 40)

bool heap_fragments_next(struct heap_fragments *f)
{
	const struct beam_layout *l = &f->n->layout;
	size_t size = (size_t)l->heap_frag_mem; /* it may be all that there is */
	uint8_t bytes[HEAD_MAX] = {0};
	uint64_t used;

	if (!f->next)
		return false;
	f->cut = f->nr >= HEAP_FRAGMENTS_MAX;
	f->unreadable =
		!f->cut && (size > sizeof(bytes) || mem_read(f->mem, f->next, bytes, size) != 0);
	if (!heap_fragments_complete(f))
		return false;
	used = bytes_u64(bytes, l->heap_frag_used_size);
	f->unreadable = used > WORDS_MAX;
	if (f->unreadable)
		return false;
	f->start = f->next + (raddr)l->heap_frag_mem;
	f->end = f->start + 8 * used;
	f->off_heap = bytes_u64(bytes, l->heap_frag_off_heap_first);
	f->next = bytes_u64(bytes, l->heap_frag_next);
	f->nr++;
	return true;
}
