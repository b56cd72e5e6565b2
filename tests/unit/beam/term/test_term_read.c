/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms taken apart: every kind as OTP 25, 27 and 29 lay it out, with what the headers of a node
 * must hold, and each of them damaged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_internal.h"
#include "lib/termfix.h"

static struct term_view view(struct fixture *t, uint64_t term, enum term_kind kind)
{
	struct term_view v;
	uint64_t before = t->r.unreadable;

	assert_int_equal(term_view(&t->r, term, &v), kind);
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.term, term);
	assert_int_equal(t->r.unreadable, before + (kind == TERM_KIND_UNREADABLE));
	return v;
}

/* A boxed term is of this kind, and is none once a bit of its header is another. */
static struct term_view view_boxed(struct fixture *t, uint64_t term, enum term_kind kind,
				   uint64_t damage)
{
	struct term_view v = view(t, term, kind);

	assert_int_equal(v.addr, term & ~7ull);
	image_u64(t->f->im, v.addr, v.header ^ damage);
	view(t, term, TERM_KIND_UNREADABLE);
	image_u64(t->f->im, v.addr, v.header);
	view(t, term | 4, kind); /* a literal */
	return v;
}

static uint64_t map_header(struct fixture *t, unsigned int type, uint64_t bitmap)
{
	return bitmap << 16 | 1 << 8 | type << 6 | (t->r.otp >= 27 ? 0x2c : 0x3c);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static void test_immediates(void **state)
{
	struct fixture *t = *state;

	assert_int_equal(view(t, SMALL(-5), TERM_KIND_SMALL).small, -5);
	assert_int_equal(view(t, SMALL((1ll << 59) - 1), TERM_KIND_SMALL).small, (1ll << 59) - 1);
	view(t, TERM_NIL, TERM_KIND_NIL);
	view(t, atom(t, "abc"), TERM_KIND_ATOM);
	view(t, 0x503, TERM_KIND_PID);
	view(t, 0x57, TERM_KIND_PORT);
	view(t, 0, TERM_KIND_UNREADABLE);
	view(t, 0x1b, TERM_KIND_UNREADABLE); /* a catch */
	view(t, 0x2b, TERM_KIND_UNREADABLE);
	view(t, 2 << 6, TERM_KIND_UNREADABLE);	   /* a header */
	view(t, 0xdead0002, TERM_KIND_UNREADABLE); /* not mapped */
	view(t, 0xdead0001, TERM_KIND_UNREADABLE);
	view(t, 2, TERM_KIND_UNREADABLE);
}

static void test_numbers(void **state)
{
	struct fixture *t = *state;
	double real = 1.5;
	uint64_t raw, f, big = BOXED(t, 2 << 6 | 0x0c, 5, 6);
	struct term_view v;

	memcpy(&raw, &real, 8);
	f = BOXED(t, 1 << 6 | 0x18, raw);
	v = view_boxed(t, f, TERM_KIND_FLOAT, 1 << 6);
	assert_true(v.real == 1.5);
	assert_int_equal(v.heap_words, 2);
	v = view_boxed(t, big, TERM_KIND_BIG, 1ull << 40);
	assert_int_equal(v.big.nr_digits, 2);
	assert_int_equal(v.big.digits, (big & ~7ull) + 8);
	assert_true(v.big.negative);
	assert_int_equal(v.heap_words, 3);
	view(t, BOXED(t, 0x08, 1), TERM_KIND_UNREADABLE); /* without digits */
}

static void test_tuples(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), term = BOXED(t, 3 << 6, a, SMALL(2), TERM_NIL), got[4] = {0},
		 value;
	struct term_view v = view_boxed(t, term, TERM_KIND_TUPLE, 1ull << 40);
	uint32_t arity;

	assert_int_equal(v.tuple.arity, 3);
	assert_int_equal(v.tuple.elements, (term & ~7ull) + 8);
	assert_int_equal(v.heap_words, 4);
	assert_int_equal(term_tuple(&t->r, term, got, 4, &arity), 0);
	assert_int_equal(arity, 3);
	assert_int_equal(got[0], a);
	assert_int_equal(got[2], TERM_NIL);
	assert_int_equal(got[3], 0);
	assert_int_equal(term_tuple(&t->r, term, got, 0, &arity), 0);
	assert_int_equal(arity, 3);
	assert_int_equal(term_tuple(&t->r, a, got, 4, &arity), -EINVAL);
	assert_int_equal(term_tuple(&t->r, BOXED(t, 1 << 6 | 0x18, 0), got, 4, &arity), -EINVAL);
	assert_int_equal(term_tuple(&t->r, BOXED(t, 9 << 6, 0), got, 4, &arity), -EFAULT);
	assert_int_equal(term_tuple(&t->r, 0xdead0002, got, 4, &arity), -EFAULT);
	assert_int_equal(term_element(&t->r, term, 1, &value), 0);
	assert_int_equal(value, SMALL(2));
	assert_int_equal(term_element(&t->r, term, 3, &value), -ERANGE);
	assert_true(term_is_tagged(&t->r, term, a, 3));
	assert_false(term_is_tagged(&t->r, term, a, 2));
	assert_false(term_is_tagged(&t->r, term, TERM_NIL, 3));
	assert_false(term_is_tagged(&t->r, BOXED(t, 0), a, 0));
	assert_false(term_is_tagged(&t->r, cons(t, a, TERM_NIL), a, 3));
}

