/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw records -> definitions and events, with an inner source and a resolver made for the test.
 * The resolver names frames after addresses: address 5 is the function m:f5/1.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/enrich.h"
#include "event/event.h"
#include "lib/records.h"
#include "lib/snapcheck.h"

/* ---- an inner source and a resolver ---------------------------------------------------------- */

struct fixture {
	struct source source;
	struct resolver resolver;
	struct records raw; /* what the source gives */
	size_t at;
	int failure; /* what next() returns at the end of `raw` */
	bool closed;
	uint32_t nr_processes, nr_codes, nr_cstacks; /* calls of the resolver */
	bool bad_frame; /* let the resolver name a frame that is not there */
};

static int fixture_next(struct source *s, const struct rec_header **rec, struct error *err)
{
	struct fixture *f = CONTAINER_OF(s, struct fixture, source);

	*rec = records_next(&f->raw, &f->at);
	if (*rec)
		return 1;
	return f->failure ? error_set(err, ERROR_KIND_FAILED, f->failure, "ring is gone") : 0;
}

static int fixture_fd(struct source *s)
{
	UNUSED(s);
	return 42;
}

static void fixture_close(struct source *s)
{
	CONTAINER_OF(s, struct fixture, source)->closed = true;
}

static uint32_t intern_text(struct names *n, const char *text)
{
	return names_intern_string(n, text, strlen(text), NULL);
}

static uint32_t intern_process(struct names *n, uint64_t epid)
{
	char text[32];

	snprintf(text, sizeof(text), "<0.%u.0>", (unsigned int)epid);
	return names_intern_process(n, epid, intern_text(n, text), 0, 0, 0, NULL);
}

static int resolve_sample(struct resolver *r, struct names *n, const struct rec_raw_sample *raw,
			  struct resolved_sample *out)
{
	struct fixture *f = CONTAINER_OF(r, struct fixture, resolver);
	char text[32];

	if (raw->user_ip == 0xbad)
		return -EFAULT;
	out->kind = SAMPLE_ERLANG;
	out->status = (enum sample_status)raw->status;
	out->process = raw->epid ? intern_process(n, raw->epid) : 0;
	out->thread = names_intern_thread(n, raw->os_tid, THREAD_NORMAL, raw->scheduler,
					  intern_text(n, "erts_sched"), NULL);
	out->nr_frames = 0;
	for (int i = raw->nr_leaf - 1; i >= 0; i--) {
		uint32_t function;

		snprintf(text, sizeof(text), "f%u", (unsigned int)raw->addrs[i]);
		function = names_intern_function(n, intern_text(n, "m"), intern_text(n, text), 1,
						 FRAME_ERLANG, NULL);
		out->frames[out->nr_frames++] = names_intern_frame(n, function, 0, 0, NULL);
	}
	if (f->bad_frame)
		out->frames[0] = 12345;
	return 0;
}

static void resolve_process(struct resolver *r, struct names *n, const struct rec_raw_process *raw)
{
	intern_process(n, raw->epid);
	CONTAINER_OF(r, struct fixture, resolver)->nr_processes++;
}

static void resolve_code(struct resolver *r, const struct rec_raw_code *raw)
{
	assert_int_equal(raw->action, CODE_LOADED);
	CONTAINER_OF(r, struct fixture, resolver)->nr_codes++;
}

static void resolve_cstack(struct resolver *r, const struct rec_raw_cstack *raw)
{
	assert_int_equal(raw->os_tid, 11);
	CONTAINER_OF(r, struct fixture, resolver)->nr_cstacks++;
}

/* Event of a link: the process that asked, and to whom. */
static int resolve_event(struct resolver *r, struct names *n, const struct rec_raw_event *raw,
			 struct resolved_event *out)
{
	UNUSED(r);
	if (raw->values[0] == 0xbad)
		return -EFAULT;
	out->process = raw->epid ? intern_process(n, raw->epid) : 0;
	out->thread = names_intern_thread(n, raw->os_tid, THREAD_NORMAL, 1,
					  intern_text(n, "erts_sched"), NULL);
	out->nr_values = 1;
	/* A resolver that is wrong: ids that nobody has. */
	out->values[0] = raw->values[0] > 1000 ? raw->values[0] : intern_process(n, raw->values[0]);
	if (raw->values[0] == 999)
		out->nr_values = 2;
	if (raw->values[0] == 998)
		out->thread = 4711;
	if (raw->values[0] == 997)
		out->process = 4711;
	return 0;
}

