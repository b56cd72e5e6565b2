/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes terms, and reads what one or two words of a term show: see call_internal.h. */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/match/call_internal.h"

/* Index of the first atom that the node does not have; indexes of the VM's atoms are below 2^31. */
#define OWN_ATOM_INDEX (1ull << 50)

enum term_kind call_kind(struct call_matcher *m, uint64_t term, uint64_t *header)
{
	static const enum term_kind boxed[16] = {
		[SUBTAG_TUPLE >> 2] = TERM_KIND_TUPLE,
		[SUBTAG_BIG_POSITIVE >> 2] = TERM_KIND_BIG,
		[SUBTAG_BIG_NEGATIVE >> 2] = TERM_KIND_BIG,
		[SUBTAG_REF >> 2] = TERM_KIND_REF,
		[SUBTAG_FUN >> 2] = TERM_KIND_FUN,
		[SUBTAG_FLOAT >> 2] = TERM_KIND_FLOAT,
		[SUBTAG_RECORD >> 2] = TERM_KIND_RECORD,
		[SUBTAG_PROC_BIN >> 2] = TERM_KIND_BITS,
		[SUBTAG_HEAP_BIN >> 2] = TERM_KIND_BITS,
		[SUBTAG_SUB_BIN >> 2] = TERM_KIND_BITS,
		[SUBTAG_EXTERNAL_PID >> 2] = TERM_KIND_EXTERNAL_PID,
		[SUBTAG_EXTERNAL_PORT >> 2] = TERM_KIND_EXTERNAL_PORT,
		[SUBTAG_EXTERNAL_REF >> 2] = TERM_KIND_EXTERNAL_REF,
	};
	unsigned int map = m->r->otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26, subtag;
	enum term_kind kind;

	*header = 0;
	if (TERM_IS_LIST(term))
		return TERM_KIND_LIST;
	if (!TERM_IS_BOXED(term)) {
		if (TERM_IS_ATOM(term))
			return TERM_KIND_ATOM;
		if (TERM_IS_SMALL(term))
			return TERM_KIND_SMALL;
		if (TERM_IS_PID(term))
			return TERM_KIND_PID;
		if (TERM_IS_PORT(term))
			return TERM_KIND_PORT;
		return term == TERM_NIL ? TERM_KIND_NIL : TERM_KIND_UNREADABLE;
	}
	if (!term_word(m->r, TERM_ADDR(term), header) || (*header & 3))
		return TERM_KIND_UNREADABLE;
	subtag = HEADER_SUBTAG(*header);
	if (subtag == map)
		return TERM_KIND_MAP;
	if (subtag == SUBTAG_RECORD && m->r->otp == 24)
		return TERM_KIND_FUN;
	kind = boxed[subtag >> 2];
	if ((kind == TERM_KIND_ATOM) || (kind == TERM_KIND_RECORD && m->r->otp < 29) ||
	    (subtag == SUBTAG_BIN_REF && m->r->otp >= 27) ||
	    (kind == TERM_KIND_TUPLE && HEADER_ARITY(*header) > TUPLE_MAX_ARITY))
		return TERM_KIND_UNREADABLE;
	return kind;
}

bool call_is_number(enum term_kind kind)
{
	return kind == TERM_KIND_SMALL || kind == TERM_KIND_BIG || kind == TERM_KIND_FLOAT;
}

bool call_is_list(enum term_kind kind)
{
	return kind == TERM_KIND_LIST || kind == TERM_KIND_NIL;
}

bool call_cell(struct call_matcher *m, uint64_t term, uint64_t *head, uint64_t *tail)
{
	return term_word(m->r, TERM_ADDR(term), head) && *head != 0 && /* 0: moved by a GC */
	       term_word(m->r, TERM_ADDR(term) + 8, tail);
}

/* ---- making terms ---------------------------------------------------------------------------- */

uint64_t call_make(struct call_matcher *m, const uint64_t *words, size_t nr, unsigned int tag)
{
	raddr at = CALL_MADE_ADDR + 8 * (uint64_t)m->made.len;

	if (nr > CALL_MADE_WORDS - m->made.len)
		return CALL_UNKNOWN_TERM;
	for (size_t i = 0; i < nr; i++)
		vec_push(&m->made, words[i]);
	m->r->made_addr = CALL_MADE_ADDR;
	m->r->made = m->made.data;
	m->r->made_words = (unsigned int)m->made.len;
	return at | tag;
}

/* Converts character 0 from C0 80, as in texts of patterns, to one byte 0, as in those of the VM.
 * Returns the length of `out`. */
static size_t plain_text(const char *text, size_t len, char *out)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++) {
		bool zero = text[i] == '\xc0' && i + 1 < len && text[i + 1] == '\x80';

		out[nr++] = zero ? '\0' : text[i];
		i += zero;
	}
	return nr;
}

uint64_t call_make_atom(struct call_matcher *m, const char *text, size_t len)
{
	struct call_atom a = {.text = text, .len = len};
	uint64_t term;
	char *copy = xmalloc(len + 1);

	a.len = plain_text(text, len, copy);
	term = a.len == len && m->r->atoms ? beam_atom_find(m->r->atoms, text) : 0;
	if (term) {
		free(copy);
		return term;
	}
	for (size_t i = 0; i < m->atoms.len; i++) {
		if (m->atoms.data[i].len == a.len &&
		    memcmp(m->atoms.data[i].text, copy, a.len) == 0) {
			free(copy);
			return (OWN_ATOM_INDEX + i) << 6 | 0x0b;
		}
	}
	a.text = copy;
	vec_push(&m->texts, copy);
	vec_push(&m->atoms, a);
	return (OWN_ATOM_INDEX + m->atoms.len - 1) << 6 | 0x0b;
}

