/* SPDX-License-Identifier: BSD-2-Clause */
/* beam/process/heap_mark: what is reached of a made-up heap, and what is garbage; terms that are
 * cyclic, or longer than their area; processes that cannot be marked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/binary_use.h"
#include "beam/process/heap_mark.h"
#include "lib/fakenode.h"

#define SLOTS	    1024
#define WORDS	    64
#define BOXED(h, i) (((h)->p.heap + 8 * (i)) | 2)
#define CONS(h, i)  (((h)->p.heap + 8 * (i)) | 1)
#define OTHER	    ((uint64_t)1 << 6 | SUBTAG_FLOAT) /* an object without terms */

static const int releases[] = {25, 27, 29};

struct heap {
	struct fakenode *f;
	const struct beam_layout *l;
	struct process_facts p;
	raddr stack;
	bool reached[WORDS]; /* by index on the heap */
	uint64_t others;     /* elsewhere */
	uint64_t areas;
};

static void put(struct heap *h, size_t i, uint64_t word)
{
	image_u64(h->f->im, h->p.heap + 8 * i, word);
}

static void put_member(struct heap *h, int offset, uint64_t value)
{
	image_u64(h->f->im, h->p.addr + (raddr)offset, value);
}

static void heap_open(struct heap *h, int otp)
{
	raddr ptab, tab, invalid, heap;

	memset(h, 0, sizeof(*h));
	h->f = fakenode_open(otp);
	h->l = &h->f->node.layout;
	ptab = h->f->node.anchors.proc_tab;
	fakenode_ptab(h->f, ptab, 10, 3);
	tab = image_alloc(h->f->im, 8 * SLOTS);
	invalid = image_alloc(h->f->im, 64);
	image_u64(h->f->im, ptab + (raddr)h->l->ptab_tab, tab);
	image_u32(h->f->im, ptab + (raddr)h->l->ptab_max, SLOTS);
	image_u64(h->f->im, ptab + (raddr)h->l->ptab_invalid_element, invalid);
	h->p.addr = image_alloc(h->f->im, (size_t)h->l->process_size);
	image_u64(h->f->im, tab, h->p.addr);
	heap = image_alloc(h->f->im, 8 * (WORDS + 2));
	put_member(h, h->l->process_id, 3);
	image_u32(h->f->im, h->p.addr + (raddr)h->l->process_state, 0xa);
	put_member(h, h->l->process_heap, heap);
	put_member(h, h->l->process_htop, heap + 8 * WORDS);
	put_member(h, h->l->process_stop, heap + 8 * WORDS);
	put_member(h, h->l->process_hend, heap + 8 * (WORDS + 2));
	put_member(h, h->l->process_heap_sz, WORDS + 2);
	put_member(h, h->l->process_parent, TERM_NIL);
	put_member(h, h->l->process_group_leader, 3);
	put_member(h, h->l->process_arg_reg, h->p.addr + (raddr)h->l->process_def_arg_reg);
	h->p.heap = heap;
	h->stack = heap + 8 * WORDS;
	image_u64(h->f->im, h->stack, TERM_NIL);
	image_u64(h->f->im, h->stack + 8, TERM_NIL);
}

static void visit(void *arg, raddr at, const uint64_t *words)
{
	struct heap *h = arg;
	uint64_t sum = 0;

	/* So many can be read, whatever is there. */
	for (size_t i = 0; i < HEAP_MARK_MIN_WORDS; i++)
		sum += words[i];
	(void)sum;
	if (at >= h->p.heap && at < h->p.heap + 8ull * WORDS)
		h->reached[(at - h->p.heap) / 8] = true;
	else
		h->others++;
}

static void area(void *arg, raddr from, raddr to)
{
	struct heap *h = arg;

	assert_true(from <= to);
	h->areas++;
}

static int run(struct heap *h)
{
	int rc = process_read(&h->f->node, 3, 0, &h->p);

	memset(h->reached, 0, sizeof(h->reached));
	h->others = h->areas = 0;
	return rc ? rc : heap_mark_process(&h->f->node, &h->p, area, visit, h);
}

