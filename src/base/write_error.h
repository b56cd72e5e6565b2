/* SPDX-License-Identifier: BSD-2-Clause */
/* Error texts of failed writes: what could not be written, why, and what to do.  Used for all
 * output: files, captures, standard output. */
#ifndef EBEAM_BASE_WRITE_ERROR_H
#define EBEAM_BASE_WRITE_ERROR_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* Flushes f.  0, or a negative errno if this or an earlier write to f failed; -EIO also if the
 * reason is not known. */
int write_error_of(FILE *f);

/* True for a pipe or socket without reader. */
bool write_error_reader_is_gone(int fd);

/* "cannot write WHAT: REASON. ADVICE"; returns `code`.  `what`: "'x.html'", "standard output". */
int write_error_set(struct error *err, const char *what, int code);

#endif
