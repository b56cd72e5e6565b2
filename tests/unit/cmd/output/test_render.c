/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which format goes where, and captures that are whole, cut, damaged or none at all, loaded
 * through the real writer and reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "capture/writer.h"
#include "cmd/command/options.h"
#include "cmd/output/render.h"
#include "cmd/record/capture_load.h"
#include "lib/records.h"

/* ---- choice ------------------------------------------------------------------------------- */

static const struct command recorder = {.name = "recorder",
					.formats = FORMATS_TEXT | FORMATS_EXPORT | FORMATS_CAPTURE};
static const struct command reporter = {.name = "reporter",
					.formats = FORMATS_TEXT | FORMATS_EXPORT};
static const struct command differ = {.name = "differ", .formats = FORMATS_TEXT | FORMATS_DIFF};

static struct options with(const char *format, const char *output, bool json)
{
	struct options opt;

	options_defaults(&opt);
	opt.format = format;
	opt.output = output;
	opt.json = json;
	return opt;
}

static void the_format_is_chosen(void **state)
{
	static const struct {
		const char *format, *output;
		bool json;
		const char *want_format, *want_path;
	} cases[] = {
		{NULL, NULL, false, "html", "stem.html"},
		{NULL, NULL, true, "json", "-"},
		{"json", NULL, true, "json", "-"},
		{"text", NULL, false, "text", "-"},
		{"folded", NULL, false, "folded", "-"},
		{"svg", NULL, false, "svg", "stem.svg"},
		{"pprof", NULL, false, "pprof", "stem.pb.gz"},
		{"capture", NULL, false, "capture", "stem.ebeam"},
		{NULL, "-", false, "html", "-"},
		{"svg", "-", false, "svg", "-"},
		{NULL, "a.svg", false, "svg", "a.svg"},
		{NULL, "a.pb.gz", false, "pprof", "a.pb.gz"},
		{NULL, "a.json", false, "json", "a.json"},
		{NULL, "a.speedscope.json", false, "speedscope", "a.speedscope.json"},
		{NULL, "d/a.ebeam", false, "capture", "d/a.ebeam"},
		{NULL, "a.txt", false, "text", "a.txt"},
		{NULL, "a.html", true, "json", "a.html"}, /* what is said wins over the suffix */
		{"svg", "a.html", false, "svg", "a.html"},
		{"text", "anything", false, "text", "anything"},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options opt = with(cases[i].format, cases[i].output, cases[i].json);
		struct error err = {0};
		struct render r;

		assert_int_equal(render_choose(&r, &recorder, &opt, &err), 0);
		render_name(&r, "stem");
		assert_string_equal(r.format, cases[i].want_format);
		assert_string_equal(r.path, cases[i].want_path);
		assert_int_equal(r.chosen, strncmp(r.path, "stem", 4) == 0);
		assert_int_equal(r.capture, strcmp(r.format, "capture") == 0);
		assert_int_equal(r.text, strcmp(r.format, "text") == 0);
		assert_int_equal(r.exporter != NULL, !r.capture && !r.text);
		render_free(&r);
	}
}

static void contradictions_are_usage_errors(void **state)
{
	static const struct {
		const struct command *command;
		const char *format, *output;
		bool json;
		const char *text;
	} cases[] = {
		{&recorder, "svg", NULL, true, "contradict"},
		{&recorder, "flame", NULL, false, "unknown format 'flame'; formats are html svg"},
		{&recorder, NULL, "out", false, "give -f"},
		{&recorder, NULL, "out.xyz", false, "give -f"},
		{&recorder, NULL, "/dev/null", false, "give -f"},
		{&reporter, "capture", NULL, false, "'reporter' cannot write capture"},
		{&reporter, NULL, "out.ebeam", false, "cannot write capture"},
		{&differ, "speedscope", NULL, false, "'differ' cannot write speedscope"},
		{&differ, NULL, "out.pb.gz", false, "cannot write pprof"},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct options opt = with(cases[i].format, cases[i].output, cases[i].json);
		struct error err = {0};
		struct render r;

		assert_int_equal(render_choose(&r, cases[i].command, &opt, &err), -EINVAL);
		assert_int_equal(err.kind, ERROR_KIND_USAGE);
		if (!strstr(err.msg, cases[i].text))
			print_error("'%s'\n", err.msg);
		assert_non_null(strstr(err.msg, cases[i].text));
		assert_null(r.path);
	}
}

static void default_names_are_harmless(void **state)
{
	char *stem;

	UNUSED(state);
	setenv("TZ", "UTC", 1);
	stem = render_stem("rabbit@host-1.example", 1769860800000000000u);
	assert_string_equal(stem, "ebeam-rabbit@host-1.example-20260131-120000");
	free(stem);
	stem = render_stem("../../etc/x\n $(reboot)@h", 0);
	assert_string_equal(stem, "ebeam-.._.._etc_x____reboot_@h-19700101-000000");
	assert_null(strchr(stem, '/'));
	free(stem);
}