static int open_fixture(void **state)
{
	static struct fixture f;

	memset(&f, 0, sizeof(f));
	records_open(&f.raw);
	f.source.next = fixture_next;
	f.source.fd = fixture_fd;
	f.source.close = fixture_close;
	f.resolver.sample = resolve_sample;
	f.resolver.process = resolve_process;
	f.resolver.code = resolve_code;
	f.resolver.event = resolve_event;
	*state = &f;
	return 0;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;

	records_close(&f->raw);
	return 0;
}

/* A raw sample whose stack is the digits of `stack`, root first. */
static struct rec_raw_sample *add_sample(struct fixture *f, uint64_t ts_ns, uint64_t epid,
					 const char *stack)
{
	size_t len = strlen(stack), size = sizeof(struct rec_raw_sample) + len * 8;
	struct rec_raw_sample *raw;

	records_add(&f->raw, REC_RAW_SAMPLE, ts_ns, NULL, size - sizeof(raw->h));
	raw = (struct rec_raw_sample *)(f->raw.words.data + f->raw.words.len - size / 8);
	raw->epid = epid;
	raw->os_tid = 11;
	raw->scheduler = 1;
	raw->nr_leaf = (uint16_t)len;
	for (size_t i = 0; i < len; i++)
		raw->addrs[i] = (uint64_t)(stack[len - 1 - i] - '0');
	return raw;
}

static struct enrich *open_enrich(struct fixture *f)
{
	struct enrich *e;

	e = enrich_open(&f->source, &f->resolver);
	return e;
}

/* All that comes out, into a profile that must accept every event; the number of records. */
static int drain(struct enrich *e, struct profile *p)
{
	struct source *s = enrich_source(e);
	const struct rec_header *rec;
	struct error err = {0};
	struct event ev;
	int nr = 0, ret;

	while ((ret = s->next(s, &rec, &err)) == 1) {
		assert_true(rec->type >= REC_META);
		assert_int_equal(event_decode(&ev, rec, rec->size), rec->size);
		assert_int_equal(profile_apply(p, &ev), 0);
		nr++;
	}
	assert_int_equal(ret, 0);
	assert_int_equal(err.code, 0);
	return nr;
}

static struct snapshot *snapshot_by_name_of(struct profile *p)
{
	return take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NAME});
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_samples(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct profile *p;
	struct snapshot *s;

	p = profile_open();
	add_sample(f, 10, 80, "123");
	add_sample(f, 20, 80, "123");
	/* strings m f1 f2 f3 pid name; 3 functions, frames, stacks; process, thread; 2 samples */
	assert_int_equal(drain(e, p), 6 + 9 + 2 + 2);
	add_sample(f, 30, 81, "124")->status = SAMPLE_STATUS_TRUNCATED;
	/* one string for f4 and one for the pid; function, frame, stack, process, sample */
	assert_int_equal(drain(e, p), 2 + 5);
	add_sample(f, 40, 0, "");
	assert_int_equal(drain(e, p), 1);
	assert_int_equal(drain(e, p), 0);
	s = snapshot_by_name_of(p);
	assert_int_equal(s->samples, 4);
	assert_int_equal(s->by_status[SAMPLE_STATUS_TRUNCATED], 1);
	assert_int_equal(s->nr_stacks, 3);
	assert_stack(s, 0, "<0.80.0>;m:f1/1;m:f2/1;m:f3/1", 2);
	assert_stack(s, 1, "<0.81.0>;m:f1/1;m:f2/1;m:f4/1", 1);
	assert_stack(s, 2, "scheduler 1", 1);
	assert_int_equal(s->first_ns, 10);
	assert_int_equal(s->last_ns, 40);
	assert_int_equal(enrich_bad_records(e), 0);
	assert_int_equal(enrich_overflows(e), 0);
	assert_int_equal(names_count(enrich_names(e), NAMES_THREADS), 1);
	snapshot_close(s);
	profile_close(p);
	enrich_close(e);
	assert_false(f->closed); /* borrowed */
}

