/* SPDX-License-Identifier: BSD-2-Clause */
/* See running.h. */
#include "beam/sched/running.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/sched/sched_work.h"

/* Limit of the size of struct process; 776 bytes at most in OTP 25 to 29. */
#define PROCESS_MAX 1024
/* ErtsGCInfo: two words. */
#define COUNTS 2

/* Ranges of a scheduler with a process, in the order in which they are read: a NIF or GC that
 * begins meanwhile is found by the next sample. */
enum { RANGE_NIF, RANGE_COUNTS, RANGE_PROCESS, NR_RANGES };

struct part {
	uint64_t nif, counts[COUNTS];
	uint8_t process[PROCESS_MAX];
};

struct running {
	struct mem *mem;
	struct beam_layout layout;
	struct sched_work *work;
	VEC(struct running_one) all;
	struct mem_range *ranges;
	struct part *parts;
	size_t *which; /* indices in `all` of schedulers with a process */
};

static bool has_layout(const struct beam_layout *l)
{
	const int32_t fields[] = {
		l->sched_current_nif, l->sched_gc_count,   l->process_id,
		l->process_state,     l->process_flags,	   l->process_fcalls,
		l->process_reds,      l->process_gen_gcs,  l->process_max_gen_gcs,
		l->process_heap_sz,   l->process_old_heap, l->process_old_hend,
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i] == LAYOUT_ABSENT)
			return false;
	return l->sched_gc_count == l->sched_gc_reclaimed + 8 && l->process_size <= PROCESS_MAX;
}

int running_open(struct running **out, struct beam_node *n, struct mem *mem)
{
	const struct sched_worker *workers;
	struct running *r;
	uint32_t nr, nr_normal;
	int rc;

	*out = NULL;
	if (!has_layout(&n->layout))
		return -ENOENT;
	r = xcalloc(1, sizeof(*r));
	r->mem = mem;
	r->layout = n->layout;
	rc = sched_work_open(&r->work, n, mem);
	if (rc) {
		free(r);
		return rc;
	}
	workers = sched_work_all(r->work, &nr, &nr_normal);
	for (uint32_t i = 0; i < nr; i++) {
		const struct running_one one = {.type = workers[i].type,
						.number = workers[i].number,
						.esdp = workers[i].esdp};

		vec_push(&r->all, one);
	}
	r->ranges = xcalloc((size_t)nr * NR_RANGES, sizeof(*r->ranges));
	r->parts = xcalloc(nr, sizeof(*r->parts));
	r->which = xcalloc(nr, sizeof(*r->which));
	*out = r;
	return 0;
}

void running_close(struct running *r)
{
	if (!r)
		return;
	sched_work_close(r->work);
	vec_free(&r->all);
	free(r->ranges);
	free(r->parts);
	free(r->which);
	free(r);
}

const struct running_one *running_all(const struct running *r, uint32_t *nr)
{
	*nr = (uint32_t)r->all.len;
	return r->all.data;
}

bool running_is_same(enum running_span span, const struct running_key *earlier,
		     const struct running_key *later)
{
	if (!later->of || later->of != earlier->of || later->slice != earlier->slice ||
	    later->reds != earlier->reds)
		return false;
	/* enif_consume_timeslice() may have consumed the rest of the slice, so that a further call
	 * does not change `part`. */
	return later->part == earlier->part || (span == RUNNING_NIF && later->part == 0);
}

/* ---- sampling -------------------------------------------------------------------------------- */

static void set_ranges(const struct running *r, struct mem_range *ranges, struct part *part,
		       raddr esdp, raddr process)
{
	ranges[RANGE_NIF] = (struct mem_range){
		.addr = esdp + (raddr)r->layout.sched_current_nif, .buf = &part->nif, .size = 8};
	ranges[RANGE_COUNTS] =
		(struct mem_range){.addr = esdp + (raddr)r->layout.sched_gc_reclaimed,
				   .buf = part->counts,
				   .size = sizeof(part->counts)};
	ranges[RANGE_PROCESS] = (struct mem_range){
		.addr = process, .buf = part->process, .size = (size_t)r->layout.process_size};
}

static void take_process(const struct running *r, const struct part *part,
			 struct running_process *out)
{
	const struct beam_layout *l = &r->layout;
	const uint8_t *bytes = part->process;
	raddr old_heap = bytes_u64(bytes, l->process_old_heap);
	raddr old_hend = bytes_u64(bytes, l->process_old_hend);

