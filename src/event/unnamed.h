/* SPDX-License-Identifier: BSD-2-Clause */
/* A resolver without names, for callers that only count events and sum their numbers.  It
 * returns no processes, functions or texts, leaves such fields empty, and refuses samples.  So
 * nothing is read from the node, and the dictionary does not grow. */
#ifndef EBEAM_EVENT_UNNAMED_H
#define EBEAM_EVENT_UNNAMED_H

#include "names/resolver.h"

/* Stateless; the same one for all. */
struct resolver *unnamed_resolver(void);

#endif
