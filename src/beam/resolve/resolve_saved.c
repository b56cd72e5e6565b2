/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang stack pointer of samples for which BPF found several candidates: rbp (OTP 24: r12) at
 * the call from JIT code, to which the C stack is unwound.  Part of the resolver.
 */
#include <string.h>

#include "abi/vm.h"
#include "beam/resolve/resolve_internal.h"

void resolve_gap(struct resolver *base, const struct rec_raw_gap *raw)
{
	struct beam_resolver *r = (struct beam_resolver *)base; /* base is its first member */
	size_t size = offsetof(struct rec_raw_gap, gap) + 8 * (size_t)raw->nr_gap;

	if (raw->nr_gap <= RAW_GAP_WORDS && raw->low <= raw->high &&
	    raw->high - raw->low <= 8ull * raw->nr_gap && raw->h.size >= size)
		memcpy(&r->gap, raw, size);
}

static bool word_at(const struct rec_raw_gap *g, raddr at, uint64_t *w)
{
	if (at < g->low || (at - g->low) / 8 >= g->nr_gap)
		return false;
	*w = g->gap[(at - g->low) / 8];
	return true;
}

/* Return addresses of shared fragments are on top of the stack, recognised by their addresses (as
 * in bpf/sample.bpf.h); returns the address of the first word after them. */
static raddr skip_fragments(struct beam_resolver *r, raddr e)
{
	struct address_range f = jit_fragments(r->jit);
	struct jit_function function;
	uint64_t w;

	for (int i = 0; i < 4 && word_at(&r->gap, e, &w); i++) {
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
	const struct rec_raw_gap *g = &r->gap;
	struct address_range f = jit_fragments(r->jit);
	raddr e = r->native.saved, plain, at;
	bool fragment;
	uint64_t w;

	/* The register is right if unwinding has come to the expected return address. */
	if (g->h.ts_ns != raw->h.ts_ns || g->os_tid != raw->os_tid || !raw->call_ra ||
	    r->native.call_ra != raw->call_ra || (e & 7) || e < g->low || e > g->high)
		return;
	plain = e;
	fragment = raw->call_ra >= f.start && raw->call_ra < f.end;
	if (fragment && r->node->identity.native_stack) {
		plain = skip_fragments(r, e);
		word_at(g, e, &l->saved_ra);
	}
	/* Root first: from the highest word below the leaf part down to E. */
	for (at = g->high; at > plain; at -= 8) {
		if (word_at(g, at - 8, &w) && TERM_IS_HEADER(w))
			push_return(r, names, l, w);
	}
	/* Return addresses of fragments; aligned ones above `high` are in the leaf part already. */
	for (at = plain; at > e; at -= 8) {
		if (word_at(g, at - 8, &w) && (at - 8 < g->high || (w & 3) != 0))
			push_return(r, names, l, w);
	}
	/* Without native stack the caller of the fragment is on the C stack. */
	if (fragment && !r->node->identity.native_stack && raw->saved_ra)
		push_return(r, names, l, raw->saved_ra);
	/* Frames in the middle may still be missing. */
	l->status = raw->skipped_frames || raw->skipped_words ? SAMPLE_STATUS_TRUNCATED
							      : SAMPLE_STATUS_COMPLETE;
}
