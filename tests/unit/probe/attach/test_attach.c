/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Points in groups and links; and, where the kernel lets us, probes on functions of this program:
 * both ways of placing them count the same.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/compiler.h"
#include "calibrate.skel.h"
#include "probe/attach/attach.h"
#include "probe/kernel/multi.h"
#include "probe/kernel/perf.h"

#define KIND(n) (1ull << (n))

static void add(struct source_plan *p, const char *program, uint64_t kinds, uint64_t offset)
{
	const struct source_point point = {
		.symbol = "f",
		.program = program,
		.kinds = kinds,
		.offset = offset,
		.site = {.ok = true, .emulated = true},
	};

	assert_true(source_plan_add(p, &point));
	p->kinds |= kinds;
}

/* Kinds that have a point in common are one group, and so are points of one program. */
static void test_groups(void **state)
{
	static struct source_plan plan;
	struct attach *a;

	UNUSED(state);
	memset(&plan, 0, sizeof(plan));
	add(&plan, "p", KIND(40 + 0), 0x10);
	add(&plan, "q", KIND(40 + 1), 0x20);
	add(&plan, "r", KIND(40 + 2) | KIND(40 + 3), 0x30);
	add(&plan, "s", KIND(40 + 1), 0x40);
	add(&plan, "t", KIND(40 + 3) | KIND(40 + 0), 0x50); /* ties the first and the third */
	add(&plan, "q", KIND(40 + 4), 0x60);		    /* the second again, by its program */
	add(&plan, "u", KIND(40 + 5), 0x70);
	attach_open(&a, &plan, 1, "exe", ATTACH_MULTI);
	assert_int_equal(attach_nr_groups(a), 3);
	assert_int_equal(attach_kinds(a, 0), KIND(40 + 0) | KIND(40 + 2) | KIND(40 + 3));
	assert_int_equal(attach_kinds(a, 1), KIND(40 + 1) | KIND(40 + 4));
	assert_int_equal(attach_kinds(a, 2), KIND(40 + 5));
	for (unsigned int i = 0; i < plan.nr_points; i++)
		assert_true(attach_kinds(a, attach_group_of(a, i)) & plan.points[i].kinds);
	assert_int_equal(attach_nr_links(a), 6); /* q has two points */
	attach_close(a);
	attach_open(&a, &plan, 1, "exe", ATTACH_PERF);
	assert_int_equal(attach_nr_links(a), 7);
	attach_close(a);
	/* Spawns and exits, whatever their points. */
	memset(&plan, 0, sizeof(plan));
	add(&plan, "p", KIND(EVENT_PROCESS_SPAWN), 0x10);
	add(&plan, "q", KIND(EVENT_MESSAGE_SEND), 0x20);
	add(&plan, "r", KIND(EVENT_PROCESS_EXIT), 0x30);
	attach_open(&a, &plan, 1, "exe", ATTACH_MULTI);
	assert_int_equal(attach_nr_groups(a), 2);
	assert_int_equal(attach_group_of(a, 0), attach_group_of(a, 2));
	attach_close(a);
	attach_close(NULL);
}

/* A return at the instruction where its call is probed traps once less. */
static void test_trap(void **state)
{
	const struct calibration cost = {700, 2000, 1100};
	static struct source_plan plan;
	struct attach *a;

	UNUSED(state);
	memset(&plan, 0, sizeof(plan));
	for (unsigned int i = 0; i < 4; i++)
		add(&plan, "p", KIND(0), i < 2 ? 0x10 : 0x10 * i);
	plan.points[1].at_return = plan.points[3].at_return = true;
	plan.points[2].site.emulated = plan.points[3].site.emulated = false;
	attach_open(&a, &plan, 1, "exe", ATTACH_MULTI);
	assert_int_equal(attach_trap_ns(a, 0, &cost), 700);
	assert_int_equal(attach_trap_ns(a, 1, &cost), 400);
	assert_int_equal(attach_trap_ns(a, 2, &cost), 2000);
	assert_int_equal(attach_trap_ns(a, 3, &cost), 2400);
	attach_close(a);
}

static __attribute__((noinline, used)) int target_a(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

static __attribute__((noinline, used)) int target_b(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 2;
}

static void call(unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		target_a((int)i);
		target_b((int)i);
	}
}

