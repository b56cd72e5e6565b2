/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of fields that inspection reads: queues, sums, links, ports, tables, code; see checks.c.
 * Not run for the table of the node's own build, as that table was compared with such nodes when it
 * was made.  All properties hold in OTP 24 to 29.
 */
#include "abi/vm.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "beam/locate/checks_internal.h"
#include "beam/vm/carriers.h"
#include "beam/vm/ets.h"
#include "beam/vm/ets_objects.h"
#include "beam/vm/links.h"
#include "beam/term/pid.h"
#include "beam/vm/ports.h"
#include "beam/process/process.h"

#define MODULES_SAMPLE	16
#define MAX_SANE	(1ull << 48) /* limit of sizes and sums */
#define MAX_FUNCTIONS	(1u << 20)
#define MAX_QUEUE_FLAGS (1u << 20)
#define QUEUE_HEAPS	3 /* FS_OFF_HEAP_MSGQ and FS_ON_HEAP_MSGQ: one of them is set */
#define OLD_HEAPS_MIN	4 /* if so many have old heaps, some old heap is partly filled */
#define FEW_PORTS	2
#define TABLES_SAMPLE	8 /* tables whose objects are counted */
#define OBJECTS_MAX	1000
#define CARRIERS_SAMPLE 128
#define SBCT_MIN	1024 /* +M<S>sbct and lmbcs are kilobytes */

static bool rests(const struct check_run *c, size_t i)
{
	return !check_is_busy(c, i) && !(check_u32(c, i, c->l->process_state) & PSFLG_ACTIVE);
}

static bool is_pointer(const struct check_run *c, raddr addr)
{
	return space_is_pointer(&c->s.space, addr, 8);
}

static bool is_in_struct(const struct check_run *c, size_t i, raddr addr)
{
	return addr >= c->s.addrs[i] && addr < c->s.addrs[i] + (raddr)c->l->process_size;
}

/* ---- messages ------------------------------------------------------------------------------- */

/* True if two fields of process i are a message queue.  first: offset of the pointer to the first
 * message.  last: offset of the address of the last message's `next` pointer, which is NULL or
 * leads to messages that were appended meanwhile. */
static bool is_queue(const struct check_run *c, size_t i, int32_t first, int32_t last)
{
	raddr head = check_u64(c, i, first), at = check_u64(c, i, last), end;

	if (!head)
		return at == c->s.addrs[i] + (raddr)first;
	return is_pointer(c, head) && !is_in_struct(c, i, head) && !is_in_struct(c, i, at) &&
	       mem_read_u64(c->n->mem, at, &end) == 0 && check_null_or_pointer(c, end);
}

static bool are_queues(const struct check_run *c, size_t i)
{
	const struct beam_layout *l = c->l;
	raddr first = check_u64(c, i, l->process_sig_qs_first);
	raddr save = check_u64(c, i, l->process_sig_qs_save);
	uint32_t flags = check_u32(c, i, l->process_sig_qs_flags);
	int32_t len =
		l->process_sig_qs_mq_len >= 0 ? l->process_sig_qs_mq_len : l->process_sig_qs_len;

	if (!is_queue(c, i, l->process_sig_qs_first, l->process_sig_qs_last) ||
	    !is_queue(c, i, l->process_sig_qs_cont, l->process_sig_qs_cont_last) ||
	    !is_queue(c, i, l->process_sig_inq_first, l->process_sig_inq_last))
		return false;
	if (first ? is_in_struct(c, i, save) &&
			    save != c->s.addrs[i] + (raddr)l->process_sig_qs_first
		  : save != c->s.addrs[i] + (raddr)l->process_sig_qs_first)
		return false;
	return (flags & QUEUE_HEAPS) && flags < MAX_QUEUE_FLAGS &&
	       (first || check_u64(c, i, l->process_sig_qs_cont) || len < 0 ||
		check_u64(c, i, len) == 0) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_sig_qs_nmsigs_next)) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_sig_inq_nmsigs_next));
}

/* Runs is_good() for each waiting process of the sample. */
static bool check_each(struct check_run *c, bool (*is_good)(const struct check_run *c, size_t i))
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		if (!rests(c, i))
			continue;
		nr++;
		good += is_good(c, i);
	}
	return check_mostly(c, good, nr, "waiting processes");
}

bool check_queues(struct check_run *c)
{
	return check_each(c, are_queues);
}

/* ---- heaps ---------------------------------------------------------------------------------- */

