/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds counters by x86-64 code; see vm_counters.h.
 *
 * reply_gc_info() of erl_gc.c, OTP 25 to 29, adds the counts of all dirty schedulers to its own, if
 * its scheduler was the one that was asked:
 *
 *   mov r1, [esdp + gc_info.reclaimed]
 *   mov r2, [esdp + gc_info.garbage_cols]
 *   je  other
 *   other: lea rdi, [rip + dirty_gc.mtx]; call lock; then both words behind it, [rip + ...]
 *
 * init_db() of erl_db.c, OTP 25 to 29:
 *
 *   mov r, [rip + user_requested_db_max_tabs]
 *   mov s, DB_DEF_MAX_TABS
 *   cmp r, s;  cmovl r, s;  ...
 *   mov [rip + db_max_tabs], r
 */
#include "beam/vm/vm_counters.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"

/* REX.W and the operations that are searched, followed by ModRM. */
#define REX_W(byte)	  (((byte)&0xf8) == 0x48)
#define OP_ADD_LOAD	  0x03
#define OP_LEA		  0x8d
#define OP_LOAD		  0x8b
#define OP_STORE	  0x89
#define OP_MOVE_IMMEDIATE 0xb8 /* plus the number of the register */
#define MODRM_RIP(byte)	  (((byte)&0xc7) == 0x05)
#define MODRM_DISP32(b)	  (((b)&0xc0) == 0x80)

/* Limits in bytes: between the two loads, from there to the jump, and of the code searched at its
 * target.  In builds of four compilers: 13 to 17, 12 to 21, and 55. */
#define LOADS_WINDOW  40
#define JUMP_WINDOW   40
#define TARGET_WINDOW 96
#define MUTEX_MAX     128 /* size of erts_mtx_t, before the counters: 40 with pthread's */
#define LIMIT_WINDOW  24  /* from the constant to the comparison, and from there to the store */
#define REFERENCES    24

/* Does mov r64, [r64 + disp32] end with the displacement at `at`? */
static bool is_load(const uint8_t *text, size_t at)
{
	if (at >= 3 && REX_W(text[at - 3]) && text[at - 2] == OP_LOAD &&
	    MODRM_DISP32(text[at - 1]) && (text[at - 1] & 7) != 4)
		return true;
	/* r12 and rsp need one more byte (SIB) */
	return at >= 4 && REX_W(text[at - 4]) && text[at - 3] == OP_LOAD &&
	       MODRM_DISP32(text[at - 2]) && (text[at - 2] & 7) == 4;
}

/* Position of the displacement of the next load with `disp` between `from` and `end`. */
static size_t next_load(const uint8_t *text, size_t from, size_t end, uint32_t disp)
{
	while (from + 4 <= end) {
		const uint8_t *found = memmem(text + from, end - from, &disp, sizeof(disp));

		if (!found)
			return SIZE_MAX;
		from = (size_t)(found - text);
		if (is_load(text, from))
			return from;
		from++;
	}
	return SIZE_MAX;
}

struct references {
	raddr lea[REFERENCES], read[REFERENCES];
	size_t nr_lea, nr_read;
};

static void collect(struct references *r, const struct vm_code *t, size_t from)
{
	size_t end = MIN(from + TARGET_WINDOW, t->size);

	*r = (struct references){0};
	for (size_t at = from; at + 7 <= end; at++) {
		const uint8_t *code = t->bytes + at;
		raddr to;

		if (!REX_W(code[0]) || !MODRM_RIP(code[2]))
			continue;
		to = t->addr + at + 7 + bytes_disp32(code, 3);
		if (to < t->data || to >= t->data_end)
			continue;
		if (code[1] == OP_LEA && r->nr_lea < REFERENCES)
			r->lea[r->nr_lea++] = to;
		else if ((code[1] == OP_LOAD || code[1] == OP_ADD_LOAD) && r->nr_read < REFERENCES)
			r->read[r->nr_read++] = to;
	}
}