static void test_lists(void **state)
{
	struct fixture *t = *state;
	uint64_t list = cons(t, SMALL(1), cons(t, SMALL(2), SMALL(3))), walk = list, head, inner;
	uint64_t cycle = cons(t, SMALL(7), TERM_NIL);
	struct term_view v = view(t, list, TERM_KIND_LIST);
	unsigned int n = 0;

	assert_int_equal(v.cons.head, SMALL(1));
	assert_true(v.cons.tail & 1);
	assert_int_equal(v.heap_words, 2);
	assert_true(term_next(&t->r, &walk, &head));
	assert_int_equal(head, SMALL(1));
	assert_true(term_next(&t->r, &walk, &head));
	assert_int_equal(head, SMALL(2));
	assert_false(term_next(&t->r, &walk, &head));
	assert_int_equal(walk, SMALL(3));		 /* the improper tail */
	view(t, cons(t, 0, list), TERM_KIND_UNREADABLE); /* moved away */
	walk = cons(t, SMALL(1), 0xdead0001);
	assert_true(term_next(&t->r, &walk, &head));
	assert_false(term_next(&t->r, &walk, &head));
	assert_int_equal(walk, 0xdead0001);
	/* Walks in walks, of the same list too, and one that has no end. */
	t->r.max_elements = 50;
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	for (walk = cycle; term_next(&t->r, &walk, &head); n++) {
		for (inner = list; term_next(&t->r, &inner, &head);)
			;
		for (inner = list; term_next(&t->r, &inner, &head);)
			break;
	}
	assert_int_equal(n, 50);
	assert_int_equal(walk, cycle);
	n = 0;
	walk = TERM_NIL;
	for (int i = 0; i < 40; i++)
		walk = cons(t, SMALL(i), walk);
	list = walk;
	while (term_next(&t->r, &walk, &head)) {
		for (inner = list; term_next(&t->r, &inner, &head);)
			n++;
	}
	assert_int_equal(n, 1600);
}

/* ---- maps ----------------------------------------------------------------------------------- */

struct pairs {
	uint64_t keys[64], values[64];
	int nr;
};

/* All pairs in the order of maps:to_list(), added to *p; 0, or why not all of them. */
static int walk_map(struct fixture *t, uint64_t term, struct pairs *p)
{
	uint64_t key, value;
	struct term_view v;
	struct map_walk w;

	assert_int_equal(term_view(&t->r, term, &v), TERM_KIND_MAP);
	map_walk_begin(&w, &v, t->r.otp < 29);
	while (map_walk_next(&w, &t->r, &key, &value)) {
		assert_in_range(p->nr, 0, 63);
		p->keys[p->nr] = key;
		p->values[p->nr++] = value;
	}
	return w.err;
}

