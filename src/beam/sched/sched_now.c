/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_now.h. */
#include "beam/sched/sched_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/callsite.h"
#include "beam/term/atoms.h"

/* Limit of the part of ErtsSchedulerData up to its run queue; 240 bytes in OTP 25 to 29. */
#define HEAD_MAX 512
/* Limit of struct ErtsSchedWallTime; 32 bytes in OTP 25 to 29. */
#define CLOCK_MAX 64
/* Limit of struct process; 776 bytes at most. */
#define PROCESS_MAX 1024
/* Attempts to read data that changes while it is read. */
#define TRIES 5

struct sched_now {
	struct beam_node *n;
	VEC(struct sched_one) all;
	struct sched_progress progress;
	struct address_range fragments;
	raddr value_at; /* address of erts_thr_prgr__; 0 = symbol hidden */
	size_t head_size, clock_from, clock_size;
	bool has_clock;
};

static void add_array(struct sched_now *s, raddr array, uint32_t nr, enum thread_type type)
{
	for (uint32_t i = 0; array && i < MIN(nr, UINT16_MAX); i++) {
		const struct sched_one one = {
			.type = type,
			.number = (uint16_t)(i + 1),
			.esdp = array + (uint64_t)i * (uint32_t)s->n->layout.sched_stride,
		};

		vec_push(&s->all, one);
	}
}

static bool find_spans(struct sched_now *s)
{
	const struct beam_layout *l = &s->n->layout;

	if (l->sched_run_queue == LAYOUT_ABSENT || l->sched_current_process == LAYOUT_ABSENT ||
	    l->sched_current_port == LAYOUT_ABSENT || l->sched_thr_progress_active == LAYOUT_ABSENT)
		return false;
	s->head_size = (size_t)MAX(l->sched_run_queue, l->sched_thr_progress_unmanaged) + 8;
	if (l->sched_wall_time != LAYOUT_ABSENT && l->sched_working_start != LAYOUT_ABSENT) {
		s->clock_from = (size_t)l->sched_wall_time;
		s->clock_size = (size_t)(l->sched_working_start - l->sched_wall_time) + 8;
		s->has_clock = s->clock_size <= CLOCK_MAX;
	}
	return s->head_size <= HEAD_MAX && (size_t)l->process_size <= PROCESS_MAX;
}

int sched_now_open(struct sched_now **out, struct beam_node *n, struct address_range fragments)
{
	const struct beam_anchors *a = &n->anchors;
	struct elf_symbol symbol;
	struct sched_now *s;

	*out = NULL;
	if (!a->sched || !a->nr_sched)
		return -ENOENT;
	s = xcalloc(1, sizeof(*s));
	s->n = n;
	s->fragments = fragments;
	if (!find_spans(s)) {
		free(s);
		return -ENOENT;
	}
	add_array(s, a->sched, a->nr_sched, THREAD_NORMAL);
	add_array(s, a->dirty_cpu, a->nr_dirty_cpu, THREAD_DIRTY_CPU);
	add_array(s, a->dirty_io, a->nr_dirty_io, THREAD_DIRTY_IO);
	if (n->elf && elf_file_symbol(n->elf, "erts_thr_prgr__", &symbol))
		s->value_at = symbol.addr + n->bias;
	*out = s;
	return 0;
}

void sched_now_close(struct sched_now *s)
{
	if (!s)
		return;
	vec_free(&s->all);
	free(s);
}

const struct sched_one *sched_now_all(const struct sched_now *s, size_t *nr)
{
	*nr = s->all.len;
	return s->all.data;
}

const struct sched_progress *sched_now_progress(const struct sched_now *s)
{
	return &s->progress;
}

/* ---- one sample of one scheduler ------------------------------------------------------------- */

static uint64_t registered_name(const struct sched_now *s, raddr reg)
{
	const struct beam_layout *l = &s->n->layout;
	uint64_t name;

	return reg && mem_read_u64(s->n->mem, reg + (raddr)l->regproc_name, &name) == 0 &&
			       TERM_IS_ATOM(name)
		       ? name
		       : 0;
}

