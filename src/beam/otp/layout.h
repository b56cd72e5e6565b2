/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layout tables: one per OTP release and variant, a column of src/beam/otp/tables.h, which
 * tools/layoutgen generates from DWARF.  How to add a release: src/beam/otp/README.md.
 */
#ifndef EBEAM_BEAM_LAYOUT_H
#define EBEAM_BEAM_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/layout.h"

struct layout_table {
	int otp;	    /* release: 25 */
	bool vm_probes;	    /* built with USE_VM_PROBES */
	const char *name;   /* "otp25", "otp25-vmprobes" */
	const char *source; /* provenance: where the DWARF came from */
	struct beam_layout layout;
};

extern const struct layout_table *const layout_tables[]; /* ends with NULL */

/* The table of a release and variant; NULL if there is none. */
const struct layout_table *layout_table_find(int otp, bool vm_probes);
/* The `i`th nearest table, from 0; NULL past the last: first those of the same release, then by
 * distance in releases, the newer one of two equally near; in each release this variant first. */
const struct layout_table *layout_table_near(int otp, bool vm_probes, unsigned int i);
/* True if a table of the release is known. */
bool layout_knows(int otp);
/* Changes the layout to that of the same build without native stack: its struct process has no
 * frame_pointer, and later fields are 8 bytes earlier (erl_process.h, OTP 25 to 29). */
void layout_drop_frame_pointer(struct beam_layout *l);
/* Marks the fields of struct ErtsSchedulerRegisters as absent: ebeam reads them only of the JIT,
 * and the interpreter has other registers (OTP 24 to 29). */
void layout_drop_jit(struct beam_layout *l);
/* For tests: hides the tables of a release from the functions above.  One table must be left. */
void layout_forget(int otp);

/* Description of the members of struct beam_layout, in order; for layoutgen and doctor. */
struct layout_member {
	const char *member; /* name in struct beam_layout */
	const char *type;   /* type in the VM */
	const char *field;  /* field path; NULL = size of the type */
	uint32_t offset;    /* offsetof in struct beam_layout */
};
extern const struct layout_member layout_members[];
extern const unsigned int nr_layout_members;

/* Address of a member's value; like strchr() it drops const, which *l may still be. */
static inline int32_t *layout_at(const struct beam_layout *l, const struct layout_member *m)
{
	return (int32_t *)((char *)l + m->offset);
}

#endif
