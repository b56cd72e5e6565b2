/* SPDX-License-Identifier: BSD-2-Clause */
/* See flows.h. */
#include "model/timeline/flows.h"

#include <stdlib.h>

#include "base/idmap.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define NOBODY UINT32_MAX

struct pair {
	uint32_t from, to;
	uint32_t first, last; /* in messages; NOBODY = none */
};

struct message {
	struct flow_point at;
	uint32_t next; /* of its pair, or of the free ones */
};

struct flows {
	VEC(struct pair) pairs;
	struct idmap index;
	VEC(struct message) messages;
	uint32_t free;
	uint64_t begun, matched;
};

struct flows *flows_open(void)
{
	struct flows *f = xcalloc(1, sizeof(*f));

	f->free = NOBODY;
	return f;
}

void flows_close(struct flows *f)
{
	vec_free(&f->pairs);
	vec_free(&f->messages);
	idmap_free(&f->index);
	free(f);
}

static bool pair_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct flows *f = ctx;
	const struct pair *a = &f->pairs.data[id], *b = key;

	return a->from == b->from && a->to == b->to;
}

/* NULL if it is not there; with `add` only if there is no room. */
static struct pair *pair_of(struct flows *f, uint32_t from, uint32_t to, bool add)
{
	struct pair key = {.from = from, .to = to, .first = NOBODY, .last = NOBODY};
	uint32_t hash = hash_mix(from, to), id = idmap_find(&f->index, hash, pair_equal, f, &key);

	if (id != IDMAP_NONE)
		return &f->pairs.data[id];
	if (!add || f->pairs.len >= FLOWS_MAX)
		return NULL;
	idmap_add(&f->index, hash, (uint32_t)f->pairs.len);
	vec_push(&f->pairs, key);
	return &f->pairs.data[f->pairs.len - 1];
}

static uint32_t new_message(struct flows *f)
{
	uint32_t id = f->free;

	if (id != NOBODY) {
		f->free = f->messages.data[id].next;
		return id;
	}
	if (f->messages.len >= FLOWS_MAX)
		return NOBODY;
	vec_push(&f->messages, ((struct message){.next = NOBODY}));
	return (uint32_t)f->messages.len - 1;
}

void flows_begin(struct flows *f, uint32_t from, uint32_t to, const struct flow_point *at)
{
	struct pair *p;
	uint32_t id;

	f->begun++;
	p = from && to ? pair_of(f, from, to, true) : NULL;
	id = p ? new_message(f) : NOBODY;
	if (id == NOBODY)
		return;
	f->messages.data[id] = (struct message){.at = *at, .next = NOBODY};
	if (p->last == NOBODY)
		p->first = id;
	else
		f->messages.data[p->last].next = id;
	p->last = id;
}

uint64_t flows_end(struct flows *f, uint32_t from, uint32_t to, struct flow_point *at)
{
	struct pair *p = from && to ? pair_of(f, from, to, false) : NULL;
	uint32_t id = p ? p->first : NOBODY;
	struct message *m;

	if (id == NOBODY)
		return 0;
	m = &f->messages.data[id];
	*at = m->at;
	p->first = m->next;
	if (p->first == NOBODY)
		p->last = NOBODY;
	m->next = f->free;
	f->free = id;
	return ++f->matched;
}

uint64_t flows_unmatched(const struct flows *f)
{
	return f->begun - f->matched;
}
