/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses binaries in patterns and guards (call_pattern.h); constant segments become bytes. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "names/call_parse.h"
#include "names/utf8.h"

#define UNIT_MAX      256
#define LITERAL_BYTES 8 /* longest integer that becomes literal bytes */

struct binary {
	struct call_parser *p;
	bool in_guard;
	VEC(struct pattern_segment) segments;
	struct strbuf literal; /* constant bytes that are not yet in a segment */
};

/* Type and size specification behind the value of a segment. */
struct spec {
	bool is_integer, is_float, is_bits, is_utf8;
	bool is_signed, is_little, has_unit;
	uint32_t unit;
};

static void end_literal(struct binary *b)
{
	struct pattern_segment s = {.type = SEGMENT_LITERAL, .len = b->literal.len};

	if (!s.len)
		return;
	s.bytes = call_text(b->p, b->literal.buf, s.len);
	strbuf_reset(&b->literal);
	vec_push(&b->segments, s);
}

/* ---- specifiers ----------------------------------------------------------------------------- */

static int unit_value(struct call_parser *p, struct spec *s)
{
	int64_t n;

	if (p->now.kind != WORD_INTEGER || !bigint_get(&p->number, &n) || n < 1 || n > UNIT_MAX)
		return call_expected(p, "a unit of 1 to 256");
	s->has_unit = true;
	s->unit = (uint32_t)n;
	return call_next(p);
}

static int unit(struct call_parser *p, struct spec *s)
{
	if (call_next(p) || call_take(p, ":", "`:` and a number after unit"))
		return -EINVAL;
	return unit_value(p, s);
}

static int specifier(struct call_parser *p, struct spec *s)
{
	const char *word = p->word.buf;

	if (p->now.kind != (p->elixir ? WORD_VARIABLE : WORD_ATOM))
		return call_expected(p, p->elixir ? "a size, size(n), integer, binary, little ..."
						  : "integer, binary, little, signed ...");
	if (!p->elixir && strcmp(word, "unit") == 0)
		return unit(p, s);
	if (strcmp(word, "integer") == 0)
		s->is_integer = true;
	else if (strcmp(word, "float") == 0)
		s->is_float = true;
	else if (strcmp(word, "utf8") == 0)
		s->is_utf8 = true;
	else if (strcmp(word, "binary") == 0 || strcmp(word, "bytes") == 0)
		s->is_bits = true, s->unit = s->has_unit ? s->unit : 8, s->has_unit = true;
	else if (strcmp(word, "bitstring") == 0 || strcmp(word, "bits") == 0)
		s->is_bits = true;
	else if (strcmp(word, "signed") == 0)
		s->is_signed = true;
	else if (strcmp(word, "little") == 0 || strcmp(word, "native") == 0)
		s->is_little = true;
	else if (strcmp(word, "unsigned") != 0 && strcmp(word, "big") != 0)
		return call_expected(p, "integer, float, binary, bitstring, utf8, signed, little "
					"or unit");
	return call_next(p);
}

static int specifiers(struct call_parser *p, struct spec *s)
{
	*s = (struct spec){.unit = 1};
	if (!call_is_sign(p, "/"))
		return 0;
	do {
		if (call_next(p) || specifier(p, s))
			return -EINVAL;
	} while (call_is_sign(p, "-"));
	return 0;
}

/* Parses the size of a segment: an integer or, in a pattern, a variable that has a slot already. */
static int size_value(struct binary *b, struct pattern_node **out)
{
	struct call_parser *p = b->p;

	if (p->now.kind == WORD_VARIABLE && !b->in_guard) {
		uint32_t slot = call_slot(p, p->word.buf, false);

		if (slot == UINT32_MAX)
			return call_fail(p, p->now.at,
					 "this size is not known: no variable %s comes before it",
					 p->word.buf);
		*out = call_node(p, PATTERN_VARIABLE);
		(*out)->slot = slot;
		return call_next(p);
	}
	if (p->now.kind != WORD_INTEGER)
		return call_expected(p, "a size");
	if (call_parse_constant(p, out))
		return -EINVAL;
	if ((*out)->big || (*out)->small > INT32_MAX)
		return call_fail(p, p->now.at, "this size is too large");
	return 0;
}

