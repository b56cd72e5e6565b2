/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam mem`: what the process has in memory and what that consists of, counts and limits, memory
 * by type, as erlang:memory/0 has it, and what the allocators waste: bytes of carriers that are in
 * no block.  --atoms: the newest atoms.  --persistent-terms: mem_persistent.c.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "beam/vm/memory.h"
#include "beam/vm/resident.h"
#include "beam/vm/vm_totals.h"
#include "cmd/inspect/mem.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "cmd/run/watch.h"
#include "names/names.h"
#include "target/resources.h"
#include "view/inspect/mem_view.h"

/* Instances of allocators that text shows without -n: those that waste most. */
#define INSTANCES_SHOWN 10
/* Atoms that are shown without -n. */
#define ATOMS_SHOWN	  50
#define ATOMS_SHOWN_AGAIN 10 /* with --watch, from the second answer on */

struct mem_reading {
	struct beam_node *node;
	struct memory memory;
	struct allocators allocators;
	VEC(struct mem_row) instances;
	VEC(struct mem_row) types;
};

/* Rows of an earlier answer.  Their types are in struct allocators, which says the same each time.
 */
struct mem_kept {
	VEC(struct mem_row) types, instances;
	uint64_t ns; /* 0 = there is no such answer yet */
	struct mem_answer answer;
};

/* ---- rows ------------------------------------------------------------------------------------ */

static struct mem_carriers carriers_of(const struct allocator_count *c)
{
	struct mem_carriers sum = {.carriers = c->carriers, .carriers_size = c->carriers_size};

	for (size_t i = 0; i < ALLOCATORS_MAX; i++) {
		sum.blocks += c->blocks[i];
		sum.blocks_size += c->blocks_size[i];
	}
	return sum;
}

/* A row for each instance, and a sum for each type: instances of a type follow each other. */
static void make_rows(struct mem_reading *v)
{
	for (size_t i = 0; i < v->allocators.v.len; i++) {
		const struct allocator *a = &v->allocators.v.data[i];
		struct mem_row r = {
			.type = a->type,
			.instance = a->instance,
			.all = {a->blocks, a->blocks_size, a->carriers, a->carriers_size},
			.mbcs = carriers_of(&a->mbcs),
			.sbcs = carriers_of(&a->sbcs),
			.pool = carriers_of(&a->pool),
			.size_per_s = NAN,
			.blocks_per_s = NAN,
			.grew = NAN,
		};

		vec_push(&v->instances, r);
		if (v->types.len == 0 || v->types.data[v->types.len - 1].type != r.type)
			vec_push(&v->types, ((struct mem_row){.type = r.type,
							      .size_per_s = NAN,
							      .blocks_per_s = NAN,
							      .grew = NAN}));
		mem_row_add(&v->types.data[v->types.len - 1], &r);
	}
}

/* ---- as a panel of `ebeam top`: a row for each type ------------------------------------------ */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	((struct mem_reading *)view)->node = n;
	(void)err;
	return 0;
}

static int read_rows(void *view, struct error *err)
{
	struct mem_reading *v = view;
	int rc = target_need(v->node, v->node->anchors.allocators, "table of allocators", err);

	rc = rc ? rc : allocators_read(&v->allocators, v->node, err);
	rc = rc ? rc : memory_read(&v->memory, v->node, &v->allocators, err);
	if (!rc)
		make_rows(v);
	return rc;
}

static void forget_rows(void *view)
{
	struct mem_reading *v = view;

	vec_free(&v->instances);
	vec_free(&v->types);
	allocators_free(&v->allocators);
}

static void give_rows(void *view, struct table *out)
{
	struct mem_reading *v = view;

	out->rows = v->types.data;
	out->nr_rows = v->types.len;
}

static uint64_t row_id(const void *row)
{
	const char *type = ((const struct mem_row *)row)->type;

	return hash_bytes(type, strlen(type));
}

const struct row_source allocator_rows = {
	.view_size = sizeof(struct mem_reading),
	.open = open_rows,
	.read = read_rows,
	.forget = forget_rows,
	.rows = give_rows,
	.id = row_id,
	.table = &mem_table,
};

/* ---- the command: a reading ------------------------------------------------------------------ */

/* What one run of the command has, and what --watch keeps from one answer to the next. */
struct mem_run {
	struct command_context *ctx;
	struct table_options options;
	struct vm_totals_reader *totals_reader;
	struct vm_totals totals;
	struct mem_reading v;
	struct resident resident;
	struct resources_cgroup cgroup;
	bool has_resident;
	struct error why_no_resident;
	struct mem_answer answer;
	uint64_t read_ns;
	struct mem_kept first, before;
	VEC(struct mem_atom) atoms; /* the newest first */
	struct arena texts;	    /* of atoms */
};

/* Sizes that the VM does not count, as an allocator is switched off, or whose allocators were not
 * found: the rest of the answer needs none of that. */
static int read_types(struct mem_run *r, struct error *err)
{
	struct mem_reading *v = &r->v;
	int rc;

	memset(&v->memory, 0xff, sizeof(v->memory)); /* MEMORY_UNKNOWN */
	if (!v->node->anchors.allocators)
		return 0;
	rc = allocators_read(&v->allocators, v->node, err);
	if (!rc && !v->allocators.disabled)
		rc = memory_read(&v->memory, v->node, &v->allocators, err);
	if (!rc)
		make_rows(v);
	return rc;
}

static void read_resident(struct mem_run *r)
{
	struct beam_node *n = r->v.node;

	r->has_resident = false;
	if (n->core)
		return;
	r->has_resident =
		resident_read(&r->resident, n, &r->v.allocators, &r->why_no_resident) == 0;
	resources_cgroup_read(&r->cgroup, n->os_pid);
}

/* As beam_atom_text() has them, which knows no index above its own limit. */
static void read_atoms(struct mem_run *r)
{
	uint64_t nr = r->totals.value[VM_ATOM_COUNT];
	struct beam_atoms *atoms = r->v.node->atoms;
	struct strbuf text = STRBUF_INIT;

	r->atoms.len = 0;
	arena_free(&r->texts);
	for (uint64_t i = nr == VM_UNKNOWN ? 0 : nr; i > 0 && r->atoms.len < r->options.limit;
	     i--) {
		struct mem_atom row = {.index = (uint32_t)(i - 1)};
		size_t len;
		const char *name = beam_atom_text(atoms, (uint64_t)row.index << 6 | 0x0b, &len);

		if (name) {
			names_format_atom(&text, name, len);
			row.text = arena_text(&r->texts, &text);
		}
		vec_push(&r->atoms, row);
	}
	strbuf_free(&text);
}

static void make_rss(struct mem_run *r, struct mem_rss *out)
{
#define PART(name, ...) .name = r->resident.part[RESIDENT_##name],
	const struct resident *m = &r->resident;
	const struct resources_cgroup *c = &r->cgroup;

	if (r->has_resident)
		*out = (struct mem_rss){.known = true,
					.total = m->rss,
					.swap = m->swap,
					.huge_pages = m->huge,
					MEM_PARTS(PART).cgroup = c->path,
					.limit = c->limit,
					.current = c->current,
					.some = c->some_avg10,
					.full = c->full_avg10,
					.oom_score = c->oom_score};
	else
		*out = (struct mem_rss){.cgroup = ""};
#undef PART
}

/* ---- the command: growth --------------------------------------------------------------------- */

static void keep(struct mem_kept *k, const struct mem_run *r)
{
	k->types.len = k->instances.len = 0;
	for (size_t i = 0; i < r->v.types.len; i++)
		vec_push(&k->types, r->v.types.data[i]);
	for (size_t i = 0; i < r->v.instances.len; i++)
		vec_push(&k->instances, r->v.instances.data[i]);
	k->answer = r->answer;
	k->ns = r->read_ns;
}

/* The same row in an earlier answer, where it is as a rule at the same place, or NULL. */
static const struct mem_row *find_kept(const struct mem_row *rows, size_t nr, size_t i,
				       const struct mem_row *of)
{
	for (size_t k = 0; k < nr; k++) {
		const struct mem_row *r = &rows[(i + k) % nr];

		if (r->instance == of->instance && strcmp(r->type, of->type) == 0)
			return r;
	}
	return NULL;
}

static double growth_of(uint64_t now, uint64_t before, double seconds)
{
	return seconds > 0 ? ((double)now - (double)before) / seconds : NAN;
}

static void set_growth(struct mem_run *r, struct mem_row *row, const struct mem_row *before,
		       const struct mem_row *first)
{
	double seconds = (double)(r->read_ns - r->before.ns) / 1e9;

	row->growing = r->ctx->opt.watch_ns;
	if (before) {
		row->size_per_s = growth_of(row->all.blocks_size, before->all.blocks_size, seconds);
		row->blocks_per_s = growth_of(row->all.blocks, before->all.blocks, seconds);
	}
	if (first)
		row->grew = (double)row->all.blocks_size - (double)first->all.blocks_size;
}

static void add_growth(struct mem_run *r)
{
#define FIND(kept, list, i, row) find_kept((kept).list.data, (kept).list.len, i, row)
	for (size_t i = 0; i < r->v.types.len; i++) {
		struct mem_row *row = &r->v.types.data[i];

		set_growth(r, row, FIND(r->before, types, i, row), FIND(r->first, types, i, row));
	}
	for (size_t i = 0; i < r->v.instances.len; i++) {
		struct mem_row *row = &r->v.instances.data[i];

		set_growth(r, row, FIND(r->before, instances, i, row),
			   FIND(r->first, instances, i, row));
	}
#undef FIND
}

static void forget_kept(struct mem_kept *k)
{
	vec_free(&k->types);
	vec_free(&k->instances);
}

static void make_answer(struct mem_run *r)
{
#define SIZE(name, ...) .name = v->memory.name,
#define AREA(name)	.name = v->memory.areas.name,
	const struct mem_reading *v = &r->v;
	const uint64_t *t = r->totals.value;

	r->answer = (struct mem_answer){
		.os_pid = v->node->core ? 0 : v->node->os_pid,
		MEM_SIZES(SIZE).areas = {MEM_AREAS(AREA)},
		.counts = {.atoms = {t[VM_ATOM_COUNT], t[VM_ATOM_LIMIT]},
			   .processes = {t[VM_PROCESS_COUNT], t[VM_PROCESS_LIMIT]},
			   .ports = {t[VM_PORT_COUNT], t[VM_PORT_LIMIT]},
			   .ets = {t[VM_ETS_COUNT], t[VM_ETS_LIMIT]}},
		.watch = r->ctx->opt.watch_ns,
		.before = r->before.ns ? &r->before.answer : NULL,
		.seconds = (double)(r->read_ns - r->before.ns) / 1e9,
		.first = r->first.ns ? &r->first.answer : NULL,
		.since_first = (double)(r->read_ns - r->first.ns) / 1e9,
		.types = mem_table,
		.instances = mem_table};
	make_rss(r, &r->answer.rss);
	give_rows(&r->v, &r->answer.types);
	r->answer.instances.rows = v->instances.data;
	r->answer.instances.nr_rows = v->instances.len;
}

static int read_all(void *arg, struct error *err)
{
	struct mem_run *r = arg;
	int rc = vm_totals_read(r->totals_reader, &r->totals, err);

	if (rc)
		return rc;
	r->read_ns = clock_monotonic_ns();
	if (r->ctx->opt.atoms) {
		read_atoms(r);
	} else {
		forget_rows(&r->v);
		rc = read_types(r, err);
		add_growth(r);
		if (!rc)
			read_resident(r);
	}
	if (!rc)
		make_answer(r);
	return rc;
}

/* ---- the command: what is not known ---------------------------------------------------------- */

static const char *const unknown_total = "the size of the code, and so the total, is not known: a "
					 "table of this build could not be found";
static const char *const unknown_part = "some sizes are not known: a table of this build could not "
					"be found (see ebeam doctor)";
static const char *const unreadable = "some instances of allocators could not be read: the sizes "
				      "are too small";

static const char *const switched_off =
	"an allocator is switched off (+M...e false), so the VM does not count memory by type; its "
	"memory is part of malloc";
static const char *const no_allocators = "memory by type is not known: the table of allocators of "
					 "this build could not be found (see ebeam doctor)";
static const char *const lists_truncated =
	"some lists of carriers changed while they were read: some "
	"carriers count as cached segments, malloc or other";
static const char *const of_core = "what of it was in memory (RSS) is not known of a core file";

#define WARNINGS_MAX 6

/* Fills warnings[WARNINGS_MAX], returns how many. */
static size_t find_warnings(const struct mem_run *r, const char **warnings)
{
	const struct mem_reading *v = &r->v;
	const struct memory *m = &v->memory;
	size_t nr = 0;

	if (r->ctx->opt.atoms)
		return 0;
	if (v->node->core)
		warnings[nr++] = of_core;
	else if (!r->has_resident)
		warnings[nr++] = r->why_no_resident.msg;
	else if (r->resident.lists_truncated)
		warnings[nr++] = lists_truncated;
	if (!v->node->anchors.allocators)
		warnings[nr++] = no_allocators;
	else if (v->allocators.disabled)
		warnings[nr++] = switched_off;
	else if (m->total == MEMORY_UNKNOWN)
		warnings[nr++] = unknown_total;
	else if (m->code == MEMORY_UNKNOWN || m->ets == MEMORY_UNKNOWN ||
		 m->atom == MEMORY_UNKNOWN || m->processes == MEMORY_UNKNOWN)
		warnings[nr++] = unknown_part;
	if (v->allocators.unreadable)
		warnings[nr++] = unreadable;
	return nr;
}

/* ---- the command: answers -------------------------------------------------------------------- */

static int write_json(struct mem_run *r, struct error *err)
{
	struct envelope_counter counters[] = {{"unreadable", r->v.allocators.unreadable},
					      {"carriers_found", r->resident.nr_carriers},
					      {"lists_truncated", r->resident.lists_truncated}};
	struct table atoms = mem_atoms_table;
	struct jsonw w = JSONW(r->ctx->out);
	const char *warnings[WARNINGS_MAX];
	size_t nr = find_warnings(r, warnings);

	w.one_line = r->ctx->opt.watch_ns;
	target_json_begin(&w, r->ctx, r->v.node);
	if (r->ctx->opt.atoms) {
		atoms.rows = r->atoms.data;
		atoms.nr_rows = r->atoms.len;
		mem_atoms_json(&w, &r->answer, &atoms, &r->options);
	} else {
		mem_view_json(&w, &r->answer, &r->options);
	}
	return envelope_end(&w, warnings, nr, counters, ARRAY_SIZE(counters), err);
}

static int write_text(struct mem_run *r, struct error *err)
{
	struct table atoms = mem_atoms_table;
	const char *warnings[WARNINGS_MAX];
	size_t nr = find_warnings(r, warnings), all = r->v.instances.len;
	struct table_options o = r->options;
	int rc;

	if (r->ctx->opt.atoms) {
		atoms.rows = r->atoms.data;
		atoms.nr_rows = r->atoms.len;
		if (r->before.ns && !r->ctx->opt.limit)
			o.limit = ATOMS_SHOWN_AGAIN;
		return mem_atoms_write(r->ctx->out, &r->answer, &atoms, &o, err);
	}
	rc = mem_view_write(r->ctx->out, &r->answer, &r->options, err);
	if (rc || r->before.ns)
		return rc;
	outfile_flush(r->ctx->out);
	if (r->options.limit && all > r->options.limit)
		log_warn("%zu more instances (-n shows them)", all - r->options.limit);
	for (size_t i = 0; i < nr; i++)
		log_warn("ebeam: %s", warnings[i]);
	return 0;
}

static int write_all(void *arg, struct error *err)
{
	struct mem_run *r = arg;
	int rc = r->ctx->opt.json ? write_json(r, err) : write_text(r, err);

	if (!r->first.ns)
		keep(&r->first, r);
	keep(&r->before, r);
	return rc;
}

static int run(struct mem_run *r, struct error *err)
{
	struct watch w = {.node = r->v.node,
			  .opt = &r->ctx->opt,
			  .out = r->ctx->out,
			  .text = !r->ctx->opt.json,
			  .read = read_all,
			  .write = write_all,
			  .arg = r};
	int rc;

	if (r->ctx->opt.watch_ns)
		return watch_run(&w, err);
	rc = read_all(r, err);
	return rc ? rc : write_all(r, err);
}

static struct table_options options_of(const struct command_context *ctx)
{
	const char *sort = ctx->opt.watch_ns ? "blocks_size_grew" : "wasted";
	struct table_options o = render_table_options(ctx, ctx->opt.atoms ? NULL : sort);

	if (!o.limit && (ctx->opt.atoms || !(ctx->opt.json || ctx->opt.watch_ns)))
		o.limit = ctx->opt.atoms ? ATOMS_SHOWN : INSTANCES_SHOWN;
	return o;
}

int cmd_mem(struct command_context *ctx, struct error *err)
{
	struct mem_run r = {.ctx = ctx, .options = options_of(ctx)};
	int rc;

	if (ctx->opt.carriers + ctx->opt.tags + ctx->opt.atoms + ctx->opt.persistent_terms > 1)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--atoms, --carriers, --persistent-terms and --tags are different "
				 "questions: ask one at a time");
	if (ctx->opt.carriers && ctx->opt.watch_ns)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--watch is not for --carriers");
	if (!ctx->opt.tags &&
	    (ctx->nr_args || ctx->opt.histogram || ctx->opt.given.has[OPTION_TAGS_BY]))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "an origin of blocks, --by and --histogram are for --tags");
	if (ctx->opt.sort && (strstr(ctx->opt.sort, "_per_s") || strstr(ctx->opt.sort, "_grew")) &&
	    !ctx->opt.watch_ns)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-s %s needs --watch: a rate is known from two readings",
				 ctx->opt.sort);
	if (ctx->opt.persistent_terms)
		return mem_show_persistent(ctx, err);
	if (ctx->opt.carriers || ctx->opt.tags)
		return ctx->opt.carriers ? cmd_mem_carriers(ctx, err) : cmd_mem_tags(ctx, err);
	rc = table_check(ctx->opt.atoms ? &mem_atoms_table : &mem_table, &r.options, err);
	rc = rc ? rc : watch_check_options(&ctx->opt, err);
	rc = rc ? rc : target_open(&r.v.node, ctx, err);
	if (rc)
		return rc;
	rc = vm_totals_open(&r.totals_reader, r.v.node, err);
	rc = rc ? rc : run(&r, err);
	vm_totals_close(r.totals_reader);
	vm_totals_free(&r.totals);
	forget_rows(&r.v);
	forget_kept(&r.first);
	forget_kept(&r.before);
	vec_free(&r.atoms);
	arena_free(&r.texts);
	return watch_close(&ctx->opt, r.v.node, rc, err);
}
