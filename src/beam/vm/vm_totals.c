/* SPDX-License-Identifier: BSD-2-Clause */
/* See vm_totals.h. */
#include "beam/vm/vm_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/vm/vm_counters.h"

/* Limit of a span of fields that is read at once, of scheduler data or a run queue; 104 and 192
 * bytes in OTP 25 to 29. */
#define SPAN_MAX 512
/* MIN_ATOM_TABLE_SIZE of atom.h, OTP 25 to 29 */
#define ATOM_LIMIT_MIN 8192

struct span {
	int32_t from; /* offset; LAYOUT_ABSENT: nothing to read */
	uint32_t size;
};

/* Addresses of a run queue, and of its scheduler if it is a normal one. */
struct queue_address {
	enum vm_queue_type type;
	uint16_t scheduler;
	raddr queue, esdp; /* 0 = none */
};

struct vm_totals_reader {
	struct beam_node *n;
	struct span sched, queue;
	VEC(struct queue_address) places;
	bool has_queue[3]; /* by type: all its run queues were found */
	/* Values that do not change. */
	uint64_t process_limit, port_limit, atom_limit, ets_limit;
	VEC(struct mem_range) ranges;
	uint8_t *bytes; /* of the ranges */
};

/* ---- constant values ------------------------------------------------------------------------- */

/* Span of some fields of 8 bytes; LAYOUT_ABSENT if one is absent, or they are too far apart. */
static struct span span_of(const int32_t *fields, size_t nr)
{
	int32_t low = INT32_MAX, high = 0;

	for (size_t i = 0; i < nr; i++) {
		if (fields[i] == LAYOUT_ABSENT)
			return (struct span){.from = LAYOUT_ABSENT};
		low = MIN(low, fields[i]);
		high = MAX(high, fields[i]);
	}
	if (high - low > SPAN_MAX - 8)
		return (struct span){.from = LAYOUT_ABSENT};
	return (struct span){.from = low, .size = (uint32_t)(high - low) + 8};
}

static int32_t ets_count_at(const struct beam_layout *l)
{
	return l->sched_u_ets_count == LAYOUT_ABSENT ? l->sched_ets_count : l->sched_u_ets_count;
}

static void find_spans(struct vm_totals_reader *r)
{
	const struct beam_layout *l = &r->n->layout;
	const int32_t sched[] = {l->sched_io_in, l->sched_io_out, l->sched_gc_count,
				 l->sched_gc_reclaimed};
	const int32_t queue[] = {l->runq_len, l->runq_reductions, l->runq_context_switches,
				 l->runq_flags};

	r->sched = span_of(sched, ARRAY_SIZE(sched));
	r->queue = span_of(queue, ARRAY_SIZE(queue));
}

/* Has the run queue the expected number?  They are in the order normal, dirty CPU, dirty IO. */
static bool is_queue(struct beam_node *n, raddr queue, enum vm_queue_type type, uint32_t i)
{
	uint32_t ix, nr = n->anchors.nr_sched;

	if (!queue || n->layout.runq_ix == LAYOUT_ABSENT ||
	    mem_read_u32(n->mem, queue + (raddr)n->layout.runq_ix, &ix) != 0)
		return false;
	return ix == (type == VM_QUEUE_NORMAL ? i : type == VM_QUEUE_DIRTY_CPU ? nr : nr + 1);
}

static int find_queues(struct vm_totals_reader *r, enum vm_queue_type type, raddr array,
		       uint32_t nr)
{
	const struct beam_layout *l = &r->n->layout;
	bool normal = type == VM_QUEUE_NORMAL;

	r->has_queue[type] = array && nr > 0;
	for (uint32_t i = 0; array && i < (normal ? nr : MIN(nr, 1u)); i++) {
		struct queue_address p = {.type = type};
		raddr esdp = array + (uint64_t)i * (uint32_t)l->sched_stride;
		int rc = mem_read_u64(r->n->mem, esdp + (raddr)l->sched_run_queue, &p.queue);

		if (rc)
			return rc;
		if (normal) {
			p.scheduler = (uint16_t)(i + 1);
			p.esdp = esdp;
		}
		if (!is_queue(r->n, p.queue, type, i)) {
			p.queue = 0;
			r->has_queue[type] = false;
		}
		if (p.queue || p.esdp)
			vec_push(&r->places, p);
	}
	return 0;
}

