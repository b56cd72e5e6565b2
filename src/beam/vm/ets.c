/* SPDX-License-Identifier: BSD-2-Clause */
/* See ets.h. */
#include "beam/vm/ets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/vec.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/vm/ets_internal.h"

/* Limit of tables; a node can have as many as fit its memory. */
#define MAX_TABLES (4u << 20)
/* Limit of steps along a list that may change meanwhile, beside two for each table in it. */
#define SPARE_STEPS 4096
/* Attempts to read numbers that change while they are read. */
#define ATTEMPTS 8

/* ErtsFlxCtr, erl_flxctr.h: counters are in the table itself or, if decentralized, in an array of
 * cache lines: {void *block_start; atomic snapshot_status; line[NO_SLOTS]}. */
#define COUNTER_SIZE   0 /* ERTS_DB_TABLE_NITEMS_COUNTER_ID */
#define COUNTER_MEMORY 1 /* ERTS_DB_TABLE_MEM_COUNTER_ID, bytes */
#define NR_COUNTERS    2
#define SLOTS_STATUS   8
#define SLOTS_ARRAY    16
#define SLOT_SIZE      64
#define MAX_SLOTS      257 /* ERTS_MAX_FLXCTR_GROUPS, and slot 0 for results of snapshots */

/* struct magic_binary, erl_binary.h, from `destructor` on, where a Binary has its bytes:
 * {destructor; Uint32 refn[3]; Uint32 alloc_type; data}.  The data is the address of the table. */
#define MAGIC_REFN 8
#define MAGIC_DATA 24
#define MAGIC_SIZE 32

/* Limit of layout.ets_size, the bytes of a DbTable. */
#define MAX_RAW 512

struct path {
	VEC(struct ets_table) tables;
	struct idmap by_addr;
};

struct reader {
	struct beam_node *n;
	struct ets_list *out;
	uint64_t atom_none;
	uint32_t nr_slots; /* of decentralized counters */
	struct path path;  /* the list that is being read */
	VEC(struct ets_table) all;
};

const char *ets_type_name(enum ets_type type)
{
	static const char *const names[] = {"set", "bag", "duplicate_bag", "ordered_set"};

	return names[type];
}

const char *ets_protection_name(enum ets_protection protection)
{
	static const char *const names[] = {"public", "protected", "private"};

	return names[protection];
}

char *ets_id_format(const struct ets_table *t, char *buf, size_t size)
{
	snprintf(buf, size, "#Ref<0.%" PRIu32 ".%" PRIu32 ".%" PRIu32 ">", t->ref[2], t->ref[1],
		 t->ref[0]);
	return buf;
}

/* ---- one table -------------------------------------------------------------------------------
 */

static bool decode_type(struct ets_table *t, uint32_t status)
{
	switch (status & ETS_STATUS_TYPES) {
	case ETS_STATUS_SET:
		t->type = ETS_SET;
		t->store = ETS_STORE_HASH;
		return true;
	case ETS_STATUS_BAG:
		t->type = ETS_BAG;
		t->store = ETS_STORE_HASH;
		return true;
	case ETS_STATUS_DUPLICATE_BAG:
		t->type = ETS_DUPLICATE_BAG;
		t->store = ETS_STORE_HASH;
		return true;
	case ETS_STATUS_ORDERED_SET:
		t->type = ETS_ORDERED_SET;
		t->store = ETS_STORE_TREE;
		return true;
	case ETS_STATUS_CA_ORDERED_SET:
		t->type = ETS_ORDERED_SET;
		t->store = ETS_STORE_CATREE;
		return true;
	default:
		return false;
	}
}

static bool decode_protection(struct ets_table *t, uint32_t status)
{
	switch (status & (ETS_STATUS_PRIVATE | ETS_STATUS_PROTECTED | ETS_STATUS_PUBLIC)) {
	case ETS_STATUS_PRIVATE:
		t->protection = ETS_PRIVATE;
		return true;
	case ETS_STATUS_PROTECTED:
		t->protection = ETS_PROTECTED;
		return true;
	case ETS_STATUS_PUBLIC:
		t->protection = ETS_PUBLIC;
		return true;
	default:
		return false;
	}
}

