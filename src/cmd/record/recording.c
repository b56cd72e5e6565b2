/* SPDX-License-Identifier: BSD-2-Clause */
/* See recording.h. */
#include "cmd/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/vec.h"
#include "beam/resolve/process_watch.h"
#include "cmd/run/live.h"
#include "event/event.h"
#include "model/profile/snapshot.h"
#include "probe/limit/record_windows.h"

/* Stacks of one in so many times off CPUs are copied at least, of those that were at first. */
#define OFF_CPU_MOST_LESS 16

struct recording {
	struct live live;
	const struct weight_mode *mode; /* reads memory, or times off CPUs; NULL: samples of CPUs */
	struct process_watch *watch;	/* samples processes in memory, for `mode` */
	/* For each kind of samples, and last for all kinds of the mode: processes in the last
	 * sample, and the variance of the sum of their time, in ns^2. */
	struct {
		uint64_t taken;
		double variance;
	} sums[NR_SAMPLE_KINDS + 1];
	uint64_t taken_ns; /* time of the last sample of processes */
	unsigned int freq;
	struct sample_limit limit;
	struct sample_limit raised;    /* as the limit was when fewer were taken last */
	struct record_windows windows; /* of locks */
	struct sample_clocks clocks;   /* as they were read last */
	/* The window whose records are drained, from resumed_ns to paused_ns; what is not out yet
	 * still stands for `stands_for`.  paused_ns: 0 = all is out. */
	double stands_for;
	uint64_t resumed_ns, paused_ns;
	struct profile *profile;
	struct capture_writer *writer;	  /* borrowed; NULL = none */
	struct timeline_output *timeline; /* likewise */
	struct event_stream stream;	  /* for the time line */
	struct off_cpu_sums off;	  /* of all threads */
	uint64_t first_sample_ns, end_ns;
	uint64_t by_kind[NR_SAMPLE_KINDS]; /* weights of samples */
	uint64_t refused;		   /* records that the profile rejected */
	VEC(uint64_t) by_thread;	   /* number of samples; index = thread id in names */
};

static void add_spell(void *arg, const struct rec_sample *sample, uint64_t ns, uint64_t end_ns)
{
	struct recording *r = arg;

	/* Time before start_ns does not count: the first sample, taken before it, may take long. */
	if (end_ns > r->live.start_ns && weight_mode_takes(r->mode, (enum sample_kind)sample->kind))
		enrich_add_sample(r->live.enrich, sample, MIN(ns, end_ns - r->live.start_ns),
				  end_ns);
}

/*
 * One sample at a random moment of each period is a stratified sample of how many processes are in
 * the states of the mode.  The variance of the sum is estimated from the differences between
 * consecutive samples (collapsed strata), and likewise for each state.
 */
static void add_variance(struct recording *r, uint64_t at_ns)
{
	const struct process_watch_counts *c = process_watch_counts(r->watch);
	double span = (double)(at_ns - r->taken_ns) * c->every;
	uint64_t all = 0;

	for (int kind = 0; kind <= NR_SAMPLE_KINDS; kind++) {
		uint64_t taken = kind == NR_SAMPLE_KINDS ? all : c->by_kind[kind];
		double off = ((double)taken - (double)r->sums[kind].taken) * span;

		if (kind < NR_SAMPLE_KINDS && !weight_mode_takes(r->mode, (enum sample_kind)kind))
			continue;
		all += taken;
		if (r->taken_ns)
			r->sums[kind].variance += off * off / 2;
		r->sums[kind].taken = taken;
	}
	r->taken_ns = at_ns;
}

static void add_margin(struct recording *r, const char *key, double variance)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", NORMAL_95 * sqrt(variance));
	enrich_add_meta(r->live.enrich, key, text);
}

static void add_margins(struct recording *r)
{
	struct strbuf key = STRBUF_INIT;

	add_margin(r, "margin_of_error", r->sums[NR_SAMPLE_KINDS].variance);
	for (int kind = 0; kind < NR_SAMPLE_KINDS; kind++) {
		if (!r->sums[kind].taken && r->sums[kind].variance <= 0)
			continue; /* no process was seen in that state */
		strbuf_reset(&key);
		snapshot_add_margin_key(&key, (enum sample_kind)kind);
		add_margin(r, key.buf, r->sums[kind].variance);
	}
	strbuf_free(&key);
}

