/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of servers that wait in the loop of their behaviour, or hibernate: registers as OTP 25,
 * 27 and 29 have them, those that leave a choice, and those that are no loop's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/behaviour.h"
#include "lib/termfix.h"

#define SLOTS  1024u
#define CODE   0x7e0000100000ull
#define SERVER (CODE + 0x100)
#define STATEM (CODE + 0x200)
#define EVENT  (CODE + 0x300)
#define HANDLE (CODE + 0x400) /* gen_server:try_handle_call/4 */
#define OTHER  (CODE + 0x500)
#define PID(i) ((uint64_t)(i) << 4 | 3)
#define EPID   PID(7)
#define PARENT PID(6)

struct world {
	struct fixture *t;
	struct stack_code code;
	struct process_facts p;
	struct process_stack stack;
	raddr tab;
	uint32_t nr_others;
	struct behaviour_state s;
};

static void add_code(struct world *w)
{
	static const char *const names[] = {"gen_server:loop/7", "gen_statem:loop_receive/3",
					    "gen_event:fetch_msg/6", "gen_server:try_handle_call/4",
					    "lists:map/2"};
	struct fakenode *f = w->t->f;

	jitlist_add_code(f->im, f->node.anchors.jit_descriptor, CODE, 0x600, names,
			 ARRAY_SIZE(names));
	assert_int_equal(stack_code_open(&w->code, &f->node, NULL), 0);
}

/* A process table without processes. */
static void add_table(struct world *w)
{
	struct fakenode *f = w->t->f;
	const struct beam_layout *l = &f->node.layout;
	raddr ptab = f->node.anchors.proc_tab, invalid = image_alloc(f->im, 64);

	fakenode_ptab(f, ptab, 10, 3);
	w->tab = image_alloc(f->im, 8 * SLOTS);
	image_u64(f->im, ptab + (raddr)l->ptab_tab, w->tab);
	image_u32(f->im, ptab + (raddr)l->ptab_max, SLOTS);
	image_u64(f->im, ptab + (raddr)l->ptab_invalid_element, invalid);
}

static void enter(struct world *w, struct fixture *t)
{
	memset(w, 0, sizeof(*w));
	w->t = t;
	add_code(w);
	add_table(w);
	w->p.addr = image_alloc(t->f->im, (size_t)t->f->node.layout.process_size);
	w->p.epid = EPID;
	w->p.parent = PARENT;
}

static void leave(struct world *w)
{
	process_stack_free(&w->stack);
	stack_code_close(&w->code);
}

static void add_frame(struct world *w, raddr addr, const uint64_t *y, uint32_t nr)
{
	struct stack_frame f = {.addr = addr, .y = (uint32_t)w->stack.words.len, .nr_y = nr};

	vec_push(&w->stack.frames, f);
	for (uint32_t i = 0; i < nr; i++)
		vec_push(&w->stack.words, y[i]);
}

static void read_state(struct world *w)
{
	behaviour_state_read(&w->t->f->node, &w->code, &w->p, &w->stack, &w->t->r, &w->s);
}

