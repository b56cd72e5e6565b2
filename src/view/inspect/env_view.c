/* SPDX-License-Identifier: BSD-2-Clause */
/* See env_view.h. */
#include "view/inspect/env_view.h"

#include <string.h>

#include "base/compiler.h"

#define WIDEST_KEY 40

void env_view_json(struct jsonw *w, const struct env_answer *a)
{
	const struct env_key *k = a->keys.data;

	jsonw_begin_object(w, "data");
	for (size_t i = 0; i < a->apps.len; i++) {
		jsonw_begin_object(w, a->apps.data[i].name);
		for (size_t j = 0; j < a->apps.data[i].nr; j++, k++)
			jsonw_string(w, k->name, k->value);
		jsonw_end_object(w);
	}
	jsonw_end_object(w);
}

static void write_app(FILE *f, const struct env_app *app, const struct env_key *keys, bool color)
{
	size_t width, widest = 0;

	table_heading(f, color, "%s%s%s%s", app->name, app->vsn ? " " : "",
		      app->vsn ? app->vsn : "", app->loaded ? "" : " (not loaded)");
	for (size_t i = 0; i < app->nr; i++) {
		width = table_text_width(keys[i].written, strlen(keys[i].written));
		widest = MAX(widest, MIN(width, (size_t)WIDEST_KEY));
	}
	for (size_t i = 0; i < app->nr; i++) {
		width = table_text_width(keys[i].written, strlen(keys[i].written));
		fputs("  ", f);
		table_write_escaped(f, keys[i].written);
		table_line(f, "%*s  %s", (int)(widest - MIN(width, widest)), "", keys[i].value);
	}
	if (!app->nr)
		fputs("  (nothing)\n", f);
}

void env_view_write(FILE *f, const struct env_answer *a, bool color)
{
	const struct env_key *keys = a->keys.data;
	struct strbuf empty = STRBUF_INIT; /* names of applications without keys */
	bool any = false;

	for (size_t i = 0; i < a->apps.len; i++) {
		const struct env_app *app = &a->apps.data[i];

		if (!app->nr && !a->named) {
			strbuf_addf(&empty, "%s%s",
				    empty.len ? ", " : "without environment: ", app->name);
			continue;
		}
		fputs(any ? "\n" : "", f);
		write_app(f, app, keys, color);
		keys += app->nr;
		any = true;
	}
	if (empty.len) {
		fputc('\n', f);
		table_line(f, "%s", empty.buf);
	}
	strbuf_free(&empty);
}
