/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_pairs.h: a stack of calls for each process, in the order of height. */
#include "model/stream/call_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "base/xalloc.h"

/* Limits against damaged files.  Gaps beyond them are applied to more calls than they concern. */
#define GAPS_MAX  65536
#define SITES_MAX 65536

struct process_calls {
	uint64_t epid;			  /* key */
	uint64_t hits_ns;		  /* cost of hits so far */
	VEC(struct call_under_way) calls; /* height never decreases */
};

/* Up to when returns to a site may have been missed. */
struct site_gap {
	uint64_t key;	    /* the site, or thread_key() */
	uint64_t to_ns;	    /* by the thread of the key; for a site: by any thread */
	uint64_t all_to_ns; /* by all threads */
};

struct call_pairs {
	struct keytab processes;
	struct keytab sites;	   /* struct site_gap */
	VEC(struct call_gap) gaps; /* that are later than all records so far */
	uint64_t next_gap_ns;	   /* begin of the earliest of those; UINT64_MAX = none */
	uint64_t all_to_ns;	   /* as in site_gap, for all sites */
	uint64_t c_to_ns;	   /* the same for C functions */
	bool c_missed;		   /* returns of C functions are not watched at present */
	uint64_t blind;		   /* reasons (bit set) for which no end of a call is known */
	bool only_last;
	bool missed; /* exceptions or records were missed: since then as only_last */
	bool stale;  /* some calls under way may be in a gap */
	size_t text; /* bytes of arguments */
	uint64_t under_way, unseen, refused, textless;
};

void call_pairs_open(struct call_pairs **out)
{
	*out = xcalloc(1, sizeof(**out));
	(*out)->processes = (struct keytab)KEYTAB_INIT(struct process_calls);
	(*out)->sites = (struct keytab)KEYTAB_INIT(struct site_gap);
	(*out)->next_gap_ns = UINT64_MAX;
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
	keytab_free(&c->sites);
	vec_free(&c->gaps);
	free(c);
}

static struct process_calls *find(struct call_pairs *c, uint64_t epid)
{
	return epid ? keytab_find(&c->processes, epid) : NULL;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

/* Keys of two threads may collide: then both count as having missed what one of them did. */
static uint64_t thread_key(uint64_t site, uint32_t os_tid)
{
	return (site ^ (uint64_t)os_tid << 40) * 0x9e3779b97f4a7c15u | 1ull << 63;
}

/* Up to when the return of this call may have been missed: by the thread of the call, if the
 * process stayed in one time slice; else by any thread. */
static uint64_t missed_to(struct call_pairs *c, const struct call_under_way *call, bool same_slice)
{
	const struct site_gap *g = call->site ? keytab_find(&c->sites, call->site) : NULL;
	uint64_t to_ns = g ? g->to_ns : 0;

	if (!g || !same_slice || !call->os_tid)
		return to_ns;
	to_ns = g->all_to_ns;
	g = keytab_find(&c->sites, thread_key(call->site, call->os_tid));
	return MAX(to_ns, g ? g->to_ns : 0);
}

/* The gap of a key, new if there is none; NULL if there are SITES_MAX. */
static struct site_gap *gap_of(struct call_pairs *c, uint64_t key)
{
	struct site_gap *g = keytab_find(&c->sites, key);

