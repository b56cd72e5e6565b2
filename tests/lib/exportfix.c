/* SPDX-License-Identifier: BSD-2-Clause */
/* See exportfix.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/exportfix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "lib/golden.h"

static void add_meta(struct snapfix *f)
{
	snapfix_meta(f, "node", "shop@prod-3");
	snapfix_meta(f, "os_pid", "4711");
	snapfix_meta(f, "otp", "27");
	snapfix_meta(f, "erts", "15.2.1");
	snapfix_meta(f, "flavor", "jit");
	snapfix_meta(f, "version", "0.1.0");
	snapfix_meta(f, "command", "record");
	snapfix_meta(f, "start", "2026-03-01T03:12:44Z");
	snapfix_meta(f, "start_epoch_ns", "1772334764000000000");
	snapfix_meta(f, "duration_ns", "10000000000");
	snapfix_meta(f, "freq", "99");
	snapfix_meta(f, "warnings", "first\n\nsecond");
	snapfix_counter(f, "hits", 23);
	snapfix_counter(f, "ring_full", 2);
	snapfix_status(f, SAMPLE_STATUS_COMPLETE, 20);
	snapfix_status(f, SAMPLE_STATUS_TRUNCATED, 1);
}

/* 21 samples: two processes, all sorts of frames, names that bite, recursion, an empty stack. */
struct snapfix *exportfix_profile(bool lines, enum snapshot_by by)
{
	struct snapshot_options opts = {.by = by, .lines = lines};
	struct snapfix *f = snapfix_open(&opts);
	uint32_t th = snapfix_thread(f, THREAD_NORMAL, 1, 5001, "erts_sched_1");
	uint32_t aux = snapfix_thread(f, THREAD_OTHER, 0, 5009, "erts_aux");
	uint32_t db = snapfix_process(f, "<0.80.0>", "db", NULL, "proc_lib:init_p/5");
	uint32_t web = snapfix_process(f, "<0.81.0>", NULL, "\"</script>\"", "cowboy:request/2");
	uint32_t loop = snapfix_frame(f, "gen_server:loop/7", "gen_server", "gen_server.erl", 1,
				      FRAME_ERLANG);
	uint32_t find = snapfix_frame(f, "db:find/2", "db", "db.erl", 42, FRAME_ERLANG);
	uint32_t find2 = snapfix_frame(f, "db:find/2", "db", "db.erl", 44, FRAME_ERLANG);
	uint32_t ets = snapfix_frame(f, "ets:lookup/2", "ets", NULL, 0, FRAME_BIF);
	uint32_t nif = snapfix_frame(f, "crypto:hash_nif/4", "crypto", NULL, 0, FRAME_NIF);
	uint32_t libc = snapfix_frame(f, "libc.so.6:memcpy", "libc.so.6", NULL, 0, FRAME_NATIVE);
	uint32_t vm = snapfix_frame(f, "beam.smp+0x1234", "beam.smp", NULL, 0, FRAME_NATIVE);
	uint32_t sys = snapfix_frame(f, "do_syscall_64", NULL, NULL, 0, FRAME_KERNEL);
	uint32_t gap = snapfix_frame(f, "[... 9 frames ...]", NULL, NULL, 0, FRAME_ELIDED);
	uint32_t poll = snapfix_frame(f, "[poll]", NULL, NULL, 0, FRAME_STATE);
	uint32_t odd = snapfix_frame(f, "'a;b\\\"</script>':\xce\xbb/1", "'a;b\\\"</script>'",
				     "<&>.erl", 7, FRAME_ERLANG);
	uint32_t s1[] = {loop, find}, s2[] = {loop, find2, ets, vm}, s3[] = {loop, gap, loop, find};
	uint32_t s4[] = {loop, odd, nif, libc}, s5[] = {poll, sys}, s6[] = {loop, odd};

	add_meta(f);
	snapfix_stack(f, s1, 2, db, th, SAMPLE_ERLANG, 8);
	snapfix_stack(f, s2, 4, db, th, SAMPLE_ETS, 3);
	snapfix_stack(f, s3, 4, db, th, SAMPLE_ERLANG, 1);
	snapfix_stack(f, s4, 4, web, th, SAMPLE_NIF, 4);
	snapfix_stack(f, s6, 2, web, th, SAMPLE_GC, 2);
	snapfix_stack(f, s5, 2, SNAPSHOT_NONE, aux, SAMPLE_POLL, 2);
	snapfix_stack(f, NULL, 0, SNAPSHOT_NONE, aux, SAMPLE_OTHER, 1);
	return f;
}

struct snapfix *exportfix_after(void)
{
	struct snapshot_options opts = {.by = SNAPSHOT_BY_NAME};
	struct snapfix *f = snapfix_open(&opts);
	uint32_t th = snapfix_thread(f, THREAD_NORMAL, 1, 6001, "erts_sched_1");
	uint32_t db = snapfix_process(f, "<0.99.0>", "db", NULL, "proc_lib:init_p/5");

	add_meta(f);
	snapfix_text(f, "gen_server:loop/7;db:find/2", db, th, SAMPLE_ERLANG, 5);
	snapfix_text(f, "gen_server:loop/7;db:new/0", db, th, SAMPLE_ERLANG, 15);
	return f;
}

struct output exportfix_write(const char *format, const struct snapshot *s)
{
	struct output o;
	struct error err = {0};
	FILE *f = open_memstream(&o.bytes, &o.size);

	assert_int_equal(exporter_find(format)->write(f, s, &err), 0);
	fclose(f);
	return o;
}

struct output exportfix_write_diff(const char *format, const struct diff *d)
{
	struct output o;
	struct error err = {0};
	FILE *f = open_memstream(&o.bytes, &o.size);

	assert_int_equal(exporter_find(format)->write_diff(f, d, &err), 0);
	fclose(f);
	return o;
}

void exportfix_check_golden(const char *name, const struct output *o)
{
	char *path = xasprintf("export/%s.exp", name);

	golden_check(path, o->bytes, o->size);
	free(path);
}

json_t *exportfix_parse(const struct output *o)
{
	json_error_t error;
	json_t *j = json_loadb(o->bytes, o->size, 0, &error);

	if (!j)
		fail_msg("no JSON: %s", error.text);
	return j;
}

const char *exportfix_string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

uint64_t exportfix_sum(const json_t *list, const char *key)
{
	uint64_t sum = 0;
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) sum +=
		(uint64_t)json_integer_value(key ? json_object_get(item, key) : item);
	return sum;
}

void exportfix_check_envelope(const json_t *top)
{
	const json_t *node = json_object_get(top, "node");

	assert_int_equal(json_integer_value(json_object_get(top, "schema")), 1);
	assert_string_equal(exportfix_string(top, "tool"), "ebeam");
	assert_string_equal(exportfix_string(top, "version"), "0.1.0");
	assert_string_equal(exportfix_string(top, "command"), "record");
	assert_string_equal(exportfix_string(top, "time"), "2026-03-01T03:12:44Z");
	assert_int_equal(json_integer_value(json_object_get(node, "os_pid")), 4711);
	assert_string_equal(exportfix_string(node, "name"), "shop@prod-3");
	assert_string_equal(exportfix_string(node, "otp"), "27");
	assert_int_equal(json_array_size(json_object_get(top, "warnings")), 2);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(top, "counters"), "ring_full")),
		2);
}
