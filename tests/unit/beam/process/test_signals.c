/* SPDX-License-Identifier: BSD-2-Clause */
/* Message queues of made-up processes: order, signals that are no messages, messages of aliases and
 * of other nodes, sizes, lists that bite their tail or lead nowhere, queues that move. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "beam/process/signals.h"
#include "lib/fakenode.h"

#define SMALL(i)       (((uint64_t)(i) << 4) | 0xf)
#define SIGNAL(op)     (((uint64_t)(op) << 6) | 0x30)
#define OP_ALIAS       15
#define OP_RECV_MARKER 16

struct seen {
	struct fakenode *f;
	raddr process;
	struct signal_message m[64];
	size_t nr, limit;
	raddr poke; /* head that the visit changes */
};

static int visit(void *arg, const struct signal_message *m)
{
	struct seen *s = arg;

	if (s->nr < 64)
		s->m[s->nr] = *m;
	s->nr++;
	if (s->poke)
		image_u64(s->f->im, s->poke, 0);
	return s->limit && s->nr == s->limit;
}

static void open_seen(struct seen *s, int otp)
{
	*s = (struct seen){.f = fakenode_open(otp)};
	s->process = image_alloc(s->f->im, (size_t)s->f->node.layout.process_size);
}

static raddr message(struct seen *s, uint64_t term, raddr next)
{
	const struct beam_layout *l = &s->f->node.layout;
	raddr m = image_alloc(s->f->im, (size_t)l->message_size);

	image_u64(s->f->im, m + (raddr)l->message_next, next);
	image_u64(s->f->im, m + (raddr)l->message_m, term);
	image_u64(s->f->im, m + (raddr)l->message_m + 16, 0x2983);
	return m;
}

static void head(struct seen *s, int32_t field, raddr first)
{
	image_u64(s->f->im, s->process + (raddr)field, first);
}

static struct signal_counts walk(struct seen *s)
{
	struct signal_counts c;

	s->nr = 0;
	assert_int_equal(signals_walk(&s->f->node, s->f->node.mem, s->process, visit, s, &c), 0);
	return c;
}

static void test_order(void **state)
{
	const int releases[] = {24, 25, 27, 29};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct seen s;
		struct signal_counts c;
		const struct beam_layout *l;

		open_seen(&s, releases[i]);
		l = &s.f->node.layout;
		head(&s, l->process_sig_qs_first,
		     message(&s, SMALL(1),
			     message(&s, SIGNAL(OP_RECV_MARKER), message(&s, SMALL(2), 0))));
		head(&s, l->process_sig_qs_cont, message(&s, SMALL(3), message(&s, SIGNAL(3), 0)));
		head(&s, l->process_sig_inq_first, message(&s, SMALL(4), message(&s, 0, 0)));
		if (l->process_sig_inq_buffers >= 0)
			head(&s, l->process_sig_inq_buffers, 0x1000);
		c = walk(&s);
		assert_int_equal(c.messages, 5);
		assert_int_equal(c.others, 2);
		assert_int_equal(c.undecoded, 1);
		assert_int_equal(c.unreadable, 0);
		assert_false(c.moved);
		assert_int_equal(c.buffers, l->process_sig_inq_buffers >= 0);
		assert_int_equal(s.nr, 5);
		for (uint64_t k = 0; k < 4; k++) {
			assert_int_equal(s.m[k].term, SMALL(k + 1));
			assert_int_equal(s.m[k].from, 0x2983);
		}
		assert_int_equal(s.m[1].queue, SIGNAL_QUEUE_INNER);
		assert_int_equal(s.m[2].queue, SIGNAL_QUEUE_MIDDLE);
		assert_int_equal(s.m[4].queue, SIGNAL_QUEUE_OUTER);
		s.limit = 2;
		walk(&s);
		assert_int_equal(s.nr, 2);
		fakenode_close(s.f);
	}
}

/* The process fetches what came, while it is walked: each message once. */
static void test_fetched_meanwhile(void **state)
{
	const struct beam_layout *l;
	struct signal_counts c;
	raddr outer, middle;
	struct seen s;

	(void)state;
	open_seen(&s, 27);
	l = &s.f->node.layout;
	outer = message(&s, SMALL(3), message(&s, SMALL(4), 0));
	middle = message(&s, SMALL(2), outer);
	head(&s, l->process_sig_inq_first, outer);
	head(&s, l->process_sig_qs_cont, middle);
	head(&s, l->process_sig_qs_first, message(&s, SMALL(1), middle));
	c = walk(&s);
	assert_int_equal(c.messages, 4);
	for (uint64_t k = 0; k < 4; k++)
		assert_int_equal(s.m[k].term, SMALL(k + 1));
	fakenode_close(s.f);
}

static void test_alias(void **state)
{
	struct seen s;
	struct signal_counts c;
	const struct beam_layout *l;
	raddr tuple, good, bad;

	(void)state;
	open_seen(&s, 27);
	l = &s.f->node.layout;
	tuple = image_alloc(s.f->im, 32);
	image_u64(s.f->im, tuple, 3 << 6);
	image_u64(s.f->im, tuple + 8, 0x4983);
	image_u64(s.f->im, tuple + 16, SMALL(7));
	bad = message(&s, SIGNAL(OP_ALIAS), 0);
	good = message(&s, SIGNAL(OP_ALIAS), bad);
	image_u64(s.f->im, good + (raddr)l->message_m + 16, tuple | 2);
	image_u64(s.f->im, bad + (raddr)l->message_m + 16, 0x10000 | 2);
	head(&s, l->process_sig_inq_first, good);
	c = walk(&s);
	assert_int_equal(c.messages, 2);
	assert_int_equal(c.alias, 2);
	assert_int_equal(c.undecoded, 1);
	assert_int_equal(s.m[0].term, SMALL(7));
	assert_int_equal(s.m[0].from, 0x4983);
	assert_true(s.m[0].alias);
	assert_int_equal(s.m[1].term, 0);
	fakenode_close(s.f);
}

