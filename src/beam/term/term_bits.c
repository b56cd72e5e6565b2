/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bitstrings of a node, see term_read.h.
 *
 * Up to OTP 26 (erl_binary.h):
 *   HeapBin {header, bytes, data...}
 *   ProcBin {header, bytes, next, Binary *, data *, flags}
 *   SubBin  {header, bytes, offset, bits beyond them u8, first bit u8, writable u8, whole binary}
 * From OTP 27 on (erl_bits.h):
 *   ErlHeapBits {header, bits, data...}
 *   ErlSubBits  {header, data * | flags, first bit, end bit, BinRef or ErlHeapBits}
 *   BinRef      {header, Binary *, next}     only ever seen through an ErlSubBits
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/term/term_internal.h"

#define BITS_MAX (1ull << 50) /* limit of sizes: no memory has so many bits */

/* Sets v->bits.binary, and its size and reference count if they can be read. */
static void view_binary(struct term_reader *r, struct term_view *v, raddr binary)
{
	const struct beam_layout *l = r->node ? &r->node->layout : NULL;
	uint64_t size, refc;

	v->bits.binary = binary;
	if (l && l->binary_orig_size >= 0 && l->binary_refc >= 0 &&
	    term_word(r, binary + (uint32_t)l->binary_orig_size, &size) &&
	    term_word(r, binary + (uint32_t)l->binary_refc, &refc)) {
		v->bits.binary_size = size;
		v->bits.binary_refc = refc;
	}
}

/* Fills v->bits from a HeapBin or ProcBin; *size is its number of bytes. */
static bool view_whole_26(struct term_reader *r, struct term_view *v, raddr at, uint64_t header,
			  uint64_t *size)
{
	uint64_t w[4]; /* bytes, next, binary, data */

	if (!term_word(r, at + 8, size) || *size >= BITS_MAX / 8)
		return false;
	if (HEADER_SUBTAG(header) == SUBTAG_HEAP_BIN) {
		v->bits.bytes = at + 16;
		return HEADER_ARITY(header) == 1 + (*size + 7) / 8;
	}
	if (HEADER_SUBTAG(header) != SUBTAG_PROC_BIN || HEADER_ARITY(header) != 5 ||
	    !term_bytes(r, at + 8, w, sizeof(w)))
		return false;
	v->bits.bytes = w[3];
	view_binary(r, v, w[2]);
	return true;
}

static bool view_sub_26(struct term_reader *r, struct term_view *v)
{
	uint64_t w[4], header, whole, size; /* bytes, offset, bits, whole */
	unsigned int beyond, first;

	/* The header's size is without the last word, the only one that is a term. */
	v->heap_words = 5;
	if (HEADER_ARITY(v->header) != 3 || !term_bytes(r, v->addr + 8, w, sizeof(w)) ||
	    !TERM_IS_BOXED(w[3]) || !term_word(r, TERM_ADDR(w[3]), &header) ||
	    !view_whole_26(r, v, TERM_ADDR(w[3]), header, &whole))
		return false;
	size = w[0];
	beyond = w[2] & 0xff;
	first = w[2] >> 8 & 0xff;
	if (size >= BITS_MAX / 8 || w[1] >= BITS_MAX / 8 || beyond > 7 || first > 7 ||
	    w[1] + (8 * size + beyond + first + 7) / 8 > whole)
		return false;
	v->bits.bytes += w[1];
	v->bits.bit = first;
	v->bits.nr_bits = 8 * size + beyond;
	return true;
}

static bool view_bits_26(struct term_reader *r, struct term_view *v)
{
	uint64_t size;

	if (HEADER_SUBTAG(v->header) == SUBTAG_SUB_BIN)
		return view_sub_26(r, v);
	if (!view_whole_26(r, v, v->addr, v->header, &size))
		return false;
	v->bits.nr_bits = 8 * size;
	return true;
}

