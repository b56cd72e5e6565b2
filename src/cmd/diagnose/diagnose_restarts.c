/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diagnose: children without a registered name that a supervisor starts again and again.  If a
 * parent has new children from scan to scan, and is a supervisor, its state is read: it has a list
 * of the times (in seconds) of its restarts within its period, the newest first.  Children that
 * were started by start_child are not in it.  lib/stdlib/src/supervisor.erl, OTP 25 to 29.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/process/behaviour.h"
#include "beam/term/atoms.h"
#include "beam/term/term_read.h"
#include "cmd/diagnose/diagnose.h"

/* Limits: parents that are followed; supervisors whose state is read. */
#define PARENTS_MAX	4096
#define SUPERVISORS_MAX 64
#define FAILED_MAX	3 /* failures after which a supervisor is not read any more */
/* How often the state of a busy supervisor is tried to be read, and the pause between tries. */
#define TRIES  5
#define TRY_NS 1000000u
/* -record(state, {name, strategy, children, dynamics, intensity, period, restarts, ...}) */
#define STATE_RESTARTS 7

static bool parent_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct diagnose *g = ctx;

	return g->births.data[id].parent == *(const uint64_t *)key;
}

void diagnose_restarts_born(struct diagnose *g, const struct process_facts *p)
{
	struct watched_parent new = {.parent = p->parent}, *b;
	uint32_t hash = hash_mix(0, p->parent), id;

	g->d.spawned_all++;
	if (!TERM_IS_PID(p->parent))
		return;
	id = idmap_find(&g->birth_index, hash, parent_equal, g, &p->parent);
	if (id == IDMAP_NONE) {
		if (g->births.len == PARENTS_MAX)
			return;
		id = (uint32_t)g->births.len;
		idmap_add(&g->birth_index, hash, id);
		vec_push(&g->births, new);
	}
	b = &g->births.data[id];
	b->nr++;
	b->newest = p->epid;
}

static bool is_supervisor(struct diagnose *g, uint64_t epid, struct process_facts *facts)
{
	uint64_t supervisor = beam_atom_find(g->n->atoms, "supervisor");

	return process_read(g->n, epid, PROCESS_READ_DICTIONARY, facts) == 0 && supervisor &&
	       facts->proc_lib_call[0] == supervisor;
}

/* Reads a supervisor's list of restarts; false: it could not be read, or is no such list. */
static bool read_restarts(struct diagnose *g, const struct process_facts *facts, uint64_t *list)
{
	struct process_stack stack = {.stop = 0};
	struct behaviour_state state = {.known = false};
	bool known;

	if (process_stack_read(g->n, &g->source.code, facts, &stack) == 0)
		behaviour_state_read(g->n, &g->source.code, facts, &stack, &g->source.reader,
				     &state);
	known = state.known && state.behaviour == BEHAVIOUR_GEN_SERVER &&
		term_element(&g->source.reader, state.value, STATE_RESTARTS, list) == 0 &&
		(*list == TERM_NIL || TERM_IS_LIST(*list));
	process_stack_free(&stack);
	return known;
}

/* A summary of a list of restarts. */
struct noted {
	int64_t newest;		   /* the newest second; INT64_MIN = none */
	uint32_t since, newest_nr; /* restarts since a given second; in the newest second */
};

/* Reads the restarts of a supervisor since a second; false: they could not be read. */
static bool ask(struct diagnose *g, struct watched_parent *b, int64_t since, struct noted *out)
{
	struct process_facts facts;
	uint64_t list = TERM_NIL, head;

	b->supervisor = is_supervisor(g, b->parent, &facts);
	for (int i = 0; b->supervisor && !read_restarts(g, &facts, &list); i++) {
		if (i + 1 == TRIES)
			return false;
		clock_sleep_until(clock_monotonic_ns() + TRY_NS);
		b->supervisor = is_supervisor(g, b->parent, &facts);
	}
	*out = (struct noted){.newest = INT64_MIN};
	while (b->supervisor && term_next(&g->source.reader, &list, &head)) {
		int64_t second = TERM_SMALL(head);

		if (!TERM_IS_SMALL(head))
			return false;
		out->newest_nr =
			second > out->newest ? 1 : out->newest_nr + (second == out->newest);
		out->newest = MAX(out->newest, second);
		out->since += second >= since;
	}
	return b->supervisor;
}

/* Adds new restarts: now->since also has the last_nr restarts of the second b->last, which were
 * counted before. */
static void take_noted(struct watched_parent *b, const struct noted *now)
{
	if (b->asked && now->since > b->last_nr)
		b->restarts += now->since - b->last_nr;
	b->last = now->newest;
	b->last_nr = now->newest_nr;
	b->asked = true;
}

void diagnose_restarts_sample(struct diagnose *g)
{
	for (size_t i = 0; i < g->births.len; i++) {
		struct watched_parent *b = &g->births.data[i];
		bool is_new = !b->asked && !b->failed;
		struct noted noted;

		if ((b->asked && !b->supervisor) || b->failed == FAILED_MAX ||
		    (is_new && g->nr_asked == SUPERVISORS_MAX))
			continue;
		if (ask(g, b, b->asked ? b->last : INT64_MAX, &noted))
			take_noted(b, &noted);
		else
			b->failed += b->supervisor;
		b->asked |= !b->supervisor;
		g->nr_asked += is_new && b->supervisor;
		if (b->supervisor && (!b->child || !strchr(b->child, ' ')))
			b->child = diagnose_pid_text(g, b->newest);
	}
}

/* Does the parent have children with registered names, which are reported by their names? */
static bool is_found_by_name(const struct diagnose *g, uint64_t parent)
{
	for (size_t i = 0; i < g->names.len; i++)
		if (g->names.data[i].times >= 2 && g->names.data[i].parent == parent)
			return true;
	return false;
}

static void find_spawner(struct diagnose *g)
{
	const struct watched_parent *most = NULL;

	for (size_t i = 0; i < g->births.len; i++)
		if (!most || g->births.data[i].nr > most->nr)
			most = &g->births.data[i];
	if (!most)
		return;
	g->d.spawner = diagnose_process_text(g, most->parent);
	g->d.spawned = most->nr;
}

void diagnose_restarts_finish(struct diagnose *g)
{
	find_spawner(g);
	for (size_t i = 0; i < g->births.len; i++) {
		const struct watched_parent *b = &g->births.data[i];
		struct diagnosed_restart new = {.times = b->restarts, .child = b->child};

		if (b->nr < 2 || !b->restarts || is_found_by_name(g, b->parent))
			continue;
		new.parent = diagnose_process_text(g, b->parent);
		vec_push(&g->d.restarts, new);
	}
}

void diagnose_restarts_close(struct diagnose *g)
{
	vec_free(&g->births);
	idmap_free(&g->birth_index);
}
