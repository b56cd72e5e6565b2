/* SPDX-License-Identifier: BSD-2-Clause */
/* A call and how it ended as lines of text and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "view/trace/line_view.h"

static void expect(void (*add)(struct strbuf *out, const struct trace_line *l),
		   const struct trace_line *l, const char *want)
{
	struct strbuf text = STRBUF_INIT;

	add(&text, l);
	assert_string_equal(text.buf, want);
	strbuf_free(&text);
}

static void calls_and_ends(void **state)
{
	struct names *names;
	uint32_t function;
	struct trace_line l = {.terms = {{"a", 1}, {"[1,2]..", 5}}, .nr_terms = 2, .cpu = 3};

	UNUSED(state);
	names = names_open();
	function = names_intern_function(names, names_intern_string(names, "lists", 5, NULL),
					 names_intern_string(names, "map", 3, NULL), 2,
					 FRAME_ERLANG, NULL);
	l.names = names;
	l.function = names_function(names, function);
	expect(trace_line_add_args, &l, "(a, [1,2])");
	expect(trace_line_add_text, &l, "00:00:00.000000  -             lists:map(a, [1,2])\n");
	l.has_stack = true;
	l.untested = "as OTP 29";
	expect(trace_line_add_json, &l,
	       "{\"ts_ns\": 0, \"pid\": null, \"registered_name\": null, \"kind\": \"call\", "
	       "\"mfa\": \"lists:map/2\", \"cpu\": 3, \"args\": [\"a\", \"[1,2]\"], "
	       "\"caller\": null, \"file\": null, \"line\": null, \"stack\": [], "
	       "\"truncated\": false, \"untested\": \"as OTP 29\"}\n");

	l = (struct trace_line){.kind = TRACE_LINE_RETURN,
				.function = l.function,
				.terms = {{"ok", 2}},
				.nr_terms = 1,
				.truncated = true,
				.called_ns = 7,
				.duration_ns = 3040};
	expect(trace_line_add_text, &l,
	       "00:00:00.000000  -             lists:map/2 -> ok  (3.04 us)\n");
	expect(trace_line_add_json, &l,
	       "{\"ts_ns\": 0, \"pid\": null, \"registered_name\": null, \"kind\": \"return\", "
	       "\"mfa\": \"lists:map/2\", \"result\": \"ok\", \"duration_ns\": 3040, "
	       "\"tracing_ns\": 0, \"called_ns\": 7, \"truncated\": true}\n");

	l.kind = TRACE_LINE_EXCEPTION;
	l.class = "error";
	l.unsure_ns = 5000;
	expect(trace_line_add_text, &l,
	       "00:00:00.000000  -             lists:map/2 !! error:?  (<5.00 us)\n");
	expect(trace_line_add_json, &l,
	       "{\"ts_ns\": 0, \"pid\": null, \"registered_name\": null, "
	       "\"kind\": \"exception\", \"mfa\": \"lists:map/2\", \"class\": \"error\", "
	       "\"result\": null, \"duration_ns\": 3040, \"tracing_ns\": 0, "
	       "\"called_ns\": 7}\n");
	names_close(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_and_ends),
	};

	return cmocka_run_group_tests_name("line_view", tests, NULL, NULL);
}
