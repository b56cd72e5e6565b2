/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * epmd, the Erlang port mapper of a node's host: the nodes that are registered with it.  ebeam
 * sends the request that any node may send (NAMES_REQ of the distribution protocol), and only if
 * the node is in the network namespace of ebeam, so that both reach the same epmd.
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
/* The same from the bytes of /proc/PID/environ: "NAME=VALUE", each ended by NUL. */
uint16_t epmd_port_parse(const char *environment, size_t size);

/* Parses an answer of epmd: its own port (4 bytes, skipped), then lines "name NAME at port N\n".
 * Appends to *out; returns how many names *out has. */
size_t epmd_names_parse(struct epmd_names *out, const char *answer, size_t size);

/* Asks the epmd of a process's host.  0; with err set: -ENETUNREACH (the process is in another
 * network namespace than ebeam), -ECONNREFUSED (no epmd is running), -ETIMEDOUT, -EPROTO and
 * others. */
int epmd_names_read(struct epmd_names *out, int os_pid, struct error *err);
void epmd_names_free(struct epmd_names *n);

#endif
