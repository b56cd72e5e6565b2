/* SPDX-License-Identifier: BSD-2-Clause */
/* Areas of literals: constants of a module's code, or one persistent term.  ErtsLiteralArea of
 * global.h, OTP 24 to 29. */
#ifndef EBEAM_BEAM_LITERALS_H
#define EBEAM_BEAM_LITERALS_H

#include "beam/node/node.h"

struct literal_area {
	raddr start, end; /* of its terms */
	raddr off_heap;	  /* the first of the list that beam/process/off_heap.h reads; 0 = none */
};

/* False: it cannot be read, or is none. */
bool literal_area_read(struct beam_node *n, raddr area, struct literal_area *out);
/* Address of the area of the code with that BeamCodeHeader; 0 = it has none. */
raddr literal_area_of_code(struct beam_node *n, raddr code);

#endif
