/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes of a made-up node do over a time: what stays, what changes, who comes and goes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/resolve/process_watch.h"
#include "lib/fakenode.h"

#define CODE  0x7f0000100000ull
#define F     (CODE + 0x100)
#define G     (CODE + 0x200)
#define WORDS 64
#define MS    1000000ull
#define START (1000 * MS)

static const int releases[] = {24, 25, 27, 29};

struct world {
	struct fakenode *f;
	const struct beam_layout *l;
	raddr tab;
	int bits; /* 2^bits slots */
	raddr room;
	size_t room_size;
	struct beam_resolver *resolver;
	struct names *names;
	struct process_watch *watch;
	uint64_t ns[NR_SAMPLE_KINDS], total_ns;
	uint32_t last_stack, nr_samples;
	uint32_t ids[3]; /* processes; ids taken, and given back */
};

static void put64(struct world *w, raddr base, int32_t offset, uint64_t value)
{
	image_u64(w->f->im, base + (raddr)offset, value);
}

/* What the table says of itself. */
static void put_ids(struct world *w)
{
	raddr at = w->f->node.anchors.proc_tab + (raddr)w->l->ptab_count;

	for (size_t i = 0; i < ARRAY_SIZE(w->ids); i++)
		image_u32(w->f->im, at + 4 * i, w->ids[i]);
}

static void take_id(struct world *w)
{
	w->ids[0]++;
	w->ids[1]++;
	put_ids(w);
}

static void give_id_back(struct world *w)
{
	w->ids[2]++;
	w->ids[0]--;
	put_ids(w);
}

static uint32_t slot_of_number(const struct world *w, uint32_t number)
{
	return (number & ((1u << (w->bits - 3)) - 1)) << 3 | (number >> (w->bits - 3) & 7);
}

static uint64_t pid_of_number(const struct world *w, uint32_t number)
{
	uint64_t slot = slot_of_number(w, number), data = number;

	if (w->f->node.identity.otp >= 26)
		return ((data & ~((1ull << w->bits) - 1)) | slot) << 4 | 3;
	return slot << 32 | data << 4 | 3;
}

static void put_slot(struct world *w, uint32_t number, raddr addr)
{
	image_u64(w->f->im, w->tab + 8 * (raddr)slot_of_number(w, number), addr);
}

/* Many processes in one piece of memory, as nodes have them. */
static raddr room(struct world *w, size_t size)
{
	raddr at = w->room;

	if (size > w->room_size) {
		w->room_size = 1u << 20;
		at = image_alloc(w->f->im, w->room_size);
	}
	w->room = at + size;
	w->room_size -= size;
	return at;
}

/* A process that waits in f/1, called by g/1; it is not in the table. */
static raddr make_process(struct world *w, uint32_t number)
{
	const struct beam_layout *l = w->l;
	raddr p = room(w, (size_t)l->process_size + 8), heap = room(w, 8 * WORDS);

	image_u64(w->f->im, heap + 8 * (WORDS - 1), G + 0x20);
	put64(w, p, l->process_id, pid_of_number(w, number));
	put64(w, p, l->process_heap, heap);
	put64(w, p, l->process_htop, heap + 80);
	put64(w, p, l->process_stop, heap + 8 * (WORDS - 1));
	put64(w, p, l->process_hend, heap + 8 * WORDS);
	put64(w, p, l->process_heap_sz, WORDS);
	put64(w, p, l->process_i, F + 0x10);
	put64(w, p, l->process_arg_reg, p + (raddr)l->process_def_arg_reg);
	put64(w, p, l->process_parent, TERM_NIL);
	put64(w, p, l->process_reds, 1000);
	return p;
}

static raddr add_process(struct world *w, uint32_t number)
{
	raddr p = make_process(w, number);

	put_slot(w, number, p);
	take_id(w);
	return p;
}

