/* SPDX-License-Identifier: BSD-2-Clause */
/* model/profile/event_weights and model/profile/event_profile: events in, weighed samples out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "model/profile/event_profile.h"

enum { STR_IN = 1, STR_OUT, STR_EXITED, STR_WAITING, STR_RUNNABLE, STR_SUSPENDED, STR_PID };

struct fix {
	struct event_stream stream;
	struct event_weights *weights;
	VEC(struct event) samples;
	uint32_t nr_processes;
};

static void define_string(struct fix *f, uint32_t id, const char *text)
{
	assert_int_equal(names_define_string(f->stream.names, id, text, strlen(text)), 0);
}

static int set_up(void **state)
{
	static const char *const texts[] = {"in",	"out",	     "out_exited", "waiting",
					    "runnable", "suspended", "<0.80.0>"};
	struct fix *f = calloc(1, sizeof(*f));

	event_stream_open(&f->stream);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		define_string(f, (uint32_t)i + 1, texts[i]);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fix *f = *state;

	event_weights_close(f->weights);
	event_stream_close(&f->stream);
	vec_free(&f->samples);
	free(f);
	return 0;
}

static void keep(void *arg, const struct event *sample)
{
	struct fix *f = arg;

	assert_int_equal(sample->type, REC_SAMPLE);
	assert_true(sample->u.sample.weight > 0);
	vec_push(&f->samples, *sample);
}

static void begin(struct fix *f, const char *mode, const char *weight)
{
	const struct weight_mode *m = weight_mode_find(mode, weight);

	assert_non_null(m);
	f->weights = event_weights_open(m, keep, f);
}

/* A process of its own for each epid; returns its id. */
static uint32_t process(struct fix *f, uint64_t epid)
{
	f->nr_processes++;
	assert_int_equal(
		names_define_process(f->stream.names, f->nr_processes, epid, STR_PID, 0, 0, 0), 0);
	return f->nr_processes;
}

static void scheduled(struct fix *f, uint32_t process, uint64_t ts_ns, uint32_t type,
		      uint32_t status, uint32_t stack)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = ts_ns};

	ev.u.vm.process = process;
	ev.u.vm.thread = 1;
	ev.u.vm.stack = stack;
	ev.u.vm.nr_values = 4;
	ev.u.vm.values[EVENT_AT(PROCESS_SCHEDULED, TYPE)] = type;
	ev.u.vm.values[EVENT_AT(PROCESS_SCHEDULED, STATUS)] = status;
	event_weights_take(f->weights, &f->stream, EVENT_PROCESS_SCHEDULED, &ev);
}

static void queued(struct fix *f, uint32_t process, uint64_t ts_ns)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = ts_ns};

	ev.u.vm.process = process;
	event_weights_take(f->weights, &f->stream, EVENT_MESSAGE_QUEUED, &ev);
}

static void plain(struct fix *f, enum event_kind kind, unsigned int field, uint64_t value)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};

	ev.u.vm.process = 1;
	ev.u.vm.thread = 2;
	ev.u.vm.stack = 3;
	ev.u.vm.status = SAMPLE_STATUS_TRUNCATED;
	ev.u.vm.nr_values = EVENT_MAX_FIELDS;
	ev.u.vm.values[field] = value;
	event_weights_take(f->weights, &f->stream, kind, &ev);
}

static void assert_sample(const struct fix *f, size_t i, uint32_t process, uint32_t stack,
			  enum sample_kind kind, uint64_t weight)
{
	assert_true(i < f->samples.len);
	assert_int_equal(f->samples.data[i].u.sample.process, process);
	assert_int_equal(f->samples.data[i].u.sample.stack, stack);
	assert_int_equal(f->samples.data[i].u.sample.kind, kind);
	assert_true(f->samples.data[i].u.sample.weight == weight);
}

static void modes(void **state)
{
	UNUSED(state);
	assert_string_equal(weight_mode_find("gc", NULL)->unit, "ns");
	assert_string_equal(weight_mode_find("gc", "")->unit, "ns");
	assert_string_equal(weight_mode_find("gc", "words")->unit, "words");
	assert_string_equal(weight_mode_find("alloc", NULL)->weight, "allocated");
	assert_null(weight_mode_find("gc", "bytes"));
	assert_null(weight_mode_find("gc", "survived"));
	assert_null(weight_mode_find("msg", "time"));
	assert_null(weight_mode_find("cpu", NULL));
}

