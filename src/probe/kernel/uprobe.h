/* SPDX-License-Identifier: BSD-2-Clause */
/* A BPF program on sites of one file: by one uprobe_multi link, or by a perf event. */
#ifndef EBEAM_PROBE_UPROBE_H
#define EBEAM_PROBE_UPROBE_H

#include <bpf/libbpf.h>

#include "base/error.h"
#include "probe/kernel/multi.h"
#include "target/elf.h"
#include "target/mem.h"

/* What holds the probe. */
struct uprobe {
	int fd;		       /* of the link of uprobe_multi; -1 = none */
	struct bpf_link *link; /* of the perf event; NULL = none */
};
#define UPROBE_NONE ((struct uprobe){.fd = -1})

/* Before a program is loaded that is to be placed by a uprobe_multi link. */
void uprobe_prepare(struct bpf_program *program, bool multi);
/* Of a loaded program.  By a perf event only the first of the points is placed.  0 or negative
 * errno; `out` is none then. */
int uprobe_attach(struct uprobe *out, const struct bpf_program *program, bool multi, int os_pid,
		  const struct multi_points *points);
void uprobe_remove(struct uprobe *u);
/* Why uprobe_attach() failed.  ERROR_KIND_PRIVILEGE, _KERNEL, or _FAILED: the node exited. */
int uprobe_error(int rc, const char *path, struct error *err);
/* After uprobe_attach() at an offset of a file that the process has mapped with this bias: does its
 * memory have the breakpoint?  ERROR_KIND_FAILED, -ESTALE: no, the kernel has put it elsewhere.  0
 * also if that cannot be known. */
int uprobe_prove(struct mem *mem, const struct elf_file *elf, uint64_t bias, uint64_t offset,
		 struct error *err);

#endif
