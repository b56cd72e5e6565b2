/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Conditions on the arguments of a call that BPF tests before it copies them.  They are necessary:
 * a call that fails them does not match; one that fulfils them may still not.  Made from a pattern
 * by beam/match/call_test.c.
 *
 * Those of group 0 all hold; of the other groups, if there are any, one holds as a whole (guards
 * that `;` divides).  Tests of a group stand together, groups in ascending order.  Before a test on
 * an element stands one that says that the argument is a tuple; where that does not hold, what is
 * read as the element may be anything, or nothing (which fails).
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
	CALL_TEST_EQUAL = 1, /* the word is `value` */
	CALL_TEST_UNEQUAL,   /* it is not */
	CALL_TEST_TYPE,	     /* `value` has the bit of its enum call_test_type */
	/* It is boxed, and its header, masked with the high 32 bits of `value`, is the low 32. */
	CALL_TEST_HEADER,
	/* If it is a small integer, this holds between it and `value`, which is one too; signed. */
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
	uint64_t value;
};

/* ---- whether one holds, for BPF and for those who check it --------------------------------- */

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
		return 1; /* of another version */
	}
}

/* Any but CALL_TEST_HEADER, of the word that it is about. */
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

/* CALL_TEST_HEADER, of the header of a boxed term. */
static inline __attribute__((always_inline)) int call_test_header(uint64_t value, uint64_t header)
{
	return (header & value >> 32) == (uint32_t)value;
}

#endif