	return g || c->sites.nr >= SITES_MAX ? g : keytab_add(&c->sites, key);
}

static void take_gap(struct call_pairs *c, const struct call_gap *gap)
{
	struct site_gap *g;
	bool by_thread = false;

	c->stale = c->under_way > 0;
	/* The thread's gap first, as adding one to the table would move the gap of the site. */
	if (gap->site && gap->os_tid) {
		g = gap_of(c, thread_key(gap->site, gap->os_tid));
		by_thread = g != NULL;
		if (g)
			g->to_ns = MAX(g->to_ns, gap->to_ns);
	}
	g = gap->site ? gap_of(c, gap->site) : NULL;
	if (!g) {
		c->all_to_ns = MAX(c->all_to_ns, gap->to_ns);
		return;
	}
	g->to_ns = MAX(g->to_ns, gap->to_ns);
	if (!by_thread)
		g->all_to_ns = MAX(g->all_to_ns, gap->to_ns);
}

/* Applies all gaps that begin before ts_ns, the time of a record. */
static void go_to(struct call_pairs *c, uint64_t ts_ns)
{
	size_t nr = 0;

	if (ts_ns <= c->next_gap_ns)
		return;
	c->next_gap_ns = UINT64_MAX;
	for (size_t i = 0; i < c->gaps.len; i++) {
		struct call_gap gap = c->gaps.data[i];

		if (gap.from_ns < ts_ns) {
			take_gap(c, &gap);
			continue;
		}
		c->next_gap_ns = MIN(c->next_gap_ns, gap.from_ns);
		c->gaps.data[nr++] = gap;
	}
	c->gaps.len = nr;
}

void call_pairs_gap(struct call_pairs *c, const struct call_gap *gap)
{
	c->missed |= !gap->site && gap->from_ns;
	if (c->gaps.len >= GAPS_MAX) {
		take_gap(c, gap);
		return;
	}
	vec_push(&c->gaps, *gap);
	c->next_gap_ns = MIN(c->next_gap_ns, gap->from_ns);
}

void call_pairs_watch_c(struct call_pairs *c, bool watched, uint64_t ts_ns)
{
	/* A few ends still arrive after watching has ended, so the gap reaches up to now. */
	bool missed = !watched || c->c_missed;

	c->c_missed = !watched;
	if (!missed || ts_ns <= c->c_to_ns)
		return;
	c->c_to_ns = ts_ns;
	c->stale = c->under_way > 0;
}

void call_pairs_blind(struct call_pairs *c, uint64_t reasons, bool blind, uint64_t ts_ns)
{
	uint64_t now = blind ? c->blind | reasons : c->blind & ~reasons;

	c->missed |= blind;
	if (now != c->blind)
		take_gap(c, &(struct call_gap){.to_ns = ts_ns});
	c->blind = now;
}

/* True if the end of the call may have been missed. */
static bool is_lost(struct call_pairs *c, const struct call_under_way *call, bool same_slice)
{
	return c->blind || call->ts_ns <= c->all_to_ns ||
	       call->ts_ns <= (call->c_code ? c->c_to_ns : missed_to(c, call, same_slice));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void pop(struct call_pairs *c, struct process_calls *p, struct call_under_way *out)
{
	*out = p->calls.data[--p->calls.len];
	/* A part of a hit's cost is before its time stamp, the rest after: of the hits at begin and
	 * end together, the cost of one is within the call. */
	out->tracing_ns = p->hits_ns - out->tracing_ns;
	c->text -= out->args ? strlen(out->args) + 1 : 0;
	c->under_way--;
}

static struct call_under_way *innermost(struct process_calls *p)
{
	return p->calls.len ? &p->calls.data[p->calls.len - 1] : NULL;
}

static void drop_one(struct call_pairs *c, struct process_calls *p)
{
	struct call_under_way ignored;

	pop(c, p, &ignored);
	free(ignored.args);
	c->unseen++;
}

/* Drops calls above a height, which have ended unseen.  `c_code`: also calls of C functions, if the
 * process runs other code now (C functions only call each other). */
static void drop_above(struct call_pairs *c, struct process_calls *p, uint64_t height, bool c_code)
{
	const struct call_under_way *top;

	while ((top = innermost(p)) && (top->height > height || (c_code && top->c_code)))
		drop_one(c, p);
}

void call_pairs_only_last(struct call_pairs *c, bool only_last)
{
	c->only_last = only_last;
}

void call_pairs_begin(struct call_pairs *c, uint64_t epid, const struct call_under_way *call,
		      bool caught)
{
	struct process_calls *p = find(c, epid);
	struct call_under_way *added;
	size_t text = call->args ? strlen(call->args) + 1 : 0;

	go_to(c, call->ts_ns);
	if (p)
		drop_above(c, p, call->height - ((c->only_last || c->missed) && call->height),
			   true);
	if (caught && is_lost(c, call, true)) {
		c->unseen++;
		caught = false;
	}
	if (!caught || !epid || c->under_way >= CALL_PAIRS_MAX) {
		c->refused += caught;
		free(call->args);
		return;
	}
	if (!p)
		p = keytab_add(&c->processes, epid);
	vec_push(&p->calls, *call);
	added = innermost(p);
	added->tracing_ns = p->hits_ns;
	/* The newest call goes without arguments: calls that take long have theirs already. */
	if (c->text + text > CALL_PAIRS_TEXT) {
		free(added->args);
		added->args = NULL;
		c->textless++;
		text = 0;
	}
	c->text += text;
	c->under_way++;
}

void call_pairs_hit(struct call_pairs *c, uint64_t epid, uint64_t ns)
{
	struct process_calls *p = find(c, epid);

	if (p)
		p->hits_ns += ns;
}

static void remove_empty(struct call_pairs *c, struct process_calls *p)
{
	if (p->calls.len)
		return;
	vec_free(&p->calls);
	keytab_remove(&c->processes, p);
}

bool call_pairs_end(struct call_pairs *c, const struct call_return *end, struct call_under_way *out)
{
	struct process_calls *p = find(c, end->epid);
	const struct call_under_way *top;

	go_to(c, end->ts_ns);
	if (!p)
		return false;
	drop_above(c, p, end->height, !end->c_code);
	while ((top = innermost(p)) && top->height == end->height) {
		if (top->c_code == end->c_code && (top->c_code || top->site == end->site) &&
		    top->ts_ns <= end->ts_ns &&
		    !is_lost(c, top, top->slice && top->slice == end->slice)) {
			pop(c, p, out);
			return true;
		}
		drop_one(c, p);
	}
	remove_empty(c, p);
	return false;
}

bool call_pairs_unwind(struct call_pairs *c, uint64_t epid, uint64_t height, uint64_t ts_ns,
		       struct call_under_way *out)
{
	struct process_calls *p = find(c, epid);
	const struct call_under_way *top;

	go_to(c, ts_ns);
	if (!p)
		return false;
	while ((top = innermost(p)) && top->height > height) {
		/* It is not known on which threads the process was in between. */
		if (top->ts_ns <= ts_ns && !is_lost(c, top, false)) {
			pop(c, p, out);
			return true;
		}
		drop_one(c, p);
	}
	remove_empty(c, p);
	return false;
}

void call_pairs_drop(struct call_pairs *c, uint64_t epid)
{
	struct process_calls *p = find(c, epid);

	if (!p)
		return;
	while (p->calls.len)
		drop_one(c, p);
	remove_empty(c, p);
}

void call_pairs_drop_c(struct call_pairs *c, uint64_t epid)
{
	struct process_calls *p = find(c, epid);

	if (p)
		drop_above(c, p, UINT64_MAX, true);
}

void call_pairs_inside(struct call_pairs *c, uint64_t epid, uint64_t ns)
{
	struct process_calls *p = find(c, epid);

	if (p && p->calls.len)
		p->calls.data[p->calls.len - 1].inside_ns += ns;
}

static void forget_lost(struct call_pairs *c, struct process_calls *p)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->calls.len; i++) {
		struct call_under_way *call = &p->calls.data[i];

		if (!is_lost(c, call, false)) {
			p->calls.data[nr++] = *call;
			continue;
		}
		c->text -= call->args ? strlen(call->args) + 1 : 0;
		free(call->args);
		c->unseen++;
		c->under_way--;
	}
	p->calls.len = nr;
}

/* keytab_keep() may call this twice for one item. */
static bool has_calls(const void *ctx, const void *item)
{
	struct process_calls *p = (struct process_calls *)(uintptr_t)item;

	UNUSED(ctx);
	if (p->calls.len)
		return true;
	vec_free(&p->calls);
	return false;
}

uint64_t call_pairs_under_way(struct call_pairs *c)
{
	if (c->stale) {
		for (struct process_calls *p = NULL; (p = keytab_next(&c->processes, p));)
			forget_lost(c, p);
		keytab_keep(&c->processes, has_calls, NULL);
		c->stale = false;
	}
	return c->under_way;
}

uint64_t call_pairs_unseen(const struct call_pairs *c)
{
	return c->unseen;
}

uint64_t call_pairs_refused(const struct call_pairs *c)
{
	return c->refused;
}

uint64_t call_pairs_textless(const struct call_pairs *c)
{
	return c->textless;
}
