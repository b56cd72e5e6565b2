/* SPDX-License-Identifier: BSD-2-Clause */
/* What a node is called and how much of everything it has, as it stands now. */
#ifndef EBEAM_BEAM_FACTS_H
#define EBEAM_BEAM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "beam/node/node.h"

/* Facts that change, read now from the node's memory. */
struct beam_facts {
	char name[256]; /* "rabbit@host", "nonode@nohost" */
	uint32_t schedulers, dirty_cpu_schedulers, dirty_io_schedulers;
	uint32_t process_count, port_count, atom_count;
	bool has_uptime; /* a core file does not tell */
	uint64_t uptime_s;
};
int beam_node_facts(struct beam_node *n, struct beam_facts *out, struct error *err);

#endif
