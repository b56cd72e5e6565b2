/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of this host. */
#ifndef EBEAM_BEAM_FIND_H
#define EBEAM_BEAM_FIND_H

#include "base/error.h"

/*
 * Finds the node that -p names: an os pid, a node name ("rabbit@host") or its first part, or
 * NULL if exactly one node runs.  Errors name the nodes that are there.  `how` nodes are opened to
 * read their names: enum beam_open of node_open.h.
 */
int beam_find(int *os_pid, const char *what, unsigned int how, struct error *err);
/* os pids of all nodes that can be seen, those too that may not be looked into (recognised by the
 * name of the process, as there is nothing else); malloc'ed; number or negative errno. */
int beam_list(int **out, struct error *err);

#endif