static int sample_processes(struct recording *r, struct error *err)
{
	uint64_t at_ns = clock_monotonic_ns();
	int rc = process_watch_sample(r->watch, at_ns, err);

	if (rc == 0)
		add_variance(r, at_ns);
	return rc;
}

static int watch_processes(struct recording *r, struct error *err)
{
	struct live *l = &r->live;
	int rc = process_watch_open(&r->watch, l->node, l->resolver, enrich_names(l->enrich),
				    add_spell, r, err);

	if (rc)
		return rc;
	rc = sample_processes(r, err);
	live_begin(l);
	if (rc == 0)
		log_info("first sample of %u processes: %.0f ms",
			 process_watch_counts(r->watch)->processes,
			 (double)(l->start_ns - r->taken_ns) / 1e6);
	return rc;
}

static int add_meta(struct recording *r, const struct options *opt, struct error *err)
{
	const struct weight_mode *mode = r->mode;
	/* Times off CPUs are of no frequency. */
	unsigned int freq = weight_mode_is_off_cpu(mode) ? 0 : opt->freq;
	int rc = live_add_meta(&r->live, "record", mode ? mode->name : "cpu", freq, err);

	if (rc == 0 && mode) {
		enrich_add_meta(r->live.enrich, "unit", mode->unit);
		enrich_add_meta(r->live.enrich, "title", mode->title);
	}
	return rc;
}

int recording_start(struct recording **out, struct beam_node *n, const struct options *opt,
		    const struct weight_mode *mode, struct error *err)
{
	struct recording *r = xcalloc(1, sizeof(*r));
	bool off_cpu = weight_mode_is_off_cpu(mode);
	struct live_config config = {.opt = opt,
				     .freq = opt->freq,
				     .off_cpu = off_cpu,
				     .futexes = off_cpu && mode->source == WEIGHT_LOCKS};
	int rc;

	*out = NULL;
	r->freq = opt->freq;
	/* Beyond that less copying saves nothing: what is left is the cost of each switch. */
	sample_limit_init(&r->limit, opt->max_overhead, off_cpu ? OFF_CPU_MOST_LESS : opt->freq);
	record_windows_init(&r->windows, opt->max_overhead, (double)opt->duration_ns,
			    clock_monotonic_ns() | 1);
	rc = mode && !off_cpu ? live_open_memory(&r->live, n, err)
			      : live_open(&r->live, n, &config, err);
	if (rc) {
		free(r);
		return rc;
	}
	r->profile = profile_open();
	r->mode = mode;
	if (mode && !off_cpu)
		rc = watch_processes(r, err);
	rc = rc ? rc : add_meta(r, opt, err);
	if (rc == 0 && r->live.session)
		rc = session_start(r->live.session, err);
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
	process_watch_close(r->watch);
	live_close(&r->live);
	profile_close(r->profile);
	event_stream_close(&r->stream);
	vec_free(&r->by_thread);
	free(r);
}

void recording_set_writer(struct recording *r, struct capture_writer *w)
{
	r->writer = w;
}

struct event_stream *recording_stream(struct recording *r)
{
	event_stream_open(&r->stream);
	return &r->stream;
}

void recording_set_timeline(struct recording *r, struct timeline_output *t)
{
	r->timeline = t;
}

static void count_thread(struct recording *r, uint32_t thread, uint64_t weight)
{
	if (thread > EBEAM_THREADS * 4)
		return;
	while (r->by_thread.len <= thread)
		vec_push(&r->by_thread, 0);
	r->by_thread.data[thread] += weight;
}

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct recording *r = arg;
	struct event ev;

	if (event_decode(&ev, rec, rec->size) < 0 || profile_apply(r->profile, &ev) < 0)
		r->refused++;
	else if (ev.type == REC_SAMPLE) {
		if (!r->first_sample_ns)
			r->first_sample_ns = ev.ts_ns;
		count_thread(r, ev.u.sample.thread, ev.u.sample.weight);
		r->by_kind[ev.u.sample.kind] += ev.u.sample.weight;
	}
	if (r->timeline)
		timeline_output_take(r->timeline, &r->stream, rec);
	return r->writer ? capture_writer_add(r->writer, rec, err) : 0;
}

