/* SPDX-License-Identifier: BSD-2-Clause */
/* Who waits for whom: what proves a wait in OTP 25, 27 and 29, what looks like one and is none, and
 * registers and monitors that cannot be read. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/waits.h"
#include "beam/vm/links.h"
#include "lib/termfix.h"

#define CODE	   0x7e0000100000ull
#define CALL	   (CODE + 0x100) /* gen:do_call/4 */
#define START	   (CODE + 0x200) /* proc_lib:sync_start_link/2 */
#define TASK	   (CODE + 0x300) /* 'Elixir.Task':await/2 */
#define ANY	   (CODE + 0x400) /* m:f/1 */
#define SEND	   (CODE + 0x500) /* prim_inet:send/4 */
#define PORT(i)	   ((uint64_t)(i) << 4 | 7)
#define NOWHERE	   0xdead0000ull
#define PID(i)	   ((uint64_t)(i) << 4 | 3)
#define NR	   4 /* processes: PID(0), PID(1), ... */
#define WAITING	   0xau
#define ALIAS	   1u
#define TARGET	   2u
#define PENDING	   4u
#define STRANGER   PID(77) /* not in the list */
#define OTHER_NODE 0x4bull /* its name */

struct world {
	struct fixture *t;
	struct stack_code code;
	struct process_facts p[NR];
	struct process_list list;
	struct process_stack stack;
	struct waits w;
};

static void add_code(struct world *w)
{
	static const char *const names[] = {"gen:do_call/4", "proc_lib:sync_start_link/2",
					    "'Elixir.Task':await/2", "m:f/1", "prim_inet:send/4"};
	struct fakenode *f = w->t->f;

	jitlist_add_code(f->im, f->node.anchors.jit_descriptor, CODE, 0x700, names,
			 ARRAY_SIZE(names));
	assert_int_equal(stack_code_open(&w->code, &f->node, NULL), 0);
}

static void enter(struct world *w, struct fixture *t)
{
	memset(w, 0, sizeof(*w));
	w->t = t;
	add_code(w);
	for (uint64_t i = 0; i < NR; i++) {
		w->p[i].epid = PID(i);
		w->p[i].addr = image_alloc(t->f->im, 64);
	}
	w->list = (struct process_list){.data = w->p, .len = NR};
	waits_begin(&w->w, &t->f->node, &w->code, &w->list);
}

static void leave(struct world *w)
{
	waits_free(&w->w);
	process_stack_free(&w->stack);
	stack_code_close(&w->code);
}

/* From the beginning, with the same processes. */
static void again(struct world *w)
{
	waits_free(&w->w);
	waits_begin(&w->w, &w->t->f->node, &w->code, &w->list);
}

static uint64_t make_ref(struct world *w, uint32_t number)
{
	return BOXED(w->t, 2 << 6 | 0x10, (uint64_t)number << 32 | 0xffffffff, 9ull << 32 | 8);
}

static uint32_t packed(const struct world *w, uint32_t type, uint32_t how)
{
	uint32_t flags = (how & TARGET ? 1u : 0) | (how & PENDING ? 1u << 5 : 0);
	uint32_t alias = how & ALIAS ? 1 : 0;

	return w->t->r.otp >= 28 ? type | alias << 5 | flags << 7
				 : flags | alias << 11 | type << 16;
}

/* The process monitors that one; a tree of one node, or below the one that is there. */
static raddr add_monitor(struct world *w, uint32_t from, uint64_t item, uint64_t ref, uint32_t how)
{
	struct fakenode *f = w->t->f;
	const struct beam_layout *l = &f->node.layout;
	raddr size = (raddr)l->monitor_size, a = image_alloc(f->im, 2 * (size_t)size + 64);
	raddr above = w->p[from].monitors;

	image_u64(f->im, a + (raddr)l->monitor_item, item);
	image_u32(f->im, a + (raddr)l->monitor_flags, packed(w, 0, how));
	image_u64(f->im, a + 2 * size, ref);
	image_u64(f->im, a + (raddr)l->monitor_left, above);
	if (above)
		image_u64(f->im, above + (raddr)l->monitor_parent, a);
	w->p[from].monitors = a;
	return a;
}

