/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who holds a lock of the C library that a thread waits for.  glibc on x86-64 notes the owner in
 * the lock: struct __pthread_mutex_s (sysdeps/nptl/bits/struct_mutex.h; lock, count, owner, users,
 * kind), struct __pthread_rwlock_arch_t (sysdeps/x86/nptl/bits/struct_rwlock.h; of its writer),
 * 2.31 to 2.42.  Readers are not noted, nor are owners of musl's common mutexes.
 */
#ifndef EBEAM_TARGET_LIBC_LOCKS_H
#define EBEAM_TARGET_LIBC_LOCKS_H

#include <stdbool.h>

#include "target/mem.h"

enum libc_lock_type { LIBC_LOCK_NONE, LIBC_LOCK_MUTEX, LIBC_LOCK_RWLOCK };
const char *libc_lock_type_name(enum libc_lock_type type); /* "mutex", "rwlock"; NULL of NONE */

struct libc_lock {
	enum libc_lock_type type;
	raddr addr;
	/* Thread, as the node's PID namespace numbers it; 0 = readers have it, or not known, as if
	 * the lock is shared by several processes. */
	int owner;
};

/* The type of the lock for which this function of the C library waits; NONE = for none. */
enum libc_lock_type libc_lock_of_function(const char *name);

/* The lock of this type in which futex(2) is called with this address.  False: what is there is no
 * lock that is taken. */
bool libc_lock_read(struct mem *mem, raddr futex, enum libc_lock_type type, struct libc_lock *out);

#endif
