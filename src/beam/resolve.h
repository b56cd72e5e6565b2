/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver over a live node: raw samples -> named frames, kind, process, thread.
 * Implements names/resolver.h.  Borrows the node and the dictionary that its calls get; owns the
 * code index, the call sites and its caches.
 */
#ifndef EBEAM_BEAM_RESOLVE_H
#define EBEAM_BEAM_RESOLVE_H

#include "beam/jit.h"
#include "beam/node.h"
#include "names/resolver.h"

struct beam_resolver;

int beam_resolver_open(struct beam_resolver **out, struct beam_node *n, struct error *err);
void beam_resolver_close(struct beam_resolver *r);
struct resolver *beam_resolver(struct beam_resolver *r);

/* Read the code that is loaded now.  Call it after the code probe is in place. */
int beam_resolver_sync(struct beam_resolver *r, struct error *err);
const struct jit_code *beam_resolver_jit(const struct beam_resolver *r);

/* The mappings that hold JIT code, and the block of shared fragments, for the probes; at most
 * max ranges; returns their number. */
unsigned int beam_resolver_code_ranges(struct beam_resolver *r, struct address_range *ranges,
				       unsigned int max, struct address_range *fragments);
/* True once after code appeared outside those ranges: the probes must be told again. */
bool beam_resolver_ranges_changed(struct beam_resolver *r);

/* Id in `names` of a thread of the node that no sample has shown. */
uint32_t beam_resolver_thread(struct beam_resolver *r, struct names *names, int os_tid);

#endif
