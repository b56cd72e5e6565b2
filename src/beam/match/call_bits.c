/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches binary patterns in calls: see call_match.h. */
#include <math.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

#define NUMBER_BYTES (8 * BIGINT_DIGITS)
#define CHUNK	     256

/* Reads nr_bits bits, from bit `at` on, to buf; unused low bits of the last byte are 0. */
static bool bits_at(struct call_matcher *m, const struct term_view *v, uint64_t at, void *buf,
		    uint64_t nr_bits)
{
	struct term_view part = *v;

	part.bits.bytes += (v->bits.bit + at) / 8;
	part.bits.bit = (v->bits.bit + at) % 8;
	part.bits.nr_bits = nr_bits;
	return term_bits(m->r, &part, 0, buf, (size_t)((nr_bits + 7) / 8));
}

static enum call_verdict match_literal(struct call_matcher *m, const struct pattern_segment *s,
				       const struct term_view *v, uint64_t at)
{
	uint8_t buf[CHUNK];

	for (size_t i = 0; i < s->len; i += CHUNK) {
		size_t part = MIN(s->len - i, (size_t)CHUNK);

		if (!bits_at(m, v, at + 8 * i, buf, 8 * (uint64_t)part))
			return CALL_UNDECIDED;
		if (memcmp(buf, s->bytes + i, part) != 0)
			return CALL_DIFFERS;
	}
	return CALL_MATCHES;
}

/* Converts little-endian bytes to big-endian.  The last byte, which may be incomplete, becomes the
 * first, with its bits moved to the low end. */
static void reverse(uint8_t *bytes, uint64_t nr_bits)
{
	size_t nr = (size_t)((nr_bits + 7) / 8);

	if (nr_bits % 8)
		bytes[nr - 1] >>= 8 - nr_bits % 8;
	for (size_t i = 0; i < nr / 2; i++) {
		uint8_t swap = bytes[i];

		bytes[i] = bytes[nr - 1 - i];
		bytes[nr - 1 - i] = swap;
	}
}

/* Makes an integer of at most 8 * NUMBER_BYTES bits in `bytes`, which it may reverse. */
static uint64_t number(struct call_matcher *m, const struct pattern_segment *s, uint8_t *bytes,
		       uint64_t nr_bits)
{
	struct bigint n, limit;

	if (s->little)
		reverse(bytes, nr_bits);
	if (!bigint_set_bytes(&n, bytes, (size_t)((nr_bits + 7) / 8)))
		return CALL_UNKNOWN_TERM;
	if (!s->little && nr_bits % 8)
		bigint_shift(&n, &n, -(int64_t)(8 - nr_bits % 8));
	if (s->is_signed && nr_bits) {
		bigint_set(&limit, 1);
		if (!bigint_shift(&limit, &limit, (int64_t)nr_bits - 1))
			return CALL_UNKNOWN_TERM;
		if (bigint_compare(&n, &limit) >= 0 &&
		    (!bigint_subtract(&n, &n, &limit) || !bigint_subtract(&n, &n, &limit)))
			return CALL_UNKNOWN_TERM;
	}
	return call_make_integer(m, &n);
}

static enum call_verdict match_integer(struct call_matcher *m, const struct pattern_segment *s,
				       const struct term_view *v, uint64_t at, uint64_t nr_bits)
{
	uint8_t bytes[NUMBER_BYTES];

	if (s->value->kind == PATTERN_ANY)
		return CALL_MATCHES;
	if (nr_bits > 8 * NUMBER_BYTES || !bits_at(m, v, at, bytes, nr_bits))
		return CALL_UNDECIDED;
	return call_match_node(m, s->value, number(m, s, bytes, nr_bits));
}

/* IEEE 754 half precision, with 5 bits of exponent. */
static double half(uint16_t raw)
{
	int exponent = raw >> 10 & 31, fraction = raw & 1023;
	double d = exponent == 31  ? INFINITY
		   : exponent == 0 ? ldexp(fraction, -24)
				   : ldexp(1024 + fraction, exponent - 25);

	return raw >> 15 ? -d : d;
}

