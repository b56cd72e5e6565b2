/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events from the USDT probes of a VM that has them (src/probe/site/sources_usdt.c has the list).
 * A probe passes processes and ports as text, "<0.80.0>"; here the text is converted to the term,
 * and by the process table to the struct, so that the event is the same as from a uprobe.
 */
#ifndef EBEAM_BPF_EVENT_USDT_H
#define EBEAM_BPF_EVENT_USDT_H

#include "event_gc.bpf.h"
#include "event_message.bpf.h"
#include "abi/usdt.h"

#define USDT_POINTS 96

/* Sites of USDT probes, by the cookie of their attachment. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USDT_POINTS);
	__type(key, uint32_t);
	__type(value, struct usdt_point);
} usdt_points SEC(".maps");

/* ---- arguments ------------------------------------------------------------------------------- */

struct usdt_hit {
	uint64_t regs[NR_USDT_REGISTERS];
	const struct usdt_point *point;
};

INLINE bool usdt_begin(struct pt_regs *ctx, struct usdt_hit *hit)
{
	uint32_t key = (uint32_t)EVENT_COOKIE(cookie_of(ctx));

	hit->point = bpf_map_lookup_elem(&usdt_points, &key);
	hit->regs[USDT_RAX] = ctx->ax;
	hit->regs[USDT_RBX] = ctx->bx;
	hit->regs[USDT_RCX] = ctx->cx;
	hit->regs[USDT_RDX] = ctx->dx;
	hit->regs[USDT_RSI] = ctx->si;
	hit->regs[USDT_RDI] = ctx->di;
	hit->regs[USDT_RBP] = ctx->bp;
	hit->regs[USDT_RSP] = ctx->sp;
	hit->regs[USDT_R8] = ctx->r8;
	hit->regs[USDT_R9] = ctx->r9;
	hit->regs[USDT_R10] = ctx->r10;
	hit->regs[USDT_R11] = ctx->r11;
	hit->regs[USDT_R12] = ctx->r12;
	hit->regs[USDT_R13] = ctx->r13;
	hit->regs[USDT_R14] = ctx->r14;
	hit->regs[USDT_R15] = ctx->r15;
	return hit->point != 0;
}

/* Value of an argument; EVENT_UNKNOWN, which is no valid address either, if it cannot be read. */
INLINE uint64_t usdt_arg(const struct usdt_hit *hit, uint32_t i)
{
	const struct usdt_arg *a;
	uint64_t value, reg, bits;

	FORGET(i);
	if (i >= USDT_POINT_ARGS)
		return EVENT_UNKNOWN;
	a = &hit->point->args[i];
	if (a->type == USDT_ARG_CONSTANT)
		return a->offset;
	if (a->type == USDT_ARG_NONE)
		return EVENT_UNKNOWN;
	reg = a->reg;
	FORGET(reg);
	if (reg >= NR_USDT_REGISTERS)
		return EVENT_UNKNOWN;
	value = hit->regs[reg];
	if (a->type == USDT_ARG_MEMORY) {
		uint64_t addr = value + a->offset;

		/* Four bytes are read of smaller values, too: on the C stack or in a struct more
		 * follows. */
		value = 0;
		if (a->size == 8 ? !read_u64(addr, &value) : !read_user(addr, &value, 4))
			return EVENT_UNKNOWN;
	}
	value >>= a->shift & 8;
	bits = 64 - 8 * (uint64_t)(a->size & 15);
	if (bits > 56)
		return value;
	value <<= bits;
	return a->is_signed ? (uint64_t)((int64_t)value >> bits) : value >> bits;
}

/* ---- identifiers ----------------------------------------------------------------------------- */

#define USDT_ID_TEXT 32
#define USDT_NO_ID   (~0ull)
/* ERTS_INVALID_PID, "<0.32767.8191>", used for no process (erl_term.h: all 28 bits of data) */
#define USDT_INVALID_DATA 0xfffffffull

/* Parses "<0.80.0>" or "#Port<0.5>": the number, and above `bits` the serial; USDT_NO_ID for one of
 * another node, or other text. */
