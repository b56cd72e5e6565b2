/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of USDT probes, on made-up processes and ports: arguments wherever a note may say
 * they are, texts that become terms, and what is no identifier.
 */
#include "bpf_host.h"
#include "maps.bpf.c"
#include "events.bpf.c"

#define PROCESS 0x7f5470000000ull
#define OTHER	0x7f5470010000ull
#define PORT	0x7f5470020000ull
#define ESDP	0x7f5460000000ull
#define SLOTS	0x7f5480000000ull
#define PORTS	0x7f5480010000ull
#define CSTACK	0x7f5490000000ull
#define TEXTS	0x7f54a0000000ull
#define FSBASE	0x7f5449fff6c0ull
#define ALL	((1ull << NR_EVENT_KINDS) - 1)

/* 1024 slots, eight to a cache line (erl_ptab.c of OTP 25): number 40 is in slot 40 % 128 * 8 +
 * 40 / 128. */
#define NUMBER	   40ull
#define SLOT	   (NUMBER % 128 * 8 + NUMBER / 128)
#define EPID	   (SLOT << 32 | NUMBER << 4 | 3)
#define OTHER_DATA (300ull | 2ull << 15) /* <0.300.2> */
#define OTHER_SLOT (300ull % 128 * 8 + 300 / 128)
#define OTHER_EPID (OTHER_SLOT << 32 | OTHER_DATA << 4 | 3)
#define PORT_ID	   (5ull * 8 << 32 | 5 << 4 | 7)

static void put(uint64_t base, int32_t offset, uint64_t value)
{
	host_put_u64(base + (uint64_t)offset, value);
}

static uint64_t put_text(uint64_t at, const char *text)
{
	host_put(TEXTS + at, text, strlen(text) + 1);
	return TEXTS + at;
}

static void put_threads(void)
{
	uint64_t key = FSBASE;
	struct thread_info t = {.esdp = ESDP, .registers = CSTACK + 0x800, .scheduler = 1};

	t.type = THREAD_NORMAL;
	bpf_map_update_elem(&threads, &key, &t, BPF_ANY);
	put(ESDP, config.layout.sched_current_process, PROCESS);
}

static int setup(void **unused)
{
	struct beam_layout *layout = (struct beam_layout *)&config.layout;
	const struct id_table table = {.slots = SLOTS,
				       .pix_mask = 1023,
				       .cl_mask = 127,
				       .cli_mask = 7,
				       .cl_shift = 3,
				       .cli_shift = 7,
				       .number_bits = 15};
	int32_t *l = (int32_t *)layout;

	(void)unused;
	host_reset();
	memset((void *)&config, 0, sizeof(config));
	memset(&state, 0, sizeof(state));
	for (size_t i = 0; i < sizeof(struct beam_layout) / 4; i++)
		l[i] = (int32_t)(8 * i);
	HOST_KERNEL(true);
	config.event_kinds = config.usdt_kinds = ALL;
	switches.kinds = ALL;
	memcpy((void *)&config.processes, &table, sizeof(table));
	memcpy((void *)&config.ports, &table, sizeof(table));
	config.ports.slots = PORTS;
	HOST_ADD_RINGS(rings);
	HOST_ADD_MAP(counters);
	HOST_ADD_MAP(threads);
	HOST_ADD_MAP(processes);
	HOST_ADD_MAP(event_counts);
	HOST_ADD_MAP(event_threads);
	HOST_ADD_MAP(usdt_points);
	host_add_memory(PROCESS, 0x2000);
	host_add_memory(OTHER, 0x2000);
	host_add_memory(PORT, 0x2000);
	host_add_memory(ESDP, 0x2000);
	host_add_memory(SLOTS, 0x2000);
	host_add_memory(PORTS, 0x2000);
	host_add_memory(CSTACK, 0x1000);
	host_add_memory(TEXTS, 0x1000);
	host.pid_tgid = 4711ull << 32 | 4712;
	host.task.thread.fsbase = FSBASE;
	put(PROCESS, config.layout.process_id, EPID);
	put(OTHER, config.layout.process_id, OTHER_EPID);
	put(PORT, config.layout.port_id, PORT_ID);
	host_put_u64(SLOTS + 8 * SLOT, PROCESS);
	host_put_u64(SLOTS + 8 * OTHER_SLOT, OTHER);
	host_put_u64(PORTS + 8 * 40, PORT);
	put_threads();
	host.cookie = 3;
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	host_reset();
	return 0;
}

