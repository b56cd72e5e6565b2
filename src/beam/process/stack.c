/* SPDX-License-Identifier: BSD-2-Clause */
/* See stack.h. */
#include "beam/process/stack.h"

#include <errno.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/jit_name.h"
#include "beam/term/atoms.h"
#include "beam/term/term_read.h"
#include "names/names.h"

/* ---- code ----------------------------------------------------------------------------------- */

/* Number of stack words that follow each return address which tracing pushes, up to OTP 26 and
 * since 27: BEAM_RETURN_*_FRAME_SZ of erl_vm.h; the functions are of beam_jit_main.cpp.
 * return_time_trace is call_trace_return since OTP 26. */
static const struct trace_frame {
	const char *name;
	uint32_t words, words_27;
} trace_frames[] = {
	{"erts_beamasm:return_trace/0", 2, 3},	    {"erts_beamasm:exception_trace/0", 2, 3},
	{"erts_beamasm:return_to_trace/0", 0, 1},   {"erts_beamasm:return_time_trace/0", 1, 1},
	{"erts_beamasm:call_trace_return/0", 2, 3},
};
_Static_assert(ARRAY_SIZE(trace_frames) == STACK_TRACE_KINDS,
	       "trace_frames has STACK_TRACE_KINDS entries");

#define MAX_VM_CODE (1u << 20) /* bytes of the VM's own pseudo module; it has 1,500 */

static bool has_name(const struct jit_function *f, const char *name)
{
	return f->name_len == strlen(name) && memcmp(f->name, name, f->name_len) == 0;
}

static bool is_vm_code(const struct jit_function *f)
{
	static const char module[] = "erts_beamasm";

	return f->module_len == strlen(module) && memcmp(f->module, module, f->module_len) == 0;
}

static void add_trace_frame(struct stack_code *c, int otp, const struct jit_function *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(trace_frames); i++) {
		const struct trace_frame *t = &trace_frames[i];
		uint32_t words = otp >= 27 ? t->words_27 : t->words;

		if (has_name(f, t->name) && c->nr_trace < STACK_TRACE_KINDS) {
			c->trace[c->nr_trace].addr = f->start;
			c->trace[c->nr_trace++].words = words;
		}
	}
}

/* Finds the functions of trace_frames[] in the pseudo module that has normal_exit. */
static void find_trace_frames(struct stack_code *c, int otp)
{
	struct address_range r;
	struct jit_function f;

	for (size_t i = 0; jit_module_at(c->jit, i, &r); i++) {
		if (c->normal_exit < r.start || c->normal_exit >= r.end)
			continue;
		r.end = MIN(r.end, r.start + MAX_VM_CODE);
		for (raddr at = r.start; at < r.end;) {
			if (!jit_find(c->jit, at, &f)) {
				at = (at | 3) + 1; /* code is aligned to 4 at least */
				continue;
			}
			add_trace_frame(c, otp, &f);
			at = f.end;
		}
		return;
	}
}

int stack_code_open(struct stack_code *c, struct beam_node *n, struct error *err)
{
	int rc;

	memset(c, 0, sizeof(*c));
	if (!jit_is_known(n))
		return beam_node_lacks(n, "list of loaded code, by which stack frames are named,",
				       err);
	jit_open_node(&c->jit, n);
	rc = jit_sync(c->jit, err);
	if (rc) {
		stack_code_close(c);
		return rc;
	}
	c->normal_exit = jit_normal_exit(c->jit);
	c->frame_pointers = jit_frame_pointers(c->jit);
	c->c_stack = !n->identity.native_stack;
	find_trace_frames(c, n->identity.otp);
	return 0;
}

