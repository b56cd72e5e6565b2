/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_work.h. */
#include "beam/sched/sched_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/sched/sched.h"

/* Limit of a head, from `active` to the current port; 124 bytes in OTP 25 to 29. */
#define HEAD_MAX 256
/* Limit of a clock, reductions and struct ErtsSchedWallTime; 56 bytes in OTP 25 to 29. */
#define CLOCK_MAX 64
/* Attempts to read a clock that changes while it is read. */
#define CLOCK_TRIES 8

struct span {
	int32_t from;
	uint32_t size;
};

/* A scheduler's clock (its counters) ends just before the next one's head (its current process and
 * port), 41 kB behind its own head.  Data that close is read as one range: each range takes the
 * kernel as long as reading a page. */
#define CLOSE_BYTES 256

/* Where a head or clock is: index in `ranges`, and offset in that range. */
struct part {
	size_t range;
	uint32_t offset;
};

struct sched_work {
	struct mem *mem;
	struct beam_layout layout;
	struct span head, clock;
	VEC(struct sched_worker) all;
	uint32_t nr_normal;
	VEC(struct mem_range) ranges; /* in the order of `all` */
	struct part *parts;	      /* two for each scheduler: its head, its clock */
	uint8_t *bytes;		      /* of all ranges */
	struct mem_range *states;     /* to read Process.state of processes that run */
};

/* Bytes from the first to the last of the fields; false if one is absent, or they exceed `max`. */
static bool span_of(struct span *out, const int32_t *fields, size_t nr, uint32_t max)
{
	int32_t low = INT32_MAX, high = 0;

	for (size_t i = 0; i < nr; i++) {
		if (fields[i] == LAYOUT_ABSENT)
			return false;
		low = MIN(low, fields[i]);
		high = MAX(high, fields[i]);
	}
	*out = (struct span){.from = low, .size = (uint32_t)(high - low) + 8};
	return out->size <= max;
}

static bool find_spans(struct sched_work *w)
{
	const struct beam_layout *l = &w->layout;
	const int32_t head[] = {l->sched_thr_progress_active, l->sched_current_process,
				l->sched_current_port};
	const int32_t clock[] = {l->sched_reductions,	     l->sched_wall_time,
				 l->sched_wall_time_enabled, l->sched_wall_time_start,
				 l->sched_working_total,     l->sched_working_start};

	return span_of(&w->head, head, ARRAY_SIZE(head), HEAD_MAX) &&
	       span_of(&w->clock, clock, ARRAY_SIZE(clock), CLOCK_MAX);
}

static void add_array(struct sched_work *w, raddr array, uint32_t nr, enum thread_type type)
{
	for (uint32_t i = 0; array && i < MIN(nr, UINT16_MAX); i++) {
		const struct sched_worker one = {
			.type = type,
			.number = (uint16_t)(i + 1),
			.esdp = array + (uint64_t)i * (uint32_t)w->layout.sched_stride,
		};

		vec_push(&w->all, one);
	}
}

static struct part add_range(struct sched_work *w, raddr addr, uint32_t size, bool first)
{
	struct mem_range *last = first ? NULL : &w->ranges.data[w->ranges.len - 1];

	if (last && addr >= last->addr + last->size &&
	    addr - (last->addr + last->size) <= CLOSE_BYTES)
		last->size = addr + size - last->addr;
	else
		vec_push(&w->ranges, ((struct mem_range){.addr = addr, .size = size}));
	last = &w->ranges.data[w->ranges.len - 1];
	return (struct part){.range = w->ranges.len - 1, .offset = (uint32_t)(addr - last->addr)};
}

