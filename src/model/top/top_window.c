/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_window.h. */
#include "model/top/top_window.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/keytab.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "model/profile/profile_internal.h"

#define FREQ_MAX 100000ul

/* Number of samples of a thread. */
struct thread_time {
	uint64_t key; /* dictionary id; os_tid in sums over intervals */
	uint64_t by_share[NR_TOP_SHARES];
	enum thread_type type; /* only in sums over intervals */
	uint16_t scheduler;
};

struct interval {
	uint64_t start_ns, end_ns;
	uint64_t first_ns, last_ns; /* of samples, 0 = none */
	uint64_t samples;
	struct profile_entries entries; /* without index once it has ended */
	uint64_t overflow[NR_SAMPLE_KINDS][NR_SAMPLE_STATUSES];
	struct keytab threads; /* struct thread_time */
};

struct top_window {
	uint64_t span_ns;
	unsigned int freq;
	bool freq_is_given;
	bool borrowed; /* names are borrowed */
	struct names *names;
	struct profile *sum; /* meta of the recording; has samples only while a snapshot is made */
	struct interval current;
	struct interval ring[TOP_WINDOW_INTERVALS];
	uint32_t first, nr;  /* of the ring: index of the oldest, and number */
	uint32_t highest[3]; /* scheduler numbers, by type - THREAD_NORMAL */
};

enum top_share_kind top_share_of(enum sample_kind kind)
{
	switch (kind) {
	case SAMPLE_ERLANG:
		return TOP_SHARE_ERLANG;
	case SAMPLE_BIF:
	case SAMPLE_ETS:
	case SAMPLE_COPY:
	case SAMPLE_TERM_FORMAT:
	case SAMPLE_REGEXP:
	case SAMPLE_BINARY:
		return TOP_SHARE_BIF;
	case SAMPLE_NIF:
		return TOP_SHARE_NIF;
	case SAMPLE_GC:
	case SAMPLE_FULL_GC:
	case SAMPLE_LITERAL_GC:
		return TOP_SHARE_GC;
	case SAMPLE_PORT:
		return TOP_SHARE_PORT;
	case SAMPLE_WAIT:
		return TOP_SHARE_BUSY_WAIT;
	case SAMPLE_WAITING:
	case SAMPLE_RUNNABLE:
	case SAMPLE_WAITING_RECEIVE:
	case SAMPLE_WAITING_TIMER:
	case SAMPLE_WAITING_PORT:
	case SAMPLE_WAITING_DIRTY:
	case SAMPLE_SUSPENDED:
	case SAMPLE_HIBERNATING:
	case SAMPLE_OFF_LOCK_ETS ... SAMPLE_OFF_YIELDED:
		return TOP_SHARE_WAITING;
	case SAMPLE_RUNNING:
	case SAMPLE_EXITING:
	case SAMPLE_TASK:
	case SAMPLE_TIMER:
	case SAMPLE_CODE:
	case SAMPLE_SCHEDULER:
	case SAMPLE_POLL:
	case SAMPLE_LOCK:
	case SAMPLE_ALLOC:
	case SAMPLE_OTHER:
	case NR_SAMPLE_KINDS:
		break;
	}
	return TOP_SHARE_OTHER;
}

/* ---- intervals ----------------------------------------------------------------------------- */

static void interval_open(struct interval *v, uint64_t start_ns)
{
	*v = (struct interval){
		.start_ns = start_ns,
		.threads = KEYTAB_INIT(struct thread_time),
	};
}

static void interval_free(struct interval *v)
{
	profile_entries_free(&v->entries);
	keytab_free(&v->threads);
}

static struct interval *interval_at(const struct top_window *w, uint32_t i)
{
	return (struct interval *)&w->ring[(w->first + i) % TOP_WINDOW_INTERVALS];
}

static void forget_oldest(struct top_window *w)
{
	interval_free(interval_at(w, 0));
	w->first = (w->first + 1) % TOP_WINDOW_INTERVALS;
	w->nr--;
}

static void count_thread(struct interval *v, uint32_t thread, enum sample_kind kind, uint64_t count)
{
	struct thread_time *t = keytab_find(&v->threads, thread);

	if (!t)
		t = keytab_add(&v->threads, thread);
	t->by_share[top_share_of(kind)] += count;
}

/* ---- events -------------------------------------------------------------------------------- */

static void note_scheduler(struct top_window *w, uint32_t thread)
{
	const struct name_thread *t = names_thread(w->names, thread);

	if (t->type >= THREAD_NORMAL && t->type <= THREAD_DIRTY_IO &&
	    t->scheduler <= TOP_SCHEDULERS_MAX)
		w->highest[t->type - THREAD_NORMAL] =
			MAX(w->highest[t->type - THREAD_NORMAL], (uint32_t)t->scheduler);
}

