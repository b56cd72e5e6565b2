/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang stack pointer of samples for which BPF found several candidates: the C stack that came
 * with the sample is unwound to the call from JIT code, where rbp (OTP 24: r12) holds it.  Part of
 * the resolver.
 */
#include <string.h>

#include "abi/vm.h"
#include "beam/resolve/resolve_internal.h"

#define MAX_C_FRAMES 64

void resolve_cstack(struct resolver *base, const struct rec_raw_cstack *raw)
{
	struct beam_resolver *r = (struct beam_resolver *)base; /* base is its first member */

	size_t size = offsetof(struct rec_raw_cstack, stack) + 8 * (size_t)raw->nr_stack;

	if (raw->nr_stack <= RAW_CSTACK_WORDS && raw->nr_gap <= RAW_CSTACK_GAP &&
	    raw->low <= raw->high && raw->high - raw->low <= 8ull * raw->nr_gap &&
	    raw->h.size >= size)
		memcpy(&r->cstack, raw, size);
}

static bool belongs(const struct rec_raw_cstack *c, const struct rec_raw_sample *raw)
{
	return c->h.ts_ns == raw->h.ts_ns && c->os_tid == raw->os_tid && raw->call_ra;
}

/* The register at the call, proven by arriving at the right return address. */
static bool unwind_to_call(struct beam_resolver *r, raddr call_ra, raddr *e)
{
	const struct rec_raw_cstack *c = &r->cstack;
	struct unwind_stack stack = {.base = c->sp, .words = c->stack, .nr = c->nr_stack};
	struct unwind_regs regs = {
		.ip = c->ip, .sp = c->sp, .bp = c->bp, .bx = c->bx, .r12 = c->r12};

	for (int i = 0; i < MAX_C_FRAMES; i++) {
		if (unwinder_step(r->unwinder, &regs, &stack, i == 0) || regs.sp > c->registers)
			return false;
		if (regs.sp == c->registers) {
			*e = r->node->identity.otp == 24 ? regs.r12 : regs.bp;
			return regs.ip == call_ra;
		}
	}
	return false;
}

static bool word_at(const struct rec_raw_cstack *c, raddr at, uint64_t *w)
{
	if (at < c->low || (at - c->low) / 8 >= c->nr_gap)
		return false;
	*w = c->gap[(at - c->low) / 8];
	return true;
}

/* A shared fragment's return addresses stand on top and are known by where they lie (as in
 * bpf/sample.bpf.h); returns the first word after them. */
static raddr skip_fragments(struct beam_resolver *r, raddr e)
{
	struct address_range f = jit_fragments(r->jit);
	struct jit_function function;
	uint64_t w;

	for (int i = 0; i < 4 && word_at(&r->cstack, e, &w); i++) {
		if (!jit_find(r->jit, w - 1, &function))
			break;
		e += 8;
		if (w < f.start || w >= f.end)
			break;
	}
	return e;
}

void resolve_saved(struct beam_resolver *r, struct names *names, struct frame_list *l,
		   const struct rec_raw_sample *raw)
{
	const struct rec_raw_cstack *c = &r->cstack;
	struct address_range f = jit_fragments(r->jit);
	raddr e, plain, at;
	bool fragment;
	uint64_t w;

	if (!belongs(c, raw) || !unwind_to_call(r, raw->call_ra, &e) || (e & 7) || e < c->low ||
	    e > c->high)
		return;
	plain = e;
	fragment = raw->call_ra >= f.start && raw->call_ra < f.end;
	if (fragment && r->node->identity.native_stack) {
		plain = skip_fragments(r, e);
		word_at(c, e, &l->saved_ra);
	}
	/* Root first: from the highest word below the leaf part down to E. */
	for (at = c->high; at > plain; at -= 8) {
		if (word_at(c, at - 8, &w) && TERM_IS_HEADER(w))
			push_return(r, names, l, w);
	}
	/* Return addresses of fragments; an aligned one above `high` is in the leaf part already.
	 */
	for (at = plain; at > e; at -= 8) {
		if (word_at(c, at - 8, &w) && (at - 8 < c->high || (w & 3) != 0))
			push_return(r, names, l, w);
	}
	/* Without native stack it stands on the C stack. */
	if (fragment && !r->node->identity.native_stack && raw->saved_ra)
		push_return(r, names, l, raw->saved_ra);
	/* Its middle may be missing all the same. */
	l->status = raw->skipped_frames || raw->skipped_words ? SAMPLE_STATUS_TRUNCATED
							      : SAMPLE_STATUS_COMPLETE;
}
