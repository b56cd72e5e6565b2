/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A resolver over a node that does not run (fakenode.h), whose native side is the test program
 * itself: JIT code lies in a mapping that the test made, C functions are those of the test.
 * Raw samples and processes are put together word by word; results are written as text.
 */
#ifndef EBEAM_TESTS_RESOLVEFIX_H
#define EBEAM_TESTS_RESOLVEFIX_H

#include "beam/resolve/resolve_internal.h"
#include "lib/fakenode.h"

#define FIX_MAPPING_SIZE 0x10000u

/* Offsets of code in the mapping. */
#define FIX_FRAGMENTS 0x0000u /* "global": one fragment each 0x100 bytes, see fix_fragment() */
#define FIX_BEAMASM   0x1000u /* normal_exit/0: preamble 0x10..0x20, code 0x20..0x40 */
#define FIX_LISTS     0x2000u /* a/1, b/2, ... 'k'/11: 0x100 each, of that a preamble of 0x10 */
#define FIX_UNKNOWN   0x8000u /* from here on: no code */

struct fix {
	struct fakenode *f;
	struct beam_resolver *r;
	struct names *names;
	void *mapping;
	raddr base; /* of the mapping */
	raddr normal_exit;
};

struct fix *fix_open(int otp);
void fix_close(struct fix *x);

raddr fix_fragment(const struct fix *x, const char *name); /* start of a shared fragment */
/* A return address into the nth function of lists (0 = a/1) at its line `line` (0, 1 or 2). */
raddr fix_return(const struct fix *x, unsigned int nth, unsigned int line);
/* More code, reported to the resolver as the code probe would. */
void fix_load(struct fix *x, raddr entry, struct jitrec *r);

/* ---- raw samples ----------------------------------------------------------------------------- */
#define FIX_MAX_ADDRS (EBEAM_KERNEL_FRAMES + EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES)
union fix_sample {
	struct rec_raw_sample rec;
	uint64_t words[sizeof(struct rec_raw_sample) / 8 + FIX_MAX_ADDRS];
};

/* Of a normal scheduler that runs a process in JIT code, without frames. */
void fix_sample(const struct fix *x, union fix_sample *s);
/* Kernel frames first, then leaf, then root ones. */
void fix_kernel(union fix_sample *s, uint64_t addr);
void fix_leaf(union fix_sample *s, uint64_t addr);
void fix_root(union fix_sample *s, uint64_t addr);

int fix_resolve(struct fix *x, const union fix_sample *s, struct resolved_sample *out);
/*
 * Resolves, and compares frames, root first: names as names_format_function() gives them, joined by
 * "; ", those that are not Erlang with their kind before them: "bif erlang:send/2", "kernel f".
 */
void fix_assert(struct fix *x, const union fix_sample *s, const char *frames, enum sample_kind kind,
		enum sample_status status);

#endif
