/* SPDX-License-Identifier: BSD-2-Clause */
/* See recording.h. */
#include "cmd/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "beam/atoms.h"
#include "beam/resolve.h"
#include "beam/sched.h"
#include "event/enrich.h"
#include "event/event.h"
#include "probe/session.h"

/* Samples can come faster than they are taken in: who waits for the end of them would never look at
 * a deadline or a signal again.  What waits is bounded by the rings, which count what they lose. */
#define DRAIN_MAX_NS 250000000u

struct recording {
	struct beam_node *node;
	unsigned int freq;
	struct beam_resolver *resolver;
	struct session *session;
	struct enrich *enrich;
	struct profile *profile;
	struct capture_writer *writer; /* borrowed; NULL = none */
	uint64_t start_epoch_ns, start_ns, first_sample_ns, end_ns;
	uint64_t refused;	    /* events that the profile did not take */
	VEC(uint64_t) by_thread;    /* samples, by thread id */
	struct proc_stat node_stat; /* at the start */
	double own_start_s;
};

static double own_cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* An atom's place in process dictionaries; all zero if the node does not have it. */
static struct dictionary_key key_of(struct beam_node *n, const char *atom)
{
	uint64_t term = beam_atom_find(n->atoms, atom);

	/* An atom hashes to its index there (erl_process_dict.c, MAKE_HASH). */
	return (struct dictionary_key){.term = term, .hash = term >> 6};
}

static void set_code(struct recording *r)
{
	struct address_range mappings[EBEAM_JIT_RANGES];
	struct session_code code = {
		.mappings = mappings,
		.normal_exit = jit_normal_exit(beam_resolver_jit(r->resolver)),
	};

	code.nr_mappings =
		beam_resolver_code_ranges(r->resolver, mappings, EBEAM_JIT_RANGES, &code.fragments);
	session_set_code(r->session, &code);
}

static int add_threads(struct recording *r, struct error *err)
{
	struct sched_thread *threads;
	int nr = sched_threads(r->node, &threads), rc = 0;

	/* Without the arrays (hidden symbols, no shape) samples in JIT code show the schedulers. */
	if (nr <= 0)
		log_info("schedulers will be learned from samples");
	for (int i = 0; i < nr && rc == 0; i++)
		rc = session_add_thread(r->session, threads[i].thread_pointer, &threads[i].info,
					err);
	free(threads);
	return rc;
}

/* Frame pointers are a property of the running node: of the JIT's own record (25 and later). */
static bool keeps_frame_pointers(struct recording *r)
{
	return jit_frame_pointers(beam_resolver_jit(r->resolver));
}

static int open_session(struct recording *r, struct error *err)
{
	struct session_config config = {
		.os_pid = r->node->os_pid,
		.freq = r->freq,
		.frame_pointers = keeps_frame_pointers(r),
		.jit_descriptor =
			r->node->anchors.jit_register ? r->node->anchors.jit_descriptor : 0,
		.initial_call = key_of(r->node, "$initial_call"),
		.process_label = key_of(r->node, "$process_label"),
		.layout = &r->node->layout,
	};

	return session_open(&r->session, &config, err);
}

static int watch_code(struct recording *r, struct error *err)
{
	struct beam_node *n = r->node;
	struct error why;
	uint64_t offset;

	if (!n->anchors.jit_register)
		return 0;
	offset = elf_file_offset_of(n->elf, n->anchors.jit_register - n->bias);
	if (offset != UINT64_MAX && session_watch_code(r->session, offset, &why) == 0) {
		/* Read again what was loaded since, and until the probe was there. */
		return beam_resolver_sync(r->resolver, err);
	}
	log_warn("ebeam: code that is loaded while recording will have no names: %s",
		 offset == UINT64_MAX ? "the place to watch is in no segment" : why.msg);
	return 0;
}

