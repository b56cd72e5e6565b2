/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of events, on a made-up process: what they emit, what they tell a collection by,
 * what is counted when there is no room, and what unreadable memory leaves of an event.
 */
#include "abi/vm.h"
#include "event_node.h"

/* {{a,[1,2,3]},"xy"}: tuples, a list that goes backwards, one that goes forwards. */
static uint64_t put_term(void)
{
	const uint64_t outer[] = {2 << 6, (HEAP + 0x100) | 2, (HEAP + 0x300) | 1};
	const uint64_t inner[] = {2 << 6, ATOM(5), (HEAP + 0x220) | 1};
	const uint64_t back[] = {SMALL(3),	     TERM_NIL, SMALL(2),
				 (HEAP + 0x200) | 1, SMALL(1), (HEAP + 0x210) | 1};
	const uint64_t forth[] = {SMALL('x'), (HEAP + 0x310) | 1, SMALL('y'), TERM_NIL};

	host_put(HEAP + 0x80, outer, sizeof(outer));
	host_put(HEAP + 0x100, inner, sizeof(inner));
	host_put(HEAP + 0x200, back, sizeof(back));
	host_put(HEAP + 0x300, forth, sizeof(forth));
	return (HEAP + 0x80) | 2;
}

/* A word that came with the event. */
static bool has_word(const struct rec_raw_event *e, uint64_t addr, uint64_t *word)
{
	for (unsigned int i = 0; i < e->nr_blocks; i++) {
		const struct term_block *b = &e->blocks[i];

		if (addr >= b->addr && addr - b->addr < sizeof(b->words)) {
			*word = b->words[(addr - b->addr) / 8];
			return true;
		}
	}
	return false;
}

static void exits(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS};
	const struct rec_raw_event *e;
	uint64_t word;

	(void)unused;
	ctx.si = put_term();
	assert_int_equal(event_exit(&ctx), 0);
	e = event(0);
	assert_non_null(e);
	assert_int_equal(e->kind, EVENT_PROCESS_EXIT);
	assert_int_equal(e->epid, EPID);
	assert_int_equal(e->os_tid, 4712);
	assert_int_equal(e->cpu, 1);
	assert_int_equal(e->nr_values, 3);
	assert_int_equal(e->values[0], ctx.si);
	for (uint64_t at = 0; at < 3 * 8; at += 8) {
		assert_true(has_word(e, HEAP + 0x80 + at, &word));
		assert_true(has_word(e, HEAP + 0x100 + at, &word));
	}
	for (uint64_t at = 0; at < 6 * 8; at += 8)
		assert_true(has_word(e, HEAP + 0x200 + at, &word));
	assert_int_equal(word, (HEAP + 0x210) | 1);
	assert_true(has_word(e, HEAP + 0x310, &word));
	assert_int_equal(word, SMALL('y'));
	assert_int_equal(counted(EVENT_PROCESS_EXIT).produced, 1);
	assert_int_equal(counted(EVENT_PROCESS_EXIT).lost, 0);
}

static unsigned int nr_processes(void)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < host.nr_records; i++)
		nr += ((const struct rec_header *)host.records[i].bytes)->type == REC_RAW_PROCESS;
	return nr;
}

/* Only numbers: no names, nothing of what terms point to, no room for it. */
static void unnamed(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS};
	struct pt_regs name = {.di = PROCESS, .si = NAME, .dx = EPID}, done = {.ax = 1};

	(void)unused;
	ctx.si = put_term();
	event_exit(&ctx);
	assert_int_equal(nr_processes(), 1);
	assert_true(event(0)->nr_blocks > 0);
	teardown(unused);
	setup(unused);
	config.unnamed = 1;
	ctx.si = put_term();
	event_exit(&ctx);
	assert_int_equal(event(0)->values[0], ctx.si);
	assert_int_equal(event(0)->epid, EPID);
	assert_int_equal(event(0)->nr_blocks, 0);
	assert_int_equal(event(0)->h.size, sizeof(*event(0)));
	event_register(&name);
	event_register_return(&done);
	assert_int_equal(event(1)->kind, EVENT_PROCESS_REGISTER);
	assert_int_equal(nr_processes(), 0);
}

