/* SPDX-License-Identifier: BSD-2-Clause */
/* See libc_locks.h. */
#include "target/libc_locks.h"

#include <string.h>

#include "base/compiler.h"

/* Offsets in struct __pthread_mutex_s, of words. */
enum { MUTEX_LOCK, MUTEX_COUNT, MUTEX_OWNER, MUTEX_USERS, MUTEX_KIND, MUTEX_WORDS };
/* Types, robust, of priorities, shared, elision: nptl/pthreadP.h. */
#define MUTEX_KINDS  0x3ffu
#define MUTEX_SHARED 0x80u

/* Offsets in struct __pthread_rwlock_arch_t; waiters of the next phase wait in the futex of phases,
 * writers behind a writer in that of writers. */
enum {
	RWLOCK_READERS,
	RWLOCK_WRITERS,
	RWLOCK_PHASE_FUTEX,
	RWLOCK_WRITERS_FUTEX,
	RWLOCK_WRITER = 6,
	RWLOCK_SHARED,
	RWLOCK_WORDS
};
#define RWLOCK_WRLOCKED 2u /* in readers: PTHREAD_RWLOCK_WRLOCKED */

#define OS_TID_MAX (1u << 22) /* PID_MAX_LIMIT, include/linux/threads.h */

const char *libc_lock_type_name(enum libc_lock_type type)
{
	static const char *const names[] = {NULL, "mutex", "rwlock"};

	return names[type];
}

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

enum libc_lock_type libc_lock_of_function(const char *name)
{
	name += strspn(name, "_");
	name += begins(name, "GI_") ? strlen("GI_") : 0;
	name += strspn(name, "_");
	/* Who unlocks waits for no lock, except within the kernel. */
	if (strstr(name, "unlock"))
		return LIBC_LOCK_NONE;
	/* Also __pthread_mutex_cond_lock: a condition has come true, and its mutex is taken. */
	if (begins(name, "pthread_mutex_") && strstr(name, "lock"))
		return LIBC_LOCK_MUTEX;
	if (begins(name, "pthread_rwlock_") && strstr(name, "lock"))
		return LIBC_LOCK_RWLOCK;
	return LIBC_LOCK_NONE;
}

static bool read_mutex(struct mem *mem, raddr futex, struct libc_lock *out)
{
	uint32_t w[MUTEX_WORDS];

	if (futex & 7 || mem_read(mem, futex, w, sizeof(w)) != 0 || !w[MUTEX_LOCK] ||
	    w[MUTEX_KIND] & ~MUTEX_KINDS || w[MUTEX_OWNER] > OS_TID_MAX)
		return false;
	out->addr = futex;
	out->owner = w[MUTEX_KIND] & MUTEX_SHARED ? 0 : (int)w[MUTEX_OWNER];
	return true;
}

static bool read_rwlock(struct mem *mem, raddr futex, struct libc_lock *out)
{
	uint32_t w[RWLOCK_WORDS];

	out->addr = futex - 4 * (futex & 7 ? RWLOCK_WRITERS_FUTEX : RWLOCK_PHASE_FUTEX);
	if (out->addr & 7 || mem_read(mem, out->addr, w, sizeof(w)) != 0 ||
	    !(w[RWLOCK_READERS] | w[RWLOCK_WRITERS]) || w[RWLOCK_WRITER] > OS_TID_MAX)
		return false;
	if (w[RWLOCK_READERS] & RWLOCK_WRLOCKED && !w[RWLOCK_SHARED])
		out->owner = (int)w[RWLOCK_WRITER];
	return true;
}

bool libc_lock_read(struct mem *mem, raddr futex, enum libc_lock_type type, struct libc_lock *out)
{
	*out = (struct libc_lock){.type = type};
	switch (type) {
	case LIBC_LOCK_MUTEX:
		return read_mutex(mem, futex, out);
	case LIBC_LOCK_RWLOCK:
		return read_rwlock(mem, futex, out);
	case LIBC_LOCK_NONE:
		break;
	}
	return false;
}
