/* SPDX-License-Identifier: BSD-2-Clause */
/* See allocators.h.  Counters: erts/emulator/beam/erl_alloc_util.h, OTP 25 to 29. */
#include "beam/vm/allocators.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"

/* CarriersStats_t {StatValues_t carriers[3], max, max_ever; BlockStats_t blocks[]}, where
 * StatValues_t is {no, size} and BlockStats_t three of them: now, max, max ever. */
#define STAT_VALUES_SIZE 16
#define BLOCK_STATS_SIZE (3 * STAT_VALUES_SIZE)

/* ErtsAlcFixList_t {type_size, list_size; list; union u; type}, one for each kind of fixed size. */
#define FIX_SIZE	   64
#define FIX_TYPE_SIZE	   0
#define FIX_POOL_ALLOCATED 32 /* u.cpool: carriers may migrate */
#define FIX_POOL_USED	   40
#define FIX_OWN_ALLOCATED  40 /* u.nocpool */
#define FIX_OWN_USED	   48
#define FIX_TYPE_SIZE_MAX  65536
/*
 * Kinds of fix_alloc in the order of their numbers (erl_alloc.types, OTP 25 to 29), and those that
 * erlang:memory() counts as processes (erlang.erl, get_fix_proc/2): proc, msg_ref, ll_ptimer,
 * hl_ptimer, bif_timer, monitor, link.
 */
#define FIX_KINDS	 15
#define FIX_OF_PROCESSES ((1u << 0) | (0xfu << 2) | (1u << 11) | (1u << 12))
#define FIX_PROC	 0
#define FIX_OF_TIMERS	 (0x7u << 3)

bool allocator_instances(struct mem *mem, const uint8_t info[ALLOCATOR_INFO_SIZE], uint32_t number,
			 struct allocator_instances *out)
{
	uint32_t nr = bytes_u32(info, ALLOCATOR_INFO_THR_SPEC);
	raddr extra = bytes_u64(info, ALLOCATOR_INFO_EXTRA);
	uint8_t spec[ALLOCATOR_SPEC_SIZE];

	*out = (struct allocator_instances){0};
	if (bytes_u32(info, ALLOCATOR_INFO_UTIL) != 1 ||
	    bytes_u32(info, ALLOCATOR_INFO_ENABLED) != 1 || !extra || nr > ALLOCATOR_INSTANCES_MAX)
		return false;
	if (nr == 0) {
		*out = (struct allocator_instances){.nr = 1, .single = extra};
		return true;
	}
	if (mem_read(mem, extra, spec, sizeof(spec)) != 0 ||
	    bytes_u32(spec, ALLOCATOR_SPEC_NUMBER) != number ||
	    bytes_u32(spec, ALLOCATOR_SPEC_INSTANCES) != nr ||
	    !bytes_u64(spec, ALLOCATOR_SPEC_ARRAY))
		return false;
	out->array = bytes_u64(spec, ALLOCATOR_SPEC_ARRAY);
	out->nr = nr;
	return true;
}

/* ---- one instance --------------------------------------------------------------------------- */

static void read_carriers(const uint8_t *bytes, size_t at, size_t max_at, size_t blocks_at,
			  uint32_t types, struct allocator_count *out)
{
	for (; at < max_at; at += STAT_VALUES_SIZE) {
		out->carriers += bytes_u64(bytes, at);
		out->carriers_size += bytes_u64(bytes, at + 8);
	}
	for (uint32_t i = 0; i < types; i++) {
		out->blocks[i + 1] = bytes_u64(bytes, blocks_at + i * BLOCK_STATS_SIZE);
		out->blocks_size[i + 1] = bytes_u64(bytes, blocks_at + i * BLOCK_STATS_SIZE + 8);
	}
}

static void read_pool(const uint8_t *bytes, const struct beam_layout *l, uint32_t types,
		      struct allocator_count *out)
{
	out->carriers = bytes_u64(bytes, (size_t)l->allctr_cpool_carriers);
	out->carriers_size = bytes_u64(bytes, (size_t)l->allctr_cpool_carriers_size);
	for (uint32_t i = 0; i < types; i++) {
		out->blocks[i + 1] = bytes_u64(bytes, (size_t)l->allctr_cpool_blocks + 8 * i);
		out->blocks_size[i + 1] =
			bytes_u64(bytes, (size_t)l->allctr_cpool_blocks_size + 8 * i);
	}
}

