/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment of applications in a made-up ac_tab; objects that are none of it; secrets.  What
 * applications there are, their masters and modules; their rows in `top`.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "abi/vm.h"
#include "beam/vm/app_env.h"
#include "beam/vm/apps.h"
#include "cmd/top/top_apps.h"
#include "lib/etsfix.h"
#include "lib/records.h"
#include "names/secrets.h"

#define TUPLE(n) ((uint64_t)(n) << 6)

static uint64_t atom(struct etsfix *w, const char *text)
{
	return fakenode_atom(w->f, text);
}

#define MAKE_TUPLE(w, ...)                                                                         \
	make_tuple(w, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)
static uint64_t make_tuple(struct etsfix *w, const uint64_t *words, size_t nr)
{
	raddr at = image_alloc(w->f->im, 8 * (nr + 1));

	image_u64(w->f->im, at, TUPLE(nr));
	image_put(w->f->im, at + 8, words, 8 * nr);
	return at | 2;
}

static uint64_t make_string(struct etsfix *w, const char *s)
{
	uint64_t list = TERM_NIL;

	for (size_t i = strlen(s); i-- > 0;) {
		raddr at = image_alloc(w->f->im, 16);

		image_u64(w->f->im, at, SMALL((unsigned char)s[i]));
		image_u64(w->f->im, at + 8, list);
		list = at | 1;
	}
	return list;
}

/* {Key, Value} in front of the chain of the first bucket, where all are. */
static raddr add(struct etsfix *w, raddr chain, uint64_t key, uint64_t value)
{
	raddr node = image_alloc(w->f->im, 16 + 16 + 3 * 8);

	image_u64(w->f->im, node, chain);
	image_u64(w->f->im, node + 24, 3);
	image_u64(w->f->im, node + 32, TUPLE(2));
	image_u64(w->f->im, node + 40, key);
	image_u64(w->f->im, node + 48, value);
	return node;
}

static raddr add_env(struct etsfix *w, raddr chain, const char *app, uint64_t key, uint64_t value)
{
	return add(w, chain, MAKE_TUPLE(w, atom(w, "env"), atom(w, app), key), value);
}

static raddr add_loaded(struct etsfix *w, raddr chain, const char *app, uint64_t vsn)
{
	uint64_t appl = MAKE_TUPLE(w, atom(w, "appl"), atom(w, app), TERM_NIL, TERM_NIL, TERM_NIL,
				   vsn, TERM_NIL, TERM_NIL);

	return add(w, chain, MAKE_TUPLE(w, atom(w, "loaded"), atom(w, app)), appl);
}

static raddr make_table(struct etsfix *w, const char *name, uint32_t flags, raddr chain, int nr)
{
	const struct beam_layout *l = etsfix_layout(w);
	raddr t = etsfix_make(w, name, SET | flags, nr, 0), tab = image_alloc(w->f->im, 8);
	raddr segment = image_alloc(w->f->im, 256 * 8);

	image_u64(w->f->im, tab, segment);
	image_u64(w->f->im, segment, chain);
	etsfix_u64(w, t, l->ets_hash_segtab, tab);
	etsfix_u64(w, t, l->ets_hash_nactive, 256);
	etsfix_u64(w, t, l->ets_hash_szm, 255);
	return t;
}

struct answer {
	struct app_env env;
	struct term_formats formats;
	struct term_reader r;
	struct strbuf text;
};

/* "app vsn{key=value,...};..." */
static void answer(struct etsfix *w, struct answer *a, bool masked)
{
	assert_int_equal(term_reader_init(&a->r, &a->formats, &w->f->node), 0);
	assert_int_equal(app_env_read(&w->f->node, &a->r, &a->env, NULL), 0);
	a->r.is_secret = masked ? secrets_name : NULL;
	strbuf_init(&a->text);
	for (size_t i = 0; i < a->env.apps.len; i++) {
		const struct app_env_app *app = &a->env.apps.data[i];

		strbuf_addf(&a->text, "%s %s{", app->text,
			    app->vsn	  ? app->vsn
			    : app->loaded ? "loaded"
					  : "-");
		for (size_t j = app->first; j < app->first + app->nr; j++) {
			const struct app_env_key *k = &a->env.keys.data[j];

			strbuf_addf(&a->text, "%s%s=", j > app->first ? "," : "", k->name);
			app_env_enter(&a->r, k);
			term_print_value(&a->r, &a->text, k->key, k->value);
			app_env_enter(&a->r, NULL);
		}
		strbuf_addstr(&a->text, "};");
	}
}

