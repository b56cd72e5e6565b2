/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_group.h. */
#include "model/process/process_group.h"

#include <string.h>

#include "base/compiler.h"

/* What the key of a group is: an epid, or the id of a string or function. */
enum { KEY_REST, KEY_EPID, KEY_NAME, KEY_LABEL, KEY_FUNCTION };

static const char *const by_names[NR_PROCESS_GROUP_BY] = {
	[PROCESS_GROUP_NAME] = "name",
	[PROCESS_GROUP_PROCESS] = "process",
	[PROCESS_GROUP_INITIAL_CALL] = "initial-call",
	[PROCESS_GROUP_FUNCTION] = "function",
};

const char *process_group_by_name(enum process_group_by by)
{
	return (unsigned int)by < NR_PROCESS_GROUP_BY ? by_names[by] : "unknown";
}

void process_groups_open(struct process_groups *g, const struct names *names,
			 enum process_group_by by, uint32_t max)
{
	const struct process_group rest = {.what = KEY_REST};

	memset(g, 0, sizeof(*g));
	g->names = names;
	g->by = by;
	g->max = max ? max : PROCESS_GROUPS_MAX;
	vec_push(&g->v, rest);
}

void process_groups_close(struct process_groups *g)
{
	vec_free(&g->v);
	vec_free(&g->of);
	idmap_free(&g->index);
}

void process_groups_restart(struct process_groups *g)
{
	const struct process_groups was = *g;

	process_groups_close(g);
	process_groups_open(g, was.names, was.by, was.max);
}

/* True if the names are equal, whatever their kind (frame_kind): a function whose process collects
 * on a dirty scheduler is recorded as a NIF. */
static bool same_function(const struct name_function *a, const struct name_function *b)
{
	return a && b && a->module_id == b->module_id && a->name_id == b->name_id &&
	       a->arity == b->arity;
}

static bool group_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct process_groups *g = ctx;
	const struct process_group *a = &g->v.data[id], *b = key;

	return a->what == b->what &&
	       (a->key == b->key || (a->what == KEY_FUNCTION &&
				     same_function(names_function(g->names, (uint32_t)a->key),
						   names_function(g->names, (uint32_t)b->key))));
}

static uint32_t hash_of(const struct process_groups *g, const struct process_group *of)
{
	const struct name_function *f =
		of->what == KEY_FUNCTION ? names_function(g->names, (uint32_t)of->key) : NULL;

	return hash_mix(of->what, f ? (uint64_t)f->module_id << 32 | f->name_id : of->key);
}

static uint32_t find_or_add(struct process_groups *g, const struct process_group *new)
{
	uint32_t hash = hash_of(g, new);
	uint32_t id = idmap_find(&g->index, hash, group_equal, g, new);

	if (id != IDMAP_NONE)
		return id;
	if (g->v.len >= g->max) {
		g->overflows++;
		g->overflowed = true;
		return PROCESS_GROUP_REST;
	}
	id = (uint32_t)g->v.len;
	vec_push(&g->v, *new);
	idmap_add(&g->index, hash, id);
	return id;
}

void process_groups_keep(struct process_groups *g, const bool *keep, uint32_t *map)
{
	uint32_t nr = 1;

	idmap_free(&g->index);
	g->of.len = 0;
	g->overflows = 0;
	map[0] = 0;
	for (uint32_t i = 1; i < g->v.len; i++) {
		map[i] = keep[i] ? nr : 0;
		if (!keep[i])
			continue;
		g->v.data[nr] = g->v.data[i];
		idmap_add(&g->index, hash_of(g, &g->v.data[nr]), nr);
		nr++;
	}
	g->v.len = nr;
}

static struct process_group key_of(const struct process_groups *g, const struct name_process *p)
{
	if (g->by == PROCESS_GROUP_NAME && p->registered)
		return (struct process_group){.what = KEY_NAME, .key = p->registered_id};
	if (g->by == PROCESS_GROUP_NAME && p->label)
		return (struct process_group){.what = KEY_LABEL, .key = p->label_id};
	if (g->by != PROCESS_GROUP_PROCESS && p->initial_call)
		return (struct process_group){.what = KEY_FUNCTION, .key = p->initial_call};
	/* If the dictionary is full, epid is 0: all such processes are one group. */
	return (struct process_group){.what = KEY_EPID, .key = p->epid};
}

uint32_t process_groups_of(struct process_groups *g, uint32_t process)
{
	const struct name_process *p = names_process(g->names, process);
	struct process_group new;
	uint32_t id;

	if (!p || g->by == PROCESS_GROUP_FUNCTION)
		return PROCESS_GROUP_REST;
	if (process < g->of.len && g->of.data[process])
		return g->of.data[process] - 1;
	new = key_of(g, p);
	id = find_or_add(g, &new);
	if (id && process > g->v.data[id].process)
		g->v.data[id].process = process;
	while (g->of.len <= process)
		vec_push(&g->of, 0);
	g->of.data[process] = id + 1;
	return id;
}

uint32_t process_groups_members(const struct process_groups *g, uint32_t group)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < g->of.len; i++)
		nr += g->of.data[i] == group + 1;
	return nr;
}

uint32_t process_groups_of_function(struct process_groups *g, uint32_t function)
{
	const struct process_group new = {.what = KEY_FUNCTION, .key = function};

	return names_function(g->names, function) ? find_or_add(g, &new) : PROCESS_GROUP_REST;
}

static void format_function(const struct names *names, uint32_t function, struct strbuf *out)
{
	const struct name_function *f = names_function(names, function);

	if (f)
		names_format_function(out, f);
}

void process_group_name_of(const struct names *names, uint32_t process, struct strbuf *out)
{
	const struct name_process *p = names_process(names, process);

	if (!p)
		return;
	if (p->registered)
		names_format_module(out, p->registered, strlen(p->registered));
	else if (p->label)
		names_format_text(out, p->label, strlen(p->label));
	else
		format_function(names, p->initial_call, out);
}

void process_group_text(const struct process_groups *g, uint32_t group, struct strbuf *out)
{
	const struct process_group *of = group < g->v.len ? &g->v.data[group] : &g->v.data[0];
	const struct name_process *p = names_process(g->names, of->process);

	if (of->what == KEY_FUNCTION)
		format_function(g->names, (uint32_t)of->key, out);
	else if (of->what == KEY_EPID && p)
		strbuf_addstr(out, p->pid);
	else if (of->what != KEY_REST)
		process_group_name_of(g->names, of->process, out);
	else
		strbuf_addstr(out, g->overflowed		     ? "[others]"
				   : g->by == PROCESS_GROUP_FUNCTION ? "[function not known]"
								     : "[none]");
}
