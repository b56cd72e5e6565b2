/* SPDX-License-Identifier: BSD-2-Clause */
/* Between objects.c (which object, which function, caches) and objects_file.c (opening files). */
#ifndef EBEAM_TARGET_OBJECTS_INTERNAL_H
#define EBEAM_TARGET_OBJECTS_INTERNAL_H

#include "target/objects.h"

/* The file that is mapped there, or the vDSO; NULL if it cannot be had or is no ELF file. */
struct elf_file *objects_open_elf(int os_pid, const struct proc_map *map);

#endif
