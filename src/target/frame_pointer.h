/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a function keeps a frame pointer, by its instructions: for code without .eh_frame. */
#ifndef EBEAM_TARGET_FRAME_POINTER_H
#define EBEAM_TARGET_FRAME_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_pointer {
	FRAME_POINTER_NONE,  /* it has none, or that is not certain */
	FRAME_POINTER_SET,   /* rbp points to the caller's rbp, below the return address */
	FRAME_POINTER_POPPED /* the epilogue has taken it away: the return address is at rsp */
};

/*
 * Of a function whose code is given, at the instruction `at` bytes behind its start.  It keeps a
 * frame pointer if it begins with [endbr64] push %rbp and none of the instructions from there to
 * mov %rsp,%rbp changes rsp or rbp.  exact: the instruction is the next to run, so that it may be
 * in the prologue or epilogue; else it was left by a call.
 */
enum frame_pointer frame_pointer_at(const uint8_t *code, size_t size, size_t at, bool exact);

#endif
