/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ports and drivers do: bytes in and out, calls of each callback, how often they were busy.
 * From the events of drivers, port_busy and port_open.
 *
 * Bytes out are those of driver_output and driver_outputv, or, if not all of these were seen, the
 * difference of what the node says that the port has counted.  Bytes in always are such a
 * difference: of before the first and as of the last event that tells (driver_ready_input,
 * driver_control, driver_stop), or as whoever can ask the node says (port_io_started(),
 * port_io_counted()).
 *
 * Counts are of what was seen; who shows them scales a copy by port_io_scale().  The table is
 * bounded; what does not fit is counted under row 0, as is what no port is known of.
 */
#ifndef EBEAM_MODEL_PORT_IO_H
#define EBEAM_MODEL_PORT_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"
#include "model/stats/port_io_calls.h"
#include "model/stream/event_stream.h"

#define PORT_IO_MAX 65536u

/* Kinds that this is made of. */
uint64_t port_io_kinds(void);

struct port_io_row {
	uint32_t port;	  /* string; 0 = not known, or what did not fit */
	uint32_t driver;  /* string; 0 = not known */
	uint32_t name;	  /* string: what it was opened with; 0 = not seen */
	uint32_t process; /* owner, or who called last; 0 = none */
	uint32_t nr;	  /* ports in this row */
	uint64_t calls[NR_PORT_IO_CALLS];
	uint64_t bytes[NR_PORT_IO_CALLS]; /* given with them: output, outputv, control, call */
	uint64_t busy;			  /* times that it became busy */
	/* Counted when the interval began, and last; EVENT_UNKNOWN. */
	uint64_t first_in, last_in, first_out, last_out;
	uint64_t bytes_in;    /* rows of several ports: the sum of what is known */
	uint64_t bytes_out;   /* set by port_io_scale() */
	bool opened, stopped; /* in the interval */
};

struct port_io {
	struct event_stream *stream;
	VEC(struct port_io_row) rows; /* [0]: no port */
	struct idmap index;
	uint32_t max_rows; /* tests lower it */
};

void port_io_open(struct port_io *p, struct event_stream *stream);
void port_io_close(struct port_io *p);
/* Counts begin at 0 again; ports that are gone are forgotten. */
void port_io_restart(struct port_io *p);

void port_io_take(struct port_io *p, enum event_kind kind, const struct event *ev);

/* What the node says: a port had counted so much when the interval began; and now. */
void port_io_started(struct port_io_row *r, uint64_t in, uint64_t out);
void port_io_counted(struct port_io_row *r, uint64_t in, uint64_t out);

/* EVENT_UNKNOWN if it is not known. */
uint64_t port_io_bytes_in(const struct port_io_row *r);
uint64_t port_io_calls(const struct port_io_row *r); /* all of them */

/* Anything happened in the interval. */
bool port_io_is_active(const struct port_io_row *r);

/* Adds what a row has counted to one of several ports. */
void port_io_add(struct port_io_row *to, const struct port_io_row *r);
/* One row for each driver of rows that port_io_scale() has seen; port 0, in no order; malloc'ed. */
size_t port_io_by_driver(const struct port_io_row *rows, size_t nr, struct port_io_row **out);

/* Of a row that port_io_scale() has seen. */
uint64_t port_io_bytes_out(const struct port_io_row *r);
uint64_t port_io_control_bytes(const struct port_io_row *r); /* control, call */

/* From what was seen to an estimate of all: where probes were off for a part of the time. */
void port_io_scale(const struct port_io *p, struct port_io_row *r);

#endif
