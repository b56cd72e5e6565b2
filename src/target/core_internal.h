/* SPDX-License-Identifier: BSD-2-Clause */
/* Between core.c (headers, notes), core_exe.c (files that were mapped) and mem_core.c (reading). */
#ifndef EBEAM_TARGET_CORE_INTERNAL_H
#define EBEAM_TARGET_CORE_INTERNAL_H

#include <stdbool.h>

#include "base/vec.h"
#include "target/core.h"

#define CORE_PAGE_SIZE 4096u

/* Memory that the core describes; sorted by start, none overlaps another. */
struct core_segment {
	raddr start, end;
	uint64_t offset;    /* in the core file */
	uint64_t size;	    /* bytes that should be there; the rest was left out */
	uint64_t have_size; /* of those, what is there */
	bool r, w, x;
};

/* Part of a file that was mapped (NT_FILE); sorted by start, none overlaps another. */
struct core_mapping {
	raddr start, end;
	uint64_t offset; /* in the file, bytes */
	uint32_t file;	 /* index in files */
};

struct core_mapped_file {
	char *path;   /* as the process saw it, without " (deleted)" */
	bool tried;   /* to open elf */
	bool deleted; /* when the core was made */
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
/* A thread by its note, whose registers are the processor's. */
struct core_thread core_thread_of(const struct elf_prstatus *s);

/* Of the file.  Bytes read, less than size only at its end; negative errno. */
ssize_t core_file_read_at(const struct core_file *c, uint64_t offset, void *buf, size_t size);

/* The mapping that holds addr; NULL if none. */
const struct core_mapping *core_mapping_at(const struct core_file *c, raddr addr);

/* Only what stands in the core itself, never a mapped file: 0 or -EFAULT. */
int core_file_read_own(const struct core_file *c, raddr addr, void *buf, size_t size);
/* The file behind a mapping, if it is of the same build. */
struct elf_file *core_file_open_mapped(struct core_file *c, uint32_t file);
/* Sorts mappings, drops what overlaps. */
void core_file_sort_mappings(struct core_file *c);

#endif
