/* SPDX-License-Identifier: BSD-2-Clause */
/* Where an event_run writes: standard output, files, a capture. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/run/event_run_internal.h"

bool event_run_is_capture(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	return len > 6 && strcmp(path + len - 6, ".ebeam") == 0;
}

static bool is_regular(FILE *f)
{
	struct stat st;

	return fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
}

/* Anything but a regular file may block: such output goes through an outpipe, which does not. */
static int open_stream(struct event_run *run, FILE *to, struct error *err)
{
	int rc = 0;

	run->out = run->target = to;
	if (!is_regular(to)) {
		rc = outpipe_open(&run->pipe, to, err);
		if (rc == 0)
			run->out = outpipe_file(run->pipe);
	}
	return rc;
}

static int open_capture(struct event_run *run, const char *path, struct error *err)
{
	int rc = outfile_open(&run->capture, path, OUTFILE_STREAM, run->ctx->out, err);

	return rc ? rc
		  : capture_writer_open(&run->writer, outfile_file(run->capture),
					run->live.start_epoch_ns, run->live.start_ns, err);
}

/* The consumer opens its own files; a capture that it names is opened here. */
static int open_own(struct event_run *run, struct error *err)
{
	const char *capture = NULL;
	int rc = run->consumer->opened(run->consumer->arg, &capture, err);

	return rc || !capture ? rc : open_capture(run, capture, err);
}

int event_run_open_output(struct event_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	int rc = 0;

	if (o->input && (o->capture || event_run_is_capture(o->output)))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-i shows a capture and cannot write one: leave out --capture, "
				 "and name no .ebeam file with -o");
	if (run->consumer->opened) {
		run->out = run->ctx->out;
		return open_own(run, err);
	}
	if (o->capture)
		rc = open_capture(run, o->capture, err);
	if (rc)
		return rc;
	if (!o->output)
		return open_stream(run, run->ctx->out, err);
	if (event_run_is_capture(o->output) && !run->capture) {
		rc = run->consumer->either ? 0 : open_stream(run, run->ctx->out, err);
		return rc ? rc : open_capture(run, o->output, err);
	}
	rc = outfile_open(&run->output, o->output, OUTFILE_STREAM, run->ctx->out, err);
	return rc ? rc : open_stream(run, outfile_file(run->output), err);
}

int event_run_close_output(struct event_run *run, struct error *err)
{
	int rc = run->writer ? capture_writer_flush(run->writer, err) : 0;

	if (rc == 0 && run->capture)
		rc = outfile_commit(&run->capture, err);
	if (rc == 0 && run->output)
		rc = outfile_commit(&run->output, err);
	return rc;
}

int event_run_check_output(struct event_run *run, struct error *err)
{
	const char *path = run->output ? run->ctx->opt.output : NULL;
	int rc = run->pipe ? outpipe_error(run->pipe) : 0;

	if (rc)
		return outfile_failed(path, rc, err);
	return run->out && !run->pipe ? outfile_check(run->out, path, err) : 0;
}
