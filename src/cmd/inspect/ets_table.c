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
#include "base/units.h"
#include "beam/vm/ets_objects.h"
#include "cmd/inspect/ets.h"
#include "cmd/run/target.h"
#include "view/table/table.h"

#define DEFAULT_OBJECTS 10
#define DEFAULT_SIZE	1000 /* bytes of text for each object */
#define NAMED_IN_ERROR	5
#define FIXED_BY	100

/* ---- which ----------------------------------------------------------------------------------- */

/* "#Ref<0.1.2.3>", "<0.1.2.3>" or "0.1.2.3". */
static bool is_id(const struct ets_table *t, const char *what)
{
	char id[64];

	ets_id_format(t, id, sizeof(id));
	return strcmp(what, id) == 0 || strcmp(what, id + strlen("#Ref")) == 0 ||
	       (strlen(what) == strlen(id) - strlen("#Ref<>") &&
		strncmp(what, id + strlen("#Ref<"), strlen(what)) == 0);
}

static bool has_name(const struct ets_view *v, const struct ets_table *t, const char *what)
{
	return beam_atom_is(v->node->atoms, t->name, what);
}

static int ambiguous(const struct ets_view *v, const char *what, size_t nr, struct error *err)
{
	struct strbuf ids = STRBUF_INIT;
	size_t shown = 0;
	char id[64];

	for (size_t i = 0; i < v->list.len && shown < NAMED_IN_ERROR; i++)
		if (has_name(v, &v->list.data[i], what))
			strbuf_addf(&ids, "%s%s", shown++ ? ", " : "",
				    ets_id_format(&v->list.data[i], id, sizeof(id)));
	error_set(err, ERROR_KIND_FAILED, -EEXIST,
		  "%zu tables have the name '%s': say which by its id (%s%s)", nr, what, ids.buf,
		  nr > shown ? ", ..." : "");
	strbuf_free(&ids);
	return -EEXIST;
}

/* By id, else the named table of that name, else the only one of that name. */
static int find_table(const struct ets_view *v, const char *what, const struct ets_table **out,
		      struct error *err)
{
	const struct ets_table *found = NULL, *named = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < v->list.len; i++) {
		const struct ets_table *t = &v->list.data[i];

		if (is_id(t, what)) {
			*out = t;
			return 0;
		}
		if (!has_name(v, t, what))
			continue;
		nr++;
		found = t;
		if (t->named)
			named = t;
	}
	*out = named ? named : found;
	if (!*out)
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "this node has no ETS table '%s' (see ebeam ets)", what);
	return named || nr == 1 ? 0 : ambiguous(v, what, nr, err);
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Elements of a compressed object: the key and what fits a word stand as they are; for the rest
 * stands where its external format begins, tagged as a header. */
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

static void print_object(struct ets_view *v, const struct ets_table *t, const struct ets_object *o,
			 struct strbuf *out)
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