static int drain(struct recording *r, uint64_t max_ns, struct error *err)
{
	const struct source_consumer consumer = {.take = take, .arg = r};
	int rc = live_drain(&r->live, max_ns, &consumer, err);

	return rc < 0 ? rc : 0;
}

static bool read_clocks(struct recording *r)
{
	if (live_sample_clocks(&r->live, &r->clocks))
		return true;
	/* The node has exited, which ends the window under way. */
	r->clocks.wall_ns = (double)(clock_monotonic_ns() - r->live.start_ns);
	return false;
}

/* Records wait in the source for older ones, up to some time: those of the window come with this
 * call, and with further ones. */
static int drain_window(struct recording *r, struct recording_window *out, struct error *err)
{
	int rc;

	/* Set before the drain, as the consumer of the records reads it. */
	*out = (struct recording_window){.stands_for = r->stands_for, .begin_ns = r->resumed_ns};
	rc = drain(r, SOURCE_DRAIN_ALL, err);
	out->ended = session_released(r->live.session) > r->paused_ns;
	if (out->ended)
		r->paused_ns = 0;
	return rc;
}

static int pause_window(struct recording *r, struct recording_window *out, struct error *err)
{
	session_off_cpu_pause(r->live.session);
	r->stands_for = r->windows.stands_for;
	r->paused_ns = clock_monotonic_ns();
	return drain_window(r, out, err);
}

static int resume_window(struct recording *r, struct error *err)
{
	uint64_t before_ns = clock_monotonic_ns();
	int rc = session_off_cpu_resume(r->live.session);

	r->resumed_ns = clock_monotonic_ns();
	r->windows.window_ns += (double)(r->resumed_ns - before_ns);
	return rc ? error_set(err, ERROR_KIND_FAILED, rc,
			      "programs of the scheduler's tracepoints cannot be placed again: %s",
			      error_text(-rc))
		  : 0;
}

int recording_drain_windows(struct recording *r, uint64_t step_ns, struct recording_window *out,
			    struct error *err)
{
	struct record_windows *w = &r->windows;
	bool lives = read_clocks(r); /* else the loop will see that the node has exited */

	*out = (struct recording_window){.stands_for = 1, .begin_ns = r->resumed_ns};
	if (r->paused_ns)
		return drain_window(r, out, err);
	if (!step_ns && w->begun && record_windows_end(w, &r->clocks))
		return pause_window(r, out, err);
	if (step_ns && lives) {
		switch (record_windows_step(w, &r->clocks, (double)step_ns)) {
		case RECORD_WINDOWS_PAUSE:
			return pause_window(r, out, err);
		case RECORD_WINDOWS_RESUME:
			return resume_window(r, err);
		case RECORD_WINDOWS_KEEP:
			break;
		}
	}
	/* What a window has recorded waits for its end, by which it is known what it stands for. */
	return w->begun && !w->paused ? 0 : drain(r, SOURCE_DRAIN_NS, err);
}

uint64_t recording_windows_ns(const struct recording *r)
{
	return r->windows.begun ? (uint64_t)r->windows.covered_ns : 0;
}

int recording_drain(struct recording *r, struct error *err)
{
	int rc = r->watch ? sample_processes(r, err) : 0;

	if (rc == -ESRCH) /* the loop will see that the node has exited */
		rc = 0;
	return rc ? rc : drain(r, SOURCE_DRAIN_NS, err);
}

/* Adds idle time: the perf event samples only running threads, so the samples that a scheduler
 * lacks are time in which it slept. */
static void add_idle(struct recording *r)
{
	uint64_t expected = (uint64_t)((double)(r->end_ns - r->live.start_ns) / 1e9 * r->freq);
	struct names *names = enrich_names(r->live.enrich);
	struct proc_thread *threads = NULL;
	struct error ignored;
	ssize_t nr = proc_threads_read(&threads, r->live.node->os_pid, &ignored);

	for (ssize_t i = 0; i < nr; i++) {
		uint32_t id = beam_resolver_thread(r->live.resolver, names, threads[i].os_tid);
		const struct name_thread *t = names_thread(names, id);
		uint64_t seen = id < r->by_thread.len ? r->by_thread.data[id] : 0;

		if (t && t->type != THREAD_OTHER && t->type != THREAD_UNKNOWN && seen < expected)
			enrich_add_state(r->live.enrich, id, "[idle]", SAMPLE_WAIT, expected - seen,
					 r->end_ns);
	}
	free(threads);
}

