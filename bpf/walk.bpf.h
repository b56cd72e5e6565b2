/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The walk over an Erlang stack.
 *
 * A word on an Erlang stack is a return address exactly if its low two bits are 00 (every term has
 * another tag, erl_term.h _CPMASK) and it is in JIT code.  So a walk is a scan from the stack
 * pointer E up to Process.hend.  In builds with frame pointers (+JPperf) there are saved frame
 * pointers in between; they point into the heap block, never into JIT code.
 *
 * State is kept in memory, in a per-CPU scratch, not in registers: so the verifier sees equal
 * states at the head of each iteration.  The work for a chunk of words is a function of its own,
 * which finds the scratch by itself: so the verifier examines it once, however many chunks there
 * are, and bpf_loop() is not needed.
 */
#ifndef EBEAM_BPF_WALK_H
#define EBEAM_BPF_WALK_H

#include "abi/vm.h"
#include "beam.bpf.h"

#define WALK_MAX_ADDRS (EBEAM_KERNEL_FRAMES + EBEAM_LEAF_FRAMES + EBEAM_ROOT_FRAMES)

/* A raw sample with room for all its addresses, and the state of the walk. */
struct walk {
	struct rec_raw_sample rec;
	uint64_t addrs[WALK_MAX_ADDRS]; /* follows rec: rec.addrs */
	uint64_t at;			/* next word to examine */
	uint64_t end;	     /* Process.hend at first; then where the root side stopped */
	uint64_t skipped_at; /* address of the first frame over the limit */
	uint64_t floor, top; /* range that the root side has yet to examine */
	uint64_t until;	     /* stop after this word; 0 = walk to the end */
	uint64_t call_at;    /* address of the return address of a call from JIT code */
	uint64_t last;	     /* of the leaf side: the address that was pushed last, or 0 */
	uint64_t pushed;     /* c_stack: top of what shared fragments have pushed */
	uint64_t raised;     /* c_stack: return address that raise_exception has popped, or 0 */
	uint32_t nr_addrs;
	uint32_t repeated; /* index in addrs[] of how often `last` is repeated; 0 = it is not */
	uint32_t failed;   /* a read failed, so E or a frame is not known */
	uint32_t found;	   /* `until` was reached */
	uint64_t words[EBEAM_CHUNK_WORDS];
};

_Static_assert(sizeof(struct rec_raw_sample) % 8 == 0, "addrs[] must follow the record");
_Static_assert(sizeof(struct rec_raw_sample) + 8 * WALK_MAX_ADDRS <= EBEAM_MAX_RECORD_SIZE,
	       "a sample must fit a record");

/* Scratch of this CPU, by the unit that includes this file; NULL only for the verifier. */
INLINE struct walk *walk_scratch(void);

/* Empties the record and the state of an earlier walk. */
INLINE void walk_begin(struct walk *w, uint64_t ts_ns)
{
	__builtin_memset(&w->rec, 0, sizeof(w->rec));
	w->nr_addrs = w->repeated = w->failed = w->found = 0;
	w->last = w->until = w->skipped_at = w->raised = 0;
	w->rec.h.type = REC_RAW_SAMPLE;
	w->rec.h.ts_ns = ts_ns;
	w->rec.cpu = bpf_get_smp_processor_id();
	w->rec.os_tid = (uint32_t)bpf_get_current_pid_tgid();
}

/* Tests only the hull: user space drops addresses outside of the mappings themselves. */
INLINE bool is_return_address(uint64_t w)
{
	return TERM_IS_HEADER(w) && w >= state.jit_hull.start && w < state.jit_hull.end;
}

INLINE bool push_addr(struct walk *w, uint64_t addr)
{
	uint32_t i = w->nr_addrs;

	if (i >= WALK_MAX_ADDRS)
		return false;
	w->addrs[i] = addr;
	w->nr_addrs = i + 1;
	return true;
}

/* Number of words of the next chunk, if left_size bytes are left to read. */
INLINE uint32_t chunk_words(uint64_t left_size)
{
	uint64_t nr = left_size / 8;

	FORGET(nr);
	return nr < EBEAM_CHUNK_WORDS ? (uint32_t)nr : EBEAM_CHUNK_WORDS;
}

/* Counts one more of the address that was pushed last; false if there is no room for the count. */
INLINE bool repeat_leaf(struct walk *w)
{
	uint32_t i = w->repeated;

	if (i) {
		if (i >= WALK_MAX_ADDRS)
			return false; /* for the verifier */
		w->addrs[i]++;
		return true;
	}
	i = w->nr_addrs;
	if (w->rec.nr_leaf >= EBEAM_LEAF_FRAMES || !push_addr(w, RAW_REPEATED | 1))
		return false;
	w->rec.nr_leaf++;
	w->repeated = i;
	return true;
}

