/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam port`: the ports of a node, as erlang:port_info/1 shows them, with the sockets of the
 * operating system that belong to them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/vm/ports.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/output/rows.h"
#include "cmd/run/target.h"
#include "target/sockets.h"
#include "view/inspect/port_view.h"

struct port_reading {
	struct beam_node *node;
	struct id_format pids, port_ids;
	struct port_list ports;
	struct socket_table sockets;
	VEC(struct port_row) rows;
	/* What rows point to: all texts; texts of ports.terms (links, monitors), in their order;
	 * states of sockets that inet_drv has. */
	struct arena texts;
	VEC(const char *) ids;
	VEC(const char *) inet;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* Bits of inet_descriptor.state, in the order and words of prim_inet:getstatus/1. */
static const struct {
	uint32_t bit;
	const char *name;
} inet_states[] = {
	{PORT_INET_BUSY, "busy"},
	{PORT_INET_ACCEPTING, "accepting"},
	{PORT_INET_CONNECTING, "connecting"},
	{PORT_INET_LISTEN, "listen"},
	{PORT_INET_CONNECTED, "connected"},
	{PORT_INET_BOUND, "bound"},
	{PORT_INET_OPEN, "open"},
};

static void read_fds(struct port_reading *v, struct port_row *r, const struct port_facts *p)
{
	char target[512];

	for (int i = 0; i < 2; i++) {
		int fd = p->fd_kind == PORT_FD_NONE ? -1 : p->fds[i];

		r->fds[i].fd = fd;
		if (fd >= 0 && !v->node->core &&
		    proc_fd_target(v->node->os_pid, fd, target, sizeof(target)) == 0)
			r->fds[i].target = arena_copy(&v->texts, target);
	}
	r->is_stream = p->fd_kind == PORT_FD_STREAM;
}

/* The driver's view of its socket; also sets the state, if the kernel's is not known. */
static void read_inet(struct port_reading *v, struct port_row *r, const struct port_facts *p)
{
	size_t first = v->inet.len;

	for (size_t i = 0; i < ARRAY_SIZE(inet_states); i++) {
		if (!(p->inet_state & inet_states[i].bit))
			continue;
		vec_push(&v->inet, inet_states[i].name);
		if (!r->protocol && !r->state && inet_states[i].bit != PORT_INET_BUSY)
			r->state = inet_states[i].name;
	}
	r->inet = (struct table_list){v->inet.len - first, v->inet.data + first};
	r->is_socket = true;
}

static void read_socket(struct port_reading *v, struct port_row *r)
{
	uint64_t inode = r->fds[0].target ? socket_inode(r->fds[0].target) : 0;
	const struct socket_info *s = inode ? socket_find(&v->sockets, inode) : NULL;
	char buf[512];

	r->recv_q = s && s->has_queues ? s->recv_q : UINT64_MAX;
	r->send_q = s && s->has_queues ? s->send_q : UINT64_MAX;
	if (!s)
		return;
	r->is_socket = true;
	r->listening = s->listening;
	r->protocol = socket_protocol_name(s->protocol);
	r->state = socket_state_name(s);
	r->local = arena_copy(&v->texts, socket_local(s, buf, sizeof(buf)));
	r->peer = arena_copy(&v->texts, socket_peer(s, buf, sizeof(buf)));
}

static struct table_list ids_of(const struct port_reading *v, const struct port_refs *refs)
{
	return (struct table_list){refs->len, v->ids.data + refs->first};
}

static void add_row(struct port_reading *v, const struct port_facts *p)
{
	struct port_row r = {.id = p->id,
			     .number = p->number,
			     .slot = p->slot,
			     .busy = port_is_busy(p),
			     .closing = p->state & PORT_STATE_CLOSING,
			     .exiting = p->state & PORT_STATE_EXITING,
			     .distribution = p->state & PORT_STATE_DISTRIBUTION,
			     .parallelism = p->task_flags & PORT_TASK_PARALLELISM,
			     .torn = p->torn,
			     .name = p->name,
			     .driver = p->driver,
			     .locking = p->state & PORT_STATE_PORT_SPECIFIC_LOCK ? "port_level"
										 : "driver_level",
			     .input = p->bytes_in,
			     .output = p->bytes_out,
			     .queue_size = p->queue_size,
			     .memory = p->memory_known ? p->memory : UINT64_MAX,
			     .os_pid = p->os_pid >= 0 ? (uint64_t)p->os_pid : UINT64_MAX,
			     .links = ids_of(v, &p->links),
			     .monitors = ids_of(v, &p->monitors),
			     .monitored_by = ids_of(v, &p->monitored_by),
			     .suspended = ids_of(v, &p->suspended)};
	char pid[64];

	snprintf(r.port, sizeof(r.port), "#Port<0.%" PRIu64 ">", p->number);
	if (TERM_IS_PID(p->connected))
		r.connected =
			arena_copy(&v->texts, pid_format(&v->pids, p->connected, pid, sizeof(pid)));
	r.registered.text = beam_atom_text(v->node->atoms, p->registered, &r.registered.len);
	read_fds(v, &r, p);
	read_socket(v, &r);
	if (p->fd_kind == PORT_FD_INET)
		read_inet(v, &r, p);
	vec_push(&v->rows, r);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int open_rows(void *view, struct beam_node *n, struct error *err)
{
	struct port_reading *v = view;
	int rc = target_need(n, n->anchors.port_tab, "port table", err);

	v->node = n;
	rc = rc ? rc : target_need(n, n->anchors.proc_tab, "process table", err);
	if (rc)
		return rc;
	rc = id_format_read(&v->pids, n->mem, &n->layout, n->anchors.proc_tab, n->identity.otp);
	rc = rc ? rc
		: id_format_read(&v->port_ids, n->mem, &n->layout, n->anchors.port_tab,
				 n->identity.otp);
	return rc ? beam_node_unreadable(n, "process table", rc, err) : 0;
}

static int read_rows(void *view, struct error *err)
{
	struct port_reading *v = view;
	int rc = ports_read(v->node, &v->ports, err);
	char id[64];

	if (rc)
		return rc;
	if (!v->node->core)
		sockets_read(&v->sockets, v->node->os_pid);
	vec_reserve(&v->ids, v->ports.terms.len + 1);
	for (size_t i = 0; i < v->ports.terms.len; i++) {
		uint64_t term = v->ports.terms.data[i];

		vec_push(&v->ids,
			 arena_copy(&v->texts,
				    TERM_IS_PID(term)
					    ? pid_format(&v->pids, term, id, sizeof(id))
					    : port_format(&v->port_ids, term, id, sizeof(id))));
	}
	vec_reserve(&v->rows, v->ports.len + 1);
	/* Rows point into `inet`: it must not be reallocated while rows are added. */
	vec_reserve(&v->inet, v->ports.len * ARRAY_SIZE(inet_states) + 1);
	for (size_t i = 0; i < v->ports.len; i++)
		add_row(v, &v->ports.data[i]);
	return 0;
}

static void forget_rows(void *view)
{
	struct port_reading *v = view;

	vec_free(&v->rows);
	vec_free(&v->ids);
	vec_free(&v->inet);
	arena_free(&v->texts);
	port_list_free(&v->ports);
	socket_table_free(&v->sockets);
}

static void give_rows(void *view, struct table *out)
{
	struct port_reading *v = view;

	out->rows = v->rows.data;
	out->nr_rows = v->rows.len;
}

static uint64_t row_id(const void *row)
{
	return ((const struct port_row *)row)->id;
}

const struct row_source port_rows = {
	.view_size = sizeof(struct port_reading),
	.open = open_rows,
	.read = read_rows,
	.forget = forget_rows,
	.rows = give_rows,
	.id = row_id,
	.table = &port_table,
};

/* ---- the command ----------------------------------------------------------------------------- */

/* Ports with the longest queue first, then those with most output. */
static int by_queue_and_output(const void *a, const void *b)
{
	const struct port_row *x = a, *y = b;

	if (x->queue_size != y->queue_size)
		return x->queue_size > y->queue_size ? -1 : 1;
	if (x->output != y->output)
		return x->output > y->output ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* A warning about what is not known of sockets, and why; NULL = all is known. */
static const char *sockets_warning(const struct port_reading *v)
{
	if (v->node->core)
		return "a core file does not hold the kernel's side of sockets: no addresses, "
		       "states and queues of the operating system";
	if (v->sockets.unread)
		return "the tables of sockets in /proc could not all be read: some addresses, "
		       "states and queues of the operating system are missing";
	return NULL;
}

static int write_json(struct command_context *ctx, const struct port_reading *v,
		      const struct table *t, const struct table_options *o, struct error *err)
{
	const struct envelope_counter counters[] = {{"ports", v->ports.len},
						    {"vanished", v->ports.vanished},
						    {"torn", v->ports.torn},
						    {"truncated", v->ports.cut}};
	const char *warning = sockets_warning(v);
	struct jsonw w = JSONW(ctx->out);

	target_json_begin(&w, ctx, v->node);
	table_json_rows(&w, "data", t, o);
	return envelope_end(&w, &warning, warning ? 1 : 0, counters, ARRAY_SIZE(counters), err);
}

static int write_text(struct command_context *ctx, struct port_reading *v, const struct table *t,
		      const struct table_options *o, struct error *err)
{
	const char *warning = sockets_warning(v);
	int rc;

	qsort(v->rows.data, v->rows.len, sizeof(*v->rows.data), by_queue_and_output);
	rc = port_view_write(ctx->out, t, o, err);
	if (rc)
		return rc;
	if (warning)
		log_warn("ebeam: %s", warning);
	if (v->ports.torn || v->ports.vanished || v->ports.cut)
		log_warn("ebeam: the node ran meanwhile: %" PRIu64 " ports vanished, %" PRIu64
			 " changed while they were read (~), %" PRIu64
			 " have more links than are shown",
			 v->ports.vanished, v->ports.torn, v->ports.cut);
	return 0;
}

/* The options of --io need --io, and --io needs a running node. */
static int check_io(const struct command_context *ctx, struct error *err)
{
	static const struct option_set of_io = OPTIONS(OPTIONS_PORT_IO);

	for (int id = 0; !ctx->opt.io && id < NR_OPTIONS; id++) {
		if (of_io.has[id] && ctx->opt.given.has[id])
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s needs --io",
					 option_rows[id].long_name);
	}
	if (ctx->opt.io && (ctx->opt.core || ctx->opt.exe))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--io watches a running node: it cannot be combined with --core");
	return 0;
}

int cmd_port(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, NULL);
	struct port_reading v = {0};
	struct table table = port_table;
	int rc = check_io(ctx, err);

	if (rc || ctx->opt.io)
		return rc ? rc : cmd_port_io(ctx, err);
	rc = table_check(&table, &options, err);
	rc = rc ? rc : target_open(&v.node, ctx, err);
	rc = rc ? rc : open_rows(&v, v.node, err);
	rc = rc ? rc : read_rows(&v, err);
	if (!rc) {
		give_rows(&v, &table);
		rc = ctx->opt.json ? write_json(ctx, &v, &table, &options, err)
				   : write_text(ctx, &v, &table, &options, err);
	}
	forget_rows(&v);
	return target_close(v.node, rc, err);
}
