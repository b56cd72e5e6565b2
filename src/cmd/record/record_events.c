/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam record --mode gc|alloc|msg|sched|malloc`: events of the VM with their stacks, weighed into
 * a profile, which every format then shows.
 */
#include <string.h>

#include "base/compiler.h"
#include "cmd/output/timeline_output.h"
#include "cmd/record/leak_check.h"
#include "cmd/record/record.h"
#include "cmd/run/event_run.h"
#include "cmd/run/weigh.h"

struct weigh_run {
	struct weigh weigh;
	struct event_run *run;
	struct timeline_output timeline; /* instead of a profile */
	struct leak_check *leak;	 /* of --leak, from begin() on; else NULL */
};

static bool is_malloc(const struct weight_mode *mode)
{
	return mode->source == WEIGHT_MALLOC || mode->source == WEIGHT_LEAK;
}

/*
 * Of the bytes that malloc gives one in so many is sampled: such that one of some 16 calls is a
 * sample, as that costs up to 16 times as much as a call that is none.  What is known of leaks
 * depends on the number of samples: if a budget limits that, more of the calls that are paid for
 * are sampled.
 */
#define LIBC_EVERY	 (16u << 10) /* at first */
#define LIBC_LEAST_EVERY (1u << 10)
#define LIBC_CALLS	 16u
#define LIBC_LEAK_CALLS	 1u

static uint32_t calls_of_sample(const struct weigh_run *w)
{
	bool limited = w->weigh.ctx->opt.max_overhead < 100;

	return w->leak && limited ? LIBC_LEAK_CALLS : LIBC_CALLS;
}

static void adapt_to_sizes(struct weigh_run *w)
{
	struct session *s = event_run_live(w->run)->session;
	uint32_t every = LIBC_LEAST_EVERY, calls = calls_of_sample(w);
	struct event_count n;

	session_event_count(s, EVENT_LIBC_ALLOC, &n);
	if (n.ns < calls)
		return;
	while (every < EBEAM_LIBC_EVERY && every < calls * n.size / n.ns)
		every *= 2;
	/* The table of blocks that are not freed yet must not get full. */
	for (size_t nr = w->leak ? leak_check_nr(w->leak) : 0;
	     nr > EBEAM_LIBC_BLOCKS / 4 && every < EBEAM_LIBC_EVERY; nr -= EBEAM_LIBC_BLOCKS / 8)
		every = MIN(4 * every, EBEAM_LIBC_EVERY);
	session_sample_libc(s, every);
}

/* Chooses and opens the outputs before anything is recorded, so that errors come early. */
static int on_opened(void *arg, const char **capture, struct error *err)
{
	struct weigh_run *w = arg;
	struct render *r = w->weigh.render;
	int rc = weigh_name(&w->weigh, w->run, capture, err);

	if (rc)
		return rc;
	if (r->timeline)
		return timeline_output_open(&w->timeline, r->path, event_run_stream(w->run),
					    w->weigh.ctx->out, err);
	return weigh_open(&w->weigh, w->run, err);
}

static void on_other(void *arg, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->timeline.timeline)
		timeline_other(w->timeline.timeline, ev);
	else
		weigh_other(&w->weigh, ev);
}

static int on_event(void *arg, enum event_kind kind, const struct event *ev)
{
	struct weigh_run *w = arg;

	if (w->leak)
		leak_check_event(w->leak, ev);
	if (w->timeline.timeline)
		timeline_event(w->timeline.timeline, kind, ev);
	else
		weigh_event(&w->weigh, kind, ev);
	return 0;
}

static int on_begin(void *arg, struct error *err)
{
	struct weigh_run *w = arg;

	UNUSED(err);
	if (w->weigh.mode->source == WEIGHT_LEAK)
		w->leak = leak_check_open(event_run_node(w->run), event_run_live(w->run));
	return 0;
}

static int on_drained(void *arg, struct error *err)
{
	struct weigh_run *w = arg;

	UNUSED(err);
	if (w->leak)
		leak_check_some(w->leak);
	if (is_malloc(w->weigh.mode) && event_run_node(w->run))
		adapt_to_sizes(w);
	return 0;
}

static void on_stop(void *arg)
{
	struct weigh_run *w = arg;

	if (w->leak)
		leak_check_stop(w->leak);
}

/* The last check of memory takes a while, in which probes would cost the node. */
static void on_detached(void *arg)
{
	struct weigh_run *w = arg;

	if (w->leak)
		leak_check_all(w->leak);
}

static int on_end(void *arg, bool last, struct error *err)
{
	struct weigh_run *w = arg;
	struct render *r = w->weigh.render;
	int rc;

	(void)last;
	if (!r->timeline)
		return weigh_finish(&w->weigh, err);
	rc = timeline_output_finish(&w->timeline, err);
	if (rc == 0 && r->chosen)
		fprintf(w->weigh.ctx->out, "%s\n", r->path);
	return rc;
}

static void on_closing(void *arg, struct strbuf *line)
{
	struct weigh_run *w = arg;
	const char *path = w->weigh.render->path;

	if (!w->weigh.render->timeline)
		weigh_closing(&w->weigh, line);
	else if (strcmp(path, "-") != 0)
		strbuf_addf(line, "  -> %s", path);
}

/* Kinds that a time line shows in addition to those of the mode. */
static uint64_t also_shown(const struct weight_mode *mode)
{
	const uint64_t gc = 1ull << EVENT_GC_MINOR_START | 1ull << EVENT_GC_MINOR_END |
			    1ull << EVENT_GC_MAJOR_START | 1ull << EVENT_GC_MAJOR_END;

	if (mode->source == WEIGHT_MESSAGE)
		return 1ull << EVENT_MESSAGE_QUEUED | 1ull << EVENT_MESSAGE_RECEIVE;
	return gc;
}

/* What ebeam itself does with an event takes more CPU than its probe does: some 6 us, or 10 with a
 * capture.  So that is limited as well, by the number of hits (a collection has two), to about as
 * large a share of a CPU for each scheduler.  Not of malloc, most hits of which are only
 * counted. */
#define RATE_OF_PERCENT 1500

static unsigned int most_hits(const struct command_context *ctx, const struct weight_mode *mode)
{
	return is_malloc(mode) || ctx->opt.max_overhead >= 100
		       ? 0
		       : MAX((unsigned int)(ctx->opt.max_overhead * RATE_OF_PERCENT), 1);
}

int record_events(struct command_context *ctx, struct render *render,
		  const struct weight_mode *mode, struct error *err)
{
	struct weigh_run w = {.weigh = {.ctx = ctx, .mode = mode, .render = render}};
	const struct event_consumer consumer = {
		.kinds = mode->kinds | (render->timeline ? also_shown(mode) : 0),
		.stacks = true,
		.libc_every = is_malloc(mode) ? LIBC_EVERY : 0,
		.libc_frees = mode->source == WEIGHT_LEAK,
		.rate = most_hits(ctx, mode),
		.mode = mode->name,
		.weight = mode->weight,
		.no_schedulers = mode->source == WEIGHT_ALLOCATED && !render->timeline,
		.arg = &w,
		.opened = on_opened,
		.other = on_other,
		.begin = on_begin,
		.drained = on_drained,
		.end = on_stop,
		.detached = on_detached,
		.event = on_event,
		.show = on_end,
		.closing = on_closing,
	};
	int rc = event_run(ctx, &consumer, &w.run, err);

	if (rc == 0 && !ctx->opt.dry_run && !render->timeline)
		rc = summary_exit_code(&w.weigh.summary, ctx->opt.min_complete);
	timeline_output_close(&w.timeline);
	leak_check_close(w.leak);
	weigh_close(&w.weigh);
	event_run_close(w.run);
	return rc;
}