GLOBAL_FN uint64_t usdt_id_data(uint64_t addr, uint32_t bits)
{
	uint64_t number[4] = {0, 0, 0, 0}, at = 0;
	char text[USDT_ID_TEXT] = {0};

	if (!addr || bpf_probe_read_user_str(text, sizeof(text), (const void *)addr) < 0)
		return USDT_NO_ID;
	if (text[0] != '<' && text[0] != '#')
		return USDT_NO_ID;
	/* Unrolled: the verifier of kernels before 6.4 cannot bound a loop with so many exits. */
	UNROLL
	for (int i = 0; i < USDT_ID_TEXT; i++) {
		char c = text[i];

		IN_MEMORY();
		if (c == '>' || !c)
			break;
		if (c == '.')
			at++;
		if (at > 2)
			return USDT_NO_ID;
		FORGET(at);
		if (c >= '0' && c <= '9')
			number[at & 3] = number[at & 3] * 10 + (uint64_t)(c - '0');
	}
	if (at == 0 || number[0] || bits > 63)
		return USDT_NO_ID;
	return number[1] | number[2] << bits;
}

INLINE uint64_t usdt_slot(const volatile struct id_table *t, uint64_t data)
{
	return ((data & t->cl_mask) << (t->cl_shift & 63)) |
	       ((data >> (t->cli_shift & 63)) & t->cli_mask);
}

/* Builds a term: slot and data in two halves up to OTP 25, else data that contains the slot;
 * erl_ptab.h */
INLINE uint64_t usdt_term(const volatile struct id_table *t, uint64_t data, uint64_t tag)
{
	if (data == USDT_NO_ID || (data == USDT_INVALID_DATA && !t->whole_word) || !t->slots)
		return 0;
	if (!t->whole_word)
		return usdt_slot(t, data) << 32 | (uint32_t)(data << 4) | tag;
	return ((data & ~t->pix_mask) | usdt_slot(t, data)) << 4 | tag;
}

#define TAG_PID	 0x3 /* erl_term.h of OTP 25 to 29 */
#define TAG_PORT 0x7

/* Converts the text of a pid to its term, and to its struct if the process still exists. */
INLINE uint64_t usdt_pid(uint64_t text, uint64_t *process)
{
	uint64_t data = usdt_id_data(text, config.processes.number_bits);
	uint64_t term = usdt_term(&config.processes, data, TAG_PID), addr = 0;

	*process = 0;
	if (term &&
	    try_read(config.processes.slots + 8 * usdt_slot(&config.processes, data), &addr,
		     sizeof(addr)) &&
	    addr && epid_of(addr) == term)
		*process = addr;
	return term;
}

INLINE uint64_t usdt_port(uint64_t text, uint64_t *port)
{
	uint64_t data = usdt_id_data(text, 60);
	uint64_t term = usdt_term(&config.ports, data, TAG_PORT), addr = 0;

	*port = 0;
	if (term &&
	    try_read(config.ports.slots + 8 * usdt_slot(&config.ports, data), &addr,
		     sizeof(addr)) &&
	    addr && port_term(addr) == term)
		*port = addr;
	return term;
}

/* The process that this thread runs; 0 = none. */
INLINE uint64_t usdt_current(void)
{
	struct thread_info *t = scheduler_here();
	uint64_t process = 0;

	if (t)
		read_u64(t->esdp + config.layout.sched_current_process, &process);
	return process;
}

/* Emits the stack of a process if it runs here; others cannot be walked. */
INLINE uint16_t usdt_stack(struct pt_regs *ctx, uint64_t process, uint64_t ts_ns)
{
	if (!config.event_stacks || !process || usdt_current() != process)
		return 0;
	return event_stack(ctx, process, ts_ns);
}

/* ---- any probe whose fields are its arguments ------------------------------------------------ */

/* A record with room for the text of an MFA. */
struct event_with_text {
	struct rec_raw_event rec;
	struct term_block blocks[EVENT_TEXT_BLOCKS];
};

INLINE void usdt_copy_text(struct rec_raw_event *rec, uint64_t addr)
{
	struct event_with_text *e = (struct event_with_text *)rec;

	if (config.unnamed)
		return;
	for (uint32_t i = 0; i < EVENT_TEXT_BLOCKS; i++) {
		__builtin_memset(&e->blocks[i], 0, sizeof(e->blocks[i]));
		bpf_probe_read_user_str(e->blocks[i].words, sizeof(e->blocks[i].words),
					(const void *)(addr + i * EVENT_TEXT_BLOCK));
	}
	e->rec.nr_blocks = EVENT_TEXT_BLOCKS;
	e->rec.flags |= RAW_EVENT_TEXT;
}

