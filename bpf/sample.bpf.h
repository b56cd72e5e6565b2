/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One sample: which thread, which process, where its Erlang stack begins.  By the rules of BeamAsm
 * on x86-64 (jit/x86/beam_asm.hpp, OTP 24 to 29), with the Erlang stack in rsp:
 *
 *   in JIT code   rsp = E, r13 = Process *, rbx = X registers, r15 = heap top; around a call of
 *                 C code rsp is already or still the scheduler's C stack
 *   in C code     the return address into JIT code is right below ErtsSchedulerRegisters, and the
 *                 call site shows where E was saved: Process.stop, or rbp (OTP 24: r12)
 *   dirty         no JIT code runs; Process.stop is exact
 *
 * Without native stack (config.c_stack; OTP 24 to 26 for musl):
 *
 *   in JIT code   rbp = E (OTP 24: r12), whose first word is the return address, or nil; rsp =
 *                 ErtsSchedulerRegisters, less what shared fragments have pushed
 *   in C code     the first word of ErtsSchedulerRegisters is that rsp, the return address is below
 *                 it, aligned; the call site shows where E was saved, as above
 */
#ifndef EBEAM_BPF_SAMPLE_H
#define EBEAM_BPF_SAMPLE_H

#include "abi/vm.h"
#include "walk.bpf.h"

/* User registers at the interrupt. */
struct user_regs {
	uint64_t ip, sp, bp, bx, r12, r13, r15;
	/* Of a thread in the kernel: di, orig_ax = first argument and number of the call. */
	uint64_t r14, di, orig_ax;
};

/* Value of the callee-saved register that has E during calls that do not store E in Process.stop;
 * without native stack it has E in all JIT code. */
INLINE uint64_t register_saved(const struct user_regs *r)
{
	return config.otp == 24 ? r->r12 : r->bp;
}

/* The parts of struct process that a sample needs, read once. */
struct process_view {
	uint64_t addr, id, htop, stop, heap, hend;
	uint32_t process_state, flags;
};

#define CALL_PUSHED_MAX 128 /* most bytes that shared fragments push below `registers` */
/* Address, on the C stack, of the return address of a call from JIT code; 0 = not known.  Without
 * native stack *pushed is set to rsp as emit_enter_runtime() stored it, before it aligned rsp for
 * the call; with native stack it is not set. */
INLINE uint64_t call_return_at(uint64_t registers, uint64_t *pushed)
{
	if (!config.c_stack)
		return registers - 8;
	if (!registers || !read_u64(registers, pushed) || (*pushed & 7) || *pushed > registers ||
	    registers - *pushed > CALL_PUSHED_MAX)
		return 0;
	return ((*pushed - 15) & ~15ull) - 8;
}

/* The return address into JIT code that a return probe has replaced at this address, or 0. */
INLINE uint64_t return_kept(uint64_t at);

/* Class of a call site, by the cache of the unit that includes this file. */
INLINE enum site_class site_class_of(uint64_t ip);

INLINE bool process_read(struct process_view *p, uint64_t addr)
{
	uint64_t ends[2]; /* htop and stop are adjacent, and so are heap and hend */

	p->addr = addr;
	if (!read_u64(addr + config.layout.process_id, &p->id))
		return false;
	if (!read_user(addr + config.layout.process_htop, ends, sizeof(ends)))
		return false;
	p->htop = ends[0];
	p->stop = ends[1];
	if (!read_user(addr + config.layout.process_heap, ends, sizeof(ends)))
		return false;
	p->heap = ends[0];
	p->hend = ends[1];
	return read_u32(addr + config.layout.process_state, &p->process_state) &&
	       read_u32(addr + config.layout.process_flags, &p->flags);
}

/* Whether e can be a stack pointer of this process: aligned, in its heap block, not above hend. */
INLINE bool stack_pointer_ok(const struct process_view *p, uint64_t e)
{
	return ((e | p->hend) & 7) == 0 && e >= p->heap && e <= p->hend;
}

/* Adds the return addresses of calls of shared fragments, one for each nested fragment, which are
 * on top of the Erlang stack.  They need not be aligned, so they are recognised by pointing into
 * JIT code, not by their tag.  Returns the address of the first word after them. */
INLINE uint64_t push_fragment_returns(struct walk *w, uint64_t e, uint64_t hend)
{
	for (int i = 0; i < 4; i++) {
		uint64_t ra;

		if (e >= hend)
			break;
		if (!read_u64(e, &ra)) {
			w->failed = 1;
			break;
		}
		if (i == 0)
			w->rec.saved_ra = ra;
		if (!is_jit(ra))
			break;
		push_leaf(w, ra, e);
		e += 8;
		if (!is_fragment(ra))
			break;
	}
	return e;
}

