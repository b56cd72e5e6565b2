/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a capture as a source.  A damaged or truncated file gives all records before the damage,
 * then ends; capture_reader_damage() says what was wrong.  Memory is bounded by one block. */
#ifndef EBEAM_CAPTURE_READER_H
#define EBEAM_CAPTURE_READER_H

#include <stdbool.h>
#include <stdio.h>

#include "event/source.h"

struct capture_reader;

/* Reads from a FILE that the caller owns.  -EINVAL with a text: not a capture, or one of another
 * major version. */
int capture_reader_open(struct capture_reader **out, FILE *f, const char *name, struct error *err);
void capture_reader_close(struct capture_reader *r);
struct source *capture_reader_source(struct capture_reader *r);

uint64_t capture_reader_start_epoch_ns(const struct capture_reader *r);
/* After next() returned 0: NULL if the file is complete (REC_END is its last record), else what is
 * wrong and at which byte. */
const char *capture_reader_damage(const struct capture_reader *r);

#endif