static void read_frame(struct world *w, raddr addr, const uint64_t *y, uint32_t nr)
{
	w->stack.frames.len = w->stack.words.len = 0;
	w->p.i = addr;
	add_frame(w, addr, y, nr);
	read_state(w);
}
#define FRAME(w, addr, ...)                                                                        \
	read_frame(w, addr, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

static void known(struct world *w, enum behaviour b, uint64_t value)
{
	assert_string_equal(w->s.why, "");
	assert_true(w->s.known);
	assert_int_equal(w->s.behaviour, b);
	assert_int_equal(w->s.value, value);
}

static void unknown(struct world *w, enum behaviour b, const char *why)
{
	assert_false(w->s.known);
	assert_int_equal(w->s.behaviour, b);
	assert_non_null(strstr(w->s.why, why));
}

/* fun M:F/A */
static uint64_t callback(struct fixture *t, const char *name, uint64_t arity)
{
	raddr export = fakenode_export(t->f, "my", name, arity);

	if (t->r.otp == 24)
		return BOXED(t, 1 << 6 | 0x1c, export);
	if (t->r.otp <= 26)
		return BOXED(t, 4 << 6 | 0x14, export, 0, arity, atom(t, "external"));
	return t->r.otp >= 28 ? BOXED(t, 1 << 24 | arity << 8 | 0x14, export)
			      : BOXED(t, arity << 8 | 0x14, export);
}

/* What the loop has for its module, which tells its release. */
static uint64_t module_part(struct fixture *t)
{
	uint64_t call, cast, info;

	if (t->r.otp < 26)
		return atom(t, "my");
	call = callback(t, "handle_call", 3);
	cast = callback(t, "handle_cast", 2);
	info = callback(t, "handle_info", 2);
	if (t->r.otp < 28)
		return TUPLE(t, atom(t, "callback_cache"), atom(t, "my"), call, cast, info);
	return TUPLE(t, atom(t, "server_data"), PARENT, atom(t, "tag"), atom(t, "name"),
		     atom(t, "my"), atom(t, "infinity"), call, cast, info,
		     callback(t, "handle_continue", 2));
}

static void read_server(struct world *w, uint64_t state)
{
	struct fixture *t = w->t;

	w->p.registered = atom(t, "name");
	w->p.initial_call = TUPLE(t, atom(t, "my"), atom(t, "init"), SMALL(1));
	if (t->r.otp >= 28)
		FRAME(w, SERVER, TERM_NIL, state, module_part(t), TERM_NIL);
	else
		FRAME(w, SERVER, TERM_NIL, atom(t, "infinity"), module_part(t), state,
		      atom(t, "name"), PARENT);
}

/* ---- gen_server ----------------------------------------------------------------------------- */

static void test_server(void **state)
{
	struct fixture *t = *state;
	const uint64_t states[] = {
		TUPLE(t, atom(t, "state"), SMALL(1)),
		SMALL(5),
		cons(t, SMALL(1), TERM_NIL),
		atom(t, "undefined"),
		PID(99),
		BOXED(t, 1 << 8 | (t->r.otp >= 27 ? 0x2c : 0x3c), 1, TUPLE(t, TERM_NIL), TERM_NIL)};
	struct world w;

	enter(&w, t);
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		read_server(&w, states[i]);
		known(&w, BEHAVIOUR_GEN_SERVER, states[i]);
		assert_false(w.s.hibernating);
	}
	read_server(&w, TERM_NIL); /* like the others: it does not matter which one it is */
	if (t->r.otp >= 28)
		known(&w, BEHAVIOUR_GEN_SERVER, TERM_NIL);
	w.p.flags = F_HIBERNATED;
	read_server(&w, states[0]);
	known(&w, BEHAVIOUR_GEN_SERVER, states[0]);
	assert_true(w.s.hibernating);
	leave(&w);
}

