/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocators, ETS and code ranges by shape: see anchors.h.  Needed where the VM's symbols are
 * hidden (OTP 29), and for variables that are static in every release.
 */
#include "abi/vm.h"
#include "beam/locate/anchors.h"

#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/vm/allocators.h"

/* ---- allocators ----------------------------------------------------------------------------- */

/* Entries of erts_allctrs_info[]: an empty one, sys_alloc, ten based on alloc_util, test_alloc. */
#define INFO_ENTRIES 13
#define INFO_FIRST   2
#define INFO_MIN     8 /* of the ten must be enabled; some may not be (+M...e false) */
/* With +Mea min only temp_alloc and literal_alloc are: then all that are enabled must be good. */
#define INFO_LEAST 2

/* True if an Allctr_t is at addr: with this number of its allocator, this index of the instance,
 * and a name like "eheap_". */
static bool is_instance(const struct anchor_space *s, raddr addr, uint32_t number, uint32_t ix)
{
	const struct beam_layout *l = s->layout;
	uint32_t have_number, have_ix;
	raddr prefix;
	char name[16];

	if (!space_is_pointer(s, addr, (size_t)l->allctr_size) ||
	    mem_read_u32(s->mem, addr + (raddr)l->allctr_alloc_no, &have_number) ||
	    mem_read_u32(s->mem, addr + (raddr)l->allctr_ix, &have_ix) || have_number != number ||
	    have_ix != ix || mem_read_u64(s->mem, addr + (raddr)l->allctr_name_prefix, &prefix) ||
	    mem_read_string(s->mem, prefix, name, sizeof(name)) != 0)
		return false;
	return name[0] && strchr(name, '_') == name + strlen(name) - 1;
}

static bool is_allocator(const struct anchor_space *s, const uint8_t *info, uint32_t number)
{
	struct allocator_instances in;
	raddr first;

	if (!allocator_instances(s->mem, info, number, &in))
		return false;
	first = in.single;
	if (in.array && mem_read_u64(s->mem, in.array, &first) != 0)
		return false;
	return is_instance(s, first, number, 0);
}

/* Checks the copy of the data, as the node is slower to read: entry 0 is empty, entry 1 is malloc,
 * and flags are 0 or 1. */
static bool looks_like_info(const struct anchor_space *s, size_t at)
{
	if (space_u64(s, at) || space_u64(s, at + 8) || space_u64(s, at + 16))
		return false;
	at += ALLOCATOR_INFO_SIZE;
	if (space_u32(s, at + ALLOCATOR_INFO_UTIL) != 0 ||
	    space_u32(s, at + ALLOCATOR_INFO_ENABLED) != 1 ||
	    space_u32(s, at + ALLOCATOR_INFO_THR_SPEC) != 0 ||
	    space_u64(s, at + ALLOCATOR_INFO_EXTRA) != 0)
		return false;
	for (uint32_t i = INFO_FIRST; i < INFO_ENTRIES; i++) {
		at += ALLOCATOR_INFO_SIZE;
		if (space_u32(s, at + ALLOCATOR_INFO_UTIL) > 1 ||
		    space_u32(s, at + ALLOCATOR_INFO_ENABLED) > 1 ||
		    space_u32(s, at + ALLOCATOR_INFO_THR_SPEC) > ALLOCATOR_INSTANCES_MAX)
			return false;
	}
	return true;
}

static bool are_allocators(const struct anchor_space *s, size_t at, uint64_t arg)
{
	uint32_t good = 0, enabled = 0;

	UNUSED(arg);
	if (!looks_like_info(s, at))
		return false;
	for (uint32_t i = INFO_FIRST; i < INFO_ENTRIES; i++) {
		size_t info = at + (size_t)i * ALLOCATOR_INFO_SIZE;

		good += is_allocator(s, s->data + info, i);
		enabled += space_u32(s, info + ALLOCATOR_INFO_ENABLED);
	}
	return good >= INFO_MIN || (good >= INFO_LEAST && good == enabled);
}

