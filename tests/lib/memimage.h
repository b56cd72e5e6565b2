/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Made-up memory for tests: regions of zeros, written to by address, read through struct mem.
 *
 *   struct memimage im = {0};
 *   memimage_region(&im, 0x10000, 4096);
 *   memimage_u64(&im, 0x10008, 42);
 *   struct mem *m = memimage_open(&im);	later: mem_close(m); memimage_free(&im);
 */
#ifndef EBEAM_TESTS_LIB_MEMIMAGE_H
#define EBEAM_TESTS_LIB_MEMIMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "target/mem.h"

#define MEMIMAGE_REGIONS 16

struct memimage {
	struct {
		raddr addr;
		size_t size;
		uint8_t *bytes;
	} regions[MEMIMAGE_REGIONS];
	size_t nr;
};

void memimage_region(struct memimage *im, raddr addr, size_t size);
/* Where the image keeps the bytes of [addr, addr + size); fails the test if there are none. */
uint8_t *memimage_at(struct memimage *im, raddr addr, size_t size);
void memimage_write(struct memimage *im, raddr addr, const void *bytes, size_t size);
void memimage_u16(struct memimage *im, raddr addr, uint16_t value);
void memimage_u32(struct memimage *im, raddr addr, uint32_t value);
void memimage_u64(struct memimage *im, raddr addr, uint64_t value);
/* A struct mem over the image as it is now. */
struct mem *memimage_open(const struct memimage *im);
void memimage_free(struct memimage *im);

/* The image in a file of tests/data/images. */
struct mem *memimage_load(const char *name);

#endif