static void test_no_server(void **state)
{
	static const char not_those[] = "of its gen_server loop differs", none[] = "has no values";
	struct fixture *t = *state;
	uint64_t part = module_part(t), many[40];
	struct behaviour_registers b = {.y = many, .nr = 33};
	struct world w;

	enter(&w, t);
	FRAME(&w, SERVER, SMALL(1));
	unknown(&w, BEHAVIOUR_GEN_SERVER, not_those);
	FRAME(&w, SERVER, part, part, part, part, part, part);
	unknown(&w, BEHAVIOUR_GEN_SERVER, not_those);
	FRAME(&w, SERVER, 0, 0, 0, 0, 0, 0);
	unknown(&w, BEHAVIOUR_GEN_SERVER, not_those);
	FRAME(&w, SERVER, 0xdead0002, 0xdead0001, 0xdead0002, part, TERM_NIL, TERM_NIL, PARENT,
	      0x1b);
	unknown(&w, BEHAVIOUR_GEN_SERVER, not_those);
	read_frame(&w, SERVER, many, 0);
	unknown(&w, BEHAVIOUR_GEN_SERVER, none);
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = TERM_NIL;
	read_frame(&w, SERVER, many, 16);
	unknown(&w, BEHAVIOUR_GEN_SERVER, not_those);
	read_frame(&w, SERVER, many, 17); /* more than are looked at */
	unknown(&w, BEHAVIOUR_GEN_SERVER, none);
	w.stack.frames.data[0].nr_y = 16; /* more than the stack has */
	w.stack.words.len = 15;
	read_state(&w);
	unknown(&w, BEHAVIOUR_GEN_SERVER, none);
	w.stack.frames.data[0].y = UINT32_MAX - 2;
	w.stack.frames.data[0].addr = SERVER + 1;
	read_state(&w);
	unknown(&w, BEHAVIOUR_GEN_SERVER, none);
	assert_int_equal(behaviour_server_candidates(&t->r, &b, true), 0);
	b.nr = 0;
	assert_int_equal(behaviour_server_candidates(&t->r, &b, false), 0);
	leave(&w);
}

/* Another one that waits where this one waits. */
static void add_other(struct world *w, const uint64_t *y, uint32_t nr)
{
	struct fakenode *f = w->t->f;
	const struct beam_layout *l = &f->node.layout;
	uint32_t number = 200 + w->nr_others++;
	raddr slot = (number & 127) << 3 | (number >> 7 & 7), stop = words(w->t, y, nr);
	raddr p = image_alloc(f->im, (size_t)l->process_size);

	image_u64(f->im, w->tab + 8 * slot, p);
	image_u64(f->im, p + (raddr)l->process_id, PID((number & ~1023u) | slot));
	image_u32(f->im, p + (raddr)l->process_state, 0xa);
	image_u64(f->im, p + (raddr)l->process_heap, stop);
	image_u64(f->im, p + (raddr)l->process_htop, stop);
	image_u64(f->im, p + (raddr)l->process_stop, stop);
	image_u64(f->im, p + (raddr)l->process_hend, stop + 8ull * nr);
	image_u64(f->im, p + (raddr)l->process_heap_sz, nr);
	image_u64(f->im, p + (raddr)l->process_i, SERVER);
	image_u64(f->im, p + (raddr)l->process_arg_reg, p + (raddr)l->process_def_arg_reg);
	image_u64(f->im, p + (raddr)l->process_group_leader, PARENT);
	image_u64(f->im, p + (raddr)l->process_parent, PARENT);
}

/* A state [] beside a timer: it looks as if the timer were the state.  Those who have no timer
 * know better, if they are three in four. */
static void test_votes(void **state)
{
	struct fixture *t = *state;
	uint64_t timer = TUPLE(t, SMALL(1), SMALL(2)), part = module_part(t);
	const uint64_t other[] = {part, TUPLE(t, atom(t, "state")), TERM_NIL, TERM_NIL};
	struct world w;

	enter(&w, t);
	for (int i = 0; i < 2; i++) {
		add_other(&w, other, ARRAY_SIZE(other));
		FRAME(&w, SERVER, part, TERM_NIL, TERM_NIL, timer);
		unknown(&w, BEHAVIOUR_GEN_SERVER, "several values");
	}
	add_other(&w, other, ARRAY_SIZE(other));
	FRAME(&w, SERVER, part, TERM_NIL, TERM_NIL, timer);
	known(&w, BEHAVIOUR_GEN_SERVER, TERM_NIL);
	leave(&w);
}

/* ---- gen_statem, gen_event ------------------------------------------------------------------ */

