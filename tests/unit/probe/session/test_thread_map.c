/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that ended are removed from maps; needs BPF, else it is skipped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/session/thread_map.h"

#define ENDED 200u

struct thread {
	pthread_t thread;
	uint32_t tid;
	int ready[2], end[2];
};

static void *say_tid(void *arg)
{
	struct thread *t = arg;
	char byte;

	t->tid = (uint32_t)syscall(SYS_gettid);
	assert_int_equal(write(t->ready[1], "", 1), 1);
	assert_int_equal(read(t->end[0], &byte, 1), 1);
	return NULL;
}

static void start(struct thread *t)
{
	char byte;

	assert_int_equal(pipe(t->ready) | pipe(t->end), 0);
	assert_int_equal(pthread_create(&t->thread, NULL, say_tid, t), 0);
	assert_int_equal(read(t->ready[0], &byte, 1), 1);
}

static void end(struct thread *t)
{
	assert_int_equal(write(t->end[1], "", 1), 1);
	pthread_join(t->thread, NULL);
	for (unsigned int i = 0; i < 2; i++) {
		close(t->ready[i]);
		close(t->end[i]);
	}
}

static unsigned int nr_keys(int map)
{
	uint32_t key, next;
	unsigned int nr = 0;

	for (void *from = NULL; bpf_map_get_next_key(map, from, &next) == 0; nr++) {
		key = next;
		from = &key;
	}
	return nr;
}

static void test_clean(void **state)
{
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "threads", 4, 8, 1024, NULL);
	uint32_t own = (uint32_t)getpid(), ended[ENDED];
	struct thread alive;
	uint64_t value = 1;

	UNUSED(state);
	if (map < 0)
		skip();
	for (unsigned int i = 0; i < ENDED; i++) {
		struct thread t;

		start(&t);
		ended[i] = t.tid;
		end(&t);
	}
	start(&alive);
	bpf_map_update_elem(map, &own, &value, BPF_ANY);
	bpf_map_update_elem(map, &alive.tid, &value, BPF_ANY);
	for (unsigned int i = 0; i < ENDED; i++) {
		if (ended[i] != alive.tid)
			bpf_map_update_elem(map, &ended[i], &value, BPF_ANY);
	}
	assert_true(nr_keys(map) > 2);
	/* A process that is gone says nothing of its threads. */
	thread_map_clean(map, INT32_MAX);
	assert_true(nr_keys(map) > 2);
	thread_map_clean(map, (int)own);
	assert_int_equal(nr_keys(map), 2);
	assert_int_equal(bpf_map_lookup_elem(map, &own, &value), 0);
	assert_int_equal(bpf_map_lookup_elem(map, &alive.tid, &value), 0);
	end(&alive);
	close(map);
}

static void test_nonzero(void **state)
{
	enum { NR = 10 };
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "threads", 4, 16, 1024, NULL);
	uint64_t value[2] = {0, 1};

	UNUSED(state);
	if (map < 0)
		skip();
	assert_int_equal(thread_map_nonzero(map, sizeof(value)), 0);
	for (uint32_t key = 1; key <= NR; key++) {
		value[0] = key % 3 == 0 ? 7ull << 40 : 0;
		bpf_map_update_elem(map, &key, value, BPF_ANY);
	}
	assert_int_equal(thread_map_nonzero(map, sizeof(value)), 3);
	assert_int_equal(thread_map_nonzero(-1, sizeof(value)), 0);
	assert_int_equal(thread_map_nonzero(map, 4), 0);
	close(map);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_clean),
	cmocka_unit_test(test_nonzero),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
