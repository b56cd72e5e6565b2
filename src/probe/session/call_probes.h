/* SPDX-License-Identifier: BSD-2-Clause */
/* Uprobes on C functions that Erlang code calls, BIFs and NIFs: any number of them, each at the
 * cheapest site in the function that is proven (placement.h). */
#ifndef EBEAM_PROBE_CALL_PROBES_H
#define EBEAM_PROBE_CALL_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "probe/session/session.h"

struct call_probe {
	const char *path;	    /* by which ebeam can open the file, in any mount namespace */
	const struct elf_file *elf; /* the same file */
	uint64_t addr;		    /* virtual address of the function in the ELF file */
	const char *name;	    /* for errors */
	uint32_t point;		    /* number of the function */
	bool nif;
	bool returns; /* with a probe of its return */
};

struct call_probes;

void call_probes_open(struct call_probes **out, const struct call_programs *programs);
void call_probes_close(struct call_probes *p); /* NULL ok; after session_stop() */
/* Conditions for calls of a function to be reported.  ERROR_KIND_FAILED. */
int call_probes_filter(struct call_probes *p, uint32_t point, const struct call_filter *filter,
		       struct error *err);
/* ERROR_KIND_KERNEL, ERROR_KIND_PRIVILEGE; ERROR_KIND_UNSUPPORTED: the function has no proven
 * site. */
int call_probes_add(struct call_probes *p, const struct call_probe *probe, struct error *err);
/* All points added so far, for session_add_calls(); borrowed, valid until call_probes_close(). */
const struct source_point *call_probes_points(const struct call_probes *p, unsigned int *nr);

#endif