static void test_statem(void **state)
{
	struct fixture *t = *state;
	uint64_t pair = TUPLE(t, atom(t, "idle"), SMALL(4)), tag = atom(t, "state");
	uint64_t record = TUPLE(t, tag, pair, TERM_NIL, TERM_NIL, TERM_NIL);
	uint64_t twin = TUPLE(t, tag, pair, SMALL(1), TERM_NIL, TERM_NIL);
	uint64_t other = TUPLE(t, tag, TUPLE(t, TERM_NIL, TERM_NIL), TERM_NIL, TERM_NIL, TERM_NIL);
	struct world w;

	enter(&w, t);
	FRAME(&w, STATEM, PARENT, record, TERM_NIL);
	known(&w, BEHAVIOUR_GEN_STATEM, pair);
	FRAME(&w, STATEM, record, twin); /* of one state, before and after */
	known(&w, BEHAVIOUR_GEN_STATEM, pair);
	FRAME(&w, STATEM, record, other);
	unknown(&w, BEHAVIOUR_GEN_STATEM, "several values");
	FRAME(&w, STATEM, TUPLE(t, tag, pair, TERM_NIL, TERM_NIL),
	      TUPLE(t, tag, TERM_NIL, TERM_NIL, TERM_NIL, TERM_NIL),
	      TUPLE(t, atom(t, "idle"), pair, TERM_NIL, TERM_NIL, TERM_NIL), 0xdead0002,
	      BOXED(t, 5 << 6), 0);
	unknown(&w, BEHAVIOUR_GEN_STATEM, "of its gen_statem loop differs");
	leave(&w);
}

static void check_print(struct world *w, const char *text)
{
	struct strbuf out = STRBUF_INIT;

	behaviour_state_print(&w->s, &w->t->r, &out);
	assert_string_equal(out.buf, text);
	strbuf_free(&out);
}

static void test_event(void **state)
{
	struct fixture *t = *state;
	uint64_t tag = atom(t, "handler"), no = atom(t, "false");
	uint64_t one = TUPLE(t, tag, atom(t, "h1"), no, SMALL(1), no);
	uint64_t two = TUPLE(t, tag, atom(t, "h2"), SMALL(9), SMALL(2), no);
	uint64_t list = cons(t, one, cons(t, two, TERM_NIL)), cycle = cons(t, one, TERM_NIL);
	struct world w;

	enter(&w, t);
	FRAME(&w, EVENT, PARENT, list, TERM_NIL);
	known(&w, BEHAVIOUR_GEN_EVENT, list);
	check_print(&w, "[{h1,false,1},{h2,9,2}]");
	FRAME(&w, EVENT, PARENT, cons(t, SMALL(1), TERM_NIL), TERM_NIL);
	known(&w, BEHAVIOUR_GEN_EVENT, TERM_NIL);
	check_print(&w, "[]");
	FRAME(&w, EVENT, list, cons(t, two, TERM_NIL));
	unknown(&w, BEHAVIOUR_GEN_EVENT, "several values");
	t->r.max_elements = 3;
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	FRAME(&w, EVENT, cycle, cons(t, one, SMALL(1)), cons(t, one, 0xdead0001),
	      cons(t, 0xdead0002, TERM_NIL), 0xdead0001);
	unknown(&w, BEHAVIOUR_GEN_EVENT, "of its gen_event loop differs");
	w.s.value = cycle;
	check_print(&w, "[{h1,false,1},{h1,false,1},{h1,false,1}]");
	leave(&w);
}

/* ---- hibernation ---------------------------------------------------------------------------- */

static void hibernate(struct world *w, const char *module, const char *function, uint64_t args)
{
	struct fixture *t = w->t;
	uint64_t mfa =
		cons(t, atom(t, module), cons(t, atom(t, function), cons(t, args, TERM_NIL)));

	w->p.flags = F_HIBERNATED;
	image_u64(t->f->im, w->p.addr + (raddr)t->f->node.layout.process_arg_reg,
		  WORDS(t, atom(t, "proc_lib"), atom(t, "wake_up"), mfa));
	read_state(w);
}

static uint64_t list_of(struct fixture *t, const uint64_t *items, size_t nr)
{
	uint64_t list = TERM_NIL;

	while (nr-- > 0)
		list = cons(t, items[nr], list);
	return list;
}

