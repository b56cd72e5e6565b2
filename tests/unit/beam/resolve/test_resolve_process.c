/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose sample it is, and what its code was called at the time: process records and their changes,
 * labels that move while they are read, threads by name, code that is loaded and unloaded, names
 * of JIT code as the VM writes them, mappings.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "lib/resolvefix.h"

#define EPID	 0x2983ull /* <0.83.0> */
#define SMALL(n) (((uint64_t)(n) << 4) | 0xf)

static int open_test(void **state)
{
	*state = fix_open(27);
	return 0;
}

static int close_test(void **state)
{
	fix_close(*state);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void report(struct fix *x, const struct rec_raw_process *raw)
{
	x->r->base.process(&x->r->base, x->names, raw);
}

static const struct name_process *process_of_sample(struct fix *x, uint64_t epid)
{
	struct resolved_sample out;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.epid = epid;
	assert_int_equal(fix_resolve(x, &s, &out), 0);
	return names_process(x->names, out.process);
}

static void assert_initial_call(struct fix *x, const struct name_process *p, const char *expect)
{
	struct strbuf text = STRBUF_INIT;

	assert_true(p->initial_call || !expect);
	if (!expect) {
		assert_int_equal(p->initial_call, 0);
		return;
	}
	names_format_function(&text, names_function(x->names, p->initial_call));
	assert_string_equal(text.buf, expect);
	strbuf_free(&text);
}

static void test_process(void **state)
{
	struct fix *x = *state;
	struct rec_raw_process raw = {
		.h = {.type = REC_RAW_PROCESS, .size = sizeof(raw)},
		.process = 0x7f0000001000,
		.epid = EPID,
	};
	const struct name_process *p = process_of_sample(x, EPID), *before;

	/* Before any record: nothing but what its identifier says. */
	assert_string_equal(p->pid, "<0.83.0>");
	assert_null(p->registered);
	assert_null(p->label);
	assert_initial_call(x, p, NULL);
	fakenode_mfa(x->f, raw.initial, "proc_lib", "init_p", 5);
	report(x, &raw);
	assert_initial_call(x, process_of_sample(x, EPID), "proc_lib:init_p/5");
	fakenode_mfa(x->f, raw.initial_call, "gen_server", "init_it", SMALL(6));
	raw.registered = fakenode_atom(x->f, "kernel_sup");
	report(x, &raw);
	before = p = process_of_sample(x, EPID);
	assert_string_equal(p->registered, "kernel_sup");
	assert_initial_call(x, p, "gen_server:init_it/6");
	assert_ptr_equal(process_of_sample(x, EPID), before);
	/* A change makes another process of it; the samples before keep theirs. */
	raw.registered = fakenode_atom(x->f, "other");
	report(x, &raw);
	p = process_of_sample(x, EPID);
	assert_ptr_not_equal(p, before);
	assert_string_equal(p->registered, "other");
	assert_string_equal(before->registered, "kernel_sup");
	raw.registered = 0;
	report(x, &raw);
	assert_null(process_of_sample(x, EPID)->registered);
	/* Its neighbour knows nothing of that. */
	assert_null(process_of_sample(x, EPID + (8 << 4))->registered);
	assert_initial_call(x, process_of_sample(x, EPID + (8 << 4)), NULL);
}

/* However many processes come and go, one that is sampled now and then keeps its name, of which BPF
 * does not tell again; and memory stays bounded. */
static void test_many_processes(void **state)
{
	struct fix *x = *state;
	struct rec_raw_process raw = {.epid = EPID};
	uint32_t n = 0;

	raw.registered = fakenode_atom(x->f, "kernel_sup");
	report(x, &raw);
	for (int i = 0; i < 4; i++) {
		for (uint32_t end = n + PROCESS_SET_MAX / 2; n < end; n++)
			process_of_epid(x->r, x->names, ((uint64_t)n + 1000) << 4 | 3);
		assert_string_equal(process_of_sample(x, EPID)->registered, "kernel_sup");
		assert_true(x->r->recent.nr <= PROCESS_SET_MAX);
		assert_true(x->r->older.nr <= PROCESS_SET_MAX);
	}
	/* One that nobody saw in all that time is as new. */
	raw.epid = EPID + (8 << 4);
	report(x, &raw);
	for (uint32_t end = n + 2 * PROCESS_SET_MAX; n < end; n++)
		process_of_epid(x->r, x->names, ((uint64_t)n + 1000) << 4 | 3);
	assert_null(process_of_sample(x, raw.epid)->registered);
}

/* '$initial_call' is what the process put there: what cannot be one does not hide the other. */
static void test_odd_initial_calls(void **state)
{
	struct fix *x = *state;
	uint64_t m = fakenode_atom(x->f, "m"), f = fakenode_atom(x->f, "f");
	const uint64_t odd[][3] = {
		{m, f, m},
		{m, f, TERM_NIL},
		{m, f, SMALL(256)},
		{m, f, UINT64_MAX},
		{SMALL(1), f, SMALL(1)},
		{m, 0xffffffcb, SMALL(1)},
		{m, f, SMALL(1) & ~1ull},
	};
	struct rec_raw_process raw = {.epid = EPID};

	fakenode_mfa(x->f, raw.initial, "erlang", "apply", 2);
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
		memcpy(raw.initial_call, odd[i], sizeof(odd[i]));
		report(x, &raw);
		assert_initial_call(x, process_of_sample(x, EPID), "erlang:apply/2");
	}
	raw.initial[2] = 4000;
	report(x, &raw);
	assert_initial_call(x, process_of_sample(x, EPID), NULL);
	/* Words that are no local pids are no processes. */
	raw.epid = 0x2987;
	report(x, &raw);
	assert_null(process_of_sample(x, 0x2987));
	assert_null(process_of_sample(x, 0));
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The process in memory, with one slot in its dictionary, that of '$process_label'. */
struct labelled {
	struct rec_raw_process raw;
	raddr pair; /* {'$process_label', Label} */
};

static void make_labelled(struct fix *x, struct labelled *p)
{
	const struct beam_layout *l = &x->f->node.layout;
	struct image *im = x->f->im;
	raddr process = image_alloc(im, (size_t)l->process_size), dictionary = image_alloc(im, 32);

	p->pair = image_alloc(im, 24);
	image_u64(im, p->pair, 2 << 6);
	image_u64(im, p->pair + 8, fakenode_atom(x->f, "$process_label"));
	image_u64(im, p->pair + 16, TERM_NIL);
	image_u32(im, dictionary + 4, 1);
	image_u64(im, dictionary + 24, p->pair | 2);
	image_u64(im, process + (raddr)l->process_id, EPID);
	image_u64(im, process + (raddr)l->process_dictionary, dictionary);
	p->raw = (struct rec_raw_process){.process = process, .epid = EPID};
}

/* {worker, [Number, second]} somewhere in memory: the list lies outside of what a record holds. */
static uint64_t make_label(struct fix *x, const char *name, uint64_t number)
{
	struct image *im = x->f->im;
	raddr cells = image_alloc(im, 32), tuple = image_alloc(im, 64);

	image_u64(im, cells, SMALL(number));
	image_u64(im, cells + 8, (cells + 16) | 1);
	image_u64(im, cells + 16, fakenode_atom(x->f, "second"));
	image_u64(im, cells + 24, TERM_NIL);
	image_u64(im, tuple, 2 << 6);
	image_u64(im, tuple + 8, fakenode_atom(x->f, name));
	image_u64(im, tuple + 16, cells | 1);
	return tuple | 2;
}

static void set_label(struct fix *x, struct labelled *p, uint64_t label)
{
	image_u64(x->f->im, p->pair + 16, label);
	p->raw.label = label;
	mem_read(x->f->node.mem, label & ~7ull, p->raw.label_words, sizeof(p->raw.label_words));
}

static void assert_label(struct fix *x, const struct labelled *p, const char *expect)
{
	report(x, &p->raw);
	assert_string_equal(process_of_sample(x, EPID)->label, expect);
}

static void test_labels(void **state)
{
	struct fix *x = *state;
	struct labelled p;

	make_labelled(x, &p);
	p.raw.label = fakenode_atom(x->f, "a label");
	assert_label(x, &p, "'a label'");
	p.raw.label = SMALL(42);
	assert_label(x, &p, "42");
	set_label(x, &p, make_label(x, "worker", 17));
	assert_label(x, &p, "{worker,[17,second]}");
	p.raw.label = 0;
	report(x, &p.raw);
	assert_null(process_of_sample(x, EPID)->label);
}

/* The process collected between record and reading: the label stands elsewhere by now. */
static void test_label_that_moved(void **state)
{
	struct fix *x = *state;
	uint64_t old = make_label(x, "worker", 17), new = make_label(x, "worker", 17), cells;
	struct labelled p;

	make_labelled(x, &p);
	set_label(x, &p, old);
	mem_read_u64(x->f->node.mem, (old & ~7ull) + 16, &cells);
	image_u64(x->f->im, old & ~7ull, new); /* a forwarding pointer */
	image_u64(x->f->im, cells & ~7ull, SMALL(666));
	image_u64(x->f->im, p.pair + 16, new);
	assert_label(x, &p, "{worker,[17,second]}");
}

/* Where it cannot be had any more, only what the record holds is reported. */
static void test_label_that_is_gone(void **state)
{
	struct fix *x = *state;
	const struct beam_layout *l = &x->f->node.layout;
	uint64_t label = make_label(x, "worker", 17);
	struct labelled p;

	make_labelled(x, &p);
	set_label(x, &p, label);
	image_u64(x->f->im, (label & ~7ull) + 8, SMALL(1));
	image_u64(x->f->im, p.pair + 16, TERM_NIL); /* erased */
	assert_label(x, &p, "{worker,[...]}");
	set_label(x, &p, make_label(x, "worker", 17));
	image_u32(x->f->im, p.raw.process + (raddr)l->process_state, PSFLG_EXITING);
	assert_label(x, &p, "{worker,[...]}");
	image_u32(x->f->im, p.raw.process + (raddr)l->process_state, PSFLG_GC); /* for ever */
	assert_label(x, &p, "{worker,[...]}");
	image_u32(x->f->im, p.raw.process + (raddr)l->process_state, 0);
	assert_label(x, &p, "{worker,[17,second]}");
	image_u64(x->f->im, p.raw.process + (raddr)l->process_id, EPID + 16); /* another one */
	assert_label(x, &p, "{worker,[...]}");
	image_unmap(x->f->im, p.raw.process);
	assert_label(x, &p, "{worker,[...]}");
	/* However many there are, a second is not spent on waiting for them. */
	for (int i = 0; i < 40; i++)
		report(x, &p.raw);
	assert_true(x->r->label_waited_us < 150000);
	p.raw.h.ts_ns = 1000000000;
	report(x, &p.raw);
	assert_in_range(x->r->label_waited_us, 1, 20000);
}

/* Words that could not be copied are zeros: they are no empty tuple. */
static void test_label_that_was_not_copied(void **state)
{
	struct fix *x = *state;
	struct labelled p;

	make_labelled(x, &p);
	set_label(x, &p, make_label(x, "worker", 17));
	memset(p.raw.label_words, 0, sizeof(p.raw.label_words));
	assert_label(x, &p, "{worker,[17,second]}");
	image_u64(x->f->im, p.pair + 16, TERM_NIL);
	assert_label(x, &p, "...");
}

/* ---- threads --------------------------------------------------------------------------------- */

struct named_thread {
	const char *name;
	int os_tid;
	int pipe[2]; /* the thread ends with it */
	pthread_barrier_t ready;
	pthread_t thread;
};

static void *run_named(void *arg)
{
	struct named_thread *t = arg;
	char byte;

	prctl(PR_SET_NAME, t->name);
	t->os_tid = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&t->ready);
	return read(t->pipe[0], &byte, 1) < 0 ? t : NULL;
}

