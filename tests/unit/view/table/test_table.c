/* SPDX-License-Identifier: BSD-2-Clause */
/* Text tables: widths, columns, order, hostile cells; and the two tables of hot.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "lib/snapfix.h"
#include "names/utf8.h"
#include "view/table/hot.h"
#include "view/table/table.h"

struct fruit {
	const char *name;
	int weight;
};

static void text_name(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ((const struct fruit *)row)->name);
}

static void text_weight(struct strbuf *out, const void *row, const void *ctx)
{
	strbuf_addf(out, "%d%s", ((const struct fruit *)row)->weight, (const char *)ctx);
}

static int by_weight(const void *a, const void *b)
{
	return ((const struct fruit *)b)->weight - ((const struct fruit *)a)->weight;
}

static void text_first(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_add(out, ((const struct fruit *)row)->name, 1);
}

static const struct table_column columns[] = {
	{"name", "NAME", .text = text_name},
	{"weight", "WEIGHT", TABLE_RIGHT, .text = text_weight, .compare = by_weight},
	{"first", "FIRST", .hidden = true, .text = text_first},
	{0},
};

static const struct fruit fruits[] = {
	{"pear", 200}, {"apple", 180}, {"fig", 50}, {"plum", 50}, {"", 7}};

static struct table fruit_table(const struct fruit *rows, size_t nr)
{
	return (struct table){.columns = columns,
			      .rows = rows,
			      .nr_rows = nr,
			      .row_size = sizeof(*rows),
			      .ctx = "g"};
}

static void expect_of(const struct table *t, const struct table_options *o, const char *want)
{
	struct error err = {0};
	struct page p;

	assert_int_equal(table_write(page_open(&p), t, o, &err), 0);
	page_expect(&p, want);
}

static void expect(const struct table_options *o, const char *want)
{
	struct table t = fruit_table(fruits, ARRAY_SIZE(fruits));

	expect_of(&t, o, want);
}

static void columns_are_as_wide_as_their_cells(void **state)
{
	UNUSED(state);
	expect(&(struct table_options){0}, "NAME   WEIGHT\n"
					   "pear     200g\n"
					   "apple    180g\n"
					   "fig       50g\n"
					   "plum      50g\n"
					   "-          7g\n");
}

static void the_user_chooses_columns(void **state)
{
	UNUSED(state);
	expect(&(struct table_options){.columns = "weight,first", .limit = 2, .indent = 1},
	       " WEIGHT  FIRST\n"
	       "   200g  p\n"
	       "   180g  a\n");
	expect(&(struct table_options){.also = "first", .limit = 1}, "NAME  WEIGHT  FIRST\n"
								     "pear    200g  p\n");
	expect(&(struct table_options){.columns = "name", .also = "first", .limit = 1},
	       "NAME\npear\n");
	/* What a heading says means that column, and spaces mean nothing. */
	expect(&(struct table_options){.columns = " Weight , FIRST", .sort = "-WEIGHT", .limit = 1},
	       "WEIGHT  FIRST\n"
	       "    7g  ?\n");
}

static void lines_are_as_wide_as_a_terminal(void **state)
{
	UNUSED(state);
	expect(
		&(struct table_options){
			.columns = "weight,name", .limit = 2, .indent = 1, .width = 13},
		" WEIGHT  NAME\n"
		"   200g  pear\n"
		"   180g  a...\n");
	expect(&(struct table_options){.columns = "weight,name", .limit = 2, .width = 3},
	       "WEIGHT  ...\n"
	       "  200g  ...\n"
	       "  180g  ...\n");
	/* Numbers are whole or wrong. */
	expect(&(struct table_options){.limit = 1, .width = 8}, "NAME  WEIGHT\n"
								"pear    200g\n");
}

