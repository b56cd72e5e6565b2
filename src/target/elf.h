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
	const char *name; /* demangled never; version suffix never */
	uint64_t addr, size;
	bool function;
};

/* Takes over fd (also on failure).  `name` is for error texts. */
int elf_file_open(struct elf_file **out, int fd, const char *name, struct error *err);
void elf_file_close(struct elf_file *e);
/* The name it was opened with. */
const char *elf_file_name(const struct elf_file *e);

bool elf_file_is_x86_64(const struct elf_file *e);
bool elf_file_is_stripped(const struct elf_file *e); /* no .symtab */
/* Lower case hex, "" if the file has none. */
const char *elf_file_build_id(const struct elf_file *e);

/* NULL if there is no such section. */
const struct elf_section *elf_file_section(const struct elf_file *e, const char *name);

/* Defined symbol by exact name, from .symtab, else .dynsym.  False if there is none. */
bool elf_file_symbol(const struct elf_file *e, const char *name, struct elf_symbol *out);
/* The function symbol that truly covers addr (start <= addr < start + size): never a neighbour. */
bool elf_file_symbol_at(const struct elf_file *e, uint64_t addr, struct elf_symbol *out);

/* What the dynamic linker puts the address of a symbol into: by relocations of SHT_RELA. */
struct elf_import {
	const char *name;
	uint64_t slot; /* address in the image */
};
/* Returns how many; free() *out. */
size_t elf_file_imports(const struct elf_file *e, struct elf_import **out);

/* Bounds of the function that covers addr, from .eh_frame (present in stripped files).  False
 * if no FDE covers it. */
bool elf_file_function_at(const struct elf_file *e, uint64_t addr, uint64_t *start, uint64_t *end);

/* A copy of a section's bytes, and where they stand in the image: 0 = nowhere; addr may be NULL.
 * free() it.  NULL: the file has no such section, or it has no bytes, or more than `max`. */
uint8_t *elf_file_copy_section(const struct elf_file *e, const char *name, size_t max, size_t *size,
			       uint64_t *addr);

/* Bytes of the file's image at a virtual address (PT_LOAD, file part only): 0 or -EFAULT. */
int elf_file_read(const struct elf_file *e, uint64_t addr, void *buf, size_t size);

/* Bytes at a file offset that a process which has mapped them can only read, up to where they end:
 * how many were read, 0 if such bytes do not stand there. */
size_t elf_file_read_constant(const struct elf_file *e, uint64_t offset, void *buf, size_t size);
/* True if a process executes what stands at the file offset. */
bool elf_file_is_code(const struct elf_file *e, uint64_t offset);

/* Virtual address -> file offset through PT_LOAD (they differ: .text may stand at another
 * address than its offset).  UINT64_MAX if none. */
uint64_t elf_file_offset_of(const struct elf_file *e, uint64_t addr);
/* Load bias (process address = file address + bias) of a mapping of this file: `size` bytes from
 * file offset `offset`, at `start`.  False if no PT_LOAD lies in it. */
bool elf_file_bias(const struct elf_file *e, raddr start, uint64_t offset, uint64_t size,
		   uint64_t *bias);

/* Descriptor of the file, for libdw; owned by the elf_file. */
int elf_file_fd(const struct elf_file *e);

#endif
