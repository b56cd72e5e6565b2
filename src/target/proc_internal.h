/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files that implement proc.h share among themselves. */
#ifndef EBEAM_TARGET_PROC_INTERNAL_H
#define EBEAM_TARGET_PROC_INTERNAL_H

#include <stdbool.h>

#include "base/error.h"

/* Fills *err for a file /proc/PID/`what` that cannot be read, with the kind that `code` means. */
int proc_error(struct error *err, int os_pid, const char *what, int code);

/* Cuts the " (deleted)" that the kernel puts behind the path of an unlinked file. */
bool proc_cut_deleted(char *path);

#endif
