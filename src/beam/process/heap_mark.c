/* SPDX-License-Identifier: BSD-2-Clause */
/* See heap_mark.h. */
#include "beam/process/heap_mark.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/search.h"
#include "base/vec.h"
#include "beam/process/dictionary.h"
#include "beam/process/heap_census.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/signals.h"

/* Slot of ErtsPSD.data: ERTS_PSD_NFUNC_TRAP_WRAPPER, and what is read of that ErtsNativeFunc. */
#define PSD_NFUNC     5
#define NFUNC_WORDS   64 /* or fewer, if its block ends where no memory is mapped */
#define NFUNC_LEAST   8
#define REGISTERS_MAX 1024
#define STRUCT_MAX    4096
#define STACK_CHUNK   4096
#define DEFAULT_REGS  6 /* Process.def_arg_reg */

struct area {
	raddr from, to;
	size_t at; /* index of its first word */
};

/* Words that are still to be looked at. */
struct span {
	size_t at, nr;
};

struct heap_mark {
	struct beam_node *n;
	VEC(struct area) areas; /* ordered by address once they are complete */
	uint64_t *words;	/* of all areas; LOOK_AHEAD words of 0s are behind each */
	size_t len, cap;
	uint8_t *marks; /* a bit for each word */
	VEC(struct span) todo;
	VEC(uint64_t) roots;
	heap_mark_area_fn *area;
	heap_mark_fn *visit;
	void *arg;
	int rc;
};

/* ---- areas ----------------------------------------------------------------------------------- */

static void add_area(struct heap_mark *m, raddr from, raddr to)
{
	uint64_t nr = from <= to ? (to - from) / 8 : UINT64_MAX;
	size_t need;

	if (m->rc || !nr)
		return;
	if (nr > HEAP_MARK_MAX_WORDS || m->len + nr > HEAP_MARK_MAX_WORDS) {
		m->rc = nr == UINT64_MAX ? -EAGAIN : -EFBIG;
		return;
	}
	need = m->len + (size_t)nr + HEAP_MARK_MIN_WORDS;
	if (need > m->cap) {
		m->cap = MAX(need, 2 * m->cap);
		m->words = xrealloc(m->words, m->cap * sizeof(*m->words));
	}
	m->rc = mem_read(m->n->mem, from, m->words + m->len, (size_t)nr * 8);
	memset(m->words + m->len + nr, 0, HEAP_MARK_MIN_WORDS * sizeof(*m->words));
	vec_push(&m->areas, ((struct area){from, from + 8 * nr, m->len}));
	m->len = need;
}

static void add_fragments(struct heap_mark *m, raddr fragment)
{
	struct heap_fragments f = heap_fragments_of(m->n, m->n->mem, fragment);

	while (!m->rc && heap_fragments_next(&f))
		add_area(m, f.start, f.end);
	if (!m->rc && !heap_fragments_complete(&f))
		m->rc = -EAGAIN;
}

