/* SPDX-License-Identifier: BSD-2-Clause */
/* What the checks share: a sample of processes, and how a verdict is written.  For checks*.c
 * only. */
#ifndef EBEAM_BEAM_CHECKS_INTERNAL_H
#define EBEAM_BEAM_CHECKS_INTERNAL_H

#include "beam/locate/anchors.h"
#include "beam/node/node.h"

#define CHECK_SAMPLE 64	  /* processes, or ports */
#define CHECK_SLOTS  1024 /* slots of a table read at once */

struct check_sample {
	struct anchor_space space; /* mem, maps and layout only */
	size_t nr;		   /* processes */
	raddr addrs[CHECK_SAMPLE];
	uint8_t *bytes; /* their structs, one after the other */
	uint32_t atoms; /* entries of the atom table */
};

struct check_run {
	struct beam_node *n;
	const struct beam_layout *l;
	struct check_sample s;
	char *seen; /* of the check that runs */
};

/* Says what was seen; returns ok. */
bool check_see(struct check_run *c, bool ok, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* `good` of `nr` sampled things are as they should be.  One in eight may be caught in motion; where
 * there is nothing to look at, nothing is wrong. */
bool check_mostly(struct check_run *c, size_t good, size_t nr, const char *what);

bool check_is_atom(const struct check_run *c, uint64_t term);
/* Readable struct ErtsCodeMFA with two atoms and an arity; *mfa (module, function, arity) is
 * filled. */
bool check_read_mfa(const struct check_run *c, raddr addr, uint64_t mfa[3]);
bool check_is_mfa(const struct check_run *c, const uint64_t mfa[3]);
bool check_null_or_pointer(const struct check_run *c, raddr addr);

/* Fields of the i-th process of the sample. */
uint64_t check_u64(const struct check_run *c, size_t i, int32_t offset);
uint32_t check_u32(const struct check_run *c, size_t i, int32_t offset);
/* It runs, is collected or exits: what it holds is on its way. */
bool check_is_busy(const struct check_run *c, size_t i);

/* The first entries of the fullest of three IndexTables, at most `max`; returns how many. */
size_t check_index_entries(const struct check_run *c, raddr tables, raddr *entries, size_t max);

/* checks_process.c */
bool check_process_table(struct check_run *c);
bool check_process_size(struct check_run *c);
bool check_process_count(struct check_run *c);
bool check_ids(struct check_run *c);
bool check_numbers(struct check_run *c);
bool check_init(struct check_run *c);
bool check_trap_exit(struct check_run *c);
bool check_registered(struct check_run *c);
bool check_states(struct check_run *c);
bool check_heaps(struct check_run *c);
bool check_initial_calls(struct check_run *c);
bool check_current(struct check_run *c);
bool check_continuations(struct check_run *c);
bool check_leaders(struct check_run *c);
bool check_dictionaries(struct check_run *c);
bool check_descheduled(struct check_run *c);

/* checks_vm.c */
bool check_atoms(struct check_run *c);
bool check_schedulers(struct check_run *c);
bool check_scheduler_threads(struct check_run *c);
bool check_jit_descriptor(struct check_run *c);
bool check_modules(struct check_run *c);
bool check_exports(struct check_run *c);
bool check_bifs(struct check_run *c);
bool check_ports(struct check_run *c);
bool check_this_node(struct check_run *c);

/* checks_fields.c */
bool check_queues(struct check_run *c);
bool check_old_heaps(struct check_run *c);
bool check_heap_limits(struct check_run *c);
bool check_sums(struct check_run *c);
bool check_run_queues(struct check_run *c);
bool check_links(struct check_run *c);
bool check_monitors(struct check_run *c);
bool check_port_fields(struct check_run *c);
bool check_ets(struct check_run *c);
bool check_code_headers(struct check_run *c);

#endif
