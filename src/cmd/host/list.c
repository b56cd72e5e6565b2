/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam list`: the nodes of this host, one row each.  A node that cannot be looked into stands
 * there too, with what is known of it and the reason.
 */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "beam/locate/find.h"
#include "beam/locate/node_open.h"
#include "beam/node/node.h"
#include "beam/vm/facts.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "target/privilege.h"
#include "target/proc.h"
#include "view/table/table.h"

struct list_row {
	int os_pid;
	bool identified;       /* identity is filled */
	bool counted;	       /* facts are filled */
	int64_t uptime_s, rss; /* of the process, bytes; -1 = unknown */
	struct beam_identity identity;
	char untested[64]; /* "" = release and build are known */
	struct beam_facts facts;
	bool usdt;
	bool stopped; /* by a signal: nothing happens in it */
	char exe[PATH_MAX];
	struct proc_container container;
	char *unsupported; /* NULL = supported; owned */
};

struct list_rows {
	VEC(struct list_row) v;
	unsigned int how; /* they are opened: enum beam_open */
};

/* ---- reading ------------------------------------------------------------------------------ */

/* 1 and a row, or 0 if the process is gone by now. */
static int read_row(struct list_row *row, int os_pid, unsigned int how)
{
	struct proc_stat stat;
	struct error err = {0};
	struct beam_node *node;
	char why[BEAM_NODE_REFUSAL_SIZE];

	memset(row, 0, sizeof(*row));
	row->os_pid = os_pid;
	if (proc_exe(os_pid, row->exe, sizeof(row->exe), NULL) != 0)
		row->exe[0] = '\0';
	proc_container(&row->container, os_pid);
	row->uptime_s = MAX(proc_uptime_s(os_pid), (int64_t)-1);
	row->stopped = proc_is_stopped(os_pid);
	row->rss = proc_stat_read(&stat, os_pid, NULL) == 0 ? (int64_t)stat.rss : -1;
	if (beam_node_open(&node, os_pid, how | BEAM_OPEN_PARTIAL, &err) != 0) {
		if (err.kind == ERROR_KIND_NO_NODE)
			return 0;
		row->unsupported = xstrdup(err.msg);
		return 1;
	}
	row->identified = true;
	row->identity = node->identity;
	snprintf(row->exe, sizeof(row->exe), "%s", elf_file_name(node->elf));
	memcpy(row->untested, node->untested, sizeof(row->untested));
	row->usdt = node->identity.vm_probes;
	/* Without a layout that was checked the numbers would be guesses. */
	if (beam_node_unsupported(node)) {
		row->unsupported = xstrdup(beam_node_refusal(node, why, sizeof(why)));
		row->untested[0] = '\0';
	} else {
		row->counted = beam_node_facts(node, &row->facts, &err) == 0;
		if (!row->counted) {
			row->facts.name[0] = '\0';
			row->unsupported = xstrdup(err.msg);
			row->untested[0] = '\0';
		}
	}
	beam_node_close(node);
	return 1;
}

static int read_rows(struct list_rows *rows, struct error *err)
{
	int *pids, nr = beam_list(&pids, err);

	if (nr < 0)
		return nr;
	for (int i = 0; i < nr; i++) {
		struct list_row row;

		if (read_row(&row, pids[i], rows->how))
			vec_push(&rows->v, row);
	}
	free(pids);
	return 0;
}

/* ---- columns ------------------------------------------------------------------------------ */

#define ROW(p) ((const struct list_row *)(p))

static void col_os_pid(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "%d", ROW(row)->os_pid);
}

static void col_flavor(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->identified)
		strbuf_addstr(out, beam_flavor(&ROW(row)->identity));
}

#define VALUE(name, value) TABLE_VALUE(name, struct list_row, value)
#define COUNTED(member)	   VALUE(member, r->counted ? (double)r->facts.member : NAN)

COUNTED(schedulers)
COUNTED(dirty_cpu_schedulers)
COUNTED(dirty_io_schedulers)
COUNTED(process_count)
COUNTED(port_count)
COUNTED(atom_count)

static void col_uptime(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[32];

	(void)ctx;
	if (ROW(row)->uptime_s >= 0)
		strbuf_addstr(out,
			      units_format_uptime((uint64_t)ROW(row)->uptime_s, buf, sizeof(buf)));
}

static int by_os_pid(const void *a, const void *b)
{
	return ROW(a)->os_pid < ROW(b)->os_pid ? -1 : ROW(a)->os_pid > ROW(b)->os_pid;
}

static void col_container(struct strbuf *out, const void *row, const void *ctx)
{
	const struct proc_container *c = &ROW(row)->container;

	(void)ctx;
	strbuf_addstr(out, *c->name ? c->name : c->id);
}

VALUE(stripped, r->identified ? (double)r->identity.stripped : NAN)
VALUE(usdt, r->identified ? (double)r->usdt : NAN)
VALUE(supported, !r->unsupported)

static void col_supported(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->untested[0])
		strbuf_addstr(out, ROW(row)->untested);
	else
		strbuf_addstr(out, ROW(row)->unsupported ? "no" : "yes");
	if (ROW(row)->stopped)
		strbuf_addstr(out, "; stopped (SIGSTOP)");
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct list_row, member)
#define NUMBER(name, title, type)	 TABLE_NUMBER(#name, title, type, name)

static const struct table_column list_columns[] = {
	{FIELD("os_pid", "PID", COUNT, os_pid), .text = col_os_pid, .compare = by_os_pid},
	{FIELD("name", "NAME", TEXT, facts.name)},
	{FIELD("otp", "OTP", TEXT, identity.otp_text)},
	{FIELD("erts", "ERTS", TEXT, identity.erts)},
	{"flavor", "FLAVOR", .text = col_flavor},
	{NUMBER(schedulers, "SCHED", COUNT)},
	{NUMBER(dirty_cpu_schedulers, "DIRTY CPU", COUNT), .hidden = true},
	{NUMBER(dirty_io_schedulers, "DIRTY IO", COUNT), .hidden = true},
	{NUMBER(process_count, "PROCESSES", COUNT)},
	{NUMBER(port_count, "PORTS", COUNT), .hidden = true},
	{NUMBER(atom_count, "ATOMS", COUNT), .hidden = true},
	{FIELD("uptime_s", "UPTIME", COUNT, uptime_s), .text = col_uptime},
	{FIELD("rss", "RSS", BYTES, rss), .hidden = true},
	{FIELD("exe", "EXECUTABLE", TEXT, exe), .hidden = true},
	{FIELD("container", "CONTAINER", TEXT, container.id), .text = col_container},
	{FIELD("container_name", "CONTAINER NAME", TEXT, container.name), .hidden = true},
	{FIELD("pod_uid", "POD UID", TEXT, container.pod), .hidden = true},
	{NUMBER(stripped, "STRIPPED", FLAG)},
	{NUMBER(usdt, "USDT", FLAG)},
	{NUMBER(supported, "SUPPORTED", FLAG), .text = col_supported},
	{FIELD("untested", "UNTESTED", TEXT, untested), .hidden = true},
	{FIELD("unsupported_reason", "WHY NOT", TEXT, unsupported), .hidden = true},
	{FIELD("stopped", "STOPPED", FLAG, stopped), .hidden = true},
	{0},
};

static int write_json(struct command_context *ctx, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	const char *warning = privilege_blind_spot();
	const struct list_row *rows = t->rows;
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	envelope_begin(&w, ctx->command->name, NULL);
	jsonw_begin_rows(&w, "data");
	for (size_t i = 0; i < nr; i++) {
		jsonw_begin_object(&w, NULL);
		table_json_fields(list_columns, &w, &rows[order[i]], NULL);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	free(order);
	return envelope_end(&w, &warning, warning ? 1 : 0, NULL, 0, err);
}

/* ---- again and again ---------------------------------------------------------------------- */

static void free_list(struct list_rows *rows)
{
	for (size_t i = 0; i < rows->v.len; i++)
		free(rows->v.data[i].unsupported);
	vec_free(&rows->v);
}

/* All nodes of the host, whichever it was opened for. */
static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct list_rows *rows = view;

	(void)err;
	rows->how = n ? n->how : 0;
	return 0;
}

static int read_into(void *view, struct error *err)
{
	return read_rows(view, err);
}

static void rows_table(void *view, struct table *out)
{
	const struct list_rows *rows = view;

	out->rows = rows->v.data;
	out->nr_rows = rows->v.len;
}

static uint64_t row_id(const void *row)
{
	return (uint64_t)ROW(row)->os_pid;
}

static void forget_rows(void *view)
{
	free_list(view);
}

static const struct table table_of_rows = {.columns = list_columns,
					   .row_size = sizeof(struct list_row)};

const struct row_source node_rows = {
	.view_size = sizeof(struct list_rows),
	.open = open_rows,
	.read = read_into,
	.forget = forget_rows,
	.rows = rows_table,
	.id = row_id,
	.table = &table_of_rows,
};

/* ---- the command -------------------------------------------------------------------------- */

static int write_text(struct command_context *ctx, const struct table *t, struct table_options *o,
		      struct error *err)
{
	const char *warning = privilege_blind_spot();
	const struct list_row *rows = t->rows;
	bool any_unsupported = false;

	for (size_t i = 0; i < t->nr_rows; i++)
		any_unsupported |= rows[i].unsupported != NULL;
	/* The reason takes much room: only where there is one to show. */
	o->also = any_unsupported ? "unsupported_reason" : NULL;
	if (warning)
		log_warn("ebeam: %s", warning);
	if (!t->nr_rows)
		log_warn(privilege_unseen() ? "ebeam: no BEAM node is seen"
					    : "ebeam: no BEAM node runs here");
	return table_write(ctx->out, t, o, err);
}

int cmd_list(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "os_pid");
	struct list_rows rows = {.how = target_how(&ctx->opt)};
	struct table table = {.columns = list_columns, .row_size = sizeof(struct list_row)};
	int rc;

	rc = table_check(&table, &options, err);
	rc = rc ? rc : read_rows(&rows, err);
	if (rc)
		return rc;
	table.rows = rows.v.data;
	table.nr_rows = rows.v.len;
	rc = ctx->opt.json ? write_json(ctx, &table, &options, err)
			   : write_text(ctx, &table, &options, err);
	free_list(&rows);
	return rc;
}