static int apply_sample(struct top_window *w, const struct event *ev)
{
	struct interval *v = &w->current;
	struct profile_entry e;

	if (!profile_entry_of(&e, w->names, ev))
		return -EINVAL;
	if (profile_is_idle(w->sum, e.stack, e.kind))
		return TOP_WINDOW_IDLE;
	if (!profile_entries_add(&v->entries, w->names, &e, TOP_WINDOW_LIMIT))
		v->overflow[e.kind][e.status] += e.count;
	count_thread(v, e.thread, ev->u.sample.kind, e.count);
	note_scheduler(w, e.thread);
	v->samples += e.count;
	if (!v->start_ns)
		v->start_ns = ev->ts_ns;
	if (!v->first_ns || ev->ts_ns < v->first_ns)
		v->first_ns = ev->ts_ns;
	v->last_ns = MAX(v->last_ns, ev->ts_ns);
	return 0;
}

static void take_freq(struct top_window *w, const struct event *ev)
{
	char text[16] = "";
	unsigned long freq;

	if (w->freq_is_given || !event_is_meta(ev, "freq") || ev->u.meta.value_len >= sizeof(text))
		return;
	memcpy(text, ev->u.meta.value, ev->u.meta.value_len);
	freq = strtoul(text, NULL, 10);
	w->freq = freq <= FREQ_MAX ? (unsigned int)freq : 0;
}

int top_window_apply(struct top_window *w, const struct event *ev)
{
	if (ev->type == REC_SAMPLE)
		return apply_sample(w, ev);
	if (ev->type == REC_META) {
		take_freq(w, ev);
		return profile_apply(w->sum, ev);
	}
	if (!w->borrowed) {
		int rc = event_define(w->names, ev);

		return rc < 0 ? rc : 0;
	}
	return 0;
}

/* True if the window is as close to its span, or closer, without its oldest interval: intervals are
 * never exactly as long as planned. */
static bool is_past(const struct top_window *w, uint64_t now_ns)
{
	const struct interval *v = interval_at(w, 0);

	return now_ns - v->end_ns + (v->end_ns - v->start_ns) / 2 >= w->span_ns;
}

void top_window_step(struct top_window *w, uint64_t now_ns)
{
	if (!w->current.start_ns)
		w->current.start_ns = now_ns;
	if (now_ns <= w->current.start_ns)
		return;
	if (w->nr == TOP_WINDOW_INTERVALS)
		forget_oldest(w);
	w->current.end_ns = now_ns;
	idmap_free(&w->current.entries.index);
	*interval_at(w, w->nr++) = w->current;
	interval_open(&w->current, now_ns);
	while (w->nr > 1 && is_past(w, now_ns))
		forget_oldest(w);
}

void top_window_restart(struct top_window *w, uint64_t now_ns)
{
	while (w->nr)
		forget_oldest(w);
	interval_free(&w->current);
	interval_open(&w->current, now_ns);
}

/* ---- the window ---------------------------------------------------------------------------- */

struct top_window *top_window_open(const struct top_window_options *o)
{
	struct top_window *w = xcalloc(1, sizeof(*w));

	w->span_ns = o->span_ns ? o->span_ns : TOP_WINDOW_SPAN_NS;
	w->freq = o->freq;
	w->freq_is_given = o->freq > 0;
	w->borrowed = o->names != NULL;
	w->names = w->borrowed ? o->names : names_open();
	w->sum = profile_open_over(w->names);
	interval_open(&w->current, o->start_ns);
	return w;
}

void top_window_close(struct top_window *w)
{
	if (!w)
		return;
	while (w->nr)
		forget_oldest(w);
	interval_free(&w->current);
	profile_close(w->sum);
	if (!w->borrowed)
		names_close(w->names);
	free(w);
}

uint64_t top_window_ns(const struct top_window *w)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < w->nr; i++)
		ns += interval_at(w, i)->end_ns - interval_at(w, i)->start_ns;
	return ns;
}

uint64_t top_window_samples(const struct top_window *w)
{
	uint64_t samples = 0;

	for (uint32_t i = 0; i < w->nr; i++)
		samples += interval_at(w, i)->samples;
	return samples;
}

unsigned int top_window_freq(const struct top_window *w)
{
	return w->freq;
}

