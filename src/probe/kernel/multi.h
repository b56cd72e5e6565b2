/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links of one BPF program to many uprobes at once (Linux 6.6), by the system call itself: libbpf
 * has it only since 1.3.
 */
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

/* True if this kernel has them and tells processes apart. */
bool multi_available(void);
/* They would be, but their filter by process knows only one thread of it. */
bool multi_filters_threads(void);
/* Descriptor of the link, which closing removes; or negative errno. */
int multi_link(int prog_fd, int os_pid, const struct multi_points *points);

#endif
