/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that implement ports.h. */
#ifndef EBEAM_BEAM_PORTS_INTERNAL_H
#define EBEAM_BEAM_PORTS_INTERNAL_H

#include "beam/vm/ports.h"

/* State of a port while it is read. */
struct port_job {
	struct port_facts facts;
	raddr name, driver, reg, linebuf;
	uint64_t drv_data, data;
	raddr links, monitors, lt_monitors, suspended;
	bool gone, cut;
};

/* Reads links, monitors and waiting processes of ports; sets facts.torn if they are
 * inconsistent. */
void ports_read_refs(struct beam_node *n, struct port_list *l, struct port_job *jobs, size_t nr);
/* Reads the descriptors that the ports' drivers have. */
void ports_read_fds(struct beam_node *n, struct port_job *jobs, size_t nr);

#endif