/* Idle times of a thread, and those after which it had to wait for a CPU: they have no stacks. */
static void add_sums(void *arg, uint32_t os_tid, const struct off_cpu_sums *sums)
{
	struct recording *r = arg;
	struct names *names = enrich_names(r->live.enrich);
	uint32_t id = os_tid ? beam_resolver_thread(r->live.resolver, names, (int)os_tid) : 0;

	enrich_add_state(r->live.enrich, id, "[idle]", SAMPLE_WAIT, sums->idle_ns, r->end_ns);
	enrich_add_state(r->live.enrich, id, "[idle]", SAMPLE_OFF_WOKEN, sums->woken_ns, r->end_ns);
	r->off.blocked_ns += sums->blocked_ns;
	r->off.runnable_ns += sums->runnable_ns;
	r->off.times += sums->times;
	r->off.idle += sums->idle;
	r->off.copied += sums->copied;
}

static void add_number(struct recording *r, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	enrich_add_meta(r->live.enrich, key, text);
}

/* What was done to keep within --max-overhead. */
static void say_limit(struct recording *r)
{
	const struct sample_limit *l = &r->raised;
	struct strbuf text = STRBUF_INIT;

	if (l->weight <= 1)
		return;
	strbuf_addf(
		&text,
		"--max-overhead allows %.2f %% of %s: so of %" PRIu64 " times off CPUs %" PRIu64
		" were copied, and weighed for the others; that programs run at each switch of a "
		"thread cannot be saved (cost to the node, below)",
		l->allowed, l->of_core ? "a core" : "the node's own CPU", r->off.times,
		r->off.copied);
	live_add_warning(&r->live, text.buf);
	strbuf_free(&text);
}

/* What was done for the same of locks. */
static void say_windows(struct recording *r)
{
	const struct record_windows *w = &r->windows;
	struct strbuf text = STRBUF_INIT;

	if (!w->begun)
		return;
	strbuf_addf(&text,
		    "--max-overhead allows %.2f %% of %s: so waits were recorded in %u windows, "
		    "%.3g %% of the time, and count for the rest, too; "
		    "of waits that are longer than a window (%.0f ms) only a part of their time "
		    "is counted: --max-overhead 100 records all of the time",
		    w->limit.allowed, w->limit.of_core ? "a core" : "the node's own CPU", w->nr,
		    100 * w->on_ns / w->covered_ns,
		    MAX(record_windows_length(w), w->step_ns) / 1e6);
	live_add_warning(&r->live, text.buf);
	strbuf_free(&text);
}

/* Threads that found no room in the table of BPF programs. */
static void say_missing(struct recording *r)
{
	uint64_t missed = live_counter(&r->live, COUNTER_THREAD_TABLE_FULL);
	char text[160];

	if (!missed)
		return;
	snprintf(text, sizeof(text),
		 "the table of threads was full %" PRIu64
		 " times: threads without a place in it were not recorded",
		 missed);
	live_add_warning(&r->live, text);
}

static void add_off_cpu(struct recording *r)
{
	for (int kind = 0; kind <= NR_SAMPLE_KINDS; kind++) {
		double variance = enrich_variance(r->live.enrich, (enum sample_kind)kind);

		r->sums[kind].taken = variance > 0;
		r->sums[kind].variance = variance;
	}
	add_margins(r);
	session_off_cpu_sums(r->live.session, add_sums, r);
	add_number(r, "offcpu_blocked_ns", r->off.blocked_ns);
	add_number(r, "offcpu_runnable_ns", r->off.runnable_ns);
	add_number(r, "offcpu_times", r->off.times);
	add_number(r, "offcpu_copied", r->off.copied);
	say_limit(r);
	say_windows(r);
	say_missing(r);
}

