/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe on code loading: what the descriptor says is what the record says, a module's bytes are
 * copied up to the limit, and each loss has its counter.
 */
#include "bpf_host.h"
#include "maps.bpf.c"
#include "code.bpf.c"

#define DESCRIPTOR  0x560000001000ull /* __jit_debug_descriptor */
#define ENTRY	    0x7f5410000000ull
#define RECORD	    0x7f5420000000ull
#define RECORD_ROOM (EBEAM_CODE_BYTES + 64)

static void announce(uint32_t action, uint64_t entry)
{
	struct jit_descriptor d = {.version = 1, .action = action, .relevant = entry};

	host_put(DESCRIPTOR, &d, sizeof(d));
}

static void set_entry(uint64_t record, uint64_t size)
{
	struct jit_entry e = {.record = record, .record_size = size};

	host_put(ENTRY, &e, sizeof(e));
}

static int setup(void **unused)
{
	(void)unused;
	host_reset();
	memset((void *)&config, 0, sizeof(config));
	memset(&state, 0, sizeof(state));
	HOST_ADD_RINGS(rings);
	HOST_ADD_MAP(counters);
	HOST_KERNEL(true);
	config.jit_descriptor = DESCRIPTOR;
	host_add_memory(DESCRIPTOR, sizeof(struct jit_descriptor));
	host_add_memory(ENTRY, sizeof(struct jit_entry));
	host_add_memory(RECORD, RECORD_ROOM);
	for (uint32_t i = 0; i < RECORD_ROOM; i++)
		((uint8_t *)host_at(RECORD, RECORD_ROOM))[i] = (uint8_t)(i * 7 + 1);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	host_reset();
	return 0;
}

static uint64_t counter(enum counter_id id)
{
	uint32_t key = id;

	return *(uint64_t *)bpf_map_lookup_elem(&counters, &key);
}

/* Runs the probe; its record, or NULL. */
static const struct rec_raw_code *run(void)
{
	struct pt_regs regs = {.ip = 1};
	const struct rec_raw_code *c;

	host_drop_records();
	host.now_ns++;
	assert_int_equal(code_changed(&regs), 0);
	if (host.nr_records == 0)
		return NULL;
	assert_int_equal(host.nr_records, 1);
	assert_true(host.records[0].submitted);
	c = host.records[0].bytes;
	assert_int_equal(c->h.type, REC_RAW_CODE);
	assert_int_equal(c->h.flags, 0);
	assert_int_equal(c->h.size, host.records[0].size);
	assert_int_equal(c->h.ts_ns, host.now_ns);
	assert_true(c->copied <= c->h.size - sizeof(*c));
	return c;
}

static void loaded(void **unused)
{
	static const uint32_t sizes[] = {
		0,
		1,
		26,
		2047,
		2048,
		2049,
		8191,
		8192,
		8193,
		EBEAM_CODE_BYTES - 1,
		EBEAM_CODE_BYTES,
	};
	uint64_t n = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct rec_raw_code *c;

		announce(CODE_LOADED, ENTRY);
		set_entry(RECORD, sizes[i]);
		c = run();
		assert_non_null(c);
		assert_int_equal(c->action, CODE_LOADED);
		assert_int_equal(c->entry, ENTRY);
		assert_int_equal(c->record, RECORD);
		assert_int_equal(c->record_size, sizes[i]);
		assert_int_equal(c->copied, sizes[i]);
		assert_memory_equal(c->bytes, host_at(RECORD, sizes[i]), sizes[i]);
		assert_int_equal(counter(COUNTER_CODE_LOADS), ++n);
		assert_int_equal(state.code_generation, n);
	}
	assert_int_equal(counter(COUNTER_CODE_TRUNCATED), 0);
	assert_int_equal(counter(COUNTER_CODE_UNLOADS), 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* Too large to be copied: user space reads it later, and knows the place. */
static void too_large(void **unused)
{
	static const uint64_t sizes[] = {EBEAM_CODE_BYTES + 1, 1u << 20, 1ull << 32,
					 (1ull << 32) + 100, UINT64_MAX};

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct rec_raw_code *c;

		announce(CODE_LOADED, ENTRY);
		set_entry(RECORD, sizes[i]);
		c = run();
		assert_non_null(c);
		assert_int_equal(c->copied, 0);
		assert_int_equal(c->h.size, sizeof(*c));
		assert_int_equal(c->record, RECORD);
		assert_int_equal(c->record_size, sizes[i]);
		assert_int_equal(counter(COUNTER_CODE_TRUNCATED), i + 1);
	}
}

/* Code outside of what is known is JIT code at once; what lies inside changes nothing. */
static void new_mapping(void **unused)
{
	struct jit_module m = {.kind = 1, .base = 0x500000, .code_size = 0x1000};

	(void)unused;
	state.jit[0] = (struct address_range){0x400000, 0x480000};
	state.jit_hull = state.jit[0];
	state.nr_jit = 1;
	announce(CODE_LOADED, ENTRY);
	set_entry(RECORD, 2000);
	host_put(RECORD, &m, sizeof(m));
	assert_non_null(run());
	assert_int_equal(state.nr_jit, 2);
	assert_int_equal(state.jit[1].start, 0x500000);
	assert_int_equal(state.jit[1].end, 0x501000);
	assert_int_equal(state.jit_hull.start, 0x400000);
	assert_int_equal(state.jit_hull.end, 0x501000);
	assert_non_null(run());
	assert_int_equal(state.nr_jit, 2);
	m.base = 0x3ff800;
	host_put(RECORD, &m, sizeof(m));
	state.nr_jit = EBEAM_JIT_RANGES; /* full: the hull alone */
	assert_non_null(run());
	assert_int_equal(state.nr_jit, EBEAM_JIT_RANGES);
	assert_int_equal(state.jit_hull.start, 0x3ff800);
	m.base = UINT64_MAX - 0x10;
	host_put(RECORD, &m, sizeof(m));
	assert_non_null(run());
	m.kind = 0;
	m.base = 0x900000;
	host_put(RECORD, &m, sizeof(m));
	assert_non_null(run());
	assert_int_equal(state.jit_hull.end, 0x501000);
}