static int read_objects(const struct command_context *ctx, struct ets_view *v,
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

/* ---- who has it fixed ------------------------------------------------------------------------ */

struct fixed_by {
	struct ets_fixation data[FIXED_BY];
	size_t nr;
	bool cut; /* there are more, or they cannot be read */
};

static void read_fixed_by(const struct ets_view *v, const struct ets_table *t, struct fixed_by *f)
{
	f->nr = 0;
	f->cut = t->fixed && ets_fixations(v->node, t, f->data, FIXED_BY, &f->nr) != 0;
}

static void json_fixed_by(struct jsonw *w, const struct ets_view *v, const struct ets_table *t)
{
	struct strbuf pid = STRBUF_INIT;
	struct fixed_by f;

	read_fixed_by(v, t, &f);
	jsonw_begin_array(w, "fixed_by");
	for (size_t i = 0; i < f.nr; i++) {
		strbuf_reset(&pid);
		ets_add_pid(&pid, v, f.data[i].pid);
		jsonw_begin_object(w, NULL);
		jsonw_string(w, "pid", pid.buf);
		jsonw_uint(w, "count", f.data[i].count);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	if (f.cut)
		jsonw_bool(w, "fixed_by_truncated", true);
	strbuf_free(&pid);
}

static void add_fixed_by(struct strbuf *out, const struct ets_view *v, const struct ets_table *t)
{
	struct fixed_by f;

	read_fixed_by(v, t, &f);
	if (!f.nr && !f.cut)
		return;
	strbuf_addstr(out, "  fixed by     ");
	for (size_t i = 0; i < f.nr; i++) {
		strbuf_addstr(out, i ? ", " : "");
		ets_add_pid(out, v, f.data[i].pid);
	}
	strbuf_addstr(out, f.cut ? (f.nr ? " and others" : "unknown, it changes") : "");
	strbuf_addstr(out, t->store == ETS_STORE_HASH
				   ? "  (what is deleted stays in memory until they let go)\n"
				   : "\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int write_json(struct command_context *ctx, struct ets_view *v, const struct ets_table *t,
		      const struct ets_objects *objects, struct error *err)
{
	struct jsonw w = JSONW(ctx->out);
	struct strbuf text = STRBUF_INIT;
	int rc;

	target_json_begin(&w, ctx, v->node);
	jsonw_begin_rows(&w, "data");
	jsonw_begin_object(&w, NULL);
	ets_json_fields(&w, v, t);
	json_fixed_by(&w, v, t);
	jsonw_begin_array(&w, "objects");
	for (size_t i = 0; i < objects->v.len; i++) {
		print_object(v, t, &objects->v.data[i], &text);
		jsonw_stringn(&w, NULL, text.buf, text.len);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	jsonw_end_array(&w);
	strbuf_free(&text);
	ets_json_end(&w, v, objects->torn, err, &rc);
	return rc;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *yes_no(bool yes)
{
	return yes ? "yes" : "no";
}

static void add_owner(struct strbuf *out, const struct ets_view *v, const struct ets_table *t)
{
	uint64_t name = ets_owner_name(v, t);

	ets_add_pid(out, v, t->owner);
	if (name) {
		strbuf_addstr(out, " (");
		ets_add_name(out, v, name);
		strbuf_addch(out, ')');
	}
	strbuf_addstr(out, t->heir ? ", heir " : ", no heir");
	if (t->heir)
		ets_add_pid(out, v, t->heir);
}

static void add_memory(struct strbuf *out, const struct ets_table *t)
{
	char bytes[32], words[32];

	strbuf_addf(out, "%s (%s words)",
		    units_format_bytes(t->memory * ETS_WORD_BYTES, bytes, sizeof(bytes)),
		    units_format_count(t->memory, words, sizeof(words)));
	if (t->size)
		strbuf_addf(out, ", %.1f words for each object",
			    (double)t->memory / (double)t->size);
}

static void add_details(struct strbuf *out, const struct ets_view *v, const struct ets_table *t)
{
	char buf[64];

	ets_add_name(out, v, t->name);
	strbuf_addf(out, "%s\n  id           %s\n", t->torn ? "~" : "",
		    ets_id_format(t, buf, sizeof(buf)));
	strbuf_addf(out, "  type         %s, %s, %s%s\n", ets_type_name(t->type),
		    ets_protection_name(t->protection), t->named ? "named" : "not named",
		    t->fixed ? ", fixed now" : "");
	strbuf_addstr(out, "  owner        ");
	add_owner(out, v, t);
	strbuf_addf(out, "\n  objects      %s", units_format_count(t->size, buf, sizeof(buf)));
	if (t->store == ETS_STORE_HASH)
		strbuf_addf(out, " in %s buckets",
			    units_format_count(t->nr_buckets, buf, sizeof(buf)));
	strbuf_addstr(out, "\n  memory       ");
	add_memory(out, t);
	strbuf_addf(out, "\n  key          element %" PRIu32 "\n", t->keypos);
	strbuf_addf(out, "  concurrency  read %s, write ", t->read_concurrency ? "true" : "false");
	ets_add_write_concurrency(out, t);
	strbuf_addf(out, "\n  compressed   %s\n", yes_no(t->compressed));
	strbuf_addf(out, "  counters     %s\n",
		    t->decentralized ? "decentralized" : "in one place");
	add_fixed_by(out, v, t);
}

static void write_text(FILE *f, struct ets_view *v, const struct ets_table *t,
		       const struct ets_objects *objects)
{
	struct strbuf text = STRBUF_INIT;
	char shown[32], size[32];

	add_details(&text, v, t);
	/* What a node has in a table may hold what a terminal would obey. */
	table_clean_text(&text, true);
	fwrite(text.buf, 1, text.len, f);
	if (objects->v.len) {
		fprintf(f, "\n%s of %s objects, %s:\n",
			units_format_count(objects->v.len, shown, sizeof(shown)),
			units_format_count(t->size, size, sizeof(size)),
			t->store == ETS_STORE_HASH ? "as the buckets have them" : "by key");
		if (t->compressed)
			fputs("(... is what is compressed: all but keys, atoms and small "
			      "numbers)\n",
			      f);
	}
	for (size_t i = 0; i < objects->v.len; i++) {
		print_object(v, t, &objects->v.data[i], &text);
		table_clean_text(&text, false);
		strbuf_addch(&text, '\n');
		fwrite(text.buf, 1, text.len, f);
	}
	strbuf_free(&text);
}

int ets_show_table(struct command_context *ctx, struct ets_view *v, const char *what,
		   struct error *err)
{
	const struct ets_table *t;
	struct ets_objects objects;
	int rc = find_table(v, what, &t, err);

	rc = rc ? rc : read_objects(ctx, v, t, &objects, err);
	if (rc)
		return rc;
	if (ctx->opt.json)
		rc = write_json(ctx, v, t, &objects, err);
	else
		write_text(ctx->out, v, t, &objects);
	if (objects.torn && !ctx->opt.json)
		log_warn("ebeam: the table changed while it was read: %" PRIu64 " places left out",
			 objects.torn);
	ets_objects_free(&objects);
	return rc;
}