static void add_meta(struct recording *r, const struct beam_facts *facts)
{
	const struct beam_identity *id = &r->node->identity;
	char text[64];

	enrich_add_meta(r->enrich, "version", EBEAM_VERSION);
	enrich_add_meta(r->enrich, "command", "record");
	enrich_add_meta(r->enrich, "mode", "cpu");
	enrich_add_meta(r->enrich, "node", facts->name);
	snprintf(text, sizeof(text), "%d", r->node->os_pid);
	enrich_add_meta(r->enrich, "os_pid", text);
	enrich_add_meta(r->enrich, "otp", id->otp_text);
	enrich_add_meta(r->enrich, "erts", id->erts);
	enrich_add_meta(r->enrich, "flavor", id->jit ? "jit" : "emu");
	snprintf(text, sizeof(text), "%u", facts->schedulers);
	enrich_add_meta(r->enrich, "schedulers", text);
	snprintf(text, sizeof(text), "%u", r->freq);
	enrich_add_meta(r->enrich, "freq", text);
	enrich_add_meta(r->enrich, "start",
			units_format_time(r->start_epoch_ns, text, sizeof(text)));
	snprintf(text, sizeof(text), "%" PRIu64, r->start_epoch_ns);
	enrich_add_meta(r->enrich, "start_epoch_ns", text);
	snprintf(text, sizeof(text), "%" PRIu64, r->start_ns);
	enrich_add_meta(r->enrich, "start_ns", text);
	if (!r->node->anchors.jit_register)
		enrich_add_meta(r->enrich, "warnings",
				"code loaded while recording could not be watched");
}

int recording_start(struct recording **out, struct beam_node *n, unsigned int freq,
		    struct error *err)
{
	struct recording *r = xcalloc(1, sizeof(*r));
	struct beam_facts facts;
	struct error ignored;
	int rc;

	*out = NULL;
	r->node = n;
	r->freq = freq;
	rc = beam_node_facts(n, &facts, err);
	rc = rc ? rc : beam_resolver_open(&r->resolver, n, err);
	rc = rc ? rc : beam_resolver_sync(r->resolver, err);
	rc = rc ? rc : open_session(r, err);
	rc = rc ? rc : watch_code(r, err);
	rc = rc ? rc : add_threads(r, err);
	if (rc)
		goto out;
	set_code(r);
	enrich_open(&r->enrich, session_source(r->session), beam_resolver(r->resolver));
	profile_open(&r->profile);
	proc_stat_read(&r->node_stat, n->os_pid, &ignored);
	r->own_start_s = own_cpu_s();
	r->start_epoch_ns = clock_realtime_ns();
	r->start_ns = clock_monotonic_ns();
	add_meta(r, &facts);
	rc = session_start(r->session, err);
out:
	if (rc)
		recording_close(r);
	else
		*out = r;
	return rc;
}

void recording_close(struct recording *r)
{
	if (!r)
		return;
	enrich_close(r->enrich);
	session_close(r->session);
	beam_resolver_close(r->resolver);
	profile_close(r->profile);
	vec_free(&r->by_thread);
	free(r);
}

void recording_set_writer(struct recording *r, struct capture_writer *w)
{
	r->writer = w;
}

static void count_thread(struct recording *r, uint32_t thread, uint32_t weight)
{
	if (thread > EBEAM_THREADS * 4)
		return;
	while (r->by_thread.len <= thread)
		vec_push(&r->by_thread, 0);
	r->by_thread.data[thread] += weight;
}

static int take(struct recording *r, const struct rec_header *rec, struct error *err)
{
	struct event ev;

	if (event_decode(&ev, rec, rec->size) < 0 || profile_apply(r->profile, &ev) < 0)
		r->refused++;
	else if (ev.type == REC_SAMPLE) {
		if (!r->first_sample_ns)
			r->first_sample_ns = ev.ts_ns;
		count_thread(r, ev.u.sample.thread, ev.u.sample.weight);
	}
	return r->writer ? capture_writer_add(r->writer, rec, err) : 0;
}

/* Records between two looks at the clock. */
#define DRAIN_BATCH 64

static int drain_until(struct recording *r, uint64_t deadline_ns, struct error *err)
{
	struct source *s = enrich_source(r->enrich);
	const struct rec_header *rec;
	int rc;

	for (uint64_t n = 1; (rc = s->next(s, &rec, err)) == 1; n++) {
		rc = take(r, rec, err);
		if (rc)
			return rc;
		if (n % DRAIN_BATCH == 0 && clock_monotonic_ns() >= deadline_ns)
			break;
	}
	if (beam_resolver_ranges_changed(r->resolver))
		set_code(r);
	return rc < 0 ? rc : 0;
}

int recording_drain(struct recording *r, struct error *err)
{
	return drain_until(r, clock_monotonic_ns() + DRAIN_MAX_NS, err);
}

