/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a capture (abi/capture.h) as it grows.  The writer owns neither the FILE nor its name:
 * the command opens, renames and closes it.
 */
#ifndef EBEAM_CAPTURE_WRITER_H
#define EBEAM_CAPTURE_WRITER_H

#include <stdio.h>

#include "abi/capture.h"
#include "abi/record.h"
#include "base/error.h"

struct capture_writer;

int capture_writer_open(struct capture_writer **out, FILE *f, uint64_t start_epoch_ns,
			uint64_t start_ns, struct error *err);
/* Add one record (never raw).  Writes the block when it is full. */
int capture_writer_add(struct capture_writer *w, const struct rec_header *rec, struct error *err);
/* Write what is pending and flush the FILE; call once a second and at the end. */
int capture_writer_flush(struct capture_writer *w, struct error *err);
/* Frees without flushing; NULL ok. */
void capture_writer_close(struct capture_writer *w);

#endif
