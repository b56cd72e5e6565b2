/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface of the VM by shape: descriptor, and the emulator's own record; the function
 * that announces changes is found in code, in anchors_jit_*.c.  See anchors.h; formats:
 * erts/emulator/beam/jit/beam_jit_metadata.cpp, OTP 25 to 29; OTP 24: jit_otp24.h.
 */
#include "beam/locate/anchors.h"

#include <ctype.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/jit_otp24.h"

/* struct jit_descriptor {u32 version, action; entry *relevant, *first}; see anchors.h. */
#define DESCRIPTOR_RELEVANT 8
#define DESCRIPTOR_FIRST    16
#define DESCRIPTOR_VERSION  1

/* A record: u32 kind; of a module: u64 base @8, ..., u16 name length @24, name @26; of the
 * emulator: int frame layout @8, code *normal_exit @16, 32 bytes in all. */
#define RECORD_KIND_EMULATOR 0
#define RECORD_KIND_MODULE   1
#define RECORD_HEAD_SIZE     32
#define RECORD_MAX_SIZE	     ((uint64_t)1 << 30)
#define RECORD_BASE	     8
#define RECORD_NAME_LEN	     24
#define RECORD_NAME	     26
#define RECORD_FRAME_LAYOUT  8
#define RECORD_NORMAL_EXIT   16
#define FRAME_LAYOUT_MAX     1 /* RA, FP_RA */

/* Modules and fragments that the VM registers at most; a longer list is a loop. */
#define ENTRIES_MAX 200000

struct jit_entry { /* struct jit_code_entry of GDB's interface */
	raddr next, prev, symfile;
	uint64_t size;
};

static bool read_entry(const struct anchor_space *s, raddr addr, struct jit_entry *e)
{
	return space_is_pointer(s, addr, sizeof(*e)) &&
	       mem_read(s->mem, addr, e, sizeof(*e)) == 0 && e->size >= RECORD_HEAD_SIZE &&
	       e->size <= RECORD_MAX_SIZE && space_is_readable(s, e->symfile, RECORD_HEAD_SIZE);
}

static bool is_emulator_record(const struct anchor_space *s, const uint8_t *head)
{
	uint32_t kind, layout;
	raddr normal_exit;

	memcpy(&kind, head, 4);
	memcpy(&layout, head + RECORD_FRAME_LAYOUT, 4);
	memcpy(&normal_exit, head + RECORD_NORMAL_EXIT, 8);
	return kind == RECORD_KIND_EMULATOR && layout <= FRAME_LAYOUT_MAX &&
	       space_is_executable(s, normal_exit);
}

static bool is_module_record(const struct anchor_space *s, const uint8_t *head)
{
	uint32_t kind;
	raddr base;
	uint16_t len;

	memcpy(&kind, head, 4);
	memcpy(&base, head + RECORD_BASE, 8);
	memcpy(&len, head + RECORD_NAME_LEN, 2);
	return kind == RECORD_KIND_MODULE && space_is_executable(s, base) && len > 0 &&
	       len <= 1020 && (head[RECORD_NAME] >= 0x80 || isprint(head[RECORD_NAME]));
}

static bool is_module_record_otp24(const struct anchor_space *s, const uint8_t *head)
{
	return jit_otp24_is_module(head, RECORD_HEAD_SIZE) &&
	       space_is_executable(s, bytes_u64(head, RECORD_BASE));
}

bool shape_is_jit_descriptor(const struct anchor_space *s, const uint8_t *bytes)
{
	uint8_t head[RECORD_HEAD_SIZE];
	struct jit_entry entry;
	uint32_t version, action;
	raddr relevant, first;

	memcpy(&version, bytes, 4);
	memcpy(&action, bytes + JIT_DESCRIPTOR_ACTION, 4);
	memcpy(&relevant, bytes + DESCRIPTOR_RELEVANT, 8);
	memcpy(&first, bytes + DESCRIPTOR_FIRST, 8);
	if (version != DESCRIPTOR_VERSION || action > JIT_ACTION_MAX || relevant % 8 != 0 ||
	    !read_entry(s, first, &entry) ||
	    (entry.next && !space_is_pointer(s, entry.next, sizeof(entry))) ||
	    mem_read(s->mem, entry.symfile, head, sizeof(head)) != 0)
		return false;
	return is_module_record(s, head) || is_emulator_record(s, head) ||
	       is_module_record_otp24(s, head);
}

static bool is_descriptor(const struct anchor_space *s, size_t at, uint64_t arg)
{
	UNUSED(arg);
	return shape_is_jit_descriptor(s, s->data + at);
}

raddr shape_find_jit_descriptor(const struct anchor_space *s)
{
	return space_find_only(s, NULL, JIT_DESCRIPTOR_SIZE, is_descriptor, 0);
}

raddr shape_find_frame_layout(const struct anchor_space *s, raddr descriptor)
{
	raddr at, found = 0;

	if (mem_read_u64(s->mem, descriptor + DESCRIPTOR_FIRST, &at) != 0)
		return 0;
	for (int i = 0; at && i < ENTRIES_MAX; i++) {
		uint8_t head[RECORD_HEAD_SIZE];
		struct jit_entry e;

		if (!read_entry(s, at, &e))
			return 0;
		at = e.next;
		if (e.size != RECORD_HEAD_SIZE || mem_read(s->mem, e.symfile, head, sizeof(head)) ||
		    !is_emulator_record(s, head))
			continue;
		if (found)
			return 0;
		found = e.symfile + RECORD_FRAME_LAYOUT;
	}
	return at ? 0 : found;
}
