/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes -> events: every type, every length, inner lengths and enums out of range. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/event.h"
#include "lib/records.h"

/* One record of each type that can be decoded. */
static void make_all(struct records *r)
{
	uint32_t frame, call;

	records_open(r);
	records_meta(r, "node", "a@b");
	call = records_function(r, "lists", "map", 2, FRAME_BIF);
	frame = records_frame(r, call, "lists.erl", 1234);
	records_sample(r, 77, records_process(r, 0x1234567890, "<0.80.0>", "reg", "{a,b}", call),
		       records_stack(r, &frame, 1),
		       records_thread(r, 4711, THREAD_DIRTY_CPU, 3, "erts_dcpus_3"), 9, SAMPLE_ETS,
		       SAMPLE_STATUS_TRUNCATED);
	records_counter(r, 88, "hits", 1ull << 40);
	records_end(r, 99);
}

/* An event of the VM with so many values, in a buffer of its own. */
static struct rec_event *make_vm(unsigned int nr)
{
	size_t size = sizeof(struct rec_event) + 8 * nr;
	struct rec_event *e = calloc(1, size);

	e->h = (struct rec_header){.type = REC_EVENT, .size = (uint32_t)size, .ts_ns = 55};
	e->kind = 1;
	e->process = 2;
	e->thread = 3;
	e->stack = 4;
	e->cpu = 5;
	e->status = SAMPLE_STATUS_TRUNCATED;
	e->nr_values = (uint8_t)nr;
	for (unsigned int i = 0; i < nr; i++)
		e->values[i] = 100 + i;
	return e;
}

static void test_vm(void **state)
{
	UNUSED(state);
	/* Also with more values than this version knows. */
	for (unsigned int nr = 0; nr <= 255; nr += nr < 10 ? 1 : 49) {
		struct rec_event *e = make_vm(nr);
		struct event ev;

		assert_int_equal(event_decode(&ev, e, e->h.size), e->h.size);
		assert_int_equal(ev.type, REC_EVENT);
		assert_int_equal(ev.ts_ns, 55);
		assert_int_equal(ev.u.vm.kind, 1);
		assert_int_equal(ev.u.vm.process, 2);
		assert_int_equal(ev.u.vm.thread, 3);
		assert_int_equal(ev.u.vm.stack, 4);
		assert_int_equal(ev.u.vm.cpu, 5);
		assert_int_equal(ev.u.vm.status, SAMPLE_STATUS_TRUNCATED);
		assert_int_equal(ev.u.vm.nr_values, MIN(nr, EVENT_MAX_FIELDS));
		for (unsigned int i = 0; i < ev.u.vm.nr_values; i++)
			assert_int_equal(ev.u.vm.values[i], 100 + i);
		free(e);
	}
}

/* Cut at every length, and with a header that says what is left; enums out of range. */
static void test_bad_vm(void **state)
{
	struct rec_event *whole = make_vm(4);
	struct event ev;

	UNUSED(state);
	for (size_t size = 0; size < whole->h.size; size++) {
		struct rec_event *cut = malloc(size + 1);

		memcpy(cut, whole, size);
		assert_int_equal(event_decode(&ev, cut, size), -EAGAIN);
		if (size >= sizeof(cut->h)) {
			cut->h.size = (uint32_t)size;
			assert_int_equal(event_decode(&ev, cut, size), -EINVAL);
		}
		free(cut);
	}
	whole->nr_values = 5;
	assert_int_equal(event_decode(&ev, whole, whole->h.size), -EINVAL);
	whole->nr_values = 4;
	whole->status = NR_SAMPLE_STATUSES;
	assert_int_equal(event_decode(&ev, whole, whole->h.size), -EINVAL);
	free(whole);
}

/* The first record of a type; fails if there is none. */
static const struct rec_header *find(const struct records *r, enum rec_type type)
{
	const struct rec_header *h;
	size_t at = 0;

	while ((h = records_next(r, &at))) {
		if (h->type == type)
			return h;
	}
	fail_msg("no record of type %d", (int)type);
	return NULL;
}

