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

/* Warns of damage, if there is any (NULL or "" = none): what stands before it is `done` ("shown").
 * 0, or the exit code of an answer that lacks something. */
int capture_input_warn(const char *path, const char *damage, const char *done);

#endif
