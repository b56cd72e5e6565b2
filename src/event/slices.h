/* SPDX-License-Identifier: BSD-2-Clause */
/* Has a process left its scheduler since it was last heard of?  Of calls (CALL_SAME_SLICE). */
#ifndef EBEAM_EVENT_SLICES_H
#define EBEAM_EVENT_SLICES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/keytab.h"

#define SLICES_MAX 65536u /* processes; with more all are forgotten, which then may have left */

struct slices {
	struct keytab processes;
};

void slices_open(struct slices *s);
void slices_close(struct slices *s);
/* The next record of a process, made in that slice (rec_raw_call.slice): true if the one before it
 * is known to have been made in the same. */
bool slices_same(struct slices *s, uint64_t epid, uint64_t slice);

#endif
