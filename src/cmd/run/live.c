/* SPDX-License-Identifier: BSD-2-Clause */
/* See live.h. */
#include "cmd/run/live.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/code/literal_area.h"
#include "beam/process/process.h"
#include "beam/resolve/native_function.h"
#include "beam/sched/sched.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/vm/facts.h"
#include "beam/vm/ports.h"
#include "cmd/run/live_names.h"
#include "cmd/run/target.h"
#include "event/catalogue.h"
#include "event/unnamed.h"
#include "model/profile/snapshot.h"
#include "probe/limit/budget.h"
#include "probe/site/driver_sources.h"
#include "target/function_names.h"

static double own_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* The key of an atom in process dictionaries; all zero if the node does not have the atom. */
static struct dictionary_key key_of(struct beam_node *n, const char *atom)
{
	uint64_t term = beam_atom_find(n->atoms, atom);

	/* A dictionary hashes an atom to its index (erl_process_dict.c, MAKE_HASH). */
	return (struct dictionary_key){.term = term, .hash = term >> 6};
}

static void set_code(struct live *l)
{
	struct address_range mappings[EBEAM_JIT_RANGES];
	struct session_code code = {
		.mappings = mappings,
		.normal_exit = jit_normal_exit(beam_resolver_jit(l->resolver)),
		.thread_data = l->thread_data,
	};

	code.nr_mappings =
		beam_resolver_code_ranges(l->resolver, mappings, EBEAM_JIT_RANGES, &code.fragments);
	session_set_code(l->session, &code);
}

/* Only samples, and stacks of calls of malloc, have native frames. */
static bool has_native_frames(const struct live_config *c)
{
	return c->freq ||
	       (c->event_stacks && c->events && c->events->kinds >> EVENT_LIBC_ALLOC & 1);
}

static int add_threads(struct live *l, bool native, struct error *err)
{
	struct sched_thread *threads;
	int nr = sched_threads(l->node, &threads), rc = 0;

	/* The arrays of schedulers may not be found (hidden symbols, no shape).  Then samples in
	 * JIT code show which threads are schedulers. */
	if (nr <= 0)
		log_info("schedulers will be recognised by their samples");
	for (int i = 0; i < nr && rc == 0; i++)
		rc = session_add_thread(l->session, threads[i].thread_pointer, &threads[i].info,
					err);
	/* Records with native frames are held back until the names of functions are known: rings
	 * would overflow while a frame waits for its name. */
	if (native)
		live_names_start(l);
	if (nr > 0 && native)
		l->thread_data = beam_resolver_thread_data(l->resolver, threads[0].thread_pointer);
	free(threads);
	return rc;
}

/* Whether a node keeps frame pointers is known from the JIT's own record only (OTP 25 and later),
 * so false without a resolver. */
static bool keeps_frame_pointers(struct beam_resolver *resolver)
{
	return resolver && jit_frame_pointers(beam_resolver_jit(resolver));
}

/* Kinds whose programs look a process up by its pid: the owner of an alias. */
#define BY_PROCESSES (1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED)

/* How a process or port table makes ids of numbers: for the pids of events of USDT probes. */
static int read_ids(struct id_table *out, struct beam_node *n, raddr table, struct error *err)
{
	struct id_format f;
	int rc = -ENOENT;

	if (table)
		rc = id_format_read(&f, n->mem, &n->layout, table, n->identity.otp);
	if (rc == 0)
		rc = mem_read_u64(n->mem, table + (raddr)n->layout.ptab_tab, &out->slots);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc,
				 "cannot read the tables of processes and ports of pid %d",
				 n->os_pid);
	out->pix_mask = f.pix_mask;
	out->cl_mask = f.cl_mask;
	out->cli_mask = f.cli_mask;
	out->cl_shift = f.cl_shift;
	out->cli_shift = f.cli_shift;
	out->whole_word = f.whole_word;
	out->number_bits = pid_number_bits(&f);
	return 0;
}

/* The port table is needed only by USDT probes, and by drivers to check that an address is a
 * port. */
static int read_tables(struct session_config *out, struct beam_node *n,
		       const struct source_plan *plan, struct error *err)
{
	bool ports = plan->usdt_kinds || plan->kinds & driver_source_kinds();
	int rc = 0;

	if (ports || plan->kinds & BY_PROCESSES)
		rc = read_ids(&out->processes, n, n->anchors.proc_tab, err);
	if (rc == 0 && ports)
		rc = read_ids(&out->ports, n, n->anchors.port_tab, err);
	return rc;
}

