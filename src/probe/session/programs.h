/* SPDX-License-Identifier: BSD-2-Clause */
/* The BPF object of ebeam before it is loaded: the constants of node and run that its programs
 * get, and the sizes of its maps.  For programs that are run (session.h) and for programs that are
 * only tried (program_trial.h). */
#ifndef EBEAM_PROBE_PROGRAMS_H
#define EBEAM_PROBE_PROGRAMS_H

#include "probe/kernel/kernel.h"
#include "probe/session/session.h"

struct ebeam_bpf;

/* To be called first: raises the limits of this process on files and locked memory, as far as it
 * may. */
void programs_raise_limits(void);
/* Whether the kernel counts maps as locked memory of this process, as some kernels do; found by
 * trying, once. */
bool programs_count_as_locked(void);
/* What to do where programs may not be loaded (EPERM). */
const char *programs_fix(void);

/* Opens the object without loading it, and with no program selected; free by ebeam_bpf__destroy().
 * `btf`: file with the BTF to relocate programs by, which btf_file_check() accepts; NULL = the
 * kernel's own. */
int programs_open(struct ebeam_bpf **out, const char *btf, struct error *err);
/* Before the load: sets the constants of the run. */
void programs_configure(struct ebeam_bpf *skel, const struct session_config *c,
			const struct kernel_features *kernel);
/* Before the load: whether there are maps with an element for each thread, and their sizes.
 * Where the kernel wants them allocated as a whole they have room for nr_threads. */
bool programs_need_threads(const struct session_config *c);
int programs_size_maps(struct ebeam_bpf *skel, const struct session_config *c,
		       const struct kernel_features *kernel, size_t nr_threads, struct error *err);

/* What a failed load or map means for the user. */
int programs_error(int rc, struct error *err);
/* Whether rc means that one of several programs is refused, while others may not be. */
bool programs_are_refused(int rc);
/* The kernel allows no sampling and no reading of memory by BPF (lockdown=confidentiality). */
bool programs_locked_down(void);
/* Whether rc means that too many files are open; and the error for that case. */
bool programs_needs_files(int rc);
int programs_files_error(int rc, struct error *err);

#endif
