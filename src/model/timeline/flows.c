/* SPDX-License-Identifier: BSD-2-Clause */
/* See flows.h. */
#include "model/timeline/flows.h"

#include <stdlib.h>

#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define NOBODY UINT32_MAX

struct pair {
	uint64_t from_to;
	uint32_t first, last; /* in messages; NOBODY = none */
};

struct message {
	struct flow_point at;
	uint32_t next; /* next of its pair, or in the free list */
};

struct flows {
	struct keytab pairs;
	VEC(struct message) messages;
	uint32_t free;
	uint64_t begun, matched;
};

struct flows *flows_open(void)
{
	struct flows *f = xcalloc(1, sizeof(*f));

	f->free = NOBODY;
	f->pairs = (struct keytab)KEYTAB_INIT(struct pair);
	return f;
}

void flows_close(struct flows *f)
{
	keytab_free(&f->pairs);
	vec_free(&f->messages);
	free(f);
}

/* The pair of two processes; NULL if there is none, and with `add` only if there are FLOWS_MAX. */
static struct pair *pair_of(struct flows *f, uint32_t from, uint32_t to, bool add)
{
	uint64_t key = (uint64_t)from << 32 | to;
	struct pair *p = keytab_find(&f->pairs, key);

	if (p || !add || f->pairs.nr >= FLOWS_MAX)
		return p;
	p = keytab_add(&f->pairs, key);
	p->first = p->last = NOBODY;
	return p;
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
