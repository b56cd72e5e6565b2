/* SPDX-License-Identifier: BSD-2-Clause */
/* A resolver without names, for callers that only count events and sum their numbers.  It does not
 * resolve processes, functions and texts (their ids are 0), and refuses samples.  So nothing is
 * read from the node, and the dictionary does not grow. */
#ifndef EBEAM_EVENT_UNNAMED_H
#define EBEAM_EVENT_UNNAMED_H

#include "names/resolver.h"

/* Always returns the same resolver, which has no state and is not freed. */
struct resolver *unnamed_resolver(void);

#endif
