/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Entry: finds the command, parses its options, runs it, and makes the exit code of its result.  A
 * run fails if not all of its standard output could be written; if the reader has closed the pipe,
 * there is no message.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/write_error.h"
#include "base/xalloc.h"
#include "beam/otp/layout.h"
#include "cmd/command/command.h"
#include "cmd/command/options.h"
#include "cmd/command/signals.h"
#include "cmd/output/outfile.h"
#include "cmd/program/help.h"
#include "export/export.h"
#include "target/privilege.h"

/*
 * A program may be started with descriptors 0 to 2 closed; the next file it opens would then become
 * its standard output.  They are filled with /dev/null, standard input for writing and the others
 * for reading, so that using them fails as it would on a closed one.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			_exit(1);
	}
}

/* For commands without -f: -o FILE.json means JSON; other formats by suffix are refused. */
static int check_output(struct command_context *ctx, struct error *err)
{
	const char *path = ctx->opt.output;
	const struct exporter *e;

	if (!path || ctx->command->options.has[OPTION_FORMAT] ||
	    ctx->command->options.has[OPTION_FRAME_FORMAT])
		return 0;
	e = exporter_by_suffix(path);
	if (!e || (e->timeline && ctx->command->run == cmd_events))
		return 0;
	if (strcmp(e->name, "json") == 0) {
		ctx->opt.json = true;
		return 0;
	}
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "'%s' does not write %s files: a name that ends in .ebeam keeps the "
			 "events, .json is JSON, others are text (see 'ebeam help report')",
			 ctx->command->name, e->suffix);
}

/* For tests: forgets the layouts of releases, "27,28". */
static void forget_layouts(void)
{
	const char *text = getenv("EBEAM_FORGET_LAYOUTS");

	while (text && *text) {
		layout_forget(atoi(text));
		text += strcspn(text, ",");
		text += *text == ',';
	}
}

static int run_command(struct command_context *ctx, int argc, char **argv, struct error *err)
{
	int rc;

	rc = options_parse(ctx->command, argc, argv, &ctx->opt, ctx->args, &ctx->nr_args, err);
	if (rc)
		return rc;
	log_set_level(ctx->opt.verbosity);
	if (ctx->opt.help) {
		help_command(ctx->out, ctx->command);
		return 0;
	}
	rc = options_check_args(ctx->command, ctx->nr_args, ctx->args, err);
	if (rc)
		return rc;
	rc = check_output(ctx, err);
	return rc ? rc : ctx->command->run(ctx, err);
}

static int dispatch(struct command_context *ctx, int argc, char **argv, struct error *err)
{
	const char *word = argc > 1 ? argv[1] : "--help";

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		help_overview(ctx->out);
		return 0;
	}
	if (strcmp(word, "--version") == 0) {
		version_write(ctx->out);
		return 0;
	}
	if (word[0] == '-')
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "option '%s' has to follow the command (see 'ebeam help')", word);
	ctx->command = command_find(word, err);
	if (!ctx->command)
		return -EINVAL;
	return run_command(ctx, argc - 2, argv + 2, err);
}

/* Logs an error; if its code is that of a limit or a filter, with what to raise or change. */
static void report(const char *text, int code)
{
	const char *fix = error_limit_fix(code);

	fix = fix ? fix : privilege_filter_fix(code);
	if (fix && !strstr(text, "raise "))
		log_error("ebeam: %s; %s", text, fix);
	else
		log_error("ebeam: %s", text);
}

/* Where memory is limited the kernel may refuse to let the stack grow, which ends the program
 * without a word; so it grows before memory is taken for anything else. */
#define STACK_NEEDED (512u << 10)
static __attribute__((noinline)) void grow_stack(void)
{
	volatile char last[STACK_NEEDED];

	last[0] = 0;
	(void)last;
}

int main(int argc, char **argv)
{
	struct command_context ctx = {.out = stdout};
	struct error err = {0}, write_err = {0};
	int rc, code;

	grow_stack();
	fill_standard_descriptors();
	forget_layouts();
	signals_setup();
	options_defaults(&ctx.opt);
	ctx.args = xcalloc((size_t)argc + 1, sizeof(*ctx.args));
	rc = dispatch(&ctx, argc, argv, &err);
	free(ctx.args);

	code = rc;
	if (rc < 0) {
		code = err.code ? (int)err.kind : ERROR_KIND_FAILED;
		/* Nothing is logged if standard output was closed; EPIPE of another file is. */
		if (rc != -EPIPE || !write_error_reader_is_gone(STDOUT_FILENO))
			report(err.code ? err.msg : error_text(rc), err.code ? err.code : rc);
	}
	if (outfile_check(stdout, NULL, &write_err) != 0) {
		if (rc >= 0 && write_err.code != -EPIPE)
			log_error("ebeam: %s", write_err.msg);
		if (code == 0)
			code = ERROR_KIND_FAILED;
	}
	return code;
}
