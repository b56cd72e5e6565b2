/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam port`: the ports of a node with what port_info says of them, and the sockets of the
 * operating system behind those that are one.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "cmd/command/options.h"
#include "cmd/inspect/port.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "names/names.h"
#include "view/table/cells.h"

/* ---- reading -------------------------------------------------------------------------------- */

static const struct socket_info *socket_of(const struct port_view *v, const struct port_facts *p)
{
	char target[64];

	if (!v->live || p->fd_kind == PORT_FD_NONE || p->fds[0] < 0 ||
	    proc_fd_target(v->node->os_pid, p->fds[0], target, sizeof(target)) != 0)
		return NULL;
	return socket_find(&v->sockets, socket_inode(target));
}

static int by_queue_and_output(const void *a, const void *b)
{
	const struct port_facts *x = ((const struct port_row *)a)->p;
	const struct port_facts *y = ((const struct port_row *)b)->p;

	if (x->queue_size != y->queue_size)
		return x->queue_size > y->queue_size ? -1 : 1;
	if (x->bytes_out != y->bytes_out)
		return x->bytes_out > y->bytes_out ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* v->node is set. */
static int open_view(struct port_view *v, struct error *err)
{
	int rc = target_need(v->node, v->node->anchors.port_tab, "port table", err);

	rc = rc ? rc : target_need(v->node, v->node->anchors.proc_tab, "process table", err);
	if (rc)
		return rc;
	rc = id_format_read(&v->pids, v->node->mem, &v->node->layout, v->node->anchors.proc_tab,
			    v->node->identity.otp);
	rc = rc ? rc
		: id_format_read(&v->port_ids, v->node->mem, &v->node->layout,
				 v->node->anchors.port_tab, v->node->identity.otp);
	return rc ? beam_node_unreadable(v->node, "process table", rc, err) : 0;
}

static int read_view(struct port_view *v, struct error *err)
{
	int rc = ports_read(v->node, &v->ports, err);

	if (rc)
		return rc;
	v->live = !v->node->core;
	if (v->live)
		sockets_read(&v->sockets, v->node->os_pid);
	v->rows = xcalloc(v->ports.len ? v->ports.len : 1, sizeof(*v->rows));
	for (size_t i = 0; i < v->ports.len; i++)
		v->rows[i] = (struct port_row){.p = &v->ports.data[i],
					       .socket = socket_of(v, &v->ports.data[i])};
	return 0;
}

static void free_view(struct port_view *v)
{
	free(v->rows);
	port_list_free(&v->ports);
	socket_table_free(&v->sockets);
	v->rows = NULL;
}

/* ---- columns -------------------------------------------------------------------------------- */

#define NAME_SHOWN 40

#define ROW(r)	((const struct port_row *)(r))
#define VIEW(c) ((const struct port_view *)(c))

static void add_atom(struct strbuf *out, const struct port_view *v, uint64_t atom)
{
	const char *text = atom ? beam_atom_text(v->node->atoms, atom, NULL) : NULL;

	if (text)
		names_format_module(out, text, strlen(text));
}

static void col_port(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "#Port<0.%" PRIu64 ">%s", ROW(row)->p->number,
		    ROW(row)->p->torn ? "~" : "");
}

static void col_id(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "%" PRIu32, ROW(row)->p->slot);
}

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	const char *name = ROW(row)->p->name;

	(void)ctx;
	/* The whole command line of a program is too long to be read here. */
	if (name && strlen(name) > NAME_SHOWN)
		strbuf_addf(out, "%.*s...", NAME_SHOWN - 3, name);
	else if (name)
		strbuf_addstr(out, name);
}

static void col_driver(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, ROW(row)->p->driver);
}

static void col_connected(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[64];

	if (TERM_IS_PID(ROW(row)->p->connected))
		strbuf_addstr(out, pid_format(&VIEW(ctx)->pids, ROW(row)->p->connected, buf,
					      sizeof(buf)));
}

static void col_registered(struct strbuf *out, const void *row, const void *ctx)
{
	add_atom(out, VIEW(ctx), ROW(row)->p->registered);
}

static void col_os_pid(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->p->os_pid >= 0)
		strbuf_addf(out, "%" PRId64, ROW(row)->p->os_pid);
}

static void add_word(struct strbuf *out, const char *word)
{
	strbuf_addf(out, "%s%s", out->len ? "," : "", word);
}

static void col_flags(struct strbuf *out, const void *row, const void *ctx)
{
	const struct port_facts *p = ROW(row)->p;

	(void)ctx;
	if (port_is_busy(p))
		add_word(out, "busy");
	if (p->state & PORT_STATE_CLOSING)
		add_word(out, "closing");
	if (p->state & PORT_STATE_EXITING)
		add_word(out, "exiting");
	if (p->state & PORT_STATE_DISTRIBUTION)
		add_word(out, "distribution");
}

const char *port_locking(const struct port_facts *p)
{
	return p->state & PORT_STATE_PORT_SPECIFIC_LOCK ? "port_level" : "driver_level";
}

static void col_locking(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addstr(out, port_locking(ROW(row)->p));
}

static void col_fd(struct strbuf *out, const void *row, const void *ctx)
{
	const struct port_facts *p = ROW(row)->p;

	(void)ctx;
	if (p->fd_kind == PORT_FD_NONE)
		return;
	if (p->fds[0] == p->fds[1] || p->fds[1] < 0)
		strbuf_addf(out, "%d", p->fds[0]);
	else if (p->fds[0] < 0)
		strbuf_addf(out, "%d", p->fds[1]);
	else
		strbuf_addf(out, "%d,%d", p->fds[0], p->fds[1]);
}

static void col_local(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[512];

	(void)ctx;
	if (ROW(row)->socket)
		strbuf_addstr(out, socket_local(ROW(row)->socket, buf, sizeof(buf)));
}

static void col_peer(struct strbuf *out, const void *row, const void *ctx)
{
	char buf[512];

	(void)ctx;
	if (ROW(row)->socket)
		strbuf_addstr(out, socket_peer(ROW(row)->socket, buf, sizeof(buf)));
}

/* In the order and words of prim_inet:getstatus/1. */
const struct port_inet_state port_inet_states[] = {
	{PORT_INET_BUSY, "busy"},
	{PORT_INET_ACCEPTING, "accepting"},
	{PORT_INET_CONNECTING, "connecting"},
	{PORT_INET_LISTEN, "listen"},
	{PORT_INET_CONNECTED, "connected"},
	{PORT_INET_BOUND, "bound"},
	{PORT_INET_OPEN, "open"},
	{0},
};

/* What the driver thinks of its socket, if the kernel cannot be asked. */
static const char *inet_state_name(const struct port_facts *p)
{
	for (const struct port_inet_state *s = port_inet_states + 1; s->name; s++)
		if (p->fd_kind == PORT_FD_INET && (p->inet_state & s->bit))
			return s->name;
	return NULL;
}

static void col_socket_state(struct strbuf *out, const void *row, const void *ctx)
{
	const char *name = ROW(row)->socket ? socket_state_name(ROW(row)->socket)
					    : inet_state_name(ROW(row)->p);

	(void)ctx;
	if (name)
		strbuf_addstr(out, name);
}

#define VALUE(name, value) TABLE_VALUE(name, struct port_row, value)

VALUE(input, r->p->bytes_in)
VALUE(output, r->p->bytes_out)
VALUE(queue_size, r->p->queue_size)
VALUE(memory, r->p->memory_known ? (double)r->p->memory : NAN)
VALUE(links, r->p->links.len)
VALUE(monitors, r->p->monitors.len)
VALUE(monitored_by, r->p->monitored_by.len)
VALUE(suspended, r->p->suspended.len)
VALUE(recv_q, r->socket && r->socket->has_queues ? (double)r->socket->recv_q : NAN)
VALUE(send_q, r->socket && r->socket->has_queues ? (double)r->socket->send_q : NAN)

/* Connections instead of bytes if it listens. */
static void add_socket_queue(struct strbuf *out, const struct socket_info *s, double queued)
{
	if (isnan(queued))
		return;
	if (s->listening)
		cell_count(out, (uint64_t)queued);
	else
		cell_bytes(out, queued);
}

static void col_recv_q(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_socket_queue(out, ROW(row)->socket, recv_q(row));
}

static void col_send_q(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_socket_queue(out, ROW(row)->socket, send_q(row));
}

static int by_port(const void *a, const void *b)
{
	uint64_t x = ROW(a)->p->number, y = ROW(b)->p->number;

	return x < y ? -1 : x > y;
}

static int by_id(const void *a, const void *b)
{
	return ROW(a)->p->slot < ROW(b)->p->slot ? -1 : ROW(a)->p->slot > ROW(b)->p->slot;
}

static int by_os_pid(const void *a, const void *b)
{
	return ROW(a)->p->os_pid > ROW(b)->p->os_pid ? -1 : ROW(a)->p->os_pid < ROW(b)->p->os_pid;
}

#define NUMBER(name, title, type) TABLE_NUMBER(#name, title, type, name)

static const struct table_column port_columns[] = {
	{"port", "PORT", .text = col_port, .compare = by_port},
	{"id", "ID", TABLE_RIGHT, .hidden = true, .text = col_id, .compare = by_id},
	{"name", "NAME", .text = col_name},
	{"driver", "DRIVER", .hidden = true, .text = col_driver},
	{"connected", "CONNECTED", .text = col_connected},
	{"registered_name", "REGISTERED", .hidden = true, .text = col_registered},
	{NUMBER(input, "INPUT", BYTES)},
	{NUMBER(output, "OUTPUT", BYTES)},
	{NUMBER(queue_size, "QUEUE", BYTES)},
	{NUMBER(memory, "MEMORY", BYTES), .hidden = true},
	{"flags", "FLAGS", .text = col_flags},
	{"locking", "LOCKING", .hidden = true, .text = col_locking},
	{NUMBER(links, "LINKS", COUNT)},
	{NUMBER(monitors, "MONITORS", COUNT), .hidden = true},
	{NUMBER(monitored_by, "MONITORED BY", COUNT), .hidden = true},
	{NUMBER(suspended, "WAITING", COUNT), .hidden = true},
	{"os_pid", "OS PID", TABLE_RIGHT, .text = col_os_pid, .compare = by_os_pid},
	{"fd", "FD", TABLE_RIGHT, .hidden = true, .text = col_fd},
	{NUMBER(recv_q, "RECV-Q", BYTES), .text = col_recv_q},
	{NUMBER(send_q, "SEND-Q", BYTES), .text = col_send_q},
	{"socket_state", "SOCKET", .text = col_socket_state},
	{"local", "LOCAL", .text = col_local},
	{"peer", "PEER", .text = col_peer},
	{0},
};

/* ---- again and again ------------------------------------------------------------------------ */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct port_view *v = view;

	v->node = n;
	return open_view(v, err);
}

static int read_into(void *view, struct error *err)
{
	return read_view(view, err);
}

static void rows_table(void *view, struct table *out)
{
	struct port_view *v = view;

	*out = (struct table){.columns = port_columns,
			      .rows = v->rows,
			      .nr_rows = v->rows ? v->ports.len : 0,
			      .row_size = sizeof(struct port_row),
			      .ctx = v};
}

static uint64_t row_id(const void *row)
{
	return ROW(row)->p->id;
}

static void forget_rows(void *view)
{
	free_view(view);
}

const struct row_source port_rows = {
	.view_size = sizeof(struct port_view),
	.open = open_rows,
	.read = read_into,
	.forget = forget_rows,
	.table = rows_table,
	.id = row_id,
	.columns = port_columns,
};

/* ---- the command ---------------------------------------------------------------------------- */

static int write_text(struct command_context *ctx, const struct port_view *v, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	uint64_t in = 0, out = 0, queued = 0, busy = 0;
	char a[32], b[32], c[32], d[32];
	int rc = table_write(ctx->out, t, o, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < v->ports.len; i++) {
		in += v->ports.data[i].bytes_in;
		out += v->ports.data[i].bytes_out;
		queued += v->ports.data[i].queue_size;
		busy += port_is_busy(&v->ports.data[i]);
	}
	fprintf(ctx->out, "\n%s port%s, %" PRIu64 " busy; %s in, %s out, %s queued\n",
		units_format_count(v->ports.len, a, sizeof(a)), v->ports.len == 1 ? "" : "s", busy,
		units_format_bytes(in, b, sizeof(b)), units_format_bytes(out, c, sizeof(c)),
		units_format_bytes(queued, d, sizeof(d)));
	if (port_sockets_warning(v))
		log_warn("ebeam: %s", port_sockets_warning(v));
	if (v->ports.torn || v->ports.vanished || v->ports.cut)
		log_warn("ebeam: the node went on: %" PRIu64 " ports vanished, %" PRIu64
			 " changed while they were read (~), %" PRIu64 " have too many links",
			 v->ports.vanished, v->ports.torn, v->ports.cut);
	return 0;
}

/* Options of --io mean nothing without it, and a core file does nothing any more. */
static int check_io(const struct command_context *ctx, struct error *err)
{
	static const struct option_set of_io = OPTIONS(OPTIONS_PORT_IO);

	for (int id = 0; !ctx->opt.io && id < NR_OPTIONS; id++) {
		if (of_io.has[id] && ctx->opt.given.has[id])
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s goes with --io",
					 option_rows[id].long_name);
	}
	if (ctx->opt.io && (ctx->opt.core || ctx->opt.exe))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--io watches a running node: it does not go with --core");
	return 0;
}

int cmd_port(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, NULL);
	struct port_view view = {0};
	struct table table = {
		.columns = port_columns, .row_size = sizeof(struct port_row), .ctx = &view};
	int rc = check_io(ctx, err);

	if (rc || ctx->opt.io)
		return rc ? rc : cmd_port_io(ctx, err);
	rc = table_check(&table, &options, err);
	rc = rc ? rc : target_open(&view.node, ctx, err);
	rc = rc ? rc : open_view(&view, err);
	rc = rc ? rc : read_view(&view, err);
	if (!rc) {
		/* Those that hold something back first. */
		if (!ctx->opt.json)
			qsort(view.rows, view.ports.len, sizeof(*view.rows), by_queue_and_output);
		table.rows = view.rows;
		table.nr_rows = view.ports.len;
		rc = ctx->opt.json ? port_write_json(ctx, &view, &table, &options, err)
				   : write_text(ctx, &view, &table, &options, err);
	}
	free_view(&view);
	return target_close(view.node, rc, err);
}