static void free_answer(struct answer *a)
{
	app_env_free(&a->env);
	strbuf_free(&a->text);
}

static void test_env(void **state)
{
	struct etsfix *w = *state;
	uint64_t pair = MAKE_TUPLE(w, atom(w, "password"), make_string(w, "pw"));
	struct answer a;
	raddr c = 0, tables[3];

	c = add_env(w, c, "one", atom(w, "b"), SMALL(2));
	c = add_env(w, c, "one", atom(w, "a"), pair);
	c = add_env(w, c, "one", atom(w, "a"), pair); /* seen twice */
	c = add_env(w, c, "one", MAKE_TUPLE(w, SMALL(1)), TERM_NIL);
	c = add_env(w, c, "later", atom(w, "token"), SMALL(77));
	c = add_env(w, c, "later", atom(w, "cookie"), atom(w, "undefined"));
	c = add_loaded(w, c, "two", make_string(w, "1.2"));
	c = add_loaded(w, c, "one", make_string(w, "3"));
	c = add_loaded(w, c, "odd", SMALL(3));
	/* What is none of it. */
	c = add(w, c, MAKE_TUPLE(w, atom(w, "application_master"), atom(w, "one")), TERM_NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env"), atom(w, "one")), TERM_NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env"), SMALL(1), atom(w, "a")), TERM_NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env")), TERM_NIL);
	c = add(w, c, atom(w, "env"), TERM_NIL);
	c = add(w, c, 0x7777772, TERM_NIL);
	tables[0] = make_table(w, "ac_tab", 0, 0, 0); /* of somebody else, not named */
	tables[1] = make_table(w, "ac_tab", ETS_STATUS_NAMED, c, 15);
	tables[2] = make_table(w, "other", ETS_STATUS_NAMED, c, 15);
	etsfix_link(w, 0, tables, 3);
	answer(w, &a, false);
	assert_string_equal(a.text.buf, "later -{cookie=undefined,token=77};odd loaded{};"
					"one 3{a={password,\"pw\"},b=2,{1}=[]};two 1.2{};");
	assert_int_equal(a.env.table.torn + a.env.table.missing, 0);
	assert_int_equal(a.r.masked, 0);
	free_answer(&a);
	answer(w, &a, true);
	assert_string_equal(a.text.buf, "later -{cookie=undefined,token=***};odd loaded{};"
					"one 3{a={password,***},b=2,{1}=[]};two 1.2{};");
	assert_int_equal(a.r.masked, 2);
	free_answer(&a);
}

/* A chain that leads nowhere: what was read before is shown, and that it is not all. */
static void test_damage(void **state)
{
	struct etsfix *w = *state;
	struct term_formats formats;
	struct term_reader r;
	struct app_env env;
	struct answer a;
	struct error err = {0};
	raddr t;

	assert_int_equal(term_reader_init(&r, &formats, &w->f->node), 0);
	assert_int_equal(app_env_read(&w->f->node, &r, &env, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "ac_tab"));
	app_env_free(&env);
	t = make_table(w, "ac_tab", ETS_STATUS_NAMED,
		       add_env(w, 0x123456, "one", atom(w, "a"), SMALL(1)), 4);
	etsfix_link(w, 1, &t, 1);
	answer(w, &a, false);
	assert_string_equal(a.text.buf, "one -{a=1};");
	assert_int_equal(a.env.table.torn, 1);
	assert_int_equal(a.env.table.missing, 3);
	free_answer(&a);
}

/* ---- applications --------------------------------------------------------------------------- */

#define PID(n) ((uint64_t)(n) << 4 | 3)

