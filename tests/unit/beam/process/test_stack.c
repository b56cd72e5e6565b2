/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of processes: split into frames as the node splits them, in both frame layouts and with
 * what tracing leaves on them; processes that are gone, run, or hold no stack at all. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/stack.h"
#include "lib/fakenode.h"

#define EPID	0x2983ull
#define CODE	0x7f0000100000ull /* of the module `m` */
#define VM	0x7f0000200000ull /* of erts_beamasm */
#define EXIT	(VM + 0x100)
#define RETURN	(VM + 0x200) /* return_trace */
#define TIMED	(VM + 0x300) /* call_trace_return, return_time_trace */
#define F	(CODE + 0x100)
#define G	(CODE + 0x200)
#define TERM(i) (((uint64_t)(i) << 4) | 0xf)
#define WORDS	64
#define HEAP	(WORDS * 8)

struct world {
	struct fakenode *f;
	struct stack_code code;
	struct process_facts p;
	raddr heap;
	struct process_stack stack;
};

static void add_code(struct world *w, bool frame_pointers)
{
	struct jitrec emulator = {0}, m = {0}, vm = {0};
	raddr list = w->f->node.anchors.jit_descriptor;

	jitrec_emulator(&emulator, frame_pointers, EXIT);
	jitlist_add(w->f->im, list, &emulator);
	jitrec_module(&vm, "erts_beamasm", VM, 0x400);
	jitrec_range(&vm, "erts_beamasm::codeHeader", 0, 0x80);
	jitrec_range(&vm, "erts_beamasm:normal_exit/0-CodeInfoPrologue", 0xd8, 0x100);
	jitrec_range(&vm, "erts_beamasm:normal_exit/0", 0x100, 0x150);
	jitrec_range(&vm, "erts_beamasm:return_trace/0-CodeInfoPrologue", 0x1d8, 0x200);
	jitrec_range(&vm, "erts_beamasm:return_trace/0", 0x200, 0x240);
	jitrec_range(&vm,
		     w->f->node.identity.otp >= 26 ? "erts_beamasm:call_trace_return/0"
						   : "erts_beamasm:return_time_trace/0",
		     0x300, 0x340);
	jitlist_add(w->f->im, list, &vm);
	jitrec_module(&m, "m", CODE, 0x400);
	jitrec_range(&m, "m:f/1", 0x100, 0x200);
	jitrec_line(&m, 0x110, 10, "m.erl");
	jitrec_line(&m, 0x120, 11, "m.erl");
	jitrec_range(&m, "'Elixir.M':g/2", 0x200, 0x300);
	jitrec_line(&m, 0x200, 20, "m.ex");
	jitlist_add(w->f->im, list, &m);
	jitrec_free(&emulator);
	jitrec_free(&vm);
	jitrec_free(&m);
}

static raddr at(const struct world *w, int32_t offset)
{
	return w->p.addr + (raddr)offset;
}

static struct world *world(int otp, bool frame_pointers)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct beam_layout *l;

	w->f = fakenode_open(otp);
	l = &w->f->node.layout;
	add_code(w, frame_pointers);
	w->p.addr = image_alloc(w->f->im, (size_t)l->process_size);
	w->p.epid = EPID;
	w->heap = image_alloc(w->f->im, HEAP);
	image_u64(w->f->im, at(w, l->process_id), EPID);
	image_u64(w->f->im, at(w, l->process_heap), w->heap);
	image_u64(w->f->im, at(w, l->process_htop), w->heap + 8);
	image_u64(w->f->im, at(w, l->process_hend), w->heap + HEAP);
	image_u64(w->f->im, at(w, l->process_stop), w->heap + HEAP);
	image_u64(w->f->im, at(w, l->process_i), F + 0x15);
	w->p.hend = w->heap + HEAP;
	assert_int_equal(stack_code_open(&w->code, &w->f->node, NULL), 0);
	return w;
}

static void leave(struct world *w)
{
	process_stack_free(&w->stack);
	stack_code_close(&w->code);
	fakenode_close(w->f);
	free(w);
}

/* The stack of the process, top first. */
static void set_stack(struct world *w, const uint64_t *words, size_t nr)
{
	raddr stop = w->heap + HEAP - 8 * nr;

	for (size_t i = 0; i < nr; i++)
		image_u64(w->f->im, stop + 8 * i, words[i]);
	image_u64(w->f->im, at(w, w->f->node.layout.process_stop), stop);
	w->p.stop = stop;
}