static size_t nr_reached(const struct heap *h)
{
	size_t nr = 0;

	for (size_t i = 0; i < WORDS; i++)
		nr += h->reached[i];
	return nr;
}

/* A tuple on the stack with a list with a map with a fun's environment; equal things beside these
 * are garbage. */
static void kinds(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		int otp = releases[i];
		uint64_t map = otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26;
		struct heap h;

		heap_open(&h, otp);
		put(&h, 0, HEADER_TUPLE(2)); /* {1, [Map | Other]} */
		put(&h, 1, 0x1f);
		put(&h, 2, CONS(&h, 3));
		put(&h, 3, BOXED(&h, 5));
		put(&h, 4, BOXED(&h, 20));
		put(&h, 5, map); /* flat, of one key */
		put(&h, 6, 1);
		put(&h, 7, BOXED(&h, 22));
		put(&h, 8, BOXED(&h, 10));
		put(&h, 10, SUBTAG_FUN | (otp >= 27 ? 1ull << 16 : 5ull << 6)); /* Other in it */
		put(&h, 12, otp >= 27 ? BOXED(&h, 24) : 0);
		put(&h, 13, 1ull << 8);
		put(&h, 15, otp >= 27 ? 0 : BOXED(&h, 24));
		for (size_t k = 20; k < 30; k += 2)
			put(&h, k, OTHER);
		put(&h, 40, HEADER_TUPLE(1)); /* garbage refers to itself, and to what is none */
		put(&h, 41, BOXED(&h, 40));
		put(&h, 42, CONS(&h, 3));
		put(&h, 43, BOXED(&h, 28));
		image_u64(h.f->im, h.stack, BOXED(&h, 0));
		assert_int_equal(run(&h), 0);
		assert_int_equal(nr_reached(&h), 6);
		assert_true(h.reached[0] && h.reached[5] && h.reached[10]);
		assert_true(h.reached[20] && h.reached[22] && h.reached[24]);
		fakenode_close(h.f);
	}
}

static void roots(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		raddr regs, dictionary, fragment, psd, saved;
		struct heap h;

		heap_open(&h, releases[i]);
		for (size_t k = 0; k < WORDS; k += 2)
			put(&h, k, OTHER);
		/* A register that is in use, and one that is not. */
		regs = h.p.addr + (raddr)h.l->process_def_arg_reg;
		image_u64(h.f->im, regs, BOXED(&h, 0));
		image_u64(h.f->im, regs + 8, BOXED(&h, 2));
		if (h.l->process_max_arg_reg - h.l->process_arity == 1)
			image_put(h.f->im, h.p.addr + (raddr)h.l->process_arity, "\1", 1);
		else
			put_member(&h, h.l->process_arity, 1);
		put_member(&h, h.l->process_parent, BOXED(&h, 4)); /* of another node */
		dictionary = image_alloc(h.f->im, 32);
		image_u32(h.f->im, dictionary + 4, 1); /* slots in use, and in all */
		image_u32(h.f->im, dictionary + 8, 1);
		image_u64(h.f->im, dictionary + 24, BOXED(&h, 6));
		put(&h, 6, HEADER_TUPLE(2));
		put(&h, 7, TERM_NIL);
		put(&h, 8, BOXED(&h, 10));
		put_member(&h, h.l->process_dictionary, dictionary);
		psd = image_alloc(h.f->im, 128);
		saved = image_alloc(h.f->im, 512);
		put_member(&h, h.l->process_psd, psd);
		image_u64(h.f->im, psd + 40, saved);
		image_u64(h.f->im, saved + 504, BOXED(&h, 12));
		/* In a heap fragment, a tuple that the stack has. */
		fragment = image_alloc(h.f->im, (size_t)h.l->heap_frag_mem + 16);
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_used_size, 2);
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_mem, HEADER_TUPLE(1));
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_mem + 8, BOXED(&h, 14));
		image_u64(h.f->im, h.stack + 8, (fragment + (raddr)h.l->heap_frag_mem) | 2);
		put_member(&h, h.l->process_mbuf, fragment);
		assert_int_equal(run(&h), 0);
		assert_int_equal(h.others, 1);
		assert_int_equal(nr_reached(&h), 6);
		assert_true(h.reached[0] && h.reached[4] && h.reached[6] && h.reached[10] &&
			    h.reached[12] && h.reached[14]);
		fakenode_close(h.f);
	}
}