INLINE void push_leaf(struct walk *w, uint64_t addr, uint64_t where)
{
	if (w->last == addr && repeat_leaf(w))
		return;
	w->repeated = 0;
	if (w->rec.nr_leaf < EBEAM_LEAF_FRAMES && push_addr(w, addr)) {
		w->rec.nr_leaf++;
		w->last = addr;
		return;
	}
	w->last = 0;
	if (w->rec.skipped_frames == 0)
		w->skipped_at = where;
	if (w->rec.skipped_frames < 0xffff)
		w->rec.skipped_frames++;
}

/* Bytes that the leaf side may read at once.  If the end of the stack is not known, the memory
 * after it may not be mapped: then a read must not cross a page boundary. */
INLINE uint64_t leaf_size(const struct walk *w)
{
	uint64_t size = w->end - w->at, in_page = EBEAM_PAGE_SIZE - w->at % EBEAM_PAGE_SIZE;

	return w->until && size > in_page ? in_page : size;
}

/* Walks the next chunk of the leaf side; 1 = stop. */
GLOBAL_FN int walk_leaf_chunk(void)
{
	struct walk *w = walk_scratch();
	uint32_t nr;

	if (!w || w->at >= w->end)
		return 1;
	nr = chunk_words(leaf_size(w));
	if (nr == 0)
		return 1;
	if (bpf_probe_read_user(w->words, nr * 8, (const void *)w->at)) {
		w->failed = 1;
		count(COUNTER_READ_FAULT);
		return 1;
	}
	for (uint32_t i = 0; i < EBEAM_CHUNK_WORDS; i++) {
		if (i >= nr)
			break;
		if (!is_return_address(w->words[i]))
			continue;
		push_leaf(w, w->words[i], w->at + 8ull * i);
		if (w->words[i] == w->until) {
			w->found = 1;
			w->rec.walked_words += i + 1;
			w->at += 8ull * (i + 1);
			w->end = w->at;
			return 1;
		}
	}
	w->at += 8ull * nr;
	w->rec.walked_words += nr;
	return 0;
}

/* Walks the next chunk of the root side, from w->top (first hend) down to w->floor, root first; 1 =
 * stop. */
GLOBAL_FN int walk_root_chunk(void)
{
	struct walk *w = walk_scratch();
	uint32_t nr;

	if (!w || w->top <= w->floor)
		return 1;
	nr = chunk_words(w->top - w->floor);
	if (nr == 0)
		return 1;
	w->top -= 8ull * nr;
	if (bpf_probe_read_user(w->words, nr * 8, (const void *)w->top)) {
		w->failed = 1;
		count(COUNTER_READ_FAULT);
		return 1;
	}
	for (uint32_t i = 0; i < EBEAM_CHUNK_WORDS; i++) {
		uint32_t k = nr - 1 - i; /* wraps below 0: the bound check catches that */

		if (k >= EBEAM_CHUNK_WORDS)
			break;
		if (!is_return_address(w->words[k]))
			continue;
		if (w->rec.nr_root >= EBEAM_ROOT_FRAMES || !push_addr(w, w->words[k]))
			return 1;
		w->rec.nr_root++;
		w->end = w->top + 8ull * k;
	}
	w->end = w->top;
	return 0;
}

INLINE void walk_root(struct walk *w)
{
	/* If the leaf side saw the whole stack, the root side only has frames that it skipped. */
	bool whole = w->at >= w->end;

	w->floor = whole ? w->skipped_at : w->at;
	w->top = w->end;
	for (int i = 0; i < EBEAM_ROOT_CHUNKS; i++) {
		if (walk_root_chunk())
			break;
	}
	w->rec.flags |= RAW_SAMPLE_ROOT_PART;
	/* The leaf side came up to w->at, the root side down to w->end: the words between were not
	 * walked.  Of a whole stack the root side has taken nr_root of the skipped frames. */
	if (!whole)
		w->rec.skipped_words = (uint32_t)((w->end - w->at) / 8);
	else if (w->rec.skipped_frames > w->rec.nr_root)
		w->rec.skipped_frames -= w->rec.nr_root;
	else
		w->rec.skipped_frames = 0;
}

