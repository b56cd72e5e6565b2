/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Code loading: a uprobe on __jit_debug_register_code, which the VM calls after each change of
 * the GDB JIT descriptor (jit/beam_jit_metadata.cpp, OTP 25 to 29).  The record of a loaded
 * module is copied at once, because a purge may free it before user space reads it. */
#include "maps.bpf.h"

/* struct jit_code_entry of the GDB JIT interface */
struct jit_entry {
	uint64_t next, prev, record, record_size;
};

/* version u32, action u32, relevant entry, first entry */
struct jit_descriptor {
	uint32_t version, action;
	uint64_t relevant, first;
};

/* Reads `size` bytes, or returns false and fills *to with zeros. */
INLINE bool read_code(uint64_t addr, void *to, uint32_t size)
{
	if (bpf_probe_read_user(to, size, (const void *)addr) == 0)
		return true;
	count(COUNTER_READ_FAULT);
	return false;
}

/* Head of a module's record (jit/beam_jit_metadata.cpp, OTP 25 to 29; jit/x86/beam_asm.cpp, OTP
 * 24). */
struct jit_module {
	uint32_t kind, pad; /* 1 = module; OTP 24: number of ranges, more than 1 in a module */
	uint64_t base;
	uint32_t nr_ranges, code_size; /* OTP 24: u64 code size */
};

/* Size of a module's code, 0 if it is not a module. */
INLINE uint32_t code_size_of(const struct jit_module *m)
{
	if (config.otp == 24)
		return m->kind > 1 ? m->nr_ranges : 0;
	return m->kind == 1 ? m->code_size : 0;
}

/* Makes new code count as JIT code from now on, as it may be in a new mapping, which user space has
 * not reported yet.  Later user space reports the whole mapping. */
INLINE void cover(const struct jit_entry *e)
{
	struct jit_module m;
	uint32_t i = state.nr_jit;
	uint64_t end;

	if (e->record_size < sizeof(m) || !read_code(e->record, &m, sizeof(m)))
		return;
	end = m.base + code_size_of(&m);
	if (end <= m.base || (m.base >= state.jit_hull.start && end <= state.jit_hull.end))
		return;
	if (i < EBEAM_JIT_RANGES) {
		state.jit[i].start = m.base;
		state.jit[i].end = end;
		state.nr_jit = i + 1;
	}
	if (m.base < state.jit_hull.start)
		state.jit_hull.start = m.base;
	if (end > state.jit_hull.end)
		state.jit_hull.end = end;
}

/* Whether the ring has room for a copy of code: these may fill half of it, the other half is for
 * samples. */
INLINE bool has_room(uint32_t size)
{
	void *rb = ring();

	return rb && bpf_ringbuf_query(rb, BPF_RB_AVAIL_DATA) + size <=
			     bpf_ringbuf_query(rb, BPF_RB_RING_SIZE) / 2;
}

/* Bytes to reserve for the copy of a record; 0 = it is not copied. */
INLINE uint32_t room_for(const struct jit_entry *e)
{
	uint32_t room = EBEAM_CODE_BYTES;

	if (e->record_size <= 2048)
		room = 2048;
	else if (e->record_size <= 8192)
		room = 8192;
	return e->record_size <= room && has_room(room) ? room : 0;
}

/* Emits a record with `room` bytes for code; false = the ring is full.  `room` is a constant in
 * each call, as bpf_ringbuf_reserve() needs constant sizes. */
INLINE bool emit_code(const struct jit_descriptor *d, const struct jit_entry *e, uint32_t room)
{
	uint32_t copied = e->record_size <= room ? (uint32_t)e->record_size : 0;
	struct rec_raw_code *rec;
	void *rb = ring();

	if (!rb)
		return false;
	rec = bpf_ringbuf_reserve(rb, sizeof(*rec) + room, 0);
	if (!rec)
		return false;
	if (copied > room)
		copied = room; /* for the verifier */
	if (d->action != CODE_LOADED || !read_code(e->record, rec->bytes, copied))
		copied = 0;
	rec->h.type = REC_RAW_CODE;
	rec->h.flags = 0;
	rec->h.size = sizeof(*rec) + room;
	rec->h.ts_ns = bpf_ktime_get_ns();
	rec->action = d->action;
	rec->copied = copied;
	rec->entry = d->relevant;
	rec->record = e->record;
	rec->record_size = e->record_size;
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return true;
}

struct no_programs_map code_no_programs SEC(".maps");

SEC("uprobe")
int code_changed(struct pt_regs *ctx)
{
	uint64_t start_ns = bpf_ktime_get_ns();
	struct jit_descriptor d;
	struct jit_entry e;
	uint32_t room = 0;
	bool ok;

	no_private_stack(ctx, &code_no_programs);
	if (!read_code(config.jit_descriptor, &d, sizeof(d)))
		return 0;
	if (!d.relevant || (d.action != CODE_LOADED && d.action != CODE_UNLOADED))
		return 0;
	/* If the entry cannot be read, its address is still reported. */
	read_code(d.relevant, &e, sizeof(e));
	__sync_fetch_and_add(&state.code_generation, 1);
	count(d.action == CODE_LOADED ? COUNTER_CODE_LOADS : COUNTER_CODE_UNLOADS);
	if (d.action == CODE_LOADED) {
		cover(&e);
		room = room_for(&e);
		if (!room)
			count(COUNTER_CODE_TRUNCATED);
	}
	if (room == 2048)
		ok = emit_code(&d, &e, 2048);
	else if (room == 8192)
		ok = emit_code(&d, &e, 8192);
	else if (room)
		ok = emit_code(&d, &e, EBEAM_CODE_BYTES);
	else
		ok = emit_code(&d, &e, 0);
	if (!ok)
		count(COUNTER_RING_FULL);
	count_time(start_ns);
	return 0;
}
