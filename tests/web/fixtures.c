/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes the files that the browser tests open:  fixtures DIRECTORY
 *
 *   small.html, small.speedscope.json, small.svg   a profile whose every number the tests know
 *   shop.html       a profile as a busy node has it, for looking at
 *   big.html        60,000 samples in 50,000 distinct stacks; prints how long writing it took
 *   deep.html       one stack of 300 frames
 *   lines.html      one function on two lines
 *   hostile.html    names made to break out of HTML, JSON, scripts and attributes
 *   empty.html      no sample
 *   diff.html, diff.svg   two profiles of shop.html, before and after a change
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "lib/snapfix.h"
#include "model/profile/diff.h"

#define BIG_STACKS  50000u
#define BIG_SAMPLES 60000u

static const struct snapshot_options by_name = {.by = SNAPSHOT_BY_NAME};

static FILE *create(const char *dir, const char *file)
{
	char *path = xasprintf("%s/%s", dir, file);
	FILE *f = fopen(path, "w");

	if (!f) {
		fprintf(stderr, "fixtures: cannot create '%s': %s\n", path, strerror(errno));
		exit(1);
	}
	free(path);
	return f;
}

static void close_written(FILE *f, int rc, const struct error *err)
{
	if (rc || fclose(f)) {
		fprintf(stderr, "fixtures: %s\n", rc ? err->msg : strerror(errno));
		exit(1);
	}
}

static void write_snapshot(const char *dir, const char *file, const struct snapshot *s)
{
	struct error err = {0};
	FILE *f = create(dir, file);

	close_written(f, exporter_by_suffix(file)->write(f, s, &err), &err);
}

static void write_diff(const char *dir, const char *file, const struct diff *d)
{
	struct error err = {0};
	FILE *f = create(dir, file);

	close_written(f, exporter_by_suffix(file)->write_diff(f, d, &err), &err);
}

static void add_meta(struct snapfix *f, const char *node, const char *start)
{
	snapfix_meta(f, "node", node);
	snapfix_meta(f, "os_pid", "4711");
	snapfix_meta(f, "otp", "27");
	snapfix_meta(f, "erts", "15.2.1");
	snapfix_meta(f, "flavor", "jit");
	snapfix_meta(f, "version", "0.1.0");
	snapfix_meta(f, "command", "record");
	snapfix_meta(f, "start", start);
	snapfix_meta(f, "duration_ns", "10000000000");
	snapfix_meta(f, "freq", "99");
}

/* ---- a profile from text ------------------------------------------------------------------ */

/*
 * A frame is written as in flame graphs, with a mark of its kind in front: "=" BIF, "+" NIF,
 * "~" native, "^" kernel, "%" JIT runtime, "!" state of a thread, "*" left out, none = Erlang.
 */
static uint32_t text_frame(struct snapfix *f, const char *text)
{
	static const char marks[] = {
		[FRAME_ERLANG] = ' ', [FRAME_BIF] = '=',    [FRAME_NIF] = '+',
		[FRAME_NATIVE] = '~', [FRAME_KERNEL] = '^', [FRAME_RUNTIME] = '%',
		[FRAME_ELIDED] = '*', [FRAME_STATE] = '!',
	};
	const char *mark = memchr(marks, *text, sizeof(marks));
	enum frame_kind kind = mark ? (enum frame_kind)(mark - marks) : FRAME_ERLANG;
	const char *name = mark ? text + 1 : text, *colon = strpbrk(name, ":");
	char *module = colon ? xstrndup(name, (size_t)(colon - name)) : NULL;
	char *file = module && kind == FRAME_ERLANG ? xasprintf("%s.erl", module) : NULL;
	uint32_t id = snapfix_frame(f, name, module, file,
				    file ? (uint32_t)(strlen(name) * 7 % 400 + 12) : 0, kind);

	free(module);
	free(file);
	return id;
}

struct line {
	uint64_t count, after; /* samples; the same after the change */
	const char *process;   /* name, NULL = no process */
	enum sample_kind kind;
	const char *stack;
};

