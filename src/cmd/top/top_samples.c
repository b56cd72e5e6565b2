/* SPDX-License-Identifier: BSD-2-Clause */
/* See top_samples.h.  A node: live.h -> enricher; a capture: its reader; both -> window. */
#include "cmd/top/top_samples.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/term/pid.h"
#include "cmd/run/capture_input.h"
#include "cmd/run/live.h"
#include "cmd/top/top_worked.h"
#include "model/stream/event_stream.h"
#include "model/top/top_window.h"

/* A longer time without samples in a capture is skipped. */
#define GAP_MAX_NS (12 * TOP_WINDOW_SPAN_NS)

struct top_samples {
	struct beam_node *node;	   /* NULL: a capture */
	const struct options *opt; /* NULL: a capture */
	unsigned int freq;
	struct live live;
	bool live_open;
	bool restarted;		/* sampling began anew since the last step */
	struct summary summary; /* counters of earlier sessions, and all samples */

	struct capture_input input;
	struct event pending; /* if is_pending: an event that was read, of a later step */
	bool is_pending, ended;
	uint64_t start_ns, now_ns; /* times in the capture: of its first sample, of the step */
	uint64_t last_ns;	   /* time of the last sample or event */
	uint64_t duration_ns;	   /* how much is played; 0 = all */
	const struct rec_header *record; /* of `pending` */
	struct event_stream stream;	 /* of a capture */
	struct event_rates events;

	struct top_window *window;
	struct top_worked *worked; /* NULL of a capture, or if it cannot be read */
	struct snapshot *snapshot;
};

/* ---- a node ---------------------------------------------------------------------------------- */

static int open_live(struct live *l, struct top_samples *s, struct error *err)
{
	struct live_config config = {.opt = s->opt, .freq = s->freq};
	int rc = live_open(l, s->node, &config, err);

	if (rc)
		return rc;
	rc = session_start(l->session, err);
	if (rc)
		live_close(l);
	return rc;
}

int top_samples_open(struct top_samples **out, struct beam_node *n, const struct options *opt,
		     unsigned int freq, struct error *err)
{
	struct top_samples *s = xcalloc(1, sizeof(*s));
	struct top_window_options options = {.freq = freq};
	int rc;

	*out = NULL;
	s->node = n;
	s->opt = opt;
	s->freq = freq;
	s->summary.cost.percent = NAN;
	rc = open_live(&s->live, s, err);
	if (rc) {
		free(s);
		return rc;
	}
	s->live_open = true;
	options.names = enrich_names(s->live.enrich);
	options.start_ns = clock_monotonic_ns();
	s->window = top_window_open(&options);
	s->worked = top_worked_open(n);
	*out = s;
	return 0;
}

void top_samples_close(struct top_samples *s)
{
	if (!s)
		return;
	snapshot_close(s->snapshot);
	top_window_close(s->window);
	top_worked_close(s->worked);
	if (s->live_open)
		live_close(&s->live);
	capture_input_close(&s->input);
	event_stream_close(&s->stream);
	free(s);
}

static uint64_t count(struct top_samples *s, enum counter_id id)
{
	uint64_t recorded = s->stream.counters[id]; /* 0 if live */

	return s->summary.counters[id] + (s->live_open ? live_counter(&s->live, id) : recorded);
}

/* Keeps the counters and the cost of the session that is about to be closed. */
static void keep_counters(struct top_samples *s)
{
	for (int id = 0; id < NR_COUNTERS; id++)
		s->summary.counters[id] = count(s, (enum counter_id)id);
	live_sample_cost(&s->live, &s->summary.cost);
}

void top_samples_add_summary(struct top_samples *s, struct summary *to)
{
	to->samples += s->summary.samples;
	to->dropped_unknown += s->summary.dropped_unknown;
	for (int i = 0; i < NR_SAMPLE_STATUSES; i++)
		to->by_status[i] += s->summary.by_status[i];
	for (int id = 0; id < NR_COUNTERS; id++)
		to->counters[id] += count(s, (enum counter_id)id);
	to->cost = s->summary.cost;
	if (s->live_open)
		live_sample_cost(&s->live, &to->cost);
}

/* Takes a record, of a node or of a capture, into the window. */
static void take_event(struct top_samples *s, const struct event *ev)
{
	int rc = top_window_apply(s->window, ev);

	if (rc < 0) {
		s->summary.dropped_unknown++;
	} else if (ev->type == REC_SAMPLE && rc != TOP_WINDOW_IDLE) {
		s->summary.samples += ev->u.sample.weight;
		s->summary.by_status[ev->u.sample.status] += ev->u.sample.weight;
	}
}

/* The dictionary of names only grows: when it is large, a new session gets a new one. */
static int renew(struct top_samples *s, struct error *err)
{
	struct live fresh;
	int rc = open_live(&fresh, s, err);

	if (rc)
		return rc;
	top_window_move(s->window, enrich_names(fresh.enrich), clock_monotonic_ns());
	keep_counters(s);
	live_close(&s->live);
	s->live = fresh;
	return 0;
}

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct top_samples *s = arg;
	struct event ev;

	UNUSED(err);
	if (event_decode(&ev, rec, rec->size) < 0)
		s->summary.counters[COUNTER_BAD_RECORD]++;
	else
		take_event(s, &ev);
	return 0;
}

