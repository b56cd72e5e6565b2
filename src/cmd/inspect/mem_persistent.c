/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam mem --persistent-terms`: the keys of persistent terms, and what each takes of memory. */
#include <errno.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "beam/term/term.h"
#include "beam/vm/persistent_terms.h"
#include "cmd/inspect/mem.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "view/inspect/mem_view.h"

#define KEY_SIZE 200 /* bytes of text after which a key is cut */

struct persistent_rows {
	VEC(struct mem_persistent) v;
	struct arena texts;
};

static int make_rows(struct persistent_rows *rows, struct beam_node *n,
		     const struct persistent_terms *terms, const struct options *opt,
		     struct error *err)
{
	struct term_formats formats;
	struct term_reader reader;
	struct strbuf text = STRBUF_INIT;
	int rc = term_reader_init(&reader, &formats, n);

	if (rc)
		return beam_node_unreadable(n, "process table", rc, err);
	reader.style = opt->elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	reader.max_len = KEY_SIZE;
	for (size_t i = 0; i < terms->v.len; i++) {
		struct mem_persistent row = {.words = terms->v.data[i].words,
					     .bytes = 8 * terms->v.data[i].words};

		term_print(&reader, &text, terms->v.data[i].key);
		row.key = arena_text(&rows->texts, &text);
		vec_push(&rows->v, row);
	}
	strbuf_free(&text);
	return 0;
}

static int show(struct command_context *ctx, struct beam_node *n,
		const struct persistent_terms *terms, const struct table *table,
		const struct table_options *o, struct error *err)
{
	struct jsonw w = JSONW(ctx->out);

	if (!ctx->opt.json)
		return mem_persistent_write(ctx->out, table, terms->bytes, o, err);
	target_json_begin(&w, ctx, n);
	mem_persistent_json(&w, table, terms->bytes, o);
	return envelope_end(&w, NULL, 0, NULL, 0, err);
}

int mem_show_persistent(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "bytes");
	struct table table = mem_persistent_table;
	struct persistent_terms terms = {0};
	struct persistent_rows rows = {0};
	struct beam_node *n = NULL;
	int rc = table_check(&table, &options, err);

	if (!rc && (ctx->opt.watch_ns || ctx->opt.duration_ns || ctx->opt.atoms))
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			       "--persistent-terms is an answer of its own: leave out %s",
			       ctx->opt.atoms	   ? "--atoms"
			       : ctx->opt.watch_ns ? "--watch"
						   : "-d");
	rc = rc ? rc : target_open(&n, ctx, err);
	rc = rc ? rc : persistent_terms_read(&terms, n, err);
	rc = rc ? rc : make_rows(&rows, n, &terms, &ctx->opt, err);
	table.rows = rows.v.data;
	table.nr_rows = rows.v.len;
	rc = rc ? rc : show(ctx, n, &terms, &table, &options, err);
	persistent_terms_free(&terms);
	vec_free(&rows.v);
	arena_free(&rows.texts);
	return target_close(n, rc, err);
}
