/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of BIFs -> work that the whole node took part in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "event/event.h"
#include "model/stats/node_wide.h"
#include "model/stream/event_stream.h"

enum { COLLECTOR = 1, PURGER, CLIENT, OTHER };
enum { SWITCH = 1, PUT, PURGE, FLAG, OWN, STUB, CALLER };

struct stage {
	struct event_stream stream;
	struct node_wide wide;
	uint64_t now_ns;
};

static void define(struct names *n, uint32_t id, const char *module, const char *name)
{
	uint32_t text = 2 * id + 1;

	assert_int_equal(names_define_string(n, text, module, strlen(module)), 0);
	assert_int_equal(names_define_string(n, text + 1, name, strlen(name)), 0);
	assert_int_equal(names_define_function(n, id, text, text + 1, 2, FRAME_BIF), 0);
	assert_int_equal(names_define_frame(n, id, id, 0, 0), 0);
}

static void open_stage(struct stage *s)
{
	*s = (struct stage){.now_ns = 1000};
	event_stream_open(&s->stream);
	assert_int_equal(names_define_string(s->stream.names, 1, "<0.1.0>", 7), 0);
	assert_int_equal(names_define_string(s->stream.names, 2, "", 0), 0);
	define(s->stream.names, SWITCH, "erts_literal_area_collector", "release_area_switch");
	define(s->stream.names, PUT, "persistent_term", "put");
	define(s->stream.names, PURGE, "erts_internal", "purge_module");
	define(s->stream.names, FLAG, "erlang", "system_flag");
	define(s->stream.names, OWN, "erts_literal_area_collector", "switch_area");
	define(s->stream.names, STUB, "global", "bif_element_shared");
	define(s->stream.names, CALLER, "my", "caller");
	for (uint32_t id = COLLECTOR; id <= OTHER; id++)
		assert_int_equal(names_define_process(s->stream.names, id, 16 * id + 3, 1, 0, 0, 0),
				 0);
	node_wide_open(&s->wide, &s->stream);
}

static void close_stage(struct stage *s)
{
	node_wide_close(&s->wide);
	event_stream_close(&s->stream);
}

/* 100 ns after the last one. */
static void take(struct stage *s, struct event *ev, const char *a, const char *b)
{
	const char *terms[] = {a, b};
	char bytes[128];
	uint32_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(terms) && terms[i]; i++) {
		uint32_t len = (uint32_t)strlen(terms[i]);

		memcpy(bytes + size, &len, sizeof(len));
		memcpy(bytes + size + sizeof(len), terms[i], len);
		size += (uint32_t)sizeof(len) + len;
		ev->u.call.nr_terms++;
	}
	ev->type = REC_CALL;
	ev->ts_ns = s->now_ns += 100;
	ev->u.call.terms = bytes;
	ev->u.call.terms_size = size;
	node_wide_take(&s->wide, ev);
}

static void call(struct stage *s, uint32_t process, uint32_t function, uint32_t from, const char *a,
		 const char *b)
{
	struct event ev = {.u.call = {.kind = CALL_KIND_CALL,
				      .process = process,
				      .function = function,
				      .caller = from}};

	take(s, &ev, a, b);
}

static void returned(struct stage *s, uint32_t process, const char *value)
{
	struct event ev = {.u.call = {.kind = CALL_KIND_RETURN, .process = process}};

	ev.u.call.flags = value ? 0 : CALL_GOES_ON;
	take(s, &ev, value, NULL);
}

static void assert_count(const struct stage *s, enum node_wide_work work, uint64_t nr,
			 uint64_t total_ns, uint64_t max_ns)
{
	const struct node_wide_count *c = &s->wide.work[work];

	assert_int_equal(c->nr, nr);
	assert_int_equal(c->total_ns, total_ns);
	assert_int_equal(c->max_ns, max_ns);
}

static void test_literal_areas(void **state)
{
	const struct node_wide_count *c;
	unsigned int others = 0, clients = 0;
	struct stage s;

	UNUSED(state);
	open_stage(&s);
	c = &s.wide.work[NODE_WIDE_LITERALS];
	call(&s, CLIENT, PUT, CALLER, "key", "value");
	call(&s, CLIENT, PUT, CALLER, "other", "value");
	call(&s, COLLECTOR, SWITCH, OWN, NULL, NULL);
	returned(&s, COLLECTOR, NULL);
	call(&s, OTHER, PUT, CALLER, "key", "value");
	assert_count(&s, NODE_WIDE_LITERALS, 0, 0, 0);
	call(&s, COLLECTOR, SWITCH, OWN, NULL, NULL);
	assert_count(&s, NODE_WIDE_LITERALS, 1, 300, 300);
	returned(&s, COLLECTOR, NULL);
	call(&s, COLLECTOR, SWITCH, OWN, NULL, NULL);
	assert_count(&s, NODE_WIDE_LITERALS, 2, 500, 300);
	returned(&s, COLLECTOR, NULL);
	/* It calls itself; the last area is released only then. */
	call(&s, COLLECTOR, SWITCH, STUB, NULL, NULL);
	returned(&s, COLLECTOR, "false");
	assert_count(&s, NODE_WIDE_LITERALS, 2, 800, 500);
	assert_int_equal(c->since_ns, 0);
	/* Nothing was there. */
	call(&s, COLLECTOR, SWITCH, OWN, NULL, NULL);
	returned(&s, COLLECTOR, "false");
	assert_count(&s, NODE_WIDE_LITERALS, 2, 800, 500);
	node_wide_order(&s.wide);
	/* By process and by key; all have been asked for once. */
	assert_int_equal(c->askers.len, 3);
	for (int i = 0; i < 3; i++) {
		const struct node_wide_asker *asker = &c->askers.data[i];

		assert_string_equal(asker->what, "persistent_term:put/2");
		assert_int_equal(asker->function, CALLER);
		assert_int_equal(asker->nr, 1);
		others += strcmp(asker->key, "other") == 0;
		clients += asker->process == CLIENT;
	}
	assert_int_equal(others, 1);
	assert_int_equal(clients, 2);
	close_stage(&s);
}

