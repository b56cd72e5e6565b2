/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of carriers: when allocators get memory and give it back.
 *
 * The functions that do so are static in erl_alloc_util.c; but an allocator (Allctr_t) has pointers
 * to functions that get, resize and return carriers and that add them to its trees and remove them,
 * and those are probed (src/beam/vm/allocator_calls.c).  Where compilers put copies of these
 * functions into their callers (gcc 16 does), the callers are probed instead, if they have names.
 * Signatures: erl_alloc_util.h, OTP 25 to 29.
 */
#ifndef EBEAM_BPF_EVENT_ALLOC_H
#define EBEAM_BPF_EVENT_ALLOC_H

#include "event_values.bpf.h"

/* CarriersStats_t {StatValues_t carriers[3], max, max_ever; BlockStats_t blocks[12]}, where
 * StatValues_t is {no, size} and BlockStats_t three of them: now, max, max ever.  erl_alloc_util.h,
 * OTP 25 to 29. */
#define CARRIER_SOURCES	 3
#define STAT_VALUES_SIZE 16
#define BLOCK_STATS_SIZE (3 * STAT_VALUES_SIZE)
#define ALLOCATOR_TYPES	 12 /* ERTS_ALC_A_COUNT */
/* Carrier_t.chdr: the size with flags in its low bits, as carriers are made of units of 8 bytes. */
#define CARRIER_FLAGS 7ull

/* Block_t {bhdr: size and flags, ...}, erl_alloc_util.c, OTP 29.  The carrier of a single block
 * (sbc) is in front of it.  One for many (mbc) begins at a page, and its first block (after some
 * 440 bytes) is in that page; the second word of each free block is its address. */
#define BLOCK_FLAGS	7ull /* all set: the block of an sbc */
#define SBC_HEADER_SIZE 32   /* words of Carrier_t in front of `cpool` */
#define CARRIER_PAGE	4096ull

/* Values of carrier_create and carrier_destroy. */
enum {
	CARRIER_TYPE,
	CARRIER_INSTANCE,
	CARRIER_SIZE,
	CARRIER_MBCS,
	CARRIER_MBCS_SIZE,
	CARRIER_MBCS_BLOCKS,
	CARRIER_MBCS_BLOCKS_SIZE,
	CARRIER_SBCS,
	CARRIER_SBCS_SIZE,
	CARRIER_SBCS_BLOCKS,
	CARRIER_SBCS_BLOCKS_SIZE,
	CARRIER_FOR,
	CARRIER_VALUES
};

/* Sets out[0] and out[1] to the number and bytes of carriers, of all sources; out[2] and out[3] to
 * the number and bytes of blocks of the allocator `type`.  EVENT_UNKNOWN if they cannot be read. */
INLINE void carrier_stats(uint64_t stats, uint64_t blocks, uint32_t type, uint64_t *out)
{
	uint64_t carriers[2 * CARRIER_SOURCES], own[2];

	out[0] = out[1] = out[2] = out[3] = EVENT_UNKNOWN;
	if (read_user(stats, carriers, sizeof(carriers))) {
		out[0] = carriers[0] + carriers[2] + carriers[4];
		out[1] = carriers[1] + carriers[3] + carriers[5];
	}
	if (type && type <= ALLOCATOR_TYPES &&
	    read_user(blocks + (uint64_t)(type - 1) * BLOCK_STATS_SIZE, own, sizeof(own))) {
		out[2] = own[0];
		out[3] = own[1];
	}
}

/* The process that runs on this scheduler; 0 = none, or no scheduler. */
INLINE uint64_t process_running(void)
{
	struct thread_info *t = scheduler_here();
	uint64_t process = 0;

	if (t)
		read_u64(t->esdp + config.layout.sched_current_process, &process);
	return process;
}

/* The process that runs on this scheduler, or 0 if counts_all() is true, as it is not needed. */
INLINE uint64_t running_if_wanted(void)
{
	return counts_all() ? 0 : process_running();
}

/* Name and number of an allocator. */
INLINE void allocator_values(uint64_t allctr, uint64_t *values)
{
	uint32_t ix;

	read_u64(allctr + config.layout.allctr_name_prefix, &values[CARRIER_TYPE]);
	values[CARRIER_INSTANCE] =
		read_u32(allctr + config.layout.allctr_ix, &ix) ? ix : EVENT_UNKNOWN;
}

/* many: for many blocks (mbc), else for one (sbc).  more: 1 for a new carrier that the allocator
 * has not counted yet, -1 for one that it is about to count as gone, else 0.  block: bytes of the
 * block of an sbc, if the allocator counts it and the event does not; else 0. */