/* Parses Erlang's specification, :SIZE/TYPE-TYPE. */
static int erlang_spec(struct binary *b, struct pattern_node **size, struct spec *s)
{
	struct call_parser *p = b->p;

	*size = NULL;
	if (call_is_sign(p, ":") && (call_next(p) || size_value(b, size)))
		return -EINVAL;
	return specifiers(p, s);
}

/* Parses size(N) or unit(8) in Elixir's specification. */
static int spec_call(struct binary *b, struct pattern_node **size, struct spec *s)
{
	struct call_parser *p = b->p;
	bool is_size = strcmp(p->word.buf, "size") == 0;

	if (!is_size && strcmp(p->word.buf, "unit") != 0)
		return call_expected(p, "size(n) or unit(n)");
	if (call_next(p) || call_next(p)) /* skips the name and the ( */
		return -EINVAL;
	if (is_size ? size_value(b, size) : unit_value(p, s))
		return -EINVAL;
	return call_take(p, ")", "`)`");
}

/* Parses Elixir's specification, ::SIZE-TYPE-TYPE in any order, or ::SIZE*UNIT. */
static int elixir_spec(struct binary *b, struct pattern_node **size, struct spec *s)
{
	struct call_parser *p = b->p;
	int rc = 0;

	*size = NULL;
	*s = (struct spec){.unit = 1};
	if (!call_is_sign(p, "::"))
		return 0;
	do {
		if (call_next(p))
			return -EINVAL;
		if (p->now.kind == WORD_CALL) {
			rc = spec_call(b, size, s);
		} else if (p->now.kind == WORD_INTEGER) {
			rc = size_value(b, size);
			if (rc == 0 && call_is_sign(p, "*"))
				rc = call_next(p) ? -EINVAL : unit_value(p, s);
		} else {
			rc = specifier(p, s);
		}
	} while (rc == 0 && call_is_sign(p, "-"));
	return rc;
}

static int spec(struct binary *b, struct pattern_node **size, struct spec *s)
{
	return b->p->elixir ? elixir_spec(b, size, s) : erlang_spec(b, size, s);
}

/* ---- segments ------------------------------------------------------------------------------- */

/* Parses a string as a segment, which becomes literal bytes: a character of Erlang's is one byte,
 * or UTF-8 with /utf8; Elixir's strings are UTF-8 already. */
static int text(struct binary *b)
{
	struct strbuf chars = STRBUF_INIT;
	struct call_parser *p = b->p;
	bool bytes = p->now.kind == WORD_BINARY;
	struct pattern_node *size;
	size_t at = p->now.at;
	struct spec s;
	int rc = 0;

	strbuf_add(&chars, p->word.buf, p->word.len);
	rc = call_next(p);
	rc = rc ? rc : spec(b, &size, &s);
	if (rc == 0 && (size || s.is_float || s.is_signed || (!bytes && (s.is_bits || s.has_unit))))
		rc = call_fail(p, at, "a text in a binary is %s or nothing",
			       bytes ? "::binary, ::utf8" : "/utf8");
	if (rc == 0 && bytes)
		strbuf_add(&b->literal, chars.buf, chars.len);
	for (size_t i = 0; rc == 0 && !bytes && i < chars.len;) {
		uint32_t c;

		i += utf8_decode(chars.buf + i, chars.len - i, &c);
		if (s.is_utf8)
			utf8_add(&b->literal, c);
		else if (c <= 0xff)
			strbuf_addch(&b->literal, (char)c);
		else
			rc = call_fail(p, at,
				       "a character above 255 does not fit a byte: write the text "
				       "as \"...\"/utf8");
	}
	strbuf_free(&chars);
	return rc;
}