/* What a receive expression took is in the fragments of its message; the list goes round, then. */
static void received(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		raddr message, fragment, own, data;
		struct heap h;

		heap_open(&h, releases[i]);
		put(&h, 0, OTHER);
		put(&h, 2, OTHER);
		/* One with a fragment of its own, and one that includes it. */
		own = image_alloc(h.f->im, (size_t)h.l->heap_frag_mem + 16);
		image_u64(h.f->im, own + (raddr)h.l->heap_frag_used_size, 2);
		data = own + (raddr)h.l->heap_frag_mem;
		image_u64(h.f->im, data, OTHER);
		message = image_alloc(h.f->im, (size_t)h.l->message_size + 64);
		fragment = message + (raddr)h.l->message_hfrag;
		image_u64(h.f->im, message + (raddr)h.l->message_data, 1);
		image_u64(h.f->im, message + (raddr)h.l->message_m, OTHER); /* as a signal's tag */
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_used_size, 2);
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_mem, HEADER_TUPLE(1));
		image_u64(h.f->im, fragment + (raddr)h.l->heap_frag_mem + 8, BOXED(&h, 0));
		image_u64(h.f->im, h.stack, (fragment + (raddr)h.l->heap_frag_mem) | 2);
		image_u64(h.f->im, h.stack + 8, data | 2);
		put_member(&h, h.l->process_msg_frag, message);
		assert_int_equal(run(&h), 0);
		assert_int_equal(h.areas, 2);
		assert_int_equal(h.others, 1);
		assert_int_equal(nr_reached(&h), 1);
		message = image_alloc(h.f->im, (size_t)h.l->message_size + 64);
		image_u64(h.f->im, message + (raddr)h.l->message_data, own);
		image_u64(h.f->im, message + (raddr)h.l->message_next, h.p.msg_frag);
		put_member(&h, h.l->process_msg_frag, message);
		assert_int_equal(run(&h), 0);
		assert_int_equal(h.areas, 3);
		assert_int_equal(h.others, 2);
		image_u64(h.f->im, h.p.msg_frag + (raddr)h.l->message_next, message);
		assert_int_equal(run(&h), -EAGAIN);
		fakenode_close(h.f);
	}
}

/* What is garbage of places in the heap is known, and of others is not. */
static void places(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct off_heap_place all[2] = {{0, 0xa000, 0xa020, 500}, {0, 0xb000, 0xb020, 500}};
		struct binary_use *use;
		struct heap h;

		heap_open(&h, releases[i]);
		for (size_t k = 0; k < WORDS; k += 2)
			put(&h, k, OTHER);
		all[0].at = h.p.heap + 32;
		all[1].at = image_alloc(h.f->im, 64);
		assert_int_equal(run(&h), 0);
		use = binary_use_new(releases[i], all, ARRAY_SIZE(all));
		assert_true(binary_use_reached(use, &h.f->node, &h.p));
		assert_true(binary_use_is_garbage(use, 0xa000));
		assert_false(binary_use_is_garbage(use, 0xb000));
		assert_int_equal(binary_use_of(use, 0xa000, 500), 0);
		assert_int_equal(binary_use_of(use, 0xb000, 500), 500);
		binary_use_free(use);
		fakenode_close(h.f);
	}
}

