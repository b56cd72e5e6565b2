/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * the_active_code_index where its symbol is hidden: the JIT's fragments load it when a process is
 * scheduled in, and their code contains its address.  See anchors.h.
 *
 *   mov rdi, &the_active_code_index    48 bf imm64, or bf imm32
 *   mov esi, ERTS_SAVE_CALLS_CODE_IX
 *   mov r12d, dword [rdi]              44 8b 27
 *
 * (jit/x86/process_main.cpp and beam_asm.hpp, OTP 25 to 29: r12 holds the index.)
 */
#include "beam/locate/anchors.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"

#define CODE_MAX   (4u << 20) /* the fragments take 70 kB */
#define LIST_TRIES 20

/* Bytes behind the first `mov` in which the load must be; between the two is one instruction with
 * an immediate. */
#define LOAD_WINDOW 12
#define CODE_IX_MAX 2 /* ERTS_NUM_CODE_IX - 1 */

/* The address that a `mov rdi, address` at code[at] loads, *end is then the offset behind it; 0 =
 * there is no such instruction. */
static raddr loaded_address(const uint8_t *code, size_t size, size_t at, size_t *end)
{
	if (at + 10 <= size && code[at] == 0x48 && code[at + 1] == 0xbf) {
		*end = at + 10;
		return bytes_u64(code, (int64_t)at + 2);
	}
	if (at + 5 <= size && code[at] == 0xbf) {
		*end = at + 5;
		return bytes_u32(code, (int64_t)at + 1);
	}
	return 0;
}

static bool is_code_ix(const struct anchor_space *s, raddr addr)
{
	return addr >= s->data_addr && addr - s->data_addr + 4 <= s->data_size && addr % 4 == 0 &&
	       space_u32(s, addr - s->data_addr) <= CODE_IX_MAX;
}

/* All loads of r12d must have the same address; `*found` is 0 before the first, *ambiguous is set
 * by one that differs. */
static void search_code(const struct anchor_space *s, const uint8_t *code, size_t size,
			raddr *found, bool *ambiguous)
{
	static const uint8_t load[] = {0x44, 0x8b, 0x27};

	for (size_t at = 0; at < size; at++) {
		size_t end;
		raddr addr = loaded_address(code, size, at, &end);

		if (!addr || !is_code_ix(s, addr) ||
		    !memmem(code + end, MIN(size - end, LOAD_WINDOW), load, sizeof(load)))
			continue;
		*ambiguous |= *found && *found != addr;
		*found = addr;
	}
}

/* True if the record is of the module "global", which has the fragments. */
static bool is_fragments(const uint8_t *head, raddr *base, uint32_t *size)
{
	*base = bytes_u64(head, JIT_RECORD_BASE);
	*size = bytes_u32(head, JIT_RECORD_CODE_SIZE);
	return bytes_u32(head, 0) == JIT_RECORD_MODULE &&
	       bytes_u16(head, JIT_RECORD_NAME_LEN) >= 6 &&
	       memcmp(head + JIT_RECORD_NAME, "global", 6) == 0 && *size > 0 && *size <= CODE_MAX;
}

/* Searches the code of the fragments in the list.  False if an entry was freed meanwhile, so that
 * the end of the list was not reached. */
static bool search_list(const struct anchor_space *s, raddr descriptor, raddr *found,
			bool *ambiguous)
{
	raddr at;

	if (mem_read_u64(s->mem, descriptor + JIT_DESCRIPTOR_FIRST, &at) != 0)
		return false;
	for (int i = 0; at && i < JIT_ENTRIES_MAX; i++) {
		uint8_t head[JIT_RECORD_HEAD_SIZE], *code;
		struct jit_entry e;
		raddr base;
		uint32_t size;

		if (!space_read_jit_entry(s, at, &e) ||
		    mem_read(s->mem, e.symfile, head, sizeof(head)) != 0)
			return false;
		at = e.next;
		if (!is_fragments(head, &base, &size) || !space_is_executable(s, base))
			continue;
		code = xmalloc(size);
		if (mem_read(s->mem, base, code, size) == 0)
			search_code(s, code, size, found, ambiguous);
		free(code);
	}
	return at == 0;
}

raddr shape_find_active_code_ix(const struct anchor_space *s, raddr descriptor)
{
	raddr found = 0;
	bool ambiguous = false;

	/* The fragments have the oldest entry, near the list's end: a walk that has found them need
	 * not reach the end. */
	for (int i = 0; i < LIST_TRIES; i++)
		if (search_list(s, descriptor, &found, &ambiguous) || found)
			break;
	return ambiguous ? 0 : found;
}
