/* SPDX-License-Identifier: BSD-2-Clause */
/* An answer of `ebeam msg` as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/msg_view.h"

static struct msg_row rows[] = {
	{"a", "b", {.messages = 40, .bytes = 4096, .messages_per_s = 20, .bytes_per_s = 2048}},
	{"b", "c", {.messages = 8, .without_size = 8, .messages_per_s = 4}},
};
static struct msg_box boxes[] = {
	{.pid = "<0.9.0>",
	 .name = "b",
	 .len = 2000,
	 .max_len = 2000,
	 .received = UINT64_MAX,
	 .growth = 1500,
	 .growth_per_s = 750,
	 .full_in_s = 61},
	{.pid = "<0.7.0>", .len = 100, .growth = -20, .growth_per_s = -10, .full_in_s = NAN},
};
static struct msg_node nodes[] = {{"[others]", 3}, {"x@y", 5}};
static const struct histogram no_sizes;

static struct msg_answer answer(void)
{
	return (struct msg_answer){
		.span_ns = 2000000000u,
		.share_seen = 1,
		.has_from = true,
		.has_to = true,
		.estimate = "48",
		.all = {.messages = 48, .messages_per_s = 24, .bytes = 4096, .bytes_per_s = 2048},
		.to_nodes = 8,
		.boxes_asked = true,
		.rows = rows,
		.boxes = boxes,
		.nodes = nodes,
		.nr_rows = ARRAY_SIZE(rows),
		.nr_boxes = ARRAY_SIZE(boxes),
		.nr_nodes = ARRAY_SIZE(nodes),
		.sizes = &no_sizes,
		.sizes_scale = 1,
	};
}

static void assert_text(const struct msg_answer *a, const struct table_options *o, bool json,
			const char *expected)
{
	struct page p;

	(json ? page_answer_json : page_answer)(&p, &msg_view, a, o);
	page_expect(&p, expected);
}

static void as_text(void **state)
{
	const struct msg_answer a = answer();
	const struct table_options o = {.limit = 1};

	UNUSED(state);
	assert_text(&a, &(struct table_options){0}, false,
		    "2.0 s  48 messages (24/s)  copied 4.0 KiB (2.0 KiB/s)  to other nodes 8\n"
		    "! mailbox of <0.9.0> b grows: 2,000 messages, +750/s, full in 1m01s\n"
		    "\n"
		    "MESSAGES   /S   COPIED  COPIED/S  FROM  TO\n"
		    "      40   20  4.0 KiB   2.0 KiB  a     b\n"
		    "       8  4.0        -         -  b     c\n"
		    "\n"
		    "Mailboxes\n"
		    "  LENGTH  GROWTH    /S  FULL IN  CAME  PID      NAME\n"
		    "   2,000  +1,500  +750    1m01s     0  <0.9.0>  b\n"
		    "     100     -20   -10        -     0  <0.7.0>  -\n"
		    "\n"
		    "To other nodes\n"
		    "           5  x@y\n"
		    "           3  [others]\n");
	assert_text(&a, &o, false,
		    "2.0 s  48 messages (24/s)  copied 4.0 KiB (2.0 KiB/s)  to other nodes 8\n"
		    "! mailbox of <0.9.0> b grows: 2,000 messages, +750/s, full in 1m01s\n"
		    "\n"
		    "MESSAGES  /S   COPIED  COPIED/S  FROM  TO\n"
		    "      40  20  4.0 KiB   2.0 KiB  a     b\n"
		    "(1 of 2; -n shows more)\n"
		    "\n"
		    "Mailboxes\n"
		    "  LENGTH  GROWTH    /S  FULL IN  CAME  PID      NAME\n"
		    "   2,000  +1,500  +750    1m01s     0  <0.9.0>  b\n"
		    "(1 of 2; -n shows more)\n"
		    "\n"
		    "To other nodes\n"
		    "           5  x@y\n"
		    "(1 of 2; -n shows more)\n");
}

/* What has no size is "-" for people, and counted in JSON. */
static void as_json(void **state)
{
	struct msg_answer a = answer();

	UNUSED(state);
	a.has_to = false;
	a.nr_boxes = a.nr_nodes = 1;
	assert_text(&a, &(struct table_options){.sort = "-messages", .limit = 1}, true,
		    "{\"duration_ns\": 2000000000, \"share_seen\": 1, \"by\": null, "
		    "\"rows_of\": null, \"messages\": 48, \"bytes\": 4096, \"without_size\": 0, "
		    "\"overflows\": 0, \"lost_mailboxes\": 0, \"rows\": [{\"messages\": 8, "
		    "\"messages_per_s\": 4, \"from\": \"b\", \"bytes\": 0, "
		    "\"bytes_per_s\": 0, \"without_size\": 8}], \"mailboxes\": [{"
		    "\"message_queue_len\": 2000, \"max_message_queue_len\": 2000, "
		    "\"growth\": 1500, \"growth_per_s\": 750, \"full_in_s\": 61, \"queued\": 0, "
		    "\"queued_bytes\": 0, \"received\": null, \"pid\": \"<0.9.0>\", "
		    "\"name\": \"b\"}], \"nodes\": [{\"node\": \"[others]\", \"messages\": 3}], "
		    "\"size_words\": {\"count\": 0, \"sum\": 0, \"min\": 0, \"p50\": 0, "
		    "\"p90\": 0, \"p99\": 0, \"p999\": 0, \"max\": 0, "
		    "\"buckets\": []}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("msg_view", tests, NULL, NULL);
}
