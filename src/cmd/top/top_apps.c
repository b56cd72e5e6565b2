/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_apps.h. */
#include "cmd/top/top_apps.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/units.h"
#include "beam/vm/apps.h"
#include "names/names.h"

#define RENEW_NS 5000000000ull
#define NONE	 "(none)"

struct leader {
	uint64_t key; /* process_row.pid of the group leader, plus 1 (not 0) */
	uint32_t row;
};

struct module {
	const char *name; /* as snapshots show it */
	uint32_t row;
};

struct top_apps {
	struct beam_node *node;
	struct term_formats formats;
	struct term_reader reader;
	struct ets_table table;
	struct apps apps;
	uint64_t read_ns;	      /* when apps were read, 0 = never */
	VEC(struct top_app_row) rows; /* one for each of apps.v, then one for the rest */
	struct keytab leaders;	      /* of struct leader: group leader -> row */
	VEC(struct module) modules;
	struct idmap module_index;
	struct strbuf module_names; /* one after the other, with their NUL */
};

int top_apps_open(struct top_apps **out, struct beam_node *n, struct error *err)
{
	struct top_apps *a = xcalloc(1, sizeof(*a));

	*out = NULL;
	a->node = n;
	a->leaders = (struct keytab)KEYTAB_INIT(struct leader);
	strbuf_init(&a->module_names);
	if (term_reader_init(&a->reader, &a->formats, n) != 0) {
		top_apps_close(a);
		return beam_node_lacks(n, "the format of pids", err);
	}
	*out = a;
	return 0;
}

static void forget(struct top_apps *a)
{
	apps_free(&a->apps);
	keytab_free(&a->leaders);
	vec_free(&a->modules);
	idmap_free(&a->module_index);
	strbuf_reset(&a->module_names);
}

void top_apps_close(struct top_apps *a)
{
	if (!a)
		return;
	forget(a);
	vec_free(&a->rows);
	strbuf_free(&a->module_names);
	free(a);
}

/* ---- what is loaded ------------------------------------------------------------------------ */

static bool module_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct top_apps *a = ctx;

	return strcmp(a->modules.data[id].name, key) == 0;
}

/* All names are added before pointers to them are taken, as the buffer may be reallocated. */
static void index_modules(struct top_apps *a)
{
	const struct apps *apps = &a->apps;
	VEC(size_t) offsets = {0};
	size_t at = 0;

	for (size_t i = 0; i < apps->modules.len; i++) {
		size_t len;
		const char *text = beam_atom_text(a->node->atoms, apps->modules.data[i], &len);

		vec_push(&offsets, a->module_names.len);
		if (text)
			names_format_module(&a->module_names, text, len);
		strbuf_addch(&a->module_names, '\0');
	}
	for (uint32_t row = 0; row < apps->v.len; row++) {
		const struct app *app = &apps->v.data[row];

		for (size_t i = 0; i < app->nr; i++) {
			struct module m = {.row = row};
			uint32_t hash;

			at = offsets.data[app->first + i];
			m.name = a->module_names.buf + at;
			hash = hash_bytes(m.name, strlen(m.name));
			if (idmap_find(&a->module_index, hash, module_equal, a, m.name) !=
			    IDMAP_NONE)
				continue;
			idmap_add(&a->module_index, hash, (uint32_t)a->modules.len);
			vec_push(&a->modules, m);
		}
	}
	vec_free(&offsets);
}

static void index_leaders(struct top_apps *a, struct process_source *source)
{
	for (uint32_t row = 0; row < a->apps.v.len; row++) {
		uint64_t master = a->apps.v.data[row].master, key;

		if (!master)
			continue;
		key = process_source_pid(source, master) + 1;
		if (!keytab_find(&a->leaders, key))
			((struct leader *)keytab_add(&a->leaders, key))->row = row;
	}
}

