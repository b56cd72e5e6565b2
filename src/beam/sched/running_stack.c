/* SPDX-License-Identifier: BSD-2-Clause */
/* See running_stack.h. */
#include "beam/sched/running_stack.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/callsite.h"
#include "beam/term/atoms.h"
#include "target/thread_state.h"

/* Limit of the size of struct process; 776 bytes at most in OTP 24 to 29. */
#define PROCESS_MAX 1024
/* Ten times the CPU time of 4000 reductions of plain Erlang code. */
#define CALL_CPU_NS  2000000u
#define PUSHED_WORDS 4
#define LEAF_WORDS   ((size_t)EBEAM_LEAF_CHUNKS * EBEAM_CHUNK_WORDS)
#define ROOT_WORDS   ((size_t)EBEAM_ROOT_CHUNKS * EBEAM_CHUNK_WORDS)

struct stack_bounds {
	raddr heap, stop, hend;
};

static bool in(const struct address_range *r, raddr addr)
{
	return addr >= r->start && addr < r->end;
}

static bool is_inside(const struct stack_bounds *b, raddr sp)
{
	return !(sp & 7) && sp >= b->heap && sp <= b->hend;
}

/* ---- the place ----------------------------------------------------------------------------- */

static void read_call(struct running_call *call, struct mem *mem, const struct beam_layout *l,
		      const struct running_code *code, const struct running_scheduler *s,
		      raddr stop)
{
	raddr at = call->at = callsite_return_at(mem, code->c_stack, s->registers, &call->pushed);
	raddr light_bif = callsite_light_bif_at(code->otp, l, s->registers, stop);

	if (!at || mem_read_u64(mem, at, &call->ra) ||
	    mem_read_u64(mem, light_bif, &call->light_bif))
		call->ra = call->light_bif = 0;
}

static bool is_same_call(const struct running_call *a, const struct running_call *b)
{
	return a && a->known && b->known && a->ra == b->ra && a->light_bif == b->light_bif &&
	       b->cpu_ns >= a->cpu_ns + CALL_CPU_NS;
}

static bool is_off_cpu(const struct thread_state *t)
{
	return t->where == THREAD_IN_SYSCALL || t->where == THREAD_OFF_CPU;
}

/* Sets place, status and the fields that identify the function; returns the top of the stack. */
static raddr find_top(struct rec_raw_sample *out, struct mem *mem, const struct running_call *call,
		      const struct stack_bounds *b, const struct running_code *code,
		      const struct running_scheduler *s, const struct thread_state *t, bool in_c,
		      const struct running_call *earlier)
{
	bool off_cpu = is_off_cpu(t);
	raddr top = b->stop;

	out->status = SAMPLE_STATUS_COMPLETE;
	out->stack_source = s->type == THREAD_NORMAL ? STACK_LAST : STACK_STOP;
	if (off_cpu)
		out->user_ip = t->ip;
	if (s->type != THREAD_NORMAL) {
		out->place = PLACE_C_PROCESS;
		return b->stop;
	}
	/* Only JIT code runs on the Erlang stack. */
	if (!in_c && off_cpu && is_inside(b, t->sp)) {
		out->place = PLACE_JIT;
		out->stack_source = STACK_RSP;
		return t->sp;
	}
	if (in(&code->hull, call->ra) && !(code->c_stack && off_cpu && in(&code->hull, t->ip)) &&
	    (in_c || off_cpu || is_same_call(earlier, call))) {
		out->place = PLACE_C_FROM_JIT;
		out->call_ra = call->ra;
		out->light_bif = call->light_bif;
		if (!code->c_stack)
			top = callsite_stack_top(mem, &code->fragments, call->ra, call->at, b->stop,
						 b->heap, b->hend);
		if (top)
			return top;
		out->status = SAMPLE_STATUS_STACK_UNREADABLE;
		return b->hend;
	}
	out->place = PLACE_OTHER;
	out->status = SAMPLE_STATUS_AMBIGUOUS;
	return b->stop;
}

/* ---- the stack ----------------------------------------------------------------------------- */

/* Return addresses of calls of fragments are not aligned: see push_fragment_returns() of
 * bpf/sample.bpf.h. */
static size_t push_fragments(struct rec_raw_sample *out, const uint64_t *words, size_t nr,
			     const struct running_code *code)
{
	size_t i = 0;

	if (!in(&code->fragments, out->call_ra))
		return 0;
	out->saved_ra = nr ? words[0] : 0;
	while (i < MIN(nr, (size_t)4) && in(&code->hull, words[i])) {
		out->addrs[out->nr_leaf++] = words[i];
		if (!in(&code->fragments, words[i++]))
			break;
	}
	return i;
}

/* Adds the return addresses that fragments left on the C stack, below the saved registers. */
static void push_pushed(struct rec_raw_sample *out, struct mem *mem, raddr pushed, raddr registers,
			const struct running_code *code)
{
	uint64_t words[PUSHED_WORDS];
	size_t nr = MIN((size_t)(registers - pushed) / 8, (size_t)PUSHED_WORDS);

	if (nr && mem_read(mem, pushed, words, 8 * nr) == 0)
		push_fragments(out, words, nr, code);
}

static bool is_return(uint64_t word)
{
	return word && TERM_IS_HEADER(word) && !(word & RAW_REPEATED);
}

