/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by objects.c (object and function of an address), objects_file.c (opening files)
 * and objects_debug.c (symbols of stripped files). */
#ifndef EBEAM_TARGET_OBJECTS_INTERNAL_H
#define EBEAM_TARGET_OBJECTS_INTERNAL_H

#include "target/objects.h"

/* Opens the mapped file, or a copy of the vDSO; NULL if that fails or it is no ELF file. */
struct elf_file *objects_open_elf(int os_pid, const struct proc_map *map);
/* Opens a regular file, as opening a device can have effects.  -1: that failed, or the file is not
 * the one of the mapping `check` (by device and inode; NULL = any). */
int objects_open_regular(const char *path, const struct proc_map *check);

/*
 * Symbols of a stripped file, NULL if there are none: of its debug file below /usr/lib/debug, by
 * build id (in the root directory of the process, os_pid 0: of none; then of the host); of the one
 * that .gnu_debuglink names, if its CRC is right; of the one in the cache of the debuginfod client;
 * or those in the file itself, compressed (.gnu_debugdata).  Takes what it copies or decompresses
 * from *budget, bytes.
 */
struct elf_file *objects_open_debug(int os_pid, const struct elf_file *elf, size_t *budget);

#endif