/* Address of both counters, which follow the mutex; 0 if they are not referred to. */
static raddr counters_of(const struct references *r, raddr distance)
{
	for (size_t i = 0; i < r->nr_read; i++) {
		bool both = false, locked = false;

		for (size_t k = 0; k < r->nr_read; k++)
			both |= r->read[k] == r->read[i] + distance;
		for (size_t k = 0; k < r->nr_lea; k++)
			locked |= r->lea[k] < r->read[i] && r->read[i] - r->lea[k] <= MUTEX_MAX;
		if (both && locked && r->read[i] % 8 == 0)
			return r->read[i];
	}
	return 0;
}

/* Address of the counters that the code at `at` uses, or that at the target of a jump after it. */
static raddr dirty_gc_behind(const struct vm_code *t, size_t at, raddr distance)
{
	size_t end = MIN(at + JUMP_WINDOW, t->size);
	struct references r;
	raddr found;

	collect(&r, t, at);
	found = counters_of(&r, distance);
	for (; !found && at + 6 <= end; at++) {
		const uint8_t *code = t->bytes + at;
		uint64_t target;

		if (code[0] != 0x0f || (code[1] & 0xfe) != 0x84) /* je, jne */
			continue;
		target = at + 6 + bytes_disp32(code, 2);
		if (target >= t->size)
			continue;
		collect(&r, t, target);
		found = counters_of(&r, distance);
	}
	return found;
}

raddr vm_code_find_dirty_gc(const struct vm_code *t, const struct beam_layout *l)
{
	size_t at = 0;
	raddr found = 0;

	if (l->sched_gc_reclaimed == LAYOUT_ABSENT || l->sched_gc_count == LAYOUT_ABSENT ||
	    l->sched_gc_count <= l->sched_gc_reclaimed)
		return 0;
	for (;; at++) {
		size_t other;
		raddr one;

		at = next_load(t->bytes, at, t->size, (uint32_t)l->sched_gc_reclaimed);
		if (at == SIZE_MAX)
			return found;
		other = next_load(t->bytes, at, MIN(at + LOADS_WINDOW, t->size),
				  (uint32_t)l->sched_gc_count);
		if (other == SIZE_MAX)
			continue;
		one = dirty_gc_behind(t, other + 4,
				      (raddr)(l->sched_gc_count - l->sched_gc_reclaimed));
		if (one && found && one != found)
			return 0;
		found = one ? one : found;
	}
}

/* Address of the first variable before `end` to which a register is stored; 0: none. */
static raddr stored_variable(const struct vm_code *t, size_t at, size_t end)
{
	for (; at + 6 <= end; at++) {
		const uint8_t *code = t->bytes + at;
		raddr to;

		if (code[0] != OP_STORE || !MODRM_RIP(code[1]))
			continue;
		to = t->addr + at + 6 + bytes_disp32(code, 2);
		if (to >= t->data && to < t->data_end && to % 4 == 0)
			return to;
	}
	return 0;
}

/* Position of the next cmovl, cmovge, cmovle or cmovg: the maximum of two. */
static size_t next_choice(const uint8_t *text, size_t at, size_t end)
{
	for (; at + 2 <= end; at++) {
		if (text[at] == 0x0f && text[at + 1] >= 0x4c && text[at + 1] <= 0x4f)
			return at + 2;
	}
	return SIZE_MAX;
}

raddr vm_code_find_ets_limit(const struct vm_code *t)
{
	static const uint32_t least = BEAM_ETS_LIMIT_MIN;
	const uint8_t *at = t->bytes, *end = t->bytes + t->size;
	raddr found = 0;

	while ((at = memmem(at, (size_t)(end - at), &least, sizeof(least))) != NULL) {
		size_t offset = (size_t)(at++ - t->bytes), choice;
		raddr one;

		/* mov r, [rip + ...] right before mov s, least */
		if (offset < 7 || (t->bytes[offset - 1] & 0xf8) != OP_MOVE_IMMEDIATE ||
		    t->bytes[offset - 7] != OP_LOAD || !MODRM_RIP(t->bytes[offset - 6]))
			continue;
		offset += sizeof(least);
		choice = next_choice(t->bytes, offset, MIN(offset + LIMIT_WINDOW, t->size));
		if (choice == SIZE_MAX)
			continue;
		one = stored_variable(t, choice, MIN(choice + LIMIT_WINDOW, t->size));
		if (one && found && one != found)
			return 0;
		found = one ? one : found;
	}
	return found;
}