static void test_other_raw_records(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct rec_raw_process process = {.epid = 7};
	struct rec_raw_code code = {.action = CODE_LOADED, .copied = 0};
	struct rec_raw_cstack cstack = {.os_tid = 11};
	struct profile *p;

	p = profile_open();
	records_add(&f->raw, REC_RAW_PROCESS, 1, &process.h + 1, sizeof(process) - 16);
	records_add(&f->raw, REC_RAW_CODE, 2, &code.h + 1, sizeof(code) - 16);
	assert_int_equal(drain(e, p), 0); /* consumed; what they name comes with its first use */
	assert_int_equal(f->nr_processes, 1);
	assert_int_equal(f->nr_codes, 1);
	/* A resolver need not take these. */
	records_add(&f->raw, REC_RAW_CSTACK, 2, &cstack.h + 1, sizeof(cstack) - 16);
	assert_int_equal(drain(e, p), 0);
	f->resolver.cstack = resolve_cstack;
	records_add(&f->raw, REC_RAW_CSTACK, 2, &cstack.h + 1, sizeof(cstack) - 16);
	assert_int_equal(drain(e, p), 0);
	assert_int_equal(f->nr_cstacks, 1);
	assert_int_equal(enrich_bad_records(e), 0);
	add_sample(f, 3, 7, "1");
	assert_true(drain(e, p) > 0);
	assert_int_equal(profile_samples(p), 1);
	profile_close(p);
	enrich_close(e);
}

static void test_resolved_records_pass(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct profile *p;
	struct snapshot *s;

	p = profile_open();
	records_meta(&f->raw, "node", "a@b");
	records_sample(&f->raw, 5, 0, records_stack_text(&f->raw, "x:y/0"),
		       records_thread(&f->raw, 1, THREAD_NORMAL, 1, "s"), 3, SAMPLE_GC,
		       SAMPLE_STATUS_COMPLETE);
	records_end(&f->raw, 9);
	assert_int_equal(drain(e, p), (int)records_count(&f->raw));
	s = snapshot_by_name_of(p);
	assert_string_equal(snapshot_meta(s, "node"), "a@b");
	assert_int_equal(s->by_kind[SAMPLE_GC], 3);
	assert_true(s->ended);
	snapshot_close(s);
	profile_close(p);
	enrich_close(e);
}

static void test_added_records(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct source *src = enrich_source(e);
	const struct rec_header *rec;
	char big[NAMES_MAX_STRING + 3];
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;

	memset(big, 'x', sizeof(big));
	memcpy(big + NAMES_MAX_STRING - 1, "\303\244", 3); /* the cut goes through a character */
	p = profile_open();
	add_sample(f, 10, 80, "1");
	enrich_add_meta(e, "node", "a@b");
	enrich_add_meta(e, "big", big);
	/* Before anything newer. */
	assert_int_equal(src->next(src, &rec, NULL), 1);
	assert_int_equal(rec->type, REC_META);
	assert_memory_equal(((const struct rec_meta *)rec)->bytes, "nodea@b", 7);
	drain(e, p);
	thread = names_count(enrich_names(e), NAMES_THREADS);
	enrich_add_state(e, thread, "[idle]", SAMPLE_WAIT, 99, 20);
	enrich_add_state(e, thread, "[idle]", SAMPLE_WAIT, 0, 20); /* no sample */
	enrich_add_counter(e, COUNTER_RING_FULL, 3, 20);
	enrich_add_counter(e, COUNTER_RING_FULL, 4, 30);
	enrich_add_end(e, 40);
	drain(e, p);
	s = take_snapshot(p, (struct snapshot_options){.by = SNAPSHOT_BY_NONE, .idle = true});
	assert_int_equal(strlen(snapshot_meta(s, "big")), NAMES_MAX_STRING - 1);
	assert_int_equal(snapshot_counter(s, "ring_full"), 4);
	assert_int_equal(s->by_kind[SAMPLE_WAIT], 99);
	assert_int_equal(s->samples, 100);
	assert_int_equal(profile_samples(p), 1);
	assert_true(s->ended);
	snapshot_close(s);
	profile_close(p);
	enrich_close(e);
}

static void test_without_inner(void **state)
{
	struct fixture *f = *state;
	const struct rec_header *rec;
	struct enrich *e;
	struct source *s;

	e = enrich_open(NULL, &f->resolver);
	s = enrich_source(e);
	assert_int_equal(s->next(s, &rec, NULL), 0);
	assert_int_equal(s->fd(s), -1);
	enrich_add_end(e, 1);
	assert_int_equal(s->next(s, &rec, NULL), 1);
	assert_int_equal(rec->type, REC_END);
	assert_int_equal(s->next(s, &rec, NULL), 0);
	source_close(s);
}

