/* SPDX-License-Identifier: BSD-2-Clause */
/* See off_heap.h. */
#include "beam/process/off_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/signals.h"

/*
 * struct erl_off_heap_header: thing word, a word that depends on the kind, next.  The second word
 * is the address of the Binary in a BinRef (since OTP 27) or magic reference, and the size in a
 * ProcBin (up to 26), whose words after `next` are the addresses of the Binary and of its data.
 */
#define HEADER_WORDS  3
#define MOST_WORDS    5
#define NEXT	      2
#define PROC_BIN_SIZE 1
#define PROC_BIN      3
#define PROC_BIN_DATA 4
#define BIN_REF	      1

#define BATCH	    512
#define BINARY_SPAN 64
/* Limits of what is believed of a Binary. */
#define REFC_MAX       (1ull << 36)
#define SIZE_MAX_BYTES (1ull << 42)

static void add_binary(struct off_heap *o, struct off_heap_place place, bool message)
{
	struct off_heap_binary b = {.addr = place.binary, .here = 1, .in_messages = message};

	vec_push(&o->binaries, b);
	if (o->keep_places)
		vec_push(&o->places, place);
	o->references++;
	o->in_messages += message;
}

static void add_magic(struct off_heap *o, raddr binary)
{
	o->magic_refs++;
	if (o->keep_places)
		vec_push(&o->magic, binary);
}

/* Adds one entry of an off-heap list; false: its header is of no kind that such lists have. */
static bool add_thing(struct off_heap *o, raddr at, const uint64_t *words, int otp, bool message)
{
	uint64_t subtag = HEADER_SUBTAG(words[0]);

	if (otp < 27 && subtag == SUBTAG_PROC_BIN)
		add_binary(o,
			   (struct off_heap_place){at, words[PROC_BIN], words[PROC_BIN_DATA],
						   words[PROC_BIN_SIZE]},
			   message);
	else if (otp >= 27 && subtag == SUBTAG_BIN_REF)
		add_binary(o, (struct off_heap_place){at, words[BIN_REF], 0, 0}, message);
	else if (subtag == (otp < 27 ? SUBTAG_FUN : SUBTAG_FUN_REF))
		o->funs++;
	else if (subtag == SUBTAG_EXTERNAL_PID || subtag == SUBTAG_EXTERNAL_PORT ||
		 subtag == SUBTAG_EXTERNAL_REF)
		o->externals++;
	else if (subtag == SUBTAG_REF)
		add_magic(o, words[BIN_REF]);
	else
		return false;
	return true;
}

void off_heap_add(struct beam_node *n, struct mem *mem, raddr first, bool message,
		  struct off_heap *out)
{
	uint64_t words[MOST_WORDS] = {0}, steps = 0, power = 1;
	raddr mark = 0;

	for (raddr at = first; at; steps++) {
		if (out->references + out->funs + out->externals + out->magic_refs >=
		    OFF_HEAP_MAX) {
			out->cut = true;
			return;
		}
		/* Brent's cycle detection: a list with a cycle comes back to the mark. */
		if (at == mark || (at % 8 != 0 && !out->unaligned) ||
		    (mem_read(mem, at, words, sizeof(words)) != 0 &&
		     mem_read(mem, at, words, HEADER_WORDS * 8) != 0) ||
		    !add_thing(out, at, words, n->identity.otp, message)) {
			out->unreadable++;
			return;
		}
		if (steps == power) {
			mark = at;
			power *= 2;
		}
		at = words[NEXT];
	}
}

void off_heap_add_fragments(struct beam_node *n, struct mem *mem, raddr fragment, bool message,
			    struct off_heap *out)
{
	struct heap_fragments f = heap_fragments_of(n, mem, fragment);

	while (heap_fragments_next(&f))
		off_heap_add(n, mem, f.off_heap, message, out);
	out->cut |= f.cut;
	out->unreadable += f.unreadable;
}

void off_heap_add_process(struct beam_node *n, struct mem *mem, raddr process, struct off_heap *out)
{
	const struct beam_layout *l = &n->layout;
	uint64_t first, fragment, writable = 0;

	if (mem_read_u64(n->mem, process + (raddr)l->process_off_heap_first, &first) != 0 ||
	    mem_read_u64(n->mem, process + (raddr)l->process_mbuf, &fragment) != 0 ||
	    (l->process_wrt_bins != LAYOUT_ABSENT &&
	     mem_read_u64(n->mem, process + (raddr)l->process_wrt_bins, &writable) != 0)) {
		out->unreadable++;
		return;
	}
	off_heap_add(n, mem, first, false, out);
	off_heap_add(n, mem, writable, false, out);
	off_heap_add_fragments(n, mem, fragment, false, out);
}