/* Without native stack: adds the return addresses that calls of fragments have pushed to the C
 * stack, below `registers`.  In an ambiguous sample, where user space has yet to insert frames
 * after them, only the first is kept, in saved_ra. */
INLINE void push_pushed_returns(struct walk *w, uint64_t e, uint64_t registers)
{
	uint64_t top = 0;

	if (w->rec.status == SAMPLE_STATUS_AMBIGUOUS) {
		try_read(w->pushed, &w->rec.saved_ra, sizeof(w->rec.saved_ra));
	} else if (w->pushed != registers || !is_jit(w->raised)) {
		push_fragment_returns(w, w->pushed, registers);
	} else if (!try_read(e, &top, sizeof(top)) || top != w->raised) {
		push_leaf(w, w->raised, w->pushed); /* if not on the Erlang stack, as in a BIF */
	}
}

/* Class of the call site before `ip`; with frame pointers every site stores E in Process.stop. */
INLINE enum site_class site_at(struct walk *w, uint64_t ip)
{
	enum site_class site = config.frame_pointers ? SITE_STOP : site_class_of(ip);

	if (site == SITE_UNREADABLE)
		w->failed = 1;
	return site;
}

/* Without native stack: true if JIT code is about to call C code or has just returned from it, with
 * rsp aligned for the call.  Else sets w->pushed to rsp, where fragments push return addresses.  If
 * fragments call each other rsp may look aligned, so the word there is tested, too. */
INLINE bool around_call(struct walk *w, const struct user_regs *r, uint64_t registers)
{
	uint64_t word;

	if (call_return_at(registers, &w->pushed) == r->sp - 8 &&
	    !(try_read(r->sp, &word, sizeof(word)) && is_fragment(word)))
		return true;
	w->pushed = r->sp;
	return false;
}

/* E in JIT code that runs on the C stack: its register, except around calls that may move the
 * stack. */
INLINE uint64_t stack_from_register(struct walk *w, const struct process_view *p,
				    const struct user_regs *r, uint64_t registers)
{
	bool in_call = around_call(w, r, registers);

	w->rec.place = PLACE_JIT;
	w->rec.stack_source = STACK_RSP;
	if ((!in_call && stack_pointer_ok(p, register_saved(r))) || site_at(w, r->ip) != SITE_STOP)
		return register_saved(r);
	w->rec.place = PLACE_JIT_RUNTIME;
	w->rec.stack_source = STACK_STOP;
	return p->stop;
}

/* E of a sample in JIT code. */
INLINE uint64_t stack_from_jit(struct walk *w, const struct process_view *p,
			       const struct user_regs *r, uint64_t registers)
{
	uint64_t e;

	if (config.c_stack)
		return stack_from_register(w, p, r, registers);
	if (r->sp >= p->heap && r->sp <= p->hend) {
		w->rec.place = PLACE_JIT;
		w->rec.stack_source = STACK_RSP;
		return r->sp;
	}
	/* Between storing E and restoring it: the instruction that restores it, ahead, shows where
	 * it is. */
	w->rec.place = PLACE_JIT_RUNTIME;
	if (site_at(w, r->ip) != SITE_SAVED) {
		w->rec.stack_source = STACK_STOP;
		e = p->stop;
	} else {
		w->rec.stack_source = STACK_SAVED;
		e = register_saved(r);
	}
	return e;
}

/* E of a sample in C code that JIT code called. */
INLINE uint64_t stack_from_c(struct walk *w, struct saved_scan *saved, const struct process_view *p,
			     const struct user_regs *r)
{
	uint64_t e = p->stop;
	bool sure;

	w->rec.place = PLACE_C_FROM_JIT;
	w->rec.stack_source = STACK_STOP;
	if (site_at(w, w->rec.call_ra) != SITE_SAVED)
		return e;
	w->rec.stack_source = STACK_SAVED;
	saved->process = p->addr;
	saved->htop = p->htop;
	saved->hend = p->hend;
	saved->nr = saved->overflow = 0;
	saved->last = saved->certain = 0;
	saved_candidate(saved, register_saved(r));
	saved_find(saved, r->sp, w->call_at);
	if (saved->certain)
		return saved->certain;
	if (is_fragment(w->rec.call_ra) && !config.c_stack)
		e = saved_pick_fragment(saved, w->rec.call_ra, &sure);
	else
		e = saved_pick_inline(saved, &sure);
	if (!sure) {
		/* User space decides which candidate is E, and inserts the words from E to high. */
		w->rec.status = SAMPLE_STATUS_AMBIGUOUS;
		return saved->high;
	}
	return e;
}

