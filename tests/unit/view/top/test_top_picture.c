/* SPDX-License-Identifier: BSD-2-Clause */
/* The picture of `top` in the README: a busy node, made up, always the same one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "lib/golden.h"
#include "view/table/process_columns.h"
#include "view/top/top_screen.h"

#define SECOND	 1000000000ull
#define READINGS 60u
#define NORMAL	 8u
#define MIB	 (1ull << 20)

static const char *const tabs[] = {"Processes", "Functions",	"Schedulers", "Memory", "ETS",
				   "Ports",	"Applications", "Nodes",      "Events", NULL};

/* 0..99, never smooth, the same on all machines. */
static unsigned int noise(unsigned int a, unsigned int b)
{
	uint32_t x = (a + 1) * 2654435761u ^ (b + 7) * 2246822519u;

	x ^= x >> 15;
	x *= 2654435761u;
	return (x ^ x >> 13) % 100;
}

/* Load, percent: calm, and a rush that is about to end. */
static unsigned int load(unsigned int t)
{
	unsigned int rush = t < 30 ? 0 : t < 44 ? (t - 30) * 4 : t < 54 ? 56 : 56 - (t - 54) * 5;

	return 26 + rush + noise(t, 1) / 12;
}

static void set_schedulers(struct top_frame *f, unsigned int t)
{
	for (uint32_t i = 0; i < f->nr_schedulers; i++) {
		struct top_scheduler *s = &f->schedulers[i];
		bool normal = s->type == THREAD_NORMAL;
		double busy = normal ? (load(t) + noise(i, t) / 7) / 100.0
				     : (i % 9 == 8) * (20 + noise(i, t) / 5) / 100.0;
		const double of[NR_TOP_SHARES] = {
			[TOP_SHARE_ERLANG] = normal ? 0.56 : 0,
			[TOP_SHARE_GC] = normal ? 0.13 : 0.3,
			[TOP_SHARE_BIF] = normal ? 0.11 : 0.1,
			[TOP_SHARE_NIF] = normal ? 0.05 : 0.6,
			[TOP_SHARE_PORT] = normal ? 0.08 : 0,
			[TOP_SHARE_OTHER] = normal ? 0.07 : 0,
		};

		s->known = true;
		for (size_t k = 0; k < NR_TOP_SHARES; k++)
			s->share[k] = of[k] * busy;
		s->share[TOP_SHARE_WAITING] = 1 - busy;
	}
}

static void count(struct top_totals *now, unsigned int t)
{
	static const uint64_t rates[NR_TOP_RATES] = {
		[TOP_RATE_REDUCTIONS] = 2100000,
		[TOP_RATE_CONTEXT_SWITCHES] = 1450,
		[TOP_RATE_GCS] = 64,
		[TOP_RATE_GC_BYTES] = 1900000,
		[TOP_RATE_PORT_IN] = 118000,
		[TOP_RATE_PORT_OUT] = 204000,
	};

	for (size_t i = 0; i < NR_TOP_RATES; i++)
		now->counters[i] += rates[i] * (load(t) + noise((unsigned int)i, t) / 8);
	now->counters[TOP_RATE_MESSAGES] = TOP_UNKNOWN; /* that needs probes */
	now->os_cpu_ns += (uint64_t)load(t) * NORMAL * (SECOND / 100);
	now->read_ns = now->os_ns = (t + 1) * SECOND;
	now->os_rss = 1370 * MIB;
}

