/* SPDX-License-Identifier: BSD-2-Clause */
/* struct error: filled once, prefixed, never overflowing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/error.h"

static void test_set(void **state)
{
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(error_set(&err, ERROR_KIND_NO_NODE, -ESRCH, "pid %d is gone", 7), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	assert_int_equal(err.code, -ESRCH);
	assert_string_equal(err.msg, "pid 7 is gone");
	/* The code comes back even if nobody wants the text. */
	assert_int_equal(error_set(NULL, ERROR_KIND_FAILED, -EIO, "x"), -EIO);
}

static void test_prefix(void **state)
{
	struct error err = {0};

	UNUSED(state);
	error_prefix(&err, "no error yet");
	assert_string_equal(err.msg, "");
	error_prefix(NULL, "nobody");
	error_set(&err, ERROR_KIND_KERNEL, -EPERM, "refused");
	error_prefix(&err, "ring %d", 3);
	error_prefix(&err, "attach");
	assert_string_equal(err.msg, "attach: ring 3: refused");
	assert_int_equal(err.kind, ERROR_KIND_KERNEL);
	assert_int_equal(err.code, -EPERM);
}

static void test_long_texts(void **state)
{
	struct error err;
	char big[2 * sizeof(err.msg)];

	UNUSED(state);
	memset(big, 'x', sizeof(big));
	big[sizeof(big) - 1] = '\0';
	error_set(&err, ERROR_KIND_FAILED, -EIO, "%s", big);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	error_prefix(&err, "%s", "prefix");
	assert_true(strlen(err.msg) < sizeof(err.msg));
	assert_memory_equal(err.msg, "prefix: xxx", 11);
	error_prefix(&err, "%s", big);
	assert_true(strlen(err.msg) < sizeof(err.msg));
	assert_int_equal(err.msg[0], 'x');
}

static void test_text(void **state)
{
	UNUSED(state);
	assert_string_equal(error_text(-ENOENT), "No such file or directory");
	assert_string_equal(error_text(ENOENT), "No such file or directory");
	assert_string_equal(error_text(-99999), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
