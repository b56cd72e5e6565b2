/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds a site in a C function at which a uprobe is cheap.  The kernel emulates some instructions
 * (push, nop, relative jumps and calls) and single-steps all others out of line, which costs
 * several times as much.  So the site is the first emulated instruction that each call runs exactly
 * once, with its arguments still in the registers of the ABI; if there is none, the entry.
 *
 * What is proven, from the bytes of the function alone:
 *   - from the entry to the site no instruction can leave the straight line, and none writes a
 *     register that carries a needed argument;
 *   - no jump of the function, of its parts elsewhere (.cold), and of its jump tables leads to the
 *     entry, to the site, or between them.
 * A function for which this cannot be shown has no site: it is refused, with the reason.
 *
 * Not covered: calls that do not pass the entry because the compiler copied the function (inlined,
 * .part, .constprop).  A jump through a register for which no table is found counts as a tail call
 * of another function, which is what compilers make of C without computed goto.
 */
#ifndef EBEAM_PROBE_PLACEMENT_H
#define EBEAM_PROBE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file;

/* Registers that carry integer arguments, first to sixth (System V ABI, x86-64). */
enum placement_register {
	PLACEMENT_RDI = 1 << 0,
	PLACEMENT_RSI = 1 << 1,
	PLACEMENT_RDX = 1 << 2,
	PLACEMENT_RCX = 1 << 3,
	PLACEMENT_R8 = 1 << 4,
	PLACEMENT_R9 = 1 << 5,
};
/* The first `n` arguments. */
#define PLACEMENT_ARGS(n) ((1u << (n)) - 1)

struct placement_request {
	unsigned int args; /* PLACEMENT_*: registers whose values are needed */
	bool returns;	   /* for a return probe: the return address must be on top of the stack */
	bool nops; /* this kernel also emulates long nops; see placement_kernel_emulates_nops() */
};

struct placement {
	bool ok;	      /* false: no probe is possible; `reason` says why */
	uint32_t offset;      /* from the entry; 0 if refused */
	bool emulated;	      /* false: at the entry, single-stepped; see `reason` */
	uint32_t stack_depth; /* bytes from rsp to the return address, before the instruction */
	char instruction[64]; /* at the site: "push r15" */
	char reason[128];     /* "" if ok and emulated */
};

/* Sites for the call and for the return of a function. */
struct placement_pair {
	struct placement call, back;
};

/* Reads the rest of the executable.  Addresses are those of `struct placement_code`. */
struct placement_image {
	/* Reads constant bytes (code, read-only data) from addr on.  Returns how many were read, 0
	 * = none. */
	size_t (*read)(void *ctx, uint64_t addr, void *buf, size_t size);
	/* Bounds of the function, or part of one, that contains addr. */
	bool (*function_at)(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end);
	/* True if addr is code. */
	bool (*is_code)(void *ctx, uint64_t addr);
	void *ctx;
};

struct placement_code {
	const unsigned char *bytes; /* the whole function (one FDE) from its entry on */
	size_t size;
	uint64_t addr; /* of the entry */
};

#define PLACEMENT_MAX_FUNCTION (1u << 20) /* bytes; a longer function is refused */

/* Always fills *out; out->ok says whether there is a site. */
void placement_find(struct placement *out, const struct placement_code *code,
		    const struct placement_image *image, const struct placement_request *request);
/* The same for the function that starts at `addr` of a file. */
void placement_find_in_elf(struct placement *out, const struct elf_file *elf, uint64_t addr,
			   const struct placement_request *request);
/* Finds sites for the call, which needs the first `args` arguments, and for the return.  One
 * site for both is preferred, as it is only one trap: there the return address must be on top of
 * the stack.  False = refused. */
bool placement_find_pair(struct placement_pair *out, const struct elf_file *elf, uint64_t addr,
			 unsigned int args, bool returns);

/* True on Linux 6.16 and later; earlier kernels emulate one-byte nops only. */
bool placement_kernel_emulates_nops(void);

#endif
