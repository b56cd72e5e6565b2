/* SPDX-License-Identifier: BSD-2-Clause */
/* See dist_view.h. */
#include "view/inspect/dist_view.h"

#include <inttypes.h>
#include <math.h>

#include "view/table/cells.h"

#define ROW(r) ((const struct dist_row *)(r))

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "%s%s", ROW(row)->name ? ROW(row)->name : "?", ROW(row)->torn ? "~" : "");
}

static void col_state(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	strbuf_addf(out, "%s%s", ROW(row)->state ? ROW(row)->state : "?",
		    ROW(row)->busy ? ",busy" : "");
}

TABLE_VALUE(in, struct dist_row, r->controller ? cell_known(r->in) : NAN)
TABLE_VALUE(out, struct dist_row, r->controller ? cell_known(r->out) : NAN)

static void json_io(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)ctx;
	jsonw_uint(w, name, *name == 'i' ? ROW(row)->in : ROW(row)->out);
}

/* JSON fields that are no columns: the port and the socket of a connection, and others. */
static void json_more(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	const struct dist_row *r = row;

	(void)name;
	(void)ctx;
	jsonw_bool(w, "busy", r->busy);
	jsonw_uint(w, "flags", r->flags);
	if (r->has_port) {
		jsonw_begin_object(w, "port");
		jsonw_uint(w, "input", r->port_input);
		jsonw_uint(w, "output", r->port_output);
		jsonw_uint(w, "queue_size", r->port_queue);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "port");
	}
	if (r->has_socket) {
		jsonw_begin_object(w, "socket");
		jsonw_string(w, "local", r->local ? r->local : "");
		jsonw_string(w, "peer", r->peer ? r->peer : "");
		jsonw_string(w, "state", r->socket_state);
		jsonw_known(w, "recv_q", r->recv_q);
		jsonw_known(w, "send_q", r->send_q);
		jsonw_end_object(w);
	} else {
		jsonw_null(w, "socket");
	}
	jsonw_bool(w, "torn", r->torn);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct dist_row, member)
#define PACKETS(name, title)		 TABLE_NUMBER(#name, title, COUNT, name), .json = json_io
#define SHOWN(name, title, type)	 FIELD(#name, title, type, name), .json = table_json_none

static const struct table_column columns[] = {
	{FIELD("name", "NODE", TEXT, name), .text = col_name},
	{FIELD("type", "TYPE", TEXT, type)},
	{FIELD("state", "STATE", TEXT, state), .text = col_state},
	{PACKETS(in, "IN")},
	{PACKETS(out, "OUT")},
	{FIELD("queue", "QUEUE", BYTES, queue)},
	{FIELD("waiting", "WAITING", LIST, waiting)},
	{FIELD("creation", "CREATION", COUNT, creation), .hidden = true},
	{FIELD("connection_id", "CONNECTION", COUNT, connection_id), .hidden = true},
	{FIELD("controller", "CONTROLLER", TEXT, controller)},
	{FIELD("owner", "OWNER", TEXT, owner)},
	{SHOWN(port_input, "BYTES IN", BYTES), .hidden = true},
	{SHOWN(port_output, "BYTES OUT", BYTES), .hidden = true},
	{SHOWN(port_queue, "PORT QUEUE", BYTES)},
	{SHOWN(recv_q, "RECV-Q", BYTES)},
	{SHOWN(send_q, "SEND-Q", BYTES)},
	{SHOWN(socket_state, "SOCKET", TEXT), .hidden = true},
	{SHOWN(peer, "PEER", TEXT)},
	{.json = json_more},
};

const struct table dist_table = {.columns = columns, .row_size = sizeof(struct dist_row)};

static void json_epmd(struct jsonw *w, const struct dist_answer *a)
{
	jsonw_begin_object(w, "epmd");
	jsonw_uint_if(w, "port", a->epmd_port, a->epmd_port);
	if (a->no_epmd) {
		jsonw_null(w, "nodes");
	} else {
		jsonw_begin_array(w, "nodes");
		for (size_t i = 0; i < a->nr_epmd; i++) {
			jsonw_begin_object(w, NULL);
			jsonw_string(w, "name", a->epmd[i].name);
			jsonw_uint(w, "port", a->epmd[i].port);
			jsonw_end_object(w);
		}
		jsonw_end_array(w);
	}
	jsonw_string(w, "error", a->no_epmd);
	jsonw_end_object(w);
}

void dist_view_json(struct jsonw *w, const struct dist_answer *a, const struct table_options *o)
{
	jsonw_begin_object(w, "data");
	jsonw_string(w, "name", a->name);
	jsonw_bool(w, "alive", a->alive);
	jsonw_uint(w, "creation", a->creation);
	table_json_rows(w, "nodes", &a->nodes, o);
	json_epmd(w, a);
	jsonw_end_object(w);
}

/* Names from epmd are cleaned: any process of the host may register any name with it. */
static void write_epmd(FILE *f, const struct dist_answer *a)
{
	struct strbuf out = STRBUF_INIT;

	if (a->no_epmd) {
		fprintf(f, "\n%s\n", a->no_epmd);
		return;
	}
	strbuf_addf(&out, "\nepmd at port %u lists %zu node%s", a->epmd_port, a->nr_epmd,
		    a->nr_epmd == 1 ? "" : "s");
	for (size_t i = 0; i < a->nr_epmd; i++)
		strbuf_addf(&out, "%s%s (%u)", i ? ", " : ": ", a->epmd[i].name, a->epmd[i].port);
	strbuf_addch(&out, '\n');
	table_write_text(f, &out);
	strbuf_free(&out);
}

int dist_view_write(FILE *f, const struct dist_answer *a, const struct table_options *o,
		    struct error *err)
{
	struct strbuf out = STRBUF_INIT;
	int rc = 0;

	strbuf_addf(&out, "%s, %s, creation %" PRIu32, a->name,
		    a->alive ? "alive" : "not distributed", a->creation);
	if (a->alive || a->nodes.nr_rows)
		strbuf_addf(&out,
			    "; connected to %zu visible and %zu hidden nodes, %zu pending, "
			    "%zu busy",
			    a->visible, a->hidden, a->pending, a->busy);
	strbuf_addch(&out, '\n');
	table_write_text(f, &out);
	strbuf_free(&out);
	if (a->nodes.nr_rows) {
		fputc('\n', f);
		rc = table_write(f, &a->nodes, o, err);
	}
	if (!rc)
		write_epmd(f, a);
	return rc;
}
