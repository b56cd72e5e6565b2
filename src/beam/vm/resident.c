/* SPDX-License-Identifier: BSD-2-Clause */
/* See resident.h. */
#include "beam/vm/resident.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "beam/vm/carriers.h"
#include "target/libc_memory.h"

#define WORDS_OF_PAGE (MEMORY_PAGE / 8)
/* Pages that are read at once. */
#define PAGES_AT_ONCE 64
#define STRIDE	      (512u * MEMORY_PAGE)
/* Pages of memory of unknown kind that are searched, of one piece and of all: a stack ends within
 * its first 8 MiB, and most pages of a stack are not there. */
#define PIECE_PAGES (16u << 8)
#define ALL_PAGES   (256u << 8)

/* Memory whose kind is known. */
struct range {
	raddr start, end;
	enum resident_part part;
};

struct join {
	struct resident *out;
	struct beam_node *n;
	const struct memory_map *map;
	struct memory_pages *pages;
	VEC(raddr) instances;	  /* of allocators, sorted */
	VEC(struct range) ranges; /* sorted, without overlaps, once sort_ranges() is done */
	uint64_t left;		  /* pages that may still be searched */
	uint64_t words[PAGES_AT_ONCE * WORDS_OF_PAGE];
};

static raddr page_floor(raddr at)
{
	return at & ~(raddr)(MEMORY_PAGE - 1);
}

static raddr page_ceiling(raddr at)
{
	return page_floor(at + MEMORY_PAGE - 1);
}

static void add_range(struct join *j, raddr start, raddr end, enum resident_part part)
{
	struct range r = {start, end, part};

	vec_push(&j->ranges, r);
}

static int by_start(const void *a, const void *b)
{
	raddr x = ((const struct range *)a)->start, y = ((const struct range *)b)->start;

	return x < y ? -1 : x > y;
}

/* Of two that overlap, a carrier stays whole, as it may be within what malloc has; else what is
 * left of the second one. */
static void sort_ranges(struct join *j)
{
	VEC(struct range) out = {0};

	if (j->ranges.len)
		qsort(j->ranges.data, j->ranges.len, sizeof(*j->ranges.data), by_start);
	for (size_t i = 0; i < j->ranges.len; i++) {
		struct range r = j->ranges.data[i];
		struct range *last = out.len ? &out.data[out.len - 1] : NULL;
		struct range rest = {0};

		if (last && last->end > r.start && r.part == RESIDENT_carriers) {
			if (last->end > r.end)
				rest = (struct range){r.end, last->end, last->part};
			last->end = r.start;
			if (last->start == last->end)
				out.len--;
		} else if (last) {
			r.start = MAX(r.start, last->end);
		}
		if (r.start < r.end)
			vec_push(&out, r);
		if (rest.start < rest.end)
			vec_push(&out, rest);
	}
	vec_free(&j->ranges);
	j->ranges.data = out.data;
	j->ranges.len = out.len;
	j->ranges.cap = out.cap;
}

/* The first range that ends above `at`: an index, or ranges.len. */
static size_t find_range(const struct join *j, raddr at)
{
	return COUNT_UP_TO(j->ranges.len, i, j->ranges.data[i].end, at);
}

/* ---- kinds of mappings ----------------------------------------------------------------------- */

static bool is_file(const struct proc_map *m)
{
	return m->path[0] == '/' && strncmp(m->path, "/memfd:", 7) != 0 &&
	       strncmp(m->path, "/dev/", 5) != 0 && strncmp(m->path, "/SYSV", 5) != 0;
}

static bool is_anonymous(const struct proc_map *m)
{
	return !m->shared && (!*m->path || strncmp(m->path, "[anon", 5) == 0);
}

