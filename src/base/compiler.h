/* SPDX-License-Identifier: BSD-2-Clause */
/* Small macros that every file may use. */
#ifndef EBEAM_BASE_COMPILER_H
#define EBEAM_BASE_COMPILER_H

#define ARRAY_SIZE(a)	      (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define MIN(a, b)	      ((a) < (b) ? (a) : (b))
#define MAX(a, b)	      ((a) > (b) ? (a) : (b))
#define UNUSED(x)	      ((void)(x))

#endif
