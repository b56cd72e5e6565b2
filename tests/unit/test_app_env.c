/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of applications in a made-up ac_tab; objects that are none of it; secrets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "beam/app_env.h"
#include "lib/etsfix.h"
#include "names/secrets.h"

#define NIL	 0x3bull
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
	uint64_t list = NIL;

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
	uint64_t appl = MAKE_TUPLE(w, atom(w, "appl"), atom(w, app), NIL, NIL, NIL, vsn, NIL, NIL);

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
	c = add_env(w, c, "one", MAKE_TUPLE(w, SMALL(1)), NIL);
	c = add_env(w, c, "later", atom(w, "token"), SMALL(77));
	c = add_env(w, c, "later", atom(w, "cookie"), atom(w, "undefined"));
	c = add_loaded(w, c, "two", make_string(w, "1.2"));
	c = add_loaded(w, c, "one", make_string(w, "3"));
	c = add_loaded(w, c, "odd", SMALL(3));
	/* What is none of it. */
	c = add(w, c, MAKE_TUPLE(w, atom(w, "application_master"), atom(w, "one")), NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env"), atom(w, "one")), NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env"), SMALL(1), atom(w, "a")), NIL);
	c = add(w, c, MAKE_TUPLE(w, atom(w, "env")), NIL);
	c = add(w, c, atom(w, "env"), NIL);
	c = add(w, c, 0x7777772, NIL);
	tables[0] = make_table(w, "ac_tab", 0, 0, 0); /* of somebody else, not named */
	tables[1] = make_table(w, "ac_tab", ETS_STATUS_NAMED, c, 15);
	tables[2] = make_table(w, "other", ETS_STATUS_NAMED, c, 15);
	etsfix_link(w, 0, tables, 3);
	answer(w, &a, false);
	assert_string_equal(a.text.buf, "later -{cookie=undefined,token=77};odd loaded{};"
					"one 3{a={password,\"pw\"},b=2,{1}=[]};two 1.2{};");
	assert_int_equal(a.env.torn + a.env.missing, 0);
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
	assert_int_equal(a.env.torn, 1);
	assert_int_equal(a.env.missing, 3);
	free_answer(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ETSFIX_TEST(test_env, 25),    ETSFIX_TEST(test_env, 27),
		ETSFIX_TEST(test_env, 29),    ETSFIX_TEST(test_damage, 25),
		ETSFIX_TEST(test_damage, 27), ETSFIX_TEST(test_damage, 29),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
