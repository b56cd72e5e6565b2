/* SPDX-License-Identifier: BSD-2-Clause */
/* See slice_watch.h. */
#include "probe/watch/slice_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/sched/running.h"
#include "beam/sched/sched.h"

#define CPU_PART     0.03	/* CPU that sampling may use, part of a core */
#define PACE_SAMPLES 64		/* samples after which the period is chosen again */
#define FILES_KEPT   64		/* schedulers with an open file, normal ones first */
#define POSITION_NS  100000000u /* age of a span up to which is_due() wants its position */
#define MOST_HELD    4096	/* most results that wait for slice_watch_next() */

/* What a scheduler is in the middle of: a slice, a collection or a NIF. */
struct span {
	struct running_key key;	    /* .of: 0 = none, or not known */
	struct running_process was; /* as of the first sample; not for a port */
	struct running_port about;  /* for a port, once its stack was read */
	bool port;
	uint64_t before_ns;	      /* last sample before the span; 0 = none */
	uint64_t first_ns, last_ns;   /* first and last sample in the span */
	uint64_t taken_ns;	      /* when its stack was last read; 0 = not yet */
	struct running_call call;     /* at the first stack with this call */
	struct rec_raw_sample *stack; /* the stack that is kept (RUNNING_STACK_SIZE); NULL = none */
	bool has_stack;
};

struct watched {
	struct running_scheduler who;
	struct thread_files files;
	struct span spans[NR_RUNNING_SPANS];
};

struct slice_watch {
	struct beam_node *n;
	struct mem *mem; /* used by the thread alone */
	struct beam_layout layout;
	struct running_code code;
	struct running *running;
	struct slice_watch_config config;
	VEC(struct watched) all; /* by index in running_all() */
	struct rec_raw_sample *room;
	uint64_t random, sampled_ns;
	pthread_t thread;
	bool started;
	atomic_bool stop;
	_Atomic uint64_t gap_ns;
	pthread_mutex_t lock; /* protects what follows */
	VEC(struct long_slice) done;
	size_t nr_taken;
	uint64_t nr_lost;
};

/* ---- the stack of a span --------------------------------------------------------------------- */

static bool coin(struct slice_watch *w)
{
	return random_next(&w->random) >> 63;
}

static const struct running_one *now_at(const struct slice_watch *w, size_t at)
{
	uint32_t nr;

	return &running_all(w->running, &nr)[at];
}

static bool is_known(const struct running_one *one, int kind)
{
	return kind == RUNNING_SLICE ? one->known : one->parts_known;
}

/* Samples again: true if the scheduler is still in the same span. */
static bool is_same(struct slice_watch *w, size_t at, int kind)
{
	running_sample_some(w->running, at, 1);
	return is_known(now_at(w, at), kind) &&
	       running_is_same((enum running_span)kind, &w->all.data[at].spans[kind].key,
			       &now_at(w, at)->in[kind]);
}

/* True if the stack shows where in its code the process is. */
static bool shows_position(const struct span *s, const struct rec_raw_sample *stack)
{
	return s->port ? stack->user_ip != 0 : stack->place != PLACE_OTHER;
}

static bool has_position(const struct span *s)
{
	return s->has_stack && shows_position(s, s->stack);
}

/* A stack is due at the second sample, at all that follow until the position is known, and each
 * time that the age of the span has doubled. */
static bool is_due(const struct span *s, uint64_t now_ns)
{
	uint64_t age = now_ns - s->first_ns;

	return !s->taken_ns || age >= 2 * (s->taken_ns - s->first_ns) ||
	       (!has_position(s) && age < POSITION_NS);
}

/* In a collection or a NIF the process runs no Erlang code. */
static bool is_in_c(const struct running_one *one)
{
	return one->in[RUNNING_GC].of || one->in[RUNNING_NIF].of;
}

static bool read_stack(struct slice_watch *w, size_t at, const struct span *s, bool in_c,
		       struct running_call *call, struct running_port *about)
{
	const struct running_scheduler *who = &w->all.data[at].who;