static void collections(void **state)
{
	struct fix *f = *state;

	begin(f, "gc", "time");
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, DURATION), 1000);
	plain(f, EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, DURATION), 5ull << 40);
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, DURATION), 0); /* fell through */
	plain(f, EVENT_GC_MINOR_START, 0, 77);
	plain(f, EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), 77);
	assert_int_equal(f->samples.len, 2);
	assert_sample(f, 0, 1, 3, SAMPLE_GC, 1000);
	assert_sample(f, 1, 1, 3, SAMPLE_GC, 5ull << 40);
	assert_int_equal(f->samples.data[0].u.sample.status, SAMPLE_STATUS_TRUNCATED);
	assert_int_equal(f->samples.data[0].u.sample.thread, 2);
}

static void words_of_collections(void **state)
{
	struct fix *f = *state;

	begin(f, "gc", "words");
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, RECLAIMED), 12);
	plain(f, EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, RECLAIMED), EVENT_UNKNOWN);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, 1, 3, SAMPLE_GC, 12);
	assert_true(event_weights_counts(f->weights)->unknown == 1);
}

/* A minor one that went over into a major one has no time of its own, and nothing is missing. */
static void gone_over(void **state)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};
	struct fix *f = *state;

	begin(f, "gc", "time");
	ev.u.vm.nr_values = EVENT_MAX_FIELDS;
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, DURATION)] = EVENT_UNKNOWN;
	event_weights_take(f->weights, &f->stream, EVENT_GC_MINOR_END, &ev);
	assert_int_equal(f->samples.len, 0);
	assert_int_equal(event_weights_counts(f->weights)->unknown, 0);
	ev.u.vm.values[EVENT_AT(GC_MINOR_END, RECLAIMED)] = 5;
	event_weights_take(f->weights, &f->stream, EVENT_GC_MINOR_END, &ev);
	assert_int_equal(event_weights_counts(f->weights)->unknown, 1);
}

static void messages(void **state)
{
	struct fix *f = *state;

	begin(f, "msg", NULL);
	plain(f, EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), 10);
	plain(f, EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), 0);
	plain(f, EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), EVENT_UNKNOWN);
	plain(f, EVENT_MESSAGE_SEND, EVENT_AT(MESSAGE_SEND, SIZE), 1ull << 62); /* from a file */
	plain(f, EVENT_MESSAGE_QUEUED, EVENT_AT(MESSAGE_QUEUED, SIZE), 10);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, 1, 3, SAMPLE_COPY, 80);
	assert_true(event_weights_counts(f->weights)->unknown == 2);
}

static void slices(void **state)
{
	struct fix *f = *state;
	uint32_t a = process(f, 0x503), b = process(f, 0x513);

	begin(f, "sched", NULL);
	scheduled(f, a, 100, STR_OUT, STR_WAITING, 5); /* began before */
	scheduled(f, a, 200, STR_IN, 0, 6);
	scheduled(f, b, 210, STR_IN, 0, 7);
	scheduled(f, a, 250, STR_OUT, STR_WAITING, 8);
	scheduled(f, a, 300, STR_IN, 0, 9);
	scheduled(f, a, 310, STR_EXITED, 0, 10);
	event_weights_finish(f->weights, &f->stream, 1000);
	assert_int_equal(f->samples.len, 3);
	assert_sample(f, 0, a, 8, SAMPLE_ERLANG, 50); /* the stack at its end */
	assert_sample(f, 1, a, 10, SAMPLE_ERLANG, 10);
	assert_sample(f, 2, b, 7, SAMPLE_ERLANG, 790); /* still there: that at its beginning */
	assert_true(event_weights_counts(f->weights)->began_before == 1);
	assert_true(event_weights_counts(f->weights)->unfinished == 1);
	assert_true(event_weights_counts(f->weights)->unfinished_ns == 790);
}

