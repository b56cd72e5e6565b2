/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON object around the data of every command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/compiler.h"
#include "cmd/output/envelope.h"

static int write_one(FILE *f, const char *command, const struct envelope_node *node,
		     const char *warning, struct error *err)
{
	const struct envelope_counter counters[] = {{"lost", 7}};
	struct jsonw w = JSONW(f);

	envelope_begin(&w, command, node);
	jsonw_begin_array(&w, "data");
	jsonw_end_array(&w);
	return envelope_end(&w, &warning, warning ? 1 : 0, counters, ARRAY_SIZE(counters), err);
}

static json_t *round_trip(const char *command, const struct envelope_node *node,
			  const char *warning)
{
	struct error err = {0};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_error_t parse_error;
	json_t *json;

	assert_int_equal(write_one(f, command, node, warning, &err), 0);
	fclose(f);
	assert_int_equal(text[len - 1], '\n');
	json = json_loads(text, JSON_REJECT_DUPLICATES, &parse_error);
	assert_non_null(json);
	free(text);
	return json;
}

static void all_fields(void **state)
{
	static const char *const fields[] = {"schema", "tool", "version",  "command", "node",
					     "time",   "data", "warnings", "counters"};
	const struct envelope_node node = {
		.os_pid = 4711, .name = "a@b", .otp = "27", .flavor = ""};
	json_t *json = round_trip("list", &node, "careful"), *sub;
	size_t i = 0;
	const char *key;

	UNUSED(state);
	json_object_foreach(json, key, sub) assert_string_equal(key, fields[i++]);
	assert_int_equal(i, ARRAY_SIZE(fields));
	assert_int_equal(json_integer_value(json_object_get(json, "schema")), 1);
	assert_string_equal(json_string_value(json_object_get(json, "tool")), "ebeam");
	assert_string_equal(json_string_value(json_object_get(json, "command")), "list");
	assert_int_equal(strlen(json_string_value(json_object_get(json, "time"))), 20);
	sub = json_object_get(json, "node");
	assert_int_equal(json_integer_value(json_object_get(sub, "os_pid")), 4711);
	assert_string_equal(json_string_value(json_object_get(sub, "name")), "a@b");
	assert_true(json_is_null(json_object_get(sub, "erts")));
	assert_true(json_is_null(json_object_get(sub, "flavor")));
	sub = json_object_get(json, "warnings");
	assert_int_equal(json_array_size(sub), 1);
	sub = json_object_get(json, "counters");
	assert_int_equal(json_integer_value(json_object_get(sub, "lost")), 7);
	json_decref(json);
}

static void without_a_node(void **state)
{
	json_t *json = round_trip("doctor", NULL, NULL);

	UNUSED(state);
	assert_true(json_is_null(json_object_get(json, "node")));
	assert_int_equal(json_array_size(json_object_get(json, "warnings")), 0);
	json_decref(json);
}

static void strings_of_a_node_become_utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"plain", "plain"},
		{"\xc3\xa4", "\xc3\xa4"},
		{"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
		{"a\xff\xc3", "a\xef\xbf\xbd\xef\xbf\xbd"},
		{"\xf0\x9f\x90\x87\xfe", "\xf0\x9f\x90\x87\xef\xbf\xbd"},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct envelope_node node = {.name = cases[i].in};
		json_t *json = round_trip("ps", &node, NULL);

		assert_string_equal(
			json_string_value(json_object_get(json_object_get(json, "node"), "name")),
			cases[i].out);
		json_decref(json);
	}
}

static void a_full_disk_is_an_error(void **state)
{
	struct error err = {0};
	FILE *f = fopen("/dev/full", "w");

	UNUSED(state);
	setvbuf(f, NULL, _IONBF, 0);
	assert_int_equal(write_one(f, "list", NULL, NULL, &err), -ENOSPC);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fields),
		cmocka_unit_test(without_a_node),
		cmocka_unit_test(strings_of_a_node_become_utf8),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
