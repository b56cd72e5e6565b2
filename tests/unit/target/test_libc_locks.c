/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has a lock of the C library: of this process's own locks, and of words that were made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/libc_locks.h"
#include "target/mem.h"

static void functions(void **state)
{
	static const struct {
		const char *name;
		enum libc_lock_type type;
	} all[] = {
		{"pthread_mutex_lock", LIBC_LOCK_MUTEX},
		{"__pthread_mutex_lock_full", LIBC_LOCK_MUTEX},
		{"___pthread_mutex_timedlock64", LIBC_LOCK_MUTEX},
		{"__GI___pthread_mutex_cond_lock", LIBC_LOCK_MUTEX},
		{"pthread_rwlock_rdlock", LIBC_LOCK_RWLOCK},
		{"__pthread_rwlock_wrlock_full64", LIBC_LOCK_RWLOCK},
		{"__pthread_mutex_unlock_usercnt", LIBC_LOCK_NONE},
		{"__GI___pthread_rwlock_unlock", LIBC_LOCK_NONE},
		{"pthread_mutex_destroy", LIBC_LOCK_NONE},
		{"__GI___lll_lock_wait", LIBC_LOCK_NONE},
		{"pthread_cond_wait", LIBC_LOCK_NONE},
		{"ethr_mutex_lock_wait__", LIBC_LOCK_NONE},
		{"", LIBC_LOCK_NONE},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		assert_int_equal(libc_lock_of_function(all[i].name), all[i].type);
	assert_string_equal(libc_lock_type_name(LIBC_LOCK_RWLOCK), "rwlock");
	assert_null(libc_lock_type_name(LIBC_LOCK_NONE));
}

static bool at(const void *futex, enum libc_lock_type type, struct libc_lock *out)
{
	struct error err;
	struct mem *mem;
	bool found;

	assert_int_equal(mem_open_live(&mem, getpid(), &err), 0);
	found = libc_lock_read(mem, (raddr)(uintptr_t)futex, type, out);
	mem_close(mem);
	return found;
}

static void own_mutex(void **state)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct libc_lock lock;

	UNUSED(state);
	assert_false(at(&m, LIBC_LOCK_MUTEX, &lock));
	pthread_mutex_lock(&m);
	assert_true(at(&m, LIBC_LOCK_MUTEX, &lock));
	assert_int_equal(lock.owner, gettid());
	assert_int_equal(lock.addr, (uintptr_t)&m);
	assert_false(at((char *)&m + 4, LIBC_LOCK_MUTEX, &lock));
	assert_false(at(&m, LIBC_LOCK_NONE, &lock));
	pthread_mutex_unlock(&m);
}

static void own_rwlock(void **state)
{
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	struct libc_lock lock;

	UNUSED(state);
	assert_false(at((char *)&l + 8, LIBC_LOCK_RWLOCK, &lock));
	pthread_rwlock_wrlock(&l);
	/* Readers and writers wait in different words of it. */
	for (int offset = 8; offset <= 12; offset += 4) {
		assert_true(at((char *)&l + offset, LIBC_LOCK_RWLOCK, &lock));
		assert_int_equal(lock.owner, gettid());
		assert_int_equal(lock.addr, (uintptr_t)&l);
	}
	pthread_rwlock_unlock(&l);
	pthread_rwlock_rdlock(&l);
	assert_true(at((char *)&l + 8, LIBC_LOCK_RWLOCK, &lock));
	assert_int_equal(lock.owner, 0);
	pthread_rwlock_unlock(&l);
}

static void none(void **state)
{
	uint32_t words[16] __attribute__((aligned(8)));
	struct libc_lock lock;

	UNUSED(state);
	memset(words, 0xff, sizeof(words));
	assert_false(at(words, LIBC_LOCK_MUTEX, &lock));
	assert_false(at(words + 4, LIBC_LOCK_RWLOCK, &lock));
	/* One that several processes share: the owner may be a thread of another one. */
	memcpy(words, ((uint32_t[]){2, 0, 77, 1, 0x80}), 20);
	assert_true(at(words, LIBC_LOCK_MUTEX, &lock));
	assert_int_equal(lock.owner, 0);
	words[4] = 0x400;
	assert_false(at(words, LIBC_LOCK_MUTEX, &lock));
	assert_false(at((void *)8, LIBC_LOCK_MUTEX, &lock));
	assert_false(at((void *)8, LIBC_LOCK_RWLOCK, &lock));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(own_mutex),
		cmocka_unit_test(own_rwlock),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
