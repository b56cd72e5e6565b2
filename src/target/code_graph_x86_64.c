/* SPDX-License-Identifier: BSD-2-Clause */
/* See code_graph.h. */
#include "target/code_graph.h"

#include <capstone/capstone.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/idmap.h"
#include "base/keytab.h"
#include "base/search.h"
#include "target/elf_internal.h"

/* Bytes of a string literal: shorter ones may be other data. */
#define STRING_MIN 4
#define STRING_MAX 4096
/* Limits of one file: beam.smp has 5,000 to 7,000 functions (OTP 25 to 29). */
#define MAX_FUNCTIONS (1u << 20)
#define MAX_CODE      (64u << 20) /* bytes of all functions */

struct import_slot {
	uint64_t addr; /* key: address of the slot in the image */
	uint32_t hash; /* of the symbol's name */
};

/* What an address in an instruction is. */
enum ref_kind { REF_DATA, REF_FUNCTION, REF_STRING, REF_IMPORT };

struct ref {
	enum ref_kind kind;
	uint32_t value; /* index of the function; hash of the string, or of the symbol's name */
};

struct reading {
	struct code_graph *g;
	const struct elf_file *e;
	csh capstone;
	cs_insn *insn;
	struct keytab imports; /* struct import_slot */
	uint64_t start, end;   /* of the function that is read */
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* ---- references ------------------------------------------------------------------------------ */

static bool import_at(const struct reading *r, uint64_t slot, struct ref *out)
{
	const struct import_slot *import = slot ? keytab_find(&r->imports, slot) : NULL;

	if (!import)
		return false;
	*out = (struct ref){.kind = REF_IMPORT, .value = import->hash};
	return true;
}

/* Address of a memory operand that is relative to rip; 0 = it is none. */
static uint64_t memory_operand(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	for (uint8_t i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];

		if (op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP)
			return insn->address + insn->size + (uint64_t)op->mem.disp;
	}
	return 0;
}

static bool stub_target(const struct reading *r, uint64_t addr, struct ref *out)
{
	struct elf_symbol stub;

	return import_at(r, elf_file_stub_slot(r->e, addr, &stub), out);
}

/* The literal at an address of constant data; false = the bytes are no text. */
static bool string_at(const struct reading *r, const struct elf_section *s, uint64_t addr,
		      struct ref *out)
{
	size_t most = MIN(s->size - (addr - s->addr), STRING_MAX), len = 0, skip;
	const unsigned char *slash;
	struct elf_bytes bytes = elf_file_bytes(r->e, s->offset + (addr - s->addr), most);

	if (s->write || s->exec || s->nobits || !bytes.data)
		return false;
	while (len < most && (isprint(bytes.data[len]) || isspace(bytes.data[len])))
		len++;
	if (len < STRING_MIN || len == most || bytes.data[len] != '\0')
		return false;
	/* Of a source file (__FILE__) only the name: where it was built differs. */
	slash = memrchr(bytes.data, '/', len);
	skip = slash && memchr(slash, '.', len - (size_t)(slash - bytes.data)) &&
			       !memchr(bytes.data, ' ', len)
		       ? (size_t)(slash - bytes.data)
		       : 0;
	*out = (struct ref){.kind = REF_STRING, .value = hash_bytes(bytes.data + skip, len - skip)};
	return true;
}

/* What is at an address that an instruction names.  False: a place in the same function, or nothing
 * that a segment holds. */
static bool reference(struct reading *r, uint64_t addr, struct ref *out)
{
	const struct elf_section *s;
	size_t f;

	if (addr == 0 || (addr > r->start && addr < r->end))
		return false;
	f = code_graph_at(r->g, addr);
	if (f != SIZE_MAX) {
		*out = (struct ref){.kind = REF_FUNCTION, .value = (uint32_t)f};
		return true;
	}
	if (import_at(r, addr, out))
		return true;
	s = elf_section_at(r->e, addr);
	if (!s)
		return false;
	if (s->exec && stub_target(r, addr, out))
		return true;
	if (s->exec)
		return false;
	if (!string_at(r, s, addr, out))
		*out = (struct ref){.kind = REF_DATA};
	return true;
}

