/* SPDX-License-Identifier: BSD-2-Clause */
/* See functions.h: the search space of a node: its executable, JIT records and BIF table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/code/jit.h"
#include "beam/node/node.h"
#include "beam/term/atoms.h"
#include "probe/site/code_calls.h"
#include "probe/site/functions.h"
#include "probe/site/jit_instruction.h"
#include "target/elf.h"
#include "target/function_names.h"

#define MAX_FRAGMENT (64u << 10) /* bytes; the largest has 500 (OTP 25 to 29) */
#define MAX_BIFS     4096u	 /* OTP 29 has about 700 */
#define MAX_MODULE   (64u << 20)
/* Occurrences of an instruction in all modules: with fewer than MIN_PLACES it is not certain which
 * function the instruction calls; after MAX_PLACES the scan stops. */
#define MIN_PLACES 8
#define MAX_PLACES 128

struct node_space {
	const struct beam_node *node; /* NULL: only the file is known */
	const struct elf_file *elf;
	struct jit_code *jit;
	bool synced;
};

static bool bounds(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct node_space *s = ctx;

	return elf_file_function_at(s->elf, addr, start, end);
}

static bool read_file(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct node_space *s = ctx;
	uint64_t offset = elf_file_offset_of(s->elf, addr);

	return offset != UINT64_MAX && elf_file_read_constant(s->elf, offset, buf, size) == size;
}

static bool symbol(void *ctx, const char *name, uint64_t *addr)
{
	const struct node_space *s = ctx;
	struct elf_symbol found;

	if (!elf_file_symbol(s->elf, name, &found) || !found.function)
		return false;
	*addr = found.addr;
	return true;
}

static bool matched(void *ctx, const char *name, uint64_t *addr)
{
	const struct node_space *s = ctx;
	const struct elf_file *debug = objects_debug(s->node->objects, s->elf);
	struct elf_symbol found;

	if (debug && elf_file_symbol(debug, name, &found) && found.function) {
		*addr = found.addr;
		return true;
	}
	return function_names_find(s->node->function_names, s->elf, name, addr);
}

/* True, with its C function, if a row of the BIF table is this BIF. */
static bool is_bif(struct node_space *s, const uint8_t *row, const char *mfa, uint64_t *function)
{
	const char *module, *name;
	size_t module_len, name_len;
	uint64_t terms[2];
	uint32_t arity;
	char text[160];

	memcpy(&terms[0], row + BEAM_BIF_MODULE, 8);
	memcpy(&terms[1], row + BEAM_BIF_NAME, 8);
	memcpy(&arity, row + BEAM_BIF_ARITY, 4);
	memcpy(function, row + BEAM_BIF_FUNCTION, 8);
	module = beam_atom_text(s->node->atoms, terms[0], &module_len);
	name = beam_atom_text(s->node->atoms, terms[1], &name_len);
	if (!module || !name)
		return false;
	snprintf(text, sizeof(text), "%s:%s/%u", module, name, arity);
	return strcmp(text, mfa) == 0;
}

static bool bif(void *ctx, const char *mfa, uint64_t *addr)
{
	struct node_space *s = ctx;
	const struct beam_anchors *a = &s->node->anchors;
	uint8_t row[BEAM_BIF_SIZE];
	uint64_t function;

	if (!a->bif_table || !s->node->atoms)
		return false;
	for (uint32_t i = 0; i < a->nr_bifs && i < MAX_BIFS; i++) {
		if (mem_read(s->node->mem, a->bif_table + (raddr)i * BEAM_BIF_SIZE, row,
			     sizeof(row)) != 0)
			return false;
		if (is_bif(s, row, mfa, &function)) {
			*addr = function - s->node->bias;
			return true;
		}
	}
	return false;
}

static bool sync(struct node_space *s)
{
	struct error err;

	if (!s->synced && s->node->anchors.jit_descriptor) {
		jit_open_node(&s->jit, s->node);
		if (jit_sync(s->jit, &err) != 0) {
			jit_close(s->jit);
			s->jit = NULL;
		}
	}
	s->synced = true;
	return s->jit != NULL;
}

