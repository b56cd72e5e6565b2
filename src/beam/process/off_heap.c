/* SPDX-License-Identifier: BSD-2-Clause */
/* See off_heap.h. */
#include "beam/process/off_heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"

/*
 * struct erl_off_heap_header: thing word, a word that depends on the kind, next.  The second word
 * is the address of the Binary in a BinRef (since OTP 27) or magic reference, and the size in a
 * ProcBin (up to 26), whose word after `next` is the address of the Binary.
 */
#define HEADER_WORDS 4
#define NEXT	     2
#define PROC_BIN     3
#define BIN_REF	     1

#define MAX_FRAGMENTS 1000000u
#define BATCH	      512

static void add_binary(struct off_heap *o, raddr addr, bool message)
{
	struct off_heap_binary b = {.addr = addr, .here = 1, .in_messages = message};

	vec_push(&o->binaries, b);
	o->references++;
	o->in_messages += message;
}

/* Adds one entry of an off-heap list; false: its header is of no kind that such lists have. */
static bool add_thing(struct off_heap *o, const uint64_t *words, int otp, bool message)
{
	uint64_t subtag = HEADER_SUBTAG(words[0]);

	if (otp < 27 && subtag == SUBTAG_PROC_BIN)
		add_binary(o, words[PROC_BIN], message);
	else if (otp >= 27 && subtag == SUBTAG_BIN_REF)
		add_binary(o, words[BIN_REF], message);
	else if (subtag == (otp < 27 ? SUBTAG_FUN : SUBTAG_FUN_REF))
		o->funs++;
	else if (subtag == SUBTAG_EXTERNAL_PID || subtag == SUBTAG_EXTERNAL_PORT ||
		 subtag == SUBTAG_EXTERNAL_REF)
		o->externals++;
	else if (subtag == SUBTAG_REF)
		o->magic_refs++;
	else
		return false;
	return true;
}

void off_heap_add(struct beam_node *n, struct mem *mem, raddr first, bool message,
		  struct off_heap *out)
{
	uint64_t words[HEADER_WORDS], steps = 0, power = 1;
	raddr mark = 0;

	for (raddr at = first; at; steps++) {
		if (out->references + out->funs + out->externals + out->magic_refs >=
		    OFF_HEAP_MAX) {
			out->cut = true;
			return;
		}
		/* Brent's cycle detection: a list with a cycle comes back to the mark. */
		if (at == mark || at % 8 != 0 ||
		    (mem_read(mem, at, words, sizeof(words)) != 0 &&
		     mem_read(mem, at, words, sizeof(words) - 8) != 0) ||
		    !add_thing(out, words, n->identity.otp, message)) {
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
	const struct beam_layout *l = &n->layout;
	uint64_t list, next;

	for (unsigned int i = 0; fragment; i++) {
		if (i == MAX_FRAGMENTS) {
			out->cut = true;
			return;
		}
		if (mem_read_u64(mem, fragment + (raddr)l->heap_frag_off_heap_first, &list) != 0 ||
		    mem_read_u64(mem, fragment + (raddr)l->heap_frag_next, &next) != 0) {
			out->unreadable++;
			return;
		}
		off_heap_add(n, mem, list, message, out);
		fragment = next;
	}
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

void off_heap_finish(struct beam_node *n, struct off_heap *out)
{
	const struct beam_layout *l = &n->layout;
	struct mem_range ranges[2 * BATCH];
	struct off_heap_binary *d;
	size_t nr = 0;

	merge_equal(out);
	d = out->binaries.data;
	for (size_t from = 0; from < out->binaries.len; from += BATCH) {
		size_t batch = MIN(out->binaries.len - from, (size_t)BATCH);

		for (size_t i = 0; i < batch; i++) {
			struct off_heap_binary *b = &d[from + i];

			ranges[2 * i] = (struct mem_range){b->addr + (raddr)l->binary_orig_size,
							   &b->size, 8, 0};
			ranges[2 * i + 1] =
				(struct mem_range){b->addr + (raddr)l->binary_refc, &b->refc, 8, 0};
		}
		mem_readv(n->mem, ranges, 2 * batch);
		for (size_t i = 0; i < batch; i++) {
			if (ranges[2 * i].err || ranges[2 * i + 1].err) {
				out->unreadable++;
				continue;
			}
			out->bytes += d[from + i].size;
			d[nr++] = d[from + i];
		}
	}
	out->binaries.len = nr;
	if (nr)
		qsort(d, nr, sizeof(*d), by_size);
}

void off_heap_free(struct off_heap *o)
{
	vec_free(&o->binaries);
}