static void waits(void **state)
{
	struct fix *f = *state;
	uint32_t a = process(f, 0x503), b = process(f, 0x513);

	begin(f, "wait", NULL);
	scheduled(f, a, 50, STR_IN, 0, 1); /* waited before */
	scheduled(f, a, 100, STR_OUT, STR_WAITING, 5);
	queued(f, a, 170);
	queued(f, a, 180); /* it is runnable already */
	queued(f, b, 190); /* nobody that waits */
	scheduled(f, a, 200, STR_IN, 0, 6);
	scheduled(f, a, 220, STR_OUT, STR_RUNNABLE, 7);
	scheduled(f, a, 250, STR_IN, 0, 8);
	scheduled(f, a, 260, STR_OUT, STR_SUSPENDED, 9);
	queued(f, a, 270); /* wakes nobody who is suspended */
	scheduled(f, a, 300, STR_IN, 0, 9);
	scheduled(f, b, 400, STR_OUT, 0, 11); /* status unknown */
	scheduled(f, a, 410, STR_EXITED, 0, 12);
	event_weights_finish(f->weights, &f->stream, 1000);
	assert_int_equal(f->samples.len, 5);
	assert_sample(f, 0, a, 5, SAMPLE_WAITING, 70);
	assert_sample(f, 1, a, 5, SAMPLE_RUNNABLE, 30);
	assert_sample(f, 2, a, 7, SAMPLE_RUNNABLE, 30);
	assert_sample(f, 3, a, 9, SAMPLE_WAITING, 40);
	assert_sample(f, 4, b, 11, SAMPLE_WAITING, 600);
	assert_true(event_weights_counts(f->weights)->began_before == 1);
	assert_true(event_weights_counts(f->weights)->unfinished == 1);
}

/* A name that is learned between out and in makes another id of the same process. */
static void renamed(void **state)
{
	struct fix *f = *state;
	uint32_t before = process(f, 0x503), after;

	define_string(f, STR_PID + 1, "named");
	begin(f, "wait", NULL);
	scheduled(f, before, 100, STR_OUT, STR_WAITING, 5);
	after = f->nr_processes + 1;
	assert_int_equal(
		names_define_process(f->stream.names, after, 0x503, STR_PID, STR_PID + 1, 0, 0), 0);
	scheduled(f, after, 150, STR_IN, 0, 6);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, before, 5, SAMPLE_WAITING, 50);
}

static void not_watched(void **state)
{
	struct fix *f = *state;
	uint32_t a = process(f, 0x503), b = process(f, 0x513);
	struct coverage *c = &f->stream.coverage;

	begin(f, "wait", NULL);
	scheduled(f, a, 100, STR_OUT, STR_WAITING, 5);
	coverage_take(c, EVENT_PROCESS_SCHEDULED, COVERAGE_OFF, 500000, 110);
	coverage_take(c, EVENT_PROCESS_SCHEDULED, COVERAGE_ON, 500000, 120);
	scheduled(f, a, 150, STR_IN, 0, 6);
	scheduled(f, b, 160, STR_OUT, STR_WAITING, 5);
	scheduled(f, b, 170, STR_IN, 0, 6);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, b, 5, SAMPLE_WAITING, 10);
	assert_true(event_weights_counts(f->weights)->gaps == 1);
}

/* Time that runs backwards, processes that nobody defined. */
static void damaged(void **state)
{
	struct fix *f = *state;
	uint32_t a = process(f, 0x503);

	begin(f, "wait", NULL);
	scheduled(f, 99, 100, STR_OUT, STR_WAITING, 5);
	scheduled(f, a, 100, 77, STR_WAITING, 5);
	scheduled(f, a, 100, STR_OUT, STR_WAITING, 5);
	queued(f, a, 50);
	queued(f, 99, 50);
	scheduled(f, a, 90, STR_IN, 0, 5);
	assert_int_equal(f->samples.len, 0);
	scheduled(f, a, 100, STR_OUT, STR_WAITING, 5);
	queued(f, a, 900);
	scheduled(f, a, 150, STR_IN, 0, 5);
	event_weights_finish(f->weights, &f->stream, 10);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, a, 5, SAMPLE_WAITING, 50);
}

