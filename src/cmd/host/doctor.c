/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam doctor`: what works on this host and with its nodes, what does not, why, and the fix.
 * Collects rows (doctor.h), shows them, and exits as `record` would.
 */
#include "cmd/host/doctor.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "beam/locate/find.h"
#include "beam/locate/node_open.h"
#include "beam/vm/facts.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "probe/session/btf_file.h"
#include "target/privilege.h"

struct doctor {
	struct doctor_rows rows;
	VEC(struct doctor_node) nodes; /* nodes that were examined */
	struct arena texts;	       /* of `nodes` */
	struct doctor_host host;
	const struct options *opt;
	bool commands_tried;
	struct error unreadable; /* why a node cannot be read */
	bool none_found;	 /* no running node was found; never set with -p */
};

struct doctor_row *doctor_add(struct doctor_rows *rows, const char *group, const char *feature)
{
	struct doctor_row row = {.group = group, .feature = feature};

	vec_push(&rows->v, row);
	return &rows->v.data[rows->v.len - 1];
}

void doctor_see(struct doctor_row *row, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(row->seen, sizeof(row->seen), fmt, ap);
	va_end(ap);
}

void doctor_lack(struct doctor_row *row, enum doctor_state state, const char *fix, const char *fmt,
		 ...)
{
	va_list ap;

	row->state = state;
	row->fix = fix;
	va_start(ap, fmt);
	vsnprintf(row->why, sizeof(row->why), fmt, ap);
	va_end(ap);
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* Adds a row for a node, or all nodes (os_pid 0), that this user may not read. */
static void add_forbidden(struct doctor *d, int os_pid, const struct error *err)
{
	struct doctor_row *row = doctor_add(&d->rows, "node", "memory of the node");

	row->os_pid = os_pid;
	row->blocks = (int)err->kind;
	doctor_lack(row, DOCTOR_MISSING,
		    err->kind == ERROR_KIND_PRIVILEGE ? privilege_fix(PRIVILEGE_MEMORY)
						      : error_limit_fix(err->code),
		    "%s", err->msg);
	d->unreadable = *err;
}

static void examine(struct doctor *d, struct beam_node *n)
{
	struct doctor_node node = {
		.os_pid = (uint32_t)n->os_pid,
		.otp = arena_copy(&d->texts, n->identity.otp_text),
		.erts = arena_copy(&d->texts, n->identity.erts),
		.flavor = beam_flavor(&n->identity),
		.layout = arena_copy(&d->texts, n->layout_origin),
	};
	struct beam_facts facts;

	if (!beam_node_unsupported(n))
		node.untested = arena_copy(&d->texts, n->untested);
	if (!beam_node_unsupported(n) && beam_node_facts(n, &facts, NULL) == 0)
		node.name = arena_copy(&d->texts, facts.name);
	doctor_check_node(&d->rows, n, d->opt->force);
	if (!n->core && !beam_node_unsupported(n)) {
		doctor_check_commands(&d->rows, &d->host, d->opt, n, &(struct error){0});
		d->commands_tried = true;
	}
	vec_push(&d->nodes, node);
}

static void examine_node(struct doctor *d, int os_pid)
{
	struct doctor_node node = {.os_pid = (uint32_t)os_pid};
	struct error err = {0};
	struct beam_node *n;

	if (beam_node_open(&n, os_pid, target_how(d->opt) | BEAM_OPEN_PARTIAL, &err) == 0) {
		examine(d, n);
		beam_node_close(n);
		return;
	}
	if (err.kind == ERROR_KIND_NO_NODE)
		return; /* gone since it was listed */
	add_forbidden(d, os_pid, &err);
	vec_push(&d->nodes, node);
}

static int examine_core(struct doctor *d, const struct options *opt, struct error *err)
{
	struct beam_node *n;
	int rc = target_open_core(&n, opt, err);

	if (rc)
		return rc;
	examine(d, n);
	beam_node_close(n);
	return 0;
}

static int examine_nodes(struct doctor *d, const struct options *opt, struct error *err)
{
	int *pids = NULL, os_pid = 0, nr = 0, rc;

	if (opt->pid)
		rc = beam_find(&os_pid, opt->pid, target_how(opt), err);
	else
		rc = nr = beam_list(&pids, err);
	/* A missing privilege becomes a row, and not an error. */
	if (rc < 0 && err->kind == ERROR_KIND_PRIVILEGE) {
		add_forbidden(d, 0, err);
		return 0;
	}
	if (rc < 0)
		return rc;
	if (opt->pid)
		examine_node(d, os_pid);
	else
		d->none_found = nr == 0 && !privilege_blind_spot();
	for (int i = 0; i < nr; i++)
		examine_node(d, pids[i]);
	free(pids);
	return 0;
}

/* The smallest exit code of rows about os_pid (0 = the host); 0 = none blocks.  Exit codes are in
 * the order in which `record` would fail: privilege, kernel, node. */
static int blocks_of(const struct doctor *d, int os_pid)
{
	int code = 0;

	for (size_t i = 0; i < d->rows.v.len; i++) {
		const struct doctor_row *row = &d->rows.v.data[i];

		if (row->os_pid == os_pid && row->blocks && (!code || row->blocks < code))
			code = row->blocks;
	}
	return code;
}

/* The exit code of `record`; 0 if at least one of several nodes can be recorded. */
static int exit_code(struct doctor *d)
{
	int code = blocks_of(d, 0), least = INT_MAX;

	for (size_t i = 0; i < d->nodes.len; i++) {
		int of_node = blocks_of(d, (int)d->nodes.data[i].os_pid);

		d->nodes.data[i].supported = of_node == 0;
		least = MIN(least, of_node);
	}
	return code || !d->nodes.len ? code : least;
}

/* `one_node`: the user has named the node, so that the envelope is about it. */
static int write_json(const struct doctor_report *r, const struct command_context *ctx,
		      bool one_node, struct error *err)
{
	struct envelope_node node = {0};
	struct jsonw w = JSONW(ctx->out);

	if (one_node && r->nr_nodes == 1)
		node = (struct envelope_node){
			.os_pid = (int)r->nodes->os_pid,
			.name = r->nodes->name,
			.otp = r->nodes->otp,
			.erts = r->nodes->erts,
			.flavor = r->nodes->flavor,
			.untested = r->nodes->untested,
		};
	envelope_begin(&w, ctx->command->name, node.os_pid ? &node : NULL);
	doctor_view_json(&w, r);
	return envelope_end(&w, NULL, 0, NULL, 0, err);
}

/* Do all commands refuse the node of -p?  A row about the node says why. */
static bool is_refused(const struct doctor *d, const struct options *opt)
{
	return opt->pid && d->nodes.len && d->nodes.data[0].flavor;
}

int cmd_doctor(struct command_context *ctx, struct error *err)
{
	struct doctor d = {.opt = &ctx->opt};
	struct doctor_report report;
	int rc;

	rc = target_check_options(&ctx->opt, err);
	rc = rc || !ctx->opt.btf ? rc : btf_file_check(ctx->opt.btf, err);
	if (rc)
		return rc;
	if (!ctx->opt.core)
		doctor_check_host(&d.rows, &d.host, &ctx->opt);
	rc = ctx->opt.core ? examine_core(&d, &ctx->opt, err) : examine_nodes(&d, &ctx->opt, err);
	if (rc)
		goto done;
	if (!ctx->opt.core && !d.commands_tried && !is_refused(&d, &ctx->opt))
		doctor_check_commands(&d.rows, &d.host, &ctx->opt, NULL, &d.unreadable);
	report = (struct doctor_report){
		.rows = d.rows.v.data,
		.nr_rows = d.rows.v.len,
		.exit_code = exit_code(&d),
		.nodes = d.nodes.data,
		.nr_nodes = d.nodes.len,
		.is_core = ctx->opt.core,
		.none_found = d.none_found,
	};
	if (ctx->opt.json)
		rc = write_json(&report, ctx, ctx->opt.pid || ctx->opt.core, err);
	else
		doctor_view_write(ctx->out, &report, render_color(&ctx->opt, ctx->out),
				  ctx->opt.verbosity > 0);
	rc = rc ? rc : report.exit_code;
done:
	doctor_host_free(&d.host);
	vec_free(&d.rows.v);
	vec_free(&d.nodes);
	arena_free(&d.texts);
	return rc;
}
