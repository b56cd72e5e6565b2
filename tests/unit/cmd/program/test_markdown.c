/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of doc/: blocks, marks, tables in columns and row by row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cmd/program/markdown.h"

static void blocks_of_each_kind(void **state)
{
	static const char page[] =
		"<!-- a place -->\n# ebeam-x: what it is\n\n## Part\ntwo\nlines\n"
		"- an item,\n  further\n- another\n\n    as it\n\n    stands\n"
		"### Less\n| a | b |\n|---|---|\n| 1 | 2 |\nafter\n";
	static const struct {
		enum markdown_kind kind;
		const char *text;
	} want[] = {
		{MARKDOWN_COMMENT, "a place"},
		{MARKDOWN_TITLE, "ebeam-x: what it is"},
		{MARKDOWN_SECTION, "Part"},
		{MARKDOWN_PARAGRAPH, "two\nlines"},
		{MARKDOWN_ITEM, "an item,\n  further"},
		{MARKDOWN_ITEM, "another"},
		{MARKDOWN_LITERAL, "    as it\n\n    stands"},
		{MARKDOWN_PART, "Less"},
		{MARKDOWN_TABLE, "| a | b |\n|---|---|\n| 1 | 2 |"},
		{MARKDOWN_PARAGRAPH, "after"},
	};
	const char *at = page;
	struct markdown_block b;

	UNUSED(state);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(markdown_next(&at, &b));
		assert_int_equal(b.kind, want[i].kind);
		assert_int_equal(b.len, strlen(want[i].text));
		assert_memory_equal(b.text, want[i].text, b.len);
	}
	assert_false(markdown_next(&at, &b));
}

static void check_plain(const char *text, const char *want)
{
	struct strbuf out = STRBUF_INIT;

	markdown_plain(&out, text, strlen(text));
	assert_string_equal(out.buf, want);
	strbuf_free(&out);
}

static void marks_are_taken_away(void **state)
{
	UNUSED(state);
	check_plain("`ps` and `ps -s x`, **bold `w`**", "ps and 'ps -s x', bold w");
	check_plain("`trace 'a b'` is quoted already; a * b",
		    "trace 'a b' is quoted already; a * b");
	check_plain("an open ` stays as text", "an open  stays as text");
}

static void read_table(struct markdown_table *t, const char *text)
{
	struct markdown_block b = {MARKDOWN_TABLE, text, strlen(text)};

	markdown_table_read(t, &b);
}

static void tables_in_columns(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct markdown_table t;

	UNUSED(state);
	read_table(&t,
		   "| a | what |\n|---|---|\n| `x \\| y` | one two three four five six |\n| z | |");
	assert_int_equal(t.nr_rows, 3);
	assert_int_equal(t.nr_columns, 2);
	assert_true(markdown_table_layout(&t, 79, &out));
	assert_string_equal(out.buf, "a        what\n'x | y'  one two three four five six\nz\n");
	strbuf_reset(&out);
	assert_true(markdown_table_layout(&t, 30, &out));
	assert_string_equal(out.buf, "a        what\n\n'x | y'  one two three four\n"
				     "         five six\n\nz\n");
	strbuf_reset(&out);
	assert_false(markdown_table_layout(&t, 20, &out));
	assert_int_equal(out.len, 0);
	strbuf_free(&out);
	markdown_table_free(&t);
}

static void rows_by_themselves(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct markdown_table t;

	UNUSED(state);
	read_table(&t, "| kind | 25 | 27 | 29 | what | note |\n|---|---|---|---|---|---|\n"
		       "| `gc` | yes | yes | no | a collection | |");
	markdown_table_details(&t, 1, &out);
	assert_string_equal(out.buf, "25, 27: yes\n29: no\nwhat: a collection\n");
	strbuf_free(&out);
	markdown_table_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_each_kind),
		cmocka_unit_test(marks_are_taken_away),
		cmocka_unit_test(tables_in_columns),
		cmocka_unit_test(rows_by_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