/* Reads the last call of C code and its caller. */
static void read_call(const struct sched_now *s, const struct sched_one *one,
		      const uint8_t *process, struct sched_sample *out)
{
	const struct beam_layout *l = &s->n->layout;
	bool c_stack = !s->n->identity.native_stack;
	raddr pushed, at = callsite_return_at(s->n->mem, c_stack, one->registers, &pushed);
	raddr light = callsite_light_bif_at(s->n->identity.otp, l, one->registers, out->stop);
	raddr top = pushed ? pushed : out->stop;

	if (!at || mem_read_u64(s->n->mem, at, &out->call_ra))
		out->call_ra = 0;
	if (out->call_ra && mem_read_u64(s->n->mem, light, &out->light_bif))
		out->light_bif = 0;
	if (process && !c_stack)
		top = callsite_stack_top(s->n->mem, &s->fragments, out->call_ra, at, out->stop,
					 bytes_u64(process, l->process_heap),
					 bytes_u64(process, l->process_hend));
	if (!top || mem_read_u64(s->n->mem, top, &out->stack_top))
		out->stack_top = 0;
}

/* Words of the C stack below the saved registers that may hold the process that called C code. */
#define OWNER_WORDS 256

static bool runs_on(const struct sched_now *s, raddr process, raddr esdp)
{
	const struct beam_layout *l = &s->n->layout;
	uint64_t its, id;

	return !(process & 7) &&
	       mem_read_u64(s->n->mem, process + (raddr)l->process_scheduler_data, &its) == 0 &&
	       its == esdp && mem_read_u64(s->n->mem, process + (raddr)l->process_id, &id) == 0 &&
	       TERM_IS_PID(id) && !TERM_IS_INVALID_PID(id);
}

/* The process that a scheduler runs: its current one, or if that has no pid, as in a match
 * specification (abi/vm.h), the one that called, which JIT code has in a register that C functions
 * push near the call.  0 = it is not found. */
static raddr owner_of(const struct sched_now *s, const struct sched_one *one, raddr current)
{
	uint64_t id, word;

	if (mem_read_u64(s->n->mem, current + (raddr)s->n->layout.process_id, &id) != 0 ||
	    !TERM_IS_INVALID_PID(id))
		return current;
	for (raddr i = 1; i <= OWNER_WORDS && one->registers; i++) {
		if (mem_read_u64(s->n->mem, one->registers - 8 * i, &word) != 0)
			break;
		if (runs_on(s, word, one->esdp))
			return word;
	}
	return 0;
}

static bool read_process(const struct sched_now *s, uint8_t *bytes, struct sched_sample *out)
{
	const struct beam_layout *l = &s->n->layout;

	if (mem_read(s->n->mem, out->process, bytes, (size_t)l->process_size) != 0)
		return false;
	out->epid = bytes_u64(bytes, l->process_id);
	out->reds = bytes_u64(bytes, l->process_reds);
	out->state = bytes_u32(bytes, l->process_state);
	out->i = bytes_u64(bytes, l->process_i);
	out->current = bytes_u64(bytes, l->process_current);
	beam_mfa_read(s->n->mem, l, out->current, out->current_mfa);
	/* In an exiting process the field may have other data. */
	if (!(out->state & PSFLG_EXITING))
		out->registered = registered_name(s, bytes_u64(bytes, l->process_reg));
	out->stop = bytes_u64(bytes, l->process_stop);
	return true;
}

static void read_run_queue(const struct sched_now *s, raddr queue, struct sched_sample *out)
{
	const struct beam_layout *l = &s->n->layout;
	uint32_t len, flags;

	out->run_queue = out->context_switches = SCHED_NOW_UNKNOWN;
	if (queue && mem_read_u32(s->n->mem, queue + (raddr)l->runq_len, &len) == 0)
		out->run_queue = len;
	if (!queue || mem_read_u64(s->n->mem, queue + (raddr)l->runq_context_switches,
				   &out->context_switches) != 0)
		out->context_switches = SCHED_NOW_UNKNOWN;
	out->suspended = queue &&
			 mem_read_u32(s->n->mem, queue + (raddr)l->runq_flags, &flags) == 0 &&
			 flags & RUNQ_FLG_SUSPENDED;
}

struct bytes_read {
	uint8_t head[HEAD_MAX], clock[CLOCK_MAX];
	uint64_t reductions;
};

static bool read_bytes(const struct sched_now *s, const struct sched_one *one, struct bytes_read *b)
{
	struct mem_range ranges[] = {
		{.addr = one->esdp, .buf = b->head, .size = s->head_size},
		{.addr = one->esdp + (raddr)s->n->layout.sched_reductions,
		 .buf = &b->reductions,
		 .size = 8},
		{.addr = one->esdp + s->clock_from, .buf = b->clock, .size = s->clock_size},
	};
	size_t nr = ARRAY_SIZE(ranges) - !s->has_clock;

	memset(b, 0, sizeof(*b));
	return mem_readv(s->n->mem, ranges, nr) == nr;
}

