/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of the static program only, where the linker uses this function instead of libc's dlopen().
 * libdw calls dlopen() to load its debuginfod client; in a static program that would also load a
 * second libc, from the host and maybe of another version.  See dwarf_may_fetch().
 */
#include <stddef.h>

void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL; /* libdw continues without debuginfod */
}
