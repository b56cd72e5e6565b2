/* SPDX-License-Identifier: BSD-2-Clause */
/* See node_wide.h. */
#include "cmd/events/node_wide.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/code/call_targets.h"
#include "beam/process/process.h"
#include "model/process/process_group.h"
#include "probe/session/call_probes.h"
#include "view/table/cells.h"
#include "view/table/table.h"

#define TERM_SIZE 256
#define ASKERS	  3 /* in a line of text */

/* Atoms only: of everything else nothing is copied. */
const struct live_calls node_wide_calls = {.words = 16, .depth = 0, .beside = true};

#define NOT_WATCHED "literal areas, code purges and blocked schedulers are not watched"

struct node_wide_probes {
	struct call_probes *probes;
	VEC(struct call_function) named;
};

/* ---- probes ---------------------------------------------------------------------------------- */

/* Their ends have probes of their own. */
static bool ends(void *ctx, uint64_t site, uint64_t ts_ns)
{
	UNUSED(site);
	UNUSED(ts_ns);
	return ((const struct node_wide_bif *)ctx)->returns;
}

static int probe(struct node_wide_probes *p, struct beam_node *n, const struct call_target *t,
		 const struct node_wide_bif *bif, struct error *err)
{
	struct call_filter filter = {.arity = t->arity};
	uint32_t point = (uint32_t)p->named.len;
	char path[OBJECTS_PATH_SIZE];
	struct call_probe probe = {
		.path = path,
		.name = bif->function,
		.point = point,
		.returns = bif->returns,
	};
	struct call_code code;
	int rc;

	if (!call_target_code(&code, n, t))
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOENT, "%s:%s/%d is in no file",
				 bif->module, bif->function, bif->arity);
	rc = objects_file_path(n->os_pid, code.map, path);
	if (rc)
		return error_set(err, ERROR_KIND_PRIVILEGE, rc, "cannot open %s of the node",
				 code.map->path);
	probe.elf = code.elf;
	probe.addr = code.addr;
	rc = call_probes_filter(p->probes, point, &filter, err);
	rc = rc ? rc : call_probes_add(p->probes, &probe, err);
	if (rc == 0)
		vec_push(&p->named, ((struct call_function){
					    .mfa = {t->module, t->function, t->arity},
					    .kind = FRAME_BIF,
					    .ends = ends,
					    .ctx = (void *)(uintptr_t)bif,
				    }));
	return rc;
}

/* Not every release has all of them. */
static int find(struct node_wide_probes *p, struct live *l, const struct node_wide_bif *bif,
		struct error *err)
{
	struct call_query query = {bif->module, bif->function, bif->arity};
	struct call_targets targets;
	int rc = call_targets_find(&targets, l->node, beam_resolver_jit(l->resolver), &query, err);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	if (targets.v.len && targets.v.data[0].c_function)
		rc = probe(p, l->node, &targets.v.data[0], bif, err);
	call_targets_free(&targets);
	return rc;
}

void node_wide_probes_open(struct node_wide_probes **out, struct event_run *run,
			   double max_overhead)
{
	struct node_wide_probes *p = xcalloc(1, sizeof(*p));
	struct live *l = event_run_live(run);
	struct call_programs programs;
	struct session_calls calls = {.max_overhead = max_overhead};
	struct error why;
	int rc = 0;

	*out = p;
	if (!session_call_programs(l->session, &programs)) {
		live_add_warning(l, NOT_WATCHED ": the kernel refuses the programs (see -v)");
		return;
	}
	call_probes_open(&p->probes, &programs);
	for (unsigned int i = 0; i < nr_node_wide_bifs && rc == 0; i++)
		rc = find(p, l, &node_wide_bifs[i], &why);
	beam_resolver_watch_calls(l->resolver, p->named.data, (unsigned int)p->named.len, TERM_SIZE,
				  false);
	calls.points = call_probes_points(p->probes, &calls.nr);
	if (rc == 0 && calls.nr)
		rc = session_add_calls(l->session, &calls, &why);
	if (rc) {
		struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, NOT_WATCHED ": %s", why.msg);
		live_add_warning(l, text.buf);
		strbuf_free(&text);
	} else if (calls.nr)
		enrich_add_meta(l->enrich, NODE_WIDE_KEY, "watched");
}

