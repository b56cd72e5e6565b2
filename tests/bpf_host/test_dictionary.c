/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Process dictionaries as the VM keeps them (erl_process_dict.c): linear hashing, a slot is nil, a
 * tuple or a list of tuples.  What cannot be read is not the same as what is not there.
 */
#include "abi/vm.h"
#include "node.h"

#define KEY	TERM_ATOM(0x321)
#define OTHER	TERM_ATOM(0x322)
#define VALUE	TERM_SMALL(4711)
#define UNKNOWN 0xdeadull /* what the caller had before */

static uint64_t next_term;

static struct dictionary_key key_of(uint64_t hash)
{
	return (struct dictionary_key){.term = KEY, .hash = hash};
}

static void build(uint32_t size_mask, uint32_t used)
{
	next_term = NODE_TERMS;
	host_add_memory(NODE_PDICT, DICTIONARY_DATA + 8ull * used);
	host_put_u32(NODE_PDICT, size_mask);
	host_put_u32(NODE_PDICT + 4, used);
	for (uint32_t i = 0; i < used; i++)
		host_put_u64(NODE_PDICT + DICTIONARY_DATA + 8ull * i, TERM_NIL);
}

static void set_slot(uint32_t ix, uint64_t term)
{
	host_put_u64(NODE_PDICT + DICTIONARY_DATA + 8ull * ix, term);
}

/* Terms of `nr` words, at the next free place; `tag` 1 = list, 2 = boxed. */
static uint64_t new_term(uint64_t tag, const uint64_t *words, uint32_t nr)
{
	uint64_t at = next_term;

	for (uint32_t i = 0; i < nr; i++)
		host_put_u64(at + 8ull * i, words[i]);
	next_term += 8ull * nr;
	return at | tag;
}

static uint64_t new_pair(uint64_t key, uint64_t value)
{
	return new_term(2, (uint64_t[]){HEADER_TUPLE(2), key, value}, 3);
}

static uint64_t new_cell(uint64_t head, uint64_t tail)
{
	return new_term(1, (uint64_t[]){head, tail}, 2);
}

/* A chain of `length` pairs with ours at place `at`, counted from 1; 0 = nowhere. */
static uint64_t new_chain(uint32_t length, uint32_t at)
{
	uint64_t list = TERM_NIL;

	for (uint32_t i = length; i >= 1; i--)
		list = new_cell(new_pair(i == at ? KEY : OTHER, i == at ? VALUE : TERM_SMALL(i)),
				list);
	return list;
}

static bool get(uint64_t hash, uint64_t *value)
{
	struct dictionary_key key = key_of(hash);

	*value = UNKNOWN;
	host.reads = 0;
	return dictionary_get(NODE_PDICT, &key, value);
}

