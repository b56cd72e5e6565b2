/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of processes: emitted at first sight and when name, initial call or label have changed;
 * never lost for good, never made up from what could not be read.
 */
#include "abi/vm.h"
#include "node.h"

#define REG_PROC	  (NODE_TERMS + 0x800) /* struct RegProc */
#define NAME		  TERM_ATOM(0x1111)
#define INITIAL_CALL_KEY  TERM_ATOM(0x2222)
#define LABEL_KEY	  TERM_ATOM(0x3333)
#define INITIAL_CALL_HASH 0x77ull
#define LABEL_HASH	  0x132ull
#define LABEL_TUPLE	  (NODE_TERMS + 0x400)
#define CALL_TUPLE	  (NODE_TERMS + 0x300)

static const uint64_t initial[3] = {TERM_ATOM(0x40), TERM_ATOM(0x41), 5};
static const uint64_t call[3] = {TERM_ATOM(0x50), TERM_ATOM(0x51), TERM_SMALL(1)};

static void put_words(uint64_t at, const uint64_t *words, uint32_t nr)
{
	host_put(at, words, 8ull * nr);
}

static void set_name(uint64_t name)
{
	host_put_u64(REG_PROC + (uint64_t)config.layout.regproc_name, name);
	set_process(config.layout.process_reg, name ? REG_PROC : 0);
}

/* A pair in the slot that the hash leads to; value 0 = no such key. */
static void set_entry(uint64_t key, uint64_t hash, uint64_t at, uint64_t value)
{
	uint64_t pair[] = {HEADER_TUPLE(2), key, value};
	uint64_t slot = NODE_PDICT + DICTIONARY_DATA + 8 * (hash & 15);

	put_words(at, pair, 3);
	host_put_u64(slot, value ? BOXED_AT(at) : TERM_NIL);
}

static void set_initial_call(uint64_t value)
{
	set_entry(INITIAL_CALL_KEY, INITIAL_CALL_HASH, NODE_TERMS, value);
}

static void set_label(uint64_t value)
{
	set_entry(LABEL_KEY, LABEL_HASH, NODE_TERMS + 64, value);
}

static void set_state(uint32_t bits)
{
	host_put_u32(NODE_PROCESS + (uint64_t)config.layout.process_state, bits);
}

/* A registered gen_server with a label {worker, 7}. */
static int setup(void **unused)
{
	uint64_t call_tuple[] = {HEADER_TUPLE(3), call[0], call[1], call[2]};
	uint64_t label[] = {HEADER_TUPLE(2), TERM_ATOM(0x60), TERM_SMALL(7)};

	node_setup(unused);
	config.initial_call =
		(struct dictionary_key){.term = INITIAL_CALL_KEY, .hash = INITIAL_CALL_HASH};
	config.process_label = (struct dictionary_key){.term = LABEL_KEY, .hash = LABEL_HASH};
	host_add_memory(NODE_PDICT, DICTIONARY_DATA + 16 * 8);
	host_put_u32(NODE_PDICT, 15);
	host_put_u32(NODE_PDICT + 4, 16);
	for (uint64_t i = 0; i < 16; i++)
		host_put_u64(NODE_PDICT + DICTIONARY_DATA + 8 * i, TERM_NIL);
	set_process(config.layout.process_dictionary, NODE_PDICT);
	put_words(NODE_PROCESS + (uint64_t)config.layout.process_initial, initial, 3);
	put_words(CALL_TUPLE, call_tuple, 4);
	put_words(LABEL_TUPLE, label, 3);
	set_name(NAME);
	set_initial_call(BOXED_AT(CALL_TUPLE));
	set_label(BOXED_AT(LABEL_TUPLE));
	push_bottom();
	return 0;
}

/* Runs the sampler so many ms later; the process record it made, or NULL. */
static struct rec_raw_process *sample_after(uint64_t ms)
{
	struct rec_raw_process *p;

	host.now_ns += ms * 1000000;
	sample_in_jit();
	assert_true(nr_records(REC_RAW_PROCESS) <= 1);
	p = (struct rec_raw_process *)last_record(REC_RAW_PROCESS);
	if (p) {
		assert_int_equal(p->h.size, sizeof(*p));
		assert_int_equal(p->h.flags, 0);
		assert_int_equal(p->h.ts_ns, host.now_ns);
		assert_int_equal(p->process, NODE_PROCESS);
		assert_int_equal(p->epid, NODE_EPID);
	}
	return p;
}

