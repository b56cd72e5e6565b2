/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Typed readers of the node's memory: only they and the stack walk call bpf_probe_read_user().
 * Offsets are from the layout in rodata; each fact about the VM names its source. */
#ifndef EBEAM_BPF_BEAM_H
#define EBEAM_BPF_BEAM_H

#include "env.h"
#include "abi/config.h"
#include "abi/record.h"
#include "abi/vm.h"

extern RODATA struct probe_config config;
extern struct probe_state state;

/* Increments a counter; defined by the unit that owns the counters. */
INLINE void count(enum counter_id id);

/* Reads all of it, or returns false and zeros. */
INLINE bool read_user(uint64_t addr, void *to, uint32_t size)
{
	if (bpf_probe_read_user(to, size, (const void *)addr) == 0)
		return true;
	count(COUNTER_READ_FAULT);
	return false;
}

/* Like read_user(), but a failure is not counted, and then *to may be anything: for what may be
 * missing. */
INLINE bool try_read(uint64_t addr, void *to, uint32_t size)
{
	return bpf_probe_read_user(to, size, (const void *)addr) == 0;
}

INLINE bool read_u64(uint64_t addr, uint64_t *value)
{
	return read_user(addr, value, sizeof(*value));
}

INLINE bool read_u32(uint64_t addr, uint32_t *value)
{
	return read_user(addr, value, sizeof(*value));
}

/* Adjacent fields of one struct, fetched by one read, as a read costs as much as copying
 * hundreds of bytes.  If the layout has them too far apart, each is read when it is needed; as
 * the layout is constant when a program is loaded, only one of the two ways is in its code then. */
struct part {
	uint64_t *words;   /* buffer of `room` bytes */
	uint64_t addr;	   /* of the struct */
	int32_t low, high; /* offsets of the first and after the last byte, multiples of 8 */
	uint32_t room;
};

/* The part with the words of two fields and all between them: low and high are the offsets of the
 * fields, in either order. */
INLINE struct part part_of(uint64_t addr, int32_t low, int32_t high, uint64_t *words, uint32_t room)
{
	struct part p = {.words = words, .addr = addr, .room = room};

	p.low = (low < high ? low : high) & ~7;
	p.high = ((low < high ? high : low) & ~7) + 8;
	return p;
}

INLINE void part_add(struct part *p, int32_t at)
{
	at &= ~7;
	p->low = at < p->low ? at : p->low;
	p->high = at + 8 > p->high ? at + 8 : p->high;
}

INLINE bool part_fits(const struct part *p)
{
	return p->low >= 0 && (uint32_t)(p->high - p->low) <= p->room;
}

INLINE bool part_read(const struct part *p)
{
	return !part_fits(p) ||
	       read_user(p->addr + (uint64_t)p->low, p->words, (uint32_t)(p->high - p->low));
}

INLINE bool part_u64(const struct part *p, int32_t at, uint64_t *value)
{
	if (!part_fits(p))
		return read_u64(p->addr + (uint64_t)at, value);
	*value = *(const uint64_t *)((const char *)p->words + (at - p->low));
	return true;
}

INLINE bool part_u32(const struct part *p, int32_t at, uint32_t *value)
{
	if (!part_fits(p))
		return read_u32(p->addr + (uint64_t)at, value);
	*value = *(const uint32_t *)((const char *)p->words + (at - p->low));
	return true;
}

INLINE bool part_u16(const struct part *p, int32_t at, uint16_t *value)
{
	if (!part_fits(p))
		return read_user(p->addr + (uint64_t)at, value, sizeof(*value));
	*value = *(const uint16_t *)((const char *)p->words + (at - p->low));
	return true;
}

/* True if addr is in a mapping with JIT code.  Exact, but a loop: for a few words per sample. */
GLOBAL_FN int in_jit_mapping(uint64_t addr)
{
	for (int i = 0; i < EBEAM_JIT_RANGES; i++) {
		if (i >= (int)state.nr_jit)
			break;
		if (addr >= state.jit[i].start && addr < state.jit[i].end)
			return 1;
	}
	return 0;
}

INLINE bool is_jit(uint64_t addr)
{
	return addr >= state.jit_hull.start && addr < state.jit_hull.end && in_jit_mapping(addr);
}

INLINE bool is_fragment(uint64_t addr)
{
	return addr >= state.fragments.start && addr < state.fragments.end;
}

/*
 * ProcDict, erl_process_dict.h of OTP 21 to 29: u32 sizeMask, usedSlots, arraySize,
 * splitPosition; Uint numElements; Eterm data[].
 */
#define DICTIONARY_DATA	     24
#define DICTIONARY_MAX_CHAIN 4

/* Value of a key that is an atom, found as by pd_hash_get(): slot = hash & sizeMask, folded once
 * if that slot is not in use yet; a slot is nil, a {Key, Value} tuple or a list of those.
 * *value = 0 if there is no such key; false, with *value unchanged, if memory cannot be read. */
INLINE bool dictionary_get(uint64_t dictionary, const volatile struct dictionary_key *key,
			   uint64_t *value)
{
	uint64_t slot, tuple[3], cell[2];
	uint32_t head[2], ix; /* sizeMask, usedSlots */

	if (!dictionary || !key->term)
		goto absent;
	if (!read_user(dictionary, head, sizeof(head)))
		return false;
	ix = (uint32_t)key->hash & head[0];
	if (ix >= head[1])
		ix &= head[0] >> 1;
	if (!read_u64(dictionary + DICTIONARY_DATA + 8ull * ix, &slot))
		return false;
	for (int i = 0; i < DICTIONARY_MAX_CHAIN; i++) {
		cell[0] = slot;
		cell[1] = 0;
		if (TERM_IS_LIST(slot) && !read_user(TERM_ADDR(slot), cell, sizeof(cell)))
			return false;
		if (!TERM_IS_BOXED(cell[0]))
			goto absent;
		if (!read_user(TERM_ADDR(cell[0]), tuple, sizeof(tuple)))
			return false;
		if (tuple[0] == HEADER_TUPLE(2) && tuple[1] == key->term) {
			*value = tuple[2];
			return true;
		}
		if (!TERM_IS_LIST(slot))
			goto absent;
		slot = cell[1];
	}
	if (TERM_IS_LIST(slot))
		return false; /* longer than DICTIONARY_MAX_CHAIN */
absent:
	*value = 0;
	return true;
}

#endif