static void add_link(struct world *w, uint32_t from, uint64_t item, uint64_t unlinking)
{
	struct fakenode *f = w->t->f;
	const struct beam_layout *l = &f->node.layout;
	raddr a = image_alloc(f->im, (size_t)l->link_size + 8);

	image_u64(f->im, a + (raddr)l->link_item, item);
	image_u32(f->im, a + (raddr)l->link_flags, w->t->r.otp >= 28 ? 10 | 2 << 7 : 2 | 10 << 16);
	image_u64(f->im, a + (raddr)l->link_size, unlinking);
	w->p[from].links = a;
}

static void visit(struct world *w, uint32_t i, raddr at, uint32_t state, const uint64_t *y,
		  uint32_t nr)
{
	struct stack_frame f = {.addr = at, .nr_y = nr};

	w->stack.frames.len = w->stack.words.len = 0;
	w->stack.state = state;
	vec_push(&w->stack.frames, f);
	for (uint32_t k = 0; k < nr; k++)
		vec_push(&w->stack.words, y[k]);
	waits_visit(&w->w, i, &w->stack);
}
#define VISIT(w, i, at, ...)                                                                       \
	visit(w, i, at, WAITING, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void check_wait(const struct world *w, size_t i, uint32_t from, uint32_t to, uint64_t item)
{
	assert_true(i < w->w.v.len);
	assert_int_equal(w->w.v.data[i].from, from);
	assert_int_equal(w->w.v.data[i].to, to);
	assert_int_equal(w->w.v.data[i].item, item);
}

static void check_none(struct world *w)
{
	waits_end(&w->w);
	assert_int_equal(w->w.v.len, 0);
	again(w);
}

/* ---- what is one ----------------------------------------------------------------------------- */

static void test_calls(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	for (uint32_t i = 0; i < 3; i++)
		add_monitor(&w, i, PID((i + 1) % 3), make_ref(&w, i), i == 2 ? ALIAS : 0);
	VISIT(&w, 0, CALL, SMALL(1), make_ref(&w, 0),
	      TERM_NIL); /* the same one, elsewhere on the heap */
	VISIT(&w, 1, TASK, make_ref(&w, 1));
	VISIT(&w, 2, ANY, atom(t, "a"), PID(0), TUPLE(t, TERM_NIL), make_ref(&w, 2) | 4);
	VISIT(&w, 3, CALL, make_ref(&w, 3)); /* monitors nobody */
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 3);
	for (uint32_t i = 0; i < 3; i++)
		check_wait(&w, i, i, (i + 1) % 3, PID((i + 1) % 3));
	assert_int_equal(w.w.unreadable, 0);
	leave(&w);
}

static void test_elsewhere(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	add_monitor(&w, 0, STRANGER, make_ref(&w, 0), 0);
	add_monitor(&w, 1, OTHER_NODE, make_ref(&w, 1), ALIAS);
	add_monitor(&w, 2, PID(2), make_ref(&w, 2), 0); /* for itself */
	VISIT(&w, 0, CALL, make_ref(&w, 0));
	VISIT(&w, 1, CALL, make_ref(&w, 1));
	VISIT(&w, 2, CALL, make_ref(&w, 2));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 3);
	check_wait(&w, 0, 0, WAIT_ELSEWHERE, STRANGER);
	check_wait(&w, 1, 1, WAIT_ELSEWHERE, OTHER_NODE);
	check_wait(&w, 2, 2, 2, PID(2));
	leave(&w);
}

/* proc_lib:start_link of OTP 25: the pid of one that is linked. */
static void test_links(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	add_link(&w, 0, PID(1), 0);
	VISIT(&w, 0, START, PID(3), PID(1));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	check_wait(&w, 0, 0, 1, PID(1));
	again(&w);
	VISIT(&w, 0, CALL, PID(1));  /* there a pid says nothing */
	VISIT(&w, 1, START, PID(0)); /* not linked */
	check_none(&w);
	add_link(&w, 0, PID(1), 55); /* no longer */
	VISIT(&w, 0, START, PID(1));
	check_none(&w);
	add_monitor(&w, 2, PID(3), make_ref(&w, 5), 0); /* start_monitor in the same place */
	VISIT(&w, 2, START, make_ref(&w, 5));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	check_wait(&w, 0, 2, 3, PID(3));
	leave(&w);
}

