/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface of the VM by shape: the descriptor and the emulator's record; the function
 * that announces changes is found in anchors_jit_*.c, as that depends on the processor.  See
 * anchors.h; formats: erts/emulator/beam/jit/beam_jit_metadata.cpp, OTP 25 to 29; OTP 24:
 * jit_otp24.h.
 */
#include "beam/locate/anchors.h"

#include <ctype.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/jit_otp24.h"

#define DESCRIPTOR_RELEVANT 8
#define DESCRIPTOR_VERSION  1

/* The emulator's record: int frame layout @8, code *normal_exit @16, 32 bytes in all. */
#define RECORD_MAX_SIZE	    ((uint64_t)1 << 30)
#define RECORD_FRAME_LAYOUT 8
#define RECORD_NORMAL_EXIT  16
#define FRAME_LAYOUT_MAX    1 /* RA, FP_RA */

bool space_read_jit_entry(const struct anchor_space *s, raddr addr, struct jit_entry *e)
{
	return space_is_pointer(s, addr, sizeof(*e)) &&
	       mem_read(s->mem, addr, e, sizeof(*e)) == 0 && e->size >= JIT_RECORD_HEAD_SIZE &&
	       e->size <= RECORD_MAX_SIZE && space_is_readable(s, e->symfile, JIT_RECORD_HEAD_SIZE);
}

static bool is_emulator_record(const struct anchor_space *s, const uint8_t *head)
{
	return bytes_u32(head, 0) == JIT_RECORD_EMULATOR &&
	       bytes_u32(head, RECORD_FRAME_LAYOUT) <= FRAME_LAYOUT_MAX &&
	       space_is_executable(s, bytes_u64(head, RECORD_NORMAL_EXIT));
}

static bool is_module_record(const struct anchor_space *s, const uint8_t *head)
{
	uint16_t len = bytes_u16(head, JIT_RECORD_NAME_LEN);

	return bytes_u32(head, 0) == JIT_RECORD_MODULE &&
	       space_is_executable(s, bytes_u64(head, JIT_RECORD_BASE)) && len > 0 && len <= 1020 &&
	       (head[JIT_RECORD_NAME] >= 0x80 || isprint(head[JIT_RECORD_NAME]));
}

static bool is_module_record_otp24(const struct anchor_space *s, const uint8_t *head)
{
	return jit_otp24_is_module(head, JIT_RECORD_HEAD_SIZE) &&
	       space_is_executable(s, bytes_u64(head, JIT_RECORD_BASE));
}

bool shape_is_jit_descriptor(const struct anchor_space *s, const uint8_t *bytes)
{
	uint8_t head[JIT_RECORD_HEAD_SIZE];
	struct jit_entry entry;

	if (bytes_u32(bytes, 0) != DESCRIPTOR_VERSION ||
	    bytes_u32(bytes, JIT_DESCRIPTOR_ACTION) > JIT_ACTION_MAX ||
	    bytes_u64(bytes, DESCRIPTOR_RELEVANT) % 8 != 0 ||
	    !space_read_jit_entry(s, bytes_u64(bytes, JIT_DESCRIPTOR_FIRST), &entry) ||
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

	if (mem_read_u64(s->mem, descriptor + JIT_DESCRIPTOR_FIRST, &at) != 0)
		return 0;
	for (int i = 0; at && i < JIT_ENTRIES_MAX; i++) {
		uint8_t head[JIT_RECORD_HEAD_SIZE];
		struct jit_entry e;

		if (!space_read_jit_entry(s, at, &e))
			return 0;
		at = e.next;
		if (e.size != JIT_RECORD_HEAD_SIZE ||
		    mem_read(s->mem, e.symfile, head, sizeof(head)) || !is_emulator_record(s, head))
			continue;
		if (found)
			return 0;
		found = e.symfile + RECORD_FRAME_LAYOUT;
	}
	return at ? 0 : found;
}
