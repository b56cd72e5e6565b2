/* SPDX-License-Identifier: BSD-2-Clause */
/* See carriers.h.  Headers: erts/emulator/beam/erl_alloc_util.c and .h, OTP 24 to 29. */
#include "beam/vm/carriers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/keytab.h"
#include "base/xalloc.h"

#define ALLCTR_IN_POOL 1ull /* a flag of Carrier_t.allctr */

/*
 * Block_t.bhdr.  All three low flags: the block of a carrier for one.  In others an allocated block
 * has, below the highest bit, in units of the carriers' alignment how far from the carrier's start
 * it is; and the size below that.
 */
#define BLOCK_FREE	   1ull
#define BLOCK_AFTER_FREE   2ull
#define BLOCK_LAST	   4ull
#define BLOCK_TAGGED	   (1ull << 63)
#define BLOCK_FLAGS	   7ull
#define BLOCK_SIZE_MASK	   (~(BLOCK_FLAGS | BLOCK_TAGGED))
#define BLOCK_OFFSET_SHIFT 40
#define CARRIER_ALIGN_BITS 14 /* ERTS_SUPER_ALIGN_BITS */

#define ATOM_TAG 0x0b /* index << 6 | this = the term */

#define ATAGS_MAX 2 /* Allctr_t.atags: false, true, code */

/* How often a torn carrier is read. */
#define TRIES 3

/* Of what is read at once: where blocks are small, carriers are read whole. */
#define WINDOW_MIN 4096u
#define WINDOW_MAX (256u << 10)

/* An instance of an allocator. */
struct instance {
	const struct allocator *a;
	uint64_t header_size; /* of a carrier for many blocks */
	raddr mbcs, sbcs, sentinel;
};

/* A key of `instances` and of `seen`. */
struct by_address {
	uint64_t address;
	size_t i;
};

