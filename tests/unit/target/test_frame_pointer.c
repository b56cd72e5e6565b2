/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instructions set up a frame pointer, and where it is there. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "target/frame_pointer.h"

#define CODE(...)                                                                                  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static const struct row {
	const char *what;
	enum frame_pointer expected;
	size_t at;
	bool exact;
	uint8_t code[32];
} rows[] = {
	/* push rbp; mov rbp,rsp; sub rsp,16; call; nop; leave; ret */
	{"in the body", FRAME_POINTER_SET, 12, false,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0, 0x90, 0xc9, 0xc3)},
	{"at leave", FRAME_POINTER_SET, 14, true,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0, 0x90, 0xc9, 0xc3)},
	{"at ret", FRAME_POINTER_POPPED, 15, true,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0, 0x90, 0xc9, 0xc3)},
	{"at the first instruction", FRAME_POINTER_NONE, 0, true,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x90, 0xc9, 0xc3)},
	{"at mov", FRAME_POINTER_NONE, 1, true, CODE(0x55, 0x48, 0x89, 0xe5, 0x90, 0xc9, 0xc3)},
	{"behind mov", FRAME_POINTER_SET, 4, true, CODE(0x55, 0x48, 0x89, 0xe5, 0x90, 0xc9, 0xc3)},
	/* endbr64; push rbp; mov edi,1; mov rbp,rsp; nop; pop rbp; vzeroupper; ret */
	{"other instructions between", FRAME_POINTER_SET, 13, true,
	 CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xbf, 1, 0, 0, 0, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc5,
	      0xf8, 0x77, 0xc3)},
	{"behind pop, before ret", FRAME_POINTER_POPPED, 15, true,
	 CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0xbf, 1, 0, 0, 0, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc5,
	      0xf8, 0x77, 0xc3)},
	/* push rbp; mov rbp,rsp; pop rbp; jmp 1000; or to the start */
	{"behind pop, before a tail call", FRAME_POINTER_POPPED, 5, true,
	 CODE(0x55, 0x48, 0x89, 0xe5, 0x5d, 0xe9, 0xde, 3, 0, 0)},
	{"a loop", FRAME_POINTER_SET, 4, true, CODE(0x55, 0x48, 0x89, 0xe5, 0xeb, 0xfa)},
	/* push rbp; push rbx; sub rsp,24; mov rbp,rsp: rbp holds the address of a local variable */
	{"mov of another rsp", FRAME_POINTER_NONE, 12, false,
	 CODE(0x55, 0x53, 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xe5, 0x90, 0x90, 0x90, 0xc3)},
	{"no frame pointer", FRAME_POINTER_NONE, 4, false,
	 CODE(0x48, 0x83, 0xec, 0x08, 0x90, 0xc3)},
	{"no code", FRAME_POINTER_NONE, 4, false, CODE(0x55, 0x06, 0x06, 0x06, 0x06)},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		enum frame_pointer got =
			frame_pointer_at(r->code, sizeof(r->code), r->at, r->exact);

		if (got != r->expected)
			fail_msg("%s: %d, not %d", r->what, got, r->expected);
	}
	assert_int_equal(frame_pointer_at(rows[0].code, 4, 4, true), FRAME_POINTER_NONE);
	assert_int_equal(frame_pointer_at(rows[0].code, 0, 0, true), FRAME_POINTER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
