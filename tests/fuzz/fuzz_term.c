/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Terms in arbitrary memory: the input is the heap of a process, and what stands in it refers to
 * it, so that cycles, absurd lengths and headers of every kind come up.  Byte 0 chooses the release
 * and the style, byte 1 the limits; the words from byte 8 on stand at HEAP, the first of them is
 * the term.  Pointers that the input holds are made to point into the heap.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/otp/layout.h"
#include "beam/term/term_internal.h"

#define HEAP	  0x100000ull
#define MAX_WORDS 1024
#define MAX_TEXT  20000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heap {
	struct mem mem;
	uint64_t words[MAX_WORDS];
	size_t nr, reads;
};

static int read_heap(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct heap *h = CONTAINER_OF(m, struct heap, mem);

	h->reads++;
	if (addr < HEAP || addr - HEAP > 8 * h->nr || size > 8 * h->nr - (addr - HEAP))
		return -14; /* EFAULT */
	memcpy(buf, (const char *)h->words + (addr - HEAP), size);
	return 0;
}

/* Two of three words that look like pointers point to a word of the heap. */
static void fill(struct heap *h, const uint8_t *data, size_t size)
{
	h->nr = MIN(size / 8, (size_t)MAX_WORDS);
	memcpy(h->words, data, 8 * h->nr);
	for (size_t i = 0; i < h->nr; i++) {
		uint64_t w = h->words[i], tag = w & 7;

		if (((w & 3) == 1 || (w & 3) == 2) && (w >> 3) % 3 != 0)
			h->words[i] = (HEAP + 8 * ((w >> 3) % h->nr)) | tag;
	}
}

static void walk_map(struct term_reader *r, const struct term_view *v)
{
	struct map_walk w;
	uint64_t key, value;

	map_walk_begin(&w, v, r->otp < 28);
	/* A trie that leads back to itself has pairs without end. */
	for (int i = 0; i < 100000 && map_walk_next(&w, r, &key, &value);)
		i++;
}

static void take_apart(struct term_reader *r, uint64_t term)
{
	uint64_t elements[16], value, sum = 0, list = term;
	struct strbuf text = STRBUF_INIT;
	struct term_view v;
	uint8_t bytes[64];
	uint32_t arity;
	bool cut;

	if (term_view(r, term, &v) == TERM_KIND_BITS) {
		uint64_t nr = (v.bits.nr_bits + 7) / 8;

		term_bits(r, &v, 0, bytes, (size_t)MIN(nr, (uint64_t)sizeof(bytes)));
		term_bits(r, &v, nr / 2, bytes, (size_t)MIN(nr - nr / 2, (uint64_t)sizeof(bytes)));
	}
	term_tuple(r, term, elements, 16, &arity);
	term_element(r, term, 3, &value);
	while (term_next(r, &list, &value))
		sum += value;
	if (v.kind == TERM_KIND_MAP)
		walk_map(r, &v);
	if (term_text(r, term, &text, 1000) && text.len > 1000)
		abort();
	term_flat_size(r, term, 5000, &cut);
	strbuf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int releases[] = {25, 27, 29};
	struct beam_node node = {.os_pid = 0};
	struct term_reader r = {.otp = 0};
	struct term_formats formats = {.pids = {.pix_mask = 0xfffff}};
	struct strbuf out = STRBUF_INIT;
	static struct heap heap;
	size_t most;

	if (size < 16)
		return 0;
	heap = (struct heap){.mem = {.read = read_heap}};
	fill(&heap, data + 8, size - 8);
	node.identity.otp = releases[(data[0] & 0x3f) % 3];
	node.layout = layout_table_find(node.identity.otp, false)->layout;
	node.mem = &heap.mem;
	/* The atoms' table is of the same memory, and mostly none. */
	if (beam_atoms_open(&node.atoms, node.mem, &node.layout, HEAP) != 0)
		abort();
	r = (struct term_reader){
		.mem = node.mem,
		.atoms = node.atoms,
		.pids = &formats.pids,
		.ports = &formats.ports,
		.otp = node.identity.otp,
		.depth = 1 << (data[1] & 15),
		.max_len = MAX_TEXT,
		.node = data[0] & 0x40 ? NULL : &node,
		.style = data[0] & 0x80 ? TERM_STYLE_ELIXIR : TERM_STYLE_ERLANG,
		.max_elements = data[1] >> 4 << 4,
	};
	term_print(&r, &out, heap.words[0]);
	/* What is open is closed, and one text or number may reach beyond. */
	most = MAX_TEXT + 16 * (size_t)r.depth + 64 * 1024;
	if (out.len > most || heap.reads > 4000000)
		abort();
	for (size_t i = 0; i < MIN(heap.nr, (size_t)8); i++)
		take_apart(&r, heap.words[i]);
	strbuf_free(&out);
	beam_atoms_close(node.atoms);
	return 0;
}
