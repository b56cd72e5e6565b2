/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for the slices in which processes made calls (rec_call.slice): small ones. */
#ifndef EBEAM_EVENT_SLICES_H
#define EBEAM_EVENT_SLICES_H

#include <stdint.h>

#include "base/keytab.h"

#define SLICES_BITS 24u
#define SLICES_MAX  65536u /* processes; with more all are forgotten, and are in new slices */

struct slices {
	struct keytab processes;
	uint32_t last; /* number that was given out */
};

void slices_open(struct slices *s);
void slices_close(struct slices *s);
/* The next record of a process, made in that slice (rec_raw_call.slice): the number of that, the
 * same for records that follow in it, and no other's for long.  0 = the slice is not known. */
uint32_t slices_number(struct slices *s, uint64_t epid, uint64_t slice);

#endif
