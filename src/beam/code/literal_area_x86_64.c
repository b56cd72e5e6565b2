/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See literal_area.h.  The variable has no symbol in OTP 29, but is in memory right behind
 * erts_literal_area_collector.  BIF release_area_switch/0 begins with a check that its caller is
 * that process (beam_bif_load.c, OTP 25 to 29):
 *
 *   ...  a prologue, in some builds
 *   cmp [rip + erts_literal_area_collector], rdi
 *   ...
 *   one of the next instructions refers to [rip + erts_copy_literal_area__]
 */
#include "beam/code/literal_area.h"

#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/call_targets.h"
#include "beam/term/pid.h"

#define CODE_SIZE    1024
#define PROLOGUE_MAX 48
#define COMPARE	     "\x48\x39\x3d" /* cmp [rip + disp32], rdi */
#define COMPARE_SIZE 7

/* True if the code has a displacement that, relative to the end of its instruction, is address
 * `to`; the instruction may end with an immediate of 4, 1 or no bytes. */
static bool refers(const uint8_t *code, size_t size, raddr addr, raddr to)
{
	static const unsigned int rest[] = {0, 1, 4};

	for (size_t at = 0; at + 4 <= size; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
			if (addr + at + 4 + rest[i] + bytes_disp32(code, at) == to)
				return true;
		}
	}
	return false;
}

/* The collector variable's address, if the instruction at `at` compares with it; else 0. */
static raddr collector_at(struct beam_node *n, const uint8_t *code, raddr addr, size_t at)
{
	uint64_t process, id;
	raddr collector;

	if (memcmp(code + at, COMPARE, 3) != 0)
		return 0;
	collector = addr + at + COMPARE_SIZE + bytes_disp32(code, at + 3);
	if (mem_read_u64(n->mem, collector, &process) ||
	    mem_read_u64(n->mem, process + (raddr)n->layout.process_id, &id) || !TERM_IS_PID(id))
		return 0;
	return collector;
}

raddr literal_area_find(struct beam_node *n)
{
	struct call_query query = {"erts_literal_area_collector", "release_area_switch", 0};
	struct call_targets targets;
	uint8_t code[CODE_SIZE];
	raddr addr, collector = 0;
	size_t at = 0;
	struct error ignored;

	if (call_targets_find(&targets, n, NULL, &query, &ignored))
		return 0;
	addr = targets.v.len ? targets.v.data[0].c_function : 0;
	call_targets_free(&targets);
	if (!addr || mem_read(n->mem, addr, code, sizeof(code)))
		return 0;
	while (at < PROLOGUE_MAX && !collector)
		collector = collector_at(n, code, addr, at++);
	at += COMPARE_SIZE - 1;
	return collector && refers(code + at, sizeof(code) - at, addr + at, collector + 8)
		       ? collector + 8
		       : 0;
}
