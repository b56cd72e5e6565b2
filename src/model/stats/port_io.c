/* SPDX-License-Identifier: BSD-2-Clause */
/* See port_io.h. */
#include "model/stats/port_io.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"

#define AT(kind, field) EVENT_AT(kind, field)
#define KIND(kind)	(1ull << EVENT_##kind)

/* Port and driver are the first two fields of all events that are counted. */
#define FIELD_OF_PORT	  AT(DRIVER_OUTPUT, PORT)
#define FIELD_OF_DRIVER	  AT(DRIVER_OUTPUT, DRIVER)
#define SAME_FIELDS(kind) (AT(kind, PORT) == FIELD_OF_PORT && AT(kind, DRIVER) == FIELD_OF_DRIVER)
#define CALL_FIELDS(id, name)                                                                      \
	_Static_assert(SAME_FIELDS(DRIVER_##id), "port and driver come first");
PORT_IO_CALLS(CALL_FIELDS)
_Static_assert(SAME_FIELDS(PORT_BUSY) && SAME_FIELDS(PORT_OPEN), "port and driver come first");

static const enum event_kind kind_of_call[NR_PORT_IO_CALLS] = {
#define CALL_KIND(id, name) [PORT_IO_##id] = EVENT_DRIVER_##id,
	PORT_IO_CALLS(CALL_KIND)
#undef CALL_KIND
};

uint64_t port_io_kinds(void)
{
	uint64_t kinds = KIND(PORT_BUSY) | KIND(PORT_OPEN);

	for (int i = 0; i < NR_PORT_IO_CALLS; i++)
		kinds |= 1ull << kind_of_call[i];
	return kinds;
}

const char *port_io_call_name(enum port_io_call call)
{
	static const char *const names[NR_PORT_IO_CALLS] = {
#define CALL_NAME(id, name) [PORT_IO_##id] = (name),
		PORT_IO_CALLS(CALL_NAME)
#undef CALL_NAME
	};

	return names[call];
}

static void row_init(struct port_io_row *r, uint32_t port)
{
	*r = (struct port_io_row){
		.port = port,
		.nr = 1,
		.first_in = EVENT_UNKNOWN,
		.last_in = EVENT_UNKNOWN,
		.first_out = EVENT_UNKNOWN,
		.last_out = EVENT_UNKNOWN,
	};
}

void port_io_open(struct port_io *p, struct event_stream *stream)
{
	struct port_io_row none;

	*p = (struct port_io){.stream = stream, .max_rows = PORT_IO_MAX};
	row_init(&none, 0);
	vec_push(&p->rows, none);
}

void port_io_close(struct port_io *p)
{
	vec_free(&p->rows);
	idmap_free(&p->index);
}

static bool row_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct port_io *)ctx)->rows.data[id].port == *(const uint32_t *)key;
}

static struct port_io_row *row_of(struct port_io *p, uint32_t port)
{
	uint32_t hash = hash_mix(7, port), found;
	struct port_io_row row;

	if (!port)
		return &p->rows.data[0];
	found = idmap_find(&p->index, hash, row_equal, p, &port);
	if (found != IDMAP_NONE)
		return &p->rows.data[found];
	if (p->rows.len >= p->max_rows)
		return &p->rows.data[0];
	row_init(&row, port);
	idmap_add(&p->index, hash, (uint32_t)p->rows.len);
	vec_push(&p->rows, row);
	return &p->rows.data[p->rows.len - 1];
}

