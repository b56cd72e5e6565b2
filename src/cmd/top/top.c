/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam top`: the command, and one step of it; see top.h for its parts. */
#include "cmd/top/top.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "beam/locate/find.h"
#include "beam/locate/node_open.h"
#include "cmd/run/target.h"
#include "cmd/top/top_samples.h"

#define STEP_DEFAULT_NS 1000000000u
#define STEP_MIN_NS	50000000u
/* Hz without -F: enough samples for the shares of one second. */
#define FREQ_DEFAULT 199

static int check_options(struct top *t, struct error *err)
{
	const struct options *o = &t->ctx->opt;
	const struct top_panel *p;
	struct panel_source source;
	struct table_options options = {.columns = o->columns, .sort = o->sort};

	t->step_ns = o->watch_ns ? o->watch_ns : STEP_DEFAULT_NS;
	if (t->step_ns < STEP_MIN_NS)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--watch: %llu ms is the shortest interval of top",
				 STEP_MIN_NS / 1000000ull);
	t->shown = o->panel ? top_panel_find(o->panel) : 0;
	p = &top_panels[t->shown];
	if (o->json && o->format)
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"-j cannot be combined with -f: JSON is neither text nor a picture");
	if (o->input && !p->replay)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--panel: a capture has only samples and events, and so no rows "
				 "for the panel '%s'",
				 p->name);
	if (o->input && o->pid)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-i plays a capture: it cannot be combined with -p");
	if (o->json && (o->columns || (o->panel && strcmp(p->name, "events") != 0)))
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "-j writes the data of all panels: -c and --panel cannot be "
				 "given, except --panel events, which needs probes");
	top_panel_source(t, &source);
	return table_check(&source.table, &options, err);
}

static void close_samples(struct top *t)
{
	if (t->samples)
		top_samples_add_summary(t->samples, &t->summary);
	top_samples_close(t->samples);
	t->samples = NULL;
}

/* Sampling has failed: goes on with what is read from memory.  If the node has exited, the next
 * reading finds that. */
static void lose_samples(struct top *t, const struct error *why)
{
	close_samples(t);
	if (why->kind != ERROR_KIND_NO_NODE)
		snprintf(t->samples_error, sizeof(t->samples_error), "CPU sampling has stopped: %s",
			 why->msg);
	top_frame_forget_samples(&t->frame);
	process_table_forget_cpu(&t->processes.table);
}

void top_drain(struct top *t)
{
	struct error err = {0};

	if (t->samples && top_samples_drain(t->samples, &err) != 0)
		lose_samples(t, &err);
}

/* Drops the window of samples, and the rates of events, as they are not of the last seconds. */
static void forget_samples(struct top *t)
{
	struct error err = {0};

	if (t->samples && top_samples_restart(t->samples, &err) != 0)
		lose_samples(t, &err);
	if (t->events)
		top_events_forget(t->events);
}

void top_forget_before(struct top *t)
{
	t->read_ns = 0;
	forget_samples(t);
}

static void step_samples(struct top *t)
{
	struct error err = {0};

	if (t->samples && top_samples_step(t->samples, &t->frame, &err) != 0)
		lose_samples(t, &err);
}

/* Adds the rate of messages, which the node does not count, from events. */
static void learn_from_events(struct top *t)
{
	struct event_rates *r = top_event_rates(t);

	if (r)
		top_frame_learn_rate(&t->frame, TOP_RATE_MESSAGES, event_rates_messages(r));
}

/* Sets what was lost and refused since the start; top_samples_step() has set the part of
 * samples. */
static void count_lost(struct top *t)
{
	const uint64_t *closed = t->summary.counters;
	struct top_frame *f = &t->frame;

	if (!t->samples)
		f->lost = f->refused = 0;
	f->lost += closed[COUNTER_RING_FULL] + closed[COUNTER_EVENTS_LOST];
	f->refused += closed[COUNTER_BAD_RECORD] + t->summary.dropped_unknown;
	if (!t->events)
		return;
	f->lost += top_events_counter(t->events, COUNTER_EVENTS_LOST) +
		   top_events_counter(t->events, COUNTER_RING_FULL);
	f->refused += top_events_counter(t->events, COUNTER_BAD_RECORD);
}

int top_step(struct top *t, struct error *err)
{
	enum top_state before;
	int rc;

	if (!t->node) {
		t->reading++;
		rc = top_samples_play(t->samples, &t->frame, t->step_ns, err);
		if (rc == 0)
			learn_from_events(t);
		return rc;
	}
	before = t->frame.state;
	rc = top_node_read(t, err);
	if (rc == 0 && t->frame.state == TOP_STOPPED && before != TOP_STOPPED)
		forget_samples(t);
	if (rc == 0)
		step_samples(t);
	if (rc == 0)
		rc = top_panel_read(t, err);
	if (rc == 0) {
		learn_from_events(t);
		count_lost(t);
	}
	if (rc == -ESRCH)
		t->frame.state = TOP_EXITED;
	return rc;
}

/* Starts sampling.  If that fails, `top` goes on without samples. */
void top_start_samples(struct top *t)
{
	unsigned int freq = t->ctx->opt.given.has[OPTION_FREQ] ? t->ctx->opt.freq : FREQ_DEFAULT;
	struct error err = {0};

	if (top_samples_open(&t->samples, t->node, &t->ctx->opt, freq, &err) != 0)
		snprintf(t->samples_error, sizeof(t->samples_error), "no samples: %s", err.msg);
}

/* Warning number `which`; NULL = there is no reason for it. */
static const char *warning_of(struct top *t, unsigned int which)
{
	switch (which) {
	case 0:
		return t->samples_error[0] ? t->samples_error : NULL;
	case 1:
		return t->processes.warning[0] ? t->processes.warning : NULL;
	default:
		if (!t->processes.source.undecoded)
			return NULL;
		snprintf(t->undecoded, sizeof(t->undecoded),
			 "memory of processes does not include %llu messages from other nodes that "
			 "they have not decoded yet",
			 (unsigned long long)t->processes.source.undecoded);
		return t->undecoded;
	}
}

unsigned int top_warnings(struct top *t, const char *out[TOP_WARNINGS])
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < TOP_WARNINGS; i++) {
		out[nr] = warning_of(t, i);
		nr += out[nr] != NULL;
	}
	return nr;
}

const char *top_next_warning(struct top *t)
{
	for (unsigned int i = 0; i < TOP_WARNINGS; i++) {
		const char *text = t->warned >> i & 1 ? NULL : warning_of(t, i);

		if (!text)
			continue;
		t->warned |= 1u << i;
		return text;
	}
	return NULL;
}

/* Opens the readers of t->node's totals and processes. */
static int open_node(struct top *t, struct error *err)
{
	int rc = top_node_open(t, err);

	return rc ? rc : top_processes_open(&t->processes, t->node, err);
}

static void close_node(struct top *t)
{
	close_samples(t);
	t->samples_error[0] = '\0';
	t->readings += t->frame.frames;
	t->sums.processes += t->processes.sums.processes;
	t->sums.torn += t->processes.sums.torn;
	t->sums.vanished += t->processes.sums.vanished;
	top_panels_close(t);
	top_processes_close(&t->processes);
	top_node_close(t);
	beam_node_close(t->node); /* it may have exited, which was reported */
	t->node = NULL;
}

int top_successor(const struct top *t)
{
	const char *name = t->frame.node.name;
	struct error ignored = {0};
	int pid;

	if (!*name || strcmp(name, "nonode@nohost") == 0 ||
	    beam_find(&pid, name, target_how(&t->ctx->opt), &ignored) != 0)
		return 0;
	return pid == t->frame.node.os_pid ? 0 : pid;
}

/* Parts of *t point at each other, so the new node is opened in *t itself: the old one is copied
 * aside to be closed from there, and copied back if the new one cannot be opened. */
int top_change_node(struct top *t, int os_pid, struct error *err)
{
	struct top old = *t;
	struct beam_node *node;
	int rc = beam_node_open(&node, os_pid, target_how(&t->ctx->opt), err);

	if (rc)
		return rc;
	*t = (struct top){
		.ctx = old.ctx,
		.node = node,
		.step_ns = old.step_ns,
		.shown = old.shown,
		.reading = old.reading + 1,
		.screen = old.screen,
	};
	rc = open_node(t, err);
	if (rc) {
		close_node(t);
		*t = old;
		return rc;
	}
	t->processes.yield = old.processes.yield;
	t->processes.arg = old.processes.arg;
	close_node(&old);
	t->summary = old.summary;
	t->sums = old.sums;
	t->readings = old.readings;
	return 0;
}

static int open_capture(struct top *t, struct error *err)
{
	top_frame_init(&t->frame);
	return top_samples_open_capture(&t->samples, t->ctx->opt.input, t->ctx->opt.duration_ns,
					err);
}

/* Reports lost events, without the usual advice to ask for fewer kinds: rates count lost events,
 * and the user did not choose the kinds. */
static void report_lost_events(struct summary *s)
{
	uint64_t lost = s->counters[COUNTER_EVENTS_LOST];

	if (lost)
		log_warn("ebeam: %llu events lost because the ring buffer of a CPU was full; the "
			 "rates include them",
			 (unsigned long long)lost);
	s->counters[COUNTER_EVENTS_LOST] = 0;
}

/* The closing lines: readings and samples in all, and what was lost. */
static void report_end(const struct top *t, uint64_t start_ns)
{
	double wall = (double)(clock_monotonic_ns() - start_ns) / 1e9;
	struct timespec cpu = {0};
	struct summary s = t->summary;
	char readings[32], rows[32];

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	/* Not of a capture: it is played as fast as it can be read. */
	s.own_cpu = wall > 0 && !t->ctx->opt.input
			    ? ((double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9) / wall * 100
			    : -1;
	if (t->sums.processes)
		log_warn("%s reading%s of the node with %s rows of processes; %llu torn, %llu "
			 "vanished meanwhile",
			 units_format_count(t->readings, readings, sizeof(readings)),
			 t->readings == 1 ? "" : "s",
			 units_format_count(t->sums.processes, rows, sizeof(rows)),
			 (unsigned long long)t->sums.torn, (unsigned long long)t->sums.vanished);
	if (!t->ctx->opt.input)
		report_lost_events(&s);
	summary_print(&s);
}

/* Do the options ask for output that is not the interactive screen? */
static bool is_batch(const struct options *o)
{
	return o->batch || o->json || o->output || o->format;
}

int cmd_top(struct command_context *ctx, struct error *err)
{
	bool tty = isatty(fileno(ctx->out)) && isatty(STDIN_FILENO);
	struct top t = {.ctx = ctx, .summary.cost.percent = NAN};
	uint64_t start_ns = clock_monotonic_ns();
	int rc = check_options(&t, err);

	if (rc == 0 && !ctx->opt.input)
		rc = target_open(&t.node, ctx, err);
	if (rc)
		return rc;
	rc = ctx->opt.input ? open_capture(&t, err) : open_node(&t, err);
	if (rc == 0)
		rc = is_batch(&ctx->opt) || !tty ? top_batch(&t, err) : top_live(&t, err);
	close_node(&t);
	if (rc >= 0)
		report_end(&t, start_ns);
	return rc;
}
