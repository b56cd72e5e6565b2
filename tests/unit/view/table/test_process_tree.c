/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of who started whom, and its drawing; ancestors that are gone, lead round in circles, or
 * are chains longer than any screen. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "lib/page.h"
#include "view/table/process_tree.h"

#define ROOT PROCESS_TREE_ROOT
#define NONE PROCESS_PID_NONE

struct forest {
	struct process_strings strings;
	struct process_row *rows;
	uint64_t *ancestors;
	bool *wanted; /* NULL = all */
	size_t nr;
	struct process_tree t;
};

/* Processes <0.100.0>, <0.101.0>, ... without ancestors, each of a name of its own. */
static void plant(struct forest *f, size_t nr)
{
	memset(f, 0, sizeof(*f));
	f->nr = nr;
	f->rows = xcalloc(nr, sizeof(*f->rows));
	f->ancestors = xcalloc(nr * PROCESS_TREE_ANCESTORS, sizeof(*f->ancestors));
	memset(f->ancestors, 0xff, nr * PROCESS_TREE_ANCESTORS * sizeof(*f->ancestors));
	for (size_t i = 0; i < nr; i++) {
		f->rows[i].pid = 100 + i;
		f->rows[i].parent = f->rows[i].group_leader = NONE;
		f->rows[i].status = 5;
	}
}

static void fell(struct forest *f)
{
	process_tree_free(&f->t);
	process_strings_free(&f->strings);
	free(f->rows);
	free(f->ancestors);
	free(f->wanted);
}

static uint32_t string(struct forest *f, const char *text)
{
	return process_strings_add(&f->strings, text, strlen(text));
}

static void set(struct forest *f, size_t row, const char *name, uint64_t memory)
{
	f->rows[row].initial_call = string(f, name);
	f->rows[row].memory = memory;
	f->rows[row].message_queue_len = 1;
	f->rows[row].reductions = 10;
}

static void below(struct forest *f, size_t row, size_t k, uint64_t ancestor)
{
	f->ancestors[row * PROCESS_TREE_ANCESTORS + k] = ancestor;
}

/* Whatever the tree: each row once, those above before those below, one level at a time. */
static void grow(struct forest *f)
{
	uint32_t *at = xcalloc(f->nr + 1, sizeof(*at));

	process_tree_free(&f->t);
	process_tree_build(&f->t, &f->strings, f->rows, f->nr, f->ancestors, f->wanted);
	for (size_t i = 0; i < f->nr; i++) {
		uint32_t row = f->t.order[i], above = f->t.above[row];

		assert_true(row < f->nr);
		assert_int_equal(at[row], 0);
		at[row] = (uint32_t)i + 1;
		if (above == ROOT) {
			assert_int_equal(f->t.depth[row], 0);
			continue;
		}
		assert_true(above < f->nr && at[above] != 0);
		assert_int_equal(f->t.depth[row], f->t.depth[above] + 1);
		assert_true(f->t.depth[row] <= f->t.depth[f->t.order[i - 1]] + 1);
		assert_true(!f->t.shown[row] || f->t.shown[above]);
	}
	free(at);
}

static void check_text(const struct forest *f, bool all, const char *expect)
{
	struct page p;

	process_tree_write(page_open(&p), &f->t, all, false);
	page_expect(&p, expect);
}

static void check_lines(const struct forest *f, bool all, size_t expect)
{
	struct page p;
	size_t nr = 0;

	process_tree_write(page_open(&p), &f->t, all, false);
	for (const char *c = page_text(&p); *c; c++)
		nr += *c == '\n';
	assert_int_equal(nr, expect + 1); /* and the heading */
	assert_null(strstr(page_text(&p), "more"));
	page_close(&p);
}

/* ---- who is above ---------------------------------------------------------------------------- */

static void test_above(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 6);
	f.rows[0].registered = string(&f, "my_sup");
	f.rows[3].pid = 1ull << 32 | 100; /* the number of the first, another serial */
	below(&f, 1, 0, 100);
	below(&f, 2, 0, PROCESS_PID_TEXT | f.rows[0].registered);
	below(&f, 3, 0, 999); /* gone; the next one that lives counts */
	below(&f, 3, 1, PROCESS_PID_TEXT | string(&f, "nobody"));
	below(&f, 3, 2, 102);
	below(&f, 4, 3, 1ull << 32 | 100);
	below(&f, 5, 0, 105); /* itself */
	below(&f, 5, 1, PROCESS_PID_TEXT);
	grow(&f);
	assert_int_equal(f.t.above[0], ROOT);
	assert_int_equal(f.t.above[1], 0);
	assert_int_equal(f.t.above[2], 0);
	assert_int_equal(f.t.above[3], 2);
	assert_int_equal(f.t.above[4], 3);
	assert_int_equal(f.t.above[5], ROOT);
	assert_int_equal(f.t.depth[4], 3);
	fell(&f);
}

