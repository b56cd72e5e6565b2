/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam events`: probes on the VM's own functions -> records -> lines, a capture, or both; and the
 * same from a capture.
 */
#include "cmd/events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "beam/process.h"
#include "capture/reader.h"
#include "capture/writer.h"
#include "cmd/live.h"
#include "cmd/loop.h"
#include "cmd/outfile.h"
#include "cmd/target.h"

/* How often the rings are emptied, and how long at a time: then signals and deadlines are looked
 * at, and the output is flushed. */
#define DRAIN_EVERY_NS 50000000u
#define DRAIN_MAX_NS   250000000u
#define DRAIN_BATCH    64

#define ALL_KINDS ((1ull << NR_EVENT_KINDS) - 1)

struct events_run {
	struct command_context *ctx;
	struct events_view view;
	struct beam_node *node;
	struct live live;
	struct source_plan plan;
	struct outfile *output;
	struct capture_writer *writer;
	uint64_t flushed_ns;
	bool stopped; /* the limit is reached, or nobody reads any more */
};

static bool is_capture(const char *path)
{
	size_t len = strlen(path);

	return len > 6 && strcmp(path + len - 6, ".ebeam") == 0;
}

/* Where lines go: standard output, a file, or nowhere if a capture is written instead. */
static int open_output(struct events_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	int rc;

	run->view.out = run->ctx->out;
	if (!o->output)
		return 0;
	rc = outfile_open(&run->output, o->output, OUTFILE_STREAM, run->ctx->out, err);
	if (rc)
		return rc;
	if (!is_capture(o->output)) {
		run->view.out = outfile_file(run->output);
		return 0;
	}
	if (o->input)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "a capture is shown, not written again: choose another -o");
	run->view.out = NULL;
	return capture_writer_open(&run->writer, outfile_file(run->output),
				   run->live.start_epoch_ns, run->live.start_ns, err);
}

static int close_output(struct events_run *run, struct error *err)
{
	int rc = run->writer ? capture_writer_flush(run->writer, err) : 0;

	if (rc == 0 && run->output)
		rc = outfile_commit(&run->output, err);
	return rc;
}

/* ---- what a node has ----------------------------------------------------------------------- */

/* Which kinds can be had; says which of those asked for cannot. */
static int plan_sources(struct events_run *run, struct error *err)
{
	uint64_t asked = run->ctx->opt.events ? run->ctx->opt.events : ALL_KINDS;
	const char *why = NULL, *otp = run->node->identity.otp_text;
	struct strbuf names = STRBUF_INIT;

	source_plan(&run->plan, run->node->elf, asked);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!run->plan.missing[kind])
			continue;
		why = why ? why : run->plan.missing[kind];
		strbuf_addf(&names, "%s%s", names.len ? ", " : "", event_rows[kind].name);
	}
	if (!run->plan.kinds) {
		error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
			  "pid %d: no events of this OTP %s build: %s. Its functions have no "
			  "symbols (%s and others)",
			  run->node->os_pid, otp,
			  run->node->identity.hidden ? "OTP 29 and later hide them"
						     : "it was stripped of them",
			  why ? why : "all");
		strbuf_free(&names);
		return -ENOTSUP;
	}
	if (names.len)
		log_warn("ebeam: not in this OTP %s build: %s (no symbol %s)", otp, names.buf, why);
	strbuf_free(&names);
	return 0;
}

/* ---- the run ------------------------------------------------------------------------------- */

static int drain(struct events_run *run, uint64_t deadline_ns, struct error *err)
{
	struct source *s = enrich_source(run->live.enrich);
	const struct rec_header *rec;
	int rc;

	for (uint64_t n = 1; (rc = s->next(s, &rec, err)) == 1; n++) {
		if (!run->stopped && events_view_take(&run->view, rec))
			run->stopped = true;
		if (run->writer) {
			rc = capture_writer_add(run->writer, rec, err);
			if (rc)
				return rc;
		}
		if (n % DRAIN_BATCH == 0 && (run->stopped || clock_monotonic_ns() >= deadline_ns))
			break;
	}
	live_look(&run->live);
	return rc < 0 ? rc : 0;
}

/* Whoever reads the lines sees them now, or is gone: -EPIPE, which nobody has to be told of. */
static int check_output(struct events_run *run, struct error *err)
{
	int *code = &run->view.write_errno;

	errno = 0;
	if (!*code && run->view.out && fflush(run->view.out) != 0)
		*code = errno ? errno : EIO;
	if (*code)
		return error_set(err, ERROR_KIND_FAILED, -*code, "cannot write %s: %s",
				 run->ctx->opt.output ? run->ctx->opt.output : "standard output",
				 error_text(*code));
	return 0;
}

static int on_drain(void *arg, struct error *err)
{
	struct events_run *run = arg;
	uint64_t now = clock_monotonic_ns();
	int rc = drain(run, now + DRAIN_MAX_NS, err);

	if (rc < 0)
		return rc;
	rc = check_output(run, err);
	if (rc)
		return rc;
	if (run->writer && now - run->flushed_ns >= 1000000000u) {
		run->flushed_ns = now;
		rc = capture_writer_flush(run->writer, err);
	}
	return rc < 0 ? rc : run->stopped;
}

/* Until something ends it; positive = how (enum loop_end). */
static int run_loop(struct events_run *run, struct error *err)
{
	struct loop *loop = NULL;
	int rc = loop_open(&loop, err);

	rc = rc ? rc : loop_watch_pid(loop, run->node->os_pid, err);
	rc = rc ? rc : loop_add_timer(loop, DRAIN_EVERY_NS, on_drain, run, err);
	/* Now signals are caught: what has been attached is taken away in order. */
	rc = rc ? rc : session_start(run->live.session, err);
	if (rc == 0)
		log_info("%u probes attached", run->plan.nr_points);
	if (rc == 0 && run->ctx->opt.duration_ns)
		rc = loop_set_deadline(loop, run->ctx->opt.duration_ns, err);
	if (rc == 0)
		rc = loop_run(loop, err);
	loop_close(loop);
	return rc;
}

static int finish(struct events_run *run, struct error *err)
{
	uint64_t end_ns = clock_monotonic_ns();
	char text[32];
	int rc;

	session_stop(run->live.session);
	rc = drain(run, UINT64_MAX, err);
	if (rc)
		return rc;
	snprintf(text, sizeof(text), "%" PRIu64, end_ns - run->live.start_ns);
	enrich_add_meta(run->live.enrich, "duration_ns", text);
	live_add_counters(&run->live, run->view.refused, end_ns);
	enrich_add_end(run->live.enrich, end_ns);
	run->stopped = false; /* what comes now are counters */
	return drain(run, UINT64_MAX, err);
}

/* ---- the closing line ----------------------------------------------------------------------- */

static void add_lost(struct events_run *run, struct strbuf *line)
{
	uint64_t lost = run->view.counters[COUNTER_EVENTS_LOST];
	char text[32];
	bool any = false;

	strbuf_addf(line, "  lost %s", units_format_count(lost, text, sizeof(text)));
	for (int kind = 0; lost && run->live.session && kind < NR_EVENT_KINDS; kind++) {
		struct event_count c;

		session_event_count(run->live.session, (enum event_kind)kind, &c);
		if (c.lost)
			strbuf_addf(line, "%s%s %" PRIu64, any ? ", " : " (", event_rows[kind].name,
				    c.lost);
		any |= c.lost != 0;
	}
	if (any)
		strbuf_addch(line, ')');
}

static void add_noted(struct events_run *run, struct strbuf *line)
{
	static const struct {
		enum counter_id id;
		const char *name;
	} rows[] = {
		{COUNTER_LATE, "late"},
		{COUNTER_RING_FULL, "ring_full"},
		{COUNTER_READ_FAULT, "read_fault"},
		{COUNTER_NO_STACK, "no_stack"},
		{COUNTER_THREAD_TABLE_FULL, "thread_table_full"},
		{COUNTER_NAMES_FULL, "names_full"},
		{COUNTER_BAD_RECORD, "bad_record"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (run->view.counters[rows[i].id])
			strbuf_addf(line, "  %s %" PRIu64, rows[i].name,
				    run->view.counters[rows[i].id]);
	}
	if (run->view.unknown)
		strbuf_addf(line, "  of kinds that this version does not know %" PRIu64,
			    run->view.unknown);
}

static void tell(struct events_run *run)
{
	struct strbuf line = STRBUF_INIT;
	char text[32];
	double cost;

	strbuf_addf(&line, "Events: %s", units_format_count(run->view.shown, text, sizeof(text)));
	add_lost(run, &line);
	add_noted(run, &line);
	if (run->live.session) {
		strbuf_addf(&line, "  own CPU %.2f%%", live_own_cpu(&run->live));
		cost = live_node_cost(&run->live, NULL);
		if (cost >= 0)
			strbuf_addf(&line, "  programs ~%.2f%% of the node's CPU", cost);
	}
	if (run->ctx->opt.output && strcmp(run->ctx->opt.output, "-") != 0)
		strbuf_addf(&line, "  -> %s", run->ctx->opt.output);
	if (run->view.counters[COUNTER_EVENTS_LOST])
		log_warn("ebeam: events were lost because a ring buffer was full; ask for fewer "
			 "kinds (-e), or give ebeam more CPU");
	log_warn("%s", line.buf);
	strbuf_free(&line);
}

/* ---- live, and of a capture ---------------------------------------------------------------- */

static int watch(struct events_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	struct live_config config = {.events = &run->plan, .event_stacks = o->stack};
	int rc = plan_sources(run, err);

	if (rc == 0 && o->process)
		rc = process_parse(run->node, o->process, &config.event_epid, err);
	rc = rc ? rc : live_open(&run->live, run->node, &config, err);
	rc = rc ? rc : open_output(run, err);
	if (rc)
		return rc;
	run->view.start_epoch_ns = run->live.start_epoch_ns;
	run->view.start_ns = run->live.start_ns;
	rc = live_add_meta(&run->live, "events", "events", 0, err);
	rc = rc ? rc : run_loop(run, err);
	if (rc < 0)
		return rc;
	if (rc == LOOP_END_EXITED)
		log_warn("ebeam: the node (pid %d) exited; that was all", run->node->os_pid);
	rc = finish(run, err);
	rc = rc ? rc : close_output(run, err);
	if (rc == 0)
		tell(run);
	return rc;
}

static int read_capture(struct events_run *run, struct capture_reader *reader, struct error *err)
{
	struct source *s = capture_reader_source(reader);
	const struct rec_header *rec;
	int rc;

	run->view.start_epoch_ns = capture_reader_start_epoch_ns(reader);
	while ((rc = s->next(s, &rec, err)) > 0) {
		if (!run->stopped && events_view_take(&run->view, rec))
			run->stopped = true;
		if (run->view.write_errno)
			break;
	}
	rc = rc < 0 ? rc : check_output(run, err);
	rc = rc < 0 ? rc : close_output(run, err);
	if (rc)
		return rc;
	tell(run);
	if (!capture_reader_damage(reader))
		return 0;
	log_warn("ebeam: '%s' is damaged: %s. What stands before that is shown",
		 run->ctx->opt.input, capture_reader_damage(reader));
	return ERROR_KIND_PARTIAL;
}

static int replay(struct events_run *run, struct error *err)
{
	const char *path = run->ctx->opt.input;
	bool is_stdin = strcmp(path, "-") == 0;
	struct capture_reader *reader = NULL;
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	int rc;

	if (!f)
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot open '%s': %s", path,
				 error_text(errno));
	run->view.process = run->ctx->opt.process;
	rc = open_output(run, err);
	rc = rc ? rc : capture_reader_open(&reader, f, path, err);
	if (rc == 0)
		rc = read_capture(run, reader, err);
	capture_reader_close(reader);
	if (!is_stdin)
		fclose(f);
	return rc;
}

static int check_options(const struct options *o, struct error *err)
{
	if (o->input && (o->pid || o->duration_ns))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-i shows a capture: it goes with neither -p nor -d");
	if (o->markdown && !o->list)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--markdown goes with --list");
	if (!o->input && !o->list && !o->duration_ns && !o->limit && !isatty(STDIN_FILENO) &&
	    !isatty(STDERR_FILENO))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "without a terminal to press Ctrl-C on, say how long: -d 10s");
	return 0;
}

static int list(struct command_context *ctx, struct error *err)
{
	struct beam_node *n = NULL;
	int rc = ctx->opt.pid ? target_open(&n, ctx, err) : 0;

	rc = rc ? rc : events_list(ctx, n, err);
	beam_node_close(n);
	return rc;
}

int cmd_events(struct command_context *ctx, struct error *err)
{
	const struct options *o = &ctx->opt;
	struct events_run run = {
		.ctx = ctx,
		.view.json = o->json,
		.view.stacks = o->stack,
		.view.kinds = o->events ? o->events : ALL_KINDS,
		.view.limit = o->limit,
	};
	int rc = check_options(o, err);

	if (rc || o->list)
		return rc ? rc : list(ctx, err);
	rc = events_view_open(&run.view, err);
	if (rc == 0 && o->input)
		rc = replay(&run, err);
	else if (rc == 0)
		rc = target_open(&run.node, ctx, err);
	if (rc == 0 && run.node)
		rc = watch(&run, err);
	outfile_abort(&run.output);
	capture_writer_close(run.writer);
	live_close(&run.live);
	beam_node_close(run.node);
	events_view_close(&run.view);
	return rc;
}
