/* SPDX-License-Identifier: BSD-2-Clause */
/* See dist.h. */
#include "beam/vm/dist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/vm/ports.h"

#define READ_TRIES  3
#define WAITING_MAX 10000

#define DFLAG_PUBLISHED 1u /* dist.h: the other side is not hidden */
#define QFLAG_BUSY	1u /* ERTS_DE_QFLG_BUSY, erl_node_tables.h */

#define ENTRY_MAX_SIZE 1024

const char *dist_state_name(enum dist_state state)
{
	static const char *const names[] = {"idle", "pending", "up", "exiting"};

	return (unsigned int)state < ARRAY_SIZE(names) ? names[state] : NULL;
}

const char *dist_type_name(enum dist_type type)
{
	static const char *const names[] = {NULL, "this", "visible", "hidden"};

	return names[type];
}

int dist_hash_read(struct mem *mem, const struct beam_layout *l, raddr table, struct dist_hash *out)
{
	uint32_t shift, nobjs;
	int rc = mem_read_u32(mem, table + (raddr)l->index_table_shift, &shift);

	rc = rc ? rc : mem_read_u32(mem, table + (raddr)l->index_table_nobjs, &nobjs);
	rc = rc ? rc : mem_read_u64(mem, table + (raddr)l->index_table_bucket, &out->buckets);
	if (rc)
		return rc;
	if (shift < 40 || shift > 63 || nobjs > DIST_ENTRIES_MAX || out->buckets % 8 != 0)
		return -EBADMSG;
	out->nr_buckets = 1ull << (64 - shift);
	out->nr_entries = nobjs;
	return 0;
}

/* ---- entries -------------------------------------------------------------------------------- */

struct entries {
	VEC(raddr) v;
};

/* Finds all entries: the first of each bucket, then the next one of each of these, and so on.  The
 * pointer to the next one is an entry's first word (HashBucket.next). */
static int find_entries(struct beam_node *n, struct entries *out, uint64_t *cut)
{
	struct dist_hash hash;
	uint64_t max;
	raddr *buckets;
	int rc = dist_hash_read(n->mem, &n->layout, n->anchors.dist_table, &hash);

	if (rc)
		return rc;
	buckets = xmalloc(hash.nr_buckets * sizeof(*buckets));
	rc = mem_read(n->mem, hash.buckets, buckets, hash.nr_buckets * sizeof(*buckets));
	for (uint64_t i = 0; !rc && i < hash.nr_buckets; i++)
		if (buckets[i])
			vec_push(&out->v, buckets[i]);
	free(buckets);
	/* Limit that ends a cycle; some entries may be added meanwhile. */
	max = 2 * hash.nr_entries + 64;
	for (size_t i = 0; !rc && i < out->v.len; i++) {
		raddr next;

		if (out->v.len > max) {
			(*cut)++;
			break;
		}
		if (mem_read_u64(n->mem, out->v.data[i], &next) == 0 && next)
			vec_push(&out->v, next);
	}
	return rc;
}

static void take_entry(const struct beam_node *n, struct dist_facts *d, const uint8_t *bytes)
{
	const struct beam_layout *l = &n->layout;
	uint64_t cid = bytes_u64(bytes, l->dist_cid);
	uint32_t state = bytes_u32(bytes, l->dist_state);
	bool connected = state == DIST_CONNECTED || state == DIST_EXITING;

	d->name = bytes_u64(bytes, l->dist_sysname);
	d->state = (enum dist_state)state;
	d->creation = bytes_u32(bytes, l->dist_creation);
	d->connection_id = bytes_u32(bytes, l->dist_connection_id);
	d->dflags = bytes_u64(bytes, l->dist_dflags);
	d->controller = cid == TERM_NIL ? 0 : cid;
	d->in = bytes_u64(bytes, l->dist_in);
	d->out = bytes_u64(bytes, l->dist_out);
	d->queue = bytes_u64(bytes, l->dist_qsize);
	d->busy = bytes_u32(bytes, l->dist_qflgs) & QFLAG_BUSY;
	d->torn = !TERM_IS_ATOM(d->name) || state > DIST_EXITING ||
		  (d->controller && !TERM_IS_PID(cid) && !TERM_IS_PORT(cid)) ||
		  (connected && !d->controller);
	d->type = !connected			  ? DIST_NONE
		  : (d->dflags & DFLAG_PUBLISHED) ? DIST_VISIBLE
						  : DIST_HIDDEN;
}

