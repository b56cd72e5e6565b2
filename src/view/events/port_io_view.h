/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer of `ebeam port --io`: bytes, calls and busy times, by port and by driver. */
#ifndef EBEAM_VIEW_PORT_IO_H
#define EBEAM_VIEW_PORT_IO_H

#include "model/stats/port_io_calls.h"
#include "view/table/answer_view.h"

/* Sums of a port, of a driver's ports, or of all ports.  Estimates, if not all events were seen. */
struct port_io_shown {
	const char *port, *driver, *name, *pid, *owner; /* NULL = not known */
	uint32_t ports;
	uint64_t in, out; /* bytes; `in` UINT64_MAX = not known */
	double in_per_s, out_per_s;
	uint64_t control_bytes, calls, busy;
	uint64_t callbacks[NR_PORT_IO_CALLS];
	bool opened, stopped; /* in the interval */
};

struct port_io_answer {
	uint64_t span_ns;
	double share_seen; /* coverage of the event kind with the lowest one, 0 .. 1 */
	struct port_io_shown all;
	struct port_io_shown *ports, *drivers; /* most bytes first */
	size_t nr_ports, nr_drivers;
};

extern const struct table_column port_io_columns[]; /* of ports */
extern const struct answer_view port_io_view;	    /* of struct port_io_answer */

#endif
