/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditions on the arguments of a call, tested by BPF before it copies them.  They are necessary,
 * not sufficient: a call that fails them does not match the pattern.  Made from a pattern by
 * beam/match/call_test.c.
 *
 * A call passes if all tests of group 0 hold and, if there are other groups (guards that `;`
 * divides), all tests of one of them.  Tests of a group are adjacent, groups in ascending order.
 * A test on an element of an argument comes after the test that the argument is a tuple.  A test
 * fails if the word that it needs cannot be read.
 *
 * Tags: erl_term.h, OTP 25 to 29.
 */
#ifndef EBEAM_ABI_CALL_TEST_H
#define EBEAM_ABI_CALL_TEST_H

#ifndef __bpf__
#include <stdint.h>
#endif

#include "abi/vm.h"

#define CALL_TESTS_MAX 24

enum call_test_op {
	CALL_TEST_EQUAL = 1, /* the word equals `value` */
	CALL_TEST_UNEQUAL,   /* the word differs from `value` */
	CALL_TEST_TYPE,	     /* the bit of the word's enum call_test_type is set in `value` */
	/* Boxed, and header & (high 32 bits of `value`) equals the low 32 bits. */
	CALL_TEST_HEADER,
	/* Hold for every term that is no small integer, and for a small integer that compares so
	 * with `value`, a small integer too: as signed, tagged words. */
	CALL_TEST_SMALL_EQ,
	CALL_TEST_SMALL_NE,
	CALL_TEST_SMALL_LT,
	CALL_TEST_SMALL_LE,
	CALL_TEST_SMALL_GT,
	CALL_TEST_SMALL_GE,
};

enum call_test_type {
	CALL_TYPE_ATOM,	 /* TERM_IS_ATOM(word) */
	CALL_TYPE_SMALL, /* word & 0x0f == 0x0f */
	CALL_TYPE_PID,	 /* word & 0x0f == 0x03; of this node */
	CALL_TYPE_PORT,	 /* word & 0x0f == 0x07; of this node */
	CALL_TYPE_NIL,	 /* word == TERM_NIL */
	CALL_TYPE_CONS,	 /* word & 3 == 1 */
	CALL_TYPE_BOXED, /* word & 3 == 2 */
	CALL_TYPE_OTHER,
};

struct call_test {
	uint8_t arg;	/* 0 = the first */
	uint8_t op;	/* enum call_test_op */
	int8_t element; /* -1: the argument itself; 0 .. 127: that element of the tuple, from 0 */
	uint8_t group;
	uint32_t unused;
	uint64_t value; /* operand of `op` */
};

/* ---- evaluation, for BPF and for tests ----------------------------------------------------- */

static inline __attribute__((always_inline)) uint32_t call_test_type_of(uint64_t word)
{
	if (TERM_IS_ATOM(word))
		return CALL_TYPE_ATOM;
	if (TERM_IS_LIST(word))
		return CALL_TYPE_CONS;
	if (TERM_IS_BOXED(word))
		return CALL_TYPE_BOXED;
	if (word == TERM_NIL)
		return CALL_TYPE_NIL;
	switch (word & 0xf) {
	case 0xf:
		return CALL_TYPE_SMALL;
	case 0x3:
		return CALL_TYPE_PID;
	case 0x7:
		return CALL_TYPE_PORT;
	default:
		return CALL_TYPE_OTHER;
	}
}

static inline __attribute__((always_inline)) int call_test_small(uint32_t op, int64_t a, int64_t b)
{
	switch (op) {
	case CALL_TEST_SMALL_EQ:
		return a == b;
	case CALL_TEST_SMALL_NE:
		return a != b;
	case CALL_TEST_SMALL_LT:
		return a < b;
	case CALL_TEST_SMALL_LE:
		return a <= b;
	case CALL_TEST_SMALL_GT:
		return a > b;
	case CALL_TEST_SMALL_GE:
		return a >= b;
	default:
		return 1; /* an unknown operation excludes no call */
	}
}

/* Whether `word` passes a test; not for CALL_TEST_HEADER. */
static inline __attribute__((always_inline)) int call_test_word(uint32_t op, uint64_t value,
								uint64_t word)
{
	switch (op) {
	case CALL_TEST_EQUAL:
		return word == value;
	case CALL_TEST_UNEQUAL:
		return word != value;
	case CALL_TEST_TYPE:
		return (int)(value >> call_test_type_of(word) & 1);
	default:
		return (word & 0xf) != 0xf || call_test_small(op, (int64_t)word, (int64_t)value);
	}
}

/* Whether the header word of a boxed term passes CALL_TEST_HEADER. */
static inline __attribute__((always_inline)) int call_test_header(uint64_t value, uint64_t header)
{
	return (header & value >> 32) == (uint32_t)value;
}

#endif