/* Several monitors and references: one wait of each process. */
static void test_one_each(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	for (uint32_t i = 0; i < 20; i++)
		add_monitor(&w, 0, PID(i == 7 ? 3 : 1), make_ref(&w, 100 + i), i == 7 ? ALIAS : 0);
	VISIT(&w, 0, ANY, make_ref(&w, 103), make_ref(&w, 107), make_ref(&w, 107));
	VISIT(&w, 1, ANY, make_ref(&w, 107));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	check_wait(&w, 0, 0, 3, PID(3)); /* 103 is an ordinary monitor */
	again(&w);
	VISIT(&w, 0, CALL, make_ref(&w, 103), make_ref(&w, 107));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	check_wait(&w, 0, 0, 1, PID(1));
	leave(&w);
}

/* The one who is said to be suspended by that process; a ring of one node. */
static void add_suspender(struct world *w, uint32_t from, uint64_t item)
{
	struct fakenode *f = w->t->f;
	const struct beam_layout *l = &f->node.layout;
	raddr a = image_alloc(f->im, 2 * (size_t)l->monitor_size + 64);

	image_u64(f->im, a + (raddr)l->monitor_item, item);
	image_u32(f->im, a + (raddr)l->monitor_flags, packed(w, MONITOR_SUSPEND, TARGET));
	image_u64(f->im, a + (raddr)l->monitor_list_next, a);
	image_u64(f->im, a + (raddr)l->monitor_list_next + 8, a);
	w->p[from].lt_monitors = a;
}

/* What suspends a process goes before what its stack says. */
static void test_suspended(void **state)
{
	struct fixture *t = *state;
	struct world w;
	uint64_t ref;

	enter(&w, t);
	ref = make_ref(&w, 0);
	add_monitor(&w, 0, PID(1), ref, 0);
	add_suspender(&w, 0, PID(3));
	VISIT(&w, 2, SEND, PORT(5), SMALL(7));
	visit(&w, 0, CALL, WAITING | PSFLG_SUSPENDED, &ref, 1);
	visit(&w, 1, ANY, WAITING | PSFLG_SUSPENDED, NULL, 0); /* nobody knows by whom */
	VISIT(&w, 3, SEND, PORT(5), PORT(6));		       /* which of them? */
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 2);
	check_wait(&w, 0, 0, 3, PID(3));
	assert_int_equal(w.w.v.data[0].reason, WAIT_SUSPENDER);
	check_wait(&w, 1, 2, WAIT_ELSEWHERE, PORT(5));
	assert_int_equal(w.w.v.data[1].reason, WAIT_ANSWER); /* no such port is busy */
	assert_int_equal(w.w.unexplained, 1);
	assert_null(waits_port(&w.w, PORT(5)));
	assert_int_equal(waits_controller(&w.w, OTHER_NODE), 0);
	leave(&w);
}

/* The same request is the same wait; a monitor that is no request is distinguished. */
static void test_marks(void **state)
{
	struct fixture *t = *state;
	struct world w;
	uint64_t first;

	enter(&w, t);
	for (uint32_t i = 0; i < 2; i++)
		add_monitor(&w, i, PID(2), make_ref(&w, i), ALIAS);
	add_monitor(&w, 3, PID(2), make_ref(&w, 3), 0);
	VISIT(&w, 0, CALL, make_ref(&w, 0));
	VISIT(&w, 1, CALL, make_ref(&w, 1));
	VISIT(&w, 3, ANY, make_ref(&w, 3));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 2);
	first = w.w.v.data[0].mark;
	assert_int_not_equal(first, w.w.v.data[1].mark);
	assert_int_equal(w.w.monitors.len, 1);
	assert_int_equal(w.w.monitors.data[0].from, 3);
	assert_int_equal(w.w.monitors.data[0].item, PID(2));
	again(&w);
	w.p[0].reductions += 100;
	VISIT(&w, 0, CALL, TERM_NIL, make_ref(&w, 0));
	waits_end(&w.w);
	assert_int_equal(w.w.v.data[0].mark, first);
	leave(&w);
}