static void start_named(struct named_thread *t, const char *name)
{
	t->name = name;
	assert_int_equal(pipe(t->pipe), 0);
	pthread_barrier_init(&t->ready, NULL, 2);
	assert_int_equal(pthread_create(&t->thread, NULL, run_named, t), 0);
	pthread_barrier_wait(&t->ready);
}

static void stop_named(struct named_thread *t)
{
	close(t->pipe[1]);
	pthread_join(t->thread, NULL);
	close(t->pipe[0]);
	pthread_barrier_destroy(&t->ready);
}

static void sample_unknown(struct fix *x, const struct named_thread *t, union fix_sample *s)
{
	fix_sample(x, s);
	s->rec.os_tid = (uint32_t)t->os_tid;
	s->rec.process = s->rec.epid = s->rec.user_ip = 0;
	s->rec.place = PLACE_OTHER;
	s->rec.thread_type = THREAD_UNKNOWN;
	s->rec.scheduler = 0;
}

static const struct name_thread *thread_of(struct fix *x, const union fix_sample *s)
{
	struct resolved_sample out;

	assert_int_equal(fix_resolve(x, s, &out), 0);
	return names_thread(x->names, out.thread);
}

/* A scheduler that BPF does not know yet is known by its name. */
static void test_threads(void **state)
{
	struct fix *x = *state;
	struct named_thread dirty, other;
	const struct name_thread *t;
	union fix_sample s;

	start_named(&dirty, "10_dirty_io_sch");
	start_named(&other, "async_1");
	sample_unknown(x, &dirty, &s);
	fix_assert(x, &s, "state [scheduler]", SAMPLE_SCHEDULER, SAMPLE_STATUS_UNKNOWN_THREAD);
	t = thread_of(x, &s);
	assert_int_equal(t->os_tid, dirty.os_tid);
	assert_int_equal(t->type, THREAD_DIRTY_IO);
	assert_int_equal(t->scheduler, 10);
	assert_string_equal(t->name, "10_dirty_io_sch");
	assert_int_equal(beam_resolver_thread(x->r, x->names, dirty.os_tid),
			 thread_of_tid(x->r, x->names, dirty.os_tid, THREAD_DIRTY_IO, 10)->id);
	s.rec.thread_type = THREAD_DIRTY_IO; /* known by now */
	s.rec.scheduler = 10;
	assert_ptr_equal(thread_of(x, &s), t);
	sample_unknown(x, &other, &s);
	fix_assert(x, &s, "state [thread]", SAMPLE_OTHER, SAMPLE_STATUS_COMPLETE);
	assert_int_equal(thread_of(x, &s)->type, THREAD_OTHER);
	assert_string_equal(thread_of(x, &s)->name, "async_1");
	stop_named(&dirty);
	stop_named(&other);
	/* Names are asked for once; of a thread that is gone there is only its number. */
	assert_string_equal(thread_of(x, &s)->name, "async_1");
	s.rec.os_tid = 0x7ffffff0;
	assert_string_equal(thread_of(x, &s)->name, "thread 2147483632");
	assert_int_equal(thread_of(x, &s)->type, THREAD_OTHER);
}

