/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel addresses -> symbols, from /proc/kallsyms, read once; compact (a few MB at most). */
#ifndef EBEAM_TARGET_KALLSYMS_H
#define EBEAM_TARGET_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct kallsyms;

/* Parses text in the format of /proc/kallsyms; all-zero addresses (kptr_restrict) -> -EPERM. */
int kallsyms_parse(struct kallsyms **out, const char *text, size_t len, struct error *err);
int kallsyms_open(struct kallsyms **out, struct error *err);
void kallsyms_close(struct kallsyms *k);
/* Name of the function whose code holds addr; NULL if addr is below the first function, in data, or
 * behind the last one. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t addr);

#endif
