/* SPDX-License-Identifier: BSD-2-Clause */
/* See code_calls.h.  Capstone finds where instructions end; calls and jumps are recognised by
 * opcode. */
#include "probe/site/code_calls.h"

#include <capstone/capstone.h>
#include <string.h>

#include "probe/site/instruction.h"

/* mov %rax, %r13, in either encoding */
static bool keeps_process(const uint8_t *at, size_t left)
{
	return left >= 3 &&
	       (memcmp(at, "\x49\x89\xc5", 3) == 0 || memcmp(at, "\x4c\x8b\xe8", 3) == 0);
}

static uint64_t relative(const cs_insn *insn, const struct raw_instruction *r, size_t size)
{
	uint64_t next = insn->address + insn->size;
	int32_t rel32;

	if (size == 1)
		return next + (uint64_t)(int64_t)(int8_t)r->opcode[r->len - 1];
	memcpy(&rel32, r->opcode + r->len - 4, sizeof(rel32));
	return next + (uint64_t)(int64_t)rel32;
}

static bool is_near(const struct raw_instruction *r)
{
	return r->len >= 5 && (r->opcode[0] == 0xe8 || r->opcode[0] == 0xe9 ||
			       (r->opcode[0] == 0x0f && instruction_is_conditional_jump(r)));
}

static bool is_short_jump(const struct raw_instruction *r)
{
	return r->len == 2 && (r->opcode[0] == 0xeb || (r->opcode[0] & 0xf0) == 0x70);
}

/* call (ff /2) or jmp (ff /4) through a word in memory, addressed relative to rip */
static bool through_memory(const struct code_bytes *code, const cs_insn *insn,
			   const struct raw_instruction *r, uint64_t *target)
{
	return code->read_word && r->len == 6 && r->opcode[0] == 0xff &&
	       (r->opcode[1] == 0x15 || r->opcode[1] == 0x25) &&
	       code->read_word(code->ctx, relative(insn, r, 4), target);
}

/* True if the instruction calls something, or jumps out of the code. */
static bool take(const struct code_bytes *code, const cs_insn *insn, struct code_call *out)
{
	struct raw_instruction r = instruction_take_apart(insn->bytes, insn->size);

	*out = (struct code_call){.at = insn->address};
	if (is_near(&r) || is_short_jump(&r)) {
		out->target = relative(insn, &r, is_near(&r) ? 4 : 1);
		out->jump = r.opcode[0] != 0xe8;
		return !out->jump || out->target - code->addr >= code->size;
	}
	if (!through_memory(code, insn, &r, &out->target))
		return false;
	out->jump = r.opcode[1] == 0x25;
	return true;
}

struct decoder {
	csh capstone;
	cs_insn *insn;
};

static bool decoder_open(struct decoder *d)
{
	d->insn = NULL;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->capstone) != CS_ERR_OK)
		return false;
	d->insn = cs_malloc(d->capstone);
	if (!d->insn)
		cs_close(&d->capstone);
	return d->insn != NULL;
}

static void decoder_close(struct decoder *d)
{
	cs_free(d->insn, 1);
	cs_close(&d->capstone);
}

size_t code_calls_find(const struct code_bytes *code, struct code_call *out, size_t max)
{
	const uint8_t *at = code->bytes;
	uint64_t addr = code->addr;
	size_t left = code->size, nr = 0;
	struct code_call call;
	struct decoder d;

	if (!decoder_open(&d))
		return SIZE_MAX;
	while (left > 0 && nr != SIZE_MAX) {
		if (!cs_disasm_iter(d.capstone, &at, &left, &addr, d.insn)) {
			nr = SIZE_MAX;
		} else if (take(code, d.insn, &call)) {
			call.process = !call.jump && keeps_process(at, left);
			if (nr == max)
				nr = SIZE_MAX;
			else
				out[nr++] = call;
		}
	}
	decoder_close(&d);
	return nr;
}

uint64_t code_calls_first(const struct code_bytes *code, unsigned int instructions)
{
	const uint8_t *at = code->bytes;
	uint64_t addr = code->addr, found = 0;
	size_t left = code->size;
	struct code_call call;
	struct decoder d;

	if (!decoder_open(&d))
		return 0;
	for (unsigned int i = 0; i < instructions && left > 0 && !found; i++) {
		if (!cs_disasm_iter(d.capstone, &at, &left, &addr, d.insn))
			break;
		if (take(code, d.insn, &call)) {
			if (call.jump)
				break;
			found = call.target;
		}
	}
	decoder_close(&d);
	return found;
}