static void test_flat_maps(void **state)
{
	struct fixture *t = *state;
	uint64_t a = atom(t, "a"), b = atom(t, "b"), keys = BOXED(t, 2 << 6, a, b);
	uint64_t map = BOXED(t, map_header(t, 0, 0), 2, keys, SMALL(1), SMALL(2));
	uint64_t empty = BOXED(t, map_header(t, 0, 0), 0, BOXED(t, 0));
	struct term_view v = view_boxed(t, map, TERM_KIND_MAP, 1 << 6);
	struct pairs p = {.nr = 0};

	assert_int_equal(v.map.size, 2);
	assert_true(v.map.flat);
	assert_int_equal(v.map.keys, (keys & ~7ull) + 8);
	assert_int_equal(v.map.values, (map & ~7ull) + 24);
	assert_int_equal(v.heap_words, 5);
	assert_int_equal(walk_map(t, map, &p), 0);
	assert_int_equal(p.nr, 2);
	assert_int_equal(p.keys[0], a);
	assert_int_equal(p.values[1], SMALL(2));
	view(t, empty, TERM_KIND_MAP);
	assert_int_equal(walk_map(t, empty, &p), 0);
	image_u64(t->f->im, (map & ~7ull) + 8, 3); /* more values than keys */
	view(t, map, TERM_KIND_UNREADABLE);
	image_u64(t->f->im, (map & ~7ull) + 8, 2);
	image_u64(t->f->im, (map & ~7ull) + 16, TERM_NIL);
	view(t, map, TERM_KIND_UNREADABLE);
}

/* Head with two children: a pair, and a node with a pair and a tuple of two. */
static void test_hash_maps(void **state)
{
	struct fixture *t = *state;
	uint64_t node =
		BOXED(t, map_header(t, 1, 0x8001) & ~(1ull << 8), cons(t, SMALL(2), SMALL(20)),
		      BOXED(t, 2 << 6, cons(t, SMALL(3), SMALL(30)), cons(t, SMALL(4), SMALL(40))));
	uint64_t map = BOXED(t, map_header(t, 3, 0x10), 4, 0);
	uint64_t head = BOXED(t, map_header(t, 3, 0x30), 4, cons(t, SMALL(1), SMALL(10)), node);
	bool backwards = t->r.otp < 29;
	struct pairs p = {.nr = 0};
	struct term_view v = view_boxed(t, head, TERM_KIND_MAP, 2 << 6);
	uint64_t loop;

	assert_int_equal(v.map.size, 4);
	assert_false(v.map.flat);
	assert_int_equal(v.heap_words, 4);
	assert_int_equal(walk_map(t, head, &p), 0);
	assert_int_equal(p.nr, 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(p.keys[i], SMALL(backwards ? 4 - i : i + 1));
		assert_int_equal(p.values[i], SMALL(backwards ? 40 - 10 * i : 10 * i + 10));
	}
	/* The number of pairs is what the head says. */
	p.nr = 0;
	image_u64(t->f->im, (head & ~7ull) + 8, 5);
	assert_int_equal(walk_map(t, head, &p), -EBADMSG);
	assert_int_equal(p.nr, 4);
	p.nr = 0;
	image_u64(t->f->im, (head & ~7ull) + 8, 3);
	assert_int_equal(walk_map(t, head, &p), -EBADMSG);
	assert_int_equal(p.nr, 3);
	/* Nodes that are their own children. */
	for (uint64_t type = 0; type < 2; type++) {
		loop = BOXED(t, type ? map_header(t, 1, 0xff) : 8 << 6, 0, 0, 0, 0, 0, 0, 0, 0);
		for (raddr i = 1; i <= 8; i++)
			image_u64(t->f->im, (loop & ~7ull) + 8 * i, loop);
		image_u64(t->f->im, (map & ~7ull) + 16, loop);
		assert_int_equal(walk_map(t, map, &p), -EBADMSG);
	}
	image_u64(t->f->im, (map & ~7ull) + 16, 0xdead0002);
	assert_int_equal(walk_map(t, map, &p), -EFAULT);
	image_u64(t->f->im, (map & ~7ull) + 16, TERM_NIL);
	assert_int_equal(walk_map(t, map, &p), -EBADMSG);
	view(t, node, TERM_KIND_UNREADABLE); /* no term of its own */
}

/* ---- bitstrings ----------------------------------------------------------------------------- */