static int renew(struct top_apps *a, struct process_source *source, struct error *err)
{
	uint64_t now = clock_monotonic_ns();
	int rc;

	if (a->read_ns && now - a->read_ns < RENEW_NS)
		return 0;
	forget(a);
	a->read_ns = 0;
	rc = apps_read(a->node, &a->reader, &a->table, &a->apps, err);
	if (rc)
		return rc;
	a->read_ns = now;
	index_modules(a);
	index_leaders(a, source);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void make_rows(struct top_apps *a, bool sampled)
{
	a->rows.len = 0;
	for (size_t i = 0; i <= a->apps.v.len; i++) {
		const struct app *app = i < a->apps.v.len ? &a->apps.v.data[i] : NULL;
		struct top_app_row row = {.name = NONE, .running = true};

		if (app) {
			row.id = app->name;
			row.name = app->text;
			row.vsn = app->vsn;
			row.running = app->master != 0;
			row.modules = (uint32_t)app->nr;
		}
		row.cpu = row.code_cpu = sampled ? 0 : (double)NAN;
		row.reductions = NAN;
		vec_push(&a->rows, row);
	}
}

static void add_processes(struct top_apps *a, const struct process_table *processes)
{
	for (size_t i = 0; i < processes->rows.v.len; i++) {
		const struct process_row *p = &processes->rows.v.data[i];
		const struct leader *l = p->group_leader == PROCESS_PID_NONE
						 ? NULL
						 : keytab_find(&a->leaders, p->group_leader + 1);
		struct top_app_row *row = &a->rows.data[l ? l->row : a->rows.len - 1];

		row->processes++;
		row->memory += p->memory;
		row->message_queue_len += p->message_queue_len;
		if (!isnan(p->cpu))
			row->cpu += (double)p->cpu;
		if (!isnan(p->reductions_rate))
			row->reductions = (isnan(row->reductions) ? 0 : row->reductions) +
					  (double)p->reductions_rate;
	}
}

static uint32_t row_of_module(const struct top_apps *a, const char *module)
{
	uint32_t at;

	if (!module[0])
		return UINT32_MAX;
	at = idmap_find(&a->module_index, hash_bytes(module, strlen(module)), module_equal, a,
			module);
	return at == IDMAP_NONE ? UINT32_MAX : a->modules.data[at].row;
}

/* For each frame the row of its application; UINT32_MAX = none. */
static uint32_t *rows_of_frames(const struct top_apps *a, const struct snapshot *s)
{
	uint32_t *rows = xcalloc((size_t)s->nr_frames + 1, sizeof(*rows));

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		const struct snap_frame *f = &s->frames[i];
		bool erlang =
			f->kind == FRAME_ERLANG || f->kind == FRAME_BIF || f->kind == FRAME_NIF;

		rows[i] = erlang ? row_of_module(a, f->module) : UINT32_MAX;
	}
	return rows;
}

/* Adds the CPU of each stack to the application of the innermost frame that has one: the VM and its
 * preloaded modules work for their callers. */
static void add_code(struct top_apps *a, const struct snapshot *s, double core_samples)
{
	uint32_t *rows = rows_of_frames(a, s);

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *stack = &s->stacks[i];
		uint32_t row = UINT32_MAX;

		for (uint32_t k = stack->nr_frames; k-- > 0 && row == UINT32_MAX;)
			row = rows[s->stack_frames[stack->first_frame + k]];
		if (row == UINT32_MAX)
			row = (uint32_t)a->rows.len - 1;
		a->rows.data[row].code_cpu += 100 * (double)stack->count / core_samples;
	}
	free(rows);
}

int top_apps_read(struct top_apps *a, struct process_source *source,
		  const struct process_table *processes, const struct snapshot *snapshot,
		  double core_samples, struct error *err)
{
	bool sampled = snapshot && core_samples > 0;
	int rc;

	a->rows.len = 0;
	rc = renew(a, source, err);
	if (rc)
		return rc;
	make_rows(a, sampled);
	add_processes(a, processes);
	if (sampled)
		add_code(a, snapshot, core_samples);
	return 0;
}

/* ---- rows for a panel ----------------------------------------------------------------------- */

void top_apps_table(const struct top_apps *a, struct table *out)
{
	*out = (struct table){.columns = app_columns,
			      .rows = a ? a->rows.data : NULL,
			      .nr_rows = a ? a->rows.len : 0,
			      .row_size = sizeof(struct top_app_row)};
}

uint64_t top_apps_id(const void *row)
{
	return ((const struct top_app_row *)row)->id;
}