/* Many at once: copies leave half of the ring to samples, but each load is reported. */
static void ring_half_full(void **unused)
{
	static const struct {
		uint64_t used;
		uint32_t size;
		bool copied;
	} cases[] = {
		{HOST_RING_SIZE / 2 - EBEAM_CODE_BYTES, EBEAM_CODE_BYTES, true},
		{HOST_RING_SIZE / 2 - EBEAM_CODE_BYTES + 8, EBEAM_CODE_BYTES, false},
		{HOST_RING_SIZE / 2 - 2048, 100, true},
		{HOST_RING_SIZE / 2 - 2048 + 8, 100, false},
		{HOST_RING_SIZE - 64, 100, false},
	};
	uint64_t cut = 0;

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rec_raw_code *c;

		host.ring_used = cases[i].used;
		announce(CODE_LOADED, ENTRY);
		set_entry(RECORD, cases[i].size);
		c = run();
		assert_non_null(c);
		assert_int_equal(c->record, RECORD);
		assert_int_equal(c->record_size, cases[i].size);
		assert_int_equal(c->copied, cases[i].copied ? cases[i].size : 0);
		cut += !cases[i].copied;
		assert_int_equal(counter(COUNTER_CODE_TRUNCATED), cut);
	}
	assert_int_equal(counter(COUNTER_RING_FULL), 0);
}

static void unloaded(void **unused)
{
	const struct rec_raw_code *c;

	(void)unused;
	announce(CODE_UNLOADED, ENTRY);
	set_entry(RECORD, 5000);
	c = run();
	assert_non_null(c);
	assert_int_equal(c->action, CODE_UNLOADED);
	assert_int_equal(c->entry, ENTRY);
	assert_int_equal(c->copied, 0);
	assert_int_equal(c->h.size, sizeof(*c));
	assert_int_equal(counter(COUNTER_CODE_UNLOADS), 1);
	assert_int_equal(counter(COUNTER_CODE_LOADS), 0);
	assert_int_equal(state.code_generation, 1);
}

/* No action, and what no version of the interface has. */
static void nothing_happened(void **unused)
{
	(void)unused;
	set_entry(RECORD, 100);
	announce(0, ENTRY);
	assert_null(run());
	announce(3, ENTRY);
	assert_null(run());
	announce(CODE_LOADED, 0);
	assert_null(run());
	assert_int_equal(state.code_generation, 0);
	assert_int_equal(counter(COUNTER_CODE_LOADS) + counter(COUNTER_CODE_UNLOADS), 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 0);
}

/* The event is reported even where the bytes cannot be read; where it cannot be known it is
 * counted. */
static void unreadable(void **unused)
{
	const struct rec_raw_code *c;

	(void)unused;
	announce(CODE_LOADED, ENTRY);
	set_entry(RECORD, 4000);
	host.fail_addr = RECORD + 3999;
	c = run();
	assert_non_null(c);
	assert_int_equal(c->copied, 0);
	assert_int_equal(c->record_size, 4000);
	assert_int_equal(counter(COUNTER_READ_FAULT), 1);
	host.fail_addr = ENTRY + 8;
	c = run();
	assert_non_null(c);
	assert_int_equal(c->action, CODE_LOADED);
	assert_int_equal(c->entry, ENTRY);
	assert_int_equal(c->record, 0);
	assert_int_equal(c->record_size, 0);
	assert_int_equal(c->copied, 0);
	assert_int_equal(counter(COUNTER_READ_FAULT), 2);
	assert_int_equal(state.code_generation, 2);
	host.fail_addr = DESCRIPTOR;
	assert_null(run());
	assert_int_equal(counter(COUNTER_READ_FAULT), 3);
}

static void no_room(void **unused)
{
	(void)unused;
	announce(CODE_LOADED, ENTRY);
	set_entry(RECORD, 100);
	host.ring_room = 0;
	assert_null(run());
	assert_int_equal(counter(COUNTER_RING_FULL), 1);
	host.ring_room = HOST_NO_LIMIT;
	host.cpu = host.nr_rings;
	assert_null(run());
	assert_int_equal(counter(COUNTER_RING_FULL), 2);
	/* Code has changed all the same. */
	assert_int_equal(counter(COUNTER_CODE_LOADS), 2);
	assert_int_equal(state.code_generation, 2);
}

#define CODE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CODE_TEST(loaded),	   CODE_TEST(too_large), CODE_TEST(new_mapping),
		CODE_TEST(ring_half_full), CODE_TEST(unloaded),	 CODE_TEST(nothing_happened),
		CODE_TEST(unreadable),	   CODE_TEST(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