/* Many come and go: each finds its own, whatever was taken out in between. */
static void many(void **state)
{
	struct fix *f = *state;
	const uint32_t nr = 3000;

	f->weights = event_weights_open_limited(weight_mode_find("wait", NULL), keep, f, 2000);
	for (uint32_t i = 0; i < nr; i++)
		process(f, 0x3 + 16 * (uint64_t)i);
	for (uint32_t i = 1; i <= nr; i++)
		scheduled(f, i, i, STR_OUT, STR_WAITING, i);
	assert_true(event_weights_counts(f->weights)->overflow == 1000);
	for (uint32_t i = 1; i <= 2000; i += 3)
		scheduled(f, i, 2 * nr + i, STR_EXITED, 0, 0);
	for (uint32_t i = 1; i <= 2000; i += 2)
		scheduled(f, i, 10 * nr, STR_IN, 0, 0);
	for (uint32_t i = 2; i <= 2000; i += 2)
		scheduled(f, i, 10 * nr, STR_IN, 0, 0);
	assert_int_equal(f->samples.len, 2000 - 667);
	for (size_t i = 0; i < f->samples.len; i++) {
		const struct event *s = &f->samples.data[i];

		assert_int_equal(s->u.sample.stack, s->u.sample.process);
		assert_true(s->u.sample.weight == 10ull * nr - s->u.sample.process);
	}
	event_weights_finish(f->weights, &f->stream, 20 * nr);
	assert_int_equal(f->samples.len, 2000 - 667);
}

/* ---- profiles ------------------------------------------------------------------------------- */

static void take_meta(struct fix *f, struct event_profile *p, const char *key, const char *value)
{
	struct event ev = {.type = REC_META};

	ev.u.meta.key = key;
	ev.u.meta.key_len = (uint32_t)strlen(key);
	ev.u.meta.value = value;
	ev.u.meta.value_len = (uint32_t)strlen(value);
	UNUSED(f);
	event_profile_other(p, &ev);
}

static void profiles(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};
	struct event_profile *p;
	struct snapshot *s;
	struct snapshot_options options = {.by = SNAPSHOT_BY_NONE};

	assert_int_equal(names_define_thread(f->stream.names, 1, 7, THREAD_NORMAL, 1, STR_PID), 0);
	p = event_profile_open(&f->stream, NULL);
	take_meta(f, p, "warnings", "an old one");
	strcpy(f->stream.mode, "msg"); /* as a capture says */
	coverage_take(&f->stream.coverage, EVENT_MESSAGE_SEND, COVERAGE_ON, 250000, 1);
	ev.u.vm.thread = 1;
	ev.u.vm.nr_values = 2;
	ev.u.vm.values[EVENT_AT(MESSAGE_SEND, SIZE)] = 3ull << 40;
	event_profile_event(p, EVENT_MESSAGE_SEND, &ev);
	ev.u.vm.values[EVENT_AT(MESSAGE_SEND, SIZE)] = EVENT_UNKNOWN;
	event_profile_event(p, EVENT_MESSAGE_SEND, &ev);
	event_profile_finish(p);
	assert_int_equal(profile_snapshot(event_profile_profile(p), &options, &s, NULL), 0);
	assert_true(s->samples == 4 * 8 * (3ull << 40));
	assert_true(s->by_kind[SAMPLE_COPY] == s->samples);
	assert_string_equal(snapshot_meta(s, "unit"), "bytes");
	assert_string_equal(snapshot_meta(s, "title"), "bytes sent");
	assert_true(strncmp(snapshot_meta(s, "warnings"), "an old one\nnot counted: 1 messages",
			    32) == 0);
	assert_non_null(strstr(snapshot_meta(s, "warnings"), "\nsampled 25 %"));
	snapshot_close(s);
	event_profile_close(p);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void called(struct fix *f, enum call_kind kind, uint64_t ts_ns, uint64_t height,
		   uint32_t stack, uint32_t flags)
{
	struct event ev = {.type = REC_CALL, .ts_ns = ts_ns};

	ev.u.call.kind = kind;
	ev.u.call.process = 1;
	ev.u.call.thread = 2;
	ev.u.call.height = height;
	ev.u.call.site = 0x1000;
	ev.u.call.stack = stack;
	ev.u.call.flags = flags;
	event_weights_call(f->weights, &f->stream, &ev);
}

