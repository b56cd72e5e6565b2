/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C stack that was copied for a sample, unwound from the leaf to the call from JIT code, or to
 * the start of the thread.  Part of the resolver.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "beam/resolve/resolve_internal.h"

void resolve_cstack(struct resolver *base, const struct rec_raw_cstack *raw)
{
	struct beam_resolver *r = (struct beam_resolver *)base; /* base is its first member */
	size_t size = offsetof(struct rec_raw_cstack, stack) + 8 * (size_t)raw->nr_stack;

	if (raw->nr_stack <= RAW_CSTACK_WORDS && raw->nr_leaf <= raw->nr_stack &&
	    raw->h.size >= size)
		memcpy(&r->cstack, raw, size);
}

static void push_address(struct native_stack *n, const struct unwind_regs *regs)
{
	n->addrs[n->nr++] = regs->exact ? regs->ip : regs->ip - 1;
}

/* Why unwinding ended before the call from JIT code or the thread's start: by unwinder_step(). */
static enum native_end end_of(int rc)
{
	switch (rc) {
	case -ENOENT:
		return NATIVE_NO_CFI;
	case -EFAULT:
		return NATIVE_TRUNCATED;
	default:
		return NATIVE_BROKEN;
	}
}

#define THREAD_DATA_MAX (64u << 10)

uint64_t beam_resolver_thread_data(struct beam_resolver *r, raddr thread_pointer)
{
	raddr base = thread_pointer - THREAD_DATA_MAX;
	uint64_t *words = xmalloc(THREAD_DATA_MAX);
	size_t i = 0;

	/* The stack starts at the topmost return address into the function that has no caller. */
	if (mem_read(r->node->mem, base, words, THREAD_DATA_MAX) == 0)
		i = THREAD_DATA_MAX / 8;
	while (i > 0 && !unwinder_is_outermost(r->unwinder, words[i - 1]))
		i--;
	free(words);
	return i ? thread_pointer - (base + 8 * i) : 0;
}

void unwind_native(struct beam_resolver *r, const struct rec_raw_sample *raw)
{
	const struct rec_raw_cstack *c = &r->cstack;
	struct native_stack *n = &r->native;
	const struct unwind_stack stack = {
		.leaf = {c->sp, c->stack, c->nr_leaf},
		.root = {c->root, c->stack + RAW_CSTACK_LEAF,
			 c->nr_stack > RAW_CSTACK_LEAF && c->root ? c->nr_stack - RAW_CSTACK_LEAF
								  : 0},
	};
	struct unwind_regs regs = {
		.ip = c->ip, .sp = c->sp, .bp = c->bp, .bx = c->bx, .r12 = c->r12, .exact = true};
	int rc;

	n->nr = 0;
	n->end = NATIVE_NONE;
	n->call_ra = 0;
	if (c->h.ts_ns != raw->h.ts_ns || c->os_tid != raw->os_tid)
		return;
	do {
		if (n->nr == EBEAM_NATIVE_FRAMES) {
			n->end = NATIVE_TOO_DEEP;
			return;
		}
		push_address(n, &regs);
		rc = unwinder_step(r->unwinder, &regs, &stack);
	} while (rc == 0 && (!c->end || regs.sp < c->end));
	if (rc == 1 && !c->end) {
		n->end = NATIVE_WHOLE;
	} else if (rc == 0 && regs.sp == c->end && regs.ip == c->call_ra) {
		n->end = NATIVE_WHOLE;
		if (r->node->identity.otp == 24 && regs.no_r12)
			return;
		n->call_ra = c->call_ra;
		n->saved = r->node->identity.otp == 24 ? regs.r12 : regs.bp;
	} else {
		n->end = end_of(rc);
	}
}

void forget_native(struct beam_resolver *r)
{
	r->cstack.os_tid = r->gap.os_tid = 0;
}

/* Functions of the VM's loops that run processes. */
static bool is_loop(const char *symbol)
{
	return strcmp(symbol, "process_main") == 0 ||
	       strcmp(symbol, "erts_dirty_process_main") == 0;
}

void name_native(struct beam_resolver *r, struct names *names, bool process)
{
	struct native_stack *n = &r->native;
	const char *symbol;

	n->kinds = NATIVE_KINDS_NONE;
	for (n->nr_named = 0; n->nr_named < n->nr; n->nr_named++) {
		n->frames[n->nr_named] = frame_of_native(r, names, n->addrs[n->nr_named], &symbol);
		/* Frames of the loop and its callers are the same for all processes. */
		if (process && n->nr_named && symbol && is_loop(symbol))
			break;
		native_kinds_add(&n->kinds, symbol);
	}
}

static const char *const ends[] = {
	[NATIVE_NONE] = "[... native frames: not copied ...]",
	[NATIVE_TRUNCATED] = "[... native frames: deeper than the copied stack ...]",
	[NATIVE_TOO_DEEP] = "[... native frames: more than 128 frames ...]",
	[NATIVE_NO_CFI] = "[... native frames: no unwind information ...]",
	[NATIVE_BROKEN] = "[... native frames: cannot be unwound ...]",
};

void push_native(struct beam_resolver *r, struct names *names, struct frame_list *l)
{
	const struct native_stack *n = &r->native;

	if (n->nr_named == n->nr && ends[n->end])
		frame_push(l, frame_of_name(names, NULL, ends[n->end], -1, FRAME_ELIDED));
	for (unsigned int i = n->nr_named; i-- > 0;)
		frame_push(l, n->frames[i]);
}
