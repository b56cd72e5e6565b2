/* SPDX-License-Identifier: BSD-2-Clause */
/* See persistent_terms.h. */
#include "beam/vm/persistent_terms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"

/* HashTable {allocated, num_entries, mask, first_to_delete, num_to_delete; DeleteOp; term[]} */
#define TABLE_HEAD  24
#define TABLE_TERMS 96
#define TABLE_MIN   8 /* INITIAL_SIZE */
#define TABLE_MAX   ((uint64_t)1 << 22)
/* ErtsLiteralArea {off_heap, end, start[]}: the tuple is at its start. */
#define AREA_START    16
#define AREA_END      8
#define AREA_MAX      ((uint64_t)1 << 40)
#define TUPLE_WORDS   3
#define HEADER_OF_TWO ((uint64_t)2 << 6) /* of a tuple of two elements */

#define DATA_MAX       ((uint64_t)64 << 20)
#define HEADS_AT_ONCE  1024
#define CANDIDATES_MAX 8 /* one or two, in practice */
/* A term that is being erased is in its bucket for a while but is not counted, or the reverse.  A
 * table is read again until it is exact; after half of the tries one more or less is accepted, as
 * in a node that is stopped there. */
#define TRIES	  50
#define PAUSE_US  1000
#define TERMS_MIN 2
#define SEARCHES  16

struct head {
	uint64_t allocated, entries, mask;
};

static bool is_head(const struct head *h)
{
	return h->allocated >= TABLE_MIN && h->allocated <= TABLE_MAX &&
	       (h->allocated & (h->allocated - 1)) == 0 && h->mask == h->allocated - 1 &&
	       h->entries < h->allocated;
}

/* Reads a tuple and its literal area; `at`: the area's address, of a bucket. */
static bool take_term(struct persistent_terms *out, raddr at, const uint64_t words[5])
{
	struct persistent_term t = {.key = words[3], .value = words[4], .area = at};
	raddr start = at + AREA_START, end = words[AREA_END / 8];

	if (words[AREA_START / 8] != HEADER_OF_TWO || end < start + 8 * TUPLE_WORDS ||
	    (end - start) % 8 || end - start > AREA_MAX)
		return false;
	t.words = (end - start) / 8;
	out->bytes += AREA_START + 8 * t.words;
	vec_push(&out->v, t);
	return true;
}

/* Reads the tuples of all buckets that are not empty. */
static bool read_terms(struct persistent_terms *out, struct mem *mem, const uint64_t *buckets,
		       uint64_t nr)
{
	struct mem_range ranges[HEADS_AT_ONCE];
	uint64_t words[HEADS_AT_ONCE][5];
	size_t pending = 0;
	bool ok = true;

	for (uint64_t i = 0; ok && i <= nr; i++) {
		if (i < nr && buckets[i] != TERM_NIL) {
			ok = TERM_IS_BOXED(buckets[i]) && TERM_ADDR(buckets[i]) > AREA_START;
			ranges[pending] =
				(struct mem_range){.addr = TERM_ADDR(buckets[i]) - AREA_START,
						   .buf = words[pending],
						   .size = sizeof(words[0])};
			pending++;
		}
		if (pending < HEADS_AT_ONCE && i < nr)
			continue;
		if (ok && pending)
			mem_readv(mem, ranges, pending);
		for (size_t k = 0; ok && k < pending; k++)
			ok = ranges[k].err == 0 && take_term(out, ranges[k].addr, words[k]);
		pending = 0;
	}
	return ok;
}

static bool read_table(struct persistent_terms *out, struct mem *mem, raddr table, bool exact)
{
	struct head h;
	uint64_t *buckets, nr;
	bool ok;

	if (mem_read(mem, table, &h, sizeof(h)) != 0 || !is_head(&h))
		return false;
	out->v.len = 0;
	out->bytes = TABLE_TERMS + 8 * h.allocated;
	buckets = xcalloc(h.allocated, sizeof(*buckets));
	ok = mem_read(mem, table + TABLE_TERMS, buckets, h.allocated * sizeof(*buckets)) == 0 &&
	     read_terms(out, mem, buckets, h.allocated);
	free(buckets);
	nr = out->v.len;
	return ok && (nr == h.entries ||
		      (!exact && nr >= TERMS_MIN && nr <= h.entries + 1 && h.entries <= nr + 1));
}

/* Variables that point to what begins like a table. */
struct candidates {
	VEC(raddr) v;
};