/* Puts one value into the words from `at` on; returns the number of words. */
INLINE uint32_t usdt_put(struct rec_raw_event *rec, uint32_t at, uint8_t type, uint64_t arg)
{
	uint64_t addr;

	if (type == USDT_VALUE_DRIVER || type == USDT_VALUE_TEXT) {
		if (at > EVENT_RAW_WORDS - EVENT_TEXT_WORDS)
			return 0;
		if (type == USDT_VALUE_TEXT) {
			bpf_probe_read_user_str(&rec->values[at], 8 * EVENT_TEXT_WORDS,
						(const void *)arg);
		} else {
			usdt_port(arg, &addr);
			driver_name(addr, &rec->values[at]);
		}
		return EVENT_TEXT_WORDS;
	}
	if (at >= EVENT_RAW_WORDS)
		return 0;
	if (type == USDT_VALUE_PID)
		rec->values[at] = usdt_pid(arg, &addr);
	else if (type == USDT_VALUE_PORT)
		rec->values[at] = usdt_port(arg, &addr);
	else
		rec->values[at] = arg;
	return 1;
}

/* Whether the hit is an event of the point's kind: the probe may also fire for another event, which
 * has another text than `only`. */
INLINE bool usdt_is_meant(const struct usdt_hit *hit)
{
	uint64_t want, have = 0;

	if (hit->point->only_arg == USDT_NO_ARG)
		return true;
	__builtin_memcpy(&want, hit->point->only, sizeof(want));
	bpf_probe_read_user_str(&have, sizeof(have),
				(const void *)usdt_arg(hit, hit->point->only_arg));
	return have == want;
}

EVENT_ENTRY(event_usdt)
{
	uint64_t ts_ns = event_now(), process = 0, epid = 0;
	struct rec_raw_event *rec;
	struct usdt_hit hit;
	uint32_t at = 0;
	uint16_t flags;

	if (!usdt_begin(ctx, &hit) || hit.point->kind >= NR_EVENT_KINDS || !usdt_is_meant(&hit))
		return 0;
	/* If by_process is set, only hits of a process are events, so they cannot be counted
	 * blindly. */
	if (counts_all() && !hit.point->by_process)
		return count_if_wanted(hit.point->kind);
	if (hit.point->about != USDT_NO_ARG)
		epid = usdt_pid(usdt_arg(&hit, hit.point->about), &process);
	if (!wanted_of(hit.point->kind, epid) || (hit.point->by_process && !epid))
		return 0;
	event_seen(process, epid, ts_ns);
	flags = usdt_stack(ctx, process, ts_ns);
	rec = event_begin(hit.point->kind, ts_ns, epid, flags, 0);
	if (!rec)
		return 0;
	for (int i = 0; i < USDT_POINT_VALUES; i++) {
		uint8_t type = hit.point->values[i].type;

		if (i >= hit.point->nr_values)
			break;
		FORGET(at);
		at += usdt_put(rec, at, type, usdt_arg(&hit, hit.point->values[i].arg));
	}
	event_end(rec, at);
	return 0;
}

/* ---- probes that need more ------------------------------------------------------------------- */

/* process__hibernate(p, mfa) */
EVENT_ENTRY(event_usdt_hibernate)
{
	uint64_t ts_ns = event_now(), process, epid;
	struct rec_raw_event *rec;
	struct usdt_hit hit;
	struct event_thread *t = thread_here();
	uint16_t flags;

	if (counts_all())
		return count_if_wanted(EVENT_PROCESS_HIBERNATE);
	if (!t || !usdt_begin(ctx, &hit))
		return 0;
	epid = usdt_pid(usdt_arg(&hit, 0), &process);
	if (!wanted_of(EVENT_PROCESS_HIBERNATE, epid))
		return 0;
	event_seen(process, epid, ts_ns);
	flags = usdt_stack(ctx, process, ts_ns);
	hibernate_read(process);
	rec = event_begin(EVENT_PROCESS_HIBERNATE, ts_ns, epid, flags, EVENT_TEXT_BLOCKS);
	if (rec) {
		usdt_copy_text(rec, usdt_arg(&hit, 1));
		rec->values[3] = t->now.fresh;
		rec->values[4] = t->now.binaries;
		event_end(rec, 5);
	}
	return 0;
}