int live_session_config(struct session_config *out, struct beam_node *n,
			struct beam_resolver *resolver, const struct live_config *asked,
			struct error *err)
{
	*out = (struct session_config){
		.os_pid = n->os_pid,
		.exe = n->exe,
		.freq = asked->freq,
		.off_cpu = asked->off_cpu,
		.futexes = asked->futexes,
		.frame_pointers = keeps_frame_pointers(resolver),
		.jit_descriptor =
			resolver && n->anchors.jit_register ? n->anchors.jit_descriptor : 0,
		.literal_area = asked->freq ? literal_area_find(n) : 0,
		.initial_call = key_of(n, "$initial_call"),
		.process_label = key_of(n, "$process_label"),
		.layout = &n->layout,
		.events = asked->events,
		.elf = n->elf,
		.mem = n->mem,
		.bias = n->bias,
		.event_epid = asked->event_epid,
		.event_who = asked->event_who,
		.message_from = asked->message_from,
		.message_to = asked->message_to,
		.proc_lib = beam_atom_find(n->atoms, "proc_lib"),
		.event_stacks = asked->event_stacks,
		.libc_every = asked->libc_every,
		.libc_frees = asked->libc_frees,
		.unnamed = asked->unnamed,
		.counting = asked->counting,
		.count_sums = asked->count_sums,
		.inet_received = ports_inet_received(n),
		.attach_way = asked->opt->uprobes,
		.btf = asked->opt->btf,
		.force = asked->opt->force,
		.no_realtime = asked->opt->no_realtime,
		.max_overhead = asked->max_overhead,
		.rate = asked->rate,
		.gc_longer_than_ns = asked->gc_longer_than_ns,
		.longer_than_ns = asked->longer_than_ns,
		.calls = asked->calls != NULL,
		.calls_beside = asked->calls && asked->calls->beside,
		.call_stacks = asked->calls && asked->calls->stacks,
		.otp = (unsigned int)n->identity.otp,
		.c_stack = !n->identity.native_stack,
		.interpreted = !n->identity.jit,
		.call_words = asked->calls ? asked->calls->words : 0,
		.call_depth = asked->calls ? asked->calls->depth : 0,
	};
	return asked->events ? read_tables(out, n, asked->events, err) : 0;
}

static int open_session(struct live *l, const struct live_config *asked, struct error *err)
{
	struct session_config config;
	int rc = live_session_config(&config, l->node, l->resolver, asked, err);

	return rc ? rc : session_open(&l->session, &config, err);
}

static int watch_code(struct live *l, struct error *err)
{
	struct beam_node *n = l->node;
	struct error why;
	uint64_t offset;

	if (!n->anchors.jit_register)
		return 0;
	offset = elf_file_offset_of(n->elf, n->anchors.jit_register - n->bias);
	if (offset != UINT64_MAX && session_watch_code(l->session, offset, &why) == 0) {
		/* Code may have been loaded before the probe was attached. */
		return beam_resolver_sync(l->resolver, err);
	}
	log_warn("ebeam: code that is loaded while recording will have no names: %s",
		 offset == UINT64_MAX
			 ? "__jit_debug_register_code is in no segment of the executable"
			 : why.msg);
	return 0;
}

void live_begin(struct live *l)
{
	struct error ignored;

	proc_stat_read(&l->node_stat, l->node->os_pid, &ignored);
	l->own_start_s = own_cpu_s();
	l->start_epoch_ns = clock_realtime_ns();
	l->start_ns = clock_monotonic_ns();
}

int live_open(struct live *l, struct beam_node *n, const struct live_config *config,
	      struct error *err)
{
	int rc;

	memset(l, 0, sizeof(*l));
	l->node = n;
	rc = config->unnamed || config->counting ? 0 : beam_resolver_open(&l->resolver, n, err);
	if (rc == 0 && l->resolver)
		rc = beam_resolver_sync(l->resolver, err);
	rc = rc ? rc : open_session(l, config, err);
	if (rc == 0 && l->resolver)
		rc = watch_code(l, err);
	rc = rc ? rc : add_threads(l, l->resolver && has_native_frames(config), err);
	if (rc) {
		live_close(l);
		return rc;
	}
	if (l->resolver) {
		set_code(l);
		live_names_of_probes(n, config->events);
	}
	l->enrich = enrich_open(session_source(l->session),
				l->resolver ? beam_resolver(l->resolver) : unnamed_resolver());
	live_begin(l);
	return 0;
}

int live_open_memory(struct live *l, struct beam_node *n, struct error *err)
{
	int rc;

	memset(l, 0, sizeof(*l));
	l->node = n;
	rc = beam_resolver_open(&l->resolver, n, err);
	rc = rc ? rc : beam_resolver_sync(l->resolver, err);
	if (rc) {
		live_close(l);
		return rc;
	}
	l->enrich = enrich_open(NULL, beam_resolver(l->resolver));
	live_begin(l);
	return 0;
}