static void take_progress(const struct beam_layout *l, const uint8_t *head,
			  struct sched_sample *out)
{
	out->confirmed = bytes_u64(head, l->sched_thr_progress_confirmed);
	out->leader = bytes_u32(head, l->sched_thr_progress_leader) != 0;
	out->leader_value = bytes_u64(head, l->sched_thr_progress_current);
	out->leader_check = (int32_t)bytes_u32(head, l->sched_thr_progress_check);
	out->leader_unmanaged = (int32_t)bytes_u32(head, l->sched_thr_progress_unmanaged);
}

/* CLOCK_MONOTONIC since which a dirty scheduler works without a pause; 0 = unknown, or idle. */
static uint64_t working_since(const struct sched_now *s, const struct bytes_read *b, uint64_t at_ns)
{
	const struct beam_layout *l = &s->n->layout;
	int64_t from = (int64_t)s->clock_from;
	uint64_t start = bytes_u64(b->clock, l->sched_wall_time_start - from);
	uint64_t since = bytes_u64(b->clock, l->sched_working_start - from);

	/* A value of another clock, or of another time namespace, cannot be used. */
	if (!bytes_u32(b->clock, l->sched_wall_time_enabled - from) || since == SCHED_WTIME_IDLE ||
	    start > at_ns || since > at_ns - start)
		return 0;
	return start + since;
}

static bool works(const struct sched_now *s, const struct sched_one *one,
		  const struct bytes_read *b)
{
	const struct beam_layout *l = &s->n->layout;

	if (one->type == THREAD_NORMAL)
		return bytes_u32(b->head, l->sched_thr_progress_active) != 0;
	return s->has_clock &&
	       bytes_u64(b->clock, l->sched_working_start - (int64_t)s->clock_from) !=
		       SCHED_WTIME_IDLE;
}

/* False: it could not be read, or does something else now. */
static bool sample_once(struct sched_now *s, struct sched_one *one, struct sched_sample *out,
			uint64_t at_ns)
{
	const struct beam_layout *l = &s->n->layout;
	bool normal = one->type == THREAD_NORMAL;
	struct bytes_read before, after;
	uint8_t process[PROCESS_MAX];
	raddr queue, current;

	memset(out, 0, sizeof(*out));
	if (!read_bytes(s, one, &before))
		return false;
	one->registers = bytes_u64(before.head, l->sched_registers);
	one->thread_pointer = bytes_u64(before.head, l->sched_tid);
	current = bytes_u64(before.head, l->sched_current_process);
	out->process = current ? owner_of(s, one, current) : 0;
	if (current && !out->process)
		return false;
	out->port = bytes_u64(before.head, l->sched_current_port);
	out->doing = sched_doing_of(works(s, one, &before), out->process, out->port);
	out->reductions = before.reductions;
	queue = bytes_u64(before.head, l->sched_run_queue);
	read_run_queue(s, queue, out);
	if (normal)
		take_progress(l, before.head, out);
	else if (s->has_clock)
		out->working_total =
			bytes_u64(before.clock, l->sched_working_total - (int64_t)s->clock_from);
	one->working_ns = !normal && s->has_clock ? working_since(s, &before, at_ns) : 0;
	if (out->doing == SCHED_DOING_PROCESS && !read_process(s, process, out))
		return false;
	if (out->doing == SCHED_DOING_PORT &&
	    mem_read_u64(s->n->mem, out->port + (raddr)l->port_id, &out->port_id) != 0)
		return false;
	if (normal)
		read_call(s, one, out->doing == SCHED_DOING_PROCESS ? process : NULL, out);
	if (!read_bytes(s, one, &after))
		return false;
	out->moved = out->reductions != after.reductions;
	current = bytes_u64(after.head, l->sched_current_process);
	return out->process == (current ? owner_of(s, one, current) : 0) &&
	       out->port == bytes_u64(after.head, l->sched_current_port) &&
	       works(s, one, &after) == works(s, one, &before);
}