bool check_old_heaps(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	size_t good = 0, nr = 0, with = 0;
	bool apart = false;

	for (size_t i = 0; i < c->s.nr; i++) {
		raddr heap = check_u64(c, i, l->process_old_heap);
		raddr htop = check_u64(c, i, l->process_old_htop);
		raddr hend = check_u64(c, i, l->process_old_hend);
		raddr high = check_u64(c, i, l->process_high_water);

		if (!rests(c, i) || check_u64(c, i, l->process_abandoned_heap))
			continue;
		nr++;
		with += heap != 0;
		apart |= heap < htop && htop < hend;
		good += !heap == !htop && !heap == !hend && heap <= htop && htop <= hend &&
			(!heap || is_pointer(c, heap)) && (hend - heap) % 8 == 0 &&
			high >= check_u64(c, i, l->process_heap) &&
			high <= check_u64(c, i, l->process_stop);
	}
	if (with > OLD_HEAPS_MIN && !apart)
		return check_see(c, false, "two of the pointers are equal in all %zu processes",
				 with);
	return check_mostly(c, good, nr, "waiting processes");
}

/* Limits of heap sizes: a heap has at least its minimum size, unless the process hibernates. */
static bool are_limits(const struct check_run *c, size_t i)
{
	const struct beam_layout *l = c->l;
	uint64_t min = check_u64(c, i, l->process_min_heap_size);
	uint64_t min_vheap = check_u64(c, i, l->process_min_vheap_size);
	uint64_t max = check_u64(c, i, l->process_max_heap_size) >> 3; /* flags in the low bits */
	uint64_t size = check_u64(c, i, l->process_heap_sz);
	bool hibernated = check_u32(c, i, l->process_flags) & F_HIBERNATED;
	uint16_t gcs = bytes_u16(check_process(c, i), l->process_gen_gcs);
	uint16_t max_gcs = bytes_u16(check_process(c, i), l->process_max_gen_gcs);

	return min > 0 && (hibernated || min <= size) && min_vheap > 0 && max < MAX_SANE &&
	       (max == 0 || max >= min) && gcs <= max_gcs &&
	       min_vheap <= check_u64(c, i, l->process_bin_vheap_sz) &&
	       min_vheap <= check_u64(c, i, l->process_bin_old_vheap_sz) &&
	       check_u64(c, i, l->process_bin_vheap_sz) < MAX_SANE &&
	       check_u64(c, i, l->process_bin_old_vheap_sz) < MAX_SANE &&
	       check_u64(c, i, l->process_off_heap_overhead) < MAX_SANE &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_off_heap_first)) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_mbuf)) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_msg_frag)) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_abandoned_heap)) &&
	       check_null_or_pointer(c, check_u64(c, i, l->process_psd)) &&
	       check_u64(c, i, l->process_mbuf_sz) < MAX_SANE;
}

bool check_heap_limits(struct check_run *c)
{
	return check_each(c, are_limits);
}

/* ---- sums, run queues ----------------------------------------------------------------------- */

/* Sums of reductions: the processes that were started first hardly ever have equal ones. */
bool check_sums(struct check_run *c)
{
	size_t sane = 0, different = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		uint64_t reds = check_u64(c, i, c->l->process_reds);
		bool seen = false;

		sane += reds > 0 && reds < MAX_SANE;
		for (size_t k = 0; k < i && !seen; k++)
			seen = check_u64(c, k, c->l->process_reds) == reds;
		different += !seen;
	}
	return check_see(c, sane * 4 >= c->s.nr * 3 && different * 3 >= c->s.nr,
			 "%zu of %zu processes, %zu different numbers", sane, c->s.nr, different);
}

static bool is_run_queue(const struct check_run *c, raddr rq)
{
	const struct beam_anchors *a = &c->n->anchors;
	raddr of;

	for (uint32_t i = 0; i < a->nr_sched; i++) {
		raddr at = a->sched + i * (raddr)c->l->sched_stride;

		if (mem_read_u64(c->n->mem, at + (raddr)c->l->sched_run_queue, &of) == 0 &&
		    of == rq)
			return true;
	}
	return false;
}

