/* SPDX-License-Identifier: BSD-2-Clause */
/* beam/process/binary_use: bytes of binaries that words of a heap refer to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/binary_use.h"

#define BOXED(addr)  ((addr) | 2)
#define HEADER(n, s) ((uint64_t)(n) << 6 | (s))
#define SUB_BIN	     HEADER(3, SUBTAG_SUB_BIN)
#define SUB_BITS     HEADER(4, SUBTAG_SUB_BITS)

/* Two references to binaries: up to OTP 26 with the part that they are. */
static const struct off_heap_place places_26[] = {{0x1000, 0xa000, 0xa020, 5000},
						  {0x2000, 0xb000, 0xb020, 100}};
static const struct off_heap_place places_27[] = {{0x1000, 0xa000, 0, 0}, {0x2000, 0xb000, 0, 0}};

#define CHECK(otp, places, a, b, ...)                                                              \
	do {                                                                                       \
		const uint64_t words[] = {__VA_ARGS__};                                            \
		struct binary_use *u = binary_use_new(otp, places, 2);                             \
                                                                                                   \
		binary_use_words(u, words, ARRAY_SIZE(words));                                     \
		assert_int_equal(binary_use_of(u, 0xa000, 5000), a);                               \
		assert_int_equal(binary_use_of(u, 0xb000, 4000), b);                               \
		assert_int_equal(binary_use_of(u, 0xc000, 4000), 0);                               \
		binary_use_free(u);                                                                \
	} while (0)

static void up_to_26(void **state)
{
	UNUSED(state);
	/* Nothing refers to them: as much as the objects have. */
	CHECK(26, places_26, 5000, 100, TERM_NIL);
	/* A sub-binary of 80 bytes; one of 10 bytes and 3 bits. */
	CHECK(26, places_26, 80, 11, SUB_BIN, 80, 20, 0, BOXED(0x1000), TERM_NIL, SUB_BIN, 10, 0, 3,
	      BOXED(0x2000));
	/* Parts that overlap, or are equal, count once. */
	CHECK(26, places_26, 150, 100, SUB_BIN, 100, 0, 0, BOXED(0x1000), SUB_BIN, 100, 50, 0,
	      BOXED(0x1000), SUB_BIN, 100, 50, 0, BOXED(0x1000));
	/* A part, and the whole one in a list. */
	CHECK(26, places_26, 5000, 100, SUB_BIN, 80, 20, 0, BOXED(0x1000), BOXED(0x1000), TERM_NIL);
	/* A match context from byte 100 on, of 2,000 bits, of which two bytes are matched. */
	CHECK(26, places_26, 248, 100, HEADER(5, SUBTAG_FUN_REF), BOXED(0x1000), 0xa020 + 100, 16,
	      2000, 0);
	/* A sub-binary of another one. */
	CHECK(26, places_26, 5000, 100, SUB_BIN, 80, 20, 0, BOXED(0x3000));
}

static void since_27(void **state)
{
	UNUSED(state);
	CHECK(27, places_27, 5000, 4000, TERM_NIL);
	CHECK(27, places_27, 80, 4000, SUB_BITS, 0xa020 | 1, 8 * 20, 8 * 100, BOXED(0x1000));
	/* Part of a byte counts as one. */
	CHECK(27, places_27, 2, 1, SUB_BITS, 0xa020, 7, 9, BOXED(0x1000), SUB_BITS, 0xb020, 1, 3,
	      BOXED(0x2000));
	/* A boxed term that is no sub-binary says nothing. */
	CHECK(27, places_27, 80, 4000, SUB_BITS, 0xa020, 0, 8 * 80, BOXED(0x1000), BOXED(0x1000));
	/* An end before the beginning is no part: all of it. */
	CHECK(27, places_27, 5000, 4000, SUB_BITS, 0xa020, 8000, 10, BOXED(0x1000));
}

static void at_the_end_of_the_words(void **state)
{
	UNUSED(state);
	/* An object that is not whole is none. */
	CHECK(26, places_26, 5000, 100, TERM_NIL, SUB_BIN, 80, 20, 0);
	CHECK(27, places_27, 5000, 4000, TERM_NIL, SUB_BITS, 0xa020, 0, 80);
	CHECK(27, places_27, 10, 4000, SUB_BITS, 0xa020, 0, 80, BOXED(0x1000));
	CHECK(27, places_27, 10, 4000, 1, 1, 1, SUB_BITS, 0xa020, 0, 80, BOXED(0x1000));
	/* The last word is the binary itself. */
	CHECK(26, places_26, 5000, 100, SUB_BIN, 80, 20, 0, BOXED(0x1000), BOXED(0x1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_to_26),
		cmocka_unit_test(since_27),
		cmocka_unit_test(at_the_end_of_the_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