/* process__spawn(p, mfa), at the end of erl_create_process(): p may run already, or have exited. */
EVENT_ENTRY(event_usdt_spawn)
{
	uint64_t ts_ns = event_now(), current = usdt_current(), parent, child, process;
	struct rec_raw_event *rec;
	struct usdt_hit hit;
	uint64_t known;
	uint16_t flags;

	if (!usdt_begin(ctx, &hit))
		return 0;
	child = usdt_pid(usdt_arg(&hit, 0), &process);
	parent = epid_of(current);
	/* A spawn by another node: the process that runs here only handles the request. */
	if (process && read_u64(process + config.layout.process_parent, &known) &&
	    (known & 0xf) != TAG_PID)
		parent = 0;
	if (!child ||
	    (!wanted_of(EVENT_PROCESS_SPAWN, child) && !wanted_of(EVENT_PROCESS_SPAWN, parent)))
		return 0;
	if (parent)
		event_seen(current, parent, ts_ns);
	flags = parent ? event_stack(ctx, current, ts_ns) : 0;
	rec = event_begin(EVENT_PROCESS_SPAWN, ts_ns, child, flags, EVENT_TEXT_BLOCKS);
	if (rec) {
		rec->values[0] = parent;
		usdt_copy_text(rec, usdt_arg(&hit, 1));
		event_end(rec, 4);
	}
	return 0;
}

/* message__receive(receiver, size, ...), in beam_jit_remove_message(), before it removes the
 * message */
EVENT_ENTRY(event_usdt_receive)
{
	uint64_t ts_ns = event_now(), process;
	struct usdt_hit hit;

	if (!usdt_begin(ctx, &hit))
		return 0;
	if (usdt_pid(usdt_arg(&hit, 0), &process) && process)
		received(ctx, process, ts_ns);
	return 0;
}

/* gc_minor__start(p, need), gc_major__start(p, need), in garbage_collect() */
EVENT_ENTRY(event_usdt_gc_start)
{
	uint64_t ts_ns = bpf_ktime_get_ns(), process, epid;
	struct event_thread *t = thread_here();
	struct usdt_hit hit;

	if (!t || !usdt_begin(ctx, &hit))
		return 0;
	epid = usdt_pid(usdt_arg(&hit, 0), &process);
	t->usdt_gc.process = 0;
	if (!process || (config.event_epid && config.event_epid != epid))
		return 0;
	heaps_read(process);
	t->usdt_gc = t->now;
	t->usdt_gc.need = usdt_arg(&hit, 1);
	if (t->usdt_gc.need != EVENT_UNKNOWN)
		t->usdt_gc.need = (uint32_t)t->usdt_gc.need;
	t->usdt_gc.process = process;
	t->usdt_gc.ts_ns = ts_ns;
	t->usdt_gc.epoch = gc_epoch();
	event_seen(process, epid, ts_ns);
	if (!config.gc_longer_than_ns)
		gc_start(hit.point->kind, ts_ns, epid, 0, &t->usdt_gc);
	return 0;
}

/* gc_minor__end(p, reclaimed), gc_major__end(p, reclaimed) */
EVENT_ENTRY(event_usdt_gc_end)
{
	uint64_t ts_ns = bpf_ktime_get_ns(), process, epid, ns;
	struct event_thread *t = thread_here();
	struct gc_new new = {0, 0, 0};
	enum event_kind kind;
	struct usdt_hit hit;
	uint16_t flags;

	if (!t || !usdt_begin(ctx, &hit))
		return 0;
	kind = hit.point->kind;
	epid = usdt_pid(usdt_arg(&hit, 0), &process);
	if (!process || t->usdt_gc.process != process || t->usdt_gc.epoch != gc_epoch())
		return 0;
	t->usdt_gc.process = 0;
	ns = ts_ns - t->usdt_gc.ts_ns;
	if (config.gc_longer_than_ns) {
		if (ns <= config.gc_longer_than_ns)
			return 0;
		gc_start(kind == EVENT_GC_MINOR_END ? EVENT_GC_MINOR_START : EVENT_GC_MAJOR_START,
			 t->usdt_gc.ts_ns, epid, 0, &t->usdt_gc);
	}
	heaps_read(process);
	/* A minor one that gave up has not been counted: a major one will find what is new. */
	if (kind != EVENT_GC_MINOR_END || t->now.gen_gcs != t->usdt_gc.gen_gcs)
		new = gc_found(kind == EVENT_GC_MINOR_END, &t->usdt_gc, &t->now);
	flags = usdt_stack(ctx, process, ts_ns);
	gc_end(kind, ts_ns, epid, flags, usdt_arg(&hit, 1), ns, &t->now, &new);
	return 0;
}

#endif
