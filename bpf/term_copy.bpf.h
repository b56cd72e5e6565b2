/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies terms with what they point to, breadth first and within limits, so that nothing has to be
 * read later from a heap that may have moved.  The copy is a sequence of segments (abi/record.h).
 * What cannot be read is left out; copied data is not trusted, and no loop depends on it.
 *
 * Headers and structs: erl_term.h, erl_map.h, erl_binary.h (up to OTP 26), erl_bits.h (27 on).
 */
#ifndef EBEAM_BPF_TERM_COPY_H
#define EBEAM_BPF_TERM_COPY_H

#include "abi/vm.h"
#include "beam.bpf.h"

#define EBEAM_COPY_HEAD (sizeof(struct rec_raw_call) / 8)
struct term_copy {
	uint32_t used;	/* of words[] */
	uint32_t scan;	/* index in words[] of the segment whose words are followed next */
	uint32_t size;	/* limit of `used` */
	uint32_t depth; /* limit; what an argument points to has depth 1 */
	uint32_t cut;	/* something was truncated */
	uint32_t pad;
	uint64_t head[EBEAM_COPY_HEAD]; /* head of the record, which the words follow */
	/* The room after the last segment simplifies bounds checks for the verifier. */
	uint64_t words[TERM_COPY_WORDS + TERM_SEGMENT_HEAD + TERM_SEGMENT_WORDS];
};

/* Copy buffer of the current thread, by the unit that includes this file; NULL only for the
 * verifier. */
INLINE struct term_copy *copy_here(void);

/* Copies nr words from addr as one segment; 0 = no room, or they cannot be read. */
GLOBAL_FN int copy_segment(uint64_t addr, uint32_t nr, uint64_t meta)
{
	struct term_copy *c = copy_here();
	uint64_t size;
	uint32_t at;

	if (!c || nr == 0 || nr > TERM_SEGMENT_WORDS)
		return 0;
	at = c->used;
	if (at > TERM_COPY_WORDS || at + TERM_SEGMENT_HEAD + nr > c->size) {
		c->cut = 1;
		return 0;
	}
	size = nr * 8ull;
	FORGET(size);
	if (size > TERM_SEGMENT_WORDS * 8 ||
	    !try_read(addr, &c->words[at + TERM_SEGMENT_HEAD], size))
		return 0;
	/* Checked again: some kernels no longer know the bound if it was spilled over a call. */
	FORGET(at);
	if (at > TERM_COPY_WORDS)
		return 0;
	c->words[at] = addr;
	c->words[at + 1] = meta | nr;
	c->used = at + TERM_SEGMENT_HEAD + nr;
	return 1;
}

/* The same for an object of any size, truncated after COPY_PIECES segments. */
#define COPY_PIECES 4
GLOBAL_FN int copy_object(uint64_t addr, uint64_t words, uint64_t meta)
{
	struct term_copy *c;

	for (int i = 0; i < COPY_PIECES; i++) {
		uint32_t nr = words < TERM_SEGMENT_WORDS ? (uint32_t)words : TERM_SEGMENT_WORDS;

		if (!nr || !copy_segment(addr, nr, meta))
			return 1;
		addr += 8 * nr;
		words -= nr;
		/* Only the first piece begins with a header. */
		if (TERM_SEGMENT_KIND(meta) == TERM_SEGMENT_BOXED)
			meta ^= TERM_SEGMENT_META(0, TERM_SEGMENT_BOXED ^ TERM_SEGMENT_TERMS, 0, 0);
	}
	c = words ? copy_here() : 0;
	if (c)
		c->cut = 1;
	return 1;
}

/* Adjacent cells become one segment, in whichever direction the list goes. */
#define COPY_CELL_WORDS 16
INLINE void copy_list(uint64_t list, uint64_t depth)
{
	uint64_t addr = TERM_ADDR(list), cell[2], from;

	if (!try_read(addr, cell, sizeof(cell)))
		return;
	from = addr - 8 * (COPY_CELL_WORDS - 2);
	if (TERM_IS_LIST(cell[1]) && TERM_ADDR(cell[1]) == addr - 16 &&
	    copy_segment(from, COPY_CELL_WORDS,
			 TERM_SEGMENT_META(0, TERM_SEGMENT_CELLS, depth, COPY_CELL_WORDS - 2)))
		return;
	if (TERM_IS_LIST(cell[1]) && TERM_ADDR(cell[1]) == addr + 16 &&
	    copy_segment(addr, COPY_CELL_WORDS, TERM_SEGMENT_META(0, TERM_SEGMENT_CELLS, depth, 0)))
		return;
	copy_segment(addr, 2, TERM_SEGMENT_META(0, TERM_SEGMENT_CELLS, depth, 0));
}

