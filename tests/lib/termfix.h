/* SPDX-License-Identifier: BSD-2-Clause */
/* Terms in a node that does not run, and a reader of them. */
#ifndef EBEAM_TESTS_TERMFIX_H
#define EBEAM_TESTS_TERMFIX_H

#include <stddef.h>

#include "beam/term/term_read.h"
#include "lib/fakenode.h"

#define SMALL(n) (((uint64_t)(int64_t)(n) << 4) | 0xf)

struct fixture {
	struct fakenode *f;
	struct term_formats formats;
	struct term_reader r;
};

/* Set-up and teardown of a test: *state is a struct fixture of that release. */
int open_24(void **state);
int open_25(void **state);
int open_26(void **state);
int open_27(void **state);
int open_28(void **state);
int open_29(void **state);
int close_test(void **state);

/* Words in memory that nothing else has; where they stand, as an address and as a term. */
raddr words(struct fixture *t, const uint64_t *w, size_t nr);
uint64_t cons(struct fixture *t, uint64_t head, uint64_t tail);
uint64_t atom(struct fixture *t, const char *text);
#define WORDS(t, ...) words(t, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
#define BOXED(t, ...) (WORDS(t, __VA_ARGS__) | 2)
#define TUPLE(t, ...) BOXED(t, (sizeof((uint64_t[]){__VA_ARGS__}) / 8) << 6, __VA_ARGS__)

/* A row of a struct CMUnitTest[]: the test with a fixture of that release, or of each. */
#define TEST(name, otp)                                                                            \
	{                                                                                          \
#name " " #otp, name, open_##otp, close_test, NULL                                 \
	}
#define TEST_ALL(name)                                                                             \
	TEST(name, 24), TEST(name, 25), TEST(name, 26), TEST(name, 27), TEST(name, 28),            \
		TEST(name, 29)

#endif
