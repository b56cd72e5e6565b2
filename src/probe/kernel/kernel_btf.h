/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTF, by which libbpf adapts programs to the structs of the running kernel: the kernel's own, or,
 * where it has none, that of a file (--btf) which was made with it.
 */
#ifndef EBEAM_PROBE_KERNEL_BTF_H
#define EBEAM_PROBE_KERNEL_BTF_H

#include "base/error.h"

/* 0: the kernel has its own, or one is where its packages put it (/boot, /lib/modules).  -ENOENT,
 * or why it cannot be read. */
int kernel_btf_find(void);

/*
 * 0 if the file is BTF of this kernel, as far as the struct tells that programs read: a program
 * looks at its own task by it.  ERROR_KIND_FAILED (cannot be read, is none, or another kernel's),
 * ERROR_KIND_PRIVILEGE, ERROR_KIND_KERNEL.
 */
int kernel_btf_check(const char *path, struct error *err);

#endif
