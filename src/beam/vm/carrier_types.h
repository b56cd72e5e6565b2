/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of the types of blocks that the VM allocates (erts/emulator/beam/erl_alloc.types), by their
 * number in this build: erts_alc_n2td[], an array of pointers to texts that begins with
 * "invalid_type" and ends with NULL.  OTP 24 to 29; without a symbol (OTP 29) it is found by that.
 */
#ifndef EBEAM_BEAM_CARRIER_TYPES_H
#define EBEAM_BEAM_CARRIER_TYPES_H

#include "beam/node/node.h"

#define CARRIER_TYPES_MAX 1024 /* some 250 */
#define CARRIER_TYPE_SIZE 40   /* of a name with its NUL */

struct carrier_types {
	uint32_t nr;   /* with number 0, which is no type */
	uint32_t bits; /* that a number has in a tag */
	char (*names)[CARRIER_TYPE_SIZE];
};

/* ERROR_KIND_UNSUPPORTED: the table was not found. */
int carrier_types_read(struct carrier_types *out, struct beam_node *n, struct error *err);
void carrier_types_free(struct carrier_types *t);
/* "binary"; NULL: there is no such type. */
const char *carrier_type_name(const struct carrier_types *t, uint32_t type);

/* Finds the table in a copy of data: the address of its first pointer; 0 = none or several.
 * texts: a copy of the constants that it points to. */
raddr carrier_types_find(const uint8_t *data, size_t size, raddr addr, const uint8_t *texts,
			 size_t texts_size, raddr texts_addr);

#endif
