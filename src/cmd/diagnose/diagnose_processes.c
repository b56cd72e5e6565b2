/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diagnose: growth of processes from scan to scan; who waits for whom, and what the processes that
 * matter do, at the end.
 */
#include "abi/vm.h"
#include "cmd/diagnose/diagnose.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/process/binary_use.h"
#include "beam/process/off_heap.h"
#include "beam/process/timers.h"
#include "beam/term/atoms.h"
#include "cmd/run/target.h"
#include "model/process/wait_graph.h"

/* How many processes of each kind are chosen. */
#define LONGEST_MAILBOXES 5
#define LARGEST_HEAPS	  3
#define WAITED_FOR	  5
#define CIRCLES		  5
#define MEMBERS_OF_CIRCLE 20
#define TIMER_RECEIVERS	  5
#define OVERDUE_SHOWN	  3
/* Shorter mailboxes are not reported. */
#define MAILBOX_LEAST 1000
#define HEAP_LEAST    (1u << 17) /* least growth of a heap that is reported, in words */
/* How long binaries of processes are searched for, at most. */
#define BINARIES_NS 500000000u
/* How long timers of receives are read, at most. */
#define OVERDUE_NS 500000000u
/* The binaries of a larger heap are not searched for what is used of them. */
#define USE_HEAP_MAX (1u << 25) /* words */

const char *diagnose_text(struct diagnose *g, const char *text)
{
	return text ? arena_strndup(&g->texts, text, strlen(text)) : NULL;
}

int diagnose_processes_open(struct diagnose *g, struct error *err)
{
	struct beam_node *n = g->n;
	char warning[512];
	int rc = target_need(n, n->anchors.proc_tab, "process table", err);

	rc = rc ? rc
		: process_source_open(&g->source, n,
				      PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL |
					      PROCESS_NEEDS_FUNCTION | PROCESS_NEEDS_INITIAL,
				      warning, sizeof(warning), err);
	if (rc)
		return rc;
	if (!g->source.has_code)
		return beam_node_lacks(n, "list of JIT code, which names stacks,", err);
	rc = id_format_read(&g->pids, n->mem, &n->layout, n->anchors.proc_tab, n->identity.otp);
	if (rc)
		return beam_node_unreadable(n, "process table", rc, err);
	g->collector = beam_atom_find(n->atoms, "erts_literal_area_collector");
	return 0;
}

void diagnose_processes_close(struct diagnose *g)
{
	diagnose_restarts_close(g);
	process_source_close(&g->source);
	vec_free(&g->processes);
	vec_free(&g->before);
	vec_free(&g->names);
	idmap_free(&g->name_index);
	vec_free(&g->chosen);
	vec_free(&g->paths);
	vec_free(&g->port_waits);
}

/* ---- scans ----------------------------------------------------------------------------------- */

static bool name_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct diagnose *g = ctx;

	return g->names.data[id].name == *(const uint64_t *)key;
}

/* Counts how often a registered name has another process than in the scan before. */
static void take_name(struct diagnose *g, const struct process_facts *p)
{
	struct watched_name new = {p->registered, p->epid, p->parent, 0}, *known;
	uint32_t hash = hash_mix(0, p->registered);
	uint32_t id = idmap_find(&g->name_index, hash, name_equal, g, &p->registered);

	if (id == IDMAP_NONE) {
		idmap_add(&g->name_index, hash, (uint32_t)g->names.len);
		vec_push(&g->names, new);
		return;
	}
	known = &g->names.data[id];
	known->times += known->epid != p->epid;
	known->epid = p->epid;
	known->parent = p->parent;
}

static const struct watched_process *known_before(struct diagnose *g, const struct process_facts *p)
{
	while (g->at < g->before.len && g->before.data[g->at].slot < p->slot)
		g->at++;
	return g->at < g->before.len && g->before.data[g->at].slot == p->slot &&
			       g->before.data[g->at].epid == p->epid
		       ? &g->before.data[g->at]
		       : NULL;
}

