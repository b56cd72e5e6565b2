/* SPDX-License-Identifier: BSD-2-Clause */
/* See live_names.h. */
#include "cmd/run/live_names.h"

#include <string.h>

#include "base/strbuf.h"
#include "base/units.h"
#include "beam/resolve/native_function.h"
#include "model/profile/snapshot.h"
#include "probe/site/driver_sources.h"
#include "target/function_names.h"

/* Records are held back at most so long for the names of functions: a host that is short of CPU may
 * take long to find them. */
#define NAMES_MAX_NS 3000000000ull

static void hold(struct live *l)
{
	session_hold(l->session, 0);
	l->names_until_ns = clock_monotonic_ns() + NAMES_MAX_NS;
	l->needs_names = true;
}

void live_names_update(struct live *l)
{
	bool pending = function_names_pending(l->node->function_names);

	if (l->names_until_ns && (!pending || clock_monotonic_ns() >= l->names_until_ns)) {
		l->names_until_ns = 0;
		l->needs_names = !pending; /* one that is so slow is not waited for again */
		session_hold(l->session, UINT64_MAX);
		if (!pending)
			function_names_wait(l->node->function_names); /* logs them */
	} else if (l->needs_names && !l->names_until_ns && pending) {
		hold(l);
	}
}

void live_names_start(struct live *l)
{
	native_names_start(l->node);
	hold(l);
}

void live_names_wait(struct live *l)
{
	if (l->names_until_ns)
		function_names_wait(l->node->function_names);
}

void live_names_of_probes(struct beam_node *n, const struct source_plan *plan)
{
	for (unsigned int i = 0; plan && i < plan->nr_points; i++) {
		const struct source_point *p = &plan->points[i];

		if (!p->path && !p->is_instruction && p->addr && !p->at_return &&
		    !(p->kinds & driver_source_kinds()) && !strchr(p->symbol, '.'))
			objects_name(n->objects, p->addr + n->bias, p->symbol, SYMBOL_SOURCE_PROBE);
	}
}

/* True if another file has the same name, and another build id. */
static bool is_ambiguous(const struct objects *o, const char *name, const char *build_id)
{
	const char *other, *its_id;

	for (size_t i = 0; objects_file(o, i, &other, &its_id); i++) {
		if (strcmp(name, other) == 0 && strcmp(build_id, its_id) != 0)
			return true;
	}
	return false;
}

void live_names_add_build_ids(struct live *l)
{
	const struct objects *o = l->node->objects;
	const char *name, *build_id;

	for (size_t i = 0; objects_file(o, i, &name, &build_id); i++) {
		struct strbuf key = STRBUF_INIT;

		if (!*build_id || is_ambiguous(o, name, build_id))
			continue;
		snapshot_add_build_id_key(&key, name);
		enrich_add_meta(l->enrich, key.buf, build_id);
		strbuf_free(&key);
	}
}
