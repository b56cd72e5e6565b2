/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a node: a live process, or a core file. */
#ifndef EBEAM_BEAM_NODE_OPEN_H
#define EBEAM_BEAM_NODE_OPEN_H

#include <stdbool.h>

#include "base/error.h"
#include "beam/node/node.h"

/* How a node is opened: a set of bits. */
enum beam_open {
	/* Opens unsupported nodes, too: for list and doctor. */
	BEAM_OPEN_PARTIAL = 1 << 0,
	/* If there is no layout for the build, uses the nearest table that passes all checks. */
	BEAM_OPEN_TRY_LAYOUT = 1 << 1,
};

/*
 * Opens the process, identifies it, chooses the layout, finds the tables and runs the checks.
 *   ERROR_KIND_NO_NODE      no such process, or not a BEAM ("pid 4711 is 'java', not a BEAM node")
 *   ERROR_KIND_PRIVILEGE    its memory may not be read
 *   ERROR_KIND_UNSUPPORTED  release, flavour or build that ebeam has no layout for, or a check has
 *                           failed, which the text names.  With BEAM_OPEN_PARTIAL *out is still
 *                           filled (identity, checks), and 0 is returned.
 */
int beam_node_open(struct beam_node **out, int os_pid, unsigned int how, struct error *err);
/*
 * Opens a core file in the same way; exe: path of the executable that it is of, NULL = search it.
 *   ERROR_KIND_NO_NODE      a core of another program
 *   ERROR_KIND_FAILED       not a core file, or truncated so early that nothing can be read; or
 *                           its executable is not on this host
 */
int beam_node_open_core(struct beam_node **out, const char *core, const char *exe, unsigned int how,
			struct error *err);
void beam_node_close(struct beam_node *n);
/* Finds the anchors and runs the checks (checks.h) with n->layout; true if all pass. */
bool beam_node_fits(struct beam_node *n);

#endif