/* As table_info() of erl_db.c. */
static enum ets_write_concurrency write_concurrency(const struct ets_table *t, uint32_t status)
{
	if (!(status & ETS_STATUS_FINE_LOCKED))
		return ETS_WRITE_FALSE;
	if (t->store == ETS_STORE_HASH && (status & ETS_STATUS_EXPLICIT_LOCKS))
		return ETS_WRITE_LOCKS;
	return status & ETS_STATUS_FINE_LOCKED_AUTO ? ETS_WRITE_AUTO : ETS_WRITE_TRUE;
}

static void decode_store(struct ets_table *t, const struct beam_layout *l, const uint8_t *raw)
{
	if (t->store == ETS_STORE_HASH) {
		t->root = bytes_u64(raw, l->ets_hash_segtab);
		t->nr_buckets = bytes_u64(raw, l->ets_hash_nactive);
		t->bucket_mask = bytes_u64(raw, l->ets_hash_szm);
		/* OTP 24: the same number for every table, and it cannot be configured. */
		if (l->ets_hash_nlocks >= 0)
			t->nr_locks = bytes_u32(raw, l->ets_hash_nlocks);
	} else {
		/* DbTableTree and DbTableCATree have `root` at the same offset, after
		 * DbTableCommon. */
		t->root = bytes_u64(raw, l->ets_tree_root);
	}
}

static void set_counters(struct ets_table *t, int64_t size, int64_t bytes)
{
	t->size = size > 0 ? (uint64_t)size : 0;
	t->memory = bytes > 0 ? ((uint64_t)bytes + 7) / 8 : 0;
}

/* Parses a table; false: these bytes are no table. */
static bool decode_table(struct reader *r, raddr addr, const uint8_t *raw, struct ets_table *t)
{
	const struct beam_layout *l = &r->n->layout;
	uint32_t status = bytes_u32(raw, l->ets_status);

	*t = (struct ets_table){.addr = addr};
	if (!decode_type(t, status) || !decode_protection(t, status) ||
	    bytes_u32(raw, l->ets_nr_of_counters) != NR_COUNTERS)
		return false;
	t->owner = bytes_u64(raw, l->ets_owner);
	t->heir = bytes_u64(raw, l->ets_heir);
	t->name = bytes_u64(raw, l->ets_the_name);
	t->btid = bytes_u64(raw, l->ets_btid);
	t->keypos = bytes_u32(raw, l->ets_keypos);
	if (!TERM_IS_PID(t->owner) || !TERM_IS_ATOM(t->name) || t->keypos == 0 || !t->btid)
		return false;
	if (!TERM_IS_PID(t->heir)) {
		if (t->heir != r->atom_none)
			return false;
		t->heir = 0;
	}
	t->write_concurrency = write_concurrency(t, status);
	t->read_concurrency = status & ETS_STATUS_FREQ_READ;
	/* is_table_named(); `type` has bits that never change. */
	t->named = bytes_u32(raw, l->ets_type) & ETS_STATUS_NAMED;
	t->fixed = bytes_u64(raw, l->ets_fix_count) != 0;
	/* int up to OTP 28, bool since: the low byte is right for both. */
	t->compressed = raw[l->ets_compress];
	t->decentralized = raw[l->ets_is_decentralized];
	t->counters = bytes_u64(raw, l->ets_counters);
	if (!t->decentralized)
		set_counters(t, (int64_t)bytes_u64(raw, l->ets_counters + 8 * COUNTER_SIZE),
			     (int64_t)bytes_u64(raw, l->ets_counters + 8 * COUNTER_MEMORY));
	decode_store(t, l, raw);
	return true;
}

/* ---- the list of a scheduler ------------------------------------------------------------------
 */

static bool addr_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct path *p = ctx;

	return id < p->tables.len && p->tables.data[id].addr == *(const raddr *)key;
}

static bool is_on_path(const struct path *p, raddr addr)
{
	return idmap_find(&p->by_addr, hash_mix(1, addr), addr_equal, p, &addr) != IDMAP_NONE;
}

/* Reads the table at addr, and the next one of the list; `before` = 0: addr is the first one. */
static int read_link(struct reader *r, raddr addr, raddr before, struct ets_table *t, raddr *next)
{
	const struct beam_layout *l = &r->n->layout;
	uint8_t raw[MAX_RAW];
	int rc;

	if (addr & 7)
		return -EBADMSG;
	rc = mem_read(r->n->mem, addr, raw, (size_t)l->ets_size);
	if (rc)
		return rc;
	if (!decode_table(r, addr, raw, t) || (before && bytes_u64(raw, l->ets_all_prev) != before))
		return -EBADMSG;
	*next = bytes_u64(raw, l->ets_all_next);
	return 0;
}