static const struct rec_raw_event *event(unsigned int n)
{
	for (unsigned int i = 0; i < host.nr_records; i++) {
		const struct rec_header *h = host.records[i].bytes;

		if (h->type == REC_RAW_EVENT && n-- == 0)
			return host.records[i].bytes;
	}
	return NULL;
}

static void put_point(const struct usdt_point *p)
{
	uint32_t key = 3;

	bpf_map_update_elem(&usdt_points, &key, p, BPF_ANY);
}

#define IN(r)                                                                                      \
	{                                                                                          \
		.type = USDT_ARG_REGISTER, .reg = (r), .size = 8                                   \
	}
#define AT(r, o, n)                                                                                \
	{                                                                                          \
		.type = USDT_ARG_MEMORY, .reg = (r), .offset = (o), .size = (n)                    \
	}

/* ---- arguments ----------------------------------------------------------------------------- */

static void arguments(void **unused)
{
	static const struct {
		struct usdt_arg arg;
		uint64_t value;
	} rows[] = {
		{IN(USDT_RAX), 0x8182838485868788ull},
		{{0, USDT_ARG_REGISTER, USDT_RAX, 4, 0, 0, {0}}, 0x85868788},
		{{0, USDT_ARG_REGISTER, USDT_RAX, 4, 1, 0, {0}}, 0xffffffff85868788ull},
		{{0, USDT_ARG_REGISTER, USDT_RAX, 2, 1, 0, {0}}, 0xffffffffffff8788ull},
		{{0, USDT_ARG_REGISTER, USDT_RAX, 1, 0, 0, {0}}, 0x88},
		{{0, USDT_ARG_REGISTER, USDT_RAX, 1, 0, 8, {0}}, 0x87},
		{IN(USDT_R15), 15},
		{IN(USDT_RSI), 4},
		{{-17, USDT_ARG_CONSTANT, 0, 4, 1, 0, {0}}, (uint64_t)-17},
		{AT(USDT_RBP, -8, 8), 0xfedcba9876543210ull},
		{AT(USDT_RBP, -8, 4), 0x76543210},
		{{-4, USDT_ARG_MEMORY, USDT_RBP, 4, 1, 0, {0}}, 0xfffffffffedcba98ull},
		{AT(USDT_RBP, 0x10000, 8), EVENT_UNKNOWN}, /* no memory */
		{AT(USDT_RBP, 0x10000, 4), EVENT_UNKNOWN},
		{{0, USDT_ARG_NONE, 0, 8, 0, 0, {0}}, EVENT_UNKNOWN},
		{{0, USDT_ARG_REGISTER, 200, 8, 0, 0, {0}}, EVENT_UNKNOWN},
	};
	struct pt_regs ctx = {
		.ax = 0x8182838485868788ull, .r15 = 15, .si = 4, .bp = CSTACK + 0x100};
	struct usdt_point point = {0};
	struct usdt_hit hit;

	(void)unused;
	host_put_u64(CSTACK + 0xf8, 0xfedcba9876543210ull);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		point.args[0] = rows[i].arg;
		put_point(&point);
		assert_true(usdt_begin(&ctx, &hit));
		if (usdt_arg(&hit, 0) != rows[i].value)
			fail_msg("row %zu: %lx", i, usdt_arg(&hit, 0));
	}
	assert_true(usdt_arg(&hit, USDT_POINT_ARGS) == EVENT_UNKNOWN);
	host.cookie = USDT_POINTS;
	assert_false(usdt_begin(&ctx, &hit));
}

/* A kernel without cookies: the point is known by where the probe was hit. */
static void without_cookies(void **unused)
{
	const uint64_t at = 0x401000, cookie = 3;
	struct usdt_point point = {.args = {IN(USDT_RSI)}};
	struct pt_regs ctx = {.ip = at, .si = 4};
	struct usdt_hit hit;

	(void)unused;
	HOST_KERNEL(false);
	HOST_ADD_MAP(event_cookies);
	bpf_map_update_elem(&event_cookies, &at, &cookie, BPF_ANY);
	point.kind = EVENT_PORT_OPEN;
	put_point(&point);
	assert_true(usdt_begin(&ctx, &hit));
	assert_int_equal(hit.point->kind, EVENT_PORT_OPEN);
	assert_int_equal(usdt_arg(&hit, 0), 4);
	ctx.ip = at + 1; /* nobody knows */
	assert_true(usdt_begin(&ctx, &hit));
	assert_int_not_equal(hit.point->kind, EVENT_PORT_OPEN);
}