static void rows_are_ordered_and_equal_ones_stay(void **state)
{
	UNUSED(state);
	expect(&(struct table_options){.columns = "name", .sort = "weight"},
	       "NAME\npear\napple\nfig\nplum\n-\n");
	expect(&(struct table_options){.columns = "name", .sort = "-weight"},
	       "NAME\n-\nfig\nplum\napple\npear\n");
	expect(&(struct table_options){.columns = "name", .sort = "name"},
	       "NAME\n-\napple\nfig\npear\nplum\n");
	/* By a column that is not shown. */
	expect(&(struct table_options){.columns = "weight", .sort = "first", .limit = 2},
	       "WEIGHT\n    7g\n  180g\n");
}

/* What is shown of many rows is the begin of all of them, in their order. */
static void a_limit_leaves_the_first_rows(void **state)
{
	static const unsigned int limits[] = {1, 3, 20, 499, 500, 501, 999};
	static const char *const sorts[] = {"weight", "-weight", "name", "-name", NULL};
	struct fruit rows[1000];
	struct table t = fruit_table(rows, ARRAY_SIZE(rows));
	size_t *all, *first, nr_all, nr;

	UNUSED(state);
	srand(1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = (struct fruit){fruits[rand() % 4].name, rand() % 100};
	for (size_t s = 0; s < ARRAY_SIZE(sorts); s++) {
		struct table_options o = {.sort = sorts[s]};

		assert_int_equal(table_order(&t, &o, &all, &nr_all, NULL), 0);
		assert_int_equal(nr_all, ARRAY_SIZE(rows));
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
			o.limit = limits[i];
			assert_int_equal(table_order(&t, &o, &first, &nr, NULL), 0);
			assert_int_equal(nr, limits[i]);
			assert_memory_equal(first, all, nr * sizeof(*all));
			free(first);
		}
		free(all);
	}
}

static void json_has_the_same_rows_in_the_same_order(void **state)
{
	struct table t = fruit_table(fruits, ARRAY_SIZE(fruits));
	struct jsonw w = JSONW(NULL);

	UNUSED(state);
	t.nr_rows = 3;
	table_json_rows(&w, "rows", &t, &(struct table_options){.sort = "-weight", .limit = 2});
	assert_string_equal(w.buf.buf,
			    "\"rows\": [\n"
			    "{\"name\": \"fig\", \"weight\": \"50g\", \"first\": \"f\"},\n"
			    "{\"name\": \"apple\", \"weight\": \"180g\", \"first\": \"a\"}\n]");
	strbuf_free(&w.buf);
}

static void unknown_columns_are_usage_errors(void **state)
{
	static const struct table_options bad[] = {
		{.columns = "nme"},   {.columns = "name,"},  {.columns = ""},
		{.columns = ",name"}, {.columns = "name,x"}, {.sort = "x"},
		{.sort = ""},	      {.sort = "-"},	     {.columns = "names"},
	};
	struct table t = fruit_table(fruits, ARRAY_SIZE(fruits));

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = {0};
		struct page p;

		assert_int_equal(table_check(&t, &bad[i], &err), -EINVAL);
		assert_int_equal(table_write(page_open(&p), &t, &bad[i], &err), -EINVAL);
		assert_int_equal(err.kind, ERROR_KIND_USAGE);
		assert_non_null(strstr(err.msg, "columns are name, weight, first"));
		page_expect(&p, "");
	}
}

static void more_columns_than_fit_are_refused(void **state)
{
	struct table t = fruit_table(fruits, 1);
	struct strbuf many = STRBUF_INIT;
	struct error err = {0};

	UNUSED(state);
	for (int i = 0; i < 65; i++)
		strbuf_addstr(&many, i ? ",name" : "name");
	assert_int_equal(table_write(NULL, &t, &(struct table_options){.columns = many.buf}, &err),
			 -EINVAL);
	assert_int_equal(err.kind, ERROR_KIND_USAGE);
	strbuf_free(&many);
}

static void an_empty_table_has_a_heading(void **state)
{
	struct table t = fruit_table(NULL, 0);

	UNUSED(state);
	expect_of(&t, &(struct table_options){.sort = "weight"}, "NAME  WEIGHT\n");
}