bool check_run_queues(struct check_run *c)
{
	const struct beam_anchors *a = &c->n->anchors;
	const struct beam_layout *l = c->l;
	size_t good = 0, nr = 0;
	raddr before = 0;

	for (uint32_t i = 0; i < a->nr_sched; i++) {
		raddr at = a->sched + i * (raddr)l->sched_stride, rq, ssi, wheel;
		uint32_t ix;

		if (mem_read_u64(c->n->mem, at + (raddr)l->sched_run_queue, &rq) ||
		    mem_read_u64(c->n->mem, at + (raddr)l->sched_ssi, &ssi) ||
		    mem_read_u64(c->n->mem, at + (raddr)l->sched_timer_wheel, &wheel) ||
		    mem_read_u32(c->n->mem, rq + (raddr)l->runq_ix, &ix))
			return check_see(c, false, "scheduler %u is not readable", i + 1);
		if (ix != i || (before && rq - before != (raddr)l->runq_stride) ||
		    !is_pointer(c, ssi) || !is_pointer(c, wheel))
			return check_see(c, false, "scheduler %u has run queue %u", i + 1, ix);
		before = rq;
	}
	for (size_t i = 0; i < c->s.nr; i++) {
		if (!rests(c, i))
			continue;
		nr++;
		good += is_run_queue(c, check_u64(c, i, l->process_run_queue) & ~7ull);
	}
	return check_mostly(c, good, nr, "waiting processes");
}

/* ---- links and monitors --------------------------------------------------------------------- */

struct relation {
	uint64_t of, to;
	bool target;
};

struct relations {
	VEC(struct relation) v;
	uint64_t unreadable;
};

/* The process has handled all signals that add and remove links and monitors. */
static bool has_no_signals(const struct check_run *c, size_t i)
{
	return rests(c, i) &&
	       !(check_u32(c, i, c->l->process_state) & (PSFLG_ACTIVE_SYS | PSFLG_EXITING)) &&
	       !check_u64(c, i, c->l->process_sig_inq_first) &&
	       !check_u64(c, i, c->l->process_sig_qs_cont);
}

/* The process is in the sample and has no signals, so that all its links and monitors are known. */
static bool is_collected(const struct check_run *c, uint64_t epid)
{
	for (size_t i = 0; i < c->s.nr; i++)
		if (check_u64(c, i, c->l->process_id) == epid)
			return has_no_signals(c, i);
	return false;
}

/* Links (or monitors, if `sides`: one side is the target) between two processes of the sample must
 * be known to both.  The processes are read one after the other, so that one pair may have changed
 * in between. */
static bool are_mutual(struct check_run *c, const struct relations *r, bool sides)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < r->v.len; i++) {
		const struct relation *a = &r->v.data[i];
		bool found = false;

		if (!is_collected(c, a->to))
			continue;
		for (size_t k = 0; k < r->v.len && !found; k++) {
			const struct relation *b = &r->v.data[k];

			found = b->of == a->to && b->to == a->of &&
				(b->target != a->target) == sides;
		}
		nr++;
		good += found;
	}
	return check_see(c,
			 (nr > 0 || sides) && (nr - good) * 8 <= nr + 8 && r->unreadable * 8 <= nr,
			 "%zu of %zu, and %llu that cannot be read", good, nr,
			 (unsigned long long)r->unreadable);
}

bool check_links(struct check_run *c)
{
	struct relations r = {0};
	bool ok;

	for (size_t i = 0; i < c->s.nr; i++) {
		struct link_list list;

		if (!has_no_signals(c, i))
			continue;
		links_read(c->n, check_u64(c, i, c->l->process_links), &list);
		r.unreadable += list.unreadable;
		for (size_t k = 0; k < list.v.len; k++)
			vec_push(&r.v, ((struct relation){check_u64(c, i, c->l->process_id),
							  list.v.data[k].item, false}));
		links_free(&list);
	}
	ok = are_mutual(c, &r, false);
	vec_free(&r.v);
	return ok;
}

bool check_monitors(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	struct relations r = {0};
	bool ok;

	for (size_t i = 0; i < c->s.nr; i++) {
		struct monitor_list list;

		if (!has_no_signals(c, i))
			continue;
		monitors_read(c->n, check_u64(c, i, l->process_monitors),
			      check_u64(c, i, l->process_lt_monitors), &list);
		r.unreadable += list.unreadable;
		for (size_t k = 0; k < list.v.len; k++)
			if (list.v.data[k].type == MONITOR_PROC)
				vec_push(&r.v, ((struct relation){check_u64(c, i, l->process_id),
								  list.v.data[k].item,
								  list.v.data[k].target}));
		monitors_free(&list);
	}
	ok = are_mutual(c, &r, true);
	vec_free(&r.v);
	return ok;
}

/* ---- ports and tables ----------------------------------------------------------------------- */