static void a_bare_name_has_no_suffix(void **state)
{
	static const struct {
		const char *path;
		size_t len;
	} cases[] = {
		{"a.ebeam", 1},
		{"d.ebeam/a.ebeam", 9},
		{"a.ebeam.partial", 1},
		{"a.ebeam.partial.2", 1},
		{"a", 1},
		{"a.ebeamx", 8},
		{".ebeam", 6},
		{"d/.ebeam", 8},
		{"", 0},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(render_bare_len(cases[i].path), cases[i].len);
}

/* ---- captures ----------------------------------------------------------------------------- */

static char path[] = "/tmp/ebeam-render-XXXXXX";

/* A capture of 30 samples in `path`; its size. */
static size_t write_capture(void)
{
	struct capture_writer *w;
	struct error err = {0};
	const struct rec_header *rec;
	struct records r;
	uint32_t process, thread;
	size_t at = 0, size;
	FILE *f = fopen(path, "w");

	records_open(&r);
	records_meta(&r, "node", "a@b");
	process = records_process(&r, 1000, "<0.80.0>", "worker", NULL, 0);
	thread = records_thread(&r, 7, THREAD_NORMAL, 1, "1_scheduler");
	for (unsigned int i = 0; i < 30; i++)
		records_sample(&r, 1000 + i, process,
			       records_stack_text(&r, i % 3 ? "w:loop/1" : "w:loop/1 lists:map/2"),
			       thread, 1, SAMPLE_ERLANG, SAMPLE_STATUS_COMPLETE);
	records_end(&r, 2000);
	assert_int_equal(capture_writer_open(&w, f, 1769860800000000000u, 1000, &err), 0);
	while ((rec = records_next(&r, &at)))
		assert_int_equal(capture_writer_add(w, rec, &err), 0);
	assert_int_equal(capture_writer_flush(w, &err), 0);
	capture_writer_close(w);
	size = (size_t)ftell(f);
	fclose(f);
	records_close(&r);
	return size;
}

static int make_path(void **state)
{
	int fd;

	UNUSED(state);
	strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
	UNUSED(state);
	return unlink(path);
}

static void a_whole_capture_loads(void **state)
{
	struct capture_profile l;
	struct error err = {0};

	UNUSED(state);
	write_capture();
	assert_int_equal(capture_load(&l, path, NULL, &err), 0);
	assert_string_equal(l.damage, "");
	assert_int_equal(profile_samples(l.profile), 30);
	assert_int_equal(l.start_epoch_ns, 1769860800000000000u);
	capture_unload(&l);
	capture_unload(&l); /* twice is ok */
}

/* Cut anywhere: no capture at all, or what stands before the cut with a reason. */
static void a_cut_capture_loads_as_far_as_it_goes(void **state)
{
	size_t size = write_capture(), refused = 0, damaged = 0;

	UNUSED(state);
	while (size-- > 0) {
		struct error err = {0};
		struct capture_profile l;

		assert_int_equal(truncate(path, (off_t)size), 0);
		if (capture_load(&l, path, NULL, &err) != 0) {
			assert_int_equal(err.kind, ERROR_KIND_FAILED);
			assert_non_null(strstr(err.msg, path));
			assert_null(l.profile);
			refused++;
			continue;
		}
		assert_string_not_equal(l.damage, "");
		assert_true(profile_samples(l.profile) <= 30);
		capture_unload(&l);
		damaged++;
	}
	assert_true(refused > 0 && damaged > 0);
}

static void what_is_no_capture_is_refused(void **state)
{
	struct capture_profile l;
	struct error err = {0};
	FILE *f = fopen(path, "w");

	UNUSED(state);
	for (int i = 0; i < 100; i++)
		fputs("not a capture\n", f);
	fclose(f);
	assert_true(capture_load(&l, path, NULL, &err) < 0);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	assert_non_null(strstr(err.msg, "not"));

	assert_int_equal(capture_load(&l, "/nonexistent/x.ebeam", NULL, &err), -ENOENT);
	assert_string_equal(err.msg,
			    "cannot open '/nonexistent/x.ebeam': No such file or directory");
	assert_true(capture_load(&l, "/", NULL, &err) < 0);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
}

static int write_word(FILE *f, const void *what, struct error *err)
{
	if (!what)
		return error_set(err, ERROR_KIND_FAILED, -EILSEQ, "nothing to write");
	fputs(what, f);
	return 0;
}

static void a_file_is_whole_or_not_there(void **state)
{
	struct error err = {0};
	char text[16] = "", *name;
	FILE *f;

	UNUSED(state);
	assert_null(render_save("render@test", 1, ".txt", write_word, NULL, &err));
	assert_string_equal(err.msg, "nothing to write");
	name = render_save("render@test", 1, ".txt", write_word, "word", &err);
	assert_non_null(name);
	assert_memory_equal(name, "ebeam-render@test-", 18);
	f = fopen(name, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "word");
	fclose(f);
	unlink(name);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_whole_or_not_there),
		cmocka_unit_test(the_format_is_chosen),
		cmocka_unit_test(contradictions_are_usage_errors),
		cmocka_unit_test(default_names_are_harmless),
		cmocka_unit_test(a_bare_name_has_no_suffix),
		cmocka_unit_test_setup_teardown(a_whole_capture_loads, make_path, remove_path),
		cmocka_unit_test_setup_teardown(a_cut_capture_loads_as_far_as_it_goes, make_path,
						remove_path),
		cmocka_unit_test_setup_teardown(what_is_no_capture_is_refused, make_path,
						remove_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