static void cells_cannot_talk_to_the_terminal(void **state)
{
	static const struct fruit hostile[] = {
		{"a\033[2Jb", 1},
		{"tab\there", 2},
		{"new\nline", 3},
		{"del\x7f", 4},
		{"csi\xc2\x9b.", 5},
		{"right\xe2\x80\xae"
		 "to left",
		 6},
	};
	struct table t = fruit_table(hostile, ARRAY_SIZE(hostile));

	UNUSED(state);
	expect_of(&t, &(struct table_options){.columns = "name"},
		  "NAME\na?[2Jb\ntab?here\nnew?line\ndel?\ncsi?"
		  ".\nright?to left\n");
}

/* Characters that act, or cannot be seen, are one '?'; the others stay, if they are any. */
static void texts_cannot_turn_the_direction(void **state)
{
	static const struct {
		uint32_t first, last;
	} acting[] = {{0, 9},		{11, 31},	  {0x7f, 0x9f},	    {0xad, 0xad},
		      {0x600, 0x605},	{0x61c, 0x61c},	  {0x6dd, 0x6dd},   {0x70f, 0x70f},
		      {0x890, 0x891},	{0x8e2, 0x8e2},	  {0x180e, 0x180e}, {0x200b, 0x200f},
		      {0x2028, 0x202e}, {0x2060, 0x2064}, {0x2066, 0x206f}};
	size_t unknown = 0;
	struct strbuf text = STRBUF_INIT, raw = STRBUF_INIT;

	UNUSED(state);
	table_clean_text(&text, true); /* nothing */
	for (uint32_t c = 0; c < 0x3000; c++) {
		bool acts = false;

		for (size_t i = 0; i < ARRAY_SIZE(acting); i++)
			acts |= c >= acting[i].first && c <= acting[i].last;
		strbuf_reset(&raw);
		strbuf_addch(&raw, 'a');
		utf8_add(&raw, c);
		strbuf_addch(&raw, 'b');
		strbuf_reset(&text);
		strbuf_add(&text, raw.buf, raw.len);
		table_clean_text(&text, true);
		if (!acts && strcmp(text.buf, "a\xef\xbf\xbd"
					      "b") == 0)
			unknown++;
		else
			assert_string_equal(text.buf, acts ? "a?b" : raw.buf);
	}
	assert_in_range(unknown, 1, 1200); /* of them not yet assigned: fewer from year to year */
	/* Cut characters are none. */
	for (size_t len = 1; len < 3; len++) {
		strbuf_reset(&text);
		strbuf_add(&text, "\xe2\x80\xae", len);
		table_clean_text(&text, false);
		assert_string_equal(text.buf,
				    len == 1 ? "\xef\xbf\xbd" : "\xef\xbf\xbd\xef\xbf\xbd");
	}
	strbuf_reset(&text);
	strbuf_addstr(&text, "a\nb");
	table_clean_text(&text, false);
	assert_string_equal(text.buf, "a?b");
	strbuf_free(&text);
	strbuf_free(&raw);
}

static void characters_count_not_bytes(void **state)
{
	static const struct fruit words[] = {
		{"\xc3\xa4pfel", 1}, {"birne", 22}, {"\xe6\xa2\xa8", 3}};
	struct table t = fruit_table(words, ARRAY_SIZE(words));

	UNUSED(state);
	expect_of(&t, &(struct table_options){0},
		  "NAME   WEIGHT\n\xc3\xa4pfel      1g\nbirne     22g\n\xe6\xa2\xa8         3g\n");
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	assert_null(name);
	jsonw_int(w, "half", ((const struct fruit *)row)->weight / 2);
}

