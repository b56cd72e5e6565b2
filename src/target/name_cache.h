/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found out about a file with much work, kept as a text for the next start of ebeam: names
 * of functions (function_names.h).
 *
 * One file for each build id, in $XDG_CACHE_HOME/ebeam, else /var/cache/ebeam for root, else
 * ~/.cache/ebeam.  A directory or file that another user owns or can write, one that is not whole,
 * one of another build of ebeam, or of another file, is not used, and written anew if it
 * can be.  Nothing is an error: without the cache the work is done again.
 */
#ifndef EBEAM_TARGET_NAME_CACHE_H
#define EBEAM_TARGET_NAME_CACHE_H

#include "base/strbuf.h"
#include "target/elf.h"

/* The text kept for a file, NUL terminated, to be freed; NULL = there is none. */
char *name_cache_read(const struct elf_file *elf);
void name_cache_write(const struct elf_file *elf, const struct strbuf *text);

#endif