static bool fragment(void *ctx, const char *name, uint8_t **bytes, size_t *size, uint64_t *addr)
{
	struct node_space *s = ctx;
	struct address_range range;
	struct jit_function f;

	if (!sync(s))
		return false;
	if (strcmp(name, "normal_exit") == 0) {
		/* In the JIT's record of the emulator's own code. */
		if (!jit_find(s->jit, jit_normal_exit(s->jit), &f))
			return false;
		range = (struct address_range){f.start, f.end};
	} else if (!jit_fragment(s->jit, name, &range)) {
		return false;
	}
	*size = range.end - range.start;
	if (range.end <= range.start || *size > MAX_FRAGMENT)
		return false;
	*bytes = xmalloc(*size);
	*addr = range.start - s->node->bias;
	if (mem_read(s->node->mem, range.start, *bytes, *size) == 0)
		return true;
	free(*bytes);
	return false;
}

static bool fragment_word(void *ctx, uint64_t addr, uint64_t *value)
{
	const struct node_space *s = ctx;

	if (mem_read_u64(s->node->mem, addr + s->node->bias, value) != 0)
		return false;
	*value -= s->node->bias;
	return true;
}

static uint64_t atom(void *ctx, const char *text)
{
	struct node_space *s = ctx;

	return s->node->atoms ? beam_atom_find(s->node->atoms, text) : 0;
}

static void close_space(void *ctx)
{
	struct node_space *s = ctx;

	jit_close(s->jit);
	free(s);
}

/* Finds the function that the instruction calls in the code of a module: false if two occurrences
 * call different ones. */
static bool scan_module(struct node_space *s, const struct address_range *range, unsigned int *nr,
			uint64_t *function)
{
	struct code_bytes code = {.size = range->end - range->start,
				  .addr = range->start - s->node->bias,
				  .read_word = fragment_word,
				  .ctx = s};
	uint8_t *bytes;
	uint64_t target;
	size_t at = 0;
	bool same = true;

	if (range->end <= range->start || code.size > MAX_MODULE)
		return true;
	bytes = xmalloc(code.size);
	code.bytes = bytes;
	if (mem_read(s->node->mem, range->start, bytes, code.size) == 0) {
		while (same && *nr < MAX_PLACES &&
		       (target = jit_instruction_remove_message(&code, &at)) != 0) {
			same = *nr == 0 || target == *function;
			*function = target;
			++*nr;
		}
	}
	free(bytes);
	return same;
}

static bool instruction(void *ctx, const char *name, uint64_t *addr)
{
	struct node_space *s = ctx;
	struct address_range range;
	unsigned int nr = 0;

	if (strcmp(name, "remove_message") != 0 || !sync(s))
		return false;
	for (size_t i = 0; nr < MAX_PLACES && jit_module_at(s->jit, i, &range); i++)
		if (!scan_module(s, &range, &nr, addr))
			return false;
	return nr >= MIN_PLACES;
}

static void open_space(struct functions **out, struct node_space *s, int otp)
{
	const struct elf_section *text = elf_file_section(s->elf, ".text");
	struct function_space space = {
		.ctx = s,
		.close = close_space,
		.otp = otp,
		.elf = s->elf,
		.bounds = bounds,
		.read = read_file,
		.symbol = symbol,
	};

	if (s->node && text) {
		space.bif = bif;
		space.fragment = fragment;
		space.fragment_word = fragment_word;
		space.instruction = instruction;
		space.atom = atom;
		space.text = text->addr;
		space.text_end = text->addr + text->size;
	}
	/* Where symbols are exported, what has none is missing in that release, too. */
	if (s->node && s->node->identity.hidden)
		space.matched = matched;
	functions_open_space(out, &space);
}

void functions_open(struct functions **out, const struct beam_node *n)
{
	struct node_space *s = xcalloc(1, sizeof(*s));

	s->node = n;
	s->elf = n->elf;
	open_space(out, s, n->identity.otp);
}

void functions_open_file(struct functions **out, const struct elf_file *elf)
{
	struct node_space *s = xcalloc(1, sizeof(*s));

	s->elf = elf;
	open_space(out, s, 0);
}
