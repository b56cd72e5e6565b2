/* SPDX-License-Identifier: BSD-2-Clause */
/* --watch of commands that read memory only: a reading, its answer, and again. */
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
	/* Negative errno; -ESRCH of either: the node has exited, which is no failure. */
	int (*read)(void *arg, struct error *err);
	int (*write)(void *arg, struct error *err);
	void *arg;
	unsigned int nr; /* answers written so far */
};

/* Until the node exits, which a line on stderr says, the time is up, or a signal comes.  Write
 * errors end it and stay in `out`. */
int watch_run(struct watch *w, struct error *err);
/* "2026-11-27 10:15:01  pid 4711", on a clear screen if `target`, where f ends up, is a terminal,
 * else behind an empty line if there was an answer before. */
void watch_begin_screen(FILE *f, FILE *target, int os_pid, bool again);

#endif
