/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exceptions that unwind the stack of a process: up to a catch, or all of it. */
#ifndef EBEAM_BPF_EVENT_EXCEPTION_H
#define EBEAM_BPF_EVENT_EXCEPTION_H

#include "abi/vm.h"
#include "event_values.bpf.h"

/* The class in Process.freason, error.h of OTP 25 to 29: EXC_CLASSBITS; EXTAG_ERROR, _EXIT,
 * _THROWN. */
#define FREASON_CLASS  3
#define FREASON_EXIT   1
#define FREASON_THROWN 2

INLINE uint64_t exception_class(uint64_t process)
{
	uint64_t reason = 0;

	if (!read_u64(process + config.layout.process_freason, &reason))
		return EVENT_WORD_NONE;
	switch (reason & FREASON_CLASS) {
	case FREASON_EXIT:
		return EVENT_WORD_EXIT;
	case FREASON_THROWN:
		return EVENT_WORD_THROW;
	default:
		return EVENT_WORD_ERROR;
	}
}

/* stack_ns: time of the stack that was emitted ahead of the event, 0 = none. */
INLINE void exception_event(uint64_t process, uint64_t value, uint64_t height, uint64_t stack_ns)
{
	uint64_t ts_ns = stack_ns ? stack_ns : event_now(), epid = epid_if_wanted(process);
	struct rec_raw_event *rec;

	if (!wanted_of(EVENT_PROCESS_EXCEPTION, epid))
		return;
	event_seen(process, epid, ts_ns);
	rec = event_begin_term(EVENT_PROCESS_EXCEPTION, ts_ns, epid,
			       stack_ns ? RAW_EVENT_STACK : 0);
	if (!rec)
		return;
	rec->values[0] = exception_class(process);
	rec->values[1] = value;
	rec->values[2] = height ? EVENT_WORD_CAUGHT : EVENT_WORD_UNCAUGHT;
	rec->values[3] = height;
	copy_term(value);
	event_end_term(rec, 4);
}

/* ErtsCodePtr handle_error(Process *c_p, ErtsCodePtr pc, Eterm *reg, const ErtsCodeMFA *bif_mfa),
 * beam_common.c.  If there is a catch it returns the address to continue at; then X1 is the term,
 * and Process.stop the frame of the catch (without native stack including its return address, which
 * is not counted).  NULL if not: then it has called erts_do_exit_process(). */
EVENT_ENTRY(event_error)
{
	struct event_thread *t = thread_here();
	uint64_t ts_ns;

	if (!t)
		return 0;
	keep_return();
	t->error.process = ctx->di;
	t->error.x = ctx->dx;
	t->error.epoch = switches.epoch[EVENT_PROCESS_EXCEPTION];
	t->error.stack_ns = 0;
	/* Read at the entry: once caught, the frames that raised it are no longer on the stack. */
	if (config.event_stacks && wanted_of(EVENT_PROCESS_EXCEPTION, epid_if_wanted(ctx->di))) {
		ts_ns = event_now();
		if (t->error.process &&
		    stack_ahead_of(ctx, t->error.process, ts_ns, ctx->si, false))
			t->error.stack_ns = ts_ns;
	}
	return 0;
}

/* The process whose exception this thread handles, 0 = none. */
INLINE uint64_t error_here(struct event_thread *t)
{
	if (!t || !t->error.process || t->error.epoch != switches.epoch[EVENT_PROCESS_EXCEPTION])
		return 0;
	return t->error.process;
}

/* Where handle_error() puts the term of a caught exception: x1, after the class; in OTP 24 x2, as
 * x0 is unused (beam_common.c). */
INLINE uint64_t caught_value_at(uint64_t x)
{
	return x + (config.otp == 24 ? 16 : 8);
}

EVENT_RETURN(event_error_return)
{
	struct event_thread *t = thread_here();
	uint64_t process = error_here(t), value = 0, stop, hend;

	drop_return();
	if (process && ctx->ax && read_u64(caught_value_at(t->error.x), &value) &&
	    read_u64(process + config.layout.process_stop, &stop) &&
	    read_u64(process + config.layout.process_hend, &hend) && hend > stop)
		exception_event(process, value, (hend - stop) / 8 - config.c_stack,
				t->error.stack_ns);
	if (t)
		t->error.process = 0;
	return 0;
}

/* erts_do_exit_process(Process *p, Eterm reason) within handle_error(), erl_process.c: the reason
 * of an error is the term with the stack trace (terminate_proc() of beam_common.c). */
EVENT_ENTRY(event_error_exit)
{
	struct event_thread *t = thread_here();
	uint64_t process = error_here(t), tuple[3], value = ctx->si;

	if (!process || process != ctx->di)
		return 0;
	if (exception_class(process) == EVENT_WORD_ERROR && TERM_IS_BOXED(value) &&
	    try_read(TERM_ADDR(value), tuple, sizeof(tuple)) && tuple[0] == HEADER_TUPLE(2))
		value = tuple[1];
	t->error.process = 0;
	exception_event(process, value, 0, t->error.stack_ns);
	return 0;
}

#endif