/* Words of a map node: header fields and children. */
INLINE uint64_t map_words(uint64_t addr, uint64_t header)
{
	uint64_t size = 0, bits = HEADER_MAP_BITMAP(header);
	/* header, number of pairs, keys, values; inner nodes have no number */
	uint64_t before = HEADER_MAP_TYPE(header) == MAP_NODE ? 1 : 2;

	if (HEADER_MAP_TYPE(header) == MAP_FLAT)
		return try_read(addr + 8, &size, sizeof(size)) ? 3 + size : 0;
	if (HEADER_MAP_TYPE(header) == MAP_HEAD_ARRAY)
		return before + 16; /* full */
	bits = bits - (bits >> 1 & 0x5555);
	bits = (bits & 0x3333) + (bits >> 2 & 0x3333);
	bits = (bits + (bits >> 4)) & 0x0f0f;
	return before + ((bits + (bits >> 8)) & 0x1f);
}

/* Copies bytes that are not in the struct that refers to them. */
INLINE void copy_bytes(uint64_t addr, uint64_t bytes)
{
	uint64_t from = addr & ~7ull;

	if (bytes > 8ull * TERM_COPY_WORDS)
		bytes = 8ull * TERM_COPY_WORDS;
	copy_object(from, (addr - from + bytes + 7) / 8,
		    TERM_SEGMENT_META(0, TERM_SEGMENT_RAW, 0, 0));
}

#define COPY_RAW TERM_SEGMENT_META(0, TERM_SEGMENT_RAW, 0, 0)

/* Copies a ProcBin, ErlHeapBin or ErlSubBin (up to OTP 26); 0 = it cannot be read. */
GLOBAL_FN int copy_bits_26(uint64_t addr, uint64_t header)
{
	/* header, bytes; then of a ProcBin: next, Binary, data; of a sub binary: offset, bits, the
	 * whole binary */
	uint64_t w[6];
	uint64_t size, offset = 0;

	if (HEADER_SUBTAG(header) == SUBTAG_HEAP_BIN)
		return copy_object(addr, HEADER_ARITY(header) + 1, COPY_RAW);
	if (!try_read(addr, w, sizeof(w)))
		return 0;
	if (HEADER_SUBTAG(header) == SUBTAG_SUB_BIN) {
		copy_segment(addr, 5, COPY_RAW);
		size = w[1] + 2; /* bits may begin and end within a byte */
		offset = w[2];
		addr = TERM_ADDR(w[4]);
		if (!try_read(addr, w, sizeof(w)))
			return 0;
		if (HEADER_SUBTAG(w[0]) == SUBTAG_HEAP_BIN) {
			copy_segment(addr, 2, COPY_RAW);
			copy_bytes(addr + 16 + offset,
				   offset < w[1] && size < w[1] - offset ? size : w[1] - offset);
			return 1;
		}
		if (offset > w[1])
			return 0;
		if (size > w[1] - offset)
			size = w[1] - offset;
	} else {
		size = w[1];
	}
	copy_segment(addr, 6, COPY_RAW);
	copy_bytes(w[4] + offset, size);
	return 1;
}

/* Copies ErlHeapBits or ErlSubBits (OTP 27 on); 0 = they cannot be read. */
GLOBAL_FN int copy_bits_27(uint64_t addr, uint64_t header)
{
	uint64_t w[5]; /* header, data | flags, first bit, end, BinRef or ErlHeapBits */
	uint64_t whole, bytes, ref[2];

	if (HEADER_SUBTAG(header) == SUBTAG_HEAP_BITS)
		return copy_object(addr, HEADER_ARITY(header) + 1, COPY_RAW);
	if (!try_read(addr, w, sizeof(w)) || w[2] > w[3])
		return 0;
	copy_segment(addr, 5, COPY_RAW);
	whole = TERM_ADDR(w[4]);
	bytes = w[1] & ~SUB_BITS_FLAGS;
	if (w[1] & SUB_BITS_VOLATILE) {
		if (!try_read(whole, ref, sizeof(ref)) || HEADER_SUBTAG(ref[0]) != SUBTAG_BIN_REF)
			return 0;
		bytes = ref[1] + (uint64_t)config.layout.binary_orig_bytes;
	}
	copy_segment(whole, 2, COPY_RAW);
	copy_bytes(bytes + w[2] / 8, (w[3] + 7) / 8 - w[2] / 8);
	return 1;
}