/* Since when, by the time of `after` and what is left of it: if both are known. */
static void test_timeouts(void **state)
{
	const int64_t hour = 3600000, now = 1000 * hour;
	struct fixture *t = *state;
	struct fakenode *f = t->f;
	raddr timer = image_alloc(f->im, 64), clock = image_alloc(f->im, 16);
	struct timespec ts;
	struct world w;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	image_u64(f->im, clock, (uint64_t)now * 1000000);
	image_u64(f->im, clock + 8, (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec);
	f->node.anchors.clock = clock;
	enter(&w, t);
	add_monitor(&w, 0, PID(1), make_ref(&w, 0), ALIAS);
	image_u64(f->im, timer + 16, w.p[0].addr);
	image_u64(f->im, timer + 24, (uint64_t)(now + 90 * hour));
	w.p[0].timer = timer;
	for (int i = 0; i < 5; i++) {
		if (i == 0)
			VISIT(&w, 0, CALL, SMALL(100 * hour), make_ref(&w, 0), TERM_NIL);
		else if (i == 1) /* which of them? */
			VISIT(&w, 0, CALL, SMALL(100 * hour), make_ref(&w, 0), SMALL(1));
		else if (i == 2) /* no such timer would be set */
			VISIT(&w, 0, CALL, SMALL(80 * hour), make_ref(&w, 0));
		else if (i == 3) /* whose integer may be anything */
			VISIT(&w, 0, ANY, SMALL(100 * hour), make_ref(&w, 0));
		else
			VISIT(&w, 0, CALL, SMALL(100 * hour), make_ref(&w, 0));
		if (i == 4) /* another's timer, by now */
			image_u64(f->im, timer + 16, w.p[1].addr);
		waits_end(&w.w);
		assert_int_equal(w.w.v.len, 1);
		if (i == 0)
			assert_in_range(w.w.v.data[0].waiting_ms, 10 * hour, 11 * hour);
		else
			assert_int_equal(w.w.v.data[0].waiting_ms, -1);
		again(&w);
	}
	leave(&w);
}

/* ---- what is none ---------------------------------------------------------------------------- */

static void test_no_request(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	add_monitor(&w, 0, PID(1), make_ref(&w, 0), 0);
	add_monitor(&w, 1, PID(2), make_ref(&w, 1), TARGET | ALIAS);
	add_monitor(&w, 2, PID(3), make_ref(&w, 2), PENDING | ALIAS);
	add_monitor(&w, 3, PID(0), TERM_NIL, ALIAS);
	VISIT(&w, 0, ANY, make_ref(&w, 0)); /* a monitor that is no alias */
	VISIT(&w, 1, CALL, make_ref(&w, 1));
	VISIT(&w, 2, CALL, make_ref(&w, 2));
	VISIT(&w, 3, CALL, make_ref(&w, 3));
	check_none(&w);
	VISIT(&w, 0, NOWHERE, make_ref(&w, 0)); /* code that nobody knows */
	VISIT(&w, 0, CALL, make_ref(&w, 1), PID(1), SMALL(0), TERM_NIL);
	VISIT(&w, 0, CALL, BOXED(t, 1 << 6 | 0x10, 0xffffffff), BOXED(t, 0x10));
	VISIT(&w, 0, CALL, BOXED(t, 2 << 6 | 0x10, 0xffffffff, 9ull << 32 | 7)); /* one off */
	check_none(&w);
	leave(&w);
}

static void test_states(void **state)
{
	static const struct {
		uint32_t state;
		size_t waits;
	} cases[] = {
		{WAITING, 1},
		{WAITING | PSFLG_SUSPENDED, 1},
		{WAITING | PSFLG_ACTIVE, 0},
		{WAITING | PSFLG_RUNNING, 0},
		{WAITING | PSFLG_GC, 0},
		{WAITING | PSFLG_EXITING, 0},
	};
	struct fixture *t = *state;
	struct process_stack empty = {.state = WAITING};
	struct world w;
	uint64_t ref;

	enter(&w, t);
	ref = make_ref(&w, 0);
	add_monitor(&w, 0, PID(1), ref, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		visit(&w, 0, CALL, cases[i].state, &ref, 1);
		waits_end(&w.w);
		assert_int_equal(w.w.v.len, cases[i].waits);
		again(&w);
	}
	waits_visit(&w.w, 0, &empty); /* no frames */
	visit(&w, 0, CALL, WAITING, NULL, 0);
	check_none(&w);
	leave(&w);
}

/* ---- what is hostile ------------------------------------------------------------------------- */

static void test_unreadable(void **state)
{
	struct fixture *t = *state;
	const struct beam_layout *l = &t->f->node.layout;
	struct world w;
	raddr node;

	enter(&w, t);
	add_monitor(&w, 0, PID(1), make_ref(&w, 0), 0);
	VISIT(&w, 0, CALL, NOWHERE | 2, 2, BOXED(t, 2 << 6 | 0x10), UINT64_MAX - 1);
	check_none(&w);
	VISIT(&w, 0, CALL, NOWHERE | 2, make_ref(&w, 0)); /* among them the right one */
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	again(&w);
	/* The monitor's reference is none, and a tree that leads round. */
	node = add_monitor(&w, 1, PID(2), NOWHERE | 2, 0);
	VISIT(&w, 1, CALL, make_ref(&w, 1));
	check_none(&w);
	image_u64(t->f->im, node + 2 * (raddr)l->monitor_size, make_ref(&w, 1));
	image_u64(t->f->im, node + (raddr)l->monitor_left, node);
	VISIT(&w, 1, CALL, make_ref(&w, 1));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	assert_int_equal(w.w.unreadable, 1);
	again(&w);
	w.p[2].monitors = w.p[2].links = NOWHERE;
	VISIT(&w, 2, START, make_ref(&w, 1), PID(1));
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 0);
	assert_int_equal(w.w.unreadable, 2);
	leave(&w);
}

