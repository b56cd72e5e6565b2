/* SPDX-License-Identifier: BSD-2-Clause */
/* The dictionary: interning, defining, stability of what it returned, its limits; its index. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "names/names.h"

static struct names *open_names(uint32_t max_entries, size_t max_bytes)
{
	struct names *n;

	n = names_open_limited(max_entries, max_bytes);
	return n;
}

static uint32_t intern_text(struct names *n, const char *text)
{
	return names_intern_string(n, text, strlen(text), NULL);
}

static void test_intern(void **state)
{
	struct names *n;
	uint32_t m, f, function, frame, root, leaf, process, thread;
	bool is_new = false;

	UNUSED(state);
	n = names_open();
	m = names_intern_string(n, "lists", 5, &is_new);
	assert_int_equal(m, 1);
	assert_true(is_new);
	f = intern_text(n, "map");
	assert_int_equal(names_intern_string(n, "listsX", 5, &is_new), m);
	assert_false(is_new);

	function = names_intern_function(n, m, f, 2, FRAME_ERLANG, &is_new);
	assert_true(is_new);
	assert_int_equal(names_intern_function(n, m, f, 2, FRAME_ERLANG, &is_new), function);
	assert_false(is_new);
	assert_int_not_equal(names_intern_function(n, m, f, 3, FRAME_ERLANG, NULL), function);
	assert_int_not_equal(names_intern_function(n, m, f, 2, FRAME_BIF, NULL), function);
	assert_int_not_equal(names_intern_function(n, f, m, 2, FRAME_ERLANG, NULL), function);
	assert_string_equal(names_function(n, function)->module, "lists");
	assert_string_equal(names_function(n, function)->name, "map");
	assert_int_equal(names_function(n, function)->arity, 2);

	frame = names_intern_frame(n, function, intern_text(n, "lists.erl"), 7, &is_new);
	assert_true(is_new);
	assert_int_not_equal(names_intern_frame(n, function, 0, 7, NULL), frame);
	assert_string_equal(names_frame(n, frame)->file, "lists.erl");
	assert_int_equal(names_frame(n, frame)->line, 7);

	root = names_intern_stack(n, 0, frame, &is_new);
	assert_true(is_new);
	leaf = names_intern_stack(n, root, frame, NULL);
	assert_int_not_equal(root, leaf);
	assert_int_equal(names_intern_stack(n, root, frame, &is_new), leaf);
	assert_false(is_new);
	assert_int_equal(names_stack_depth(n, root), 1);
	assert_int_equal(names_stack_depth(n, leaf), 2);
	assert_int_equal(names_stack(n, leaf)->parent, root);

	process = names_intern_process(n, 0x123, intern_text(n, "<0.1.0>"), 0, 0, 0, &is_new);
	assert_true(is_new);
	assert_int_not_equal(
		names_intern_process(n, 0x123, intern_text(n, "<0.1.0>"), m, 0, 0, NULL), process);
	assert_null(names_process(n, process)->registered);
	assert_string_equal(names_process(n, process)->pid, "<0.1.0>");

	thread = names_intern_thread(n, 5, THREAD_NORMAL, 1, m, &is_new);
	assert_true(is_new);
	assert_int_equal(names_intern_thread(n, 5, THREAD_NORMAL, 1, m, NULL), thread);
	assert_int_not_equal(names_intern_thread(n, 5, THREAD_DIRTY_IO, 1, m, NULL), thread);
	assert_int_equal(names_thread(n, thread)->type, THREAD_NORMAL);
	assert_int_equal(names_count(n, NAMES_THREADS), 2);
	assert_int_equal(names_overflows(n), 0);
	names_close(n);
}

static void test_none_and_unknown(void **state)
{
	struct names *n = open_names(10, 100);

	UNUSED(state);
	for (uint32_t id = 0; id < 3; id++) {
		assert_null(names_string(n, id));
		assert_null(names_function(n, id));
		assert_null(names_frame(n, id));
		assert_null(names_stack(n, id));
		assert_null(names_process(n, id));
		assert_null(names_thread(n, id));
		assert_int_equal(names_stack_depth(n, id), 0);
	}
	assert_null(names_string(n, UINT32_MAX));
	names_close(n);
	names_close(NULL);
}

/* Pointers and ids stay good while tables and index grow through many chunks. */
static void test_growth(void **state)
{
	enum { NR = 20000 };
	struct names *n;
	const char *first;
	const struct name_function *function;
	char text[16];
	bool is_new;

	UNUSED(state);
	n = names_open();
	first = names_string(n, intern_text(n, "s0"));
	function = names_function(n, names_intern_function(n, 0, 1, -1, FRAME_KERNEL, NULL));
	for (int i = 1; i < NR; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		assert_int_equal(names_intern_string(n, text, strlen(text), &is_new), i + 1);
		assert_true(is_new);
		names_intern_function(n, 0, (uint32_t)i + 1, -1, FRAME_KERNEL, NULL);
	}
	for (int i = 0; i < NR; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		assert_int_equal(intern_text(n, text), i + 1);
		assert_string_equal(names_function(n, (uint32_t)i + 1)->name, text);
	}
	assert_ptr_equal(first, names_string(n, 1));
	assert_ptr_equal(function, names_function(n, 1));
	assert_string_equal(function->name, "s0");
	assert_int_equal(names_count(n, NAMES_STRINGS), NR);
	names_close(n);
}