#define WHOLE (CALL_STACK | CALL_ENDS)

static void calls(void **state)
{
	struct fix *f = *state;

	process(f, 77);
	begin(f, "trace", NULL);
	called(f, CALL_KIND_CALL, 10, 3, 5, WHOLE);
	called(f, CALL_KIND_RETURN, 20, 3, 0, 0);
	called(f, CALL_KIND_CALL, 30, 3, 6, 0);
	event_weights_finish(f->weights, &f->stream, 100);
	assert_int_equal(f->samples.len, 2);
	assert_sample(f, 0, 1, 5, SAMPLE_ERLANG, 1);
	assert_sample(f, 1, 1, 6, SAMPLE_ERLANG, 1);
	assert_true(event_weights_counts(f->weights)->alone == 1);
	assert_true(event_weights_counts(f->weights)->unknown == 0);
}

static void exception(struct fix *f, uint64_t ts_ns, uint64_t height)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = ts_ns};

	ev.u.vm.process = 1;
	ev.u.vm.nr_values = EVENT_MAX_FIELDS;
	ev.u.vm.values[EVENT_AT(PROCESS_EXCEPTION, HEIGHT)] = height;
	event_weights_take(f->weights, &f->stream, EVENT_PROCESS_EXCEPTION, &ev);
}

/* No nanosecond is counted twice, however calls are nested. */
static void times_of_calls(void **state)
{
	struct fix *f = *state;

	process(f, 77);
	begin(f, "trace", "time");
	called(f, CALL_KIND_CALL, 100, 3, 5, WHOLE);
	called(f, CALL_KIND_CALL, 110, 7, 6, WHOLE);
	called(f, CALL_KIND_CALL, 115, 9, 7, WHOLE);
	called(f, CALL_KIND_RETURN, 120, 9, 0, 0);
	called(f, CALL_KIND_RETURN, 140, 7, 0, 0);
	called(f, CALL_KIND_CALL, 150, 7, 8, WHOLE);
	exception(f, 160, 5);
	/* In tail position: both end at once. */
	called(f, CALL_KIND_CALL, 170, 3, 9, WHOLE);
	called(f, CALL_KIND_RETURN, 200, 3, 0, 0);
	assert_int_equal(f->samples.len, 5);
	assert_sample(f, 0, 1, 7, SAMPLE_ERLANG, 5);
	assert_sample(f, 1, 1, 6, SAMPLE_ERLANG, 25);
	assert_sample(f, 2, 1, 8, SAMPLE_ERLANG, 10);
	assert_sample(f, 3, 1, 9, SAMPLE_ERLANG, 30);
	assert_sample(f, 4, 1, 5, SAMPLE_ERLANG, 30);
	/* Ends that nobody saw, and one that never came. */
	called(f, CALL_KIND_CALL, 300, 7, 5, CALL_STACK);
	called(f, CALL_KIND_CALL, 310, 3, 5, WHOLE);
	event_weights_finish(f->weights, &f->stream, 400);
	assert_int_equal(f->samples.len, 5);
	assert_true(event_weights_counts(f->weights)->unknown == 2);
}

/* Calls of a recording weigh as it says. */
static void profile_of_calls(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_CALL, .ts_ns = 9};
	struct event_profile *p;

	process(f, 77);
	ev.u.call.process = 1;
	strcpy(f->stream.mode, "trace");
	strcpy(f->stream.weight, "calls");
	p = event_profile_open(&f->stream, NULL);
	event_profile_other(p, &ev);
	event_profile_finish(p);
	assert_string_equal(event_profile_mode(p)->unit, "calls");
	event_profile_close(p);
	/* And to other modes they are nothing. */
	p = event_profile_open(&f->stream, weight_mode_find("gc", NULL));
	event_profile_other(p, &ev);
	event_profile_finish(p);
	assert_true(profile_samples(event_profile_profile(p)) == 0);
	event_profile_close(p);
}