static void add_count(struct allocator *a, const struct allocator_count *c)
{
	a->carriers += c->carriers;
	a->carriers_size += c->carriers_size;
	for (uint32_t i = 0; i < ALLOCATORS_MAX; i++) {
		a->blocks += c->blocks[i];
		a->blocks_size += c->blocks_size[i];
	}
}

/* Number of allocator types by which an instance counts: the smaller of its two tables. */
static uint32_t count_types(const struct beam_layout *l)
{
	uint32_t pool = (uint32_t)(l->allctr_cpool_blocks - l->allctr_cpool_blocks_size) / 8;
	uint32_t all = (uint32_t)(l->allctr_mbcs - l->allctr_sbcs_blocks) / BLOCK_STATS_SIZE;

	return MIN(MIN(pool, all), ALLOCATORS_MAX - 1);
}

static void read_counts(struct allocator *a, const uint8_t *bytes, const struct beam_layout *l)
{
	uint32_t types = count_types(l);

	read_carriers(bytes, (size_t)l->allctr_mbcs, (size_t)l->allctr_mbcs_max,
		      (size_t)l->allctr_mbcs_blocks, types, &a->mbcs);
	read_carriers(bytes, (size_t)l->allctr_sbcs, (size_t)l->allctr_sbcs_max,
		      (size_t)l->allctr_sbcs_blocks, types, &a->sbcs);
	read_pool(bytes, l, types, &a->pool);
	add_count(a, &a->mbcs);
	add_count(a, &a->sbcs);
	add_count(a, &a->pool);
}

/* Adds the kinds of fix_alloc that belong to processes. */
static bool read_fix(struct allocators *out, struct beam_node *n, const uint8_t *bytes)
{
	raddr addr = bytes_u64(bytes, (size_t)n->layout.allctr_fix);
	bool pool = bytes_u64(bytes, (size_t)n->layout.allctr_cpool_util_limit) != 0;
	uint8_t fix[FIX_KINDS * FIX_SIZE];

	if (!addr)
		return true;
	if (mem_read(n->mem, addr, fix, sizeof(fix)) != 0)
		return false;
	/* The first kind must have the size of struct process, else the order is another one. */
	if (bytes_u64(fix, FIX_PROC * FIX_SIZE + FIX_TYPE_SIZE) <
		    (uint64_t)n->layout.process_size ||
	    bytes_u64(fix, FIX_PROC * FIX_SIZE + FIX_TYPE_SIZE) >
		    (uint64_t)n->layout.process_size + 64)
		return false;
	for (uint32_t i = 0; i < FIX_KINDS; i++) {
		const uint8_t *f = fix + i * FIX_SIZE;
		uint64_t size = bytes_u64(f, FIX_TYPE_SIZE);

		if (!(FIX_OF_PROCESSES & (1u << i)))
			continue;
		if (size == 0 || size > FIX_TYPE_SIZE_MAX)
			return false;
		out->fix.allocated +=
			size * bytes_u64(f, pool ? FIX_POOL_ALLOCATED : FIX_OWN_ALLOCATED);
		size *= bytes_u64(f, pool ? FIX_POOL_USED : FIX_OWN_USED);
		out->fix.used += size;
		if (FIX_OF_TIMERS & (1u << i))
			out->fix.timers += size;
	}
	out->has_fix = true;
	return true;
}

