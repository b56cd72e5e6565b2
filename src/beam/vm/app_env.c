/* SPDX-License-Identifier: BSD-2-Clause */
/* See app_env.h. */
#include "beam/vm/app_env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/xalloc.h"
#include "beam/term/term_read.h"

#define TABLE	    "ac_tab"
#define READ_TRIES  4
#define OBJECTS_MAX 1000000
#define NAME_MAX    4096 /* limit for a key that is no atom */
#define VSN_MAX	    100
/* Of #appl{name, appl_data, descr, id, vsn, ...}, application_controller.erl. */
#define APPL_VSN 5

struct reading {
	struct beam_node *n;
	struct term_reader *r;
	struct app_env *out;
	uint64_t env, loaded; /* atoms */
};

/* ---- the table ------------------------------------------------------------------------------ */

static int find_table(struct beam_node *n, struct ets_table *out, struct error *err)
{
	uint64_t name = beam_atom_find(n->atoms, TABLE);
	struct ets_list list;
	char title[32];
	int rc = ets_read(n, &list, err);

	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; name && i < list.len && rc; i++)
		if (list.data[i].named && list.data[i].name == name) {
			*out = list.data[i];
			rc = 0;
		}
	ets_list_free(&list);
	if (rc)
		error_set(err, ERROR_KIND_FAILED, rc,
			  "%s has no ETS table " TABLE
			  ": its application controller does not run, as "
			  "the node is starting or stopping; try again",
			  beam_node_title(n, title, sizeof(title)));
	return rc;
}

int app_table_read(struct beam_node *n, struct ets_table *table, struct app_table *out,
		   struct error *err)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!table->addr || ets_table_read(n, table->addr, table) != 0 || !table->named ||
	    table->name != beam_atom_find(n->atoms, TABLE))
		rc = find_table(n, table, err);
	if (rc) {
		*table = (struct ets_table){0};
		return rc;
	}
	for (int tries = 1;; tries++) {
		rc = ets_objects_read(n, table, OBJECTS_MAX, &out->objects);
		if (rc)
			return error_set(err, ERROR_KIND_FAILED, rc,
					 "cannot read the ETS table " TABLE
					 ", which has the applications: %s",
					 error_text(rc));
		out->torn = out->objects.torn;
		out->missing =
			table->size > out->objects.v.len ? table->size - out->objects.v.len : 0;
		if ((!out->torn && !out->missing) || tries == READ_TRIES ||
		    ets_table_read(n, table->addr, table) != 0)
			return 0;
		ets_objects_free(&out->objects);
	}
}

/* ---- its objects ---------------------------------------------------------------------------- */

void app_table_enter(struct term_reader *r, const struct ets_object *o)
{
	r->copy_addr = o ? o->addr : 0;
	r->copy = o ? o->words : NULL;
	r->copy_words = o ? o->nr_words : 0;
}

void app_env_enter(struct term_reader *r, const struct app_env_key *k)
{
	app_table_enter(r, k ? k->object : NULL);
}

static char *key_name(struct term_reader *r, uint64_t key)
{
	struct strbuf name = STRBUF_INIT;
	const char *text;
	size_t len;

	if (TERM_IS_ATOM(key)) {
		text = beam_atom_text(r->atoms, key, &len);
		strbuf_addstr(&name, text ? text : "?");
	} else {
		unsigned int max = r->max_len;

		r->max_len = NAME_MAX;
		term_print(r, &name, key);
		r->max_len = max;
	}
	return strbuf_detach(&name, NULL);
}

static void add_app(struct reading *w, uint64_t app, const char *text, const struct ets_object *o)
{
	struct app_env_app a = {.name = app, .text = text, .loaded = o != NULL};
	struct strbuf vsn = STRBUF_INIT;
	uint64_t term;

	if (o && term_element(w->r, o->words[2], APPL_VSN, &term) == 0 &&
	    term_text(w->r, term, &vsn, VSN_MAX) && vsn.len)
		a.vsn = strbuf_detach(&vsn, NULL);
	strbuf_free(&vsn);
	vec_push(&w->out->apps, a);
}