/* The address that an instruction refers to, and the place of its encoding; 0 = none. */
static uint64_t address_of(const struct reading *r, uint8_t *offset, uint8_t *size)
{
	const cs_insn *insn = r->insn;
	const cs_x86 *x = &insn->detail->x86;
	uint64_t addr = memory_operand(insn);

	if (addr) {
		*offset = x->encoding.disp_offset;
		*size = x->encoding.disp_size;
		return addr;
	}
	if ((cs_insn_group(r->capstone, insn, CS_GRP_JUMP) ||
	     cs_insn_group(r->capstone, insn, CS_GRP_CALL)) &&
	    x->op_count == 1 && x->operands[0].type == X86_OP_IMM) {
		*size = insn->size >= 5 ? 4 : 1; /* rel32, rel8: the last bytes */
		*offset = (uint8_t)(insn->size - *size);
		return (uint64_t)x->operands[0].imm;
	}
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void take(struct reading *r, struct code_function *f)
{
	const cs_insn *insn = r->insn;
	uint8_t offset = 0, size = 0;
	uint64_t addr = address_of(r, &offset, &size);
	struct ref ref;

	f->nr_insns++;
	if (!addr || (addr >= r->start && addr < r->end) || size == 0 ||
	    offset + size > insn->size) {
		f->hash = hash64_add(f->hash, insn->bytes, insn->size);
		return;
	}
	f->hash = hash64_add(f->hash, insn->bytes, offset);
	f->hash = hash64_add(f->hash, insn->bytes + offset + size, insn->size - offset - size);
	if (!reference(r, addr, &ref))
		return;
	f->nr_refs++;
	f->hash =
		mix(f->hash, (uint64_t)ref.kind << 32 | (ref.kind == REF_FUNCTION ? 0 : ref.value));
	if (ref.kind == REF_FUNCTION) {
		vec_push(&r->g->callees, ref.value);
		f->nr_callees++;
	}
}

/* Padding at the end of a range, which depends on where the function lies. */
static bool is_padding(const cs_insn *insn)
{
	return insn->id == X86_INS_NOP || insn->id == X86_INS_INT3;
}

static void read_function(struct reading *r, struct code_function *f)
{
	struct elf_bytes bytes =
		elf_file_bytes(r->e, elf_file_offset_of(r->e, f->addr), r->end - r->start);
	const uint8_t *at = bytes.data;
	size_t left = bytes.data ? r->end - r->start : 0;
	uint64_t addr = f->addr;

	f->first_callee = (uint32_t)r->g->callees.len;
	f->hash = 0xcbf29ce484222325ull;
	while (left > 0 && cs_disasm_iter(r->capstone, &at, &left, &addr, r->insn)) {
		if (!is_padding(r->insn))
			take(r, f);
	}
	if (left > 0 || !bytes.data)
		f->hash = 0;
}

void code_graph_name(struct code_graph *g, const struct elf_file *debug)
{
	struct elf_symbol symbol;

	for (size_t i = 0; i < g->functions.len; i++) {
		struct code_function *f = &g->functions.data[i];

		if (!f->name && elf_file_symbol_at(debug, f->addr, &symbol) &&
		    symbol.addr == f->addr)
			f->name = arena_copy(&g->names, symbol.name);
	}
}

static void read_imports(struct reading *r)
{
	struct elf_import *imports = NULL;
	size_t nr = elf_file_imports(r->e, &imports);

	for (size_t i = 0; i < nr; i++) {
		const char *name = imports[i].name;

		if (imports[i].slot && !keytab_find(&r->imports, imports[i].slot))
			((struct import_slot *)keytab_add(&r->imports, imports[i].slot))->hash =
				hash_bytes(name, strlen(name));
	}
	free(imports);
}

/* Of ranges that overlap, which no compiler makes, only the first counts. */
static void read_functions(struct reading *r, const struct elf_range *ranges, size_t nr)
{
	uint64_t end = 0, total = 0;

	for (size_t i = 0; i < nr && r->g->functions.len < MAX_FUNCTIONS; i++) {
		const struct elf_section *s = elf_section_at(r->e, ranges[i].start);
		uint64_t size = ranges[i].end - ranges[i].start;

		if (!s || !s->exec || strncmp(s->name, ".plt", 4) == 0 || ranges[i].start < end ||
		    size > MAX_CODE - total)
			continue;
		end = ranges[i].end;
		total += size;
		vec_push(&r->g->functions,
			 ((struct code_function){.addr = ranges[i].start, .size = (uint32_t)size}));
	}
	for (size_t i = 0; i < r->g->functions.len; i++) {
		struct code_function *f = &r->g->functions.data[i];

		r->start = f->addr;
		r->end = f->addr + f->size;
		read_function(r, f);
	}
}

int code_graph_read(struct code_graph *g, const struct elf_file *e)
{
	struct reading r = {.g = g, .e = e, .imports = KEYTAB_INIT(struct import_slot)};
	const struct elf_range *ranges;
	size_t nr = elf_file_functions(e, &ranges);

	*g = (struct code_graph){0};
	if (nr == 0 || !elf_file_is_x86_64(e) ||
	    cs_open(CS_ARCH_X86, CS_MODE_64, &r.capstone) != CS_ERR_OK)
		return -ENOTSUP;
	cs_option(r.capstone, CS_OPT_DETAIL, CS_OPT_ON);
	r.insn = cs_malloc(r.capstone);
	read_imports(&r);
	if (r.insn)
		read_functions(&r, ranges, nr);
	code_graph_name(g, e);
	keytab_free(&r.imports);
	if (r.insn)
		cs_free(r.insn, 1);
	cs_close(&r.capstone);
	return r.insn ? 0 : -ENOTSUP;
}

void code_graph_free(struct code_graph *g)
{
	vec_free(&g->functions);
	vec_free(&g->callees);
	arena_free(&g->names);
}

size_t code_graph_at(const struct code_graph *g, uint64_t addr)
{
	size_t nr = COUNT_UP_TO(g->functions.len, i, g->functions.data[i].addr, addr);

	return nr && g->functions.data[nr - 1].addr == addr ? nr - 1 : SIZE_MAX;
}