static void make_ranges(struct sched_work *w)
{
	size_t size = 0;

	w->parts = xcalloc(2 * w->all.len, sizeof(*w->parts));
	for (size_t i = 0; i < w->all.len; i++) {
		raddr esdp = w->all.data[i].esdp;
		bool first = w->all.data[i].number == 1; /* first of an array */

		w->parts[2 * i] = add_range(w, esdp + (raddr)w->head.from, w->head.size, first);
		w->parts[2 * i + 1] =
			add_range(w, esdp + (raddr)w->clock.from, w->clock.size, false);
	}
	for (size_t i = 0; i < w->ranges.len; i++)
		size += w->ranges.data[i].size;
	w->bytes = xcalloc(1, size);
	size = 0;
	for (size_t i = 0; i < w->ranges.len; i++) {
		w->ranges.data[i].buf = w->bytes + size;
		size += w->ranges.data[i].size;
	}
}

int sched_work_open(struct sched_work **out, struct beam_node *n, struct mem *mem)
{
	const struct beam_anchors *a = &n->anchors;
	struct sched_work *w;

	*out = NULL;
	if (!a->sched || !a->nr_sched)
		return -ENOENT;
	w = xcalloc(1, sizeof(*w));
	w->mem = mem;
	w->layout = n->layout;
	if (!find_spans(w)) {
		free(w);
		return -ENOENT;
	}
	add_array(w, a->sched, a->nr_sched, THREAD_NORMAL);
	w->nr_normal = (uint32_t)w->all.len;
	add_array(w, a->dirty_cpu, a->nr_dirty_cpu, THREAD_DIRTY_CPU);
	add_array(w, a->dirty_io, a->nr_dirty_io, THREAD_DIRTY_IO);
	make_ranges(w);
	w->states = xcalloc(w->all.len, sizeof(*w->states));
	*out = w;
	return 0;
}

void sched_work_close(struct sched_work *w)
{
	if (!w)
		return;
	vec_free(&w->all);
	vec_free(&w->ranges);
	free(w->parts);
	free(w->bytes);
	free(w->states);
	free(w);
}

const struct sched_worker *sched_work_all(const struct sched_work *w, uint32_t *nr,
					  uint32_t *nr_normal)
{
	*nr = (uint32_t)w->all.len;
	*nr_normal = w->nr_normal;
	return w->all.data;
}

/* ---- what they do ---------------------------------------------------------------------------- */

/* Bytes of a head or clock; NULL: they could not be read. */
static const uint8_t *part_bytes(const struct sched_work *w, size_t part)
{
	const struct part *p = &w->parts[part];
	const struct mem_range *range = &w->ranges.data[p->range];

	return range->err ? NULL : (const uint8_t *)range->buf + p->offset;
}

static void take(struct sched_work *w, size_t at)
{
	const uint8_t *head = part_bytes(w, 2 * at), *clock = part_bytes(w, 2 * at + 1);
	const struct beam_layout *l = &w->layout;
	struct sched_worker *one = &w->all.data[at];
	bool normal = at < w->nr_normal, works;
	uint64_t since;

	one->doing = SCHED_DOING_UNKNOWN;
	if (!head || !clock)
		return;
	since = bytes_u64(clock, l->sched_working_start - w->clock.from);
	works = normal ? bytes_u32(head, l->sched_thr_progress_active - w->head.from) != 0
		       : since != SCHED_WTIME_IDLE;
	one->process = bytes_u64(head, l->sched_current_process - w->head.from);
	one->port = bytes_u64(head, l->sched_current_port - w->head.from);
	one->slice = normal ? bytes_u64(clock, l->sched_reductions - w->clock.from) : since;
	one->doing = sched_doing_of(works, one->process, one->port);
}

void sched_work_sample_some(struct sched_work *w, size_t first, size_t nr)
{
	size_t from, to;

	if (!nr)
		return;
	from = w->parts[2 * first].range;
	to = w->parts[2 * (first + nr) - 1].range;
	mem_readv(w->mem, w->ranges.data + from, to - from + 1);
	for (size_t i = first; i < first + nr; i++)
		take(w, i);
}

void sched_work_sample(struct sched_work *w, bool dirty)
{
	size_t nr = dirty ? w->all.len : w->nr_normal;

	sched_work_sample_some(w, 0, nr);
	for (size_t i = nr; i < w->all.len; i++)
		w->all.data[i].doing = SCHED_DOING_UNKNOWN;
}