/*
 * Follows a list from `head`, the address of the pointer to its first table.  From a table that was
 * removed meanwhile the list cannot be followed on: the walk then goes back, further each time, and
 * reads those tables again.  -EAGAIN: more than `budget` steps.
 */
static int follow_list(struct reader *r, raddr head, uint64_t budget)
{
	struct path *p = &r->path;
	size_t furthest = 0, back = 0;
	raddr addr, first;
	int rc = mem_read_u64(r->n->mem, head, &addr);

	first = addr;
	while (!rc && addr) {
		raddr before = p->tables.len ? p->tables.data[p->tables.len - 1].addr : 0, next;
		struct ets_table t;

		if (budget-- == 0)
			return -EAGAIN;
		if (before && (addr == p->tables.data[0].addr || addr == first))
			return 0;
		if (!is_on_path(p, addr) && read_link(r, addr, before, &t, &next) == 0) {
			idmap_add(&p->by_addr, hash_mix(1, addr), (uint32_t)p->tables.len);
			vec_push(&p->tables, t);
			if (p->tables.len > furthest) {
				furthest = p->tables.len;
				back = 0;
			}
			addr = next;
			continue;
		}
		/* The first table may have changed: a walk that has come around ends there. */
		rc = mem_read_u64(r->n->mem, head, &first);
		if (before && addr == first)
			return rc;
		back++;
		for (size_t i = 0; i <= back && p->tables.len; i++)
			addr = p->tables.data[--p->tables.len].addr;
		if (!p->tables.len)
			addr = first;
	}
	return rc;
}

static int read_list(struct reader *r, raddr esdp)
{
	const struct beam_layout *l = &r->n->layout;
	bool in_union = l->sched_ets_list == LAYOUT_ABSENT;
	raddr list = esdp + (raddr)(in_union ? l->sched_u_ets_list : l->sched_ets_list);
	raddr count_addr = esdp + (raddr)(in_union ? l->sched_u_ets_count : l->sched_ets_count);
	struct path *p = &r->path;
	uint64_t count;
	int rc = mem_read_u64(r->n->mem, count_addr, &count);

	if (rc)
		return rc;
	p->tables.len = 0;
	rc = follow_list(r, list, 2 * MIN(count, MAX_TABLES) + SPARE_STEPS);
	if (rc == -ESRCH)
		return rc;
	r->out->lists_truncated += rc != 0 || p->tables.len > MAX_TABLES - r->all.len;
	r->out->counted += count;
	for (size_t i = 0; i < p->tables.len && r->all.len < MAX_TABLES; i++)
		vec_push(&r->all, p->tables.data[i]);
	idmap_free(&p->by_addr);
	return 0;
}

/* ---- identifiers: they verify that a table is one -------------------------------------------- */

#define BATCH 512

/* Keeps the tables whose identifier refers to them. */
static void read_ids(struct reader *r)
{
	raddr magic = (raddr)r->n->layout.binary_orig_bytes;
	uint8_t bytes[BATCH][MAGIC_SIZE];
	struct mem_range ranges[BATCH];
	size_t kept = 0;

	for (size_t from = 0; from < r->all.len; from += BATCH) {
		size_t nr = MIN(BATCH, r->all.len - from);

		for (size_t i = 0; i < nr; i++)
			ranges[i] = (struct mem_range){.addr = r->all.data[from + i].btid + magic,
						       .buf = bytes[i],
						       .size = MAGIC_SIZE};
		mem_readv(r->n->mem, ranges, nr);
		for (size_t i = 0; i < nr; i++) {
			struct ets_table *t = &r->all.data[from + i];

			if (ranges[i].err || bytes_u64(bytes[i], MAGIC_DATA) != t->addr)
				continue;
			memcpy(t->ref, bytes[i] + MAGIC_REFN, sizeof(t->ref));
			r->all.data[kept++] = *t;
		}
	}
	r->out->vanished += r->all.len - kept;
	r->all.len = kept;
}

/* ---- decentralized counters -------------------------------------------------------------------
 */

/*
 * Each scheduler counts in the slot of its group; slot 0 has the sum of the last snapshot.  The
 * number of slots is a static variable of erl_flxctr.c: so only slots that schedulers use now are
 * read.  Others are 0, unless a scheduler was bound to another CPU.
 */