static void identifiers(void **unused)
{
	static const char *const none[] = {
		"",	     "<8123.40.0>",    "0.40.0",	"<0",
		"undefined", "<0.32767.8191>", "#Ref<0.1.2.3>", "<0.1.2.3.4>",
	};
	uint64_t process;

	(void)unused;
	assert_true(usdt_pid(put_text(0, "<0.40.0>"), &process) == EPID);
	assert_true(process == PROCESS);
	assert_true(usdt_pid(put_text(0, "<0.300.2>"), &process) == OTHER_EPID);
	assert_true(process == OTHER);
	/* The slot has another one by now. */
	assert_true(usdt_pid(put_text(0, "<0.300.3>"), &process) != OTHER_EPID);
	assert_true(process == 0);
	assert_true(usdt_port(put_text(0, "#Port<0.5>"), &process) == PORT_ID);
	assert_true(process == PORT);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		if (usdt_pid(put_text(0, none[i]), &process) || process)
			fail_msg("'%s'", none[i]);
	}
	assert_int_equal(usdt_pid(0x1000, &process), 0);
	assert_int_equal(usdt_pid(0, &process), 0);
	/* OTP 26 and later: the slot is in the data. */
	config.processes.whole_word = 1;
	config.processes.number_bits = 28;
	assert_true(usdt_pid(put_text(0, "<0.1064.1>"), &process) ==
		    (((1ull << 28 | 1024 | SLOT) << 4) | 3));
}

/* ---- programs ------------------------------------------------------------------------------ */

/* port__control(process, port, name, command) */
static void fields(void **unused)
{
	struct usdt_point point = {
		.kind = EVENT_PORT_CONTROL,
		.about = 0,
		.only_arg = USDT_NO_ARG,
		.by_process = 1,
		.nr_values = 3,
		.values = {{USDT_VALUE_PORT, 1}, {USDT_VALUE_DRIVER, 1}, {USDT_VALUE_NUMBER, 3}},
		.args = {IN(USDT_RDI), IN(USDT_RSI), IN(USDT_RDX), AT(USDT_RSP, 8, 4)},
	};
	struct pt_regs ctx = {.sp = CSTACK};
	const struct rec_raw_event *e;

	(void)unused;
	ctx.di = put_text(0, "<0.40.0>");
	ctx.si = put_text(32, "#Port<0.5>");
	host_put_u64(CSTACK + 8, 0x100000011ull);
	put(PORT, config.layout.port_drv_ptr, OTHER);
	put(OTHER, config.layout.driver_name, put_text(64, "tcp_inet"));
	put_point(&point);
	event_usdt(&ctx);
	e = event(0);
	assert_non_null(e);
	assert_int_equal(e->kind, EVENT_PORT_CONTROL);
	assert_true(e->epid == EPID);
	assert_int_equal(e->nr_values, 2 + EVENT_TEXT_WORDS);
	assert_true(e->values[0] == PORT_ID);
	assert_string_equal((const char *)&e->values[1], "tcp_inet");
	assert_int_equal(e->values[1 + EVENT_TEXT_WORDS], 17);
	/* What no process did. */
	put_text(0, "<0.32767.8191>");
	event_usdt(&ctx);
	assert_null(event(1));
	/* Another process than the one that is asked for. */
	put_text(0, "<0.40.0>");
	config.event_epid = OTHER_EPID;
	event_usdt(&ctx);
	assert_null(event(1));
	/* Of one text only. */
	config.event_epid = 0;
	point.only_arg = 2;
	memcpy(point.only, "command", 8);
	put_point(&point);
	ctx.dx = put_text(96, "close");
	event_usdt(&ctx);
	assert_null(event(1));
	put_text(96, "command");
	event_usdt(&ctx);
	assert_non_null(event(1));
}

