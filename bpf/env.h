/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The only switch between BPF and the host: everything in *.bpf.h that a test wants to run is
 * written against this file.  On the host, tests/bpf_host provides the helpers.
 */
#ifndef EBEAM_BPF_ENV_H
#define EBEAM_BPF_ENV_H

#ifdef BPF_HOST_TEST

#include <stdbool.h>
#include <stdint.h>
#include "bpf_host.h"

/* What user space sets before the load, and tests at any time. */
#define RODATA volatile

#else

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define RODATA const volatile

#endif

/* Hides a value's history from the compiler, so that the comparison behind it stays and shows the
 * verifier the bound. */
#define FORGET(x) asm volatile("" : "+r"(x))

/* Keeps a loop's results in memory, where the verifier does not track them, instead of in
 * registers, whose ranges would make every path through the loop a state of its own. */
#define IN_MEMORY() asm volatile("" ::: "memory")

/* A function of its own, verified once for all its callers.  Arguments are scalars, or pointers to
 * structures, which may be NULL to the verifier: they have to be checked. */
#define GLOBAL_FN __attribute__((noinline))

#define UNROLL _Pragma("GCC unroll 64")

#define INLINE static inline __attribute__((always_inline))

#endif
