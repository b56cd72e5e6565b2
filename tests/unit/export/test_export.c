/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exporters: what holds for all of them, folded stacks and SVG (goldens), differences.
 * HTML, JSON with speedscope, and pprof have tests of their own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/formats.h"
#include "export/paint.h"
#include "lib/exportfix.h"

/* ---- the table ------------------------------------------------------------------------- */

static void test_table(void **state)
{
	(void)state;
	assert_string_equal(exporters[0].name, "html"); /* the default */
	assert_true(exporter_find("perfetto")->timeline);
	assert_string_equal(exporter_by_suffix("a.perfetto.json")->name, "perfetto");
	assert_null(exporter_find(""));
	assert_string_equal(exporter_find("pprof")->suffix, ".pb.gz");
	assert_true(exporter_find("pprof")->wants_lines);
	assert_string_equal(exporter_by_suffix("x/a.json")->name, "json");
	assert_string_equal(exporter_by_suffix("a.speedscope.json")->name, "speedscope");
	assert_string_equal(exporter_by_suffix("a.pb.gz")->name, "pprof");
	assert_string_equal(exporter_by_suffix(".html")->name, "html");
	assert_null(exporter_by_suffix("a.gz"));
	assert_null(exporter_by_suffix("html"));
	assert_null(exporter_by_suffix(""));
	for (const struct exporter *e = exporters; e->name; e++) {
		assert_true(e->timeline != (e->write != NULL));
		assert_true(e->suffix[0] == '.' && e->summary[0]);
		assert_ptr_equal(exporter_find(e->name), e);
		assert_ptr_equal(exporter_by_suffix(e->suffix), e);
	}
}

static void check_percent(uint64_t num, uint64_t den, int digits, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	export_add_percent(&sb, num, den, digits);
	assert_string_equal(sb.buf, want);
	strbuf_free(&sb);
}

static void test_helpers(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct snapfix *f = snapfix_open(NULL);

	(void)state;
	check_percent(1, 3, 2, "33.33");
	check_percent(2, 3, 1, "66.7");
	check_percent(0, 0, 2, "0.00");
	check_percent(1, 1, 1, "100.0");
	check_percent(UINT64_MAX, UINT64_MAX, 2, "100.00");
	export_add_xml(&sb, "<a href=\"x\">'&'\x01\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd</a>");
	assert_string_equal(sb.buf, "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;???\xef\xbf\xbd"
				    "&lt;/a&gt;");
	strbuf_free(&sb);
	snapfix_meta(f, "n", "123");
	snapfix_meta(f, "bad", "12x");
	snapfix_meta(f, "minus", "-1");
	snapfix_meta(f, "huge", "99999999999999999999999");
	snapfix_meta(f, "empty", "");
	assert_int_equal(export_meta_number(snapfix_snapshot(f), "n"), 123);
	for (int i = 0; i < 5; i++) {
		static const char *const keys[] = {"bad", "minus", "huge", "empty", "absent"};

		assert_int_equal(export_meta_number(snapfix_snapshot(f), keys[i]), 0);
	}
	assert_string_equal(export_meta(snapfix_snapshot(f), "empty", "else"), "else");
	snapfix_close(f);
}

static void test_paints(void **state)
{
	(void)state;
	for (int k = FRAME_ERLANG; k <= FRAME_STATE; k++)
		assert_true(paint_of_frame((enum frame_kind)k) < NR_PAINTS);
	for (int k = 0; k < NR_SAMPLE_KINDS; k++)
		assert_true(paint_of_sample((enum sample_kind)k) < NR_PAINTS);
	for (unsigned int i = 0; i < NR_PAINT_SHADES; i++) {
		assert_int_equal(paint_shade(0xffffff, i) >> 24, 0);
		assert_int_equal(paint_shade(0, i) >> 24, 0);
	}
	assert_int_equal(paint_shade(0x123456, 0), 0x123456);
	assert_true(paint_shade_of("lists") < NR_PAINT_SHADES);
	assert_int_equal(paint_delta(0, 5), paint_delta(0, 0));			      /* neutral */
	assert_int_equal(paint_delta(0.1, 0.1), paint_delta(0.1, PAINT_DELTA_FLOOR)); /* noise */
	assert_int_not_equal(paint_delta(5, 5), paint_delta(-5, 5));
	assert_int_equal(paint_delta(9, 5), paint_delta(5, 5));
}

