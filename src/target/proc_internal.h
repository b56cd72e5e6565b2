/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files that implement proc.h. */
#ifndef EBEAM_TARGET_PROC_INTERNAL_H
#define EBEAM_TARGET_PROC_INTERNAL_H

#include <stdbool.h>

#include "base/error.h"

/* Fills *err for a file /proc/PID/`what` that cannot be read; its kind depends on `code`. */
int proc_error(struct error *err, int os_pid, const char *what, int code);

/* Removes the " (deleted)" that the kernel appends to the path of an unlinked file. */
bool proc_cut_deleted(char *path);

#endif