/* Reads a number that the node does not change; else VM_UNKNOWN. */
static uint64_t constant(struct beam_node *n, raddr table, int32_t offset)
{
	uint32_t value;

	if (!table || offset == LAYOUT_ABSENT ||
	    mem_read_u32(n->mem, table + (raddr)offset, &value) != 0 || value > INT32_MAX)
		return VM_UNKNOWN;
	return value;
}

/* The number requested by +e, if there is a symbol; else the limit that the VM made of it. */
static uint64_t find_ets_limit(struct beam_node *n)
{
	struct elf_symbol asked;
	uint64_t limit;

	if (n->elf && elf_file_symbol(n->elf, "user_requested_db_max_tabs", &asked)) {
		limit = constant(n, asked.addr + n->bias, 0);
		return limit == VM_UNKNOWN ? limit : MAX(limit, (uint64_t)BEAM_ETS_LIMIT_MIN);
	}
	limit = constant(n, n->anchors.ets_limit, 0);
	return limit >= BEAM_ETS_LIMIT_MIN ? limit : VM_UNKNOWN;
}

/* ---- one pass -------------------------------------------------------------------------------- */

static void add_range(struct vm_totals_reader *r, raddr addr, size_t size)
{
	struct mem_range range = {.addr = addr, .size = size};

	vec_push(&r->ranges, range);
}

enum fixed_range { RANGE_PROCESSES, RANGE_PORTS, RANGE_ATOMS, RANGE_DIRTY_GC, NR_FIXED };
#define RANGES_PER_PLACE 3 /* run queue, scheduler, number of its ETS tables */

/* Lists the addresses that each pass reads.  Unknown ones have size 0. */
static void plan(struct vm_totals_reader *r)
{
	const struct beam_layout *l = &r->n->layout;
	const struct beam_anchors *a = &r->n->anchors;
	int32_t ets = ets_count_at(l);
	size_t total = 0;
	uint8_t *at;

	add_range(r, a->proc_tab + (raddr)l->ptab_count, a->proc_tab ? 4 : 0);
	add_range(r, a->port_tab + (raddr)l->ptab_count, a->port_tab ? 4 : 0);
	add_range(r, a->atom_table + (raddr)l->index_table_entries, a->atom_table ? 4 : 0);
	add_range(r, a->dirty_gc,
		  a->dirty_gc ? (size_t)(l->sched_gc_count - l->sched_gc_reclaimed) + 8 : 0);
	for (size_t i = 0; i < r->places.len; i++) {
		const struct queue_address *p = &r->places.data[i];
		bool sched = p->esdp && r->sched.from != LAYOUT_ABSENT;
		bool queue = p->queue && r->queue.from != LAYOUT_ABSENT;

		add_range(r, p->queue + (raddr)r->queue.from, queue ? r->queue.size : 0);
		add_range(r, p->esdp + (raddr)r->sched.from, sched ? r->sched.size : 0);
		add_range(r, p->esdp + (raddr)ets, p->esdp && ets != LAYOUT_ABSENT ? 8 : 0);
	}
	for (size_t i = 0; i < r->ranges.len; i++)
		total += r->ranges.data[i].size;
	at = r->bytes = xcalloc(total ? total : 1, 1);
	for (size_t i = 0; i < r->ranges.len; i++) {
		r->ranges.data[i].buf = at;
		at += r->ranges.data[i].size;
	}
}

/* Bytes of a range; NULL: not read, or unreadable. */
static const uint8_t *bytes_of(const struct vm_totals_reader *r, size_t range)
{
	const struct mem_range *m = &r->ranges.data[range];

	return m->size && m->err == 0 ? m->buf : NULL;
}

static uint64_t number(const struct vm_totals_reader *r, enum fixed_range range)
{
	const uint8_t *b = bytes_of(r, range);

	return b ? bytes_u32(b, 0) : VM_UNKNOWN;
}