static void add_line(struct snapfix *f, const struct line *l, uint64_t count, unsigned int at)
{
	char *text = xstrdup(l->stack), *save = NULL;
	uint32_t frames[64], nr = 0, process = SNAPSHOT_NONE;
	uint16_t scheduler = (uint16_t)(at % 4 + 1);
	uint32_t thread;
	char pid[32], name[32];

	if (!count)
		return;
	if (l->process) {
		unsigned int number = 100;

		for (const char *c = l->process; *c; c++)
			number = (number * 31 + (unsigned char)*c) % 4000;
		snprintf(pid, sizeof(pid), "<0.%u.0>", number);
		process = snapfix_process(f, pid, l->process, NULL, "proc_lib:init_p/5");
	}
	snprintf(name, sizeof(name), "erts_sched_%u", scheduler);
	thread = snapfix_thread(f, THREAD_NORMAL, scheduler, 5000u + scheduler, name);
	for (char *t = strtok_r(text, ";", &save); t && nr < ARRAY_SIZE(frames);
	     t = strtok_r(NULL, ";", &save))
		frames[nr++] = text_frame(f, t);
	snapfix_stack(f, frames, nr, process, thread, l->kind, count);
	free(text);
}

#define LOOP   "proc_lib:init_p_do_apply/3;gen_server:loop/7;"
#define HANDLE LOOP "gen_server:try_handle_call/4;"
#define REQUEST                                                                                    \
	"proc_lib:init_p_do_apply/3;cowboy_stream_h:request_process/3;cowboy_handler:execute/2;"

/* Small numbers, all of which stand in the tests: 100 samples. */
static const struct line small_lines[] = {
	{40, 0, "db", SAMPLE_ERLANG, HANDLE "db:handle_call/3;db:find/2"},
	{10, 0, "db", SAMPLE_ETS, HANDLE "db:handle_call/3;=ets:lookup/2;~beam.smp+0x1a2b"},
	{20, 0, "web", SAMPLE_ERLANG, REQUEST "json:encode/1;json:encode/1;json:escape/2"},
	{5, 0, "web", SAMPLE_ERLANG, REQUEST "json:encode/1"},
	{15, 0, "web", SAMPLE_GC, REQUEST "json:encode/1;!garbage collection;~beam.smp+0x99"},
	{6, 0, NULL, SAMPLE_SCHEDULER, "!scheduling"},
	{4, 0, NULL, SAMPLE_POLL, "!polling;^do_epoll_wait"},
};

/* Schedulers that spin for work, in a function that others are in, too. */
static const struct line spinning_lines[] = {
	{10, 0, "web", SAMPLE_ERLANG, "json:encode/1;=erlang:yield/0;^do_sched_yield"},
	{30, 0, NULL, SAMPLE_WAIT, "!spinning;^do_sched_yield"},
};

