/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct elf_file, shared by elf.c (opening, sections, segments), elf_symbols.c and elf_frames.c.
 *
 * The file stays mapped for the life of the elf_file; names and indices point into the mapping.
 * Two indices are built on first use, behind pointers so that a const elf_file can have them.
 */
#ifndef EBEAM_TARGET_ELF_INTERNAL_H
#define EBEAM_TARGET_ELF_INTERNAL_H

#include <gelf.h>

#include "target/elf.h"

/* Limits of what is kept of one file, whatever its headers say. */
#define ELF_MAX_SECTIONS 65536
#define ELF_MAX_SYMBOLS	 (4u << 20)
#define ELF_MAX_FRAMES	 (4u << 20)

#define ELF_BUILD_ID_MAX 64 /* bytes */

struct elf_load {
	uint64_t addr, offset, file_size;
	bool write, exec;
};

/* Bytes of the mapped file, checked to be within it. */
struct elf_bytes {
	const unsigned char *data; /* NULL if there are none */
	size_t size;
};

struct elf_symbols;
struct elf_frames;

struct elf_file {
	int fd;
	Elf *elf;
	void *map; /* NULL: libelf mapped it */
	size_t map_size;
	struct elf_bytes file;
	char *name;
	bool is_64_lsb; /* 64 bit little-endian: symbols and frames of other classes are not read */
	uint16_t machine;
	struct elf_section *sections; /* by index in the file; 0 is the null section */
	uint32_t *section_types;
	size_t nr_sections;
	struct elf_load *loads;
	size_t nr_loads;
	char build_id[2 * ELF_BUILD_ID_MAX + 1];
	struct elf_symbols *symbols;
	struct elf_frames *frames;
};

/* Bytes of the i-th section; empty if it has none, or if its header points outside of the file. */
struct elf_bytes elf_section_bytes(const struct elf_file *e, size_t i);
/* The section whose memory holds addr; NULL = none does. */
const struct elf_section *elf_section_at(const struct elf_file *e, uint64_t addr);
/* Bytes of the file at an offset; empty if they are not within the file. */
struct elf_bytes elf_file_bytes(const struct elf_file *e, uint64_t offset, uint64_t size);
/* The string at `offset`; NULL if no NUL within `strings` ends it. */
const char *elf_bytes_string(struct elf_bytes strings, uint64_t offset);

struct elf_note {
	uint32_t type;
	struct elf_bytes owner, desc; /* owner includes its NUL */
};
/* Reads the note at offset *at and moves *at past it; false: none is left, or it is truncated. */
bool elf_note_next(struct elf_bytes notes, size_t *at, struct elf_note *out);
bool elf_note_is_of(const struct elf_note *note, const char *owner);
/* Build id (NT_GNU_BUILD_ID) as hex digits; false, with `out` unchanged: there is none. */
bool elf_notes_build_id(struct elf_bytes notes, char out[2 * ELF_BUILD_ID_MAX + 1]);

struct elf_symbols *elf_symbols_new(const struct elf_file *e);
void elf_symbols_free(struct elf_symbols *s);
struct elf_frames *elf_frames_new(void);
void elf_frames_free(struct elf_frames *f);

#endif