/* Sets the name of a type, "eheap_alloc", from its prefix; false if that is not like "eheap_". */
static bool read_type(struct allocators *out, struct beam_node *n, const uint8_t *bytes,
		      uint32_t number)
{
	char prefix[16];
	size_t len;

	if (mem_read_string(n->mem, bytes_u64(bytes, (size_t)n->layout.allctr_name_prefix), prefix,
			    sizeof(prefix)) != 0)
		return false;
	len = strlen(prefix);
	if (len < 2 || prefix[len - 1] != '_' ||
	    strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789") != len - 1)
		return false;
	memcpy(out->types[number], prefix, len);
	memcpy(out->types[number] + len, "alloc", sizeof("alloc"));
	return true;
}

static bool read_instance(struct allocators *out, struct beam_node *n, const uint8_t *bytes,
			  struct allocator *a)
{
	const struct beam_layout *l = &n->layout;

	if (bytes_u32(bytes, (size_t)l->allctr_alloc_no) != a->number ||
	    bytes_u32(bytes, (size_t)l->allctr_ix) != a->instance)
		return false;
	if (!out->types[a->number][0] && !read_type(out, n, bytes, a->number))
		return false;
	a->type = out->types[a->number];
	read_counts(a, bytes, l);
	return !bytes_u64(bytes, (size_t)l->allctr_fix) || read_fix(out, n, bytes);
}

/* ---- all allocators ------------------------------------------------------------------------- */

/* Reads all instances of an allocator at once. */
static int read_allocator(struct allocators *out, struct beam_node *n, uint32_t number,
			  const struct allocator_instances *in)
{
	size_t size = (size_t)n->layout.allctr_size;
	raddr *addrs = xcalloc(in->nr, sizeof(*addrs));
	uint8_t *bytes = xcalloc(in->nr, size);
	struct mem_range *ranges = xcalloc(in->nr, sizeof(*ranges));
	int rc = 0;

	if (in->array)
		rc = mem_read(n->mem, in->array, addrs, in->nr * sizeof(*addrs));
	else
		addrs[0] = in->single;
	for (uint32_t i = 0; i < in->nr; i++)
		ranges[i] =
			(struct mem_range){.addr = addrs[i], .buf = bytes + i * size, .size = size};
	if (!rc)
		mem_readv(n->mem, ranges, in->nr);
	for (uint32_t i = 0; !rc && i < in->nr; i++) {
		struct allocator a = {.number = number, .instance = i, .address = addrs[i]};

		if (!addrs[i])
			continue;
		if (ranges[i].err == 0 && read_instance(out, n, bytes + i * size, &a))
			vec_push(&out->v, a);
		else
			out->unreadable++;
	}
	free(addrs);
	free(bytes);
	free(ranges);
	return rc;
}

int allocators_read(struct allocators *out, struct beam_node *n, struct error *err)
{
	uint32_t nr = count_types(&n->layout) + 1;
	uint8_t info[ALLOCATORS_MAX * ALLOCATOR_INFO_SIZE];
	int rc;

	memset(out, 0, sizeof(*out));
	rc = mem_read(n->mem, n->anchors.allocators, info, nr * ALLOCATOR_INFO_SIZE);
	/* 0 is no allocator, 1 is the C library's malloc, the last is for the VM's own tests. */
	for (uint32_t i = 2; !rc && i < nr; i++) {
		const uint8_t *e = info + (size_t)i * ALLOCATOR_INFO_SIZE;
		struct allocator_instances in;

		if (allocator_instances(n->mem, e, i, &in))
			rc = i + 1 < nr ? read_allocator(out, n, i, &in) : 0;
		else if (bytes_u32(e, ALLOCATOR_INFO_ENABLED))
			out->unreadable++;
		else
			out->disabled |= i + 1 < nr;
	}
	if (!rc && out->v.len == 0 && !out->disabled)
		rc = -EBADMSG;
	if (!rc)
		return 0;
	allocators_free(out);
	return beam_node_unreadable(n, "allocators", rc, err);
}

void allocators_free(struct allocators *a)
{
	vec_free(&a->v);
}

uint64_t allocators_blocks_size(const struct allocators *a, const char *type)
{
	uint64_t size = 0;

	for (size_t i = 0; i < a->v.len; i++) {
		const struct allocator *one = &a->v.data[i];

		for (uint32_t t = 0; t < ALLOCATORS_MAX; t++)
			if (!type || strcmp(a->types[t], type) == 0)
				size += one->mbcs.blocks_size[t] + one->sbcs.blocks_size[t] +
					one->pool.blocks_size[t];
	}
	return size;
}