static void add_interval(struct profile *sum, const struct interval *v)
{
	for (size_t i = 0; i < v->entries.v.len; i++)
		profile_add(sum, &v->entries.v.data[i], v->last_ns);
	for (unsigned int i = 0; i < NR_SAMPLE_KINDS * NR_SAMPLE_STATUSES; i++) {
		uint8_t kind = (uint8_t)(i / NR_SAMPLE_STATUSES);
		uint8_t status = (uint8_t)(i % NR_SAMPLE_STATUSES);

		if (v->overflow[kind][status])
			profile_add_overflow(sum, kind, status, v->overflow[kind][status]);
	}
	if (v->first_ns && (!sum->span[0].first_ns || v->first_ns < sum->span[0].first_ns))
		sum->span[0].first_ns = v->first_ns;
}

static void set_duration(struct top_window *w)
{
	static const char key[] = "duration_ns";
	struct event ev = {.type = REC_META, .u.meta = {.key = key, .key_len = sizeof(key) - 1}};
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%" PRIu64, top_window_ns(w));
	ev.u.meta.value = text.buf;
	ev.u.meta.value_len = (uint32_t)text.len;
	profile_apply(w->sum, &ev);
	strbuf_free(&text);
}

int top_window_snapshot(struct top_window *w, const struct snapshot_options *options,
			struct snapshot **out, struct error *err)
{
	*out = NULL;
	if (w->nr == 0)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "no samples yet: the first interval has not ended");
	profile_clear_samples(w->sum);
	for (uint32_t i = 0; i < w->nr; i++)
		add_interval(w->sum, interval_at(w, i));
	set_duration(w);
	return profile_snapshot(w->sum, options, out, err);
}

/* ---- schedulers ---------------------------------------------------------------------------- */

void top_window_schedulers(const struct top_window *w, uint32_t *normal, uint32_t *dirty_cpu,
			   uint32_t *dirty_io)
{
	*normal = w->highest[THREAD_NORMAL - THREAD_NORMAL];
	*dirty_cpu = w->highest[THREAD_DIRTY_CPU - THREAD_NORMAL];
	*dirty_io = w->highest[THREAD_DIRTY_IO - THREAD_NORMAL];
}

/* Adds samples by os_tid, as a thread has several dictionary ids if its type was found late. */
static void add_threads(const struct top_window *w, const struct interval *v, struct keytab *sums)
{
	for (struct thread_time *t = keytab_next(&v->threads, NULL); t;
	     t = keytab_next(&v->threads, t)) {
		const struct name_thread *n = names_thread(w->names, (uint32_t)t->key);
		uint64_t key = (uint64_t)n->os_tid + 1;
		struct thread_time *sum = keytab_find(sums, key);

		if (!sum)
			sum = keytab_add(sums, key);
		for (size_t i = 0; i < NR_TOP_SHARES; i++)
			sum->by_share[i] += t->by_share[i];
		if (n->type != THREAD_UNKNOWN && n->scheduler) {
			sum->type = n->type;
			sum->scheduler = n->scheduler;
		}
	}
}

/* expected: samples of a thread that never sleeps; if there are more, by chance, shares are
 * scaled. */
static void set_shares(struct top_scheduler *s, const struct thread_time *t, double expected)
{
	double all = 0;

	for (size_t i = 0; i < NR_TOP_SHARES; i++) {
		s->share[i] = (double)t->by_share[i] / expected;
		all += s->share[i];
	}
	if (all <= 1) {
		s->share[TOP_SHARE_WAITING] += 1 - all;
		return;
	}
	for (size_t i = 0; i < NR_TOP_SHARES; i++)
		s->share[i] /= all;
}

void top_window_shares(const struct top_window *w, struct top_frame *f)
{
	struct keytab sums = KEYTAB_INIT(struct thread_time);
	double seconds = (double)top_window_ns(w) / 1e9, expected = seconds * w->freq;
	const struct thread_time none = {0};

	f->window_s = w->nr ? seconds : (double)NAN;
	f->samples = top_window_samples(w);
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		f->schedulers[i].known = expected > 0;
		set_shares(&f->schedulers[i], &none, expected > 0 ? expected : (double)NAN);
	}
	for (uint32_t i = 0; expected > 0 && i < w->nr; i++)
		add_threads(w, interval_at(w, i), &sums);
	for (struct thread_time *t = keytab_next(&sums, NULL); t; t = keytab_next(&sums, t)) {
		struct top_scheduler *s =
			t->scheduler ? top_frame_scheduler(f, t->type, t->scheduler) : NULL;

		if (s)
			set_shares(s, t, expected);
	}
	keytab_free(&sums);
}

/* ---- another dictionary -------------------------------------------------------------------- */

bool top_window_is_full(const struct top_window *w)
{
	for (int table = 0; table < NR_NAMES_TABLES; table++) {
		if (names_count(w->names, (enum names_table)table) >= TOP_WINDOW_NAMES)
			return true;
	}
	return names_overflows(w->names) > 0;
}