/* Lists and tuples that contain themselves end at the limit. */
static void circles(void **unused)
{
	const uint64_t cell[] = {(HEAP + 0x100) | 1, (HEAP + 0x100) | 1};
	const uint64_t tuple[] = {3 << 6, (HEAP + 0x200) | 2, (HEAP + 0x100) | 1,
				  (HEAP + 0x200) | 2};
	struct pt_regs ctx = {.di = PROCESS, .si = (HEAP + 0x200) | 2};

	(void)unused;
	host_put(HEAP + 0x100, cell, sizeof(cell));
	host_put(HEAP + 0x200, tuple, sizeof(tuple));
	event_exit(&ctx);
	assert_non_null(event(0));
	assert_int_equal(event(0)->nr_blocks, EVENT_BLOCKS);
}

/* Each read of a program fails once: there is an event or none, never a wrong one. */
static void faults(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS};

	for (uint64_t nth = 1; nth < 60; nth++) {
		teardown(unused);
		setup(unused);
		ctx.si = put_term();
		host.fail_read = nth;
		event_exit(&ctx);
		if (event(0)) {
			assert_true(event(0)->epid == EPID || nth == 1);
			assert_int_equal(event(0)->values[0], ctx.si);
			assert_true(event(0)->nr_blocks <= EVENT_BLOCKS);
		}
	}
}

static void no_room(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1)};

	(void)unused;
	event_exit(&ctx);
	host.ring_room = 0;
	event_exit(&ctx);
	event_exit(&ctx);
	assert_non_null(event(0));
	assert_null(event(1));
	/* An atom needs no room but its own, and that of what is new on the heap. */
	assert_int_equal(event(0)->h.size, offsetof(struct rec_raw_event, values) + 3 * 8);
	assert_int_equal(counted(EVENT_PROCESS_EXIT).produced, 3);
	assert_int_equal(counted(EVENT_PROCESS_EXIT).lost, 2);
}

static void filters(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1)};

	(void)unused;
	config.event_epid = TO;
	event_exit(&ctx);
	config.event_epid = 0;
	config.event_kinds = ALL & ~(1ull << EVENT_PROCESS_EXIT);
	event_exit(&ctx);
	assert_null(event(0));
	assert_int_equal(counted(EVENT_PROCESS_EXIT).produced, 0);
}

/* By name: whoever has it at that time. */
static void filters_by_name(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1)};

	(void)unused;
	config.event_who.name = NAME;
	event_exit(&ctx);
	put_name(PROCESS, ATOM(78));
	event_exit(&ctx);
	assert_int_equal(nr_events(), 0);
	put_name(PROCESS, NAME);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 1);
	/* One that exits has other things there: what was known stays. */
	put_name(PROCESS, 0);
	host_put_u32(PROCESS + (uint64_t)config.layout.process_state, PSFLG_EXITING);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 2);
	host_put_u32(PROCESS + (uint64_t)config.layout.process_state, 0);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 2);
}

static void put_call(uint64_t process, uint64_t m, uint64_t f, uint64_t a)
{
	put(process, config.layout.process_initial, m);
	put(process, config.layout.process_initial + 8, f);
	put(process, config.layout.process_initial + 16, a);
}

/* {'$initial_call', {M, F, A}} as the only entry of a dictionary. */
static void put_dictionary(uint64_t process, uint64_t m, uint64_t f, uint64_t a)
{
	const uint32_t head[] = {0, 1, 1, 0};
	const uint64_t entry[] = {2 << 6, config.initial_call.term, (HEAP + 0x580) | 2};
	const uint64_t call[] = {3 << 6, m, f, SMALL(a)};

	host_put(HEAP + 0x500, head, sizeof(head));
	host_put_u64(HEAP + 0x500 + 24, (HEAP + 0x540) | 2);
	host_put(HEAP + 0x540, entry, sizeof(entry));
	host_put(HEAP + 0x580, call, sizeof(call));
	put(process, config.layout.process_dictionary, HEAP + 0x500);
}