/* Looks at what some variables point to. */
static void add_candidates(struct candidates *c, struct mem *mem, const raddr *variables,
			   const raddr *pointers, size_t nr)
{
	struct mem_range ranges[HEADS_AT_ONCE];
	struct head heads[HEADS_AT_ONCE];

	for (size_t i = 0; i < nr; i++)
		ranges[i] = (struct mem_range){
			.addr = pointers[i], .buf = &heads[i], .size = sizeof(heads[i])};
	mem_readv(mem, ranges, nr);
	for (size_t i = 0; i < nr; i++)
		if (ranges[i].err == 0 && is_head(&heads[i]) && c->v.len < CANDIDATES_MAX)
			vec_push(&c->v, variables[i]);
}

static void find_candidates(struct candidates *c, struct mem *mem, const struct persistent_space *s)
{
	raddr variables[HEADS_AT_ONCE], pointers[HEADS_AT_ONCE];
	size_t pending = 0;

	for (size_t i = 0; i < s->nr; i++) {
		uint64_t word = s->data[i];
		/* Behind a function (table_updater) stands what the table will be: what to call it
		 * with, once all schedulers have made progress. */
		bool later = i > 0 && s->data[i - 1] >= s->text && s->data[i - 1] < s->text_end;

		if (!later && word % 8 == 0 && word >= 65536 && word < (uint64_t)1 << 47) {
			variables[pending] = s->data_addr + 8 * i;
			pointers[pending++] = word;
		}
		if (pending == HEADS_AT_ONCE || i + 1 == s->nr) {
			add_candidates(c, mem, variables, pointers, pending);
			pending = 0;
		}
	}
}

/* Each put and erase replaces the table, and the old one is freed soon: the variable is read again
 * until its table is one.  *table: its address, 0 = it is none. */
static void read_variable(struct persistent_terms *out, struct mem *mem, raddr variable,
			  raddr *table)
{
	for (int i = 0; i < TRIES; i++) {
		if (i)
			usleep(PAUSE_US);
		if (mem_read_u64(mem, variable, table) == 0 && *table &&
		    read_table(out, mem, *table, i < TRIES / 2))
			return;
	}
	*table = 0;
}

unsigned int persistent_terms_search(struct persistent_terms *out, struct mem *mem,
				     const struct persistent_space *s)
{
	struct candidates c = {0};
	raddr last = 0;
	unsigned int found = 0;

	*out = (struct persistent_terms){0};
	find_candidates(&c, mem, s);
	for (size_t i = 0; i < c.v.len; i++) {
		struct persistent_terms one = {0};
		raddr table;

		read_variable(&one, mem, c.v.data[i], &table);
		if (table && table != last) {
			found++;
			last = table;
			persistent_terms_free(out);
			*out = one;
		} else {
			persistent_terms_free(&one);
		}
	}
	vec_free(&c.v);
	return found;
}

/* What a variable points to may be gone when it is looked at, and another one may point to a table
 * that is just replaced: the search is repeated. */
static int search(struct persistent_terms *out, struct beam_node *n, const struct elf_section *data,
		  uint64_t size, unsigned int *found)
{
	const struct elf_section *text = elf_file_section(n->elf, ".text");
	uint64_t *words = xmalloc(size);
	struct persistent_space s = {
		.data = words, .nr = size / 8, .data_addr = data->addr + n->bias};
	int rc = 0;

	if (text) {
		s.text = text->addr + n->bias;
		s.text_end = s.text + text->size;
	}
	*found = 0;
	for (int i = 0; !rc && *found != 1 && i < SEARCHES; i++) {
		persistent_terms_free(out);
		rc = mem_read(n->mem, s.data_addr, words, size);
		if (!rc)
			*found = persistent_terms_search(out, n->mem, &s);
	}
	free(words);
	return rc;
}

int persistent_terms_read(struct persistent_terms *out, struct beam_node *n, struct error *err)
{
	const struct elf_section *data = n->elf ? elf_file_section(n->elf, ".data") : NULL;
	const struct elf_section *bss = n->elf ? elf_file_section(n->elf, ".bss") : NULL;
	unsigned int found;
	uint64_t size;
	int rc;

	*out = (struct persistent_terms){0};
	if (!data || !bss || bss->addr + bss->size <= data->addr)
		return beam_node_lacks(n, "table of persistent terms", err);
	size = MIN(bss->addr + bss->size - data->addr, DATA_MAX) & ~(uint64_t)7;
	rc = search(out, n, data, size, &found);
	if (!rc && found == 1)
		return 0;
	persistent_terms_free(out);
	return rc ? beam_node_unreadable(n, "persistent terms", rc, err)
		  : beam_node_lacks(n, "table of persistent terms", err);
}

void persistent_terms_free(struct persistent_terms *t)
{
	vec_free(&t->v);
	t->bytes = 0;
}
