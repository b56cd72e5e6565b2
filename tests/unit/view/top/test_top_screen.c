/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole screens of `top`, as text, in several sizes and of nodes that are not like any other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "event/event.h"
#include "lib/golden.h"
#include "lib/screenfix.h"
#include "lib/snapfix.h"
#include "model/stats/event_rates.h"
#include "view/table/event_rate_columns.h"
#include "view/table/process_columns.h"
#include "view/table/process_match.h"
#include "view/top/top_keys.h"
#include "view/top/top_screen.h"

#define COLUMNS "pid,name,status,memory,message_queue_len,reductions_per_s,current_function"

static const char *const tabs[] = {"Processes", "Functions", "Schedulers",   "Memory", "ETS",
				   "Ports",	"Events",    "Applications", "Nodes",  NULL};

struct fixture {
	struct top_frame frame;
	struct process_strings strings;
	struct process_columns_ctx ctx;
	struct process_match match;
	struct process_row *rows;
	struct panel_source source;
	struct panel *panel;
	struct top_view view;
};

static uint64_t row_id(const void *row)
{
	return ((const struct process_row *)row)->pid;
}

static uint32_t intern(struct fixture *x, const char *text)
{
	return process_strings_add(&x->strings, text, strlen(text));
}

/* A node after some readings, all of it made of small numbers. */
static void set_frame(struct top_frame *f, unsigned int normal)
{
	struct top_totals before, now;

	top_frame_init(f);
	snprintf(f->node.name, sizeof(f->node.name), "rabbit@production-7");
	snprintf(f->node.otp, sizeof(f->node.otp), "27");
	snprintf(f->node.erts, sizeof(f->node.erts), "15.2.7");
	snprintf(f->node.flavor, sizeof(f->node.flavor), "jit");
	f->node.os_pid = 4711;
	f->node.uptime_s = 273729;
	top_frame_set_schedulers(f, normal, MIN(normal, 8), 10);
	top_totals_init(&before);
	for (unsigned int t = 0; t < 40; t++) {
		top_totals_init(&now);
		for (unsigned int i = 0; i < NR_TOP_LIMITS; i++)
			now.limits[i] = (struct top_limit){1000 * (i + 1) + 7 * t, 65536u << i};
		for (unsigned int i = 0; i < NR_TOP_MEMORIES; i++)
			now.memory[i] = (1ull << (30 - 2 * i)) + (t * t % 37 << (24 - 2 * i));
		for (unsigned int i = 0; i < NR_TOP_RATES; i++)
			now.counters[i] = (uint64_t)t * t * 1000 * (i + 1);
		now.os_cpu_ns = t * 1234567890ull;
		now.os_rss = 1500u << 20;
		for (uint32_t i = 0; i < f->nr_schedulers; i++) {
			struct top_scheduler *s = &f->schedulers[i];

			memset(s->share, 0, sizeof(s->share));
			s->known = true;
			s->share[TOP_SHARE_ERLANG] = (i * 7 + t) % 10 * 0.06;
			s->share[TOP_SHARE_GC] = i % 4 * 0.03;
			s->share[TOP_SHARE_BIF] = i % 3 * 0.05;
			s->share[TOP_SHARE_WAITING] = 1 - s->share[TOP_SHARE_ERLANG] -
						      s->share[TOP_SHARE_GC] -
						      s->share[TOP_SHARE_BIF];
		}
		now.read_ns = now.os_ns = t * 1000000000ull;
		top_frame_update(f, t ? &before : NULL, &now);
		top_frame_sum_schedulers(f);
		before = now;
	}
	f->run_queue = 12;
	f->run_queues[TOP_QUEUE_NORMAL] = 12;
	f->run_queues[TOP_QUEUE_DIRTY_CPU] = 3;
	f->own_cpu = 0.34;
	f->own_rss = 23u << 20;
	f->samples = 495;
}

static const char *const names[] = {"rabbit_reader", "code_server",	   "logger",
				    "kernel_sup",    "my_app_pool_worker", "ssl_manager"};

