/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees of calls on a screen: what is unfolded, by itself and by hand, from reading to reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "lib/screenfix.h"
#include "lib/snapfix.h"
#include "view/top/tree.h"

#define HEADING " TOTAL    SELF    FUNCTION\n"
#define OPEN	"\xe2\x96\xbe "
#define SHUT	"\xe2\x96\xb8 "

struct fixture {
	struct tree *tree;
	struct screen *screen;
	struct snapfix *snap;
};

/* `heavy`: samples of the heavy path, of others there are 20. */
static struct snapfix *make_snapshot(uint64_t heavy)
{
	struct snapfix *f = snapfix_open(NULL);
	uint32_t p = snapfix_process(f, "<0.80.0>", NULL, NULL, "a:init/1");
	uint32_t t = snapfix_thread(f, THREAD_NORMAL, 1, 77, "1_scheduler");

	snapfix_text(f, "root:a/0;heavy:b/0;heavy:c/0", p, t, SAMPLE_ERLANG, heavy);
	snapfix_text(f, "root:a/0;light:d/0", p, t, SAMPLE_ERLANG, 3);
	snapfix_text(f, "root:a/0;light:d/0;light:e/0", p, t, SAMPLE_ERLANG, 2);
	snapfix_text(f, "root:a/0;light:d/0;light:f/0;light:g/0", p, t, SAMPLE_ERLANG, 1);
	snapfix_text(f, "other:h/0", p, t, SAMPLE_ERLANG, 14);
	return f;
}

static void use(struct fixture *x, uint64_t heavy)
{
	struct snapfix *snap = make_snapshot(heavy);

	tree_set(x->tree, snapfix_snapshot(snap));
	snapfix_close(x->snap);
	x->snap = snap;
}

static int set_up(void **state)
{
	struct fixture *x = xcalloc(1, sizeof(*x));

	tree_open(&x->tree);
	use(x, 80);
	screen_open(&x->screen, 9, 40);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	tree_close(x->tree);
	snapfix_close(x->snap);
	screen_close(x->screen);
	free(x);
	return 0;
}

static void draw(struct fixture *x)
{
	screen_clear(x->screen);
	tree_draw(x->tree, x->screen, 0, 0, screen_rows(x->screen), screen_columns(x->screen));
}

static void expect(struct fixture *x, const char *want)
{
	draw(x);
	screenfix_expect(x->screen, want);
}

static enum tree_result press(struct fixture *x, enum terminal_key_kind kind, uint32_t c)
{
	struct terminal_key key = {.kind = kind, .c = c};

	draw(x);
	return tree_key(x->tree, &key);
}

/* What the selected row says. */
static void expect_selected(struct fixture *x, const char *name)
{
	unsigned found = 0;
	char *text, *line;

	draw(x);
	for (unsigned row = 1; row < screen_rows(x->screen); row++)
		if (screen_at(x->screen, row, 0)->style == SCREEN_SELECTED)
			found = row;
	assert_true(found > 0);
	text = line = screenfix_text(x->screen);
	while (found--)
		line = strchr(line, '\n') + 1;
	*strchr(line, '\n') = '\0';
	assert_string_equal(strrchr(line, ' ') + 1, name);
	free(text);
}

static void what_is_heavy_is_unfolded(void **state)
{
	struct strbuf where = STRBUF_INIT;
	struct fixture *x = *state;

	expect(x, HEADING " 86.0%    0.0%  " OPEN "root:a/0\n"
			  " 80.0%    0.0%    " OPEN "heavy:b/0\n"
			  " 80.0%   80.0%      heavy:c/0\n"
			  "  6.0%    3.0%    " SHUT "light:d/0\n"
			  " 14.0%   14.0%    other:h/0\n\n\n\n");
	tree_describe(x->tree, &where);
	assert_string_equal(where.buf, "1 of 5 (100 samples)");
	strbuf_free(&where);
}

