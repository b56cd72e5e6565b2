/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the GDB JIT interface as the VM of OTP 25 to 29 writes them (beam_jit_metadata.cpp):
 * every name is stored with its NUL and two bytes of padding.  And the list that leads to them.
 */
#ifndef EBEAM_TESTS_JITREC_H
#define EBEAM_TESTS_JITREC_H

#include <stdbool.h>

#include "base/vec.h"
#include "lib/image.h"

struct jitrec {
	VEC(uint8_t) bytes;
	size_t range; /* offset of the last range */
};

void jitrec_module(struct jitrec *r, const char *name, raddr start, uint32_t code_size);
void jitrec_range(struct jitrec *r, const char *name, uint32_t start, uint32_t end);
/* A line of the last range; offsets count from the module's start. */
void jitrec_line(struct jitrec *r, uint32_t start, uint32_t line, const char *file);
void jitrec_emulator(struct jitrec *r, bool frame_pointers, raddr normal_exit);
void jitrec_free(struct jitrec *r);

/* An empty list; returns the address of its descriptor. */
raddr jitlist_open(struct image *im);
/* Copies the record into the image and puts it at the head; returns the address of its entry. */
raddr jitlist_add(struct image *im, raddr descriptor, const struct jitrec *r);
/*
 * The emulator's own record, and a module "m" at `code` of `size` bytes: function i of it stands at
 * 0x100 * (i + 1), is as long as that, and of line 10.
 */
void jitlist_add_code(struct image *im, raddr descriptor, raddr code, uint32_t size,
		      const char *const *names, uint32_t nr);
/* The record's address and size, as the entry holds them. */
raddr jitlist_record(struct image *im, raddr entry, uint64_t *size);

#endif
