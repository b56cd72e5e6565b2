/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread_lock.h. */
#include "beam/resolve/thread_lock.h"

#include <string.h>

#include "base/compiler.h"
#include "beam/resolve/native_function.h"

/* The function that takes the lock is the caller of the one that waits, or of the one that waits
 * for all kinds of locks. */
#define FRAMES_LOOKED_AT 4

static enum libc_lock_type type_of(struct beam_node *n, const raddr *frames, unsigned int nr)
{
	enum libc_lock_type type = LIBC_LOCK_NONE;
	struct object_function f;

	for (unsigned int i = 0; i < MIN(nr, (unsigned int)FRAMES_LOOKED_AT) && !type; i++)
		if (native_function(n, frames[i], false, &f) == 0 && f.symbol &&
		    (strncmp(f.object, "libc.so.6", 9) == 0 ||
		     strncmp(f.object, "libc-2.", 7) == 0 ||
		     strncmp(f.object, "libpthread", 10) == 0))
			type = libc_lock_of_function(f.symbol);
	return type;
}

static bool core_has(const struct core_file *core, int os_tid)
{
	const struct core_thread *threads;
	size_t nr = core_file_threads(core, &threads);

	for (size_t i = 0; i < nr; i++)
		if (threads[i].os_tid == os_tid)
			return true;
	return false;
}

bool thread_lock_find(struct beam_node *n, raddr futex, const raddr *frames, unsigned int nr,
		      struct thread_lock *out)
{
	enum libc_lock_type type = type_of(n, frames, nr);
	struct libc_lock lock;
	int owner;

	*out = (struct thread_lock){.type = type};
	if (!type || !libc_lock_read(n->mem, futex, type, &lock))
		return false;
	out->addr = lock.addr;
	if (!lock.owner)
		return true;
	if (n->core) {
		out->owner = core_has(n->core, lock.owner) ? lock.owner : 0;
	} else {
		owner = proc_thread_of_inner(n->os_pid, lock.owner);
		out->owner = MAX(owner, 0);
		out->ended = owner == 0;
	}
	return true;
}