static void rows_are_objects_in_json_too(void **state)
{
	static const struct table_column other[] = {{"name", "NAME", .text = text_name},
						    {"first", "", .json = table_json_none},
						    {.json = json_more}};
	struct table t = fruit_table(fruits, 4);
	const struct table_options o = {.sort = "weight", .limit = 2};
	struct jsonw w = JSONW(NULL);

	UNUSED(state);
	jsonw_begin_object(&w, NULL);
	table_json_rows(&w, "all", &t, &o);
	w.one_line = true;
	t.columns = other;
	table_json_rows(&w, "other", &t, &(struct table_options){.limit = 2});
	jsonw_end_object(&w);
	assert_string_equal(w.buf.buf,
			    "{\"all\": [\n"
			    "{\"name\": \"pear\", \"weight\": \"200g\", \"first\": \"p\"},\n"
			    "{\"name\": \"apple\", \"weight\": \"180g\", \"first\": \"a\"}\n"
			    "], \"other\": [{\"name\": \"pear\", \"half\": 100}, "
			    "{\"name\": \"apple\", \"half\": 90}]}");
	strbuf_free(&w.buf);
}

static void heading_is_bold_in_colour(void **state)
{
	UNUSED(state);
	expect(&(struct table_options){.columns = "name", .limit = 1, .color = true},
	       "\033[1mNAME\033[0m\npear\n");
}

/* ---- hot ---------------------------------------------------------------------------------- */

static void hot_shows_functions_and_processes(void **state)
{
	struct snapfix *fix = snapfix_open(NULL);
	const struct snapshot *s;
	struct error err = {0};
	uint32_t named, nameless, thread;
	struct page p;

	UNUSED(state);
	named = snapfix_process(fix, "<0.80.0>", "worker", NULL, "w:init/1");
	nameless = snapfix_process(fix, "<0.81.0>", NULL, NULL, NULL);
	thread = snapfix_thread(fix, THREAD_NORMAL, 1, 100, "1_scheduler");
	snapfix_text(fix, "w:loop/1;lists:map/2", named, thread, SAMPLE_ERLANG, 1500);
	snapfix_text(fix, "w:loop/1", nameless, thread, SAMPLE_ERLANG, 500);
	snapfix_meta(fix, "node", "a@b");
	snapfix_status(fix, SAMPLE_STATUS_COMPLETE, 2000);
	s = snapfix_snapshot(fix);
	assert_int_equal(hot_write(page_open(&p), s, &(struct hot_options){0}, &err), 0);
	page_expect(&p, "a@b  OTP -  - Hz  2,000 samples  complete 100.0%\n"
			"\n"
			"Functions\n"
			"   SELF  SAMPLES   TOTAL  KIND    FUNCTION\n"
			"  75.0%    1,500   75.0%  erlang  lists:map/2\n"
			"  25.0%      500  100.0%  erlang  w:loop/1\n"
			"\n"
			"Processes\n"
			"  SHARE  SAMPLES  PID       NAME    INITIAL CALL\n"
			"  75.0%    1,500  <0.80.0>  worker  w:init/1\n"
			"  25.0%      500  <0.81.0>  -       -\n");

	assert_int_equal(hot_write(page_open(&p), s, &(struct hot_options){.limit = 1}, &err), 0);
	page_has(&p, "Functions (1 of 2)\n");
	assert_null(strstr(page_text(&p), "w:loop/1\n"));
	page_close(&p);
	snapfix_close(fix);
}

