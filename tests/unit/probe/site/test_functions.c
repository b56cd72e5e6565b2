/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the VM without symbols: what code calls, an instruction of the JIT, and the search
 * over a made-up executable, also a broken one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/site/code_calls.h"
#include "probe/site/functions.h"
#include "probe/site/jit_instruction.h"

/* ---- what code calls ------------------------------------------------------------------------- */

static bool one_word(void *ctx, uint64_t addr, uint64_t *value)
{
	*value = *(uint64_t *)ctx + addr;
	return true;
}

static void test_calls(void **state)
{
	static const uint8_t code[] = {
		0xe8, 0xfb, 0x0f, 0,	0,	 /* 0: call 0x1000 + 0 + 5 + 0xffb */
		0x49, 0x89, 0xc5,		 /* 5: mov %rax, %r13 */
		0x74, 0x02,			 /* 8: je 0xc */
		0x66, 0x90,			 /* a: nop */
		0x0f, 0x84, 0xee, 0x1f, 0, 0,	 /* c: je 0x3000 */
		0x40, 0xff, 0x15, 0x10, 0, 0, 0, /* 12: call *0x29(%rip) */
		0xe9, 0xe2, 0x2f, 0,	0,	 /* 19: jmp 0x4000 */
	};
	uint64_t base = 0x70000;
	struct code_bytes c = {code, sizeof(code), 0x1000, one_word, &base};
	struct code_call calls[8];

	UNUSED(state);
	assert_int_equal(code_calls_find(&c, calls, 8), 4);
	assert_int_equal(calls[0].target, 0x2000);
	assert_true(calls[0].process && !calls[0].jump);
	assert_int_equal(calls[1].target, 0x3000);
	assert_true(calls[1].jump);
	assert_int_equal(calls[2].target, 0x70000 + 0x1029);
	assert_true(!calls[2].jump && !calls[2].process);
	assert_int_equal(calls[3].target, 0x4000);
	assert_true(calls[3].jump);
	/* More than there is room for; code that ends within an instruction. */
	assert_true(code_calls_find(&c, calls, 3) == SIZE_MAX);
	for (size_t cut = 1; cut < 5; cut++) {
		c.size = sizeof(code) - cut;
		assert_true(code_calls_find(&c, calls, 8) == SIZE_MAX);
	}
	c.size = sizeof(code);
	assert_int_equal(code_calls_first(&c, 1), 0x2000);
	c = (struct code_bytes){code + 5, sizeof(code) - 5, 0x1005, one_word, &base};
	assert_int_equal(code_calls_first(&c, 2), 0);
}

/* As the JIT of OTP 25 and of OTP 27 wrote it. */
static void test_instruction(void **state)
{
	static const uint8_t code25[] = {0x4c, 0x89, 0xfa, 0x48, 0x89, 0xe1, 0x48, 0x89, 0xe5,
					 0x48, 0x8d, 0x63, 0x80, 0x4c, 0x89, 0xef, 0x4c, 0x89,
					 0xf6, 0x4d, 0x89, 0xe0, 0xff, 0x15, 0xdc, 0x3b, 0x00,
					 0x00, 0x49, 0x89, 0xc6, 0x48, 0x89, 0xec};
	static const uint8_t code27[] = {0x90, 0x4c, 0x89, 0xfa, 0x48, 0x89, 0xe1, 0x48, 0x89,
					 0xe5, 0x48, 0x8d, 0x63, 0xc0, 0xc5, 0xf8, 0x77, 0x4c,
					 0x89, 0xef, 0x44, 0x89, 0xf6, 0x4d, 0x89, 0xe0, 0xff,
					 0x15, 0xf1, 0x3b, 0x00, 0x00, 0x41, 0x89, 0xc6, 0x90};
	uint64_t base = 0x10;
	struct code_bytes c = {code25, sizeof(code25), 0x1000, one_word, &base};
	uint8_t twice[2 * sizeof(code27)];
	size_t at = 0;

	UNUSED(state);
	assert_int_equal(jit_instruction_remove_message(&c, &at), 0x10 + 0x101c + 0x3bdc);
	assert_int_equal(at, 0x1c);
	assert_int_equal(jit_instruction_remove_message(&c, &at), 0);
	memcpy(twice, code27, sizeof(code27));
	memcpy(twice + sizeof(code27), code27, sizeof(code27));
	c.bytes = twice;
	c.size = sizeof(twice);
	at = 0;
	assert_int_equal(jit_instruction_remove_message(&c, &at), 0x10 + 0x1020 + 0x3bf1);
	assert_int_equal(jit_instruction_remove_message(&c, &at),
			 0x10 + 0x1020 + sizeof(code27) + 0x3bf1);
	assert_int_equal(jit_instruction_remove_message(&c, &at), 0);
	/* Cut short at every length: found only if it is whole. */
	for (size_t size = 0; size <= sizeof(code25); size++) {
		uint8_t *copy = xmalloc(size + 1);

		memcpy(copy, code25, size);
		c = (struct code_bytes){copy, size, 0x1000, one_word, &base};
		at = 0;
		assert_int_equal(jit_instruction_remove_message(&c, &at) != 0, size >= 31);
		free(copy);
	}
}

