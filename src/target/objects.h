/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names for native addresses of a process, live or left as a core file: the mapped file and the
 * function.  Files are opened on first use: for a core as core.h describes; for a live process by
 * /proc/PID/map_files (the right file in any mount namespace, even if deleted), else
 * /proc/PID/root, else /proc/PID/exe.  A stripped file has the symbols of its debug file, found
 * by build id or .gnu_debuglink, or of .gnu_debugdata (objects_internal.h).
 * Results are cached.
 */
#ifndef EBEAM_TARGET_OBJECTS_H
#define EBEAM_TARGET_OBJECTS_H

#include "abi/record.h"
#include "target/core.h"
#include "target/elf.h"
#include "target/function_names.h"
#include "target/proc.h"

struct objects;

struct object_function {
	const char *object; /* base name of the file: "beam.smp", "libc.so.6", "[vdso]"; "[anon]" */
	enum symbol_source source; /* of symbol */
	const char *symbol; /* name of the symbol whose range holds the address, or the one that
			     * objects_name() has set; else NULL */
	uint64_t offset;    /* file offset of the function's start (by its FDE); of the address
			     * itself if no FDE covers it */
	raddr start, end;   /* bounds of the function in the process; start == end if unknown */
};

int objects_open(struct objects **out, int os_pid, struct error *err);
/* Objects of a core file, which is borrowed; its maps never change. */
struct objects *objects_open_core(struct core_file *core);
void objects_close(struct objects *o);

/* 0, or -ENOENT if no executable mapping holds addr (the maps are read again before that). */
int objects_find(struct objects *o, raddr addr, struct object_function *out);
/* Sets the name of the function at `start`, which no symbol covers; copies `name`.  Names of one
 * file beyond OBJECTS_MAX_NAMED are ignored. */
#define OBJECTS_MAX_NAMED 65536
void objects_name(struct objects *o, raddr start, const char *name, enum symbol_source source);
/* Sets names by a reference, of functions of a file that an address was looked up in. */
void objects_name_functions(struct objects *o, const struct elf_file *elf,
			    const struct function_name *names, size_t nr);
/* Names functions without symbols after the symbol by which `elf` imports them, as memcpy(), whose
 * variant the C library chooses for the processor (IFUNC).  Reads the import slots from mem. */
void objects_name_imports(struct objects *o, struct mem *mem, const struct elf_file *elf,
			  uint64_t bias);
/* Writes "beam.smp+0x1234" or the symbol into buf. */
const char *object_function_name(const struct object_function *f, char *buf, size_t size);

/* The ELF file mapped at addr and its load bias (process address = file address + bias). */
struct elf_file *objects_elf(struct objects *o, raddr addr, uint64_t *bias);
/* As objects_elf(), but NULL if the mapping is not executable. */
struct elf_file *objects_code(struct objects *o, raddr addr, uint64_t *bias);
/* The file that has the symbols of this one, which an address was looked up in; NULL = none. */
const struct elf_file *objects_debug(const struct objects *o, const struct elf_file *elf);
/* Base name, and build id ("" = none, or it could not be opened), of the i-th file in which an
 * address was looked up; false = i is past the last.  Valid until objects_close(). */
bool objects_file(const struct objects *o, size_t i, const char **name, const char **build_id);
/* A path by which ebeam can open the mapped file in any mount namespace.  0 or -ENOENT. */
#define OBJECTS_PATH_SIZE (4096 + 64)
int objects_file_path(int os_pid, const struct proc_map *map, char path[OBJECTS_PATH_SIZE]);
/* The maps as read last; objects_refresh() reads them again. */
const struct proc_maps *objects_maps(const struct objects *o);
int objects_refresh(struct objects *o, struct error *err);
/* A number that changes when the mappings change: what a caller has cached by address is then
 * invalid. */
unsigned int objects_generation(const struct objects *o);

#endif
