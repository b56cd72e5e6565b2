/* SPDX-License-Identifier: BSD-2-Clause */
/* The nodes of this host. */
#ifndef EBEAM_BEAM_FIND_H
#define EBEAM_BEAM_FIND_H

#include "base/error.h"

/*
 * Finds the node that -p names: an os pid, a node name ("rabbit@host") or the part before the @;
 * NULL: the only node that runs.  Errors list the nodes that run.  how: bits of enum beam_open
 * (node_open.h) with which nodes are opened to read their names.
 */
int beam_find(int *os_pid, const char *what, unsigned int how, struct error *err);
/* os pids of all visible nodes; malloc'ed; their number or negative errno.  Processes whose
 * executable may not be read are recognised by their name. */
int beam_list(int **out, struct error *err);

#endif