static bool view_sub_27(struct term_reader *r, struct term_view *v)
{
	uint64_t w[4], ref[2], bytes; /* data | flags, first, end, whole */
	const struct beam_layout *l = r->node ? &r->node->layout : NULL;
	bool refers;

	if (HEADER_ARITY(v->header) != 4 || !term_bytes(r, v->addr + 8, w, sizeof(w)) ||
	    w[1] > w[2] || w[2] >= BITS_MAX)
		return false;
	refers = TERM_IS_BOXED(w[3]) && term_bytes(r, TERM_ADDR(w[3]), ref, sizeof(ref)) &&
		 HEADER_SUBTAG(ref[0]) == SUBTAG_BIN_REF;
	if (refers)
		view_binary(r, v, ref[1]);
	bytes = w[0] & ~SUB_BITS_FLAGS;
	/* Volatile: the bytes are in the Binary; 0, if it is unknown, is unreadable.  Without a
	 * node the address in w[0] is used. */
	if ((w[0] & SUB_BITS_VOLATILE) && l)
		bytes = refers && l->binary_orig_bytes >= 0
				? ref[1] + (uint32_t)l->binary_orig_bytes
				: 0;
	v->bits.bytes = bytes + w[1] / 8;
	v->bits.bit = w[1] % 8;
	v->bits.nr_bits = w[2] - w[1];
	return true;
}

bool term_view_bits(struct term_reader *r, struct term_view *v)
{
	uint64_t size;

	v->kind = TERM_KIND_BITS;
	v->heap_words = (uint32_t)MIN(HEADER_ARITY(v->header) + 1, (uint64_t)UINT32_MAX);
	if (r->otp <= 26)
		return view_bits_26(r, v);
	if (HEADER_SUBTAG(v->header) == SUBTAG_SUB_BITS)
		return view_sub_27(r, v);
	if (HEADER_SUBTAG(v->header) != SUBTAG_HEAP_BITS || !term_word(r, v->addr + 8, &size) ||
	    size >= BITS_MAX || HEADER_ARITY(v->header) != 1 + (size + 63) / 64)
		return false;
	v->bits.bytes = v->addr + 16;
	v->bits.nr_bits = size;
	return true;
}

bool term_bits(struct term_reader *r, const struct term_view *v, uint64_t nth, void *buf,
	       size_t size)
{
	unsigned int shift = v->bits.bit;
	uint64_t bytes = (v->bits.nr_bits + 7) / 8, end = shift + v->bits.nr_bits;
	uint8_t *out = buf, next = 0;

	if (v->kind != TERM_KIND_BITS || nth > bytes || size > bytes - nth)
		return false;
	if (size == 0)
		return true;
	if (!term_bytes(r, v->bits.bytes + nth, out, size))
		return false;
	/* The bits of the last byte may extend to the next byte. */
	if (shift && (nth + size) * 8 < end && !term_bytes(r, v->bits.bytes + nth + size, &next, 1))
		return false;
	for (size_t i = 0; shift && i < size; i++) {
		unsigned int low = i + 1 < size ? out[i + 1] : next;

		out[i] = (uint8_t)(out[i] << shift | low >> (8 - shift));
	}
	if (nth + size == bytes && v->bits.nr_bits % 8)
		out[size - 1] &= (uint8_t)(0xff << (8 - v->bits.nr_bits % 8));
	return true;
}

static bool list_text(struct term_reader *r, uint64_t term, struct strbuf *out, size_t max)
{
	struct term_window window;
	bool opened = term_window_open(r, &window), ok = true;
	uint64_t cell[2];
	size_t len = 0;

	for (; ok && TERM_IS_LIST(term) && len < max; len++, term = cell[1]) {
		ok = term_bytes(r, TERM_ADDR(term), cell, sizeof(cell)) && TERM_IS_SMALL(cell[0]) &&
		     TERM_SMALL(cell[0]) >= 0 && TERM_SMALL(cell[0]) <= 255;
		if (ok)
			strbuf_addch(out, (char)TERM_SMALL(cell[0]));
	}
	if (opened)
		term_window_close(r);
	return ok && (term == TERM_NIL || len == max);
}

bool term_text(struct term_reader *r, uint64_t term, struct strbuf *out, size_t max)
{
	struct term_view v;
	char buf[512];

	if (term == TERM_NIL || TERM_IS_LIST(term))
		return list_text(r, term, out, max);
	if (!TERM_IS_BOXED(term) || term_view(r, term, &v) != TERM_KIND_BITS || v.bits.nr_bits % 8)
		return false;
	for (uint64_t at = 0, end = MIN(v.bits.nr_bits / 8, (uint64_t)max); at < end;) {
		size_t size = (size_t)MIN(end - at, (uint64_t)sizeof(buf));

		if (!term_bits(r, &v, at, buf, size))
			return false;
		strbuf_add(out, buf, size);
		at += size;
	}
	return true;
}
