/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw events of the VM -> ids and numbers: each type of field, terms from the words that came with
 * them, and whatever may stand in a record that is no good.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "event/catalogue.h"
#include "lib/resolvefix.h"

#define EPID	 0x2983ull /* <0.83.0> */
#define SMALL(n) (((uint64_t)(n) << 4) | 0xf)
#define LIST(a)	 ((a) | 1)
#define BOXED(a) ((a) | 2)
#define HEAP	 0x7f1000000000ull

union raw {
	struct rec_raw_event rec;
	uint8_t bytes[sizeof(struct rec_raw_event) + EVENT_BLOCKS * sizeof(struct term_block)];
};

static int open_test(void **state)
{
	*state = fix_open(27);
	return 0;
}

static int close_test(void **state)
{
	fix_close(*state);
	return 0;
}

static void start(union raw *raw, enum event_kind kind, uint16_t nr_values)
{
	memset(raw, 0, sizeof(*raw));
	raw->rec.h = (struct rec_header){.type = REC_RAW_EVENT, .size = sizeof(*raw)};
	raw->rec.kind = (uint16_t)kind;
	raw->rec.epid = EPID;
	raw->rec.nr_values = nr_values;
}

static uint64_t *block(union raw *raw, uint64_t addr)
{
	struct term_block *b = &raw->rec.blocks[raw->rec.nr_blocks++];

	b->addr = addr;
	return b->words;
}

static int resolve(struct fix *x, const union raw *raw, struct resolved_event *out)
{
	memset(out, 0, sizeof(*out));
	return x->r->base.event(&x->r->base, x->names, &raw->rec, out);
}

static const char *text_of(struct fix *x, uint64_t id)
{
	return names_string(x->names, (uint32_t)id);
}

static const char *pid_of(struct fix *x, uint64_t id)
{
	const struct name_process *p = names_process(x->names, (uint32_t)id);

	return p ? p->pid : NULL;
}

static void assert_function(struct fix *x, uint64_t id, const char *expect)
{
	const struct name_function *f = names_function(x->names, (uint32_t)id);
	struct strbuf text = STRBUF_INIT;

	assert_non_null(f);
	names_format_function(&text, f);
	assert_string_equal(text.buf, expect);
	strbuf_free(&text);
}

/* What user space has read itself has names already, of any length. */
static void test_strings(void **state)
{
	static const char name[] = "a command that is longer than a field of text has room for";
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_LONG_SCHEDULE, 7);
	raw.rec.flags = RAW_EVENT_BEFORE;
	raw.rec.epid = 0;
	raw.rec.values[0] = 5000;
	raw.rec.values[5] = names_intern_string(x->names, "spawn", 5, NULL);
	raw.rec.values[6] = names_intern_string(x->names, name, strlen(name), NULL);
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[EVENT_AT(LONG_SCHEDULE, DURATION)], 5000);
	assert_string_equal(text_of(x, out.values[EVENT_AT(LONG_SCHEDULE, DRIVER)]), "spawn");
	assert_string_equal(text_of(x, out.values[EVENT_AT(LONG_SCHEDULE, NAME)]), name);
	/* Of a process there is neither. */
	raw.rec.flags = 0;
	raw.rec.nr_values = 4;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_true(out.values[EVENT_AT(LONG_SCHEDULE, NAME)] == 0);
	assert_true(out.values[EVENT_AT(LONG_SCHEDULE, PORT)] == 0);
}

static void test_spawn(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_PROCESS_SPAWN, 4);
	raw.rec.values[0] = EPID + (8 << 4);
	fakenode_mfa(x->f, &raw.rec.values[1], "lists", "map", 2);
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.nr_values, 2);
	assert_string_equal(pid_of(x, out.process), "<0.83.0>");
	assert_non_null(pid_of(x, out.values[0]));
	assert_function(x, out.values[1], "lists:map/2");
	/* What it starts with is known of the child from now on. */
	assert_function(x, names_process(x->names, out.process)->initial_call, "lists:map/2");
	/* No parent, and arguments that are no list. */
	raw.rec.values[0] = 0;
	raw.rec.values[3] = UINT64_MAX;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
	assert_int_equal(out.values[1], 0);
}