/*
 * Walks [e, hend).  Before: kernel frames are in place, rec.nr_leaf holds what was pushed from
 * the top of the stack.  After: rec.status is COMPLETE, TRUNCATED or STACK_UNREADABLE.
 */
INLINE void walk_stack(struct walk *w, uint64_t e, uint64_t hend)
{
	w->at = e;
	w->end = hend;
	for (int i = 0; i < EBEAM_LEAF_CHUNKS; i++) {
		if (walk_leaf_chunk())
			break;
	}
	if (w->failed) {
		w->rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
		return;
	}
	if (w->until && !w->found) {
		w->rec.status = SAMPLE_STATUS_BAD_BOUNDS;
		return;
	}
	w->rec.status = SAMPLE_STATUS_COMPLETE;
	if (w->at >= w->end && w->rec.skipped_frames == 0)
		return;
	walk_root(w);
	if (w->failed)
		w->rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
	else if (w->rec.skipped_frames || w->rec.skipped_words)
		w->rec.status = SAMPLE_STATUS_TRUNCATED;
}

/* ---- how a call site treats the stack pointer ------------------------------------------------ */

enum site_class {
	SITE_UNKNOWN = 0, /* neither instruction found: for calls that do not return */
	SITE_STOP = 1,	  /* mov rsp, [r13 + stop]: the site stored E in Process.stop */
	SITE_SAVED = 2,	  /* mov rsp, rbp (OTP 24: r12): E is in that callee-saved register */
	SITE_UNREADABLE = 3,
	/* Without native stack STOP is mov rbp (OTP 24: r12), [r13 + stop], and SAVED is
	 * mov rsp, [rbx + ...] if no such instruction comes before it. */
};

struct site_scan {
	uint8_t code[EBEAM_SITE_BYTES];
};

INLINE struct site_scan *site_scratch(void);

/* Machine code of the instructions of SITE_STOP and SITE_SAVED.  In OTP 24 call_light_bif_shared
 * stores E in Process.stop, too, but restores it through rsi (jit/x86/instr_bif.cpp), which no
 * other code does: so loads to rsi count as well. */
struct site_bytes {
	uint8_t stop_rex, stop_mask, stop_regs, stop;
	uint8_t saved_rex, saved_opcode, saved_regs;
};

INLINE struct site_bytes site_bytes(void)
{
	struct site_bytes b = {0x49, 0xff, 0x65, (uint8_t)config.layout.process_stop,
			       0x48, 0x89, 0xec};

	if (config.c_stack) {
		b.stop_rex = config.otp == 24 ? 0x4d : 0x49;
		b.stop_regs = config.otp == 24 ? 0x65 : 0x6d;
		b.saved_opcode = 0x8b;
		b.saved_regs = 0x63;
	} else if (config.otp == 24) {
		b.stop_mask = 0xef; /* rsp is 0x65, rsi 0x75 */
		b.saved_rex = 0x4c;
		b.saved_regs = 0xe4;
	}
	return b;
}

/* Class of the call site whose code continues at `ip`, by the instructions that
 * emit_leave_runtime() puts there (jit/x86/beam_asm.hpp, OTP 24 to 29). */
GLOBAL_FN int site_classify(uint64_t ip)
{
	struct site_scan *s = site_scratch();
	struct site_bytes b = site_bytes();

	if (!s || !read_user(ip, s->code, sizeof(s->code)))
		return SITE_UNREADABLE;
	for (uint32_t i = 0; i <= EBEAM_SITE_BYTES - 4; i++) {
		const uint8_t *code = s->code + i;

		if (code[0] == b.stop_rex && code[1] == 0x8b &&
		    (code[2] & b.stop_mask) == b.stop_regs && code[3] == b.stop)
			return SITE_STOP;
		if (code[0] == b.saved_rex && code[1] == b.saved_opcode && code[2] == b.saved_regs)
			return SITE_SAVED;
	}
	return SITE_UNKNOWN;
}

/* ---- the saved stack pointer on the C stack -------------------------------------------------- */

/*
 * rbp is callee-saved, so at a SITE_SAVED call E is still in rbp or was pushed by a C frame (in OTP
 * 24 r12 and rbp change places).
 * Candidates are the values in (htop, hend] that are aligned like a stack pointer; Process.htop may
 * be older than the heap top, which only adds candidates.  Others than E may be the heap top (r15,
 * pushed too; below E), pointers to Y registers (arguments; above E in the same frame) and data
 * that earlier calls left on the C stack.
 */
#define SAVED_CANDIDATES 16

