/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON object around the data of every command:
 *   {"schema", "tool", "version", "command", "node", "time", "data", "warnings", "counters"}
 *
 * Memory that runs out, or text that jansson refuses, shows up once, in envelope_write().
 */
#ifndef EBEAM_CMD_ENVELOPE_H
#define EBEAM_CMD_ENVELOPE_H

#include <stdio.h>

#include <jansson.h>

#include "base/error.h"

#define ENVELOPE_SCHEMA 1

struct envelope_node {
	int os_pid;
	const char *name; /* of all: NULL = unknown */
	const char *otp;
	const char *erts;
	const char *flavor;
	const char *untested; /* NULL also: the release is known */
};

/* `node` may be NULL (no node, or several in the data).  Takes over `data`. */
json_t *envelope_new(const char *command, const struct envelope_node *node, json_t *data);

void envelope_warn(json_t *envelope, const char *text);

/* Any bytes as a JSON string (what is not UTF-8 becomes U+FFFD); NULL as null. */
json_t *envelope_string(const char *text);

/* Writes and frees.  Indented, ends with a newline. */
int envelope_write(FILE *f, json_t *envelope, struct error *err);

#endif
