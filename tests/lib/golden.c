/* SPDX-License-Identifier: BSD-2-Clause */
/* See golden.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

void golden_check(const char *path, const char *bytes, size_t size)
{
	char *whole = xasprintf("tests/golden/%s", path), *want;
	FILE *f;
	size_t n;

	if (getenv("REGOLDEN")) {
		f = fopen(whole, "w");
		assert_non_null(f);
		assert_int_equal(fwrite(bytes, 1, size, f), size);
		assert_int_equal(fclose(f), 0);
	}
	f = fopen(whole, "r");
	if (!f)
		fail_msg("cannot read %s: run the tests in the root of the repository", whole);
	want = xmalloc(size + 1);
	n = fread(want, 1, size + 1, f);
	if (n != size || memcmp(want, bytes, n) != 0)
		fail_msg("%s differs from:\n%.*s", whole, (int)size, bytes);
	fclose(f);
	free(want);
	free(whole);
}