static void test_strings(void **state)
{
	static const char cut_in_character[] = "\303\244";
	struct names *n = open_names(100, 1 << 20);
	char big[NAMES_MAX_STRING + 10];
	uint32_t id;

	UNUSED(state);
	memset(big, 'x', sizeof(big));
	id = names_intern_string(n, big, sizeof(big), NULL);
	assert_int_equal(strlen(names_string(n, id)), NAMES_MAX_STRING);
	assert_int_equal(names_intern_string(n, big, NAMES_MAX_STRING, NULL), id);
	memcpy(big + NAMES_MAX_STRING - 1, cut_in_character, 2);
	id = names_intern_string(n, big, sizeof(big), NULL);
	assert_int_equal(strlen(names_string(n, id)), NAMES_MAX_STRING - 1);
	/* NUL is a character of atoms. */
	id = names_intern_string(n, "a\0b", 3, NULL);
	assert_string_equal(names_string(n, id), "a\300\200b");
	assert_int_not_equal(names_intern_string(n, "a\0c", 3, NULL), id);
	id = names_intern_string(n, NULL, 0, NULL);
	assert_string_equal(names_string(n, id), "");
	names_close(n);
}

static void test_define(void **state)
{
	struct names *n = open_names(4, 1 << 20);

	UNUSED(state);
	assert_int_equal(names_define_string(n, 2, "x", 1), -EINVAL);
	assert_int_equal(names_define_string(n, 0, "x", 1), -EINVAL);
	assert_int_equal(names_define_string(n, 1, "m", 1), 0);
	assert_int_equal(names_define_string(n, 1, "m", 1), -EINVAL);
	assert_int_equal(names_define_string(n, 2, "f", 1), 0);

	assert_int_equal(names_define_function(n, 1, 1, 3, 0, FRAME_ERLANG), -EINVAL);
	assert_int_equal(names_define_function(n, 1, 3, 1, 0, FRAME_ERLANG), -EINVAL);
	assert_int_equal(names_define_function(n, 1, 1, 0, 0, FRAME_ERLANG), -EINVAL);
	assert_int_equal(names_define_function(n, 1, 1, 2, -2, FRAME_ERLANG), -EINVAL);
	assert_int_equal(names_define_function(n, 1, 1, 2, 0, FRAME_STATE + 1), -EINVAL);
	assert_int_equal(names_define_function(n, 1, 0, 2, -1, FRAME_STATE), 0);

	assert_int_equal(names_define_frame(n, 1, 0, 0, 1), -EINVAL);
	assert_int_equal(names_define_frame(n, 1, 2, 0, 1), -EINVAL);
	assert_int_equal(names_define_frame(n, 1, 1, 9, 1), -EINVAL);
	assert_int_equal(names_define_frame(n, 1, 1, 2, 1), 0);

	assert_int_equal(names_define_stack(n, 1, 1, 1), -EINVAL); /* its own parent */
	assert_int_equal(names_define_stack(n, 1, 0, 2), -EINVAL);
	assert_int_equal(names_define_stack(n, 1, 0, 0), -EINVAL);
	assert_int_equal(names_define_stack(n, 1, 0, 1), 0);
	assert_int_equal(names_define_stack(n, 2, 1, 1), 0);

	assert_int_equal(names_define_process(n, 1, 5, 0, 0, 0, 0), -EINVAL);
	assert_int_equal(names_define_process(n, 1, 5, 1, 3, 0, 0), -EINVAL);
	assert_int_equal(names_define_process(n, 1, 5, 1, 0, 3, 0), -EINVAL);
	assert_int_equal(names_define_process(n, 1, 5, 1, 0, 0, 2), -EINVAL);
	assert_int_equal(names_define_process(n, 1, 5, 1, 2, 2, 1), 0);
	assert_string_equal(names_process(n, 1)->label, "f");

	assert_int_equal(names_define_thread(n, 1, 5, THREAD_OTHER + 1, 0, 1), -EINVAL);
	assert_int_equal(names_define_thread(n, 1, 5, THREAD_OTHER, 0, 3), -EINVAL);
	assert_int_equal(names_define_thread(n, 1, 5, THREAD_OTHER, 0, 0), 0);
	assert_null(names_thread(n, 1)->name);
	names_close(n);
}

