/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A resolver that names nothing: for who counts events and adds up their numbers.  No process,
 * function or text comes out of it, fields that would be one are empty, and samples are refused.
 * So nothing of the node is read, and the dictionary stays as small as it is.
 */
#ifndef EBEAM_EVENT_UNNAMED_H
#define EBEAM_EVENT_UNNAMED_H

#include "names/resolver.h"

/* Has no state; one for all. */
struct resolver *unnamed_resolver(void);

#endif
