/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the function that announces changes of JIT code by its calls; see anchors_jit.c. */
#include "beam/locate/anchors.h"

#include <string.h>

#include "base/compiler.h"

/* mov dword [rip + disp32], imm32: opcode and ModRM. */
#define STORE_SIZE 10
/* The call follows within so many bytes; 5 to 33 in the builds that were examined. */
#define CALL_WINDOW 64
#define CALL_SIZE   5
/* Compilers align functions. */
#define FUNCTION_ALIGN 16

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

/* Offset of the first empty function that is called in the window behind `at`; UINT64_MAX: none. */
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
 * beam_jit_metadata.cpp stores the action and the entry, then calls __jit_debug_register_code,
 * which is never inlined, as debuggers set a breakpoint on it.  At least two stores must be
 * followed by a call of the same function.
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
			    descriptor + JIT_DESCRIPTOR_ACTION ||
		    value == 0 || value > JIT_ACTION_MAX)
			continue;
		target = called_empty_function(text, size, offset + STORE_SIZE);
		if (target == UINT64_MAX || (nr > 0 && target != found))
			return 0;
		found = target;
		nr++;
	}
	return nr >= 2 ? text_addr + found : 0;
}
