/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --old-code`: which processes still run old code of which module; see dump.h. */
#include <stdlib.h>

#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "cmd/inspect/dump.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "view/inspect/old_code_view.h"

struct answering {
	struct old_code_answer a;
	struct arena texts;
	const char **modules; /* the module's name, for each element of old.uses */
};

static void add_modules(struct answering *x, const struct dump *d)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < d->old.modules.len; i++) {
		const struct old_module *m = &d->old.modules.data[i];
		struct old_code_module new = {.size = m->end - m->start, .processes = m->processes};
		size_t len;
		const char *name = beam_atom_text(d->n->atoms, m->name, &len);

		if (name)
			names_format_module(&text, name, len);
		new.name = arena_strndup(&x->texts, text.buf, text.len);
		strbuf_reset(&text);
		vec_push(&x->a.modules, new);
	}
	strbuf_free(&text);
}

/* A row for each process, with the modules of all its uses, which follow each other. */
static void add_rows(struct answering *x, const struct dump *d, unsigned int limit)
{
	const struct old_use *uses = d->old.uses.data;
	size_t len = d->old.uses.len, nr;

	x->modules = xcalloc(len + 1, sizeof(*x->modules));
	for (size_t i = 0; i < len; i++)
		x->modules[i] = x->a.modules.data[uses[i].module].name;
	for (size_t i = 0; i < len; i += nr) {
		for (nr = 1; i + nr < len && uses[i + nr].process == uses[i].process;)
			nr++;
		if (!limit || x->a.processes < limit)
			vec_push(&x->a.rows, ((struct old_code_row){dump_process(d, uses[i].process,
										 true, &x->texts),
								    {nr, x->modules + i}}));
		x->a.processes++;
	}
}

int dump_old(const struct dump *d, const struct command_context *ctx, FILE *f, bool text,
	     struct error *err)
{
	const struct envelope_counter counters[] = {
		{"vanished", d->vanished},
		{"torn", d->torn},
		{"running", d->stale},
	};
	struct answering x = {0};
	struct jsonw w = JSONW(f);
	int rc;

	add_modules(&x, d);
	add_rows(&x, d, ctx->opt.limit);
	if (text) {
		rc = old_code_view_write(f, &x.a, render_color(&ctx->opt, f), err);
	} else {
		target_json_begin(&w, ctx, d->n);
		old_code_view_json(&w, &x.a);
		rc = envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
	}
	vec_free(&x.a.modules);
	vec_free(&x.a.rows);
	arena_free(&x.texts);
	free(x.modules);
	return rc;
}