bool call_is_own_atom(uint64_t term)
{
	return TERM_IS_ATOM(term) && term >> 6 >= OWN_ATOM_INDEX;
}

bool call_atom_text(struct call_matcher *m, uint64_t term, struct call_atom *out)
{
	uint64_t own = (term >> 6) - OWN_ATOM_INDEX;

	if (call_is_own_atom(term)) {
		if (own >= m->atoms.len)
			return false;
		*out = m->atoms.data[own];
		return true;
	}
	out->text = m->r->atoms ? beam_atom_text(m->r->atoms, term, &out->len) : NULL;
	return out->text != NULL;
}

uint64_t call_make_bool(const struct call_matcher *m, bool b)
{
	return b ? m->true_atom : m->false_atom;
}

uint64_t call_make_int64(struct call_matcher *m, int64_t n)
{
	uint64_t words[2] = {1 << 6 | (n < 0 ? SUBTAG_BIG_NEGATIVE : SUBTAG_BIG_POSITIVE),
			     n < 0 ? 0 - (uint64_t)n : (uint64_t)n};

	if (n >= SMALL_MIN && n <= SMALL_MAX)
		return MAKE_SMALL(n);
	return call_make(m, words, 2, 2);
}

uint64_t call_make_integer(struct call_matcher *m, const struct bigint *n)
{
	uint64_t header, term;
	int64_t small;

	if (bigint_get(n, &small))
		return call_make_int64(m, small);
	header = (uint64_t)n->nr << 6 | (n->negative ? SUBTAG_BIG_NEGATIVE : SUBTAG_BIG_POSITIVE);
	term = call_make(m, &header, 1, 2);
	if (call_make(m, n->digits, n->nr, 2) == CALL_UNKNOWN_TERM)
		return CALL_UNKNOWN_TERM;
	return term;
}

uint64_t call_make_float(struct call_matcher *m, double d)
{
	uint64_t words[2] = {1 << 6 | SUBTAG_FLOAT, 0};

	memcpy(&words[1], &d, 8);
	return call_make(m, words, 2, 2);
}

uint64_t call_make_bytes(struct call_matcher *m, const char *bytes, size_t len)
{
	bool old = m->r->otp <= 26;
	size_t nr = (len + 7) / 8;
	uint64_t *words = xcalloc(nr + 2, 8), term;

	words[0] = (nr + 1) << 6 | (old ? SUBTAG_HEAP_BIN : SUBTAG_HEAP_BITS);
	words[1] = old ? len : 8 * (uint64_t)len;
	memcpy(words + 2, bytes, len);
	term = call_make(m, words, nr + 2, 2);
	free(words);
	return term;
}

uint64_t call_make_part(struct call_matcher *m, const struct term_view *v, uint64_t first_bit,
			uint64_t nr_bits)
{
	uint64_t bit = v->bits.bit + first_bit;
	raddr bytes = v->bits.bytes + bit / 8, whole;

	bit %= 8;
	if (m->r->otp >= 27) { /* data with flags in low bits, first bit, end bit, whole binary */
		raddr at = bytes & ~3ull;

		bit += 8 * (bytes - at);
		return call_make(m,
				 (uint64_t[]){4 << 6 | SUBTAG_SUB_BITS, at, bit, bit + nr_bits,
					      CALL_UNKNOWN_TERM},
				 5, 2);
	}
	whole = call_make(
		m, (uint64_t[]){5 << 6 | SUBTAG_PROC_BIN, (bit + nr_bits + 7) / 8, 0, 0, bytes, 0},
		6, 2);
	return call_make(m,
			 (uint64_t[]){3 << 6 | SUBTAG_SUB_BIN, nr_bits / 8, 0,
				      nr_bits % 8 | bit << 8, whole},
			 5, 2);
}

/* ---- numbers --------------------------------------------------------------------------------- */

bool call_integer(struct call_matcher *m, uint64_t term, struct bigint *out)
{
	uint64_t header, nr;

	if (TERM_IS_SMALL(term)) {
		bigint_set(out, TERM_SMALL(term));
		return true;
	}
	if (call_kind(m, term, &header) != TERM_KIND_BIG)
		return false;
	nr = HEADER_ARITY(header);
	if (nr > BIGINT_DIGITS || !term_bytes(m->r, TERM_ADDR(term) + 8, out->digits, 8 * nr))
		return false;
	out->nr = (uint32_t)nr;
	out->negative = HEADER_SUBTAG(header) == SUBTAG_BIG_NEGATIVE;
	while (out->nr && !out->digits[out->nr - 1])
		out->nr--;
	if (!out->nr)
		out->negative = false;
	return true;
}

bool call_float(struct call_matcher *m, uint64_t term, double *out)
{
	uint64_t raw;

	if (!term_word(m->r, TERM_ADDR(term) + 8, &raw))
		return false;
	memcpy(out, &raw, sizeof(raw));
	return __builtin_isfinite(*out);
}