static void check_bits(struct fixture *t, const struct term_view *v, const char *expect)
{
	uint8_t got[32] = {0};
	size_t size = strlen(expect);

	assert_true(term_bits(&t->r, v, 0, got, size));
	assert_memory_equal(got, expect, size);
	assert_true(term_bits(&t->r, v, 1, got, size - 1));
	assert_memory_equal(got, expect + 1, size - 1);
	assert_false(term_bits(&t->r, v, 0, got, size + 1));
	assert_false(term_bits(&t->r, v, size + 1, got, 0));
}

static uint64_t from_text(const char *text)
{
	uint64_t w = 0;

	memcpy(&w, text, strlen(text));
	return w;
}

/* "abcdefgh", moved right by three bits behind one byte. */
static raddr shifted_text(struct fixture *t)
{
	const char *text = "abcdefgh";
	uint8_t bytes[10] = {0};

	for (size_t i = 0; i < 8; i++) {
		bytes[i + 1] |= (uint8_t)(text[i] >> 3);
		bytes[i + 2] |= (uint8_t)(text[i] << 5);
	}
	return WORDS(t, ((uint64_t *)(void *)bytes)[0], bytes[8] | bytes[9] << 8);
}

static void check_text(struct fixture *t, uint64_t term, size_t max, const char *expect)
{
	struct strbuf out = STRBUF_INIT;

	assert_true(term_text(&t->r, term, &out, max));
	assert_string_equal(out.buf, expect);
	strbuf_free(&out);
}

static void test_bits_25(void **state)
{
	struct fixture *t = *state;
	uint64_t heap = BOXED(t, 2 << 6 | 0x24, 5, from_text("hello"));
	raddr binary = WORDS(t, 0, 3, 16, from_text("0123456"), from_text("789"));
	uint64_t refc = BOXED(t, 5 << 6 | 0x20, 10, 0, binary, shifted_text(t), 0);
	uint64_t sub = BOXED(t, 3 << 6 | 0x28, 7, 1, 3 << 8 | 5, refc);
	struct term_view v = view_boxed(t, heap, TERM_KIND_BITS, 1 << 6);

	assert_int_equal(v.bits.nr_bits, 40);
	assert_int_equal(v.bits.binary, 0);
	assert_int_equal(v.heap_words, 3);
	check_bits(t, &v, "hello");
	check_text(t, heap, 100, "hello");
	check_text(t, heap, 3, "hel");
	v = view_boxed(t, refc, TERM_KIND_BITS, 1 << 6);
	assert_int_equal(v.bits.nr_bits, 80);
	assert_int_equal(v.bits.binary, binary);
	assert_int_equal(v.bits.binary_size, 16);
	assert_int_equal(v.bits.binary_refc, 3);
	assert_int_equal(v.heap_words, 6);
	v = view_boxed(t, sub, TERM_KIND_BITS, 1 << 6);
	assert_int_equal(v.bits.nr_bits, 61);
	assert_int_equal(v.bits.bit, 3);
	assert_int_equal(v.bits.binary, binary);
	assert_int_equal(v.heap_words, 5);
	check_bits(t, &v, "abcdefgh"); /* the last three bits of h are 0 */
	/* Beyond what it is a part of; a part of no binary. */
	image_u64(t->f->im, (sub & ~7ull) + 8, 9);
	view(t, sub, TERM_KIND_UNREADABLE);
	view(t, BOXED(t, 3 << 6 | 0x28, 1, 1, 9 << 8, refc), TERM_KIND_UNREADABLE);
	view(t, BOXED(t, 3 << 6 | 0x28, 1, 1, 0, sub), TERM_KIND_UNREADABLE);
	view(t, BOXED(t, 3 << 6 | 0x28, 1, 1, 0, TERM_NIL), TERM_KIND_UNREADABLE);
	view(t, BOXED(t, 2 << 6 | 0x24, 50, 0), TERM_KIND_UNREADABLE);
}

