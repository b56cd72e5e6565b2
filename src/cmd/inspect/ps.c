/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam ps`: the process table, once or with --watch.  Unsorted JSON is written block by block, as
 * processes are read; everything else keeps a row for each process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/locate/node_open.h"
#include "cmd/command/command.h"
#include "cmd/inspect/process_source.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "cmd/run/watch.h"
#include "model/process/filter.h"
#include "view/table/process_columns.h"
#include "view/table/process_tree.h"

#define TTY_ROWS   50u /* of a table on a terminal, if -n does not say how many */
#define TEXT_WIDTH 48u
/* With --watch names are looked up anew after this time, as code may have been loaded. */
#define FORGET_NS 10000000000ull

struct ps {
	struct command_context *ctx;
	struct beam_node *node;
	struct process_source source;
	struct filter *filter;
	const char *columns, *sort;
	char sorted_columns[256]; /* the usual ones and that of the order */
	uint64_t fields;	  /* that are shown */
	char warning[512];
	struct process_rows rows, before;
	VEC(uint64_t) ancestors; /* of each row, --tree only */
	struct process_totals totals;
	size_t at;		      /* index in `before` that the scan has reached */
	uint64_t nr_wanted, nr_shown; /* rows for which --where holds; rows that are shown */
	struct jsonw w;
	struct strbuf row;
	uint64_t forgot_ns;
	bool again; /* an answer was written before */
};

/* ---- rows --------------------------------------------------------------------------------- */

struct wanted_row {
	const struct process_strings *strings;
	const struct process_row *row;
	struct process_value value;
};

static void get_value(const void *p, size_t field, struct filter_value *v)
{
	struct wanted_row *w = (struct wanted_row *)(uintptr_t)p;

	process_row_get(w->strings, w->row, (enum process_field)field, &w->value);
	v->known = w->value.kind != PROCESS_VALUE_NONE;
	v->number = w->value.number;
	v->text = w->value.text;
	v->len = w->value.len;
}

static bool is_wanted(const struct ps *ps, const struct process_row *row)
{
	struct wanted_row w = {.strings = &ps->source.strings, .row = row};

	return !ps->filter || filter_holds(ps->filter, get_value, &w);
}

static const struct process_row *row_before(struct ps *ps, uint32_t slot)
{
	while (ps->at < ps->before.v.len && ps->before.v.data[ps->at].slot < slot)
		ps->at++;
	return ps->at < ps->before.v.len && ps->before.v.data[ps->at].slot == slot
		       ? &ps->before.v.data[ps->at]
		       : NULL;
}

static void keep_ancestors(struct ps *ps, const struct process_facts *p)
{
	uint64_t above[PROCESS_TREE_ANCESTORS];
	unsigned int nr = process_source_ancestors(&ps->source, p, above, PROCESS_TREE_ANCESTORS);

	for (unsigned int i = 0; i < PROCESS_TREE_ANCESTORS; i++)
		vec_push(&ps->ancestors, i < nr ? above[i] : PROCESS_PID_NONE);
}

static int keep_block(void *arg, struct process_facts *block, size_t nr)
{
	struct ps *ps = arg;
	bool watch = ps->ctx->opt.watch_ns, tree = ps->ctx->opt.tree;

	for (size_t i = 0; i < nr; i++) {
		struct process_row row;

		process_source_row(&ps->source, &block[i], row_before(ps, block[i].slot), &row);
		/* All rows are kept for --watch, as the next reading needs them for rates, and for
		 * --tree. */
		if (!watch && !tree && !is_wanted(ps, &row))
			continue;
		vec_push(&ps->rows.v, row);
		if (tree)
			keep_ancestors(ps, &block[i]);
	}
	return 0;
}

static int read_rows(struct ps *ps, struct error *err)
{
	ps->rows.v.len = 0;
	ps->ancestors.len = 0;
	ps->at = 0;
	ps->rows.ts_ns = clock_monotonic_ns();
	return process_source_scan(&ps->source, keep_block, ps, &ps->totals, err);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void write_row(struct ps *ps, const struct process_row *row)
{
	strbuf_reset(&ps->row);
	process_row_json(&ps->row, &ps->source.strings, row, ps->fields);
	jsonw_raw(&ps->w, NULL, ps->row.buf);
	ps->nr_shown++;
}

static int stream_block(void *arg, struct process_facts *block, size_t nr)
{
	struct ps *ps = arg;
	unsigned int limit = ps->ctx->opt.limit;

	for (size_t i = 0; i < nr; i++) {
		struct process_row row;

		process_source_row(&ps->source, &block[i], NULL, &row);
		if (is_wanted(ps, &row) && (!limit || ps->nr_shown < limit))
			write_row(ps, &row);
	}
	return ferror(ps->ctx->out) ? 1 : 0;
}

static bool filter_warning(const struct ps *ps, char *text, size_t size)
{
	uint64_t nr = ps->filter ? filter_gave_up(ps->filter) : 0;

	if (nr)
		snprintf(text, size,
			 "--where: a regular expression took too many steps on %llu texts, "
			 "which count as not matching",
			 (unsigned long long)nr);
	return nr > 0;
}

static int json_end(struct ps *ps, struct error *err)
{
	char undecoded[128] = "";
	char gave_up[128] = "";
	const char *warnings[3];
	size_t nr = 0;
	struct envelope_counter counters[] = {
		{"processes", ps->totals.processes},
		{"shown", ps->nr_shown},
		{"torn", ps->totals.torn},
		{"vanished", ps->totals.vanished},
	};

	if (ps->warning[0])
		warnings[nr++] = ps->warning;
	if (ps->source.undecoded) {
		snprintf(undecoded, sizeof(undecoded),
			 "memory does not include %llu messages of other nodes that are not "
			 "decoded yet",
			 (unsigned long long)ps->source.undecoded);
		warnings[nr++] = undecoded;
	}
	if (filter_warning(ps, gave_up, sizeof(gave_up)))
		warnings[nr++] = gave_up;
	jsonw_end_array(&ps->w);
	return envelope_end(&ps->w, warnings, nr, counters, sizeof(counters) / sizeof(counters[0]),
			    err);
}

static void json_begin(struct ps *ps, bool lines)
{
	ps->w = (struct jsonw)JSONW(ps->ctx->out);
	ps->nr_shown = 0;
	target_json_begin(&ps->w, ps->ctx, ps->node);
	if (lines)
		jsonw_begin_rows(&ps->w, "data");
	else
		jsonw_begin_array(&ps->w, "data");
}

static int stream_json(struct ps *ps, struct error *err)
{
	int rc;

	json_begin(ps, true);
	rc = process_source_scan(&ps->source, stream_block, ps, &ps->totals, err);
	if (rc < 0) {
		jsonw_finish(&ps->w);
		return rc;
	}
	return json_end(ps, err);
}

/* ---- text --------------------------------------------------------------------------------- */

/* The command that says more of what the rows are sorted by. */
static void say_next(const struct ps *ps)
{
	static const struct {
		const char *column, *what, *command, *args;
	} next[] = {
		{"timers", "who starts them", "trace",
		 "'erlang:send_after/3 -> stack' 'erlang:start_timer/3 -> stack'"},
		{"binaries", "who else has them, and how much of them is used", "bin", ""},
		{"binary_memory", "who else has them, and how much of them is used", "bin", ""},
		{"binary_held", "who else has them, and how much of them is used", "bin", ""},
	};

	for (size_t i = 0; ps->sort && !ps->node->core && i < ARRAY_SIZE(next); i++)
		if (strcmp(ps->sort, next[i].column) == 0)
			log_warn("%s: ebeam %s -p %d%s%s", next[i].what, next[i].command,
				 ps->node->os_pid, *next[i].args ? " " : "", next[i].args);
}

static void footer(const struct ps *ps)
{
	const struct options *o = &ps->ctx->opt;
	char shown[32], all[32], wanted[32], more[64] = "", gave_up[128];

	if (ps->filter && ps->nr_shown < ps->nr_wanted)
		snprintf(more, sizeof(more), " (%s match; -n N shows more)",
			 units_format_count(ps->nr_wanted, wanted, sizeof(wanted)));
	else if (!ps->filter && ps->nr_shown < ps->totals.processes)
		snprintf(more, sizeof(more), " (-n N shows more)");
	log_warn("%s of %s processes%s%s%s; %llu torn, %llu vanished meanwhile",
		 units_format_count(ps->nr_shown, shown, sizeof(shown)),
		 units_format_count(ps->totals.processes, all, sizeof(all)),
		 ps->filter ? ", where " : "", ps->filter ? o->where : "", more,
		 (unsigned long long)ps->totals.torn, (unsigned long long)ps->totals.vanished);
	if (ps->warning[0])
		log_warn("ebeam: %s", ps->warning);
	if (filter_warning(ps, gave_up, sizeof(gave_up)))
		log_warn("ebeam: %s", gave_up);
	if (ps->source.undecoded)
		log_warn("ebeam: memory does not include %llu messages of other nodes that are not "
			 "decoded yet",
			 (unsigned long long)ps->source.undecoded);
	say_next(ps);
}

static struct table_options table_options_of(const struct ps *ps)
{
	const struct options *o = &ps->ctx->opt;
	bool tty = isatty(fileno(ps->ctx->out));

	return (struct table_options){
		.columns = ps->columns,
		/* The first answer has no rates yet. */
		.sort = o->watch_ns && !o->sort && ps->sort && !ps->again ? "reductions" : ps->sort,
		.limit = o->limit	   ? o->limit
			 : tty && !o->json ? TTY_ROWS
					   : 0,
		.color = render_color(o, ps->ctx->out),
	};
}

/* Writes the rows for which --where holds, sorted and limited, as text or JSON. */
static int write_rows(struct ps *ps, struct error *err)
{
	struct process_columns_ctx columns = {
		.strings = &ps->source.strings,
		.max_width = ps->ctx->opt.columns ? 0 : TEXT_WIDTH,
	};
	struct table table = {.columns = process_columns,
			      .row_size = sizeof(struct process_row),
			      .ctx = &columns};
	struct table_options options = table_options_of(ps);
	VEC(struct process_row) wanted = {0};
	size_t *order = NULL, nr = 0;
	int rc;

	for (size_t i = 0; ps->filter && i < ps->rows.v.len; i++)
		if (is_wanted(ps, &ps->rows.v.data[i]))
			vec_push(&wanted, ps->rows.v.data[i]);
	table.rows = ps->filter ? wanted.data : ps->rows.v.data;
	table.nr_rows = ps->filter ? wanted.len : ps->rows.v.len;
	ps->nr_wanted = table.nr_rows;
	ps->nr_shown =
		options.limit && options.limit < table.nr_rows ? options.limit : table.nr_rows;
	if (!ps->ctx->opt.json) {
		rc = table_write(ps->ctx->out, &table, &options, err);
	} else {
		rc = table_order(&table, &options, &order, &nr, err);
		if (rc == 0) {
			json_begin(ps, !ps->ctx->opt.watch_ns);
			for (size_t i = 0; i < nr; i++)
				write_row(ps, &((const struct process_row *)table.rows)[order[i]]);
			rc = json_end(ps, err);
		}
	}
	free(order);
	vec_free(&wanted);
	return rc;
}

/* ---- tree --------------------------------------------------------------------------------- */

static int write_tree_json(struct ps *ps, const struct process_tree *t, struct error *err)
{
	json_begin(ps, true);
	for (size_t i = 0; i < t->nr; i++) {
		uint32_t row = t->order[i];
		char pid[PROCESS_PID_SIZE];

		if (!t->shown[row])
			continue;
		strbuf_reset(&ps->row);
		process_row_json(&ps->row, &ps->source.strings, &t->rows[row], ps->fields);
		ps->row.buf[--ps->row.len] = '\0'; /* the last brace */
		if (t->above[row] != PROCESS_TREE_ROOT &&
		    process_pid_format(t->rows[t->above[row]].pid, pid) > 0)
			strbuf_addf(&ps->row, ", \"tree_parent\": \"%s\"", pid);
		else
			strbuf_addstr(&ps->row, ", \"tree_parent\": null");
		strbuf_addf(&ps->row, ", \"tree_depth\": %u}", t->depth[row]);
		jsonw_raw(&ps->w, NULL, ps->row.buf);
		ps->nr_shown++;
	}
	return json_end(ps, err);
}

static int write_tree(struct ps *ps, struct error *err)
{
	size_t nr = ps->rows.v.len;
	bool *wanted = xcalloc(nr + 1, sizeof(*wanted));
	struct process_tree t;
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		wanted[i] = is_wanted(ps, &ps->rows.v.data[i]);
	process_tree_build(&t, &ps->source.strings, ps->rows.v.data, nr, ps->ancestors.data,
			   ps->filter ? wanted : NULL);
	if (ps->ctx->opt.json) {
		rc = write_tree_json(ps, &t, err);
	} else {
		for (size_t i = 0; i < nr; i++)
			ps->nr_shown += t.shown[i];
		process_tree_write(ps->ctx->out, &t, ps->filter || log_level() > 0,
				   render_color(&ps->ctx->opt, ps->ctx->out));
		footer(ps);
	}
	process_tree_free(&t);
	free(wanted);
	return rc;
}

/* ---- watching ----------------------------------------------------------------------------- */

static int read_again(void *arg, struct error *err)
{
	struct ps *ps = arg;
	int rc;

	if (ps->forgot_ns && clock_monotonic_ns() - ps->forgot_ns > FORGET_NS) {
		process_source_renew(&ps->source, ps->before.v.data, ps->before.v.len);
		ps->forgot_ns = clock_monotonic_ns();
	}
	ps->source.undecoded = 0;
	rc = read_rows(ps, err);
	if (rc)
		return rc;
	process_source_renewed(&ps->source);
	process_rows_rates(&ps->rows, &ps->before);
	return 0;
}

static int write_again(void *arg, struct error *err)
{
	struct ps *ps = arg;
	struct process_rows old = ps->before;
	int rc = write_rows(ps, err);

	if (rc)
		return rc;
	ps->again = true;
	ps->before = ps->rows;
	ps->rows = old;
	return 0;
}

static int watch(struct ps *ps, struct error *err)
{
	struct watch w = {.node = ps->node,
			  .opt = &ps->ctx->opt,
			  .out = ps->ctx->out,
			  .text = !ps->ctx->opt.json,
			  .read = read_again,
			  .write = write_again,
			  .arg = ps};

	ps->forgot_ns = clock_monotonic_ns();
	return watch_run(&w, err);
}

/* ---- the command -------------------------------------------------------------------------- */

/* The fields that --where may name, and whether they are numbers, from PROCESS_FIELDS. */
static void filter_fields(struct filter_field *out)
{
	for (size_t i = 0; i < NR_PROCESS_FIELDS; i++)
		out[i] = (struct filter_field){process_fields[i].name,
					       process_fields[i].type >= PROCESS_TYPE_COUNT};
}

static unsigned int needs_of(uint64_t fields)
{
	unsigned int needs = 0;

	for (size_t i = 0; i < NR_PROCESS_FIELDS; i++)
		if (fields & 1ull << i)
			needs |= process_fields[i].needs;
	return needs;
}

static int check_options(struct ps *ps, const struct filter_field *fields, struct error *err)
{
	const struct options *o = &ps->ctx->opt;
	struct table table = {.columns = process_columns};
	struct table_options options = {.columns = o->columns, .sort = o->sort};
	int rc = table_check(&table, &options, err);

	if (rc == 0 && o->where)
		rc = filter_parse(&ps->filter, o->where, fields, NR_PROCESS_FIELDS, err);
	if (rc)
		return rc;
	if (o->tree && (o->watch_ns || o->sort || o->limit || (o->columns && !o->json)))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--tree has an order and columns of its own: leave out %s",
				 o->watch_ns ? "--watch"
				 : o->sort   ? "-s"
				 : o->limit  ? "-n"
					     : "-c");
	rc = watch_check_options(o, err);
	if (rc)
		return rc;
	if (o->sort && !o->watch_ns &&
	    needs_of(process_columns_fields(o->sort + (*o->sort == '-'))) & PROCESS_NEEDS_BEFORE)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-s %s needs --watch: a rate is known from two readings", o->sort);
	return 0;
}

/* The columns that are shown if none are asked for: what rows are sorted by is among them. */
static const char *usual_columns(struct ps *ps)
{
	const struct options *o = &ps->ctx->opt;
	const char *usual = o->watch_ns ? PROCESS_COLUMNS_WATCH : PROCESS_COLUMNS_ONCE;
	const char *sort = o->sort ? o->sort + (*o->sort == '-') : NULL;

	if (!sort || !(process_columns_fields(sort) & ~process_columns_fields(usual)))
		return usual;
	snprintf(ps->sorted_columns, sizeof(ps->sorted_columns), "pid,name,%s%s", sort,
		 usual + strlen("pid,name"));
	return ps->sorted_columns;
}

/* Chooses columns, fields and order; returns PROCESS_NEEDS_* of what has to be read for them. */
static unsigned int choose(struct ps *ps)
{
	const struct options *o = &ps->ctx->opt;
	uint64_t used = ps->filter ? filter_uses(ps->filter) : 0;

	ps->columns = o->columns ? o->columns : usual_columns(ps);
	if (o->json && !o->columns)
		ps->fields = PROCESS_JSON_ALL | (o->watch_ns ? PROCESS_JSON_RATES : 0);
	else
		ps->fields = process_columns_fields(ps->columns);
	ps->sort = o->sort		  ? o->sort
		   : o->json && !o->limit ? NULL
		   : o->watch_ns	  ? "reductions_per_s"
					  : "memory";
	if (o->tree)
		used |= 1ull << PROCESS_FIELD_NAME | 1ull << PROCESS_FIELD_MEMORY |
			1ull << PROCESS_FIELD_CURRENT_FUNCTION;
	if (ps->sort)
		used |= process_columns_fields(ps->sort + (*ps->sort == '-'));
	return needs_of(ps->fields | used);
}

static int run(struct ps *ps, struct error *err)
{
	const struct options *o = &ps->ctx->opt;
	int rc;

	if (o->watch_ns)
		return watch(ps, err);
	if (o->json && !ps->sort && !o->tree)
		return stream_json(ps, err);
	rc = read_rows(ps, err);
	if (rc)
		return rc;
	if (o->tree)
		return write_tree(ps, err);
	rc = write_rows(ps, err);
	if (rc == 0 && !o->json)
		footer(ps);
	return rc;
}

int cmd_ps(struct command_context *ctx, struct error *err)
{
	struct filter_field fields[NR_PROCESS_FIELDS];
	struct ps ps = {.ctx = ctx, .row = STRBUF_INIT};
	unsigned int needs;
	int rc;

	filter_fields(fields);
	rc = check_options(&ps, fields, err);
	if (rc == 0) {
		needs = choose(&ps);
		if (needs & PROCESS_NEEDS_SAMPLES)
			rc = error_set(err, ERROR_KIND_USAGE, -EINVAL,
				       "ps reads memory and takes no samples: cpu is a column of "
				       "ebeam top");
	}
	if (rc == 0)
		rc = target_open(&ps.node, ctx, err);
	if (rc == 0)
		rc = process_source_open(&ps.source, ps.node, needs, ps.warning, sizeof(ps.warning),
					 err);
	if (rc == 0)
		rc = run(&ps, err);
	if (ps.node)
		process_source_close(&ps.source);
	filter_free(ps.filter);
	vec_free(&ps.rows.v);
	vec_free(&ps.before.v);
	vec_free(&ps.ancestors);
	strbuf_free(&ps.row);
	return watch_close(&ctx->opt, ps.node, rc, err);
}