static void test_purges(void **state)
{
	const struct node_wide_count *c, *areas;
	struct stage s;

	UNUSED(state);
	open_stage(&s);
	c = &s.wide.work[NODE_WIDE_PURGE];
	areas = &s.wide.work[NODE_WIDE_LITERALS];
	call(&s, PURGER, PURGE, CALLER, "none", "prepare");
	returned(&s, PURGER, "false"); /* no old code */
	call(&s, PURGER, PURGE, CALLER, "used", "prepare");
	returned(&s, PURGER, NULL);
	call(&s, PURGER, PURGE, CALLER, "used", "abort");
	returned(&s, PURGER, "false");
	assert_count(&s, NODE_WIDE_PURGE, 0, 0, 0);
	for (int i = 0; i < 2; i++) { /* tried again */
		call(&s, PURGER, PURGE, CALLER, "m", "prepare");
		returned(&s, PURGER, NULL);
	}
	for (int i = 0; i < 2; i++) {
		call(&s, PURGER, PURGE, CALLER, "m", "complete");
		returned(&s, PURGER, i ? "true" : NULL);
	}
	assert_count(&s, NODE_WIDE_PURGE, 1, 700, 700);
	assert_int_equal(c->askers.len, 1);
	assert_string_equal(c->askers.data[0].what, "m");
	assert_int_equal(areas->askers.len, 1);
	assert_string_equal(areas->askers.data[0].what, "purge of m");
	close_stage(&s);
}

static void test_blocks(void **state)
{
	const struct node_wide_count *c;
	struct stage s;

	UNUSED(state);
	open_stage(&s);
	c = &s.wide.work[NODE_WIDE_BLOCK];
	call(&s, CLIENT, FLAG, CALLER, "scheduler_wall_time", "true");
	returned(&s, CLIENT, "enabled");
	assert_int_equal(s.wide.blockers.len, 0);
	call(&s, CLIENT, FLAG, CALLER, "multi_scheduling", "block");
	returned(&s, CLIENT, "blocked");
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "block_normal");
	returned(&s, OTHER, "blocked");
	assert_int_equal(s.wide.blockers.len, 2);
	assert_int_equal(s.wide.blockers.data[0].epid, 16 * CLIENT + 3);
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "unblock_normal");
	returned(&s, OTHER, "blocked"); /* still, by the first */
	call(&s, CLIENT, FLAG, CALLER, "multi_scheduling", "unblock");
	returned(&s, CLIENT, "enabled");
	assert_count(&s, NODE_WIDE_BLOCK, 1, 700, 700);
	assert_int_equal(s.wide.blockers.len, 0);
	/* By one that ended, over the end of an interval. */
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "block_normal");
	node_wide_restart(&s.wide, s.now_ns + 50);
	assert_count(&s, NODE_WIDE_BLOCK, 0, 0, 0);
	assert_string_equal(c->askers.data[c->askers.len - 1].what, "block_normal");
	assert_int_equal(c->askers.len, 1);
	node_wide_blocker_ended(&s.wide, 16 * OTHER + 3, s.now_ns + 80);
	assert_count(&s, NODE_WIDE_BLOCK, 1, 30, 30);
	/* By two, of which one ends: the other goes on blocking. */
	node_wide_restart(&s.wide, s.now_ns + 90);
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "block");
	call(&s, CLIENT, FLAG, CALLER, "multi_scheduling", "block");
	node_wide_blocker_ended(&s.wide, 16 * OTHER + 3, s.now_ns + 10);
	assert_count(&s, NODE_WIDE_BLOCK, 0, 0, 0);
	node_wide_blocker_ended(&s.wide, 16 * CLIENT + 3, s.now_ns + 20);
	assert_int_equal(c->nr, 1);
	/* Lost events may have been its end. */
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "block");
	s.stream.counters[COUNTER_EVENTS_LOST]++;
	call(&s, CLIENT, PUT, CALLER, "key", "value");
	assert_int_equal(c->since_ns, 0);
	/* Not watched for a while: nobody knows when that one ended. */
	call(&s, OTHER, FLAG, CALLER, "multi_scheduling", "block");
	s.stream.calls.tripped = 1;
	s.stream.calls.share_ppm = 500000;
	call(&s, CLIENT, PUT, CALLER, "key", "value");
	assert_int_equal(s.wide.blockers.len, 0);
	assert_int_equal((int)(1000 * node_wide_share(&s.wide)), 500);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literal_areas),
		cmocka_unit_test(test_purges),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
