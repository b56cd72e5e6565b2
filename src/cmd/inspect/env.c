/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam env`: the environment of all applications, or of those that are named.  Passwords and the
 * like are masked: what is shown goes to terminals, tickets and chats.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "beam/vm/app_env.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "names/names.h"
#include "names/secrets.h"
#include "view/table/table.h"

/* Of values in text, unless --depth and --size say more. */
#define DEPTH	   30
#define SIZE	   2000
#define WIDEST_KEY 40

struct env_view {
	const struct command_context *ctx;
	struct beam_node *node;
	struct term_formats formats;
	struct term_reader reader;
	struct app_env env;
	bool *shown; /* one for each application */
	uint64_t nr_shown, nr_keys, masked;
};

/* ---- which ---------------------------------------------------------------------------------- */

static int unknown(const struct env_view *v, const char *what, struct error *err)
{
	const char **names = xcalloc(v->env.apps.len + 1, sizeof(*names));
	const char *near;

	for (size_t i = 0; i < v->env.apps.len; i++)
		names[i] = v->env.apps.data[i].text;
	near = options_nearest(what, names, v->env.apps.len);
	free(names);
	if (near)
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "application '%s' is not loaded and has no environment; did you "
				 "mean '%s'?",
				 what, near);
	return error_set(err, ERROR_KIND_FAILED, -ENOENT,
			 "application '%s' is not loaded and has no environment", what);
}

static int choose(struct env_view *v, struct error *err)
{
	v->shown = xcalloc(v->env.apps.len + 1, sizeof(*v->shown));
	for (int arg = 0; arg < v->ctx->nr_args; arg++) {
		const char *what = v->ctx->args[arg];
		bool found = false;

		for (size_t i = 0; i < v->env.apps.len && !found; i++)
			if (strcmp(v->env.apps.data[i].text, what) == 0)
				v->shown[i] = found = true;
		if (!found)
			return unknown(v, what, err);
	}
	for (size_t i = 0; i < v->env.apps.len; i++) {
		v->shown[i] |= v->ctx->nr_args == 0;
		v->nr_shown += v->shown[i];
		v->nr_keys += v->shown[i] ? v->env.apps.data[i].nr : 0;
	}
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static void add_value(struct env_view *v, struct strbuf *out, const struct app_env_key *k)
{
	uint64_t before = v->reader.masked;

	strbuf_reset(out);
	app_env_enter(&v->reader, k);
	term_print_value(&v->reader, out, k->key, k->value);
	app_env_enter(&v->reader, NULL);
	v->masked += v->reader.masked - before;
	if (!v->ctx->opt.show_secrets)
		v->masked += secrets_mask_text(out, 0);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int write_json(struct env_view *v, struct error *err)
{
	struct jsonw w = JSONW(v->ctx->out);
	struct strbuf text = STRBUF_INIT;
	const char *warnings[1];
	size_t nr_warnings = 0;

	target_json_begin(&w, v->ctx, v->node);
	jsonw_begin_object(&w, "data");
	for (size_t i = 0; i < v->env.apps.len; i++) {
		const struct app_env_app *a = &v->env.apps.data[i];

		if (!v->shown[i])
			continue;
		jsonw_begin_object(&w, a->text);
		for (size_t j = a->first; j < a->first + a->nr; j++) {
			add_value(v, &text, &v->env.keys.data[j]);
			jsonw_stringn(&w, v->env.keys.data[j].name, text.buf, text.len);
		}
		jsonw_end_object(&w);
	}
	jsonw_end_object(&w);
	strbuf_free(&text);
	if (v->env.table.torn || v->env.table.missing)
		warnings[nr_warnings++] =
			"the table changed while it was read: keys may be missing";
	const struct envelope_counter counters[] = {
		{"applications", v->nr_shown},
		{"keys", v->nr_keys},
		{"masked", v->masked},
		{"torn", v->env.table.torn},
		{"missing", v->env.table.missing},
		{"unreadable", v->reader.unreadable},
	};
	return envelope_end(&w, warnings, nr_warnings, counters, ARRAY_SIZE(counters), err);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* As the language writes it: 'Elixir.My.Repo' is My.Repo in Elixir. */
static void add_key(struct env_view *v, struct strbuf *out, const struct app_env_key *k)
{
	strbuf_reset(out);
	app_env_enter(&v->reader, k);
	term_print(&v->reader, out, k->key);
	app_env_enter(&v->reader, NULL);
}

/* What a node has in a configuration may hold what a terminal would obey. */
static void put_clean(const struct env_view *v, const struct strbuf *text)
{
	struct strbuf clean = STRBUF_INIT;

	names_format_text(&clean, text->buf, text->len);
	fwrite(clean.buf, 1, clean.len, v->ctx->out);
	strbuf_free(&clean);
}

static void write_heading(const struct env_view *v, const struct app_env_app *a)
{
	struct strbuf text = STRBUF_INIT;
	bool color = render_color(&v->ctx->opt, v->ctx->out);

	strbuf_addstr(&text, a->text);
	if (a->vsn)
		strbuf_addf(&text, " %s", a->vsn);
	if (!a->loaded)
		strbuf_addstr(&text, " (not loaded)");
	fputs(color ? "\x1b[1m" : "", v->ctx->out);
	put_clean(v, &text);
	fputs(color ? "\x1b[0m\n" : "\n", v->ctx->out);
	strbuf_free(&text);
}

static void write_application(struct env_view *v, const struct app_env_app *a)
{
	const struct app_env_key *keys = v->env.keys.data + a->first;
	struct strbuf text = STRBUF_INIT;
	size_t width, widest = 0;

	write_heading(v, a);
	for (size_t i = 0; i < a->nr; i++) {
		add_key(v, &text, &keys[i]);
		width = table_text_width(text.buf, text.len);
		widest = MAX(widest, MIN(width, (size_t)WIDEST_KEY));
	}
	for (size_t i = 0; i < a->nr; i++) {
		add_key(v, &text, &keys[i]);
		fputs("  ", v->ctx->out);
		put_clean(v, &text);
		width = table_text_width(text.buf, text.len);
		fprintf(v->ctx->out, "%*s  ", (int)(widest - MIN(width, widest)), "");
		add_value(v, &text, &keys[i]);
		put_clean(v, &text);
		fputc('\n', v->ctx->out);
	}
	if (!a->nr)
		fputs("  (nothing)\n", v->ctx->out);
	strbuf_free(&text);
}

/* Those without are many, and there is nothing to say of them. */
static void write_empty(const struct env_view *v)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < v->env.apps.len; i++)
		if (!v->env.apps.data[i].nr)
			strbuf_addf(&text, "%s%s", text.len ? ", " : "without environment: ",
				    v->env.apps.data[i].text);
	if (text.len) {
		fputc('\n', v->ctx->out);
		put_clean(v, &text);
		fputc('\n', v->ctx->out);
	}
	strbuf_free(&text);
}

static void write_text(struct env_view *v)
{
	bool first = true;

	for (size_t i = 0; i < v->env.apps.len; i++) {
		if (!v->shown[i] || (!v->env.apps.data[i].nr && !v->ctx->nr_args))
			continue;
		fputs(first ? "" : "\n", v->ctx->out);
		write_application(v, &v->env.apps.data[i]);
		first = false;
	}
	if (!v->ctx->nr_args)
		write_empty(v);
	outfile_flush(v->ctx->out); /* the rest stands below */
	if (v->masked)
		log_warn("ebeam: %" PRIu64
			 " value%s secret %s masked (***); --show-secrets shows %s",
			 v->masked, v->masked == 1 ? " that looks" : "s that look",
			 v->masked == 1 ? "is" : "are", v->masked == 1 ? "it" : "them");
	if (v->env.table.torn || v->env.table.missing)
		log_warn("ebeam: the table changed while it was read: keys may be missing");
}

/* ---- the command ---------------------------------------------------------------------------- */

static int open_view(struct env_view *v, struct error *err)
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
	return choose(v, err);
}

int cmd_env(struct command_context *ctx, struct error *err)
{
	struct env_view v = {.ctx = ctx};
	int rc = open_view(&v, err);

	if (!rc && ctx->opt.json)
		rc = write_json(&v, err);
	else if (!rc)
		write_text(&v);
	app_env_free(&v.env);
	free(v.shown);
	return target_close(v.node, rc, err);
}
