/* SPDX-License-Identifier: BSD-2-Clause */
/* The current name of a node, and its numbers of schedulers, processes, ports and atoms. */
#ifndef EBEAM_BEAM_FACTS_H
#define EBEAM_BEAM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "beam/node/node.h"

/* Facts that change; read from the node's memory. */
struct beam_facts {
	char name[256]; /* "rabbit@host", "nonode@nohost" */
	uint32_t schedulers, dirty_cpu_schedulers, dirty_io_schedulers;
	uint32_t process_count, port_count, atom_count;
	bool has_uptime; /* false for a core file */
	uint64_t uptime_s;
};
int beam_node_facts(struct beam_node *n, struct beam_facts *out, struct error *err);

#endif