static void test_bits_27(void **state)
{
	struct fixture *t = *state;
	uint64_t heap = BOXED(t, 2 << 6 | 0x20, 40, from_text("hello"));
	raddr binary = WORDS(t, 0, 80, 3, 16, 0);
	uint64_t ref = BOXED(t, 2 << 6 | 0x28, binary, 0);
	uint64_t sub = BOXED(t, 4 << 6 | 0x24, shifted_text(t) | 1, 11, 72, ref);
	raddr moved = shifted_text(t) - (raddr)t->f->node.layout.binary_orig_bytes;
	struct term_view v = view_boxed(t, heap, TERM_KIND_BITS, 1 << 6);

	assert_int_equal(v.bits.nr_bits, 40);
	assert_int_equal(v.heap_words, 3);
	check_bits(t, &v, "hello");
	check_text(t, heap, 100, "hello");
	v = view_boxed(t, sub, TERM_KIND_BITS, 1 << 6);
	assert_int_equal(v.bits.nr_bits, 61);
	assert_int_equal(v.bits.bit, 3);
	assert_int_equal(v.bits.binary, binary);
	assert_int_equal(v.bits.binary_size, 16);
	assert_int_equal(v.bits.binary_refc, 3);
	assert_int_equal(v.heap_words, 5);
	check_bits(t, &v, "abcdefgh");
	/* Bytes that were appended to have moved, and only the Binary says where to. */
	for (uint64_t flags = 2; flags <= 3; flags++) {
		ref = BOXED(t, 2 << 6 | 0x28, moved, 0);
		v = view_boxed(t, BOXED(t, 4 << 6 | 0x24, 0x1000 | flags, 11, 72, ref),
			       TERM_KIND_BITS, 1 << 6);
		assert_int_equal(v.bits.binary, moved);
		check_bits(t, &v, "abcdefgh");
	}
	image_u64(t->f->im, (sub & ~7ull) + 24, 10); /* ends before it begins */
	view(t, sub, TERM_KIND_UNREADABLE);
	view(t, ref, TERM_KIND_UNREADABLE);
	view(t, BOXED(t, 2 << 6 | 0x20, 1000, 0), TERM_KIND_UNREADABLE);
}

static void test_texts(void **state)
{
	struct fixture *t = *state;
	struct strbuf out = STRBUF_INIT;
	uint64_t list = cons(t, SMALL('h'), cons(t, SMALL(233), TERM_NIL));
	uint64_t cycle = cons(t, SMALL('x'), TERM_NIL);

	check_text(t, list, 10, "h\xe9");
	check_text(t, list, 1, "h");
	check_text(t, TERM_NIL, 10, "");
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	check_text(t, cycle, 5, "xxxxx");
	assert_false(term_text(&t->r, cons(t, SMALL(256), TERM_NIL), &out, 10));
	assert_false(term_text(&t->r, cons(t, SMALL(-1), TERM_NIL), &out, 10));
	assert_false(term_text(&t->r, cons(t, SMALL(1), SMALL(2)), &out, 10));
	assert_false(term_text(&t->r, SMALL(2), &out, 10));
	assert_false(term_text(&t->r, atom(t, "abc"), &out, 10));
	assert_false(term_text(&t->r, 0xdead0001, &out, 10));
	strbuf_free(&out);
}

/* ---- funs, identifiers ---------------------------------------------------------------------- */

static void check_funs(struct fixture *t, uint64_t local, uint64_t external, uint32_t words)
{
	struct term_view v = view(t, local, TERM_KIND_FUN);

	assert_int_equal(v.fun.module, atom(t, "m"));
	assert_int_equal(v.fun.arity, 2);
	assert_int_equal(v.fun.index, 4);
	assert_int_equal(v.fun.old_uniq, 12345);
	assert_int_equal(v.fun.nr_free, 2);
	assert_int_equal(v.heap_words, words);
	v = view(t, external, TERM_KIND_EXPORT);
	assert_int_equal(v.fun.module, atom(t, "lists"));
	assert_int_equal(v.fun.function, atom(t, "map"));
	assert_int_equal(v.fun.arity, 2);
}

