/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/spawn_stats: from made-up events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "lib/eventfix.h"
#include "model/stats/spawn_stats.h"

struct fixture {
	struct eventfix f;
	struct spawn_stats s;
};

static void open_by(struct fixture *x, enum process_group_by by)
{
	eventfix_open(&x->f);
	spawn_stats_open(&x->s, &x->f.stream, by);
}

static void close_all(struct fixture *x)
{
	spawn_stats_close(&x->s);
	eventfix_close(&x->f);
}

static void take(struct fixture *x, enum event_kind kind, struct event ev)
{
	spawn_stats_take(&x->s, kind, &ev);
}

static void spawned(struct fixture *x, uint32_t child, uint32_t parent, uint32_t entry)
{
	take(x, EVENT_PROCESS_SPAWN,
	     eventfix_event(&x->f, child, 2, (uint64_t)parent, (uint64_t)entry));
}

static void exited(struct fixture *x, uint32_t process, const char *reason)
{
	take(x, EVENT_PROCESS_EXIT,
	     eventfix_event(&x->f, process, 1, (uint64_t)eventfix_string(&x->f, reason)));
}

static const struct spawn_row *row_of(const struct fixture *x, const struct process_groups *g,
				      const struct spawn_row *rows, size_t nr, const char *name)
{
	struct strbuf text = STRBUF_INIT;
	const struct spawn_row *found = NULL;

	(void)x;
	for (uint32_t i = 0; i < nr; i++) {
		strbuf_reset(&text);
		process_group_text(g, i, &text);
		if (strcmp(text.buf, name) == 0)
			found = &rows[i];
	}
	strbuf_free(&text);
	assert_non_null(found);
	return found;
}

#define ROW(x, name) row_of(x, &(x)->s.groups, (x)->s.rows.data, (x)->s.rows.len, name)
#define PARENT(x, name)                                                                            \
	row_of(x, &(x)->s.parents, (x)->s.by_parent.data, (x)->s.by_parent.len, name)

static uint64_t exits_for(const struct fixture *x, const char *shape)
{
	for (size_t i = 0; i < x->s.reasons.len; i++) {
		if (strcmp(x->s.reasons.data[i].text, shape) == 0)
			return x->s.reasons.data[i].exits;
	}
	return 0;
}

static void shapes(void **state)
{
	static const struct {
		const char *reason, *shape;
		bool crash;
	} cases[] = {
		{"normal", "normal", false},
		{"shutdown", "shutdown", false},
		{"{shutdown,{failed,<0.1.0>}}", "{shutdown,{failed,<pid>}}", false},
		{"shutdown_too", "shutdown_too", true},
		{"killed", "killed", true},
		{"{badmatch,{<0.12.0>,#Ref<0.1.2.3>,17,-2,1.5e10}}",
		 "{badmatch,{<pid>,<ref>,N,N,N}}", true},
		{"{#Port<0.5>,#Fun<a.1.2>,<0.1>}", "{<port>,<fun>,<pid>}", true},
		{"{badarg,[{m,f,2,[{file,\"a1.erl\"},{line,12}]}]}",
		 "{badarg,[{m,f,N,[{file,\"a1.erl\"},{line,12}]}]}", true},
		{"{'an 1 atom',x1,1.0,\"5 \\\" 6\"}", "{'an 1 atom',x1,N,\"5 \\\" 6\"}", true},
		{"[1]", "[N]", true},
		{"{[1,2],[1,2,3,4],[97,98,...],[1,2|3]}", "{[N,...],[N,...],[N,...],[N,...|N]}",
		 true},
		{"<<1,2>>", "<<N,N>>", true},
		{"{a,'unfinished", "{a,'unfinished", true},
		{"#Ref<0.1", "<ref>", true},
		{"", "", true},
	};
	struct strbuf shape = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		strbuf_reset(&shape);
		spawn_reason_shape(cases[i].reason, &shape);
		assert_string_equal(shape.buf, cases[i].shape);
		assert_int_equal(spawn_reason_is_crash(cases[i].reason), cases[i].crash);
	}
	strbuf_free(&shape);
}

