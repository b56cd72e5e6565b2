/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of C++ functions as people write them: "_Z17beam_jit_call_nifP7process..." is
 * beam_jit_call_nif.  Of the Itanium C++ ABI's mangling, plain and nested names.
 */
#ifndef EBEAM_NAMES_CXX_NAME_H
#define EBEAM_NAMES_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* False, and an empty text: `symbol` is none, or has templates, operators or what else is not
 * taken apart, or the name is longer than the buffer. */
bool cxx_name(const char *symbol, char *out, size_t size);

#endif