static void test_hibernation(void **state)
{
	static const char none[] = "not a gen_server, gen_statem or gen_event";
	struct fixture *t = *state;
	uint64_t pair = TUPLE(t, atom(t, "idle"), SMALL(4)), cycle = cons(t, TERM_NIL, TERM_NIL);
	uint64_t record = TUPLE(t, atom(t, "state"), pair, TERM_NIL, TERM_NIL, TERM_NIL);
	const uint64_t args[] = {PARENT, EPID, record, atom(t, "my"), TERM_NIL, TERM_NIL, TERM_NIL};
	const uint64_t empty[] = {PARENT, EPID, TERM_NIL, TERM_NIL, TERM_NIL};
	struct world w;

	enter(&w, t);
	hibernate(&w, "gen_server", "wake_hib", list_of(t, args, 6));
	known(&w, BEHAVIOUR_GEN_SERVER, record);
	assert_true(w.s.hibernating);
	hibernate(&w, "gen_statem", "wakeup_from_hibernate", list_of(t, args, 3));
	known(&w, BEHAVIOUR_GEN_STATEM, pair);
	hibernate(&w, "gen_event", "wake_hib", list_of(t, empty, 5));
	known(&w, BEHAVIOUR_GEN_EVENT, TERM_NIL);
	hibernate(&w, "gen_event", "wake_hib", list_of(t, args, 5));
	unknown(&w, BEHAVIOUR_GEN_EVENT, "of its gen_event loop differs");
	hibernate(&w, "gen_server", "wake_hib", list_of(t, args, 7));
	unknown(&w, BEHAVIOUR_NONE, none);
	hibernate(&w, "gen_server", "wake_hib", list_of(t, args, 5));
	unknown(&w, BEHAVIOUR_NONE, none);
	hibernate(&w, "my_server", "wake_hib", list_of(t, args, 6));
	unknown(&w, BEHAVIOUR_NONE, none);
	image_u64(t->f->im, (cycle & ~7ull) + 8, cycle);
	hibernate(&w, "gen_server", "wake_hib", cycle);
	unknown(&w, BEHAVIOUR_NONE, none);
	image_u64(t->f->im, w.p.addr + (raddr)t->f->node.layout.process_arg_reg, 0xdead0000);
	read_state(&w);
	unknown(&w, BEHAVIOUR_NONE, none);
	w.p.addr = 0xdead0000;
	read_state(&w);
	unknown(&w, BEHAVIOUR_NONE, none);
	leave(&w);
}

/* ---- elsewhere ------------------------------------------------------------------------------ */

static void test_elsewhere(void **state)
{
	const uint64_t y[] = {TERM_NIL};
	struct fixture *t = *state;
	struct world w;

	enter(&w, t);
	read_state(&w); /* no frame at all */
	unknown(&w, BEHAVIOUR_NONE, "not a gen_server");
	add_frame(&w, OTHER, y, 1);
	read_state(&w);
	unknown(&w, BEHAVIOUR_NONE, "not a gen_server");
	add_frame(&w, HANDLE + 1, y, 1);
	add_frame(&w, STATEM + 1, y, 1);
	read_state(&w);
	unknown(&w, BEHAVIOUR_GEN_SERVER, "inside a callback");
	w.stack.frames.data[1].addr = 0xdead0000;
	read_state(&w);
	unknown(&w, BEHAVIOUR_GEN_STATEM, "inside a callback");
	w.stack.frames.data[0].addr = SERVER; /* it waited there once */
	w.stack.stale = true;
	read_state(&w);
	unknown(&w, BEHAVIOUR_GEN_SERVER, "is running");
	leave(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_ALL(test_server),	  TEST_ALL(test_no_server), TEST(test_votes, 29),
		TEST_ALL(test_statem),	  TEST_ALL(test_event),	    TEST_ALL(test_hibernation),
		TEST_ALL(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
