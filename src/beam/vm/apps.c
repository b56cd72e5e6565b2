/* SPDX-License-Identifier: BSD-2-Clause */
/* See apps.h. */
#include "beam/vm/apps.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "beam/term/term_read.h"
#include "beam/vm/app_env.h"

/* #appl{name, appl_data, descr, id, vsn, ...} of application_controller.erl, and #appl_data{name,
 * regs, phases, mod, mods, ...} of application_master.hrl. */
#define APPL_DATA      2
#define APPL_VSN       5
#define APPL_DATA_MODS 5
#define VSN_MAX	       100
#define MODULES_MAX    100000

struct reading {
	struct term_reader *r;
	struct apps *out;
	uint64_t loaded, master; /* atoms */
};

static struct app *find_or_add(struct reading *w, uint64_t name)
{
	const char *text;

	for (size_t i = w->out->v.len; i-- > 0;)
		if (w->out->v.data[i].name == name)
			return &w->out->v.data[i];
	text = beam_atom_text(w->r->atoms, name, NULL);
	if (!text)
		return NULL;
	vec_push(&w->out->v, ((struct app){.name = name, .text = text}));
	return &w->out->v.data[w->out->v.len - 1];
}

/* An element of the list is a module, or {Module, Version}. */
static void take_modules(struct reading *w, struct app *a, uint64_t list)
{
	uint64_t head, module;

	a->first = w->out->modules.len;
	while (w->out->modules.len < MODULES_MAX && TERM_IS_LIST(list) &&
	       term_next(w->r, &list, &head)) {
		if (TERM_IS_ATOM(head))
			vec_push(&w->out->modules, head);
		else if (term_element(w->r, head, 0, &module) == 0 && TERM_IS_ATOM(module))
			vec_push(&w->out->modules, module);
	}
	a->nr = w->out->modules.len - a->first;
}

static void take_loaded(struct reading *w, uint64_t name, uint64_t appl)
{
	struct app *a = find_or_add(w, name);
	struct strbuf vsn = STRBUF_INIT;
	uint64_t term, mods;

	if (!a || a->nr || a->vsn) /* the object was read twice */
		return;
	if (term_element(w->r, appl, APPL_VSN, &term) == 0 &&
	    term_text(w->r, term, &vsn, VSN_MAX) && vsn.len)
		a->vsn = strbuf_detach(&vsn, NULL);
	strbuf_free(&vsn);
	if (term_element(w->r, appl, APPL_DATA, &term) == 0 &&
	    term_element(w->r, term, APPL_DATA_MODS, &mods) == 0)
		take_modules(w, a, mods);
}

static void take_object(struct reading *w, const struct ets_object *o)
{
	uint64_t key[2];
	struct app *a;
	uint32_t arity;

	if (o->arity != 2 || o->nr_words < 3)
		return;
	app_table_enter(w->r, o);
	if (term_tuple(w->r, o->words[1], key, 2, &arity) != 0 || arity != 2 ||
	    !TERM_IS_ATOM(key[1]))
		return;
	if (key[0] == w->loaded) {
		take_loaded(w, key[1], o->words[2]);
	} else if (key[0] == w->master && TERM_IS_PID(o->words[2])) {
		a = find_or_add(w, key[1]);
		if (a)
			a->master = o->words[2];
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct app *)a)->text, ((const struct app *)b)->text);
}

int apps_read(struct beam_node *n, struct term_reader *r, struct ets_table *table, struct apps *out,
	      struct error *err)
{
	struct reading w = {.r = r, .out = out};
	struct app_table objects;
	int rc;

	memset(out, 0, sizeof(*out));
	rc = app_table_read(n, table, &objects, err);
	if (rc)
		return rc;
	out->torn = objects.torn;
	out->missing = objects.missing;
	w.loaded = beam_atom_find(n->atoms, "loaded");
	w.master = beam_atom_find(n->atoms, "application_master");
	for (size_t i = 0; i < objects.objects.v.len; i++)
		take_object(&w, &objects.objects.v.data[i]);
	app_table_enter(r, NULL);
	if (out->v.len)
		qsort(out->v.data, out->v.len, sizeof(*out->v.data), by_name);
	ets_objects_free(&objects.objects);
	return 0;
}

void apps_free(struct apps *a)
{
	for (size_t i = 0; i < a->v.len; i++)
		free(a->v.data[i].vsn);
	vec_free(&a->v);
	vec_free(&a->modules);
}