raddr shape_find_allocators(const struct anchor_space *s)
{
	return space_find_only(s, NULL, INFO_ENTRIES * ALLOCATOR_INFO_SIZE, are_allocators, 0);
}

/* ---- ETS ------------------------------------------------------------------------------------ */

/*
 * The counter erts_ets_misc_mem_size (its symbol is exported up to OTP 28) is found by its value
 * and its distance to the pointer to meta_name_tab, the table of names (erl_db.c, OTP 29): 2^n
 * buckets of 32 bytes; an empty one is {pointer to its own next word, u32 0 and 1, [], NULL}.
 */
#define BUCKET_SIZE	  32
#define BUCKETS_PROBE	  32
#define BUCKETS_MIN	  256
#define BUCKETS_MAX	  (1u << 22)
#define BUCKETS_CHUNK	  1024
#define BUCKET_EMPTY_WORD (1ull << 32)
/* The counter's value is the size of the table of names plus, for ETS tables that are being
 * traversed, at most MISC_SLACK bytes.  Between the counter and the pointer are MISC_LOCKS bytes,
 * META_NAME_TAB_LOCK_CNT locks of one cache line each, and at most MISC_NEAR bytes of padding; a
 * compiler may place them otherwise, but no farther apart than MISC_WINDOW bytes. */
#define MISC_SLACK  65536
#define MISC_LOCKS  (256 * 64)
#define MISC_NEAR   256
#define MISC_WINDOW 0x8000

static bool is_empty_bucket(const uint64_t bucket[4], raddr addr)
{
	return bucket[0] == addr + 8 && bucket[1] == BUCKET_EMPTY_WORD && bucket[2] == TERM_NIL &&
	       bucket[3] == 0;
}

/* Number of empty buckets among the `nr` at addr; *last is the last of them. */
static size_t count_empty(const struct anchor_space *s, raddr addr, size_t nr, size_t *last)
{
	uint64_t buckets[BUCKETS_CHUNK][4];
	size_t empty = 0;

	if (mem_read(s->mem, addr, buckets, nr * BUCKET_SIZE) != 0)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		if (!is_empty_bucket(buckets[i], addr + i * BUCKET_SIZE))
			continue;
		empty++;
		*last = i;
	}
	return empty;
}

/* Number of buckets of the table of names at addr; 0 if it is no such table. */
static size_t count_buckets(const struct anchor_space *s, raddr addr)
{
	size_t last = 0, end = 0, size = BUCKETS_MIN;

	/* The table is in allocated memory: skips pointers into the executable, as most are. */
	if (addr - s->data_addr < s->data_size || addr - s->rodata_addr < s->rodata_size ||
	    (addr >= s->text && addr < s->text_end) ||
	    !space_is_pointer(s, addr, BUCKETS_MIN * BUCKET_SIZE) ||
	    count_empty(s, addr, BUCKETS_PROBE, &last) < BUCKETS_PROBE / 2)
		return 0;
	/* Every chunk of the table has empty buckets, as names are few. */
	for (size_t from = 0; from < BUCKETS_MAX; from += BUCKETS_CHUNK) {
		if (count_empty(s, addr + from * BUCKET_SIZE, BUCKETS_CHUNK, &last) == 0)
			break;
		end = from + last + 1;
	}
	while (size < end)
		size *= 2;
	return end ? size : 0;
}

/* The only possible counter at a distance of `from` to `to` bytes from the pointer to the table,
 * which is at offset `table` of the data; 0 = none or several. */
static raddr find_misc(const struct anchor_space *s, size_t table, uint64_t size, size_t from,
		       size_t to)
{
	size_t at = table > to ? table - to : 0;
	raddr found = 0;

	for (; at + 8 <= s->data_size && at <= table + to; at += 8) {
		uint64_t value = space_u64(s, at);
		size_t distance = at > table ? at - table : table - at;

		if (distance < from || value < size || value > size + MISC_SLACK || value % 8 != 0)
			continue;
		if (found)
			return 0;
		found = s->data_addr + at;
	}
	return found;
}