static bool is_port(const struct check_run *c, const struct port_facts *p)
{
	uint64_t data;

	return !p->torn && p->bytes_in < MAX_SANE && p->bytes_out < MAX_SANE &&
	       p->queue_size < MAX_SANE && p->os_pid >= -1 && p->os_pid < (1 << 22) &&
	       mem_read_u64(c->n->mem, p->addr + (raddr)c->l->port_data, &data) == 0 &&
	       ((data & 3) || check_null_or_pointer(c, data));
}

bool check_port_fields(struct check_run *c)
{
	struct port_list list;
	size_t good = 0, linked = 0;
	bool ok;

	if (!c->n->anchors.port_tab)
		return check_see(c, true, "port table not found");
	if (ports_read(c->n, &list, NULL) != 0)
		return check_see(c, false, "not readable");
	for (size_t i = 0; i < list.len; i++) {
		const struct port_facts *p = &list.data[i];

		good += is_port(c, p);
		for (uint32_t k = 0; k < p->links.len; k++)
			if (list.terms.data[p->links.first + k] == p->connected) {
				linked++;
				break;
			}
	}
	/* Ports are linked to the process that opened them, and few owners unlink; exceptions are
	 * ports that the VM opens at start, which may be all of a small node. */
	ok = check_see(c,
		       good * 2 >= list.len && (linked * 2 >= list.len || list.len <= FEW_PORTS) &&
			       list.cut * 8 <= list.len,
		       "%zu of %zu ports, %zu linked to their owners", good, list.len, linked);
	port_list_free(&list);
	return ok;
}

static bool holds_what_it_counts(const struct check_run *c, const struct ets_table *t)
{
	struct ets_objects objects = {0};
	bool ok = ets_objects_read(c->n, t, OBJECTS_MAX + 1, &objects) == 0 &&
		  objects.v.len == t->size;

	ets_objects_free(&objects);
	return ok;
}

bool check_ets(struct check_run *c)
{
	size_t good = 0, nr = 0, counted = 0, whole = 0;
	struct ets_list list;
	bool ok;

	if (!c->n->anchors.sched || ets_read(c->n, &list, NULL) != 0)
		return check_see(c, false, "not readable");
	for (size_t i = 0; i < list.len; i++) {
		const struct ets_table *t = &list.data[i];

		nr++;
		good += !t->torn && t->memory >= (uint64_t)c->l->ets_size / 8 &&
			t->memory < MAX_SANE && t->size <= t->memory;
		if (whole < TABLES_SAMPLE && counted < 2 * TABLES_SAMPLE && t->size > 0 &&
		    t->size <= OBJECTS_MAX && !t->fixed) {
			counted++;
			whole += holds_what_it_counts(c, t);
		}
	}
	ok = nr > 0 && nr * 8 >= list.counted * 7 && list.vanished * 8 <= list.counted &&
	     good * 8 >= nr * 7 && whole * 4 >= counted; /* the rest may change while it is read */
	check_see(c, ok,
		  "%zu of %llu tables were found, %zu of them plausible; of %zu tables %zu have as "
		  "many objects as they count",
		  nr, (unsigned long long)list.counted, good, counted, whole);
	ets_list_free(&list);
	return ok;
}

/* ---- code ----------------------------------------------------------------------------------- */

static bool is_part(raddr code, uint32_t len, raddr at, uint64_t size)
{
	return (at == 0 && size == 0) || (at >= code && size < len && at - code <= len - size);
}

static bool is_function(const struct check_run *c, raddr at, uint32_t module)
{
	uint64_t mfa[3];

	return check_read_mfa(c, at + (raddr)c->l->code_info_mfa, mfa) && mfa[0] >> 6 == module;
}

static bool leads_to_functions(const struct check_run *c, raddr module)
{
	const struct beam_layout *l = c->l;
	raddr curr = module + (raddr)l->module_curr, code, first, last, end;
	uint32_t atom, len;
	uint64_t nr;

	if (mem_read_u32(c->n->mem, module + (raddr)l->module_module, &atom) ||
	    mem_read_u64(c->n->mem, curr + (raddr)l->module_instance_code_hdr, &code) ||
	    mem_read_u32(c->n->mem, curr + (raddr)l->module_instance_code_length, &len))
		return false;
	if (!code)
		return true;
	if (mem_read_u64(c->n->mem, code + (raddr)l->code_header_num_functions, &nr) || !nr ||
	    nr > MAX_FUNCTIONS ||
	    mem_read_u64(c->n->mem, code + (raddr)l->code_header_functions, &first) ||
	    mem_read_u64(c->n->mem, code + (raddr)l->code_header_functions + 8 * (nr - 1), &last) ||
	    mem_read_u64(c->n->mem, code + (raddr)l->code_header_functions + 8 * nr, &end))
		return false;
	return is_function(c, first, atom) && is_function(c, last, atom) && first <= last &&
	       is_part(code, len, last, 1) && end > last && end - code <= len;
}

