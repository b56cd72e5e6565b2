/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ports and drivers do: bytes in and out, calls of each callback, how often they were busy.
 * From the events of drivers, port_busy and port_open.
 *
 * Bytes out are those of driver_output and driver_outputv, or, if not all of these were seen, the
 * difference between two readings of the port's own counter.  Bytes in are always such a
 * difference, between the first and the last event that has the counter (driver_ready_input,
 * driver_control, driver_stop), or by values that the caller reads from the node
 * (port_io_started(), port_io_counted()).
 *
 * Counts are of events that were seen; the caller scales a copy of a row by port_io_scale().  The
 * table is bounded; row 0 is for further ports, and for events whose port is not known.
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

/* Kinds of events that port_io_take() counts. */
uint64_t port_io_kinds(void);

struct port_io_row {
	uint32_t port;	  /* string; 0 = not known, or beyond the limit */
	uint32_t driver;  /* string; 0 = not known */
	uint32_t name;	  /* string: name given to open_port/2; 0 = not seen */
	uint32_t process; /* owner, or last caller; 0 = none */
	uint32_t nr;	  /* ports that the row sums up */
	uint64_t calls[NR_PORT_IO_CALLS];
	uint64_t bytes[NR_PORT_IO_CALLS]; /* bytes passed to output, outputv, control, call */
	uint64_t busy;			  /* times that it became busy */
	/* The port's counters at the begin of the interval, and as last read; EVENT_UNKNOWN. */
	uint64_t first_in, last_in, first_out, last_out;
	uint64_t bytes_in;    /* in rows of several ports: sum of what is known */
	uint64_t bytes_out;   /* set by port_io_scale() */
	bool opened, stopped; /* in the interval */
};

struct port_io {
	struct event_stream *stream;
	VEC(struct port_io_row) rows; /* [0]: no port */
	struct idmap index;
	uint32_t max_rows; /* tests set a lower one */
};

void port_io_open(struct port_io *p, struct event_stream *stream);
void port_io_close(struct port_io *p);
/* Resets counts for the next interval; forgets ports that are gone. */
void port_io_restart(struct port_io *p);

void port_io_take(struct port_io *p, enum event_kind kind, const struct event *ev);

/* Counters of a port that were read from the node: as of the begin of the interval; as of now. */
void port_io_started(struct port_io_row *r, uint64_t in, uint64_t out);
void port_io_counted(struct port_io_row *r, uint64_t in, uint64_t out);

/* Bytes in; EVENT_UNKNOWN if a counter is not known. */
uint64_t port_io_bytes_in(const struct port_io_row *r);
uint64_t port_io_calls(const struct port_io_row *r); /* all of them */

/* True if there was any activity in the interval. */
bool port_io_is_active(const struct port_io_row *r);

/* Adds the counts of a row to a row for several ports. */
void port_io_add(struct port_io_row *to, const struct port_io_row *r);
/* Sums rows, after port_io_scale(), by driver; the new rows have port 0, are unordered, and
 * malloc'ed. */
size_t port_io_by_driver(const struct port_io_row *rows, size_t nr, struct port_io_row **out);

/* Bytes of a row after port_io_scale(). */
uint64_t port_io_bytes_out(const struct port_io_row *r);
uint64_t port_io_control_bytes(const struct port_io_row *r); /* control, call */

/* Scales the counts of a row to estimates of all events, if probes were off part of the time. */
void port_io_scale(const struct port_io *p, struct port_io_row *r);

#endif