/* Is one of the mappings of this file, which follow each other, executable? */
static bool is_library(const struct memory_map *map, size_t at)
{
	const struct proc_map *m = &map->data[at].map;
	const int steps[] = {-1, 1};

	if (m->x)
		return true;
	for (size_t s = 0; s < ARRAY_SIZE(steps); s++)
		for (size_t i = at + (size_t)steps[s]; i < map->len; i += (size_t)steps[s]) {
			const struct proc_map *o = &map->data[i].map;

			if (o->inode != m->inode || o->dev_major != m->dev_major ||
			    o->dev_minor != m->dev_minor)
				break;
			if (o->x)
				return true;
		}
	return false;
}

/* Variables that are 0 at first are anonymous memory behind those that the file has. */
static bool is_bss(const struct memory_map *map, size_t at)
{
	return at > 0 && map->data[at].map.w && map->data[at - 1].map.w &&
	       map->data[at - 1].map.end == map->data[at].map.start &&
	       is_file(&map->data[at - 1].map) && is_library(map, at - 1);
}

/* What a mapping is, but for the ranges in it. */
static enum resident_part part_of(const struct memory_map *map, size_t at)
{
	const struct proc_map *m = &map->data[at].map;

	if (strncmp(m->path, "/memfd:vmem", 11) == 0)
		return RESIDENT_code; /* the name that asmjit gives it */
	if (is_file(m))
		return is_library(map, at) ? RESIDENT_libraries : RESIDENT_files;
	if (strcmp(m->path, "[heap]") == 0)
		return RESIDENT_malloc;
	if (strcmp(m->path, "[stack]") == 0)
		return RESIDENT_stacks;
	if (is_anonymous(m) && m->x)
		return RESIDENT_code;
	if (is_anonymous(m) && is_bss(map, at))
		return RESIDENT_libraries;
	return RESIDENT_other;
}

/* ---- what anonymous memory holds ------------------------------------------------------------- */

static void add_arenas(struct join *j, const struct proc_map *m)
{
	raddr at = (m->start + LIBC_ARENA_HEAP - 1) & ~(LIBC_ARENA_HEAP - 1);

	for (; at < m->end; at += LIBC_ARENA_HEAP) {
		uint64_t info[LIBC_HEAP_INFO / 8], size = 0;

		/* Terabytes may be reserved, with hardly a page in memory. */
		at = memory_pages_touched(j->pages, at, m->end) & ~(LIBC_ARENA_HEAP - 1);
		if (memory_page_present(j->pages, at) &&
		    mem_read(j->n->mem, at, info, sizeof(info)) == 0)
			size = libc_arena_heap(info, at);
		if (size)
			add_range(j, at, MIN(at + size, m->end), RESIDENT_malloc);
	}
}

static bool is_instance(const struct join *j, raddr addr)
{
	size_t nr = COUNT_UP_TO(j->instances.len, i, j->instances.data[i], addr);

	return nr > 0 && j->instances.data[nr - 1] == addr;
}

/* Size of the segment that begins with this page, if that is the head of a carrier: one that is in
 * no list, so the VM only keeps it.  0: it is none. */
static uint64_t segment_size(const struct join *j, const uint64_t *page, uint64_t most)
{
	const struct beam_layout *l = &j->n->layout;
	uint64_t chdr = page[l->carrier_chdr / 8], size = chdr & ~CARRIER_FLAGS;

	if (!(chdr & CARRIER_MSEG) || size == 0 || size % MEMORY_PAGE ||
	    !is_instance(j, page[l->carrier_allctr / 8] & ~CARRIER_FLAGS))
		return 0;
	return MIN(size, most);
}

/* Looks at a page of the piece [from, to).  Returns the address to go on at. */
static raddr search_page(struct join *j, const uint64_t *page, raddr at, raddr from, raddr to)
{
	uint64_t size = libc_mapped_block(page, to - at);
	raddr start, end;

	if (size) {
		add_range(j, at, at + size, RESIDENT_malloc);
		return at + size;
	}
	size = segment_size(j, page, to - at);
	if (size) {
		add_range(j, at, at + size, RESIDENT_cached_segments);
		return at + size;
	}
	if (libc_thread_stack(page, WORDS_OF_PAGE, at, &start, &end) && end <= to) {
		add_range(j, MAX(start, from), end, RESIDENT_stacks);
		j->out->nr_stacks++;
		return end;
	}
	return at + MEMORY_PAGE;
}