/* By initial call: that which it was spawned with, or what proc_lib tells later. */
static void filters_by_call(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1)};

	(void)unused;
	/* Three words in a row, beside what is there. */
	layout()->process_initial = 0x1000;
	config.initial_call.term = ATOM(50);
	config.proc_lib = ATOM(51);
	config.event_who.call[0] = ATOM(60);
	config.event_who.call[1] = ATOM(61);
	config.event_who.call[2] = 2;
	put_call(PROCESS, ATOM(60), ATOM(61), 1);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 0);
	/* What a process began with does not change: it is not read again. */
	put_call(PROCESS, ATOM(60), ATOM(61), 2);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 0);
	ctx.di = OTHER;
	put_call(OTHER, ATOM(51), ATOM(52), 5);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 0);
	put_dictionary(OTHER, ATOM(60), ATOM(61), 2);
	event_exit(&ctx);
	assert_int_equal(nr_events(), 1);
	assert_int_equal(event(0)->epid, TO);
}

/* ---- garbage collection ---------------------------------------------------------------------- */

struct gc_case {
	uint16_t gen_before, gen_after, max;
	uint32_t flags_before, flags_after, state_before, state_after, dirty;
	uint64_t collections;
	const enum event_kind kinds[5]; /* ends with NR_EVENT_KINDS */
};

static void put_gc(uint16_t gen, uint16_t max, uint32_t flags, uint32_t process_state)
{
	host_put(PROCESS + (uint64_t)config.layout.process_gen_gcs, &gen, sizeof(gen));
	host_put(PROCESS + (uint64_t)config.layout.process_max_gen_gcs, &max, sizeof(max));
	host_put_u32(PROCESS + (uint64_t)config.layout.process_flags, flags);
	host_put_u32(PROCESS + (uint64_t)config.layout.process_state, process_state);
}

#define MINOR EVENT_GC_MINOR_START, EVENT_GC_MINOR_END
#define MAJOR EVENT_GC_MAJOR_START, EVENT_GC_MAJOR_END
#define END   NR_EVENT_KINDS
static const struct gc_case gc_cases[] = {
	{3, 4, 9, 0, 0, 0, 0, 0, 1, {MINOR, END}},
	{9, 0, 9, 0, 0, 0, 0, 0, 1, {MAJOR, END}},
	{3, 0, 9, F_NEED_FULLSWEEP, 0, 0, 0, 0, 1, {MAJOR, END}},
	{3, 0, 9, 0, 0, 0, 0, 0, 1, {MINOR, MAJOR, END}}, /* no room for a minor one */
	/* Left to a dirty scheduler: at once, or after a minor one that found no room. */
	{3, 3, 9, 0, F_DIRTY_MAJOR_GC, 0, 0, 0, 0, {END}},
	{3, 3, 9, 0, F_DIRTY_MAJOR_GC | F_NEED_FULLSWEEP, 0, 0, 0, 0, {MINOR, END}},
	{3, 3, 9, F_DISABLE_GC, F_DISABLE_GC, 0, 0, 0, 0, {END}},
	/* Done by a dirty one. */
	{3, 0, 9, F_NEED_FULLSWEEP, 0, 0, 0, 1, 0, {MAJOR, END}},
	{3, 4, 9, 0, 0, 0, 0, 1, 0, {MINOR, END}},
	{3, 3, 9, F_DELAY_GC, F_DELAY_GC, 0, 0, 1, 0, {END}},
	/* Killed for the size of its heap; exiting before. */
	{3, 3, 9, 0, 0, 0, PSFLG_EXITING, 0, 0, {EVENT_GC_MINOR_START, END}},
	{9, 9, 9, 0, 0, 0, PSFLG_EXITING, 1, 0, {EVENT_GC_MAJOR_START, END}},
	{3, 3, 9, 0, 0, PSFLG_EXITING, PSFLG_EXITING, 1, 0, {END}},
};

