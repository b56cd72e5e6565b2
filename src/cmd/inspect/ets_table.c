/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam ets TABLE`: one table, and the first of its objects.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/log.h"
#include "beam/vm/ets_objects.h"
#include "cmd/inspect/ets.h"
#include "cmd/run/target.h"

#define DEFAULT_OBJECTS 10
#define DEFAULT_SIZE	1000 /* bytes of text for each object */
#define NAMED_IN_ERROR	5
#define FIXED_BY	100

/* ---- which ----------------------------------------------------------------------------------- */

/* Is `what` the id of the table: "#Ref<0.1.2.3>", "<0.1.2.3>" or "0.1.2.3"? */
static bool is_id(const char *id, const char *what)
{
	return strcmp(what, id) == 0 || strcmp(what, id + strlen("#Ref")) == 0 ||
	       (strlen(what) == strlen(id) - strlen("#Ref<>") &&
		strncmp(what, id + strlen("#Ref<"), strlen(what)) == 0);
}

/* Is `what` the name of table i, as the node has it or as Elixir writes it? */
static bool has_name(const struct ets_reading *v, size_t i, const char *what)
{
	return beam_atom_is(v->node->atoms, v->list.data[i].name, what);
}

static int ambiguous(const struct ets_reading *v, const char *what, size_t nr, struct error *err)
{
	struct strbuf ids = STRBUF_INIT;
	size_t shown = 0;

	for (size_t i = 0; i < v->rows.len && shown < NAMED_IN_ERROR; i++)
		if (has_name(v, i, what))
			strbuf_addf(&ids, "%s%s", shown++ ? ", " : "", v->rows.data[i].id);
	error_set(err, ERROR_KIND_FAILED, -EEXIST,
		  "%zu tables have the name '%s': say which by its id (%s%s)", nr, what, ids.buf,
		  nr > shown ? ", ..." : "");
	strbuf_free(&ids);
	return -EEXIST;
}

/* Finds a table by its id, else the named table of that name, else the only table of that name. */
static int find_table(const struct ets_reading *v, const char *what, const struct ets_table **out,
		      struct error *err)
{
	const struct ets_table *found = NULL, *named = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < v->rows.len; i++) {
		const struct ets_row *r = &v->rows.data[i];

		*out = &v->list.data[i];
		if (is_id(r->id, what))
			return 0;
		if (!has_name(v, i, what))
			continue;
		nr++;
		found = *out;
		if (r->named)
			named = *out;
	}
	*out = named ? named : found;
	if (!*out)
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "this node has no ETS table '%s' (see ebeam ets)", what);
	return named || nr == 1 ? 0 : ambiguous(v, what, nr, err);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* A compressed object has its key and immediate terms as they are.  Of any other element it has the
 * offset of its external format, tagged as a header, which is shown as "...". */
static void print_compressed(struct term_reader *r, struct strbuf *out, const struct ets_object *o)
{
	strbuf_addch(out, '{');
	for (uint32_t i = 1; i <= o->arity; i++) {
		if (i > 1)
			strbuf_addstr(out, r->style == TERM_STYLE_ELIXIR ? ", " : ",");
		if (out->len >= r->max_len) {
			strbuf_addstr(out, "...");
			break;
		}
		if (TERM_IS_HEADER(o->words[i]))
			strbuf_addstr(out, "...");
		else
			term_print(r, out, o->words[i]);
	}
	strbuf_addch(out, '}');
}

static void print_object(struct ets_reading *v, const struct ets_table *t,
			 const struct ets_object *o, struct strbuf *out)
{
	struct term_reader *r = &v->reader;

	strbuf_reset(out);
	r->copy_addr = o->addr;
	r->copy = o->words;
	r->copy_words = o->nr_words;
	if (t->compressed)
		print_compressed(r, out, o);
	else
		term_print(r, out, o->addr | 2);
	r->copy_words = 0;
}

static int read_objects(const struct command_context *ctx, struct ets_reading *v,
			const struct ets_table *t, struct ets_objects *objects, struct error *err)
{
	int rc = ets_objects_read(v->node, t, ctx->opt.limit ? ctx->opt.limit : DEFAULT_OBJECTS,
				  objects);

	v->reader.max_len = ctx->opt.size ? ctx->opt.size : DEFAULT_SIZE;
	if (ctx->opt.depth)
		v->reader.depth = (int)ctx->opt.depth;
	if (!rc)
		return 0;
	ets_objects_free(objects);
	return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the objects of a table: %s",
			 error_text(rc));
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void make_answer(struct ets_answer *a, struct ets_reading *v, const struct ets_table *t,
			const struct ets_objects *objects)
{
	struct ets_fixation fixed_by[FIXED_BY];
	struct ets_fixer *fixers;
	struct strbuf text = STRBUF_INIT;

	*a = (struct ets_answer){.row = &v->rows.data[t - v->list.data],
				 .hash = t->store == ETS_STORE_HASH,
				 .buckets = t->nr_buckets};
	a->fixed_by_truncated =
		t->fixed && ets_fixations(v->node, t, fixed_by, FIXED_BY, &a->nr_fixed_by) != 0;
	a->fixed_by = fixers = xcalloc(a->nr_fixed_by + 1, sizeof(*fixers));
	for (size_t i = 0; i < a->nr_fixed_by; i++) {
		pid_format(&v->formats.pids, fixed_by[i].pid, fixers[i].pid, sizeof(fixers[i].pid));
		fixers[i].count = fixed_by[i].count;
	}
	a->objects.nr = objects->v.len;
	a->objects.texts = xcalloc(objects->v.len + 1, sizeof(*a->objects.texts));
	for (size_t i = 0; i < objects->v.len; i++) {
		print_object(v, t, &objects->v.data[i], &text);
		a->objects.texts[i] = arena_strndup(&v->texts, text.buf, text.len);
	}
	strbuf_free(&text);
}

int ets_show_table(struct command_context *ctx, struct ets_reading *v, const char *what,
		   struct error *err)
{
	const struct ets_table *t;
	struct ets_objects objects;
	struct ets_answer answer;
	struct jsonw w = JSONW(ctx->out);
	int rc = find_table(v, what, &t, err);

	rc = rc ? rc : read_objects(ctx, v, t, &objects, err);
	if (rc)
		return rc;
	make_answer(&answer, v, t, &objects);
	if (ctx->opt.json) {
		target_json_begin(&w, ctx, v->node);
		ets_view_json(&w, &answer);
		rc = ets_json_end(&w, v, objects.torn, err);
	} else {
		ets_view_write(ctx->out, &answer);
		if (objects.torn)
			log_warn("ebeam: the table changed while it was read: %" PRIu64
				 " objects or buckets left out",
				 objects.torn);
	}
	free((void *)answer.fixed_by);
	free(answer.objects.texts);
	ets_objects_free(&objects);
	return rc;
}
