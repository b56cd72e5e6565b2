/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output file that has its name only when it is complete.
 *
 * It is written in the directory of the target and gets its name by outfile_commit().  What is left
 * of it if that is never called depends on the mode:
 *
 *   OUTFILE_WHOLE    has no name until then (O_TMPFILE), so that an incomplete file never stays.
 *                    If the file system has no O_TMPFILE: .NAME.PID.tmp, which is removed on
 *                    failure, on a signal and at exit.
 *   OUTFILE_PRIVATE  as OUTFILE_WHOLE, but only its owner may read a new file, from its first
 *                    moment on: it has a node's data.
 *   OUTFILE_STREAM   for captures, which are readable up to the last complete block: written to
 *                    NAME.partial (NAME.partial.2, ... if that exists, so that what an earlier
 *                    crash left is never overwritten).  Removed by outfile_abort() and by a
 *                    second Ctrl-C; but if ebeam is killed, or the machine goes down, it stays,
 *                    and `ebeam report NAME.partial` shows what it has.
 *
 * "-" is standard output.  A device or pipe is written in place, and so are links below /dev and
 * /proc (/dev/stdout): they must never be replaced by a rename.  Any other symbolic link is
 * replaced, not followed, so that nobody can make root overwrite a file through it.
 *
 * A file made by root under sudo(8) belongs to SUDO_UID and SUDO_GID.
 */
#ifndef EBEAM_CMD_OUTFILE_H
#define EBEAM_CMD_OUTFILE_H

#include <stdio.h>

#include "base/error.h"

enum outfile_mode { OUTFILE_WHOLE, OUTFILE_PRIVATE, OUTFILE_STREAM };

struct outfile;

/* stdout_file is used for "-", and never closed. */
int outfile_open(struct outfile **out, const char *path, enum outfile_mode mode, FILE *stdout_file,
		 struct error *err);
/* The FILE to write to.  Never close it. */
FILE *outfile_file(struct outfile *o);
/* The name until outfile_commit(); the final name if it is written in place, or has no name yet. */
const char *outfile_temporary(const struct outfile *o);

/*
 * Flush, close, rename.  Errors of earlier writes, such as a full disk, are reported here at the
 * latest; then the target is unchanged.  Always frees *o and sets it to NULL.
 */
int outfile_commit(struct outfile **o, struct error *err);
/* Remove and free; NULL ok. */
void outfile_abort(struct outfile **o);
/* OUTFILE_STREAM: close and free, but keep the partial file, which may be worth an hour of
 * recording (disk full). */
void outfile_leave(struct outfile **o);

/* fflush(3), for example before a line on standard error; keeps the reason of a failure for
 * outfile_check().  0 or negative errno. */
int outfile_flush(FILE *f);
/* Flushes.  0, or -EIO, -ENOSPC, -EPIPE, ... with *err set if not all was written.  `path`: NULL or
 * "-" is standard output. */
int outfile_check(FILE *f, const char *path, struct error *err);
/* Sets *err to "cannot write `path`", with the reason `code` (negative errno), and returns
 * `code`. */
int outfile_failed(const char *path, int code, struct error *err);

#endif
