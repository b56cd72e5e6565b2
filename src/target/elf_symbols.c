/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbols of one ELF file, by name and by address.  Tables are read where they lie in the mapped
 * file; the index by address holds 4 bytes per function symbol and is built on first use.
 */
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/search.h"
#include "base/vec.h"
#include "target/elf_internal.h"

/* Functions before an address that are tried for one that covers it: aliases, and symbols inside
 * another's range, are a handful in real files. */
#define MAX_NESTED  32
#define NAME_SUFFIX 256 /* as many underscores as a suffix weighs */

struct table {
	struct elf_bytes symbols, strings;
	size_t nr;
};

/* A copy of a symbol's name without the "@VERSION" that it has in the file. */
struct cut_name {
	const char *from; /* hash key: address of the full name in the mapped file */
	UT_hash_handle hh;
	char name[];
};

struct elf_symbols {
	struct table symtab, dynsym;
	bool indexed;
	uint32_t *by_addr; /* indices into indexed_table(), sorted by compare_functions() */
	size_t nr_by_addr;
	struct cut_name *cut_names;
};

static struct table find_table(const struct elf_file *e, uint32_t type)
{
	struct table t = {0};

	for (size_t i = 0; i < e->nr_sections; i++) {
		GElf_Shdr shdr;
		Elf_Scn *scn;

		if (e->section_types[i] != type)
			continue;
		scn = elf_getscn(e->elf, i);
		if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_link >= e->nr_sections ||
		    e->section_types[shdr.sh_link] != SHT_STRTAB)
			continue;
		t.symbols = elf_section_bytes(e, i);
		t.strings = elf_section_bytes(e, shdr.sh_link);
		t.nr = t.symbols.size / sizeof(Elf64_Sym);
		if (t.nr > ELF_MAX_SYMBOLS)
			t.nr = ELF_MAX_SYMBOLS;
		break;
	}
	return t;
}

struct elf_symbols *elf_symbols_new(const struct elf_file *e)
{
	struct elf_symbols *s = xcalloc(1, sizeof(*s));

	if (e->is_64_lsb) {
		s->symtab = find_table(e, SHT_SYMTAB);
		s->dynsym = find_table(e, SHT_DYNSYM);
	}
	return s;
}

void elf_symbols_free(struct elf_symbols *s)
{
	struct cut_name *c, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->cut_names, c, next) {
		HASH_DEL(s->cut_names, c);
		free(c);
	}
	free(s->by_addr);
	free(s);
}

/* Copies an entry, as tables in a file may be unaligned. */
static Elf64_Sym table_symbol(const struct table *t, size_t i)
{
	Elf64_Sym sym;

	memcpy(&sym, t->symbols.data + i * sizeof(sym), sizeof(sym));
	return sym;
}

static bool is_function(const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Has the symbol an address in the file's image? */
static bool is_defined(const Elf64_Sym *sym)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       sym->st_shndx != SHN_COMMON && sym->st_name != 0 &&
	       (type == STT_NOTYPE || type == STT_OBJECT || is_function(sym));
}

/* Names in .symtab can end with "@VERSION" or "@@VERSION"; returns the name without it. */
static const char *plain_name(struct elf_symbols *s, const char *full)
{
	size_t len = strcspn(full, "@");
	struct cut_name *c;

	if (full[len] == '\0' || len == 0)
		return full;
	HASH_FIND_PTR(s->cut_names, &full, c);
	if (!c) {
		c = xmalloc(sizeof(*c) + len + 1);
		c->from = full;
		memcpy(c->name, full, len);
		c->name[len] = '\0';
		HASH_ADD_PTR(s->cut_names, from, c);
	}
	return c->name;
}

static bool fill_symbol(struct elf_symbols *s, const struct table *t, const Elf64_Sym *sym,
			struct elf_symbol *out)
{
	const char *name = elf_bytes_string(t->strings, sym->st_name);

