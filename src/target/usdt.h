/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes of an ELF file: the notes of .note.stapsdt, written by SystemTap's <sys/sdt.h> (and
 * DTrace's on Linux).  A note is one site of a probe: a nop in the code, a semaphore that counts
 * who watches, and where the arguments are.  A probe may have several sites.
 */
#ifndef EBEAM_TARGET_USDT_H
#define EBEAM_TARGET_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/usdt.h"
#include "target/elf.h"

#define USDT_MAX_SITES 65536 /* of one file; what comes after is left out */

/* Addresses are the file's; strings point into it and live as long. */
struct usdt_site {
	const char *provider, *name;
	const char *args;   /* "8@%rdi -4@8(%rsp)"; usdt_parse_args() */
	uint64_t addr;	    /* of the nop, in code */
	uint64_t semaphore; /* of its uint16_t, 0 = none: the probe is always on */
};

/* All sites, in the order of the notes, malloc'ed: how many.  A note that is cut, or stands for
 * what the file does not have, is left out. */
size_t usdt_sites(const struct elf_file *e, struct usdt_site **out);

/* Arguments of a site: how many there are, at most `max` of them into `out`.  One that is not
 * understood (an index register, a symbol, a floating point value) has the type USDT_ARG_NONE. */
unsigned int usdt_parse_args(const char *text, struct usdt_arg *out, unsigned int max);

#endif
