/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam port --io`: what ports and drivers do during a time: bytes in and out, calls, busy times.
 * Of a live node the counters of its ports are read from memory too, before and after, so that the
 * bytes received are exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/vm/ports.h"
#include "cmd/run/event_run.h"
#include "model/process/process_group.h"
#include "model/stats/port_io.h"
#include "view/events/port_io_view.h"

struct counted {
	uint64_t number, received, out;
};

struct io {
	struct command_context *ctx;
	struct event_run *run;
	struct port_io ports;
	/* Counters of ports, by number: at the interval's begin; now, or when the run ended. */
	struct counters {
		VEC(struct counted) ports;
		bool known;
	} before, after;
	bool ended;
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

/* The counters of the port of a row; NULL if that port was not there. */
static const struct counted *counter_of(const struct io *io, const struct counters *c,
					const struct port_io_row *r)
{
	const char *text = names_string(io->ports.stream->names, r->port);
	struct counted key = {0};

	if (!text || !c->ports.len || sscanf(text, "#Port<0.%" SCNu64 ">", &key.number) != 1)
		return NULL;
	return bsearch(&key, c->ports.data, c->ports.len, sizeof(key), by_number);
}

/* Sets counters at begin (0 for ports that were opened later) and end of the interval. */
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

#define ROW(r) ((const struct port_io_row *)(r))

static int by_traffic(const void *a, const void *b)
{
	int rc = order(known(port_io_bytes_in(ROW(a))) + port_io_bytes_out(ROW(a)),
		       known(port_io_bytes_in(ROW(b))) + port_io_bytes_out(ROW(b)));

	rc = rc ? rc : order(port_io_calls(ROW(a)), port_io_calls(ROW(b)));
	return rc ? rc : ROW(a)->port < ROW(b)->port ? -1 : ROW(a)->port > ROW(b)->port;
}

/* ---- the answer ----------------------------------------------------------------------------- */

struct view {
	const struct io *io;
	struct arena texts;
	struct strbuf text;
	struct port_io_answer a;
};

static struct port_io_shown row_of(struct view *v, const struct port_io_row *r)
{
	const struct names *names = v->io->ports.stream->names;
	const struct name_process *p = names_process(names, r->process);
	double seconds = (double)v->a.span_ns / 1e9;
	struct port_io_shown row = {
		.port = names_string(names, r->port),
		.driver = names_string(names, r->driver),
		.name = names_string(names, r->name),
		.pid = p ? p->pid : NULL,
		.ports = r->nr,
		.in = port_io_bytes_in(r),
		.out = port_io_bytes_out(r),
		.control_bytes = port_io_control_bytes(r),
		.calls = port_io_calls(r),
		.busy = r->busy,
		.opened = r->opened,
		.stopped = r->stopped,
	};

	process_group_name_of(names, r->process, &v->text);
	row.owner = arena_text(&v->texts, &v->text);
	row.in_per_s = units_rate((double)row.in, seconds);
	row.out_per_s = units_rate((double)row.out, seconds);
	memcpy(row.callbacks, r->calls, sizeof(row.callbacks));
	return row;
}

/* Sorts `rows`, and makes of each the row that is shown. */
static struct port_io_shown *make_rows(struct view *v, struct port_io_row *rows, size_t nr)
{
	struct port_io_shown *made = xcalloc(nr, sizeof(*made));

	if (nr)
		qsort(rows, nr, sizeof(*rows), by_traffic);
	for (size_t i = 0; i < nr; i++)
		made[i] = row_of(v, &rows[i]);
	return made;
}

static void make_answer(struct view *v)
{
	const struct port_io *io = &v->io->ports;
	struct port_io_row *ports = xcalloc(io->rows.len, sizeof(*ports)), *drivers, all = {0};
	uint64_t start_ns, end_ns;

	event_run_span(v->io->run, &start_ns, &end_ns);
	v->a.span_ns = end_ns > start_ns ? end_ns - start_ns : 0;
	v->a.share_seen = coverage_share_of(&io->stream->coverage, port_io_kinds());
	for (size_t i = 0; i < io->rows.len; i++) {
		if (!port_io_is_active(&io->rows.data[i]))
			continue;
		ports[v->a.nr_ports] = io->rows.data[i];
		port_io_scale(io, &ports[v->a.nr_ports++]);
	}
	v->a.nr_drivers = port_io_by_driver(ports, v->a.nr_ports, &drivers);
	v->a.ports = make_rows(v, ports, v->a.nr_ports);
	v->a.drivers = make_rows(v, drivers, v->a.nr_drivers);
	for (size_t i = 0; i < v->a.nr_drivers; i++)
		port_io_add(&all, &drivers[i]);
	v->a.all = row_of(v, &all);
	free(ports);
	free(drivers);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void on_ready(void *arg)
{
	struct io *io = arg;

	port_io_open(&io->ports, event_run_stream(io->run));
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

	port_io_take(&io->ports, kind, ev);
	return 0;
}

static int on_show(void *arg, bool last, struct error *err)
{
	struct io *io = arg;
	const struct options *o = &io->ctx->opt;
	const struct table_options options = {
		.sort = o->sort, .columns = o->columns, .limit = o->limit};
	struct view v = {.io = io, .text = STRBUF_INIT};
	int rc;

	ask_node(io);
	make_answer(&v);
	rc = event_run_show(io->run, &port_io_view, &v.a, port_io_kinds(), &options, err);
	free(v.a.ports);
	free(v.a.drivers);
	strbuf_free(&v.text);
	arena_free(&v.texts);
	if (!last)
		port_io_restart(&io->ports);
	return rc;
}

int cmd_port_io(struct command_context *ctx, struct error *err)
{
	struct io io = {.ctx = ctx};
	const struct event_consumer consumer = {
		.kinds = port_io_kinds(),
		.columns = port_io_columns,
		.arg = &io,
		.ready = on_ready,
		.begin = on_begin,
		.end = on_end,
		.event = on_event,
		.show = on_show,
	};
	int rc = event_run(ctx, &consumer, &io.run, err);

	port_io_close(&io.ports);
	vec_free(&io.before.ports);
	vec_free(&io.after.ports);
	event_run_close(io.run);
	return rc;
}