/* Events of a recording of all kinds have no weight of their own. */
static void no_mode(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};
	struct event_profile *p;

	strcpy(f->stream.mode, "events");
	p = event_profile_open(&f->stream, NULL);
	event_profile_event(p, EVENT_MESSAGE_SEND, &ev);
	event_profile_finish(p);
	assert_null(event_profile_mode(p));
	assert_true(event_profile_ignored(p) == 1);
	assert_true(profile_samples(event_profile_profile(p)) == 0);
	event_profile_close(p);
}

/* ---- allocated words ------------------------------------------------------------------------- */

/* What is new counts for collections, and for ends that no collection counts. */
static void allocated(void **state)
{
	struct fix *f = *state;

	begin(f, "alloc", NULL);
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, ALLOCATED), 1000);
	plain(f, EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, ALLOCATED), 300);
	/* One that went over into a major one has nothing of its own. */
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, ALLOCATED), 0);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), 20);
	plain(f, EVENT_PROCESS_HIBERNATE, EVENT_AT(PROCESS_HIBERNATE, ALLOCATED), 7);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), EVENT_UNKNOWN);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), UINT64_MAX - 1);
	assert_int_equal(f->samples.len, 2); /* ends are held until their share is known */
	event_weights_finish(f->weights, &f->stream, 100);
	assert_int_equal(f->samples.len, 4);
	assert_sample(f, 0, 1, 3, SAMPLE_ERLANG, 1000);
	assert_sample(f, 1, 1, 3, SAMPLE_ERLANG, 300);
	assert_sample(f, 2, 1, 3, SAMPLE_ERLANG, 20);
	assert_sample(f, 3, 1, 3, SAMPLE_ERLANG, 7);
	assert_true(event_weights_counts(f->weights)->samples == 4);
	assert_true(event_weights_counts(f->weights)->unknown == 2);
}

static void survived(void **state)
{
	struct fix *f = *state;

	begin(f, "alloc", "survived");
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, SURVIVED), 100);
	plain(f, EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, SURVIVED), 0);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), 20);
	event_weights_finish(f->weights, &f->stream, 100);
	assert_int_equal(f->samples.len, 1);
	assert_sample(f, 0, 1, 3, SAMPLE_ERLANG, 100);
	assert_true(event_weights_counts(f->weights)->unknown == 0);
}

static void large_binaries(void **state)
{
	struct fix *f = *state;

	begin(f, "alloc", "binaries");
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, BINARIES), 100);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, BINARIES), 5);
	event_weights_finish(f->weights, &f->stream, 100);
	assert_int_equal(f->samples.len, 2);
	assert_sample(f, 0, 1, 3, SAMPLE_BINARY, 800);
	assert_sample(f, 1, 1, 3, SAMPLE_BINARY, 40);
}

/* What comes from processes that end is scaled by its own share, as all is scaled by that of
 * collections. */
static void allocated_seen_in_part(void **state)
{
	struct fix *f = *state;

	begin(f, "alloc", NULL);
	coverage_take(&f->stream.coverage, EVENT_GC_MINOR_END, COVERAGE_ON, 250000, 1);
	coverage_take(&f->stream.coverage, EVENT_PROCESS_EXIT, COVERAGE_ON, 500000, 1);
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, ALLOCATED), 1000);
	plain(f, EVENT_PROCESS_EXIT, EVENT_AT(PROCESS_EXIT, ALLOCATED), 20);
	plain(f, EVENT_PROCESS_HIBERNATE, EVENT_AT(PROCESS_HIBERNATE, ALLOCATED), 40);
	plain(f, EVENT_PROCESS_HIBERNATE, EVENT_AT(PROCESS_HIBERNATE, ALLOCATED), 1);
	plain(f, EVENT_PROCESS_HIBERNATE, EVENT_AT(PROCESS_HIBERNATE, ALLOCATED), 3);
	event_weights_finish(f->weights, &f->stream, 100);
	/* A quarter of one word, and of three: one in all. */
	assert_int_equal(f->samples.len, 4);
	assert_sample(f, 0, 1, 3, SAMPLE_ERLANG, 1000);
	assert_sample(f, 1, 1, 3, SAMPLE_ERLANG, 10);
	assert_sample(f, 2, 1, 3, SAMPLE_ERLANG, 10);
	assert_sample(f, 3, 1, 3, SAMPLE_ERLANG, 1);
}

