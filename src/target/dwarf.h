/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Struct layouts from DWARF (libdw): of the file itself; of its debug file, found by build id or
 * .gnu_debuglink under /usr/lib/debug, also below `root` (the root directory of the process); or
 * from debuginfod if the user has set DEBUGINFOD_URLS (not in the static program).
 */
#ifndef EBEAM_TARGET_DWARF_H
#define EBEAM_TARGET_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "target/elf.h"

struct dwarf_info;

/* -ENOENT with *err unchanged if no DWARF is found. `root` may be NULL. */
int dwarf_info_open(struct dwarf_info **out, const struct elf_file *e, const char *root,
		    struct error *err);
void dwarf_info_close(struct dwarf_info *d);
/* Source of the DWARF, for reports: "the executable", or a path. */
const char *dwarf_info_origin(const struct dwarf_info *d);

/* False in the static program, which asks no debuginfod server. */
bool dwarf_may_fetch(void);

/* `type` is "struct x", "union x" or a typedef name; `field` a dotted path through structs,
 * unions and anonymous members.  Offset or size in bytes; -ENOENT: no such type or field. */
int64_t dwarf_field_offset(struct dwarf_info *d, const char *type, const char *field);
int64_t dwarf_type_size(struct dwarf_info *d, const char *type);

#endif