static void take(void *arg, const struct rec_sample *sample, uint64_t ns, uint64_t end_ns)
{
	struct world *w = arg;

	assert_true(sample->kind < NR_SAMPLE_KINDS && ns && end_ns >= START);
	assert_non_null(names_process(w->names, sample->process));
	assert_non_null(names_thread(w->names, sample->thread));
	w->ns[sample->kind] += ns;
	w->total_ns += ns;
	w->last_stack = sample->stack;
	w->nr_samples++;
}

static void world_open_bits(struct world *w, int otp, int bits)
{
	static const char *const names[] = {"m:f/1", "m:g/1"};
	raddr ptab;

	*w = (struct world){.f = fakenode_open(otp), .bits = bits};
	w->l = &w->f->node.layout;
	ptab = w->f->node.anchors.proc_tab;
	fakenode_ptab(w->f, ptab, bits, 3);
	w->tab = image_alloc(w->f->im, (size_t)8 << bits);
	put64(w, ptab, w->l->ptab_tab, w->tab);
	image_u32(w->f->im, ptab + (raddr)w->l->ptab_max, 1u << bits);
	put64(w, ptab, w->l->ptab_invalid_element, image_alloc(w->f->im, 64));
	jitlist_add_code(w->f->im, w->f->node.anchors.jit_descriptor, CODE, 0x400, names, 2);
	w->names = names_open();
	assert_int_equal(beam_resolver_open(&w->resolver, &w->f->node, NULL), 0);
	assert_int_equal(beam_resolver_sync(w->resolver, NULL), 0);
	assert_int_equal(
		process_watch_open(&w->watch, &w->f->node, w->resolver, w->names, take, w, NULL),
		0);
}

static void world_open(struct world *w, int otp)
{
	world_open_bits(w, otp, 10);
}

static void world_close(struct world *w)
{
	process_watch_close(w->watch);
	beam_resolver_close(w->resolver);
	names_close(w->names);
	fakenode_close(w->f);
}

static void sample(struct world *w, uint64_t ms)
{
	assert_int_equal(process_watch_sample(w->watch, START + ms * MS, NULL), 0);
}

static const char *function_of(const struct world *w, uint32_t stack)
{
	const struct name_frame *f = names_frame(w->names, names_stack(w->names, stack)->frame);

	return names_function(w->names, f->function)->name;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void test_still(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;
		const struct process_watch_counts *c;
		const struct name_stack *s;

		world_open(&w, releases[i]);
		for (uint32_t n = 1; n <= 300; n++)
			add_process(&w, n);
		for (uint64_t ms = 0; ms <= 4000; ms += 50)
			sample(&w, ms);
		assert_int_equal(w.nr_samples, 0);
		assert_true(process_watch_finish(w.watch, START + 4020 * MS));
		assert_int_equal(w.nr_samples, PROCESS_WATCH_FINISH);
		assert_false(process_watch_finish(w.watch, START + 4020 * MS));
		assert_int_equal(w.nr_samples, 300);
		assert_int_equal(w.ns[SAMPLE_WAITING_RECEIVE], 300 * 4020 * MS);
		assert_int_equal(w.total_ns, w.ns[SAMPLE_WAITING_RECEIVE]);
		assert_string_equal(function_of(&w, w.last_stack), "f");
		s = names_stack(w.names, w.last_stack);
		assert_string_equal(function_of(&w, s->parent), "g");
		c = process_watch_counts(w.watch);
		assert_int_equal(c->processes, 300);
		assert_int_equal(c->stacks, 300);
		assert_int_equal(c->by_kind[SAMPLE_WAITING_RECEIVE], 300);
		/* In each of 81 samples, whatever they do. */
		assert_int_equal(c->every, 1);
		assert_int_equal(c->reads, 300 * 81);
		world_close(&w);
	}
}

