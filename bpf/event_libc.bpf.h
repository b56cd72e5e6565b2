/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of malloc and mmap of the C library: uprobes on its functions, which the cookie of the
 * entry names (src/probe/site/libc_sources.c).  The return has the address, and the stack from the
 * caller on.  These functions call each other (realloc() calls malloc(), malloc() calls mmap()):
 * only the outermost call is an event.
 */
#ifndef EBEAM_BPF_EVENT_LIBC_H
#define EBEAM_BPF_EVENT_LIBC_H

#include "event_alloc.bpf.h"

enum { LIBC_OP, LIBC_SIZE, LIBC_STANDS_FOR, LIBC_ADDRESS, LIBC_VALUES };

/* Addresses from here on are errors of mmap(): MAP_FAILED. */
#define LIBC_ERRORS ((uint64_t)-4095)

/* Addresses of samples that are not freed yet, of which alone it is said when they are; with the
 * size of a mapping, else 0. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_LIBC_BLOCKS);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__type(key, uint64_t);
	__type(value, uint64_t);
} libc_blocks SEC(".maps");

/*
 * Bytes that an allocation stands for; 0 = it is no sample.  The bytes that a thread allocates, one
 * after the other, are cut into pieces of state.libc_every bytes, and of each piece one byte is
 * chosen at random: an allocation stands for as many pieces as chosen bytes are in it.  So each
 * byte has the same chance, whatever pattern the sizes have, and sums have less variance than with
 * independent samples.  t->libc.point counts from 1.
 */
INLINE uint64_t libc_stands_for(struct event_thread *t, uint64_t size)
{
	uint64_t every = state.libc_every, end, nr;
	struct event_count *n;

	if (!config.libc_sampled || !every)
		return size;
	n = count_of(EVENT_LIBC_ALLOC);
	if (n) {
		/* One huge mapping must not change the mean of all. */
		__sync_fetch_and_add(&n->size, size < EBEAM_LIBC_EVERY ? size : EBEAM_LIBC_EVERY);
		__sync_fetch_and_add(&n->ns, 1);
	}
	if (t->libc.every != every) {
		t->libc.every = every;
		t->libc.at = 0;
		t->libc.point = 1 + (bpf_get_prandom_u32() & (every - 1));
	}
	end = t->libc.at + size;
	nr = t->libc.at < t->libc.point && t->libc.point <= end;
	if (end >= every) {
		t->libc.point = 1 + (bpf_get_prandom_u32() & (every - 1));
		nr += end / every - 1 + (t->libc.point <= (end & (every - 1)));
		end &= every - 1;
	}
	t->libc.at = end;
	return nr * every;
}

/* Pages in bytes. */
INLINE uint64_t libc_pages(uint64_t size)
{
	return (size + EBEAM_PAGE_SIZE - 1) & ~(uint64_t)(EBEAM_PAGE_SIZE - 1);
}

INLINE void libc_emit_freed(enum event_word op, uint64_t address, uint64_t size, uint64_t epid)
{
	struct rec_raw_event *rec =
		event_begin_short(EVENT_LIBC_ALLOC, event_now(), epid, 0, LIBC_VALUES);

	if (!rec)
		return;
	rec->values[LIBC_OP] = op;
	rec->values[LIBC_SIZE] = size;
	rec->values[LIBC_STANDS_FOR] = EVENT_UNKNOWN;
	rec->values[LIBC_ADDRESS] = address;
	event_end(rec, LIBC_VALUES);
}

/* If munmap() gives back only the start of a sampled mapping, as who aligns it does: says how much,
 * and from now on the mapping is known by the address of the rest.  (Another part of it ebeam finds
 * in /proc/PID/maps.) */
INLINE int libc_cut(uint64_t address, uint64_t size)
{
	const uint64_t *mapped = bpf_map_lookup_elem(&libc_blocks, &address);
	uint64_t rest, left;

	size = libc_pages(size);
	if (!mapped || size >= libc_pages(*mapped))
		return 0;
	left = libc_pages(*mapped) - size;
	rest = address + size;
	bpf_map_delete_elem(&libc_blocks, &address);
	if (bpf_map_update_elem(&libc_blocks, &rest, &left, BPF_ANY))
		count(COUNTER_BLOCKS_FULL);
	libc_emit_freed(EVENT_WORD_MUNMAP, address, size, 0);
	return 1;
}

INLINE void libc_freed(enum event_word op, uint64_t address, uint64_t size)
{
	uint64_t epid;

	if (!address || !wanted(EVENT_LIBC_ALLOC))
		return;
	if (config.libc_sampled && op == EVENT_WORD_MUNMAP && libc_cut(address, size))
		return;
	if (config.libc_sampled && bpf_map_delete_elem(&libc_blocks, &address))
		return;
	/* The free of a sample is wanted whoever does it. */
	epid = config.libc_sampled ? 0 : epid_of(running_if_wanted());
	if (!config.libc_sampled && !is_about(epid))
		return;
	libc_emit_freed(op, address, EVENT_UNKNOWN, epid);
}