static void take_object(struct reading *w, const struct ets_object *o)
{
	struct app_env_key k = {.object = o};
	uint64_t e[3];
	uint32_t arity;
	const char *text;

	if (o->arity != 2 || o->nr_words < 3)
		return;
	app_table_enter(w->r, o);
	if (term_tuple(w->r, o->words[1], e, 3, &arity) != 0 || arity < 2 || arity > 3 ||
	    !TERM_IS_ATOM(e[1]))
		return;
	text = beam_atom_text(w->r->atoms, e[1], NULL);
	if (!text)
		return;
	if (arity == 2 && e[0] == w->loaded) {
		add_app(w, e[1], text, o);
	} else if (arity == 3 && e[0] == w->env) {
		k.app = e[1];
		k.key = e[2];
		k.value = o->words[2];
		k.name = key_name(w->r, e[2]);
		vec_push(&w->out->keys, k);
	}
}

/* ---- in order ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct app_env_app *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	/* Of two entries for a name the loaded application comes first. */
	return order ? order : (int)y->loaded - (int)x->loaded;
}

static int by_app_and_name(const void *a, const void *b, void *arg)
{
	const struct app_env_key *x = a, *y = b;
	struct beam_atoms *atoms = arg;
	const char *p, *q;
	int order;

	if (x->app == y->app)
		return strcmp(x->name, y->name);
	p = beam_atom_text(atoms, x->app, NULL);
	q = beam_atom_text(atoms, y->app, NULL);
	order = strcmp(p ? p : "", q ? q : "");
	return order ? order : x->app < y->app ? -1 : 1;
}

/* Adds applications with environment that are not loaded (yet, or any more). */
static void add_not_loaded(struct reading *w)
{
	struct app_env *e = w->out;
	uint64_t last = 0;

	for (size_t i = 0; i < e->keys.len; i++) {
		const char *text = beam_atom_text(w->r->atoms, e->keys.data[i].app, NULL);

		if (e->keys.data[i].app != last && text)
			add_app(w, e->keys.data[i].app, text, NULL);
		last = e->keys.data[i].app;
	}
}

/* Sets for each application its range of keys. */
static void connect(struct app_env *e)
{
	size_t nr = 0, key = 0;

	for (size_t i = 0; i < e->apps.len; i++) {
		struct app_env_app *a = &e->apps.data[i];

		if (nr && e->apps.data[nr - 1].name == a->name) {
			free(a->vsn);
			continue;
		}
		a->first = key;
		while (key < e->keys.len && e->keys.data[key].app == a->name)
			key++;
		a->nr = key - a->first;
		e->apps.data[nr++] = *a;
	}
	e->apps.len = nr;
}

/* Removes duplicates: an object that moved during the walk may have been read twice. */
static void drop_doubles(struct app_env *e)
{
	size_t nr = 0;

	for (size_t i = 0; i < e->keys.len; i++) {
		struct app_env_key *k = &e->keys.data[i];

		if (nr && e->keys.data[nr - 1].app == k->app && e->keys.data[nr - 1].key == k->key)
			free(k->name);
		else
			e->keys.data[nr++] = *k;
	}
	e->keys.len = nr;
}

int app_env_read(struct beam_node *n, struct term_reader *r, struct app_env *out, struct error *err)
{
	struct reading w = {.n = n, .r = r, .out = out};
	struct ets_table table = {0};
	int rc;

	memset(out, 0, sizeof(*out));
	rc = app_table_read(n, &table, &out->table, err);
	if (rc)
		return rc;
	w.env = beam_atom_find(n->atoms, "env");
	w.loaded = beam_atom_find(n->atoms, "loaded");
	for (size_t i = 0; i < out->table.objects.v.len; i++)
		take_object(&w, &out->table.objects.v.data[i]);
	app_table_enter(r, NULL);
	if (out->keys.len)
		qsort_r(out->keys.data, out->keys.len, sizeof(*out->keys.data), by_app_and_name,
			r->atoms);
	drop_doubles(out);
	add_not_loaded(&w);
	if (out->apps.len)
		qsort(out->apps.data, out->apps.len, sizeof(*out->apps.data), by_name);
	connect(out);
	return 0;
}

void app_env_free(struct app_env *e)
{
	for (size_t i = 0; i < e->apps.len; i++)
		free(e->apps.data[i].vsn);
	for (size_t i = 0; i < e->keys.len; i++)
		free(e->keys.data[i].name);
	vec_free(&e->apps);
	vec_free(&e->keys);
	ets_objects_free(&e->table.objects);
}