/* The collector is not what allocates; at the end of a process there may be nothing else. */
static void allocated_by_erlang(void **state)
{
	struct fix *f = *state;
	struct names *n = f->stream.names;

	assert_int_equal(names_define_function(n, 1, STR_PID, STR_IN, 1, FRAME_ERLANG), 0);
	assert_int_equal(names_define_function(n, 2, STR_PID, STR_OUT, -1, FRAME_NATIVE), 0);
	assert_int_equal(names_define_function(n, 3, STR_PID, STR_OUT, -1, FRAME_RUNTIME), 0);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(names_define_frame(n, i, i, 0, 0), 0);
	assert_int_equal(names_define_stack(n, 1, 0, 1), 0);
	assert_int_equal(names_define_stack(n, 2, 1, 3), 0);
	assert_int_equal(names_define_stack(n, 3, 2, 2), 0);
	begin(f, "alloc", NULL);
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, ALLOCATED), 5);
	assert_sample(f, 0, 1, 1, SAMPLE_ERLANG, 5);
	event_weights_close(f->weights);
	begin(f, "gc", "words");
	plain(f, EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, RECLAIMED), 5);
	assert_sample(f, 1, 1, 3, SAMPLE_GC, 5);
}

/* What is missing is said, of captures of gc too. */
static void allocated_warnings(void **state)
{
	struct fix *f = *state;
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};
	struct event_profile *p = event_profile_open(&f->stream, weight_mode_find("alloc", NULL));
	struct snapshot_options options = {.by = SNAPSHOT_BY_NONE};
	struct snapshot *s;

	f->stream.watched = 1ull << EVENT_GC_MINOR_END | 1ull << EVENT_GC_MAJOR_END;
	event_profile_event(p, EVENT_GC_MINOR_END, &ev);
	event_profile_finish(p);
	assert_int_equal(profile_snapshot(event_profile_profile(p), &options, &s, NULL), 0);
	assert_non_null(strstr(snapshot_meta(s, "warnings"),
			       "not recorded: process_exit, process_hibernate; "));
	assert_non_null(strstr(snapshot_meta(s, "warnings"), "not counted: 1 collections and"));
	assert_string_equal(snapshot_meta(s, "unit"), "words");
	snapshot_close(s);
	event_profile_close(p);
}

/* Captures of before these fields. */
static void older_captures(void **state)
{
	struct event ev = {.type = REC_EVENT, .ts_ns = 9};
	struct fix *f = *state;

	begin(f, "alloc", NULL);
	f->stream.watched &= ~(1ull << EVENT_PROCESS_EXIT);
	ev.u.vm.nr_values = EVENT_AT(GC_MINOR_END, ALLOCATED);
	event_weights_take(f->weights, &f->stream, EVENT_GC_MINOR_END, &ev);
	ev.u.vm.nr_values = EVENT_AT(PROCESS_HIBERNATE, ALLOCATED);
	event_weights_take(f->weights, &f->stream, EVENT_PROCESS_HIBERNATE, &ev);
	event_weights_finish(f->weights, &f->stream, 100);
	assert_int_equal(f->samples.len, 0);
	assert_true(event_weights_counts(f->weights)->unknown == 2);
	assert_true(event_weights_counts(f->weights)->unrecorded == 1ull << EVENT_PROCESS_EXIT);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(modes),
		CASE(collections),
		CASE(words_of_collections),
		CASE(gone_over),
		CASE(messages),
		CASE(slices),
		CASE(waits),
		CASE(renamed),
		CASE(not_watched),
		CASE(damaged),
		CASE(many),
		CASE(profiles),
		CASE(no_mode),
		CASE(calls),
		CASE(times_of_calls),
		CASE(profile_of_calls),
		CASE(allocated),
		CASE(survived),
		CASE(large_binaries),
		CASE(allocated_seen_in_part),
		CASE(allocated_by_erlang),
		CASE(allocated_warnings),
		CASE(older_captures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