static struct event decode(const struct records *r, enum rec_type type)
{
	const struct rec_header *h = find(r, type);
	struct event ev;

	assert_int_equal(event_decode(&ev, h, h->size), h->size);
	assert_int_equal(ev.type, type);
	assert_int_equal(ev.ts_ns, h->ts_ns);
	return ev;
}

static void test_definitions(void **state)
{
	struct records r;
	struct event ev;

	UNUSED(state);
	make_all(&r);
	ev = decode(&r, REC_META);
	assert_int_equal(ev.u.meta.key_len, 4);
	assert_memory_equal(ev.u.meta.key, "node", 4);
	assert_int_equal(ev.u.meta.value_len, 3);
	assert_memory_equal(ev.u.meta.value, "a@b", 3);
	ev = decode(&r, REC_STRING);
	assert_int_equal(ev.u.string.id, 1);
	assert_int_equal(ev.u.string.len, 5);
	assert_memory_equal(ev.u.string.s, "lists", 5);
	ev = decode(&r, REC_FUNCTION);
	assert_int_equal(ev.u.function.id, 1);
	assert_int_equal(ev.u.function.module, 1);
	assert_int_equal(ev.u.function.name, 2);
	assert_int_equal(ev.u.function.arity, 2);
	assert_int_equal(ev.u.function.kind, FRAME_BIF);
	ev = decode(&r, REC_FRAME);
	assert_int_equal(ev.u.frame.id, 1);
	assert_int_equal(ev.u.frame.function, 1);
	assert_int_equal(ev.u.frame.file, 3);
	assert_int_equal(ev.u.frame.line, 1234);
	ev = decode(&r, REC_STACK);
	assert_int_equal(ev.u.stack.id, 1);
	assert_int_equal(ev.u.stack.parent, 0);
	assert_int_equal(ev.u.stack.frame, 1);
	ev = decode(&r, REC_PROCESS);
	assert_int_equal(ev.u.process.id, 1);
	assert_int_equal(ev.u.process.epid, 0x1234567890);
	assert_int_equal(ev.u.process.pid, names_intern_string(r.names, "<0.80.0>", 8, NULL));
	assert_int_equal(ev.u.process.registered, names_intern_string(r.names, "reg", 3, NULL));
	assert_int_equal(ev.u.process.label, names_intern_string(r.names, "{a,b}", 5, NULL));
	assert_int_equal(ev.u.process.initial_call, 1);
	ev = decode(&r, REC_THREAD);
	assert_int_equal(ev.u.thread.os_tid, 4711);
	assert_int_equal(ev.u.thread.type, THREAD_DIRTY_CPU);
	assert_int_equal(ev.u.thread.scheduler, 3);
	records_close(&r);
}

static void test_events(void **state)
{
	struct records r;
	struct event ev;

	UNUSED(state);
	make_all(&r);
	ev = decode(&r, REC_SAMPLE);
	assert_int_equal(ev.ts_ns, 77);
	assert_int_equal(ev.u.sample.process, 1);
	assert_int_equal(ev.u.sample.stack, 1);
	assert_int_equal(ev.u.sample.thread, 1);
	assert_int_equal(ev.u.sample.weight, 9);
	assert_int_equal(ev.u.sample.kind, SAMPLE_ETS);
	assert_int_equal(ev.u.sample.status, SAMPLE_STATUS_TRUNCATED);
	ev = decode(&r, REC_COUNTER);
	assert_int_equal(ev.u.counter.value, 1ull << 40);
	assert_int_equal(ev.u.counter.name, names_intern_string(r.names, "hits", 4, NULL));
	ev = decode(&r, REC_END);
	assert_int_equal(ev.ts_ns, 99);
	records_close(&r);
}

