/* SPDX-License-Identifier: BSD-2-Clause */
/* Schedulers: the three arrays of a node, what cannot be read of them, and the names of threads. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "beam/sched/sched.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define THREAD_POINTER	    0x7f1000000000ull
#define REGISTERS	    0x7f2000000000ull
#define PER_THREAD(base, k) ((base) + 0x10000 * (raddr)(k))

static raddr make_array(struct fakenode *f, uint32_t nr, uint32_t from)
{
	const struct beam_layout *l = &f->node.layout;
	raddr array = image_alloc(f->im, (size_t)l->sched_stride * nr);

	for (uint32_t i = 0; i < nr; i++) {
		raddr esdp = array + (raddr)i * (uint32_t)l->sched_stride;

		image_u64(f->im, esdp + (raddr)l->sched_tid, PER_THREAD(THREAD_POINTER, from + i));
		image_u64(f->im, esdp + (raddr)l->sched_registers, PER_THREAD(REGISTERS, from + i));
	}
	return array;
}

/* 3 normal schedulers, 2 dirty CPU, 10 dirty IO. */
static struct fakenode *open_node(int otp)
{
	struct fakenode *f = fakenode_open(otp);
	struct beam_anchors *a = &f->node.anchors;

	a->nr_sched = 3;
	a->sched = make_array(f, a->nr_sched, 0);
	a->nr_dirty_cpu = 2;
	a->dirty_cpu = make_array(f, a->nr_dirty_cpu, 3);
	a->nr_dirty_io = 10;
	a->dirty_io = make_array(f, a->nr_dirty_io, 5);
	return f;
}

static void test_threads(void **state)
{
	static const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (size_t r = 0; r < ARRAY_SIZE(releases); r++) {
		struct fakenode *f = open_node(releases[r]);
		struct sched_thread *threads;

		assert_int_equal(sched_threads(&f->node, &threads), 15);
		for (uint32_t i = 0; i < 15; i++) {
			enum thread_type type = i < 3	? THREAD_NORMAL
						: i < 5 ? THREAD_DIRTY_CPU
							: THREAD_DIRTY_IO;
			uint32_t first = i < 3 ? 0 : i < 5 ? 3 : 5;

			assert_int_equal(threads[i].thread_pointer, PER_THREAD(THREAD_POINTER, i));
			assert_int_equal(threads[i].info.registers, PER_THREAD(REGISTERS, i));
			assert_int_equal(threads[i].info.type, type);
			assert_int_equal(threads[i].info.scheduler, i - first + 1);
		}
		assert_int_equal(threads[1].info.esdp - threads[0].info.esdp,
				 f->node.layout.sched_stride);
		assert_int_equal(threads[0].info.esdp, f->node.anchors.sched);
		free(threads);
		fakenode_close(f);
	}
}

/* Without symbols an array may not have been found; a scheduler may not have started yet. */
static void test_missing(void **state)
{
	struct fakenode *f = open_node(29);
	struct beam_anchors *a = &f->node.anchors;
	struct sched_thread *threads;

	(void)state;
	image_u64(f->im, a->sched + (raddr)f->node.layout.sched_tid, 0);
	a->dirty_cpu = 0;
	a->nr_dirty_io = 0;
	assert_int_equal(sched_threads(&f->node, &threads), 2);
	assert_int_equal(threads[0].info.scheduler, 2);
	free(threads);
	a->sched = 0;
	assert_int_equal(sched_threads(&f->node, &threads), 0);
	free(threads);
	fakenode_close(f);
}

static void test_faults(void **state)
{
	struct fakenode *f = open_node(27);
	struct mem *whole = f->node.mem;
	struct sched_thread *threads;

	(void)state;
	for (uint64_t nth = 1; nth <= 31; nth++) {
		int rc;

		f->node.mem = mem_open_faulty(whole, 0, 0, nth);
		rc = sched_threads(&f->node, &threads);
		mem_close(f->node.mem);
		assert_int_equal(rc, nth <= 30 ? -EFAULT : 15);
		if (rc < 0)
			assert_null(threads);
		else
			free(threads);
	}
	f->node.mem = whole;
	fakenode_close(f);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum thread_type type;
		uint16_t number;
	} cases[] = {
		/* up to OTP 25, cut at 15 bytes */
		{"1_scheduler", THREAD_NORMAL, 1},
		{"1024_scheduler", THREAD_NORMAL, 1024},
		{"1_dirty_cpu_sch", THREAD_DIRTY_CPU, 1},
		{"10_dirty_cpu_sc", THREAD_DIRTY_CPU, 10},
		{"128_dirty_cpu_s", THREAD_DIRTY_CPU, 128},
		{"1024_dirty_cpu_", THREAD_DIRTY_CPU, 1024},
		{"1_dirty_io_sche", THREAD_DIRTY_IO, 1},
		{"10_dirty_io_sch", THREAD_DIRTY_IO, 10},
		{"128_dirty_io_sc", THREAD_DIRTY_IO, 128},
		/* since OTP 26 */
		{"erts_sched_1", THREAD_NORMAL, 1},
		{"erts_sched_1024", THREAD_NORMAL, 1024},
		{"erts_dcpus_2", THREAD_DIRTY_CPU, 2},
		{"erts_dcpus_1024", THREAD_DIRTY_CPU, 1024},
		{"erts_dios_10", THREAD_DIRTY_IO, 10},
		/* the others of OTP 25 and 27 nodes */
		{"beam.smp", THREAD_OTHER, 0},
		{"1_aux", THREAD_OTHER, 0},
		{"0_poller", THREAD_OTHER, 0},
		{"async_1", THREAD_OTHER, 0},
		{"sys_sig_dispatc", THREAD_OTHER, 0},
		{"sys_msg_dispatc", THREAD_OTHER, 0},
		{"erts_aux_1", THREAD_OTHER, 0},
		{"erts_poll_0", THREAD_OTHER, 0},
		{"erts_async_1", THREAD_OTHER, 0},
		{"erts_ssig_disp", THREAD_OTHER, 0},
		{"erts_smsg_disp", THREAD_OTHER, 0},
		/* nobody's */
		{"", THREAD_OTHER, 0},
		{"_scheduler", THREAD_OTHER, 0},
		{"0_scheduler", THREAD_OTHER, 0},
		{"-1_scheduler", THREAD_OTHER, 0},
		{"70000_scheduler", THREAD_OTHER, 0},
		{"1_scheduler2", THREAD_OTHER, 0},
		{"1_sched", THREAD_OTHER, 0},
		{"1_dirty_cpu_", THREAD_OTHER, 0},
		{"123456789012345", THREAD_OTHER, 0},
		{"erts_sched_", THREAD_OTHER, 0},
		{"erts_sched_1x", THREAD_OTHER, 0},
		{"erts_sched_x", THREAD_OTHER, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint16_t number = 77;

		assert_int_equal(sched_type_of_name(cases[i].name, &number), cases[i].type);
		assert_int_equal(number, cases[i].number);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