/* ---- a made-up executable -------------------------------------------------------------------- */

#define TEXT	  0x10000u
#define SLOT	  256u /* bytes of a function */
#define NR_SLOTS  64u
#define FRAGMENT  0x900000u
#define AM_SYSTEM 0x1234cbu
#define AT(i)	  (TEXT + (i)*SLOT)

/* In code of the JIT, one page each. */
struct made_fragment {
	uint8_t code[64];
	uint64_t words[8]; /* behind it */
};

enum { FRAGMENT_ANY, FRAGMENT_RAISE, FRAGMENT_EXIT, FRAGMENT_NORMAL, NR_FRAGMENTS };
#define FRAGMENT_AT(i) (FRAGMENT + (i)*0x1000u)

struct made_symbol {
	const char *name;
	unsigned int slot;
};

struct image {
	const struct made_symbol *symbols; /* of what is not exported; ends without a name */
	uint8_t text[NR_SLOTS * SLOT];
	size_t used[NR_SLOTS];
	struct made_fragment fragments[NR_FRAGMENTS];
};

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	UNUSED(ctx);
	if (addr < TEXT || addr >= TEXT + NR_SLOTS * SLOT)
		return false;
	*start = addr - (addr - TEXT) % SLOT;
	*end = *start + SLOT;
	return true;
}

static bool read_text(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct image *m = ctx;

	if (addr < TEXT || addr - TEXT > sizeof(m->text) || size > sizeof(m->text) - (addr - TEXT))
		return false;
	memcpy(buf, m->text + (addr - TEXT), size);
	return true;
}

/* What extensions link to has the first slots. */
static const char *const exported[] = {"enif_send", "enif_make_copy", "driver_failure",
				       "erl_drv_busy_msgq_limits"};
static const char *const bifs[] = {
	"erlang:spawn/3", "erlang:spawn_link/3", "erlang:spawn_opt/4", "erlang:send/3",
	"erlang:send/2",  "erlang:register/2",	 "erlang:hibernate/3", "erts_internal:port_close/1",
};
#define BIF(i) (4u + (i))

