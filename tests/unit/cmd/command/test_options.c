/* SPDX-License-Identifier: BSD-2-Clause */
/* Options, command names, and the hints for misspelt ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/command/options.h"
#include "cmd/program/help.h"

#define MAX_WORDS 16

/* A command line that was parsed. */
struct parsed {
	struct options opt;
	struct error err;
	char *args[MAX_WORDS];
	int nr_args;
	int rc;
};

static int dummy_run(struct command_context *ctx, struct error *err)
{
	UNUSED(ctx);
	UNUSED(err);
	return 0;
}

static const struct command every = {
	.name = "every",
	.summary = "takes every option",
	.args = "A B",
	.description = "",
	.options = {{[0 ... NR_OPTIONS - 1] = true}},
	.min_args = 1,
	.max_args = 2,
	.formats = FORMATS_TEXT | FORMATS_EXPORT | FORMATS_CAPTURE,
	.run = dummy_run,
};

static const struct command plain = {
	.name = "plain", .summary = "", .args = "", .description = "", .run = dummy_run};

/* The words of `line`, parsed for a command; words hold no blanks. */
static void parse(struct parsed *p, const struct command *command, const char *line)
{
	static char text[512]; /* options point into it */
	char *words[MAX_WORDS], *save = NULL;
	int nr = 0;

	memset(p, 0, sizeof(*p));
	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(nr < MAX_WORDS);
		words[nr++] = w;
	}
	p->rc = options_parse(command, nr, words, &p->opt, p->args, &p->nr_args, &p->err);
}

static void expect_ok(struct parsed *p, const char *line)
{
	parse(p, &every, line);
	if (p->rc)
		print_error("'%s': %s\n", line, p->err.msg);
	assert_int_equal(p->rc, 0);
}

static void expect_usage(const struct command *command, const char *line, const char *text)
{
	struct parsed p;

	parse(&p, command, line);
	if (!p.rc || !strstr(p.err.msg, text))
		print_error("'%s': %d '%s'\n", line, p.rc, p.err.msg);
	assert_int_equal(p.rc, -EINVAL);
	assert_int_equal(p.err.kind, ERROR_KIND_USAGE);
	assert_non_null(strstr(p.err.msg, text));
}

static int nr_given(const struct parsed *p)
{
	int nr = 0;

	for (int id = 0; id < NR_OPTIONS; id++)
		nr += p->opt.given.has[id];
	return nr;
}

static void defaults_where_nothing_is_given(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_ok(&p, "");
	assert_null(p.opt.pid);
	assert_int_equal(p.opt.freq, 99);
	assert_int_equal(p.opt.duration_ns, 0);
	assert_int_equal(p.opt.by, SNAPSHOT_BY_NAME);
	assert_true(p.opt.max_overhead == 1.0);
	assert_int_equal(nr_given(&p), 0);
	assert_int_equal(p.nr_args, 0);
}

static void short_options_stand_alone_or_together(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_ok(&p, "-p 4711 -d10s -F 999 -o - -f svg -n5 -j");
	assert_string_equal(p.opt.pid, "4711");
	assert_int_equal(p.opt.duration_ns, 10000000000u);
	assert_int_equal(p.opt.freq, 999);
	assert_string_equal(p.opt.output, "-");
	assert_string_equal(p.opt.format, "svg");
	assert_int_equal(p.opt.limit, 5);
	assert_true(p.opt.json);

	expect_ok(&p, "-jvvprabbit@host");
	assert_true(p.opt.json);
	assert_int_equal(p.opt.verbosity, 2);
	assert_string_equal(p.opt.pid, "rabbit@host");

	expect_ok(&p, "-jp -x");
	assert_string_equal(p.opt.pid, "-x");
}

static void long_options_take_values_both_ways(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_ok(&p, "--pid=a@b --duration 2m --by=initial-call --color never --lines --idle");
	assert_string_equal(p.opt.pid, "a@b");
	assert_int_equal(p.opt.duration_ns, 120000000000u);
	assert_int_equal(p.opt.by, SNAPSHOT_BY_INITIAL_CALL);
	assert_int_equal(p.opt.color, COLOR_NEVER);
	assert_true(p.opt.lines);
	assert_true(p.opt.idle);
	assert_true(p.opt.given.has[OPTION_LINES]);
	assert_false(p.opt.given.has[OPTION_KINDS]);

	expect_ok(&p, "--output=a=b");
	assert_string_equal(p.opt.output, "a=b");
}

