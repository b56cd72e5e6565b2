/* SPDX-License-Identifier: BSD-2-Clause */
/* What commands that read memory only say: answers in, text and JSON out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/inspect/dist_view.h"
#include "view/inspect/env_view.h"
#include "view/inspect/ets_view.h"
#include "view/inspect/old_code_view.h"
#include "view/inspect/port_view.h"
#include "view/inspect/process_view.h"
#include "view/inspect/stacks_view.h"
#include "view/inspect/waits_view.h"

static void expect_json(struct jsonw *w, const char *want)
{
	if (!strstr(w->buf.buf, want))
		fail_msg("no %s in %s", want, w->buf.buf);
}

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
			"  fixed by     <0.9.0>, <0.10.0> and others  (deleted objects stay in "
			"memory until they unfix it)\n"
			"\n2 of 1,000 objects, in the order of the hash buckets:\n"
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
	page_expect(&p, "4 processes wait for 4 others; 1 suspended, it is not known by "
			"whom; 1 deadlock\n\n"
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
			"\nWaiting processes and what they monitor (they may wait for another "
			"process)\n"
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
	page_expect(&p, "1 module has old code; 2 processes run it (funs that refer to "
			"old code are not checked)\n\n"
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

static void applications_have_their_keys(void **state)
{
	struct env_answer a = {0};
	struct jsonw w = JSONW(NULL);
	struct page p;

	UNUSED(state);
	vec_push(&a.apps, ((struct env_app){"a", "1\033", true, 2}));
	vec_push(&a.apps, ((struct env_app){"none", NULL, true, 0}));
	vec_push(&a.apps, ((struct env_app){"b", NULL, false, 1}));
	vec_push(&a.keys, ((struct env_key){"k", "k", "[1,\n2]"}));
	vec_push(&a.keys, ((struct env_key){"Elixir.Key", "Key", "\xe2\x80\xae"}));
	vec_push(&a.keys, ((struct env_key){"c", "c", "3"}));
	env_view_write(page_open(&p), &a, true);
	page_expect(&p, "\033[1ma 1\\e\033[0m\n  k    [1,\\n2]\n  Key  ?\n"
			"\n\033[1mb (not loaded)\033[0m\n  c  3\n"
			"\nwithout environment: none\n");
	a.named = true;
	env_view_write(page_open(&p), &a, false);
	page_expect(&p, "a 1\\e\n  k    [1,\\n2]\n  Key  ?\n\nnone\n  (nothing)\n"
			"\nb (not loaded)\n  c  3\n");
	env_view_json(&w, &a);
	expect_json(&w, "{\"a\": {\"k\": \"[1,\\n2]\", \"Elixir.Key\": \"\xe2\x80\xae\"}, "
			"\"none\": {}, \"b\": {\"c\": \"3\"}}");
	strbuf_free(&w.buf);
	vec_free(&a.apps);
	vec_free(&a.keys);
}

static void stacks_have_their_processes(void **state)
{
	uint64_t frames[40];
	struct stacks_answer a = {.node = "a@b", .stacks = 3, .by_status = {[1] = 1, [5] = 1200}};
	struct jsonw w = JSONW(NULL);
	struct names *names;
	struct page p;
	uint32_t f;

	UNUSED(state);
	names = names_open();
	f = names_intern_function(names, names_intern_string(names, "m", 1, NULL),
				  names_intern_string(names, "loop", 4, NULL), 1, FRAME_ERLANG,
				  NULL);
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] =
			names_intern_frame(names, f, names_intern_string(names, "m.erl", 5, NULL),
					   (uint32_t)i + 1, NULL);
	a.names = names;
	vec_push(&a.rows, ((struct stacks_row){.count = 1200,
					       .status = 5,
					       .current = names_frame(names, (uint32_t)frames[0]),
					       .frames = frames,
					       .nr_frames = 1,
					       .nr_members = 2,
					       .members = {"<0.1.0> a", "<0.2.0> b"}}));
	vec_push(&a.rows, ((struct stacks_row){.count = 1,
					       .status = 1,
					       .stale = true,
					       .truncated = true,
					       .nr_members = 1,
					       .members = {"<0.3.0>"}}));
	stacks_view_write(page_open(&p), &a, false, false);
	page_expect(&p, "a@b: 1,201 processes, 3 different stacks: 1,200 waiting, "
			"1 collecting garbage\n\n"
			"1,200 processes wait in m:loop/1\n"
			"    m:loop/1  m.erl:1\n"
			"  <0.1.0> a, <0.2.0> b and 1,198 more\n\n"
			"1 process collects garbage, with an empty stack (where it last stopped)\n"
			"    ... further frames were not read\n"
			"  <0.3.0>\n\n"
			"1 more stacks are not shown (-n 3 shows them)\n");
	stacks_view_json(&w, &a);
	expect_json(&w, "{\"count\": 1200, \"status\": \"waiting\", "
			"\"current_function\": \"m:loop/1\", \"stale\": false, "
			"\"truncated\": false, \"stack\": [{\"mfa\": \"m:loop/1\", "
			"\"file\": \"m.erl\", \"line\": 1}], "
			"\"pids\": [\"<0.1.0> a\", \"<0.2.0> b\"]}");
	expect_json(&w, "\"current_function\": null, \"stale\": true, \"truncated\": true, "
			"\"stack\": [], \"pids\": [\"<0.3.0>\"]}");
	strbuf_free(&w.buf);
	a.rows.data[0].nr_frames = 40;
	a.rows.len = a.stacks = 1;
	stacks_view_write(page_open(&p), &a, false, false);
	fclose(p.f);
	assert_non_null(strstr(p.text, "m.erl:27\n    ... 10 more frames (-v shows them) ...\n"
				       "    m:loop/1  m.erl:38\n"));
	free(p.text);
	vec_free(&a.rows);
	names_close(names);
}

static struct process_answer a_process(void)
{
	static const char *links[] = {"<0.2.0>", "#Port<0.3>"}, *messages[] = {"{hi,1}", NULL};
	static const char *y[] = {"[]", "5"};
	struct process_answer a = {.pid = "<0.9.0>",
				   .registered_name = {"Elixir.Keeper", 13},
				   .status = "waiting",
				   .current_function = "m:f/1",
				   .current_location = {"m:f/1", "m.erl", 7},
				   .initial_call = "m:init/0",
				   .priority = "high",
				   .message_queue_len = 2,
				   .memory = 2048,
				   .reductions = 12345,
				   .total_heap_size = 1,
				   .heap_size = 2,
				   .minor_gcs = 3,
				   .trap_exit = true,
				   .has_stack = true,
				   .waits_for = "<0.2.0>",
				   .wait_reason = "answer",
				   .waiting_ms = 1500,
				   .behaviour = "gen_server",
				   .state = "{s,\"\033[2J\"}",
				   .max_heap = {1000, .kill = true, .log = true},
				   .messages = 2,
				   .shaped = true,
				   .all_shapes = 1,
				   .more_shapes = true,
				   .message_bytes = 64,
				   .first = {2, messages},
				   .links = {2, links},
				   .all_timers = 3,
				   .all_keys = 1,
				   .all_binaries = 1,
				   .binary_references = 2,
				   .binary_bytes = 1024,
				   .binary_used = 10,
				   .counted = true,
				   .young = 10,
				   .unknown = 1};

	vec_push(&a.shapes, ((struct process_count){"{hi,_}", 1, 3}));
	vec_push(&a.frames, ((struct process_frame){"m:f/1", "m.erl", 7, {2, y}}));
	vec_push(&a.frames, ((struct process_frame){"m:g/1", NULL, UINT64_MAX, {0}}));
	vec_push(&a.timers, ((struct process_timer){.receive = true, .left = 1500}));
	vec_push(&a.timers, ((struct process_timer){.ref = "#Ref<0.1.2.3>",
						    .to = "<0.9.0>",
						    .message = "tick",
						    .left = -2000}));
	vec_push(&a.dictionary, ((struct process_pair){"k", "v"}));
	vec_push(&a.binaries, ((struct process_binary){4096, 1024, 3, 2, .used = 10}));
	vec_push(&a.kinds, ((struct process_count){"tuple", 2, 6}));
	vec_push(&a.largest, ((struct process_root){"message 1", 6, true}));
	return a;
}

static void free_process(struct process_answer *a)
{
	vec_free(&a->shapes);
	vec_free(&a->frames);
	vec_free(&a->timers);
	vec_free(&a->dictionary);
	vec_free(&a->binaries);
	vec_free(&a->kinds);
	vec_free(&a->largest);
}

static void a_process_is_text(void **state)
{
	struct process_answer a = a_process();
	struct page p;

	UNUSED(state);
	process_view_write(page_open(&p), &a, &(struct table_options){.limit = 1});
	page_expect(&p,
		    "<0.9.0>  Keeper  waiting in m:f/1 (m.erl:7)\n"
		    "  waits_for            <0.2.0> (answer), 1.50 s\n"
		    "  message_queue_len    2\n"
		    "  memory               2.0 KiB\n"
		    "  reductions           12,345\n"
		    "  initial_call         m:init/0\n"
		    "  parent               -\n"
		    "  group_leader         -\n"
		    "  priority             high\n"
		    "  trap_exit            true\n"
		    "  error_handler        -\n"
		    "  message_queue_data   -\n"
		    "  total_heap_size      1 word\n"
		    "  heap_size            2 words\n"
		    "  stack_size           0 words\n"
		    "  minor_gcs            3\n"
		    "  fullsweep_after      0\n"
		    "  min_heap_size        0 words\n"
		    "  min_bin_vheap_size   0 words\n"
		    "  max_heap_size        1,000 words; a larger process is killed and logged\n"
		    "\nStack\n"
		    "  m:f/1  m.erl:7\n      y(0) []\n      y(1) 5\n  m:g/1\n"
		    "\nState of gen_server\n  {s,\"\\e[2J\"}\n"
		    "\nMailbox: 2 messages\n"
		    "  64 B in messages and their heap fragments\n"
		    "             1  {hi,_}\n"
		    "  1 shapes in all\n"
		    "  first {hi,1}\n"
		    "        (of another node, not decoded yet)\n"
		    "\nLinks and monitors\n"
		    "  links                <0.2.0> ... 2 in all\n"
		    "\nTimers: 3\n"
		    "  in 1.500 s         timeout (after) of its receive\n"
		    "  overdue by 2.000 s  #Ref<0.1.2.3>  to it: tick\n"
		    "  ... -n shows more\n"
		    "  Overdue: the scheduler that owns the timer does not check its timers; "
		    "'ebeam sched --now' shows what it is doing.\n"
		    "\nDictionary: 1\n  k => v\n"
		    "\nBinaries outside the heap: 1, held by 2 references\n"
		    "  in all 1.0 KiB, of which its terms use 10 B\n"
		    "          0x1000  1.0 KiB, used 10 B, 3 references, 2 of them in this "
		    "process\n"
		    "\nHeap: 10 words young, 0 old\n"
		    "  unknown              1 word\n"
		    "  tuple                       2             6 words\n"
		    "  largest terms (a part that several share is counted in each):\n"
		    "             6+ words  message 1\n");
	free_process(&a);
}

static void a_process_is_json(void **state)
{
	struct process_answer a = a_process();
	struct jsonw w = JSONW(NULL);

	UNUSED(state);
	process_view_json(&w, &a);
	expect_json(&w, "\"registered_name\": \"Elixir.Keeper\"");
	expect_json(&w, "\"label\": null");
	expect_json(&w, "\"current_location\": {\"file\": \"m.erl\", \"line\": 7}");
	expect_json(&w, "\"total_heap_size\": 1, ");
	expect_json(&w, "\"links\": [\"<0.2.0>\", \"#Port<0.3>\"], \"monitors\": [], ");
	expect_json(&w, "{\"type\": \"receive\", \"time_left\": 1500, \"paused\": false}");
	expect_json(&w, "{\"type\": \"send\", \"time_left\": -2000, \"paused\": false, "
			"\"ref\": \"#Ref<0.1.2.3>\", \"to\": \"<0.9.0>\", \"message\": \"tick\"}");
	expect_json(&w, "{\"waits_for\": \"<0.2.0>\", \"reason\": \"answer\", "
			"\"waiting_ms\": 1500, \"waiting_is\": \"timer\"}");
	expect_json(&w, "{\"mfa\": \"m:f/1\", \"file\": \"m.erl\", \"line\": 7, "
			"\"y\": [\"[]\", \"5\"]}");
	expect_json(&w, "{\"mfa\": \"m:g/1\", \"file\": null, \"line\": null}");
	expect_json(&w, "\"messages\": {\"len\": 2, \"sample\": [\"{hi,1}\", null], "
			"\"by_shape\": [");
	expect_json(&w, "\"max_heap_size\": {\"size\": 1000, \"kill\": true, "
			"\"error_logger\": true}");
	expect_json(&w, "{\"where\": \"message 1\", \"words\": 6, \"truncated\": true}");
	expect_json(&w, "{\"type\": \"tuple\", \"count\": 2, \"words\": 6}");
	strbuf_free(&w.buf);
	free_process(&a);
}

static void tables_grow(void **state)
{
	static const struct ets_row rows[] = {
		{.id = "a",
		 .rates = true,
		 .bytes_per_s = -2048,
		 .size_per_s = 2.5,
		 .write_concurrency = "auto"},
		{.id = "b",
		 .rates = true,
		 .bytes_per_s = NAN,
		 .size_per_s = NAN,
		 .write_concurrency = "auto"},
		{.id = "c", .bytes_per_s = NAN, .size_per_s = NAN, .write_concurrency = "auto"},
	};
	struct table t = ets_table;
	struct page p;

	UNUSED(state);
	t.rows = rows;
	t.nr_rows = 3;
	assert_int_equal(
		table_write(page_open(&p), &t,
			    &(struct table_options){.columns = "id,bytes_per_s,size_per_s"}, NULL),
		0);
	page_expect(&p, "ID  MEMORY/S  OBJECTS/S\n"
			"a   -2.0 KiB        2.5\n"
			"b          -          -\n"
			"c          -          -\n");
	table_json_rows(page_open_json(&p), "data", &t, &(struct table_options){0});
	page_has(&p, "\"bytes_per_s\": -2048, ");
	page_has(&p, "\"size_per_s\": null, ");
	assert_null(strstr(strstr(page_text(&p), "\"id\": \"b\""), "_per_s"));
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ports_have_their_sums_below),
		cmocka_unit_test(a_table_says_who_holds_it),
		cmocka_unit_test(nodes_that_are_not_known_are_marked),
		cmocka_unit_test(waits_say_where_they_lead),
		cmocka_unit_test(old_code_has_its_processes),
		cmocka_unit_test(applications_have_their_keys),
		cmocka_unit_test(stacks_have_their_processes),
		cmocka_unit_test(a_process_is_text),
		cmocka_unit_test(a_process_is_json),
		cmocka_unit_test(tables_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
