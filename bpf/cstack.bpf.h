/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A copy of the C stack of a thread, to be unwound by user space: of samples, and of events that
 * come with native frames. */
#ifndef EBEAM_BPF_CSTACK_H
#define EBEAM_BPF_CSTACK_H

#include "sample.bpf.h"

/* Bytes; a greater distance between stack pointer and end is not that of one stack. */
#define CSTACK_MAX_SIZE (64u << 20)

/* Bytes of a C stack from rsp on: up to the call from JIT code or, if `pointer` is set, up to the
 * thread data (2 to 20 KiB, by C library) below the thread pointer.  If that is not known, or too
 * far, as in the main thread, whose stack the kernel has made: as much as a record can hold. */
INLINE uint64_t cstack_size(const struct walk *w, const struct user_regs *r, uint64_t pointer)
{
	uint64_t size = (pointer ? pointer - state.thread_data : w->call_at + 8) - r->sp;

	if (size >= CSTACK_MAX_SIZE || (pointer && !state.thread_data))
		return RAW_CSTACK_WORDS * 8;
	return size;
}

#define CSTACK_LEAF_SIZE (RAW_CSTACK_LEAF * 8u)
#define CSTACK_ROOT_SIZE (RAW_CSTACK_WORDS * 8u - CSTACK_LEAF_SIZE)

/* Copies the leaf end and the root end of the C stack [sp, end).  A page that was never written
 * cannot be read: then an end is copied only up to its page boundary.  Returns the bytes of
 * c->stack that are in use; 0 = the leaf cannot be read. */
INLINE uint64_t copy_ends(struct rec_raw_cstack *c, uint64_t sp, uint64_t end)
{
	uint64_t leaf = EBEAM_PAGE_SIZE - sp % EBEAM_PAGE_SIZE, root = end % EBEAM_PAGE_SIZE;

	if (try_read(sp, c->stack, CSTACK_LEAF_SIZE)) {
		leaf = CSTACK_LEAF_SIZE;
	} else {
		FORGET(leaf);
		if (leaf > CSTACK_LEAF_SIZE || !try_read(sp, c->stack, leaf))
			return 0;
	}
	c->nr_leaf = (uint16_t)(leaf / 8);
	if (try_read(end - CSTACK_ROOT_SIZE, c->stack + RAW_CSTACK_LEAF, CSTACK_ROOT_SIZE)) {
		root = CSTACK_ROOT_SIZE;
	} else {
		FORGET(root);
		if (root > CSTACK_ROOT_SIZE ||
		    !try_read(end - root, c->stack + RAW_CSTACK_LEAF, root))
			return leaf;
	}
	c->root = end - root;
	return CSTACK_LEAF_SIZE + root;
}

/* Copies `size` bytes of the C stack from sp on, or else its two ends.  Returns the bytes of
 * c->stack that are in use; 0 = unreadable. */
INLINE uint64_t copy_cstack(struct rec_raw_cstack *c, uint64_t sp, uint64_t size)
{
	c->root = 0;
	if (size <= sizeof(c->stack)) {
		FORGET(size);
		if (size <= sizeof(c->stack) && try_read(sp, c->stack, size)) {
			c->nr_leaf = (uint16_t)(size / 8);
			return size;
		}
	}
	return copy_ends(c, sp, sp + size);
}

/* Fills in the record of the C stack that the walk belongs to.  Its h.size is what is in use; 0 if
 * the stack cannot be read.  Returns the bytes of c->stack. */
INLINE uint64_t fill_cstack(struct rec_raw_cstack *c, const struct walk *w,
			    const struct user_regs *r)
{
	uint64_t pointer = w->rec.call_ra ? 0 : thread_pointer();
	uint64_t size = copy_cstack(c, r->sp, cstack_size(w, r, pointer));

	c->h.type = REC_RAW_CSTACK;
	c->h.flags = 0;
	c->h.size = size ? __builtin_offsetof(struct rec_raw_cstack, stack) + (uint32_t)size : 0;
	c->h.ts_ns = w->rec.h.ts_ns;
	c->os_tid = w->rec.os_tid;
	c->nr_stack = (uint16_t)(size / 8);
	c->ip = r->ip;
	c->sp = r->sp;
	c->bp = r->bp;
	c->bx = r->bx;
	c->r12 = r->r12;
	c->end = w->rec.call_ra ? w->call_at + 8 : 0;
	c->call_ra = w->rec.call_ra;
	return size;
}

/* Emits it, ahead of its sample. */
INLINE void emit_cstack(struct rec_raw_cstack *c, const struct walk *w, const struct user_regs *r)
{
	uint64_t size = fill_cstack(c, w, r);
	void *rb = ring();

	FORGET(size);
	if (!rb || !size || size > sizeof(c->stack))
		return; /* checked in fill_cstack(), but the verifier no longer knows the bound */
	/* If the ring is full the C stack is marked as missing in the sample's stack. */
	bpf_ringbuf_output(rb, c, __builtin_offsetof(struct rec_raw_cstack, stack) + size,
			   BPF_RB_NO_WAKEUP);
}

#endif
