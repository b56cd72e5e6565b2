/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses function names in JIT records. */
#ifndef EBEAM_BEAM_JIT_NAME_H
#define EBEAM_BEAM_JIT_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "beam/code/jit.h"

/* "lists:map/2" -> texts of the atoms, without quotes, and the arity.  False if it is no name of a
 * function; *module and *name are then undefined. */
bool jit_name_parse(const struct jit_function *j, struct strbuf *module, struct strbuf *name,
		    int32_t *arity);

#endif
