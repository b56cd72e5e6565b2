/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that implement ports.h share among themselves. */
#ifndef EBEAM_BEAM_PORTS_INTERNAL_H
#define EBEAM_BEAM_PORTS_INTERNAL_H

#include "beam/vm/ports.h"

/* One port while it is read. */
struct port_job {
	struct port_facts facts;
	raddr name, driver, reg, linebuf;
	uint64_t drv_data, data;
	raddr links, monitors, lt_monitors, suspended;
	bool gone, cut;
};

/* Links, monitors and waiting processes of many ports; sets facts.torn where something did not
 * fit. */
void ports_read_refs(struct beam_node *n, struct port_list *l, struct port_job *jobs, size_t nr);
/* Descriptors that their drivers hold. */
void ports_read_fds(struct beam_node *n, struct port_job *jobs, size_t nr);

#endif