static void hot_shows_states_first(void **state)
{
	struct snapfix *fix =
		snapfix_open(&(struct snapshot_options){.by = SNAPSHOT_BY_NONE, .kind_root = true});
	const uint64_t ms = 1000000;
	struct error err = {0};
	uint32_t a, b, thread;
	struct page p;

	UNUSED(state);
	a = snapfix_process(fix, "<0.80.0>", "worker", NULL, "w:init/1");
	b = snapfix_process(fix, "<0.81.0>", "rest", NULL, "r:init/1");
	thread = snapfix_thread(fix, THREAD_OTHER, 0, 100, "processes");
	snapfix_text(fix, "w:loop/1;w:loop/1;w:wait/0", a, thread, SAMPLE_WAITING_TIMER, 500 * ms);
	snapfix_text(fix, "w:loop/1;lists:map/2", a, thread, SAMPLE_RUNNING, 400 * ms);
	snapfix_text(fix, "w:loop/1", a, thread, SAMPLE_RUNNING, 50 * ms);
	snapfix_text(fix, "w:loop/1;lists:map/2", a, thread, SAMPLE_GC, 50 * ms);
	snapfix_text(fix, "r:loop/1", b, thread, SAMPLE_WAITING_RECEIVE, 1000 * ms);
	snapfix_meta(fix, "title", "time of processes");
	snapfix_meta(fix, "unit", "ns");
	snapfix_meta(fix, "margin_of_error [running]", "12000000");
	snapfix_meta(fix, "margin_of_error [waiting: receive]", "0");
	snapfix_status(fix, SAMPLE_STATUS_COMPLETE, 2000 * ms);
	assert_int_equal(hot_write(page_open(&p), snapfix_snapshot(fix),
				   &(struct hot_options){.limit = 5}, &err),
			 0);
	page_has(&p, "\n"
		     "States\n"
		     "  STATE               SHARE      TIME       +-\n"
		     "  [waiting: receive]  50.0%    1.00 s     0 ns\n"
		     "  [waiting: timer]    25.0%  500.0 ms        -\n"
		     "  [running]           22.5%  450.0 ms  12.0 ms\n"
		     "  [gc]                 2.5%   50.0 ms        -\n"
		     "\n"
		     "Functions by state (5 of 7)\n");
	/* Each state has its part of the rows, the first that needs more the rest. */
	page_has(&p, "[waiting: receive]  50.0%    1.00 s  50.0%  erlang  r:loop/1\n");
	page_has(&p, "[waiting: timer]    25.0%  500.0 ms  25.0%  erlang  w:wait/0\n");
	page_has(&p, "[waiting: timer]     0.0%      0 ns  25.0%  erlang  w:loop/1\n");
	page_has(&p, "  20.0%  400.0 ms  20.0%  erlang  lists:map/2 ~\n");
	page_has(&p, "[gc]                 2.5%   50.0 ms   2.5%  erlang  lists:map/2\n");
	assert_null(strstr(page_text(&p), "2.5%   50.0 ms  22.5%  erlang  w:loop/1\n"));
	page_close(&p);
	snapfix_close(fix);
}

static void hot_of_nothing_divides_by_nothing(void **state)
{
	struct snapfix *fix = snapfix_open(NULL);
	struct error err = {0};
	struct page p;

	UNUSED(state);
	assert_int_equal(
		hot_write(page_open(&p), snapfix_snapshot(fix), &(struct hot_options){0}, &err), 0);
	page_has(&p, "  0 samples\n");
	assert_null(strstr(page_text(&p), "nan"));
	page_close(&p);
	snapfix_close(fix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_cells),
		cmocka_unit_test(the_user_chooses_columns),
		cmocka_unit_test(lines_are_as_wide_as_a_terminal),
		cmocka_unit_test(rows_are_ordered_and_equal_ones_stay),
		cmocka_unit_test(a_limit_leaves_the_first_rows),
		cmocka_unit_test(json_has_the_same_rows_in_the_same_order),
		cmocka_unit_test(unknown_columns_are_usage_errors),
		cmocka_unit_test(more_columns_than_fit_are_refused),
		cmocka_unit_test(an_empty_table_has_a_heading),
		cmocka_unit_test(cells_cannot_talk_to_the_terminal),
		cmocka_unit_test(texts_cannot_turn_the_direction),
		cmocka_unit_test(characters_count_not_bytes),
		cmocka_unit_test(rows_are_objects_in_json_too),
		cmocka_unit_test(heading_is_bold_in_colour),
		cmocka_unit_test(hot_shows_functions_and_processes),
		cmocka_unit_test(hot_shows_states_first),
		cmocka_unit_test(hot_of_nothing_divides_by_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
