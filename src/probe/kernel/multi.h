/* SPDX-License-Identifier: BSD-2-Clause */
/* Links of one BPF program to many uprobes at once (uprobe_multi, Linux 6.6), by the system call
 * itself, as libbpf supports them only since 1.3. */
#ifndef EBEAM_PROBE_MULTI_H
#define EBEAM_PROBE_MULTI_H

#include <stdbool.h>
#include <stdint.h>

/* Attach type for which such a program must be loaded; linux/bpf.h, BPF_TRACE_UPROBE_MULTI. */
#define MULTI_ATTACH_TYPE 48

struct multi_points {
	const char *path;
	const uint64_t *offsets;	 /* in the file */
	const uint64_t *ref_ctr_offsets; /* NULL = none */
	const uint64_t *cookies;	 /* NULL = 0 */
	unsigned int nr;
	bool at_return;
};

/* True if this kernel has uprobe_multi and its filter by process works. */
bool multi_available(void);
/* True if the kernel has uprobe_multi, but its filter by process lets only one thread pass. */
bool multi_filters_threads(void);
/* Returns the descriptor of the link, which closing removes, or negative errno. */
int multi_link(int prog_fd, int os_pid, const struct multi_points *points);

#endif