static int visit(void *arg, struct process_facts *block, size_t nr)
{
	struct diagnose *g = arg;

	sched_block_add(&g->block, block, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct process_facts *p = &block[i];
		const struct watched_process *was = known_before(g, p);
		uint64_t queue = (uint64_t)MAX(p->message_queue_len, 0);
		uint64_t heap = p->heap_size + p->old_heap_size + p->mbuf_size;
		struct watched_process now = {.slot = p->slot,
					      .epid = p->epid,
					      .queue_first = queue,
					      .queue_min = queue,
					      .queue_max = queue,
					      .queue_last = queue,
					      .heap_first = heap,
					      .reductions_first = p->reductions};

		if (was)
			now = *was;
		if (g->collector && p->initial[0] == g->collector && was &&
		    p->reductions > was->reductions_last)
			g->collector_worked++;
		if (was) {
			double grew = (double)queue - (double)now.queue_last;

			now.steps++;
			now.queue_squares += grew * grew;
		}
		now.addr = p->addr;
		now.queue_ups += queue > now.queue_last;
		now.queue_last = queue;
		now.queue_min = MIN(now.queue_min, queue);
		now.queue_max = MAX(now.queue_max, queue);
		now.queue_drop = MAX(now.queue_drop, now.queue_max - queue);
		now.heap_last = heap;
		now.reductions_last = p->reductions;
		g->newest_last = MAX(g->newest_last, id_data(&g->pids, p->epid));
		if (p->registered)
			take_name(g, p);
		if (!was && g->d.samples)
			diagnose_restarts_born(g, p);
		vec_push(&g->processes, now);
	}
	return 0;
}

int diagnose_processes_scan(struct diagnose *g, struct error *err)
{
	struct process_totals totals;
	int rc;

	vec_free(&g->before);
	g->before.data = g->processes.data;
	g->before.len = g->processes.len;
	g->before.cap = g->processes.cap;
	memset(&g->processes, 0, sizeof(g->processes));
	g->at = 0;
	memset(&g->block, 0, sizeof(g->block));
	rc = processes_scan(g->n, 0, visit, g, &totals, err);
	g->scanned_ns = clock_monotonic_ns();
	diagnose_restarts_sample(g);
	series_add(&g->d.nr_processes, (double)g->processes.len);
	if (!g->d.samples++) {
		g->newest_first = g->newest_last;
		g->scanned_first_ns = g->scanned_ns;
	}
	return rc;
}

/* ---- processes that matter ------------------------------------------------------------------- */

static const struct watched_process *watched_of(const struct diagnose *g, uint64_t epid)
{
	for (size_t i = 0; i < g->processes.len; i++)
		if (g->processes.data[i].epid == epid)
			return &g->processes.data[i];
	return NULL;
}

static const char *string_of(struct diagnose *g, uint32_t id)
{
	return id ? diagnose_text(g, process_strings_get(&g->source.strings, id)->text) : NULL;
}

/* Growth of a mailbox since the first scan that saw its process. */
static struct growth queue_growth(const struct diagnose *g, const struct watched_process *p)
{
	double seconds = (double)(g->scanned_ns - g->scanned_first_ns) / 1e9;

	return growth_of((double)p->queue_last - (double)p->queue_first, p->queue_squares, p->steps,
			 g->d.samples > 1 ? seconds * p->steps / (g->d.samples - 1) : 0);
}

uint32_t diagnose_process(struct diagnose *g, uint64_t epid)
{
	struct diagnosed_process new = {.binaries_used = NAN, .binaries_garbage = NAN};
	const struct watched_process *watched;
	struct process_facts facts;
	struct process_row row;
	char buf[64];

	for (size_t i = 0; i < g->chosen.len; i++)
		if (g->chosen.data[i] == epid)
			return (uint32_t)i;
	new.pid = diagnose_text(g, pid_format(&g->pids, epid, buf, sizeof(buf)));
	watched = watched_of(g, epid);
	if (watched) {
		new.queue_first = watched->queue_first;
		new.queue_min = watched->queue_min;
		new.queue_last = watched->queue_last;
		new.queue_grew =
			growth_is_steady((double)watched->queue_last - (double)watched->queue_first,
					 (double)watched->queue_drop, watched->queue_ups);
		new.queue_growth = queue_growth(g, watched);
		new.heap_first = 8 * watched->heap_first;
		new.heap_last = 8 * watched->heap_last;
	}
	if (process_read(g->n, epid, process_source_what(&g->source), &facts) == 0) {
		process_source_row(&g->source, &facts, NULL, &row);
		new.name = string_of(g, process_row_name(&row));
		new.function = string_of(g, row.function);
		new.status = process_status_names[row.status];
	}
	vec_push(&g->chosen, epid);
	vec_push(&g->d.processes, new);
	return (uint32_t)g->d.processes.len - 1;
}

