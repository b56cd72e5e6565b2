/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of what the verifier sees: read, renewed for one kernel, compared. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "lib/verifier_baseline.h"

static bool read_text(struct baseline *b, const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	bool ok;

	assert_non_null(f);
	ok = baseline_read(b, f);
	fclose(f);
	return ok;
}

static struct baseline table(const char *text)
{
	struct baseline b = {0};

	assert_true(read_text(&b, text));
	return b;
}

#define TABLE                                                                                      \
	"# comment\n"                                                                              \
	"6.12\tevent_gc\t1000\t128\t40\n"                                                          \
	"6.1\tevent_gc\t900\t96\t30\n"                                                             \
	"6.1\tcode_changed\t0\t32\t3\n"

/* What is said of `now`; *failed are the programs. */
static char *said(const char *text, const char *now, unsigned int *failed, bool *known)
{
	struct baseline b = table(text), is = table(now);
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	*failed = baseline_compare(&b, &is, known, f);
	fclose(f);
	vec_free(&b.rows);
	vec_free(&is.rows);
	return out;
}

static void kernels(void **state)
{
	char text[16];

	UNUSED(state);
	baseline_kernel(text, sizeof(text), "6.1.0-41-amd64");
	assert_string_equal(text, "6.1");
	baseline_kernel(text, sizeof(text), "7.3");
	assert_string_equal(text, "7.3");
	baseline_kernel(text, sizeof(text), "6.17+deb14");
	assert_string_equal(text, "6.17");
	baseline_kernel(text, sizeof(text), "what");
	assert_string_equal(text, "what");
}

static void the_same_is_fine(void **state)
{
	unsigned int failed;
	bool known;
	char *out = said(TABLE, "6.1 event_gc 1125 120 37\n", &failed, &known);

	UNUSED(state);
	assert_true(known);
	assert_int_equal(failed, 0);
	assert_string_equal(out, "");
	free(out);
}

static void what_grew(void **state)
{
	unsigned int failed;
	bool known;
	char *out =
		said(TABLE, "6.1 event_gc 1126 121 38\n6.1 code_changed 0 32 3\n", &failed, &known);

	UNUSED(state);
	assert_true(known);
	assert_int_equal(failed, 1);
	assert_string_equal(out, "grew  event_gc: 1126 instructions, in the table for 6.1 900\n"
				 "grew  event_gc: 121 bytes of stack, in the table for 6.1 96\n"
				 "grew  event_gc: 38 states, in the table for 6.1 30\n");
	free(out);
	/* From nothing to anything. */
	free(said(TABLE, "6.1 code_changed 1 32 3\n", &failed, &known));
	assert_int_equal(failed, 1);
}

static void what_is_not_there(void **state)
{
	unsigned int failed;
	bool known;
	char *out = said(TABLE, "6.12 code_changed 1 1 1\n", &failed, &known);

	UNUSED(state);
	assert_true(known);
	assert_int_equal(failed, 1);
	assert_string_equal(out, "new  code_changed: not in the table for 6.12\n");
	free(out);
	out = said(TABLE, "7.3 code_changed 1 1 1\n", &failed, &known);
	assert_false(known);
	assert_int_equal(failed, 0);
	assert_string_equal(out, "");
	free(out);
}

static void renewed(void **state)
{
	struct baseline b = table(TABLE), fresh = table("6.1 b 1 2 3\n6.1 a 4 5 6\n5.10 c 7 8 9\n");
	char *out = NULL, *rows;
	struct baseline again = {0};
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	UNUSED(state);
	baseline_renew(&b, &fresh);
	baseline_write(&b, f);
	fclose(f);
	rows = strstr(out, "states\n");
	assert_non_null(rows);
	assert_string_equal(rows + strlen("states\n"), "5.10\tc\t7\t8\t9\n"
						       "6.1\ta\t4\t5\t6\n"
						       "6.1\tb\t1\t2\t3\n"
						       "6.12\tevent_gc\t1000\t128\t40\n");
	assert_true(read_text(&again, out));
	assert_int_equal(again.rows.len, 4);
	free(out);
	vec_free(&again.rows);
	vec_free(&b.rows);
	vec_free(&fresh.rows);
}

static void not_a_table(void **state)
{
	static const char *const texts[] = {"6.1 event_gc 1 2\n", "6.1 event_gc 1 2 3 4\n",
					    "6.1 event_gc 1 2 x\n",
					    "\x7f"
					    "ELF"};
	struct baseline b = {0};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		errno = 0;
		assert_false(read_text(&b, texts[i]));
		assert_int_equal(errno, EINVAL);
	}
	assert_int_equal(b.rows.len, 0);
	vec_free(&b.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels),   cmocka_unit_test(the_same_is_fine),
		cmocka_unit_test(what_grew), cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(renewed),   cmocka_unit_test(not_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