static void test_funs(void **state)
{
	struct fixture *t = *state;
	const struct beam_layout *l = &t->f->node.layout;
	raddr entry = image_alloc(t->f->im, 128), export = fakenode_export(t->f, "lists", "map", 2);
	uint64_t local, external;

	image_u64(t->f->im, entry + (raddr)l->fun_entry_module, atom(t, "m"));
	image_u32(t->f->im, entry + (raddr)l->fun_entry_old_index, 4);
	image_u32(t->f->im, entry + (raddr)l->fun_entry_old_uniq, 12345);
	if (t->r.otp == 24) {
		local = BOXED(t, 5 << 6 | 0x14, entry, 0, 2, 2, 0x503, SMALL(1), SMALL(2));
		external = BOXED(t, 1 << 6 | 0x1c, export);
		check_funs(t, local, external, 8);
		assert_int_equal(view(t, local, TERM_KIND_FUN).fun.creator, 0x503);
	} else if (t->r.otp <= 26) {
		local = BOXED(t, 4 << 6 | 0x14, entry, 0, 2 << 8 | 2, 0x503, SMALL(1), SMALL(2));
		external = BOXED(t, 4 << 6 | 0x14, export, 0, 2, atom(t, "external"));
		check_funs(t, local, external, 7);
		assert_int_equal(view(t, local, TERM_KIND_FUN).fun.creator, 0x503);
	} else if (t->r.otp == 27) {
		local = BOXED(t, 3 << 16 | 2 << 8 | 0x14, entry, SMALL(1), SMALL(2), 0);
		external = BOXED(t, 2 << 8 | 0x14, export);
		check_funs(t, local, external, 5);
	} else {
		local = BOXED(t, 2 << 16 | 2 << 8 | 0x14, entry, SMALL(1), SMALL(2));
		external = BOXED(t, 1 << 24 | 2 << 8 | 0x14, export);
		check_funs(t, local, external, 4);
	}
	image_u64(t->f->im, (local & ~7ull) + 8, 0xdead0000);
	view(t, local, TERM_KIND_UNREADABLE);
	image_u64(t->f->im, (local & ~7ull) + 8, entry);
	image_u64(t->f->im, entry + (raddr)l->fun_entry_module, TERM_NIL);
	view(t, local, TERM_KIND_UNREADABLE);
}

static void test_references(void **state)
{
	struct fixture *t = *state;
	raddr binary = image_alloc(t->f->im, 80);
	raddr numbers = binary + (raddr)t->f->node.layout.binary_orig_size + 16;
	uint64_t ref = BOXED(t, 2 << 6 | 0x10, 7ull << 32 | 0xffffffff, 9ull << 32 | 8);
	uint64_t alias =
		BOXED(t, 3 << 6 | 0x10, 7ull << 32 | 0xffffffff, 9ull << 32 | 8, 4ull << 32 | 5);
	struct term_view v = view_boxed(t, ref, TERM_KIND_REF, 1ull << 8);

	assert_int_equal(v.id.nr_numbers, 3);
	assert_int_equal(v.id.numbers[0], 7);
	assert_int_equal(v.id.numbers[2], 9);
	assert_int_equal(v.heap_words, 3);
	v = view_boxed(t, alias, TERM_KIND_REF, 1ull << 8);
	assert_int_equal(v.id.nr_numbers, t->r.otp <= 25 ? 3 : 5);
	assert_int_equal(v.id.numbers[4], t->r.otp <= 25 ? 0 : 4);
	assert_int_equal(v.heap_words, 4);
	image_u32(t->f->im, numbers, 1);
	image_u32(t->f->im, numbers + 8, 3);
	v = view_boxed(t, BOXED(t, 2 << 6 | 0x10, binary, 0), TERM_KIND_MAGIC_REF, 1ull << 8);
	assert_int_equal(v.id.binary, binary);
	assert_int_equal(v.id.nr_numbers, 3);
	assert_int_equal(v.id.numbers[0], 1);
	assert_int_equal(v.id.numbers[2], 3);
	view(t, BOXED(t, 2 << 6 | 0x10, 0xdead0000, 0), TERM_KIND_UNREADABLE);
}