static void collections_are_reported(void **unused)
{
	for (size_t i = 0; i < sizeof(gc_cases) / sizeof(gc_cases[0]); i++) {
		/* What the probes take is taken out, down to nothing. */
		static const uint64_t pair_ns[] = {0, 300, 1u << 20};
		const struct gc_case *c = &gc_cases[i];
		struct pt_regs ctx = {.di = PROCESS, .si = 0xffffffff00000007ull};
		uint64_t ns;
		unsigned int n;

		teardown(unused);
		setup(unused);
		host.tick_ns = 1000;
		state.pair_ns = pair_ns[i % 3];
		host_put_u32(ESDP + (uint64_t)config.layout.sched_type, c->dirty);
		put_gc(c->gen_before, c->max, c->flags_before, c->state_before);
		event_gc(&ctx);
		assert_null(event(0));
		put_gc(c->gen_after, c->max, c->flags_after, c->state_after);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, c->collections);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_reclaimed, 42);
		event_gc_return(&ctx);
		for (n = 0; c->kinds[n] != NR_EVENT_KINDS; n++) {
			if (!event(n) || event(n)->kind != c->kinds[n])
				fail_msg("case %zu: event %u", i, n);
			assert_int_equal(event(n)->epid, EPID);
		}
		assert_null(event(n));
		if (n)
			assert_int_equal(event(0)->values[0], 7); /* need: 32 bits */
		if (n >= 2 && c->collections)
			assert_int_equal(event(n - 1)->values[0], 42);
		/* When a minor one went over into a major one cannot be seen. */
		if (n == 4)
			assert_true(event(1)->values[3] == EVENT_UNKNOWN);
		if (n == 4 || n == 2) {
			ns = event(n - 1)->h.ts_ns - event(0)->h.ts_ns;
			assert_int_equal(event(n - 1)->values[3],
					 ns > state.pair_ns ? ns - state.pair_ns : 0);
		}
		/* Nothing can be known of the queues of this layout. */
		if (n >= 2 && c->dirty)
			assert_true(event(n - 1)->values[0] == EVENT_UNKNOWN);
		/* A return without entry says nothing. */
		event_gc_return(&ctx);
		assert_null(event(n));
	}
	state.pair_ns = 0;
}

/* The same known by numbers; and again, when what this scheduler had counted is known. */
static void check_counted(const struct gc_case *c, uint64_t before)
{
	struct pt_regs ctx = {.di = PROCESS};
	uint64_t expected[NR_EVENT_KINDS] = {0};

	for (unsigned int i = 0; c->kinds[i] != NR_EVENT_KINDS; i++)
		expected[c->kinds[i]]++;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		expected[kind] += counted((enum event_kind)kind).produced;
	put_gc(c->gen_before, c->max, c->flags_before, c->state_before);
	event_gc(&ctx);
	put_gc(c->gen_after, c->max, c->flags_after, c->state_after);
	host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, before + c->collections);
	event_gc_return(&ctx);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		assert_int_equal(counted((enum event_kind)kind).produced, expected[kind]);
	assert_int_equal(host.nr_records, 0);
}

static void check_all_counted(void **unused, int (*make)(void **))
{
	for (size_t i = 0; i < sizeof(gc_cases) / sizeof(gc_cases[0]); i++) {
		teardown(unused);
		make(unused);
		config.counting = config.unnamed = 1;
		host_put_u32(ESDP + (uint64_t)config.layout.sched_type, gc_cases[i].dirty);
		check_counted(&gc_cases[i], 0);
		check_counted(&gc_cases[i], gc_cases[i].collections);
		/* Meanwhile others collected that nobody saw, and it is on again. */
		switches.epoch[EVENT_GC_MINOR_START]++;
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, 99);
		check_counted(&gc_cases[i], 99);
	}
}

static void collections_are_counted(void **unused)
{
	check_all_counted(unused, setup);
}

static void collections_are_counted_near(void **unused)
{
	check_all_counted(unused, setup_near);
}