static void words_and_options_may_be_mixed(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_ok(&p, "a -j b");
	assert_int_equal(p.nr_args, 2);
	assert_string_equal(p.args[0], "a");
	assert_string_equal(p.args[1], "b");
	assert_true(p.opt.json);

	expect_ok(&p, "- -- -j --lines");
	assert_int_equal(p.nr_args, 3);
	assert_string_equal(p.args[0], "-");
	assert_string_equal(p.args[1], "-j");
	assert_string_equal(p.args[2], "--lines");
	assert_false(p.opt.json);

	expect_ok(&p, "-p -- -j");
	assert_string_equal(p.opt.pid, "--");
	assert_true(p.opt.json);
}

static void the_last_of_equal_options_wins(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_ok(&p, "-F 1 -F 2 --freq=3");
	assert_int_equal(p.opt.freq, 3);
	expect_ok(&p, "-v -q");
	assert_int_equal(p.opt.verbosity, -1);
	expect_ok(&p, "-q -v");
	assert_int_equal(p.opt.verbosity, 1);
}

static void two_nodes_are_one_too_many(void **state)
{
	struct parsed p;

	UNUSED(state);
	expect_usage(&every, "-p a -p b", "'a' and 'b'");
	expect_usage(&every, "--pid=a -p b", "once for each");
	expect_ok(&p, "-p a --pid a");
	assert_string_equal(p.opt.pid, "a");
}

static void values_are_checked(void **state)
{
	static const char *const bad[] = {
		"-F 0",
		"-F 5000",
		"-F +5",
		"-F 0x10",
		"-F 99999999999",
		"-F -1",
		"-d 0",
		"-d 10x",
		"-d -1",
		"-d 1e99999",
		"-n 0",
		"-n x",
		"--by pid",
		"--color yes",
		"--mode nothing",
		"--min-complete 101",
		"--min-complete x",
		"--min-complete .",
		"--max-overhead 0",
		"--max-overhead nan",
		"--max-overhead inf",
		"--max-overhead 1e1",
		"--output=",
		"--pid=",
		"--format=",
	};
	struct parsed p;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		expect_usage(&every, bad[i], "--");
	expect_ok(&p, "-F 1");
	assert_int_equal(p.opt.freq, 1);
	expect_ok(&p, "-F 4999");
	assert_int_equal(p.opt.freq, 4999);
	expect_ok(&p, "--min-complete 99.5 --max-overhead .5");
	assert_true(p.opt.min_complete == 99.5);
	assert_true(p.opt.max_overhead == 0.5);
}

static void missing_and_needless_values_are_errors(void **state)
{
	UNUSED(state);
	expect_usage(&every, "-p", "-p needs NODE");
	expect_usage(&every, "-jF", "-F needs HZ");
	expect_usage(&every, "a --duration", "--duration needs TIME");
	expect_usage(&every, "--json=yes", "--json takes no value");
}

static void unknown_options_get_a_hint(void **state)
{
	UNUSED(state);
	expect_usage(&every, "--fromat svg", "did you mean --format?");
	expect_usage(&every, "--colour=never", "did you mean --color?");
	expect_usage(&every, "--no-natve", "did you mean --no-native?");
	expect_usage(&every, "--zzzzzz", "unknown option --zzzzzz (see 'ebeam help every')");
	expect_usage(&every, "-Z", "unknown option -Z");
	expect_usage(&every, "-jZ", "unknown option -Z");
	/* Known, but not there. */
	expect_usage(&plain, "--lines", "'plain' has no option --lines");
	expect_usage(&plain, "-p 1", "'plain' has no option -p");
	/* Never abbreviated. */
	expect_usage(&every, "--dur 10", "unknown option --dur");
	expect_usage(&every, "--=x", "unknown option --");
}