bool check_code_headers(struct check_run *c)
{
	raddr modules[MODULES_SAMPLE];
	size_t nr, good = 0;

	if (!c->n->anchors.module_code)
		return check_see(c, true, "module table not found");
	nr = check_index_entries(c, c->n->anchors.module_code, modules, MODULES_SAMPLE);
	for (size_t i = 0; i < nr; i++)
		good += leads_to_functions(c, modules[i]);
	return check_mostly(c, good, nr, "modules");
}

/* ---- carriers ------------------------------------------------------------------------------- */

struct counted_carriers {
	struct check_run *c;
	uint64_t carriers, many, good;
};

/* The sum of a carrier's counters, one for each allocator. */
static uint64_t sum_of(const struct counted_carriers *x, raddr at)
{
	const struct beam_layout *l = x->c->l;
	int32_t size = l->carrier_cpool_blocks_size - l->carrier_cpool_blocks;
	uint64_t counts[ALLOCATORS_MAX], sum = 0;

	if (size != l->allctr_cpool_blocks - l->allctr_cpool_blocks_size || size < 0 ||
	    (size_t)size > sizeof(counts) || mem_read(x->c->n->mem, at, counts, (size_t)size) != 0)
		return UINT64_MAX;
	for (size_t i = 0; i < (size_t)size / 8; i++)
		sum += counts[i];
	return sum;
}

static void count_carrier(void *ctx, const struct carrier *carrier, const struct carrier_tag *tags,
			  size_t nr_tags)
{
	struct counted_carriers *x = ctx;
	const struct beam_layout *l = x->c->l;

	UNUSED(tags);
	UNUSED(nr_tags);
	x->carriers++;
	if (carrier->single)
		return;
	x->many++;
	x->good +=
		sum_of(x, carrier->address + (raddr)l->carrier_cpool_blocks) == carrier->blocks &&
		sum_of(x, carrier->address + (raddr)l->carrier_cpool_blocks_size) ==
			carrier->blocks_size;
}

/* Keeps those allocators that have few carriers with all their instances, which share a pool.
 * Returns how many carriers these have, and whether their flags are plausible. */
static uint64_t keep_small(struct check_run *c, struct allocators *a, bool *flags)
{
	uint64_t all = 0;
	size_t kept = 0, nr;

	for (size_t i = 0; i < a->v.len; i += nr) {
		uint64_t carriers = 0;

		for (nr = 0; i + nr < a->v.len && a->v.data[i + nr].type == a->v.data[i].type; nr++)
			carriers += a->v.data[i + nr].carriers;
		if (all + carriers > CARRIERS_SAMPLE)
			continue;
		all += carriers;
		for (size_t k = 0; k < nr; k++) {
			struct carrier_options o;

			a->v.data[kept] = a->v.data[i + k];
			*flags &= carrier_options_read(c->n, &a->v.data[kept++], &o) &&
				  o.sbct >= SBCT_MIN && o.lmbcs >= SBCT_MIN && o.lmbcs < MAX_SANE;
		}
	}
	a->v.len = kept;
	return all;
}

/* Carriers of schedulers that run may change meanwhile. */
bool check_carriers(struct check_run *c)
{
	struct counted_carriers x = {.c = c};
	struct carriers_visitor v = {.carrier = count_carrier, .ctx = &x};
	struct carriers_count count;
	struct allocators a;
	struct error err;
	uint64_t all;
	bool flags = true;
	int rc;

	if (!c->n->anchors.allocators)
		return check_see(c, true, "table of allocators not found");
	if (allocators_read(&a, c->n, &err) != 0)
		return check_see(c, false, "allocators not readable");
	all = keep_small(c, &a, &flags);
	rc = carriers_walk(c->n, &a, &v, &count, &err);
	allocators_free(&a);
	return check_see(c,
			 rc == 0 && flags && x.carriers * 8 >= all * 7 &&
				 x.carriers * 7 <= all * 8 && x.good * 8 >= x.many * 7 &&
				 count.unreadable == 0,
			 "%llu of %llu, %llu unreadable; %llu of %llu as counted; flags %s",
			 (unsigned long long)x.carriers, (unsigned long long)all,
			 (unsigned long long)count.unreadable, (unsigned long long)x.good,
			 (unsigned long long)x.many, flags ? "plausible" : "implausible");
}