static uint64_t make_list(struct etsfix *w, const uint64_t *terms, size_t nr)
{
	uint64_t list = TERM_NIL;

	while (nr-- > 0) {
		raddr at = image_alloc(w->f->im, 16);

		image_u64(w->f->im, at, terms[nr]);
		image_u64(w->f->im, at + 8, list);
		list = at | 1;
	}
	return list;
}

static raddr add_app(struct etsfix *w, raddr chain, const char *app, const char *vsn,
		     const uint64_t *modules, size_t nr)
{
	uint64_t data =
		MAKE_TUPLE(w, atom(w, "appl_data"), atom(w, app), TERM_NIL, atom(w, "undefined"),
			   TERM_NIL, make_list(w, modules, nr), TERM_NIL, TERM_NIL, TERM_NIL);
	uint64_t appl = MAKE_TUPLE(w, atom(w, "appl"), atom(w, app), data, TERM_NIL, TERM_NIL,
				   make_string(w, vsn), TERM_NIL, TERM_NIL, TERM_NIL);

	return add(w, chain, MAKE_TUPLE(w, atom(w, "loaded"), atom(w, app)), appl);
}

static raddr add_master(struct etsfix *w, raddr chain, const char *app, uint64_t pid)
{
	return add(w, chain, MAKE_TUPLE(w, atom(w, "application_master"), atom(w, app)), pid);
}

/* Two with modules, of which one runs; one of which nothing more is known. */
static void make_apps(struct etsfix *w)
{
	uint64_t one[] = {atom(w, "one_a"), atom(w, "Elixir.One.B"), SMALL(5)};
	uint64_t two[] = {MAKE_TUPLE(w, atom(w, "two_a"), SMALL(1))};
	raddr c = 0, t;

	c = add_env(w, c, "one", atom(w, "a"), SMALL(1));
	c = add_app(w, c, "two", "2.0", two, 1);
	c = add_app(w, c, "one", "1.0", one, 3);
	c = add_app(w, c, "one", "1.0", one, 3); /* seen twice */
	c = add_loaded(w, c, "bare", TERM_NIL);
	c = add_master(w, c, "one", PID(70));
	c = add_master(w, c, "two", TERM_NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "application_master"), SMALL(1)), PID(71));
	t = make_table(w, "ac_tab", ETS_STATUS_NAMED, c, 8);
	etsfix_link(w, 0, &t, 1);
}

static void test_apps(void **state)
{
	struct etsfix *w = *state;
	struct term_formats formats;
	struct ets_table table = {0};
	struct term_reader r;
	struct apps a;

	make_apps(w);
	assert_int_equal(term_reader_init(&r, &formats, &w->f->node), 0);
	for (int i = 0; i < 2; i++) { /* the second time the table is known */
		assert_int_equal(apps_read(&w->f->node, &r, &table, &a, NULL), 0);
		assert_int_not_equal(table.addr, 0);
		assert_int_equal(a.torn + a.missing, 0);
		assert_int_equal(a.v.len, 3);
		assert_string_equal(a.v.data[0].text, "bare");
		assert_null(a.v.data[0].vsn);
		assert_int_equal(a.v.data[0].nr, 0);
		assert_string_equal(a.v.data[1].text, "one");
		assert_string_equal(a.v.data[1].vsn, "1.0");
		assert_int_equal(a.v.data[1].master, PID(70));
		assert_int_equal(a.v.data[1].nr, 2);
		assert_int_equal(a.modules.data[a.v.data[1].first], atom(w, "one_a"));
		assert_int_equal(a.v.data[2].master, 0);
		assert_int_equal(a.v.data[2].nr, 1);
		assert_int_equal(a.modules.data[a.v.data[2].first], atom(w, "two_a"));
		apps_free(&a);
	}
}

static void add_row(struct process_table *t, uint64_t slot, uint64_t leader, uint64_t memory)
{
	struct process_row row = {.pid = 1000 + slot, .slot = slot, .group_leader = leader};

	row.memory = memory;
	row.message_queue_len = 2;
	assert_int_equal(process_table_put(t, &row), 0);
}

