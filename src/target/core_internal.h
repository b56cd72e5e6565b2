/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by core.c (headers, notes), core_exe.c (mapped files) and mem_core.c (reading memory). */
#ifndef EBEAM_TARGET_CORE_INTERNAL_H
#define EBEAM_TARGET_CORE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/vec.h"
#include "target/core.h"

#define CORE_PAGE_SIZE 4096u

/* Such a page takes no space in the file. */
static inline bool core_page_is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, CORE_PAGE_SIZE - 1) == 0;
}

/* A PT_LOAD segment of the core; sorted by start, none overlaps another. */
struct core_segment {
	raddr start, end;
	uint64_t offset;    /* in the core file */
	uint64_t size;	    /* bytes of contents by the header; the rest was not dumped */
	uint64_t have_size; /* bytes of `size` that the file has; fewer if it is truncated */
	bool r, w, x;
};

/* An entry of NT_FILE, a mapped part of a file; sorted by start, none overlaps another. */
struct core_mapping {
	raddr start, end;
	uint64_t offset; /* in the file, bytes */
	uint32_t file;	 /* index in files */
};

struct core_mapped_file {
	char *path;   /* as the process saw it, without " (deleted)" */
	bool tried;   /* elf was opened, or that failed */
	bool deleted; /* the file was deleted when the core was made */
	struct elf_file *elf;
};

struct core_file {
	int fd;
	char *path;
	uint64_t file_size;
	uint64_t notes_size; /* bytes of notes that were read */
	struct core_facts facts;
	char program[4096], comm[17];
	VEC(struct core_thread) threads;
	VEC(struct core_segment) segments;
	VEC(struct core_mapping) mappings;
	VEC(struct core_mapped_file) files;
	uint32_t exe; /* index in files; UINT32_MAX = unknown */
};

struct elf_prstatus;
/* A thread from its NT_PRSTATUS note, whose registers depend on the processor. */
struct core_thread core_thread_of(const struct elf_prstatus *s);

/* Reads at a file offset.  Bytes read, less than size only at the end; or negative errno. */
ssize_t core_file_read_at(const struct core_file *c, uint64_t offset, void *buf, size_t size);

/* The mapping of a file that holds addr; NULL if none. */
const struct core_mapping *core_mapping_at(const struct core_file *c, raddr addr);

/* Reads memory from segments of the core only, never from mapped files: 0 or negative errno. */
int core_file_read_own(const struct core_file *c, raddr addr, void *buf, size_t size);
/* Opens the file behind a mapping; NULL if it is not of the same build. */
struct elf_file *core_file_open_mapped(struct core_file *c, uint32_t file);
/* Unpacks a file.  Returns the descriptor of the unpacked one, or negative errno. */
int core_unpack_gzip(int fd, const char *path, struct error *err);
/* Sorts mappings and drops those that overlap. */
void core_file_sort_mappings(struct core_file *c);

#endif
