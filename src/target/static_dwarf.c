/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of the static program only, in which the linker puts this in the place of libc's dlopen().
 * libdw loads the library that asks debuginfod servers by it; in a static program that would bring
 * a second libc along, of the host and maybe of another version.  See dwarf_may_fetch().
 */
#include <stddef.h>

void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
	(void)name;
	(void)flags;
	return NULL; /* libdw goes on without */
}