/* What a USDT probe says of a function is text. */
static void test_text(void **state)
{
	static const char text[] =
		"'A very long name, so that it takes more than one block':'b c'/2";
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_PROCESS_SPAWN, 4);
	raw.rec.flags = RAW_EVENT_TEXT;
	memcpy(block(&raw, 0), text, EVENT_TEXT_BLOCK);
	strcpy((char *)block(&raw, 0), text + EVENT_TEXT_BLOCK);
	strcpy((char *)block(&raw, 0), "left over");
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_function(x, out.values[1],
			"'A very long name, so that it takes more than one block':'b c'/2");
	assert_function(x, names_process(x->names, out.process)->initial_call,
			"'A very long name, so that it takes more than one block':'b c'/2");
	/* Cut: unknown. */
	memset(raw.rec.blocks[1].words, 0, sizeof(raw.rec.blocks[1].words));
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[1], 0);
	/* Without an end: no byte behind the blocks is taken. */
	raw.rec.nr_blocks = EVENT_BLOCKS;
	for (unsigned int i = 0; i < EVENT_BLOCKS; i++)
		memset(raw.rec.blocks[i].words, 'a', sizeof(raw.rec.blocks[i].words));
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[1], 0);
	raw.rec.nr_blocks = 0;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[1], 0);
}

/* {error,["ab"|42]}, its parts in blocks of their own. */
static void put_term(struct fix *x, union raw *raw)
{
	uint64_t *w = block(raw, HEAP);

	w[0] = 2 << 6;
	w[1] = fakenode_atom(x->f, "error");
	w[2] = LIST(HEAP + 0x100);
	w = block(raw, HEAP + 0x100);
	w[0] = LIST(HEAP + 0x200);
	w[1] = SMALL(42);
	/* A list whose cells stand backwards. */
	w = block(raw, HEAP + 0x200 - 48);
	w[6] = SMALL('a');
	w[7] = LIST(HEAP + 0x200 - 16);
	w[4] = SMALL('b');
	w[5] = TERM_NIL;
	raw->rec.values[0] = BOXED(HEAP);
}

static void test_terms(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_PROCESS_EXIT, 1);
	raw.rec.values[0] = fakenode_atom(x->f, "an odd one");
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "'an odd one'");
	put_term(x, &raw);
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "{error,[\"ab\"|42]}");
	/* Without its words, or some of them, it is cut, not guessed. */
	raw.rec.nr_blocks = 2;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "{error,[[...]|42]}");
	raw.rec.nr_blocks = 1;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "{error,[...]}");
	raw.rec.nr_blocks = 0;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "...");
}

static void test_other_types(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_PORT_CONTROL, 6);
	raw.rec.values[0] = (5 << 4) | 7;
	memcpy(&raw.rec.values[1], "tcp_inet", 9);
	raw.rec.values[5] = 42;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.nr_values, 3);
	assert_true(strncmp(text_of(x, out.values[0]), "#Port<0.", 8) == 0);
	assert_string_equal(text_of(x, out.values[1]), "tcp_inet");
	assert_int_equal(out.values[2], 42);
	/* No NUL in a text that fills its words; no port. */
	memset(&raw.rec.values[1], 'x', 8 * EVENT_TEXT_WORDS);
	raw.rec.values[0] = EPID;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
	assert_int_equal(strlen(text_of(x, out.values[1])), 8 * EVENT_TEXT_WORDS);

	start(&raw, EVENT_PROCESS_SCHEDULED, 3);
	raw.rec.values[0] = EVENT_WORD_OUT;
	raw.rec.values[1] = fix_return(x, 0, 1);
	raw.rec.values[2] = EVENT_UNKNOWN;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "out");
	assert_function(x, out.values[1], "lists:a/1");
	assert_true(out.values[2] == EVENT_UNKNOWN);
	raw.rec.values[0] = NR_EVENT_WORDS;
	raw.rec.values[1] = 0x1234;
	raw.rec.epid = 0;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
	assert_int_equal(out.values[1], 0);
	assert_int_equal(out.process, 0);

	start(&raw, EVENT_PROCESS_REGISTER, 2);
	raw.rec.values[0] = fakenode_atom(x->f, "code_server");
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "code_server");
	raw.rec.values[0] = 0xffffffffull << 6 | 0xb; /* no such atom */
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
	/* Fewer values than fields: what is not there is not known. */
	raw.rec.nr_values = 0;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.nr_values, 2);
	assert_int_equal(out.values[0], 0);
}

/* Fewer values than fields, of every kind and so many: a number that is not there is not 0. */
static void test_left_out(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	unsigned int compared = 0;
	union raw raw;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		unsigned int nr, words = 0;
		const struct event_field *fields = event_fields((enum event_kind)kind, &nr);

		for (unsigned int left = 0; left <= nr; left++) {
			start(&raw, (enum event_kind)kind, (uint16_t)words);
			assert_int_equal(resolve(x, &raw, &out), 0);
			assert_int_equal(out.nr_values, nr);
			for (unsigned int i = 0; i < nr; i++, compared++) {
				bool number = fields[i].type >= FIELD_WORDS;

				assert_true(out.values[i] ==
					    (number && i >= left ? EVENT_UNKNOWN : 0));
			}
			if (left < nr)
				words += event_field_words(fields[left].type);
		}
	}
	print_message("%u values compared\n", compared);
}

