/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ELF file (executable, library, debug file) by libelf: symbols, function bounds, sections,
 * build id.  Addresses are the file's own virtual addresses; whoever knows the mapping adds the
 * load bias.  Never trusts the file: every offset is checked.
 */
#ifndef EBEAM_TARGET_ELF_H
#define EBEAM_TARGET_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/mem.h"

struct elf_file;

struct elf_section {
	const char *name;
	uint64_t addr, size, offset;
	bool alloc, write, exec, nobits;
};

struct elf_symbol {
	const char *name; /* without version suffix, not demangled */
	uint64_t addr, size;
	bool function;
};

/* Takes ownership of fd (also on failure).  `name` is for error texts. */
int elf_file_open(struct elf_file **out, int fd, const char *name, struct error *err);
void elf_file_close(struct elf_file *e);
/* The name that was given to elf_file_open(). */
const char *elf_file_name(const struct elf_file *e);

bool elf_file_is_x86_64(const struct elf_file *e);
bool elf_file_is_stripped(const struct elf_file *e); /* no .symtab */
/* Lower case hex, "" if the file has none. */
const char *elf_file_build_id(const struct elf_file *e);

/* NULL if there is no such section. */
const struct elf_section *elf_file_section(const struct elf_file *e, const char *name);

/* Defined symbol by exact name, from .symtab, else .dynsym.  False if there is none. */
bool elf_file_symbol(const struct elf_file *e, const char *name, struct elf_symbol *out);
/* The function symbol whose range [start, start + size) holds addr; never the nearest one. */
bool elf_file_symbol_at(const struct elf_file *e, uint64_t addr, struct elf_symbol *out);

/* A slot, mostly of the GOT, where the dynamic linker stores a symbol's address (SHT_RELA). */
struct elf_import {
	const char *name;
	uint64_t slot; /* address in the image */
};
/* Returns the number of imports; free() *out. */
size_t elf_file_imports(const struct elf_file *e, struct elf_import **out);

/* The stub in the PLT that holds addr: its name is that of the symbol that it calls.  False: addr
 * is in no stub, or no import has its slot. */
bool elf_file_stub_at(const struct elf_file *e, uint64_t addr, struct elf_symbol *out);
/* The slot (struct elf_import) that the stub jumps through, and in *out its bounds; 0 = none. */
uint64_t elf_file_stub_slot(const struct elf_file *e, uint64_t addr, struct elf_symbol *out);

/* Bounds of the function that covers addr, from .eh_frame (present in stripped files).  False
 * if no FDE covers it. */
bool elf_file_function_at(const struct elf_file *e, uint64_t addr, uint64_t *start, uint64_t *end);

/* All functions, or parts of functions, that have an FDE, by address.  Returns their number;
 * *out is owned by `e`. */
struct elf_range {
	uint64_t start, end;
};
size_t elf_file_functions(const struct elf_file *e, const struct elf_range **out);

/* A copy of a section's bytes, and in *addr its virtual address (0 = not loaded); addr may be NULL.
 * free() it.  NULL: there is no such section, or it is empty, or larger than `max`. */
uint8_t *elf_file_copy_section(const struct elf_file *e, const char *name, size_t max, size_t *size,
			       uint64_t *addr);

/* Bytes of the file's image at a virtual address (PT_LOAD, file part only): 0 or -EFAULT. */
int elf_file_read(const struct elf_file *e, uint64_t addr, void *buf, size_t size);

/* Reads bytes at a file offset within a segment that is not writable, at most up to the end of the
 * segment.  Returns how many were read; 0 if no such segment holds the offset. */
size_t elf_file_read_constant(const struct elf_file *e, uint64_t offset, void *buf, size_t size);
/* True if the file offset is in an executable segment. */
bool elf_file_is_code(const struct elf_file *e, uint64_t offset);

/* File offset of a virtual address by PT_LOAD headers (.text may have an address that is not its
 * offset).  UINT64_MAX if no segment holds the address. */
uint64_t elf_file_offset_of(const struct elf_file *e, uint64_t addr);
/* Load bias (process address = file address + bias) of a mapping of this file: `size` bytes from
 * file offset `offset`, at `start`.  False if no PT_LOAD lies in it. */
bool elf_file_bias(const struct elf_file *e, raddr start, uint64_t offset, uint64_t size,
		   uint64_t *bias);

/* Descriptor of the file, for libdw; owned by `e`. */
int elf_file_fd(const struct elf_file *e);

#endif