void live_close(struct live *l)
{
	enrich_close(l->enrich);
	sched_watch_close(l->schedulers);
	slice_watch_close(l->slices);
	session_close(l->session);
	beam_resolver_close(l->resolver);
	strbuf_free(&l->warnings);
	memset(l, 0, sizeof(*l));
}

static const char interpreter_note[] =
	"the node interprets its code: the Erlang stack of a sample is the one that its process "
	"had when it last stopped";

int live_add_meta(struct live *l, const char *command, const char *mode, unsigned int freq,
		  struct error *err)
{
	const struct beam_identity *id = &l->node->identity;
	struct beam_facts facts;
	char text[64], untested[TARGET_UNTESTED_SIZE];
	int rc = beam_node_facts(l->node, &facts, err);

	if (rc)
		return rc;
	enrich_add_meta(l->enrich, "version", EBEAM_VERSION);
	enrich_add_meta(l->enrich, "command", command);
	enrich_add_meta(l->enrich, "mode", mode);
	enrich_add_meta(l->enrich, "node", facts.name);
	snprintf(text, sizeof(text), "%d", l->node->os_pid);
	enrich_add_meta(l->enrich, "os_pid", text);
	enrich_add_meta(l->enrich, "otp", id->otp_text);
	enrich_add_meta(l->enrich, "erts", id->erts);
	enrich_add_meta(l->enrich, "flavor", beam_flavor(id));
	snprintf(text, sizeof(text), "%u", facts.schedulers);
	enrich_add_meta(l->enrich, "schedulers", text);
	if (freq) {
		snprintf(text, sizeof(text), "%u", freq);
		enrich_add_meta(l->enrich, "freq", text);
	}
	enrich_add_meta(l->enrich, "start",
			units_format_time(l->start_epoch_ns, text, sizeof(text)));
	snprintf(text, sizeof(text), "%" PRIu64, l->start_epoch_ns);
	enrich_add_meta(l->enrich, "start_epoch_ns", text);
	snprintf(text, sizeof(text), "%" PRIu64, l->start_ns);
	enrich_add_meta(l->enrich, "start_ns", text);
	if (freq && !id->jit) {
		log_warn("ebeam: %s", interpreter_note);
		live_add_warning(l, interpreter_note);
	}
	if (l->node->untested[0]) {
		enrich_add_meta(l->enrich, "untested", l->node->untested);
		live_add_warning(l, target_untested(l->node, untested, sizeof(untested)));
	}
	if (l->session && !l->node->anchors.jit_register)
		live_add_warning(l, "code loaded while recording could not be watched");
	return 0;
}

void live_add_warning(struct live *l, const char *text)
{
	strbuf_addf(&l->warnings, "%s%s", l->warnings.len ? "\n" : "", text);
	enrich_add_meta(l->enrich, "warnings", l->warnings.buf);
}

/* "n1+ n2- c1-": type and number of a scheduler; + = it runs a process or port. */
static void add_schedulers(struct live *l)
{
	static const char types[] = {
		[THREAD_NORMAL] = 'n', [THREAD_DIRTY_CPU] = 'c', [THREAD_DIRTY_IO] = 'i'};
	struct strbuf text = STRBUF_INIT;
	struct sched_thread *threads;
	int nr = sched_threads(l->node, &threads);
	bool stopped;

	/* Schedulers of a node stopped by SIGSTOP may have a process and do not run it: they are
	 * left out. */
	stopped = proc_is_stopped(l->node->os_pid);
	for (int i = 0; i < nr && !stopped; i++) {
		int busy = sched_is_busy(l->node, &threads[i].info);

		if (busy >= 0)
			strbuf_addf(&text, "%c%u%c ", types[threads[i].info.type],
				    threads[i].info.scheduler, busy ? '+' : '-');
	}
	enrich_add_meta(l->enrich, "schedulers_busy", text.buf);
	strbuf_free(&text);
	if (nr > 0)
		free(threads);
}

static void add_kinds(struct live *l, const char *key, uint64_t kinds)
{
	struct strbuf text = STRBUF_INIT;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1)
			strbuf_addf(&text, "%s ", event_rows[kind].name);
	}
	enrich_add_meta(l->enrich, key, text.buf);
	strbuf_free(&text);
}