void node_wide_probes_close(struct node_wide_probes *p)
{
	if (!p)
		return;
	call_probes_close(p->probes);
	vec_free(&p->named);
	free(p);
}

void node_wide_probes_list(FILE *out)
{
	fputs("and uprobes on BIFs that all of the node takes part in, if this release has them:",
	      out);
	for (unsigned int i = 0; i < nr_node_wide_bifs; i++) {
		const struct node_wide_bif *bif = &node_wide_bifs[i];

		fprintf(out, "%s %s:%s/%d", i ? "," : "", bif->module, bif->function, bif->arity);
	}
	fputc('\n', out);
}

void node_wide_check_blockers(struct node_wide *w, struct event_run *run)
{
	struct beam_node *n = event_run_node(run);
	struct process_facts facts;

	for (size_t i = w->blockers.len; n && i-- > 0;) {
		uint64_t epid = w->blockers.data[i].epid;

		if (process_read(n, epid, 0, &facts) == -ESRCH)
			node_wide_blocker_ended(w, epid, clock_monotonic_ns());
	}
}

/* ---- what is shown --------------------------------------------------------------------------- */

struct work_row {
	const char *title;
	const struct node_wide_count *count;
	uint64_t under_way_ns; /* 0 = none is */
};

/* Literal areas are taken one after the other, as long as there are any: one that is under way is
 * none yet. */
static void make_rows(struct work_row *rows, struct node_wide *w, uint64_t end_ns)
{
	static const char *const titles[NR_NODE_WIDE] = {
		[NODE_WIDE_LITERALS] = "literal area collection",
		[NODE_WIDE_PURGE] = "code purge",
		[NODE_WIDE_BLOCK] = "multi-scheduling blocked",
	};

	node_wide_order(w);
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		const struct node_wide_count *c = &w->work[i];

		rows[i] = (struct work_row){.title = titles[i], .count = c};
		if (c->since_ns && end_ns > c->since_ns)
			rows[i].under_way_ns = end_ns - c->since_ns;
	}
}

static void add_asker(struct strbuf *out, const struct names *names,
		      const struct node_wide_asker *a)
{
	const struct name_process *p = names_process(names, a->process);
	const struct name_function *f = names_function(names, a->function);

	strbuf_addstr(out, a->what);
	if (f) {
		strbuf_addstr(out, " in ");
		names_format_function(out, f);
	}
	if (p)
		strbuf_addf(out, " of %s", p->pid);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* What is under way was seen as a whole. */
static uint64_t total_of(const struct work_row *r, const struct node_wide *w)
{
	return units_scale(r->count->total_ns, 1 / node_wide_share(w)) + r->under_way_ns;
}

static void text_work(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ((const struct work_row *)row)->title);
}

static void text_count(struct strbuf *out, const void *row, const void *ctx)
{
	const struct work_row *r = row;

	cell_count(out, units_scale(r->count->nr, 1 / node_wide_share(ctx)));
	if (r->under_way_ns)
		strbuf_addstr(out, " + 1");
}

static void text_total(struct strbuf *out, const void *row, const void *ctx)
{
	cell_ns(out, (double)total_of(row, ctx));
}

static void text_max(struct strbuf *out, const void *row, const void *ctx)
{
	const struct work_row *r = row;

	UNUSED(ctx);
	cell_ns(out, (double)MAX(r->count->max_ns, r->under_way_ns));
}

static void text_by(struct strbuf *out, const void *row, const void *ctx)
{
	const struct node_wide *w = ctx;
	const struct node_wide_count *c = ((const struct work_row *)row)->count;
	uint64_t rest = c->others;

	for (size_t i = 0; i < MIN(c->askers.len, (size_t)ASKERS); i++) {
		strbuf_addstr(out, i ? ", " : "");
		add_asker(out, w->stream->names, &c->askers.data[i]);
		if (c->askers.data[i].nr > 1)
			strbuf_addf(out, " (%" PRIu64 ")", c->askers.data[i].nr);
	}
	for (size_t i = ASKERS; i < c->askers.len; i++)
		rest += c->askers.data[i].nr;
	if (c->askers.len > ASKERS)
		strbuf_addf(out, " and %s%zu more (%" PRIu64 ")", c->others ? ">= " : "",
			    c->askers.len - ASKERS, rest);
}