static raddr read_entry(struct beam_node *n, struct dist_facts *d)
{
	uint8_t bytes[ENTRY_MAX_SIZE];

	if ((size_t)n->layout.dist_size > sizeof(bytes) ||
	    mem_read(n->mem, d->addr, bytes, (size_t)n->layout.dist_size) != 0) {
		d->torn = true;
		d->name = 0;
		return 0;
	}
	take_entry(n, d, bytes);
	return bytes_u64(bytes, n->layout.dist_suspended);
}

static void read_waiting(struct beam_node *n, struct dist_list *out, struct dist_facts *d,
			 raddr list)
{
	struct proclist pids = {0};

	if (list && proclist_read(n, list, &pids, WAITING_MAX) != 0)
		d->torn = true;
	out->cut += pids.cut;
	d->first_waiting = out->waiting.len;
	d->nr_waiting = pids.pids.len;
	for (size_t i = 0; i < pids.pids.len; i++)
		vec_push(&out->waiting, pids.pids.data[i]);
	vec_free(&pids.pids);
}

static void read_entries(struct beam_node *n, struct dist_list *out, const struct entries *entries,
			 raddr this_entry)
{
	for (size_t i = 0; i < entries->v.len; i++) {
		struct dist_facts d = {.addr = entries->v.data[i]};

		for (int tries = 0; tries < READ_TRIES; tries++) {
			raddr list = read_entry(n, &d);

			if (!d.torn)
				read_waiting(n, out, &d, list);
			if (!d.torn)
				break;
		}
		if (!TERM_IS_ATOM(d.name)) {
			out->vanished++;
			continue;
		}
		if (d.addr == this_entry)
			d.type = DIST_THIS;
		out->torn += d.torn;
		vec_push(&out->v, d);
	}
}

/* ---- list ----------------------------------------------------------------------------------- */

static int rank(const struct dist_facts *d)
{
	if (d->type == DIST_THIS)
		return 0;
	return d->state == DIST_CONNECTED || d->state == DIST_EXITING ? 1
	       : d->state == DIST_PENDING			      ? 2
								      : 3;
}

static int by_rank_and_name(const void *a, const void *b, void *arg)
{
	const struct dist_facts *x = a, *y = b;
	struct beam_atoms *atoms = arg;
	const char *p, *q;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	p = beam_atom_text(atoms, x->name, NULL);
	q = beam_atom_text(atoms, y->name, NULL);
	return strcmp(p ? p : "", q ? q : "");
}

/* Reads this node's name, creation and DistEntry.  Starting distribution replaces the ErlNode. */
static int read_this_node(struct beam_node *n, struct dist_list *out, raddr *entry)
{
	raddr node = n->anchors.this_node;
	const char *text;
	uint64_t name;
	int rc = 0;

	if (n->anchors.this_node_ptr)
		rc = mem_read_u64(n->mem, n->anchors.this_node_ptr, &node);
	rc = rc ? rc : mem_read_u64(n->mem, node + (raddr)n->layout.node_sysname, &name);
	rc = rc ? rc : mem_read_u32(n->mem, node + (raddr)n->layout.node_creation, &out->creation);
	rc = rc ? rc : mem_read_u64(n->mem, node + (raddr)n->layout.node_dist_entry, entry);
	if (rc)
		return rc;
	text = beam_atom_text(n->atoms, name, NULL);
	if (!text)
		return -EBADMSG;
	strncpy(out->name, text, sizeof(out->name) - 1);
	out->alive = strcmp(text, "nonode@nohost") != 0;
	return 0;
}

int dist_read(struct beam_node *n, struct dist_list *out, struct error *err)
{
	struct entries entries = {0};
	raddr this_entry;
	int rc;

	*out = (struct dist_list){0};
	rc = read_this_node(n, out, &this_entry);
	rc = rc ? rc : find_entries(n, &entries, &out->cut);
	if (!rc) {
		read_entries(n, out, &entries, this_entry);
		qsort_r(out->v.data, out->v.len, sizeof(*out->v.data), by_rank_and_name, n->atoms);
	}
	vec_free(&entries.v);
	if (rc)
		return beam_node_unreadable(n, "table of connections to other nodes", rc, err);
	return 0;
}

void dist_list_free(struct dist_list *l)
{
	vec_free(&l->v);
	vec_free(&l->waiting);
	*l = (struct dist_list){0};
}