static void every_command_has_the_common_options(void **state)
{
	struct parsed p;

	UNUSED(state);
	parse(&p, &plain, "-qh --color=always");
	assert_int_equal(p.rc, 0);
	assert_true(p.opt.help);
	assert_int_equal(p.opt.verbosity, -1);
	assert_int_equal(p.opt.color, COLOR_ALWAYS);
}

static void number_of_words_is_checked(void **state)
{
	char *three[] = {"a", "b", "c"};
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(options_check_args(&every, 1, three, &err), 0);
	assert_int_equal(options_check_args(&every, 2, three, &err), 0);
	assert_int_equal(options_check_args(&every, 0, three, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "needs A B"));
	assert_int_equal(options_check_args(&every, 3, three, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "'c'"));
	assert_int_equal(err.kind, ERROR_KIND_USAGE);
}

static void nearest_counts_swaps_as_one(void **state)
{
	static const char *const words[] = {"list", "doctor", "record", "report"};
	char longest[64];

	UNUSED(state);
	assert_string_equal(options_nearest("lsit", words, 4), "list");
	assert_string_equal(options_nearest("dcotor", words, 4), "doctor");
	assert_string_equal(options_nearest("recrod", words, 4), "record");
	assert_string_equal(options_nearest("reprot", words, 4), "report");
	assert_null(options_nearest("", words, 4));
	assert_null(options_nearest("flamegraph", words, 4));
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_null(options_nearest(longest, words, 4));
}

static void commands_are_found_by_unambiguous_prefix(void **state)
{
	struct error err = {0};

	UNUSED(state);
	assert_string_equal(command_find("list", &err)->name, "list");
	assert_string_equal(command_find("li", &err)->name, "list");
	assert_string_equal(command_find("doc", &err)->name, "doctor");
	assert_string_equal(command_find("rec", &err)->name, "record");
	assert_null(command_find("re", &err));
	assert_int_equal(err.kind, ERROR_KIND_USAGE);
	assert_non_null(strstr(err.msg, "ambiguous: record, report"));
	assert_null(command_find("recrod", &err));
	assert_non_null(strstr(err.msg, "did you mean 'record'?"));
	assert_null(command_find("frobnicate", &err));
	assert_non_null(strstr(err.msg, "unknown command 'frobnicate'"));
	assert_null(command_find("", &err));
	assert_null(command_find("listx", &err));
}

/* The tables themselves. */
static void every_row_is_complete_and_unique(void **state)
{
	UNUSED(state);
	for (int i = 0; i < NR_OPTIONS; i++) {
		const struct option_row *row = &option_rows[i];

		assert_non_null(row->long_name);
		assert_true(strlen(row->help) > 0);
		if (!row->set && !row->arg)
			assert_true(row->member < sizeof(struct options));
		for (int j = 0; j < i; j++) {
			/* Two may share a name: no command takes both. */
			for (const struct command *c = commands; c->name; c++) {
				if (!option_is_of(c, (enum option_id)i) ||
				    !option_is_of(c, (enum option_id)j))
					continue;
				assert_string_not_equal(row->long_name, option_rows[j].long_name);
				if (row->short_name)
					assert_int_not_equal(row->short_name,
							     option_rows[j].short_name);
			}
		}
	}
	for (const struct command *c = commands; c->name; c++) {
		assert_true(strlen(c->summary) > 0 && strlen(c->summary) < 70);
		assert_non_null(c->args);
		assert_true(strlen(c->description) > 0);
		assert_non_null(c->run);
		assert_true(c->min_args <= c->max_args);
		assert_int_equal(c->max_args > 0, *c->args != '\0');
		assert_int_equal(c->formats != 0, c->options.has[OPTION_FORMAT]);
		for (const struct command *d = commands; d != c; d++)
			assert_string_not_equal(c->name, d->name);
	}
}

