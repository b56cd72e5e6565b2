/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON stream writer: what it writes, jansson reads back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/compiler.h"
#include "base/jsonw.h"

static json_t *parsed(struct jsonw *w)
{
	json_error_t error;
	json_t *json = json_loadb(w->buf.buf, w->buf.len, JSON_DECODE_ANY, &error);

	if (!json)
		fail_msg("%s at %d of %s", error.text, error.position, w->buf.buf);
	jsonw_finish(w);
	return json;
}

static void test_values(void **state)
{
	struct jsonw w = JSONW(NULL);
	struct strbuf text = STRBUF_INIT;
	json_t *json;

	UNUSED(state);
	jsonw_begin_object(&w, NULL);
	jsonw_text(&w, "no_text", &text);
	strbuf_addstr(&text, "words");
	jsonw_text(&w, "text", &text);
	assert_int_equal(text.len, 0);
	strbuf_free(&text);
	jsonw_null(&w, "null");
	jsonw_bool(&w, "yes", true);
	jsonw_int(&w, "low", INT64_MIN);
	jsonw_uint(&w, "high", INT64_MAX);
	jsonw_double(&w, "half", 0.5);
	jsonw_double(&w, "nan", NAN);
	jsonw_known(&w, "unknown", UINT64_MAX);
	jsonw_known(&w, "known", 7);
	jsonw_uint_if(&w, "unset", false, 8);
	jsonw_uint_if(&w, "set", true, 8);
	jsonw_string(&w, "none", NULL);
	jsonw_begin_array(&w, "empty");
	jsonw_end_array(&w);
	jsonw_begin_rows(&w, "rows");
	for (int i = 0; i < 3; i++) {
		jsonw_begin_array(&w, NULL);
		jsonw_int(&w, NULL, i);
		jsonw_int(&w, NULL, -i);
		jsonw_end_array(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	assert_non_null(strstr(w.buf.buf, "\n[1, -1],\n[2, -2]\n]"));
	json = parsed(&w);
	assert_true(json_is_null(json_object_get(json, "null")));
	assert_true(json_is_null(json_object_get(json, "no_text")));
	assert_string_equal(json_string_value(json_object_get(json, "text")), "words");
	assert_true(json_is_null(json_object_get(json, "unknown")));
	assert_true(json_integer_value(json_object_get(json, "known")) == 7);
	assert_true(json_is_null(json_object_get(json, "unset")));
	assert_true(json_integer_value(json_object_get(json, "set")) == 8);
	assert_true(json_is_true(json_object_get(json, "yes")));
	assert_true(json_integer_value(json_object_get(json, "low")) == INT64_MIN);
	assert_true(json_integer_value(json_object_get(json, "high")) == INT64_MAX);
	assert_true(json_real_value(json_object_get(json, "half")) == 0.5);
	assert_true(json_is_null(json_object_get(json, "nan")));
	assert_true(json_is_null(json_object_get(json, "none")));
	assert_int_equal(json_array_size(json_object_get(json, "empty")), 0);
	assert_int_equal(json_array_size(json_object_get(json, "rows")), 3);
	json_decref(json);
}

static void check_text(const char *text, size_t len, const char *want, size_t want_len)
{
	struct jsonw w = JSONW(NULL);
	json_error_t error;
	json_t *json;

	jsonw_stringn(&w, NULL, text, len);
	json = json_loadb(w.buf.buf, w.buf.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	assert_non_null(json);
	assert_int_equal(json_string_length(json), want_len);
	assert_memory_equal(json_string_value(json), want, want_len);
	json_decref(json);
	jsonw_finish(&w);
}

static void test_text(void **state)
{
	static const char *const same[] = {"",	"plain", "\"\\/\b\f\n\r\t\v\x1f\x7f",
					   "é", "日本",	 "\xf4\x8f\xbf\xbf"};
	static const char *const bad[] = {"\xff",
					  "\x80",
					  "\xc0\x80",
					  "\xe0\x80\x80",
					  "\xed\xa0\x80",
					  "\xf4\x90\x80\x80",
					  "\xf0\x80\x80\x80",
					  "\xc3"};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		check_text(same[i], strlen(same[i]), same[i], strlen(same[i]));
	check_text("a\0b", 3, "a\0b", 3);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char want[64] = "";

		/* each byte that is no character of its own is replaced */
		for (size_t k = 0; k < strlen(bad[i]); k++)
			strcat(want, "\xef\xbf\xbd");
		check_text(bad[i], strlen(bad[i]), want, strlen(want));
	}
}

static void test_stream(void **state)
{
	char *text = NULL;
	size_t size = 0, nr = 100000;
	FILE *f = open_memstream(&text, &size);
	struct jsonw w = JSONW(f);
	json_t *json;

	UNUSED(state);
	jsonw_begin_rows(&w, NULL);
	for (size_t i = 0; i < nr; i++) {
		jsonw_uint(&w, NULL, i);
		assert_true(w.buf.len < 70000); /* not kept */
	}
	jsonw_end_array(&w);
	assert_int_equal(jsonw_finish(&w), 0);
	fclose(f);
	json = json_loadb(text, size, 0, NULL);
	assert_int_equal(json_array_size(json), nr);
	assert_int_equal(json_integer_value(json_array_get(json, nr - 1)), nr - 1);
	json_decref(json);
	free(text);
}

static void test_write_error(void **state)
{
	FILE *f = fopen("/dev/full", "w");
	struct jsonw w = JSONW(f);

	UNUSED(state);
	setvbuf(f, NULL, _IONBF, 0);
	jsonw_string(&w, NULL, "x");
	assert_true(jsonw_finish(&w) < 0);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_write_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