	if (!s->port)
		return running_stack_read(w->room, call, w->mem, &w->layout, &w->code, w->n->os_pid,
					  who, s->key.of, in_c, s->taken_ns ? &s->call : NULL);
	*call = (struct running_call){0};
	running_port_read(w->running, s->key.of, about);
	return running_port_stack_read(w->room, w->n->os_pid, who, about->id);
}

/* Keeps one stack of the span: each new one replaces it with probability 1/2, so the later half
 * of a span is as likely as the earlier.  A stack with a known position is preferred to one
 * without. */
static void take_stack(struct slice_watch *w, size_t at, int kind, uint64_t now_ns)
{
	struct span *s = &w->all.data[at].spans[kind];
	struct rec_raw_sample *had = s->stack;
	struct running_port about;
	struct running_call call;
	bool has, in_c, was = has_position(s);

	if (!is_due(s, now_ns))
		return;
	if (!w->room)
		w->room = xmalloc(RUNNING_STACK_SIZE);
	in_c = is_in_c(now_at(w, at));
	if (!read_stack(w, at, s, in_c, &call, &about) || !is_same(w, at, kind) ||
	    is_in_c(now_at(w, at)) != in_c)
		return;
	if (!s->taken_ns || call.ra != s->call.ra || call.light_bif != s->call.light_bif)
		s->call = call;
	if (s->port)
		s->about = about;
	s->taken_ns = now_ns;
	has = shows_position(s, w->room);
	if (s->has_stack && (has == was ? !coin(w) : was))
		return;
	s->stack = w->room;
	s->has_stack = true;
	w->room = had;
}

/* ---- the end of a span ----------------------------------------------------------------------- */

/* A span that has ended, as it is reported. */
struct lasted {
	struct watched *of;
	struct span *span;
	uint64_t ns, end_ns;
	uint64_t error_ns; /* EVENT_UNKNOWN: it lasted longer, by an unknown time */
};

void slice_watch_free(struct long_slice *s)
{
	free(s->stack);
	free(s->event);
	free(s->port);
}

static void hold(struct slice_watch *w, struct long_slice *done)
{
	pthread_mutex_lock(&w->lock);
	if (w->done.len - w->nr_taken < MOST_HELD) {
		vec_push(&w->done, *done);
	} else {
		w->nr_lost++;
		slice_watch_free(done);
	}
	pthread_mutex_unlock(&w->lock);
}

static void report(struct slice_watch *w, const struct lasted *l, enum event_kind kind,
		   const uint64_t *values, uint16_t nr)
{
	struct long_slice done = {.event = xcalloc(1, sizeof(*done.event))};
	const struct span *s = l->span;
	struct rec_raw_event *ev = done.event;

	*ev = (struct rec_raw_event){
		.h = {.type = REC_RAW_EVENT, .size = sizeof(*ev), .ts_ns = l->end_ns},
		.os_tid = (uint32_t)l->of->who.os_tid,
		.kind = (uint16_t)kind,
		.nr_values = nr,
		.epid = s->was.epid,
	};
	memcpy(ev->values, values, nr * sizeof(*values));
	if (s->has_stack) {
		done.stack = xmalloc(s->stack->h.size);
		memcpy(done.stack, s->stack, s->stack->h.size);
		done.stack->h.ts_ns = l->end_ns;
		done.stack->flags |= RAW_SAMPLE_EVENT;
		ev->epid = done.stack->epid;
		ev->flags = RAW_EVENT_STACK | RAW_EVENT_BEFORE;
	}
	if (s->port) {
		done.port = xmalloc(sizeof(*done.port));
		*done.port = s->about;
	}
	hold(w, &done);
}

static bool is_wanted(const struct slice_watch *w, enum event_kind kind)
{
	return w->config.kinds >> kind & 1;
}

