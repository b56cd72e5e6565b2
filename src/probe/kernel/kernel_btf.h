/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's own BTF, by which libbpf adapts programs to its structs. */
#ifndef EBEAM_PROBE_KERNEL_BTF_H
#define EBEAM_PROBE_KERNEL_BTF_H

#include <stdbool.h>

/* 0: there is BTF in the kernel, or in a file of its packages (/boot, /lib/modules).  -ENOENT if
 * not, other negative errno if it cannot be read. */
int kernel_btf_find(void);
/* Has the kernel itself BTF?  Programs of typed tracepoints (tp_btf) need that: a file is not
 * enough. */
bool kernel_btf_is_own(void);
#define KERNEL_LACKS_OWN_BTF                                                                       \
	"times off CPUs need the BTF of the kernel itself (/sys/kernel/btf/vmlinux), which it "    \
	"lacks: a file (--btf) is not enough"

#endif
