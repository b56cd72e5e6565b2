/* SPDX-License-Identifier: BSD-2-Clause */
/* Process dictionaries: found as pd_hash_get() finds, in every state of a growing table; processes
 * that are gone or collect; whatever cannot be a dictionary. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/dictionary.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define EPID	 0x2983ull
#define KEY(i)	 (((uint64_t)(i) << 6) | 0x0b) /* the atom with this index */
#define VALUE(i) (((uint64_t)(i) << 4) | 0xf)

struct dict {
	struct fakenode *f;
	raddr process, dictionary;
};

static int open_test(void **state)
{
	struct dict *d = calloc(1, sizeof(*d));
	const struct beam_layout *l;

	d->f = fakenode_open(27);
	l = &d->f->node.layout;
	d->process = image_alloc(d->f->im, (size_t)l->process_size);
	d->dictionary = image_alloc(d->f->im, 24 + 8 * 16);
	image_u64(d->f->im, d->process + (raddr)l->process_id, EPID);
	image_u64(d->f->im, d->process + (raddr)l->process_dictionary, d->dictionary);
	for (raddr i = 0; i < 16; i++)
		image_u64(d->f->im, d->dictionary + 24 + 8 * i, TERM_NIL);
	*state = d;
	return 0;
}

static int close_test(void **state)
{
	struct dict *d = *state;

	fakenode_close(d->f);
	free(d);
	return 0;
}

static void set_size(struct dict *d, uint32_t mask, uint32_t used)
{
	image_u32(d->f->im, d->dictionary, mask);
	image_u32(d->f->im, d->dictionary + 4, used);
}

static uint64_t pair(struct dict *d, uint64_t key, uint64_t value)
{
	raddr at = image_alloc(d->f->im, 24);

	image_u64(d->f->im, at, 2 << 6);
	image_u64(d->f->im, at + 8, key);
	image_u64(d->f->im, at + 16, value);
	return at | 2;
}

static uint64_t cons(struct dict *d, uint64_t head, uint64_t tail)
{
	raddr at = image_alloc(d->f->im, 16);

	image_u64(d->f->im, at, head);
	image_u64(d->f->im, at + 8, tail);
	return at | 1;
}

static void set_slot(struct dict *d, uint32_t slot, uint64_t term)
{
	image_u64(d->f->im, d->dictionary + 24 + 8ull * slot, term);
}

static int get(struct dict *d, uint64_t key, uint64_t *value)
{
	return dictionary_get(d->f->node.mem, &d->f->node.layout, d->process, EPID, key, value);
}

static void assert_value(struct dict *d, uint64_t key, uint64_t expect)
{
	uint64_t value = 1;

	assert_int_equal(get(d, key, &value), 0);
	assert_int_equal(value, expect);
}

static void test_slots(void **state)
{
	struct dict *d = *state;
	uint64_t chain;

	set_size(d, 15, 10); /* growing: slots 10 to 15 are still folded into 2 to 7 */
	set_slot(d, 3, pair(d, KEY(3), VALUE(1)));
	set_slot(d, 9, pair(d, KEY(25), VALUE(2)));
	set_slot(d, 4, pair(d, KEY(12), VALUE(3)));
	assert_value(d, KEY(3), VALUE(1));
	assert_value(d, KEY(25), VALUE(2));
	assert_value(d, KEY(12), VALUE(3));
	assert_value(d, KEY(19), 0); /* another key in slot 3 */
	assert_value(d, KEY(5), 0);  /* an empty slot */
	chain = cons(d, pair(d, KEY(6), VALUE(4)), cons(d, pair(d, KEY(22), VALUE(5)), TERM_NIL));
	set_slot(d, 6, chain);
	assert_value(d, KEY(6), VALUE(4));
	assert_value(d, KEY(22), VALUE(5));
	assert_value(d, KEY(38), 0);
}

static void test_no_dictionary(void **state)
{
	struct dict *d = *state;

	image_u64(d->f->im, d->process + (raddr)d->f->node.layout.process_dictionary, 0);
	assert_value(d, KEY(3), 0);
}

static void test_states(void **state)
{
	static const struct {
		uint32_t state;
		int rc;
	} cases[] = {{0, 0},
		     {0xa, 0},
		     {PSFLG_GC, -EAGAIN},
		     {PSFLG_EXITING, -ESRCH},
		     {PSFLG_FREE | PSFLG_GC, -ESRCH}};
	struct dict *d = *state;
	const struct beam_layout *l = &d->f->node.layout;
	uint64_t value;

	set_size(d, 15, 16);
	set_slot(d, 3, pair(d, KEY(3), VALUE(1)));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		image_u32(d->f->im, d->process + (raddr)l->process_state, cases[i].state);
		assert_int_equal(dictionary_readable(d->f->node.mem, l, d->process, EPID),
				 cases[i].rc);
		assert_int_equal(get(d, KEY(3), &value), cases[i].rc);
		assert_int_equal(value, cases[i].rc ? 0 : VALUE(1));
	}
	assert_int_equal(dictionary_readable(d->f->node.mem, l, d->process, EPID + 16), -ESRCH);
	assert_int_equal(dictionary_readable(d->f->node.mem, l, 0x1000, EPID), -EFAULT);
}

static void test_damage(void **state)
{
	struct dict *d = *state;
	uint64_t value, loop = cons(d, pair(d, KEY(1), VALUE(1)), TERM_NIL);
	const struct {
		uint64_t slot;
		int rc;
	} cases[] = {
		{VALUE(1), -EBADMSG},
		{KEY(3), -EBADMSG},
		{0, -EBADMSG},
		{0xdead0000 | 2, -EFAULT},
		{0xdead0000 | 1, -EFAULT},
		{cons(d, TERM_NIL, TERM_NIL), -EBADMSG},
		{cons(d, loop, TERM_NIL), -EBADMSG},
		{d->process | 2, -EBADMSG},
		{loop, -EBADMSG},
	};

	set_size(d, 15, 16);
	image_u64(d->f->im, (loop & ~7ull) + 8, loop);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		set_slot(d, 3, cases[i].slot);
		assert_int_equal(get(d, KEY(3), &value), cases[i].rc);
		assert_int_equal(value, 0);
	}
	set_size(d, UINT32_MAX, UINT32_MAX); /* far outside */
	assert_int_equal(get(d, KEY(100000), &value), -EFAULT);
}

static void test_faults(void **state)
{
	struct dict *d = *state;
	struct mem *whole = d->f->node.mem;
	uint64_t nth = 0, value;
	int rc;

	set_size(d, 15, 16);
	set_slot(d, 3,
		 cons(d, pair(d, KEY(19), VALUE(1)), cons(d, pair(d, KEY(3), VALUE(2)), TERM_NIL)));
	do {
		d->f->node.mem = mem_open_faulty(whole, 0, 0, ++nth);
		rc = get(d, KEY(3), &value);
		mem_close(d->f->node.mem);
		assert_true(rc == 0 || rc == -EFAULT);
		assert_int_equal(value, rc ? 0 : VALUE(2));
	} while (rc);
	d->f->node.mem = whole;
	assert_int_equal(nth, 10);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
	const struct CMUnitTest tests[] = {
		TEST(test_slots),  TEST(test_no_dictionary), TEST(test_states),
		TEST(test_damage), TEST(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