/* Whether the thread is in C code that JIT code called; rec.call_ra is the return address then. */
INLINE bool called_from_jit(struct walk *w, const struct user_regs *r, const struct thread_info *t)
{
	uint64_t ra;

	if (t->type != THREAD_NORMAL || r->sp >= t->registers)
		return false;
	w->call_at = call_return_at(t->registers, &w->pushed);
	if (!w->call_at || !read_u64(w->call_at, &ra)) {
		w->failed = 1;
		return false;
	}
	if (!is_jit(ra)) {
		ra = return_kept(w->call_at);
		if (!ra)
			return false;
	}
	w->rec.call_ra = ra;
	return true;
}

/* Fills in place, stack and status of a sample with known process. */
INLINE void sample_stack(struct walk *w, struct saved_scan *saved, const struct process_view *p,
			 const struct user_regs *r, const struct thread_info *t)
{
	/* Only JIT code has the Erlang stack in rsp: so JIT code is recognised also in a mapping
	 * that user space has not reported yet. */
	bool in_jit = is_jit(r->ip) ||
		      (t->type == THREAD_NORMAL && r->sp >= p->heap && r->sp <= p->hend),
	     fragment;
	uint64_t e, hend;
	uint8_t before;

	w->rec.status = SAMPLE_STATUS_COMPLETE;
	if (config.interpreted && t->type == THREAD_NORMAL) {
		w->rec.place = PLACE_INTERPRETER;
		w->rec.stack_source = STACK_LAST;
		w->rec.status = SAMPLE_STATUS_AMBIGUOUS;
		e = p->stop;
		fragment = false;
	} else if (in_jit) {
		e = stack_from_jit(w, p, r, t->registers);
		fragment = is_fragment(r->ip);
	} else if (called_from_jit(w, r, t)) {
		e = stack_from_c(w, saved, p, r);
		fragment = is_fragment(w->rec.call_ra);
	} else {
		w->rec.place = PLACE_C_PROCESS;
		w->rec.stack_source = STACK_STOP;
		/* The process was taken off its scheduler: the address to continue at is on no
		 * stack. */
		if (t->type != THREAD_NORMAL)
			read_u64(p->addr + config.layout.process_i, &w->rec.saved_ra);
		e = p->stop;
		fragment = false;
	}
	if (w->failed) {
		w->rec.status = SAMPLE_STATUS_STACK_UNREADABLE;
		return;
	}
	hend = p->hend;
	if (!e || !stack_pointer_ok(p, e)) {
		/* A collector that has moved the stack frees the old block before it stores the
		 * bounds of the new one (erl_gc.c, do_minor and others): then the bottom return
		 * address ends the stack. */
		if (!e || (e & 7) || !(p->process_state & PSFLG_GC) || !state.normal_exit) {
			w->rec.status = SAMPLE_STATUS_BAD_BOUNDS;
			return;
		}
		w->until = state.normal_exit;
		hend = e + EBEAM_UNBOUNDED_STACK_SIZE;
	}
	if (fragment && config.c_stack)
		push_pushed_returns(w, e, t->registers);
	else if (fragment && w->rec.status != SAMPLE_STATUS_AMBIGUOUS)
		e = push_fragment_returns(w, e, hend);
	before = w->rec.status;
	walk_stack(w, e, hend);
	/* A stack from the wrong candidate is not complete, even if its end was reached. */
	if (before == SAMPLE_STATUS_AMBIGUOUS &&
	    (w->rec.status == SAMPLE_STATUS_COMPLETE || w->rec.status == SAMPLE_STATUS_TRUNCATED))
		w->rec.status = before;
}

/* Values that identify the called C function: the current MFA of the process, the Export of a light
 * BIF. */
INLINE void sample_call(struct walk *w, const struct thread_info *t, uint64_t process)
{
	uint64_t mfa;

	if (read_u64(process + config.layout.process_current, &mfa) && mfa)
		read_user(mfa, w->rec.current_mfa, sizeof(w->rec.current_mfa));
	/* TMP_MEM2: where call_light_bif_shared keeps the Export, jit/x86/instr_bif.cpp. */
	if (w->rec.place == PLACE_C_FROM_JIT)
		read_u64(t->registers + config.layout.registers_tmp_mem + 8, &w->rec.light_bif);
}

#endif