static struct snapshot *make_snapshot(void)
{
	struct snapshot_options by_none = {.by = SNAPSHOT_BY_NONE};
	static const struct {
		const char *stack;
		uint32_t weight;
	} samples[] = {
		{"two_a:f/1 Elixir.One.B:g/0", 10}, /* the innermost one counts */
		{"one_a:f/1 erlang:send/2", 20},    /* for who called it */
		{"erlang:apply/2", 30},
		{"two_a:f/1 unknown:g/1", 40},
	};
	struct records r;
	struct profile *p;
	struct snapshot *s;
	uint32_t thread;

	records_open(&r);
	thread = records_thread(&r, 1, THREAD_NORMAL, 1, "sched");
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		records_sample(&r, 1, 0, records_stack_text(&r, samples[i].stack), thread,
			       samples[i].weight, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	p = profile_open();
	records_apply(&r, p);
	records_close(&r);
	assert_int_equal(profile_snapshot(p, &by_none, &s, NULL), 0);
	profile_close(p);
	return s;
}

static void test_rows(void **state)
{
	struct etsfix *w = *state;
	struct process_source source = {.node = &w->f->node};
	struct process_table processes = {0};
	const struct top_app_row *rows;
	struct snapshot *s = make_snapshot();
	struct top_apps *a;
	struct table t;

	make_apps(w);
	assert_int_equal(term_reader_init(&source.reader, &source.formats, &w->f->node), 0);
	process_table_begin(&processes, 1, 0);
	add_row(&processes, 1, process_source_pid(&source, PID(70)), 100);
	add_row(&processes, 2, process_source_pid(&source, PID(70)), 200);
	add_row(&processes, 3, process_source_pid(&source, PID(72)), 400);
	add_row(&processes, 4, PROCESS_PID_NONE, 800);
	process_table_end(&processes);
	assert_int_equal(top_apps_open(&a, &w->f->node, NULL), 0);
	assert_int_equal(top_apps_read(a, &source, &processes, NULL, 0, NULL), 0);
	top_apps_table(a, &t);
	assert_int_equal(t.nr_rows, 4);
	rows = t.rows;
	assert_true(isnan(rows[0].cpu) && isnan(rows[3].code_cpu));
	assert_int_equal(top_apps_read(a, &source, &processes, s, 500, NULL), 0);
	top_apps_table(a, &t);
	rows = t.rows;
	assert_string_equal(rows[0].name, "bare");
	assert_false(rows[0].running);
	assert_int_equal(rows[0].processes, 0);
	assert_string_equal(rows[1].name, "one");
	assert_int_equal(rows[1].processes, 2);
	assert_int_equal(rows[1].memory, 300);
	assert_int_equal(rows[1].message_queue_len, 4);
	assert_int_equal(rows[1].modules, 2);
	assert_true(rows[1].running);
	assert_true(fabs(rows[1].code_cpu - 6) < 1e-9);
	assert_true(fabs(rows[2].code_cpu - 8) < 1e-9);
	assert_int_equal(rows[2].processes, 0);
	assert_string_equal(rows[3].name, "(none)");
	assert_int_equal(rows[3].memory, 1200);
	assert_true(fabs(rows[3].code_cpu - 6) < 1e-9);
	assert_int_equal(top_apps_id(&rows[3]), 0);
	for (const struct table_column *c = t.columns; c->name; c++) {
		struct strbuf text = STRBUF_INIT;

		table_cell(c, &text, &rows[1], NULL);
		assert_true(text.len > 0 || strcmp(c->name, "reductions_per_s") == 0);
		if (!table_compares_text(c))
			assert_int_equal(table_compare(c, &rows[1], &rows[1]), 0);
		strbuf_free(&text);
	}
	top_apps_close(a);
	process_table_free(&processes);
	snapshot_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETSFIX_TEST(test_apps, 25),   ETSFIX_TEST(test_apps, 27),
		ETSFIX_TEST(test_apps, 29),   ETSFIX_TEST(test_rows, 25),
		ETSFIX_TEST(test_rows, 27),   ETSFIX_TEST(test_rows, 29),
		ETSFIX_TEST(test_env, 25),    ETSFIX_TEST(test_env, 27),
		ETSFIX_TEST(test_env, 29),    ETSFIX_TEST(test_damage, 25),
		ETSFIX_TEST(test_damage, 27), ETSFIX_TEST(test_damage, 29),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