static const struct line shop_lines[] = {
	{410, 395, "shop_catalog", SAMPLE_ERLANG,
	 HANDLE
	 "shop_catalog:handle_call/3;"
	 "shop_catalog:search/2;lists:filtermap/2;shop_catalog:'-search/2-fun-0-'/2;"
	 "shop_text:normalize/1;string:lowercase/1;string:lowercase_list/2;unicode_util:cp/1"},
	{230, 90, "shop_catalog", SAMPLE_ERLANG,
	 HANDLE "shop_catalog:handle_call/3;"
		"shop_catalog:search/2;lists:filtermap/2;shop_catalog:'-search/2-fun-0-'/2;"
		"shop_text:score/2"},
	{120, 118, "shop_catalog", SAMPLE_ETS,
	 HANDLE
	 "shop_catalog:handle_call/3;"
	 "shop_catalog:search/2;=ets:select/2;~beam.smp:db_select_hash;~beam.smp:db_match_dbterm"},
	{64, 60, "shop_catalog", SAMPLE_GC,
	 HANDLE "shop_catalog:handle_call/3;"
		"shop_catalog:search/2;lists:filtermap/2;!garbage collection;~beam.smp:minor_gc"},
	{31, 35, "shop_catalog", SAMPLE_COPY,
	 HANDLE "=erlang:send/2;~beam.smp:copy_struct_x;"
		"~libc.so.6:__memmove_avx_unaligned_erms"},
	{150, 300, "http_acceptor", SAMPLE_ERLANG,
	 REQUEST
	 "shop_api:handle/2;shop_json:encode/1;"
	 "maps:fold/3;shop_json:'-encode_map/1-fun-0-'/3;shop_json:encode/1;shop_json:escape/2"},
	{88, 180, "http_acceptor", SAMPLE_BIF,
	 REQUEST "shop_api:handle/2;shop_json:encode/1;"
		 "=erlang:iolist_to_binary/1;~libc.so.6:__memmove_avx_unaligned_erms"},
	{52, 70, "http_acceptor", SAMPLE_NIF,
	 REQUEST "shop_api:authenticate/1;crypto:mac/4;"
		 "+crypto:mac_nif/4;~libcrypto.so.3:sha256_block_data_order_avx2"},
	{44, 41, "http_acceptor", SAMPLE_PORT,
	 REQUEST
	 "ranch_tcp:send/2;gen_tcp:send/2;"
	 "inet_tcp:send/2;=erlang:port_command/3;~beam.smp:tcp_sendv;^do_syscall_64;^__sys_sendmsg;"
	 "^tcp_sendmsg;^tcp_write_xmit;^__tcp_transmit_skb;^ip_queue_xmit"},
	{23, 30, "http_acceptor", SAMPLE_GC,
	 REQUEST "shop_api:handle/2;!garbage collection;"
		 "~beam.smp:minor_gc"},
	{75, 70, "shop_stats", SAMPLE_ERLANG,
	 LOOP "gen_server:try_handle_info/3;"
	      "shop_stats:handle_info/2;shop_stats:roll_up/1;lists:foldl/3;shop_stats:add/"
	      "2;maps:update_with/4"},
	{18, 17, "shop_stats", SAMPLE_BIF,
	 LOOP "gen_server:try_handle_info/3;"
	      "shop_stats:handle_info/2;shop_stats:roll_up/1;=lists:keysort/2"},
	{36, 33, "logger", SAMPLE_ERLANG,
	 LOOP "logger_h_common:handle_cast/2;"
	      "logger_formatter:format/2;io_lib:format/2;io_lib_format:build/1"},
	{9, 9, "logger", SAMPLE_TIMER, LOOP "=erlang:start_timer/3;~beam.smp:set_timer"},
	{14, 12, "code_server", SAMPLE_CODE,
	 "code_server:loop/1;code_server:handle_call/3;"
	 "=erlang:prepare_loading/2;~beam.smp:beam_load_prepare_emit"},
	{70, 66, NULL, SAMPLE_SCHEDULER, "!scheduling;~beam.smp:erts_schedule"},
	{42, 44, NULL, SAMPLE_POLL, "!polling;^do_syscall_64;^do_epoll_wait"},
	{11, 10, "shop_catalog", SAMPLE_ERLANG,
	 HANDLE "shop_catalog:handle_call/3;"
		"%call_light_bif_shared"},
	{12, 12, "shop_tree", SAMPLE_ERLANG,
	 HANDLE "shop_tree:insert/3;*[... 96 frames ...];"
		"shop_tree:insert/3;shop_tree:insert/3;shop_tree:balance/1"},
	{0, 55, "http_acceptor", SAMPLE_ERLANG,
	 REQUEST "shop_api:handle/2;shop_audit:record/1;"
		 "shop_audit:render/1;io_lib:format/2"},
};

static struct snapfix *from_lines(const struct line *lines, size_t nr, bool after)
{
	struct snapfix *f = snapfix_open(&by_name);
	uint64_t samples = 0;

	add_meta(f, "shop@prod-3", after ? "2026-03-02T03:04:05Z" : "2026-03-01T03:12:44Z");
	for (size_t i = 0; i < nr; i++) {
		uint64_t count = after ? lines[i].after : lines[i].count;

		add_line(f, &lines[i], count, (unsigned int)i);
		samples += count;
	}
	snapfix_status(f, SAMPLE_STATUS_COMPLETE, samples - 2);
	snapfix_status(f, SAMPLE_STATUS_TRUNCATED, 2);
	snapfix_counter(f, "hits", samples);
	return f;
}

static void make_small(const char *dir)
{
	struct snapfix *f = from_lines(small_lines, ARRAY_SIZE(small_lines), false);

	snapfix_meta(f, "warnings", "first warning\nsecond warning");
	snapfix_counter(f, "ring_full", 3);
	write_snapshot(dir, "small.html", snapfix_snapshot(f));
	write_snapshot(dir, "small.svg", snapfix_snapshot(f));
	write_snapshot(dir, "small.speedscope.json", snapfix_snapshot(f));
	snapfix_close(f);
}