static void report_slice(struct slice_watch *w, const struct lasted *l)
{
	const uint64_t values[] = {l->ns, l->span->has_stack ? l->span->call.entry : 0,
				   EVENT_UNKNOWN, l->error_ns, l->span->about.id};

	/* Only a slice of a port has the fifth value, the port; report() adds the port's names. */
	if (is_wanted(w, EVENT_LONG_SCHEDULE))
		report(w, l, EVENT_LONG_SCHEDULE, values, l->span->port ? 5 : 4);
}

static void report_nif(struct slice_watch *w, const struct lasted *l)
{
	static const uint64_t none[3];
	const uint64_t *mfa = l->span->has_stack ? l->span->stack->current_mfa : none;
	const uint64_t values[] = {mfa[0], mfa[1], mfa[2], l->ns, l->error_ns};

	if (is_wanted(w, EVENT_NIF_RETURN))
		report(w, l, EVENT_NIF_RETURN, values, ARRAY_SIZE(values));
}

/*
 * Which type of collection it was, by what the process counted meanwhile: a minor collection adds 1
 * to gen_gcs, a major one sets it to 0.  EVENT_WORD_NONE: nothing was counted, so only literals
 * were collected, or the process was killed for the size of its heap.  `now` is NULL if the process
 * is gone.
 */
static enum event_word type_of(const struct running_process *was, const struct running_process *now,
			       bool normal)
{
	bool full = (was->flags & F_NEED_FULLSWEEP) || was->gen_gcs >= was->max_gen_gcs;

	if (!now)
		return full ? EVENT_WORD_MAJOR : EVENT_WORD_MINOR;
	if (now->gen_gcs != was->gen_gcs)
		return now->gen_gcs < was->gen_gcs ? EVENT_WORD_MAJOR : EVENT_WORD_MINOR;
	if (now->gen_gcs || (normal && now->collections == was->collections))
		return EVENT_WORD_NONE;
	return EVENT_WORD_MAJOR;
}

static void report_gc(struct slice_watch *w, size_t at, const struct lasted *l)
{
	static const struct running_process unknown = {.heap = EVENT_UNKNOWN,
						       .old_heap = EVENT_UNKNOWN};
	const struct running_one *one = now_at(w, at);
	const struct running_process *was = &l->span->was;
	bool normal = one->type == THREAD_NORMAL, is_there;
	struct running_process now;
	enum event_word type;
	enum event_kind kind;
	uint64_t reclaimed;

	is_there = running_process_read(w->running, one, l->span->key.of, was->epid, &now);
	type = type_of(was, is_there ? &now : NULL, normal);
	reclaimed = is_there && normal && now.collections == was->collections + 1
			    ? now.reclaimed - was->reclaimed
			    : EVENT_UNKNOWN;
	/* The next collection has begun already, so sizes are not those after this one. */
	if (!is_there || now.state & PSFLG_GC)
		now = unknown;
	kind = type == EVENT_WORD_MINOR ? EVENT_GC_MINOR_END : EVENT_GC_MAJOR_END;
	if (type != EVENT_WORD_NONE && is_wanted(w, kind))
		report(w, l, kind,
		       (const uint64_t[]){reclaimed, now.heap, now.old_heap, l->ns, l->error_ns},
		       5);
	if (is_wanted(w, EVENT_LONG_GC))
		report(w, l, EVENT_LONG_GC,
		       (const uint64_t[]){type, l->ns, was->heap, was->old_heap, now.heap,
					  now.old_heap, l->error_ns},
		       7);
}

/* Begin and end of a span are taken to be in the middle between a sample that saw it and one that
 * did not. */