static bool symbol(void *ctx, const char *name, uint64_t *addr)
{
	const struct image *m = ctx;

	for (size_t i = 0; m->symbols && m->symbols[i].name; i++) {
		*addr = AT(m->symbols[i].slot);
		if (strcmp(m->symbols[i].name, name) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(exported); i++) {
		*addr = AT(i);
		if (strcmp(exported[i], name) == 0)
			return true;
	}
	return false;
}

static bool bif(void *ctx, const char *mfa, uint64_t *addr)
{
	UNUSED(ctx);
	for (size_t i = 0; i < ARRAY_SIZE(bifs); i++) {
		*addr = AT(BIF(i));
		if (strcmp(bifs[i], mfa) == 0)
			return true;
	}
	return false;
}

static bool fragment(void *ctx, const char *name, uint8_t **bytes, size_t *size, uint64_t *addr)
{
	static const struct {
		const char *name;
		unsigned int i;
	} names[] = {
		{"garbage_collect", FRAGMENT_ANY},	    {"process_main", FRAGMENT_ANY},
		{"raise_exception_shared", FRAGMENT_RAISE}, {"process_exit", FRAGMENT_EXIT},
		{"normal_exit", FRAGMENT_NORMAL},
	};
	const struct image *m = ctx;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i].name) != 0)
			continue;
		*size = sizeof(m->fragments[0].code);
		*bytes = xmalloc(*size);
		memcpy(*bytes, m->fragments[names[i].i].code, *size);
		*addr = FRAGMENT_AT(names[i].i);
		return true;
	}
	return false;
}

static bool fragment_word(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct image *m = ctx;
	uint64_t i = (addr - FRAGMENT) / 0x1000;
	uint64_t word = ((addr - FRAGMENT) % 0x1000 - sizeof(m->fragments[0].code)) / 8;

	if (i >= NR_FRAGMENTS || word >= ARRAY_SIZE(m->fragments[i].words))
		return false;
	*value = m->fragments[i].words[word];
	return true;
}

static bool instruction(void *ctx, const char *name, uint64_t *addr)
{
	UNUSED(ctx);
	*addr = AT(40);
	return strcmp(name, "remove_message") == 0;
}

static uint64_t atom(void *ctx, const char *text)
{
	UNUSED(ctx);
	return strcmp(text, "system") == 0 ? AM_SYSTEM : 0;
}

static const struct function_space space = {
	.otp = 29,
	.bounds = bounds,
	.read = read_text,
	.symbol = symbol,
	.bif = bif,
	.fragment = fragment,
	.fragment_word = fragment_word,
	.instruction = instruction,
	.atom = atom,
	.text = TEXT,
	.text_end = TEXT + NR_SLOTS * SLOT,
};

static void add(struct image *m, unsigned int i, const void *bytes, size_t size)
{
	memcpy(m->text + i * SLOT + m->used[i], bytes, size);
	m->used[i] += size;
}

static void add_branch(struct image *m, uint8_t opcode, unsigned int from, unsigned int to)
{
	int32_t rel = (int32_t)(AT(to) - (AT(from) + m->used[from] + 5));

	add(m, from, &opcode, 1);
	add(m, from, &rel, 4);
}

#define CALL(m, from, to) add_branch(m, 0xe8, from, to)
#define JUMP(m, from, to) add_branch(m, 0xe9, from, to)

static void make_fragment(struct image *m, unsigned int nr_fragment, unsigned int nr,
			  const unsigned int *to)
{
	struct made_fragment *f = &m->fragments[nr_fragment];
	size_t at = 0;

	memset(f->code, 0x90, sizeof(f->code));
	for (unsigned int i = 0; i < nr; i++) {
		int32_t disp = (int32_t)(sizeof(f->code) + 8 * i - (at + 6));

		f->code[at] = 0xff;
		f->code[at + 1] = 0x15;
		memcpy(f->code + at + 2, &disp, 4);
		at += 6;
		f->words[i] = AT(to[i]);
	}
	/* What the last one returns is the process. */
	memcpy(f->code + at, "\x49\x89\xc5", 3);
}

static void fragment_calls(struct image *m, unsigned int nr, const unsigned int *to)
{
	make_fragment(m, FRAGMENT_ANY, nr, to);
}

/* 20: erl_create_process, 21: what many call, 22: erts_register_name, 23: do_send, 24: erl_send,
 * 25: erts_queue_message, 26: erts_queue_proc_message, 27, 28: how they queue. */
