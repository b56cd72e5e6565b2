/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the RSS of a made-up node consists of: lists and pools of carriers, mappings as smaps has
 * them, pages as pagemap has them; and lists that are loops, cut or nonsense.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "beam/vm/carriers.h"
#include "beam/vm/resident.h"
#include "lib/fakenode.h"

static const int releases[] = {24, 25, 27, 29};

#define KIB	   1024u
#define UNIT	   0x40000u /* 256 KiB, the size of every carrier here */
#define MIXED	   ((raddr)0x100000000)
#define HEAP	   ((raddr)0x110000000)
#define ARENA	   ((raddr)0x180000000)
#define SHARED	   ((raddr)0x1c0000000)
#define STACK	   ((raddr)0x190000000)
#define STACK_SIZE 0x53000u

struct world {
	struct fakenode *f;
	struct beam_node *n;
	raddr instance[2], pool; /* pool: the cpool part of a sentinel */
	struct allocators a;
	struct memory_map map;
	char pagemap[32];
};

static void put_carrier(struct world *w, raddr at, uint64_t flags, raddr instance, raddr next)
{
	image_u64(w->f->im, at, UNIT | flags);
	image_u64(w->f->im, at + (raddr)w->n->layout.carrier_next, next);
	image_u64(w->f->im, at + (raddr)w->n->layout.carrier_allctr, instance);
}

/* Where the sentinel has the first carrier of the pool. */
static raddr pool_next(const struct world *w)
{
	return w->pool + (raddr)(w->n->layout.carrier_cpool_next - w->n->layout.carrier_cpool);
}

/* The first instance has two carriers for many blocks and one for a single block, from malloc; the
 * second has none, and one in the pool. */
static void put_carriers(struct world *w)
{
	const struct beam_layout *l = &w->n->layout;
	raddr pooled = MIXED + 4 * UNIT;

	w->pool = image_alloc(w->f->im, 64);
	for (size_t i = 0; i < 2; i++) {
		struct allocator a = {.type = "eheap_alloc", .number = 6, .instance = (uint32_t)i};

		w->instance[i] = a.address = image_alloc(w->f->im, (size_t)l->allctr_size);
		image_u64(w->f->im, a.address + (raddr)l->allctr_cpool_sentinel, w->pool);
		image_u64(w->f->im, a.address + (raddr)l->allctr_mbc_header_size, 512);
		vec_push(&w->a.v, a);
	}
	image_u64(w->f->im, w->instance[0] + (raddr)l->allctr_mbc_first, MIXED);
	image_u64(w->f->im, w->instance[0] + (raddr)l->allctr_sbc_first, HEAP + 0x810);
	put_carrier(w, MIXED, CARRIER_MSEG, w->instance[0], MIXED + UNIT);
	put_carrier(w, MIXED + UNIT, CARRIER_MSEG, w->instance[0], 0);
	put_carrier(w, HEAP + 0x810, CARRIER_SINGLE, w->instance[0], 0);
	put_carrier(w, pooled, CARRIER_MSEG, w->instance[1] | 1, 0);
	image_u64(w->f->im, pooled + (raddr)l->carrier_cpool_owner, w->instance[1]);
	image_u64(w->f->im, pool_next(w), pooled + (raddr)l->carrier_cpool);
	image_u64(w->f->im, pooled + (raddr)l->carrier_cpool_next, w->pool);
}

/* Writes to pagemap that pages of a range are in memory. */
static void put_present(struct world *w, raddr from, raddr to)
{
	FILE *f = fopen(w->pagemap, "r+");
	uint64_t entry = 1ull << 63;

	assert_non_null(f);
	fseek(f, (long)(from / MEMORY_PAGE * 8), SEEK_SET);
	for (; from < to; from += MEMORY_PAGE)
		fwrite(&entry, sizeof(entry), 1, f);
	fclose(f);
}