static void set_rows(struct fixture *x, size_t nr)
{
	x->rows = xcalloc(nr, sizeof(*x->rows));
	for (size_t i = 0; i < nr; i++) {
		struct process_row *r = &x->rows[i];

		r->pid = 80 + i;
		r->registered = intern(x, names[i % ARRAY_SIZE(names)]);
		r->function = intern(x, i % 3 ? "gen_server:loop/7" : "prim_inet:recv0/3");
		r->memory = 2000 + i * i % 977 * 1024;
		r->message_queue_len = i % 11 ? 0 : i * 3;
		r->reductions_rate = (float)(i * 7919 % 100000);
		r->status = (uint8_t)(i % 4);
	}
	x->source.table.rows = x->rows;
	x->source.table.nr_rows = nr;
}

static int set_up(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	set_frame(&x->frame, 4);
	x->ctx.strings = &x->strings;
	x->ctx.match = &x->match;
	x->source = (struct panel_source){
		.table = {.columns = process_columns,
			  .row_size = sizeof(struct process_row),
			  .ctx = &x->ctx},
		.id = row_id,
		.matches = process_row_matches,
		.reading = 1,
		.nothing = "no processes",
	};
	panel_open(&x->panel, COLUMNS, "reductions_per_s");
	x->view = (struct top_view){.frame = &x->frame,
				    .tabs = tabs,
				    .panel = x->panel,
				    .source = &x->source,
				    .message = "",
				    .step_s = 1};
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	top_frame_free(&x->frame);
	process_strings_free(&x->strings);
	process_match_free(&x->match);
	panel_close(x->panel);
	free(x->rows);
	free(x);
	return 0;
}

static struct screen *drawn(const struct fixture *x, unsigned rows, unsigned columns)
{
	struct screen *s;

	screen_open(&s, rows, columns);
	top_screen_draw(s, &x->view);
	return s;
}

static void expect(const struct fixture *x, const char *name, unsigned rows, unsigned columns)
{
	struct screen *s = drawn(x, rows, columns);
	char *path = xasprintf("top-%s", name);

	screenfix_check_golden(s, path);
	screen_close(s);
	free(path);
}

static void press(struct fixture *x, enum terminal_key_kind kind, uint32_t c)
{
	struct terminal_key key = {.kind = kind, .c = c};

	panel_key(x->panel, &key, &x->source);
}

static void type(struct fixture *x, const char *text)
{
	for (; *text; text++)
		press(x, TERMINAL_KEY_CHAR, (unsigned char)*text);
}

static void in_usual_sizes(void **state)
{
	struct fixture *x = *state;

	set_rows(x, 100);
	expect(x, "80x24", 24, 80);
	expect(x, "120x40", 40, 120);
	expect(x, "40x10", 10, 40);
	expect(x, "200x60", 60, 200);
}

static void in_small_sizes(void **state)
{
	struct fixture *x = *state;

	set_rows(x, 100);
	expect(x, "30x6", 6, 30);
	expect(x, "12x3", 3, 12);
	expect(x, "11x3", 3, 11);
}

static void without_rows(void **state)
{
	struct fixture *x = *state;

	expect(x, "no-rows", 24, 80);
	set_rows(x, 10);
	x->source.reading++;
	type(x, "/nobody");
	expect(x, "no-match", 24, 80);
}

static void many_schedulers(void **state)
{
	struct fixture *x = *state;

	set_rows(x, 30);
	top_frame_free(&x->frame);
	set_frame(&x->frame, 16);
	expect(x, "16-schedulers", 40, 120);
	top_frame_free(&x->frame);
	set_frame(&x->frame, 128);
	expect(x, "128-schedulers", 40, 120);
	expect(x, "128-schedulers-80x24", 24, 80);
	top_frame_free(&x->frame);
	set_frame(&x->frame, 1024);
	expect(x, "1024-schedulers", 24, 80);
}