	if (!name)
		return false;
	*out = (struct elf_symbol){
		.name = plain_name(s, name),
		.addr = sym->st_value,
		.size = sym->st_size,
		.function = is_function(sym),
	};
	return true;
}

static bool find_by_name(struct elf_symbols *s, const struct table *t, const char *name,
			 struct elf_symbol *out)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < t->nr; i++) {
		Elf64_Sym sym = table_symbol(t, i);
		const char *full;

		if (!is_defined(&sym))
			continue;
		if (sym.st_name >= t->strings.size || t->strings.size - sym.st_name <= len)
			continue;
		full = (const char *)t->strings.data + sym.st_name;
		if (memcmp(full, name, len) == 0 && (full[len] == '\0' || full[len] == '@') &&
		    fill_symbol(s, t, &sym, out))
			return true;
	}
	return false;
}

bool elf_file_symbol(const struct elf_file *e, const char *name, struct elf_symbol *out)
{
	return find_by_name(e->symbols, &e->symbols->symtab, name, out) ||
	       find_by_name(e->symbols, &e->symbols->dynsym, name, out);
}

static const struct table *indexed_table(const struct elf_symbols *s)
{
	return s->symtab.nr > 0 ? &s->symtab : &s->dynsym;
}

/* Rank of a name among aliases of one function: the one with the highest rank is shown. */
static int name_rank(const Elf64_Sym *sym)
{
	switch (ELF64_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return 2;
	case STB_WEAK:
		return 1;
	default:
		return 0;
	}
}

/* Of aliases with the same binding the one with the lowest rank is shown: without a suffix of the
 * compiler ("f.localalias"), with few underscores in front. */
static size_t alias_rank(const struct table *t, const Elf64_Sym *sym)
{
	const char *name = elf_bytes_string(t->strings, sym->st_name);

	return name ? strspn(name, "_") + (strchr(name, '.') ? NAME_SUFFIX : 0) : SIZE_MAX;
}

/* Sorts by address; aliases so that the one to show is last: local before global, then by
 * alias_rank(), the lowest last. */
static int compare_functions(const void *a, const void *b, void *table)
{
	const struct table *t = table;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	Elf64_Sym x = table_symbol(t, i), y = table_symbol(t, j);
	size_t rank_x, rank_y;
	int rank;

	if (x.st_value != y.st_value)
		return x.st_value < y.st_value ? -1 : 1;
	rank = name_rank(&x) - name_rank(&y);
	if (rank)
		return rank;
	rank_x = alias_rank(t, &x);
	rank_y = alias_rank(t, &y);
	if (rank_x != rank_y)
		return rank_x > rank_y ? -1 : 1;
	return i > j ? -1 : i < j;
}

static void build_index(struct elf_symbols *s)
{
	const struct table *t = indexed_table(s);
	VEC(uint32_t) index = {0};

	s->indexed = true;
	for (size_t i = 0; i < t->nr; i++) {
		Elf64_Sym sym = table_symbol(t, i);

		if (is_defined(&sym) && is_function(&sym) && sym.st_size > 0)
			vec_push(&index, (uint32_t)i);
	}
	if (index.len == 0)
		return;
	qsort_r(index.data, index.len, sizeof(*index.data), compare_functions, (void *)t);
	s->by_addr = xrealloc(index.data, index.len * sizeof(*index.data));
	s->nr_by_addr = index.len;
}

bool elf_file_symbol_at(const struct elf_file *e, uint64_t addr, struct elf_symbol *out)
{
	struct elf_symbols *s = e->symbols;
	const struct table *t = indexed_table(s);
	size_t nr;

	if (!s->indexed)
		build_index(s);
	nr = COUNT_UP_TO(s->nr_by_addr, i, table_symbol(t, s->by_addr[i]).st_value, addr);
	for (size_t tries = 0; nr > 0 && tries < MAX_NESTED; tries++) {
		Elf64_Sym sym = table_symbol(t, s->by_addr[--nr]);

		if (addr - sym.st_value < sym.st_size && fill_symbol(s, t, &sym, out))
			return true;
	}
	return false;
}

