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

#include "base/strbuf.h"
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

static char *read_all(const char *path)
{
	struct strbuf all = STRBUF_INIT;
	FILE *f = fopen(path, "r");
	char piece[4096];
	size_t n;

	if (!f)
		fail_msg("cannot read %s: run the tests in the root of the repository", path);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		strbuf_add(&all, piece, n);
	fclose(f);
	return strbuf_detach(&all, NULL);
}

void golden_check_section(const char *path, const char *name, const char *text)
{
	char *begin = xasprintf("<!-- %s -->\n", name),
	     *end = xasprintf("<!-- end of %s -->\n", name);
	char *all = read_all(path), *from = strstr(all, begin),
	     *to = from ? strstr(from, end) : NULL;
	char *want;
	FILE *f;

	if (!to)
		fail_msg("%s has no section %s", path, name);
	from += strlen(begin);
	want = xasprintf("%.*s%s%s", (int)(from - all), all, text, to);
	if (getenv("REGOLDEN")) {
		f = fopen(path, "w");
		assert_non_null(f);
		assert_true(fputs(want, f) >= 0);
		assert_int_equal(fclose(f), 0);
	} else if (strcmp(want, all) != 0) {
		fail_msg("%s: the section %s is not:\n%s", path, name, text);
	}
	free(want);
	free(all);
	free(begin);
	free(end);
}
