/* SPDX-License-Identifier: BSD-2-Clause */
/* See slice_watch.h. */
#include "probe/slice_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/sched.h"
#include "beam/sched_work.h"

#define CPU_PART   0.02	      /* of a core: what looking may take; looks are further apart then */
#define PACE_LOOKS 64	      /* after which that is judged anew */
#define PLACE_NS   100000000u /* so long each look tries to tell where a process is */
#define MOST_HELD  4096	      /* slices that nobody has taken yet */

/* What a scheduler is in. */
struct slice {
	struct running_scheduler who;
	raddr process; /* 0 = none, or not known */
	uint64_t id;
	uint64_t before_ns;	      /* the last look that did not see it; 0 = none */
	uint64_t first_ns, last_ns;   /* looks that saw it */
	uint64_t taken_ns;	      /* its stack was read; 0 = not yet */
	struct running_call call;     /* at the first such time that saw this call */
	struct rec_raw_sample *stack; /* that is kept; RUNNING_STACK_SIZE */
	bool has_stack;
};

struct slice_watch {
	struct beam_node *n;
	struct mem *mem; /* the thread's own */
	struct beam_layout layout;
	struct running_code code;
	struct sched_work *work;
	uint64_t longer_than_ns;
	bool realtime;
	VEC(struct slice) slices; /* by place in sched_work_all() */
	struct rec_raw_sample *room;
	uint64_t random, looked_ns;
	pthread_t thread;
	bool running;
	atomic_bool stop;
	_Atomic uint64_t gap_ns;
	pthread_mutex_t lock; /* of what follows */
	VEC(struct long_slice) done;
	size_t nr_taken;
	uint64_t nr_lost;
};

/* ---- its stack ----------------------------------------------------------------------------- */

static bool coin(struct slice_watch *w)
{
	return random_next(&w->random) >> 63;
}

static bool is_in(const struct sched_worker *one, const struct slice *s)
{
	return s->process && one->doing == SCHED_DOING_PROCESS && one->process == s->process &&
	       one->slice == s->id;
}

/* It is still in the slice that the look before saw. */
static bool is_same(struct slice_watch *w, size_t at)
{
	const struct slice *s = &w->slices.data[at];
	const struct sched_worker *all;
	uint32_t nr, nr_normal;

	sched_work_look(w->work, s->who.type != THREAD_NORMAL);
	all = sched_work_all(w->work, &nr, &nr_normal);
	return is_in(&all[at], s);
}

static bool is_placed(const struct slice *s)
{
	return s->has_stack && s->stack->place != PLACE_OTHER;
}

/* At the second look, at all that follow until it is known where the process is, and then each time
 * that the slice lasts twice as long. */
static bool is_due(const struct slice *s, uint64_t now_ns)
{
	uint64_t age = now_ns - s->first_ns;

	return !s->taken_ns || age >= 2 * (s->taken_ns - s->first_ns) ||
	       (!is_placed(s) && age < PLACE_NS);
}

/*
 * The stack that is kept is of a moment of the whole slice, the later half as likely as the earlier
 * one.  One that tells where the process is stands before one that does not.
 */
static void take_stack(struct slice_watch *w, size_t at, uint64_t now_ns)
{
	struct slice *s = &w->slices.data[at];
	struct rec_raw_sample *had = s->stack;
	struct running_call call;
	bool placed, was = is_placed(s);

	if (!is_due(s, now_ns))
		return;
	if (!running_stack_read(w->room, &call, w->mem, &w->layout, &w->code, w->n->os_pid, &s->who,
				s->process, s->taken_ns ? &s->call : NULL) ||
	    !is_same(w, at))
		return;
	if (!s->taken_ns || call.ra != s->call.ra || call.light_bif != s->call.light_bif)
		s->call = call;
	s->taken_ns = now_ns;
	placed = w->room->place != PLACE_OTHER;
	if (s->has_stack && (placed == was ? !coin(w) : was))
		return;
	s->stack = w->room;
	s->has_stack = true;
	w->room = had;
}

