/* SPDX-License-Identifier: BSD-2-Clause */
/* Typed columns: text, order and JSON of each type, known and not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "view/table/column.h"

struct thing {
	const char *name;
	bool flag;
	uint8_t small;
	uint32_t count;
	uint64_t bytes, ns;
	double rate, share, percent;
	struct table_name atom;
	struct table_list list;
};

static double twice(const void *row)
{
	return 2.0 * ((const struct thing *)row)->small;
}

static double none(const void *row)
{
	UNUSED(row);
	return NAN;
}

static double tebibyte(const void *row)
{
	UNUSED(row);
	return (double)(1ull << 40) + 1;
}

static void text_own(struct strbuf *out, const void *row, const void *ctx)
{
	strbuf_addf(out, "%s%s", (const char *)ctx, ((const struct thing *)row)->name);
}

static void json_own(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_uint(w, name, ((const struct thing *)row)->small);
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	assert_null(name);
	jsonw_bool(w, "more", ((const struct thing *)row)->flag);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct thing, member)

enum {
	NAME,
	FLAG,
	SMALL,
	COUNT,
	BYTES,
	NS,
	RATE,
	SHARE,
	PERCENT,
	PART,
	TWICE,
	OWN,
	OWN_JSON,
	NO_FLAG,
	NO_COUNT,
	LARGE,
	TORN,
	ATOM,
	ID,
	LIST
};

static const struct table_column columns[] = {
	[NAME] = {FIELD("name", "NAME", TEXT, name)},
	[FLAG] = {FIELD("flag", "FLAG", FLAG, flag)},
	[SMALL] = {FIELD("small", "SMALL", COUNT, small)},
	[COUNT] = {FIELD("count", "COUNT", COUNT, count)},
	[BYTES] = {FIELD("bytes", "BYTES", BYTES, bytes)},
	[NS] = {FIELD("ns", "NS", NS, ns)},
	[RATE] = {FIELD("rate", "RATE", RATE, rate)},
	[SHARE] = {FIELD("share", "SHARE", SHARE, share)},
	[PERCENT] = {FIELD("percent", "PERCENT", PERCENT, percent)},
	[PART] = {FIELD("part", "PART", PART, percent)},
	[TWICE] = {TABLE_NUMBER("twice", "TWICE", COUNT, twice)},
	[OWN] = {"own", "OWN", .text = text_own},
	[OWN_JSON] = {"own_json", "OWN JSON", .text = text_own, .json = json_own},
	[NO_FLAG] = {TABLE_NUMBER("no_flag", "NO FLAG", FLAG, none)},
	[NO_COUNT] = {TABLE_NUMBER("no_count", "NO COUNT", COUNT, none)},
	[LARGE] = {TABLE_NUMBER("large", "LARGE", BYTES, tebibyte)},
	[TORN] = {FIELD("torn", "TORN", TEXT, name), .torn = offsetof(struct thing, flag)},
	[ATOM] = {FIELD("atom", "ATOM", NAME, atom)},
	[ID] = {FIELD("id", "ID", ID, count)},
	[LIST] = {FIELD("list", "LIST", LIST, list)},
	{.json = json_more},
};

static const char *names[] = {"a", "b"};

static const struct thing known = {
	.name = "pear",
	.flag = true,
	.small = 7,
	.count = 1234567,
	.bytes = 1536,
	.ns = 12300,
	.rate = 0.25,
	.share = 0.123,
	.percent = 99.95,
	.atom = {"Elixir.Enum", 11},
	.list = {2, names},
};
static const struct thing unknown = {
	.small = UINT8_MAX,
	.count = UINT32_MAX,
	.bytes = UINT64_MAX,
	.ns = UINT64_MAX,
	.rate = NAN,
	.share = NAN,
	.percent = NAN,
};

static void expect(int column, const struct thing *row, const char *want)
{
	struct strbuf text = STRBUF_INIT;

	table_cell(&columns[column], &text, row, "own ");
	assert_string_equal(text.buf, want);
	strbuf_free(&text);
}

static void cells_show_each_type(void **state)
{
	UNUSED(state);
	expect(NAME, &known, "pear");
	expect(FLAG, &known, "yes");
	expect(SMALL, &known, "7");
	expect(COUNT, &known, "1,234,567");
	expect(BYTES, &known, "1.5 KiB");
	expect(NS, &known, "12.3 us");
	expect(RATE, &known, "0.2");
	expect(SHARE, &known, "12.3%");
	expect(PERCENT, &known, "100.0");
	expect(PART, &known, "100.0%");
	expect(TWICE, &known, "14");
	expect(OWN, &known, "own pear");
	expect(TORN, &known, "pear~");
	expect(ATOM, &known, "Enum");
	expect(ID, &known, "1234567");
	expect(ID, &unknown, "");
	expect(LIST, &known, "2");
	expect(TORN, &(const struct thing){.name = "pear"}, "pear");
}

static void what_is_not_known_is_empty(void **state)
{
	UNUSED(state);
	for (int i = NAME; i <= PART; i++)
		expect(i, &unknown, i == FLAG ? "no" : "");
}

static void numbers_are_right_texts_left(void **state)
{
	UNUSED(state);
	for (int i = NAME; i <= OWN_JSON; i++)
		assert_int_equal(table_is_right(&columns[i]), i >= SMALL && i <= TWICE);
}

static void largest_first_unknown_last(void **state)
{
	struct thing less = known;

	UNUSED(state);
	less.flag = false;
	less.small--;
	less.count--;
	less.bytes--;
	less.ns--;
	less.rate = less.share = less.percent = -1;
	for (int i = FLAG; i <= TWICE; i++) {
		const struct table_column *c = &columns[i];

		assert_false(table_compares_text(c));
		assert_true(table_compare(c, &known, &less) < 0);
		assert_true(table_compare(c, &less, &known) > 0);
		assert_int_equal(table_compare(c, &known, &known), 0);
		if (i == TWICE)
			continue;
		assert_true(table_compare(c, &known, &unknown) < 0);
		assert_int_equal(table_compare(c, &unknown, &unknown), 0);
	}
	assert_true(table_compares_text(&columns[NAME]));
	assert_true(table_compares_text(&columns[OWN]));
}

/* Beyond what a double tells apart. */
static void large_numbers_keep_their_order(void **state)
{
	struct thing a = known, b = known;

	UNUSED(state);
	a.bytes = 1ull << 60;
	b.bytes = (1ull << 60) + 1;
	assert_true(table_compare(&columns[BYTES], &b, &a) < 0);
	a.count = 9007199;
	expect(COUNT, &a, "9,007,199");
	b.count = a.count + 1;
	assert_true(table_compare(&columns[ID], &a, &b) < 0);
	assert_true(table_compare(&columns[ID], &b, &unknown) < 0);
	assert_true(table_compares_text(&columns[ATOM]));
}

