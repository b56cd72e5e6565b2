/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run counted, and what it cost so far; see session.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/session/session_internal.h"

bool session_event_cost(struct session *s, struct controller_cost *out, const char **why)
{
	*out = (struct controller_cost){0};
	if (why)
		*why = s->no_budget.msg;
	if (!s->controller)
		return false;
	controller_cost(s->controller, out);
	return out->known;
}

uint64_t session_kind_ns(struct session *s, enum event_kind kind, uint64_t *kinds)
{
	*kinds = 1ull << kind;
	for (unsigned int i = 0; s->controller && i < attach_nr_groups(s->attach); i++) {
		if (!(attach_kinds(s->attach, i) >> kind & 1))
			continue;
		*kinds = attach_kinds(s->attach, i);
		return controller_group_ns(s->controller, i);
	}
	return 0;
}

unsigned int session_call_hit_ns(const struct session *s)
{
	unsigned int last = s->attach ? attach_nr_groups(s->attach) : 0;
	struct attach_hits hits;

	if (!last || !(attach_kinds(s->attach, last - 1) >> EVENT_CALLS & 1) ||
	    !attach_hits(s->attach, last - 1, &s->cost, &hits) || !hits.hits)
		return 0;
	return (unsigned int)((hits.trap_ns + hits.run_ns) / hits.hits);
}

void session_event_count(struct session *s, enum event_kind kind, struct event_count *out)
{
	int nr = libbpf_num_possible_cpus();
	struct event_count *values;
	uint32_t key = kind;

	memset(out, 0, sizeof(*out));
	if (nr <= 0)
		return;
	values = xcalloc((size_t)nr, sizeof(*values));
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.event_counts), &key, values) == 0) {
		for (int i = 0; i < nr; i++) {
			out->produced += values[i].produced;
			out->lost += values[i].lost;
			out->size += values[i].size;
			out->ns += values[i].ns;
			out->longest_ns = MAX(out->longest_ns, values[i].longest_ns);
		}
	}
	free(values);
}

static uint64_t event_sum(struct session *s, bool lost)
{
	struct event_count c;
	uint64_t sum = 0;

	for (int kind = 0; s->config.events && kind < NR_EVENT_KINDS; kind++) {
		session_event_count(s, (enum event_kind)kind, &c);
		sum += lost ? c.lost : c.produced;
	}
	return sum;
}

uint64_t session_counter(struct session *s, enum counter_id id)
{
	int nr = libbpf_num_possible_cpus();
	uint32_t key = id;
	uint64_t *values, sum = 0;

	if (id == COUNTER_LATE)
		return ring_set_late(s->ring_set);
	if (id == COUNTER_EVENTS || id == COUNTER_EVENTS_LOST)
		return event_sum(s, id == COUNTER_EVENTS_LOST);
	if (id == COUNTER_ALIAS_TRUNCATED)
		return s->nr_alias_truncated;
	if (nr <= 0)
		return 0;
	values = xcalloc((size_t)nr, sizeof(*values));
	if (bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.counters), &key, values) == 0) {
		for (int i = 0; i < nr; i++)
			sum += values[i];
	}
	free(values);
	return sum;
}
