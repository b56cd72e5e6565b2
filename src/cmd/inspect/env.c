/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam env`: the environment of all applications, or of those that are named.  Passwords and the
 * like are masked: what is shown goes to terminals, tickets and chats.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "beam/vm/app_env.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "names/secrets.h"
#include "view/inspect/env_view.h"

/* Limits of the text of a value without --depth and --size. */
#define DEPTH 30
#define SIZE  2000

struct env_reading {
	const struct command_context *ctx;
	struct beam_node *node;
	struct term_formats formats;
	struct term_reader reader;
	struct app_env env;
	struct env_answer answer;
	struct arena texts;
	uint64_t masked;
};

/* ---- the answer ----------------------------------------------------------------------------- */

static void add_value(struct env_reading *v, struct strbuf *out, const struct app_env_key *k)
{
	uint64_t before = v->reader.masked;

	term_print_value(&v->reader, out, k->key, k->value);
	v->masked += v->reader.masked - before;
	if (!v->ctx->opt.show_secrets)
		v->masked += secrets_mask_text(out, 0);
}

static void add_app(struct env_reading *v, const struct app_env_app *app)
{
	struct strbuf text = STRBUF_INIT;

	vec_push(&v->answer.apps, ((struct env_app){app->text, app->vsn, app->loaded, app->nr}));
	for (size_t i = app->first; i < app->first + app->nr; i++) {
		const struct app_env_key *k = &v->env.keys.data[i];
		struct env_key key = {.name = k->name};

		app_env_enter(&v->reader, k);
		if (!v->ctx->opt.json)
			term_print(&v->reader, &text, k->key);
		key.written = arena_text(&v->texts, &text);
		add_value(v, &text, k);
		key.value = arena_text(&v->texts, &text);
		app_env_enter(&v->reader, NULL);
		vec_push(&v->answer.keys, key);
	}
	strbuf_free(&text);
}

static int unknown(const struct env_reading *v, const char *what, struct error *err)
{
	const char **names = xcalloc(v->env.apps.len + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < v->env.apps.len; i++)
		names[i] = v->env.apps.data[i].text;
	near = options_nearest(what, names, v->env.apps.len);
	free(names);
	return error_set(err, ERROR_KIND_FAILED, -ENOENT,
			 "application '%s' is not loaded and has no environment%s%s%s", what,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static int make_answer(struct env_reading *v, struct error *err)
{
	bool *shown = xcalloc(v->env.apps.len + 1, sizeof(*shown));
	int rc = 0;

	for (int arg = 0; arg < v->ctx->nr_args && !rc; arg++) {
		bool found = false;

		for (size_t i = 0; i < v->env.apps.len && !found; i++)
			if (strcmp(v->env.apps.data[i].text, v->ctx->args[arg]) == 0)
				shown[i] = found = true;
		if (!found)
			rc = unknown(v, v->ctx->args[arg], err);
	}
	v->answer.named = v->ctx->nr_args > 0;
	for (size_t i = 0; i < v->env.apps.len && !rc; i++)
		if (shown[i] || !v->answer.named)
			add_app(v, &v->env.apps.data[i]);
	free(shown);
	return rc;
}

/* ---- the command ---------------------------------------------------------------------------- */

static const char *const changed = "the table changed while it was read: keys may be missing";

static int write_json(struct env_reading *v, struct error *err)
{
	const struct envelope_counter counters[] = {
		{"applications", v->answer.apps.len},
		{"keys", v->answer.keys.len},
		{"masked", v->masked},
		{"torn", v->env.table.torn},
		{"missing", v->env.table.missing},
		{"unreadable", v->reader.unreadable},
	};
	struct jsonw w = JSONW(v->ctx->out);

	target_json_begin(&w, v->ctx, v->node);
	env_view_json(&w, &v->answer);
	return envelope_end(&w, &changed, v->env.table.torn || v->env.table.missing, counters,
			    ARRAY_SIZE(counters), err);
}

static void write_text(struct env_reading *v)
{
	env_view_write(v->ctx->out, &v->answer, render_color(&v->ctx->opt, v->ctx->out));
	outfile_flush(v->ctx->out); /* before the lines on stderr */
	if (v->masked)
		log_warn("ebeam: %" PRIu64
			 " value%s secret %s masked (***); --show-secrets shows %s",
			 v->masked, v->masked == 1 ? " that looks" : "s that look",
			 v->masked == 1 ? "is" : "are", v->masked == 1 ? "it" : "them");
	if (v->env.table.torn || v->env.table.missing)
		log_warn("ebeam: %s", changed);
}

static int open_node(struct env_reading *v, struct error *err)
{
	const struct options *opt = &v->ctx->opt;
	int rc = target_open(&v->node, v->ctx, err);

	rc = rc ? rc : target_need(v->node, v->node->anchors.sched, "schedulers", err);
	rc = rc ? rc : target_need(v->node, v->node->anchors.proc_tab, "process table", err);
	if (rc)
		return rc;
	rc = term_reader_init(&v->reader, &v->formats, v->node);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the node: %s",
				 error_text(rc));
	rc = app_env_read(v->node, &v->reader, &v->env, err);
	if (rc)
		return rc;
	v->reader.style = opt->elixir ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG;
	v->reader.is_secret = opt->show_secrets ? NULL : secrets_name;
	if (!opt->json) {
		v->reader.depth = DEPTH;
		v->reader.max_len = SIZE;
	}
	if (opt->depth)
		v->reader.depth = (int)opt->depth;
	if (opt->size)
		v->reader.max_len = opt->size;
	return make_answer(v, err);
}

int cmd_env(struct command_context *ctx, struct error *err)
{
	struct env_reading v = {.ctx = ctx};
	int rc = open_node(&v, err);

	if (!rc && ctx->opt.json)
		rc = write_json(&v, err);
	else if (!rc)
		write_text(&v);
	app_env_free(&v.env);
	vec_free(&v.answer.apps);
	vec_free(&v.answer.keys);
	arena_free(&v.texts);
	return target_close(v.node, rc, err);
}