/* ---- code ------------------------------------------------------------------------------------ */

static void load_function(struct fix *x, raddr entry, const char *module, const char *function,
			  raddr start)
{
	struct jitrec r = {0};

	jitrec_module(&r, module, start, 0x100);
	jitrec_range(&r, function, 0, 0x100);
	fix_load(x, entry, &r);
}

static void unload(struct fix *x, raddr entry)
{
	struct rec_raw_code raw = {
		.h = {.size = sizeof(raw)}, .action = CODE_UNLOADED, .entry = entry};

	x->r->base.code(&x->r->base, &raw);
}

static void test_code_changes(void **state)
{
	struct fix *x = *state;
	raddr at = x->base + FIX_UNKNOWN;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.user_ip = at + 0x80;
	fix_assert(x, &s, "runtime [unknown]", SAMPLE_ERLANG, SAMPLE_STATUS_UNRESOLVED);
	load_function(x, 0x100, "one", "one:f/1", at);
	fix_assert(x, &s, "one:f/1", SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	load_function(x, 0x200, "two", "two:g/2", at + 0x40);
	fix_assert(x, &s, "two:g/2", SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	unload(x, 0x100); /* gone long since */
	fix_assert(x, &s, "two:g/2", SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	unload(x, 0x200);
	fix_assert(x, &s, "runtime [unknown]", SAMPLE_ERLANG, SAMPLE_STATUS_UNRESOLVED);
	assert_false(beam_resolver_ranges_changed(x->r));
}

static void test_odd_code_records(void **state)
{
	struct fix *x = *state;
	struct rec_raw_code raw = {
		.h = {.size = sizeof(raw)},
		.action = CODE_LOADED,
		.entry = 1,
		.record = 0xdead0000,
		.record_size = 100,
	};
	size_t nr = jit_modules(beam_resolver_jit(x->r));

	x->r->base.code(&x->r->base, &raw); /* cannot be read */
	assert_int_equal(jit_unreadable(beam_resolver_jit(x->r)), 1);
	raw.copied = 100; /* claims more than there is */
	x->r->base.code(&x->r->base, &raw);
	raw.h.size = 8;
	raw.copied = 0;
	x->r->base.code(&x->r->base, &raw);
	assert_int_equal(jit_modules(beam_resolver_jit(x->r)), nr);
	assert_int_equal(jit_unreadable(beam_resolver_jit(x->r)), 1);
}

/* Names as nodes of OTP 25 to 29 write them (erts_printf("%T")), and some that none writes. */
static void test_names_of_code(void **state)
{
	static const struct {
		const char *module, *function, *text;
	} cases[] = {
		{"m", "m:f/0", "m:f/0"},
		{"my mod", "'my mod':'odd name'/1", "'my mod':'odd name'/1"},
		{"lists", "lists:'-map/2-fun-0-'/3", "lists:'-map/2-fun-0-'/3"},
		{"m", "m:'a/b'/1", "m:'a/b'/1"},
		{"a:b", "'a:b':f/1", "'a:b':f/1"},
		{"m", "m:'it\\'s'/1", "m:'it\\'s'/1"},
		{"m", "m:'a\\\\b'/1", "m:'a\\\\b'/1"},
		{"m", "m:'a\\nb'/1", "m:'a\\nb'/1"},
		{"m", "m:'a\\033b'/1", "m:'a\\eb'/1"},
		{"m", "m:'\\001'/1", "m:'\\001'/1"},
		{"m", "m:'\\000'/1", "m:'\\000'/1"},
		{"m", "m:'\\200'/1", "m:'\\200'/1"}, /* the character, not the byte */
		{"m", "m:'\x7f'/1", "m:'\\d'/1"},
		{"m", "m:\xc3\xa9/1", "m:\xc3\xa9/1"},
		{"m", "m:'\xce\xbb'/1", "m:'\xce\xbb'/1"},
		{"odd m\xc3\xa9", "'odd m\xc3\xa9':f/0", "'odd m\xc3\xa9':f/0"},
		{"m", "m:''/1", "m:''/1"},
		{"Elixir.Enum", "'Elixir.Enum':map/2", "Enum.map/2"},
		{"m", "m:f/255", "m:f/255"},
		{"m", "m:f/2-CodeInfoPrologue", "m:f/2"},
		{"m", "m:f/99999999999999999999", "'m:f/99999999999999999999'"},
		{"m", "m:f/256", "'m:f/256'"},
		{"m", "m:f/", "'m:f/'"},
		{"m", "no function", "'no function'"},
		{"m", "m:f", "'m:f'"},
		{"m", "'m", "'\\'m'"},
		{"m", "'m\\", "'\\'m\\\\'"},
		{"m", "", "''"},
	};
	struct fix *x = *state;
	union fix_sample s;

	fix_sample(x, &s);
	s.rec.user_ip = x->base + FIX_UNKNOWN + 0x10;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		load_function(x, 0x100, cases[i].module, cases[i].function, x->base + FIX_UNKNOWN);
		fix_assert(x, &s, cases[i].text, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	}
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void test_ranges(void **state)
{
	struct fix *x = *state;
	struct address_range ranges[EBEAM_JIT_RANGES] = {{0, 0}}, fragments;
	raddr far;
	void *p;

	assert_int_equal(beam_resolver_code_ranges(x->r, ranges, EBEAM_JIT_RANGES, &fragments), 1);
	/* The kernel may have put other executable memory right beside it. */
	assert_true(ranges[0].start <= x->base && ranges[0].end >= x->base + FIX_MAPPING_SIZE);
	assert_int_equal(fragments.start, x->base + FIX_FRAGMENTS);
	assert_int_equal(fragments.end, x->base + FIX_FRAGMENTS + 0x600);
	assert_int_equal(beam_resolver_code_ranges(x->r, ranges, 0, &fragments), 0);
	load_function(x, 0x100, "near", "near:f/0", x->base + FIX_UNKNOWN);
	assert_false(beam_resolver_ranges_changed(x->r));
	/* Code in another mapping: the probes must be configured. */
	p = mmap(NULL, 3 * 0x10000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect((char *)p + 0x10000, 0x10000, PROT_READ | PROT_EXEC), 0);
	far = (raddr)(uintptr_t)p + 0x10000;
	load_function(x, 0x200, "far", "far:f/0", far);
	assert_true(beam_resolver_ranges_changed(x->r));
	assert_int_equal(beam_resolver_code_ranges(x->r, ranges, EBEAM_JIT_RANGES, &fragments), 2);
	assert_false(beam_resolver_ranges_changed(x->r));
	assert_true(ranges[0].start == far || ranges[1].start == far);
	assert_true(ranges[0].end == far + 0x10000 || ranges[1].end == far + 0x10000);
	/* What is not executable holds no code. */
	assert_int_equal(mprotect((char *)p + 0x10000, 0x10000, PROT_READ), 0);
	assert_int_equal(beam_resolver_code_ranges(x->r, ranges, EBEAM_JIT_RANGES, &fragments), 1);
	munmap(p, 3 * 0x10000);
}

/* More mappings than the probes can tell apart: the last range reaches to the end of all. */
static void test_many_ranges(void **state)
{
	enum { NR = EBEAM_JIT_RANGES + 8 };
	struct fix *x = *state;
	struct address_range ranges[EBEAM_JIT_RANGES], fragments;
	char *p = mmap(NULL, NR * 0x2000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool covered;

	assert_true(p != MAP_FAILED);
	for (unsigned int i = 0; i < NR; i++) {
		assert_int_equal(mprotect(p + i * 0x2000, 0x1000, PROT_READ | PROT_EXEC), 0);
		load_function(x, 0x100 + i, "m", "m:f/0", (raddr)(uintptr_t)p + i * 0x2000);
	}
	assert_int_equal(beam_resolver_code_ranges(x->r, ranges, EBEAM_JIT_RANGES, &fragments),
			 EBEAM_JIT_RANGES);
	for (unsigned int i = 0; i < NR; i++) {
		raddr at = (raddr)(uintptr_t)p + i * 0x2000 + 0x10;

		covered = false;
		for (int k = 0; k < EBEAM_JIT_RANGES; k++)
			covered |= at >= ranges[k].start && at < ranges[k].end;
		assert_true(covered);
	}
	munmap(p, NR * 0x2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_process),
		TEST(test_many_processes),
		TEST(test_odd_initial_calls),
		TEST(test_labels),
		TEST(test_label_that_moved),
		TEST(test_label_that_is_gone),
		TEST(test_label_that_was_not_copied),
		TEST(test_threads),
		TEST(test_code_changes),
		TEST(test_odd_code_records),
		TEST(test_names_of_code),
		TEST(test_ranges),
		TEST(test_many_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