/* Names that are long, wide, or would act on a terminal. */
static void strange_names(void **state)
{
	struct fixture *x = *state;
	char *huge = xmalloc(5001);

	set_rows(x, 8);
	memset(huge, 'x', 5000);
	huge[5000] = '\0';
	x->rows[0].registered = intern(x, huge);
	x->rows[0].function = intern(x, huge);
	x->rows[1].registered = intern(x, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae"
					  "\xe5\x90\x8d\xe5\x89\x8d\xe3\x81\xa7\xe3\x81\x99");
	x->rows[2].registered = intern(x, "red\033[31mtext\r\n\a");
	x->rows[3].registered = intern(x, "turned\xe2\x80\xae"
					  "dehcac");
	x->rows[4].registered = intern(x, "cut \xe6\x97 off \xff");
	x->rows[5].registered = intern(x, "e\xcc\x81t\xc3\xa9");
	x->rows[6].registered = intern(x, "csi \xc2\x9b"
					  "31m");
	snprintf(x->frame.node.name, sizeof(x->frame.node.name), "\033]0;owned\a%.200s", huge);
	expect(x, "strange-names", 24, 80);
	expect(x, "strange-names-120x40", 40, 120);
	panel_set_sort(x->panel, "name");
	expect(x, "strange-names-40x10", 10, 40);
	free(huge);
}

static void held_schedulers(void **state)
{
	struct fixture *x = *state;

	set_rows(x, 30);
	for (uint32_t i = 0; i < x->frame.nr_schedulers; i++)
		x->frame.schedulers[i].at_least_ns = 2310000000;
	expect(x, "held", 24, 80);
	expect(x, "held-120x40", 40, 120);
	expect(x, "held-30x6", 6, 30);
}

/* Nothing is known but that it is there; it has exited. */
static void nothing_known(void **state)
{
	struct fixture *x = *state;

	top_frame_free(&x->frame);
	top_frame_init(&x->frame);
	x->frame.state = TOP_EXITED;
	expect(x, "nothing-known", 24, 80);
	x->frame.state = TOP_STOPPED;
	x->view.message = "the node was stopped by a signal";
	x->view.tabs = NULL;
	expect(x, "stopped", 10, 40);
}

static void typing_and_menus(void **state)
{
	struct fixture *x = *state;

	set_rows(x, 100);
	type(x, "/worker");
	expect(x, "typing", 24, 80);
	press(x, TERMINAL_KEY_ENTER, 0);
	press(x, TERMINAL_KEY_FUNCTION, 2);
	expect(x, "columns", 24, 80);
	press(x, TERMINAL_KEY_ESCAPE, 0);
	x->view.paused = true;
	x->view.shown = 3;
	x->frame.lost = 12345;
	x->frame.probes_cost = 0.73;
	expect(x, "filtered", 24, 80);
}

static void without_utf8(void **state)
{
	struct fixture *x = *state;
	struct screen *s;

	set_rows(x, 100);
	screen_open(&s, 24, 80);
	screen_set_utf8(s, false);
	screen_set_color(s, false);
	top_screen_draw(s, &x->view);
	screenfix_check_golden(s, "top-ascii");
	screen_close(s);
}

static void above_the_panel(void **state)
{
	struct fixture *x = *state;
	struct snapfix *fix = snapfix_open(NULL);
	uint32_t p = snapfix_process(fix, "<0.80.0>", NULL, NULL, "a:init/1");
	uint32_t th = snapfix_thread(fix, THREAD_NORMAL, 1, 77, "1_scheduler");
	struct strbuf text = STRBUF_INIT;

	snapfix_text(fix, "proc_lib:init_p/3;gen_server:loop/7;a:call/3;lists:map/2", p, th,
		     SAMPLE_ERLANG, 60);
	snapfix_text(fix, "proc_lib:init_p/3;gen_server:loop/7;a:call/3;lists:foldl/3", p, th,
		     SAMPLE_ERLANG, 30);
	snapfix_text(fix, "proc_lib:init_p/3;gen_server:loop/7;b:rare/3;c:rarer/1", p, th,
		     SAMPLE_GC, 4);
	snapfix_text(fix, "erts_internal:x/1", p, th, SAMPLE_ERLANG, 6);
	tree_open(&x->view.tree);
	tree_set(x->view.tree, snapfix_snapshot(fix));
	x->view.overlay_title = "Calls of rabbit@production-7, 5 s";
	expect(x, "tree", 24, 80);
	pager_open(&x->view.pager, true);
	top_keys_text(&text);
	pager_set_text(x->view.pager, text.buf, text.len);
	x->view.overlay_title = "Help";
	expect(x, "help", 24, 80);
	pager_close(x->view.pager);
	tree_close(x->view.tree);
	strbuf_free(&text);
	snapfix_close(fix);
}

