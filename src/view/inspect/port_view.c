/* SPDX-License-Identifier: BSD-2-Clause */
/* See port_view.h. */
#include "view/inspect/port_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "view/table/cells.h"

#define NAME_SHOWN 40

#define ROW(r) ((const struct port_row *)(r))

static int by_port(const void *a, const void *b)
{
	uint64_t x = ROW(a)->number, y = ROW(b)->number;

	return x < y ? -1 : x > y;
}

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	const char *name = ROW(row)->name;

	(void)ctx;
	/* The name of a spawned program is its whole command line. */
	if (name && strlen(name) > NAME_SHOWN)
		strbuf_addf(out, "%.*s...", NAME_SHOWN - 3, name);
	else if (name)
		strbuf_addstr(out, name);
}

static void col_os_pid(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->os_pid != UINT64_MAX)
		strbuf_addf(out, "%" PRIu64, ROW(row)->os_pid);
}

static void col_flags(struct strbuf *out, const void *row, const void *ctx)
{
	const struct port_row *r = row;
	const struct {
		bool set;
		const char *word;
	} flags[] = {{r->busy, "busy"},
		     {r->closing, "closing"},
		     {r->exiting, "exiting"},
		     {r->distribution, "distribution"}};

	(void)ctx;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].set)
			strbuf_addf(out, "%s%s", out->len ? "," : "", flags[i].word);
}

static void col_fd(struct strbuf *out, const void *row, const void *ctx)
{
	int in = ROW(row)->fds[0].fd, to = ROW(row)->fds[1].fd;

	(void)ctx;
	if (in >= 0)
		strbuf_addf(out, "%d", in);
	if (to >= 0 && to != in)
		strbuf_addf(out, "%s%d", in >= 0 ? "," : "", to);
}

/* Adds the length of a socket's queue: bytes, or connections if the socket listens. */
static void add_queue(struct strbuf *out, const struct port_row *r, uint64_t queued)
{
	if (queued == UINT64_MAX)
		return;
	if (r->listening)
		cell_count(out, queued);
	else
		cell_bytes(out, (double)queued);
}

static void col_recv_q(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_queue(out, row, ROW(row)->recv_q);
}

static void col_send_q(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	add_queue(out, row, ROW(row)->send_q);
}

static void json_fd(struct jsonw *w, const char *key, bool is_stream, const struct port_fd *fd)
{
	if (!is_stream || fd->fd < 0) {
		jsonw_null(w, key);
		return;
	}
	jsonw_begin_object(w, key);
	jsonw_int(w, "fd", fd->fd);
	jsonw_string(w, "target", fd->target);
	jsonw_end_object(w);
}

static void json_socket(struct jsonw *w, const struct port_row *r)
{
	static const struct table_column status = {
		TABLE_FIELD("status", "", LIST, struct port_row, inet)};

	if (!r->is_socket) {
		jsonw_null(w, "socket");
		return;
	}
	jsonw_begin_object(w, "socket");
	jsonw_int(w, "fd", r->fds[0].fd);
	table_json_field(&status, w, r, NULL);
	jsonw_string(w, "protocol", r->protocol);
	jsonw_string(w, "state", r->protocol ? r->state : NULL);
	jsonw_string(w, "local", r->local);
	jsonw_string(w, "peer", r->peer);
	jsonw_known(w, "recv_q", r->recv_q);
	jsonw_known(w, "send_q", r->send_q);
	jsonw_end_object(w);
}

static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct port_row *r = row;

	(void)name;
	(void)ctx;
	jsonw_bool(w, "busy", r->busy);
	jsonw_bool(w, "closing", r->closing);
	jsonw_bool(w, "exiting", r->exiting);
	jsonw_bool(w, "distribution", r->distribution);
	jsonw_bool(w, "parallelism", r->parallelism);
	jsonw_bool(w, "torn", r->torn);
	json_socket(w, r);
	json_fd(w, "read", r->is_stream, &r->fds[0]);
	json_fd(w, "write", r->is_stream, &r->fds[1]);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct port_row, member)
#define SAME(name, title, type)		 FIELD(#name, title, type, name)
#define NO_JSON				 .json = table_json_none

static const struct table_column columns[] = {
	{SAME(port, "PORT", TEXT), .compare = by_port, .torn = offsetof(struct port_row, torn)},
	{FIELD("id", "ID", ID, slot), .hidden = true},
	{SAME(name, "NAME", TEXT), .text = col_name},
	{SAME(driver, "DRIVER", TEXT), .hidden = true},
	{SAME(connected, "CONNECTED", TEXT)},
	{FIELD("registered_name", "REGISTERED", NAME, registered), .hidden = true},
	{SAME(input, "INPUT", BYTES)},
	{SAME(output, "OUTPUT", BYTES)},
	{SAME(queue_size, "QUEUE", BYTES)},
	{SAME(memory, "MEMORY", BYTES), .hidden = true},
	{"flags", "FLAGS", .text = col_flags, NO_JSON},
	{SAME(locking, "LOCKING", TEXT), .hidden = true},
	{SAME(links, "LINKS", LIST)},
	{SAME(monitors, "MONITORS", LIST), .hidden = true},
	{SAME(monitored_by, "MONITORED BY", LIST), .hidden = true},
	{SAME(suspended, "WAITING", LIST), .hidden = true},
	{SAME(os_pid, "OS PID", COUNT), .text = col_os_pid},
	{"fd", "FD", TABLE_RIGHT, .hidden = true, .text = col_fd, NO_JSON},
	{SAME(recv_q, "RECV-Q", BYTES), .text = col_recv_q, NO_JSON},
	{SAME(send_q, "SEND-Q", BYTES), .text = col_send_q, NO_JSON},
	{FIELD("socket_state", "SOCKET", TEXT, state), NO_JSON},
	{SAME(local, "LOCAL", TEXT), NO_JSON},
	{SAME(peer, "PEER", TEXT), NO_JSON},
	{.json = json_more},
};

const struct table port_table = {.columns = columns, .row_size = sizeof(struct port_row)};

int port_view_write(FILE *f, const struct table *ports, const struct table_options *o,
		    struct error *err)
{
	uint64_t in = 0, out = 0, queued = 0, busy = 0;
	char a[32], b[32], c[32], d[32];
	int rc = table_write(f, ports, o, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < ports->nr_rows; i++) {
		const struct port_row *r = ROW(ports->rows) + i;

		in += r->input;
		out += r->output;
		queued += r->queue_size;
		busy += r->busy;
	}
	fprintf(f, "\n%s port%s, %" PRIu64 " busy; %s in, %s out, %s queued\n",
		units_format_count(ports->nr_rows, a, sizeof(a)), ports->nr_rows == 1 ? "" : "s",
		busy, units_format_bytes(in, b, sizeof(b)), units_format_bytes(out, c, sizeof(c)),
		units_format_bytes(queued, d, sizeof(d)));
	return 0;
}