static void make_spinning(const char *dir)
{
	struct snapfix *f = from_lines(spinning_lines, ARRAY_SIZE(spinning_lines), false);

	write_snapshot(dir, "spinning.html", snapfix_snapshot(f));
	snapfix_close(f);
}

static void make_shop(const char *dir)
{
	struct snapfix *a = from_lines(shop_lines, ARRAY_SIZE(shop_lines), false);
	struct snapfix *b = from_lines(shop_lines, ARRAY_SIZE(shop_lines), true);
	struct error err = {0};
	struct diff *d;

	write_snapshot(dir, "shop.html", snapfix_snapshot(a));
	write_snapshot(dir, "shop.svg", snapfix_snapshot(a));
	if (diff_open(&d, snapfix_snapshot(a), snapfix_snapshot(b), &err)) {
		fprintf(stderr, "fixtures: %s\n", err.msg);
		exit(1);
	}
	write_diff(dir, "diff.html", d);
	write_diff(dir, "diff.svg", d);
	diff_close(d);
	snapfix_close(a);
	snapfix_close(b);
}

/* ---- many stacks -------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static uint32_t big_frame(struct snapfix *f, uint32_t number)
{
	char name[64], module[32], file[48];

	snprintf(module, sizeof(module), "mod_%u", number % 97);
	snprintf(name, sizeof(name), "%s:function_%u/%u", module, number, number % 4);
	snprintf(file, sizeof(file), "%s.erl", module);
	return snapfix_frame(f, name, module, file, number + 1, FRAME_ERLANG);
}

/* Stacks of 8 to 40 frames that share their beginnings, as real ones do. */
static struct snapfix *make_big_profile(void)
{
	struct snapfix *f = snapfix_open(&by_name);
	uint32_t state = 7, frames[48], nr = 8;

	add_meta(f, "big@prod", "2026-03-01T03:12:44Z");
	for (uint16_t i = 1; i <= 8; i++)
		snapfix_thread(f, THREAD_NORMAL, i, 5000u + i, "erts_sched");
	for (uint32_t i = 0; i < 500; i++) {
		char pid[32];

		snprintf(pid, sizeof(pid), "<0.%u.0>", 100 + i);
		snapfix_process(f, pid, NULL, NULL, i % 2 ? "worker:init/1" : "pool:start/2");
	}
	for (uint32_t j = 0; j < ARRAY_SIZE(frames); j++)
		frames[j] = big_frame(f, j);
	for (uint32_t i = 0; i < BIG_STACKS; i++) {
		uint32_t keep = 3 + next_random(&state) % (nr - 3);

		nr = 8 + next_random(&state) % 33;
		for (uint32_t j = keep; j < nr; j++)
			frames[j] = big_frame(f, j * 60 + next_random(&state) % 40);
		frames[nr - 1] = big_frame(f, 10000 + i); /* distinct for certain */
		snapfix_stack(f, frames, nr, next_random(&state) % 500, i % 8,
			      i % 9 ? SAMPLE_ERLANG : SAMPLE_GC,
			      1 + (i < BIG_SAMPLES - BIG_STACKS));
	}
	snapfix_status(f, SAMPLE_STATUS_COMPLETE, BIG_SAMPLES);
	return f;
}

static void make_big(const char *dir)
{
	struct snapfix *f = make_big_profile();
	const struct snapshot *s = snapfix_snapshot(f);
	uint64_t start = clock_monotonic_ns();

	write_snapshot(dir, "big.html", s);
	printf("big.html: %" PRIu64 " samples, %u stacks, written in %" PRIu64 " ms\n", s->samples,
	       s->nr_stacks, (clock_monotonic_ns() - start) / 1000000);
	write_snapshot(dir, "big.svg", s);
	snapfix_close(f);
}

/* Recursion 300 deep. */
static void make_deep(const char *dir)
{
	struct snapfix *f = snapfix_open(NULL);
	uint32_t frames[300];

	add_meta(f, "deep@host", "2026-03-01T03:12:44Z");
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "erts_sched_1");
	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++)
		frames[i] = snapfix_frame(f, i % 2 ? "tree:walk/2" : "lists:foldl/3", NULL, NULL, 0,
					  FRAME_ERLANG);
	frames[ARRAY_SIZE(frames) - 1] =
		snapfix_frame(f, "tree:leaf/1", "tree", "tree.erl", 9, FRAME_ERLANG);
	snapfix_stack(f, frames, ARRAY_SIZE(frames), SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 30);
	snapfix_stack(f, frames, 2, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 10);
	write_snapshot(dir, "deep.html", snapfix_snapshot(f));
	snapfix_close(f);
}