bool sched_sample_same(const struct sched_one *of, const struct sched_sample *a,
		       const struct sched_sample *b)
{
	bool normal = of->type == THREAD_NORMAL;

	if (!a->known || !b->known || a->moved || b->moved || a->doing != b->doing)
		return false;
	if (normal &&
	    (a->reductions != b->reductions || a->context_switches != b->context_switches))
		return false;
	switch (a->doing) {
	case SCHED_DOING_PROCESS:
		return a->process == b->process && a->epid == b->epid && a->reds == b->reds;
	case SCHED_DOING_PORT:
		return a->port == b->port && a->port_id == b->port_id;
	case SCHED_DOING_NOTHING:
		return normal || a->working_total == b->working_total;
	default:
		return false; /* between two samples it may have done several things */
	}
}

static void sample_one(struct sched_now *s, struct sched_one *one, uint64_t at_ns)
{
	struct sched_sample sample;

	for (int i = 0; i < TRIES; i++) {
		sample.known = sample_once(s, one, &sample, at_ns);
		if (sample.known && !sample.moved)
			break;
	}
	if (!sample.known)
		sample.doing = SCHED_DOING_UNKNOWN;
	one->now = sample;
	if (!sample.known)
		return;
	if (!sched_sample_same(one, &one->last, &sample)) {
		one->before_ns = one->last_ns;
		one->same_ns = at_ns;
	}
	if (!one->last_ns || one->last.call_ra != sample.call_ra ||
	    one->last.light_bif != sample.light_bif)
		one->call_same_ns = at_ns;
	if (!one->last_ns || one->last.confirmed != sample.confirmed)
		one->confirmed_same_ns = at_ns;
	one->last = sample;
	one->last_ns = at_ns;
}

/* ---- thread progress ------------------------------------------------------------------------- */

/* The value of thread progress: erts_thr_prgr__, or the leader's copy of it. */
static bool read_value(const struct sched_now *s, uint64_t *value)
{
	bool known = false;

	if (s->value_at && mem_read_u64(s->n->mem, s->value_at, value) == 0)
		return true;
	for (size_t i = 0; i < s->all.len; i++) {
		const struct sched_sample *now = &s->all.data[i].now;

		if (s->all.data[i].type == THREAD_NORMAL && now->known && now->leader &&
		    now->leader_value != PROGRESS_WAITING) {
			*value = now->leader_value;
			known = true;
		}
	}
	return known;
}

static void sample_progress(struct sched_now *s, uint64_t at_ns)
{
	struct sched_progress *p = &s->progress;
	bool was_known = p->known;
	uint64_t was = p->value;

	p->known = read_value(s, &p->value);
	if (!p->known || !was_known || was != p->value) {
		p->same_ns = at_ns;
		p->moves += was_known && p->known;
	}
}

/* True if the scheduler works, and has confirmed no new value of thread progress since then. */
static bool is_stuck(const struct sched_one *one, uint64_t since_ns)
{
	return one->type == THREAD_NORMAL && one->now.known &&
	       one->now.confirmed != PROGRESS_WAITING && one->confirmed_same_ns <= since_ns;
}

static bool is_behind(const struct sched_now *s, const struct sched_one *one, uint64_t since_ns)
{
	return is_stuck(one, since_ns) && s->progress.known && s->progress.same_ns <= since_ns &&
	       one->now.confirmed == s->progress.value;
}

enum progress_holder sched_now_holds(const struct sched_now *s, const struct sched_one *one,
				     uint64_t since_ns)
{
	bool leader = false;

	if (is_behind(s, one, since_ns))
		return PROGRESS_HOLDER_BEHIND;
	if (!is_stuck(one, since_ns) || one->same_ns > since_ns ||
	    one->now.doing == SCHED_DOING_NOTHING)
		return PROGRESS_HOLDER_NONE;
	for (size_t i = 0; i < s->all.len; i++) {
		if (is_behind(s, &s->all.data[i], since_ns))
			return PROGRESS_HOLDER_NONE;
		leader |= s->all.data[i].type == THREAD_NORMAL && s->all.data[i].now.leader;
	}
	return one->now.leader ? PROGRESS_HOLDER_LEADER
	       : leader	       ? PROGRESS_HOLDER_NONE
			       : PROGRESS_HOLDER_ALONE;
}

void sched_now_sample(struct sched_now *s, uint64_t at_ns)
{
	for (size_t i = 0; i < s->all.len; i++)
		sample_one(s, &s->all.data[i], at_ns);
	sample_progress(s, at_ns);
}