void live_add_watching(struct live *l, uint64_t kinds, uint64_t unprobed)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, clock_monotonic_ns());
	enrich_add_meta(l->enrich, "watching_ns", text);
	add_kinds(l, "watched", kinds);
	if (unprobed)
		add_kinds(l, "unprobed", unprobed);
	add_schedulers(l);
}

int live_watch_schedulers(struct live *l, const struct options *opt, bool work, bool gc,
			  struct error *err)
{
	enum sched_watch_how how = work ? opt->schedulers
				   : gc ? SCHED_WATCH_SAMPLES
					: SCHED_WATCH_THREADS;

	l->schedulers_ns = clock_monotonic_ns();
	return sched_watch_open(&l->schedulers, l->node, how, gc, !opt->no_realtime, err);
}

void live_add_schedulers(struct live *l, bool now)
{
	uint64_t now_ns = clock_monotonic_ns();
	const struct sched_span *spans;
	uint32_t nr;

	if (!l->schedulers ||
	    (!now && now_ns - l->schedulers_ns < sched_watch_span_ns(l->schedulers)))
		return;
	l->schedulers_ns = now_ns;
	nr = sched_watch_cut(l->schedulers, &spans);
	for (uint32_t i = 0; i < nr; i++) {
		const struct rec_scheduler rec = {
			.h.ts_ns = spans[i].end_ns,
			.type = spans[i].type,
			.number = spans[i].number,
			.duration_ns = spans[i].duration_ns,
			.working_ns = spans[i].working_ns,
			.on_cpu_ns = spans[i].on_cpu_ns,
			.cpu_wait_ns = spans[i].cpu_wait_ns,
			.samples = spans[i].samples,
			.working = spans[i].working,
			.process = spans[i].process,
			.port = spans[i].port,
			.gc_samples = spans[i].gc_samples,
			.gc = spans[i].gc,
			.offline = spans[i].offline,
		};

		enrich_add_scheduler(l->enrich, &rec);
	}
}

void live_end_schedulers(struct live *l)
{
	live_add_schedulers(l, true);
	sched_watch_close(l->schedulers);
	l->schedulers = NULL;
}

/* ---- what lasts long ------------------------------------------------------------------------- */

bool live_sees_slices(const struct beam_node *n)
{
	return n->anchors.sched && n->identity.jit;
}

int live_watch_slices(struct live *l, const struct slice_watch_config *config, struct error *err)
{
	struct address_range mappings[EBEAM_JIT_RANGES];
	struct running_code code = {.otp = l->node->identity.otp,
				    .c_stack = !l->node->identity.native_stack};
	size_t nr =
		beam_resolver_code_ranges(l->resolver, mappings, EBEAM_JIT_RANGES, &code.fragments);

	if (nr)
		code.hull = mappings[0];
	for (size_t i = 1; i < nr; i++) {
		code.hull.start = MIN(code.hull.start, mappings[i].start);
		code.hull.end = MAX(code.hull.end, mappings[i].end);
	}
	l->slices_ns = config->longer_than_ns;
	return slice_watch_open(&l->slices, l->node, &code, config, err);
}

/* Reads the names of the process of a slice that has ended; mostly the process still exists. */
static void add_process(struct live *l, uint64_t epid)
{
	struct process_facts facts;

	if (epid && process_read(l->node, epid, PROCESS_READ_DICTIONARY, &facts) == 0)
		beam_resolver_process(l->resolver, enrich_names(l->enrich), &facts);
}

static uint32_t name_text(struct live *l, const char *text)
{
	size_t len = strlen(text);

	return len ? names_intern_string(enrich_names(l->enrich), text, len, NULL) : 0;
}

/* Appends driver and name of the port, the last two fields of long_schedule. */
static void name_port(struct live *l, struct rec_raw_event *ev, const struct running_port *port)
{
	ev->values[ev->nr_values++] = name_text(l, port->driver);
	ev->values[ev->nr_values++] = name_text(l, port->name);
}

void live_add_slices(struct live *l)
{
	struct error ignored;
	struct long_slice s;
	bool synced = l->session; /* the probe of watch_code() keeps the resolver up to date */

	while (l->slices && slice_watch_next(l->slices, &s)) {
		if (!synced && beam_resolver_sync(l->resolver, &ignored))
			log_debug("what code is loaded cannot be read: %s", ignored.msg);
		synced = true;
		if (s.stack) {
			add_process(l, s.stack->epid);
			enrich_add_raw(l->enrich, &s.stack->h);
		}
		if (s.port)
			name_port(l, s.event, s.port);
		enrich_add_raw(l->enrich, &s.event->h);
		slice_watch_free(&s);
	}
}