static void happen(struct event_rates *r, enum event_kind kind, unsigned int times, uint64_t size,
		   uint64_t ns)
{
	struct event ev = {.type = REC_EVENT, .u.vm.nr_values = 4};

	/* Of a message the size is the second one, of a collection it is the first. */
	ev.u.vm.values[0] = ev.u.vm.values[1] = size;
	ev.u.vm.values[3] = ns;
	while (times--)
		event_rates_take(r, kind, &ev);
}

static void off(struct coverage *c, enum event_kind kind, enum coverage_state state)
{
	coverage_take_missed(c, kind, 0);
	coverage_take(c, kind, state, 1000000, 100000000);
}

#define BIT(kind) (1ull << EVENT_##kind)

/* A row in each state: on, sampled, dropped for both reasons, missing, waiting. */
static void fill_rates(struct event_rates *r)
{
	struct coverage c;

	coverage_init(&c);
	coverage_mark(&c);
	event_rates_init(r, BIT(MESSAGE_SEND) | BIT(MESSAGE_QUEUED) | BIT(GC_MINOR_END) |
				    BIT(PROCESS_SPAWN) | BIT(PROCESS_EXIT) | BIT(PORT_OPEN));
	event_rates_miss(r, EVENT_PORT_OPEN, "no symbol erts_open_driver");
	happen(r, EVENT_MESSAGE_SEND, 3000, 5, 0);
	happen(r, EVENT_MESSAGE_QUEUED, 500, 5, 0);
	happen(r, EVENT_GC_MINOR_END, 40, 2000, 250000);
	happen(r, EVENT_PROCESS_SPAWN, 7, 0, 0);
	happen(r, EVENT_PROCESS_EXIT, 3, 0, 0);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		event_rates_lost(r, (enum event_kind)kind, kind == EVENT_MESSAGE_QUEUED ? 12 : 0);
	coverage_take_work(&c, 100000, 100000000);
	off(&c, EVENT_MESSAGE_QUEUED, COVERAGE_OFF);
	off(&c, EVENT_PROCESS_SPAWN, COVERAGE_DROPPED);
	off(&c, EVENT_PROCESS_EXIT, COVERAGE_FAILED);
	coverage_take_work(&c, 1000000, 1000000000);
	event_rates_step(r, &c, 1);
	event_rates_row(r, EVENT_MESSAGE_SEND)->cost = 0.412;
	event_rates_row(r, EVENT_MESSAGE_QUEUED)->cost = 0.3;
	event_rates_row(r, EVENT_GC_MINOR_END)->cost = 0.0123;
	event_rates_add(r, BIT(PORT_EXIT));
}

static uint64_t event_id(const void *row)
{
	return ((const struct event_rate *)row)->kind;
}

static void events_in_all_states(void **state)
{
	struct fixture *x = *state;
	struct event_rates r;

	fill_rates(&r);
	panel_close(x->panel);
	panel_open(&x->panel, NULL, "rate");
	x->view.panel = x->panel;
	x->view.shown = 6;
	x->frame.probes_cost = 0.724;
	x->frame.lost = 12;
	x->source = (struct panel_source){
		.table = {.columns = event_rate_columns,
			  .rows = r.rows,
			  .nr_rows = r.nr,
			  .row_size = sizeof(struct event_rate)},
		.id = event_id,
		.style = event_rate_style,
		.reading = 1,
	};
	expect(x, "events", 24, 80);
	expect(x, "events-160x30", 30, 160);
}

