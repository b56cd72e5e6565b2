/* SPDX-License-Identifier: BSD-2-Clause */
/* Short numbers for the time slices in which processes made calls (rec_call.slice). */
#ifndef EBEAM_EVENT_SLICES_H
#define EBEAM_EVENT_SLICES_H

#include <stdint.h>

#include "base/keytab.h"

#define SLICES_BITS 24u
#define SLICES_MAX  65536u /* processes; before one more is added, all are forgotten */

struct slices {
	struct keytab processes;
	uint32_t last; /* last number that was used */
};

void slices_open(struct slices *s);
void slices_close(struct slices *s);
/* Number of the time slice rec_raw_call.slice of a process: the same for all its calls in one
 * slice, and reused only after all other numbers. 0 = the slice is not known. */
uint32_t slices_number(struct slices *s, uint64_t epid, uint64_t slice);

#endif
