/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Erlang port mapper of a node's host: which nodes are registered there.  It is asked as any
 * node would ask it (NAMES_REQ of the distribution protocol), and only if the process sees the same
 * network as we do.
 */
#ifndef EBEAM_TARGET_EPMD_H
#define EBEAM_TARGET_EPMD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define EPMD_DEFAULT_PORT 4369
#define EPMD_TIMEOUT_MS	  500
#define EPMD_NAMES_MAX	  10000

struct epmd_name {
	char name[256]; /* name of the node without its host */
	uint16_t port;
};

struct epmd_names {
	struct epmd_name *data;
	size_t len;
	uint16_t port; /* of epmd itself */
};

/* Port of epmd from a process's environment (ERL_EPMD_PORT), else the default. */
uint16_t epmd_port(int os_pid);
/* The same from the text of an environment. */
uint16_t epmd_port_parse(const char *environment, size_t size);

/* Parses a port of four bytes, then lines "name NAME at port N\n".  Returns how many names. */
size_t epmd_names_parse(struct epmd_names *out, const char *answer, size_t size);

/* Asks the epmd in the network of a process.  -ENETUNREACH: that network is not ours;
 * -ECONNREFUSED: no epmd runs there; -ETIMEDOUT, -EPROTO.  err is filled. */
int epmd_names_read(struct epmd_names *out, int os_pid, struct error *err);
void epmd_names_free(struct epmd_names *n);

#endif
