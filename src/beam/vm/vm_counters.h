/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters that are static variables of the VM in every release, so that no symbol names them:
 * found in the code that uses them, when somebody first asks for them.
 */
#ifndef EBEAM_BEAM_VM_COUNTERS_H
#define EBEAM_BEAM_VM_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

#define BEAM_ETS_LIMIT_MIN 8192 /* DB_DEF_MAX_TABS of erl_db.h, OTP 25 to 29 */

/* Fills n->anchors.dirty_gc and ets_limit; nothing if that was tried before. */
void vm_counters_find(struct beam_node *n);

/* Code of the executable, and where its variables are, as addresses of the process. */
struct vm_code {
	const uint8_t *bytes;
	size_t size;
	raddr addr;
	raddr data, data_end;
};

/* The searches; 0 = not found, or not the only one.  They know the processor: vm_counters_*.c. */
/* The ErtsGCInfo of all dirty schedulers together, in erl_gc.c. */
raddr vm_code_find_dirty_gc(const struct vm_code *t, const struct beam_layout *l);
/* db_max_tabs (int) of erl_db.c. */
raddr vm_code_find_ets_limit(const struct vm_code *t);

#endif