#define QUEUE	  0x7f54a0000000ull
#define SIGNAL	  0x30 /* the tag of what is no message */
#define FRAGMENTS 0x7f54b0000000ull
#define ABANDONED 0x7f54c0000000ull

static void put_message(uint64_t at, uint64_t next, uint64_t data, uint64_t tag)
{
	host_put_u64(at, next);
	host_put_u64(at + 8, data);
	host_put_u64(at + 16, tag);
}

static void add_queues(void)
{
	host_add_memory(QUEUE, 0x1000);
	host_add_memory(FRAGMENTS, 0x1000);
	host_add_memory(ABANDONED, 0x2000);
}

/* On a dirty scheduler, 100 words of its 1000 in use, 10 in the old heap, 3 in fragments. */
static void put_dirty(void)
{
	const struct beam_layout *l = layout();

	layout()->message_next = 0;
	host_put_u32(ESDP + (uint64_t)l->sched_type, 1);
	put_gc(9, 9, 0, 0);
	put(PROCESS, l->process_heap, HEAP);
	put(PROCESS, l->process_htop, HEAP + 800);
	put(PROCESS, l->process_heap_sz, 1000);
	put(PROCESS, l->process_old_heap, HEAP + 0x10000);
	put(PROCESS, l->process_old_htop, HEAP + 0x10000 + 80);
	put(PROCESS, l->process_mbuf_sz, 3);
	put(PROCESS, l->process_abandoned_heap, 0);
	put(PROCESS, l->process_sig_qs_flags, FS_ON_HEAP_MSGQ);
	put(PROCESS, l->process_sig_qs_first, 0);
	put(PROCESS, l->process_sig_qs_last, PROCESS + (uint64_t)l->process_sig_qs_first);
	put(PROCESS, l->process_sig_qs_cont, 0);
	put(PROCESS, l->process_sig_inq_first, 0);
}

/* What a major collection is said to have reclaimed that leaves 20 words, and that queue. */
static uint64_t reclaimed_of(int32_t list, uint64_t last)
{
	struct pt_regs ctx = {.di = PROCESS};
	const struct beam_layout *l = layout();
	unsigned int n = 0;

	while (event(n))
		n++;
	event_gc(&ctx);
	put(PROCESS, l->process_htop, HEAP + 160);
	put(PROCESS, l->process_old_heap, 0);
	put(PROCESS, l->process_old_htop, 0);
	put(PROCESS, l->process_mbuf_sz, 0);
	put(PROCESS, l->process_abandoned_heap, 0);
	put(PROCESS, l->process_sig_inq_first, 0);
	if (list)
		put(PROCESS, list, last);
	event_gc_return(&ctx);
	assert_int_equal(event(n + 1)->kind, EVENT_GC_MAJOR_END);
	return event(n + 1)->values[0];
}

/* What that collection is said to have found that was new: it leaves 20 words, 12 of them older. */
static void check_new(uint64_t mark, uint64_t allocated, uint64_t survived)
{
	const struct rec_raw_event *e;
	const struct beam_layout *l = layout();
	struct pt_regs ctx = {.di = PROCESS};
	unsigned int n = 0;

	while (event(n))
		n++;
	put(PROCESS, l->process_high_water, mark);
	put(PROCESS, l->process_off_heap_overhead, 70);
	event_gc(&ctx);
	put(PROCESS, l->process_htop, HEAP + 160);
	put(PROCESS, l->process_high_water, HEAP + 160);
	put(PROCESS, l->process_old_heap, 0);
	put(PROCESS, l->process_old_htop, 0);
	put(PROCESS, l->process_mbuf_sz, 0);
	put(PROCESS, l->process_abandoned_heap, 0);
	put(PROCESS, l->process_off_heap_overhead, 50);
	event_gc_return(&ctx);
	e = event(n + 1);
	assert_int_equal(e->kind, EVENT_GC_MAJOR_END);
	assert_int_equal(e->nr_values, 8);
	assert_true(e->values[4] == EVENT_UNKNOWN);
	assert_int_equal(e->values[5], allocated);
	assert_int_equal(e->values[6], survived);
	assert_int_equal(e->values[7], 20);
}