static void test_externals(void **state)
{
	struct fixture *t = *state;
	const struct beam_layout *l = &t->f->node.layout;
	raddr node = image_alloc(t->f->im, 64);
	uint64_t pid = BOXED(t, 3 << 6 | 0x30, node, 0, 2ull << 32 | 80);
	uint64_t port = BOXED(t, 3 << 6 | 0x34, node, 0, 1ull << 40);
	uint64_t ref =
		BOXED(t, 5 << 6 | 0x38, node, 0, 7ull << 32 | 5, 9ull << 32 | 8, 11ull << 32 | 10);
	struct term_view v;

	image_u64(t->f->im, node + (raddr)l->node_sysname, atom(t, "b@host"));
	image_u32(t->f->im, node + (raddr)l->node_creation, 1234);
	image_u64(t->f->im, node + (raddr)l->node_dist_entry, 0xd157);
	v = view_boxed(t, pid, TERM_KIND_EXTERNAL_PID, 1 << 6);
	assert_int_equal(v.id.node, atom(t, "b@host"));
	assert_int_equal(v.id.creation, 1234);
	assert_int_equal(v.id.channel, atom(t, "b@host") >> 6);
	assert_int_equal(v.id.data, 2ull << 32 | 80);
	assert_int_equal(v.heap_words, 4);
	v = view_boxed(t, port, TERM_KIND_EXTERNAL_PORT, 1 << 6);
	assert_int_equal(v.id.data, 1ull << 40);
	v = view_boxed(t, ref, TERM_KIND_EXTERNAL_REF, 4 << 6);
	assert_int_equal(v.id.nr_numbers, 5);
	assert_int_equal(v.id.numbers[0], 7);
	assert_int_equal(v.id.numbers[4], 11);
	image_u32(t->f->im, (ref & ~7ull) + 24, 6); /* more numbers than there is room for */
	view(t, ref, TERM_KIND_UNREADABLE);
	image_u64(t->f->im, node + (raddr)l->node_sysname, TERM_NIL);
	view(t, pid, TERM_KIND_UNREADABLE);
}

static void test_records(void **state)
{
	struct fixture *t = *state;
	uint64_t x = atom(t, "x"), y = atom(t, "y"), m = atom(t, "m"), rec = atom(t, "rec");
	uint64_t definition = BOXED(t, 7 << 6, TERM_NIL, SMALL(99), m, rec, atom(t, "true"), x, y);
	uint64_t record = BOXED(t, 3 << 6 | 0x1c, definition, SMALL(1), SMALL(2));
	struct term_view v = view_boxed(t, record, TERM_KIND_RECORD, 1 << 6);

	assert_int_equal(v.record.module, m);
	assert_int_equal(v.record.name, rec);
	assert_int_equal(v.record.nr_fields, 2);
	assert_int_equal(v.record.keys, (definition & ~7ull) + 48);
	assert_int_equal(v.record.values, (record & ~7ull) + 16);
	assert_int_equal(v.heap_words, 4);
}

/* ---- size ----------------------------------------------------------------------------------- */

static void test_size(void **state)
{
	struct fixture *t = *state;
	uint64_t tuple = BOXED(t, 2 << 6, SMALL(1), cons(t, SMALL(1), TERM_NIL));
	uint64_t cycle = BOXED(t, 1 << 6, 0), deep = TERM_NIL;
	bool cut;

	assert_int_equal(term_flat_size(&t->r, SMALL(1), 100, &cut), 0);
	assert_int_equal(term_flat_size(&t->r, tuple, 100, &cut), 5);
	assert_false(cut);
	assert_int_equal(term_flat_size(&t->r, cons(t, tuple, tuple), 100, &cut), 12);
	assert_int_equal(term_flat_size(&t->r, BOXED(t, 0), 100, &cut), t->r.otp == 24);
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	assert_int_equal(term_flat_size(&t->r, cycle, 100, &cut), 200);
	assert_true(cut);
	for (int i = 0; i < 10000; i++)
		deep = cons(t, deep, TERM_NIL);
	assert_int_equal(term_flat_size(&t->r, deep, 1000000, &cut), 20000);
	assert_false(cut);
}

static void test_names(void **state)
{
	UNUSED(state);
	for (int i = 0; i < NR_TERM_KINDS; i++)
		assert_non_null(term_kind_name((enum term_kind)i));
	assert_string_equal(term_kind_name(TERM_KIND_BITS), "binary");
	assert_string_equal(term_kind_name((enum term_kind)99), "unreadable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_immediates), TEST_ALL(test_numbers),   TEST_ALL(test_tuples),
		TEST_ALL(test_lists),	   TEST_ALL(test_flat_maps), TEST_ALL(test_hash_maps),
		TEST(test_bits_25, 25),	   TEST(test_bits_27, 27),   TEST(test_bits_27, 29),
		TEST_ALL(test_texts),	   TEST_ALL(test_funs),	     TEST_ALL(test_references),
		TEST_ALL(test_externals),  TEST(test_records, 29),   TEST_ALL(test_size),
		TEST_ALL(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