/* ---- every format ---------------------------------------------------------------------- */

static void test_deterministic(void **state)
{
	(void)state;
	for (const struct exporter *e = exporters; e->name; e++) {
		if (e->timeline)
			continue;
		struct snapfix *one = exportfix_profile(e->wants_lines, SNAPSHOT_BY_NAME);
		struct snapfix *two = exportfix_profile(e->wants_lines, SNAPSHOT_BY_NAME);
		struct output a = exportfix_write(e->name, snapfix_snapshot(one));
		struct output b = exportfix_write(e->name, snapfix_snapshot(two));

		assert_int_equal(a.size, b.size);
		assert_memory_equal(a.bytes, b.bytes, a.size);
		free(a.bytes);
		free(b.bytes);
		snapfix_close(one);
		snapfix_close(two);
	}
}

/* A file that takes `room` bytes and no more. */
static void check_full(const struct exporter *e, const struct snapshot *s, const struct diff *d,
		       size_t room, size_t buffer)
{
	struct rlimit before, limit;
	struct error err = {0};
	FILE *f = tmpfile();
	int rc;

	assert_non_null(f);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){room, before.rlim_max};
	setvbuf(f, NULL, buffer ? _IOFBF : _IONBF, buffer);
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = s ? e->write(f, s, &err) : e->write_diff(f, d, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	assert_non_null(strstr(err.msg, "cannot write the output: File too large. This process"));
	fclose(f);
}

static void test_disk_full(void **state)
{
	struct snapfix *a = exportfix_profile(false, SNAPSHOT_BY_NAME), *b = exportfix_after();
	struct diff *d;

	(void)state;
	assert_int_equal(diff_open(&d, snapfix_snapshot(a), snapfix_snapshot(b), NULL), 0);
	for (const struct exporter *e = exporters; e->name; e++) {
		if (e->timeline)
			continue;
		check_full(e, snapfix_snapshot(a), NULL, 0, 4096);
		check_full(e, snapfix_snapshot(a), NULL, 100, 0);
		check_full(e, snapfix_snapshot(a), NULL, 100, 64);
		if (e->write_diff)
			check_full(e, NULL, d, 30, 16);
	}
	diff_close(d);
	snapfix_close(a);
	snapfix_close(b);
}

static void test_empty(void **state)
{
	struct snapfix *f = snapfix_open(NULL);

	(void)state;
	for (const struct exporter *e = exporters; e->name; e++) {
		if (e->timeline)
			continue;
		struct output o = exportfix_write(e->name, snapfix_snapshot(f));

		assert_true(o.size > 0 || strcmp(e->name, "folded") == 0);
		free(o.bytes);
	}
	snapfix_close(f);
}

/* What no snapshot should hold is an error, not a broken file. */
static void test_invalid_utf8(void **state)
{
	static const char *const formats[] = {"json", "speedscope", "html"};
	struct snapfix *f = snapfix_open(NULL);

	(void)state;
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "t");
	snapfix_text(f, "m:\xff/1", SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 1);
	for (int i = 0; i < 3; i++) {
		struct error err = {0};
		FILE *null = fopen("/dev/null", "w");

		assert_int_equal(exporter_find(formats[i])->write(null, snapfix_snapshot(f), &err),
				 -EILSEQ);
		assert_non_null(strstr(err.msg, "UTF-8"));
		fclose(null);
	}
	snapfix_close(f);
}