/* Pages from `at` on, up to `to`, that are in memory, at most PAGES_AT_ONCE. */
static size_t present_run(struct join *j, raddr at, raddr to)
{
	size_t nr = 0;

	while (nr < PAGES_AT_ONCE && at + nr * MEMORY_PAGE < to &&
	       memory_page_present(j->pages, at + nr * MEMORY_PAGE))
		nr++;
	return nr;
}

/* Searches a piece of a mapping that is in no range.  Pages that are not in memory are not touched:
 * reading would bring them there. */
static void search_piece(struct join *j, const struct memory_mapping *m, raddr from, raddr to)
{
	uint64_t left = MIN(MIN(j->left, PIECE_PAGES), m->rss / MEMORY_PAGE);
	raddr at = page_ceiling(from);

	while (at < to && left > 0) {
		size_t nr = present_run(j, at, to);
		raddr run_end = at + nr * MEMORY_PAGE, run = at;

		if (nr == 0) {
			at = memory_pages_touched(j->pages, at + MEMORY_PAGE, to);
			continue;
		}
		nr = MIN(nr, left);
		left -= nr;
		j->left -= nr;
		if (mem_read(j->n->mem, run, j->words, nr * MEMORY_PAGE) != 0) {
			at = run_end;
			continue;
		}
		while (at < run + nr * MEMORY_PAGE)
			at = search_page(j, j->words + (at - run) / 8, at, from, to);
	}
}

/* Searches those pieces of a mapping that are in no range. */
static void search_mapping(struct join *j, const struct memory_mapping *m)
{
	/* Ranges that are found are added at the end: those that were sorted are before `nr`. */
	size_t nr = j->ranges.len;
	raddr at = m->map.start;

	for (size_t i = find_range(j, at); i < nr && at < m->map.end; i++) {
		if (j->ranges.data[i].start >= m->map.end)
			break;
		if (j->ranges.data[i].start > at)
			search_piece(j, m, at, j->ranges.data[i].start);
		at = j->ranges.data[i].end;
	}
	if (at < m->map.end)
		search_piece(j, m, at, m->map.end);
}

/* ---- adding up ------------------------------------------------------------------------------- */

/* Adds pages of a mapping to a part: at most what is left of the mapping's RSS, as both were not
 * read at the same time. */
static void add_present(struct join *j, raddr from, raddr to, enum resident_part part,
			uint64_t *left)
{
	uint64_t size = MIN(memory_pages_present(j->pages, from, to) * MEMORY_PAGE, *left);

	j->out->part[part] += size;
	*left -= size;
}

/* What is left of a mapping's RSS when all that is known of it was counted, without the pages that
 * have gone since smaps was read: of a segment that the VM has given back meanwhile, nothing is
 * known any more. */
static uint64_t still_there(struct join *j, const struct memory_mapping *m, uint64_t left)
{
	uint64_t now = 0, counted = m->rss - left;
	raddr at = m->map.start;

	/* What was never touched is skipped: gigabytes may be reserved. */
	while (now < m->rss && (at = memory_pages_touched(j->pages, at, m->map.end)) < m->map.end) {
		raddr to = MIN(at + STRIDE, m->map.end);

		now += memory_pages_present(j->pages, at, to) * MEMORY_PAGE;
		at = to;
	}
	return MIN(left, now > counted ? now - counted : 0);
}

