/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A core file of an x86-64 process, as the kernel or gdb's gcore writes it.  Its segments are the
 * writable memory; of mapped files most cores hold only the first page.  The other pages are read
 * from the files on this host, after a comparison has shown that they are of the same build.
 *
 * A core may be truncated (disk full, ulimit -c): missing memory reads as unmapped, and
 * missing_size says how many bytes are missing.  Nothing in the file is trusted.
 */
#ifndef EBEAM_TARGET_CORE_H
#define EBEAM_TARGET_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/elf.h"
#include "target/mem.h"
#include "target/proc.h"

struct core_file;

struct core_facts {
	const char *path;      /* path of the core file, as the caller gave it */
	const char *program;   /* path of the executable as the process saw it; "" = unknown */
	const char *comm;      /* name of the process; "" = unknown */
	int os_pid;	       /* pid in the namespace of the process or of gcore; 0 = unknown */
	int signal;	       /* signal that ended the process; 0 = none (gcore) or unknown */
	raddr entry;	       /* address of the program's entry point; 0 = unknown */
	bool torn;	       /* ebeam copied the memory while the process ran */
	uint64_t size;	       /* bytes that the file should have by its headers */
	uint64_t missing_size; /* bytes of `size` that the file lacks */
};

/* Reads headers and notes.  ERROR_KIND_FAILED: no such file, or not a core file; _UNSUPPORTED: a
 * core of another processor. */
int core_file_open(struct core_file **out, const char *path, struct error *err);
void core_file_close(struct core_file *c);
const struct core_facts *core_file_facts(const struct core_file *c);

/* State of a thread when the core was made; threads are in the order of the core. */
struct core_thread {
	int os_tid;
	raddr ip, sp, bp, bx;
	uint64_t di, si;	 /* first arguments of its system call */
	uint64_t thread_pointer; /* fs base */
	int64_t syscall;	 /* number of its system call (orig_rax); negative = none */
};
/* Returns the number of threads; *out is owned by the core. */
size_t core_file_threads(const struct core_file *c, const struct core_thread **out);

/*
 * Finds the executable: `exe` if not NULL; else at its path in the process, beside the core file,
 * by build id in /usr/lib, or by one of the shell patterns `places` (NULL terminated).  A file is
 * taken only if it has the same build id as the mapped one, or the same program headers if that has
 * none.  If the core lacks its notes, the mappings are derived from the program headers of `exe`.
 */
int core_file_find_exe(struct core_file *c, const char *exe, const char *const *places,
		       struct error *err);

/* Mappings of the process, with permissions from the core, or from the ELF file where the core has
 * no segment.  The caller frees *out with proc_maps_free(). */
void core_file_maps(struct core_file *c, struct proc_maps *out);
/* The file behind a mapping of core_file_maps(), owned by the core; NULL if it cannot be opened or
 * is of another build. */
struct elf_file *core_file_elf(struct core_file *c, const struct proc_map *map);

/* Memory of the core; borrows the core. */
struct mem *mem_open_core(struct core_file *c);

#endif
