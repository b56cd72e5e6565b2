/* SPDX-License-Identifier: BSD-2-Clause */
/* See port_io_view.h. */
#include "view/events/port_io_view.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "view/table/cells.h"

#define PORTS_SHOWN   20
#define CALLS_SHOWN   4
#define NO_PORT_LABEL "[unknown]"

#define ROW(r) ((const struct port_io_shown *)(r))

/* ---- columns -------------------------------------------------------------------------------- */

static void col_port(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ROW(row)->port ? ROW(row)->port : NO_PORT_LABEL);
}

static void col_driver(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, ROW(row)->driver ? ROW(row)->driver : NO_PORT_LABEL);
}

TABLE_VALUE(in_rate, struct port_io_shown, r->in == UINT64_MAX ? NAN : r->in_per_s)
TABLE_VALUE(out_rate, struct port_io_shown, r->out_per_s)

/* The CALLS_SHOWN driver callbacks with most calls. */
static void col_callbacks(struct strbuf *out, const void *row, const void *ctx)
{
	uint64_t calls[NR_PORT_IO_CALLS];

	UNUSED(ctx);
	memcpy(calls, ROW(row)->callbacks, sizeof(calls));
	for (int shown = 0; shown < CALLS_SHOWN; shown++) {
		int most = 0;

		for (int i = 1; i < NR_PORT_IO_CALLS; i++)
			if (calls[i] > calls[most])
				most = i;
		if (!calls[most])
			return;
		strbuf_addstr(out, shown ? ", " : "");
		strbuf_addf(out, "%s ", port_io_call_name((enum port_io_call)most));
		cell_count(out, calls[most]);
		calls[most] = 0;
	}
}

static void json_callbacks(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(ctx);
	jsonw_begin_object(w, name);
	for (int i = 0; i < NR_PORT_IO_CALLS; i++)
		jsonw_uint(w, port_io_call_name((enum port_io_call)i), ROW(row)->callbacks[i]);
	jsonw_end_object(w);
}

static void json_port(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	UNUSED(name);
	UNUSED(ctx);
	jsonw_uint(w, "control_bytes", ROW(row)->control_bytes);
	jsonw_bool(w, "opened", ROW(row)->opened);
	jsonw_bool(w, "stopped", ROW(row)->stopped);
}

#define FIELD(name, title, type, member)                                                           \
	TABLE_FIELD(name, title, type, struct port_io_shown, member)
#define DRIVER_COLUMN	 FIELD("driver", "DRIVER", TEXT, driver), .text = col_driver
#define IN_COLUMN	 FIELD("in", "IN", BYTES, in)
#define OUT_COLUMN	 FIELD("out", "OUT", BYTES, out)
#define CALLS_COLUMN	 FIELD("calls", "CALLS", COUNT, calls)
#define BUSY_COLUMN	 FIELD("busy", "BUSY", COUNT, busy)
#define CALLBACKS_COLUMN "callbacks", "CALLBACKS", .text = col_callbacks, .json = json_callbacks
#define RATE_COLUMN(name, title, value)                                                            \
	TABLE_NUMBER(name, title, BYTES, value), .hidden = true, .json = table_json_none

const struct table_column port_io_columns[] = {
	{FIELD("port", "PORT", TEXT, port), .text = col_port},
	{DRIVER_COLUMN},
	{IN_COLUMN},
	{RATE_COLUMN("in_per_s", "IN/S", in_rate)},
	{OUT_COLUMN},
	{RATE_COLUMN("out_per_s", "OUT/S", out_rate)},
	{CALLS_COLUMN},
	{BUSY_COLUMN},
	{FIELD("pid", "PID", TEXT, pid)},
	{FIELD("owner", "OWNER", TEXT, owner)},
	{FIELD("name", "NAME", TEXT, name), .hidden = true},
	{CALLBACKS_COLUMN},
	{.json = json_port},
};

static const struct table_column driver_columns[] = {
	{DRIVER_COLUMN},
	{FIELD("ports", "PORTS", COUNT, ports)},
	{IN_COLUMN},
	{OUT_COLUMN},
	{FIELD("control_bytes", "", COUNT, control_bytes), .hidden = true},
	{CALLS_COLUMN},
	{BUSY_COLUMN},
	{CALLBACKS_COLUMN},
	{0},
};

static struct table ports_of(const struct port_io_answer *a)
{
	return (struct table){port_io_columns, a->ports, a->nr_ports, sizeof(*a->ports), NULL};
}

static struct table drivers_of(const struct port_io_answer *a)
{
	return (struct table){driver_columns, a->drivers, a->nr_drivers, sizeof(*a->drivers), NULL};
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void write_head(FILE *out, const void *answer)
{
	const struct port_io_answer *a = answer;
	struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%.1f s  in ", (double)a->span_ns / 1e9);
	cell_bytes(&line, (double)a->all.in);
	strbuf_addstr(&line, " (");
	cell_bytes(&line, a->all.in_per_s);
	strbuf_addstr(&line, "/s)  out ");
	cell_bytes(&line, (double)a->all.out);
	strbuf_addstr(&line, " (");
	cell_bytes(&line, a->all.out_per_s);
	strbuf_addstr(&line, "/s)  ");
	cell_count(&line, a->all.calls);
	fprintf(out, "%s calls  busy %" PRIu64 "\n", line.buf, a->all.busy);
	strbuf_free(&line);
}

static int write_rest(FILE *out, const void *answer, const struct table_options *o,
		      struct error *err)
{
	const struct port_io_answer *a = answer;
	const struct table ports = ports_of(a), drivers = drivers_of(a);
	struct table_options options = *o;
	int rc;

	if (!a->nr_ports)
		return 0;
	options.limit = o->limit ? o->limit : PORTS_SHOWN;
	options.write_more = true;
	fputc('\n', out);
	rc = table_write(out, &ports, &options, err);
	if (rc)
		return rc;
	fprintf(out, "\nBy driver\n");
	return table_write(out, &drivers, &(struct table_options){.indent = 2}, err);
}

static void write_json(struct jsonw *w, const void *answer, const struct table_options *o)
{
	const struct port_io_answer *a = answer;
	const struct table ports = ports_of(a), drivers = drivers_of(a);

	jsonw_uint(w, "duration_ns", a->span_ns);
	jsonw_double(w, "share_seen", a->share_seen);
	table_json_rows(w, "ports", &ports, o);
	table_json_rows(w, "drivers", &drivers, &(struct table_options){0});
}

const struct answer_view port_io_view = {write_head, write_rest, write_json};
