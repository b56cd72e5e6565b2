/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The resolver over a live node: raw samples -> named frames, kind, process, thread.  Implements
 * names/resolver.h.  Borrows the node and the `names` that its calls get; owns the code index, the
 * call sites and its caches.
 */
#ifndef EBEAM_BEAM_RESOLVE_H
#define EBEAM_BEAM_RESOLVE_H

#include "beam/code/jit.h"
#include "beam/node/node.h"
#include "beam/process/process.h"
#include "beam/process/stack.h"
#include "beam/term/term.h"
#include "names/resolver.h"

struct beam_resolver;

int beam_resolver_open(struct beam_resolver **out, struct beam_node *n, struct error *err);
void beam_resolver_close(struct beam_resolver *r);
struct resolver *beam_resolver(struct beam_resolver *r);

/* Reads the code that is loaded now.  Call it after the code probe is attached. */
int beam_resolver_sync(struct beam_resolver *r, struct error *err);
const struct jit_code *beam_resolver_jit(const struct beam_resolver *r);

/* Bytes from the start of a thread's stack to its thread pointer; 0 = unknown.  They are the same
 * for all threads that the C library has created, except for the main thread. */
uint64_t beam_resolver_thread_data(struct beam_resolver *r, raddr thread_pointer);
/* For the probes: the mappings with JIT code, and the block of shared fragments.  Returns the
 * number of ranges, at most max. */
unsigned int beam_resolver_code_ranges(struct beam_resolver *r, struct address_range *ranges,
				       unsigned int max, struct address_range *fragments);
/* True if code was loaded outside of the ranges that beam_resolver_code_ranges() returned last: the
 * probes must be configured again. */
bool beam_resolver_ranges_changed(struct beam_resolver *r);

/*
 * Functions whose calls are traced; rec_raw_call.point is an index into them.  `accept`, if not
 * NULL, decides by the arguments, read through `reader`, whether a call is wanted.  The array is
 * borrowed until beam_resolver_watch_calls() is called again.
 */
struct call_function {
	uint64_t mfa[3]; /* atoms, arity */
	enum frame_kind kind;
	bool (*accept)(void *ctx, struct term_reader *reader, const uint64_t *args, uint32_t nr);
	/* Will a probe see the end of a call that returns to `site`?  NULL: never. */
	bool (*ends)(void *ctx, uint64_t site, uint64_t ts_ns);
	void *ctx;
};
/* `text`: limit of bytes of one term, after which no further element is begun.  `shapes`: add the
 * shape of the arguments (message_shape.h). */
void beam_resolver_watch_calls(struct beam_resolver *r, const struct call_function *functions,
			       unsigned int nr, unsigned int text, bool shapes);

/* Resolves a stack that was read from memory: frames, process and status of *out.  Shows recursion
 * once, as process_info(P, current_stacktrace). */
void beam_resolver_stack(struct beam_resolver *r, struct names *names, uint64_t epid,
			 const struct process_stack *s, struct resolved_sample *out);
/* Sets the names of a process from facts with PROCESS_READ_DICTIONARY. */
void beam_resolver_process(struct beam_resolver *r, struct names *names,
			   const struct process_facts *p);

/* Id in `names` of a thread of the node, whether or not it was sampled. */
uint32_t beam_resolver_thread(struct beam_resolver *r, struct names *names, int os_tid);

#endif
