/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own BTF, by which libbpf adapts programs to its structs. */
#ifndef EBEAM_PROBE_KERNEL_BTF_H
#define EBEAM_PROBE_KERNEL_BTF_H

/* 0: the kernel has its own, or one is where its packages put it (/boot, /lib/modules).  -ENOENT,
 * or why it cannot be read. */
int kernel_btf_find(void);

#endif