static void read_queue(const struct vm_totals_reader *r, size_t i, struct vm_queue *q)
{
	const struct queue_address *p = &r->places.data[i];
	const struct beam_layout *l = &r->n->layout;
	const uint8_t *queue = bytes_of(r, NR_FIXED + i * RANGES_PER_PLACE);
	const uint8_t *sched = bytes_of(r, NR_FIXED + i * RANGES_PER_PLACE + 1);

	*q = (struct vm_queue){.type = p->type, .scheduler = p->scheduler};
	q->length = q->reductions = q->context_switches = VM_UNKNOWN;
	q->gcs = q->gc_words = q->input = q->output = VM_UNKNOWN;
	if (queue) {
		int32_t length = (int32_t)bytes_u32(queue, l->runq_len - r->queue.from);

		q->length = length >= 0 ? (uint64_t)length : VM_UNKNOWN;
		q->reductions = bytes_u64(queue, l->runq_reductions - r->queue.from);
		q->context_switches = bytes_u64(queue, l->runq_context_switches - r->queue.from);
		q->offline = p->type == VM_QUEUE_NORMAL &&
			     bytes_u32(queue, l->runq_flags - r->queue.from) & RUNQ_FLG_SUSPENDED;
	}
	if (sched) {
		q->gcs = bytes_u64(sched, l->sched_gc_count - r->sched.from);
		q->gc_words = bytes_u64(sched, l->sched_gc_reclaimed - r->sched.from);
		q->input = bytes_u64(sched, l->sched_io_in - r->sched.from);
		q->output = bytes_u64(sched, l->sched_io_out - r->sched.from);
	}
}

/* Adds a value to a sum, which is unknown once one value is. */
static void add(uint64_t *sum, uint64_t value)
{
	*sum = *sum == VM_UNKNOWN || value == VM_UNKNOWN ? VM_UNKNOWN : *sum + value;
}

static void sum_queues(const struct vm_totals_reader *r, struct vm_totals *t)
{
	bool normal = r->has_queue[VM_QUEUE_NORMAL];
	bool all = normal && r->has_queue[VM_QUEUE_DIRTY_CPU] && r->has_queue[VM_QUEUE_DIRTY_IO];
	const uint8_t *dirty = bytes_of(r, RANGE_DIRTY_GC);
	uint64_t *v = t->value, none = r->n->anchors.sched ? 0 : VM_UNKNOWN;

	v[VM_RUN_QUEUE] = v[VM_REDUCTIONS] = v[VM_CONTEXT_SWITCHES] = all ? 0 : VM_UNKNOWN;
	v[VM_ETS_COUNT] = v[VM_INPUT] = v[VM_OUTPUT] = none;
	v[VM_GC_COUNT] = v[VM_GC_WORDS] = VM_UNKNOWN;
	if (dirty) {
		v[VM_GC_WORDS] = bytes_u64(dirty, 0);
		v[VM_GC_COUNT] = bytes_u64(dirty, r->n->layout.sched_gc_count -
							  r->n->layout.sched_gc_reclaimed);
		add(&v[VM_GC_WORDS], none);
		add(&v[VM_GC_COUNT], none);
	}
	for (size_t i = 0; i < t->queues.len; i++) {
		const struct vm_queue *q = &t->queues.data[i];
		const uint8_t *ets = bytes_of(r, NR_FIXED + i * RANGES_PER_PLACE + 2);

		add(&v[VM_RUN_QUEUE], q->length);
		add(&v[VM_REDUCTIONS], q->reductions);
		add(&v[VM_CONTEXT_SWITCHES], q->context_switches);
		if (q->type != VM_QUEUE_NORMAL)
			continue;
		add(&v[VM_GC_COUNT], q->gcs);
		add(&v[VM_GC_WORDS], q->gc_words);
		add(&v[VM_INPUT], q->input);
		add(&v[VM_OUTPUT], q->output);
		add(&v[VM_ETS_COUNT], ets ? bytes_u64(ets, 0) : VM_UNKNOWN);
	}
}

/* ---- reasons for unknown values -------------------------------------------------------------- */

static const char *reason(const struct vm_totals_reader *r, enum vm_total total)
{
	const struct beam_anchors *a = &r->n->anchors;

	switch (total) {
	case VM_PROCESS_COUNT:
	case VM_PROCESS_LIMIT:
		return a->proc_tab ? "could not be read" : "the process table was not found";
	case VM_PORT_COUNT:
	case VM_PORT_LIMIT:
		return a->port_tab ? "could not be read" : "the port table was not found";
	case VM_ATOM_COUNT:
	case VM_ATOM_LIMIT:
		return a->atom_table ? "could not be read" : "the atom table was not found";
	case VM_ETS_LIMIT:
		return "the VM's variable with this limit was not found";
	case VM_RUN_QUEUE:
	case VM_REDUCTIONS:
	case VM_CONTEXT_SWITCHES:
		if (!r->has_queue[VM_QUEUE_DIRTY_CPU] || !r->has_queue[VM_QUEUE_DIRTY_IO])
			return "the run queues of dirty schedulers were not found";
		break;
	case VM_GC_COUNT:
	case VM_GC_WORDS:
		if (!a->dirty_gc)
			return "the VM's counters of GCs on dirty schedulers were not found";
		break;
	default:
		break;
	}
	return a->sched ? "could not be read" : "the schedulers were not found";
}

