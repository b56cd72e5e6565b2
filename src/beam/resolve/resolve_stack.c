/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks and names of processes that were read from memory; part of the resolver (resolve.h). */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/resolve/resolve_internal.h"

/* Pushes the function of `current`, unless the stack shows it. */
static void push_current(struct beam_resolver *r, struct names *names, struct frame_list *l,
			 const struct process_stack *s)
{
	bool dirty = s->state & PSFLG_DIRTY_RUNNING;
	uint64_t mfa[3];

	if (!beam_mfa_read(r->node->mem, &r->node->layout, s->current, mfa) ||
	    (l->out->nr_frames &&
	     frame_is_mfa(r, names, l->out->frames[l->out->nr_frames - 1], mfa)))
		return;
	frame_push(l, frame_of_mfa(r, names, mfa,
				   !dirty			    ? FRAME_ERLANG
				   : callsite_is_bif(r->sites, mfa) ? FRAME_BIF
								    : FRAME_NIF));
}

static void push_place(struct beam_resolver *r, struct names *names, struct frame_list *l,
		       raddr addr)
{
	const struct cached_frame *f = frame_of_jit(r, names, addr);

	if (f && f->kind == FRAME_ERLANG && !f->preamble)
		frame_push(l, f->frame);
}

/*
 * `i` and `current` of a running process were stored when it was scheduled in, or by a BIF since
 * then; its stack pointer by the last call that stored it.  If `i` and `current` do not agree
 * neither belongs to the stack that was read.
 */
static bool is_place_stale(struct beam_resolver *r, struct names *names,
			   const struct process_stack *s)
{
	const struct cached_frame *place;
	uint64_t mfa[3];

	if (!s->stale || !beam_mfa_read(r->node->mem, &r->node->layout, s->current, mfa))
		return false;
	place = frame_of_jit(r, names, s->i);
	return !place || !frame_is_mfa(r, names, place->frame, mfa);
}

void beam_resolver_stack(struct beam_resolver *r, struct names *names, uint64_t epid,
			 const struct process_stack *s, struct resolved_sample *out)
{
	struct frame_list l = {.out = out};
	bool place_stale = is_place_stale(r, names, s);
	size_t nr = 0, at = 0, elided;

	out->nr_frames = 0;
	out->process = process_of_epid(r, names, epid);
	for (size_t i = 0; i < s->frames.len; i++)
		nr += !s->frames.data[i].repeated;
	elided = nr > EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES
			 ? nr - EBEAM_LEAF_FRAMES - EBEAM_ROOT_FRAMES
			 : 0;
	for (size_t i = s->frames.len; i-- > 0;) {
		const struct stack_frame *f = &s->frames.data[i];

		if (f->repeated)
			continue;
		if (at == EBEAM_ROOT_FRAMES && elided)
			frame_push_elided(
				names, &l,
				&(struct rec_raw_sample){.skipped_frames = (uint16_t)MIN(
								 elided, (size_t)UINT16_MAX)});
		if (at < EBEAM_ROOT_FRAMES || at >= EBEAM_ROOT_FRAMES + elided) {
			if (f->y)
				push_return(r, names, &l, f->addr);
			else if (!place_stale)
				push_place(r, names, &l, f->addr);
		}
		at++;
	}
	if (!place_stale)
		push_current(r, names, &l, s);
	out->status = s->cut || elided ? SAMPLE_STATUS_TRUNCATED
		      : l.unresolved   ? SAMPLE_STATUS_UNRESOLVED
				       : SAMPLE_STATUS_COMPLETE;
}

void beam_resolver_process(struct beam_resolver *r, struct names *names,
			   const struct process_facts *p)
{
	struct rec_raw_process raw = {
		.h.ts_ns = clock_monotonic_ns(),
		.process = p->addr,
		.epid = p->epid,
		.registered = p->registered,
		.label = p->label,
	};

	memcpy(raw.initial, p->initial, sizeof(raw.initial));
	memcpy(raw.initial_call, p->proc_lib_call, sizeof(raw.initial_call));
	raw.initial_call[2] = p->proc_lib_call[2] << 4 | 0xf; /* tagged as a small integer */
	if (TERM_IS_POINTER(p->label))
		mem_read(r->node->mem, p->label & ~7ull, raw.label_words, sizeof(raw.label_words));
	resolve_process_record(&r->base, names, &raw);
}
