/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam list`: the nodes of this host, one row each.  A node that cannot be read has a row, too,
 * with what is known of it and the reason.
 */
#include <limits.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/log.h"
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
#include "view/host/list_view.h"

struct list_rows {
	VEC(struct list_row) v;
	struct arena texts;
	unsigned int how; /* how nodes are opened: bits of enum beam_open */
};

/* ---- reading ------------------------------------------------------------------------------ */

static void add_facts(struct list_rows *rows, struct list_row *row, const struct beam_facts *f)
{
	row->supported = true;
	row->name = arena_copy(&rows->texts, f->name);
	row->schedulers = f->schedulers;
	row->dirty_cpu_schedulers = f->dirty_cpu_schedulers;
	row->dirty_io_schedulers = f->dirty_io_schedulers;
	row->process_count = f->process_count;
	row->port_count = f->port_count;
	row->atom_count = f->atom_count;
}

static void add_node(struct list_rows *rows, struct list_row *row, struct beam_node *node)
{
	char why[BEAM_NODE_REFUSAL_SIZE];
	struct beam_facts facts;
	struct error err = {0};

	row->identified = true;
	row->otp = arena_copy(&rows->texts, node->identity.otp_text);
	row->erts = arena_copy(&rows->texts, node->identity.erts);
	row->flavor = beam_flavor(&node->identity);
	row->exe = arena_copy(&rows->texts, elf_file_name(node->elf));
	row->stripped = node->identity.stripped;
	row->usdt = node->identity.vm_probes;
	/* Without a layout that was checked the numbers would be guesses. */
	if (beam_node_unsupported(node)) {
		row->unsupported_reason =
			arena_copy(&rows->texts, beam_node_refusal(node, why, sizeof(why)));
	} else if (beam_node_facts(node, &facts, &err) != 0) {
		row->unsupported_reason = arena_copy(&rows->texts, err.msg);
	} else {
		add_facts(rows, row, &facts);
		row->untested = arena_copy(&rows->texts, node->untested);
	}
}

/* Adds the row of a node; none if the process is gone by now. */
static void add_row(struct list_rows *rows, int os_pid)
{
	int64_t uptime_s = proc_uptime_s(os_pid);
	struct list_row row = {
		.os_pid = (uint32_t)os_pid,
		.schedulers = UINT32_MAX,
		.dirty_cpu_schedulers = UINT32_MAX,
		.dirty_io_schedulers = UINT32_MAX,
		.process_count = UINT32_MAX,
		.port_count = UINT32_MAX,
		.atom_count = UINT32_MAX,
		.uptime_s = uptime_s < 0 ? UINT64_MAX : (uint64_t)uptime_s,
		.rss = UINT64_MAX,
		.stopped = proc_is_stopped(os_pid),
	};
	struct proc_container container;
	struct proc_stat stat;
	struct beam_node *node;
	struct error err = {0};
	char exe[PATH_MAX];

	if (proc_exe(os_pid, exe, sizeof(exe), NULL) == 0)
		row.exe = arena_copy(&rows->texts, exe);
	proc_container(&container, os_pid);
	row.container = arena_copy(&rows->texts, container.id);
	row.container_name = arena_copy(&rows->texts, container.name);
	row.pod_uid = arena_copy(&rows->texts, container.pod);
	if (proc_stat_read(&stat, os_pid, NULL) == 0)
		row.rss = (uint64_t)stat.rss;
	if (beam_node_open(&node, os_pid, rows->how | BEAM_OPEN_PARTIAL, &err) == 0) {
		add_node(rows, &row, node);
		beam_node_close(node);
	} else if (err.kind == ERROR_KIND_NO_NODE) {
		return;
	} else {
		row.unsupported_reason = arena_copy(&rows->texts, err.msg);
	}
	vec_push(&rows->v, row);
}

static int read_rows(struct list_rows *rows, struct error *err)
{
	int *pids, nr = beam_list(&pids, err);

	if (nr < 0)
		return nr;
	for (int i = 0; i < nr; i++)
		add_row(rows, pids[i]);
	free(pids);
	return 0;
}

static int write_json(struct command_context *ctx, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	const char *warning = privilege_blind_spot();
	struct jsonw w = JSONW(ctx->out);

	envelope_begin(&w, ctx->command->name, NULL);
	table_json_rows(&w, "data", t, o);
	return envelope_end(&w, &warning, warning ? 1 : 0, NULL, 0, err);
}

/* ---- again and again ---------------------------------------------------------------------- */

static void free_list(struct list_rows *rows)
{
	arena_free(&rows->texts);
	vec_free(&rows->v);
}

/* `top` opens the rows for one node, but they are all nodes of the host. */
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
	return ((const struct list_row *)row)->os_pid;
}

static void forget_rows(void *view)
{
	free_list(view);
}

const struct row_source node_rows = {
	.view_size = sizeof(struct list_rows),
	.open = open_rows,
	.read = read_into,
	.forget = forget_rows,
	.rows = rows_table,
	.id = row_id,
	.table = &list_table,
};

/* ---- the command -------------------------------------------------------------------------- */

static int write_text(struct command_context *ctx, const struct table *t, struct table_options *o,
		      struct error *err)
{
	const char *warning = privilege_blind_spot();
	const struct list_row *rows = t->rows;
	bool any_unsupported = false;

	for (size_t i = 0; i < t->nr_rows; i++)
		any_unsupported |= !rows[i].supported;
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
	struct table table = list_table;
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
