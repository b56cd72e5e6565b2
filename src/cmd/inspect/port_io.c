/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam port --io`: what ports and drivers do, for a while: bytes in and out, calls, busy times.
 * Of a node the counters of its ports are read from memory too, before and after, which makes the
 * bytes that came in exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/ports.h"
#include "cmd/run/event_run.h"
#include "model/process/process_group.h"
#include "model/stats/port_io.h"
#include "view/table/cells.h"
#include "view/table/table.h"

#define PORTS_SHOWN   20
#define CALLS_SHOWN   4
#define NO_PORT_LABEL "[unknown]"

struct counted {
	uint64_t number, received, out;
};

struct io {
	struct command_context *ctx;
	struct event_run *run;
	struct port_io ports;
	bool opened;
	/* By number: when the interval began, and now or when the run ended. */
	struct counters {
		VEC(struct counted) ports;
		bool known;
	} before, after;
	bool ended;
};

struct io_view {
	const struct io *io;
	uint64_t span_ns;
	struct port_io_row *ports, *drivers, all;
	size_t nr_ports, nr_drivers;
};

/* ---- what the node has counted -------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void read_counters(const struct io *io, struct counters *c)
{
	struct beam_node *n = event_run_node(io->run);
	struct port_list list;
	struct error ignored;

	c->ports.len = 0;
	c->known = n && n->anchors.port_tab && ports_read(n, &list, &ignored) == 0;
	if (!c->known)
		return;
	for (size_t i = 0; i < list.len; i++)
		vec_push(&c->ports, ((struct counted){list.data[i].number, list.data[i].received,
						      list.data[i].bytes_out}));
	port_list_free(&list);
	if (c->ports.len)
		qsort(c->ports.data, c->ports.len, sizeof(struct counted), by_number);
}

/* What was counted of the port of a row; NULL if there is no such port. */
static const struct counted *counter_of(const struct io *io, const struct counters *c,
					const struct port_io_row *r)
{
	const char *text = names_string(io->ports.stream->names, r->port);
	struct counted key = {0};

	if (!text || !c->ports.len || sscanf(text, "#Port<0.%" SCNu64 ">", &key.number) != 1)
		return NULL;
	return bsearch(&key, c->ports.data, c->ports.len, sizeof(key), by_number);
}

/* Begin and end of the interval; what was not there when it began had counted nothing. */
static void ask_node(struct io *io)
{
	struct counters was;

	if (!io->ended)
		read_counters(io, &io->after);
	for (size_t i = 1; i < io->ports.rows.len; i++) {
		struct port_io_row *r = &io->ports.rows.data[i];
		const struct counted *c = counter_of(io, &io->before, r);

		if (io->before.known)
			port_io_started(r, c ? c->received : 0, c ? c->out : 0);
		c = r->stopped ? NULL : counter_of(io, &io->after, r);
		if (c)
			port_io_counted(r, c->received, c->out);
	}
	was = io->before;
	io->before = io->after;
	io->after = was;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static uint64_t known(uint64_t bytes)
{
	return bytes == EVENT_UNKNOWN ? 0 : bytes;
}

static int order(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

#define ROW(r)	((const struct port_io_row *)(r))
#define VIEW(v) ((const struct io_view *)(v))

static int by_traffic(const void *a, const void *b)
{
	int rc = order(known(port_io_bytes_in(ROW(a))) + port_io_bytes_out(ROW(a)),
		       known(port_io_bytes_in(ROW(b))) + port_io_bytes_out(ROW(b)));

	rc = rc ? rc : order(port_io_calls(ROW(a)), port_io_calls(ROW(b)));
	return rc ? rc : ROW(a)->port < ROW(b)->port ? -1 : ROW(a)->port > ROW(b)->port;
}

static void make_view(struct io *io, struct io_view *v)
{
	uint64_t start_ns, end_ns;

	event_run_span(io->run, &start_ns, &end_ns);
	*v = (struct io_view){.io = io, .span_ns = end_ns > start_ns ? end_ns - start_ns : 0};
	v->ports = xcalloc(io->ports.rows.len, sizeof(*v->ports));
	for (size_t i = 0; i < io->ports.rows.len; i++) {
		struct port_io_row *r = &v->ports[v->nr_ports];

		if (!port_io_is_active(&io->ports.rows.data[i]))
			continue;
		*r = io->ports.rows.data[i];
		port_io_scale(&io->ports, r);
		v->nr_ports++;
	}
	v->nr_drivers = port_io_by_driver(v->ports, v->nr_ports, &v->drivers);
	if (v->nr_ports)
		qsort(v->ports, v->nr_ports, sizeof(*v->ports), by_traffic);
	if (v->nr_drivers)
		qsort(v->drivers, v->nr_drivers, sizeof(*v->drivers), by_traffic);
	for (size_t i = 0; i < v->nr_drivers; i++) {
		const struct port_io_row *d = &v->drivers[i];

		v->all.nr += d->nr;
		v->all.bytes_in += d->bytes_in;
		v->all.bytes_out += d->bytes_out;
		v->all.busy += d->busy;
		for (int k = 0; k < NR_PORT_IO_CALLS; k++) {
			v->all.calls[k] += d->calls[k];
			v->all.bytes[k] += d->bytes[k];
		}
	}
}

static const char *string_of(const struct io_view *v, uint32_t id)
{
	return names_string(v->io->ports.stream->names, id);
}

/* ---- columns -------------------------------------------------------------------------------- */

static uint64_t per_second(const struct io_view *v, uint64_t n)
{
	return (uint64_t)llround(units_rate((double)n, (double)v->span_ns / 1e9));
}

static void col_port(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = string_of(VIEW(ctx), ROW(row)->port);

	strbuf_addstr(out, text ? text : NO_PORT_LABEL);
}

static void col_driver(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = string_of(VIEW(ctx), ROW(row)->driver);

	strbuf_addstr(out, text ? text : NO_PORT_LABEL);
}

static void col_name(struct strbuf *out, const void *row, const void *ctx)
{
	const char *text = string_of(VIEW(ctx), ROW(row)->name);

	if (text)
		strbuf_addstr(out, text);
}

static void col_owner(struct strbuf *out, const void *row, const void *ctx)
{
	process_group_name_of(VIEW(ctx)->io->ports.stream->names, ROW(row)->process, out);
}

static void col_pid(struct strbuf *out, const void *row, const void *ctx)
{
	const struct name_process *p =
		names_process(VIEW(ctx)->io->ports.stream->names, ROW(row)->process);

	if (p)
		strbuf_addstr(out, p->pid);
}

#define VALUE(name, value) TABLE_VALUE(name, struct port_io_row, value)

VALUE(bytes_in, cell_known(port_io_bytes_in(r)))
VALUE(bytes_out, port_io_bytes_out(r))
VALUE(calls, port_io_calls(r))

static void col_in_rate(struct strbuf *out, const void *row, const void *ctx)
{
	if (!isnan(bytes_in(row)))
		cell_bytes(out, (double)per_second(VIEW(ctx), port_io_bytes_in(ROW(row))));
}

static void col_out_rate(struct strbuf *out, const void *row, const void *ctx)
{
	cell_bytes(out, (double)per_second(VIEW(ctx), port_io_bytes_out(ROW(row))));
}

/* The callbacks that were called most. */
static void col_callbacks(struct strbuf *out, const void *row, const void *ctx)
{
	uint64_t calls[NR_PORT_IO_CALLS];

	UNUSED(ctx);
	memcpy(calls, ROW(row)->calls, sizeof(calls));
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

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct port_io_row, member)
#define IN_COLUMN			 TABLE_NUMBER("in", "IN", BYTES, bytes_in)
#define OUT_COLUMN			 TABLE_NUMBER("out", "OUT", BYTES, bytes_out)
#define CALLS_COLUMN			 TABLE_NUMBER("calls", "CALLS", COUNT, calls)
#define CALLBACKS_COLUMN		 "callbacks", "CALLBACKS", .text = col_callbacks

static const struct table_column io_columns[] = {
	{"port", "PORT", .text = col_port},
	{"driver", "DRIVER", .text = col_driver},
	{IN_COLUMN},
	{TABLE_NUMBER("in_per_s", "IN/S", BYTES, bytes_in), .hidden = true, .text = col_in_rate},
	{OUT_COLUMN},
	{TABLE_NUMBER("out_per_s", "OUT/S", BYTES, bytes_out), .hidden = true,
	 .text = col_out_rate},
	{CALLS_COLUMN},
	{FIELD("busy", "BUSY", COUNT, busy)},
	{"pid", "PID", .text = col_pid},
	{"owner", "OWNER", .text = col_owner},
	{"name", "NAME", .hidden = true, .text = col_name},
	{CALLBACKS_COLUMN},
	{0},
};

static const struct table_column driver_columns[] = {
	{"driver", "DRIVER", .text = col_driver},
	{FIELD("ports", "PORTS", COUNT, nr)},
	{IN_COLUMN},
	{OUT_COLUMN},
	{CALLS_COLUMN},
	{FIELD("busy", "BUSY", COUNT, busy)},
	{CALLBACKS_COLUMN},
	{0},
};

/* ---- text ----------------------------------------------------------------------------------- */

static int show_text(struct io *io, struct io_view *v, struct error *err)
{
	const struct options *o = &io->ctx->opt;
	const struct table ports = {io_columns, v->ports, v->nr_ports, sizeof(*v->ports), v};
	const struct table drivers = {driver_columns, v->drivers, v->nr_drivers,
				      sizeof(*v->drivers), v};
	const struct table_options options = {
		.sort = o->sort, .columns = o->columns, .limit = o->limit ? o->limit : PORTS_SHOWN};
	const struct table_options plain = {.indent = 2};
	FILE *out = event_run_out(io->run);
	char a[32], b[32], c[32], d[32], e[32];
	int rc;

	event_run_begin_screen(io->run);
	fprintf(out, "%.1f s  in %s (%s/s)  out %s (%s/s)  %s calls  busy %" PRIu64 "\n",
		(double)v->span_ns / 1e9, units_format_bytes(v->all.bytes_in, a, sizeof(a)),
		units_format_bytes(per_second(v, v->all.bytes_in), b, sizeof(b)),
		units_format_bytes(port_io_bytes_out(&v->all), c, sizeof(c)),
		units_format_bytes(per_second(v, port_io_bytes_out(&v->all)), d, sizeof(d)),
		units_format_count(port_io_calls(&v->all), e, sizeof(e)), v->all.busy);
	event_run_tell_sampled(io->run, port_io_kinds());
	if (!v->nr_ports)
		return table_check(&ports, &options, err);
	fputc('\n', out);
	rc = table_write(out, &ports, &options, err);
	if (rc)
		return rc;
	event_run_tell_more(io->run, MIN(v->nr_ports, options.limit), v->nr_ports);
	fprintf(out, "\nBy driver\n");
	return table_write(out, &drivers, &plain, err);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_counts(struct jsonw *w, const struct port_io_row *r)
{
	uint64_t in = port_io_bytes_in(r);

	jsonw_known(w, "in", in);
	jsonw_uint(w, "out", port_io_bytes_out(r));
	jsonw_uint(w, "control_bytes", port_io_control_bytes(r));
	jsonw_uint(w, "calls", port_io_calls(r));
	jsonw_uint(w, "busy", r->busy);
	jsonw_begin_object(w, "callbacks");
	for (int i = 0; i < NR_PORT_IO_CALLS; i++)
		jsonw_uint(w, port_io_call_name((enum port_io_call)i), r->calls[i]);
	jsonw_end_object(w);
}

static void json_port(struct jsonw *w, const struct io_view *v, const struct port_io_row *r)
{
	const struct name_process *p = names_process(v->io->ports.stream->names, r->process);
	struct strbuf owner = STRBUF_INIT;

	process_group_name_of(v->io->ports.stream->names, r->process, &owner);
	jsonw_begin_object(w, NULL);
	jsonw_string(w, "port", string_of(v, r->port));
	jsonw_string(w, "driver", string_of(v, r->driver));
	jsonw_string(w, "name", string_of(v, r->name));
	jsonw_string(w, "pid", p ? p->pid : NULL);
	jsonw_string(w, "owner", owner.len ? owner.buf : NULL);
	jsonw_bool(w, "opened", r->opened);
	jsonw_bool(w, "stopped", r->stopped);
	json_counts(w, r);
	jsonw_end_object(w);
	strbuf_free(&owner);
}

static int show_json(struct io *io, struct io_view *v, struct error *err)
{
	const struct options *o = &io->ctx->opt;
	const struct table ports = {io_columns, v->ports, v->nr_ports, sizeof(*v->ports), v};
	const struct table_options options = {.sort = o->sort, .limit = o->limit};
	struct jsonw w;
	size_t *shown, nr;
	int rc = table_order(&ports, &options, &shown, &nr, err);

	if (rc)
		return rc;
	event_run_json_begin(io->run, &w);
	jsonw_begin_object(&w, "data");
	jsonw_uint(&w, "duration_ns", v->span_ns);
	jsonw_double(&w, "share_seen",
		     coverage_share_of(&io->ports.stream->coverage, port_io_kinds()));
	jsonw_begin_array(&w, "ports");
	for (size_t i = 0; i < nr; i++)
		json_port(&w, v, &v->ports[shown[i]]);
	jsonw_end_array(&w);
	jsonw_begin_array(&w, "drivers");
	for (size_t i = 0; i < v->nr_drivers; i++) {
		jsonw_begin_object(&w, NULL);
		jsonw_string(&w, "driver", string_of(v, v->drivers[i].driver));
		jsonw_uint(&w, "ports", v->drivers[i].nr);
		json_counts(&w, &v->drivers[i]);
		jsonw_end_object(&w);
	}
	jsonw_end_array(&w);
	jsonw_end_object(&w);
	free(shown);
	return event_run_json_end(io->run, &w, err);
}

/* ---- the command ---------------------------------------------------------------------------- */

/* The dictionary is there once the run has begun. */
static void open_ports(struct io *io)
{
	if (!io->opened)
		port_io_open(&io->ports, event_run_stream(io->run));
	io->opened = true;
}

static int on_begin(void *arg, struct error *err)
{
	struct io *io = arg;

	UNUSED(err);
	read_counters(io, &io->before);
	return 0;
}

static void on_end(void *arg)
{
	struct io *io = arg;

	read_counters(io, &io->after);
	io->ended = true;
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct io *io = arg;

	open_ports(io);
	port_io_take(&io->ports, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct io *io = arg;
	struct io_view v;
	int rc;

	open_ports(io);
	ask_node(io);
	make_view(io, &v);
	rc = io->ctx->opt.json ? show_json(io, &v, err) : show_text(io, &v, err);
	free(v.ports);
	free(v.drivers);
	if (!last)
		port_io_restart(&io->ports);
	return rc;
}

int cmd_port_io(struct command_context *ctx, struct error *err)
{
	struct io io = {.ctx = ctx};
	const struct event_consumer consumer = {
		.kinds = port_io_kinds(),
		.arg = &io,
		.begin = on_begin,
		.end = on_end,
		.event = on_event,
		.show = on_show,
	};
	const struct table table = {.columns = io_columns, .row_size = sizeof(struct port_io_row)};
	const struct table_options options = {.sort = ctx->opt.sort, .columns = ctx->opt.columns};
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : event_run(ctx, &consumer, &io.run, err);
	if (io.opened)
		port_io_close(&io.ports);
	vec_free(&io.before.ports);
	vec_free(&io.after.ports);
	event_run_close(io.run);
	return rc;
}
