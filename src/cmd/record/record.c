/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam record`: records a node until a deadline, a signal or its exit, and writes the result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "beam/vm/facts.h"
#include "cmd/command/command.h"
#include "cmd/command/loop.h"
#include "cmd/command/options.h"
#include "cmd/output/outfile.h"
#include "cmd/output/render.h"
#include "cmd/output/timeline_output.h"
#include "cmd/record/record.h"
#include "cmd/record/recording.h"
#include "cmd/run/target.h"

/*
 * How often the rings are drained: after some 50 samples of a CPU, or half a second.  Whenever
 * ebeam wakes up, it takes a CPU from a scheduler of a busy node, and the kernel may then put two
 * schedulers on one CPU for a while: at 99 Hz, draining ten times a second cost more than sampling.
 */
#define DRAIN_SAMPLES 50u
#define DRAIN_MIN_NS  100000000u
#define DRAIN_MAX_NS  500000000u

struct record_run {
	struct command_context *ctx;
	struct render render;
	struct beam_node *node;
	struct recording *recording;
	struct outfile *output;	 /* of any other format: opened first, written last */
	struct outfile *capture; /* -f capture, or --capture: streamed while recording */
	struct capture_writer *writer;
	struct timeline_output timeline;
	const struct weight_mode *mode; /* NULL: samples of the CPU; else one that reads memory, or
					 * times off CPUs */
	struct loop_alarm *alarm;	/* of the next sample of processes */
	uint64_t samples;
	unsigned int random;
	uint64_t flushed_ns;
	uint64_t began_ns; /* start of the command, to report when the first sample came */
	bool said_first;
};

#define MEMORY_FREQ	20u
#define MEMORY_MAX_FREQ 100u
/* Least pause after a sample of processes: this many times the duration of the sample. */
#define SAMPLE_REST 2u

static int check_memory_mode(struct record_run *run, struct error *err)
{
	struct options *o = &run->ctx->opt;

	if (!o->given.has[OPTION_FREQ])
		o->freq = MEMORY_FREQ;
	if (o->freq > MEMORY_MAX_FREQ)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--mode %s reads the processes at most %u times a second: "
				 "--freq %u is more",
				 run->mode->name, MEMORY_MAX_FREQ, o->freq);
	if (run->render.timeline)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--mode %s adds up the time of processes: there is no time line "
				 "of it. --mode sched has one; other formats: -f html, text, "
				 "folded, json",
				 run->mode->name);
	return 0;
}

/* Is the time of the mode sampled in memory?  Probes in a duty cycle see too few long slices for a
 * sum.  So --mode sched samples memory, unless all slices are probed (--max-overhead 100), each
 * slice is wanted (capture, time line), or --source is given. */
static bool reads_memory(const struct record_run *run)
{
	const struct options *o = &run->ctx->opt;

	if (!run->mode)
		return false;
	if (weight_mode_reads_memory(run->mode))
		return true;
	return run->mode->source == WEIGHT_ON && o->max_overhead < 100 && !o->capture &&
	       !o->given.has[OPTION_SOURCE] && !run->render.capture && !run->render.timeline;
}

static int open_capture(struct record_run *run, const char *path, struct error *err)
{
	int rc = outfile_open(&run->capture, path, OUTFILE_STREAM, run->ctx->out, err);

	if (rc)
		return rc;
	rc = capture_writer_open(&run->writer, outfile_file(run->capture),
				 recording_start_epoch_ns(run->recording),
				 recording_start_ns(run->recording), err);
	if (rc == 0)
		recording_set_writer(run->recording, run->writer);
	return rc;
}

static int open_timeline(struct record_run *run, struct error *err)
{
	int rc = timeline_output_open(&run->timeline, run->render.path,
				      recording_stream(run->recording), run->ctx->out, err);

	if (rc == 0)
		recording_set_timeline(run->recording, &run->timeline);
	return rc;
}

static void report_progress(struct record_run *run)
{
	uint64_t first = recording_first_sample_ns(run->recording);
	double seconds;

	if (first && !run->said_first) {
		run->said_first = true;
		log_info("first sample after %.0f ms", (double)(first - run->began_ns) / 1e6);
	}
	if (!isatty(STDERR_FILENO) || log_level() < LOG_LEVEL_WARN)
		return;
	seconds = (double)(clock_monotonic_ns() - recording_start_ns(run->recording)) / 1e9;
	if (run->mode)
		log_progress("Recording: %.0f s (Ctrl-C stops)", seconds);
	else
		log_progress("Recording: %.0f s, %lu samples (Ctrl-C stops)", seconds,
			     (unsigned long)recording_samples(run->recording));
}

/* Is --max-overhead kept by taking fewer samples?  Not with -F alone: then the frequency is kept,
 * and the closing line shows the cost. */
static bool keeps_limit(const struct record_run *run)
{
	const struct option_set *given = &run->ctx->opt.given;

	return !given->has[OPTION_FREQ] || given->has[OPTION_MAX_OVERHEAD];
}

static int on_drain(void *arg, struct error *err)
{
	struct record_run *run = arg;
	uint64_t now = clock_monotonic_ns();
	int rc = recording_drain(run->recording, err);

	if (rc < 0 || now - run->flushed_ns < 1000000000u)
		return rc;
	run->flushed_ns = now;
	report_progress(run);
	if (run->writer)
		rc = capture_writer_flush(run->writer, err);
	if (keeps_limit(run))
		recording_keep_limit(run->recording);
	return rc;
}

/* The next sample is at a random time in the next period, or in a later one if samples take long:
 * so processes that run periodically are not seen too often, or never. */
static void set_next_sample(struct record_run *run, uint64_t began_ns)
{
	uint64_t period = 1000000000u / run->ctx->opt.freq, now = clock_monotonic_ns();
	uint64_t start = recording_start_ns(run->recording);
	uint64_t rest = SAMPLE_REST * (now - began_ns);

	run->samples = MAX(run->samples, (now + rest - start) / period) + 1;
	loop_set_alarm(run->alarm,
		       start + run->samples * period +
			       period * ((uint64_t)rand_r(&run->random) % 1024) / 1024,
		       0);
}

static int on_sample_due(void *arg, struct error *err)
{
	uint64_t began_ns = clock_monotonic_ns();
	int rc = on_drain(arg, err);

	if (rc == 0)
		set_next_sample(arg, began_ns);
	return rc;
}

static uint64_t drain_interval_ns(unsigned int freq)
{
	uint64_t interval = DRAIN_SAMPLES * 1000000000ull / freq;

	return MAX(MIN(interval, (uint64_t)DRAIN_MAX_NS), (uint64_t)DRAIN_MIN_NS);
}

/* Records until something ends the loop; positive = what (enum loop_end). */
static int run_loop(struct record_run *run, struct error *err)
{
	struct loop *loop = NULL;
	int rc = loop_open(&loop, err);

	rc = rc ? rc : loop_watch_pid(loop, run->node->os_pid, err);
	if (rc == 0 && reads_memory(run))
		rc = loop_add_alarm(loop, &run->alarm, on_sample_due, run, err);
	else if (rc == 0)
		rc = loop_add_timer(loop, drain_interval_ns(run->ctx->opt.freq), on_drain, run,
				    err);
	if (rc == 0 && reads_memory(run))
		set_next_sample(run, clock_monotonic_ns());
	if (rc == 0 && run->ctx->opt.duration_ns)
		rc = loop_set_deadline(loop, run->ctx->opt.duration_ns, err);
	if (rc == 0)
		rc = loop_run(loop, err);
	loop_close(loop);
	if (isatty(STDERR_FILENO) && log_level() >= LOG_LEVEL_WARN)
		log_progress("%s", "");
	return rc;
}

static int finish_capture(struct record_run *run, struct error *err)
{
	int rc = capture_writer_flush(run->writer, err);

	if (rc == 0)
		return outfile_commit(&run->capture, err);
	return rc;
}

/* Writes the output and the closing line; returns the exit code. */
static int show_result(struct record_run *run, struct error *err)
{
	struct snapshot_options options =
		render_snapshot_options(&run->render, &run->ctx->opt, run->mode);
	struct snapshot *snapshot = NULL;
	struct summary summary;
	struct live_cost cost;
	int rc;

	recording_node_cost(run->recording, &cost);
	rc = recording_snapshot(run->recording, &options, &snapshot, err);
	if (rc)
		return rc;
	if (run->render.timeline)
		rc = timeline_output_finish(&run->timeline, err);
	else if (!run->render.capture)
		rc = render_finish(&run->output, &run->render, &run->ctx->opt, snapshot, NULL,
				   run->ctx->out, err);
	if (rc == 0 && run->render.chosen && (run->render.timeline || run->render.capture))
		fprintf(run->ctx->out, "%s\n", run->render.path);
	if (rc == 0) {
		summary_of_snapshot(&summary, snapshot);
		summary.own_cpu = recording_own_cpu(run->recording);
		summary.cost = cost;
		summary.path = strcmp(run->render.path, "-") ? run->render.path : NULL;
		if (summary.samples == 0 && !run->mode)
			log_warn("ebeam: the node used no CPU while it was recorded. 'ebeam dump "
				 "-p %d' shows what its processes wait for; --idle shows its idle "
				 "schedulers",
				 run->node->os_pid);
		summary_print(&summary);
		rc = summary_exit_code(&summary, run->ctx->opt.min_complete);
	}
	snapshot_close(snapshot);
	return rc;
}

static int record(struct record_run *run, struct error *err)
{
	const struct options *o = &run->ctx->opt;
	struct beam_facts facts;
	char *stem;
	int rc = beam_node_facts(run->node, &facts, err);

	if (rc)
		return rc;
	rc = recording_start(&run->recording, run->node, o, run->mode, err);
	if (rc)
		return rc;
	stem = render_stem(facts.name, recording_start_epoch_ns(run->recording));
	render_name(&run->render, stem);
	free(stem);
	if (run->render.timeline)
		rc = open_timeline(run, err);
	else if (!run->render.capture)
		rc = render_open(&run->output, &run->render, run->ctx->out, err);
	if (rc)
		return rc;
	if (run->render.capture)
		rc = open_capture(run, run->render.path, err);
	else if (o->capture)
		rc = open_capture(run, o->capture, err);
	if (rc)
		return rc;
	rc = run_loop(run, err);
	if (rc < 0)
		return rc;
	if (rc == LOOP_END_EXITED)
		log_warn("ebeam: node %s (pid %d) exited; what was recorded until then is written",
			 facts.name, run->node->os_pid);
	rc = recording_finish(run->recording, err);
	if (rc == 0 && run->capture)
		rc = finish_capture(run, err);
	return rc ? rc : show_result(run, err);
}

/* Is there a partial capture worth keeping: a regular file with more than a header? */
static bool capture_is_worth_it(const struct record_run *run)
{
	struct stat st;

	return run->capture && stat(outfile_temporary(run->capture), &st) == 0 &&
	       S_ISREG(st.st_mode) && st.st_size > (off_t)sizeof(struct capture_header);
}

int cmd_record(struct command_context *ctx, struct error *err)
{
	struct record_run run = {.ctx = ctx, .began_ns = clock_monotonic_ns()};
	int rc = options_check_end(ctx->opt.duration_ns || ctx->opt.dry_run, err);

	rc = rc ? rc : options_mode(&ctx->opt, &run.mode, err);
	rc = rc ? rc : render_choose(&run.render, ctx->command, &ctx->opt, err);
	if (rc)
		return rc;
	rc = reads_memory(&run) ? check_memory_mode(&run, err) : 0;
	if (rc) {
		render_free(&run.render);
		return rc;
	}
	if (run.mode && !reads_memory(&run) && !weight_mode_is_off_cpu(run.mode)) {
		rc = record_events(ctx, &run.render, run.mode, err);
		render_free(&run.render);
		return rc;
	}
	rc = target_open(&run.node, ctx, err);
	if (rc == 0 && ctx->opt.dry_run)
		recording_describe(run.node, ctx->opt.freq, run.mode, ctx->out);
	else if (rc == 0)
		rc = target_failed(run.node, record(&run, err), err);
	/* If recording fails, the capture so far is kept. */
	if (rc < 0 && capture_is_worth_it(&run)) {
		log_warn("ebeam: what was recorded so far is in '%s'",
			 outfile_temporary(run.capture));
		outfile_leave(&run.capture);
	}
	timeline_output_close(&run.timeline);
	outfile_abort(&run.capture);
	outfile_abort(&run.output);
	capture_writer_close(run.writer);
	recording_close(run.recording);
	beam_node_close(run.node);
	render_free(&run.render);
	return rc;
}