static const char smaps[] =
	"55000000-55100000 r-xp 00000000 fe:00 10                 /usr/lib/beam.smp\nRss: 600 kB\n"
	"55100000-55110000 rw-p 00100000 fe:00 10                 /usr/lib/beam.smp\nRss: 20 kB\n"
	"55110000-55120000 rw-p 00000000 00:00 0 \nRss: 30 kB\n"
	/* Two carriers, a segment that is kept, a block of malloc's, a carrier, unknown memory. */
	"100000000-100180000 rw-p 00000000 00:00 0 \nRss: 1280 kB\nAnonHugePages: 4 kB\n"
	"110000000-110100000 rw-p 00000000 00:00 0                [heap]\nRss: 1024 kB\n"
	"180000000-180100000 rw-p 00000000 00:00 0 \nRss: 512 kB\nSwap: 12 kB\n"
	"18ffff000-190000000 ---p 00000000 00:00 0 \nRss: 0 kB\n"
	"190000000-190092000 rw-p 00000000 00:00 0 \nRss: 264 kB\n"
	"1a0000000-1a0100000 rw-s 00000000 00:01 77               /memfd:vmem (deleted)\nRss: 40 "
	"kB\n"
	"1a0100000-1a0200000 r-xs 00000000 00:01 77               /memfd:vmem (deleted)\nRss: 40 "
	"kB\n"
	"1b0000000-1b0100000 r--s 00000000 fe:00 99               /data/lmdb\nRss: 100 kB\n"
	"1c0000000-1c0100000 rw-s 00000000 00:01 5                /dev/shm/x\nRss: 8 kB\n"
	"1d0000000-1d0100000 rw-p 00000000 00:00 0                [stack]\nRss: 44 kB\n";

static void put_memory(struct world *w)
{
	const raddr kept = MIXED + 2 * UNIT, block = MIXED + 3 * UNIT;
	const raddr top = STACK + STACK_SIZE - MEMORY_PAGE;

	image_map(w->f->im, MIXED, 6 * UNIT);
	image_map(w->f->im, HEAP, 0x100000);
	image_map(w->f->im, ARENA, 0x100000);
	image_map(w->f->im, STACK, 0x92000);
	put_carriers(w);
	put_carrier(w, kept, CARRIER_MSEG, w->instance[1], 0);
	image_u64(w->f->im, block + 8, UNIT | 2);
	/* All but the last of six pieces is in memory, and the first page of that. */
	put_present(w, MIXED, MIXED + 4 * UNIT + UNIT - MEMORY_PAGE);
	put_present(w, MIXED + 5 * UNIT, MIXED + 5 * UNIT + MEMORY_PAGE);
	put_present(w, HEAP, HEAP + 0x100000);
	image_put(w->f->im, ARENA, (uint64_t[]){ARENA + 0x30, 0, 0x80000, 0x80000}, 32);
	put_present(w, ARENA, ARENA + 0x80000);
	/* A stack with a carrier's memory behind it in the same mapping: two pages of the stack
	 * and a descriptor in the last one.  smaps has a page more: it was freed since. */
	image_put(w->f->im, top + 0x700,
		  (uint64_t[]){STACK - MEMORY_PAGE, STACK_SIZE + MEMORY_PAGE, MEMORY_PAGE}, 24);
	put_present(w, top - MEMORY_PAGE, STACK + STACK_SIZE + 0x3f000);
	put_present(w, SHARED, SHARED + 2 * MEMORY_PAGE);
}

static struct world *world_open(int otp)
{
	struct world *w = calloc(1, sizeof(*w));
	int fd;

	assert_non_null(w);
	strcpy(w->pagemap, "/tmp/pagemap-XXXXXX");
	fd = mkstemp(w->pagemap);
	assert_true(fd >= 0);
	close(fd);
	w->f = fakenode_open(otp);
	w->n = &w->f->node;
	assert_int_equal(memory_map_parse(&w->map, smaps, strlen(smaps)), 0);
	put_memory(w);
	return w;
}

static void world_close(struct world *w)
{
	vec_free(&w->a.v);
	memory_map_free(&w->map);
	fakenode_close(w->f);
	unlink(w->pagemap);
	free(w);
}

static void join(struct world *w, struct resident *r)
{
	struct memory_pages *pages = memory_pages_open(w->pagemap);
	uint64_t sum = 0;

	assert_non_null(pages);
	resident_join(r, w->n, &w->a, &w->map, pages);
	memory_pages_close(pages);
	for (size_t i = 0; i < NR_RESIDENT_PARTS; i++)
		sum += r->part[i];
	assert_int_equal(sum, r->rss);
}

