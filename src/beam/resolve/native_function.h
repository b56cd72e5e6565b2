/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C functions of a node: by symbols; of those without, by what the emulator imports, and
 * by references of its release and of libraries (target/function_names.h). */
#ifndef EBEAM_BEAM_NATIVE_FUNCTION_H
#define EBEAM_BEAM_NATIVE_FUNCTION_H

#include "beam/node/node.h"
#include "target/objects.h"

/* Starts to compare the emulator, and the libraries that are loaded, with references, in a
 * thread: function_names_pending(n->function_names). */
void native_names_start(struct beam_node *n);
/* The function at an address of the process.  One without a symbol is compared with references:
 * waits for that (0.5 s the first time) if `wait` is set; else it is named only if the comparison
 * has ended, and starts it.  0 or -ENOENT as objects_find(). */
int native_function(struct beam_node *n, raddr addr, bool wait, struct object_function *out);
/* Its name as it is shown, in `buf` or in *f: demangled, "beam.smp+0x1234" if it has none. */
const char *native_function_name(const struct object_function *f, char *buf, size_t size);

#endif
