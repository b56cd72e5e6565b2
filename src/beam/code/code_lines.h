/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines from a module's BeamCodeHeader (beam_code.h, beam_ranges.c of OTP 24 to 29), for
 * code whose JIT record has no lines. */
#ifndef EBEAM_BEAM_CODE_LINES_H
#define EBEAM_BEAM_CODE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "beam/node/node.h"

struct code_line {
	uint32_t start,
		line; /* offset from the module's start; line 0: the line is unknown from here on */
	const char *file;
};

struct code_lines {
	size_t nr;
	struct code_line *at; /* by start */
	char *module_file;    /* "lists.erl" */
	bool too_many;	      /* there are more lines than `most`; none was read */
};

/* Reads the lines of a module whose code is at [start, end), unless there are more than `most`.
 * True without lines if the module has no line table.  False if its header is not filled in yet, or
 * was freed. */
bool code_lines_read(struct code_lines *out, const struct beam_node *n, raddr start, raddr end,
		     const char *module, size_t module_len, size_t most);
void code_lines_free(struct code_lines *l);
/* The line at an offset in a function whose code begins at `function`; NULL = unknown. */
const struct code_line *code_lines_at(const struct code_lines *l, uint32_t function,
				      uint32_t offset);

#endif