int top_samples_drain(struct top_samples *s, struct error *err)
{
	const struct source_consumer consumer = {.take = take, .arg = s};
	int rc;

	if (!s->live_open)
		return 0;
	rc = live_drain(&s->live, SOURCE_DRAIN_NS, &consumer, err);
	return rc < 0 ? rc : 0;
}

int top_samples_restart(struct top_samples *s, struct error *err)
{
	int rc = top_samples_drain(s, err);

	top_window_restart(s->window, clock_monotonic_ns());
	s->restarted = true;
	return rc;
}

/* ---- a capture ------------------------------------------------------------------------------- */

int top_samples_open_capture(struct top_samples **out, const char *path, uint64_t duration_ns,
			     struct error *err)
{
	struct top_samples *s = xcalloc(1, sizeof(*s));
	int rc = capture_input_open(&s->input, path, err);

	*out = NULL;
	s->summary.cost.percent = NAN;
	s->duration_ns = duration_ns;
	if (rc) {
		top_samples_close(s);
		return rc;
	}
	event_stream_open(&s->stream);
	s->window = top_window_open(&(struct top_window_options){0});
	*out = s;
	return 0;
}

static void take_text(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)len, from);
}

/* A meta record of a capture: facts of its node for the frame. */
static void take_meta(struct top_frame *f, const struct event *ev)
{
	const char *value = ev->u.meta.value;
	size_t len = ev->u.meta.value_len;
	struct top_node *n = &f->node;
	char number[32];
	const struct {
		const char *key;
		char *to;
		size_t size;
	} texts[] = {
		{"node", n->name, sizeof(n->name)},
		{"otp", n->otp, sizeof(n->otp)},
		{"erts", n->erts, sizeof(n->erts)},
		{"flavor", n->flavor, sizeof(n->flavor)},
		{"untested", n->untested, sizeof(n->untested)},
		{"os_pid", number, sizeof(number)},
	};

	number[0] = '\0';
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (event_is_meta(ev, texts[i].key))
			take_text(texts[i].to, texts[i].size, value, len);
	}
	if (number[0])
		n->os_pid = atoi(number);
}

static int next_event(struct top_samples *s, struct top_frame *f, struct error *err)
{
	struct source *source = capture_reader_source(s->input.reader);
	const struct rec_header *rec;
	int rc;

	while ((rc = source->next(source, &rec, err)) == 1) {
		if (event_decode(&s->pending, rec, rec->size) < 0) {
			s->summary.counters[COUNTER_BAD_RECORD]++;
			continue;
		}
		if (s->pending.type == REC_META)
			take_meta(f, &s->pending);
		s->record = rec;
		return 1;
	}
	return rc;
}

/* Does the time of the record count as the time of the capture? */
static bool is_timed(const struct event *ev)
{
	return ev->type == REC_SAMPLE || ev->type == REC_EVENT;
}

/* Is the record needed for rates of events?  Names, stacks and samples are not. */
static bool is_for_rates(const struct event *ev)
{
	return ev->type == REC_EVENT || ev->type == REC_COVERAGE || ev->type == REC_COUNTER ||
	       ev->type == REC_META || ev->type == REC_STRING || ev->type == REC_END;
}

static void count_event(struct top_samples *s)
{
	struct event_stream *stream = &s->stream;
	enum event_kind kind;
	struct event ev;

	if (!is_for_rates(&s->pending))
		return;
	/* Coverage counts from when all probes were attached. */
	if (!stream->coverage.marked && s->record->ts_ns > stream->watching_ns)
		coverage_mark(&stream->coverage);
	if (!event_stream_take(stream, s->record, &ev, &kind) || !stream->coverage.marked)
		return;
	event_rates_add(&s->events, 1ull << kind);
	event_rates_take(&s->events, kind, &ev);
}

/* Ends a step of the rates of events: each kind that was watched has a row. */
static void step_events(struct top_samples *s, struct top_frame *f, uint64_t step_ns)
{
	const uint64_t all = (1ull << NR_EVENT_KINDS) - 1;

	if (s->stream.watched != all)
		event_rates_add(&s->events, s->stream.watched);
	if (step_ns)
		event_rates_step(&s->events, &s->stream.coverage, (double)step_ns / 1e9);
	for (int i = 0; i < NR_TOP_RATES; i++)
		f->rates[i] = NAN; /* drops those of the last step */
}

/* Is the pending record beyond duration_ns, so that the next step is the last? */
static bool is_enough(const struct top_samples *s, uint64_t step_ns)
{
	uint64_t end = s->start_ns + s->duration_ns;

	return s->duration_ns && is_timed(&s->pending) && s->pending.ts_ns > end &&
	       end <= s->now_ns + step_ns;
}

