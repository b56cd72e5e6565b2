/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recorded images: a file of memory ranges that can be read like the process it came from, and
 * the recorder that makes one of everything that is read through it.
 *
 * An image is little-endian: MEM_IMAGE_MAGIC, then per range u64 address, u64 size, `size` bytes.
 * tools/memsnap writes them.
 */
#ifndef EBEAM_TESTS_MEM_IMAGE_H
#define EBEAM_TESTS_MEM_IMAGE_H

#include <stddef.h>

#include "base/error.h"
#include "target/mem.h"

#define MEM_IMAGE_MAGIC "EBEAMIMG"
/* Copies; the buffer may go. */
int mem_open_image(struct mem **out, const void *image, size_t size, struct error *err);

/* Records every range that is read through it, for mem_recorder_image().  Borrows `inner`. */
struct mem *mem_open_recorder(struct mem *inner);
/* The image of everything read so far, merged and sorted (of bytes that were read twice the later
 * value); caller frees.  NULL if more than 256 MiB were touched. */
void *mem_recorder_image(struct mem *recorder, size_t *size);

#endif