/* Appends a segment to b->literal if it is an integer constant of 1 to LITERAL_BYTES whole bytes.
 * False: it is not, or the segment never matches. */
static bool fold(struct binary *b, const struct pattern_segment *s, const struct spec *spec)
{
	int64_t bits = s->size ? s->size->small * s->unit : 8, value;

	if (s->type != SEGMENT_INTEGER || s->value->kind != PATTERN_INTEGER || s->value->big ||
	    (s->size && s->size->kind != PATTERN_INTEGER) || bits <= 0 || bits % 8 ||
	    bits > 8 * LITERAL_BYTES)
		return false;
	value = s->value->small;
	/* An integer that needs more bits than its segment has never matches in a pattern; a guard
	 * truncates it. */
	if (!b->in_guard && bits < 64) {
		int64_t end = spec->is_signed ? 1ll << (bits - 1) : 1ll << bits;

		if (value >= end || value < (spec->is_signed ? -end : 0))
			return false;
	}
	if (!b->in_guard && bits == 64 && !spec->is_signed && value < 0)
		return false;
	for (int64_t i = 0; i < bits; i += 8)
		strbuf_addch(&b->literal,
			     (char)((uint64_t)value >> (spec->is_little ? i : bits - 8 - i)));
	return true;
}

static int value(struct binary *b, struct pattern_node **out)
{
	struct call_parser *p = b->p;
	bool minus = call_is_sign(p, "-");

	if (minus && call_next(p))
		return -EINVAL;
	if (p->now.kind == WORD_INTEGER) {
		p->number.negative = minus && p->number.nr;
		return call_parse_constant(p, out);
	}
	if (p->now.kind == WORD_FLOAT) {
		p->now.real = minus ? -p->now.real : p->now.real;
		return call_parse_constant(p, out);
	}
	if (minus || b->in_guard || p->now.kind != WORD_VARIABLE)
		return call_expected(p, b->in_guard ? "a text or a number in a binary"
						    : "a text, a number or a variable in a binary");
	*out = call_node(p, strcmp(p->word.buf, "_") ? PATTERN_VARIABLE : PATTERN_ANY);
	if ((*out)->kind == PATTERN_VARIABLE)
		(*out)->slot = call_slot(p, p->word.buf, true);
	return call_next(p);
}

static int check(struct binary *b, size_t at, const struct pattern_segment *s,
		 const struct spec *spec)
{
	if (spec->is_integer + spec->is_float + spec->is_bits > 1)
		return call_fail(b->p, at, "a part of a binary has one type");
	if (spec->is_utf8)
		return call_fail(b->p, at, "only a text can have the type utf8");
	if (spec->is_bits && s->value->kind != PATTERN_ANY && s->value->kind != PATTERN_VARIABLE)
		return call_fail(b->p, at, "a part of this type must be _ or a variable");
	if (s->value->kind == PATTERN_FLOAT && !spec->is_float)
		return call_fail(b->p, at, "a float in a binary must be followed by %s",
				 b->p->elixir ? "::float" : "/float");
	return 0;
}

/* <<1/float>>: an integer literal means the float of that value. */
static int make_float(struct binary *b, size_t at, struct pattern_node *n)
{
	double d = (double)n->small;

	if (n->kind != PATTERN_INTEGER)
		return 0;
	if (n->big && !bigint_get_double(n->big, &d))
		return call_fail(b->p, at, "this is too large for a float");
	n->kind = PATTERN_FLOAT;
	n->real = d;
	return 0;
}