void sched_work_sample_gc(struct sched_work *w)
{
	size_t nr = 0;

	for (size_t i = 0; i < w->all.len; i++) {
		struct sched_worker *one = &w->all.data[i];

		one->gc_known = one->doing != SCHED_DOING_UNKNOWN;
		one->gc = false;
		if (one->doing == SCHED_DOING_PROCESS)
			w->states[nr++] = (struct mem_range){.addr = one->process +
								     (raddr)w->layout.process_state,
							     .buf = &one->state,
							     .size = sizeof(one->state)};
	}
	if (nr)
		mem_readv(w->mem, w->states, nr);
	nr = 0;
	for (size_t i = 0; i < w->all.len; i++) {
		struct sched_worker *one = &w->all.data[i];

		if (one->doing != SCHED_DOING_PROCESS)
			continue;
		one->gc_known = !w->states[nr++].err;
		one->gc = one->gc_known && (one->state & PSFLG_GC);
	}
}

bool sched_work_is_suspended(const struct sched_work *w, uint32_t at)
{
	uint32_t flags;

	return at < w->nr_normal &&
	       sched_run_queue_flags(w->mem, &w->layout, w->all.data[at].esdp, &flags) == 0 &&
	       flags & RUNQ_FLG_SUSPENDED;
}

/* ---- what the VM counted --------------------------------------------------------------------- */

struct clock_bytes {
	uint32_t active;
	uint8_t clock[CLOCK_MAX];
};

static bool read_clock(struct sched_work *w, uint32_t at, struct clock_bytes *out)
{
	raddr esdp = w->all.data[at].esdp;
	struct mem_range ranges[] = {
		{.addr = esdp + (raddr)w->layout.sched_thr_progress_active,
		 .buf = &out->active,
		 .size = sizeof(out->active)},
		{.addr = esdp + (raddr)w->clock.from, .buf = out->clock, .size = w->clock.size},
	};

	memset(out, 0, sizeof(*out));
	return mem_readv(w->mem, ranges, ARRAY_SIZE(ranges)) == ARRAY_SIZE(ranges);
}

/* A dirty scheduler's counter is odd while it is written. */
static bool is_whole(const struct sched_work *w, bool normal, const struct clock_bytes *b)
{
	return normal || !(bytes_u32(b->clock, w->layout.sched_wall_time - w->clock.from) & 1);
}

void sched_work_clock(struct sched_work *w, uint32_t at, struct sched_clock_read *out)
{
	const struct beam_layout *l = &w->layout;
	bool normal = at < w->nr_normal, on;
	struct clock_bytes a, b;
	uint64_t since;
	int tries = 0;

	memset(out, 0, sizeof(*out));
	if (!read_clock(w, at, &b))
		return;
	do {
		a = b;
		out->at_ns = clock_monotonic_ns();
		if (++tries > CLOCK_TRIES || !read_clock(w, at, &b))
			return;
	} while (memcmp(&a, &b, sizeof(a)) != 0 || !is_whole(w, normal, &b));
	if (!bytes_u32(b.clock, l->sched_wall_time_enabled - w->clock.from))
		return;
	out->start_ns = bytes_u64(b.clock, l->sched_wall_time_start - w->clock.from);
	out->working_ns = bytes_u64(b.clock, l->sched_working_total - w->clock.from);
	since = bytes_u64(b.clock, l->sched_working_start - w->clock.from);
	on = normal ? b.active != 0 : since != SCHED_WTIME_IDLE;
	/* A value of another clock, or of another time namespace, cannot be used. */
	if (out->start_ns > out->at_ns || out->working_ns > out->at_ns - out->start_ns)
		return;
	if (on && since > out->at_ns - out->start_ns)
		return;
	out->working_ns += on ? out->at_ns - out->start_ns - since : 0;
	out->known = true;
}