static void lives(void **state)
{
	struct fixture x;
	uint32_t run, other, sup, a, b, c, before;

	(void)state;
	open_by(&x, PROCESS_GROUP_INITIAL_CALL);
	run = eventfix_function(&x.f, "work", "run", 1);
	other = eventfix_function(&x.f, "work", "other", 0);
	sup = eventfix_process(&x.f, 1, "sup", 0);
	a = eventfix_process(&x.f, 2, NULL, run);
	b = eventfix_process(&x.f, 3, NULL, run);
	c = eventfix_process(&x.f, 4, NULL, other);
	before = eventfix_process(&x.f, 5, NULL, other);
	spawned(&x, a, sup, run);		   /* t = 1 us */
	spawned(&x, b, sup, run);		   /* 2 */
	spawned(&x, c, 0, other);		   /* 3: by nobody known */
	exited(&x, a, "normal");		   /* 4 */
	exited(&x, b, "{badmatch,<0.9.0>}");	   /* 5 */
	exited(&x, before, "{badmatch,<0.10.0>}"); /* 6: nobody saw it being born */
	assert_int_equal(x.s.all.spawned, 3);
	assert_int_equal(x.s.all.exited, 3);
	assert_int_equal(x.s.all.crashed, 2);
	assert_int_equal(x.s.all.living, 1);
	assert_int_equal(ROW(&x, "work:run/1")->spawned, 2);
	assert_int_equal(ROW(&x, "work:run/1")->crashed, 1);
	assert_int_equal(ROW(&x, "work:run/1")->living, 0);
	assert_int_equal(ROW(&x, "work:run/1")->lifetimes, 2);
	assert_int_equal(ROW(&x, "work:run/1")->max_lifetime_ns, 3000);
	assert_int_equal(ROW(&x, "work:other/0")->living, 1);
	assert_int_equal(ROW(&x, "work:other/0")->exited, 1);
	assert_int_equal(PARENT(&x, "sup")->spawned, 2);
	assert_int_equal(PARENT(&x, "sup")->exited, 2);
	assert_int_equal(PARENT(&x, "sup")->crashed, 1);
	assert_int_equal(exits_for(&x, "{badmatch,<pid>}"), 2);
	assert_int_equal(exits_for(&x, "normal"), 1);
	assert_int_equal(x.s.lifetimes.nr, 2);
	spawn_stats_restart(&x.s);
	assert_int_equal(x.s.all.spawned, 0);
	assert_int_equal(x.s.all.living, 1);
	exited(&x, c, "normal");
	assert_int_equal(x.s.all.living, 0);
	assert_int_equal(ROW(&x, "work:other/0")->exited, 1);
	assert_int_equal(x.s.lifetimes.nr, 1);
	close_all(&x);
}

/* What a process of proc_lib runs is reported when it has a name, or exits. */
static void known_later(void **state)
{
	struct fixture x;
	uint32_t init_p, server, sup, early, late, name;

	(void)state;
	open_by(&x, PROCESS_GROUP_INITIAL_CALL);
	init_p = eventfix_function(&x.f, "proc_lib", "init_p", 5);
	server = eventfix_function(&x.f, "server", "init", 1);
	sup = eventfix_process(&x.f, 1, "sup", 0);
	early = eventfix_process(&x.f, 2, NULL, init_p);
	late = eventfix_process(&x.f, 2, "server", server); /* the same pid */
	name = eventfix_string(&x.f, "server");
	spawned(&x, early, sup, init_p);
	assert_int_equal(ROW(&x, "proc_lib:init_p/5")->living, 1);
	take(&x, EVENT_PROCESS_REGISTER, eventfix_event(&x.f, late, 2, (uint64_t)name, 0ull));
	assert_int_equal(ROW(&x, "proc_lib:init_p/5")->spawned, 0);
	assert_int_equal(ROW(&x, "proc_lib:init_p/5")->living, 0);
	assert_int_equal(ROW(&x, "server:init/1")->spawned, 1);
	assert_int_equal(ROW(&x, "server:init/1")->living, 1);
	take(&x, EVENT_PROCESS_UNREGISTER,
	     eventfix_event(&x.f, late, 2, (uint64_t)name, (uint64_t)late));
	exited(&x, late, "shutdown");
	assert_int_equal(ROW(&x, "server:init/1")->exited, 1);
	assert_int_equal(x.s.registered, 1);
	assert_int_equal(x.s.unregistered, 1);
	assert_int_equal(x.s.names.data[1].registered, 1);
	assert_int_equal(x.s.all.crashed, 0);
	/* Across an interval nothing that was reported before is taken back. */
	spawned(&x, early, sup, init_p);
	spawn_stats_restart(&x.s);
	exited(&x, late, "shutdown");
	assert_int_equal(ROW(&x, "server:init/1")->exited, 1);
	assert_int_equal(ROW(&x, "server:init/1")->spawned, 0);
	assert_int_equal(ROW(&x, "proc_lib:init_p/5")->living, 0);
	close_all(&x);
}

