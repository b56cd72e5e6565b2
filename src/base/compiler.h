/* SPDX-License-Identifier: BSD-2-Clause */
/* Small macros for all files, and the supported processors. */
#ifndef EBEAM_BASE_COMPILER_H
#define EBEAM_BASE_COMPILER_H

/* C code that depends on the processor is in files *_x86_64.c, and their headers do not depend on
 * it.  BPF programs (bpf/) read the registers of x86 by PT_REGS macros. */
#ifndef __x86_64__
#error "ebeam is for these processors: x86-64"
#endif

#define ARRAY_SIZE(a)	      (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define MIN(a, b)	      ((a) < (b) ? (a) : (b))
#define MAX(a, b)	      ((a) > (b) ? (a) : (b))
#define UNUSED(x)	      ((void)(x))

#endif