int vm_totals_read(struct vm_totals_reader *r, struct vm_totals *out, struct error *err)
{
	uint64_t *v = out->value;
	size_t nr = mem_readv(r->n->mem, r->ranges.data, r->ranges.len);

	if (!beam_node_is_there(r->n))
		return beam_node_unreadable(r->n, "counters", -ESRCH, err);
	if (nr == 0 && r->ranges.len)
		return beam_node_unreadable(r->n, "counters", r->ranges.data[0].err, err);
	out->queues.len = 0;
	for (size_t i = 0; i < r->places.len; i++) {
		struct vm_queue q;

		read_queue(r, i, &q);
		vec_push(&out->queues, q);
	}
	sum_queues(r, out);
	v[VM_PROCESS_LIMIT] = r->process_limit;
	v[VM_PORT_LIMIT] = r->port_limit;
	v[VM_ATOM_LIMIT] = r->atom_limit;
	v[VM_ETS_LIMIT] = r->ets_limit;
	v[VM_ATOM_COUNT] = number(r, RANGE_ATOMS);
	/* erts_ptab_count(): while an id is being allocated in a full table, count exceeds max. */
	v[VM_PROCESS_COUNT] = number(r, RANGE_PROCESSES);
	if (v[VM_PROCESS_COUNT] != VM_UNKNOWN)
		v[VM_PROCESS_COUNT] = MIN(v[VM_PROCESS_COUNT], r->process_limit);
	v[VM_PORT_COUNT] = number(r, RANGE_PORTS);
	if (v[VM_PORT_COUNT] != VM_UNKNOWN)
		v[VM_PORT_COUNT] = MIN(v[VM_PORT_COUNT], r->port_limit);
	for (size_t i = 0; i < NR_VM_TOTALS; i++)
		out->why[i] = v[i] == VM_UNKNOWN ? reason(r, (enum vm_total)i) : NULL;
	return 0;
}

int vm_totals_open(struct vm_totals_reader **out, struct beam_node *n, struct error *err)
{
	struct vm_totals_reader *r;
	int rc;

	*out = NULL;
	if (n->unsupported[0]) {
		char title[32];

		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP, "%s: %s",
				 beam_node_title(n, title, sizeof(title)), n->unsupported);
	}
	r = xcalloc(1, sizeof(*r));
	r->n = n;
	vm_counters_find(n);
	find_spans(r);
	rc = find_queues(r, VM_QUEUE_NORMAL, n->anchors.sched, n->anchors.nr_sched);
	rc = rc ? rc
		: find_queues(r, VM_QUEUE_DIRTY_CPU, n->anchors.dirty_cpu, n->anchors.nr_dirty_cpu);
	rc = rc ? rc
		: find_queues(r, VM_QUEUE_DIRTY_IO, n->anchors.dirty_io, n->anchors.nr_dirty_io);
	if (rc) {
		vm_totals_close(r);
		return beam_node_unreadable(n, "schedulers", rc, err);
	}
	r->process_limit = constant(n, n->anchors.proc_tab, n->layout.ptab_max);
	r->port_limit = constant(n, n->anchors.port_tab, n->layout.ptab_max);
	r->atom_limit = constant(n, n->anchors.atom_table, n->layout.index_table_limit);
	if (r->atom_limit < ATOM_LIMIT_MIN)
		r->atom_limit = VM_UNKNOWN;
	r->ets_limit = find_ets_limit(n);
	plan(r);
	*out = r;
	return 0;
}

void vm_totals_close(struct vm_totals_reader *r)
{
	if (!r)
		return;
	vec_free(&r->places);
	vec_free(&r->ranges);
	free(r->bytes);
	free(r);
}

void vm_totals_free(struct vm_totals *t)
{
	vec_free(&t->queues);
}