/* ---- its end ------------------------------------------------------------------------------- */

static void hold(struct slice_watch *w, const struct long_slice *done)
{
	pthread_mutex_lock(&w->lock);
	if (w->done.len - w->nr_taken < MOST_HELD) {
		vec_push(&w->done, *done);
	} else {
		w->nr_lost++;
		free(done->stack);
		free(done->event);
	}
	pthread_mutex_unlock(&w->lock);
}

static void tell(struct slice_watch *w, const struct slice *s, uint64_t ns, uint64_t end_ns)
{
	struct long_slice done = {.event = xcalloc(1, sizeof(*done.event))};
	struct rec_raw_event *ev = done.event;

	*ev = (struct rec_raw_event){
		.h = {.type = REC_RAW_EVENT, .size = sizeof(*ev), .ts_ns = end_ns},
		.os_tid = (uint32_t)s->who.os_tid,
		.kind = EVENT_LONG_SCHEDULE,
		.nr_values = 3,
		.values = {ns, s->has_stack ? s->call.entry : 0, EVENT_UNKNOWN},
	};
	if (s->has_stack) {
		done.stack = xmalloc(s->stack->h.size);
		memcpy(done.stack, s->stack, s->stack->h.size);
		done.stack->h.ts_ns = end_ns;
		done.stack->flags |= RAW_SAMPLE_EVENT;
		ev->epid = done.stack->epid;
		ev->flags = RAW_EVENT_STACK | RAW_EVENT_BEFORE;
	}
	hold(w, &done);
}

/* It began and ended in the middle between a look that saw it and one that did not. */
static void end_slice(struct slice_watch *w, struct slice *s, uint64_t next_ns)
{
	uint64_t begin_ns =
		s->before_ns ? s->before_ns + (s->first_ns - s->before_ns) / 2 : s->first_ns;
	uint64_t end_ns = s->last_ns + (next_ns - s->last_ns) / 2;

	if (s->process && s->last_ns > s->first_ns && end_ns - begin_ns >= w->longer_than_ns)
		tell(w, s, end_ns - begin_ns, end_ns);
	s->process = 0;
}

/* ---- looking ------------------------------------------------------------------------------- */

static void take(struct slice_watch *w, size_t at, uint64_t now_ns)
{
	const struct sched_worker *one;
	struct slice *s = &w->slices.data[at];
	uint32_t nr, nr_normal;

	one = &sched_work_all(w->work, &nr, &nr_normal)[at];
	if (one->doing == SCHED_DOING_UNKNOWN)
		return;
	if (is_in(one, s)) {
		s->last_ns = now_ns;
		return;
	}
	end_slice(w, s, now_ns);
	s->process = one->doing == SCHED_DOING_PROCESS ? one->process : 0;
	s->id = one->slice;
	s->before_ns = w->looked_ns;
	s->first_ns = s->last_ns = now_ns;
	s->taken_ns = 0;
	s->has_stack = false;
}

static void look(struct slice_watch *w, uint64_t now_ns)
{
	uint64_t gap = w->looked_ns ? now_ns - w->looked_ns : 0;

	sched_work_look(w->work, true);
	for (size_t i = 0; i < w->slices.len; i++)
		take(w, i, now_ns);
	for (size_t i = 0; i < w->slices.len; i++) {
		const struct slice *s = &w->slices.data[i];

		if (s->process && s->last_ns == now_ns && s->first_ns < now_ns)
			take_stack(w, i, now_ns);
	}
	w->looked_ns = now_ns;
	if (gap > atomic_load(&w->gap_ns))
		atomic_store(&w->gap_ns, gap);
}