INLINE void carrier_event(struct pt_regs *ctx, enum event_kind kind, uint64_t allctr, bool many,
			  uint64_t size, int more, uint64_t block)
{
	uint64_t ts_ns = event_now(), process, epid;
	struct rec_raw_event *rec;
	uint32_t type = 0;
	uint16_t flags;

	process = running_if_wanted();
	epid = epid_of(process);
	if (!wanted_of(kind, epid))
		return;
	count_sums(kind, size, EVENT_UNKNOWN);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin(kind, ts_ns, epid, flags, 0);
	if (rec) {
		read_u32(allctr + config.layout.allctr_alloc_no, &type);
		allocator_values(allctr, rec->values);
		rec->values[CARRIER_SIZE] = size;
		carrier_stats(allctr + config.layout.allctr_mbcs,
			      allctr + config.layout.allctr_mbcs_blocks, type,
			      &rec->values[CARRIER_MBCS]);
		carrier_stats(allctr + config.layout.allctr_sbcs,
			      allctr + config.layout.allctr_sbcs_blocks, type,
			      &rec->values[CARRIER_SBCS]);
		if (more && many && rec->values[CARRIER_MBCS] != EVENT_UNKNOWN) {
			rec->values[CARRIER_MBCS] += (uint64_t)more;
			rec->values[CARRIER_MBCS_SIZE] += (uint64_t)more * size;
		} else if (more && !many && rec->values[CARRIER_SBCS] != EVENT_UNKNOWN) {
			rec->values[CARRIER_SBCS] += (uint64_t)more;
			rec->values[CARRIER_SBCS_SIZE] += (uint64_t)more * size;
		}
		if (block && rec->values[CARRIER_SBCS_BLOCKS] != EVENT_UNKNOWN) {
			rec->values[CARRIER_SBCS_BLOCKS] -= 1;
			rec->values[CARRIER_SBCS_BLOCKS_SIZE] -= block;
		}
		rec->values[CARRIER_FOR] = many ? EVENT_WORD_MBC : EVENT_WORD_SBC;
		event_end(rec, CARRIER_VALUES);
	}
}

/*
 * void *(*mseg_alloc)(Allctr_t *, Uint *size_p, Uint flags),
 * void *(*sys_alloc)(Allctr_t *, Uint *size_p, int superalign): flags and superalign are 0 for a
 * carrier of a single block, and only then; *size_p is the size that it got.
 */
EVENT_ENTRY(event_carrier_alloc)
{
	struct event_thread *t = thread_here();

	if (!t)
		return 0;
	t->carrier.allctr = ctx->di;
	t->carrier.size_at = ctx->si;
	t->carrier.many = (uint32_t)ctx->dx != 0;
	t->carrier.epoch = switches.epoch[EVENT_CARRIER_CREATE];
	return 0;
}

EVENT_RETURN(event_carrier_alloc_return)
{
	struct event_thread *t = thread_here();
	uint64_t allctr, size;

	if (!t || !t->carrier.allctr)
		return 0;
	allctr = t->carrier.allctr;
	t->carrier.allctr = 0;
	if (ctx->ax && t->carrier.epoch == switches.epoch[EVENT_CARRIER_CREATE] &&
	    read_u64(t->carrier.size_at, &size))
		carrier_event(ctx, EVENT_CARRIER_CREATE, allctr, t->carrier.many, size, 1, 0);
	return 0;
}

/* void (*mseg_dealloc)(Allctr_t *, void *seg, Uint size, Uint flags),
 * void (*sys_dealloc)(Allctr_t *, void *ptr, Uint size, int superalign) */
EVENT_ENTRY(event_carrier_free)
{
	carrier_event(ctx, EVENT_CARRIER_DESTROY, ctx->di, (uint32_t)ctx->cx != 0, ctx->dx, 0, 0);
	return 0;
}

INLINE void carrier_resizes(uint64_t allctr, uint64_t old_size, uint64_t size_at)
{
	struct event_thread *t = thread_here();

	if (!t)
		return;
	t->carrier.allctr = allctr;
	t->carrier.size_at = size_at;
	t->carrier.old_size = old_size;
	t->carrier.epoch = switches.epoch[EVENT_CARRIER_RESIZE];
}

/* void *(*mseg_realloc)(Allctr_t *, void *seg, Uint old_size, Uint *new_size_p) */
EVENT_ENTRY(event_carrier_mseg_realloc)
{
	carrier_resizes(ctx->di, ctx->dx, ctx->cx);
	return 0;
}