const char *diagnose_pid_text(struct diagnose *g, uint64_t epid)
{
	struct strbuf out = STRBUF_INIT;
	struct process_facts facts;
	struct process_row row;
	const char *text, *name;
	char buf[64];

	strbuf_addstr(&out, pid_format(&g->pids, epid, buf, sizeof(buf)));
	if (process_read(g->n, epid, process_source_what(&g->source), &facts) == 0) {
		process_source_row(&g->source, &facts, NULL, &row);
		name = string_of(g, process_row_name(&row));
		strbuf_addf(&out, "%s%s", name ? " " : "", name ? name : "");
	}
	text = diagnose_text(g, out.buf);
	strbuf_free(&out);
	return text;
}

const char *diagnose_process_text(struct diagnose *g, uint64_t epid)
{
	struct strbuf out = STRBUF_INIT;
	const struct diagnosed_process *p;
	const char *text;
	uint32_t index;

	if (!TERM_IS_PID(epid))
		return NULL;
	index = diagnose_process(g, epid);
	p = &g->d.processes.data[index];
	strbuf_addf(&out, "%s%s%s", p->pid, p->name ? " " : "", p->name ? p->name : "");
	text = diagnose_text(g, out.buf);
	strbuf_free(&out);
	return text;
}

static uint64_t mailbox_of(const struct watched_process *p)
{
	return p->queue_last >= MAILBOX_LEAST ? p->queue_last : 0;
}

static uint64_t heap_growth_of(const struct watched_process *p)
{
	return p->heap_last >= p->heap_first + HEAP_LEAST ? p->heap_last - p->heap_first : 0;
}

static bool is_chosen(const struct diagnose *g, uint64_t epid)
{
	for (size_t i = 0; i < g->chosen.len; i++)
		if (g->chosen.data[i] == epid)
			return true;
	return false;
}

/* Chooses the processes with the `nr` largest values that are not 0. */
static void choose(struct diagnose *g, uint64_t (*value)(const struct watched_process *), int nr)
{
	while (nr-- > 0) {
		const struct watched_process *largest = NULL;

		for (size_t i = 0; i < g->processes.len; i++) {
			const struct watched_process *p = &g->processes.data[i];

			if (value(p) && (!largest || value(p) > value(largest)) &&
			    !is_chosen(g, p->epid))
				largest = p;
		}
		if (!largest)
			return;
		diagnose_process(g, largest->epid);
	}
}

/* ---- timers that are overdue ----------------------------------------------------------------- */

static void add_overdue(struct diagnose *g, uint64_t epid, double late_ms)
{
	struct diagnosed_overdue new = {.late_ms = late_ms};
	size_t at = g->d.overdue.len;

	/* The latest first. */
	while (at > 0 && g->d.overdue.data[at - 1].late_ms < late_ms)
		at--;
	if (at == OVERDUE_SHOWN)
		return;
	new.process = diagnose_process(g, epid);
	if (g->d.overdue.len < OVERDUE_SHOWN)
		vec_push(&g->d.overdue, new);
	for (size_t i = g->d.overdue.len - 1; i > at; i--)
		g->d.overdue.data[i] = g->d.overdue.data[i - 1];
	g->d.overdue.data[at] = new;
}

/* Counts the processes whose `after` is overdue, among those that there is time to read. */
static void find_overdue(struct diagnose *g, const struct process_list *list)
{
	uint64_t deadline = clock_monotonic_ns() + OVERDUE_NS;

	for (size_t i = 0; i < list->len; i++) {
		struct process_facts now;
		int64_t left = 0;

		if (i % 64 == 0 && clock_monotonic_ns() > deadline) {
			g->d.more_overdue = true;
			return;
		}
		if (!timer_of_receive(g->n, &list->data[i], &left) || left > -TIMER_OVERDUE_MS)
			continue;
		/* It may have gone off since the list was read. */
		if (process_read(g->n, list->data[i].epid, 0, &now) != 0 ||
		    now.timer != list->data[i].timer || !timer_of_receive(g->n, &now, &left) ||
		    left > -TIMER_OVERDUE_MS ||
		    process_read(g->n, list->data[i].epid, 0, &now) != 0 ||
		    now.timer != list->data[i].timer)
			continue;
		g->d.nr_overdue++;
		add_overdue(g, list->data[i].epid, -(double)left);
	}
}