/* Searches first where only the locks and padding are between the counter and the pointer, as other
 * counters can have the same value. */
static raddr find_misc_near(const struct anchor_space *s, size_t table, uint64_t size)
{
	raddr found = find_misc(s, table, size, MISC_LOCKS, MISC_LOCKS + MISC_NEAR);

	return found ? found : find_misc(s, table, size, 0, MISC_WINDOW);
}

raddr shape_find_ets_misc(const struct anchor_space *s)
{
	raddr table = 0, found = 0;

	for (size_t at = 0; at + 8 <= s->data_size; at += 8) {
		raddr addr = space_u64(s, at);
		size_t nr = addr == table ? 0 : count_buckets(s, addr);

		if (nr == 0)
			continue;
		if (table)
			return 0;
		table = addr;
		found = find_misc_near(s, at, nr * BUCKET_SIZE);
	}
	return found;
}

/* ---- code ----------------------------------------------------------------------------------- */

static bool has_buckets(const struct anchor_space *s, size_t at, uint64_t arg)
{
	uint32_t shift = space_u32(s, at + (size_t)s->layout->index_table_shift);

	UNUSED(arg);
	return shift >= 32 && shift <= 63 &&
	       space_is_pointer(s, space_u64(s, at + (size_t)s->layout->index_table_bucket),
				(size_t)8 << (64 - shift));
}

raddr shape_find_hash(const struct anchor_space *s, const char *name)
{
	return space_find_only(s, name, (size_t)s->layout->index_table_bucket + 8, has_buckets, 0);
}

/* struct ranges {Range *modules; Sint n, allocated; Range *mid}, where Range is {start, end}
 * (beam_ranges.c, OTP 25 to 29); one for each code index. */
#define RANGES_SIZE  32
#define RANGES_NR    3
#define RANGES_MIN   16 /* modules that every node has */
#define RANGES_MAX   (1u << 20)
#define RANGES_PROBE 16
#define RANGE_SIZE   16

static bool is_ranges(const struct anchor_space *s, size_t at, bool *used)
{
	raddr modules = space_u64(s, at), mid = space_u64(s, at + 24);
	uint64_t n = space_u64(s, at + 8), allocated = space_u64(s, at + 16);
	uint64_t ranges[RANGES_PROBE][2];
	size_t nr = MIN(n, RANGES_PROBE);

	/* After boot no list is empty, as code was loaded more than three times. */
	if (n == 0 || n > allocated || allocated > RANGES_MAX ||
	    !space_is_pointer(s, modules, allocated * RANGE_SIZE) || !mid)
		return false;
	if (n < RANGES_MIN)
		return true;
	if (mid < modules || mid >= modules + n * RANGE_SIZE ||
	    mem_read(s->mem, modules, ranges, nr * RANGE_SIZE) != 0)
		return false;
	/* Ranges of purged code are empty: their memory may be unmapped or reused. */
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i][0] > ranges[i][1] || (i && ranges[i][0] < ranges[i - 1][0]))
			return false;
		*used |= ranges[i][0] < ranges[i][1] && space_is_erlang_code(s, ranges[i][0]);
	}
	return true;
}

static bool are_ranges(const struct anchor_space *s, size_t at, uint64_t arg)
{
	bool used = false;

	UNUSED(arg);
	for (size_t i = 0; i < RANGES_NR; i++)
		if (!is_ranges(s, at + i * RANGES_SIZE, &used))
			return false;
	return used;
}

raddr shape_find_code_ranges(const struct anchor_space *s)
{
	return space_find_only(s, NULL, RANGES_NR * RANGES_SIZE, are_ranges, 0);
}
