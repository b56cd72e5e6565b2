/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam bin`: binaries outside of heaps, and who refers to them.
 *
 * Off-heap lists of processes, messages, objects of ETS tables, literals of modules and persistent
 * terms, and the queues of ports, say who refers to which binary; the words of heaps, objects and
 * literals, how much of it their terms use.  Last, those with most bytes of binaries first, come
 * large heaps, and once more the first processes, so that garbage is known.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/vm/memory.h"
#include "cmd/inspect/bin.h"
#include "cmd/output/envelope.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/run/target.h"

#define HOLDERS_SHOWN 20
/* Larger heaps are searched after all lists were read. */
#define LARGE_HEAP_WORDS (1u << 17)
/* Garbage is found in so many holders, those with most bytes of binaries. */
#define REACH_MAX 1000
#define TRIES	  3 /* of one that runs meanwhile */
/* They are not searched any longer than so; other rows have no use then. */
#define USE_MAX_NS 10000000000ull

void holding_begin(struct holding *h, struct bin *b)
{
	*h = (struct holding){.b = b, .used = KEYTAB_INIT(struct used_bytes)};
	h->binaries.keep_places = true;
}

void holding_end(struct holding *h)
{
	off_heap_free(&h->binaries);
	keytab_free(&h->used);
}

/* ---- rows ------------------------------------------------------------------------------------ */

void bin_count(struct bin *b, uint32_t row, raddr addr, uint64_t size, uint64_t refc,
	       uint64_t found)
{
	struct known_binary *known = keytab_find(&b->binaries, addr);

	if (!known) {
		known = keytab_add(&b->binaries, addr);
		known->holder = row;
		known->used = NAN;
	}
	known->size = size;
	known->refc = refc;
	known->found += found;
	known->holders++;
}

static void count_magic(struct holding *h)
{
	for (size_t i = 0; i < h->binaries.magic.len; i++) {
		raddr addr = h->binaries.magic.data[i];
		struct magic_ref *m = addr ? keytab_find(&h->b->magic, addr) : NULL;

		if (addr && !m)
			m = keytab_add(&h->b->magic, addr);
		if (m)
			m->found++;
	}
}

bool holding_add_row(struct holding *h, struct bin_row *row, uint64_t pid)
{
	struct bin *b = h->b;
	struct off_heap *o = &h->binaries;

	count_magic(h);
	off_heap_finish(b->node, o);
	b->unreadable += o->unreadable;
	b->cut |= o->cut;
	row->torn |= o->unreadable > 0;
	row->used = row->garbage = NAN;
	row->part = NAN;
	for (size_t i = 0; i < o->binaries.len; i++) {
		const struct off_heap_binary *binary = &o->binaries.data[i];

		bin_count(b, (uint32_t)b->rows.len, binary->addr, binary->size, binary->refc,
			  binary->here);
		row->references += binary->here;
		row->share += (uint64_t)((double)binary->size * (double)binary->here /
					 (double)MAX(binary->refc, binary->here));
	}
	row->binaries = o->binaries.len;
	row->memory = o->bytes;
	row->held = off_heap_held(o);
	row->in_messages = o->in_messages;
	row->largest = o->binaries.len ? o->binaries.data[0].size : 0;
	if (!row->binaries)
		return false;
	vec_push(&b->rows, *row);
	vec_push(&b->pids, pid);
	return true;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void holding_sum_use(struct holding *h, holding_used_fn *used_of, void *arg, struct bin_row *row)
{
	struct off_heap *o = &h->binaries;
	uint64_t sum = 0, garbage = 0, *parts = xcalloc(o->binaries.len + 1, sizeof(*parts));

	row->parts = row->part_memory = 0;
	for (size_t i = 0; i < o->binaries.len; i++) {
		const struct off_heap_binary *binary = &o->binaries.data[i];
		bool is_garbage = false;
		uint64_t used = used_of(arg, binary, &is_garbage);
		struct known_binary *known = keytab_find(&h->b->binaries, binary->addr);

		if (known)
			known->used = (double)used;
		sum += used;
		if (is_garbage) {
			garbage += binary->size;
		} else if (used < binary->size / 2) {
			parts[row->parts++] = used;
			row->part_memory += binary->size;
		}
	}
	if (row->parts)
		qsort(parts, (size_t)row->parts, sizeof(*parts), by_number);
	row->part = row->parts ? (double)parts[row->parts / 2] : NAN;
	row->used = (double)MIN(sum, row->memory);
	row->garbage = (double)MIN(garbage, row->memory);
	free(parts);
}

static uint64_t used_of(void *arg, const struct off_heap_binary *binary, bool *is_garbage)
{
	*is_garbage = binary_use_is_garbage(arg, binary->addr);
	return binary_use_of(arg, binary->addr, binary->size);
}

void holding_use(struct holding *h, struct binary_use *use, struct bin_row *row)
{
	holding_sum_use(h, used_of, use, row);
	binary_use_free(use);
}

/* ---- processes ------------------------------------------------------------------------------- */

static const char *name_of(struct bin *b, const struct process_facts *p, struct bin_row *out)
{
	struct process_row row;
	uint32_t name;

	process_source_row(&b->source, p, NULL, &row);
	process_pid_format(row.pid, out->id);
	name = process_row_name(&row);
	return name ? process_strings_get(&b->source.strings, name)->text : NULL;
}

/* How much of what `h` has, which is of this process, its terms use. */
static void find_use_of(struct holding *h, const struct process_facts *p, bool reach,
			struct bin_row *row)
{
	struct beam_node *n = h->b->node;
	struct off_heap *o = &h->binaries;
	struct binary_use *use = binary_use_new(n->identity.otp, o->places.data, o->places.len);
	bool ok = binary_use_holder(use, n, p, o, reach), known = binary_use_knows_garbage(use);

	if (ok)
		holding_use(h, use, row);
	else
		binary_use_free(use);
	if (!known)
		row->garbage = NAN;
}

/* The same later, of its lists as they are then: it may have collected garbage.  False:
 * garbage is not known. */
static bool find_use_again(struct bin *b, uint64_t pid, bool reach, struct bin_row *row)
{
	struct mem *cached = process_source_cache(&b->source);
	struct process_facts p;
	struct holding h;

	if (process_read(b->node, pid, 0, &p) != 0)
		return true;
	mem_cached_forget(cached);
	holding_begin(&h, b);
	off_heap_add_all(b->node, cached, &p, &h.binaries);
	off_heap_finish(b->node, &h.binaries);
	find_use_of(&h, &p, reach, row);
	holding_end(&h);
	return !reach || !isnan(row->garbage);
}

static int take_processes(void *arg, struct process_facts *block, size_t nr)
{
	struct bin *b = arg;

	for (size_t i = 0; i < nr; i++) {
		const struct process_facts *p = &block[i];
		struct bin_row row = {.type = "process", .torn = p->torn};
		bool large = p->total_heap_size > LARGE_HEAP_WORDS;
		struct holding h;

		holding_begin(&h, b);
		off_heap_add_all(b->node, process_source_cache(&b->source), p, &h.binaries);
		if (h.binaries.references)
			row.name = name_of(b, p, &row);
		if (holding_add_row(&h, &row, p->epid) && !large)
			find_use_of(&h, p, false, &b->rows.data[b->rows.len - 1]);
		holding_end(&h);
	}
	return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

struct by_memory {
	uint64_t memory;
	size_t row;
};

static int by_memory(const void *a, const void *b)
{
	const struct by_memory *x = a, *y = b;

	return x->memory > y->memory ? -1 : x->memory < y->memory;
}

static void find_use(struct bin *b)
{
	uint64_t until = clock_monotonic_ns() + USE_MAX_NS;
	struct by_memory *order = xcalloc(b->rows.len + 1, sizeof(*order));

	for (size_t i = 0; i < b->rows.len; i++)
		order[i] = (struct by_memory){b->rows.data[i].memory, i};
	qsort(order, b->rows.len, sizeof(*order), by_memory);
	for (size_t i = 0; i < b->rows.len; i++) {
		uint64_t pid = b->pids.data[order[i].row];
		struct bin_row *row = &b->rows.data[order[i].row];

		if (!pid || (i >= REACH_MAX && !isnan(row->used)))
			continue;
		if (clock_monotonic_ns() > until) {
			b->use_cut = true;
			break;
		}
		for (int try = 0; try < TRIES && !find_use_again(b, pid, i < REACH_MAX, row); try++)
			;
	}
	free(order);
}

static void sum_up(struct bin *b)
{
	struct bin_answer *a = &b->answer;

	for (const struct known_binary *k = keytab_next(&b->binaries, NULL); k;
	     k = keytab_next(&b->binaries, k)) {
		a->binaries++;
		a->memory += k->size;
		histogram_add(&a->sizes, k->size, 1);
		if (k->refc > k->found) {
			a->elsewhere_binaries++;
			a->elsewhere_memory += k->size;
		}
		vec_push(&b->largest,
			 ((struct bin_binary){k->addr, k->size, k->refc, k->found, k->holders,
					      k->holders == 1 ? k->used : NAN,
					      &b->rows.data[k->holder]}));
	}
	a->holders = bin_holders_table;
	a->holders.rows = b->rows.data;
	a->holders.nr_rows = b->rows.len;
	a->largest = bin_largest_table;
	a->largest.rows = b->largest.data;
	a->largest.nr_rows = b->largest.len;
}

static void count_memory(struct bin *b)
{
	struct allocators allocators = {0};
	struct memory memory;
	struct error ignored;

	b->answer.counted = UINT64_MAX;
	if (b->node->anchors.allocators && allocators_read(&allocators, b->node, &ignored) == 0 &&
	    memory_read(&memory, b->node, &allocators, &ignored) == 0)
		b->answer.counted = memory.binary;
	allocators_free(&allocators);
}

static int read_all(struct bin *b, struct error *err)
{
	struct process_totals totals;
	int rc;

	rc = process_source_scan(&b->source, take_processes, b, &totals, err);
	if (!rc && b->node->anchors.sched)
		rc = bin_take_tables(b, err);
	if (!rc && b->node->anchors.port_tab)
		rc = bin_take_ports(b, err);
	if (!rc) {
		bin_take_literals(b);
		bin_take_resources(b);
		find_use(b);
		count_memory(b);
		sum_up(b);
	}
	return rc;
}

#define WARNINGS_MAX 4

static size_t find_warnings(const struct bin *b, const char *warnings[WARNINGS_MAX])
{
	size_t nr = 0;

	if (b->cut)
		warnings[nr++] = "a holder has more than 5,000,000 references: others of it are "
				 "not counted";
	if (b->use_cut)
		warnings[nr++] = "the search of heaps took too long: of the processes with fewer "
				 "bytes 'used' or 'garbage' is not known";
	if (b->no_literals)
		warnings[nr++] = "binaries in literals of modules were not found: a table of this "
				 "build is not known (see ebeam doctor)";
	if (b->no_persistent)
		warnings[nr++] = "binaries in persistent terms were not found: their table in this "
				 "build is not known";
	return nr;
}

static int write_answer(struct bin *b, struct table_options *o, struct error *err)
{
	struct envelope_counter counters[] = {{"unreadable", b->unreadable},
					      {"torn_objects", b->torn_objects}};
	struct jsonw w = JSONW(b->ctx->out);
	const char *warnings[WARNINGS_MAX];
	size_t nr = find_warnings(b, warnings);
	int rc;

	if (b->ctx->opt.json) {
		target_json_begin(&w, b->ctx, b->node);
		bin_view_json(&w, &b->answer, o);
		return envelope_end(&w, warnings, nr, counters, ARRAY_SIZE(counters), err);
	}
	if (!o->limit)
		o->limit = HOLDERS_SHOWN;
	rc = bin_view_write(b->ctx->out, &b->answer, o, err);
	if (rc)
		return rc;
	outfile_flush(b->ctx->out);
	if (b->unreadable)
		log_warn("%" PRIu64 " lists changed while they were read: their rows may lack "
			 "binaries (~)",
			 b->unreadable);
	for (size_t i = 0; i < nr; i++)
		log_warn("ebeam: %s", warnings[i]);
	return 0;
}

int cmd_bin(struct command_context *ctx, struct error *err)
{
	struct table_options options = render_table_options(ctx, "memory");
	struct bin b = {.ctx = ctx,
			.binaries = KEYTAB_INIT(struct known_binary),
			.magic = KEYTAB_INIT(struct magic_ref)};
	char warning[256];
	int rc = table_check(&bin_holders_table, &options, err);

	rc = rc ? rc : target_open(&b.node, ctx, err);
	if (rc)
		return rc;
	rc = process_source_open(&b.source, b.node,
				 PROCESS_NEEDS_NAME | PROCESS_NEEDS_LABEL | PROCESS_NEEDS_INITIAL,
				 warning, sizeof(warning), err);
	if (!rc) {
		rc = read_all(&b, err);
		rc = rc ? rc : write_answer(&b, &options, err);
		process_source_close(&b.source);
	}
	vec_free(&b.rows);
	vec_free(&b.pids);
	vec_free(&b.largest);
	keytab_free(&b.binaries);
	keytab_free(&b.magic);
	return target_close(b.node, rc, err);
}