/* ---- who waits for whom ---------------------------------------------------------------------- */

static void visit_stack(void *arg, size_t i, int rc, const struct process_stack *s)
{
	if (rc == 0)
		waits_visit(arg, (uint32_t)i, s);
}

static void take_graph(struct diagnose *g, const struct process_list *list,
		       const struct wait_graph *graph)
{
	size_t nr_circles;

	g->d.nr_circles = (uint32_t)graph->circles.len;
	for (size_t i = 0; i < MIN(graph->targets.len, (size_t)WAITED_FOR); i++) {
		const struct wait_target *t = &graph->targets.data[i];
		uint32_t index = diagnose_process(g, list->data[t->node].epid);

		g->d.processes.data[index].waiting = t->waiting;
		g->d.processes.data[index].behind = t->behind;
	}
	nr_circles = MIN(graph->circles.len, (size_t)CIRCLES);
	for (size_t i = 0; i < nr_circles; i++) {
		const struct wait_path *circle = &graph->circles.data[i];

		for (uint32_t k = 0; k < MIN(circle->nr, (uint32_t)MEMBERS_OF_CIRCLE); k++) {
			uint32_t node = graph->nodes.data[circle->first + k];

			vec_push(&g->paths, diagnose_process(g, list->data[node].epid));
		}
	}
	/* g->paths is complete, so that pointers into it stay valid. */
	for (size_t i = 0, at = 0; i < nr_circles; i++) {
		struct diagnosed_path path = {.processes = &g->paths.data[at]};

		path.total = graph->circles.data[i].nr;
		path.nr = MIN(path.total, (uint32_t)MEMBERS_OF_CIRCLE);
		at += path.nr;
		vec_push(&g->d.circles, path);
	}
}

static int find_waits(struct diagnose *g, struct error *err)
{
	struct process_list list = {0};
	struct wait_graph graph;
	struct waits waits;
	uint32_t *to;
	int rc = processes_read(g->n, 0, &list, err);

	if (rc)
		return rc;
	find_overdue(g, &list);
	waits_begin(&waits, g->n, &g->source.code, &list);
	process_stacks_each(g->n, &g->source.code, list.data, list.len, visit_stack, &waits);
	waits_end(&waits);
	to = xmalloc(sizeof(*to) * (list.len + 1));
	for (size_t i = 0; i < list.len; i++)
		to[i] = WAIT_NOBODY;
	for (size_t i = 0; i < waits.v.len; i++) {
		const struct wait *w = &waits.v.data[i];

		if (w->to != WAIT_ELSEWHERE && w->reason == WAIT_ANSWER)
			to[w->from] = w->to;
		if (w->reason == WAIT_PORT)
			vec_push(&g->port_waits,
				 ((struct port_wait){w->item, list.data[w->from].epid}));
	}
	wait_graph_make(&graph, to, (uint32_t)list.len, (uint32_t)list.len);
	take_graph(g, &list, &graph);
	wait_graph_free(&graph);
	free(to);
	waits_free(&waits);
	process_list_free(&list);
	return 0;
}

/* ---- binaries -------------------------------------------------------------------------------- */

/* How much its terms use of the binaries that a process refers to, and what is garbage. */
static void find_use(struct diagnose *g, uint64_t epid, struct diagnosed_process *out)
{
	struct off_heap o = {.keep_places = true};
	struct process_facts p;
	struct binary_use *use;
	double used = 0, garbage = 0;

	if (process_read(g->n, epid, 0, &p) != 0 || p.total_heap_size > USE_HEAP_MAX)
		return;
	off_heap_add_process(g->n, g->n->mem, p.addr, &o);
	off_heap_finish(g->n, &o);
	use = binary_use_new(g->n->identity.otp, o.places.data, o.places.len);
	if (binary_use_holder(use, g->n, &p, &o, true)) {
		for (size_t i = 0; i < o.binaries.len; i++) {
			const struct off_heap_binary *b = &o.binaries.data[i];

			used += (double)binary_use_of(use, b->addr, b->size);
			garbage += binary_use_is_garbage(use, b->addr) ? (double)b->size : 0;
		}
		out->binaries_used = used;
		out->binaries_garbage = binary_use_knows_garbage(use) ? garbage : NAN;
	}
	binary_use_free(use);
	off_heap_free(&o);
}

