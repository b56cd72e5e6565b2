/* SPDX-License-Identifier: BSD-2-Clause */
/* Carriers of which little is in use, and who has their blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "beam/vm/sparse_carriers.h"

static const struct allocator heaps = {.type = "eheap_alloc"};

static void add(struct sparse_carriers *s, raddr address, uint64_t size,
		const struct carrier_extent *extents, uint64_t nr)
{
	struct carrier c = {.owner = &heaps,
			    .address = address,
			    .size = size,
			    .blocks = nr,
			    .extents = extents};

	for (uint64_t i = 0; extents && i < nr; i++)
		c.blocks_size += extents[i].size;
	sparse_add(s, &c);
}

static bool hold(struct sparse_carriers *s, raddr addr, uint32_t holder, struct sparse_sum *sums)
{
	struct sparse_place at;

	if (!sparse_find(s, addr, &at))
		return false;
	sparse_hold(s, &at, holder, &sums[holder]);
	return true;
}

static void holders_of_blocks(void **state)
{
	static const struct carrier_extent first[] = {{0x1010, 0x100}, {0x1200, 0x80}},
					   full[] = {{0x3010, 0xf00}}, second[] = {{0x5010, 0x200}},
					   none[] = {{0, 0}};
	struct sparse_carriers s = SPARSE_CARRIERS_INIT;
	struct sparse_sum sums[3] = {{0}};

	UNUSED(state);
	add(&s, 0x5000, 0x1000, second, 1);
	add(&s, 0x3000, 0x1000, full, 1); /* not one of them */
	add(&s, 0x1000, 0x1000, first, 2);
	add(&s, 0x7000, 0x1000, none, 0);
	add(&s, 0x9000, 0x1000, NULL, 7); /* its blocks are not known */
	sparse_order(&s);
	assert_int_equal(s.v.len, 3);
	assert_true(hold(&s, 0x1010, 0, sums));
	assert_true(hold(&s, 0x1090, 0, sums)); /* the same block */
	assert_true(hold(&s, 0x110f, 1, sums)); /* another holder of it */
	assert_true(hold(&s, 0x1010, 0, sums));
	assert_true(hold(&s, 0x1010, 1, sums));
	assert_true(hold(&s, 0x5020, 1, sums));
	assert_false(hold(&s, 0x1110, 1, sums)); /* free */
	assert_false(hold(&s, 0x1000, 1, sums)); /* the head of the carrier */
	assert_false(hold(&s, 0x3020, 1, sums));
	assert_false(hold(&s, 0x6000, 1, sums));
	assert_false(hold(&s, 0x7010, 1, sums));
	assert_false(hold(&s, 0x10, 1, sums));
	for (size_t i = 0; i < s.v.len; i++)
		if (s.v.data[i].held < s.v.data[i].nr)
			sparse_rest(&s, &s.v.data[i], 2, &sums[2]);
	sparse_sums(&s, sums, 3);
	assert_int_equal(sums[0].blocks, 1);
	assert_int_equal(sums[0].blocks_size, 0x100);
	assert_int_equal(sums[0].carriers, 1);
	assert_int_equal(sums[0].unused, 0x1000 - 0x180);
	assert_int_equal(sums[0].alone, 0);
	assert_int_equal(sums[1].blocks, 2);
	assert_int_equal(sums[1].blocks_size, 0x300);
	assert_int_equal(sums[1].carriers, 2);
	assert_int_equal(sums[1].size, 0x2000);
	assert_int_equal(sums[1].alone, 1);
	assert_int_equal(sums[2].blocks, 1);
	assert_int_equal(sums[2].blocks_size, 0x80);
	assert_int_equal(sums[2].carriers, 1);
	sparse_free(&s);
}

static void carriers_without_blocks(void **state)
{
	static const struct carrier_extent none[] = {{0, 0}};
	struct sparse_carriers s = SPARSE_CARRIERS_INIT;
	struct sparse_place at;

	UNUSED(state);
	sparse_order(&s);
	assert_false(sparse_find(&s, 0x1010, &at));
	add(&s, 0x1000, 0x1000, none, 0);
	sparse_order(&s);
	assert_int_equal(s.v.len, 1);
	assert_false(sparse_find(&s, 0x1010, &at));
	sparse_sums(&s, NULL, 0);
	sparse_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(holders_of_blocks),
					   cmocka_unit_test(carriers_without_blocks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
