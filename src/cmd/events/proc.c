/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam proc`: who starts processes, how they end, how long they lived. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/units.h"
#include "cmd/output/render.h"
#include "cmd/run/event_run.h"
#include "model/stats/spawn_stats.h"
#include "view/events/proc_view.h"

struct proc {
	struct command_context *ctx;
	struct event_run *run;
	struct spawn_stats stats;
	uint64_t kinds; /* bit set of the kinds of events that are watched */
};

struct view {
	struct proc *p;
	const struct spawn_stats *stats;
	double spawn_share, exit_share; /* parts that were seen */
	double seconds;
	struct arena texts;
	struct strbuf text;
	struct proc_answer a;
};

static uint64_t scaled(const struct view *v, enum event_kind kind, uint64_t n)
{
	return units_of_share(n, coverage_share(&v->stats->stream->coverage, kind));
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Is the number of living processes known?  Not if spawns or exits were missed. */
static bool living_known(const struct view *v)
{
	return v->spawn_share >= 1 && v->exit_share >= 1 && !v->stats->lost_living &&
	       !v->stats->unnamed;
}

static struct proc_row row_of(const struct view *v, const struct spawn_row *n)
{
	uint64_t spawned = units_of_share(n->spawned, v->spawn_share);
	double nr = (double)n->lifetimes;

	return (struct proc_row){
		.spawned = spawned,
		.exited = units_of_share(n->exited, v->exit_share),
		.crashed = units_of_share(n->crashed, v->exit_share),
		.living = living_known(v) ? n->living : UINT64_MAX,
		.spawned_per_s = units_rate((double)spawned, v->seconds),
		.mean_lifetime_ns = nr > 0 ? (double)n->lifetime_ns / nr : NAN,
		.max_lifetime_ns = nr > 0 ? (double)n->max_lifetime_ns : NAN,
		.last_crash = n->crashed ? v->stats->reasons.data[n->reason].text : NULL,
		.spawn_storm = spawn_row_is_storm((double)spawned, v->seconds),
		.piles_up = living_known(v) && spawn_row_is_pile(n),
	};
}

/* Most spawns and exits first; equal rows keep the order of their table. */
static int most_first(const void *a, const void *b)
{
	const struct spawn_row *x = *(const struct spawn_row *const *)a;
	const struct spawn_row *y = *(const struct spawn_row *const *)b;
	uint64_t nx = x->spawned + x->exited, ny = y->spawned + y->exited;

	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->living != y->living)
		return x->living > y->living ? -1 : 1;
	return x < y ? -1 : x > y;
}

static struct proc_row *make_rows(struct view *v, const struct process_groups *g,
				  const struct spawn_row *rows, size_t nr, size_t *nr_made)
{
	const struct spawn_row **found = xcalloc(nr, sizeof(struct spawn_row *));
	struct proc_row *made;

	*nr_made = 0;
	for (size_t i = 0; i < nr; i++) {
		if (rows[i].spawned || rows[i].exited || rows[i].living)
			found[(*nr_made)++] = &rows[i];
	}
	qsort(found, *nr_made, sizeof(struct spawn_row *), most_first);
	made = xcalloc(*nr_made, sizeof(*made));
	for (size_t i = 0; i < *nr_made; i++) {
		made[i] = row_of(v, found[i]);
		process_group_text(g, (uint32_t)(found[i] - rows), &v->text);
		made[i].group = arena_text(&v->texts, &v->text);
		made[i].restart_loop =
			g == &v->stats->parents && spawn_stats_is_loop(v->stats, found[i]);
	}
	free(found);
	return made;
}

/* ---- reasons, names ------------------------------------------------------------------------- */

/* Most exits first; of equal numbers crashes first. */
static int most_exits(const void *a, const void *b)
{
	const struct spawn_reason *x = *(const struct spawn_reason *const *)a;
	const struct spawn_reason *y = *(const struct spawn_reason *const *)b;

	if (x->exits != y->exits)
		return x->exits > y->exits ? -1 : 1;
	return x->crash != y->crash ? (x->crash ? -1 : 1) : strcmp(x->text, y->text);
}

static void make_reasons(struct view *v)
{
	const struct spawn_stats *s = v->stats;
	const struct spawn_reason **found = xcalloc(s->reasons.len, sizeof(struct spawn_reason *));

	for (size_t i = 0; i < s->reasons.len; i++) {
		if (s->reasons.data[i].exits)
			found[v->a.nr_reasons++] = &s->reasons.data[i];
	}
	qsort(found, v->a.nr_reasons, sizeof(struct spawn_reason *), most_exits);
	v->a.reasons = xcalloc(v->a.nr_reasons, sizeof(*v->a.reasons));
	for (size_t i = 0; i < v->a.nr_reasons; i++) {
		uint64_t exits = units_of_share(found[i]->exits, v->exit_share);

		v->a.reasons[i] = (struct proc_reason){found[i]->text, found[i]->crash, exits,
						       units_rate((double)exits, v->seconds)};
	}
	free(found);
}

static void make_names(struct view *v)
{
	const struct spawn_stats *s = v->stats;

	v->a.names = xcalloc(s->names.len, sizeof(*v->a.names));
	for (size_t i = 0; i < s->names.len; i++) {
		const struct spawn_name *n = &s->names.data[i];
		const char *name = names_string(s->stream->names, n->name);

		if (!n->registered && !n->unregistered)
			continue;
		if (name)
			names_format_module(&v->text, name, strlen(name));
		v->a.names[v->a.nr_names++] = (struct proc_name){
			.name = name ? arena_text(&v->texts, &v->text) : "[others]",
			.registered = scaled(v, EVENT_PROCESS_REGISTER, n->registered),
			.unregistered = scaled(v, EVENT_PROCESS_UNREGISTER, n->unregistered),
			.again = i > 0 && name && n->registered >= 2,
		};
	}
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void add_count(struct view *v, bool wanted, const char *word, enum event_kind kind,
		      uint64_t n)
{
	if (!wanted)
		return;
	event_run_add_estimate(v->p->run, 1ull << kind, n, &v->text);
	v->a.counts[v->a.nr_counts++] =
		(struct proc_count){word, arena_text(&v->texts, &v->text), n};
}

static void make_counts(struct view *v)
{
	struct proc_answer *a = &v->a;
	bool spawns = v->p->kinds >> EVENT_PROCESS_SPAWN & 1;
	bool exits = v->p->kinds >> EVENT_PROCESS_EXIT & 1;

	a->links = scaled(v, EVENT_PROCESS_LINK, v->stats->links);
	a->unlinks = scaled(v, EVENT_PROCESS_UNLINK, v->stats->unlinks);
	a->registered = scaled(v, EVENT_PROCESS_REGISTER, v->stats->registered);
	a->unregistered = scaled(v, EVENT_PROCESS_UNREGISTER, v->stats->unregistered);
	add_count(v, spawns, "spawned", EVENT_PROCESS_SPAWN, a->all.spawned);
	add_count(v, exits, "exited", EVENT_PROCESS_EXIT, a->all.exited);
	add_count(v, exits, "crashed", EVENT_PROCESS_EXIT, a->all.crashed);
	add_count(v, a->links, "linked", EVENT_PROCESS_LINK, a->links);
	add_count(v, a->registered, "names given", EVENT_PROCESS_REGISTER, a->registered);
	add_count(v, a->unregistered, "taken", EVENT_PROCESS_UNREGISTER, a->unregistered);
}

static void make_answer(struct view *v)
{
	const struct spawn_stats *s = v->stats;
	struct proc_answer *a = &v->a;
	uint64_t unknown = s->all.exited;

	a->all = row_of(v, &s->all);
	a->rows = make_rows(v, &s->groups, s->rows.data, s->rows.len, &a->nr_rows);
	a->parents = make_rows(v, &s->parents, s->by_parent.data, s->by_parent.len, &a->nr_parents);
	for (size_t i = 0; i < s->by_parent.len; i++)
		unknown -= s->by_parent.data[i].exited;
	a->parent_unknown = units_of_share(unknown, v->exit_share);
	a->overflows = spawn_stats_overflows(s);
	a->not_followed = s->lost_living + s->unnamed;
	a->lifetimes = &s->lifetimes;
	a->lifetimes_scale = 1 / MIN(v->spawn_share, v->exit_share);
	make_reasons(v);
	make_names(v);
	make_counts(v);
}

static int show(struct proc *p, struct error *err)
{
	const struct coverage *c = &p->stats.stream->coverage;
	const struct options *o = &p->ctx->opt;
	const struct table_options options = {.sort = o->sort,
					      .columns = o->columns,
					      .limit = o->limit,
					      .width = render_width(event_run_target(p->run))};
	struct view v = {
		.p = p,
		.stats = &p->stats,
		.spawn_share = coverage_share(c, EVENT_PROCESS_SPAWN),
		.exit_share = coverage_share(c, EVENT_PROCESS_EXIT),
		.text = STRBUF_INIT,
		.a = {.share_seen = coverage_share_of(c, p->kinds), .by = p->stats.groups.by},
	};
	uint64_t start_ns, end_ns;
	int rc;

	event_run_span(p->run, &start_ns, &end_ns);
	v.a.span_ns = end_ns - start_ns;
	v.seconds = (double)v.a.span_ns / 1e9;
	make_answer(&v);
	rc = event_run_show(p->run, &proc_view, &v.a, p->kinds, &options, err);
	free(v.a.rows);
	free(v.a.parents);
	free(v.a.reasons);
	free(v.a.names);
	strbuf_free(&v.text);
	arena_free(&v.texts);
	return rc;
}

/* ---- the command ---------------------------------------------------------------------------- */

static enum process_group_by proc_by(const struct options *o)
{
	return o->given.has[OPTION_GROUP_BY] ? o->group_by : PROCESS_GROUP_INITIAL_CALL;
}

static void on_ready(void *arg)
{
	struct proc *p = arg;

	spawn_stats_open(&p->stats, event_run_stream(p->run), proc_by(&p->ctx->opt));
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct proc *p = arg;

	spawn_stats_take(&p->stats, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct proc *p = arg;
	int rc;

	rc = show(p, err);
	if (!last)
		spawn_stats_restart(&p->stats);
	return rc;
}

int cmd_proc(struct command_context *ctx, struct error *err)
{
	struct proc p = {.ctx = ctx};
	struct event_consumer consumer = {
		.arg = &p, .ready = on_ready, .event = on_event, .show = on_show};
	int rc;

	p.kinds = ctx->opt.events ? ctx->opt.events & SPAWN_KINDS : SPAWN_KINDS;
	if (!p.kinds)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'proc' is about process_spawn, process_exit, links and names: "
				 "one of them must be among -e");
	consumer.kinds = p.kinds;
	consumer.columns = proc_columns(proc_by(&ctx->opt));
	rc = event_run(ctx, &consumer, &p.run, err);
	spawn_stats_close(&p.stats);
	event_run_close(p.run);
	return rc;
}
