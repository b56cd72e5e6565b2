/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core file of an x86-64 process, as the kernel or gdb's gcore writes it.  Its segments are the
 * writable memory; of mapped files most cores hold only the first page, so that the rest is taken
 * from the files themselves, once it is proven that they are of the same build.
 *
 * A core may be cut short (disk full, ulimit -c): what is not there reads as unmapped, and
 * missing_size says how much that is.  Nothing in it is trusted.
 */
#ifndef EBEAM_TARGET_CORE_H
#define EBEAM_TARGET_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/elf.h"
#include "target/mem.h"
#include "target/proc.h"

struct core_file;

struct core_facts {
	const char *path;      /* of the core file, as it was given */
	const char *program;   /* path of the executable as the process saw it; "" = unknown */
	const char *comm;      /* name of the process; "" = unknown */
	int os_pid;	       /* as the process or gcore saw it; 0 = unknown */
	int signal;	       /* that ended it; 0 = none (gcore) or unknown */
	raddr entry;	       /* where the program starts; 0 = unknown */
	uint64_t size;	       /* that the file should have, by its headers */
	uint64_t missing_size; /* of that, bytes that it does not have */
};

/* Reads headers and notes.  ERROR_KIND_FAILED: not there, or no core file; _UNSUPPORTED: of
 * another processor. */
int core_file_open(struct core_file **out, const char *path, struct error *err);
void core_file_close(struct core_file *c);
const struct core_facts *core_file_facts(const struct core_file *c);

/* A thread as it stood when the core was made; threads in the order of the core. */
struct core_thread {
	int os_tid;
	raddr ip, sp, bp, bx;
	uint64_t thread_pointer; /* fs base */
	int64_t syscall;	 /* that it was in, by orig_rax; negative = none */
};
/* Owned by the core; how many there are. */
size_t core_file_threads(const struct core_file *c, const struct core_thread **out);

/*
 * Finds the executable: `exe` if not NULL; else where the process had it, beside the core file, by
 * build id in /usr/lib, or by one of the shell patterns `places` (NULL terminated).  Only a file
 * that is proven to be of the same build is taken: same build id, or same program headers if it
 * has none.  If the core lacks its notes, `exe` also tells what was mapped where.
 */
int core_file_find_exe(struct core_file *c, const char *exe, const char *const *places,
		       struct error *err);

/* What was mapped, with permissions as far as the core tells; the caller frees. */
void core_file_maps(struct core_file *c, struct proc_maps *out);
/* The file behind a mapping of core_file_maps(), owned by the core; NULL if it cannot be had. */
struct elf_file *core_file_elf(struct core_file *c, const struct proc_map *map);

/* The memory; borrows the core. */
struct mem *mem_open_core(struct core_file *c);

#endif