static void new_words(void **unused)
{
	const struct beam_layout *l = layout();

	(void)unused;
	add_queues();
	put_dirty();
	/* 98 words above the mark and 3 in fragments; 2 older ones there, 10 on the old heap. */
	check_new(HEAP + 16, 98 + 3, 20 - 12);
	/* All older: at most as many as were new survive. */
	put_dirty();
	put(PROCESS, l->process_old_htop, HEAP + 0x10000);
	check_new(HEAP + 792, 1 + 3, 0);
	/* A mark that makes no sense. */
	put_dirty();
	check_new(HEAP + 808, EVENT_UNKNOWN, EVENT_UNKNOWN);
	/* An abandoned heap, 500 words above its mark, and the fragment that is the heap now. */
	put_dirty();
	put(PROCESS, l->process_abandoned_heap, ABANDONED);
	check_new(ABANDONED + 8 * 500, 500 + 100 + 3, 0);
	/* From OTP 27 on its mark is after the end of the fragment. */
	put_dirty();
	put(PROCESS, l->process_abandoned_heap, ABANDONED);
	put(PROCESS, l->process_hend, HEAP + 0x800);
	host_put_u64(HEAP + 0x800, ABANDONED + 8 * 900);
	check_new(HEAP, 100 + 100 + 3, 0);
	put_dirty();
	put(PROCESS, l->process_abandoned_heap, ABANDONED);
	put_gc(9, 9, F_ABANDONED_HEAP_USE, 0);
	host_put_u64(ABANDONED + 8 * 999, 600);
	check_new(ABANDONED + 8 * 500, 100 + 100 + 3, 0);
}

/* Of a process that exits all counts that no collection has found. */
static void new_words_at_exit(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = ATOM(1)};
	const struct beam_layout *l = layout();

	(void)unused;
	add_queues();
	put_dirty();
	put(PROCESS, l->process_high_water, HEAP + 16);
	put(PROCESS, l->process_off_heap_overhead, 70);
	event_exit(&ctx);
	assert_int_equal(event(0)->values[1], 98 + 3);
	assert_int_equal(event(0)->values[2], 70);
}

static void reclaimed_by_dirty_ones(void **unused)
{
	const struct beam_layout *l = layout();

	(void)unused;
	add_queues();
	put_dirty();
	assert_int_equal(reclaimed_of(0, 0), 100 + 10 + 3 - 20);
	/* An abandoned heap: all of it, or what its last word says. */
	put_dirty();
	put(PROCESS, l->process_abandoned_heap, ABANDONED);
	assert_int_equal(reclaimed_of(0, 0), 1000 + 113 - 20);
	put_dirty();
	put(PROCESS, l->process_abandoned_heap, ABANDONED);
	put_gc(9, 9, F_ABANDONED_HEAP_USE, 0);
	host_put_u64(ABANDONED + 8 * 999, 500);
	assert_int_equal(reclaimed_of(0, 0), 500 + 113 - 20);
	/* Messages in two queues and in the outer one: of two fragments, in one piece, moved
	 * before; a signal. */
	put_dirty();
	put_message(QUEUE, QUEUE + 100, FRAGMENTS, ATOM(1));
	host_put_u64(FRAGMENTS, FRAGMENTS + 100);
	host_put_u64(FRAGMENTS + HFRAG_USED_SIZE, 30);
	host_put_u64(FRAGMENTS + 100, 0);
	host_put_u64(FRAGMENTS + 100 + HFRAG_USED_SIZE, 5);
	put_message(QUEUE + 100, 0, COMBINED_HFRAG, ATOM(1));
	put_message(QUEUE + 200, QUEUE + 300, 0, ATOM(1));
	put_message(QUEUE + 300, 0, FRAGMENTS, SIGNAL);
	put_message(QUEUE + 400, 0, FRAGMENTS + 100, ATOM(1));
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	put(PROCESS, l->process_sig_qs_cont, QUEUE + 200);
	put(PROCESS, l->process_sig_inq_first, QUEUE + 400);
	assert_int_equal(reclaimed_of(l->process_sig_qs_cont_last, QUEUE + 400), 113 + 40 - 20);
	/* Off heap they stay where they are. */
	put_dirty();
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	put(PROCESS, l->process_sig_qs_flags, 1);
	assert_int_equal(reclaimed_of(l->process_sig_qs_last, QUEUE), 113 - 20);
}