/* A message to an alias does not count in the queue's length; all words of messages are roots. */
static void messages(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		raddr message;
		struct heap h;

		heap_open(&h, releases[i]);
		for (size_t k = 0; k < WORDS; k += 2)
			put(&h, k, OTHER);
		put(&h, 6, HEADER_TUPLE(2)); /* {From, Message} */
		put(&h, 7, TERM_NIL);
		put(&h, 8, BOXED(&h, 10));
		message = image_alloc(h.f->im, (size_t)h.l->message_size + 64);
		image_u64(h.f->im, message + (raddr)h.l->message_m, 15 << 6 | SUBTAG_FLOAT);
		image_u64(h.f->im, message + (raddr)h.l->message_m + 8, BOXED(&h, 2));
		image_u64(h.f->im, message + (raddr)h.l->message_m + 16, BOXED(&h, 6));
		put_member(&h, h.l->process_sig_inq_first, message);
		assert_int_equal(run(&h), 0);
		assert_int_equal(h.p.message_queue_len, 0);
		assert_int_equal(nr_reached(&h), 3);
		assert_true(h.reached[2] && h.reached[6] && h.reached[10]);
		fakenode_close(h.f);
	}
}

static void hostile(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct heap h;

		heap_open(&h, releases[i]);
		/* Terms of all kinds with contents that never end, and go round. */
		for (size_t k = 0; k < WORDS; k++)
			put(&h, k, k % 3 ? BOXED(&h, (k * 7) % WORDS) : HEADER_TUPLE(1ull << 50));
		put(&h, WORDS - 1, SUBTAG_FUN | ~0x3full);
		put(&h, WORDS - 2, CONS(&h, WORDS - 1));
		image_u64(h.f->im, h.stack, BOXED(&h, 0));
		image_u64(h.f->im, h.stack + 8, BOXED(&h, WORDS - 1));
		assert_int_equal(run(&h), 0);
		assert_true(nr_reached(&h) > 2);
		fakenode_close(h.f);
	}
}

static void refused(void **state)
{
	struct heap h;
	raddr psd;

	UNUSED(state);
	heap_open(&h, 27);
	psd = image_alloc(h.f->im, 128);
	image_u32(h.f->im, h.p.addr + (raddr)h.l->process_state, 0xa | PSFLG_RUNNING);
	assert_int_equal(run(&h), -EAGAIN);
	image_u32(h.f->im, h.p.addr + (raddr)h.l->process_state, 0xa);
	assert_int_equal(run(&h), 0);
	/* Arguments that cannot be read, and what says where they are. */
	put_member(&h, h.l->process_psd, psd);
	assert_int_equal(run(&h), 0);
	image_u64(h.f->im, psd + 40, 0x10);
	assert_int_equal(run(&h), -EAGAIN);
	put_member(&h, h.l->process_psd, 0x10);
	assert_int_equal(run(&h), -EAGAIN);
	put_member(&h, h.l->process_psd, 0);
	/* More registers than there can be; a stack, and an old heap that are nowhere. */
	put_member(&h, h.l->process_dictionary, 0x10);
	assert_true(run(&h) < 0);
	put_member(&h, h.l->process_dictionary, 0);
	put_member(&h, h.l->process_arg_reg, 0x10);
	image_put(h.f->im, h.p.addr + (raddr)h.l->process_arity, "\1", 1);
	assert_true(run(&h) < 0);
	image_put(h.f->im, h.p.addr + (raddr)h.l->process_arity, "\0", 1);
	put_member(&h, h.l->process_old_heap, 0x1000);
	put_member(&h, h.l->process_old_htop, 0x2000);
	put_member(&h, h.l->process_old_hend, 0x3000);
	assert_true(run(&h) < 0);
	put_member(&h, h.l->process_old_htop, 0x1000 + (HEAP_MARK_MAX_WORDS + 1) * 8ull);
	put_member(&h, h.l->process_old_hend, 0x1000 + (HEAP_MARK_MAX_WORDS + 2) * 8ull);
	assert_int_equal(run(&h), -EFBIG);
	fakenode_close(h.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),    cmocka_unit_test(roots),  cmocka_unit_test(received),
		cmocka_unit_test(messages), cmocka_unit_test(places), cmocka_unit_test(hostile),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