static void assert_found(uint64_t hash)
{
	uint64_t value;

	assert_true(get(hash, &value));
	assert_int_equal(value, VALUE);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

static void assert_absent(uint64_t hash)
{
	uint64_t value;

	assert_true(get(hash, &value));
	assert_int_equal(value, 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* ---- found and not found ------------------------------------------------------------------ */

static void one_tuple(void **unused)
{
	(void)unused;
	build(15, 10);
	set_slot(7, new_pair(KEY, VALUE));
	assert_found(7);
	assert_found(0xabcd1237ull);
	assert_absent(6);
	assert_absent(8);
}

static void absent(void **unused)
{
	struct dictionary_key none = {0};
	uint64_t value = UNKNOWN;

	(void)unused;
	build(15, 10);
	set_slot(3, new_pair(OTHER, VALUE));
	assert_absent(3);
	/* No dictionary; an atom that the node does not have. */
	assert_true(dictionary_get(0, &none, &value));
	assert_int_equal(value, 0);
	value = UNKNOWN;
	assert_true(dictionary_get(NODE_PDICT, &none, &value));
	assert_int_equal(value, 0);
}

/* A slot that is not in use yet: its content is still in the one that will be split. */
static void folded_slot(void **unused)
{
	(void)unused;
	build(15, 10);
	set_slot(3, new_pair(KEY, VALUE));
	assert_found(3);
	assert_found(11); /* 11 >= 10: folds to 3 */
	set_slot(2, new_pair(OTHER, VALUE));
	assert_absent(10); /* 10 >= 10: folds to 2 */
	set_slot(9, new_pair(KEY, VALUE));
	assert_found(9); /* 9 < 10: stays */
}

static void chains(void **unused)
{
	(void)unused;
	build(15, 16);
	for (uint32_t length = 1; length <= DICTIONARY_MAX_CHAIN; length++) {
		for (uint32_t at = 1; at <= length; at++) {
			set_slot(5, new_chain(length, at));
			assert_found(5);
		}
		set_slot(5, new_chain(length, 0));
		assert_absent(5);
	}
}

/* Longer than we follow: found where it stands early, else unknown, not absent. */
static void longer_chain(void **unused)
{
	uint64_t value;

	(void)unused;
	build(15, 16);
	set_slot(5, new_chain(DICTIONARY_MAX_CHAIN + 2, DICTIONARY_MAX_CHAIN));
	assert_found(5);
	set_slot(5, new_chain(DICTIONARY_MAX_CHAIN + 2, DICTIONARY_MAX_CHAIN + 1));
	assert_false(get(5, &value));
	assert_int_equal(value, UNKNOWN);
	assert_int_equal(host.reads, 2 + 2 * DICTIONARY_MAX_CHAIN);
}

/* A list that leads to itself ends at the bound. */
static void circular_chain(void **unused)
{
	uint64_t value, cell;

	(void)unused;
	build(15, 16);
	cell = new_cell(new_pair(OTHER, VALUE), TERM_NIL);
	host_put_u64(cell - 1 + 8, cell);
	set_slot(5, cell);
	assert_false(get(5, &value));
	assert_int_equal(host.reads, 2 + 2 * DICTIONARY_MAX_CHAIN);
}

/* Keys that look alike: a pair of another arity, a pair in a literal area. */
static void kinds_of_tuples(void **unused)
{
	uint64_t three[] = {HEADER_TUPLE(3), KEY, VALUE, VALUE};

	(void)unused;
	build(0, 1);
	set_slot(0, new_term(2, three, 4));
	assert_absent(0);
	set_slot(0, new_pair(KEY, VALUE) | 4);
	assert_found(0);
	set_slot(0, new_cell(new_pair(KEY, VALUE) | 4, TERM_NIL) | 4);
	assert_found(0);
	/* What never stands in a slot. */
	set_slot(0, TERM_SMALL(3));
	assert_absent(0);
	set_slot(0, new_cell(TERM_SMALL(3), TERM_NIL));
	assert_absent(0);
	set_slot(0, 0);
	assert_absent(0);
}

/* ---- unreadable --------------------------------------------------------------------------- */

static void every_read_fails(void **unused)
{
	(void)unused;
	build(15, 16);
	for (uint32_t at = 1; at <= DICTIONARY_MAX_CHAIN; at++) {
		uint64_t value, reads;

		set_slot(5, new_chain(DICTIONARY_MAX_CHAIN, at));
		host.fail_read = 0;
		assert_true(get(5, &value));
		reads = host.reads;
		assert_int_equal(reads, 2 + 2 * at);
		for (uint64_t n = 1; n <= reads; n++) {
			uint64_t faults = counter(COUNTER_READ_FAULT);

			host.fail_read = n;
			assert_false(get(5, &value));
			assert_int_equal(value, UNKNOWN);
			assert_int_equal(counter(COUNTER_READ_FAULT), faults + 1);
			assert_int_equal(host.reads, n);
		}
	}
}

/* Pointers into nowhere, and a header that makes no sense. */
static void damaged(void **unused)
{
	uint64_t value;

	(void)unused;
	build(15, 16);
	set_slot(5, BOXED_AT(0x10));
	assert_false(get(5, &value));
	set_slot(5, LIST_AT(0xfffffffffffffff8ull));
	assert_false(get(5, &value));
	set_slot(5, new_cell(BOXED_AT(NODE_TERMS + 4096 - 16), TERM_NIL)); /* over the edge */
	assert_false(get(5, &value));
	host_put_u32(NODE_PDICT, 0xffffffff);
	host_put_u32(NODE_PDICT + 4, 0xffffffff);
	assert_false(get(0x12345678, &value));
	assert_int_equal(value, UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(one_tuple),	    NODE_TEST(absent),		 NODE_TEST(folded_slot),
		NODE_TEST(chains),	    NODE_TEST(longer_chain),	 NODE_TEST(circular_chain),
		NODE_TEST(kinds_of_tuples), NODE_TEST(every_read_fails), NODE_TEST(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