static void read_stack(struct world *w)
{
	assert_int_equal(process_stack_read(&w->f->node, &w->code, &w->p, &w->stack), 0);
}

static void check_frame(const struct world *w, size_t i, raddr addr, uint32_t y, uint32_t nr_y)
{
	const struct stack_frame *f = &w->stack.frames.data[i];

	assert_true(i < w->stack.frames.len);
	assert_int_equal(f->addr, addr);
	assert_int_equal(f->y, y);
	assert_int_equal(f->nr_y, nr_y);
}

static void test_frames(void **state)
{
	const uint64_t words[] = {TERM(1), TERM(2), G + 0x40, F + 0x20, TERM(3), 0x1b, EXIT};
	struct stack_location l;
	struct strbuf text = STRBUF_INIT;
	struct world *w = world(27, false);

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 3);
	check_frame(w, 0, F + 0x15, 0, 2);
	check_frame(w, 1, G + 0x40, 3, 0);
	check_frame(w, 2, F + 0x20, 4, 2);
	assert_false(w->stack.stale || w->stack.cut);
	/* The top frame goes on where `i` stands; a return address belongs to the call before it.
	 */
	stack_frame_locate(&w->code, &w->stack.frames.data[0], &l);
	assert_true(l.known);
	assert_int_equal(l.function.line, 10);
	stack_frame_locate(&w->code, &w->stack.frames.data[2], &l);
	assert_true(l.known);
	assert_int_equal(l.function.line, 10);
	stack_location_format(&l, &text);
	assert_string_equal(text.buf, "m:f/1");
	strbuf_reset(&text);
	stack_frame_locate(&w->code, &w->stack.frames.data[1], &l);
	stack_location_format(&l, &text);
	assert_string_equal(text.buf, "M.g/2");
	strbuf_free(&text);
	leave(w);
}

static void test_frame_pointers(void **state)
{
	struct world *w = world(27, true);
	raddr end = w->heap + HEAP;
	const uint64_t words[] = {TERM(1), end - 32, G + 0x40, TERM(2), 0, EXIT};

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 2);
	check_frame(w, 0, F + 0x15, 0, 1);
	check_frame(w, 1, G + 0x40, 3, 1);
	leave(w);
}

/* Without native stack the word of the top frame's return address is nil as long as it calls
 * nobody; where the process has no frame yet, that of its caller's is on top. */
static void test_c_stack(void **state)
{
	const uint64_t words[] = {0x3b, TERM(1), 0x3b, F + 0x20, TERM(3), EXIT};
	struct world *w = world(26, false);

	(void)state;
	w->code.c_stack = true;
	set_stack(w, words, ARRAY_SIZE(words));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 2);
	check_frame(w, 0, F + 0x15, 0, 2);
	check_frame(w, 1, F + 0x20, 3, 1);
	assert_int_equal(w->stack.words.data[0], TERM(1));
	assert_int_equal(w->stack.words.len, 5);
	assert_int_equal(w->stack.stop, w->heap + HEAP - 8 * 5);
	assert_false(w->stack.cut);
	set_stack(w, words + 3, ARRAY_SIZE(words) - 3);
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 2);
	check_frame(w, 0, F + 0x15, 0, 0);
	check_frame(w, 1, F + 0x20, 1, 1);
	leave(w);
}

/* Recursion is marked: the node shows one of equal return addresses in a row. */
static void test_repeated(void **state)
{
	const uint64_t words[] = {G + 4, G + 4, TERM(1), G + 4, F + 8, G + 4, EXIT};
	const bool repeated[] = {false, false, true, true, false, false};
	struct world *w = world(25, false);

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, ARRAY_SIZE(repeated));
	for (size_t i = 0; i < ARRAY_SIZE(repeated); i++)
		assert_int_equal(w->stack.frames.data[i].repeated, repeated[i]);
	leave(w);
}

