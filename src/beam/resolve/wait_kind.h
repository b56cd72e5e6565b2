/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind of a time off a CPU, what the thread waited for, from what it was doing as it left its CPU:
 * first what the VM says (locks, by names of C functions), then the kernel's functions, then the
 * system call. */
#ifndef EBEAM_BEAM_WAIT_KIND_H
#define EBEAM_BEAM_WAIT_KIND_H

#include "beam/resolve/kind.h"

/* SAMPLE_WAIT: it waited for work.  Whether it waited at all, or was preempted, the record that
 * follows the sample says. */
enum sample_kind kind_of_wait(const struct kind_evidence *e);

#endif
