/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An output file that exists under its name only when it is whole.
 *
 * It is written beside the target and gets its name by outfile_commit().  What becomes of the bytes
 * if that is never reached depends on the mode:
 *
 *   OUTFILE_WHOLE    has no name at all until then (O_TMPFILE), so that nothing can leave a half
 *                    one behind.  Where the file system cannot do that: .NAME.PID.tmp, which is
 *                    removed on failure, on a signal and at exit.
 *   OUTFILE_STREAM   for captures, which grow while recording and are readable to the last whole
 *                    block: written to NAME.partial (NAME.partial.2, ... if that exists: the
 *                    rest of an earlier crash is never overwritten).  Removed by outfile_abort()
 *                    and by a second Ctrl-C, but if ebeam is killed, or the machine goes down,
 *                    the partial file stays and `ebeam report NAME.partial` shows what it holds.
 *
 * "-" is standard output.  A device, pipe or socket is written in place, and so are links below
 * /dev and /proc (/dev/stdout): they must never be replaced by a rename.  A link elsewhere is
 * replaced, not followed, so that root can be made to overwrite nothing through it.
 *
 * A file made by root under sudo(8) belongs to SUDO_UID and SUDO_GID.
 */
#ifndef EBEAM_CMD_OUTFILE_H
#define EBEAM_CMD_OUTFILE_H

#include <stdio.h>

#include "base/error.h"

enum outfile_mode { OUTFILE_WHOLE, OUTFILE_STREAM };

struct outfile;

/* stdout_file: for "-"; it stays open.  Errors say what cannot be written and why. */
int outfile_open(struct outfile **out, const char *path, enum outfile_mode mode, FILE *stdout_file,
		 struct error *err);
/* To write to.  Never close it. */
FILE *outfile_file(struct outfile *o);
/* Where the bytes go until commit; the name itself if it is written in place, or has no other. */
const char *outfile_temporary(const struct outfile *o);

/*
 * Flush, close, rename.  All errors of earlier writes come up here at the latest, a full disk
 * included; the target is then as it was before.  Frees *o in any case and sets it to NULL.
 */
int outfile_commit(struct outfile **o, struct error *err);
/* Remove and free; NULL ok. */
void outfile_abort(struct outfile **o);
/* OUTFILE_STREAM: close and free, but leave the partial file, because what it holds is worth
 * more than a clean directory (disk full after an hour of recording). */
void outfile_leave(struct outfile **o);

/* fflush(3) that outfile_check() knows the reason of: what is said on standard error then stands
 * below what was written.  0 or negative errno. */
int outfile_flush(FILE *f);
/* Flushes.  0, or -EIO, -ENOSPC, -EPIPE, ... with *err set if not all arrived.  `path`: NULL or "-"
 * is standard output. */
int outfile_check(FILE *f, const char *path, struct error *err);
/* Of who writes to it by other means: sets *err and returns `code`. */
int outfile_failed(const char *path, int code, struct error *err);

#endif