static void gaps(void **state)
{
	struct fixture x;
	uint32_t a;

	(void)state;
	open_by(&x, PROCESS_GROUP_PROCESS);
	a = eventfix_process(&x.f, 2, NULL, 0);
	spawned(&x, a, 0, 0);
	coverage_take(&x.f.stream.coverage, EVENT_PROCESS_EXIT, COVERAGE_OFF, 500000,
		      x.f.ts_ns + 10);
	coverage_take(&x.f.stream.coverage, EVENT_PROCESS_EXIT, COVERAGE_ON, 500000,
		      x.f.ts_ns + 20);
	exited(&x, a, "normal");
	assert_int_equal(x.s.all.exited, 1);
	assert_int_equal(x.s.all.living, 0);
	assert_int_equal(x.s.lifetimes.nr, 0);
	/* An exit that was missed: the pid is used again. */
	spawned(&x, a, 0, 0);
	spawned(&x, a, 0, 0);
	assert_int_equal(x.s.all.living, 1);
	assert_int_equal(x.s.living.nr, 1);
	close_all(&x);
}

/* Thousands at a time, in and out in another order; limits are kept. */
static void many(void **state)
{
	enum { NR = 5000 };
	struct fixture x;
	uint32_t *of = calloc(NR, sizeof(*of));
	char reason[64];

	(void)state;
	open_by(&x, PROCESS_GROUP_INITIAL_CALL);
	x.s.max_living = 3000;
	x.s.max_reasons = 10;
	for (uint32_t i = 0; i < NR; i++) {
		of[i] = eventfix_process(&x.f, 10 + i, NULL, 0);
		spawned(&x, of[i], 0, 0);
	}
	assert_int_equal(x.s.living.nr, 3000);
	assert_int_equal(x.s.lost_living, 2000);
	for (uint32_t i = 0; i < NR; i++) {
		snprintf(reason, sizeof(reason), "reason_%c%c", 'a' + i % 26, 'a' + i / 26 % 26);
		exited(&x, of[i * 7919u % NR], reason);
	}
	assert_int_equal(x.s.living.nr, 0);
	assert_int_equal(x.s.all.living, 0);
	assert_int_equal(x.s.all.exited, NR);
	assert_int_equal(x.s.lifetimes.nr, 3000);
	assert_int_equal(x.s.reasons.len, 10);
	assert_int_equal(exits_for(&x, "[others]") > 0, 1);
	free(of);
	close_all(&x);
}

/* What is worth a line at the top, and what a server that is busy does all the time. */
static void alarms(void **state)
{
	struct spawn_row row;

	(void)state;
	assert_false(spawn_row_is_storm(529.0 * 10, 10));
	assert_false(spawn_row_is_storm(9999.0 * 10, 10));
	assert_true(spawn_row_is_storm(10000.0 * 10, 10));
	/* A burst of milliseconds is none. */
	assert_false(spawn_row_is_storm(2000, 0.01));
	assert_false(spawn_row_is_storm(0, 0));
	row = (struct spawn_row){.spawned = 5000, .exited = 4990, .living = 10};
	assert_false(spawn_row_is_pile(&row));
	row = (struct spawn_row){.spawned = 1999, .exited = 999, .living = 1000};
	assert_true(spawn_row_is_pile(&row));
	row = (struct spawn_row){.spawned = 20000, .exited = 18000, .living = 2000};
	assert_false(spawn_row_is_pile(&row));
	row = (struct spawn_row){.exited = 5000, .living = 2000};
	assert_false(spawn_row_is_pile(&row));
}

static bool is_loop(struct fixture *x)
{
	return spawn_stats_is_loop(&x->s, PARENT(x, "sup"));
}

