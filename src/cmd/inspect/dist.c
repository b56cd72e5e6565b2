/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam dist`: the connections of a node to other nodes, what waits in them, and what epmd on its
 * host says.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
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
#include "view/table/table.h"

struct dist_row {
	const struct dist_facts *d;
	const struct port_facts *port;	  /* that carries it; NULL = not found */
	const struct socket_info *socket; /* of the port */
};

struct dist_view {
	struct beam_node *node;
	struct id_format pids, port_ids;
	struct dist_list dist;
	struct port_list ports;
	struct socket_table sockets;
	struct epmd_names epmd;
	struct error no_epmd; /* why epmd is not known */
	bool live;
	struct dist_row *rows; /* without this node */
	size_t nr_rows;
};

/* ---- reading --------------------------------------------------------------------------------- */

static const struct port_facts *find_port(const struct dist_view *v, uint64_t id)
{
	for (size_t i = 0; id && i < v->ports.len; i++)
		if (v->ports.data[i].id == id)
			return &v->ports.data[i];
	return NULL;
}

/*
 * The port of a connection over TLS.  Its controller is a process that encrypts (tls_sender); the
 * port belongs to the one that decrypts, which the same supervisor has started: one of its own for
 * each connection (tls_dyn_connection_sup, tls_gen_connection:start_fsm/8, OTP 25 to 29).
 */
static const struct port_facts *find_tls_port(const struct dist_view *v, uint64_t controller)
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

static const struct socket_info *find_socket(const struct dist_view *v, const struct port_facts *p)
{
	char target[64];

	if (!v->live || !p || p->fd_kind != PORT_FD_INET ||
	    proc_fd_target(v->node->os_pid, p->fds[0], target, sizeof(target)) != 0)
		return NULL;
	return socket_find(&v->sockets, socket_inode(target));
}

static void add_rows(struct dist_view *v)
{
	v->rows = xcalloc(v->dist.v.len ? v->dist.v.len : 1, sizeof(*v->rows));
	for (size_t i = 0; i < v->dist.v.len; i++) {
		const struct dist_facts *d = &v->dist.v.data[i];
		struct dist_row *r = &v->rows[v->nr_rows];

		if (d->type == DIST_THIS)
			continue;
		r->d = d;
		r->port = TERM_IS_PID(d->controller) ? find_tls_port(v, d->controller)
						     : find_port(v, d->controller);
		r->socket = find_socket(v, r->port);
		v->nr_rows++;
	}
}

static int read_view(struct dist_view *v, const struct command_context *ctx, struct error *err)
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
		error_set(&v->no_epmd, ERROR_KIND_FAILED, -1,
			  "epmd was not asked: a core file is of another time");
	}
	add_rows(v);
	return 0;
}

static int free_view(struct dist_view *v, int rc, struct error *err)
{
	free(v->rows);
	dist_list_free(&v->dist);
	port_list_free(&v->ports);
	socket_table_free(&v->sockets);
	epmd_names_free(&v->epmd);
	return target_close(v->node, rc, err);
}

/* ---- columns --------------------------------------------------------------------------------- */

#define ROW(r)	((const struct dist_row *)(r))
#define VIEW(c) ((const struct dist_view *)(c))

static char *format_id(const struct dist_view *v, uint64_t id, char *buf, size_t size)
{
	return TERM_IS_PORT(id) ? port_format(&v->port_ids, id, buf, size)
				: pid_format(&v->pids, id, buf, size);
}

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = beam_atom_text(VIEW(ctx)->node->atoms, ROW(row)->d->name, NULL);

	strbuf_addf(out, "%s%s", text ? text : "?", ROW(row)->d->torn ? "~" : "");
}

static void col_type(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = dist_type_name(ROW(row)->d->type);

	(void)ctx;
	strbuf_addstr(out, text ? text : "");
}

static void col_state(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = dist_state_name(ROW(row)->d->state);

	(void)ctx;
	strbuf_addstr(out, text ? text : "?");
	if (ROW(row)->d->busy)
		strbuf_addstr(out, ",busy");
}

static void col_controller(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[64];

	if (ROW(row)->d->controller)
		strbuf_addstr(out, format_id(VIEW(ctx), ROW(row)->d->controller, buf, sizeof(buf)));
}

/* The process that owns the connection: the port's, or the controller itself. */
static uint64_t owner_of(const struct dist_row *r)
{
	if (r->port)
		return r->port->connected;
	return TERM_IS_PID(r->d->controller) ? r->d->controller : 0;
}

static void col_owner(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[64];

	if (owner_of(row))
		strbuf_addstr(out, format_id(VIEW(ctx), owner_of(row), buf, sizeof(buf)));
}

/* What a port hands on as messages it does not count; inet_drv does. */
static uint64_t input_of(const struct dist_row *r)
{
	return r->port->id == r->d->controller ? r->port->bytes_in : r->port->received;
}

static void col_peer(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[512];

	(void)ctx;
	if (ROW(row)->socket)
		strbuf_addstr(out, socket_peer(ROW(row)->socket, buf, sizeof(buf)));
}

static void col_socket_state(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = ROW(row)->socket ? socket_state_name(ROW(row)->socket) : NULL;

	(void)ctx;
	strbuf_addstr(out, text ? text : "");
}

#define VALUE(name, value) TABLE_VALUE(name, struct dist_row, value)

VALUE(in, r->d->controller ? (double)r->d->in : NAN)
VALUE(out, r->d->controller ? (double)r->d->out : NAN)
VALUE(queue, r->d->queue)
VALUE(waiting, r->d->nr_waiting)
VALUE(creation, r->d->creation)
VALUE(connection_id, r->d->connection_id)
VALUE(port_queue, r->port ? (double)r->port->queue_size : NAN)
VALUE(port_input, r->port ? (double)input_of(r) : NAN)
VALUE(port_output, r->port ? (double)r->port->bytes_out : NAN)
VALUE(recv_q, r->socket && r->socket->has_queues ? (double)r->socket->recv_q : NAN)
VALUE(send_q, r->socket && r->socket->has_queues ? (double)r->socket->send_q : NAN)

#define NUMBER(name, title, type) TABLE_NUMBER(#name, title, type, name)

static const struct table_column dist_columns[] = {
	{"name", "NODE", .text = col_name},
	{"type", "TYPE", .text = col_type},
	{"state", "STATE", .text = col_state},
	{NUMBER(in, "IN", COUNT)},
	{NUMBER(out, "OUT", COUNT)},
	{NUMBER(queue, "QUEUE", BYTES)},
	{NUMBER(waiting, "WAITING", COUNT)},
	{NUMBER(creation, "CREATION", COUNT), .hidden = true},
	{NUMBER(connection_id, "CONNECTION", COUNT), .hidden = true},
	{"controller", "CONTROLLER", .text = col_controller},
	{"owner", "OWNER", .text = col_owner},
	{NUMBER(port_input, "BYTES IN", BYTES), .hidden = true},
	{NUMBER(port_output, "BYTES OUT", BYTES), .hidden = true},
	{NUMBER(port_queue, "PORT QUEUE", BYTES)},
	{NUMBER(recv_q, "RECV-Q", BYTES)},
	{NUMBER(send_q, "SEND-Q", BYTES)},
	{"socket_state", "SOCKET", .hidden = true, .text = col_socket_state},
	{"peer", "PEER", .text = col_peer},
	{0},
};

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_id(struct jsonw *w, const struct dist_view *v, const char *key, uint64_t id)
{
	char buf[64];

	jsonw_string(w, key, id ? format_id(v, id, buf, sizeof(buf)) : NULL);
}

static void json_carrier(struct jsonw *w, const struct dist_row *r)
{
	char buf[512];

	if (r->port) {
		jsonw_begin_object(w, "port");
		jsonw_uint(w, "input", input_of(r));
		jsonw_uint(w, "output", r->port->bytes_out);
		jsonw_uint(w, "queue_size", r->port->queue_size);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "port");
	}
	if (r->socket) {
		jsonw_begin_object(w, "socket");
		jsonw_string(w, "local", socket_local(r->socket, buf, sizeof(buf)));
		jsonw_string(w, "peer", socket_peer(r->socket, buf, sizeof(buf)));
		jsonw_string(w, "state", socket_state_name(r->socket));
		jsonw_uint(w, "recv_q", r->socket->recv_q);
		jsonw_uint(w, "send_q", r->socket->send_q);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "socket");
	}
}

static void json_row(struct jsonw *w, const struct dist_view *v, const struct dist_row *r)
{
	const struct dist_facts *d = r->d;

	jsonw_begin_object(w, NULL);
	jsonw_string(w, "name", beam_atom_text(v->node->atoms, d->name, NULL));
	jsonw_string(w, "type", dist_type_name(d->type));
	jsonw_string(w, "state", dist_state_name(d->state));
	jsonw_uint(w, "in", d->in);
	jsonw_uint(w, "out", d->out);
	jsonw_uint(w, "queue", d->queue);
	jsonw_bool(w, "busy", d->busy);
	jsonw_begin_array(w, "waiting");
	for (size_t i = 0; i < d->nr_waiting; i++)
		json_id(w, v, NULL, v->dist.waiting.data[d->first_waiting + i]);
	jsonw_end_array(w);
	jsonw_uint(w, "creation", d->creation);
	jsonw_uint(w, "connection_id", d->connection_id);
	jsonw_uint(w, "flags", d->dflags);
	json_id(w, v, "controller", d->controller);
	json_id(w, v, "owner", owner_of(r));
	json_carrier(w, r);
	jsonw_bool(w, "torn", d->torn);
	jsonw_end_object(w);
}

static void json_epmd(struct jsonw *w, const struct dist_view *v)
{
	jsonw_begin_object(w, "epmd");
	jsonw_uint_if(w, "port", v->live, v->epmd.port);
	if (v->no_epmd.code) {
		jsonw_null(w, "nodes");
	} else {
		jsonw_begin_array(w, "nodes");
		for (size_t i = 0; i < v->epmd.len; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_string(w, "name", v->epmd.data[i].name);
			jsonw_uint(w, "port", v->epmd.data[i].port);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
	}
	jsonw_string(w, "error", v->no_epmd.code ? v->no_epmd.msg : NULL);
	jsonw_end_object(w);
}

static int write_json(struct command_context *ctx, const struct dist_view *v, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	const struct envelope_counter counters[] = {{"nodes", v->nr_rows},
						    {"vanished", v->dist.vanished},
						    {"torn", v->dist.torn},
						    {"truncated", v->dist.cut}};
	struct jsonw w = JSONW(ctx->out);
	size_t *order, nr;
	int rc = table_order(t, o, &order, &nr, err);

	if (rc)
		return rc;
	target_json_begin(&w, ctx, v->node);
	jsonw_begin_object(&w, "data");
	jsonw_string(&w, "name", v->dist.name);
	jsonw_bool(&w, "alive", v->dist.alive);
	jsonw_uint(&w, "creation", v->dist.creation);
	jsonw_begin_rows(&w, "nodes");
	for (size_t i = 0; i < nr; i++)
		json_row(&w, v, &v->rows[order[i]]);
	jsonw_end_array(&w);
	json_epmd(&w, v);
	jsonw_end_object(&w);
	free(order);
	return envelope_end(&w, NULL, 0, counters, ARRAY_SIZE(counters), err);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Names come from the node, and from whoever has given epmd one. */
static void put(struct strbuf *text, FILE *f)
{
	table_clean_text(text, true);
	fwrite(text->buf, 1, text->len, f);
	strbuf_free(text);
}

static void write_epmd(FILE *f, const struct dist_view *v)
{
	struct strbuf out = STRBUF_INIT;

	if (v->no_epmd.code) {
		fprintf(f, "\n%s\n", v->no_epmd.msg);
		return;
	}
	strbuf_addf(&out, "\nepmd at port %u lists %zu node%s", v->epmd.port, v->epmd.len,
		    v->epmd.len == 1 ? "" : "s");
	for (size_t i = 0; i < v->epmd.len; i++)
		strbuf_addf(&out, "%s%s (%u)", i ? ", " : ": ", v->epmd.data[i].name,
			    v->epmd.data[i].port);
	strbuf_addch(&out, '\n');
	put(&out, f);
}

static void write_heading(FILE *f, const struct dist_view *v)
{
	size_t visible = 0, hidden = 0, pending = 0, busy = 0;
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < v->nr_rows; i++) {
		visible += v->rows[i].d->type == DIST_VISIBLE;
		hidden += v->rows[i].d->type == DIST_HIDDEN;
		pending += v->rows[i].d->state == DIST_PENDING;
		busy += v->rows[i].d->busy;
	}
	strbuf_addf(&out, "%s, %s, creation %" PRIu32, v->dist.name,
		    v->dist.alive ? "alive" : "not distributed", v->dist.creation);
	if (v->dist.alive || v->nr_rows)
		strbuf_addf(&out,
			    "; connected to %zu visible and %zu hidden nodes, %zu pending, "
			    "%zu busy",
			    visible, hidden, pending, busy);
	strbuf_addch(&out, '\n');
	put(&out, f);
}

static int write_text(struct command_context *ctx, const struct dist_view *v, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	int rc = 0;

	write_heading(ctx->out, v);
	if (v->nr_rows) {
		fputc('\n', ctx->out);
		rc = table_write(ctx->out, t, o, err);
	}
	if (rc)
		return rc;
	write_epmd(ctx->out, v);
	if (v->dist.torn || v->dist.vanished || v->dist.cut)
		log_warn("ebeam: the node went on: %" PRIu64 " nodes vanished, %" PRIu64
			 " changed while they were read (~), %" PRIu64 " lists were truncated",
			 v->dist.vanished, v->dist.torn, v->dist.cut);
	return 0;
}

int cmd_dist(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, NULL);
	struct dist_view view = {0};
	struct table table = {
		.columns = dist_columns, .row_size = sizeof(struct dist_row), .ctx = &view};
	int rc = table_check(&table, &options, err);

	if (rc)
		return rc;
	rc = read_view(&view, ctx, err);
	if (!rc) {
		table.rows = view.rows;
		table.nr_rows = view.nr_rows;
		rc = ctx->opt.json ? write_json(ctx, &view, &table, &options, err)
				   : write_text(ctx, &view, &table, &options, err);
	}
	return free_view(&view, rc, err);
}
