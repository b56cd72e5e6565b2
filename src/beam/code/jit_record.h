/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a module's record as the JIT of OTP 25 to 29 does for GDB (jit/beam_jit_metadata.cpp),
 * without lines: the input of jit.c for nodes that have other records (OTP 24) or none (the
 * interpreter).
 */
#ifndef EBEAM_BEAM_JIT_RECORD_H
#define EBEAM_BEAM_JIT_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "target/mem.h"

struct jit_record {
	struct strbuf bytes;
	uint32_t nr_functions;
};

/* `start`: address of the module's code; `size`: its bytes. */
void jit_record_begin(struct jit_record *r, raddr start, uint32_t size, const char *module,
		      size_t len);
/* `start`, `end`: offsets from the module's start. */
void jit_record_add(struct jit_record *r, uint32_t start, uint32_t end, const char *name,
		    size_t len);
/* Returns the record, malloc'ed. */
uint8_t *jit_record_end(struct jit_record *r, uint32_t *size);

#endif