static enum call_verdict match_float(struct call_matcher *m, const struct pattern_segment *s,
				     const struct term_view *v, uint64_t at, uint64_t nr_bits)
{
	uint8_t bytes[8] = {0};
	uint64_t raw;
	uint32_t raw_single;
	float single;
	double d;

	if (nr_bits == 0) /* a float of size 0 is 0.0 */
		return call_match_node(m, s->value, call_make_float(m, 0));
	if (nr_bits != 64 && nr_bits != 32 && nr_bits != 16)
		return CALL_DIFFERS;
	if (!bits_at(m, v, at, bytes, nr_bits))
		return CALL_UNDECIDED;
	if (!s->little)
		reverse(bytes, nr_bits);
	memcpy(&raw, bytes, 8);
	raw_single = (uint32_t)raw;
	memcpy(&d, &raw, 8);
	memcpy(&single, &raw_single, 4);
	if (nr_bits < 64)
		d = nr_bits == 32 ? (double)single : half((uint16_t)raw);
	if (!isfinite(d))
		return CALL_DIFFERS;
	return call_match_node(m, s->value, call_make_float(m, d));
}

/* Size of a segment in bits.  left: bits of the bitstring from the segment's start on.
 * CALL_DIFFERS: they are too few, or (without a size) no multiple of the unit, or the size is not
 * valid. */
static enum call_verdict size_of(struct call_matcher *m, const struct pattern_segment *s,
				 uint64_t left, uint64_t *out)
{
	uint64_t size, header;
	enum term_kind kind;

	*out = left;
	if (!s->size)
		return left % s->unit ? CALL_DIFFERS : CALL_MATCHES;
	size = m->constants[s->size->id];
	if (s->size->kind == PATTERN_VARIABLE) {
		if (!m->bound[s->size->slot])
			return CALL_UNDECIDED;
		size = m->values[s->size->slot];
	}
	kind = call_kind(m, size, &header);
	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNDECIDED;
	if (kind != TERM_KIND_SMALL || TERM_SMALL(size) < 0)
		return CALL_DIFFERS;
	if ((uint64_t)TERM_SMALL(size) > left / s->unit)
		return CALL_DIFFERS;
	*out = (uint64_t)TERM_SMALL(size) * s->unit;
	return CALL_MATCHES;
}

static enum call_verdict match_part(struct call_matcher *m, const struct pattern_segment *s,
				    const struct term_view *v, uint64_t *at)
{
	uint64_t left = v->bits.nr_bits - *at, from = *at, nr_bits;
	enum call_verdict found;

	if (s->type == SEGMENT_LITERAL) {
		if (s->len > left / 8)
			return CALL_DIFFERS;
		*at += 8 * s->len;
		return match_literal(m, s, v, from);
	}
	found = size_of(m, s, left, &nr_bits);
	if (found != CALL_MATCHES)
		return found;
	*at += nr_bits;
	if (s->type == SEGMENT_INTEGER)
		return match_integer(m, s, v, from, nr_bits);
	if (s->type == SEGMENT_FLOAT)
		return match_float(m, s, v, from, nr_bits);
	return call_match_node(m, s->value, call_make_part(m, v, from, nr_bits));
}

enum call_verdict call_match_bits(struct call_matcher *m, const struct pattern_node *n,
				  uint64_t term)
{
	enum call_verdict found = CALL_MATCHES;
	struct term_view v;
	uint64_t header, at = 0;
	enum term_kind kind = TERM_IS_BOXED(term) ? call_kind(m, term, &header) : TERM_KIND_ATOM;

	if (kind == TERM_KIND_UNREADABLE)
		return CALL_UNDECIDED;
	if (kind != TERM_KIND_BITS)
		return CALL_DIFFERS;
	if (term_view(m->r, term, &v) != TERM_KIND_BITS)
		return CALL_UNDECIDED;
	for (uint32_t i = 0; i < n->nr_segments; i++) {
		enum call_verdict part;

		part = match_part(m, &n->segments[i], &v, &at);
		found = call_both(found, part);
		/* Where the next segment starts may be unknown, if the size is a variable. */
		if (found == CALL_DIFFERS || (part == CALL_UNDECIDED && n->segments[i].size &&
					      n->segments[i].size->kind == PATTERN_VARIABLE))
			return found;
	}
	return at == v.bits.nr_bits ? found : CALL_DIFFERS;
}
