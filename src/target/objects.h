/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for native addresses of a process, live or left as a core file: which file is mapped
 * there, which function is it.  Files are opened on first use: those of a core as core.h says, of a
 * live process by way of /proc/PID/map_files (right file in any mount namespace, deleted ones too),
 * else /proc/PID/root, else /proc/PID/exe.  Caches results.
 */
#ifndef EBEAM_TARGET_OBJECTS_H
#define EBEAM_TARGET_OBJECTS_H

#include "target/core.h"
#include "target/elf.h"
#include "target/proc.h"

struct objects;

struct object_function {
	const char *object; /* base name of the file: "beam.smp", "libc.so.6", "[vdso]"; "[anon]" */
	const char *symbol; /* of the symbol that truly covers the address, or as objects_name()
			     * said; else NULL */
	uint64_t offset;  /* start of the function (FDE) in the file's address space; of the address
			     * itself if no FDE covers it */
	raddr start, end; /* bounds of the function in the process; start == end if unknown */
};

int objects_open(struct objects **out, int os_pid, struct error *err);
/* Over a core file, which is borrowed: its maps never change. */
struct objects *objects_open_core(struct core_file *core);
void objects_close(struct objects *o);

/* 0, or -ENOENT if nothing executable is mapped there (also after a refresh of the maps). */
int objects_find(struct objects *o, raddr addr, struct object_function *out);
/* A function whose name is known though no symbol covers it: from now on it has this one, which is
 * copied.  Those beyond OBJECTS_MAX_NAMED keep none. */
#define OBJECTS_MAX_NAMED 256
void objects_name(struct objects *o, raddr start, const char *name);
/* Names functions without symbols by what a file of the process calls them, which is those that its
 * C library has chosen for this processor (IFUNC), as memcpy().  Reads its slots from mem. */
void objects_name_imports(struct objects *o, struct mem *mem, const struct elf_file *elf,
			  uint64_t bias);
/* "beam.smp+0x1234" or the symbol, into buf. */
const char *object_function_name(const struct object_function *f, char *buf, size_t size);

/* The ELF file mapped at addr and its load bias (process address = file address + bias). */
struct elf_file *objects_elf(struct objects *o, raddr addr, uint64_t *bias);
/* The same if it is executable there. */
struct elf_file *objects_code(struct objects *o, raddr addr, uint64_t *bias);
/* A path by which this process can open the file that is mapped there, whatever mount namespace the
 * node lives in.  0 or -ENOENT. */
#define OBJECTS_PATH_SIZE (4096 + 64)
int objects_file_path(int os_pid, const struct proc_map *map, char path[OBJECTS_PATH_SIZE]);
/* The maps as last read; refreshed by objects_refresh(). */
const struct proc_maps *objects_maps(const struct objects *o);
int objects_refresh(struct objects *o, struct error *err);
/* How often they have changed: what is known of an address may be another file's after that. */
unsigned int objects_generation(const struct objects *o);

#endif