/* An allocator: where the VM keeps its name, without the end that all have; sizes as they are. */
static void test_allocators(void **state)
{
	static const char prefix[] = "eheap_",
			  endless[] = "a_prefix_that_has_no_end_at_all_in_sight";
	struct fix *x = *state;
	struct image *im = x->f->im;
	raddr at = image_alloc(im, sizeof(prefix)), at_endless = image_alloc(im, sizeof(endless));
	struct resolved_event out;
	union raw raw;

	image_put(im, at, prefix, sizeof(prefix));
	image_put(im, at_endless, endless, sizeof(endless) - 1);
	start(&raw, EVENT_CARRIER_RESIZE, 4);
	raw.rec.values[0] = at;
	raw.rec.values[1] = 3;
	raw.rec.values[2] = 1ull << 40;
	raw.rec.values[3] = EVENT_UNKNOWN;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.nr_values, 4);
	assert_string_equal(text_of(x, out.values[0]), "eheap_alloc");
	assert_int_equal(out.values[1], 3);
	assert_true(out.values[2] == 1ull << 40);
	assert_true(out.values[3] == EVENT_UNKNOWN);
	/* Cut where its room ends. */
	raw.rec.values[0] = at_endless;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_string_equal(text_of(x, out.values[0]), "a_prefix_that_has_no_end_at_allalloc");
	/* None, and what cannot be read. */
	raw.rec.values[0] = 0;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
	raw.rec.values[0] = 0x10;
	assert_int_equal(resolve(x, &raw, &out), 0);
	assert_int_equal(out.values[0], 0);
}

static void test_refused(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	start(&raw, EVENT_PROCESS_EXIT, 1);
	raw.rec.kind = NR_EVENT_KINDS;
	assert_int_equal(resolve(x, &raw, &out), -EINVAL);
	start(&raw, EVENT_PROCESS_EXIT, EVENT_RAW_WORDS + 1);
	assert_int_equal(resolve(x, &raw, &out), -EINVAL);
	start(&raw, EVENT_PROCESS_EXIT, 1);
	raw.rec.nr_blocks = EVENT_BLOCKS + 1;
	assert_int_equal(resolve(x, &raw, &out), -EINVAL);
	raw.rec.nr_blocks = 2;
	raw.rec.h.size = sizeof(raw.rec) + sizeof(struct term_block);
	assert_int_equal(resolve(x, &raw, &out), -EINVAL);
}

/* Whatever words a record of any kind holds: an answer, and ids that exist. */
static void test_anything(void **state)
{
	struct fix *x = *state;
	struct resolved_event out;
	union raw raw;

	srand(1);
	for (int i = 0; i < 3000; i++) {
		start(&raw, (enum event_kind)(i % NR_EVENT_KINDS), EVENT_RAW_WORDS);
		for (size_t at = offsetof(struct rec_raw_event, epid); at < sizeof(raw); at++)
			raw.bytes[at] = (uint8_t)(rand() % 4 ? 0 : rand());
		raw.rec.nr_blocks = (uint16_t)(rand() % (EVENT_BLOCKS + 1));
		/* Blocks that refer to each other, and to themselves. */
		for (int k = 0; k < raw.rec.nr_blocks; k++) {
			raw.rec.blocks[k].addr = HEAP + 64 * (uint64_t)(rand() % 8);
			for (int w = 0; w < EVENT_BLOCK_WORDS; w++)
				raw.rec.blocks[k].words[w] = (HEAP + 8 * (uint64_t)(rand() % 64)) |
							     (unsigned int)(rand() % 4);
		}
		for (int k = 0; k < EVENT_RAW_WORDS; k++) {
			if (rand() % 2)
				raw.rec.values[k] = (HEAP + 8 * (uint64_t)(rand() % 64)) |
						    (unsigned int)(rand() % 4);
		}
		if (resolve(x, &raw, &out) == 0)
			assert_true(out.nr_values <= EVENT_MAX_FIELDS &&
				    names_thread(x->names, out.thread));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_test, close_test)
		TEST(test_text),     TEST(test_strings),     TEST(test_spawn),
		TEST(test_terms),    TEST(test_other_types), TEST(test_refused),
		TEST(test_anything), TEST(test_allocators),  TEST(test_left_out),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
