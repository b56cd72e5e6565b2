/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of distinct strings in order of first use; entry 0 is "".  Borrows the strings. */
#ifndef EBEAM_EXPORT_STRTAB_H
#define EBEAM_EXPORT_STRTAB_H

#include <stdint.h>

#include "base/idmap.h"
#include "base/vec.h"

struct strtab {
	VEC(char *) strings; /* not const, because protobuf-c wants that; never written to */
	struct idmap ids;
};

void strtab_init(struct strtab *t);
void strtab_free(struct strtab *t);
uint32_t strtab_id(struct strtab *t, const char *text); /* NULL is "" */

#endif
