/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam inspect`: counts the messages of the mailbox, and finds the largest terms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_read.h"
#include "cmd/inspect/inspect.h"

#define TRIES 3
/* Limits: words that are visited to measure one term, and terms that are measured. */
#define MAX_TERM_WORDS (4u << 20)
#define MAX_ROOTS      20000u

/* ---- mailbox ------------------------------------------------------------------------------ */

static int take_message(void *arg, const struct signal_message *m)
{
	struct inspect *x = arg;

	if (x->nr_seen < INSPECT_SAMPLE)
		x->first[x->nr_seen] = m->term;
	x->last[x->nr_seen++ % INSPECT_SAMPLE] = m->term;
	x->message_words += m->words;
	x->a.on_heap += m->fragment == 0;
	off_heap_add_fragments(x->n, x->cached, m->fragment, true, &x->binaries);
	if (m->fragment)
		vec_push(&x->binaries.fragments, m->fragment);
	if (x->a.shaped)
		shape_add(&x->shapes, &x->reader, m->term, m->words);
	/* Only the first messages of a long mailbox are read without --mailbox. */
	return !x->a.shaped && x->nr_seen >= INSPECT_SHORT_MAILBOX;
}

void inspect_mailbox(struct inspect *x)
{
	x->a.shaped = x->ctx->opt.mailbox || x->p.message_queue_len <= INSPECT_SHORT_MAILBOX;
	x->reader.mem = x->cached;
	for (int i = 0; i < TRIES; i++) {
		x->nr_seen = x->message_words = x->a.on_heap = 0;
		shape_reset(&x->shapes);
		mem_cached_forget(x->cached);
		off_heap_free(&x->binaries);
		memset(&x->binaries, 0, sizeof(x->binaries));
		x->binaries.keep_places = true;
		off_heap_add_process(x->n, x->cached, x->p.addr, &x->binaries);
		if (signals_walk(x->n, x->cached, x->p.addr, take_message, x, &x->messages) != 0) {
			x->unreadable++;
			break;
		}
		if (!x->messages.moved)
			break;
	}
	x->reader.mem = x->n->mem;
	shape_sort(&x->shapes);
}

/* ---- heap --------------------------------------------------------------------------------- */

static int by_words(const void *a, const void *b)
{
	const struct process_root *x = a, *y = b;

	return x->words > y->words ? -1 : x->words < y->words;
}

static void add_root(struct inspect *x, uint64_t term, const char *where)
{
	struct process_root root = {0};

	if (!TERM_IS_POINTER(term) || x->a.largest.len >= MAX_ROOTS)
		return;
	root.words = term_flat_size(&x->reader, term, MAX_TERM_WORDS, &root.truncated);
	snprintf(root.where, sizeof(root.where), "%s", where);
	vec_push(&x->a.largest, root);
}

static void add_stack_roots(struct inspect *x)
{
	for (size_t i = 0; i < x->stack.frames.len; i++) {
		const struct stack_frame *f = &x->stack.frames.data[i];
		struct strbuf name = STRBUF_INIT;
		struct stack_location at;

		stack_frame_locate(&x->code, f, &at);
		if (at.known)
			stack_location_format(&at, &name);
		for (uint32_t k = 0; k < f->nr_y && f->y + k < x->stack.words.len; k++) {
			char where[96];

			snprintf(where, sizeof(where), "y(%u) of %.70s", k, name.buf);
			add_root(x, x->stack.words.data[f->y + k], where);
		}
		strbuf_free(&name);
	}
}

static void add_dictionary_roots(struct inspect *x)
{
	for (size_t i = 0; i < x->dictionary.len; i++) {
		struct strbuf key = STRBUF_INIT;
		char where[96];

		inspect_term(x, &key, x->dictionary.data[i].key);
		snprintf(where, sizeof(where), "dictionary: %.60s%s", key.buf,
			 key.len > 60 ? "..." : "");
		add_root(x, x->dictionary.data[i].value, where);
		strbuf_free(&key);
	}
}

static int add_message_root(void *arg, const struct signal_message *m)
{
	struct inspect *x = arg;
	char where[96];

	snprintf(where, sizeof(where), "message %llu", (unsigned long long)++x->nr_seen);
	add_root(x, m->term, where);
	return x->nr_seen == INSPECT_SHORT_MAILBOX;
}

void inspect_heap(struct inspect *x)
{
	struct signal_counts counts;
	uint64_t seen = x->nr_seen;

	x->a.counted = true;
	heap_census_take(x->n, &x->p, &x->census);
	x->unreadable += x->census.unreadable;
	x->reader.mem = x->cached;
	if (x->a.has_stack)
		add_stack_roots(x);
	add_dictionary_roots(x);
	x->nr_seen = 0;
	signals_walk(x->n, x->cached, x->p.addr, add_message_root, x, &counts);
	x->nr_seen = seen;
	x->reader.mem = x->n->mem;
	if (x->a.largest.len >= MAX_ROOTS)
		inspect_warn(x, "only %u terms were measured for the largest", MAX_ROOTS);
	if (x->a.largest.len)
		qsort(x->a.largest.data, x->a.largest.len, sizeof(*x->a.largest.data), by_words);
	x->a.largest.len = MIN(x->a.largest.len, inspect_top(x));
}
