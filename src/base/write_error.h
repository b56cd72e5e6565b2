/* SPDX-License-Identifier: BSD-2-Clause */
/* What could not be written, why, and what to do about it: one way for files, captures, standard
 * output and each format. */
#ifndef EBEAM_BASE_WRITE_ERROR_H
#define EBEAM_BASE_WRITE_ERROR_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

/* Flushes.  0, or a negative errno if something that was written to the file did not arrive, then
 * or earlier; -EIO if nothing tells why. */
int write_error_of(FILE *f);

/* A pipe or socket that nobody reads any more. */
bool write_error_reader_is_gone(int fd);

/* "cannot write WHAT: REASON. ADVICE"; returns `code`.  `what`: "'x.html'", "standard output". */
int write_error_set(struct error *err, const char *what, int code);

#endif