/* More registers than any function has, and more clues than are read at once. */
static void test_many(void **state)
{
	struct fixture *t = *state;
	uint64_t y[70], ref;
	struct world w;

	enter(&w, t);
	ref = make_ref(&w, 0);
	add_monitor(&w, 0, PID(1), ref, 0);
	add_monitor(&w, 3, PID(2), ref, 0);
	for (size_t i = 0; i < ARRAY_SIZE(y); i++)
		y[i] = i == 64 ? ref : i % 2 ? NOWHERE | 2 : TUPLE(t, TERM_NIL);
	visit(&w, 0, CALL, WAITING, y, ARRAY_SIZE(y)); /* beyond what is looked at */
	for (size_t i = 0; i < 20; i++)
		visit(&w, 1, CALL, WAITING, y, 60);
	for (size_t i = 0; i < 19; i++)
		visit(&w, 3, CALL, WAITING, y, 60);
	visit(&w, 3, CALL, WAITING, &ref, 1);
	assert_in_range(w.w.clues.len, 2049, 3000);
	waits_end(&w.w);
	assert_int_equal(w.w.v.len, 1);
	check_wait(&w, 0, 3, 2, PID(2));
	leave(&w);
}

static void test_nobody(void **state)
{
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	w.list.len = 0;
	again(&w);
	check_none(&w);
	t->f->node.anchors.proc_tab = 0; /* terms cannot be read */
	check_none(&w);
	leave(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_calls),	   TEST_ALL(test_elsewhere),  TEST_ALL(test_links),
		TEST_ALL(test_one_each),   TEST_ALL(test_no_request), TEST_ALL(test_states),
		TEST_ALL(test_suspended),  TEST_ALL(test_marks),      TEST_ALL(test_timeouts),
		TEST_ALL(test_unreadable), TEST_ALL(test_many),	      TEST(test_nobody, 27),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