/* Any size: nothing is drawn outside, nothing asserts. */
static void in_all_sizes(void **state)
{
	struct fixture *x = *state;
	unsigned int drawn_screens = 0;

	set_rows(x, 40);
	for (unsigned rows = 1; rows < 70; rows += rows < 12 ? 1 : 7) {
		for (unsigned columns = 1; columns < 1200; columns += columns < 90 ? 1 : 111) {
			struct screen *s = drawn(x, rows, columns);

			screenfix_check_cells(s);
			screen_close(s);
			drawn_screens++;
		}
	}
	print_message("%u sizes drawn\n", drawn_screens);
}

/* By name, function and pid; with more letters, and again after a reading with new names. */
static void processes_are_filtered(void **state)
{
	static const struct {
		const char *text;
		unsigned int rows;
	} filters[] = {{"code", 17}, {"CODE_S", 17}, {"code_serverx", 0}, {"<0.8", 10},
		       {".17", 10},  {"recv0", 34},  {"new_", 1},	  {"rabbit_", 16}};
	struct fixture *x = *state;

	set_rows(x, 100);
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		struct strbuf where = STRBUF_INIT;
		char *want = xasprintf(" of %u of 100", filters[i].rows);

		if (strcmp(filters[i].text, "new_") == 0) {
			x->rows[0].registered = intern(x, "new_name");
			x->source.reading++;
		}
		panel_set_filter(x->panel, filters[i].text);
		screen_close(drawn(x, 24, 80));
		panel_describe(x->panel, &where);
		if (!strstr(where.buf, want))
			fail_msg("'%s': %s, not%s", filters[i].text, where.buf, want);
		strbuf_free(&where);
		free(want);
	}
}

/* What is seen is what a click finds. */
static void clicks_find_tabs_and_keys(void **state)
{
	static const unsigned widths[] = {40, 80, 120, 200};
	struct fixture *x = *state;

	set_rows(x, 100);
	for (size_t w = 0; w < ARRAY_SIZE(widths); w++) {
		struct screen *s = drawn(x, 30, widths[w]);
		unsigned int found = 0, keys = 0;

		for (unsigned row = 0; row < 30; row++) {
			int last = -1;

			for (unsigned column = 0; column < widths[w]; column++) {
				int tab = top_screen_tab_at(s, &x->view, row, column);
				struct terminal_key key;

				if (tab >= 0 && tab != last) {
					assert_int_equal(screen_at(s, row, column + 1)->c[0],
							 '1' + tab);
					found++;
				}
				last = tab;
				if (!top_screen_key_at(s, &x->view, row, column, &key))
					continue;
				assert_int_equal(row, 29);
				keys++;
				assert_int_not_equal(top_action(TOP_IN_TABLE, &key),
						     TOP_ACTION_NONE);
			}
		}
		assert_int_equal(found, 9);
		assert_true(keys > 20);
		screen_close(s);
	}
}

static void the_manual_has_the_keys(void **state)
{
	struct strbuf text = STRBUF_INIT;

	UNUSED(state);
	top_keys_markdown(&text);
	golden_check_section("doc/ebeam-top.md", "keys", text.buf);
	strbuf_free(&text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_usual_sizes),
		TEST(in_small_sizes),
		TEST(without_rows),
		TEST(many_schedulers),
		TEST(held_schedulers),
		TEST(strange_names),
		TEST(nothing_known),
		TEST(typing_and_menus),
		TEST(without_utf8),
		TEST(above_the_panel),
		TEST(events_in_all_states),
		TEST(in_all_sizes),
		TEST(processes_are_filtered),
		TEST(clicks_find_tabs_and_keys),
		TEST(the_manual_has_the_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