/* One function on two lines. */
static void make_lines(const char *dir)
{
	struct snapshot_options opts = {.by = SNAPSHOT_BY_NONE, .lines = true};
	struct snapfix *f = snapfix_open(&opts);
	uint32_t f10 = snapfix_frame(f, "m:f/1", "m", "m.erl", 10, FRAME_ERLANG);
	uint32_t f12 = snapfix_frame(f, "m:f/1", "m", "m.erl", 12, FRAME_ERLANG);
	uint32_t g5 = snapfix_frame(f, "m:g/0", "m", "m.erl", 5, FRAME_ERLANG);
	uint32_t below[2] = {g5, f12};

	add_meta(f, "lines@host", "2026-03-01T03:12:44Z");
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "erts_sched_1");
	snapfix_stack(f, &f10, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 30);
	snapfix_stack(f, &f12, 1, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 10);
	snapfix_stack(f, below, 2, SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 60);
	write_snapshot(dir, "lines.html", snapfix_snapshot(f));
	snapfix_close(f);
}

/* ---- names that bite ---------------------------------------------------------------------- */

static void make_hostile(const char *dir)
{
	static const char *const names[] = {
		"</script><script>window.broken=1</script>",
		"<img src=x onerror=window.broken=1>",
		"\"><svg onload=window.broken=1>",
		"' onmouseover='window.broken=1",
		"${window.broken=1}`",
		"{{DATA}}{{TITLE}}",
		"]]><!--",
		"-->",
		"back\\slash\\u0022",
		"\xce\xbb:\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e/1",
		"\xf0\x9f\x90\x98:trunk/0",
		"__proto__",
		"constructor",
		"a;b;c",
		"&amp;&lt;",
		"\xe2\x80\xaegnitirw:tfel-ot-thgir/1",
	};
	struct snapfix *f = snapfix_open(&by_name);
	uint32_t frames[ARRAY_SIZE(names)], thread, process;

	add_meta(f, "</title><script>window.broken=1</script>@host", "2026-03-01T03:12:44Z");
	snapfix_meta(f, "__proto__", "<b>x</b>");
	snapfix_meta(f, "warnings", "<img src=x onerror=window.broken=1>");
	thread = snapfix_thread(f, THREAD_OTHER, 0, 1, "<script>window.broken=1</script>");
	process = snapfix_process(f, "<0.1.0>", "</script>", "<b>", "'</td>':f/1");
	for (uint32_t i = 0; i < ARRAY_SIZE(names); i++) {
		frames[i] = snapfix_frame(f, names[i], "<i>", "</script>.erl", i, FRAME_ERLANG);
		snapfix_stack(f, frames, i + 1, process, thread, SAMPLE_ERLANG, 10);
		snapfix_stack(f, &frames[i], 1, SNAPSHOT_NONE, thread, SAMPLE_OTHER, 1);
	}
	snapfix_status(f, SAMPLE_STATUS_COMPLETE, 11 * ARRAY_SIZE(names));
	write_snapshot(dir, "hostile.html", snapfix_snapshot(f));
	write_snapshot(dir, "hostile.svg", snapfix_snapshot(f));
	snapfix_close(f);
}

static void make_empty(const char *dir)
{
	struct snapfix *f = snapfix_open(&by_name);

	add_meta(f, "idle@host", "2026-03-01T03:12:44Z");
	write_snapshot(dir, "empty.html", snapfix_snapshot(f));
	write_snapshot(dir, "empty.svg", snapfix_snapshot(f));
	snapfix_close(f);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fixtures DIRECTORY\n");
		return 2;
	}
	make_small(argv[1]);
	make_spinning(argv[1]);
	make_shop(argv[1]);
	make_big(argv[1]);
	make_deep(argv[1]);
	make_lines(argv[1]);
	make_hostile(argv[1]);
	make_empty(argv[1]);
	return 0;
}
