/* SPDX-License-Identifier: BSD-2-Clause */
/* Small macros that every file may use, and the processors that this program knows. */
#ifndef EBEAM_BASE_COMPILER_H
#define EBEAM_BASE_COMPILER_H

/* What knows the processor is in files *_x86_64.c, each behind a header that does not; programs of
 * BPF have their own registers (bpf/, PT_REGS of x86). */
#ifndef __x86_64__
#error "ebeam is for these processors: x86-64"
#endif

#define ARRAY_SIZE(a)	      (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define MIN(a, b)	      ((a) < (b) ? (a) : (b))
#define MAX(a, b)	      ((a) > (b) ? (a) : (b))
#define UNUSED(x)	      ((void)(x))

#endif