/* Addresses of code and terms behind a frame of tracing are no frames, nor Y registers. */
static void test_tracing(void **state)
{
	const uint64_t words_25[] = {TERM(1), RETURN, F - 24, TERM(9), TIMED, F - 24, G + 4,
				     TERM(2), RETURN, F - 24, TERM(9), F + 8, EXIT};
	const uint64_t words_26[] = {TERM(1), RETURN,  F - 24, TERM(9), TIMED,	 F - 24, TERM(9),
				     G + 4,   TERM(2), RETURN, F - 24,	TERM(9), F + 8,	 EXIT};
	const uint64_t words_27[] = {TERM(1), RETURN,  F - 24,	TERM(9), TERM(9), TIMED,
				     F - 24,  TERM(9), TERM(9), G + 4,	 TERM(2), RETURN,
				     F - 24,  TERM(9), TERM(9), F + 8,	 EXIT};
	struct world *w = world(25, false);

	(void)state;
	set_stack(w, words_25, ARRAY_SIZE(words_25));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 3);
	check_frame(w, 0, F + 0x15, 0, 1);
	check_frame(w, 1, G + 4, 7, 1);
	check_frame(w, 2, F + 8, 12, 0);
	leave(w);
	w = world(26, false);
	set_stack(w, words_26, ARRAY_SIZE(words_26));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 3);
	check_frame(w, 1, G + 4, 8, 1);
	check_frame(w, 2, F + 8, 13, 0);
	leave(w);
	for (int otp = 27; otp <= 29; otp += 2) {
		w = world(otp, false);
		set_stack(w, words_27, ARRAY_SIZE(words_27));
		read_stack(w);
		assert_int_equal(w->stack.frames.len, 3);
		check_frame(w, 1, G + 4, 10, 1);
		check_frame(w, 2, F + 8, 16, 0);
		leave(w);
	}
}

/* Hibernated: only the bottom is left, and `i` is code of the VM, which the node does not show. */
static void test_hibernated(void **state)
{
	const uint64_t words[] = {EXIT};
	struct strbuf text = STRBUF_INIT;
	struct stack_location l;
	uint64_t mfa[3];
	struct world *w = world(27, false);
	raddr current = image_alloc(w->f->im, sizeof(mfa));

	(void)state;
	set_stack(w, words, 1);
	image_u64(w->f->im, at(w, w->f->node.layout.process_i), VM + 0x10);
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 1);
	stack_frame_locate(&w->code, &w->stack.frames.data[0], &l);
	assert_false(l.known);
	fakenode_mfa(w->f, mfa, "erlang", "hibernate", 3);
	image_put(w->f->im, current, mfa, sizeof(mfa));
	w->p.i = VM + 0x10;
	w->p.current = current;
	assert_true(process_current_function(&w->f->node, &w->code, &w->p, &text, &l));
	assert_string_equal(text.buf, "erlang:hibernate/3");
	assert_false(l.known);
	/* Without `current`, or with one that cannot be: what `i` says. */
	w->p.current = 0;
	assert_false(process_current_function(&w->f->node, &w->code, &w->p, &text, &l));
	w->p.current = 0x10;
	w->p.i = F + 0x21;
	strbuf_reset(&text);
	assert_true(process_current_function(&w->f->node, &w->code, &w->p, &text, &l));
	assert_string_equal(text.buf, "m:f/1");
	assert_int_equal(l.function.line, 11);
	strbuf_free(&text);
	leave(w);
}

/* Words of a running process that look like return addresses are one only in code. */
static void test_running(void **state)
{
	const uint64_t words[] = {0x1000, TERM(1), G + 4, 0, EXIT};
	struct world *w = world(27, false);
	raddr flags = at(w, w->f->node.layout.process_state);

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	read_stack(w);
	assert_int_equal(w->stack.frames.len, 4);
	image_u32(w->f->im, flags, PSFLG_RUNNING);
	read_stack(w);
	assert_true(w->stack.stale);
	assert_int_equal(w->stack.frames.len, 2);
	check_frame(w, 1, G + 4, 3, 1);
	image_u32(w->f->im, flags, PSFLG_DIRTY_RUNNING);
	read_stack(w);
	assert_false(w->stack.stale);
	leave(w);
}

static int try_stack(struct world *w)
{
	return process_stack_read(&w->f->node, &w->code, &w->p, &w->stack);
}

