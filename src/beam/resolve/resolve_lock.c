/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of locks of the VM in whose queues threads wait.  Part of the resolver. */
#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"
#include "beam/resolve/resolve_internal.h"

#define NAME_SIZE (LOCK_NAME_SIZE + 16)

static const enum sample_kind by_class[] = {
	[LOCK_CLASS_ETS] = SAMPLE_OFF_LOCK_ETS,	  [LOCK_CLASS_PROCESS] = SAMPLE_OFF_LOCK_PROCESS,
	[LOCK_CLASS_PORT] = SAMPLE_OFF_LOCK_PORT, [LOCK_CLASS_ALLOCATOR] = SAMPLE_OFF_LOCK_ALLOC,
	[LOCK_CLASS_VM] = SAMPLE_OFF_LOCK,	  [LOCK_CLASS_OTHER] = SAMPLE_OFF_LOCK,
};

/* Locks of a process, erl_process_lock.h of OTP 25 to 29. */
static const char *const process_locks[] = {"main", "message queue", "binary and timer", "status",
					    "trace"};

static void name_process_lock(struct beam_resolver *r, const struct rec_raw_sample *raw, char *buf,
			      size_t size)
{
	char pid[64];

	snprintf(buf, size, "[%s lock of %s]",
		 raw->lock_nr < ARRAY_SIZE(process_locks) ? process_locks[raw->lock_nr] : "process",
		 pid_format(&r->pids, raw->lock_epid, pid, sizeof(pid)));
}

/* Sets the name and returns the kind; NR_SAMPLE_KINDS = it is not known to be a lock. */
static enum sample_kind place_of(struct beam_resolver *r, const struct rec_raw_sample *raw,
				 const struct native_kinds *k, char *name)
{
	const struct lock_place *p = lock_places_find(r->locks, raw->lock);

	/* A futex may be that of a condition, or of the thread's own event. */
	if (raw->lock_nr == RAW_LOCK_FUTEX && !k->mutex && (!p || p->lock_class == LOCK_CLASS_VM))
		return NR_SAMPLE_KINDS;
	if (p)
		snprintf(name, NAME_SIZE, "[lock of %s]", p->name);
	else
		snprintf(name, NAME_SIZE, "[lock 0x%" PRIx64 "]", raw->lock);
	return p ? by_class[p->lock_class] : SAMPLE_OFF_LOCK;
}

void resolve_lock(struct beam_resolver *r, struct names *names, struct frame_list *l,
		  const struct rec_raw_sample *raw, const struct native_kinds *k)
{
	enum sample_kind kind = SAMPLE_OFF_LOCK_PROCESS, before = l->out->kind;
	char name[NAME_SIZE];

	/* A thread without a process, in no function that takes a lock: another structure of the VM
	 * that points to its event looks like a queue. */
	if (before == SAMPLE_WAIT)
		return;
	if (raw->lock_epid)
		name_process_lock(r, raw, name, sizeof(name));
	else
		kind = place_of(r, raw, k, name);
	if (kind == NR_SAMPLE_KINDS)
		return;
	/* Functions may tell more than the place: so which table a lock of a tree belongs to is not
	 * known, but that it is one of ETS. */
	if (kind != SAMPLE_OFF_LOCK || before < SAMPLE_OFF_LOCK_ETS || before > SAMPLE_OFF_LOCK)
		l->out->kind = kind;
	frame_push(l, frame_of_name(names, NULL, name, -1, FRAME_STATE));
}
