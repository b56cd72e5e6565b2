/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of processes that run, from memory: where they end, what is kept of deep ones, and when it
 * is known where the process is.  The scheduler's thread is one that makes no system call. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "beam/sched/running_stack.h"
#include "lib/fakenode.h"

#define CODE	 0x7f0000000000ull
#define FRAGMENT (CODE + 0x100)
#define WORDS	 20000

struct fixture {
	struct fakenode *f;
	struct running_code code;
	struct running_scheduler s;
	raddr process, heap, hend;
	bool in_c;
	struct rec_raw_sample *out;
	struct running_call call;
};

static atomic_int spinner;
static atomic_bool stop;

static void *spin(void *arg)
{
	UNUSED(arg);
	atomic_store(&spinner, (int)syscall(SYS_gettid));
	while (!atomic_load(&stop))
		;
	return NULL;
}

static void put(struct fixture *x, int32_t field, uint64_t value)
{
	image_u64(x->f->im, x->process + (raddr)field, value);
}

static void word(struct fixture *x, size_t from_end, uint64_t value)
{
	image_u64(x->f->im, x->hend - 8 * from_end, value);
}

static void open_node(struct fixture *x, int otp)
{
	const struct beam_layout *l;

	*x = (struct fixture){
		.f = fakenode_open(otp),
		.code = {.hull = {CODE, CODE + 0x10000}, .fragments = {FRAGMENT, FRAGMENT + 0x100}},
		.out = malloc(RUNNING_STACK_SIZE),
	};
	l = &x->f->node.layout;
	x->process = image_alloc(x->f->im, (size_t)l->process_size);
	x->heap = image_alloc(x->f->im, 8 * WORDS);
	x->hend = x->heap + 8 * WORDS;
	x->s = (struct running_scheduler){
		.type = THREAD_NORMAL,
		.number = 2,
		.os_tid = atomic_load(&spinner),
		.registers = image_alloc(x->f->im, 16 + (size_t)l->registers_size) + 16,
	};
	put(x, l->process_id, 0x503);
	put(x, l->process_heap, x->heap);
	put(x, l->process_hend, x->hend);
	put(x, l->process_stop, x->hend - 32);
	put(x, l->process_i, CODE + 0x800);
	word(x, 4, CODE + 0x404); /* a return address, */
	word(x, 3, 0x4f);	  /* a term, */
	word(x, 2, CODE + 0x508); /* another one, */
	word(x, 1, 0xb);	  /* and an atom */
	image_u64(x->f->im, x->s.registers - 8, CODE + 0x600);
}

static void close_node(struct fixture *x)
{
	free(x->out);
	fakenode_close(x->f);
}

static bool read_stack(struct fixture *x, const struct running_call *earlier)
{
	return running_stack_read(x->out, &x->call, x->f->node.mem, &x->f->node.layout, &x->code,
				  getpid(), &x->s, x->process, x->in_c, earlier);
}

static void calls(void **state)
{
	struct running_call first;
	struct fixture x;

	UNUSED(state);
	for (int otp = 25; otp <= 29; otp += 2) {
		open_node(&x, otp);
		/* Nothing tells whether it is in the call still. */
		assert_true(read_stack(&x, NULL));
		assert_int_equal(x.out->place, PLACE_OTHER);
		assert_int_equal(x.out->status, SAMPLE_STATUS_AMBIGUOUS);
		assert_int_equal(x.out->epid, 0x503);
		assert_int_equal(x.out->scheduler, 2);
		assert_int_equal(x.out->nr_leaf, 2);
		assert_true(x.out->addrs[0] == CODE + 0x404 && x.out->addrs[1] == CODE + 0x508);
		assert_true(x.call.known && x.call.ra == CODE + 0x600);
		assert_true(x.call.entry == CODE + 0x800);
		x.in_c = true;
		assert_true(read_stack(&x, NULL));
		assert_int_equal(x.out->place, PLACE_C_FROM_JIT);
		assert_int_equal(x.out->status, SAMPLE_STATUS_COMPLETE);
		x.in_c = false;
		/* The same call, and no more of a CPU than Erlang code may take. */
		first = x.call;
		first.cpu_ns += 1000000000;
		assert_true(read_stack(&x, &first));
		assert_int_equal(x.out->place, PLACE_OTHER);
		/* The same call for long. */
		first.cpu_ns = 0;
		do {
			assert_true(read_stack(&x, &first));
		} while (x.call.cpu_ns < 4000000);
		assert_int_equal(x.out->place, PLACE_C_FROM_JIT);
		assert_int_equal(x.out->status, SAMPLE_STATUS_COMPLETE);
		assert_int_equal(x.out->stack_source, STACK_LAST);
		assert_true(x.out->call_ra == CODE + 0x600);
		/* Another call. */
		first.ra++;
		assert_true(read_stack(&x, &first));
		assert_int_equal(x.out->place, PLACE_OTHER);
		close_node(&x);
	}
}

