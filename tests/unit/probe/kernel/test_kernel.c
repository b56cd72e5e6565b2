/* SPDX-License-Identifier: BSD-2-Clause */
/* Machine code of programs with a stack per CPU is known from others'. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "probe/kernel/kernel.h"

/* As Linux 6.18 makes it: endbr64; nop; push %rbp; mov %rsp,%rbp; movabs $STACK,%r9;
 * add %gs:OFFSET,%r9. */
static const uint8_t private_code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0x00,
				       0x00, 0x55, 0x48, 0x89, 0xe5, 0x49, 0xb9, 0x10,
				       0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe, 0x65,
				       0x4c, 0x03, 0x0c, 0x25, 0x00, 0x10, 0x20, 0x30};

static void private_stacks(void **unused)
{
	uint8_t code[sizeof(private_code)];

	(void)unused;
	assert_true(kernel_uses_private_stack(private_code, sizeof(private_code)));
	/* The look-up of an element of a map per CPU adds to rax: add %gs:OFFSET,%rax. */
	memcpy(code, private_code, sizeof(code));
	code[24] = 0x48;
	code[26] = 0x04;
	assert_false(kernel_uses_private_stack(code, sizeof(code)));
	for (size_t size = 0; size < 28; size++)
		assert_false(kernel_uses_private_stack(private_code, size));
	assert_true(kernel_uses_private_stack(private_code, 28));
}

/* What is no program has no stack that could be known. */
static void no_program(void **unused)
{
	(void)unused;
	assert_int_equal(kernel_program_stack(-1), KERNEL_STACK_UNKNOWN);
	assert_int_equal(kernel_program_stack(0), KERNEL_STACK_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_stacks),
		cmocka_unit_test(no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
