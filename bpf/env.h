/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The only difference between BPF and host: code in *.bpf.h that tests run includes this file
 * for its helpers.  On the host, tests/bpf_host provides them. */
#ifndef EBEAM_BPF_ENV_H
#define EBEAM_BPF_ENV_H

#ifdef BPF_HOST_TEST

#include <stdbool.h>
#include <stdint.h>
#include "bpf_host.h"

/* Constant after the load; tests change it at any time. */
#define RODATA volatile

#else

#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define RODATA const volatile

#endif

/* Makes the compiler forget what it knows of a value, so that a following comparison stays in the
 * code, where the verifier sees the bound. */
#define FORGET(x) asm volatile("" : "+r"(x))

/* Keeps results of a loop in memory, which the verifier does not track, and not in registers, whose
 * ranges would make every path through the loop a separate state. */
#define IN_MEMORY() asm volatile("" ::: "memory")

/* A function that is verified once for all its callers.  Arguments are scalars, or pointers to
 * structures, which have to be checked for NULL. */
#define GLOBAL_FN __attribute__((noinline))

#define UNROLL _Pragma("GCC unroll 64")

#define INLINE static inline __attribute__((always_inline))

#endif