static void test_fragments(void **state)
{
	struct seen s;
	const struct beam_layout *l;
	raddr apart, more, combined;

	(void)state;
	open_seen(&s, 25);
	l = &s.f->node.layout;
	more = image_alloc(s.f->im, (size_t)l->heap_frag_size);
	image_u64(s.f->im, more + (raddr)l->heap_frag_used_size, 100);
	image_u64(s.f->im, more + (raddr)l->heap_frag_alloc_size,
		  1000); /* of what another node sent */
	apart = image_alloc(s.f->im, (size_t)l->heap_frag_size);
	image_u64(s.f->im, apart + (raddr)l->heap_frag_used_size, 20);
	image_u64(s.f->im, apart + (raddr)l->heap_frag_next, more);
	combined = message(&s, SMALL(1), 0);
	image_u64(s.f->im, combined + (raddr)l->message_data, 1);
	image_u64(s.f->im, combined + (raddr)l->message_hfrag + (raddr)l->heap_frag_used_size, 5);
	head(&s, l->process_sig_qs_first, message(&s, SMALL(2), combined));
	image_u64(s.f->im, combined, message(&s, SMALL(3), 0));
	walk(&s);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.m[0].fragment, 0);
	assert_int_equal(s.m[0].words, 0);
	assert_int_equal(s.m[1].fragment, combined + (raddr)l->message_hfrag);
	assert_int_equal(s.m[1].words, 5);
	image_u64(s.f->im, s.m[2].addr + (raddr)l->message_data, apart);
	walk(&s);
	assert_int_equal(s.m[2].fragment, apart);
	assert_int_equal(s.m[2].words, 120);
	/* fragments that bite their tail */
	image_u64(s.f->im, more + (raddr)l->heap_frag_next, apart);
	walk(&s);
	assert_true(s.m[2].words >= 120);
	fakenode_close(s.f);
}

static void test_corrupt(void **state)
{
	struct seen s;
	struct signal_counts c;
	const struct beam_layout *l;
	raddr first, last;

	(void)state;
	open_seen(&s, 29);
	l = &s.f->node.layout;
	last = message(&s, SMALL(9), 0);
	first = last;
	for (uint64_t i = 8; i > 0; i--)
		first = message(&s, SMALL(i), first);
	head(&s, l->process_sig_qs_first, first);
	assert_int_equal(walk(&s).messages, 9);
	image_u64(s.f->im, last, first); /* a ring */
	c = walk(&s);
	assert_int_equal(c.unreadable, 1);
	assert_true(c.messages >= 9 && c.messages < 64);
	image_u64(s.f->im, last, last);
	assert_int_equal(walk(&s).unreadable, 1);
	image_u64(s.f->im, last, 0x123456000); /* nowhere */
	c = walk(&s);
	assert_int_equal(c.unreadable, 1);
	assert_int_equal(c.messages, 9);
	image_u64(s.f->im, last, first + 4);
	assert_int_equal(walk(&s).unreadable, 1);
	image_u64(s.f->im, last, 0);
	s.poke = s.process + (raddr)l->process_sig_qs_first;
	assert_true(walk(&s).moved);
	assert_int_equal(signals_walk(&s.f->node, s.f->node.mem, 0x1000, visit, &s, &c), -EFAULT);
	fakenode_close(s.f);
}

static void test_cached(void **state)
{
	struct seen s;
	struct mem *cached;
	uint64_t value, reads;
	raddr big, edge;

	(void)state;
	open_seen(&s, 29);
	big = image_alloc(s.f->im, 5 * 4096);
	big = (big + 4095) & ~(raddr)4095; /* four whole pages at least */
	for (raddr i = 0; i < 3 * 512; i++)
		image_u64(s.f->im, big + 8 * i, i);
	cached = mem_open_cached(s.f->node.mem);
	reads = image_reads(s.f->im);
	for (raddr i = 0; i < 3 * 512; i++) {
		assert_int_equal(mem_read_u64(cached, big + 8 * i, &value), 0);
		assert_int_equal(value, i);
	}
	assert_int_equal(image_reads(s.f->im) - reads, 3);
	image_u64(s.f->im, big, 77);
	assert_int_equal(mem_read_u64(cached, big, &value), 0);
	assert_int_equal(value, 0);
	mem_cached_forget(cached);
	assert_int_equal(mem_read_u64(cached, big, &value), 0);
	assert_int_equal(value, 77);
	/* across two pages */
	assert_int_equal(mem_read_u64(cached, big + 4092, &value), 0);
	assert_int_equal(value, 511ull >> 32 | 512ull << 32);
	/* a page of which only the begin is there, and one that is not */
	edge = image_alloc(s.f->im, 64);
	image_u64(s.f->im, edge + 56, 5);
	assert_int_equal(mem_read_u64(cached, edge + 56, &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(mem_read_u64(cached, edge + 60, &value), -EFAULT);
	assert_int_equal(mem_read_u64(cached, 0x1000, &value), -EFAULT);
	assert_int_equal(mem_read_u64(cached, ~0ull - 3, &value), -EFAULT);
	mem_close(cached);
	fakenode_close(s.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_alias),
		cmocka_unit_test(test_fragments), cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_cached),	  cmocka_unit_test(test_fetched_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