static void test_folded(void **state)
{
	struct snapfix *f = exportfix_profile(false, SNAPSHOT_BY_NAME);
	struct output o = exportfix_write("folded", snapfix_snapshot(f));
	uint64_t sum = 0;

	(void)state;
	exportfix_check_golden("small.folded", &o);
	for (char *line = o.bytes; *line; line = strchr(line, '\n') + 1) {
		char *end = strchr(line, '\n'), *space = memrchr(line, ' ', (size_t)(end - line));

		assert_non_null(space);
		sum += strtoull(space, NULL, 10);
	}
	assert_int_equal(sum, snapfix_snapshot(f)->samples);
	assert_non_null(strstr(o.bytes, "'a\\x3bb\\\"</script>'"));
	free(o.bytes);
	snapfix_close(f);
	f = exportfix_profile(false, SNAPSHOT_BY_NONE);
	o = exportfix_write("folded", snapfix_snapshot(f));
	assert_memory_equal(o.bytes, "[no stack] 1\n", 13);
	free(o.bytes);
	snapfix_close(f);
}

static void test_svg(void **state)
{
	struct snapfix *f = exportfix_profile(false, SNAPSHOT_BY_NAME);
	struct output o = exportfix_write("svg", snapfix_snapshot(f));

	(void)state;
	exportfix_check_golden("small.svg", &o);
	assert_null(strstr(o.bytes, "<script"));
	assert_null(strstr(o.bytes, "are not drawn"));
	free(o.bytes);
	snapfix_close(f);
}

/* 2 of 4,002 samples are in frames narrower than 0.1 %. */
static void test_svg_culls(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	struct output o;

	(void)state;
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "t");
	snapfix_text(f, "m:a/0", SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 4000);
	snapfix_text(f, "m:a/0;m:b/0;m:c/0", SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 1);
	snapfix_text(f, "m:a/0;m:d/0", SNAPSHOT_NONE, 0, SAMPLE_ERLANG, 1);
	o = exportfix_write("svg", snapfix_snapshot(f));
	assert_null(strstr(o.bytes, "m:b/0"));
	assert_non_null(strstr(o.bytes,
			       "3 frames narrower than 0.1 % of the picture are not drawn; 0.05 % "
			       "of the samples end in them."));
	free(o.bytes);
	snapfix_close(f);
}

/* ---- differences ----------------------------------------------------------------------- */

static void test_diffs(void **state)
{
	struct snapfix *a = exportfix_profile(false, SNAPSHOT_BY_NAME), *b = exportfix_after();
	struct output o;
	struct diff *d;
	json_t *top, *data, *first;

	(void)state;
	assert_int_equal(diff_open(&d, snapfix_snapshot(a), snapfix_snapshot(b), NULL), 0);
	o = exportfix_write_diff("folded", d);
	exportfix_check_golden("diff.folded", &o);
	free(o.bytes);
	o = exportfix_write_diff("svg", d);
	exportfix_check_golden("diff.svg", &o);
	free(o.bytes);
	o = exportfix_write_diff("json", d);
	exportfix_check_golden("diff.json", &o);
	top = exportfix_parse(&o);
	exportfix_check_envelope(top);
	data = json_object_get(top, "data");
	first = json_array_get(json_object_get(data, "functions"), 0);
	assert_string_equal(exportfix_string(first, "mfa"), "db:new/0");
	assert_float_equal(json_real_value(json_object_get(first, "delta_self")), 75.0, 1e-9);
	json_decref(top);
	free(o.bytes);
	diff_close(d);
	snapfix_close(a);
	snapfix_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),	     cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_paints),	     cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_disk_full),    cmocka_unit_test(test_empty),
		cmocka_unit_test(test_invalid_utf8), cmocka_unit_test(test_folded),
		cmocka_unit_test(test_svg),	     cmocka_unit_test(test_svg_culls),
		cmocka_unit_test(test_diffs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
