/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GDB JIT interface of the VM by shape: descriptor, the function that announces changes, and
 * the emulator's own record.  See anchors.h; formats: erts/emulator/beam/jit/beam_jit_metadata.cpp,
 * OTP 25 to 29; OTP 24: jit_otp24.h.
 */
#include "beam/locate/anchors.h"

#include <ctype.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/jit_otp24.h"

/* struct jit_descriptor {u32 version, action; entry *relevant, *first}. */
#define DESCRIPTOR_ACTION   4
#define DESCRIPTOR_RELEVANT 8
#define DESCRIPTOR_FIRST    16
#define DESCRIPTOR_VERSION  1
#define ACTION_MAX	    2 /* none, register, unregister */

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

/* mov dword [rip + disp32], imm32: opcode and ModRM. */
#define STORE_SIZE 10
/* Bytes behind the store within which the call stands; 5 to 33 in the builds looked at. */
#define CALL_WINDOW 64
#define CALL_SIZE   5
/* Compilers align functions. */
#define FUNCTION_ALIGN 16

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
	memcpy(&action, bytes + DESCRIPTOR_ACTION, 4);
	memcpy(&relevant, bytes + DESCRIPTOR_RELEVANT, 8);
	memcpy(&first, bytes + DESCRIPTOR_FIRST, 8);
	if (version != DESCRIPTOR_VERSION || action > ACTION_MAX || relevant % 8 != 0 ||
	    !read_entry(s, first, &entry) ||
	    (entry.next && !space_is_pointer(s, entry.next, sizeof(entry))) ||
	    mem_read(s->mem, entry.symfile, head, sizeof(head)) != 0)
		return false;
	return is_module_record(s, head) || is_emulator_record(s, head) ||
	       is_module_record_otp24(s, head);
}

raddr shape_find_jit_descriptor(const struct anchor_space *s)
{
	raddr found = 0;

	for (size_t at = 0; at + JIT_DESCRIPTOR_SIZE <= s->data_size; at += 8) {
		if (!shape_is_jit_descriptor(s, s->data + at))
			continue;
		if (found)
			return 0;
		found = s->data_addr + at;
	}
	return found;
}

/* A function that does nothing: optional endbr64, then ret. */
static bool is_empty_function(const uint8_t *text, size_t size, uint64_t at)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (at % FUNCTION_ALIGN != 0 || at >= size)
		return false;
	if (size - at > sizeof(endbr64) && memcmp(text + at, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	return text[at] == 0xc3;
}

/* Offset of the empty function that is called first in the window behind `at`; UINT64_MAX: none. */
static uint64_t called_empty_function(const uint8_t *text, size_t size, size_t at)
{
	size_t end = MIN(at + CALL_WINDOW, size);

	for (; at + CALL_SIZE <= end; at++) {
		uint64_t target;
		int32_t disp;

		if (text[at] != 0xe8)
			continue;
		memcpy(&disp, text + at + 1, 4);
		target = at + CALL_SIZE + (uint64_t)(int64_t)disp;
		if (is_empty_function(text, size, target))
			return target;
	}
	return UINT64_MAX;
}

/*
 * beam_jit_metadata.cpp sets the action, then the entry, then calls __jit_debug_register_code.
 * The call may be inlined no further, since debuggers break on the function; two or more places
 * that agree prove it.
 */
raddr shape_find_jit_register(const uint8_t *text, size_t size, raddr text_addr, raddr descriptor)
{
	const uint8_t *at = text, *end = text + size;
	uint64_t found = UINT64_MAX;
	size_t nr = 0;

	while ((at = memmem(at, (size_t)(end - at), "\xc7\x05", 2)) != NULL) {
		size_t offset = (size_t)(at++ - text);
		uint32_t value;
		uint64_t target;
		int32_t disp;

		if (size - offset < STORE_SIZE)
			break;
		memcpy(&disp, text + offset + 2, 4);
		memcpy(&value, text + offset + 6, 4);
		if (text_addr + offset + STORE_SIZE + (raddr)(int64_t)disp !=
			    descriptor + DESCRIPTOR_ACTION ||
		    value == 0 || value > ACTION_MAX)
			continue;
		target = called_empty_function(text, size, offset + STORE_SIZE);
		if (target == UINT64_MAX || (nr > 0 && target != found))
			return 0;
		found = target;
		nr++;
	}
	return nr >= 2 ? text_addr + found : 0;
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
