/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing strings, arenas and vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"

static void test_empty(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	size_t len = 1;
	char *p;

	UNUSED(state);
	assert_string_equal(sb.buf, "");
	strbuf_reset(&sb);
	strbuf_add(&sb, NULL, 0);
	assert_int_equal(sb.alloc, 0); /* nothing allocated for nothing */
	p = strbuf_detach(&sb, &len);
	assert_string_equal(p, "");
	assert_int_equal(len, 0);
	free(p);
	strbuf_free(&sb);
	strbuf_free(&sb);
	assert_string_equal(strbuf_empty, "");
}

static void test_add(void **state)
{
	struct strbuf sb;

	UNUSED(state);
	strbuf_init(&sb);
	strbuf_addstr(&sb, "abc");
	strbuf_addch(&sb, 'd');
	strbuf_addf(&sb, "%d-%s", 42, "x");
	strbuf_add(&sb, "\0y", 2);
	assert_int_equal(sb.len, 10);
	assert_memory_equal(sb.buf, "abcd42-x\0y", 11);
	strbuf_reset(&sb);
	assert_int_equal(sb.len, 0);
	assert_string_equal(sb.buf, "");
	strbuf_addstr(&sb, "again");
	assert_string_equal(sb.buf, "again");
	strbuf_free(&sb);
	assert_ptr_equal(sb.buf, strbuf_empty);
}

/* NUL terminated at every length, also at those where it grows. */
static void test_growth(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	char *p;
	size_t len;

	UNUSED(state);
	for (size_t i = 0; i < 5000; i++) {
		strbuf_addch(&sb, (char)('a' + i % 26));
		assert_int_equal(sb.len, i + 1);
		assert_int_equal(sb.buf[i + 1], '\0');
		assert_true(sb.alloc > sb.len);
	}
	strbuf_grow(&sb, 100000);
	assert_true(sb.alloc > sb.len + 100000);
	assert_int_equal(sb.buf[4999], 'a' + 4999 % 26);
	strbuf_addf(&sb, "%10000d", 7);
	assert_int_equal(sb.len, 15000);
	p = strbuf_detach(&sb, &len);
	assert_int_equal(len, 15000);
	assert_int_equal(p[14999], '7');
	assert_int_equal(sb.len, 0);
	assert_string_equal(sb.buf, "");
	free(p);
}

static void test_arena(void **state)
{
	struct strbuf from = STRBUF_INIT;
	struct arena a = ARENA_INIT;
	const char *texts[3000];
	char text[32];
	char *big;

	UNUSED(state);
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		texts[i] = arena_strndup(&a, text, strlen(text));
	}
	big = arena_alloc(&a, 1 << 20); /* larger than any chunk */
	memset(big, 'x', 1 << 20);
	assert_string_equal(arena_strndup(&a, "after", 3), "aft");
	for (int i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		assert_string_equal(texts[i], text);
	}
	assert_true(a.total > (1 << 20) + 3000 * 7);
	arena_free(&a);
	assert_int_equal(a.total, 0);
	assert_string_equal(arena_strndup(&a, "", 0), "");
	strbuf_addstr(&from, "moved");
	assert_string_equal(arena_text(&a, &from), "moved");
	assert_int_equal(from.len, 0);
	assert_null(arena_text(&a, &from));
	strbuf_free(&from);
	arena_free(&a);
}

static void test_vec(void **state)
{
	VEC(uint64_t) v = {0};

	UNUSED(state);
	for (uint64_t i = 0; i < 1000; i++)
		vec_push(&v, i * i);
	assert_int_equal(v.len, 1000);
	assert_true(v.cap >= 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(v.data[i], i * i);
	vec_free(&v);
	assert_null(v.data);
	assert_int_equal(v.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),  cmocka_unit_test(test_add),
		cmocka_unit_test(test_growth), cmocka_unit_test(test_arena),
		cmocka_unit_test(test_vec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