static void spawns(void **unused)
{
	static const char text[] =
		"'a long name of a module that does not fit into one of the parts':f/1";
	struct usdt_point point = {.args = {IN(USDT_R12), IN(USDT_R14)}};
	struct pt_regs ctx = {0};
	const struct rec_raw_event *e;

	(void)unused;
	ctx.r12 = put_text(0, "<0.300.2>");
	ctx.r14 = put_text(0x100, text);
	put(OTHER, config.layout.process_parent, EPID);
	put_point(&point);
	event_usdt_spawn(&ctx);
	e = event(0);
	assert_non_null(e);
	assert_true(e->epid == OTHER_EPID && e->values[0] == EPID);
	assert_int_equal(e->flags, RAW_EVENT_TEXT);
	assert_int_equal(e->nr_blocks, EVENT_TEXT_BLOCKS);
	assert_memory_equal(e->blocks[0].words, text, EVENT_TEXT_BLOCK);
	assert_string_equal((const char *)e->blocks[1].words, text + EVENT_TEXT_BLOCK);
	/* On behalf of another node. */
	put(OTHER, config.layout.process_parent, 0x3b);
	event_usdt_spawn(&ctx);
	assert_true(event(1)->values[0] == 0);
	/* It is gone: whoever runs here has made it. */
	host_put_u64(SLOTS + 8 * OTHER_SLOT, 0);
	event_usdt_spawn(&ctx);
	assert_true(event(2)->values[0] == EPID && event(2)->epid == OTHER_EPID);
	/* Without names no text. */
	config.unnamed = 1;
	event_usdt_spawn(&ctx);
	assert_true(event(3)->values[0] == EPID && event(3)->flags == 0);
	assert_int_equal(event(3)->nr_blocks, 0);
	assert_int_equal(event(3)->h.size, sizeof(*event(3)));
}

static void both_ends(void **unused)
{
	struct usdt_point point = {.kind = EVENT_GC_MINOR_START,
				   .args = {IN(USDT_RDI), IN(USDT_RSI)}};
	struct pt_regs ctx = {.si = 0xffffffff00000007ull};

	(void)unused;
	host.tick_ns = 1000;
	ctx.di = put_text(0, "<0.40.0>");
	put(PROCESS, config.layout.process_heap_sz, 233);
	put_point(&point);
	event_usdt_gc_start(&ctx);
	assert_int_equal(event(0)->kind, EVENT_GC_MINOR_START);
	assert_int_equal(event(0)->values[0], 7); /* an int */
	assert_int_equal(event(0)->values[1], 233);
	put(PROCESS, config.layout.process_heap_sz, 376);
	point.kind = EVENT_GC_MINOR_END;
	put_point(&point);
	ctx.si = 42;
	event_usdt_gc_end(&ctx);
	assert_int_equal(event(1)->kind, EVENT_GC_MINOR_END);
	assert_int_equal(event(1)->values[0], 42);
	assert_int_equal(event(1)->values[1], 376);
	assert_true(event(1)->values[3] == event(1)->h.ts_ns - event(0)->h.ts_ns);
	/* An end whose beginning was not seen, or was in another time. */
	event_usdt_gc_end(&ctx);
	assert_null(event(2));
	event_usdt_gc_start(&ctx);
	switches.epoch[EVENT_GC_MINOR_START]++;
	event_usdt_gc_end(&ctx);
	assert_null(event(3));
	/* Only long ones: both events when it has ended. */
	for (unsigned int i = 0; i < 2; i++) {
		config.gc_longer_than_ns = i ? 999 : 1000000;
		event_usdt_gc_start(&ctx);
		assert_null(event(3));
		event_usdt_gc_end(&ctx);
		if (i == 0)
			assert_null(event(3));
	}
	assert_int_equal(event(3)->kind, EVENT_GC_MINOR_START);
	assert_int_equal(event(4)->kind, EVENT_GC_MINOR_END);
	assert_true(event(4)->values[3] == event(4)->h.ts_ns - event(3)->h.ts_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(arguments), TEST(identifiers),	TEST(fields),	   TEST(spawns),
		TEST(both_ends), TEST(without_cookies), TEST(identifiers), TEST(fields),
		TEST(spawns),	 TEST(both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