/* Finds the process that refers to most binaries, among those that there is time to search. */
static void find_binaries(struct diagnose *g)
{
	uint64_t deadline = clock_monotonic_ns() + BINARIES_NS, most = 0, nr = 0, epid = 0;

	for (size_t i = 0; i < g->processes.len; i++) {
		struct off_heap o = {0};

		if (i % 64 == 0 && clock_monotonic_ns() > deadline)
			break;
		off_heap_add_process(g->n, g->n->mem, g->processes.data[i].addr, &o);
		off_heap_finish(g->n, &o);
		if (o.bytes > most) {
			most = o.bytes;
			nr = o.binaries.len;
			epid = g->processes.data[i].epid;
		}
		off_heap_free(&o);
	}
	if (most) {
		uint32_t index = diagnose_process(g, epid);

		g->d.processes.data[index].binaries = most;
		g->d.processes.data[index].nr_binaries = nr;
		find_use(g, epid, &g->d.processes.data[index]);
	}
}

static bool many_binaries(const struct diagnosis *d)
{
	return series_last(diagnosis_memory(d, "binary")) >
	       0.3 * series_last(diagnosis_memory(d, "total"));
}

/* ---- timers ---------------------------------------------------------------------------------- */

static uint64_t receiver_epid(struct diagnose *g, const struct timer_receiver *r)
{
	uint32_t id;

	if (r->by_name) {
		id = idmap_find(&g->name_index, hash_mix(0, r->to), name_equal, g, &r->to);
		return id == IDMAP_NONE ? 0 : g->names.data[id].epid;
	}
	for (size_t i = 0; i < g->processes.len; i++)
		if (g->processes.data[i].addr == r->to)
			return g->processes.data[i].epid;
	return 0;
}

static void find_timers(struct diagnose *g)
{
	struct diagnosis *d = &g->d;
	struct timer_totals all;

	timer_totals_read(g->n, &all);
	d->nr_timers = all.nr;
	d->more_timers = all.cut || all.unreadable;
	d->nr_overdue += all.overdue;
	d->more_overdue |= all.cut;
	d->nr_receivers = all.v.len;
	for (size_t i = 0; i < MIN(all.v.len, (size_t)TIMER_RECEIVERS); i++) {
		const struct timer_receiver *r = &all.v.data[i];
		struct diagnosed_receiver new = {.nr = r->nr};
		uint64_t epid = receiver_epid(g, r);

		new.text = epid		? diagnose_process_text(g, epid)
			   : r->by_name ? diagnose_text(g, beam_atom_text(g->n->atoms, r->to, NULL))
					: NULL;
		if (epid)
			new.pid = d->processes.data[diagnose_process(g, epid)].pid;
		vec_push(&d->receivers, new);
	}
	timer_totals_free(&all);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void add_restarts(struct diagnose *g)
{
	for (size_t i = 0; i < g->names.len; i++) {
		const struct watched_name *l = &g->names.data[i];
		struct diagnosed_restart new = {.times = l->times};

		if (!l->times)
			continue;
		new.name = diagnose_text(g, beam_atom_text(g->n->atoms, l->name, NULL));
		new.parent = diagnose_process_text(g, l->parent);
		vec_push(&g->d.restarts, new);
	}
}

int diagnose_processes_finish(struct diagnose *g, struct error *err)
{
	struct diagnosis *d = &g->d;
	double seconds = (double)(g->scanned_ns - g->scanned_first_ns) / 1e9;

	choose(g, mailbox_of, LONGEST_MAILBOXES);
	choose(g, heap_growth_of, LARGEST_HEAPS);
	add_restarts(g);
	diagnose_restarts_finish(g);
	if (many_binaries(d))
		find_binaries(g);
	find_timers(g);
	d->spawned_per_s = d->samples > 1 && seconds > 0
				   ? (double)(g->newest_last - g->newest_first) / seconds
				   : NAN;
	d->literal_collector =
		d->samples > 1 ? (double)g->collector_worked / (d->samples - 1) : NAN;
	return find_waits(g, err);
}