struct saved_scan {
	uint64_t process; /* value of r13: marks where registers were pushed */
	uint64_t htop, hend;
	uint64_t at, end; /* part of the C stack that is still to be read */
	uint32_t nr;
	uint32_t overflow;   /* more values than fit, or not all were read */
	uint32_t conflict;   /* two candidates hold the fragment's return address */
	uint64_t low, high;  /* lowest and highest candidate */
	uint64_t found;	     /* a candidate that holds the fragment's return address */
	uint32_t process_at; /* index of the process in words[]; 0 = none */
	uint64_t certain;    /* E, if all registers pushed with it were found; else 0 */
	uint64_t last;	     /* the candidate that was added last */
	uint64_t esdp;	     /* owner_chunk(): the scheduler */
	uint64_t owner;	     /* owner_chunk(): its process, or 0 */
	uint64_t value[SAVED_CANDIDATES]; /* in the order found; may repeat */
	uint64_t words[EBEAM_CHUNK_WORDS];
};

INLINE struct saved_scan *saved_scratch(void);

INLINE void saved_candidate(struct saved_scan *s, uint64_t v)
{
	uint32_t nr = s->nr;

	if ((v & 7) || v <= s->htop || v > s->hend)
		return;
	/* Duplicates are not searched for: that would be a nested loop for the verifier. */
	if (v == s->last)
		return;
	s->last = v;
	if (nr >= SAVED_CANDIDATES) {
		s->overflow = 1;
		return;
	}
	s->value[nr] = v;
	s->nr = nr + 1;
}

/* push r15, r14, r13, r12, rbp: heap top, reductions, process, active code index (0 to 3), E
 * (OTP 24: E, active code index).  If the process is at words[i], the others must be around it,
 * with plausible values.  Tested once for each chunk, at the highest occurrence of the process. */
INLINE void saved_signature(struct saved_scan *s, uint32_t nr)
{
	uint32_t i = s->process_at;
	uint64_t htop, e, code_index;

	FORGET(i);
	if (i < 2 || i > EBEAM_CHUNK_WORDS - 3 || i + 2 >= nr)
		return;
	htop = s->words[i + 2];
	e = s->words[config.otp == 24 ? i - 1 : i - 2];
	code_index = s->words[config.otp == 24 ? i - 2 : i - 1];
	if (code_index <= 3 && ((htop | e) & 7) == 0 && htop >= s->htop && htop < e && e <= s->hend)
		s->certain = e;
}

/* Searches from the top down, as E was pushed by a frame near the call.  1 = stop. */
GLOBAL_FN int saved_chunk(void)
{
	struct saved_scan *s = saved_scratch();
	uint32_t nr;

	if (!s || s->end <= s->at)
		return 1;
	nr = chunk_words(s->end - s->at);
	if (nr == 0)
		return 1;
	s->end -= 8ull * nr;
	s->process_at = 0;
	if (!read_user(s->end, s->words, nr * 8)) {
		s->overflow = 1; /* the next value may be E */
		return 1;
	}
	for (uint32_t i = 0; i < EBEAM_CHUNK_WORDS; i++) {
		if (i >= nr)
			break;
		IN_MEMORY();
		saved_candidate(s, s->words[i]);
		if (s->words[i] == s->process)
			s->process_at = i;
	}
	saved_signature(s, nr);
	return 0;
}

INLINE void saved_find(struct saved_scan *s, uint64_t rsp, uint64_t call_at)
{
	s->at = rsp;
	s->end = call_at;
	for (int i = 0; i < EBEAM_C_CHUNKS; i++) {
		/* At lower addresses there may be registers that an earlier call has pushed. */
		if (saved_chunk() || s->certain)
			break;
	}
	/* E may be in the part that was not searched. */
	if (s->end > s->at)
		s->overflow = 1;
}

/*
 * During a match specification the scheduler's current process is one that has no pid (vm.h); the
 * one that called is in r13 in JIT code, which is callee-saved: in the register or where a C
 * function has pushed it, near the call.  The interpreter has it elsewhere: there it is not found.
 */
#define OWNER_CHUNKS 8 /* 2 KiB below the call */

/* Whether it is a process, with a pid, that runs on this scheduler. */
GLOBAL_FN int runs_on(uint64_t process, uint64_t esdp)
{
	uint64_t its = 0, id = 0;

	return !(process & 7) && process >= EBEAM_PAGE_SIZE &&
	       try_read(process + config.layout.process_scheduler_data, &its, sizeof(its)) &&
	       its == esdp && try_read(process + config.layout.process_id, &id, sizeof(id)) &&
	       TERM_IS_PID(id) && !TERM_IS_INVALID_PID(id);
}