static void *watch_main(void *arg)
{
	struct slice_watch *w = arg;
	uint64_t due = clock_monotonic_ns(), period = SLICE_WATCH_PERIOD_NS, cpu_ns, cost;
	int rc = w->realtime ? thread_come_at_once() : -ECANCELED;

	if (rc)
		log_debug("long slices are looked for less promptly: %s",
			  w->realtime ? error_text(-rc) : "--no-realtime");
	cpu_ns = clock_thread_ns();
	for (uint64_t n = 1; !atomic_load(&w->stop); n++) {
		look(w, clock_monotonic_ns());
		if (n % PACE_LOOKS == 0) {
			cost = (clock_thread_ns() - cpu_ns) / PACE_LOOKS;
			cpu_ns += cost * PACE_LOOKS;
			period = MAX((uint64_t)((double)cost / CPU_PART), SLICE_WATCH_PERIOD_NS);
		}
		/* Looks that were missed are not made up for. */
		due = MAX(due + period, clock_monotonic_ns());
		clock_sleep_until(due);
	}
	return NULL;
}

/* ---- interface ----------------------------------------------------------------------------- */

static void found_thread(void *arg, enum thread_type type, uint16_t number, int os_tid)
{
	struct slice_watch *w = arg;

	for (size_t i = 0; i < w->slices.len; i++) {
		struct running_scheduler *who = &w->slices.data[i].who;

		if (who->type == type && who->number == number)
			who->os_tid = os_tid;
	}
}

static int find_schedulers(struct slice_watch *w, struct error *err)
{
	const struct sched_worker *all;
	uint32_t nr, nr_normal;
	int rc = mem_open_live(&w->mem, w->n->os_pid, err);

	if (rc)
		return rc;
	rc = sched_work_open(&w->work, w->n, w->mem);
	if (rc)
		return error_set(err, ERROR_KIND_UNSUPPORTED, rc,
				 "what schedulers run cannot be read of this build: long slices "
				 "are seen by probes with --source uprobe");
	all = sched_work_all(w->work, &nr, &nr_normal);
	for (uint32_t i = 0; i < nr; i++) {
		struct slice new = {.who = {.type = all[i].type, .number = all[i].number}};

		if (i < nr_normal &&
		    mem_read_u64(w->mem, all[i].esdp + (raddr)w->layout.sched_registers,
				 &new.who.registers))
			new.who.registers = 0;
		new.stack = xmalloc(RUNNING_STACK_SIZE);
		vec_push(&w->slices, new);
	}
	return sched_find_tids(w->n->os_pid, found_thread, w, err);
}

int slice_watch_open(struct slice_watch **out, struct beam_node *n, const struct running_code *code,
		     uint64_t longer_than_ns, bool realtime, struct error *err)
{
	struct slice_watch *w = xcalloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	w->n = n;
	w->layout = n->layout;
	w->code = *code;
	w->longer_than_ns = longer_than_ns;
	w->realtime = realtime;
	w->random = clock_monotonic_ns() | 1;
	w->room = xmalloc(RUNNING_STACK_SIZE);
	pthread_mutex_init(&w->lock, NULL);
	rc = find_schedulers(w, err);
	if (rc == 0) {
		w->running = thread_start(&w->thread, watch_main, w);
		if (!w->running)
			rc = error_set(err, ERROR_KIND_FAILED, -EAGAIN,
				       "cannot start the thread that looks for long time "
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
	if (!w->running)
		return;
	atomic_store(&w->stop, true);
	pthread_join(w->thread, NULL);
	w->running = false;
	for (size_t i = 0; i < w->slices.len; i++)
		end_slice(w, &w->slices.data[i], w->slices.data[i].last_ns);
	if (w->nr_lost)
		log_warn("ebeam: %" PRIu64 " long time slices were left out: they came faster than "
			 "they were taken",
			 w->nr_lost);
}

void slice_watch_close(struct slice_watch *w)
{
	struct long_slice left;

	if (!w)
		return;
	slice_watch_end(w);
	while (slice_watch_next(w, &left)) {
		free(left.stack);
		free(left.event);
	}
	for (size_t i = 0; i < w->slices.len; i++)
		free(w->slices.data[i].stack);
	free(w->room);
	vec_free(&w->slices);
	vec_free(&w->done);
	sched_work_close(w->work);
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
