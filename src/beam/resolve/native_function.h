/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of C functions of a node: by symbols; of those without, by what the emulator imports, and
 * by a reference of its release (beam/otp/function_names.h). */
#ifndef EBEAM_BEAM_NATIVE_FUNCTION_H
#define EBEAM_BEAM_NATIVE_FUNCTION_H

#include "beam/node/node.h"
#include "target/objects.h"

/* The function at an address of the process.  One without a symbol is compared with the reference:
 * waits for that (0.4 s the first time) if `wait` is set; else it is named only if the comparison
 * has ended, and starts it.  0 or -ENOENT as objects_find(). */
int native_function(struct beam_node *n, raddr addr, bool wait, struct object_function *out);
/* Its name as it is shown, in `buf` or in *f: demangled, "beam.smp+0x1234" if it has none. */
const char *native_function_name(const struct object_function *f, char *buf, size_t size);

#endif