static void build(struct image *m)
{
	memset(m, 0, sizeof(*m));
	memset(m->text, 0x90, sizeof(m->text));
	for (unsigned int i = 0; i < 3; i++) {
		CALL(m, BIF(i), 20);
		CALL(m, BIF(i), 21);
	}
	CALL(m, BIF(3), 23);
	CALL(m, BIF(3), 21);
	JUMP(m, BIF(4), 24);
	CALL(m, 24, 23);
	CALL(m, 24, 21);
	CALL(m, BIF(5), 22);
	CALL(m, BIF(5), BIF(5)); /* itself, which does not count */
	CALL(m, BIF(7), 21);
	CALL(m, 0, 25);
	CALL(m, 0, 26);
	CALL(m, 0, 29);
	CALL(m, 23, 30); /* erts_send_message */
	CALL(m, 30, 26);
	for (unsigned int i = 25; i <= 26; i++) {
		CALL(m, i, 27);
		JUMP(m, i, 28);
	}
	for (unsigned int i = 31; i < 40; i++) {
		uint32_t term = AM_SYSTEM;

		add(m, i, "\x41\xb8", 2);
		add(m, i, &term, 4);
		CALL(m, i, 25);
	}
}

static void assert_found(struct functions *f, const char *name, unsigned int slot)
{
	uint64_t addr = 0;

	assert_true(functions_find(f, name, &addr));
	assert_int_equal(addr, AT(slot));
	/* The same again, from what is known. */
	assert_true(functions_find(f, name, &addr));
	assert_int_equal(addr, AT(slot));
}

static void open_image(struct functions **f, struct image *m)
{
	struct function_space s = space;

	s.ctx = m;
	functions_open_space(f, &s);
}

static void test_search(void **state)
{
	static struct image m;
	struct functions *f;
	uint64_t addr;

	UNUSED(state);
	build(&m);
	fragment_calls(&m, 2, (const unsigned int[]){41, 42});
	open_image(&f, &m);
	functions_ignore_symbols(f);
	assert_found(f, "erl_create_process", 20);
	assert_found(f, "erts_register_name", 22);
	assert_found(f, "erts_queue_message", 25);
	assert_found(f, "erts_queue_proc_message", 26);
	assert_found(f, "erts_send_message", 30);
	assert_found(f, "beam_jit_remove_message", 40);
	assert_found(f, "erts_schedule", 42);
	/* The fragment calls two functions: not known which. */
	assert_false(functions_find(f, "erts_garbage_collect_nobump", &addr));
	assert_string_equal(functions_reason(f, "erts_garbage_collect_nobump"),
			    "hidden, and 2 functions match its recipe");
	/* It calls nothing that others do not call. */
	assert_false(functions_find(f, "erts_hibernate", &addr));
	assert_string_equal(functions_reason(f, "erts_hibernate"),
			    "hidden, and no function matches its recipe");
	assert_false(functions_find(f, "erts_unregister_name", &addr));
	assert_string_equal(functions_reason(f, "erts_unregister_name"),
			    "hidden, and which functions erlang:unregister/1 calls is not known");
	/* Of another release, and of none. */
	assert_false(functions_find(f, "erts_proc_sig_send_to_alias", &addr));
	assert_string_equal(functions_reason(f, "erts_proc_sig_send_to_alias"), "");
	assert_string_equal(functions_reason(f, "no_such_function"), "");
	functions_close(f);
	/* One call alone. */
	fragment_calls(&m, 1, (const unsigned int[]){41});
	open_image(&f, &m);
	assert_found(f, "erts_garbage_collect_nobump", 41);
	functions_close(f);
}

/* Two functions that three BIFs share, one atom that goes to two functions: nothing is found. */
static void test_ambiguous(void **state)
{
	static struct image m;
	struct functions *f;
	uint64_t addr;

	UNUSED(state);
	build(&m);
	for (unsigned int i = 0; i < 3; i++)
		CALL(&m, BIF(i), 50);
	for (unsigned int i = 51; i < 54; i++) {
		uint32_t term = AM_SYSTEM;

		add(&m, i, "\x41\xb8", 2);
		add(&m, i, &term, 4);
		CALL(&m, i, 29);
	}
	open_image(&f, &m);
	assert_false(functions_find(f, "erl_create_process", &addr));
	assert_false(functions_find(f, "erts_queue_message", &addr));
	assert_false(functions_find(f, "erts_queue_proc_message", &addr));
	functions_close(f);
}