void port_io_restart(struct port_io *p)
{
	size_t len = p->rows.len, kept = 1;

	idmap_free(&p->index);
	for (size_t i = 0; i < len; i++) {
		struct port_io_row old = p->rows.data[i], *r;

		if (i && old.stopped)
			continue;
		r = &p->rows.data[i ? kept++ : 0];
		row_init(r, old.port);
		r->driver = old.driver;
		r->name = old.name;
		r->process = old.process;
		r->first_in = r->last_in = old.last_in;
		r->first_out = r->last_out = old.last_out;
		if (i)
			idmap_add(&p->index, hash_mix(7, r->port), (uint32_t)(kept - 1));
	}
	p->rows.len = kept;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Keeps the larger value: counters never fall, but a later record may have an earlier reading. */
static void count_up(uint64_t *last, uint64_t counted)
{
	if (counted != EVENT_UNKNOWN && (*last == EVENT_UNKNOWN || *last < counted))
		*last = counted;
}

void port_io_started(struct port_io_row *r, uint64_t in, uint64_t out)
{
	r->first_in = in;
	r->first_out = out;
	count_up(&r->last_in, in);
	count_up(&r->last_out, out);
}

void port_io_counted(struct port_io_row *r, uint64_t in, uint64_t out)
{
	if (r->first_in == EVENT_UNKNOWN)
		r->first_in = in;
	if (r->first_out == EVENT_UNKNOWN)
		r->first_out = out;
	count_up(&r->last_in, in);
	count_up(&r->last_out, out);
}

static void add_bytes(uint64_t *sum, const struct event *ev, unsigned int field)
{
	uint64_t bytes = event_value(ev, field);

	if (bytes != EVENT_UNKNOWN)
		*sum += bytes;
}

static void take_call(struct port_io_row *r, enum port_io_call call, const struct event *ev)
{
	r->calls[call]++;
	if (call == PORT_IO_OUTPUT) {
		add_bytes(&r->bytes[call], ev, AT(DRIVER_OUTPUT, BYTES));
	} else if (call == PORT_IO_OUTPUTV) {
		add_bytes(&r->bytes[call], ev, AT(DRIVER_OUTPUTV, BYTES));
	} else if (call == PORT_IO_CONTROL) {
		add_bytes(&r->bytes[call], ev, AT(DRIVER_CONTROL, BYTES));
		if (r->port)
			port_io_counted(r, event_value(ev, AT(DRIVER_CONTROL, INPUT)),
					EVENT_UNKNOWN);
	} else if (call == PORT_IO_CALL) {
		add_bytes(&r->bytes[call], ev, AT(DRIVER_CALL, BYTES));
	} else if (call == PORT_IO_READY_INPUT) {
		if (r->port)
			port_io_counted(r, event_value(ev, AT(DRIVER_READY_INPUT, INPUT)),
					EVENT_UNKNOWN);
	} else if (call == PORT_IO_START) {
		r->opened = true;
		if (r->port)
			port_io_started(r, 0, 0);
	} else if (call == PORT_IO_STOP) {
		r->stopped = true;
		if (r->port)
			port_io_counted(r, event_value(ev, AT(DRIVER_STOP, INPUT)),
					event_value(ev, AT(DRIVER_STOP, OUTPUT)));
	}
}

void port_io_take(struct port_io *p, enum event_kind kind, const struct event *ev)
{
	struct port_io_row *r;
	uint32_t driver;

	if (!(port_io_kinds() >> kind & 1))
		return;
	r = row_of(p, event_value_id(ev, FIELD_OF_PORT));
	driver = event_value_id(ev, FIELD_OF_DRIVER);
	if (driver && r->port)
		r->driver = driver;
	if (ev->u.vm.process && r->port)
		r->process = ev->u.vm.process;
	if (kind == EVENT_PORT_BUSY)
		r->busy++;
	if (kind == EVENT_PORT_OPEN && r->port)
		r->name = event_value_id(ev, AT(PORT_OPEN, NAME));
	for (int i = 0; i < NR_PORT_IO_CALLS; i++)
		if (kind_of_call[i] == kind)
			take_call(r, (enum port_io_call)i, ev);
}

/* ---- answers -------------------------------------------------------------------------------- */

static uint64_t difference(uint64_t first, uint64_t last)
{
	if (first == EVENT_UNKNOWN || last == EVENT_UNKNOWN || last < first)
		return EVENT_UNKNOWN;
	return last - first;
}

uint64_t port_io_bytes_in(const struct port_io_row *r)
{
	return r->port ? difference(r->first_in, r->last_in) : r->bytes_in;
}

uint64_t port_io_bytes_out(const struct port_io_row *r)
{
	return r->bytes_out;
}

uint64_t port_io_control_bytes(const struct port_io_row *r)
{
	return r->bytes[PORT_IO_CONTROL] + r->bytes[PORT_IO_CALL];
}

uint64_t port_io_calls(const struct port_io_row *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < NR_PORT_IO_CALLS; i++)
		sum += r->calls[i];
	return sum;
}

bool port_io_is_active(const struct port_io_row *r)
{
	uint64_t in = port_io_bytes_in(r);

	return port_io_calls(r) || r->busy || (in && in != EVENT_UNKNOWN);
}

static uint64_t scaled(const struct port_io *p, enum event_kind kind, uint64_t n)
{
	return units_of_share(n, coverage_share(&p->stream->coverage, kind));
}

void port_io_scale(const struct port_io *p, struct port_io_row *r)
{
	uint64_t counted = difference(r->first_out, r->last_out);
	double share =
		coverage_share_of(&p->stream->coverage, KIND(DRIVER_OUTPUT) | KIND(DRIVER_OUTPUTV));

	for (int i = 0; i < NR_PORT_IO_CALLS; i++) {
		r->calls[i] = scaled(p, kind_of_call[i], r->calls[i]);
		r->bytes[i] = scaled(p, kind_of_call[i], r->bytes[i]);
	}
	r->busy = scaled(p, EVENT_PORT_BUSY, r->busy);
	r->bytes_out = r->bytes[PORT_IO_OUTPUT] + r->bytes[PORT_IO_OUTPUTV];
	if (share < 1 && r->port && counted != EVENT_UNKNOWN)
		r->bytes_out = counted;
}

void port_io_add(struct port_io_row *to, const struct port_io_row *r)
{
	uint64_t in = port_io_bytes_in(r);

	to->nr += r->port != 0;
	to->busy += r->busy;
	to->bytes_in += in == EVENT_UNKNOWN ? 0 : in;
	to->bytes_out += r->bytes_out;
	for (int i = 0; i < NR_PORT_IO_CALLS; i++) {
		to->calls[i] += r->calls[i];
		to->bytes[i] += r->bytes[i];
	}
}

size_t port_io_by_driver(const struct port_io_row *rows, size_t nr, struct port_io_row **out)
{
	VEC(struct port_io_row) sums = {0};

	for (size_t i = 0; i < nr; i++) {
		size_t k = 0;

		/* Linear, as a node has few drivers. */
		while (k < sums.len && sums.data[k].driver != rows[i].driver)
			k++;
		if (k == sums.len)
			vec_push(&sums, ((struct port_io_row){.driver = rows[i].driver}));
		port_io_add(&sums.data[k], &rows[i]);
	}
	*out = sums.data;
	return sums.len;
}