/* A fragment is called with a return address that is not aligned. */
static void fragments(void **state)
{
	struct running_call first = {.known = true, .ra = FRAGMENT + 8};
	struct fixture x;

	UNUSED(state);
	open_node(&x, 27);
	image_u64(x.f->im, x.s.registers - 8, FRAGMENT + 8);
	word(&x, 4, CODE + 0x403);
	do {
		assert_true(read_stack(&x, &first));
	} while (x.call.cpu_ns < 4000000);
	assert_int_equal(x.out->place, PLACE_C_FROM_JIT);
	assert_int_equal(x.out->nr_leaf, 2);
	assert_true(x.out->addrs[0] == CODE + 0x403 && x.out->saved_ra == CODE + 0x403);
	close_node(&x);
}

/* Without native stack it pushes that on the C stack, and the return address from C stands below,
 * aligned. */
static void c_stack(void **state)
{
	struct fixture x;
	raddr registers;

	UNUSED(state);
	open_node(&x, 26);
	x.code.c_stack = x.in_c = true;
	registers = image_alloc(x.f->im, 128) + 64;
	registers &= ~15ull;
	x.s.registers = registers;
	word(&x, 4, CODE + 0x403);
	image_u64(x.f->im, registers, registers - 8);
	image_u64(x.f->im, registers - 8, CODE + 0x703);
	image_u64(x.f->im, registers - 40, FRAGMENT + 8);
	image_u64(x.f->im, registers + (raddr)x.f->node.layout.registers_tmp_mem + 8, 0);
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->place, PLACE_C_FROM_JIT);
	assert_int_equal(x.out->status, SAMPLE_STATUS_COMPLETE);
	assert_true(x.out->call_ra == FRAGMENT + 8 && x.out->saved_ra == CODE + 0x703);
	assert_int_equal(x.out->nr_leaf, 2);
	assert_true(x.out->addrs[0] == CODE + 0x703 && x.out->addrs[1] == CODE + 0x508);
	/* Called by a function; then nothing that could be such a place. */
	image_u64(x.f->im, registers, registers);
	image_u64(x.f->im, registers - 24, CODE + 0x600);
	assert_true(read_stack(&x, NULL));
	assert_true(x.out->call_ra == CODE + 0x600);
	assert_int_equal(x.out->nr_leaf, 1);
	image_u64(x.f->im, registers, registers + 8);
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->place, PLACE_OTHER);
	close_node(&x);
}

static void dirty(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_node(&x, 29);
	x.s.type = THREAD_DIRTY_IO;
	x.s.registers = 0;
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->place, PLACE_C_PROCESS);
	assert_int_equal(x.out->status, SAMPLE_STATUS_COMPLETE);
	assert_true(x.out->saved_ra == CODE + 0x800);
	assert_int_equal(x.out->nr_leaf, 2);
	close_node(&x);
}

/* Of a deep one what is next to the leaf and next to the root. */
static void deep(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_node(&x, 25);
	for (size_t i = 1; i < WORDS; i++)
		word(&x, i, CODE + 4 * i);
	put(&x, x.f->node.layout.process_stop, x.heap + 8);
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->nr_leaf, EBEAM_LEAF_FRAMES);
	assert_int_equal(x.out->nr_root, EBEAM_ROOT_FRAMES);
	assert_true(x.out->addrs[0] == CODE + 4 * (WORDS - 1));
	assert_true(x.out->addrs[EBEAM_LEAF_FRAMES] == CODE + 4);
	assert_true(x.out->flags & RAW_SAMPLE_ROOT_PART);
	assert_int_equal(x.out->skipped_words + x.out->walked_words, WORDS - 1);
	assert_true(x.out->h.size <= RUNNING_STACK_SIZE);
	close_node(&x);
}

static void broken(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_node(&x, 27);
	put(&x, x.f->node.layout.process_stop, x.heap - 8);
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->status, SAMPLE_STATUS_BAD_BOUNDS);
	assert_int_equal(x.out->nr_leaf, 0);
	put(&x, x.f->node.layout.process_stop, x.hend);
	put(&x, x.f->node.layout.process_hend, x.hend + 64); /* nothing is there */
	assert_true(read_stack(&x, NULL));
	assert_int_equal(x.out->status, SAMPLE_STATUS_STACK_UNREADABLE);
	x.process = 8;
	assert_false(read_stack(&x, NULL));
	x.s.os_tid = 0;
	assert_false(read_stack(&x, NULL));
	close_node(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls), cmocka_unit_test(fragments), cmocka_unit_test(dirty),
		cmocka_unit_test(deep),	 cmocka_unit_test(broken),    cmocka_unit_test(c_stack),
	};

	pthread_t thread;
	int failed;

	if (pthread_create(&thread, NULL, spin, NULL) != 0)
		return 1;
	while (!atomic_load(&spinner))
		;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return failed;
}
