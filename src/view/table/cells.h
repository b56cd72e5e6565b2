/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers with their units, as cells of tables and words of lines. */
#ifndef EBEAM_VIEW_CELLS_H
#define EBEAM_VIEW_CELLS_H

#include <stdint.h>

#include "base/strbuf.h"

void cell_count(struct strbuf *out, uint64_t n);   /* "12,345" */
void cell_rate(struct strbuf *out, double rate);   /* per second: "12,345", "0.3" */
void cell_bytes(struct strbuf *out, double bytes); /* "1.2 MiB" */
/* Growth, as `cell` writes what is not negative: "-1.2 MiB"; nothing if it is NAN. */
void cell_growth(struct strbuf *out, double growth, void (*cell)(struct strbuf *out, double n));
void cell_ns(struct strbuf *out, double ns); /* "12.3 us" */

/* n, or NAN if n is UINT64_MAX, which means that a value is not known (EVENT_UNKNOWN and
 * others). */
double cell_known(uint64_t n);
/* For qsort(3): largest numbers first, NAN (not known) last. */
int cell_by_number(double a, double b);

#endif
