/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam proc -j` answers: see proc_show.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/events/proc.h"
#include "view/table/histogram.h"

static void scaled_json(struct jsonw *w, const char *key, uint64_t n, double share)
{
	jsonw_uint(w, key, units_of_share(n, share));
}

static void counts_json(struct jsonw *w, const struct proc_view *v, const struct spawn_row *n)
{
	scaled_json(w, "spawned", n->spawned, v->spawn_share);
	jsonw_double(w, "spawned_per_s",
		     units_rate((double)units_of_share(n->spawned, v->spawn_share), v->seconds));
	scaled_json(w, "exited", n->exited, v->exit_share);
	scaled_json(w, "crashed", n->crashed, v->exit_share);
	jsonw_uint_if(w, "living", proc_living_known(v), n->living);
	if (n->lifetimes) {
		jsonw_uint(w, "mean_lifetime_ns", n->lifetime_ns / n->lifetimes);
		jsonw_uint(w, "max_lifetime_ns", n->max_lifetime_ns);
	} else {
		jsonw_null(w, "mean_lifetime_ns");
		jsonw_null(w, "max_lifetime_ns");
	}
	jsonw_string(w, "last_crash", n->crashed ? v->stats->reasons.data[n->reason].text : NULL);
}

static void rows_json(struct jsonw *w, const struct proc_view *v, const struct process_groups *g,
		      const char *list, const char *key, const struct proc_row *rows,
		      const size_t *order, size_t nr)
{
	struct strbuf text = STRBUF_INIT;

	jsonw_begin_array(w, list);
	for (size_t i = 0; i < nr; i++) {
		const struct proc_row *row = &rows[order ? order[i] : i];

		strbuf_reset(&text);
		process_group_text(g, row->group, &text);
		jsonw_begin_object(w, NULL);
		jsonw_string(w, key, text.buf);
		counts_json(w, v, &row->n);
		if (g == &v->stats->parents) {
			jsonw_bool(w, "restart_loop", spawn_stats_is_loop(v->stats, &row->n));
			jsonw_bool(w, "spawn_storm", proc_is_storm(v, &row->n));
			jsonw_bool(w, "piles_up", proc_is_pile(v, &row->n));
		}
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

static void reasons_json(struct jsonw *w, const struct proc_view *v, size_t limit)
{
	jsonw_begin_array(w, "reasons");
	for (size_t i = 0; i < v->nr_reasons && (!limit || i < limit); i++) {
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "reason", v->reasons[i]->text);
		jsonw_bool(w, "crash", v->reasons[i]->crash);
		scaled_json(w, "exits", v->reasons[i]->exits, v->exit_share);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
}

static void names_json(struct jsonw *w, const struct spawn_stats *s, size_t limit)
{
	const struct coverage *c = &s->stream->coverage;
	double given = coverage_share(c, EVENT_PROCESS_REGISTER);
	double taken = coverage_share(c, EVENT_PROCESS_UNREGISTER);
	struct strbuf text = STRBUF_INIT;
	size_t shown = 0;

	jsonw_begin_array(w, "names");
	for (size_t i = 0; i < s->names.len && (!limit || shown < limit); i++) {
		const struct spawn_name *n = &s->names.data[i];
		const char *name = names_string(s->stream->names, n->name);

		if (!n->registered && !n->unregistered)
			continue;
		strbuf_reset(&text);
		if (name)
			names_format_module(&text, name, strlen(name));
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "name", name ? text.buf : "[others]");
		scaled_json(w, "registered", n->registered, given);
		scaled_json(w, "unregistered", n->unregistered, taken);
		jsonw_end_object(w);
		shown++;
	}
	jsonw_end_array(w);
	strbuf_free(&text);
}

int proc_json(struct proc *p, const struct proc_view *v, struct error *err)
{
	const struct spawn_stats *s = v->stats;
	const struct coverage *c = &s->stream->coverage;
	unsigned int limit = p->ctx->opt.limit;
	size_t *order, nr;
	struct jsonw w;
	int rc = proc_order(p, v, limit, &order, &nr, err);

	if (rc)
		return rc;
	event_run_json_begin(p->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", (uint64_t)llround(v->seconds * 1e9));
	jsonw_double(&w, "share_seen", coverage_share_of(c, p->kinds));
	jsonw_string(&w, "by", process_group_by_name(s->groups.by));
	counts_json(&w, v, &s->all);
	scaled_json(&w, "links", s->links, coverage_share(c, EVENT_PROCESS_LINK));
	scaled_json(&w, "unlinks", s->unlinks, coverage_share(c, EVENT_PROCESS_UNLINK));
	scaled_json(&w, "registered", s->registered, coverage_share(c, EVENT_PROCESS_REGISTER));
	scaled_json(&w, "unregistered", s->unregistered,
		    coverage_share(c, EVENT_PROCESS_UNREGISTER));
	jsonw_uint(&w, "overflows", spawn_stats_overflows(s));
	jsonw_uint(&w, "not_followed", s->lost_living + s->unnamed);
	rows_json(&w, v, &s->groups, "rows", "group", v->rows, order, nr);
	nr = limit ? MIN(limit, v->nr_parents) : v->nr_parents;
	rows_json(&w, v, &s->parents, "parents", "parent", v->parents, NULL, nr);
	reasons_json(&w, v, limit);
	names_json(&w, s, limit);
	histogram_json(&w, "lifetime_ns", &s->lifetimes, 1 / MIN(v->spawn_share, v->exit_share));
	jsonw_end_object(&w);
	free(order);
	return event_run_json_end(p->run, &w, err);
}
