/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a process that does not exist: regions that a test makes, fills and changes, read
 * through struct mem like those of a live node.  What no region covers cannot be read, nor what
 * reaches from one region into the next.
 */
#ifndef EBEAM_TESTS_IMAGE_H
#define EBEAM_TESTS_IMAGE_H

#include <stdint.h>

#include "target/mem.h"

struct image;

struct image *image_open(void);
void image_close(struct image *im);
struct mem *image_mem(struct image *im); /* owned by the image */

/* A region of zeros; may not touch another one. */
void image_map(struct image *im, raddr addr, size_t size);
/* The same where there is room: 16-byte aligned, with a hole behind it. */
raddr image_alloc(struct image *im, size_t size);
void image_unmap(struct image *im, raddr addr); /* the region that begins there */

/* Writes inside a region. */
void image_put(struct image *im, raddr addr, const void *bytes, size_t size);
void image_u16(struct image *im, raddr addr, uint16_t value);
void image_u32(struct image *im, raddr addr, uint32_t value);
void image_u64(struct image *im, raddr addr, uint64_t value);

/* The recorded memory in a file of tests/data/images; mem_close() is the caller's. */
struct mem *image_load(const char *name);

uint64_t image_reads(const struct image *im); /* calls of read so far */

#endif