/* By number, then serial, whatever the order of the rows. */
static void test_order(void **state)
{
	static const uint32_t order[] = {3, 4, 2, 1, 0};
	struct forest f;

	UNUSED(state);
	plant(&f, 5);
	f.rows[0].pid = 9;
	f.rows[1].pid = 1ull << 32 | 5; /* an older number used again: later */
	f.rows[2].pid = 5;
	f.rows[3].pid = 1;
	f.rows[4].pid = 2ull << 32 | 2;
	for (size_t i = 0; i < 5; i++)
		if (i != 3)
			below(&f, i, 0, 1);
	grow(&f);
	assert_memory_equal(f.t.order, order, sizeof(order));
	fell(&f);
}

static void test_wanted(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 6);
	for (size_t i = 1; i < 4; i++)
		below(&f, i, 0, 100 + i - 1);
	below(&f, 4, 0, 100);
	f.wanted = xcalloc(6, sizeof(*f.wanted));
	grow(&f);
	for (size_t i = 0; i < 6; i++)
		assert_false(f.t.shown[i]);
	check_text(&f, false,
		   "PROCESS  PID  MEMORY  MAILBOX  REDUCTIONS  STATUS  CURRENT FUNCTION\n");
	f.wanted[2] = true;
	grow(&f);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(f.t.shown[i], i <= 2);
	fell(&f);
}

/* ---- what is drawn --------------------------------------------------------------------------- */

static void test_drawing(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 6);
	set(&f, 0, "init", 2048);
	set(&f, 1, "sup", 1024);
	set(&f, 2, "worker", 10);
	set(&f, 3, "other", 20);
	set(&f, 4, "logger", 30);
	below(&f, 1, 0, 100);
	below(&f, 2, 0, 101);
	below(&f, 3, 0, 101);
	below(&f, 4, 0, 100);
	f.rows[3].torn = true;
	grow(&f);
	check_text(&f, false,
		   "PROCESS       PID          MEMORY  MAILBOX  REDUCTIONS  STATUS   CURRENT "
		   "FUNCTION\n"
		   "init          <0.100.0>   2.0 KiB        1          10  waiting  -\n"
		   "├─ sup        <0.101.0>   1.0 KiB        1          10  waiting  -\n"
		   "│  ├─ worker  <0.102.0>      10 B        1          10  waiting  -\n"
		   "│  └─ other   <0.103.0>~     20 B        1          10  waiting  -\n"
		   "└─ logger     <0.104.0>      30 B        1          10  waiting  -\n"
		   "?             <0.105.0>       0 B        0           0  waiting  -\n");
	fell(&f);
}

/* Leaves of one name: the largest three, and the rest as one line. */
static void test_groups(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 10);
	set(&f, 0, "pool", 2048);
	for (size_t i = 1; i < 8; i++) {
		set(&f, i, "worker", 100 * i);
		below(&f, i, 0, 100);
	}
	set(&f, 8, "worker", 5);
	below(&f, 8, 0, 100);
	set(&f, 9, "child", 1);
	below(&f, 9, 0, 108); /* that worker is no leaf */
	grow(&f);
	check_text(&f, false,
		   "PROCESS           PID         MEMORY  MAILBOX  REDUCTIONS  STATUS   CURRENT "
		   "FUNCTION\n"
		   "pool              <0.100.0>  2.0 KiB        1          10  waiting  -\n"
		   "├─ worker         <0.107.0>    700 B        1          10  waiting  -\n"
		   "├─ worker         <0.106.0>    600 B        1          10  waiting  -\n"
		   "├─ worker         <0.105.0>    500 B        1          10  waiting  -\n"
		   "├─ 4 more worker  -           1000 B        4          40  -        -\n"
		   "└─ worker         <0.108.0>      5 B        1          10  waiting  -\n"
		   "   └─ child       <0.109.0>      1 B        1          10  waiting  -\n");
	check_lines(&f, true, 10);
	below(&f, 7, 0, 999); /* six are all shown */
	grow(&f);
	check_lines(&f, false, 10);
	fell(&f);
}

