/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by objects.c (object and function of an address) and objects_file.c (opening files). */
#ifndef EBEAM_TARGET_OBJECTS_INTERNAL_H
#define EBEAM_TARGET_OBJECTS_INTERNAL_H

#include "target/objects.h"

/* Opens the mapped file, or a copy of the vDSO; NULL if that fails or it is no ELF file. */
struct elf_file *objects_open_elf(int os_pid, const struct proc_map *map);
/* Opens the debug file of a stripped file, by build id, below /usr/lib/debug of the process's root
 * directory (os_pid 0: of none) or of the host; NULL if there is none. */
struct elf_file *objects_open_debug(int os_pid, const struct elf_file *elf);

#endif