static void test_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;
		raddr p;

		world_open(&w, releases[i]);
		p = add_process(&w, 7);
		sample(&w, 0);
		sample(&w, 100);
		/* It has run, and waits in the same place: nothing new. */
		put64(&w, p, w.l->process_reds, 1010);
		sample(&w, 200);
		assert_int_equal(w.nr_samples, 0);
		/* It runs. */
		image_u32(w.f->im, p + (raddr)w.l->process_state, PSFLG_RUNNING);
		sample(&w, 300);
		assert_int_equal(w.ns[SAMPLE_WAITING_RECEIVE], 250 * MS);
		image_u32(w.f->im, p + (raddr)w.l->process_state,
			  PSFLG_ACTIVE | PSFLG_DIRTY_IO_PROC);
		sample(&w, 400);
		assert_int_equal(w.ns[SAMPLE_RUNNING], 100 * MS);
		image_u32(w.f->im, p + (raddr)w.l->process_state, PSFLG_SUSPENDED);
		sample(&w, 500);
		assert_int_equal(w.ns[SAMPLE_WAITING_DIRTY], 100 * MS);
		/* In a receive with a timer, elsewhere. */
		image_u32(w.f->im, p + (raddr)w.l->process_state, 0);
		put64(&w, p, w.l->process_timer, 0x1000);
		put64(&w, p, w.l->process_i, G + 0x10);
		sample(&w, 600);
		assert_int_equal(w.ns[SAMPLE_SUSPENDED], 100 * MS);
		image_u32(w.f->im, p + (raddr)w.l->process_flags, F_HIBERNATED);
		sample(&w, 700);
		assert_int_equal(w.ns[SAMPLE_WAITING_TIMER], 100 * MS);
		assert_string_equal(function_of(&w, w.last_stack), "g");
		assert_false(process_watch_finish(w.watch, START + 750 * MS));
		assert_int_equal(w.ns[SAMPLE_HIBERNATING], 100 * MS);
		assert_int_equal(w.total_ns, 750 * MS);
		world_close(&w);
	}
}

/* Of who comes or goes between two samples half of the time in between counts. */
static void test_lives(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w;

		world_open(&w, releases[i]);
		sample(&w, 0);
		add_process(&w, 5);
		sample(&w, 100);
		sample(&w, 200);
		/* Another one in the same slot. */
		give_id_back(&w);
		add_process(&w, 5 + 1024);
		sample(&w, 300);
		assert_int_equal(w.total_ns, 200 * MS);
		put_slot(&w, 5, 0);
		give_id_back(&w);
		sample(&w, 400);
		assert_int_equal(w.total_ns, 300 * MS);
		assert_false(process_watch_finish(w.watch, START + 500 * MS));
		assert_int_equal(w.total_ns, 300 * MS);
		assert_int_equal(process_watch_counts(w.watch)->processes, 0);
		assert_int_equal(process_watch_counts(w.watch)->most, 1);
		world_close(&w);
	}
}

/* The table is read again when it says that it is another one, and while somebody is on the way. */
static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		const struct process_watch_counts *c;
		struct world w;
		raddr late;

		world_open(&w, releases[i]);
		add_process(&w, 5);
		add_process(&w, 6);
		sample(&w, 0);
		c = process_watch_counts(w.watch);
		put_slot(&w, 5, 0);
		sample(&w, 100);
		assert_int_equal(c->processes, 2);
		give_id_back(&w);
		sample(&w, 200);
		assert_int_equal(c->processes, 1);
		/* One is made: it has an id, but stands in no slot yet. */
		late = make_process(&w, 7);
		take_id(&w);
		sample(&w, 300);
		sample(&w, 400);
		assert_int_equal(c->processes, 1);
		put_slot(&w, 7, late);
		sample(&w, 500);
		assert_int_equal(c->processes, 2);
		/* One ends: no slot leads to it, but its id is not given back yet. */
		put_slot(&w, 6, 0);
		w.ids[2]++;
		put_ids(&w);
		sample(&w, 600);
		assert_int_equal(c->processes, 1);
		w.ids[0]--;
		put_ids(&w);
		sample(&w, 700);
		assert_int_equal(c->processes, 1);
		world_close(&w);
	}
}

