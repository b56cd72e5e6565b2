/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF object of the product before it is loaded: what its programs get of the node and of
 * the run, and how large their maps are.  The same for who runs programs (session.h) and for who
 * only tries them (program_trial.h).
 */
#ifndef EBEAM_PROBE_PROGRAMS_H
#define EBEAM_PROBE_PROGRAMS_H

#include "probe/kernel/kernel.h"
#include "probe/session/session.h"

struct ebeam_bpf;

/* Before anything else: limits of this process on files and locked memory, as far as it may. */
void programs_raise_limits(void);
/* Whether the kernel counts maps as locked memory of this process, as some do; by trying, once. */
bool programs_count_as_locked(void);
/* What to do where programs may not be loaded (EPERM). */
const char *programs_fix(void);

/* Not loaded; ebeam_bpf__destroy() it.  Of its programs none is chosen.  `btf`: the file that they
 * are adapted by, which btf_file_check() takes; NULL = the kernel's own. */
int programs_open(struct ebeam_bpf **out, const char *btf, struct error *err);
/* Constants of the run; before the load. */
void programs_configure(struct ebeam_bpf *skel, const struct session_config *c,
			const struct kernel_features *kernel);
/*
 * Maps with an element for each thread, before the load.  Some kernels want them allocated as a
 * whole: then there is room for nr_threads.
 */
bool programs_need_threads(const struct session_config *c);
int programs_size_maps(struct ebeam_bpf *skel, const struct session_config *c,
		       const struct kernel_features *kernel, size_t nr_threads, struct error *err);

/* What a failed load or map means for the user. */
int programs_error(int rc, struct error *err);
/* Whether it means that one of several programs is refused, and others may not be. */
bool programs_are_refused(int rc);
/* The kernel lets nobody sample or read memory by BPF (lockdown=confidentiality). */
bool programs_locked_down(void);
/* Whether it means that there were too many files, and what to do then. */
bool programs_needs_files(int rc);
int programs_files_error(int rc, struct error *err);

#endif