static void add_mapping(struct join *j, size_t at)
{
	const struct memory_mapping *m = &j->map->data[at];
	enum resident_part part = part_of(j->map, at);
	size_t i = find_range(j, m->map.start);
	uint64_t left = m->rss;
	raddr done = m->map.start;

	j->out->swap += m->swap;
	j->out->huge += m->huge;
	if (i < j->ranges.len && j->ranges.data[i].start <= m->map.start &&
	    j->ranges.data[i].end >= m->map.end)
		part = j->ranges.data[i].part;
	else
		for (; left > 0 && i < j->ranges.len && j->ranges.data[i].start < m->map.end; i++) {
			const struct range *r = &j->ranges.data[i];

			add_present(j, MAX(r->start, done), MIN(r->end, m->map.end), r->part,
				    &left);
			done = r->end;
		}
	if (part == RESIDENT_other && left)
		left = still_there(j, m, left);
	j->out->part[part] += left;
}

static int by_number(const void *a, const void *b)
{
	raddr x = *(const raddr *)a, y = *(const raddr *)b;

	return x < y ? -1 : x > y;
}

static void add_carrier(void *ctx, const struct carrier *c, const struct carrier_tag *tags,
			size_t nr_tags)
{
	UNUSED(tags);
	UNUSED(nr_tags);
	/* A page counts for what it begins with: the one that malloc's head shares with a carrier
	 * is the carrier's. */
	add_range(ctx, page_floor(c->address), c->address + c->size, RESIDENT_carriers);
}

static void add_carriers(struct join *j, const struct allocators *a)
{
	const struct carriers_visitor visitor = {.heads = true, .carrier = add_carrier, .ctx = j};
	struct carriers_count count;
	struct error ignored;

	for (size_t i = 0; i < a->v.len; i++)
		vec_push(&j->instances, a->v.data[i].address);
	if (j->instances.len)
		qsort(j->instances.data, j->instances.len, sizeof(raddr), by_number);
	carriers_walk(j->n, a, &visitor, &count, &ignored);
	j->out->nr_carriers = count.carriers;
	j->out->lists_truncated = count.lists_truncated + count.unreadable + count.torn;
}

void resident_join(struct resident *out, struct beam_node *n, const struct allocators *a,
		   const struct memory_map *map, struct memory_pages *pages)
{
	struct join *j = xcalloc(1, sizeof(*j));

	*out = (struct resident){0};
	*j = (struct join){.out = out, .n = n, .map = map, .pages = pages, .left = ALL_PAGES};
	add_carriers(j, a);
	for (size_t i = 0; i < map->len; i++)
		if (map->data[i].rss && is_anonymous(&map->data[i].map))
			add_arenas(j, &map->data[i].map);
	sort_ranges(j);
	for (size_t i = 0; i < map->len; i++)
		if (map->data[i].rss && part_of(map, i) == RESIDENT_other &&
		    is_anonymous(&map->data[i].map))
			search_mapping(j, &map->data[i]);
	sort_ranges(j);
	for (size_t i = 0; i < map->len; i++)
		add_mapping(j, i);
	for (size_t i = 0; i < NR_RESIDENT_PARTS; i++)
		out->rss += out->part[i];
	vec_free(&j->instances);
	vec_free(&j->ranges);
	free(j);
}

int resident_read(struct resident *out, struct beam_node *n, const struct allocators *a,
		  struct error *err)
{
	struct memory_pages *pages = NULL;
	struct memory_map map;
	char title[32], path[64];
	int rc = memory_map_read(&map, n->os_pid, err);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", n->os_pid);
	pages = memory_pages_open(path);
	if (pages)
		resident_join(out, n, a, &map, pages);
	else
		rc = error_set(
			err, ERROR_KIND_PRIVILEGE, -errno,
			"%s: cannot read its pagemap, so the parts of its RSS are not known: "
			"%s%s",
			beam_node_title(n, title, sizeof(title)), error_text(-errno),
			errno == EACCES ? ". It needs CAP_DAC_READ_SEARCH" : "");
	memory_pages_close(pages);
	memory_map_free(&map);
	return rc;
}