/* void *(*sys_realloc)(Allctr_t *, void *ptr, Uint *new_size_p, Uint old_size, int superalign) */
EVENT_ENTRY(event_carrier_sys_realloc)
{
	carrier_resizes(ctx->di, ctx->cx, ctx->dx);
	return 0;
}

/* Writes the event of a change of size, if it is wanted: of t->carrier to `size` bytes. */
INLINE void carrier_resized(struct pt_regs *ctx, struct event_thread *t, uint64_t size)
{
	uint64_t ts_ns = event_now(), process = running_if_wanted(), epid = epid_of(process);
	struct rec_raw_event *rec;
	uint16_t flags;

	if (t->carrier.epoch != switches.epoch[EVENT_CARRIER_RESIZE] ||
	    !wanted_of(EVENT_CARRIER_RESIZE, epid))
		return;
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin(EVENT_CARRIER_RESIZE, ts_ns, epid, flags, 0);
	if (rec) {
		allocator_values(t->carrier.allctr, rec->values);
		rec->values[2] = t->carrier.old_size;
		rec->values[3] = size;
		event_end(rec, 4);
	}
}

EVENT_RETURN(event_carrier_realloc_return)
{
	struct event_thread *t = thread_here();
	uint64_t size;

	if (!t || !t->carrier.allctr)
		return 0;
	if (ctx->ax && read_u64(t->carrier.size_at, &size))
		carrier_resized(ctx, t, size);
	t->carrier.allctr = 0;
	return 0;
}

enum block_kind { BLOCK_UNREADABLE, BLOCK_SINGLE, BLOCK_OF_MANY };

/* Which carrier a block has.  BLOCK_SINGLE: its header, and the size of its carrier. */
INLINE enum block_kind block_kind_of(uint64_t block, uint64_t *header, uint64_t *size)
{
	if (!read_u64(block, header))
		return BLOCK_UNREADABLE;
	if ((~*header & BLOCK_FLAGS) != 0)
		return BLOCK_OF_MANY;
	if (!read_u64(block - SBC_HEADER_SIZE + config.layout.carrier_chdr, size))
		return BLOCK_UNREADABLE;
	*size &= ~CARRIER_FLAGS;
	return BLOCK_SINGLE;
}

/* In struct event_thread while a thread is in resize_carrier(), unless its probes have gone. */
INLINE uint64_t carrier_resizing_mark(void)
{
	return 1ull << 32 | switches.epoch[EVENT_CARRIER_RESIZE];
}

/* Block_t *resize_carrier(Allctr_t *, Block_t *, Uint size, UWord flags): of a single block only.
 * If it cannot be resized, create_carrier() makes another inside: that is the resized one, too. */
EVENT_ENTRY(event_resize_carrier)
{
	struct event_thread *t = thread_here();
	uint64_t header, size;

	if (!t || block_kind_of(ctx->si, &header, &size) != BLOCK_SINGLE)
		return 0;
	carrier_resizes(ctx->di, size, 0);
	t->carrier_resizing = carrier_resizing_mark();
	return 0;
}

EVENT_RETURN(event_resize_carrier_return)
{
	struct event_thread *t = thread_here();
	uint64_t header, size;

	if (!t || t->carrier_resizing != carrier_resizing_mark())
		return 0;
	if (ctx->ax && block_kind_of(ctx->ax, &header, &size) == BLOCK_SINGLE)
		carrier_resized(ctx, t, size);
	t->carrier.allctr = 0;
	t->carrier_resizing = 0;
	return 0;
}

/* void destroy_carrier(Allctr_t *, Block_t *, Carrier_t **pooled) */
EVENT_ENTRY(event_destroy_carrier)
{
	uint64_t carrier = ctx->si & ~(CARRIER_PAGE - 1), header, size, pooled = 0;

	switch (block_kind_of(ctx->si, &header, &size)) {
	case BLOCK_SINGLE:
		carrier_event(ctx, EVENT_CARRIER_DESTROY, ctx->di, false, size, -1,
			      header & ~BLOCK_FLAGS);
		break;
	case BLOCK_OF_MANY:
		/* What is in the pool is not counted as its allocator's. */
		if (read_u64(carrier + config.layout.carrier_chdr, &size) &&
		    (!ctx->dx || read_u64(ctx->dx, &pooled)))
			carrier_event(ctx, EVENT_CARRIER_DESTROY, ctx->di, true,
				      size & ~CARRIER_FLAGS, pooled ? 0 : -1, 0);
		break;
	default:
		break;
	}
	return 0;
}

/* ---- the pool -------------------------------------------------------------------------------- */

