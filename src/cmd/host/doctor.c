/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam doctor`: what works on this host and with its nodes, what does not, why, and the fix.
 * Collects rows (doctor.h), shows them, and exits as `record` would.
 */
#include "cmd/host/doctor.h"

#include <stdlib.h>
#include <string.h>

#include <linux/capability.h>

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

static const struct {
	const char *name;
	const char *color; /* of a terminal */
} states[] = {
	[DOCTOR_AVAILABLE] = {"available", "\033[32m"},
	[DOCTOR_DEGRADED] = {"degraded", "\033[33m"},
	[DOCTOR_MISSING] = {"missing", "\033[31m"},
};

/* What is known of each node that was looked at. */
struct doctor_node {
	int os_pid;
	bool opened;
	struct beam_identity identity;
	char name[256]; /* "" = unknown */
	char layout_origin[128];
	char untested[64]; /* "" = release and build are known */
};

struct doctor {
	struct doctor_rows rows;
	VEC(struct doctor_node) nodes;
	struct doctor_host host;
	const struct options *opt;
	bool commands_tried;
	struct error unreadable; /* why a node cannot be looked into */
	bool is_core;		 /* the only node is a core file: nothing is about this host */
	bool none_found;	 /* no node runs here, as far as can be seen; never with -p */
};

struct doctor_row *doctor_add(struct doctor_rows *rows, const char *group, const char *feature)
{
	struct doctor_row row = {.group = group, .feature = feature};

	vec_push(&rows->v, row);
	return &rows->v.data[rows->v.len - 1];
}

/* ---- collecting ------------------------------------------------------------------------------ */

/* A node, or all of them (os_pid 0), that this caller may not look into. */
static void add_forbidden(struct doctor *d, int os_pid, const struct error *err)
{
	struct doctor_row *row = doctor_add(&d->rows, "node", "memory of the node");

	row->os_pid = os_pid;
	row->state = DOCTOR_MISSING;
	row->blocks = (int)err->kind;
	snprintf(row->why, sizeof(row->why), "%s", err->msg);
	row->fix = err->kind == ERROR_KIND_PRIVILEGE ? privilege_fix(PRIVILEGE_MEMORY)
						     : error_limit_fix(err->code);
	d->unreadable = *err;
}

static void examine(struct doctor *d, struct beam_node *n)
{
	struct doctor_node node = {.os_pid = n->os_pid, .opened = true, .identity = n->identity};
	struct beam_facts facts;

	snprintf(node.layout_origin, sizeof(node.layout_origin), "%s", n->layout_origin);
	if (!beam_node_unsupported(n))
		snprintf(node.untested, sizeof(node.untested), "%s", n->untested);
	if (!beam_node_unsupported(n) && beam_node_facts(n, &facts, NULL) == 0)
		snprintf(node.name, sizeof(node.name), "%s", facts.name);
	doctor_check_node(&d->rows, n, d->opt->force);
	if (!n->core && !beam_node_unsupported(n)) {
		doctor_check_commands(&d->rows, &d->host, d->opt, n, &(struct error){0});
		d->commands_tried = true;
	}
	vec_push(&d->nodes, node);
}

static void examine_node(struct doctor *d, int os_pid)
{
	struct doctor_node node = {.os_pid = os_pid};
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
	d->is_core = true;
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
	/* To say what privilege is missing is what doctor is for. */
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

/* Smallest exit code that rows about os_pid (0 = the host) ask for; 0 = none does.  They are in the
 * order in which things fail: privilege, kernel, node. */
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

/* If there are several nodes it is enough that one can be recorded. */
static int exit_code(const struct doctor *d)
{
	int code = blocks_of(d, 0), least = 0;

	if (code || !d->nodes.len)
		return code;
	for (size_t i = 0; i < d->nodes.len; i++) {
		code = blocks_of(d, d->nodes.data[i].os_pid);
		if (!code)
			return 0;
		least = least ? MIN(least, code) : code;
	}
	return least;
}

/* ---- text ------------------------------------------------------------------------------------ */

static const struct doctor_node *node_of(const struct doctor *d, int os_pid)
{
	for (size_t i = 0; i < d->nodes.len; i++)
		if (d->nodes.data[i].os_pid == os_pid)
			return &d->nodes.data[i];
	return NULL;
}

static void write_group(FILE *f, const struct doctor *d, const struct doctor_row *row)
{
	const struct doctor_node *node = node_of(d, row->os_pid);
	struct strbuf title = STRBUF_INIT;

	strbuf_addstr(&title, row->group);
	if (node)
		strbuf_addf(&title, ", pid %d%s%s", node->os_pid, node->name[0] ? " " : "",
			    node->name);
	/* The name comes from the node's memory: nothing in it may reach the terminal as a
	 * command to it. */
	for (char *p = title.buf; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	fprintf(f, "%s\n", title.buf);
	strbuf_free(&title);
}

/* `before`: the row above it; NULL = none. */
static void write_row(FILE *f, const struct doctor_row *row, const struct doctor_row *before,
		      bool color)
{
	bool same = before && before->why[0] && strcmp(before->why, row->why) == 0 &&
		    (before->fix == row->fix ||
		     (before->fix && row->fix && strcmp(before->fix, row->fix) == 0));
	const char *more = row->seen[0] ? row->seen : row->purpose ? row->purpose : "";

	fprintf(f, "  %s%-9s%s  %s%s%s\n", color ? states[row->state].color : "",
		states[row->state].name, color ? "\033[0m" : "", row->feature, *more ? ": " : "",
		more);
	if (row->why[0])
		fprintf(f, "%13swhy: %s\n", "", same ? "as above" : row->why);
	if (row->fix && !same)
		fprintf(f, "%13sfix: %s\n", "", row->fix);
}

/* Rows from `at` on that stand under one title. */
static size_t group_len(const struct doctor *d, size_t at)
{
	const struct doctor_row *rows = d->rows.v.data;
	size_t end = at + 1;

	while (end < d->rows.v.len && rows[end].os_pid == rows[at].os_pid &&
	       strcmp(rows[end].group, rows[at].group) == 0)
		end++;
	return end - at;
}

/* Of several nodes the details that are in order are only counted, unless asked for. */
static bool is_summed_up(const struct doctor *d, const struct doctor_row *rows, size_t len,
			 bool all)
{
	if (all || d->nodes.len < 2 || !rows->os_pid || strcmp(rows->group, "node") == 0)
		return false;
	for (size_t i = 0; i < len; i++)
		if (rows[i].state != DOCTOR_AVAILABLE)
			return false;
	return true;
}

static void write_text(const struct doctor *d, FILE *f, bool color, bool all)
{
	for (size_t at = 0, len; at < d->rows.v.len; at += len) {
		const struct doctor_row *rows = &d->rows.v.data[at];

		len = group_len(d, at);
		if (is_summed_up(d, rows, len, all)) {
			fprintf(f, "  %s%-9s%s  %s: all %zu\n",
				color ? states[DOCTOR_AVAILABLE].color : "",
				states[DOCTOR_AVAILABLE].name, color ? "\033[0m" : "", rows->group,
				len);
			continue;
		}
		if (at)
			fputc('\n', f);
		write_group(f, d, rows);
		for (size_t i = 0; i < len; i++)
			write_row(f, &rows[i], i ? &rows[i - 1] : NULL, color);
	}
	if (d->none_found)
		fputs("\nno BEAM node runs here\n", f);
	if (d->is_core) {
		fprintf(f, "\nthis core file %s\n",
			exit_code(d) ? "cannot be read" : "can be read with --core");
		return;
	}
	switch (exit_code(d)) {
	case 0:
		fputs("\n'ebeam record' will work\n", f);
		break;
	case ERROR_KIND_PRIVILEGE:
		fputs("\n'ebeam record' will not work: privilege missing\n", f);
		break;
	case ERROR_KIND_KERNEL:
		fputs("\n'ebeam record' will not work: kernel feature missing\n", f);
		break;
	case ERROR_KIND_FAILED:
		fputs("\n'ebeam record' will not work: a limit is in the way\n", f);
		break;
	default:
		fputs("\n'ebeam record' will not work on this node\n", f);
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void row_json(struct jsonw *w, const struct doctor_row *row)
{
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "group", row->group);
	jsonw_uint_if(w, "os_pid", row->os_pid, (uint64_t)row->os_pid);
	jsonw_string(w, "feature", row->feature);
	jsonw_string(w, "purpose", row->purpose);
	jsonw_string(w, "state", states[row->state].name);
	jsonw_string(w, "seen", row->seen[0] ? row->seen : NULL);
	jsonw_string(w, "why", row->why[0] ? row->why : NULL);
	jsonw_string(w, "fix", row->fix);
	jsonw_bool(w, "blocks_record", row->blocks != 0);
	jsonw_end_object(w);
}

static void node_json(struct jsonw *w, const struct doctor *d, const struct doctor_node *node)
{
	const struct beam_identity *id = &node->identity;

	jsonw_begin_object(w, NULL);
	jsonw_int(w, "os_pid", node->os_pid);
	jsonw_string(w, "name", node->name[0] ? node->name : NULL);
	jsonw_string(w, "otp", node->opened ? id->otp_text : NULL);
	jsonw_string(w, "erts", node->opened ? id->erts : NULL);
	jsonw_string(w, "flavor", node->opened ? beam_flavor(&node->identity) : NULL);
	jsonw_string(w, "layout", node->layout_origin[0] ? node->layout_origin : NULL);
	jsonw_string(w, "untested", node->untested[0] ? node->untested : NULL);
	jsonw_bool(w, "supported", blocks_of(d, node->os_pid) == 0);
	jsonw_end_object(w);
}

/* `one_node`: the user named the node that all this is about. */
static int write_json(const struct doctor *d, const struct command_context *ctx, bool one_node,
		      struct error *err)
{
	const struct doctor_node *n = one_node && d->nodes.len == 1 ? &d->nodes.data[0] : NULL;
	struct envelope_node node = {0};
	struct jsonw w = JSONW(ctx->out);

	if (n)
		node = (struct envelope_node){
			.os_pid = n->os_pid,
			.name = n->name,
			.otp = n->opened ? n->identity.otp_text : NULL,
			.erts = n->opened ? n->identity.erts : NULL,
			.flavor = n->opened ? beam_flavor(&n->identity) : NULL,
			.untested = n->untested,
		};
	envelope_begin(&w, ctx->command->name, node.os_pid ? &node : NULL);
	jsonw_begin_object(&w, "data");
	jsonw_uint_if(&w, "record_exit_code", !d->is_core, (uint64_t)exit_code(d));
	jsonw_begin_array(&w, "features");
	for (size_t i = 0; i < d->rows.v.len; i++)
		row_json(&w, &d->rows.v.data[i]);
	jsonw_end_array(&w);
	jsonw_begin_array(&w, "nodes");
	for (size_t i = 0; i < d->nodes.len; i++)
		node_json(&w, d, &d->nodes.data[i]);
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	return envelope_end(&w, NULL, 0, NULL, 0, err);
}

/* All commands refuse the node that was asked for, and the section of nodes says why. */
static bool is_refused(const struct doctor *d, const struct options *opt)
{
	return opt->pid && d->nodes.len && d->nodes.data[0].opened;
}

int cmd_doctor(struct command_context *ctx, struct error *err)
{
	struct doctor d = {.opt = &ctx->opt};
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
	if (!d.is_core && !d.commands_tried && !is_refused(&d, &ctx->opt))
		doctor_check_commands(&d.rows, &d.host, &ctx->opt, NULL, &d.unreadable);
	if (ctx->opt.json)
		rc = write_json(&d, ctx, ctx->opt.pid || ctx->opt.core, err);
	else
		write_text(&d, ctx->out, render_color(&ctx->opt, ctx->out), ctx->opt.verbosity > 0);
	if (!rc)
		rc = exit_code(&d);
done:
	doctor_host_free(&d.host);
	vec_free(&d.rows.v);
	vec_free(&d.nodes);
	return rc;
}
