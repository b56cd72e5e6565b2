/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Demangles names of C++ functions: "_Z17beam_jit_call_nifP7process..." is beam_jit_call_nif.
 * Supports plain and nested names of the Itanium C++ ABI.
 */
#ifndef EBEAM_NAMES_CXX_NAME_H
#define EBEAM_NAMES_CXX_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* False, with an empty text: `symbol` is not mangled, or has templates, operators or other
 * unsupported parts, or the name is longer than the buffer. */
bool cxx_name(const char *symbol, char *out, size_t size);

#endif
