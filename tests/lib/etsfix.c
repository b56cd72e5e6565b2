/* SPDX-License-Identifier: BSD-2-Clause */
/* See etsfix.h. */
#include "lib/etsfix.h"

#include <stdlib.h>

static int etsfix_open(void **state, int otp)
{
	struct etsfix *w = calloc(1, sizeof(*w));
	struct beam_node *n;

	w->f = fakenode_open(otp);
	n = &w->f->node;
	n->anchors.sched = image_alloc(w->f->im, (size_t)n->layout.sched_stride * NR_SCHED);
	n->anchors.nr_sched = NR_SCHED;
	for (int i = 0; i < NR_SCHED; i++) {
		w->sched[i] = n->anchors.sched + (raddr)(i * n->layout.sched_stride);
		image_u32(w->f->im, w->sched[i] + (raddr)n->layout.sched_flxctr_slot_no,
			  (uint32_t)i + 1);
	}
	fakenode_atom(w->f, "none");
	*state = w;
	return 0;
}

int etsfix_open_25(void **state)
{
	return etsfix_open(state, 25);
}

int etsfix_open_27(void **state)
{
	return etsfix_open(state, 27);
}

int etsfix_open_29(void **state)
{
	return etsfix_open(state, 29);
}

int etsfix_close(void **state)
{
	struct etsfix *w = *state;

	ets_list_free(&w->list);
	ets_objects_free(&w->objects);
	fakenode_close(w->f);
	free(w);
	return 0;
}

const struct beam_layout *etsfix_layout(const struct etsfix *w)
{
	return &w->f->node.layout;
}

void etsfix_u64(struct etsfix *w, raddr base, int32_t field, uint64_t value)
{
	image_u64(w->f->im, base + (raddr)field, value);
}

void etsfix_u32(struct etsfix *w, raddr base, int32_t field, uint32_t value)
{
	image_u32(w->f->im, base + (raddr)field, value);
}

raddr etsfix_list(const struct etsfix *w, int sched)
{
	const struct beam_layout *l = etsfix_layout(w);

	return w->sched[sched] + (raddr)(l->sched_ets_list == LAYOUT_ABSENT ? l->sched_u_ets_list
									    : l->sched_ets_list);
}

raddr etsfix_count(const struct etsfix *w, int sched)
{
	const struct beam_layout *l = etsfix_layout(w);

	return w->sched[sched] + (raddr)(l->sched_ets_count == LAYOUT_ABSENT ? l->sched_u_ets_count
									     : l->sched_ets_count);
}

raddr etsfix_make(struct etsfix *w, const char *name, uint32_t status, int64_t size, int64_t bytes)
{
	const struct beam_layout *l = etsfix_layout(w);
	raddr t = image_alloc(w->f->im, (size_t)l->ets_size);
	raddr btid = image_alloc(w->f->im, (size_t)l->binary_orig_bytes + 32);

	etsfix_u32(w, t, l->ets_status, status);
	etsfix_u32(w, t, l->ets_type, status);
	etsfix_u32(w, t, l->ets_nr_of_counters, 2);
	etsfix_u32(w, t, l->ets_keypos, 1);
	etsfix_u64(w, t, l->ets_owner, OWNER);
	etsfix_u64(w, t, l->ets_heir, fakenode_atom(w->f, "none"));
	etsfix_u64(w, t, l->ets_the_name, fakenode_atom(w->f, name));
	etsfix_u64(w, t, l->ets_btid, btid);
	etsfix_u64(w, t, l->ets_counters, (uint64_t)size);
	etsfix_u64(w, t, l->ets_counters + 8, (uint64_t)bytes);
	etsfix_u32(w, btid, l->binary_orig_bytes + 8, 33);
	etsfix_u32(w, btid, l->binary_orig_bytes + 12, 22);
	etsfix_u32(w, btid, l->binary_orig_bytes + 16, 11);
	etsfix_u64(w, btid, l->binary_orig_bytes + 24, t);
	return t;
}

void etsfix_link(struct etsfix *w, int sched, const raddr *tables, size_t nr)
{
	const struct beam_layout *l = etsfix_layout(w);

	image_u64(w->f->im, etsfix_list(w, sched), nr ? tables[0] : 0);
	image_u64(w->f->im, etsfix_count(w, sched), nr);
	for (size_t i = 0; i < nr; i++) {
		etsfix_u64(w, tables[i], l->ets_all_next, tables[(i + 1) % nr]);
		etsfix_u64(w, tables[i], l->ets_all_prev, tables[(i + nr - 1) % nr]);
	}
}
