/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of the interpreter (emu flavour).  It has no list of JIT code: the module tables lead to
 * each module's BeamCodeHeader, and that to its functions (beam_code.h, OTP 24 to 29).
 */
#ifndef EBEAM_BEAM_INTERPRETED_H
#define EBEAM_BEAM_INTERPRETED_H

#include <stdint.h>

#include "base/error.h"
#include "beam/node/node.h"

/* One module's code, current or old, as the JIT of OTP 25 to 29 would have written its record, but
 * without lines (code_lines.h): malloc'ed, which `take` takes over.  `entry` is the code's own
 * address. */
typedef void interpreted_fn(void *arg, raddr entry, uint8_t *bytes, uint32_t size);
int interpreted_records(const struct beam_node *n, interpreted_fn *take, void *arg,
			struct error *err);

#endif