/* Each record cut at every length, in an allocation of that length, and not aligned. */
static void test_every_length(void **state)
{
	const struct rec_header *h;
	struct records r;
	struct event ev;
	size_t at = 0;

	UNUSED(state);
	make_all(&r);
	while ((h = records_next(&r, &at))) {
		for (size_t size = 0; size <= h->size; size++) {
			char *bytes = malloc(size + 1);

			memcpy(bytes + 1, h, size);
			assert_int_equal(event_decode(&ev, bytes + 1, size),
					 size < h->size ? -EAGAIN : (int)h->size);
			free(bytes);
		}
	}
	records_close(&r);
}

/* A header that claims fewer bytes than the type needs. */
static void test_too_small(void **state)
{
	const struct rec_header *h;
	struct records r;
	struct event ev;
	size_t at = 0;
	int nr_small = 0;

	UNUSED(state);
	make_all(&r);
	while ((h = records_next(&r, &at))) {
		uint32_t fixed = h->type == REC_META || h->type == REC_STRING ? 24 : h->size;

		for (uint32_t size = 16; size < fixed; size += 8) {
			struct rec_header *copy = malloc(size);

			memcpy(copy, h, size);
			copy->size = size;
			assert_int_equal(event_decode(&ev, copy, size), -EINVAL);
			free(copy);
			nr_small++;
		}
	}
	assert_true(nr_small > 10);
	records_close(&r);
}

static void test_bad_size(void **state)
{
	static const uint32_t bad[] = {0,
				       8,
				       15,
				       17,
				       20,
				       EBEAM_MAX_RECORD_SIZE + 1,
				       EBEAM_MAX_RECORD_SIZE + 8,
				       UINT32_MAX,
				       UINT32_MAX - 7};
	struct rec_header h = {.type = REC_END};
	struct event ev;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		h.size = bad[i];
		assert_int_equal(event_decode(&ev, &h, sizeof(h)), -EINVAL);
	}
	h.size = EBEAM_MAX_RECORD_SIZE;
	assert_int_equal(event_decode(&ev, &h, sizeof(h)), -EAGAIN);
}

/* Sets 32 bits at `offset` in the first record of `type` and decodes it. */
static int decode_changed(enum rec_type type, size_t offset, uint32_t value)
{
	struct records r;
	struct event ev;
	char *h;
	int ret;

	make_all(&r);
	h = (char *)(uintptr_t)find(&r, type);
	memcpy(h + offset, &value, sizeof(value));
	ret = event_decode(&ev, h, ((struct rec_header *)h)->size);
	records_close(&r);
	return ret;
}

static void test_bad_content(void **state)
{
	UNUSED(state);
	assert_int_equal(decode_changed(REC_META, offsetof(struct rec_meta, key_size), 100),
			 -EINVAL);
	assert_int_equal(decode_changed(REC_META, offsetof(struct rec_meta, value_size), 5),
			 -EINVAL);
	assert_int_equal(
		decode_changed(REC_META, offsetof(struct rec_meta, value_size), UINT32_MAX - 3),
		-EINVAL);
	assert_int_equal(decode_changed(REC_STRING, offsetof(struct rec_string, string_size), 9),
			 -EINVAL);
	assert_int_equal(
		decode_changed(REC_STRING, offsetof(struct rec_string, string_size), UINT32_MAX),
		-EINVAL);
	assert_true(decode_changed(REC_STRING, offsetof(struct rec_string, string_size), 8) > 0);
	assert_int_equal(
		decode_changed(REC_FUNCTION, offsetof(struct rec_function, kind), FRAME_STATE + 1),
		-EINVAL);
	assert_int_equal(
		decode_changed(REC_FUNCTION, offsetof(struct rec_function, arity), (uint32_t)-2),
		-EINVAL);
	assert_int_equal(decode_changed(REC_FUNCTION, offsetof(struct rec_function, symbol_source),
					NR_SYMBOL_SOURCES),
			 -EINVAL);
	assert_true(decode_changed(REC_FUNCTION, offsetof(struct rec_function, arity),
				   (uint32_t)-1) > 0);
	assert_int_equal(
		decode_changed(REC_THREAD, offsetof(struct rec_thread, type), THREAD_OTHER + 1),
		-EINVAL);
	assert_int_equal(decode_changed(REC_SAMPLE, offsetof(struct rec_sample, weight), 0),
			 -EINVAL);
	assert_int_equal(
		decode_changed(REC_SAMPLE, offsetof(struct rec_sample, kind), NR_SAMPLE_KINDS),
		-EINVAL);
	assert_int_equal(decode_changed(REC_SAMPLE, offsetof(struct rec_sample, kind),
					NR_SAMPLE_STATUSES << 8),
			 -EINVAL);
}