static void test_failure_of_inner(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct source *s = enrich_source(e);
	const struct rec_header *rec;
	struct error err = {0};

	assert_int_equal(s->fd(s), 42);
	f->failure = -EIO;
	enrich_add_end(e, 1);
	assert_int_equal(s->next(s, &rec, &err), 1); /* what is queued comes out all the same */
	assert_int_equal(s->next(s, &rec, &err), -EIO);
	assert_string_equal(err.msg, "ring is gone");
	enrich_close(e);
}

static void test_bad_records(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct rec_raw_code code = {.action = CODE_LOADED, .copied = 1};
	struct profile *p;

	p = profile_open();
	add_sample(f, 1, 0, "1")->user_ip = 0xbad; /* the resolver refuses */
	add_sample(f, 2, 0, "1")->nr_root = 1;	   /* more addresses than the record holds */
	add_sample(f, 3, 0, "1")->nr_kernel = UINT16_MAX;
	add_sample(f, 4, 0, "1")->status = NR_SAMPLE_STATUSES;
	records_add(&f->raw, REC_RAW_SAMPLE, 5, "short", 5);
	records_add(&f->raw, REC_RAW_PROCESS, 6, "short", 5);
	records_add(&f->raw, REC_RAW_CODE, 7, "short", 5);
	records_add(&f->raw, REC_RAW_CODE, 8, &code.h + 1, sizeof(code) - 16);
	records_add(&f->raw, REC_META - 1, 9, "raw, but unknown", 16);
	drain(e, p);
	assert_int_equal(enrich_bad_records(e), 9);
	assert_int_equal(profile_samples(p), 0);
	f->bad_frame = true; /* a resolver that is wrong makes no capture wrong */
	add_sample(f, 9, 0, "1");
	drain(e, p);
	assert_int_equal(enrich_bad_records(e), 10);
	assert_int_equal(profile_samples(p), 0);
	profile_close(p);
	enrich_close(e);
}

/* ---- events of the VM ------------------------------------------------------------------------ */

static struct rec_raw_event *add_event(struct fixture *f, uint64_t ts_ns, uint64_t to)
{
	size_t size = sizeof(struct rec_raw_event);
	struct rec_raw_event *raw;

	records_add(&f->raw, REC_RAW_EVENT, ts_ns, NULL, size - sizeof(raw->h));
	raw = (struct rec_raw_event *)(f->raw.words.data + f->raw.words.len - size / 8);
	raw->kind = EVENT_PROCESS_LINK;
	raw->epid = 7;
	raw->os_tid = 11;
	raw->cpu = 1;
	raw->nr_values = 1;
	raw->values[0] = to;
	return raw;
}

/* The next event; definitions before it go into `names`. */
static bool next_of(struct enrich *e, struct names *names, enum rec_type type, struct event *ev)
{
	struct source *s = enrich_source(e);
	const struct rec_header *rec;
	struct error err;

	while (s->next(s, &rec, &err) == 1) {
		assert_int_equal(event_decode(ev, rec, rec->size), rec->size);
		assert_true(event_define(names, ev) >= 0);
		if (ev->type == type)
			return true;
	}
	return false;
}

static bool next_event(struct enrich *e, struct names *names, struct event *ev)
{
	return next_of(e, names, REC_EVENT, ev);
}

static void test_vm_events(void **state)
{
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct names *names;
	struct event ev;

	names = names_open();
	add_event(f, 1, 8);
	add_event(f, 2, 9)->epid = 0;
	/* The stack that belongs to it, one of another thread, one of another time. */
	add_sample(f, 3, 7, "12")->flags = RAW_SAMPLE_EVENT;
	add_event(f, 3, 8)->flags = RAW_EVENT_STACK;
	add_event(f, 4, 8)->flags = RAW_EVENT_STACK;
	add_sample(f, 5, 7, "12")->flags = RAW_SAMPLE_EVENT;
	add_event(f, 5, 8)->os_tid = 12;
	assert_true(next_event(e, names, &ev));
	assert_int_equal(ev.ts_ns, 1);
	assert_string_equal(names_string(names, ev.u.vm.kind), "process_link");
	assert_string_equal(names_process(names, ev.u.vm.process)->pid, "<0.7.0>");
	assert_string_equal(names_process(names, (uint32_t)ev.u.vm.values[0])->pid, "<0.8.0>");
	assert_int_equal(names_thread(names, ev.u.vm.thread)->os_tid, 11);
	assert_int_equal(ev.u.vm.nr_values, 1);
	assert_int_equal(ev.u.vm.cpu, 1);
	assert_int_equal(ev.u.vm.stack, 0);
	assert_true(next_event(e, names, &ev));
	assert_int_equal(ev.u.vm.process, 0);
	assert_true(next_event(e, names, &ev));
	assert_int_equal(names_stack_depth(names, ev.u.vm.stack), 2);
	assert_true(next_event(e, names, &ev));
	assert_int_equal(ev.u.vm.stack, 0);
	assert_true(next_event(e, names, &ev));
	assert_int_equal(ev.u.vm.stack, 0);
	assert_false(next_event(e, names, &ev));
	assert_int_equal(enrich_bad_records(e), 0);
	names_close(names);
	enrich_close(e);
}

