/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON and speedscope, parsed back and against goldens. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "lib/exportfix.h"

static void test_json(void **state)
{
	struct snapfix *f = exportfix_profile(false, SNAPSHOT_BY_NAME);
	struct output o = exportfix_write("json", snapfix_snapshot(f));
	json_t *top = exportfix_parse(&o), *data = json_object_get(top, "data"), *item;
	const char *key;
	uint64_t kinds = 0;

	(void)state;
	exportfix_check_golden("small.json", &o);
	exportfix_check_envelope(top);
	assert_int_equal(json_integer_value(json_object_get(data, "samples")), 21);
	assert_int_equal(json_integer_value(json_object_get(data, "complete")), 20);
	assert_int_equal(exportfix_sum(json_object_get(data, "stacks"), "count"), 21);
	assert_int_equal(exportfix_sum(json_object_get(data, "processes"), "samples"), 18);
	assert_int_equal(exportfix_sum(json_object_get(data, "functions"), "self"),
			 20); /* 1 has none */
	json_object_foreach(json_object_get(data, "by_kind"), key, item) kinds +=
		(uint64_t)json_integer_value(item);
	assert_int_equal(kinds, 21);
	json_decref(top);
	free(o.bytes);
	snapfix_close(f);
}

static void test_json_without_meta(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	struct output o = exportfix_write("json", snapfix_snapshot(f));
	json_t *top = exportfix_parse(&o);

	(void)state;
	assert_true(json_is_null(json_object_get(top, "time")));
	assert_true(json_is_null(json_object_get(json_object_get(top, "node"), "os_pid")));
	assert_int_equal(json_array_size(json_object_get(top, "warnings")), 0);
	json_decref(top);
	free(o.bytes);
	snapfix_close(f);
}

static void test_speedscope(void **state)
{
	struct snapfix *f = exportfix_profile(false, SNAPSHOT_BY_NAME);
	struct output o = exportfix_write("speedscope", snapfix_snapshot(f));
	json_t *top = exportfix_parse(&o),
	       *profile = json_array_get(json_object_get(top, "profiles"), 0);
	const json_t *frames = json_object_get(json_object_get(top, "shared"), "frames");
	const json_t *samples = json_object_get(profile, "samples"), *stack, *frame;
	size_t i, j;

	(void)state;
	exportfix_check_golden("small.speedscope", &o);
	assert_string_equal(exportfix_string(profile, "type"), "sampled");
	assert_string_equal(exportfix_string(profile, "unit"), "none");
	assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), 21);
	assert_int_equal(exportfix_sum(json_object_get(profile, "weights"), NULL), 21);
	assert_int_equal(json_array_size(samples),
			 json_array_size(json_object_get(profile, "weights")));
	json_array_foreach(samples, i, stack)
	{
		json_array_foreach(stack, j, frame)
			assert_true((size_t)json_integer_value(frame) < json_array_size(frames));
	}
	json_decref(top);
	free(o.bytes);
	snapfix_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_without_meta),
		cmocka_unit_test(test_speedscope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