	*out = (struct running_process){
		.epid = bytes_u64(bytes, l->process_id),
		.state = bytes_u32(bytes, l->process_state),
		.flags = bytes_u32(bytes, l->process_flags),
		.gen_gcs = bytes_u16(bytes, l->process_gen_gcs),
		.max_gen_gcs = bytes_u16(bytes, l->process_max_gen_gcs),
		.heap = bytes_u64(bytes, l->process_heap_sz),
		.old_heap = old_heap && old_hend >= old_heap ? (old_hend - old_heap) / 8 : 0,
		.reclaimed = part->counts[0],
		.collections = part->counts[1],
	};
}

static void take_parts(const struct running *r, struct running_one *one, const struct part *part)
{
	const struct beam_layout *l = &r->layout;
	struct running_key *slice = &one->in[RUNNING_SLICE];
	bool normal = one->type == THREAD_NORMAL;

	take_process(r, part, &one->process);
	if (TERM_IS_INVALID_PID(one->process.epid)) {
		/* In a match specification: the slice is that of another process (abi/vm.h). */
		one->known = false;
		memset(one->in, 0, sizeof(one->in));
		memset(&one->process, 0, sizeof(one->process));
		return;
	}
	one->parts_known = true;
	slice->reds = normal ? 0 : bytes_u64(part->process, l->process_reds);
	if (one->process.state & PSFLG_GC) {
		one->in[RUNNING_GC] = *slice;
		one->in[RUNNING_GC].part = normal ? one->process.collections : 0;
	}
	if (part->nif) {
		one->in[RUNNING_NIF] = *slice;
		one->in[RUNNING_NIF].part =
			normal ? bytes_u64(part->process, l->process_fcalls) & UINT32_MAX : 0;
	}
}

void running_sample_some(struct running *r, size_t first, size_t nr)
{
	const struct sched_worker *workers;
	uint32_t nr_all, nr_normal;
	size_t nr_with = 0;

	sched_work_sample_some(r->work, first, nr);
	workers = sched_work_all(r->work, &nr_all, &nr_normal);
	for (size_t i = first; i < first + nr; i++) {
		struct running_one *one = &r->all.data[i];
		const struct sched_worker *w = &workers[i];

		one->known = w->doing != SCHED_DOING_UNKNOWN;
		one->port = w->doing == SCHED_DOING_PORT;
		memset(one->in, 0, sizeof(one->in));
		memset(&one->process, 0, sizeof(one->process));
		one->parts_known = one->known && w->doing != SCHED_DOING_PROCESS;
		one->in[RUNNING_SLICE].slice = w->slice;
		one->in[RUNNING_SLICE].of = one->port ? w->port : 0;
		if (w->doing != SCHED_DOING_PROCESS)
			continue;
		one->in[RUNNING_SLICE].of = w->process;
		set_ranges(r, r->ranges + nr_with * NR_RANGES, &r->parts[nr_with], one->esdp,
			   w->process);
		r->which[nr_with++] = i;
	}
	if (nr_with)
		mem_readv(r->mem, r->ranges, nr_with * NR_RANGES);
	for (size_t i = 0; i < nr_with; i++) {
		const struct mem_range *ranges = r->ranges + i * NR_RANGES;

		if (!ranges[RANGE_NIF].err && !ranges[RANGE_COUNTS].err &&
		    !ranges[RANGE_PROCESS].err)
			take_parts(r, &r->all.data[r->which[i]], &r->parts[i]);
	}
}

void running_sample(struct running *r)
{
	running_sample_some(r, 0, r->all.len);
}

bool running_process_read(struct running *r, const struct running_one *one, raddr process,
			  uint64_t epid, struct running_process *out)
{
	struct mem_range ranges[NR_RANGES];
	struct part part;

	set_ranges(r, ranges, &part, one->esdp, process);
	if (mem_readv(r->mem, ranges, NR_RANGES) != NR_RANGES)
		return false;
	take_process(r, &part, out);
	return out->epid == epid && !(out->state & PSFLG_FREE);
}

static void read_text(struct running *r, raddr at, char *text, size_t size)
{
	raddr text_at;

	if (mem_read_u64(r->mem, at, &text_at) == 0 && text_at)
		mem_read_string(r->mem, text_at, text, size);
}

void running_port_read(struct running *r, raddr port, struct running_port *out)
{
	const struct beam_layout *l = &r->layout;
	raddr driver;

	memset(out, 0, sizeof(*out));
	if (mem_read_u64(r->mem, port + (raddr)l->port_id, &out->id))
		out->id = 0;
	read_text(r, port + (raddr)l->port_name, out->name, sizeof(out->name));
	if (mem_read_u64(r->mem, port + (raddr)l->port_drv_ptr, &driver) == 0)
		read_text(r, driver + (raddr)l->driver_name, out->driver, sizeof(out->driver));
}