/* One child after the other, and many at once: which of them is a restart loop. */
static void loops(void **state)
{
	uint32_t sup, run, other, child[100];
	char reason[32];
	struct fixture x;

	(void)state;
	open_by(&x, PROCESS_GROUP_INITIAL_CALL);
	run = eventfix_function(&x.f, "work", "run", 1);
	other = eventfix_function(&x.f, "work", "other", 0);
	sup = eventfix_process(&x.f, 1, "sup", 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(child); i++)
		child[i] = eventfix_process(&x.f, 2 + i, NULL, 0);
	/* A child that cannot live, however fast; numbers in its reason may differ. */
	for (uint32_t i = 0; i < 4; i++) {
		assert_false(i && is_loop(&x));
		spawned(&x, child[i], sup, run);
		snprintf(reason, sizeof(reason), "{bad,%u}", i);
		exited(&x, child[i], reason);
	}
	spawned(&x, child[4], sup, run);
	assert_true(is_loop(&x));
	/* Started for other things, too, most of which end as they should. */
	for (uint32_t i = 10; i < 20; i++)
		spawned(&x, child[i], sup, other);
	assert_false(is_loop(&x));
	spawn_stats_restart(&x.s);
	assert_false(is_loop(&x));
	for (uint32_t i = 10; i < 20; i++)
		exited(&x, child[i], "normal");
	exited(&x, child[4], "normal");
	spawn_stats_restart(&x.s);

	/* Many at once, of which some crash while others are still to be started. */
	for (uint32_t i = 0; i < ARRAY_SIZE(child); i++) {
		spawned(&x, child[i], sup, run);
		if (i >= 5)
			exited(&x, child[i - 5], "bad");
	}
	for (uint32_t i = ARRAY_SIZE(child) - 5; i < ARRAY_SIZE(child); i++)
		exited(&x, child[i], "bad");
	assert_int_equal(PARENT(&x, "sup")->crashed, ARRAY_SIZE(child));
	assert_false(is_loop(&x));
	/* And once more, some time later. */
	x.f.ts_ns += SPAWN_LOOP_APART_NS;
	for (uint32_t i = 0; i < ARRAY_SIZE(child); i++)
		spawned(&x, child[i], sup, run);
	for (uint32_t i = 0; i < ARRAY_SIZE(child); i++)
		exited(&x, child[i], "bad");
	assert_false(is_loop(&x));
	spawn_stats_restart(&x.s);

	/* Two of them that crash now and then, each started again while the other lives. */
	spawned(&x, child[0], sup, run);
	spawned(&x, child[1], sup, run);
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(is_loop(&x));
		exited(&x, child[i % 2], "bad");
		spawned(&x, child[i % 2], sup, run);
		x.f.ts_ns += SPAWN_LOOP_APART_NS;
	}
	assert_true(is_loop(&x));
	spawn_stats_restart(&x.s);

	/* Each for another reason, or normally: that is not the same thing again and again. */
	exited(&x, child[0], "normal");
	exited(&x, child[1], "normal");
	for (uint32_t i = 0; i < 10; i++) {
		spawned(&x, child[2], sup, run);
		snprintf(reason, sizeof(reason), "bad_%c", 'a' + i);
		exited(&x, child[2], reason);
		spawned(&x, child[2], sup, run);
		exited(&x, child[2], "normal");
		x.f.ts_ns += SPAWN_LOOP_APART_NS;
	}
	assert_int_equal(2 * PARENT(&x, "sup")->crashed, PARENT(&x, "sup")->spawned);
	assert_false(is_loop(&x));
	close_all(&x);
}

/* However many groups, reasons and names there were: each interval has room for its own, and who
 * lives on keeps its group. */
static void intervals(void **state)
{
	enum { LIVE = 3, MAX_GROUPS = 8 };
	struct fixture x;
	uint32_t stays[LIVE], sup;
	char text[64];

	(void)state;
	open_by(&x, PROCESS_GROUP_PROCESS);
	x.s.groups.max = MAX_GROUPS;
	x.s.max_reasons = 4;
	sup = eventfix_process(&x.f, 1, "sup", 0);
	for (uint32_t i = 0; i < 20; i++) {
		uint32_t child = eventfix_process(&x.f, 100 + i, NULL, 0);

		spawned(&x, child, sup, 0);
		snprintf(text, sizeof(text), "reason_%c", 'a' + (char)i);
		exited(&x, child, text);
		if (i % 5 == 4 && i / 5 < LIVE) {
			stays[i / 5] = eventfix_process(&x.f, 200 + i, NULL, 0);
			spawned(&x, stays[i / 5], sup, 0);
		}
		snprintf(text, sizeof(text), "<0.%u.0>", 100 + i);
		assert_int_equal(ROW(&x, text)->crashed, 1);
		assert_int_equal(spawn_stats_overflows(&x.s), 0);
		spawn_stats_restart(&x.s);
		assert_int_equal(x.s.groups.v.len, 1 + x.s.all.living);
	}
	assert_int_equal(x.s.all.living, LIVE);
	assert_int_equal(PARENT(&x, "sup")->living, LIVE);
	for (uint32_t i = 0; i < LIVE; i++) {
		snprintf(text, sizeof(text), "<0.%u.0>", 204 + 5 * i);
		assert_int_equal(ROW(&x, text)->living, 1);
		exited(&x, stays[i], "normal");
		assert_int_equal(ROW(&x, text)->living, 0);
		assert_int_equal(ROW(&x, text)->exited, 1);
	}
	assert_int_equal(PARENT(&x, "sup")->exited, LIVE);
	spawn_stats_restart(&x.s);
	assert_int_equal(x.s.groups.v.len, 1);
	for (uint32_t i = 0; i < MAX_GROUPS; i++)
		spawned(&x, eventfix_process(&x.f, 300 + i, NULL, 0), 0, 0);
	assert_int_equal(spawn_stats_overflows(&x.s), 1);
	assert_int_equal(ROW(&x, "[others]")->living, 1);
	close_all(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes),      cmocka_unit_test(lives),
		cmocka_unit_test(known_later), cmocka_unit_test(gaps),
		cmocka_unit_test(many),	       cmocka_unit_test(alarms),
		cmocka_unit_test(loops),       cmocka_unit_test(intervals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