/* void free(void *), int munmap(void *, size_t) */
EVENT_ENTRY(event_libc_free)
{
	libc_freed((enum event_word)EVENT_COOKIE(cookie_of(ctx)), ctx->di, ctx->si);
	return 0;
}

/* void *malloc(size_t), void *calloc(size_t, size_t), void *realloc(void *, size_t),
 * void *memalign(size_t, size_t), int posix_memalign(void **, size_t, size_t),
 * void *mmap(void *, size_t, ...) */
EVENT_ENTRY(event_libc_alloc)
{
	uint64_t op = EVENT_COOKIE(cookie_of(ctx));
	struct event_thread *t;

	if (!wanted(EVENT_LIBC_ALLOC))
		return 0;
	t = thread_here();
	if (!t)
		return 0;
	/* A call by another of the functions: below it on the stack.  A mark that is left of a call
	 * that never returned (longjmp) is gone with the first call from above it. */
	if (t->libc.op && t->libc.epoch == switches.epoch[EVENT_LIBC_ALLOC] &&
	    ctx->sp <= t->libc.sp && t->libc.depth < EBEAM_LIBC_DEPTH) {
		t->libc.depth++;
		return 0;
	}
	t->libc.depth = 0;
	t->libc.op = op;
	t->libc.sp = ctx->sp;
	t->libc.epoch = switches.epoch[EVENT_LIBC_ALLOC];
	t->libc.size = ctx->si;
	t->libc.result_at = 0;
	if (op == EVENT_WORD_MALLOC) {
		t->libc.size = ctx->di;
	} else if (op == EVENT_WORD_CALLOC) {
		t->libc.size = ctx->di * ctx->si;
	} else if (op == EVENT_WORD_POSIX_MEMALIGN) {
		t->libc.size = ctx->dx;
		t->libc.result_at = ctx->di;
	} else if (op == EVENT_WORD_REALLOC) {
		/* Now, as another thread may get the old block before this returns.  If realloc()
		 * fails, which is rare, the old block is still there and no longer known. */
		libc_freed(EVENT_WORD_REALLOC, ctx->di, 0);
	}
	return 0;
}

/* The address that the function returns; 0 = none. */
INLINE uint64_t libc_result(struct pt_regs *ctx, const struct event_thread *t)
{
	uint64_t address = ctx->ax;

	if (t->libc.result_at && ((uint32_t)ctx->ax || !read_u64(t->libc.result_at, &address)))
		return 0;
	return address >= LIBC_ERRORS ? 0 : address;
}

EVENT_RETURN(event_libc_alloc_return)
{
	uint64_t ts_ns, process, epid, address, stands_for, op, mapped;
	struct event_thread *t = thread_here();
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!t || !t->libc.op)
		return 0;
	if (t->libc.depth) {
		t->libc.depth--;
		return 0;
	}
	op = t->libc.op;
	t->libc.op = 0;
	if (!wanted(EVENT_LIBC_ALLOC) || t->libc.epoch != switches.epoch[EVENT_LIBC_ALLOC])
		return 0;
	address = libc_result(ctx, t);
	stands_for = address ? libc_stands_for(t, t->libc.size) : 0;
	if (!address || (config.libc_sampled && !stands_for))
		return 0;
	process = running_if_wanted();
	epid = epid_of(process);
	if (!is_about(epid))
		return 0;
	ts_ns = event_now();
	count_sums(EVENT_LIBC_ALLOC, t->libc.size, EVENT_UNKNOWN);
	/* If its free would not be seen it must not be taken for a leak. */
	mapped = op == EVENT_WORD_MMAP ? t->libc.size : 0;
	if (config.libc_frees && bpf_map_update_elem(&libc_blocks, &address, &mapped, BPF_ANY)) {
		count(COUNTER_BLOCKS_FULL);
		return 0;
	}
	event_seen(process, epid, ts_ns);
	flags = event_native_stack(ctx, process, ts_ns);
	rec = event_begin_short(EVENT_LIBC_ALLOC, ts_ns, epid, flags, LIBC_VALUES);
	if (!rec)
		return 0;
	rec->values[LIBC_OP] = op;
	rec->values[LIBC_SIZE] = t->libc.size;
	rec->values[LIBC_STANDS_FOR] = stands_for;
	rec->values[LIBC_ADDRESS] = address;
	event_end(rec, LIBC_VALUES);
	return 0;
}

#endif