static void test_not_there(void **state)
{
	const uint64_t words[] = {TERM(1), EXIT};
	struct world *w = world(27, false);
	const struct beam_layout *l = &w->f->node.layout;

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	w->p.epid = EPID + 16;
	assert_int_equal(try_stack(w), -ESRCH);
	w->p.epid = EPID;
	image_u32(w->f->im, at(w, l->process_state), PSFLG_FREE);
	assert_int_equal(try_stack(w), -ESRCH);
	image_u32(w->f->im, at(w, l->process_state), 0);
	image_u64(w->f->im, at(w, l->process_stop), w->heap + HEAP + 8);
	assert_int_equal(try_stack(w), -EAGAIN);
	image_u64(w->f->im, at(w, l->process_stop), w->heap + HEAP - 12);
	assert_int_equal(try_stack(w), -EAGAIN);
	/* Below the heap, or where nothing is. */
	image_u64(w->f->im, at(w, l->process_stop), w->heap);
	assert_int_equal(try_stack(w), -EAGAIN);
	image_u64(w->f->im, at(w, l->process_hend), ~7ull);
	image_u64(w->f->im, at(w, l->process_stop), w->heap + 16);
	assert_int_equal(try_stack(w), -EAGAIN);
	w->p.addr = 0x10;
	assert_int_equal(try_stack(w), -ESRCH);
	leave(w);
}

/* Every word of a stack may be anything. */
static void test_garbage(void **state)
{
	uint64_t words[WORDS - 2];

	(void)state;
	for (unsigned int seed = 1; seed <= 200; seed++) {
		struct world *w = world(seed % 2 ? 25 : 29, seed % 3 == 0);

		srand(seed);
		for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
			static const raddr some[] = {F + 4, G + 8, EXIT, RETURN, TIMED, 0, ~3ull};

			words[i] = some[(unsigned int)rand() % ARRAY_SIZE(some)];
			if (rand() % 3 == 0)
				words[i] = TERM(rand());
		}
		set_stack(w, words, ARRAY_SIZE(words));
		read_stack(w);
		for (size_t i = 0; i < w->stack.frames.len; i++) {
			const struct stack_frame *f = &w->stack.frames.data[i];
			struct stack_location l;

			assert_true(f->y + f->nr_y <= w->stack.words.len);
			stack_frame_locate(&w->code, f, &l);
		}
		leave(w);
	}
}

struct seen {
	size_t nr, good, gone, frames;
};

static void visit(void *arg, size_t i, int rc, const struct process_stack *s)
{
	struct seen *seen = arg;

	assert_int_equal(i, seen->nr);
	seen->nr++;
	seen->good += rc == 0;
	seen->gone += rc == -ESRCH;
	seen->frames += rc == 0 ? s->frames.len : 0;
}

/* Many at once give what each gives alone. */
static void test_many(void **state)
{
	const uint64_t words[] = {TERM(1), G + 4, TERM(2), EXIT};
	struct world *w = world(27, false);
	struct process_facts many[1500];
	struct seen seen = {0};

	(void)state;
	set_stack(w, words, ARRAY_SIZE(words));
	w->p.htop = w->heap + 8;
	w->p.i = F + 0x15;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		many[i] = w->p;
		if (i % 10 == 3)
			many[i].epid += 16; /* gone */
		if (i % 10 == 4)
			many[i].stop += 16; /* it has moved since */
		if (i % 10 == 5)
			many[i].hend = 0;
		if (i % 10 == 6)
			many[i].addr = 0x10;
		if (i % 10 == 7)
			many[i].reductions = 1; /* it has run since */
	}
	process_stacks_each(&w->f->node, &w->code, many, ARRAY_SIZE(many), visit, &seen);
	assert_int_equal(seen.nr, 1500);
	assert_int_equal(seen.good, 1200);
	assert_int_equal(seen.gone, 300);
	assert_int_equal(seen.frames, 2400);
	leave(w);
}

static void test_no_code(void **state)
{
	struct fakenode *f = fakenode_open(27);
	struct stack_code code;
	struct error err = {0};

	(void)state;
	assert_true(stack_code_open(&code, &f->node, &err) < 0);
	f->node.anchors.jit_descriptor = 0;
	assert_true(stack_code_open(&code, &f->node, &err) < 0);
	assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
	fakenode_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	   cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_repeated),   cmocka_unit_test(test_tracing),
		cmocka_unit_test(test_hibernated), cmocka_unit_test(test_running),
		cmocka_unit_test(test_not_there),  cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_many),	   cmocka_unit_test(test_no_code),
		cmocka_unit_test(test_c_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