int recording_finish(struct recording *r, struct error *err)
{
	int rc = 0;

	r->end_ns = clock_monotonic_ns();
	if (r->watch) {
		while (rc == 0 && process_watch_finish(r->watch, r->end_ns))
			rc = drain(r, SOURCE_DRAIN_ALL, err);
		process_watch_close(r->watch); /* it is large with a million processes */
		r->watch = NULL;
		add_margins(r);
	} else {
		live_stop(&r->live);
	}
	rc = rc ? rc : drain(r, SOURCE_DRAIN_ALL, err);
	if (rc)
		return rc;
	if (!r->mode)
		add_idle(r);
	else if (r->live.session)
		add_off_cpu(r);
	live_add_end(&r->live, r->refused, r->end_ns);
	return drain(r, SOURCE_DRAIN_ALL, err);
}

uint64_t recording_samples(const struct recording *r)
{
	return profile_samples(r->profile);
}

int recording_snapshot(struct recording *r, const struct snapshot_options *options,
		       struct snapshot **out, struct error *err)
{
	double own_start_s = r->live.own_start_s;
	uint64_t start_ns = r->live.start_ns;
	int rc;

	live_close(&r->live);
	r->live.own_start_s = own_start_s;
	r->live.start_ns = start_ns;
	rc = profile_snapshot(r->profile, options, out, err);
	profile_close(r->profile);
	r->profile = NULL;
	malloc_trim(0);
	return rc;
}

uint64_t recording_start_epoch_ns(const struct recording *r)
{
	return r->live.start_epoch_ns;
}

uint64_t recording_end_ns(const struct recording *r)
{
	return r->end_ns;
}

uint64_t recording_start_ns(const struct recording *r)
{
	return r->live.start_ns;
}

uint64_t recording_first_sample_ns(const struct recording *r)
{
	return r->first_sample_ns;
}

void recording_node_cost(struct recording *r, struct live_cost *out)
{
	if (!r->live.session)
		*out = (struct live_cost){.percent = NAN};
	else
		live_sample_cost(&r->live, out);
}

void recording_keep_limit(struct recording *r)
{
	struct sample_limit *l = &r->limit;
	struct sample_clocks clocks;
	struct strbuf text = {0};

	if (!r->live.session || !live_sample_clocks(&r->live, &clocks) ||
	    !sample_limit_step(l, &clocks))
		return;
	live_sample_less(&r->live, l->weight);
	r->raised = *l;
	if (r->mode)
		return; /* said at the end: add_off_cpu() */
	strbuf_addf(&text,
		    "samples cost %.2f %% of %s, and --max-overhead allows %.2f %%: "
		    "from second %.0f on they are taken at %.3g Hz, not at %u",
		    l->share, l->of_core ? "a core" : "the node's own CPU", l->allowed,
		    clocks.wall_ns / 1e9, (double)r->freq / l->weight, r->freq);
	log_warn("ebeam: %s", text.buf);
	live_add_warning(&r->live, text.buf);
	strbuf_free(&text);
}

void recording_on_off_cpu(struct recording *r, enrich_off_cpu_fn *fn, void *arg)
{
	enrich_on_off_cpu(r->live.enrich, fn, arg);
}

const struct names *recording_names(const struct recording *r)
{
	return enrich_names(r->live.enrich);
}

uint64_t recording_kind(const struct recording *r, enum sample_kind kind)
{
	return r->by_kind[kind];
}

uint64_t recording_counter(struct recording *r, enum counter_id id)
{
	return live_counter(&r->live, id);
}

const char *recording_warnings(const struct recording *r)
{
	return r->live.warnings.buf ? r->live.warnings.buf : "";
}

double recording_own_cpu(struct recording *r)
{
	return live_own_cpu(&r->live);
}

void recording_describe(const struct beam_node *n, unsigned int freq,
			const struct weight_mode *mode, FILE *out)
{
	/* 2 us: what a sample of 64 frames takes on common hosts; `tools/bench` measures it. */
	const double sample_us = 2.0;

	if (weight_mode_is_off_cpu(mode)) {
		fprintf(out,
			"tracepoint  sched_switch, sched_waking: BPF programs run at each switch "
			"and wake-up of all\n"
			"            threads of this host, but do nothing with those of others "
			"than pid %d\n"
			"predicted   0.3 us of each switch of its threads, and 5 us for each that "
			"is copied:\n"
			"            as many as --max-overhead allows\n",
			n->os_pid);
		return;
	}
	if (mode) {
		fprintf(out,
			"memory      processes of pid %d, %u times a second\n"
			"predicted   no probes: ebeam only reads the memory of the node\n",
			n->os_pid, freq);
		return;
	}
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
