/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam diagnose`: samples a node for some seconds, from memory and /proc alone, and reports what
 * is wrong with it.  See diagnose.h.
 */
#include "cmd/diagnose/diagnose.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "beam/term/term_print.h"
#include "beam/vm/dist.h"
#include "beam/vm/ets.h"
#include "beam/vm/ports.h"
#include "beam/vm/vm_totals.h"
#include "cmd/command/signals.h"
#include "cmd/run/target.h"
#include "target/resources.h"

#define DURATION_NS   5000000000ull
#define DURATION_MAX  600000000000ull
#define SCHEDULERS_NS 20000000ull  /* from one sample of the schedulers to the next */
#define SAMPLE_NS     500000000ull /* from one sample of everything else to the next */
/* Samples of schedulers may take 1/20 of the time, and so may samples of everything else. */
#define OWN_SHARE    20u
#define NEWEST_ATOMS 5
#define TABLES_MAX   2000 /* ETS tables that are followed, at most */
/* Samples of everything else that are taken in any case, whatever they cost. */
#define SAMPLES_WANTED 5u

/* ---- samples --------------------------------------------------------------------------------- */

struct watched_table {
	struct ets_table table;
	struct series objects;
	uint64_t first_ns;
	unsigned int sample; /* number of the last sample that saw it */
};

/* A connection or port that was busy, or had suspended a process. */
struct busy_process {
	uint64_t id; /* term: name of the other node, or id of the port */
	unsigned int samples;
};

struct sampling {
	struct diagnose *g;
	struct vm_totals_reader *totals_reader;
	struct vm_totals totals;
	struct id_format ports;
	VEC(struct watched_table) tables;
	VEC(struct busy_process) busy;
	struct resources first, last;
	/* Sums over scheduler samples of the lengths of run queues. */
	double queue_sum, dirty_cpu_sum, dirty_io_sum;
	unsigned int nr_queues;
};

/* When the next sample is due, `step` after the last began; later if the last took so long that
 * samples would take more than 1/OWN_SHARE of the time. */
static uint64_t next_time(uint64_t began, uint64_t step)
{
	uint64_t now = clock_monotonic_ns();

	return MAX(began + step, now + (OWN_SHARE - 1) * (now - began));
}

static void follow_table(struct sampling *s, const struct ets_table *t)
{
	struct watched_table new = {.first_ns = clock_monotonic_ns()}, *known = NULL;

	for (size_t i = 0; i < s->tables.len && !known; i++) {
		known = &s->tables.data[i];
		if (known->table.addr != t->addr ||
		    memcmp(known->table.ref, t->ref, sizeof(t->ref)) != 0)
			known = NULL;
	}
	if (!known && s->tables.len == TABLES_MAX)
		return;
	if (!known) {
		vec_push(&s->tables, new);
		known = &s->tables.data[s->tables.len - 1];
	}
	known->table = *t;
	known->sample = s->g->d.samples;
	series_add(&known->objects, (double)t->size);
}

static void sample_tables(struct sampling *s)
{
	struct ets_list list = {0};
	struct error ignored;

	if (ets_read(s->g->n, &list, &ignored) != 0)
		return;
	for (size_t i = 0; i < MIN(list.len, (size_t)TABLES_MAX); i++)
		follow_table(s, &list.data[i]);
	ets_list_free(&list);
}

static struct busy_process *find_busy(struct sampling *s, uint64_t id)
{
	for (size_t i = 0; i < s->busy.len; i++)
		if (s->busy.data[i].id == id)
			return &s->busy.data[i];
	return NULL;
}

static void add_busy(struct sampling *s, uint64_t id)
{
	const struct busy_process new = {id, 1};
	struct busy_process *known = find_busy(s, id);

	if (known)
		known->samples++;
	else
		vec_push(&s->busy, new);
}

static bool always_busy(struct sampling *s, uint64_t id)
{
	const struct busy_process *known = find_busy(s, id);

	return known && known->samples == s->g->d.samples;
}

static void sample_connections(struct sampling *s)
{
	struct beam_node *n = s->g->n;
	struct port_list ports = {0};
	struct dist_list list = {0};
	struct error ignored;

	if (n->anchors.dist_table && dist_read(n, &list, &ignored) == 0)
		for (size_t i = 0; i < list.v.len; i++)
			if (list.v.data[i].busy || list.v.data[i].nr_waiting)
				add_busy(s, list.v.data[i].name);
	if (n->anchors.port_tab && ports_read(n, &ports, &ignored) == 0)
		for (size_t i = 0; i < ports.len; i++)
			if (port_is_busy(&ports.data[i]) || ports.data[i].suspended.len)
				add_busy(s, ports.data[i].id);
	dist_list_free(&list);
	port_list_free(&ports);
}

static void sample_block(struct diagnose *g)
{
	if (!g->block.blocked || !sched_block_possible(g->n))
		return;
	g->d.nr_msched_blocked++;
	g->d.msched_blocker = diagnose_process_text(g, g->block.epid[0]);
	g->d.dirty_blocked = g->block.dirty;
}

static double carriers_size(const struct diagnosis *d)
{
	double size = 0;

	for (size_t i = 0; i < d->allocators.len; i++)
		size += (double)d->allocators.data[i].carriers_size;
	return size;
}

static int sample(struct sampling *s, struct error *err)
{
	struct diagnose *g = s->g;
	int rc = diagnose_processes_scan(g, err);

	if (rc)
		return rc;
	rc = vm_totals_read(s->totals_reader, &s->totals, err);
	if (rc)
		return rc;
	if (s->totals.value[VM_ATOM_COUNT] != VM_UNKNOWN)
		series_add(&g->d.atoms, (double)s->totals.value[VM_ATOM_COUNT]);
	if (s->totals.value[VM_PORT_COUNT] != VM_UNKNOWN)
		series_add(&g->d.nr_ports, (double)s->totals.value[VM_PORT_COUNT]);
	if (s->totals.value[VM_ETS_COUNT] != VM_UNKNOWN)
		series_add(&g->d.nr_tables, (double)s->totals.value[VM_ETS_COUNT]);
	diagnose_memory_sample(g);
	sample_tables(s);
	sample_connections(s);
	sample_block(g);
	if (!g->n->core) {
		resources_read(&s->last, g->n->os_pid);
		if (!s->first.rss)
			s->first = s->last;
		series_add(&g->d.rss, (double)s->last.rss);
		if (g->carriers_known)
			series_add(&g->d.beyond, (double)s->last.rss - carriers_size(&g->d));
	}
	return 0;
}

/* ---- samples of schedulers ------------------------------------------------------------------- */

/* Notes whether a scheduler is offline in all samples: in some it may only look so, during a
 * multi-scheduling block. */
static void take_offline(struct sampling *s, const struct vm_queue *q)
{
	struct diagnosis *d = &s->g->d;
	bool *offline;

	/* Normal schedulers come first in d->schedulers, by number. */
	if (!q->scheduler || q->scheduler > d->schedulers.len)
		return;
	offline = &d->schedulers.data[q->scheduler - 1].offline;
	*offline = q->offline && (*offline || !s->nr_queues);
}

/* Adds the lengths of the run queues in this sample. */
static int sample_queues(struct sampling *s, struct error *err)
{
	double normal = 0;
	unsigned int nr = 0;
	int rc = vm_totals_read(s->totals_reader, &s->totals, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s->totals.queues.len; i++) {
		const struct vm_queue *q = &s->totals.queues.data[i];

		if (q->length == VM_UNKNOWN)
			continue;
		if (q->type == VM_QUEUE_NORMAL) {
			take_offline(s, q);
			normal += q->offline ? 0 : (double)q->length;
			nr += !q->offline;
		} else if (q->type == VM_QUEUE_DIRTY_CPU) {
			s->dirty_cpu_sum += (double)q->length;
		} else {
			s->dirty_io_sum += (double)q->length;
		}
	}
	s->queue_sum += nr ? normal / nr : 0;
	s->nr_queues++;
	return 0;
}

/* As next_time(), for samples of everything else; but SAMPLES_WANTED are taken even if each takes a
 * second, as with a million processes, for growth to be seen. */
static uint64_t next_sample_time(uint64_t began, uint64_t duration_ns)
{
	uint64_t most = duration_ns / SAMPLES_WANTED;

	return MIN(next_time(began, MIN(SAMPLE_NS, most)), clock_monotonic_ns() + most);
}

/* Sleeps until at_ns.  False: a signal has come (the first Ctrl-C). */
static bool sleep_until(uint64_t at_ns, int signals)
{
	struct pollfd p = {.fd = signals, .events = POLLIN};
	uint64_t now = clock_monotonic_ns(), left = at_ns > now ? at_ns - now : 0;
	const struct timespec t = {.tv_sec = (time_t)(left / 1000000000u),
				   .tv_nsec = (long)(left % 1000000000u)};

	return ppoll(&p, 1, &t, NULL) <= 0;
}

static int sample_live(struct sampling *s, uint64_t duration_ns, struct error *err)
{
	struct diagnose *g = s->g;
	uint64_t end, next_sample, now;
	int rc, signals = signals_catch(err);

	if (signals < 0)
		return signals;
	g->first_ns = clock_monotonic_ns();
	g->host = host_cpu_begin();
	end = g->first_ns + duration_ns;
	rc = sample(s, err);
	next_sample = next_sample_time(g->first_ns, duration_ns);
	while (!rc && (now = clock_monotonic_ns()) < end) {
		uint64_t next;

		diagnose_schedulers_sample(g);
		rc = sample_queues(s, err);
		next = next_time(now, SCHEDULERS_NS);
		if (!rc && clock_monotonic_ns() >= next_sample) {
			now = clock_monotonic_ns();
			rc = sample(s, err);
			next_sample = next_sample_time(now, duration_ns);
		}
		if (!rc && !sleep_until(MIN(next, end), signals))
			break;
	}
	diagnose_schedulers_sample(g);
	return rc ? rc : sample(s, err);
}

/* ---- what is read once ----------------------------------------------------------------------- */

static void add_limit(struct diagnosis *d, const char *what, const char *command, uint64_t used,
		      uint64_t max)
{
	const struct diagnosed_limit new = {what, command, used, max};

	if (used != VM_UNKNOWN && max != VM_UNKNOWN && max)
		vec_push(&d->limits, new);
}

static void add_limits(struct sampling *s)
{
	const uint64_t *v = s->totals.value;
	struct diagnosis *d = &s->g->d;
	uint64_t files, files_max;

	add_limit(d, "processes", "ps", v[VM_PROCESS_COUNT], v[VM_PROCESS_LIMIT]);
	add_limit(d, "ports", "port", v[VM_PORT_COUNT], v[VM_PORT_LIMIT]);
	add_limit(d, "atoms", "mem", v[VM_ATOM_COUNT], v[VM_ATOM_LIMIT]);
	if (s->g->n->core)
		return;
	resources_files(s->g->n->os_pid, &files, &files_max);
	add_limit(d, "open files", "port", files, files_max);
}

/* Notes what has suspended a process (a connection, a port), if the process was chosen. */
static void mark_suspended(struct diagnose *g, uint64_t epid, const char *what, const char *which)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < g->chosen.len; i++) {
		if (g->chosen.data[i] != epid)
			continue;
		strbuf_addf(&text, "%s %s", what, which);
		g->d.processes.data[i].suspended_by = diagnose_text(g, text.buf);
		strbuf_free(&text);
	}
}

static void add_connections(struct sampling *s)
{
	struct diagnose *g = s->g;
	struct dist_list list = {0};
	struct error ignored;

	if (!g->n->anchors.dist_table || dist_read(g->n, &list, &ignored) != 0)
		return;
	for (size_t i = 0; i < list.v.len; i++) {
		const struct dist_facts *f = &list.v.data[i];
		struct diagnosed_connection new = {.busy = f->busy, .queue = f->queue};

		new.name = diagnose_text(g, beam_atom_text(g->n->atoms, f->name, NULL));
		new.waiting = (uint32_t)f->nr_waiting;
		new.always = always_busy(s, f->name);
		if (!new.name || f->type == DIST_THIS)
			continue;
		for (size_t k = 0; k < f->nr_waiting; k++)
			mark_suspended(g, list.waiting.data[f->first_waiting + k],
				       "the connection to", new.name);
		vec_push(&g->d.connections, new);
	}
	dist_list_free(&list);
}

static bool is_suspended(const struct port_list *list, const struct port_facts *p, uint64_t epid)
{
	for (size_t k = 0; k < p->suspended.len; k++)
		if (list->terms.data[p->suspended.first + k] == epid)
			return true;
	return false;
}

/* Adds the processes that wait for the port to confirm that it has sent. */
static void add_senders(struct diagnose *g, const struct port_list *list,
			const struct port_facts *p, struct diagnosed_port *port)
{
	for (size_t i = 0; i < g->port_waits.len; i++) {
		const struct port_wait *w = &g->port_waits.data[i];

		if (w->port != p->id || is_suspended(list, p, w->epid))
			continue;
		port->sending++;
		port->sender = port->sender ? port->sender : diagnose_process_text(g, w->epid);
	}
}

static void add_ports(struct sampling *s)
{
	struct diagnose *g = s->g;
	struct port_list list = {0};
	struct error ignored;
	char buf[64];

	if (!g->n->anchors.port_tab || ports_read(g->n, &list, &ignored) != 0)
		return;
	for (size_t i = 0; i < list.len; i++) {
		const struct port_facts *p = &list.data[i];
		struct diagnosed_port new = {.busy = port_is_busy(p), .queue = p->queue_size};

		new.waiting = (uint32_t)p->suspended.len;
		new.always = always_busy(s, p->id);
		if (!new.busy && !new.waiting)
			continue;
		new.id = diagnose_text(g, port_format(&s->ports, p->id, buf, sizeof(buf)));
		new.name = diagnose_text(g, p->name);
		new.owner = diagnose_process_text(g, p->connected);
		add_senders(g, &list, p, &new);
		for (size_t k = 0; k < p->suspended.len; k++)
			mark_suspended(g, list.terms.data[p->suspended.first + k], "port", new.id);
		vec_push(&g->d.ports, new);
	}
	port_list_free(&list);
}

static void add_tables(struct sampling *s)
{
	struct diagnose *g = s->g;

	for (size_t i = 0; i < s->tables.len; i++) {
		const struct watched_table *known = &s->tables.data[i];
		struct diagnosed_table new = {.objects = known->objects};
		struct strbuf name = STRBUF_INIT;

		/* Only tables that grew and still exist are reported. */
		if (!series_growth(&new.objects) || known->sample != g->d.samples)
			continue;
		new.seconds = (double)(g->last_ns - known->first_ns) / 1e9;
		term_print(&g->source.reader, &name, known->table.name);
		new.name = diagnose_text(g, name.buf);
		strbuf_free(&name);
		new.owner = diagnose_process_text(g, known->table.owner);
		new.bytes = 8 * known->table.memory;
		vec_push(&g->d.tables, new);
	}
}

static int by_lock(const void *a, const void *b)
{
	const struct diagnosed_lock *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

/* Tables that are named, or whose identifier is, as what threads waited for. */
static void add_blocked_on(struct sampling *s)
{
	struct diagnose *g = s->g;

	for (size_t i = 0; i < s->tables.len; i++) {
		const struct ets_table *t = &s->tables.data[i].table;
		struct strbuf name = STRBUF_INIT;
		char id[64];

		term_print(&g->source.reader, &name, t->name);
		ets_id_format(t, id, sizeof(id));
		for (size_t k = 0; k < g->blocked_on.len; k++) {
			const struct diagnosed_function *b = &g->blocked_on.data[k];
			struct diagnosed_lock new = {.nr = b->nr};

			if (strcmp(b->name, t->named ? name.buf : id) != 0)
				continue;
			new.table = diagnose_text(g, name.buf);
			new.write_concurrency = t->write_concurrency != ETS_WRITE_FALSE;
			vec_push(&g->d.blocked_on, new);
		}
		strbuf_free(&name);
	}
	if (g->d.blocked_on.len)
		qsort(g->d.blocked_on.data, g->d.blocked_on.len, sizeof(*g->d.blocked_on.data),
		      by_lock);
}

/* The last atoms of the atom table, which is in the order of their creation. */
static void add_newest_atoms(struct diagnose *g)
{
	int64_t nr = beam_atoms_count(g->n->atoms);

	for (int64_t i = nr - 1; i >= 0 && i >= nr - NEWEST_ATOMS; i--) {
		struct strbuf text = STRBUF_INIT;

		term_print(&g->source.reader, &text, (uint64_t)i << 6 | 0x0b);
		vec_push(&g->d.newest_atoms, diagnose_text(g, text.buf));
		strbuf_free(&text);
	}
}

static void add_host(struct sampling *s)
{
	struct diagnosis *d = &s->g->d;
	uint64_t periods = s->last.periods - s->first.periods;

	d->memory_max = s->last.memory_max;
	d->throttled = periods && s->last.periods > s->first.periods
			       ? (double)(s->last.throttled - s->first.throttled) / (double)periods
			       : NAN;
	d->stopped = proc_is_stopped(s->g->n->os_pid);
}

#define CPU_USERS_SHOWN 3
#define CPU_USER_LEAST	0.05 /* cores */

static void add_cpu_users(struct diagnose *g)
{
	struct host_cpu_user users[CPU_USERS_SHOWN];
	struct host_cpu_total total;
	double listed = 0;
	size_t nr = g->host ? host_cpu_end(g->host, g->n->os_pid, users, CPU_USERS_SHOWN) : 0;

	for (size_t i = 0; i < nr && users[i].cores >= CPU_USER_LEAST; i++) {
		struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, "%s (pid %d): %.2g cores", users[i].comm, users[i].os_pid,
			    users[i].cores);
		vec_push(&g->d.cpu_users, diagnose_text(g, text.buf));
		strbuf_free(&text);
		listed += users[i].cores;
	}
	if (!g->host)
		return;
	total = host_cpu_total(g->host);
	g->d.nr_cpus = total.nr;
	g->d.host_cpu = total.used;
	g->d.stolen_cpu = total.stolen;
	g->d.other_cpu = total.used - listed - host_cpu_of(g->host, g->n->os_pid) -
			 host_cpu_of(g->host, getpid());
}

static int finish(struct sampling *s, struct error *err)
{
	struct diagnose *g = s->g;
	struct diagnosis *d = &g->d;
	int rc;

	d->duration_ns = g->last_ns - g->first_ns;
	d->run_queue = s->nr_queues ? s->queue_sum / s->nr_queues : NAN;
	d->dirty_cpu_queue = s->nr_queues ? s->dirty_cpu_sum / s->nr_queues : NAN;
	d->dirty_io_queue = s->nr_queues ? s->dirty_io_sum / s->nr_queues : NAN;
	d->throttled = d->cpu_wait = d->cpu_used = NAN;
	if (!g->n->core) {
		add_host(s);
		add_cpu_users(g);
		diagnose_schedulers_finish(g);
	}
	add_limits(s);
	if (series_growth(&d->atoms) > 0)
		add_newest_atoms(g);
	rc = diagnose_processes_finish(g, err);
	if (rc)
		return rc;
	add_connections(s);
	add_ports(s);
	add_tables(s);
	add_blocked_on(s);
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int open_all(struct sampling *s, const struct command_context *ctx, struct error *err)
{
	struct diagnose *g = s->g;
	int rc = target_open(&g->n, ctx, err);

	rc = rc ? rc : target_need(g->n, g->n->anchors.sched, "schedulers", err);
	rc = rc ? rc : diagnose_processes_open(g, err);
	rc = rc ? rc : diagnose_schedulers_open(g, err);
	rc = rc ? rc : vm_totals_open(&s->totals_reader, g->n, err);
	if (!rc && g->n->anchors.port_tab)
		id_format_read(&s->ports, g->n->mem, &g->n->layout, g->n->anchors.port_tab,
			       g->n->identity.otp);
	return rc;
}

static void close_all(struct sampling *s)
{
	struct diagnose *g = s->g;

	vm_totals_close(s->totals_reader);
	vm_totals_free(&s->totals);
	vec_free(&s->tables);
	vec_free(&s->busy);
	diagnose_schedulers_close(g);
	diagnose_processes_close(g);
	diagnosis_free(&g->d);
	host_cpu_free(g->host);
	arena_free(&g->texts);
}

static int diagnose(struct sampling *s, const struct command_context *ctx, struct render *r,
		    struct error *err)
{
	uint64_t duration_ns = ctx->opt.duration_ns ? ctx->opt.duration_ns : DURATION_NS;
	struct findings findings;
	int rc = open_all(s, ctx, err);

	if (rc)
		return rc;
	rc = s->g->n->core ? sample(s, err) : sample_live(s, duration_ns, err);
	rc = rc ? rc : finish(s, err);
	if (rc)
		return rc;
	findings_make(&findings, &s->g->d);
	rc = diagnose_show(ctx, s->g, r, &findings, err);
	findings_free(&findings);
	return rc;
}

int cmd_diagnose(struct command_context *ctx, struct error *err)
{
	struct options opt = ctx->opt;
	struct diagnose g = {0};
	struct sampling s = {.g = &g};
	struct render render;
	int rc;

	if (opt.duration_ns > DURATION_MAX)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-d: this command samples for 10 minutes at most");
	if (!opt.format && !opt.output && !opt.json)
		opt.format = "text";
	rc = render_choose(&render, ctx->command, &opt, err);
	if (rc)
		return rc;
	rc = diagnose(&s, ctx, &render, err);
	close_all(&s);
	render_free(&render);
	return target_close(g.n, rc, err);
}