void stack_code_close(struct stack_code *c)
{
	jit_close(c->jit);
	c->jit = NULL;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* Number of stack words behind a return address that tracing pushes; -1 = it is none of these. */
static int64_t trace_words(const struct stack_code *c, raddr ra)
{
	for (unsigned int i = 0; i < c->nr_trace; i++) {
		if (c->trace[i].addr == ra)
			return c->trace[i].words;
	}
	return -1;
}

static void split(const struct stack_code *c, struct process_stack *s)
{
	size_t cp_size = c->frame_pointers ? 2 : 1;
	struct stack_frame *open;
	raddr previous = s->i;

	s->frames.len = 0;
	vec_push(&s->frames, ((struct stack_frame){.addr = s->i}));
	open = &s->frames.data[0];
	for (size_t at = 0; at < s->words.len;) {
		raddr ra;
		int64_t skip;

		if ((s->words.data[at] & 3) != 0 || at + cp_size > s->words.len) {
			at++;
			continue;
		}
		ra = s->words.data[at + cp_size - 1];
		/* The stored stack of a running process is outdated and can have any words. */
		if (s->stale && jit_serial(c->jit, ra - 1) == 0) {
			at++;
			continue;
		}
		if (open)
			open->nr_y = (uint32_t)at - open->y;
		open = NULL;
		at += cp_size;
		skip = trace_words(c, ra);
		if (skip >= 0) {
			at += (size_t)skip;
		} else if (ra != c->normal_exit || at < s->words.len) {
			vec_push(&s->frames, ((struct stack_frame){.addr = ra,
								   .y = (uint32_t)at,
								   .repeated = ra == previous}));
			open = &s->frames.data[s->frames.len - 1];
			previous = ra;
		}
	}
	if (open)
		open->nr_y = (uint32_t)s->words.len - open->y;
}

/* ---- reading -------------------------------------------------------------------------------- */

#define ATTEMPTS  6
#define BATCH	  512  /* processes read at once */
#define MAX_BATCH 4096 /* limit of the words of a stack that is read in a batch */

/* Fields that must not change while a stack is read. */
struct head {
	uint64_t epid, htop, stop, heap, hend, i, current, reds;
	uint32_t state;
};

static void parse_head(const struct beam_layout *l, const uint8_t *bytes, struct head *h)
{
	h->epid = bytes_u64(bytes, l->process_id);
	h->htop = bytes_u64(bytes, l->process_htop);
	h->stop = bytes_u64(bytes, l->process_stop);
	h->heap = bytes_u64(bytes, l->process_heap);
	h->hend = bytes_u64(bytes, l->process_hend);
	h->i = bytes_u64(bytes, l->process_i);
	h->current = bytes_u64(bytes, l->process_current);
	h->reds = bytes_u64(bytes, l->process_reds);
	memcpy(&h->state, bytes + l->process_state, sizeof(h->state));
}

/* True if the process did not run between the two reads, and its heap was not moved.  `current` is
 * not compared: the node sets it to answer process_info. */
static bool same(const struct head *a, const struct head *b)
{
	uint32_t watched = PSFLGS_ON_SCHEDULER | PSFLG_GC | PSFLG_EXITING;

	return a->epid == b->epid && a->htop == b->htop && a->stop == b->stop &&
	       a->heap == b->heap && a->hend == b->hend && a->i == b->i && a->reds == b->reds &&
	       (a->state & watched) == (b->state & watched);
}

bool process_stack_is_stale(uint32_t state)
{
	return (state & (PSFLG_RUNNING | PSFLG_RUNNING_SYS | PSFLG_DIRTY_RUNNING_SYS | PSFLG_GC)) !=
	       0;
}

/* 0; -ESRCH: another process, or none; -EAGAIN: the fields are not consistent. */
static int check_head(const struct head *h, uint64_t epid)
{
	if (h->epid != epid || (h->state & PSFLG_FREE))
		return -ESRCH;
	if (h->heap > h->htop || h->htop > h->stop || h->stop > h->hend ||
	    ((h->stop | h->hend) & 7))
		return -EAGAIN;
	return 0;
}

static uint64_t stack_words(const struct head *h)
{
	return (h->hend - h->stop) / 8;
}

/*
 * Without native stack a frame has a word for the return address of a call, nil if there is none
 * (emit_allocate_heap() and emit_return(), jit/x86).  Drops that word if it is nil: the rest has
 * the form of a native stack.
 */
static void drop_unused_cp(struct process_stack *s)
{
	if (s->words.len == 0 || s->words.data[0] != TERM_NIL)
		return;
	s->stop += 8;
	s->words.len--;
	memmove(s->words.data, s->words.data + 1, 8 * s->words.len);
}

/* Completes a stack from its head; its words were read before. */
static void finish(const struct stack_code *c, const struct head *h, struct process_stack *out)
{
	out->stop = h->stop;
	out->i = h->i;
	out->current = h->current;
	out->state = h->state;
	out->stale = process_stack_is_stale(h->state);
	out->cut = out->words.len < stack_words(h);
	if (c->c_stack)
		drop_unused_cp(out);
	split(c, out);
}

/* Bytes from the start of struct process that include all fields of a head. */
static size_t head_size(const struct beam_layout *l)
{
	int32_t last = MAX(MAX(l->process_state, l->process_current), l->process_reds);

	return (size_t)MAX(last, MAX(l->process_hend, l->process_i)) + 8;
}

#define MAX_HEAD 1024

static int read_once(struct beam_node *n, const struct stack_code *c, const struct process_facts *p,
		     bool last, struct process_stack *out)
{
	size_t size = head_size(&n->layout);
	uint8_t bytes[MAX_HEAD];
	struct head before, after;
	uint64_t words;
	int rc = size <= sizeof(bytes) ? mem_read(n->mem, p->addr, bytes, size) : -ENOTSUP;

	if (rc)
		return rc == -EFAULT ? -ESRCH : rc;
	parse_head(&n->layout, bytes, &before);
	rc = check_head(&before, p->epid);
	if (rc)
		return rc;
	words = MIN(stack_words(&before), (uint64_t)STACK_MAX_WORDS);
	vec_reserve(&out->words, words);
	out->words.len = words;
	if (words && mem_read(n->mem, before.stop, out->words.data, 8 * words))
		return -EAGAIN;
	if (mem_read(n->mem, p->addr, bytes, size))
		return -ESRCH;
	parse_head(&n->layout, bytes, &after);
	if (after.epid != p->epid)
		return -ESRCH;
	/* The stack of a running process may change; a GC soon ends: try again. */
	if (before.state & PSFLG_GC && !last)
		return -EAGAIN;
	if (!same(&before, &after) && !(last && process_stack_is_stale(before.state & after.state)))
		return -EAGAIN;
	finish(c, &before, out);
	return 0;
}

int process_stack_read(struct beam_node *n, const struct stack_code *c,
		       const struct process_facts *p, struct process_stack *out)
{
	int rc = -EAGAIN;

	for (int i = 1; i <= ATTEMPTS && rc == -EAGAIN; i++)
		rc = read_once(n, c, p, i == ATTEMPTS, out);
	return rc;
}

void process_stack_free(struct process_stack *s)
{
	vec_free(&s->frames);
	vec_free(&s->words);
}

/* ---- many stacks ---------------------------------------------------------------------------- */

struct batch {
	struct mem_range heads[BATCH], stacks[BATCH];
	uint8_t *bytes;	 /* heads */
	uint64_t *words; /* words of the stacks */
	size_t cap;
};

/* Number of words of the stack if a batch reads it; 0 = it is too large, and read by itself. */
static size_t batch_words(const struct process_facts *p)
{
	uint64_t words = p->stop <= p->hend ? (p->hend - p->stop) / 8 : 0;

	return words <= MAX_BATCH ? (size_t)words : 0;
}

/* Reads the stacks at the addresses of the facts, and then the heads: if those are equal to the
 * facts, the stacks were not moved meanwhile. */
static void read_batch(struct beam_node *n, struct batch *b, const struct process_facts *p,
		       size_t nr, size_t size)
{
	size_t total = 0, at = 0;

	for (size_t i = 0; i < nr; i++)
		total += batch_words(&p[i]);
	if (total > b->cap) {
		b->words = xrealloc(b->words, 8 * total);
		b->cap = total;
	}
	for (size_t i = 0; i < nr; i++) {
		size_t words = batch_words(&p[i]);

		b->heads[i] = (struct mem_range){p[i].addr, b->bytes + i * size, size, 0};
		b->stacks[i] = (struct mem_range){words ? p[i].stop : p[i].addr,
						  words ? (void *)(b->words + at)
							: (void *)(b->bytes + i * size),
						  words ? 8 * words : 8, 0};
		at += words;
	}
	mem_readv(n->mem, b->stacks, nr);
	mem_readv(n->mem, b->heads, nr);
}

/* True if the whole stack was read, and the process did not run since its facts were read. */
static bool batch_take(const struct beam_node *n, const struct batch *b, size_t i,
		       const struct process_facts *p, struct process_stack *out, struct head *h)
{
	size_t words = batch_words(p);

	if (!words || b->heads[i].err || b->stacks[i].err)
		return false;
	parse_head(&n->layout, b->heads[i].buf, h);
	if (check_head(h, p->epid) || h->stop != p->stop || h->hend != p->hend ||
	    h->htop != p->htop || h->i != p->i || h->reds != p->reductions ||
	    process_stack_is_stale(h->state))
		return false;
	vec_reserve(&out->words, words);
	memcpy(out->words.data, b->stacks[i].buf, 8 * words);
	out->words.len = words;
	return true;
}

void process_stacks_each(struct beam_node *n, const struct stack_code *c,
			 const struct process_facts *processes, size_t nr,
			 void (*visit)(void *arg, size_t i, int rc, const struct process_stack *s),
			 void *arg)
{
	struct batch *b = xcalloc(1, sizeof(*b));
	size_t size = head_size(&n->layout);
	struct process_stack stack = {0};

	b->bytes = xmalloc(BATCH * size);
	for (size_t first = 0; first < nr; first += BATCH) {
		const struct process_facts *p = processes + first;
		size_t here = MIN(nr - first, (size_t)BATCH);

		read_batch(n, b, p, here, size);
		for (size_t i = 0; i < here; i++) {
			struct head head;
			int rc = 0;

			if (batch_take(n, b, i, &p[i], &stack, &head))
				finish(c, &head, &stack);
			else
				rc = process_stack_read(n, c, &p[i], &stack);
			visit(arg, first + i, rc, &stack);
		}
	}
	process_stack_free(&stack);
	free(b->bytes);
	free(b->words);
	free(b);
}

/* ---- locations ------------------------------------------------------------------------------ */

static bool locate(const struct stack_code *c, raddr addr, struct stack_location *out)
{
	memset(out, 0, sizeof(*out));
	/* erts_lookup_function_info() finds modules only, not code that the VM generates. */
	out->known = addr && jit_find(c->jit, addr, &out->function) && !out->function.fragment &&
		     !is_vm_code(&out->function);
	return out->known;
}

void stack_frame_locate(const struct stack_code *c, const struct stack_frame *f,
			struct stack_location *out)
{
	locate(c, f->y ? f->addr - 1 : f->addr, out);
}

void stack_location_format(const struct stack_location *l, struct strbuf *out)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	struct name_function f = {.kind = FRAME_ERLANG};

	if (jit_name_parse(&l->function, &module, &name, &f.arity)) {
		f.module = module.buf;
		f.name = name.buf;
		names_format_function(out, &f);
	} else {
		names_format_text(out, l->function.name, l->function.name_len);
	}
	strbuf_free(&module);
	strbuf_free(&name);
}

/* The function that an ErtsCodeMFA names. */
static bool format_current(struct beam_node *n, raddr current, struct strbuf *out)
{
	uint64_t mfa[3];

	return beam_mfa_read(n->mem, &n->layout, current, mfa) &&
	       beam_mfa_format(n->atoms, mfa, out);
}

bool process_current_function(struct beam_node *n, const struct stack_code *c,
			      const struct process_facts *p, struct strbuf *mfa,
			      struct stack_location *out)
{
	locate(c, p->i, out);
	if (format_current(n, p->current, mfa))
		return true;
	if (out->known)
		stack_location_format(out, mfa);
	return out->known;
}