static void end_span(struct slice_watch *w, size_t at, int kind, uint64_t next_ns)
{
	struct watched *of = &w->all.data[at];
	struct span *s = &of->spans[kind];
	uint64_t before_ns = s->before_ns ? s->before_ns : s->first_ns;
	struct lasted l = {.of = of, .span = s};
	bool whole = s->before_ns && next_ns > s->last_ns;
	uint64_t most_ns = next_ns - before_ns;

	l.end_ns = s->last_ns + (next_ns - s->last_ns) / 2;
	l.ns = l.end_ns - before_ns - (s->first_ns - before_ns) / 2;
	l.error_ns = whole ? most_ns - l.ns : EVENT_UNKNOWN;
	if (s->key.of && s->last_ns > s->first_ns &&
	    (whole && w->config.unsure ? most_ns : l.ns) >= w->config.longer_than_ns) {
		if (kind == RUNNING_NIF)
			report_nif(w, &l);
		else if (kind == RUNNING_GC)
			report_gc(w, at, &l);
		else
			report_slice(w, &l);
	}
	s->key.of = 0;
}

/* ---- sampling -------------------------------------------------------------------------------- */

static void take(struct slice_watch *w, size_t at, int kind, uint64_t now_ns)
{
	const struct running_one *one = now_at(w, at);
	struct span *s = &w->all.data[at].spans[kind];

	if (!is_known(one, kind))
		return;
	if (running_is_same((enum running_span)kind, &s->key, &one->in[kind])) {
		s->key = one->in[kind];
		s->last_ns = now_ns;
		return;
	}
	end_span(w, at, kind, now_ns);
	s->key = one->in[kind];
	s->was = one->process;
	s->port = one->port;
	s->before_ns = w->sampled_ns;
	s->first_ns = s->last_ns = now_ns;
	s->taken_ns = 0;
	s->has_stack = false;
	s->about.id = 0;
}

static void sample(struct slice_watch *w, uint64_t now_ns)
{
	uint64_t gap = w->sampled_ns ? now_ns - w->sampled_ns : 0;

	running_sample(w->running);
	/* The slice is the last kind, as a collection or NIF ends before the slice around it. */
	for (size_t i = 0; i < w->all.len; i++)
		for (int kind = NR_RUNNING_SPANS; kind-- > 0;)
			take(w, i, kind, now_ns);
	for (size_t i = 0; i < w->all.len; i++) {
		for (int kind = 0; kind < NR_RUNNING_SPANS; kind++) {
			const struct span *s = &w->all.data[i].spans[kind];

			if (s->key.of && s->last_ns == now_ns && s->first_ns < now_ns)
				take_stack(w, i, kind, now_ns);
		}
	}
	w->sampled_ns = now_ns;
	if (gap > atomic_load(&w->gap_ns))
		atomic_store(&w->gap_ns, gap);
}

static void *watch_main(void *arg)
{
	struct slice_watch *w = arg;
	uint64_t due = clock_monotonic_ns(), period = SLICE_WATCH_PERIOD_NS, cpu_ns, cost;
	int rc = w->config.realtime ? thread_come_at_once() : -ECANCELED;

	if (rc)
		log_debug("the thread that looks for long slices has no real-time priority: %s",
			  w->config.realtime ? error_text(-rc) : "--no-realtime");
	cpu_ns = clock_thread_ns();
	for (uint64_t n = 1; !atomic_load(&w->stop); n++) {
		sample(w, clock_monotonic_ns());
		if (n % PACE_SAMPLES == 0) {
			cost = (clock_thread_ns() - cpu_ns) / PACE_SAMPLES;
			cpu_ns += cost * PACE_SAMPLES;
			period = MAX((uint64_t)((double)cost / CPU_PART), SLICE_WATCH_PERIOD_NS);
		}
		/* Missed samples are not made up for. */
		due = MAX(due + period, clock_monotonic_ns());
		clock_sleep_until(due);
	}
	return NULL;
}

/* ---- interface ------------------------------------------------------------------------------- */

static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	struct slice_watch *w = arg;

	for (size_t i = 0; i < w->all.len; i++) {
		struct running_scheduler *who = &w->all.data[i].who;

		if (who->type == type && who->number == number)
			who->os_tid = os_tid;
	}
}