static char *json_of(const struct thing *row)
{
	struct jsonw w = JSONW(NULL);
	char *text;

	jsonw_begin_object(&w, NULL);
	table_json_fields(columns, &w, row, "");
	jsonw_end_object(&w);
	text = strdup(w.buf.buf);
	strbuf_free(&w.buf);
	return text;
}

static void json_has_every_column(void **state)
{
	char *a = json_of(&known), *b;

	UNUSED(state);
	assert_non_null(strstr(a, "\"name\": \"pear\""));
	assert_non_null(strstr(a, "\"flag\": true"));
	assert_non_null(strstr(a, "\"small\": 7"));
	assert_non_null(strstr(a, "\"count\": 1234567"));
	assert_non_null(strstr(a, "\"bytes\": 1536"));
	assert_non_null(strstr(a, "\"ns\": 12300"));
	assert_non_null(strstr(a, "\"rate\": 0.25"));
	assert_non_null(strstr(a, "\"share\": 0.123"));
	assert_non_null(strstr(a, "\"percent\": 99.95"));
	assert_non_null(strstr(a, "\"part\": 99.95"));
	assert_non_null(strstr(a, "\"twice\": 14"));
	assert_non_null(strstr(a, "\"own\": \"pear\""));
	assert_non_null(strstr(a, "\"own_json\": 7"));
	assert_non_null(strstr(a, "\"no_flag\": null"));
	assert_non_null(strstr(a, "\"no_count\": null"));
	assert_non_null(strstr(a, "\"large\": 1099511627777"));
	assert_non_null(strstr(a, "\"torn\": \"pear\""));
	assert_non_null(strstr(a, "\"atom\": \"Elixir.Enum\""));
	assert_non_null(strstr(a, "\"id\": 1234567"));
	assert_non_null(strstr(a, "\"list\": [\"a\", \"b\"]"));
	assert_non_null(strstr(a, "\"more\": true"));
	b = json_of(&(const struct thing){.name = ""});
	assert_non_null(strstr(b, "\"name\": null"));
	assert_non_null(strstr(b, "\"atom\": null"));
	assert_non_null(strstr(b, "\"list\": []"));
	free(b);
	b = json_of(&unknown);
	for (int i = NAME; i <= PART; i++) {
		char want[64];

		snprintf(want, sizeof(want), "\"%s\": %s", columns[i].name,
			 i == FLAG ? "false" : "null");
		assert_non_null(strstr(b, want));
	}
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_show_each_type),
		cmocka_unit_test(what_is_not_known_is_empty),
		cmocka_unit_test(numbers_are_right_texts_left),
		cmocka_unit_test(largest_first_unknown_last),
		cmocka_unit_test(large_numbers_keep_their_order),
		cmocka_unit_test(json_has_every_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