#define RAISES	  43 /* handle_error */
#define ENDS	  44 /* erts_do_exit_process */
#define TERMINATE 45
#define OTHER	  46 /* calls as RAISES does */

/* By whom the two functions are called; TERMINATE stands between them and the end. */
static void build_exceptions(struct image *m, bool two_raise, unsigned int exit_calls)
{
	build(m);
	make_fragment(m, FRAGMENT_RAISE, two_raise ? 2 : 1, (const unsigned int[]){RAISES, OTHER});
	make_fragment(m, FRAGMENT_EXIT, two_raise ? 2 : 1,
		      (const unsigned int[]){exit_calls, two_raise ? RAISES : OTHER});
	make_fragment(m, FRAGMENT_NORMAL, 1, (const unsigned int[]){ENDS});
	CALL(m, RAISES, TERMINATE);
	CALL(m, OTHER, ENDS);
}

static void assert_no_exceptions(struct image *m, const char *reason)
{
	struct functions *f;
	uint64_t addr;

	open_image(&f, m);
	assert_false(functions_find(f, "handle_error", &addr));
	assert_string_equal(functions_reason(f, "handle_error"), reason);
	functions_close(f);
}

/* The function that two fragments call and that ends processes; in doubt none. */
static void test_exceptions(void **state)
{
	static struct image m;
	struct functions *f;

	UNUSED(state);
	build_exceptions(&m, false, RAISES);
	CALL(&m, TERMINATE, ENDS);
	open_image(&f, &m);
	assert_found(f, "handle_error", RAISES);
	assert_found(f, "erts_do_exit_process", ENDS);
	functions_close(f);
	/* It ends nobody. */
	build_exceptions(&m, false, RAISES);
	assert_no_exceptions(&m, "hidden, and no function matches its recipe");
	/* The fragments do not call the same. */
	build_exceptions(&m, false, OTHER);
	CALL(&m, TERMINATE, ENDS);
	assert_no_exceptions(&m, "hidden, and no function matches its recipe");
	/* They share two that could be it. */
	build_exceptions(&m, true, OTHER);
	CALL(&m, TERMINATE, ENDS);
	assert_no_exceptions(&m, "hidden, and 2 functions match its recipe");
	/* It is what a normal end calls, too; then its own end is not known either. */
	build_exceptions(&m, false, RAISES);
	CALL(&m, TERMINATE, ENDS);
	make_fragment(&m, FRAGMENT_NORMAL, 2, (const unsigned int[]){ENDS, RAISES});
	assert_no_exceptions(&m, "hidden, and no function matches its recipe");
}

/* A function that has a symbol, but is not called by its caller: the compiler put a copy there. */
static void test_inlined(void **state)
{
	static const struct made_symbol symbols[] = {
		{"erts_queue_proc_message", 26}, {"erts_send_message", 30}, {0}};
	static struct image m;
	struct functions *f;
	uint64_t addr;

	UNUSED(state);
	/* 30 calls it. */
	build(&m);
	m.symbols = symbols;
	open_image(&f, &m);
	assert_found(f, "erts_queue_proc_message", 26);
	functions_close(f);
	/* 30 calls another one. */
	build(&m);
	m.symbols = symbols;
	m.used[30] = 0;
	CALL(&m, 30, 27);
	open_image(&f, &m);
	assert_false(functions_find(f, "erts_queue_proc_message", &addr));
	assert_string_equal(
		functions_reason(f, "erts_queue_proc_message"),
		"the compiler has put a copy of it into erts_send_message, which no probe sees");
	assert_found(f, "erts_send_message", 30); /* which is there all the same */
	functions_close(f);
	/* Whose code is not understood, or where it is not known: the symbol counts. */
	m.used[30] = 0;
	add(&m, 30, "\x06", 1);
	open_image(&f, &m);
	assert_found(f, "erts_queue_proc_message", 26);
	functions_close(f);
	build(&m);
	m.symbols = (const struct made_symbol[]){{"erts_queue_proc_message", 49}, {0}};
	m.used[23] = 0;
	CALL(&m, 23, 21);
	open_image(&f, &m);
	assert_found(f, "erts_queue_proc_message", 49);
	functions_close(f);
}

