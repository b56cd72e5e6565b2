/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a process is in memory: its mappings with their resident bytes (/proc/PID/smaps), and
 * which pages of a mapping are there (/proc/PID/pagemap).
 *
 * The kernel walks all page tables of the process to write smaps, and holds its mmap_lock for
 * reading meanwhile: mmap(), munmap() and mprotect() of the process wait, page faults do not.  That
 * is milliseconds for each GiB in memory, so the file is read once for an answer.
 */
#ifndef EBEAM_TARGET_MEMORY_MAP_H
#define EBEAM_TARGET_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/proc.h"

struct memory_mapping {
	struct proc_map map;
	uint64_t rss, swap, huge; /* bytes; huge: of rss, in transparent huge pages */
};

struct memory_map {
	struct memory_mapping *data; /* sorted by address, without overlaps */
	size_t len;
};

/* Parses the text of smaps.  0, or -EINVAL: a line is neither a mapping nor a field. */
int memory_map_parse(struct memory_map *out, const char *text, size_t len);
int memory_map_read(struct memory_map *out, int os_pid, struct error *err);
void memory_map_free(struct memory_map *m);

#define MEMORY_PAGE 4096u

/* Reads pagemap, many entries at a time. */
struct memory_pages;

/* `path` is /proc/PID/pagemap.  NULL with errno set: it cannot be opened. */
struct memory_pages *memory_pages_open(const char *path);
void memory_pages_close(struct memory_pages *p); /* NULL ok */
/* Is the page at this address in memory?  False also if that cannot be read. */
bool memory_page_present(struct memory_pages *p, raddr addr);
/* The first page at `from` or above that is in memory or swapped out; `to`: none below that, or it
 * cannot be read.  In Linux 6.7 and later the kernel skips what was never touched; before, that
 * costs a second for some TiB. */
raddr memory_pages_touched(struct memory_pages *p, raddr from, raddr to);
/* How many of the pages that begin in [from, to) are in memory. */
uint64_t memory_pages_present(struct memory_pages *p, raddr from, raddr to);

#endif