static void test_define_limits(void **state)
{
	struct names *n = open_names(3, 12);

	UNUSED(state);
	/* One more than the limit, since the side that interned may have had "[overflow]". */
	for (uint32_t id = 1; id <= 4; id++)
		assert_int_equal(names_define_string(n, id, "x", 1), 0);
	assert_int_equal(names_define_string(n, 5, "x", 1), -ENOSPC);
	names_close(n);
	n = open_names(1000, 100);
	assert_int_equal(names_define_string(n, 1, "0123456789", 10), 0);
	for (uint32_t id = 2; names_define_string(n, id, "0123456789", 10) == 0; id++)
		assert_true(id < 1000);
	assert_int_equal(
		names_define_string(n, names_count(n, NAMES_STRINGS) + 1, "0123456789", 10),
		-ENOSPC);
	assert_in_range(names_count(n, NAMES_STRINGS), 9, 11);
	names_close(n);
}

/* A stack that is deeper than any walker makes it cannot make a reader loop for long. */
static void test_depth(void **state)
{
	struct names *n;
	uint32_t stack = 0, id = 0;

	UNUSED(state);
	n = names_open();
	names_define_string(n, 1, "f", 1);
	names_define_function(n, 1, 0, 1, 0, FRAME_ERLANG);
	names_define_frame(n, 1, 1, 0, 0);
	for (; id < NAMES_MAX_DEPTH; id++)
		assert_int_equal(names_define_stack(n, id + 1, id, 1), 0);
	assert_int_equal(names_define_stack(n, id + 1, id, 1), -EINVAL);
	names_close(n);

	n = names_open();
	for (int i = 0; i < (int)NAMES_MAX_DEPTH + 5; i++)
		stack = names_intern_stack(n, stack, 1, NULL);
	assert_true(names_overflows(n) > 0);
	/* The stack that was too deep begins again with the overflow's frame at its root. */
	assert_in_range(names_stack_depth(n, stack), 1, NAMES_MAX_DEPTH);
	names_close(n);
}