/* Searches from the top down.  1 = stop. */
GLOBAL_FN int owner_chunk(void)
{
	struct saved_scan *s = saved_scratch();
	uint32_t nr;

	if (!s || s->end <= s->at)
		return 1;
	nr = chunk_words(s->end - s->at);
	if (nr == 0)
		return 1;
	s->end -= 8ull * nr;
	if (!read_user(s->end, s->words, nr * 8))
		return 1;
	for (uint32_t i = 0; i < EBEAM_CHUNK_WORDS; i++) {
		uint32_t k = nr - 1 - i; /* wraps below 0: the bound check catches that */

		if (k >= EBEAM_CHUNK_WORDS)
			break;
		if (runs_on(s->words[k], s->esdp)) {
			s->owner = s->words[k];
			return 1;
		}
	}
	return 0;
}

/* The process that called C code, by the part [rsp, call_at) of the C stack; 0 = not found. */
INLINE uint64_t owner_find(struct saved_scan *s, uint64_t esdp, uint64_t rsp, uint64_t call_at)
{
	s->esdp = esdp;
	s->owner = 0;
	s->at = rsp;
	s->end = call_at;
	for (int i = 0; i < OWNER_CHUNKS; i++) {
		if (owner_chunk())
			break;
	}
	return s->owner;
}

/* Whether this word is a return address after a call of the fragment that call_ra is in: the code
 * before it must be `call rel32` to an address in the fragments, at most this far before
 * call_ra. */
#define FRAGMENT_MAX_SIZE 2048

INLINE bool returns_behind_fragment(uint64_t word, uint64_t call_ra)
{
	uint8_t code[5];
	int32_t rel;
	uint64_t target;

	if (!is_jit(word) || !read_user(word - 5, code, sizeof(code)) || code[0] != 0xe8)
		return false;
	rel = (int32_t)(code[1] | code[2] << 8 | code[3] << 16 | (uint32_t)code[4] << 24);
	target = word + (int64_t)rel;
	return is_fragment(target) && target < call_ra && call_ra - target < FRAGMENT_MAX_SIZE;
}

INLINE void saved_extend(struct saved_scan *s, uint64_t v)
{
	if (!s->low || v < s->low)
		s->low = v;
	if (v > s->high)
		s->high = v;
}

/* E of a call from a fragment: the candidate that points to the fragment's return address. */
INLINE uint64_t saved_pick_fragment(struct saved_scan *s, uint64_t call_ra, bool *sure)
{
	s->low = s->high = s->found = s->conflict = 0;
	for (uint32_t i = 0; i < SAVED_CANDIDATES; i++) {
		uint64_t v = s->value[i], word;

		IN_MEMORY();
		if (i >= s->nr)
			break;
		saved_extend(s, v);
		if (!read_u64(v, &word) || !returns_behind_fragment(word, call_ra))
			continue;
		if (s->found && s->found != v)
			s->conflict = 1;
		s->found = v;
	}
	IN_MEMORY();
	/* E is among the candidates: if there is only one, it is E, whatever it points to. */
	*sure = !s->overflow && s->high && (s->low == s->high || (s->found && !s->conflict));
	return s->low == s->high ? s->high : s->found;
}

/* True if [low, high) holds no return address: then a walk from either finds the same frames. */
INLINE bool saved_same_frames(struct saved_scan *s, uint64_t low, uint64_t high)
{
	uint32_t nr = chunk_words(high - low);

	if (high - low > EBEAM_CHUNK_WORDS * 8)
		return false;
	if (nr && !read_user(low, s->words, nr * 8))
		return false;
	for (uint32_t i = 0; i < EBEAM_CHUNK_WORDS; i++) {
		if (i < nr && is_return_address(s->words[i]))
			return false;
	}
	return true;
}

/* E of a call from the code of a function: return addresses are above E only. */
INLINE uint64_t saved_pick_inline(struct saved_scan *s, bool *sure)
{
	s->low = s->high = 0;
	for (uint32_t i = 0; i < SAVED_CANDIDATES; i++) {
		uint64_t v = s->value[i];

		IN_MEMORY();
		if (i >= s->nr)
			break;
		saved_extend(s, v);
	}
	IN_MEMORY();
	*sure = !s->overflow && s->high &&
		(s->low == s->high || saved_same_frames(s, s->low, s->high));
	return s->high;
}

#endif