static void size(struct top_totals *now, unsigned int t)
{
	const uint64_t heaps = 300 + load(t) * 4, binaries = 180 + 2ull * t + noise(t, 3) / 3;

	now->memory[TOP_MEMORY_PROCESSES] = heaps * MIB;
	now->memory[TOP_MEMORY_BINARY] = binaries * MIB;
	now->memory[TOP_MEMORY_ETS] = 214 * MIB + t * 37000;
	now->memory[TOP_MEMORY_CODE] = 41 * MIB;
	now->memory[TOP_MEMORY_ATOM] = 2 * MIB;
	now->memory[TOP_MEMORY_SYSTEM] = (330 + binaries) * MIB;
	now->memory[TOP_MEMORY_TOTAL] = (630 + heaps + binaries) * MIB;
	now->limits[TOP_LIMIT_PROCESSES] = (struct top_limit){11842 + load(t) * 31, 262144};
	now->limits[TOP_LIMIT_PORTS] = (struct top_limit){2310 + load(t) * 9, 65536};
	now->limits[TOP_LIMIT_ATOMS] = (struct top_limit){61204, 1048576};
	now->limits[TOP_LIMIT_ETS] = (struct top_limit){418, 8192};
}

static void set_frame(struct top_frame *f)
{
	struct top_queue_totals queue = {.number = 1,
					 .reductions = TOP_UNKNOWN,
					 .context_switches = TOP_UNKNOWN,
					 .gcs = TOP_UNKNOWN};
	struct top_totals before, now;

	top_frame_init(f);
	snprintf(f->node.name, sizeof(f->node.name), "shop@web-3");
	snprintf(f->node.otp, sizeof(f->node.otp), "27");
	snprintf(f->node.erts, sizeof(f->node.erts), "15.2.7");
	snprintf(f->node.flavor, sizeof(f->node.flavor), "jit");
	f->node.os_pid = 4711;
	f->node.uptime_s = 3 * 86400 + 7421;
	top_frame_set_schedulers(f, NORMAL, NORMAL, 10);
	top_totals_init(&now);
	memset(now.counters, 0, sizeof(now.counters));
	now.os_cpu_ns = 0;
	now.queues = &queue;
	now.nr_queues = 1;
	for (unsigned int t = 0; t < READINGS; t++) {
		before = now;
		queue.length = load(t) / 8 + noise(t, 2) / 16;
		count(&now, t);
		size(&now, t);
		set_schedulers(f, t);
		top_frame_update(f, t ? &before : NULL, &now);
		top_frame_sum_schedulers(f);
	}
	f->own_cpu = 0.9;
	f->own_rss = 38 * MIB;
	f->samples = 4180;
}

