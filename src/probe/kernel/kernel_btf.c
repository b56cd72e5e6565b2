/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel_btf.h. */
#include "probe/kernel/kernel_btf.h"

#include <bpf/btf.h>
#include <errno.h>
#include <unistd.h>

#include "probe/kernel/libbpf_log.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

int kernel_btf_find(void)
{
	struct btf *btf;
	int rc = 0;

	libbpf_log_open();
	btf = btf__load_vmlinux_btf();
	if (!btf && access(KERNEL_BTF, R_OK) == 0) { /* libbpf does not report its error */
		btf = btf__parse(KERNEL_BTF, NULL);
		rc = btf ? 0 : -errno;
	} else if (!btf) {
		rc = -ENOENT;
	}
	btf__free(btf);
	return rc;
}

bool kernel_btf_is_own(void)
{
	return access(KERNEL_BTF, F_OK) == 0;
}