static void assert_words(const uint64_t *words, const uint64_t *expected, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(words[i], expected ? expected[i] : 0);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void first_sight(void **unused)
{
	struct rec_raw_process *p = sample_after(0);

	(void)unused;
	assert_non_null(p);
	/* Before its sample, so that the reader knows the process by then. */
	assert_ptr_equal(host.records[0].bytes, p);
	assert_int_equal(p->registered, NAME);
	assert_words(p->initial, initial, 3);
	assert_words(p->initial_call, call, 3);
	assert_int_equal(p->label, BOXED_AT(LABEL_TUPLE));
	assert_int_equal(p->label_words[0], HEADER_TUPLE(2));
	assert_int_equal(p->label_words[1], TERM_ATOM(0x60));
	assert_int_equal(p->label_words[2], TERM_SMALL(7));
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

static void unchanged(void **unused)
{
	(void)unused;
	assert_non_null(sample_after(0));
	for (int i = 0; i < 20; i++)
		assert_null(sample_after(17));
}

static void each_change(void **unused)
{
	struct rec_raw_process *p;

	(void)unused;
	sample_after(0);
	set_name(0);
	p = sample_after(60);
	assert_non_null(p);
	assert_int_equal(p->registered, 0);
	assert_words(p->initial_call, call, 3);

	set_name(NAME + 64);
	p = sample_after(60);
	assert_non_null(p);
	assert_int_equal(p->registered, NAME + 64);

	set_label(TERM_ATOM(0x99));
	p = sample_after(60);
	assert_non_null(p);
	assert_int_equal(p->label, TERM_ATOM(0x99));
	assert_words(p->label_words, NULL, RAW_LABEL_WORDS);

	set_initial_call(0);
	p = sample_after(60);
	assert_non_null(p);
	assert_words(p->initial_call, NULL, 3);
	assert_int_equal(p->label, TERM_ATOM(0x99));
	assert_null(sample_after(60));
}

/* Between two reads a change stays unseen, and only until the next one. */
static void read_now_and_then(void **unused)
{
	(void)unused;
	sample_after(0);
	set_name(0);
	assert_null(sample_after(20));
	assert_null(sample_after(29));
	assert_non_null(sample_after(1));
	set_name(NAME);
	assert_null(sample_after(49));
	assert_non_null(sample_after(1));
}

/* Another process with the same memory: the identifier tells them apart. */
static void processes_by_identifier(void **unused)
{
	(void)unused;
	sample_after(0);
	set_process(config.layout.process_id, NODE_EPID + 16);
	host.now_ns += 1;
	sample_in_jit();
	assert_int_equal(nr_records(REC_RAW_PROCESS), 1);
	set_process(config.layout.process_id, NODE_EPID);
	assert_null(sample_after(1));
}

/* ---- what ------------------------------------------------------------------------------------ */

static void nothing_known(void **unused)
{
	struct rec_raw_process *p;

	(void)unused;
	set_name(0);
	set_process(config.layout.process_dictionary, 0);
	p = sample_after(0);
	assert_non_null(p);
	assert_int_equal(p->registered, 0);
	assert_words(p->initial, initial, 3);
	assert_words(p->initial_call, NULL, 3);
	assert_int_equal(p->label, 0);
	assert_words(p->label_words, NULL, RAW_LABEL_WORDS);
	assert_null(sample_after(60));
}

/* Older releases have no atom '$process_label'. */
static void no_such_atom(void **unused)
{
	struct rec_raw_process *p;

	(void)unused;
	config.process_label.term = 0;
	p = sample_after(0);
	assert_int_equal(p->label, 0);
	assert_words(p->initial_call, call, 3);
}

static void initial_call_of_another_shape(void **unused)
{
	static const uint64_t headers[] = {HEADER_TUPLE(2), HEADER_TUPLE(4), 0, TERM_SMALL(3)};

	(void)unused;
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct rec_raw_process *p;

		host_put_u64(CALL_TUPLE, headers[i]);
		set_process(config.layout.process_id, NODE_EPID + 16 * i);
		host.now_ns++;
		sample_in_jit();
		p = (struct rec_raw_process *)last_record(REC_RAW_PROCESS);
		assert_non_null(p);
		assert_words(p->initial_call, NULL, 3);
		assert_int_equal(p->registered, NAME);
	}
	/* The dictionary is the process's own: it may put anything there. */
	set_process(config.layout.process_id, NODE_EPID + 0x1000);
	set_initial_call(TERM_ATOM(1));
	sample_in_jit();
	assert_words(((struct rec_raw_process *)last_record(REC_RAW_PROCESS))->initial_call, NULL,
		     3);
}

static void label_is_a_list(void **unused)
{
	uint64_t cell[] = {TERM_SMALL('a'), TERM_NIL};
	struct rec_raw_process *p;

	(void)unused;
	put_words(LABEL_TUPLE, cell, 2);
	set_label(LIST_AT(LABEL_TUPLE));
	p = sample_after(0);
	assert_int_equal(p->label, LIST_AT(LABEL_TUPLE));
	assert_words(p->label_words, cell, 2);
}

/* ---- states in which the process shows other things ------------------------------------------ */

/* In place of the name there may be anything by then. */
static void exiting_process(void **unused)
{
	(void)unused;
	set_state(PSFLG_EXITING);
	assert_null(sample_after(0));
	set_state(PSFLG_FREE);
	assert_null(sample_after(0));
	set_state(0);
	assert_non_null(sample_after(0));
	set_state(PSFLG_EXITING);
	set_name(NAME + 64);
	assert_null(sample_after(60));
}

/* The dictionary of a process that is being collected is not looked at... */
static void first_seen_in_a_collection(void **unused)
{
	struct rec_raw_process *p;

	(void)unused;
	set_state(PSFLG_GC);
	set_process(config.layout.process_dictionary, 0x666); /* would fault */
	p = sample_after(0);
	assert_non_null(p);
	assert_int_equal(p->registered, NAME);
	assert_words(p->initial_call, NULL, 3);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
	assert_null(sample_after(1));
	/* ... and not long waited for afterwards. */
	set_state(0);
	set_process(config.layout.process_dictionary, NODE_PDICT);
	p = sample_after(1);
	assert_non_null(p);
	assert_words(p->initial_call, call, 3);
	assert_int_equal(p->label, BOXED_AT(LABEL_TUPLE));
}

static void known_before_a_collection(void **unused)
{
	(void)unused;
	sample_after(0);
	set_state(PSFLG_GC);
	set_process(config.layout.process_dictionary, 0x666);
	assert_null(sample_after(60));
	set_state(0);
	set_process(config.layout.process_dictionary, NODE_PDICT);
	assert_null(sample_after(60));
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* Of a known process nothing changes only because it cannot be read for once. */
static void unreadable_is_no_change(void **unused)
{
	uint64_t reads = 0;

	(void)unused;
	sample_after(0);
	for (uint64_t n = 1;; n++) {
		host.fail_read = n;
		assert_null(sample_after(60));
		if (host.reads < n)
			break;
		reads++;
	}
	/* Scheduler data, process, stack, and then: reg, name, dictionary, two entries. */
	assert_true(reads >= 1 + 5 + 1 + 3 + 2 * 3);
	assert_int_equal(counter(COUNTER_READ_FAULT), reads);
}

/* Of a new one each thing is right or missing. */
static void unreadable_at_first_sight(void **unused)
{
	(void)unused;
	for (uint64_t n = 1;; n++) {
		struct rec_raw_process *p;

		host.fail_read = n;
		host_free_entries(host_map(&processes));
		p = sample_after(60);
		if (host.reads < n)
			break;
		if (!p)
			continue;
		assert_true(p->registered == NAME || p->registered == 0);
		assert_true(p->label == BOXED_AT(LABEL_TUPLE) || p->label == 0);
		assert_words(p->initial, p->initial[0] ? initial : NULL, 3);
		assert_words(p->initial_call, p->initial_call[0] ? call : NULL, 3);
		assert_int_equal(p->label_words[0], p->label_words[2] ? HEADER_TUPLE(2) : 0);
	}
}

/* A record that found no room is made again. */
static void ring_full(void **unused)
{
	(void)unused;
	host.ring_room = 0;
	for (int i = 0; i < 3; i++) {
		struct bpf_perf_event_data ctx = {.regs = regs_in_jit()};

		sample_cpu(&ctx);
		assert_int_equal(host.nr_records, 0);
		assert_int_equal(counter(COUNTER_RING_FULL), 2 * (i + 1));
	}
	host.ring_room = HOST_NO_LIMIT;
	assert_non_null(sample_after(1));
	assert_null(sample_after(1));
	/* A change, too. */
	set_name(0);
	host.ring_room = 0;
	host.now_ns += 60000000;
	sample_cpu(&(struct bpf_perf_event_data){.regs = regs_in_jit()});
	host.ring_room = HOST_NO_LIMIT;
	assert_non_null(sample_after(1));
}

/* A CPU that came online later has no ring. */
static void no_ring(void **unused)
{
	(void)unused;
	host.cpu = host.nr_rings;
	sample_cpu(&(struct bpf_perf_event_data){.regs = regs_in_jit()});
	assert_int_equal(host.nr_records, 0);
	assert_int_equal(counter(COUNTER_RING_FULL), 2);
	host.cpu = 0;
	assert_non_null(sample_after(1));
}

#define PROCESS_TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROCESS_TEST(first_sight),
		PROCESS_TEST(unchanged),
		PROCESS_TEST(each_change),
		PROCESS_TEST(read_now_and_then),
		PROCESS_TEST(processes_by_identifier),
		PROCESS_TEST(nothing_known),
		PROCESS_TEST(no_such_atom),
		PROCESS_TEST(initial_call_of_another_shape),
		PROCESS_TEST(label_is_a_list),
		PROCESS_TEST(exiting_process),
		PROCESS_TEST(first_seen_in_a_collection),
		PROCESS_TEST(known_before_a_collection),
		PROCESS_TEST(unreadable_is_no_change),
		PROCESS_TEST(unreadable_at_first_sight),
		PROCESS_TEST(ring_full),
		PROCESS_TEST(no_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