static int by_address(const void *a, const void *b)
{
	const struct area *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static const struct area *area_of(const struct heap_mark *m, raddr at)
{
	size_t nr = COUNT_UP_TO(m->areas.len, i, m->areas.data[i].from, at);
	const struct area *a = nr ? &m->areas.data[nr - 1] : NULL;

	return a && at < a->to ? a : NULL;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static void add_root(struct heap_mark *m, uint64_t term)
{
	if (TERM_IS_POINTER(term))
		vec_push(&m->roots, term);
}

static void add_roots(struct heap_mark *m, raddr at, uint64_t nr)
{
	uint64_t buf[STACK_CHUNK];

	while (!m->rc && nr) {
		size_t now = (size_t)MIN(nr, (uint64_t)STACK_CHUNK);

		m->rc = mem_read(m->n->mem, at, buf, now * 8);
		for (size_t i = 0; !m->rc && i < now; i++)
			add_root(m, buf[i]);
		at += 8 * now;
		nr -= now;
	}
}

/* All words of the struct but those that registers had some time ago. */
static void add_struct(struct heap_mark *m, const struct process_facts *p)
{
	const struct beam_layout *l = &m->n->layout;
	size_t size = MIN((size_t)l->process_size, (size_t)STRUCT_MAX) & ~(size_t)7;
	size_t regs = (size_t)l->process_def_arg_reg;
	uint64_t arity, arg_reg;
	uint8_t s[STRUCT_MAX];

	m->rc = m->rc ? m->rc : mem_read(m->n->mem, p->addr, s, size);
	if (m->rc)
		return;
	for (size_t i = 0; i + 8 <= size; i += 8) {
		if (i < regs || i >= regs + 8ul * DEFAULT_REGS)
			add_root(m, bytes_u64(s, i));
	}
	arity = l->process_max_arg_reg - l->process_arity == 1 /* Uint8 since OTP 27 */
			? s[l->process_arity]
			: bytes_u32(s, (size_t)l->process_arity);
	arg_reg = bytes_u64(s, (size_t)l->process_arg_reg);
	if (arity > REGISTERS_MAX)
		m->rc = -EAGAIN;
	else
		add_roots(m, arg_reg, arity);
}

/* Arguments that a native function saved; their number is not looked at. */
static void add_saved(struct heap_mark *m, const struct process_facts *p)
{
	uint64_t saved, words[NFUNC_WORDS];

	if (m->rc || !p->psd)
		return;
	if (mem_read_u64(m->n->mem, p->psd + 8 * PSD_NFUNC, &saved) != 0 ||
	    (saved && mem_read_edge(m->n->mem, saved, words, sizeof(words), 8 * NFUNC_LEAST) != 0))
		m->rc = -EAGAIN;
	for (size_t i = 0; !m->rc && saved && i < NFUNC_WORDS; i++)
		add_root(m, words[i]);
}

static int add_pair(void *arg, uint64_t pair, uint64_t key, uint64_t value)
{
	UNUSED(key);
	UNUSED(value);
	add_root(arg, pair);
	return 0;
}

static int add_message(void *arg, const struct signal_message *message)
{
	struct heap_mark *m = arg;

	for (size_t i = 0; i < SIGNAL_REFS_MAX; i++)
		add_root(m, message->refs[i]);
	add_root(m, message->term); /* in a signal it is behind what refs[] have */
	if (message->fragment)
		add_fragments(m, message->fragment);
	return m->rc;
}

/* Its message itself is no root any more. */
static int add_received(void *arg, const struct signal_message *message)
{
	struct heap_mark *m = arg;

	if (message->fragment)
		add_fragments(m, message->fragment);
	return m->rc;
}

static void add_messages(struct heap_mark *m, const struct process_facts *p)
{
	struct signal_counts counts = {0};
	int rc;

	if (m->rc)
		return;
	/* Whatever the length is: messages to aliases do not count in it. */
	rc = signals_walk(m->n, m->n->mem, p->addr, add_message, m, &counts);
	m->rc = m->rc ? m->rc : rc;
	if (!m->rc && (counts.moved || counts.cut || counts.unreadable))
		m->rc = -EAGAIN;
	if (m->rc || !p->msg_frag)
		return;
	rc = signals_walk_received(m->n, m->n->mem, p->msg_frag, add_received, m, &counts);
	m->rc = m->rc ? m->rc : rc;
	if (!m->rc && (counts.cut || counts.unreadable))
		m->rc = -EAGAIN;
}

/* ---- marking --------------------------------------------------------------------------------- */

static void push(struct heap_mark *m, const struct area *a, size_t at, uint64_t nr)
{
	size_t end = a->at + (size_t)(a->to - a->from) / 8;

	nr = at < end ? MIN(nr, (uint64_t)(end - at)) : 0;
	if (nr)
		vec_push(&m->todo, ((struct span){at, (size_t)nr}));
}

/* Words behind the header of an object that may be terms. */
static uint64_t terms_of(const struct heap_mark *m, const uint64_t *words)
{
	int otp = m->n->identity.otp;
	uint64_t subtag = HEADER_SUBTAG(words[0]), size;
	enum term_kind kind;

	if (subtag != SUBTAG_TUPLE && subtag != SUBTAG_FUN && subtag != SUBTAG_RECORD &&
	    subtag != (otp >= 27 ? SUBTAG_MAP : SUBTAG_MAP_26))
		return 0;
	size = heap_object_words(otp, words, HEAP_MARK_MIN_WORDS, &kind);
	return size ? size - 1 : 0;
}

static void reach(struct heap_mark *m, uint64_t term)
{
	const struct area *a = TERM_IS_POINTER(term) ? area_of(m, TERM_ADDR(term)) : NULL;
	size_t at;

	if (!a)
		return;
	at = a->at + (size_t)(TERM_ADDR(term) - a->from) / 8;
	if (m->marks[at / 8] & 1u << at % 8)
		return;
	m->marks[at / 8] |= (uint8_t)(1u << at % 8);
	if (TERM_IS_LIST(term)) {
		push(m, a, at, 2);
	} else if (TERM_IS_HEADER(m->words[at])) {
		push(m, a, at + 1, terms_of(m, m->words + at));
		m->visit(m->arg, TERM_ADDR(term), m->words + at);
	}
}

static void mark(struct heap_mark *m)
{
	m->marks = xcalloc(m->len / 8 + 1, 1);
	for (size_t i = 0; i < m->areas.len; i++)
		m->area(m->arg, m->areas.data[i].from, m->areas.data[i].to);
	if (m->areas.len)
		qsort(m->areas.data, m->areas.len, sizeof(*m->areas.data), by_address);
	for (size_t i = 0; i < m->roots.len; i++)
		reach(m, m->roots.data[i]);
	while (m->todo.len) {
		struct span *s = &m->todo.data[m->todo.len - 1];
		uint64_t term = m->words[s->at++];

		/* A span is removed before its last word is looked at, so that a long list needs no
		 * further memory. */
		if (--s->nr == 0)
			m->todo.len--;
		reach(m, term);
	}
}

/* Has the process not run since? */
static bool stands_still(struct beam_node *n, const struct process_facts *p)
{
	struct process_facts now;

	return process_read(n, p->epid, 0, &now) == 0 && !now.torn &&
	       now.reductions == p->reductions && now.htop == p->htop && now.stop == p->stop &&
	       now.heap == p->heap && now.old_htop == p->old_htop && now.mbuf == p->mbuf &&
	       now.msg_frag == p->msg_frag && !(now.state & (PSFLGS_ON_SCHEDULER | PSFLG_GC));
}

static bool is_at_rest(const struct process_facts *p)
{
	return !p->torn && !p->abandoned_heap && p->htop <= p->stop && p->stop <= p->hend &&
	       !(p->state & (PSFLGS_ON_SCHEDULER | PSFLG_GC | PSFLG_EXITING | PSFLG_FREE));
}

int heap_mark_process(struct beam_node *n, const struct process_facts *p, heap_mark_area_fn *area,
		      heap_mark_fn *visit, void *arg)
{
	struct heap_mark m = {.n = n, .area = area, .visit = visit, .arg = arg};
	uint64_t unreadable = 0;

	if (!is_at_rest(p))
		return -EAGAIN;
	add_area(&m, p->heap, p->htop);
	if (p->old_heap)
		add_area(&m, p->old_heap, p->old_htop);
	add_fragments(&m, p->mbuf);
	add_roots(&m, p->stop, (p->hend - p->stop) / 8);
	add_struct(&m, p);
	add_saved(&m, p);
	add_messages(&m, p);
	if (!m.rc && p->dictionary)
		m.rc = dictionary_pairs(n->mem, p->dictionary, add_pair, &m, &unreadable);
	if (!m.rc && (unreadable || !stands_still(n, p)))
		m.rc = -EAGAIN;
	if (!m.rc)
		mark(&m);
	vec_free(&m.areas);
	vec_free(&m.todo);
	vec_free(&m.roots);
	free(m.words);
	free(m.marks);
	return m.rc;
}
