/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_pairs.h: a stack of calls for each process, in the order of height. */
#include "model/call_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct process_calls {
	uint64_t epid;			  /* key */
	uint64_t hits_ns;		  /* what hits took so far */
	VEC(struct call_under_way) calls; /* height never falls */
};

struct call_pairs {
	struct keytab processes;
	uint64_t under_way, unseen, refused;
	uint64_t missed_ns[2]; /* by c_code */
};

void call_pairs_open(struct call_pairs **out)
{
	*out = xcalloc(1, sizeof(**out));
	(*out)->processes = (struct keytab)KEYTAB_INIT(struct process_calls);
}

static void free_calls(struct process_calls *p)
{
	for (size_t i = 0; i < p->calls.len; i++)
		free(p->calls.data[i].args);
	vec_free(&p->calls);
}

void call_pairs_close(struct call_pairs *c)
{
	if (!c)
		return;
	for (struct process_calls *p = NULL; (p = keytab_next(&c->processes, p));)
		free_calls(p);
	keytab_free(&c->processes);
	free(c);
}

static struct process_calls *find(struct call_pairs *c, uint64_t epid)
{
	return epid ? keytab_find(&c->processes, epid) : NULL;
}

static bool pop(struct call_pairs *c, struct process_calls *p, struct call_under_way *out)
{
	*out = p->calls.data[--p->calls.len];
	/* Of the hit at its begin a part comes after the clock was read, of that at its end the
	 * other part before: together one. */
	out->tracing_ns = p->hits_ns - out->tracing_ns;
	c->under_way--;
	return true;
}

/* Calls above a height have ended, and nobody saw how. */
static void drop_above(struct call_pairs *c, struct process_calls *p, uint64_t height)
{
	struct call_under_way ignored;

	while (p->calls.len && p->calls.data[p->calls.len - 1].height > height) {
		pop(c, p, &ignored);
		free(ignored.args);
		c->unseen++;
	}
}

void call_pairs_begin(struct call_pairs *c, uint64_t epid, const struct call_under_way *call,
		      bool caught)
{
	struct process_calls *p = find(c, epid);

	caught = caught && call->ts_ns >= c->missed_ns[call->c_code];
	if (p)
		drop_above(c, p, call->height);
	if (!caught || !epid || c->under_way >= CALL_PAIRS_MAX) {
		c->refused += caught && epid;
		free(call->args);
		return;
	}
	if (!p)
		p = keytab_add(&c->processes, epid);
	vec_push(&p->calls, *call);
	p->calls.data[p->calls.len - 1].tracing_ns = p->hits_ns;
	c->under_way++;
}

void call_pairs_hit(struct call_pairs *c, uint64_t epid, uint64_t ns)
{
	struct process_calls *p = find(c, epid);

	if (p)
		p->hits_ns += ns;
}

/* The innermost call, if it is one of those at or above a height. */
static bool pop_from(struct call_pairs *c, struct process_calls *p, uint64_t least,
		     struct call_under_way *out)
{
	if (p->calls.len && p->calls.data[p->calls.len - 1].height >= least)
		return pop(c, p, out);
	if (!p->calls.len) {
		vec_free(&p->calls);
		keytab_remove(&c->processes, p);
	}
	return false;
}

bool call_pairs_end(struct call_pairs *c, uint64_t epid, uint64_t height,
		    struct call_under_way *out)
{
	struct process_calls *p = find(c, epid);

	if (!p)
		return false;
	drop_above(c, p, height);
	return pop_from(c, p, height, out);
}

bool call_pairs_unwind(struct call_pairs *c, uint64_t epid, uint64_t height,
		       struct call_under_way *out)
{
	struct process_calls *p = find(c, epid);

	return p && pop_from(c, p, height + 1, out);
}

void call_pairs_inside(struct call_pairs *c, uint64_t epid, uint64_t ns)
{
	struct process_calls *p = find(c, epid);

	if (p && p->calls.len)
		p->calls.data[p->calls.len - 1].inside_ns += ns;
}

static void forget_calls(struct call_pairs *c, struct process_calls *p, uint64_t before_ns,
			 bool c_code)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->calls.len; i++) {
		struct call_under_way *call = &p->calls.data[i];

		if (call->ts_ns >= before_ns || call->c_code != c_code) {
			p->calls.data[nr++] = *call;
			continue;
		}
		free(call->args);
		c->unseen++;
		c->under_way--;
	}
	p->calls.len = nr;
}

/* May see one twice. */
static bool has_calls(const void *ctx, const void *item)
{
	struct process_calls *p = (struct process_calls *)(uintptr_t)item;

	UNUSED(ctx);
	if (p->calls.len)
		return true;
	vec_free(&p->calls);
	return false;
}

void call_pairs_forget(struct call_pairs *c, uint64_t before_ns, bool c_code)
{
	if (before_ns <= c->missed_ns[c_code])
		return;
	for (struct process_calls *p = NULL; (p = keytab_next(&c->processes, p));)
		forget_calls(c, p, before_ns, c_code);
	keytab_keep(&c->processes, has_calls, NULL);
	c->missed_ns[c_code] = before_ns;
}

void call_pairs_follow(struct call_pairs *c, const uint64_t before_ns[2])
{
	call_pairs_forget(c, before_ns[0], false);
	call_pairs_forget(c, before_ns[1], true);
}

uint64_t call_pairs_unseen(const struct call_pairs *c)
{
	return c->unseen;
}

uint64_t call_pairs_refused(const struct call_pairs *c)
{
	return c->refused;
}

uint64_t call_pairs_under_way(const struct call_pairs *c)
{
	return c->under_way;
}
