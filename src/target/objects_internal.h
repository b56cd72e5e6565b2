/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by objects.c (object and function of an address) and objects_file.c (opening files). */
#ifndef EBEAM_TARGET_OBJECTS_INTERNAL_H
#define EBEAM_TARGET_OBJECTS_INTERNAL_H

#include "target/objects.h"

/* Opens the mapped file, or a copy of the vDSO; NULL if that fails or it is no ELF file. */
struct elf_file *objects_open_elf(int os_pid, const struct proc_map *map);

#endif