struct adding {
	struct beam_node *n;
	struct mem *mem;
	struct off_heap *out;
};

static int add_message(void *arg, const struct signal_message *m)
{
	struct adding *a = arg;

	if (m->fragment) {
		off_heap_add_fragments(a->n, a->mem, m->fragment, true, a->out);
		if (a->out->keep_places)
			vec_push(&a->out->fragments, m->fragment);
	}
	return 0;
}

void off_heap_add_all(struct beam_node *n, struct mem *mem, const struct process_facts *p,
		      struct off_heap *out)
{
	struct adding a = {n, mem, out};
	struct signal_counts counts = {0};
	uint64_t writable;

	off_heap_add(n, mem, p->off_heap, false, out);
	if (n->layout.process_wrt_bins != LAYOUT_ABSENT &&
	    mem_read_u64(mem, p->addr + (raddr)n->layout.process_wrt_bins, &writable) == 0)
		off_heap_add(n, mem, writable, false, out);
	off_heap_add_fragments(n, mem, p->mbuf, false, out);
	if (p->message_queue_len > 0 &&
	    (signals_walk(n, mem, p->addr, add_message, &a, &counts) != 0 || counts.moved))
		out->unreadable++;
}

static int by_addr(const void *a, const void *b)
{
	const struct off_heap_binary *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_size(const void *a, const void *b)
{
	const struct off_heap_binary *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return by_addr(a, b);
}

static void merge_equal(struct off_heap *o)
{
	struct off_heap_binary *d = o->binaries.data;
	size_t nr = 0;

	if (!o->binaries.len)
		return;
	qsort(d, o->binaries.len, sizeof(*d), by_addr);
	for (size_t i = 0; i < o->binaries.len; i++) {
		if (nr && d[nr - 1].addr == d[i].addr) {
			d[nr - 1].here += d[i].here;
			d[nr - 1].in_messages += d[i].in_messages;
		} else {
			d[nr++] = d[i];
		}
	}
	o->binaries.len = nr;
}

/* False: the Binary was freed meanwhile, and its memory has something else. */
static bool is_plausible(const struct off_heap_binary *b)
{
	return b->refc > 0 && b->refc < REFC_MAX && b->size < SIZE_MAX_BYTES;
}

void off_heap_finish(struct beam_node *n, struct off_heap *out)
{
	const struct beam_layout *l = &n->layout;
	/* Both members of a Binary at once: `size` and `refc` are some words apart. */
	raddr least = (raddr)MIN(l->binary_orig_size, l->binary_refc);
	size_t span = (size_t)(MAX(l->binary_orig_size, l->binary_refc) - (int)least) + 8;
	uint8_t words[BATCH][BINARY_SPAN];
	struct mem_range ranges[BATCH];
	struct off_heap_binary *d;
	size_t nr = 0;

	merge_equal(out);
	d = out->binaries.data;
	for (size_t from = 0; from < out->binaries.len; from += BATCH) {
		size_t batch = MIN(out->binaries.len - from, (size_t)BATCH);

		for (size_t i = 0; i < batch; i++) {
			struct off_heap_binary *b = &d[from + i];

			ranges[i] = (struct mem_range){b->addr + least, words[i],
						       MIN(span, sizeof(words[i])), 0};
		}
		mem_readv(n->mem, ranges, batch);
		for (size_t i = 0; i < batch; i++) {
			struct off_heap_binary b = d[from + i];

			if (!ranges[i].err && span <= sizeof(words[i])) {
				b.size = bytes_u64(words[i], (size_t)l->binary_orig_size - least);
				b.refc = bytes_u64(words[i], (size_t)l->binary_refc - least);
			}
			if (!is_plausible(&b)) {
				out->unreadable++;
				continue;
			}
			out->bytes += b.size;
			d[nr++] = b;
		}
	}
	out->binaries.len = nr;
	if (nr)
		qsort(d, nr, sizeof(*d), by_size);
}

uint64_t off_heap_held(const struct off_heap *o)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < o->binaries.len; i++) {
		if (o->binaries.data[i].refc <= o->binaries.data[i].here)
			bytes += o->binaries.data[i].size;
	}
	return bytes;
}

void off_heap_free(struct off_heap *o)
{
	vec_free(&o->binaries);
	vec_free(&o->places);
	vec_free(&o->fragments);
	vec_free(&o->magic);
}