/* Copies what one term points to; 0 = nothing. */
GLOBAL_FN int copy_pointed(uint64_t term, uint64_t depth)
{
	uint64_t addr = TERM_ADDR(term), header, words;
	struct term_copy *c;
	uint32_t subtag;

	if (!TERM_IS_LIST(term) && !TERM_IS_BOXED(term))
		return 0;
	c = copy_here();
	if (!c)
		return 0;
	if (depth > c->depth) {
		c->cut = 1;
		return 0;
	}
	if (TERM_IS_LIST(term)) {
		copy_list(term, depth);
		return 1;
	}
	if (!try_read(addr, &header, sizeof(header)))
		return 0;
	subtag = HEADER_SUBTAG(header);
	words = HEADER_ARITY(header) + 1;
	depth = TERM_SEGMENT_META(0, TERM_SEGMENT_BOXED, depth, 0);
	/* OTP 24 has external funs with the tag of records. */
	if (subtag == SUBTAG_TUPLE || (subtag == SUBTAG_RECORD && config.otp != 24))
		return copy_object(addr, words, depth);
	if (subtag == (config.otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26))
		return copy_object(addr, map_words(addr, header), depth);
	if (config.otp >= 27 && (subtag == SUBTAG_HEAP_BITS || subtag == SUBTAG_SUB_BITS))
		return copy_bits_27(addr, header);
	if (config.otp < 27 &&
	    (subtag == SUBTAG_PROC_BIN || subtag == SUBTAG_HEAP_BIN || subtag == SUBTAG_SUB_BIN))
		return copy_bits_26(addr, header);
	/* Of a fun only ErlFunThing (erl_fun.h) is copied, which identifies it, as its environment
	 * is not printed.  From OTP 27 on its header does not have the number of words. */
	if (subtag == SUBTAG_FUN)
		words = config.otp >= 27 ? 2 : config.otp == 24 ? 6 : 5;
	return copy_object(addr, words, COPY_RAW);
}

/* Copies what the cells of one segment point to, and the cells after them. */
INLINE void copy_segment_cells(struct term_copy *c, uint32_t at, uint32_t nr, uint32_t first,
			       uint64_t depth)
{
	uint64_t addr = c->words[at & (TERM_COPY_WORDS - 1)], tail, next;
	uint32_t cell = first;

	for (int i = 0; i < COPY_CELL_WORDS / 2; i++) {
		uint32_t w = at + TERM_SEGMENT_HEAD + cell;

		if (cell + 2 > nr || w > TERM_COPY_WORDS)
			return;
		copy_pointed(c->words[w], depth + 1);
		tail = c->words[w + 1];
		next = (TERM_ADDR(tail) - addr) / 8;
		if (!TERM_IS_LIST(tail) || next + 2 > nr) {
			copy_pointed(tail, depth);
			return;
		}
		cell = (uint32_t)next;
	}
}

/* Copies what the words of the next segment point to; 0 = there is none. */
GLOBAL_FN int copy_scan(void)
{
	struct term_copy *c = copy_here();
	uint32_t at, nr, kind;
	uint64_t meta, depth;

	if (!c)
		return 0;
	at = c->scan;
	if (at >= c->used || at >= TERM_COPY_WORDS)
		return 0;
	meta = c->words[at + 1];
	nr = TERM_SEGMENT_NR(meta);
	kind = TERM_SEGMENT_KIND(meta);
	depth = TERM_SEGMENT_DEPTH(meta);
	c->scan = at + TERM_SEGMENT_HEAD + nr;
	if (kind == TERM_SEGMENT_RAW)
		return 1;
	if (kind == TERM_SEGMENT_CELLS) {
		copy_segment_cells(c, at, nr, TERM_SEGMENT_FIRST(meta), depth);
		return 1;
	}
	for (uint32_t i = 0; i < TERM_SEGMENT_WORDS; i++) {
		if (i >= nr)
			break;
		if (i || kind != TERM_SEGMENT_BOXED)
			copy_pointed(c->words[at + TERM_SEGMENT_HEAD + i], depth + 1);
	}
	return 1;
}

/* A term in a register is copied as the only word at this address, where no memory is. */
#define COPY_REGISTER 8
INLINE void copy_register(struct term_copy *c, uint64_t term)
{
	c->words[0] = COPY_REGISTER;
	c->words[1] = TERM_SEGMENT_META(1, TERM_SEGMENT_TERMS, 0, 0);
	c->words[2] = term;
	c->used = TERM_SEGMENT_HEAD + 1;
}

/* Copies all that the copied terms point to. */
#define COPY_SEGMENTS (TERM_COPY_WORDS / (TERM_SEGMENT_HEAD + 1))
INLINE void copy_rest(void)
{
	for (int i = 0; i < COPY_SEGMENTS; i++) {
		if (!copy_scan())
			break;
	}
}

/* Copies `nr` terms from addr on, with all that they point to. */
INLINE void copy_terms(uint64_t addr, uint32_t nr)
{
	copy_object(addr, nr, TERM_SEGMENT_META(0, TERM_SEGMENT_TERMS, 0, 0));
	copy_rest();
}

#endif
