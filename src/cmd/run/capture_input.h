/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture that the user names: a file, or - for standard input. */
#ifndef EBEAM_CMD_CAPTURE_INPUT_H
#define EBEAM_CMD_CAPTURE_INPUT_H

#include <stdio.h>

#include "capture/reader.h"

struct capture_input {
	struct capture_reader *reader;
	const char *name; /* for messages */
	FILE *f;
};

/* Borrows path.  On failure nothing is open. */
int capture_input_open(struct capture_input *in, const char *path, struct error *err);
void capture_input_close(struct capture_input *in);

/* Warns of damage in the capture, if there is any (NULL or "" = none); `done` says what became of
 * the records before the damage ("shown").  Returns 0, or the exit code for a partial answer. */
int capture_input_warn(const char *path, const char *damage, const char *done);

#endif
