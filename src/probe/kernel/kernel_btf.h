/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own BTF, by which libbpf adapts programs to its structs. */
#ifndef EBEAM_PROBE_KERNEL_BTF_H
#define EBEAM_PROBE_KERNEL_BTF_H

/* 0: there is BTF in the kernel, or in a file of its packages (/boot, /lib/modules).  -ENOENT if
 * not, other negative errno if it cannot be read. */
int kernel_btf_find(void);

#endif