static const struct table_column columns[] = {
	{"work", "WORK OF THE WHOLE NODE", .text = text_work},
	{"count", "COUNT", TABLE_RIGHT, .text = text_count},
	{"total_ns", "TOTAL", TABLE_RIGHT, .text = text_total},
	{"max_ns", "MAX", TABLE_RIGHT, .text = text_max},
	{"asked_by", "ASKED FOR BY", .text = text_by},
	{0},
};

int node_wide_write(struct node_wide *w, struct event_run *run, uint64_t end_ns, bool all,
		    struct error *err)
{
	struct work_row every[NR_NODE_WIDE], rows[NR_NODE_WIDE];
	const struct table_options options = {0};
	struct table table = {
		.columns = columns,
		.rows = rows,
		.row_size = sizeof(*rows),
		.ctx = w,
	};

	make_rows(every, w, end_ns);
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		if (all || every[i].count->nr || every[i].under_way_ns)
			rows[table.nr_rows++] = every[i];
	}
	if (!table.nr_rows)
		return 0;
	fputc('\n', event_run_out(run));
	if (node_wide_share(w) < 1)
		fprintf(event_run_out(run),
			"Of the work below %.1f %% was seen (--max-overhead): COUNT and TOTAL are "
			"estimates, who asked are those that were seen\n",
			100 * node_wide_share(w));
	return table_write(event_run_out(run), &table, &options, err);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void asker_json(struct jsonw *out, const struct names *names,
		       const struct node_wide_asker *a)
{
	const struct name_process *p = names_process(names, a->process);
	const struct name_function *f = names_function(names, a->function);
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_object(out, NULL);
	jsonw_string(out, "what", a->what);
	jsonw_string(out, "pid", p ? p->pid : NULL);
	process_group_name_of(names, a->process, &text);
	jsonw_string(out, "name", text.len ? text.buf : NULL);
	strbuf_reset(&text);
	if (f)
		names_format_function(&text, f);
	jsonw_string(out, "function", text.len ? text.buf : NULL);
	jsonw_uint(out, "count", a->nr);
	jsonw_end_object(out);
	strbuf_free(&text);
}

void node_wide_json(struct jsonw *out, struct node_wide *w, uint64_t end_ns, bool watched)
{
	static const char *const keys[NR_NODE_WIDE] = {
		[NODE_WIDE_LITERALS] = "literal_areas",
		[NODE_WIDE_PURGE] = "code_purges",
		[NODE_WIDE_BLOCK] = "multi_scheduling_blocks",
	};
	struct work_row rows[NR_NODE_WIDE];
	double scale;

	if (!watched) {
		jsonw_null(out, "node_wide");
		return;
	}
	make_rows(rows, w, end_ns);
	scale = 1 / node_wide_share(w);
	jsonw_begin_object(out, "node_wide");
	jsonw_double(out, "share_seen", node_wide_share(w));
	for (int i = 0; i < NR_NODE_WIDE; i++) {
		const struct node_wide_count *c = rows[i].count;

		jsonw_begin_object(out, keys[i]);
		jsonw_uint(out, "count", units_scale(c->nr, scale));
		jsonw_uint(out, "total_ns", total_of(&rows[i], w));
		jsonw_uint(out, "max_ns", MAX(c->max_ns, rows[i].under_way_ns));
		jsonw_uint(out, "under_way_ns", rows[i].under_way_ns);
		jsonw_begin_array(out, "asked_by");
		for (size_t k = 0; k < c->askers.len; k++)
			asker_json(out, w->stream->names, &c->askers.data[k]);
		jsonw_end_array(out);
		jsonw_end_object(out);
	}
	jsonw_end_object(out);
}