#define TEN   "1234567890"
#define FIFTY TEN TEN TEN TEN TEN
#define E10   "éééééééééé"

static void test_names(void **state)
{
	static const char *const lines[] = {
		"\n" FIFTY TEN "  <0.100.0> ",
		"\n" FIFTY "1234567...  <0.101.0> ",
		"\n" E10 E10 "éééééééé...     ", /* not cut within a character */
		"\na?[31mb?     ",
	};
	struct forest f;
	struct page p;

	UNUSED(state);
	plant(&f, 4);
	set(&f, 0, FIFTY TEN, 0);
	set(&f, 1, FIFTY TEN "1", 0);
	set(&f, 2, E10 E10 E10 "é", 0);
	set(&f, 3, "a\033[31mb\n", 0);
	grow(&f);
	process_tree_write(page_open(&p), &f.t, true, false);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		page_has(&p, lines[i]);
	page_close(&p);
	fell(&f);
}

/* ---- what is hostile ------------------------------------------------------------------------- */

static void test_nothing(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 0);
	grow(&f);
	check_text(&f, true,
		   "PROCESS  PID  MEMORY  MAILBOX  REDUCTIONS  STATUS  CURRENT FUNCTION\n");
	fell(&f);
}

/* A circle with what hangs on it: cut where it is met first, the rest stays. */
static void test_circle(void **state)
{
	struct forest f;

	UNUSED(state);
	plant(&f, 6);
	below(&f, 1, 0, 103); /* 1 -> 3 -> 2 -> 1 */
	below(&f, 3, 0, 102);
	below(&f, 2, 0, 101);
	below(&f, 4, 0, 103);
	below(&f, 5, 0, 104);
	grow(&f);
	assert_int_equal(f.t.above[1], ROOT);
	assert_int_equal(f.t.above[2], 1);
	assert_int_equal(f.t.above[3], 2);
	assert_int_equal(f.t.above[4], 3);
	assert_int_equal(f.t.depth[5], 4);
	fell(&f);
}

/* So many circles that each must not cost a pass over all processes. */
static void test_many_circles(void **state)
{
	enum { NR = 60000 };
	struct forest f;

	UNUSED(state);
	plant(&f, NR);
	for (size_t i = 0; i < NR; i++)
		below(&f, i, 0, 100 + (i ^ 1));
	grow(&f);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(f.t.above[i], i % 2 ? i - 1 : ROOT);
	fell(&f);
}

/* Deeper than is drawn. */
static void test_deep(void **state)
{
	enum { NR = 3000 };
	struct forest f;
	struct page p;

	UNUSED(state);
	plant(&f, NR);
	for (size_t i = 0; i < NR; i++) {
		f.rows[i].initial_call = string(&f, "deep");
		below(&f, i, 0, 100 + i + 1);
	}
	grow(&f);
	assert_int_equal(f.t.depth[0], NR - 1);
	process_tree_write(page_open(&p), &f.t, true, false);
	assert_true(strlen(page_text(&p)) < NR * 400);
	page_has(&p, "\ndeep");
	page_close(&p);
	fell(&f);
}

/* Ancestors of any kind: still a tree. */
static void test_noise(void **state)
{
	enum { NR = 50 };
	uint64_t x = 0x9e3779b97f4a7c15ull;

	UNUSED(state);
	for (int round = 0; round < 300; round++) {
		struct forest f;

		plant(&f, NR);
		f.wanted = xcalloc(NR, sizeof(*f.wanted));
		for (size_t i = 0; i < NR * PROCESS_TREE_ANCESTORS; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			f.ancestors[i] = x % 7 == 0 ? x : 90 + x % (NR + 20);
			f.wanted[i % NR] = x >> 32 & 1;
			f.rows[i % NR].initial_call = string(&f, x >> 33 & 1 ? "a" : "b");
		}
		grow(&f);
		for (int all = 0; all < 2; all++) {
			struct page p;

			process_tree_write(page_open(&p), &f.t, all, false);
			assert_true(strlen(page_text(&p)) > 60);
			page_close(&p);
		}
		fell(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_above),	     cmocka_unit_test(test_order),
		cmocka_unit_test(test_wanted),	     cmocka_unit_test(test_drawing),
		cmocka_unit_test(test_groups),	     cmocka_unit_test(test_names),
		cmocka_unit_test(test_nothing),	     cmocka_unit_test(test_circle),
		cmocka_unit_test(test_deep),	     cmocka_unit_test(test_noise),
		cmocka_unit_test(test_many_circles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
