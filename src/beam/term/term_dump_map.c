/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps in crash dumps, see term_dump.h: as their nodes are in memory (term_map.c), since a trie is
 * only read if all of its nodes and pairs are there.
 *
 *   flat   Mf<size>:<tuple of keys>:<value>,...
 *   head   Mh<size>:<children>:<child>,...   a child is a pair [Key | Value] or a node
 *   node   Mn<children>:<child>,...          or, of pairs with the same hash, a tuple of them
 */
#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_dump_internal.h"

#define FLAT_KEYS     16 /* offsets, see term_map.c */
#define HEAD_CHILDREN 16
#define NODE_CHILDREN 8
#define CHILDREN_MAX  65536

static bool dump_flat(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	uint64_t keys, key, value;

	if (!term_word(d->r, v->addr + FLAT_KEYS, &keys))
		return false;
	strbuf_addstr(out, "Mf");
	term_dump_hex(out, v->map.size);
	strbuf_addch(out, ':');
	term_dump_inline(d, out, keys);
	strbuf_addch(out, ':');
	for (uint64_t i = 0; i < v->map.size; i++) {
		if (!term_word(d->r, v->map.keys + 8 * i, &key) ||
		    !term_word(d->r, v->map.values + 8 * i, &value))
			key = value = 0;
		if (i)
			strbuf_addch(out, ',');
		term_dump_value(d, out, key, value);
	}
	return true;
}

/* Can all pairs and their keys be read? */
static bool is_whole(struct term_dump *d, const struct term_view *v)
{
	struct map_walk w;
	struct term_view view;
	uint64_t key, value;

	map_walk_begin(&w, v, false);
	while (map_walk_next(&w, d->r, &key, &value))
		if (term_view(d->r, key, &view) == TERM_KIND_UNREADABLE)
			return false;
	return w.err == 0;
}

/* Appends the line of a pair to d->more. */
static void add_pair(struct term_dump *d, raddr at)
{
	uint64_t pair[2] = {0};

	term_bytes(d->r, at, pair, sizeof(pair));
	term_dump_hex(&d->more, at);
	strbuf_addstr(&d->more, ":l");
	term_dump_inline(d, &d->more, pair[0]);
	strbuf_addch(&d->more, '|');
	term_dump_value(d, &d->more, pair[0], pair[1]);
	strbuf_addch(&d->more, '\n');
}

static void add_child(struct term_dump *d, struct strbuf *out, uint64_t child, int level);

static void add_children(struct term_dump *d, struct strbuf *out, raddr at, uint32_t nr, int level)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t child = 0;

		term_word(d->r, at + 8ull * i, &child);
		if (i)
			strbuf_addch(out, ',');
		add_child(d, out, child, level);
	}
}

static uint32_t nr_children(uint64_t header)
{
	if (HEADER_SUBTAG(header) == SUBTAG_TUPLE)
		return (uint32_t)MIN(HEADER_ARITY(header), (uint64_t)CHILDREN_MAX);
	return HEADER_MAP_TYPE(header) == MAP_HEAD_ARRAY
		       ? 16
		       : (uint32_t)__builtin_popcount((unsigned int)HEADER_MAP_BITMAP(header));
}

/* Appends the address of a pair or node, and its line, if it has none yet: versions of a map share
 * nodes.  The depth is limited by is_whole(). */
static void add_child(struct term_dump *d, struct strbuf *out, uint64_t child, int level)
{
	raddr at = TERM_ADDR(child);
	struct strbuf node = STRBUF_INIT;
	uint64_t header;
	uint32_t id;

	strbuf_addch(out, 'H');
	term_dump_hex(out, at);
	if (!term_dump_add(&d->seen, at, &id))
		return;
	d->objects++;
	if (TERM_IS_LIST(child)) {
		add_pair(d, at);
	} else if (level < MAP_MAX_LEVELS && term_word(d->r, at, &header)) {
		term_dump_hex(&node, at);
		strbuf_addstr(&node, HEADER_SUBTAG(header) == SUBTAG_TUPLE ? ":t" : ":Mn");
		term_dump_hex(&node, nr_children(header));
		strbuf_addch(&node, ':');
		add_children(d, &node, at + NODE_CHILDREN, nr_children(header), level + 1);
		strbuf_addch(&node, '\n');
		strbuf_add(&d->more, node.buf, node.len);
	}
	strbuf_free(&node);
}

bool term_dump_map(struct term_dump *d, struct strbuf *out, const struct term_view *v)
{
	if (v->map.flat)
		return dump_flat(d, out, v);
	if (!is_whole(d, v))
		return false;
	strbuf_addstr(out, "Mh");
	term_dump_hex(out, v->map.size);
	strbuf_addch(out, ':');
	term_dump_hex(out, nr_children(v->header));
	strbuf_addch(out, ':');
	add_children(d, out, v->addr + HEAD_CHILDREN, nr_children(v->header), 1);
	return true;
}