static bool takes_scheduler(const struct rec_scheduler *rec)
{
	struct records r;
	struct event ev;
	int rc;

	records_open(&r);
	records_add(&r, REC_SCHEDULER, 5000, &rec->type, sizeof(*rec) - sizeof(rec->h));
	rc = event_decode(&ev, r.words.data, r.words.len * 8);
	records_close(&r);
	if (rc < 0)
		return false;
	assert_int_equal(rc, sizeof(*rec));
	assert_int_equal(ev.u.scheduler.number, rec->number);
	assert_int_equal(ev.u.scheduler.working_ns, rec->working_ns);
	assert_int_equal(ev.u.scheduler.port, rec->port);
	return true;
}

/* Parts of a whole. */
static void test_scheduler(void **state)
{
	const struct rec_scheduler good = {.type = THREAD_DIRTY_CPU,
					   .number = 7,
					   .duration_ns = 5000,
					   .working_ns = 5000,
					   .on_cpu_ns = SCHEDULER_UNKNOWN,
					   .cpu_wait_ns = 0,
					   .samples = 10,
					   .working = 10,
					   .process = 6,
					   .port = 4,
					   .gc_samples = 9,
					   .gc = 3};
	struct rec_scheduler bad;
	struct records r;
	struct event ev;

	UNUSED(state);
	assert_true(takes_scheduler(&good));
#define REFUSES(field, value)                                                                      \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.field = (value);                                                               \
		assert_false(takes_scheduler(&bad));                                               \
	} while (0)
	REFUSES(type, THREAD_UNKNOWN);
	REFUSES(type, THREAD_OTHER);
	REFUSES(number, 0);
	REFUSES(number, 65536);
	REFUSES(duration_ns, 5001); /* before the clock began */
	REFUSES(duration_ns, 4999);
	REFUSES(cpu_wait_ns, 5001);
	REFUSES(samples, 9);
	REFUSES(process, 7);
	REFUSES(process, 11);
	REFUSES(port, 5);
	REFUSES(gc_samples, 11);
	REFUSES(gc, 10);
#undef REFUSES
	/* As captures had it before its last two fields. */
	records_open(&r);
	records_add(&r, REC_SCHEDULER, 5000, &good.type,
		    offsetof(struct rec_scheduler, gc_samples) - sizeof(good.h));
	assert_true(event_decode(&ev, r.words.data, r.words.len * 8) > 0);
	assert_int_equal(ev.u.scheduler.port, 4);
	assert_int_equal(ev.u.scheduler.gc_samples, 0);
	records_close(&r);
}

static void test_unknown_types(void **state)
{
	static const uint16_t types[] = {0,  REC_RAW_SAMPLE,	REC_RAW_PROCESS, REC_RAW_CODE,
					 39, REC_SCHEDULER + 1, UINT16_MAX};
	static const struct event nothing;
	struct records r;
	struct event ev;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		records_open(&r);
		records_add(&r, types[i], 5, "whatever it is, it is skipped", 29);
		assert_int_equal(event_decode(&ev, r.words.data, r.words.len * 8), 48);
		assert_int_equal(ev.type, types[i]);
		assert_int_equal(ev.ts_ns, 5);
		assert_memory_equal(&ev.u, &nothing.u, sizeof(ev.u));
		records_close(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),  cmocka_unit_test(test_events),
		cmocka_unit_test(test_every_length), cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_bad_size),     cmocka_unit_test(test_bad_content),
		cmocka_unit_test(test_scheduler),    cmocka_unit_test(test_unknown_types),
		cmocka_unit_test(test_vm),	     cmocka_unit_test(test_bad_vm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