static void test_bad_vm_events(void **state)
{
	static const uint64_t bad_values[] = {0xbad, 999, 998, 997, 4711, 1ull << 40};
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct names *names;
	struct event ev;

	names = names_open();
	for (size_t i = 0; i < ARRAY_SIZE(bad_values); i++)
		add_event(f, i, bad_values[i]);
	add_event(f, 10, 8)->kind = NR_EVENT_KINDS;
	add_event(f, 11, 8)->nr_values = EVENT_RAW_WORDS + 1;
	add_event(f, 12, 8)->nr_blocks = 1; /* which the record has not */
	add_event(f, 13, 8)->nr_blocks = UINT16_MAX;
	records_add(&f->raw, REC_RAW_EVENT, 14, "short", 5);
	assert_false(next_event(e, names, &ev));
	assert_int_equal(enrich_bad_records(e), ARRAY_SIZE(bad_values) + 5);
	f->resolver.event = NULL;
	add_event(f, 15, 8);
	assert_false(next_event(e, names, &ev));
	assert_int_equal(enrich_bad_records(e), ARRAY_SIZE(bad_values) + 6);
	names_close(names);
	enrich_close(e);
}

/* A record that ends behind its values is as good as a whole one. */
static void test_short_vm_events(void **state)
{
	const size_t size = offsetof(struct rec_raw_event, values) + 8;
	struct fixture *f = *state;
	struct enrich *e = open_enrich(f);
	struct names *names;
	struct event ev;

	names = names_open();
	for (int i = 0; i < 3; i++) {
		struct rec_raw_event *raw;

		records_add(&f->raw, REC_RAW_EVENT, (uint64_t)i, NULL, size - sizeof(raw->h));
		raw = (void *)(f->raw.words.data + f->raw.words.len - size / 8);
		raw->kind = EVENT_PROCESS_LINK;
		raw->epid = 7;
		raw->nr_values = i == 1 ? 2 : 1; /* one more than it has */
		raw->nr_blocks = i == 2;
		raw->values[0] = 8;
	}
	assert_true(next_event(e, names, &ev));
	assert_int_equal(ev.ts_ns, 0);
	assert_string_equal(names_process(names, ev.u.vm.process)->pid, "<0.7.0>");
	assert_string_equal(names_process(names, (uint32_t)ev.u.vm.values[0])->pid, "<0.8.0>");
	assert_false(next_event(e, names, &ev));
	assert_int_equal(enrich_bad_records(e), 2);
	names_close(names);
	enrich_close(e);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Of a function fN, where N is its point, called from the frame of fC, where C is the place. */
static int resolve_call(struct resolver *r, struct names *n, const struct rec_raw_call *raw,
			struct resolved_call *out)
{
	char text[32];

	UNUSED(r);
	snprintf(text, sizeof(text), "f%u", raw->point);
	out->function = names_intern_function(n, intern_text(n, "m"), intern_text(n, text), 1,
					      FRAME_BIF, NULL);
	snprintf(text, sizeof(text), "f%u", (unsigned int)raw->caller);
	out->caller = names_intern_frame(n,
					 names_intern_function(n, intern_text(n, "m"),
							       intern_text(n, text), 1,
							       FRAME_ERLANG, NULL),
					 0, 0, NULL);
	out->ends = raw->height == 5;
	return raw->epid == 999;
}

static struct rec_raw_call *add_call(struct fixture *f, uint64_t ts_ns, uint32_t point,
				     uint32_t flags)
{
	size_t size = sizeof(struct rec_raw_call);
	struct rec_raw_call *raw;

	records_add(&f->raw, REC_RAW_CALL, ts_ns, NULL, size - sizeof(raw->h));
	raw = (struct rec_raw_call *)(f->raw.words.data + f->raw.words.len - size / 8);
	raw->os_tid = 11;
	raw->kind = CALL_KIND_CALL;
	raw->point = point;
	raw->caller = 4;
	raw->flags = flags;
	return raw;
}

/* The names of the next call's stack, top first. */
static void assert_call(struct enrich *e, struct names *names, uint32_t flags, const char *frames)
{
	struct source *s = enrich_source(e);
	const struct name_frame *frame;
	const struct name_function *function;
	const struct rec_header *rec;
	char text[128] = "";
	struct event ev = {0};
	struct error err;
	uint32_t stack;

	while (ev.type != REC_CALL) {
		assert_int_equal(s->next(s, &rec, &err), 1);
		assert_int_equal(event_decode(&ev, rec, rec->size), rec->size);
		assert_true(event_define(names, &ev) >= 0);
	}
	assert_int_equal(ev.u.call.flags, flags);
	stack = ev.u.call.stack;
	while ((function = names_next_frame(names, &stack, &frame))) {
		strcat(text, function->name);
		strcat(text, " ");
	}
	assert_string_equal(text, frames);
}

/* Their stacks begin with the function itself, whether the walk found it or not. */
static void test_calls(void **state)
{
	struct fixture *f = *state;
	struct enrich *e;
	struct names *names;
	struct event ev;

	f->resolver.call = resolve_call;
	e = open_enrich(f);
	names = names_open();
	add_call(f, 1, 9, 0);
	add_sample(f, 2, 7, "12")->flags = RAW_SAMPLE_EVENT;
	add_call(f, 2, 2, RAW_CALL_STACK)->cut = 1;
	add_sample(f, 3, 7, "12")->flags = RAW_SAMPLE_EVENT;
	add_call(f, 3, 9, RAW_CALL_STACK)->height = 5;
	/* Of another time; an end; one that nobody wants. */
	add_call(f, 4, 9, RAW_CALL_STACK);
	add_call(f, 5, 9, 0)->kind = CALL_KIND_RETURN;
	add_call(f, 6, 9, 0)->epid = 999;
	assert_call(e, names, 0, "f9 f4 ");
	assert_call(e, names, CALL_STACK | CALL_TRUNCATED, "f2 f1 ");
	assert_call(e, names, CALL_STACK | CALL_ENDS, "f9 f2 f1 ");
	assert_call(e, names, 0, "f9 f4 ");
	assert_call(e, names, 0, "");
	assert_false(next_of(e, names, REC_CALL, &ev));
	assert_int_equal(enrich_bad_records(e), 0);
	names_close(names);
	enrich_close(e);
}

static void assert_no_ends(struct enrich *e, struct names *names, uint64_t ts_ns)
{
	struct event ev;

	assert_true(next_of(e, names, REC_COVERAGE, &ev));
	assert_string_equal(names_string(names, ev.u.coverage.kind), EVENT_CALL_GAPS_NAME);
	assert_int_equal(ev.ts_ns, ts_ns);
	assert_int_equal(ev.u.coverage.missed, ts_ns - 1);
	assert_int_equal(ev.u.coverage.work, 0);
}

/* An end behind what is newer, or one that cannot be read, is the end of nothing that went on;
 * reported before anything is made of it. */
static void test_late_ends(void **state)
{
	struct fixture *f = *state;
	struct rec_raw_call *raw;
	struct enrich *e;
	struct names *names;
	struct event ev;

	f->resolver.call = resolve_call;
	e = open_enrich(f);
	names = names_open();
	add_call(f, 1, 9, 0);
	raw = add_call(f, 5, 9, 0);
	raw->kind = CALL_KIND_RETURN;
	raw->h.flags = REC_LATE;
	raw = add_call(f, 7, 9, 0);
	raw->kind = CALL_KIND_RETURN;
	raw->used = 1; /* more than there is */
	assert_call(e, names, 0, "f9 f4 ");
	assert_no_ends(e, names, 5);
	assert_call(e, names, 0, "");
	assert_no_ends(e, names, 7);
	assert_false(next_of(e, names, REC_CALL, &ev));
	assert_int_equal(enrich_bad_records(e), 1);
	names_close(names);
	enrich_close(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
		TEST(test_samples),
		TEST(test_other_raw_records),
		TEST(test_resolved_records_pass),
		TEST(test_added_records),
		TEST(test_without_inner),
		TEST(test_failure_of_inner),
		TEST(test_bad_records),
		TEST(test_vm_events),
		TEST(test_bad_vm_events),
		TEST(test_short_vm_events),
		TEST(test_calls),
		TEST(test_late_ends),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