/* A node imports a few hundred symbols. */
#define MAX_IMPORTS 65536u

struct imports {
	VEC(struct elf_import) list;
};

/* Adds the imports for which section i (SHT_RELA) has relocations. */
static void add_imports(const struct elf_file *e, size_t i, struct imports *out)
{
	const struct table *t = &e->symbols->dynsym;
	struct elf_bytes bytes = elf_section_bytes(e, i);

	for (size_t k = 0; k < bytes.size / sizeof(Elf64_Rela) && out->list.len < MAX_IMPORTS;
	     k++) {
		struct elf_import import;
		Elf64_Sym sym;
		Elf64_Rela r;

		memcpy(&r, bytes.data + k * sizeof(r), sizeof(r));
		if ((ELF64_R_TYPE(r.r_info) != R_X86_64_JUMP_SLOT &&
		     ELF64_R_TYPE(r.r_info) != R_X86_64_GLOB_DAT) ||
		    ELF64_R_SYM(r.r_info) >= t->nr)
			continue;
		sym = table_symbol(t, ELF64_R_SYM(r.r_info));
		import.name = elf_bytes_string(t->strings, sym.st_name);
		import.slot = r.r_offset;
		if (import.name && *import.name)
			vec_push(&out->list, import);
	}
}

size_t elf_file_imports(const struct elf_file *e, struct elf_import **out)
{
	struct imports imports = {0};

	for (size_t i = 0; i < e->nr_sections; i++)
		if (e->section_types[i] == SHT_RELA && e->is_64_lsb)
			add_imports(e, i, &imports);
	*out = imports.list.data;
	return imports.list.len;
}

/* Size of the stubs of a section: 16 bytes, but 8 in .plt.got if they do not begin with endbr64. */
static uint64_t stub_size(const struct elf_file *e, const struct elf_section *s)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t first[4];

	if (strcmp(s->name, ".plt.got") != 0 ||
	    (elf_file_read(e, s->addr, first, sizeof(first)) == 0 &&
	     memcmp(first, endbr64, sizeof(first)) == 0))
		return 16;
	return 8;
}

/* The slot that a stub jumps through, jmp *disp32(%rip) after at most 10 other bytes; 0 = none. */
static uint64_t stub_slot(const uint8_t *bytes, size_t size, uint64_t addr)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		int32_t disp;

		if (bytes[i] != 0xff || bytes[i + 1] != 0x25)
			continue;
		memcpy(&disp, bytes + i + 2, sizeof(disp));
		return addr + i + 6 + (uint64_t)(int64_t)disp;
	}
	return 0;
}

uint64_t elf_file_stub_slot(const struct elf_file *e, uint64_t addr, struct elf_symbol *out)
{
	const struct elf_section *s = e->machine == EM_X86_64 ? elf_section_at(e, addr) : NULL;
	uint8_t bytes[16];

	if (!s || !s->exec || strncmp(s->name, ".plt", 4) != 0)
		return 0;
	*out = (struct elf_symbol){.size = stub_size(e, s), .function = true};
	out->addr = addr - (addr - s->addr) % out->size;
	if (elf_file_read(e, out->addr, bytes, out->size) != 0)
		return 0;
	return stub_slot(bytes, out->size, out->addr);
}

bool elf_file_stub_at(const struct elf_file *e, uint64_t addr, struct elf_symbol *out)
{
	uint64_t slot = elf_file_stub_slot(e, addr, out);
	struct elf_import *imports = NULL;
	size_t nr = slot ? elf_file_imports(e, &imports) : 0;

	for (size_t i = 0; i < nr && !out->name; i++)
		out->name = imports[i].slot == slot ? imports[i].name : NULL;
	free(imports);
	return nr > 0 && out->name;
}