/* OTP 24: the copy's calls are seen in what it calls, if that is known by all that it calls. */
static void test_rest_of_inlined(void **state)
{
	static const struct made_symbol symbols[] = {{"erts_queue_proc_message", 26},
						     {"erts_send_message", 30},
						     {"queue_messages", 21},
						     {0}};
	struct function_space old = space;
	struct functions *f;
	static struct image m;
	uint64_t addr;

	UNUSED(state);
	old.otp = 24;
	old.ctx = &m;
	for (int calls_whole = 0; calls_whole < 2; calls_whole++) {
		build(&m);
		m.symbols = symbols;
		m.used[30] = 0;
		CALL(&m, 30, 21);
		CALL(&m, 30, 45);
		CALL(&m, 45, 27);
		JUMP(&m, 45, 28);
		if (calls_whole)
			CALL(&m, 30, 26);
		functions_open_space(&f, &old);
		assert_found(f, "erts_queue_proc_message", 26);
		if (calls_whole)
			assert_false(functions_find(f, "queue_messages", &addr));
		else
			assert_found(f, "queue_messages", 45);
		functions_close(f);
	}
	/* Of another release that function takes other arguments, whatever its name is. */
	for (old.otp = 25; old.otp <= 29; old.otp++) {
		build(&m);
		m.symbols = symbols;
		m.used[30] = 0;
		CALL(&m, 30, 21);
		functions_open_space(&f, &old);
		assert_false(functions_find(f, "erts_queue_proc_message", &addr));
		functions_close(f);
	}
	/* It calls something else, too. */
	old.otp = 24;
	build(&m);
	m.symbols = symbols;
	m.used[30] = 0;
	CALL(&m, 30, 45);
	CALL(&m, 45, 27);
	CALL(&m, 45, 21);
	JUMP(&m, 45, 28);
	functions_open_space(&f, &old);
	assert_false(functions_find(f, "queue_messages", &addr));
	assert_false(functions_find(f, "erts_queue_proc_message", &addr));
	functions_close(f);
}

/* Whatever the bytes are: an answer is the start of a function, or there is none. */
static void test_broken(void **state)
{
	static struct image m;
	const char *name;

	UNUSED(state);
	srand(1);
	for (int round = 0; round < 300; round++) {
		struct functions *f;
		uint64_t addr;

		build(&m);
		fragment_calls(&m, 2, (const unsigned int[]){41, 42});
		for (int i = 0; i < (round % 3 ? 40 : 4000); i++)
			m.text[(unsigned int)rand() % sizeof(m.text)] = (uint8_t)rand();
		for (int i = 0; i < round % 8; i++)
			m.fragments[0].code[(unsigned int)rand() % sizeof(m.fragments[0].code)] =
				(uint8_t)rand();
		m.fragments[0].words[0] = (uint64_t)rand() << 20;
		open_image(&f, &m);
		for (unsigned int i = 0; (name = functions_recipe(f, i)) != NULL; i++)
			if (functions_find(f, name, &addr))
				assert_true(addr >= TEXT && addr < TEXT + NR_SLOTS * SLOT &&
					    (addr - TEXT) % SLOT == 0);
		functions_close(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),		cmocka_unit_test(test_instruction),
		cmocka_unit_test(test_search),		cmocka_unit_test(test_ambiguous),
		cmocka_unit_test(test_exceptions),	cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_rest_of_inlined), cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