static void test_overflow(void **state)
{
	struct names *n = open_names(3, 1 << 20);
	uint32_t ids[3], over, f, frame;
	bool is_new;
	char text[16];

	UNUSED(state);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "s%d", i);
		ids[i] = intern_text(n, text);
	}
	over = names_intern_string(n, "one too many", 12, &is_new);
	assert_true(is_new);
	assert_string_equal(names_string(n, over), "[overflow]");
	assert_int_equal(names_intern_string(n, "another", 7, &is_new), over);
	assert_false(is_new);
	assert_int_equal(names_intern_string(n, "s1", 2, &is_new), ids[1]); /* known ones stay */
	assert_int_equal(names_overflows(n), 2);
	assert_int_equal(names_count(n, NAMES_STRINGS), 4);

	for (int32_t arity = 0; arity < 5; arity++)
		f = names_intern_function(n, 0, ids[0], arity, FRAME_ERLANG, NULL);
	assert_string_equal(names_function(n, f)->name, "[overflow]");
	assert_int_equal(names_function(n, f)->kind, FRAME_STATE);
	for (uint32_t line = 0; line < 5; line++)
		frame = names_intern_frame(n, 1, 0, line, NULL);
	assert_int_equal(names_frame(n, frame)->function, f);
	for (uint32_t i = 0; i < 5; i++)
		over = names_intern_stack(n, 0, i + 1, NULL);
	assert_int_equal(names_stack(n, over)->frame, frame);
	for (uint32_t i = 0; i < 5; i++)
		over = names_intern_process(n, i, ids[0], 0, 0, 0, NULL);
	assert_string_equal(names_process(n, over)->pid, "[overflow]");
	for (uint32_t i = 0; i < 5; i++)
		over = names_intern_thread(n, i, THREAD_NORMAL, 1, ids[0], NULL);
	assert_string_equal(names_thread(n, over)->name, "[overflow]");
	for (int t = 0; t < NR_NAMES_TABLES; t++)
		assert_int_equal(names_count(n, (enum names_table)t), 4);
	names_close(n);
}

static void test_byte_limit(void **state)
{
	struct names *n = open_names(1000, 64);
	char text[24];
	uint32_t id = 0;

	UNUSED(state);
	for (int i = 0; i < 20; i++) {
		snprintf(text, sizeof(text), "0123456%d", i);
		id = intern_text(n, text);
	}
	assert_string_equal(names_string(n, id), "[overflow]");
	assert_true(names_count(n, NAMES_STRINGS) < 10);
	assert_true(names_overflows(n) > 10);
	names_close(n);
}

static bool same_number(const void *ctx, uint32_t id, const void *key)
{
	UNUSED(ctx);
	return id == *(const uint32_t *)key;
}

/* All hashes equal: the index degrades, but stays right. */
static void test_idmap(void **state)
{
	struct idmap m = IDMAP_INIT;

	UNUSED(state);
	for (uint32_t i = 0; i < 500; i++) {
		assert_int_equal(idmap_find(&m, 7, same_number, NULL, &i), IDMAP_NONE);
		idmap_add(&m, 7, i);
		assert_int_equal(idmap_find(&m, 7, same_number, NULL, &i), i);
		assert_int_equal(idmap_find(&m, 8, same_number, NULL, &i), IDMAP_NONE);
	}
	assert_int_equal(m.nr, 500);
	idmap_free(&m);
	assert_int_not_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh2", 9));
	assert_int_not_equal(hash_bytes("a", 1), hash_bytes("a\0", 2));
	assert_int_equal(hash_bytes("abcdefgh1", 9), hash_bytes("abcdefgh1", 9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intern),	   cmocka_unit_test(test_none_and_unknown),
		cmocka_unit_test(test_growth),	   cmocka_unit_test(test_strings),
		cmocka_unit_test(test_define),	   cmocka_unit_test(test_define_limits),
		cmocka_unit_test(test_depth),	   cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_byte_limit), cmocka_unit_test(test_idmap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