static void every_part(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world *w = world_open(releases[i]);
		struct resident r;

		join(w, &r);
		assert_int_equal(r.rss, (3962 - 4) * KIB);
		assert_int_equal(r.swap, 12 * KIB);
		assert_int_equal(r.huge, 4 * KIB);
		assert_int_equal(r.nr_carriers, 4);
		assert_int_equal(r.nr_stacks, 1);
		assert_int_equal(r.lists_truncated, 0);
		/* Three in the mapping, of one of them a page is missing; one in the heap, which
		 * begins and ends within a page. */
		assert_int_equal(r.part[RESIDENT_carriers], 4 * UNIT);
		assert_int_equal(r.part[RESIDENT_cached_segments], UNIT);
		assert_int_equal(r.part[RESIDENT_malloc], (1024 + 512) * KIB - MEMORY_PAGE);
		assert_int_equal(r.part[RESIDENT_stacks], (8 + 44) * KIB);
		assert_int_equal(r.part[RESIDENT_code], 80 * KIB);
		assert_int_equal(r.part[RESIDENT_libraries], 650 * KIB);
		assert_int_equal(r.part[RESIDENT_files], 100 * KIB);
		assert_int_equal(r.part[RESIDENT_other], (4 + 8 + 252) * KIB);
		world_close(w);
	}
}

/* No allocators: what would be carriers is malloc's or other. */
static void without_allocators(void **state)
{
	struct world *w = world_open(27);
	struct resident r;

	UNUSED(state);
	w->a.v.len = 0;
	join(w, &r);
	assert_int_equal(r.part[RESIDENT_carriers], 0);
	assert_int_equal(r.part[RESIDENT_cached_segments], 0);
	assert_int_equal(r.part[RESIDENT_malloc], UNIT + (1024 + 512) * KIB);
	world_close(w);
}

static void read_damaged(struct world *w, uint64_t nr, bool truncated)
{
	struct resident r;

	join(w, &r);
	assert_int_equal(r.nr_carriers, nr);
	assert_int_equal(r.lists_truncated > 0, truncated);
}

static void lists_that_are_none(void **state)
{
	struct world *w = world_open(25);
	const struct beam_layout *l = &w->n->layout;
	struct image *im = w->f->im;
	raddr sentinel_next = pool_next(w), pooled = MIXED + 4 * UNIT;

	UNUSED(state);
	image_u64(im, MIXED + UNIT + (raddr)l->carrier_next, MIXED); /* a loop */
	read_damaged(w, 4, true);
	image_u64(im, MIXED + UNIT + (raddr)l->carrier_next, 8); /* cannot be read */
	read_damaged(w, 4, true);
	image_u64(im, MIXED + UNIT + (raddr)l->carrier_allctr, 8); /* employed by none */
	read_damaged(w, 3, true);
	image_u64(im, MIXED, 0); /* no size */
	read_damaged(w, 2, true);
	image_u64(im, MIXED, UINT64_MAX);
	read_damaged(w, 2, true);
	image_u64(im, w->instance[0] + (raddr)w->n->layout.allctr_mbc_first, 0);
	read_damaged(w, 2, false);
	image_u64(im, pooled + (raddr)l->carrier_cpool_next, pooled + (raddr)l->carrier_cpool);
	read_damaged(w, 2, true); /* a ring without its sentinel */
	image_u64(im, sentinel_next, w->pool);
	read_damaged(w, 1, false);
	image_u64(im, sentinel_next, 8);
	read_damaged(w, 1, true);
	image_u64(im, sentinel_next, w->pool | 3); /* marked, as one that is being changed */
	read_damaged(w, 1, false);
	world_close(w);
}

/* Memory of any content adds up. */
static void any_memory(void **state)
{
	UNUSED(state);
	srand(1);
	for (int i = 0; i < 300; i++) {
		struct world *w = world_open(29);
		struct resident r;

		for (int k = 0; k < 20; k++) {
			static const raddr places[] = {MIXED, HEAP, ARENA, STACK};
			raddr at = places[rand() % 4] + (raddr)(rand() % 0x92000 & ~7);
			uint64_t value = rand() % 2 ? places[rand() % 4] + (raddr)(rand() % UNIT)
						    : (uint64_t)rand() << (rand() % 40);

			image_u64(w->f->im, rand() % 2 ? at : at & ~(raddr)(UNIT - 1), value);
		}
		for (size_t k = 0; k < w->map.len; k++)
			w->map.data[k].rss = (uint64_t)(rand() % 400) * MEMORY_PAGE;
		join(w, &r);
		world_close(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part),
		cmocka_unit_test(without_allocators),
		cmocka_unit_test(lists_that_are_none),
		cmocka_unit_test(any_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