static void it_is_folded_and_unfolded(void **state)
{
	struct fixture *x = *state;

	for (unsigned int i = 0; i < 3; i++)
		press(x, TERMINAL_KEY_DOWN, 0);
	expect_selected(x, "light:d/0");
	press(x, TERMINAL_KEY_RIGHT, 0);
	expect(x, HEADING " 86.0%    0.0%  " OPEN "root:a/0\n"
			  " 80.0%    0.0%    " OPEN "heavy:b/0\n"
			  " 80.0%   80.0%      heavy:c/0\n"
			  "  6.0%    3.0%    " OPEN "light:d/0\n"
			  "  2.0%    2.0%        light:e/0\n"
			  "  1.0%    0.0%      " SHUT "light:f/0\n"
			  " 14.0%   14.0%    other:h/0\n\n");
	press(x, TERMINAL_KEY_RIGHT, 0);
	expect_selected(x, "light:e/0");
	press(x, TERMINAL_KEY_LEFT, 0);
	expect_selected(x, "light:d/0");
	press(x, TERMINAL_KEY_CHAR, '*');
	draw(x);
	press(x, TERMINAL_KEY_END, 0);
	press(x, TERMINAL_KEY_UP, 0);
	expect_selected(x, "light:g/0");
	for (unsigned int i = 0; i < 6; i++)
		press(x, TERMINAL_KEY_LEFT, 0);
	expect_selected(x, "root:a/0");
	expect(x, HEADING " 86.0%    0.0%  " SHUT "root:a/0\n"
			  " 14.0%   14.0%    other:h/0\n\n\n\n\n\n\n");
	press(x, TERMINAL_KEY_ENTER, 0);
	press(x, TERMINAL_KEY_DOWN, 0);
	expect_selected(x, "heavy:b/0");
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, 'z'), TREE_IGNORED);
	assert_int_equal(press(x, TERMINAL_KEY_CHAR, 'q'), TREE_CLOSE);
}

/* Another snapshot: other shares, another order, the same choice. */
static void choices_stay(void **state)
{
	struct fixture *x = *state;

	for (unsigned int i = 0; i < 3; i++)
		press(x, TERMINAL_KEY_DOWN, 0);
	press(x, TERMINAL_KEY_RIGHT, 0);
	use(x, 1);
	expect_selected(x, "light:d/0");
	expect(x, HEADING " 66.7%   66.7%    other:h/0\n"
			  " 33.3%    0.0%  " OPEN "root:a/0\n"
			  " 28.6%   14.3%    " OPEN "light:d/0\n"
			  "  9.5%    9.5%        light:e/0\n"
			  "  4.8%    0.0%      " SHUT "light:f/0\n"
			  "  4.8%    0.0%    " SHUT "heavy:b/0\n\n\n");
	press(x, TERMINAL_KEY_HOME, 0);
	expect_selected(x, "other:h/0");
}

static void clicks(void **state)
{
	struct terminal_key key = {.kind = TERMINAL_KEY_MOUSE, .row = 4, .column = 3, .button = 1};
	struct fixture *x = *state;

	draw(x);
	assert_int_equal(tree_key(x->tree, &key), TREE_HANDLED);
	expect_selected(x, "light:d/0");
	tree_key(x->tree, &key);
	press(x, TERMINAL_KEY_DOWN, 0);
	expect_selected(x, "light:e/0");
	key = (struct terminal_key){.kind = TERMINAL_KEY_MOUSE, .row = 2, .wheel = -1};
	tree_key(x->tree, &key);
	expect_selected(x, "heavy:b/0");
}

static void without_samples(void **state)
{
	struct fixture *x = *state;
	struct snapfix *none = snapfix_open(NULL);

	tree_set(x->tree, snapfix_snapshot(none));
	screen_resize(x->screen, 3, 40);
	expect(x, HEADING "no samples\n\n");
	assert_int_equal(press(x, TERMINAL_KEY_DOWN, 0), TREE_IGNORED);
	assert_int_equal(press(x, TERMINAL_KEY_ESCAPE, 0), TREE_CLOSE);
	use(x, 5);
	snapfix_close(none);
}

/* Deep stacks, and many branches, each in another one. */
static void deep_stacks(void **state)
{
	struct fixture *x = *state;
	struct snapfix *f = snapfix_open(NULL);
	struct strbuf text = STRBUF_INIT;

	for (unsigned int i = 0; i < 300; i++) {
		strbuf_addf(&text, "%sm%u:f/0", i ? ";" : "", i);
		snapfix_text(f, text.buf, SNAPSHOT_NONE,
			     snapfix_thread(f, THREAD_NORMAL, 1, 77, "1_scheduler"), SAMPLE_ERLANG,
			     1);
		strbuf_addf(&text, ";side:f/%u", i);
		snapfix_text(f, text.buf, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 1);
		text.len = strrchr(text.buf, ';') - text.buf;
		text.buf[text.len] = '\0';
	}
	tree_set(x->tree, snapfix_snapshot(f));
	press(x, TERMINAL_KEY_CHAR, '*');
	press(x, TERMINAL_KEY_END, 0);
	draw(x);
	screenfix_check_cells(x->screen);
	for (unsigned int i = 0; i < 700; i++)
		press(x, TERMINAL_KEY_UP, 0);
	expect_selected(x, "m0:f/0");
	use(x, 80);
	snapfix_close(f);
	strbuf_free(&text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_heavy_is_unfolded),
		TEST(it_is_folded_and_unfolded),
		TEST(choices_stay),
		TEST(clicks),
		TEST(without_samples),
		TEST(deep_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
