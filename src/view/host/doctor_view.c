/* SPDX-License-Identifier: BSD-2-Clause */
/* See doctor_view.h. */
#include "view/host/doctor_view.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
	const char *name;
	const char *color; /* of a terminal */
} states[] = {
	[DOCTOR_AVAILABLE] = {"available", "\033[32m"},
	[DOCTOR_DEGRADED] = {"degraded", "\033[33m"},
	[DOCTOR_MISSING] = {"missing", "\033[31m"},
};

/* ---- text ------------------------------------------------------------------------------------ */

static void write_group(FILE *f, const struct doctor_report *r, const struct doctor_row *row)
{
	struct strbuf title = STRBUF_INIT;

	strbuf_addstr(&title, row->group);
	for (size_t i = 0; i < r->nr_nodes; i++) {
		const struct doctor_node *n = &r->nodes[i];

		if ((int)n->os_pid == row->os_pid)
			strbuf_addf(&title, ", pid %u%s%s", n->os_pid, n->name ? " " : "",
				    n->name ? n->name : "");
	}
	strbuf_addch(&title, '\n');
	table_write_text(f, &title);
	strbuf_free(&title);
}

static void write_line(FILE *f, enum doctor_state state, bool color, const char *what,
		       const char *more)
{
	fprintf(f, "  %s%-9s%s  %s%s%s\n", color ? states[state].color : "", states[state].name,
		color ? "\033[0m" : "", what, *more ? ": " : "", more);
}

/* Writes a row.  before: the row above it, NULL = none; a reason and fix that are the same as there
 * become "as above". */
static void write_row(FILE *f, const struct doctor_row *row, const struct doctor_row *before,
		      bool color)
{
	bool same = before && before->why[0] && strcmp(before->why, row->why) == 0 &&
		    (before->fix == row->fix ||
		     (before->fix && row->fix && strcmp(before->fix, row->fix) == 0));

	write_line(f, row->state, color, row->feature,
		   row->seen[0]	  ? row->seen
		   : row->purpose ? row->purpose
				  : "");
	if (row->why[0])
		fprintf(f, "%13swhy: %s\n", "", same ? "as above" : row->why);
	if (row->fix && !same)
		fprintf(f, "%13sfix: %s\n", "", row->fix);
}

/* How many rows from `at` on belong to the same group (and node), and so are under one title. */
static size_t group_len(const struct doctor_report *r, size_t at)
{
	const struct doctor_row *rows = r->rows;
	size_t end = at + 1;

	while (end < r->nr_rows && rows[end].os_pid == rows[at].os_pid &&
	       strcmp(rows[end].group, rows[at].group) == 0)
		end++;
	return end - at;
}

/* Is a group written as one line with a count?  If there are several nodes, a group of one of them
 * in which all is available; but not the group "node". */
static bool is_summed_up(const struct doctor_report *r, const struct doctor_row *rows, size_t len)
{
	if (r->nr_nodes < 2 || !rows->os_pid || strcmp(rows->group, "node") == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (rows[i].state != DOCTOR_AVAILABLE)
			return false;
	return true;
}

static const char *verdict(const struct doctor_report *r)
{
	if (r->is_core)
		return r->exit_code ? "this core file cannot be read"
				    : "this core file can be read with --core";
	switch (r->exit_code) {
	case 0:
		return "'ebeam record' will work";
	case ERROR_KIND_PRIVILEGE:
		return "'ebeam record' will not work: privilege missing";
	case ERROR_KIND_KERNEL:
		return "'ebeam record' will not work: kernel feature missing";
	case ERROR_KIND_FAILED:
		return "'ebeam record' will not work: a limit is too low";
	default:
		return "'ebeam record' will not work on this node";
	}
}

void doctor_view_write(FILE *f, const struct doctor_report *r, bool color, bool all)
{
	for (size_t at = 0, len; at < r->nr_rows; at += len) {
		const struct doctor_row *rows = &r->rows[at];
		char sum[32];

		len = group_len(r, at);
		if (!all && is_summed_up(r, rows, len)) {
			snprintf(sum, sizeof(sum), "all %zu", len);
			write_line(f, DOCTOR_AVAILABLE, color, rows->group, sum);
			continue;
		}
		if (at)
			fputc('\n', f);
		write_group(f, r, rows);
		for (size_t i = 0; i < len; i++)
			write_row(f, &rows[i], i ? &rows[i - 1] : NULL, color);
	}
	fprintf(f, "%s\n%s\n", r->none_found ? "\nno BEAM node runs here\n" : "", verdict(r));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_state(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_string(w, name, states[((const struct doctor_row *)row)->state].name);
}

TABLE_VALUE(node_pid, struct doctor_row, r->os_pid ? r->os_pid : NAN)
TABLE_VALUE(blocks_record, struct doctor_row, r->blocks != 0)

#define ROW_TEXT(member) TABLE_FIELD(#member, "", TEXT, struct doctor_row, member)

static const struct table_column row_columns[] = {
	{ROW_TEXT(group)},
	{TABLE_NUMBER("os_pid", "", ID, node_pid)},
	{ROW_TEXT(feature)},
	{ROW_TEXT(purpose)},
	{"state", "", .json = json_state},
	{ROW_TEXT(seen)},
	{ROW_TEXT(why)},
	{ROW_TEXT(fix)},
	{TABLE_NUMBER("blocks_record", "", FLAG, blocks_record)},
	{0},
};

#define NODE_FIELD(member, type) TABLE_FIELD(#member, "", type, struct doctor_node, member)

static const struct table_column node_columns[] = {
	{NODE_FIELD(os_pid, ID)},     {NODE_FIELD(name, TEXT)},	     {NODE_FIELD(otp, TEXT)},
	{NODE_FIELD(erts, TEXT)},     {NODE_FIELD(flavor, TEXT)},    {NODE_FIELD(layout, TEXT)},
	{NODE_FIELD(untested, TEXT)}, {NODE_FIELD(supported, FLAG)}, {0},
};

void doctor_view_json(struct jsonw *w, const struct doctor_report *r)
{
	const struct table rows = {row_columns, r->rows, r->nr_rows, sizeof(*r->rows), NULL};
	const struct table nodes = {node_columns, r->nodes, r->nr_nodes, sizeof(*r->nodes), NULL};

	jsonw_begin_object(w, "data");
	jsonw_uint_if(w, "record_exit_code", !r->is_core, (uint64_t)r->exit_code);
	table_json_rows(w, "features", &rows, &(struct table_options){0});
	table_json_rows(w, "nodes", &nodes, &(struct table_options){0});
	jsonw_end_object(w);
}