static int segment(struct binary *b)
{
	struct pattern_segment s = {.type = SEGMENT_INTEGER};
	struct call_parser *p = b->p;
	size_t at = p->now.at;
	struct spec t;

	if (p->now.kind == WORD_BINARY || (p->now.kind == WORD_STRING && !p->elixir))
		return text(b);
	if (p->now.kind == WORD_STRING)
		return call_fail(p, at, "a charlist is no part of a binary: write \"...\"");
	if (value(b, &s.value) || spec(b, &s.size, &t))
		return -EINVAL;
	if (p->elixir && s.value->kind == PATTERN_FLOAT && !t.is_integer && !t.is_bits)
		t.is_float = true;
	s.unit = t.unit;
	s.is_signed = t.is_signed;
	s.little = t.is_little;
	if (t.is_bits)
		s.type = SEGMENT_BITS;
	if (t.is_float)
		s.type = SEGMENT_FLOAT;
	if (check(b, at, &s, &t) || (t.is_float && make_float(b, at, s.value)))
		return -EINVAL;
	if (!fold(b, &s, &t)) {
		if (b->in_guard)
			return call_fail(p, at,
					 "a binary in a guard has only texts and integers of 1 to "
					 "8 whole bytes");
		end_literal(b);
		if (!s.size && s.type != SEGMENT_BITS) {
			s.size = call_node(p, PATTERN_INTEGER);
			s.size->small = s.type == SEGMENT_FLOAT ? 64 : 8;
			s.unit = 1;
		}
		vec_push(&b->segments, s);
	}
	return 0;
}

static bool ends_with_rest(const struct binary *b)
{
	const struct pattern_segment *last;

	if (!b->segments.len)
		return false;
	last = &b->segments.data[b->segments.len - 1];
	return last->type == SEGMENT_BITS && !last->size;
}

static int segments(struct binary *b)
{
	bool first = true;

	for (; !call_is_sign(b->p, ">>"); first = false) {
		if (!first && call_take(b->p, ",", "`,` or `>>` after a part of a binary"))
			return -EINVAL;
		if (ends_with_rest(b))
			return call_fail(b->p, b->p->now.at,
					 "only the last part of a binary may be all the rest");
		if (segment(b))
			return -EINVAL;
	}
	end_literal(b);
	return call_next(b->p);
}

/* Parses Elixir's concatenation, "text" <> <<1, 2>> <> rest. */
static int joined(struct binary *b)
{
	struct pattern_segment rest = {.type = SEGMENT_BITS, .unit = 8};
	struct call_parser *p = b->p;
	int rc;

	for (;;) {
		if (p->now.kind == WORD_BINARY) {
			strbuf_add(&b->literal, p->word.buf, p->word.len);
			rc = call_next(p);
		} else if (call_is_sign(p, "<<")) {
			rc = call_next(p);
			rc = rc ? rc : segments(b);
		} else if (p->now.kind == WORD_VARIABLE && !b->in_guard) {
			end_literal(b);
			rc = value(b, &rest.value);
			vec_push(&b->segments, rest);
		} else {
			rc = call_expected(p, "a text, a binary or a variable after <>");
		}
		if (rc || !p->elixir || !call_is_sign(p, "<>"))
			break;
		if (ends_with_rest(b))
			return call_fail(p, p->now.at,
					 "only the last part of a binary may be all the rest");
		if (call_next(p))
			return -EINVAL;
	}
	end_literal(b);
	return rc;
}

int call_parse_binary(struct call_parser *p, bool in_guard, struct pattern_node **out)
{
	struct binary b = {.p = p, .in_guard = in_guard, .literal = STRBUF_INIT};
	struct pattern_node *n = call_node(p, PATTERN_BINARY);
	int rc = joined(&b);

	n->nr_segments = (uint32_t)b.segments.len;
	if (n->nr_segments) {
		n->segments = call_alloc(p, n->nr_segments * sizeof(*n->segments));
		memcpy(n->segments, b.segments.data, n->nr_segments * sizeof(*n->segments));
	}
	vec_free(&b.segments);
	strbuf_free(&b.literal);
	*out = n;
	return rc;
}