static int play(struct top_samples *s, struct top_frame *f, uint64_t step_ns, struct error *err)
{
	uint64_t from_ns;
	int rc = 1;

	for (; !s->ended; s->is_pending = false) {
		if (!s->is_pending)
			rc = next_event(s, f, err);
		if (rc < 0)
			return rc;
		s->ended = rc == 0;
		if (s->ended)
			break;
		s->is_pending = true;
		if (is_timed(&s->pending) && !s->start_ns)
			s->start_ns = s->now_ns = s->last_ns = s->pending.ts_ns;
		if (is_enough(s, step_ns)) {
			s->ended = true;
			s->last_ns = s->start_ns + s->duration_ns;
			break;
		}
		if (is_timed(&s->pending) && s->pending.ts_ns > s->now_ns + step_ns)
			break;
		if (is_timed(&s->pending))
			s->last_ns = MAX(s->last_ns, s->pending.ts_ns);
		take_event(s, &s->pending);
		count_event(s);
	}
	from_ns = s->now_ns;
	/* The last step ends with the last sample; a step skips a gap of more than GAP_MAX_NS. */
	if (s->ended)
		s->now_ns = MAX(s->last_ns, s->now_ns);
	else if (s->pending.ts_ns - s->now_ns > GAP_MAX_NS)
		s->now_ns = s->pending.ts_ns - step_ns;
	else
		s->now_ns += step_ns;
	f->frames++;
	f->epoch_ns = capture_reader_start_epoch_ns(s->input.reader) + (s->now_ns - s->start_ns);
	top_window_step(s->window, s->now_ns);
	step_events(s, f, s->now_ns - from_ns);
	return 0;
}

int top_samples_play(struct top_samples *s, struct top_frame *f, uint64_t step_ns,
		     struct error *err)
{
	uint32_t normal, dirty_cpu, dirty_io;
	int rc = play(s, f, step_ns, err);

	if (rc)
		return rc;
	top_window_schedulers(s->window, &normal, &dirty_cpu, &dirty_io);
	top_frame_set_schedulers(f, normal, dirty_cpu, dirty_io);
	rc = top_samples_step(s, f, err);
	f->lost += count(s, COUNTER_EVENTS_LOST);
	f->refused += s->stream.unknown;
	return rc;
}

int top_samples_warn(const struct top_samples *s)
{
	return capture_input_warn(s->input.name, capture_reader_damage(s->input.reader), "shown");
}

bool top_samples_ended(const struct top_samples *s)
{
	return s->ended;
}

/* ---- both ------------------------------------------------------------------------------------ */

int top_samples_step(struct top_samples *s, struct top_frame *f, struct error *err)
{
	struct snapshot_options options = {.by = SNAPSHOT_BY_NONE};
	int rc = top_samples_drain(s, err);

	if (rc)
		return rc;
	if (s->live_open && !s->restarted)
		top_window_step(s->window, clock_monotonic_ns());
	s->restarted = false;
	f->lost = count(s, COUNTER_RING_FULL);
	f->refused = count(s, COUNTER_BAD_RECORD) + s->summary.dropped_unknown;
	top_window_shares(s->window, f);
	if (s->worked)
		top_worked_give(s->worked, f);
	top_frame_sum_schedulers(f);
	snapshot_close(s->snapshot);
	s->snapshot = NULL;
	rc = top_window_snapshot(s->window, &options, &s->snapshot, err);
	if (rc == -ENODATA)
		rc = 0;
	if (rc == 0 && s->live_open && top_window_is_full(s->window))
		rc = renew(s, err);
	return rc;
}

struct event_rates *top_samples_events(struct top_samples *s)
{
	return s && s->events.nr ? &s->events : NULL;
}

const struct snapshot *top_samples_snapshot(const struct top_samples *s)
{
	return s ? s->snapshot : NULL;
}

double top_samples_of_core(const struct top_samples *s)
{
	return s ? top_window_freq(s->window) * (double)top_window_ns(s->window) / 1e9 : 0;
}

int top_samples_take(struct top_samples *s, const struct snapshot_options *options,
		     struct snapshot **out, struct error *err)
{
	return top_window_snapshot(s->window, options, out, err);
}

void top_samples_give_cpu(const struct top_samples *s, struct process_table *t)
{
	const struct snapshot *snap = top_samples_snapshot(s);
	uint64_t number, serial;
	struct process_cpu *cpu;
	double full;
	size_t nr = 0;

	if (!snap) {
		process_table_forget_cpu(t);
		return;
	}
	full = top_samples_of_core(s);
	cpu = xcalloc(snap->nr_processes + 1, sizeof(*cpu));
	for (uint32_t i = 0; i < snap->nr_processes && full > 0; i++) {
		if (!pid_parse(snap->processes[i].pid, &number, &serial))
			continue; /* of another node, or no process */
		cpu[nr].pid = serial << 32 | number;
		cpu[nr].initial_call = snap->processes[i].initial_call;
		cpu[nr++].percent = (float)(100.0 * (double)snap->processes[i].samples / full);
	}
	process_table_cpu(t, cpu, nr);
	free(cpu);
}