static const struct {
	uint64_t pid;
	const char *name, *function;
	float cpu, reductions;
	uint64_t memory, messages;
	float growth;
	uint8_t status;
} processes[] = {
	{1204, "shop_pricing", "shop_tax:rate_of/3", 61.4F, 31240118, 48 * MIB, 3178, 212.0F, 2},
	{1377, "shop_search_2", "lists:keymember/3", 43.8F, 22841906, 71 * MIB, 12, 0, 4},
	{1376, "shop_search_1", "ets:select/3", 41.2F, 21590442, 68 * MIB, 9, 0, 2},
	{2290, "Shop.Basket.Store", "maps:fold_1/4", 22.6F, 9741850, 31 * MIB, 0, 0, 2},
	{903, "cowboy_acceptor_3", "prim_inet:accept0/3", 12.1F, 4210334, 210944, 0, 0, 5},
	{904, "cowboy_acceptor_4", "prim_inet:accept0/3", 11.7F, 4187120, 209920, 0, 0, 5},
	{51877, "shop_session:init/1", "gen_server:loop/7", 6.4F, 2201873, 812 * 1024, 0, 0, 5},
	{51902, "shop_session:init/1", "jsx_decoder:string/4", 6.1F, 2180555, 1204 * 1024, 1, 0, 2},
	{51764, "shop_session:init/1", "gen_server:loop/7", 5.5F, 1990417, 640 * 1024, 0, 0, 5},
	{388, "logger_std_h_default", "gen_server:loop/7", 4.9F, 1503228, 2 * MIB, 41, 3.0F, 5},
	{51633, "shop_session:init/1", "binary:split/3", 4.2F, 1412096, 733 * 1024, 0, 0, 1},
	{1190, "shop_db_pool", "gen_statem:loop/3", 3.8F, 1220764, 5 * MIB, 4, 0, 5},
	{51911, "shop_session:init/1", "gen_server:loop/7", 3.3F, 1101235, 559 * 1024, 0, 0, 5},
	{1219, "shop_db_conn_7", "prim_inet:recv0/3", 2.7F, 803412, 391168, 0, 0, 5},
	{1215, "shop_db_conn_3", "prim_inet:recv0/3", 2.5F, 790220, 388096, 0, 0, 5},
	{1213, "shop_db_conn_1", "prim_inet:recv0/3", 2.4F, 774006, 387072, 0, 0, 5},
	{2301, "Shop.Mailer", "gen_server:loop/7", 1.2F, 318845, 940 * 1024, 0, 0, 5},
	{77, "code_server", "code_server:loop/1", 0.4F, 91144, 2 * MIB, 0, 0, 5},
	{1188, "shop_metrics", "timer:sleep/1", 0.3F, 80211, 173056, 0, 0, 5},
	{64, "inet_gethost_native", "inet_gethost_native:main_loop/1", 0.1F, 12083, 34816, 0, 0, 5},
	{69, "ssl_manager", "gen_server:loop/7", 0.1F, 9010, 88064, 0, 0, 5},
	{9, "erl_prim_loader", "erl_prim_loader:loop/3", 0, 0, 139264, 0, 0, 5},
	{42, "logger", "gen_server:loop/7", 0, 0, 11776, 0, 0, 5},
	{44, "application_controller", "gen_server:loop/7", 0, 0, 418816, 0, 0, 5},
	{49, "kernel_sup", "gen_server:loop/7", 0, 0, 12288, 0, 0, 5},
	{1180, "shop_sup", "gen_server:loop/7", 0, 0, 21504, 0, 0, 5},
};

static uint64_t row_id(const void *row)
{
	return ((const struct process_row *)row)->pid;
}

static void set_rows(struct process_row *rows, struct process_strings *strings)
{
	for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
		const char *name = processes[i].name, *function = processes[i].function;
		uint32_t id = process_strings_add(strings, name, strlen(name));

		rows[i] = (struct process_row){
			.pid = processes[i].pid,
			.slot = i,
			.function = process_strings_add(strings, function, strlen(function)),
			.cpu = processes[i].cpu,
			.reductions_rate = processes[i].reductions,
			.memory = processes[i].memory,
			.message_queue_len = processes[i].messages,
			.messages_rate = processes[i].growth,
			.status = processes[i].status,
		};
		if (strchr(name, '/'))
			rows[i].initial_call = id;
		else
			rows[i].registered = id;
	}
}

static void check(const struct screen *s)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&bytes, &len);

	assert_non_null(f);
	screen_write_svg(s, f);
	assert_int_equal(fclose(f), 0);
	golden_check("screen/top-picture.svg", bytes, len);
	free(bytes);
}

static void picture(void **state)
{
	struct process_row rows[ARRAY_SIZE(processes)];
	struct process_strings strings = {0};
	struct process_columns_ctx ctx = {.strings = &strings};
	struct panel_source source = {
		.table = {.columns = process_columns,
			  .rows = rows,
			  .nr_rows = ARRAY_SIZE(rows),
			  .row_size = sizeof(rows[0]),
			  .ctx = &ctx},
		.id = row_id,
		.reading = 1,
	};
	struct top_frame frame;
	struct top_view view = {
		.frame = &frame, .tabs = tabs, .source = &source, .message = "", .step_s = 1};
	struct screen *s;

	UNUSED(state);
	set_rows(rows, &strings);
	set_frame(&frame);
	panel_open(&view.panel, PROCESS_COLUMNS_TOP, "cpu");
	screen_open(&s, 40, 120);
	top_screen_draw(s, &view);
	check(s);
	screen_close(s);
	panel_close(view.panel);
	top_frame_free(&frame);
	process_strings_free(&strings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(picture)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