/* An option with words takes each of them, and nothing else. */
static void every_word_is_taken(void **state)
{
	unsigned int nr = 0;

	UNUSED(state);
	for (int id = 0; id < NR_OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		struct command taker = {.name = "taker", .args = ""};
		struct parsed p;
		char line[128];

		taker.options.has[id] = true;
		assert_int_equal(row->word != NULL,
				 row->type == OPTION_CHOICE || row->type == OPTION_NAME);
		for (unsigned int i = 0; row->word && row->word(i); i++, nr++) {
			const char *at = (const char *)&p.opt + row->member;

			snprintf(line, sizeof(line), "--%s=%s", row->long_name, row->word(i));
			parse(&p, &taker, line);
			assert_int_equal(p.rc, 0);
			if (row->type == OPTION_CHOICE)
				assert_int_equal(*(const unsigned int *)at, i);
			else
				assert_string_equal(*(const char *const *)at, row->word(i));
		}
		if (!row->word)
			continue;
		snprintf(line, sizeof(line), "--%s=unknown", row->long_name);
		parse(&p, &taker, line);
		assert_int_equal(p.rc, -EINVAL);
		assert_non_null(strstr(p.err.msg, "is not one of "));
	}
	assert_true(nr >= 20);
}

/* Every option can be given, and then says so. */
static void every_option_parses(void **state)
{
	static const char *const values[NR_OPTIONS] = {
		[OPTION_DURATION] = "1s",	[OPTION_FREQ] = "99",
		[OPTION_LIMIT] = "3",		[OPTION_BY] = "none",
		[OPTION_COLOR] = "auto",	[OPTION_MODE] = "cpu",
		[OPTION_NATIVE] = "leaf",	[OPTION_MIN_COMPLETE] = "99",
		[OPTION_MAX_OVERHEAD] = "2",	[OPTION_WATCH] = "2",
		[OPTION_DEPTH] = "4",		[OPTION_SIZE] = "100",
		[OPTION_EVENTS] = "gc",		[OPTION_GROUP_BY] = "function",
		[OPTION_LONGER_THAN] = "1ms",	[OPTION_MESSAGE_BY] = "process",
		[OPTION_ROWS] = "sender",	[OPTION_WEIGHT] = "words",
		[OPTION_CALL_WEIGHT] = "calls", [OPTION_SOURCE] = "uprobe",
		[OPTION_UPROBES] = "perf",	[OPTION_SCHEDULERS] = "samples",
		[OPTION_PANEL] = "ets",		[OPTION_RATE] = "1000",
		[OPTION_FRAME_FORMAT] = "svg",	[OPTION_TAGS_BY] = "process",
	};

	UNUSED(state);
	for (int id = 0; id < NR_OPTIONS; id++) {
		const struct option_row *row = &option_rows[id];
		char line[128];
		struct command taker = {.name = "taker", .args = ""};
		struct parsed p;

		taker.options.has[id] = true;
		snprintf(line, sizeof(line), "--%s%s%s", row->long_name, row->arg ? "=" : "",
			 !row->arg    ? ""
			 : values[id] ? values[id]
				      : "text");
		parse(&p, &taker, line);
		assert_int_equal(p.rc, 0);
		assert_true(p.opt.given.has[id]);
		assert_int_equal(nr_given(&p), 1);
	}
}

/* Help stays within 80 columns. */
static void help_is_wrapped(void **state)
{
	char line[512];
	FILE *f = tmpfile();

	UNUSED(state);
	assert_non_null(f);
	help_overview(f);
	for (const struct command *c = commands; c->name; c++)
		help_command(f, c);
	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		if (strlen(line) > 80)
			print_error("%s", line);
		assert_true(strlen(line) <= 80); /* with newline */
		assert_false(strlen(line) > 1 && line[strlen(line) - 2] == ' ');
	}
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_where_nothing_is_given),
		cmocka_unit_test(short_options_stand_alone_or_together),
		cmocka_unit_test(long_options_take_values_both_ways),
		cmocka_unit_test(words_and_options_may_be_mixed),
		cmocka_unit_test(the_last_of_equal_options_wins),
		cmocka_unit_test(two_nodes_are_one_too_many),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(missing_and_needless_values_are_errors),
		cmocka_unit_test(unknown_options_get_a_hint),
		cmocka_unit_test(every_command_has_the_common_options),
		cmocka_unit_test(number_of_words_is_checked),
		cmocka_unit_test(nearest_counts_swaps_as_one),
		cmocka_unit_test(commands_are_found_by_unambiguous_prefix),
		cmocka_unit_test(every_row_is_complete_and_unique),
		cmocka_unit_test(every_word_is_taken),
		cmocka_unit_test(every_option_parses),
		cmocka_unit_test(help_is_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