static void reclaimed_unknown(void **unused)
{
	const struct beam_layout *l = layout();

	(void)unused;
	add_queues();
	/* Another message came after the queues were read. */
	put_dirty();
	put_message(QUEUE, 0, 0, ATOM(1));
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	assert_int_equal(reclaimed_of(l->process_sig_qs_last, QUEUE), 113 - 20);
	put_dirty();
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	assert_true(reclaimed_of(l->process_sig_qs_last, QUEUE + 800) == EVENT_UNKNOWN);
	/* Not decoded; more fragments, and more messages, than are looked at. */
	put_dirty();
	put_message(QUEUE, 0, FRAGMENTS, MESSAGE_UNDECODED);
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	assert_true(reclaimed_of(l->process_sig_qs_last, QUEUE) == EVENT_UNKNOWN);
	put_dirty();
	put_message(QUEUE, 0, FRAGMENTS, ATOM(1));
	host_put_u64(FRAGMENTS, FRAGMENTS);
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	assert_true(reclaimed_of(l->process_sig_qs_last, QUEUE) == EVENT_UNKNOWN);
	put_dirty();
	put_message(QUEUE, QUEUE, 0, ATOM(1));
	put(PROCESS, l->process_sig_qs_first, QUEUE);
	assert_true(reclaimed_of(l->process_sig_qs_last, QUEUE) == EVENT_UNKNOWN);
}

/* What was entered before a kind went on again is forgotten, and nothing comes of what is off. */
static void cut_by_a_slice(void **unused)
{
	struct pt_regs ctx = {.di = PROCESS, .si = 7};

	(void)unused;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		bool is_gc = kind == EVENT_GC_MINOR_START || kind == EVENT_GC_MINOR_END ||
			     kind == EVENT_GC_MAJOR_START || kind == EVENT_GC_MAJOR_END;

		teardown(unused);
		setup(unused);
		put_gc(3, 9, 0, 0);
		event_gc(&ctx);
		put_gc(4, 9, 0, 0);
		host_put_u64(ESDP + (uint64_t)config.layout.sched_gc_count, 1);
		switches.epoch[kind]++;
		event_gc_return(&ctx);
		if (is_gc)
			assert_null(event(0));
		else
			assert_non_null(event(1));
	}
	teardown(unused);
	setup(unused);
	switches.kinds = 0;
	ctx.si = put_term();
	event_exit(&ctx);
	assert_null(event(0));
	switches.kinds = 1ull << EVENT_PROCESS_EXIT;
	event_exit(&ctx);
	assert_non_null(event(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EVENT_TEST(exits),
		EVENT_TEST(unnamed),
		EVENT_TEST(circles),
		EVENT_TEST(faults),
		EVENT_TEST(no_room),
		EVENT_TEST(filters),
		EVENT_TEST(filters_by_name),
		EVENT_TEST(filters_by_call),
		EVENT_TEST(collections_are_reported),
		EVENT_TEST(collections_are_counted),
		EVENT_TEST_NEAR(collections_are_counted_near),
		EVENT_TEST(cut_by_a_slice),
		EVENT_TEST(reclaimed_by_dirty_ones),
		EVENT_TEST(new_words),
		EVENT_TEST(new_words_at_exit),
		EVENT_TEST(reclaimed_unknown),
		EVENT_TEST_NEAR(filters),
		EVENT_TEST_NEAR(collections_are_reported),
		EVENT_TEST_NEAR(reclaimed_by_dirty_ones),
		EVENT_TEST_NEAR(reclaimed_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