static int find_schedulers(struct slice_watch *w, struct error *err)
{
	const struct running_one *all;
	uint32_t nr;
	int rc = mem_open_live(&w->mem, w->n->os_pid, err);

	if (rc)
		return rc;
	rc = running_open(&w->running, w->n, w->mem);
	if (rc)
		return error_set(
			err, ERROR_KIND_UNSUPPORTED, rc,
			"cannot find long slices without probes: ebeam does not know where "
			"this build of the VM keeps the current process of a scheduler. "
			"Use --source uprobe");
	all = running_all(w->running, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		struct watched new = {.who = {.type = all[i].type, .number = all[i].number},
				      .files = THREAD_FILES_NONE};

		if (all[i].type == THREAD_NORMAL &&
		    mem_read_u64(w->mem, all[i].esdp + (raddr)w->layout.sched_registers,
				 &new.who.registers))
			new.who.registers = 0;
		vec_push(&w->all, new);
	}
	for (size_t i = 0; i < MIN(w->all.len, (size_t)FILES_KEPT); i++)
		w->all.data[i].who.files = &w->all.data[i].files;
	return sched_find_tids(w->n->os_pid, found_thread, w, err);
}

int slice_watch_open(struct slice_watch **out, struct beam_node *n, const struct running_code *code,
		     const struct slice_watch_config *config, struct error *err)
{
	struct slice_watch *w = xcalloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	w->n = n;
	w->layout = n->layout;
	w->code = *code;
	w->config = *config;
	w->random = clock_monotonic_ns() | 1;
	pthread_mutex_init(&w->lock, NULL);
	rc = find_schedulers(w, err);
	if (rc == 0) {
		/* The first sample is taken here: spans count from now on, even if the thread
		 * starts late. */
		sample(w, clock_monotonic_ns());
		w->started = thread_start(&w->thread, watch_main, w);
		if (!w->started)
			rc = error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				       "cannot start the thread that watches for long time "
				       "slices: " THREAD_REFUSED);
	}
	if (rc) {
		slice_watch_close(w);
		return rc;
	}
	*out = w;
	return 0;
}

void slice_watch_end(struct slice_watch *w)
{
	if (!w->started)
		return;
	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
	w->started = false;
	/* Spans that this last sample does not see have ended; the others are cut off below. */
	sample(w, clock_monotonic_ns());
	for (size_t i = 0; i < w->all.len; i++)
		for (int kind = NR_RUNNING_SPANS; kind-- > 0;)
			end_span(w, i, kind, w->all.data[i].spans[kind].last_ns);
	if (w->nr_lost)
		log_warn("ebeam: %" PRIu64
			 " long slices, collections or calls were left out: there "
			 "were more than ebeam could write (raise --longer-than)",
			 w->nr_lost);
}

void slice_watch_close(struct slice_watch *w)
{
	struct long_slice left;

	if (!w)
		return;
	slice_watch_end(w);
	while (slice_watch_next(w, &left))
		slice_watch_free(&left);
	for (size_t i = 0; i < w->all.len; i++) {
		for (int kind = 0; kind < NR_RUNNING_SPANS; kind++)
			free(w->all.data[i].spans[kind].stack);
		thread_files_close(&w->all.data[i].files);
	}
	free(w->room);
	vec_free(&w->all);
	vec_free(&w->done);
	running_close(w->running);
	mem_close(w->mem);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

bool slice_watch_next(struct slice_watch *w, struct long_slice *out)
{
	bool any;

	pthread_mutex_lock(&w->lock);
	any = w->nr_taken < w->done.len;
	if (any)
		*out = w->done.data[w->nr_taken++];
	if (w->nr_taken == w->done.len)
		w->nr_taken = w->done.len = 0;
	pthread_mutex_unlock(&w->lock);
	return any;
}

uint64_t slice_watch_longest_gap(struct slice_watch *w)
{
	return atomic_exchange(&w->gap_ns, 0);
}