void live_end_slices(struct live *l)
{
	uint64_t gap_ns;
	char gap[32], least[32];

	if (!l->slices)
		return;
	slice_watch_end(l->slices);
	live_add_slices(l);
	gap_ns = slice_watch_longest_gap(l->slices);
	l->slices_least_ns = MAX(2 * gap_ns, SLICE_WATCH_LEAST_NS);
	if (2 * gap_ns > l->slices_ns)
		log_warn("ebeam: two samples of the schedulers were %s apart: what took less than "
			 "%s may be missing",
			 units_format_ns(gap_ns, gap, sizeof(gap)),
			 units_format_ns(2 * gap_ns, least, sizeof(least)));
	slice_watch_close(l->slices);
	l->slices = NULL;
}

static void update(struct live *l)
{
	if (!l->session)
		return;
	if (l->resolver && beam_resolver_ranges_changed(l->resolver))
		set_code(l);
	session_update(l->session);
}

void live_stop(struct live *l)
{
	live_names_wait(l);
	session_stop(l->session);
}

int live_drain(struct live *l, uint64_t max_ns, const struct source_consumer *consumer,
	       struct error *err)
{
	int rc;

	live_names_update(l);
	rc = source_drain(enrich_source(l->enrich), max_ns, consumer, err);
	update(l);
	return rc;
}

uint64_t live_counter(struct live *l, enum counter_id id)
{
	switch (id) {
	case COUNTER_CODE_UNREADABLE:
		return l->resolver ? jit_unreadable(beam_resolver_jit(l->resolver)) : 0;
	case COUNTER_NAMES_FULL:
		return enrich_overflows(l->enrich);
	case COUNTER_BAD_RECORD:
		return enrich_bad_records(l->enrich);
	default:
		return l->session ? session_counter(l->session, id) : 0;
	}
}

void live_add_counters(struct live *l, uint64_t refused, uint64_t end_ns)
{
	for (int id = 0; id < NR_COUNTERS; id++) {
		uint64_t value = live_counter(l, (enum counter_id)id);

		if (id == COUNTER_BAD_RECORD)
			value += refused;
		if (value)
			enrich_add_counter(l->enrich, (enum counter_id)id, value, end_ns);
	}
}

void live_add_end(struct live *l, uint64_t refused, uint64_t end_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, end_ns - l->start_ns);
	enrich_add_meta(l->enrich, "duration_ns", text);
	live_names_add_build_ids(l);
	live_add_counters(l, refused, end_ns);
	enrich_add_end(l->enrich, end_ns);
}

bool live_sample_clocks(struct live *l, struct sample_clocks *out)
{
	struct proc_stat now;
	struct error ignored;
	double busy_s;

	if (proc_stat_read(&now, l->node->os_pid, &ignored))
		return false;
	busy_s = (double)(now.utime_ticks + now.stime_ticks - l->node_stat.utime_ticks -
			  l->node_stat.stime_ticks) /
		 (double)sysconf(_SC_CLK_TCK);
	out->spent_ns = (double)session_counter(l->session, COUNTER_PROBE_NS);
	/* The kernel counts programs of samples, which run in interrupts, as CPU time of the
	 * node. */
	out->own_ns = busy_s * 1e9 - out->spent_ns;
	out->wall_ns = (double)(clock_monotonic_ns() - l->start_ns);
	return true;
}

void live_sample_cost(struct live *l, struct live_cost *out)
{
	struct sample_clocks c;

	*out = (struct live_cost){.percent = NAN};
	if (live_sample_clocks(l, &c))
		out->percent = budget_share(c.spent_ns, c.own_ns, c.wall_ns, &out->of_core);
}

void live_sample_less(struct live *l, unsigned int weight)
{
	enrich_set_weight(l->enrich, weight, session_sample_less(l->session, weight));
}

void live_event_cost(struct live *l, struct live_cost *out)
{
	double wall_ns = (double)(clock_monotonic_ns() - l->start_ns);
	struct controller_cost cost;

	*out = (struct live_cost){.percent = NAN};
	if (session_event_cost(l->session, &cost, NULL))
		out->percent = budget_share((double)cost.spent_ns, (double)cost.own_ns, wall_ns,
					    &out->of_core);
}

void live_cost_add(const struct live_cost *cost, struct strbuf *out)
{
	if (!isnan(cost->percent))
		strbuf_addf(out, "  cost to the node ~%.2f%% of %s", cost->percent,
			    cost->of_core ? "a core" : "its own CPU");
}

double live_own_cpu(struct live *l)
{
	double wall = (double)(clock_monotonic_ns() - l->start_ns) / 1e9;

	return wall > 0 ? (own_cpu_s() - l->own_start_s) / wall * 100 : 0;
}
