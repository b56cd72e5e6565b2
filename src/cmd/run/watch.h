/* SPDX-License-Identifier: BSD-2-Clause */
/* --watch of commands that only read memory: read and write an answer, again and again. */
#ifndef EBEAM_CMD_WATCH_H
#define EBEAM_CMD_WATCH_H

#include <stdio.h>

#include "beam/node/node.h"
#include "cmd/command/options.h"

struct watch {
	const struct beam_node *node;
	const struct options *opt; /* watch_ns, duration_ns */
	FILE *out;
	bool text; /* each answer begins with a line of time and pid, on a clear screen */
	/* Both return 0 or a negative errno; -ESRCH: the node has exited, which ends the run
	 * without an error. */
	int (*read)(void *arg, struct error *err);
	int (*write)(void *arg, struct error *err);
	void *arg;
	unsigned int nr; /* answers written so far */
};

/* ERROR_KIND_USAGE: --watch of a core file, -d without --watch. */
int watch_check_options(const struct options *opt, struct error *err);
/* As target_close(), but of a node that was watched until it exited, which is no error. */
int watch_close(const struct options *opt, struct beam_node *n, int rc, struct error *err);
/* Runs until the node exits (reported on stderr), -d is over, or a signal comes.  A write error
 * ends the run, too; the caller finds it with ferror(out). */
int watch_run(struct watch *w, struct error *err);
/* Writes "2026-11-27 10:15:01  pid 4711" to f.  If `target`, the file that f ends up in, is a
 * terminal, clears it first; else writes an empty line first if `again`. */
void watch_begin_screen(FILE *f, FILE *target, int os_pid, bool again);

#endif
