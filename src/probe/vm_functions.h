/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C functions of the VM whose calls are its events, by exported name, OTP 25 to 28 (29 exports
 * none of them): which arguments tell the event, and whether the return value does.
 */
#ifndef EBEAM_PROBE_VM_FUNCTIONS_H
#define EBEAM_PROBE_VM_FUNCTIONS_H

#include "probe/placement.h"

struct vm_function {
	const char *name;
	unsigned int args; /* PLACEMENT_* */
	bool returns;	   /* the return value is needed too */
};

extern const struct vm_function vm_functions[];
extern const unsigned int nr_vm_functions;

/* How many of them a file has, and what a uprobe on them costs there. */
struct vm_places {
	unsigned int found, emulated, stepped, refused;
	char stepped_names[160]; /* "erts_a, erts_b"; both lists may be cut */
	char refused_names[512]; /* with their reasons: "erts_a (why); erts_b (why)" */
};
void vm_functions_place(struct vm_places *out, const struct elf_file *elf);

#endif