/* Two points of one program: on, off and on again; each call is a hit while they are on. */
static void check_hits(enum attach_way way)
{
	const struct calibration cost = {700, 2000, 1100};
	struct event_switches switches = {0};
	static struct source_plan plan;
	struct calibrate_bpf *skel = calibrate_bpf__open();
	uint64_t offset_a, offset_b;
	struct error err = {0};
	struct attach_hits hits;
	struct attach *a;
	bool counts, counted;

	assert_non_null(skel);
	memset(&plan, 0, sizeof(plan));
	assert_int_equal(perf_own_offset((const void *)(uintptr_t)target_a, &offset_a), 0);
	assert_int_equal(perf_own_offset((const void *)(uintptr_t)target_b, &offset_b), 0);
	add(&plan, "calibrate_hit", KIND(3), offset_a);
	add(&plan, "calibrate_hit", KIND(5), offset_b);
	attach_open(&a, &plan, getpid(), "/proc/self/exe", way);
	assert_int_equal(attach_choose(a, skel->obj, &err), 0);
	assert_int_equal(calibrate_bpf__load(skel), 0);
	counts = attach_count_runs(a);
	attach_loaded(a, &switches);
	call(5);
	assert_int_equal(skel->bss->hits, 0);
	assert_int_equal(attach_on(a, 0, &err), 0);
	assert_int_equal(attach_on(a, 0, &err), 0);
	assert_int_equal(switches.kinds, KIND(3) | KIND(5));
	call(100);
	assert_int_equal(skel->bss->hits, 200);
	counted = attach_hits(a, 0, &cost, &hits);
	assert_int_equal(counted, counts);
	if (counts) {
		assert_int_equal(hits.hits, 200);
		assert_int_equal(hits.trap_ns, 200 * 700);
		assert_true(hits.run_ns > 0);
	}
	attach_off(a, 0);
	attach_off(a, 0);
	assert_int_equal(switches.kinds, 0);
	attach_wait(a);
	call(100);
	assert_int_equal(skel->bss->hits, 200);
	assert_int_equal(attach_on(a, 0, &err), 0);
	assert_int_equal(switches.epoch[3], 2);
	assert_int_equal(switches.epoch[5], 2);
	assert_int_equal(switches.epoch[4], 0);
	call(10);
	assert_int_equal(skel->bss->hits, 220);
	attach_close(a);
	call(10);
	assert_int_equal(skel->bss->hits, 220);
	calibrate_bpf__destroy(skel);
}

static bool may_probe(void)
{
	struct calibrator *c;
	struct calibration cost;
	struct error err;
	int rc;

	calibrator_open(&c);
	rc = calibrator_measure(c, false, &cost, &err);
	calibrator_close(c);
	if (rc)
		print_message("%s\n", err.msg);
	return rc == 0;
}

static void test_perf(void **state)
{
	UNUSED(state);
	if (!may_probe())
		skip();
	check_hits(ATTACH_PERF);
}

static void test_multi(void **state)
{
	UNUSED(state);
	if (!may_probe() || !multi_available())
		skip();
	check_hits(ATTACH_MULTI);
}

static void copy_self(char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);

	assert_true(from >= 0 && to >= 0);
	while (sendfile(to, from, NULL, 1 << 30) > 0)
		;
	close(from);
	close(to);
}

/* Placed in this file, are they in this process? */
static int place_in(const char *path, enum attach_way way, struct error *err)
{
	struct event_switches switches = {0};
	static struct source_plan plan;
	struct calibrate_bpf *skel = calibrate_bpf__open();
	struct elf_file *elf = NULL;
	struct mem *mem = NULL;
	uint64_t offset, bias;
	struct attach *a;
	int rc;

	assert_non_null(skel);
	memset(&plan, 0, sizeof(plan));
	assert_int_equal(perf_own_offset((const void *)(uintptr_t)target_a, &offset), 0);
	add(&plan, "calibrate_hit", KIND(3), offset);
	assert_int_equal(elf_file_open(&elf, open(path, O_RDONLY | O_CLOEXEC), path, err), 0);
	assert_true(elf_file_bias(elf, (raddr)(uintptr_t)target_a, offset, 1, &bias));
	assert_int_equal(mem_open_live(&mem, getpid(), err), 0);
	attach_open(&a, &plan, getpid(), path, way);
	attach_prove(a, mem, elf, bias);
	assert_int_equal(attach_choose(a, skel->obj, err), 0);
	assert_int_equal(calibrate_bpf__load(skel), 0);
	attach_loaded(a, &switches);
	rc = attach_on(a, 0, err);
	assert_int_equal(switches.kinds, rc ? 0 : KIND(3));
	attach_close(a);
	calibrate_bpf__destroy(skel);
	mem_close(mem);
	elf_file_close(elf);
	return rc;
}

/* As overlayfs makes a copy of a file that is changed, while the process has mapped what was. */
static void test_elsewhere(void **state)
{
	char copy[] = "/tmp/test_attach-XXXXXX";
	struct error err = {0};

	UNUSED(state);
	if (!may_probe())
		skip();
	copy_self(copy);
	for (enum attach_way way = ATTACH_PERF; way <= ATTACH_MULTI; way++) {
		if (way == ATTACH_MULTI && !multi_available())
			continue;
		assert_int_equal(place_in("/proc/self/exe", way, &err), 0);
		assert_int_equal(place_in(copy, way, &err), -ESTALE);
		assert_non_null(strstr(err.msg, "overlayfs"));
	}
	unlink(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),	  cmocka_unit_test(test_trap),
		cmocka_unit_test(test_perf),	  cmocka_unit_test(test_multi),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
