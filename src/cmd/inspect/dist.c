/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam dist`: the connections of a node to other nodes, with their queues, and the names that
 * epmd on its host has.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "beam/vm/dist.h"
#include "beam/vm/ports.h"
#include "cmd/command/command.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"
#include "target/epmd.h"
#include "target/sockets.h"
#include "view/inspect/dist_view.h"

struct dist_reading {
	struct beam_node *node;
	struct id_format pids, port_ids;
	struct dist_list dist;
	struct port_list ports;
	struct socket_table sockets;
	struct epmd_names epmd;
	struct error no_epmd; /* why the names of epmd are not known */
	bool live;
	struct dist_answer answer;
	VEC(struct dist_row) rows; /* of `answer`: all nodes but this one */
	struct arena texts;	   /* of `answer` */
	VEC(const char *) waiting; /* of `answer`: pids that wait for connections */
};

/* ---- reading --------------------------------------------------------------------------------- */

static const struct port_facts *find_port(const struct dist_reading *v, uint64_t id)
{
	for (size_t i = 0; id && i < v->ports.len; i++)
		if (v->ports.data[i].id == id)
			return &v->ports.data[i];
	return NULL;
}

/*
 * The port of a connection over TLS.  The controller of such a connection is the process that
 * encrypts (tls_sender); the port is owned by the process that decrypts.  Both are children of the
 * same supervisor, which each connection has for itself (tls_dyn_connection_sup,
 * tls_gen_connection:start_fsm/8, OTP 25 to 29).
 */
static const struct port_facts *find_tls_port(const struct dist_reading *v, uint64_t controller)
{
	const struct port_facts *found = NULL;
	struct process_facts sender, owner;
	uint64_t module;

	if (process_read(v->node, controller, PROCESS_READ_DICTIONARY, &sender) != 0)
		return NULL;
	module = beam_atom_find(v->node->atoms, "tls_sender");
	if (!module || sender.proc_lib_call[0] != module || !TERM_IS_PID(sender.parent))
		return NULL;
	for (size_t i = 0; i < v->ports.len; i++) {
		const struct port_facts *p = &v->ports.data[i];

		if (p->fd_kind != PORT_FD_INET ||
		    process_read(v->node, p->connected, 0, &owner) != 0 ||
		    owner.parent != sender.parent)
			continue;
		if (found)
			return NULL;
		found = p;
	}
	return found;
}

static const struct socket_info *find_socket(const struct dist_reading *v,
					     const struct port_facts *p)
{
	char target[64];

	if (!v->live || !p || p->fd_kind != PORT_FD_INET ||
	    proc_fd_target(v->node->os_pid, p->fds[0], target, sizeof(target)) != 0)
		return NULL;
	return socket_find(&v->sockets, socket_inode(target));
}

static const char *id_text(struct dist_reading *v, uint64_t id)
{
	char buf[64];

	if (!id)
		return NULL;
	return arena_copy(&v->texts, TERM_IS_PORT(id)
					     ? port_format(&v->port_ids, id, buf, sizeof(buf))
					     : pid_format(&v->pids, id, buf, sizeof(buf)));
}

static void add_port(struct dist_row *r, const struct port_facts *p, const struct dist_facts *d)
{
	r->has_port = true;
	/* A port does not count the bytes that it delivers as messages; inet_drv does. */
	r->port_input = p->id == d->controller ? p->bytes_in : p->received;
	r->port_output = p->bytes_out;
	r->port_queue = p->queue_size;
}

static void add_socket(struct dist_reading *v, struct dist_row *r, const struct socket_info *s)
{
	char buf[512];

	r->has_socket = true;
	r->local = arena_copy(&v->texts, socket_local(s, buf, sizeof(buf)));
	r->peer = arena_copy(&v->texts, socket_peer(s, buf, sizeof(buf)));
	r->socket_state = socket_state_name(s);
	r->recv_q = s->has_queues ? s->recv_q : UINT64_MAX;
	r->send_q = s->has_queues ? s->send_q : UINT64_MAX;
}

static void add_row(struct dist_reading *v, const struct dist_facts *d)
{
	struct dist_answer *a = &v->answer;
	bool process = TERM_IS_PID(d->controller);
	const struct port_facts *port =
		process ? find_tls_port(v, d->controller) : find_port(v, d->controller);
	const struct socket_info *socket = find_socket(v, port);

	struct dist_row r = {.name = beam_atom_text(v->node->atoms, d->name, NULL),
			     .type = dist_type_name(d->type),
			     .state = dist_state_name(d->state),
			     .controller = id_text(v, d->controller),
			     .waiting = {d->nr_waiting, v->waiting.data + d->first_waiting},
			     .in = d->in,
			     .out = d->out,
			     .queue = d->queue,
			     .creation = d->creation,
			     .connection_id = d->connection_id,
			     .flags = d->dflags,
			     .port_input = UINT64_MAX,
			     .port_output = UINT64_MAX,
			     .port_queue = UINT64_MAX,
			     .recv_q = UINT64_MAX,
			     .send_q = UINT64_MAX,
			     .busy = d->busy,
			     .torn = d->torn};
	/* The owner of the connection is the port's owner; without a port the controller. */
	r.owner = port ? id_text(v, port->connected) : process ? r.controller : NULL;
	if (port)
		add_port(&r, port, d);
	if (socket)
		add_socket(v, &r, socket);
	a->visible += d->type == DIST_VISIBLE;
	a->hidden += d->type == DIST_HIDDEN;
	a->pending += d->state == DIST_PENDING;
	a->busy += d->busy;
	vec_push(&v->rows, r);
}

static void make_answer(struct dist_reading *v)
{
	struct dist_answer *a = &v->answer;

	*a = (struct dist_answer){.name = v->dist.name,
				  .alive = v->dist.alive,
				  .creation = v->dist.creation,
				  .nodes = dist_table,
				  .epmd = xcalloc(v->epmd.len + 1, sizeof(*a->epmd)),
				  .nr_epmd = v->epmd.len,
				  .epmd_port = v->epmd.port,
				  .no_epmd = v->no_epmd.code ? v->no_epmd.msg : NULL};
	for (size_t i = 0; i < v->epmd.len; i++)
		a->epmd[i] = (struct dist_epmd_name){v->epmd.data[i].name, v->epmd.data[i].port};
	vec_reserve(&v->waiting, v->dist.waiting.len + 1);
	for (size_t i = 0; i < v->dist.waiting.len; i++)
		vec_push(&v->waiting, id_text(v, v->dist.waiting.data[i]));
	for (size_t i = 0; i < v->dist.v.len; i++)
		if (v->dist.v.data[i].type != DIST_THIS)
			add_row(v, &v->dist.v.data[i]);
	a->nodes.rows = v->rows.data;
	a->nodes.nr_rows = v->rows.len;
}

static int read_node(struct dist_reading *v, const struct command_context *ctx, struct error *err)
{
	const struct beam_anchors *a;
	int rc = target_open(&v->node, ctx, err);

	if (rc)
		return rc;
	a = &v->node->anchors;
	rc = target_need(v->node, a->dist_table, "table of nodes", err);
	rc = rc ? rc : target_need(v->node, a->this_node, "node's own entry", err);
	rc = rc ? rc : target_need(v->node, a->proc_tab, "process table", err);
	rc = rc ? rc : target_need(v->node, a->port_tab, "port table", err);
	if (rc)
		return rc;
	rc = id_format_read(&v->pids, v->node->mem, &v->node->layout, a->proc_tab,
			    v->node->identity.otp);
	rc = rc ? rc
		: id_format_read(&v->port_ids, v->node->mem, &v->node->layout, a->port_tab,
				 v->node->identity.otp);
	if (rc)
		return beam_node_unreadable(v->node, "process table", rc, err);
	rc = dist_read(v->node, &v->dist, err);
	rc = rc ? rc : ports_read(v->node, &v->ports, err);
	if (rc)
		return rc;
	v->live = !ctx->opt.core;
	if (v->live) {
		sockets_read(&v->sockets, v->node->os_pid);
		epmd_names_read(&v->epmd, v->node->os_pid, &v->no_epmd);
	} else {
		error_set(
			&v->no_epmd, ERROR_KIND_FAILED, -1,
			"epmd was not asked: it knows the present, not the time of the core file");
	}
	make_answer(v);
	return 0;
}

static int free_reading(struct dist_reading *v, int rc, struct error *err)
{
	vec_free(&v->rows);
	free(v->answer.epmd);
	arena_free(&v->texts);
	vec_free(&v->waiting);
	dist_list_free(&v->dist);
	port_list_free(&v->ports);
	socket_table_free(&v->sockets);
	epmd_names_free(&v->epmd);
	return target_close(v->node, rc, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int write_json(struct command_context *ctx, const struct dist_reading *v,
		      const struct table_options *o, struct error *err)
{
	const struct envelope_counter counters[] = {{"nodes", v->rows.len},
						    {"vanished", v->dist.vanished},
						    {"torn", v->dist.torn},
						    {"truncated", v->dist.cut}};
	struct jsonw w = JSONW(ctx->out);

	target_json_begin(&w, ctx, v->node);
	dist_view_json(&w, &v->answer, o);
	return envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
}

static int write_text(struct command_context *ctx, const struct dist_reading *v,
		      const struct table_options *o, struct error *err)
{
	int rc = dist_view_write(ctx->out, &v->answer, o, err);

	if (!rc && (v->dist.torn || v->dist.vanished || v->dist.cut))
		log_warn("ebeam: this node changed while it was read: %" PRIu64
			 " entries of other nodes vanished, %" PRIu64
			 " changed in all attempts (~), %" PRIu64
			 " lists of nodes or of suspended senders are incomplete",
			 v->dist.vanished, v->dist.torn, v->dist.cut);
	return rc;
}

int cmd_dist(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, NULL);
	struct dist_reading v = {0};
	int rc = table_check(&dist_table, &options, err);

	if (rc)
		return rc;
	rc = read_node(&v, ctx, err);
	if (!rc)
		rc = ctx->opt.json ? write_json(ctx, &v, &options, err)
				   : write_text(ctx, &v, &options, err);
	return free_reading(&v, rc, err);
}