/* True if any block of the carrier is in use. */
INLINE bool carrier_in_use(uint64_t carrier)
{
	uint64_t blocks[ALLOCATOR_TYPES], sum = 0;

	if (!read_user(carrier + config.layout.carrier_cpool_blocks, blocks, sizeof(blocks)))
		return false;
	for (int i = 0; i < ALLOCATOR_TYPES; i++)
		sum |= blocks[i];
	return sum != 0;
}

/* An allocator removes a carrier for many blocks from its trees, or adds one.  Both also happen
 * when a carrier is destroyed or made, but then it is empty: only a carrier with blocks goes to the
 * pool or comes from it (abandon_carrier(), create_carrier(); erl_alloc_util.c, OTP 25 to 29). */
INLINE void pool_event(struct pt_regs *ctx, enum event_kind kind, uint64_t allctr, uint64_t carrier)
{
	uint64_t ts_ns = event_now(), header, process, epid;
	struct rec_raw_event *rec;
	uint16_t flags;

	if (!wanted(kind) || !carrier_in_use(carrier) ||
	    !read_u64(carrier + config.layout.carrier_chdr, &header))
		return;
	process = running_if_wanted();
	epid = epid_of(process);
	if (!wanted_of(kind, epid))
		return;
	count_sums(kind, header & ~CARRIER_FLAGS, EVENT_UNKNOWN);
	event_seen(process, epid, ts_ns);
	flags = event_stack(ctx, process, ts_ns);
	rec = event_begin(kind, ts_ns, epid, flags, 0);
	if (rec) {
		allocator_values(allctr, rec->values);
		rec->values[2] = header & ~CARRIER_FLAGS;
		event_end(rec, 3);
	}
}

/* void (*remove_mbc)(Allctr_t *, Carrier_t *), void abandon_carrier(Allctr_t *, Carrier_t *) */
EVENT_ENTRY(event_carrier_remove)
{
	pool_event(ctx, EVENT_CARRIER_POOL_PUT, ctx->di, ctx->si);
	return 0;
}

/* void (*add_mbc)(Allctr_t *, Carrier_t *) */
EVENT_ENTRY(event_carrier_add)
{
	pool_event(ctx, EVENT_CARRIER_POOL_GET, ctx->di, ctx->si);
	return 0;
}

/* Block_t *create_carrier(Allctr_t *, Uint size, UWord flags): a new one, or one of the pool */
EVENT_ENTRY(event_create_carrier)
{
	struct event_thread *t = thread_here();

	if (!t || t->carrier_resizing == carrier_resizing_mark())
		return 0;
	t->carrier.allctr = ctx->di;
	t->carrier.epoch = switches.epoch[EVENT_CARRIER_CREATE];
	t->carrier.pool_epoch = switches.epoch[EVENT_CARRIER_POOL_GET];
	return 0;
}

/* The carrier of a free block. */
INLINE void carrier_of_many(struct pt_regs *ctx, struct event_thread *t, uint64_t allctr)
{
	uint64_t carrier, size;

	if (!read_u64(ctx->ax + 8, &carrier))
		return;
	if (carrier_in_use(carrier)) {
		if (t->carrier.pool_epoch == switches.epoch[EVENT_CARRIER_POOL_GET])
			pool_event(ctx, EVENT_CARRIER_POOL_GET, allctr, carrier);
	} else if (t->carrier.epoch == switches.epoch[EVENT_CARRIER_CREATE] &&
		   carrier == (ctx->ax & ~(CARRIER_PAGE - 1)) &&
		   read_u64(carrier + config.layout.carrier_chdr, &size)) {
		carrier_event(ctx, EVENT_CARRIER_CREATE, allctr, true, size & ~CARRIER_FLAGS, 0, 0);
	}
}

EVENT_RETURN(event_create_carrier_return)
{
	struct event_thread *t = thread_here();
	uint64_t allctr, header, size;

	if (!t || !t->carrier.allctr || t->carrier_resizing == carrier_resizing_mark())
		return 0;
	allctr = t->carrier.allctr;
	t->carrier.allctr = 0;
	if (!ctx->ax)
		return 0;
	switch (block_kind_of(ctx->ax, &header, &size)) {
	case BLOCK_SINGLE:
		/* The allocator has counted its block, too; the event does not. */
		if (t->carrier.epoch == switches.epoch[EVENT_CARRIER_CREATE])
			carrier_event(ctx, EVENT_CARRIER_CREATE, allctr, false, size, 0,
				      header & ~BLOCK_FLAGS);
		break;
	case BLOCK_OF_MANY:
		carrier_of_many(ctx, t, allctr);
		break;
	default:
		break;
	}
	return 0;
}

#endif
