/* SPDX-License-Identifier: BSD-2-Clause */
/* What commands that read memory only say: answers in, text and JSON out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/inspect/dist_view.h"
#include "view/inspect/ets_view.h"
#include "view/inspect/old_code_view.h"
#include "view/inspect/port_view.h"
#include "view/inspect/waits_view.h"

static void ports_have_their_sums_below(void **state)
{
	static const struct port_row rows[] = {
		{.port = "#Port<0.1>",
		 .input = 1,
		 .busy = true,
		 .exiting = true,
		 .os_pid = 12345,
		 .fds = {{3, NULL}, {4, NULL}},
		 .recv_q = UINT64_MAX,
		 .send_q = UINT64_MAX},
		{.port = "#Port<0.2>",
		 .input = 1023,
		 .torn = true,
		 .os_pid = UINT64_MAX,
		 .fds = {{7, NULL}, {-1, NULL}},
		 .listening = true,
		 .recv_q = 5},
	};
	struct table t = port_table;
	struct page p;

	UNUSED(state);
	t.rows = rows;
	t.nr_rows = 2;
	assert_int_equal(port_view_write(page_open(&p), &t,
					 &(struct table_options){.columns = "port,input,flags,os_"
									    "pid,fd,recv_q,send_q"},
					 NULL),
			 0);
	page_expect(&p, "PORT          INPUT  FLAGS         OS PID   FD  RECV-Q  SEND-Q\n"
			"#Port<0.1>      1 B  busy,exiting   12345  3,4       -       -\n"
			"#Port<0.2>~  1023 B  -                  -    7       5       0\n"
			"\n2 ports, 1 busy; 1.0 KiB in, 0 B out, 0 B queued\n");
}

static void nodes_that_are_not_known_are_marked(void **state)
{
	static const struct dist_row rows[] = {{.torn = true, .busy = true, .in = 5}};
	struct dist_answer a = {
		.name = "a\033b@h", .nodes = dist_table, .busy = 1, .no_epmd = "epmd is not there"};
	struct page p;

	UNUSED(state);
	a.nodes.rows = rows;
	a.nodes.nr_rows = 1;
	assert_int_equal(dist_view_write(page_open(&p), &a,
					 &(struct table_options){.columns = "name,state,in,peer"},
					 NULL),
			 0);
	page_expect(&p, "a?b@h, not distributed, creation 0; connected to 0 visible and 0 hidden "
			"nodes, 0 pending, 1 busy\n"
			"\nNODE  STATE   IN  PEER\n?~    ?,busy   -  -\n"
			"\nepmd is not there\n");
	dist_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"in\": 5, ");
	page_has(&p, "\"socket\": null");
	page_has(&p, "\"epmd\": {\"port\": null, \"nodes\": null, "
		     "\"error\": \"epmd is not there\"}");
	page_close(&p);
}

static void a_table_says_who_holds_it(void **state)
{
	static const char *objects[] = {"{1,\"a\033\"}", "{2}"};
	static const struct ets_fixer fixers[] = {{"<0.9.0>", 3}, {"<0.10.0>", 1}};
	static const struct ets_row row = {.name = {"my tab", 6},
					   .owner_name = {"Elixir.Keeper", 13},
					   .id = "#Ref<0.1.2.3>",
					   .owner = "<0.8.0>",
					   .bytes = 2048,
					   .words = 256,
					   .objects = 1000,
					   .keypos = 1,
					   .type = "set",
					   .protection = "public",
					   .write_concurrency = "auto",
					   .torn = true};
	const struct ets_answer a = {.row = &row,
				     .hash = true,
				     .buckets = 512,
				     .fixed_by = fixers,
				     .nr_fixed_by = 2,
				     .fixed_by_truncated = true,
				     .objects = {2, objects}};
	struct page p;

	UNUSED(state);
	ets_view_write(page_open(&p), &a);
	page_expect(&p, "'my tab'~\n"
			"  id           #Ref<0.1.2.3>\n"
			"  type         set, public, not named\n"
			"  owner        <0.8.0> (Keeper), no heir\n"
			"  objects      1,000 in 512 buckets\n"
			"  memory       2.0 KiB (256 words), 0.3 words per object on average\n"
			"  key          element 1\n"
			"  concurrency  read false, write auto\n"
			"  compressed   no\n"
			"  counters     in one place\n"
			"  fixed by     <0.9.0>, <0.10.0> and others  (what is deleted stays in "
			"memory until they let go)\n"
			"\n2 of 1,000 objects, as the buckets have them:\n"
			"{1,\"a?\"}\n{2}\n");
	ets_view_json(page_open_json(&p), &a);
	page_has(&p, "\"name\": \"my tab\", ");
	page_has(&p, "\"owner_name\": \"Elixir.Keeper\", ");
	page_has(&p, "\"heir\": null, ");
	page_has(&p, "\"write_concurrency\": \"auto\", ");
	page_has(&p, "\"torn\": true, \"fixed_by\": [{\"pid\": \"<0.9.0>\", \"count\": 3}, ");
	page_has(&p, "\"fixed_by_truncated\": true, ");
	page_close(&p);
}

static void waits_say_where_they_lead(void **state)
{
	static const uint32_t to[] = {1, 0, 4, 2, 5, WAIT_NOBODY};
	static struct waits_party all[] = {
		{.p = {"<0.0.0>", "a", "waiting", "gen:do_call/4"},
		 .reason = "answer",
		 .since = {3200, "timer"}},
		{.p = {"<0.1.0>", NULL, "running", "m:f/1", true}, .reason = "answer"},
		{.p = {"<0.2.0>", "c\033", "running", "m:g/1"},
		 .queue = 1234,
		 .reason = "busy_port",
		 .since = {1500, "at_least"}},
		{.p = {"<0.3.0>", "d"}, .reason = "answer"},
		{.p = {"#Port<0.4>", "tcp_inet", "busy"}, .queue = UINT64_MAX},
		{.p = {"1.2.3.4:5"}, .queue = UINT64_MAX},
	};
	struct waits_target targets[ARRAY_SIZE(all)];
	struct waits_party members[ARRAY_SIZE(all) * 2];
	struct wait_graph g = {0};
	struct waits_answer a = {.graph = &g,
				 .targets = targets,
				 .members = members,
				 .all_waits = 4,
				 .waited_for = 4,
				 .unexplained = 1,
				 .all_monitors = 2};
	const struct table_options few = {.limit = 3};
	struct page p;

	UNUSED(state);
	wait_graph_make(&g, to, ARRAY_SIZE(all), 4);
	assert_int_equal(g.targets.len, 5);
	for (size_t i = 0; i < g.targets.len; i++) {
		uint32_t node = g.targets.data[i].node;

		targets[i] = (struct waits_target){
			g.targets.data[i], all[node], "answer", {2 * node, "at_least"}};
	}
	for (size_t i = 0; i < g.nodes.len; i++)
		members[i] = all[g.nodes.data[i]];
	vec_push(&a.waits, ((struct waits_pair){all[2], all[4]}));
	vec_push(&a.monitors, ((struct waits_pair){all[0], {.p.pid = "<9.1.0>"}}));
	assert_int_equal(waits_view_write(page_open(&p), &a, &few, NULL), 0);
	page_expect(&p, "4 processes wait for 4 others; 1 suspended, by what is not known; "
			"1 deadlock\n\n"
			"DEADLOCK: 2 processes wait for each other\n"
			"    <0.0.0> a, in gen:do_call/4 (3.20 s)\n"
			"    waits for <0.1.0>, in m:f/1\n"
			"    waits for <0.0.0> a\n\n"
			"Waited for\n"
			"  WAITING  BEHIND     LONGEST  FOR     PID         NAME      QUEUE  "
			"STATUS   CURRENT FUNCTION\n"
			"        1       2     >= 0 ns  answer  <0.0.0>     a             0  "
			"waiting  gen:do_call/4\n"
			"        1       2  >= 2.00 ms  answer  <0.1.0>     -             0  "
			"running  m:f/1 ~\n"
			"        1       2  >= 8.00 ms  answer  #Port<0.4>  tcp_inet      -  "
			"busy     -\n"
			"  ... 2 more (-n 5 shows them)\n"
			"\nChains\n"
			"  <0.3.0> d -> <0.2.0> c? (busy_port, >= 1.50 s) -> #Port<0.4> tcp_inet "
			"-> 1.2.3.4:5\n"
			"\nWith a monitor at hand (whether they wait for that process is not "
			"known)\n"
			"  <0.0.0> a, in gen:do_call/4, monitors <9.1.0>\n"
			"  ... 1 more (-n 2 shows them)\n");
	waits_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"longest_ms\": 4, \"longest_is\": \"at_least\", \"pid\": \"<0.2.0>\", ");
	page_has(&p, "\"name\": \"tcp_inet\", \"message_queue_len\": null, \"status\": \"busy\", "
		     "\"current_function\": null, \"stale\": false}");
	page_has(&p, "[\"<0.3.0>\", \"<0.2.0>\", \"#Port<0.4>\", \"1.2.3.4:5\"]");
	page_has(&p, "[\"<0.0.0>\", \"<0.1.0>\"]");
	page_has(&p, "{\"pid\": \"<0.2.0>\", \"waits_for\": \"#Port<0.4>\", "
		     "\"reason\": \"busy_port\", \"waiting_ms\": 1500, "
		     "\"waiting_is\": \"at_least\"}");
	page_has(&p, "{\"pid\": \"<0.0.0>\", \"monitors\": \"<9.1.0>\", "
		     "\"current_function\": \"gen:do_call/4\"}");
	page_close(&p);
	vec_free(&a.waits);
	vec_free(&a.monitors);
	wait_graph_free(&g);
}

static void old_code_has_its_processes(void **state)
{
	static const char *both[] = {"old_two", "Old"};
	struct old_code_answer a = {.processes = 2};
	struct page p;

	UNUSED(state);
	vec_push(&a.modules, ((struct old_code_module){"old_two", 4096, 2}));
	vec_push(&a.rows,
		 ((struct old_code_row){{"<0.8.0>", "a b", "waiting", "m:f/1"}, {2, both}}));
	vec_push(&a.rows, ((struct old_code_row){{"<0.9.0>"}, {1, both}}));
	assert_int_equal(old_code_view_write(page_open(&p), &a, false, NULL), 0);
	page_expect(&p, "1 module has old code; 2 processes run it (funs are not looked at)\n\n"
			"PID      NAME  OLD CODE OF  STATUS   CURRENT FUNCTION\n"
			"<0.8.0>  a b   old_two Old  waiting  m:f/1\n"
			"<0.9.0>  -     old_two      -        -\n");
	old_code_view_json(page_open_json(&p), &a);
	page_has(&p, "{\"module\": \"old_two\", \"old_size\": 4096, \"processes\": 2}");
	page_has(&p, "{\"pid\": \"<0.8.0>\", \"name\": \"a b\", "
		     "\"modules\": [\"old_two\", \"Old\"], \"status\": \"waiting\", ");
	page_close(&p);
	vec_free(&a.modules);
	vec_free(&a.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_their_sums_below),
		cmocka_unit_test(a_table_says_who_holds_it),
		cmocka_unit_test(nodes_that_are_not_known_are_marked),
		cmocka_unit_test(waits_say_where_they_lead),
		cmocka_unit_test(old_code_has_its_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
