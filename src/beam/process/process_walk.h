/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of process_walk.c, and the functions for them in process_relations.c. */
#ifndef EBEAM_BEAM_PROCESS_WALK_H
#define EBEAM_BEAM_PROCESS_WALK_H

#include "beam/process/process_internal.h"

/* Limit of the bytes of one step. */
#define WALK_STEP_MAX 256u

/* ErtsMonitorData {origin, target, Eterm ref, u32 refc}; m is the size of a monitor. */
#define PROCESS_MONITOR_DATA(m) (2u * (m) + 16)

enum step_kind {
	STEP_REGISTERED,
	STEP_LINK,
	STEP_MONITOR,
	STEP_LT_MONITOR,
	STEP_DICTIONARY,
	STEP_SLOT,
	STEP_PAIR, /* a {Key, Value} */
	STEP_CELL, /* a cons of a list of {Key, Value} */
	STEP_CALL, /* a {Module, Function, Arity} */
	STEP_PSD,
	STEP_SAVED_CALLS,
	STEP_MESSAGE,
	STEP_FRAGMENT,
	STEP_STILL, /* the process once more: have its messages changed during the walk? */
};

struct step {
	raddr addr;
	raddr from; /* node that this one must point back to; in a dictionary: key that is
		     * searched */
	uint32_t process;
	uint16_t kind;
	uint16_t depth; /* position in a chain */
};

struct walk {
	struct process_reader *r;
	struct process_block *b;
	VEC(struct step) now, next;
};

static inline void walk_push(struct walk *w, enum step_kind kind, uint32_t process, raddr addr,
			     raddr from, unsigned int depth)
{
	struct step s = {addr, from, process, (uint16_t)kind, (uint16_t)depth};

	vec_push(&w->next, s);
}

static inline bool walk_is_of_queue(const struct step *s)
{
	return s->kind == STEP_MESSAGE || s->kind == STEP_FRAGMENT || s->kind == STEP_STILL;
}

/* Inconsistent signal queues do not end the reading of other data; any other inconsistency does. */
static inline void walk_bad(struct walk *w, const struct step *s)
{
	if (walk_is_of_queue(s))
		w->b->pending[s->process].queues_bad = true;
	else
		w->b->pending[s->process].found = PROCESS_BAD;
}

/* `node`: bytes of a link and of the word after it. */
void walk_take_link(struct walk *w, const struct step *s, const uint8_t *node);
/* `around`: monitor_size bytes before the monitor, the monitor, and bytes after it: all of its
 * ErtsMonitorData. */
void walk_take_monitor(struct walk *w, const struct step *s, const uint8_t *around);

#endif
