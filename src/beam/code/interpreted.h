/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of the interpreter (emu flavour), for which there is no list of JIT code: the module tables
 * have each module's BeamCodeHeader, which has its functions (beam_code.h, OTP 24 to 29).
 */
#ifndef EBEAM_BEAM_INTERPRETED_H
#define EBEAM_BEAM_INTERPRETED_H

#include <stdint.h>

#include "base/error.h"
#include "beam/node/node.h"

/* Passes one module's code, current or old, as a JIT record of OTP 25 to 29, but without lines
 * (code_lines.h): malloc'ed, owned by `take` from then on.  `entry` is the address of the code. */
typedef void interpreted_fn(void *arg, raddr entry, uint8_t *bytes, uint32_t size);
int interpreted_records(const struct beam_node *n, interpreted_fn *take, void *arg,
			struct error *err);

#endif