struct walk {
	struct beam_node *n;
	const struct beam_layout *l;
	const struct carriers_visitor *v;
	struct carriers_count *count;
	struct instance *instances;
	struct keytab
		of_address; /* struct by_address: instances by the address of their Allctr_t */
	struct keytab seen; /* carriers, and sentinels of pools */
	uint32_t tag_size;  /* bytes at the end of a tagged block */
	VEC(struct carrier_tag) tags;
	VEC(struct carrier_extent) extents;
	/* The window: bytes of the node's memory, at addresses start .. start + len - 1. */
	uint8_t *bytes;
	raddr start;
	size_t len, want;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* The bytes at `from` .. `to` - 1, at most WINDOW_MIN of them; NULL: not readable.  Reads some
 * more, up to `end`: the more, the nearer to each other the last ones were. */
static const uint8_t *window(struct walk *w, raddr from, raddr to, raddr end)
{
	size_t len;

	if (from >= w->start && to <= w->start + w->len)
		return w->bytes + (from - w->start);
	if (from >= w->start && from <= w->start + w->len + WINDOW_MIN)
		w->want = MIN(w->want * 2, WINDOW_MAX);
	else
		w->want = WINDOW_MIN;
	w->start = from;
	w->len = 0;
	/* To the end of a page. */
	len = (size_t)(MIN(((to + w->want - 1) & ~(raddr)(WINDOW_MIN - 1)), end) - from);
	len = MAX(len, (size_t)(to - from));
	if (mem_read(w->n->mem, from, w->bytes, len) != 0) {
		len = (size_t)(to - from);
		if (mem_read(w->n->mem, from, w->bytes, len) != 0)
			return NULL;
	}
	w->len = len;
	return w->bytes;
}

static uint64_t word(const uint8_t *bytes, int32_t offset)
{
	return bytes_u64(bytes, offset);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Takes the tag that ends at `end`; false: it is none. */
static bool add_tag(struct walk *w, const uint8_t *end, uint64_t size)
{
	uint64_t packed = word(end, -(int32_t)w->tag_size);
	struct carrier_tag t = {
		.size = size,
		.origin = (packed >> w->v->type_bits) << 6 | ATOM_TAG,
		.type = (uint32_t)(packed & ((1ull << w->v->type_bits) - 1)),
		.term = w->tag_size > 8 ? word(end, -8) : 0,
	};

	if (t.type == 0 || w->tags.len >= CARRIER_TAGS_MAX)
		return false;
	vec_push(&w->tags, t);
	return true;
}

static void add_extent(struct walk *w, raddr at, uint64_t size)
{
	if (w->v->extents && w->extents.len < CARRIER_TAGS_MAX)
		vec_push(&w->extents, ((struct carrier_extent){at, size}));
}

enum outcome { WALKED, TORN, UNREADABLE };

/* The block of a carrier for one. */
static enum outcome walk_single(struct walk *w, struct carrier *c)
{
	raddr at = c->address + (raddr)w->l->carrier_cpool, end = c->address + c->size;
	const uint8_t *bytes = window(w, at, at + 8, at + 8);
	uint64_t header, size;

	if (!bytes)
		return UNREADABLE;
	header = word(bytes, 0);
	size = header & BLOCK_SIZE_MASK;
	if ((header & BLOCK_FLAGS) != BLOCK_FLAGS || size < 8 || size > end - at)
		return TORN;
	c->blocks = 1;
	c->blocks_size = size;
	add_extent(w, at, size);
	if (!w->v->type_bits || !(header & BLOCK_TAGGED))
		return WALKED;
	if (size < 8 + w->tag_size)
		return TORN;
	bytes = window(w, at + size - w->tag_size, at + size, at + size);
	if (!bytes)
		return UNREADABLE;
	return add_tag(w, bytes + w->tag_size, size) ? WALKED : TORN;
}

/* Is that the header of the block at c + offset, after one that is free or not?  Sets *size. */
static bool is_block(uint64_t header, uint64_t offset, bool after_free, uint64_t left,
		     uint64_t *size)
{
	*size = header & BLOCK_SIZE_MASK;
	if (header & BLOCK_FREE) {
		/* Free neighbours are always joined. */
		if (after_free || (header & (BLOCK_AFTER_FREE | BLOCK_TAGGED)))
			return false;
	} else {
		if (*size >> BLOCK_OFFSET_SHIFT != offset >> CARRIER_ALIGN_BITS ||
		    after_free != !!(header & BLOCK_AFTER_FREE))
			return false;
		*size &= (1ull << BLOCK_OFFSET_SHIFT) - 1;
	}
	return *size >= 16 && *size <= left;
}

/* The blocks of a carrier for many. */
static enum outcome walk_blocks(struct walk *w, struct carrier *c, uint64_t header_size)
{
	uint64_t offset = header_size, header, size;
	raddr end = c->address + c->size;
	bool after_free = false, tagged = false;

	/* A header, and before it the tag of the block that ends there. */
	for (;;) {
		raddr at = c->address + offset;
		const uint8_t *bytes = window(w, at - w->tag_size, at + 8, end);

		if (!bytes)
			return UNREADABLE;
		bytes += w->tag_size;
		if (tagged && !add_tag(w, bytes, size))
			return TORN;
		header = word(bytes, 0);
		if (!is_block(header, offset, after_free, c->size - offset, &size))
			return TORN;
		after_free = header & BLOCK_FREE;
		tagged = w->v->type_bits && header & BLOCK_TAGGED;
		if (tagged && size < 8 + w->tag_size)
			return TORN;
		if (after_free) {
			c->free_blocks++;
			c->free_size += size;
			c->largest_free = MAX(c->largest_free, size);
		} else {
			c->blocks++;
			c->blocks_size += size;
			add_extent(w, at, size);
		}
		offset += size;
		if (header & BLOCK_LAST)
			break;
		if (c->size - offset < 8)
			return TORN;
	}
	if (tagged) {
		raddr at = c->address + offset;
		const uint8_t *bytes = window(w, at - w->tag_size, at, at);

		if (!bytes)
			return UNREADABLE;
		if (!add_tag(w, bytes + w->tag_size, size))
			return TORN;
	}
	/* Only what is less than a unit is behind the last block. */
	return c->size - offset <= 8 ? WALKED : TORN;
}

/* ---- carriers -------------------------------------------------------------------------------- */

static bool see(struct walk *w, raddr addr)
{
	if (keytab_find(&w->seen, addr))
		return false;
	keytab_add(&w->seen, addr);
	return true;
}

static void miss(struct walk *w, const struct allocator *owner, uint64_t *count)
{
	++*count;
	if (w->v->missed)
		w->v->missed(w->v->ctx, owner);
}

static enum outcome try_carrier(struct walk *w, struct carrier *c, const struct instance *in)
{
	uint64_t header;

	c->blocks = c->blocks_size = c->free_blocks = c->free_size = c->largest_free = 0;
	w->tags.len = w->extents.len = 0;
	w->len = 0; /* reads it anew */
	if (mem_read_u64(w->n->mem, c->address + (raddr)w->l->carrier_chdr, &header) != 0)
		return UNREADABLE;
	c->size = header & ~CARRIER_FLAGS;
	if (c->size <= in->header_size || c->size > CARRIER_SIZE_MAX ||
	    c->address + c->size < c->address || c->single != !!(header & CARRIER_SINGLE))
		return TORN;
	if (w->v->heads)
		return WALKED;
	return c->single ? walk_single(w, c) : walk_blocks(w, c, in->header_size);
}

static void walk_carrier(struct walk *w, raddr addr, const struct instance *in, bool single,
			 bool pooled)
{
	struct carrier c = {.owner = in->a, .address = addr, .single = single, .pooled = pooled};
	enum outcome got = TORN;

	for (int i = 0; i < TRIES && got == TORN; i++)
		got = try_carrier(w, &c, in);
	w->count->carriers += got == WALKED;
	if (got != WALKED)
		miss(w, in->a, got == TORN ? &w->count->torn : &w->count->unreadable);
	if (got == TORN && c.size <= CARRIER_SIZE_MAX)
		w->count->torn_size += c.size;
	c.extents = c.blocks && w->extents.len == c.blocks ? w->extents.data : NULL;
	if (got == WALKED)
		w->v->carrier(w->v->ctx, &c, w->tags.data, w->tags.len);
}

/* Is there a carrier that a reader of the VM has inserted as its mark (its size is 0)? */
static bool is_mark(const struct walk *w, const uint8_t *carrier)
{
	return (word(carrier, w->l->carrier_chdr) & ~CARRIER_FLAGS) == 0;
}

/* A list by Carrier_t.next. */
static void walk_list(struct walk *w, raddr addr, const struct instance *in, bool single)
{
	uint8_t bytes[64];

	while (addr) {
		/* Also a carrier that came from the pool, or was freed and is in another list. */
		if (w->seen.nr >= CARRIERS_MAX || !see(w, addr)) {
			miss(w, in->a, &w->count->lists_truncated);
			return;
		}
		if (mem_read(w->n->mem, addr, bytes, (size_t)w->l->carrier_cpool) != 0) {
			miss(w, in->a, &w->count->unreadable);
			return;
		}
		if ((word(bytes, w->l->carrier_allctr) & ~CARRIER_FLAGS) != in->a->address) {
			miss(w, in->a, &w->count->lists_truncated);
			return;
		}
		if (!is_mark(w, bytes))
			walk_carrier(w, addr, in, single, false);
		addr = word(bytes, w->l->carrier_next);
	}
}

/* A ring of ErtsAlcCPoolData_t, which are within their carriers: those of all instances of an
 * allocator, or of all allocators that share the pool. */
static void walk_pool(struct walk *w, raddr sentinel)
{
	const struct beam_layout *l = w->l;
	raddr next_offset = (raddr)(l->carrier_cpool_next - l->carrier_cpool), at;
	uint8_t bytes[128];

	if (!see(w, sentinel))
		return;
	if (mem_read_u64(w->n->mem, sentinel + next_offset, &at) != 0) {
		miss(w, NULL, &w->count->unreadable);
		return;
	}
	/* The low bits mark pointers that are about to change. */
	while ((at &= ~CARRIER_FLAGS) != sentinel) {
		raddr addr = at - (raddr)l->carrier_cpool;
		const struct by_address *owner;

		if (w->seen.nr >= CARRIERS_MAX || !see(w, addr)) {
			miss(w, NULL, &w->count->lists_truncated);
			return;
		}
		if (mem_read(w->n->mem, addr, bytes, (size_t)l->carrier_cpool_owner + 8) != 0) {
			miss(w, NULL, &w->count->unreadable);
			return;
		}
		owner = keytab_find(&w->of_address, word(bytes, l->carrier_cpool_owner));
		if (!owner) {
			miss(w, NULL, &w->count->lists_truncated);
			return;
		}
		if (word(bytes, l->carrier_allctr) & ALLCTR_IN_POOL && !is_mark(w, bytes))
			walk_carrier(w, addr, &w->instances[owner->i], false, true);
		at = word(bytes, l->carrier_cpool_next);
	}
}

/* ---- instances ------------------------------------------------------------------------------- */

bool carrier_options_read(struct beam_node *n, const struct allocator *a,
			  struct carrier_options *out)
{
	const struct beam_layout *l = &n->layout;
	uint8_t *bytes = xmalloc((size_t)l->allctr_size);
	bool ok = mem_read(n->mem, a->address, bytes, (size_t)l->allctr_size) == 0 &&
		  bytes_u32(bytes, l->allctr_atags) <= ATAGS_MAX;

	*out = (struct carrier_options){0};
	if (ok)
		*out = (struct carrier_options){
			.tags = bytes_u32(bytes, l->allctr_atags) != 0,
			.function_tags = bytes_u32(bytes, l->allctr_atags) > 1,
			.acul = word(bytes, l->allctr_cpool_util_limit),
			.sbct = word(bytes, l->allctr_sbc_threshold),
			.lmbcs = word(bytes, l->allctr_largest_mbc_size),
		};
	free(bytes);
	return ok;
}

static bool read_instance(struct walk *w, const struct allocator *a, struct instance *out)
{
	const struct beam_layout *l = w->l;
	uint8_t *bytes = xmalloc((size_t)l->allctr_size);
	bool ok = mem_read(w->n->mem, a->address, bytes, (size_t)l->allctr_size) == 0;

	if (ok)
		*out = (struct instance){.a = a,
					 .header_size = word(bytes, l->allctr_mbc_header_size),
					 .mbcs = word(bytes, l->allctr_mbc_first),
					 .sbcs = word(bytes, l->allctr_sbc_first),
					 .sentinel = word(bytes, l->allctr_cpool_sentinel)};
	free(bytes);
	return ok && out->header_size >= (uint64_t)l->carrier_cpool &&
	       out->header_size <= WINDOW_MIN && out->header_size % 8 == 0;
}

int carriers_walk(struct beam_node *n, const struct allocators *a, const struct carriers_visitor *v,
		  struct carriers_count *out, struct error *err)
{
	struct walk w = {.n = n,
			 .l = &n->layout,
			 .v = v,
			 .count = out,
			 .of_address = KEYTAB_INIT(struct by_address),
			 .seen = KEYTAB_INIT(struct by_address),
			 /* alcu_atag_t is a word up to OTP 26, then two. */
			 .tag_size = n->identity.otp >= 27 ? 16 : 8,
			 .instances = xcalloc(a->v.len + 1, sizeof(*w.instances)),
			 .bytes = xmalloc(WINDOW_MAX + 2 * WINDOW_MIN)};
	size_t nr = 0;

	*out = (struct carriers_count){0};
	for (size_t i = 0; i < a->v.len; i++) {
		if (!read_instance(&w, &a->v.data[i], &w.instances[nr])) {
			miss(&w, &a->v.data[i], &out->unreadable);
			continue;
		}
		if (!keytab_find(&w.of_address, a->v.data[i].address))
			((struct by_address *)keytab_add(&w.of_address, a->v.data[i].address))->i =
				nr++;
	}
	/* First the pools: what is fetched from one meanwhile is not missed. */
	for (size_t i = 0; i < nr; i++)
		if (w.instances[i].sentinel)
			walk_pool(&w, w.instances[i].sentinel);
	for (size_t i = 0; i < nr; i++) {
		walk_list(&w, w.instances[i].mbcs, &w.instances[i], false);
		walk_list(&w, w.instances[i].sbcs, &w.instances[i], true);
	}
	keytab_free(&w.of_address);
	keytab_free(&w.seen);
	vec_free(&w.tags);
	vec_free(&w.extents);
	free(w.instances);
	free(w.bytes);
	if (nr > 0 || a->v.len == 0)
		return 0;
	return beam_node_unreadable(n, "allocators", -EFAULT, err);
}