/* A scheduler that was not sampled was not on a CPU: the rest of its time it slept. */
static void add_idle(struct recording *r)
{
	uint64_t expected = (uint64_t)((double)(r->end_ns - r->start_ns) / 1e9 * r->freq);
	struct names *names = enrich_names(r->enrich);
	struct proc_thread *threads = NULL;
	struct error ignored;
	ssize_t nr = proc_threads_read(&threads, r->node->os_pid, &ignored);

	for (ssize_t i = 0; i < nr; i++) {
		uint32_t id = beam_resolver_thread(r->resolver, names, threads[i].os_tid);
		const struct name_thread *t = names_thread(names, id);
		uint64_t seen = id < r->by_thread.len ? r->by_thread.data[id] : 0;

		if (t && t->type != THREAD_OTHER && t->type != THREAD_UNKNOWN && seen < expected)
			enrich_add_state(r->enrich, id, "[idle]", SAMPLE_WAIT,
					 (uint32_t)(expected - seen), r->end_ns);
	}
	free(threads);
}

static void add_counters(struct recording *r)
{
	for (int id = 0; id < NR_COUNTERS; id++) {
		uint64_t value = session_counter(r->session, (enum counter_id)id);

		if (id == COUNTER_CODE_UNREADABLE)
			value = jit_unreadable(beam_resolver_jit(r->resolver));
		else if (id == COUNTER_NAMES_FULL)
			value = enrich_overflows(r->enrich);
		else if (id == COUNTER_BAD_RECORD)
			value = enrich_bad_records(r->enrich) + r->refused;
		if (value)
			enrich_add_counter(r->enrich, (enum counter_id)id, value, r->end_ns);
	}
}

int recording_finish(struct recording *r, struct error *err)
{
	char text[32];
	int rc;

	r->end_ns = clock_monotonic_ns();
	session_stop(r->session);
	rc = drain_until(r, UINT64_MAX, err);
	if (rc)
		return rc;
	add_idle(r);
	snprintf(text, sizeof(text), "%" PRIu64, r->end_ns - r->start_ns);
	enrich_add_meta(r->enrich, "duration_ns", text);
	add_counters(r);
	enrich_add_end(r->enrich, r->end_ns);
	return drain_until(r, UINT64_MAX, err);
}

struct profile *recording_profile(struct recording *r)
{
	return r->profile;
}

uint64_t recording_start_epoch_ns(const struct recording *r)
{
	return r->start_epoch_ns;
}

uint64_t recording_start_ns(const struct recording *r)
{
	return r->start_ns;
}

uint64_t recording_first_sample_ns(const struct recording *r)
{
	return r->first_sample_ns;
}

double recording_node_cost(struct recording *r, double *busy)
{
	uint64_t ns = session_counter(r->session, COUNTER_PROBE_NS);
	struct proc_stat now;
	struct error ignored;
	double busy_s;

	if (busy)
		*busy = 0;
	if (proc_stat_read(&now, r->node->os_pid, &ignored))
		return -1;
	busy_s = (double)(now.utime_ticks + now.stime_ticks - r->node_stat.utime_ticks -
			  r->node_stat.stime_ticks) /
		 (double)sysconf(_SC_CLK_TCK);
	if (busy)
		*busy = busy_s;
	return busy_s > 0 ? (double)ns / 1e9 / busy_s * 100 : -1;
}

double recording_own_cpu(struct recording *r)
{
	double wall = (double)(clock_monotonic_ns() - r->start_ns) / 1e9;

	return wall > 0 ? (own_cpu_s() - r->own_start_s) / wall * 100 : 0;
}

void recording_describe(const struct beam_node *n, unsigned int freq, FILE *out)
{
	/* 2 us: what a sample of 64 frames takes on common hosts; `tools/bench` measures it. */
	const double sample_us = 2.0;

	fprintf(out, "perf_event  cpu-clock, %u Hz on each CPU, samples of pid %d only\n", freq,
		n->os_pid);
	if (n->anchors.jit_register)
		fprintf(out, "uprobe      beam.smp+0x%" PRIx64 " (code loaded or unloaded)\n",
			n->anchors.jit_register - n->bias);
	fprintf(out,
		"predicted   %.3f %% of each CPU that the node keeps busy (%u samples/s of about "
		"%.0f us)\n",
		freq * sample_us / 1e4, freq, sample_us);
}