static int read_nr_slots(struct reader *r)
{
	const struct beam_anchors *a = &r->n->anchors;

	r->nr_slots = 1;
	for (uint32_t i = 0; i < a->nr_sched; i++) {
		uint32_t slot;
		int rc = mem_read_u32(r->n->mem,
				      a->sched + (raddr)i * (uint32_t)r->n->layout.sched_stride +
					      (raddr)r->n->layout.sched_flxctr_slot_no,
				      &slot);

		if (rc)
			return rc;
		if (slot >= MAX_SLOTS)
			return -EBADMSG;
		r->nr_slots = MAX(r->nr_slots, slot + 1);
	}
	return 0;
}

/* 0; -EAGAIN: a snapshot is running (by ets:info/2 or the like), which has replaced this array by a
 * new one, and will add the old values to it. */
static int sum_slots(struct reader *r, struct ets_table *t)
{
	uint8_t bytes[SLOTS_ARRAY + MAX_SLOTS * SLOT_SIZE];
	int64_t sums[NR_COUNTERS] = {0};
	raddr now;
	int rc;

	rc = mem_read(r->n->mem, t->counters, bytes, SLOTS_ARRAY + r->nr_slots * SLOT_SIZE);
	if (!rc)
		rc = mem_read_u64(r->n->mem, t->addr + (raddr)r->n->layout.ets_counters, &now);
	if (rc)
		return rc;
	for (uint32_t s = 0; s < r->nr_slots; s++)
		for (int c = 0; c < NR_COUNTERS; c++)
			sums[c] += (int64_t)bytes_u64(
				bytes, (int32_t)(SLOTS_ARRAY + s * SLOT_SIZE) + 8 * c);
	set_counters(t, sums[COUNTER_SIZE], sums[COUNTER_MEMORY]);
	if (now != t->counters) {
		t->counters = now;
		return -EAGAIN;
	}
	return bytes_u64(bytes, SLOTS_STATUS) ? -EAGAIN : 0;
}

static void read_decentralized(struct reader *r)
{
	for (size_t i = 0; i < r->all.len; i++) {
		struct ets_table *t = &r->all.data[i];
		int rc = -EAGAIN;

		if (!t->decentralized)
			continue;
		for (int nth = 0; rc && nth < ATTEMPTS; nth++)
			rc = sum_slots(r, t);
		t->torn = rc != 0;
		r->out->torn += t->torn;
	}
}

/* ---- all ------------------------------------------------------------------------------------- */

static int begin(struct reader *r, struct beam_node *n, struct ets_list *out)
{
	memset(r, 0, sizeof(*r));
	memset(out, 0, sizeof(*out));
	r->n = n;
	r->out = out;
	r->atom_none = beam_atom_find(n->atoms, "none");
	if (n->layout.ets_size > MAX_RAW)
		return -EINVAL;
	return read_nr_slots(r);
}

static void end(struct reader *r)
{
	vec_free(&r->path.tables);
	idmap_free(&r->path.by_addr);
	r->out->data = r->all.data;
	r->out->len = r->all.len;
}

int ets_read(struct beam_node *n, struct ets_list *out, struct error *err)
{
	const struct beam_anchors *a = &n->anchors;
	struct reader r;
	int rc = begin(&r, n, out);

	for (uint32_t i = 0; !rc && i < a->nr_sched; i++)
		rc = read_list(&r, a->sched + (raddr)i * (uint32_t)n->layout.sched_stride);
	if (!rc) {
		read_ids(&r);
		read_decentralized(&r);
	}
	end(&r);
	if (!rc)
		return 0;
	ets_list_free(out);
	return beam_node_unreadable(n, "ETS tables", rc, err);
}

int ets_table_read(struct beam_node *n, raddr table, struct ets_table *out)
{
	struct ets_list list;
	struct ets_table t;
	struct reader r;
	raddr next;
	int rc = begin(&r, n, &list);

	rc = rc ? rc : read_link(&r, table, 0, &t, &next);
	if (!rc) {
		vec_push(&r.all, t);
		read_ids(&r);
		read_decentralized(&r);
	}
	end(&r);
	if (!rc && list.len)
		*out = list.data[0];
	rc = rc ? rc : (list.len ? 0 : -ESRCH);
	ets_list_free(&list);
	return rc;
}

void ets_list_free(struct ets_list *l)
{
	free(l->data);
	l->data = NULL;
	l->len = 0;
}
