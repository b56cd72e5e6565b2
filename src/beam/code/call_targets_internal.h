/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the parts of call_targets.h. */
#ifndef EBEAM_BEAM_CALL_TARGETS_INTERNAL_H
#define EBEAM_BEAM_CALL_TARGETS_INTERNAL_H

#include "beam/code/call_targets.h"
#include "beam/code/modules.h"

/* A row of the BIF table. */
struct bif_row {
	uint64_t module, function;
	uint32_t arity;
	raddr c_function;
	bool dirty, guard;
};

struct bif_rows {
	VEC(struct bif_row) v; /* by module, function, arity */
};

/* 0 or negative errno; malformed rows are skipped. */
int bif_rows_read(struct bif_rows *out, struct beam_node *n);
const struct bif_row *bif_rows_find(const struct bif_rows *rows, uint64_t module, uint64_t function,
				    uint32_t arity);
void bif_rows_free(struct bif_rows *rows);

/* True if the JIT inlines calls of this BIF, which then may not reach its C function. */
bool call_is_inlined(const char *module, const char *function, uint32_t arity, bool guard_bif);

/* Addresses of the code that the exports of one module, or of all modules, lead to; sorted. */
struct export_addresses {
	VEC(raddr) v;
};
/* module: atom, 0 = all modules.  0 or negative errno. */
int export_addresses_read(struct export_addresses *out, struct beam_node *n, uint64_t module);
bool export_addresses_has(const struct export_addresses *e, raddr entry);
/* The Export of each function in the active table, 0 = not exported; 0 or negative errno. */
int exports_find(struct beam_node *n, const struct call_target *const *targets, size_t nr,
		 raddr *out);

/* Both set err, with similar names that exist as a hint, and return -ENOENT. */
int call_targets_no_module(struct beam_node *n, const struct modules *modules, const char *module,
			   struct error *err);
/* `of` has all functions of the module. */
int call_targets_no_function(struct beam_node *n, const struct call_targets *of,
			     const struct call_query *query, struct error *err);

#endif
