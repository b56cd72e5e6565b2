/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * struct elf_file, shared by elf.c (opening, sections, segments), elf_symbols.c and elf_frames.c.
 *
 * The file stays mapped for the life of the elf_file; names and indices point into it
 * and nothing is copied.  The two indices are built on first use, so they hang on pointers that a
 * const elf_file may follow.
 */
#ifndef EBEAM_TARGET_ELF_INTERNAL_H
#define EBEAM_TARGET_ELF_INTERNAL_H

#include <gelf.h>

#include "target/elf.h"

/* What may be held of one file, whatever it claims of itself. */
#define ELF_MAX_SECTIONS 65536
#define ELF_MAX_SYMBOLS	 (4u << 20)
#define ELF_MAX_FRAMES	 (4u << 20)

#define ELF_BUILD_ID_MAX 64 /* bytes */

struct elf_load {
	uint64_t addr, offset, file_size;
	bool write, exec;
};

/* Bytes of the mapped file, checked to lie in it. */
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
	bool is_64_lsb; /* the only class whose symbols and frames are read */
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

/* The i-th section's bytes in the file; empty if it has none or claims what is not there. */
struct elf_bytes elf_section_bytes(const struct elf_file *e, size_t i);
/* Part of the file, empty if it does not lie in it. */
struct elf_bytes elf_file_bytes(const struct elf_file *e, uint64_t offset, uint64_t size);
/* The NUL terminated string at `offset`, NULL if it does not end in `strings`. */
const char *elf_bytes_string(struct elf_bytes strings, uint64_t offset);

struct elf_note {
	uint32_t type;
	struct elf_bytes owner, desc; /* the owner with its NUL */
};
/* The note at *at, which then is behind it; false: there is none, or it is cut. */
bool elf_note_next(struct elf_bytes notes, size_t *at, struct elf_note *out);
bool elf_note_is_of(const struct elf_note *note, const char *owner);
/* NT_GNU_BUILD_ID as hex digits; false and nothing written: there is none. */
bool elf_notes_build_id(struct elf_bytes notes, char out[2 * ELF_BUILD_ID_MAX + 1]);

struct elf_symbols *elf_symbols_new(const struct elf_file *e);
void elf_symbols_free(struct elf_symbols *s);
struct elf_frames *elf_frames_new(void);
void elf_frames_free(struct elf_frames *f);

#endif
