/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters in static variables of the VM, which have no symbol in any release: found through the
 * code that uses them, when first needed.
 */
#ifndef EBEAM_BEAM_VM_COUNTERS_H
#define EBEAM_BEAM_VM_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

#define BEAM_ETS_LIMIT_MIN 8192 /* DB_DEF_MAX_TABS of erl_db.h, OTP 25 to 29 */

/* Sets n->anchors.dirty_gc and ets_limit; does nothing in later calls. */
void vm_counters_find(struct beam_node *n);

/* Code of the executable, and the range of its variables, as addresses in the process. */
struct vm_code {
	const uint8_t *bytes;
	size_t size;
	raddr addr;
	raddr data, data_end;
};

/* The searches; 0 = not found, or ambiguous.  They depend on the processor: vm_counters_*.c. */
/* The ErtsGCInfo of all dirty schedulers, in erl_gc.c. */
raddr vm_code_find_dirty_gc(const struct vm_code *t, const struct beam_layout *l);
/* db_max_tabs (int) of erl_db.c. */
raddr vm_code_find_ets_limit(const struct vm_code *t);

#endif
