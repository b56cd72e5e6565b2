/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaches a BPF program to sites of one file: by one uprobe_multi link, or by a perf event. */
#ifndef EBEAM_PROBE_UPROBE_H
#define EBEAM_PROBE_UPROBE_H

#include <bpf/libbpf.h>

#include "base/error.h"
#include "probe/kernel/multi.h"
#include "target/elf.h"
#include "target/mem.h"

/* An attached probe: either a link or a perf event. */
struct uprobe {
	int fd;		       /* of the link of uprobe_multi; -1 = none */
	struct bpf_link *link; /* of the perf event; NULL = none */
};
#define UPROBE_NONE ((struct uprobe){.fd = -1})

/* Sets up a program before it is loaded: `multi` = for a uprobe_multi link. */
void uprobe_prepare(struct bpf_program *program, bool multi);
/* Attaches a loaded program.  A perf event takes only the first of the points.  0 or negative
 * errno, with nothing in `out`. */
int uprobe_attach(struct uprobe *out, const struct bpf_program *program, bool multi, int os_pid,
		  const struct multi_points *points);
void uprobe_remove(struct uprobe *u);
/* Fills *err: why uprobe_attach() failed.  ERROR_KIND_PRIVILEGE, _KERNEL, or _FAILED: the node
 * exited. */
int uprobe_error(int rc, const char *path, struct error *err);
/* After uprobe_attach() at an offset of a file that the process has mapped with this bias: checks
 * that its memory has the breakpoint.  ERROR_KIND_FAILED, -ESTALE: no, the kernel has put it into
 * another copy of the file.  0 also if that cannot be checked. */
int uprobe_prove(struct mem *mem, const struct elf_file *elf, uint64_t bias, uint64_t offset,
		 struct error *err);

#endif