/* Each word that tells is enough for a process to be read again. */
static void test_what_tells(void **state)
{
	struct word {
		int32_t offset;
		uint64_t value;
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		const struct process_watch_counts *c;
		struct world w;

		world_open(&w, releases[i]);
		const struct word words[] = {
			{w.l->process_reds, 1001},
			{w.l->process_i, G + 0x10},
			{w.l->process_timer, 0x1000},
		};
		const struct word halves[] = {
			{w.l->process_flags, F_HIBERNATED},
			{w.l->process_state, PSFLG_ACTIVE},
			{w.l->process_state, PSFLG_SUSPENDED},
		};
		raddr p = add_process(&w, 7);
		uint64_t ms = 0, stacks = 1;

		sample(&w, ms);
		c = process_watch_counts(w.watch);
		for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
			put64(&w, p, words[k].offset, words[k].value);
			sample(&w, ms += 50);
			assert_int_equal(c->stacks, ++stacks);
		}
		for (size_t k = 0; k < ARRAY_SIZE(halves); k++) {
			image_u32(w.f->im, p + (raddr)halves[k].offset, (uint32_t)halves[k].value);
			sample(&w, ms += 50);
			assert_int_equal(c->stacks, ++stacks);
		}
		put64(&w, p, w.l->process_stop, 0);
		sample(&w, ms += 50);
		assert_int_equal(c->stacks, ++stacks);
		sample(&w, ms + 50);
		assert_int_equal(c->stacks, stacks);
		world_close(&w);
	}
}

/* Many processes are sampled in turns, all equally often, and keep all of their time. */
static void test_turns(void **state)
{
	const uint32_t nr = PROCESS_WATCH_ALL + 700, turns = 2, rounds = 5;
	const struct process_watch_counts *c;
	struct world w;

	(void)state;
	assert_int_equal(process_watch_turns(0), 1);
	assert_int_equal(process_watch_turns(PROCESS_WATCH_ALL), 1);
	assert_int_equal(process_watch_turns(PROCESS_WATCH_ALL + 1), 2);
	assert_int_equal(process_watch_turns(2 * PROCESS_WATCH_PART), 2);
	assert_int_equal(process_watch_turns(2 * PROCESS_WATCH_PART + 1), 3);
	assert_int_equal(process_watch_turns(1000000), 31);
	world_open_bits(&w, 27, 14);
	for (uint32_t n = 1; n <= nr; n++)
		add_process(&w, n);
	sample(&w, 0);
	c = process_watch_counts(w.watch);
	assert_int_equal(c->reads, nr);
	assert_int_equal(c->every, turns);
	for (uint64_t k = 1; k <= turns * rounds; k++)
		sample(&w, 50 * k);
	assert_int_equal(c->reads, nr * (1 + rounds));
	while (process_watch_finish(w.watch, START + 500 * MS))
		;
	assert_int_equal(w.total_ns, nr * 500 * MS);
	world_close(&w);
}

/* A stack that is not mapped is reported as such, and its process keeps its time. */
static void test_unreadable(void **state)
{
	struct world w;
	raddr p;

	(void)state;
	world_open(&w, 27);
	p = add_process(&w, 9);
	put64(&w, p, w.l->process_heap, 0x10000);
	put64(&w, p, w.l->process_htop, 0x10008);
	put64(&w, p, w.l->process_stop, 0x10000 + 8 * (WORDS - 1));
	put64(&w, p, w.l->process_hend, 0x10000 + 8 * WORDS);
	sample(&w, 0);
	sample(&w, 100);
	assert_false(process_watch_finish(w.watch, START + 100 * MS));
	assert_int_equal(w.total_ns, 100 * MS);
	assert_string_equal(function_of(&w, w.last_stack), "[stack not read]");
	assert_true(process_watch_counts(w.watch)->unstable > 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_still),	   cmocka_unit_test(test_changes),
		cmocka_unit_test(test_lives),	   cmocka_unit_test(test_table),
		cmocka_unit_test(test_what_tells), cmocka_unit_test(test_turns),
		cmocka_unit_test(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