/* The arrays have new ids by old ones; 0 = not copied yet. */
struct move {
	const struct names *from;
	struct names *to;
	uint32_t *functions, *frames, *stacks, *processes, *threads;
	VEC(uint32_t) path;
};

static uint32_t *id_array(const struct names *n, enum names_table table)
{
	return xcalloc((size_t)names_count(n, table) + 1, sizeof(uint32_t));
}

static uint32_t move_string(struct move *m, uint32_t id)
{
	const char *s = names_string(m->from, id);

	return s ? names_intern_string(m->to, s, strlen(s), NULL) : 0;
}

static uint32_t move_function(struct move *m, uint32_t id)
{
	const struct name_function *f = names_function(m->from, id);

	if (f && !m->functions[id])
		m->functions[id] =
			names_intern_function(m->to, move_string(m, f->module_id),
					      move_string(m, f->name_id), f->arity, f->kind, NULL);
	return f ? m->functions[id] : 0;
}

static uint32_t move_frame(struct move *m, uint32_t id)
{
	const struct name_frame *f = names_frame(m->from, id);

	if (f && !m->frames[id])
		m->frames[id] = names_intern_frame(m->to, move_function(m, f->function),
						   move_string(m, f->file_id), f->line, NULL);
	return f ? m->frames[id] : 0;
}

/* Copies a stack; its callers first, as the new stack refers to them. */
static uint32_t move_stack(struct move *m, uint32_t id)
{
	uint32_t moved = 0;

	m->path.len = 0;
	for (uint32_t at = id; at && !m->stacks[at]; at = names_stack(m->from, at)->parent)
		vec_push(&m->path, at);
	while (m->path.len) {
		uint32_t at = m->path.data[--m->path.len];
		const struct name_stack *s = names_stack(m->from, at);

		moved = s->parent ? m->stacks[s->parent] : 0;
		m->stacks[at] = names_intern_stack(m->to, moved, move_frame(m, s->frame), NULL);
	}
	return id ? m->stacks[id] : 0;
}

static uint32_t move_process(struct move *m, uint32_t id)
{
	const struct name_process *p = names_process(m->from, id);

	if (p && !m->processes[id])
		m->processes[id] = names_intern_process(
			m->to, p->epid, move_string(m, p->pid_id), move_string(m, p->registered_id),
			move_string(m, p->label_id), move_function(m, p->initial_call), NULL);
	return p ? m->processes[id] : 0;
}

static uint32_t move_thread(struct move *m, uint32_t id)
{
	const struct name_thread *t = names_thread(m->from, id);

	if (t && !m->threads[id])
		m->threads[id] = names_intern_thread(m->to, t->os_tid, t->type, t->scheduler,
						     move_string(m, t->name_id), NULL);
	return t ? m->threads[id] : 0;
}

static void move_interval(struct move *m, struct interval *v)
{
	struct keytab threads = KEYTAB_INIT(struct thread_time);

	for (size_t i = 0; i < v->entries.v.len; i++) {
		struct profile_entry *e = &v->entries.v.data[i];

		e->stack = move_stack(m, e->stack);
		e->process = move_process(m, e->process);
		e->thread = move_thread(m, e->thread);
	}
	for (struct thread_time *t = keytab_next(&v->threads, NULL); t;
	     t = keytab_next(&v->threads, t)) {
		uint32_t id = move_thread(m, (uint32_t)t->key);
		struct thread_time *to = keytab_find(&threads, id);

		if (!to)
			to = keytab_add(&threads, id);
		for (size_t i = 0; i < NR_TOP_SHARES; i++)
			to->by_share[i] += t->by_share[i];
	}
	keytab_free(&v->threads);
	v->threads = threads;
}

void top_window_move(struct top_window *w, struct names *names, uint64_t now_ns)
{
	struct move m = {.from = w->names, .to = names};

	if (w->current.samples)
		top_window_step(w, w->current.last_ns);
	interval_free(&w->current);
	interval_open(&w->current, now_ns);
	m.functions = id_array(w->names, NAMES_FUNCTIONS);
	m.frames = id_array(w->names, NAMES_FRAMES);
	m.stacks = id_array(w->names, NAMES_STACKS);
	m.processes = id_array(w->names, NAMES_PROCESSES);
	m.threads = id_array(w->names, NAMES_THREADS);
	for (uint32_t i = 0; i < w->nr; i++)
		move_interval(&m, interval_at(w, i));
	free(m.functions);
	free(m.frames);
	free(m.stacks);
	free(m.processes);
	free(m.threads);
	vec_free(&m.path);
	profile_clear_samples(w->sum);
	profile_use_names(w->sum, names);
	w->names = names;
}
