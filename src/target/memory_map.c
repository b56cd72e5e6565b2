/* SPDX-License-Identifier: BSD-2-Clause */
/* See memory_map.h. */
#include "target/memory_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/vec.h"
#include "base/xalloc.h"
#include "target/proc_internal.h"

/* Of vm.max_map_count (65,530) mappings, with some 700 bytes each. */
#define SMAPS_MAX_SIZE ((size_t)128 << 20)

/* ---- smaps ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{"Rss:", offsetof(struct memory_mapping, rss)},
	{"Swap:", offsetof(struct memory_mapping, swap)},
	{"AnonHugePages:", offsetof(struct memory_mapping, huge)},
};

/* Takes a line such as "Rss:     1234 kB"; other fields are left out.  False: it is no field. */
static bool take_field(struct memory_mapping *m, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	if (!colon || memchr(line, ' ', (size_t)(colon - line)))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		size_t name_len = strlen(fields[i].name);
		uint64_t kib = 0;

		if (len < name_len || memcmp(line, fields[i].name, name_len) != 0)
			continue;
		for (const char *p = colon + 1; p < line + len && kib <= UINT64_MAX >> 24; p++)
			if (*p >= '0' && *p <= '9')
				kib = kib * 10 + (uint64_t)(*p - '0');
		kib *= 1024;
		memcpy((char *)m + fields[i].offset, &kib, sizeof(kib));
	}
	return true;
}

int memory_map_parse(struct memory_map *out, const char *text, size_t len)
{
	VEC(struct memory_mapping) v = {0};
	const char *end = text + len;
	int code = 0;

	for (const char *p = text, *eol; p < end; p = eol + 1) {
		struct memory_mapping m = {0};

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		if (proc_map_parse(&m.map, p, (size_t)(eol - p))) {
			/* The file is written piece by piece: the later line is the newer one. */
			while (v.len > 0 && v.data[v.len - 1].map.end > m.map.start)
				free(v.data[--v.len].map.path);
			vec_push(&v, m);
		} else if (v.len == 0 || !take_field(&v.data[v.len - 1], p, (size_t)(eol - p))) {
			code = -EINVAL;
			break;
		}
	}
	*out = (struct memory_map){.data = v.data, .len = v.len};
	if (code)
		memory_map_free(out);
	return code;
}

int memory_map_read(struct memory_map *out, int os_pid, struct error *err)
{
	size_t len;
	char *text = proc_read_file(SMAPS_MAX_SIZE, &len, "/proc/%d/smaps", os_pid);
	int code;

	*out = (struct memory_map){0};
	if (!text)
		return proc_error(err, os_pid, "smaps", -errno);
	/* Empty: the process has given up its memory, as it exits. */
	code = len ? memory_map_parse(out, text, len) : -ESRCH;
	free(text);
	return code ? proc_error(err, os_pid, "smaps", code) : 0;
}

void memory_map_free(struct memory_map *m)
{
	for (size_t i = 0; i < m->len; i++)
		free(m->data[i].map.path);
	free(m->data);
	*m = (struct memory_map){0};
}

/* ---- pagemap --------------------------------------------------------------------------------- */

/* A u64 for each page: Documentation/admin-guide/mm/pagemap.rst. */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)
#define PAGES_AT_ONCE	16384

/* ioctl(PAGEMAP_SCAN) of linux/fs.h, which headers before Linux 6.7 do not have. */
struct scanned_region {
	uint64_t start, end, categories;
};
struct scan_request {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_PAGEMAP _IOWR('f', 16, struct scan_request)
#define SCAN_PRESENT (1ull << 3)
#define SCAN_SWAPPED (1ull << 4)

struct memory_pages {
	int fd;
	bool no_scan;	/* the kernel has no PAGEMAP_SCAN */
	uint64_t first; /* number of the page that entry[0] is about */
	size_t nr;	/* entries that are valid */
	uint64_t entry[PAGES_AT_ONCE];
};

struct memory_pages *memory_pages_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct memory_pages *p;

	if (fd < 0)
		return NULL;
	p = xmalloc(sizeof(*p));
	p->fd = fd;
	p->no_scan = false;
	p->first = p->nr = 0;
	return p;
}

void memory_pages_close(struct memory_pages *p)
{
	if (!p)
		return;
	close(p->fd);
	free(p);
}

/* False: the page's entry cannot be read. */
static bool read_entries(struct memory_pages *p, uint64_t page)
{
	ssize_t got;

	if (page >= p->first && page - p->first < p->nr)
		return true;
	got = pread(p->fd, p->entry, sizeof(p->entry), (off_t)(page * 8));
	p->first = page;
	p->nr = got > 0 ? (size_t)got / 8 : 0;
	return p->nr > 0;
}

bool memory_page_present(struct memory_pages *p, raddr addr)
{
	uint64_t page = addr / MEMORY_PAGE;

	return read_entries(p, page) && p->entry[page - p->first] & PAGEMAP_PRESENT;
}

raddr memory_pages_touched(struct memory_pages *p, raddr from, raddr to)
{
	struct scanned_region found;
	struct scan_request scan = {.size = sizeof(scan),
				    .start = from,
				    .end = to,
				    .vec = (uintptr_t)&found,
				    .vec_len = 1,
				    .max_pages = 1,
				    .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
				    .return_mask = SCAN_PRESENT};
	int rc;

	if (from >= to)
		return to;
	rc = p->no_scan ? -1 : ioctl(p->fd, SCAN_PAGEMAP, &scan);
	if (rc >= 0)
		return rc ? found.start : to;
	p->no_scan |= errno == ENOTTY || errno == EINVAL;
	for (uint64_t page = from / MEMORY_PAGE; page < to / MEMORY_PAGE; page++) {
		/* One that is not known counts as touched. */
		if (!read_entries(p, page) ||
		    p->entry[page - p->first] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED))
			return page * MEMORY_PAGE;
	}
	return to;
}

uint64_t memory_pages_present(struct memory_pages *p, raddr from, raddr to)
{
	uint64_t nr = 0;

	for (raddr at = (from + MEMORY_PAGE - 1) & ~(raddr)(MEMORY_PAGE - 1); at < to;
	     at += MEMORY_PAGE) {
		nr += memory_page_present(p, at);
		if (p->nr == 0)
			break; /* the process has exited */
	}
	return nr;
}