static void push_words(struct rec_raw_sample *out, const uint64_t *words, size_t nr,
		       const uint64_t *roots, size_t nr_roots)
{
	uint32_t skipped = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!is_return(words[i]))
			continue;
		if (out->nr_leaf < EBEAM_LEAF_FRAMES)
			out->addrs[out->nr_leaf++] = words[i];
		else
			skipped++;
	}
	for (size_t i = nr_roots; i-- > 0 && out->nr_root < EBEAM_ROOT_FRAMES;) {
		if (is_return(roots[i]))
			out->addrs[out->nr_leaf + out->nr_root++] = roots[i];
	}
	out->skipped_frames = (uint16_t)MIN(skipped, (uint32_t)UINT16_MAX);
	if (!skipped && !nr_roots)
		return;
	out->flags |= RAW_SAMPLE_ROOT_PART;
	if (out->status == SAMPLE_STATUS_COMPLETE)
		out->status = SAMPLE_STATUS_TRUNCATED;
}

/* Copies the words next to the leaf and, of a deep stack, those next to the root. */
static bool push_stack(struct rec_raw_sample *out, struct mem *mem, raddr top, raddr end,
		       const struct running_code *code, const struct running_scheduler *s,
		       raddr pushed)
{
	size_t nr = (size_t)(end - top) / 8, leaf = MIN(nr, LEAF_WORDS);
	size_t root = MIN(nr - leaf, ROOT_WORDS), done;
	uint64_t *words = xmalloc(8 * (leaf + root) + 8);
	struct mem_range ranges[] = {
		{.addr = top, .buf = words, .size = 8 * leaf},
		{.addr = end - 8 * root, .buf = words + leaf, .size = 8 * root},
	};
	size_t wanted = !!leaf + !!root;
	bool ok = mem_readv(mem, ranges, wanted) == wanted;

	if (ok) {
		done = pushed ? 0 : push_fragments(out, words, leaf, code);
		if (pushed)
			push_pushed(out, mem, pushed, s->registers, code);
		out->walked_words = (uint32_t)(leaf + root);
		out->skipped_words = (uint32_t)(nr - leaf - root);
		push_words(out, words + done, leaf - done, words + leaf, root);
	}
	free(words);
	return ok;
}

/* ---- sample -------------------------------------------------------------------------------- */

bool running_stack_read(struct rec_raw_sample *out, struct running_call *call, struct mem *mem,
			const struct beam_layout *l, const struct running_code *code, int os_pid,
			const struct running_scheduler *s, raddr process, bool in_c,
			const struct running_call *earlier)
{
	uint8_t bytes[PROCESS_MAX];
	struct stack_bounds b;
	struct thread_state t = {0};
	raddr top;

	memset(out, 0, sizeof(*out));
	memset(call, 0, sizeof(*call));
	if ((size_t)l->process_size > sizeof(bytes) || !s->os_tid ||
	    mem_read(mem, process, bytes, (size_t)l->process_size))
		return false;
	thread_state_read_where(&t, os_pid, s->os_tid, s->files);
	call->known = t.has_times;
	call->cpu_ns = t.times.cpu_ns;
	call->entry = bytes_u64(bytes, l->process_i);
	b = (struct stack_bounds){
		.heap = bytes_u64(bytes, l->process_heap),
		.stop = bytes_u64(bytes, l->process_stop),
		.hend = bytes_u64(bytes, l->process_hend),
	};
	out->h.type = REC_RAW_SAMPLE;
	out->os_tid = (uint32_t)s->os_tid;
	out->thread_type = (uint8_t)s->type;
	out->scheduler = s->number;
	out->process = process;
	out->epid = bytes_u64(bytes, l->process_id);
	out->process_state = bytes_u32(bytes, l->process_state);
	out->process_flags = bytes_u32(bytes, l->process_flags);
	out->saved_ra = s->type == THREAD_NORMAL ? 0 : call->entry;
	beam_mfa_read(mem, l, bytes_u64(bytes, l->process_current), out->current_mfa);
	if (s->type == THREAD_NORMAL)
		read_call(call, mem, l, code, s, b.stop);
	top = find_top(out, mem, call, &b, code, s, &t, in_c, earlier);
	/* The bounds may be old: a GC stores those of a moved stack at its end only. */
	if (!is_inside(&b, top) || (b.hend & 7))
		out->status = SAMPLE_STATUS_BAD_BOUNDS;
	else if (!push_stack(out, mem, top, b.hend, code, s, call->pushed))
		out->status = SAMPLE_STATUS_STACK_UNREADABLE;
	out->h.size = (uint32_t)(sizeof(*out) + 8 * (size_t)(out->nr_leaf + out->nr_root));
	return true;
}

bool running_port_stack_read(struct rec_raw_sample *out, int os_pid,
			     const struct running_scheduler *s, uint64_t port_id)
{
	struct thread_state t;

	memset(out, 0, sizeof(*out));
	if (!s->os_tid)
		return false;
	thread_state_read_where(&t, os_pid, s->os_tid, s->files);
	out->h.type = REC_RAW_SAMPLE;
	out->h.size = sizeof(*out);
	out->os_tid = (uint32_t)s->os_tid;
	out->thread_type = (uint8_t)s->type;
	out->scheduler = s->number;
	out->port_id = port_id;
	out->user_ip = is_off_cpu(&t) ? t.ip : 0;
	return true;
}
