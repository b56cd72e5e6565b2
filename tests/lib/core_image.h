/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small core file built byte by byte, of a process that ran the executable of elf_image.h: the
 * header of that file, writable memory, memory that was left out, and the notes.
 */
#ifndef EBEAM_TESTS_LIB_CORE_IMAGE_H
#define EBEAM_TESTS_LIB_CORE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/elf_image.h"

#define CORE_IMAGE_EXE	  0x10400000u /* first page of the executable; the core has its headers */
#define CORE_IMAGE_EXE2	  0x14000000u /* mapped once more; not among the segments */
#define CORE_IMAGE_DATA	  0x20000000u /* writable */
#define CORE_IMAGE_SIZE	  0x200u      /* of DATA and MORE */
#define CORE_IMAGE_MORE	  (CORE_IMAGE_DATA + CORE_IMAGE_SIZE) /* the segment right behind it */
#define CORE_IMAGE_ABSENT 0x30000000u			      /* a segment without bytes */
#define CORE_IMAGE_PID	  4711
#define CORE_IMAGE_SIGNAL 6

struct core_image {
	unsigned char data[8192];
	size_t size;
	size_t data_at, more_at; /* offsets of the bytes of DATA and MORE */
};

/* `program` is the path in the notes.  Byte i of DATA is (unsigned char)i, of MORE its complement.
 * Notes stand before the memory, as the kernel writes them, or behind it, as gcore does. */
void core_image_build(struct core_image *im, const struct elf_image *exe, const char *program,
		      bool notes_last);

#endif
