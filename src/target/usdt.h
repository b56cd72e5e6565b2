/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes of an ELF file: the notes of .note.stapsdt, written by SystemTap's <sys/sdt.h> (and
 * DTrace's on Linux).  A note is one probe site: the address of a nop, of a semaphore that counts
 * the attached tracers, and the operands of the arguments.  A probe may have several sites.
 */
#ifndef EBEAM_TARGET_USDT_H
#define EBEAM_TARGET_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/usdt.h"
#include "target/elf.h"

#define USDT_MAX_SITES 65536 /* limit per file; further sites are ignored */

/* Addresses are virtual addresses of the file; strings point into the elf_file and live as long. */
struct usdt_site {
	const char *provider, *name;
	const char *args;   /* "8@%rdi -4@8(%rsp)"; usdt_parse_args() */
	uint64_t addr;	    /* of the nop, in code */
	uint64_t semaphore; /* address of its uint16_t; 0 = none: the probe is always enabled */
};

/* All sites, in the order of the notes, malloc'ed; returns how many.  Skips notes that are
 * truncated or have addresses outside of the file. */
size_t usdt_sites(const struct elf_file *e, struct usdt_site **out);

/* Parses the arguments of a site, the first `max` at most, to `out`; returns how many these are.
 * An operand with an index register, a symbol, or floating point is not supported:
 * USDT_ARG_NONE. */
unsigned int usdt_parse_args(const char *text, struct usdt_arg *out, unsigned int max);

#endif
