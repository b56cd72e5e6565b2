/* SPDX-License-Identifier: BSD-2-Clause */
/* See wait_graph.h. */
#include "model/process/wait_graph.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer chains are truncated. */
#define MAX_CHAIN 1000

struct maker {
	struct wait_graph *g;
	const uint32_t *to;
	uint32_t nr, nr_processes;
	uint32_t *leading, *waiting, *behind, *example; /* by node; leading: waiters, also ports */
	bool *circle;					/* by node: it is part of a cycle */
};

static void add_circle(struct maker *m, uint32_t from)
{
	struct wait_path path = {.first = (uint32_t)m->g->nodes.len};
	uint32_t lowest = from, at = from;

	do {
		lowest = at < lowest ? at : lowest;
		m->circle[at] = true;
		at = m->to[at];
	} while (at != from);
	at = lowest;
	do {
		vec_push(&m->g->nodes, at);
		path.nr++;
		at = m->to[at];
	} while (at != lowest);
	vec_push(&m->g->circles, path);
}

/* Follows each path until it meets a node that was visited: if that was on this path, it is a
 * cycle. */
static void find_circles(struct maker *m)
{
	uint32_t *seen = xcalloc(m->nr ? m->nr : 1, sizeof(*seen));

	for (uint32_t i = 0; i < m->nr; i++) {
		uint32_t at = i;

		while (at != WAIT_NOBODY && !seen[at]) {
			seen[at] = i + 1;
			at = m->to[at];
		}
		if (at != WAIT_NOBODY && seen[at] == i + 1 && !m->circle[at])
			add_circle(m, at);
	}
	free(seen);
}

/* Sums up from nodes for which nobody waits: a node adds itself and its behind[] to the behind[] of
 * the node it waits for, once those of all its own waiters were added. */
static void count_behind(struct maker *m)
{
	uint32_t *left = xcalloc(m->nr ? m->nr : 1, sizeof(*left));
	VEC(uint32_t) ready = {0};

	memcpy(left, m->leading, sizeof(*left) * m->nr);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!left[i] && m->to[i] != WAIT_NOBODY)
			vec_push(&ready, i);
	}
	for (size_t k = 0; k < ready.len; k++) {
		uint32_t i = ready.data[k], to = m->to[i];

		m->behind[to] += m->behind[i] + (i < m->nr_processes);
		if (--left[to] == 0 && m->to[to] != WAIT_NOBODY)
			vec_push(&ready, to);
	}
	vec_free(&ready);
	free(left);
	/* Each node of a cycle is waited for by all others, and by whoever waits for any of
	 * them. */
	for (size_t k = 0; k < m->g->circles.len; k++) {
		const struct wait_path *p = &m->g->circles.data[k];
		uint32_t sum = 0;

		for (uint32_t i = 0; i < p->nr; i++) {
			uint32_t at = m->g->nodes.data[p->first + i];

			sum += m->behind[at] + (at < m->nr_processes);
		}
		for (uint32_t i = 0; i < p->nr; i++)
			m->behind[m->g->nodes.data[p->first + i]] = sum;
	}
}

/* Sets inner[n] if a node waits for n that has waiters itself. */
static void mark_inner(const struct maker *m, bool *inner)
{
	for (uint32_t i = 0; i < m->nr; i++) {
		if (m->leading[i] && m->to[i] != WAIT_NOBODY)
			inner[m->to[i]] = true;
	}
}

static void add_chain(struct maker *m, uint32_t from)
{
	struct wait_path path = {.first = (uint32_t)m->g->nodes.len};

	for (uint32_t at = from; at != WAIT_NOBODY && path.nr < MAX_CHAIN; at = m->to[at]) {
		vec_push(&m->g->nodes, at);
		path.nr++;
		if (m->circle[at])
			break;
	}
	vec_push(&m->g->chains, path);
}

static int by_waiting(const void *a, const void *b)
{
	const struct wait_target *x = a, *y = b;

	if (x->waiting != y->waiting)
		return x->waiting < y->waiting ? 1 : -1;
	if (x->behind != y->behind)
		return x->behind < y->behind ? 1 : -1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int by_length(const void *a, const void *b)
{
	const struct wait_path *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? 1 : -1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void collect(struct maker *m)
{
	bool *inner = xcalloc(m->nr ? m->nr : 1, sizeof(*inner));

	mark_inner(m, inner);
	for (uint32_t i = 0; i < m->nr; i++) {
		if (!m->leading[i])
			continue;
		vec_push(&m->g->targets,
			 ((struct wait_target){i, m->waiting[i], m->behind[i], m->example[i]}));
		if (!inner[i] && m->to[i] != WAIT_NOBODY)
			add_chain(m, m->example[i]);
	}
	free(inner);
	if (m->g->targets.len)
		qsort(m->g->targets.data, m->g->targets.len, sizeof(struct wait_target),
		      by_waiting);
	if (m->g->chains.len)
		qsort(m->g->chains.data, m->g->chains.len, sizeof(struct wait_path), by_length);
}

void wait_graph_make(struct wait_graph *g, const uint32_t *to, uint32_t nr, uint32_t nr_processes)
{
	size_t size = nr ? nr : 1;
	struct maker m = {.g = g, .to = to, .nr = nr, .nr_processes = nr_processes};

	memset(g, 0, sizeof(*g));
	m.leading = xcalloc(size, sizeof(*m.leading));
	m.waiting = xcalloc(size, sizeof(*m.waiting));
	m.behind = xcalloc(size, sizeof(*m.behind));
	m.example = xcalloc(size, sizeof(*m.example));
	m.circle = xcalloc(size, sizeof(*m.circle));
	for (uint32_t i = nr; i-- > 0;) {
		if (to[i] != WAIT_NOBODY) {
			m.leading[to[i]]++;
			m.waiting[to[i]] += i < nr_processes;
			m.example[to[i]] = i;
		}
	}
	find_circles(&m);
	count_behind(&m);
	collect(&m);
	free(m.leading);
	free(m.waiting);
	free(m.behind);
	free(m.example);
	free(m.circle);
}

void wait_graph_free(struct wait_graph *g)
{
	vec_free(&g->targets);
	vec_free(&g->chains);
	vec_free(&g->circles);
	vec_free(&g->nodes);
}
