/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where EVENT_LIBC_ALLOC comes from: malloc and its neighbours, by the symbols of each mapped file
 * that exports malloc.  That is the C library, or an allocator that was put in its place
 * (LD_PRELOAD), or the executable, if it is linked statically and has symbols.
 */
#ifndef EBEAM_PROBE_LIBC_SOURCES_H
#define EBEAM_PROBE_LIBC_SOURCES_H

#include "beam/node/node.h"
#include "probe/site/sources.h"

#define LIBC_SOURCES_FREE "event_libc_free" /* the program of what frees */
#define LIBC_SOURCES_FUNCTIONS                                                                     \
	"malloc, calloc, realloc, memalign, aligned_alloc, posix_memalign, mmap, free, munmap of " \
	"the C library"

/* Adds the points, if the kind is one of `kinds`.  Without any of malloc, calloc, realloc and free
 * it is missing. */
void libc_sources_add(struct source_plan *plan, const struct beam_node *n, uint64_t kinds);
/* Whether all memory of malloc is that of glibc (and not of another allocator as well), so that
 * target/libc_memory.h knows its blocks. */
bool libc_sources_is_glibc(const struct beam_node *n);
/* For source_plan_everything(). */
void libc_sources_everything(struct source_plan *plan);

#endif
