/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_profile.h. */
#include "model/profile/event_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "abi/limits.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/xalloc.h"

struct event_profile {
	struct event_stream *stream;
	struct profile *profile;
	const struct weight_mode *mode;
	struct event_weights *weights; /* NULL until the mode is known */
	/* Of weights: their number, sum, and sum of squares; sums by the kind of event. */
	double nr, sum, squares, by_kind[NR_EVENT_KINDS];
	struct strbuf warnings; /* one a line */
	uint64_t ignored;
};

struct event_profile *event_profile_open(struct event_stream *s, const struct weight_mode *mode)
{
	struct event_profile *ep = xcalloc(1, sizeof(*ep));

	ep->profile = profile_open_over(s->names);
	ep->stream = s;
	ep->mode = mode;
	strbuf_init(&ep->warnings);
	return ep;
}

void event_profile_close(struct event_profile *ep)
{
	if (!ep)
		return;
	event_weights_close(ep->weights);
	profile_close(ep->profile);
	strbuf_free(&ep->warnings);
	free(ep);
}

struct profile *event_profile_profile(struct event_profile *ep)
{
	return ep->profile;
}

const struct weight_mode *event_profile_mode(const struct event_profile *ep)
{
	return ep->mode;
}

uint64_t event_profile_ignored(const struct event_profile *ep)
{
	return ep->ignored;
}

void event_profile_refused(struct event_profile *ep)
{
	profile_count_refused(ep->profile);
}

static void apply_sample(void *arg, const struct event *sample)
{
	struct event_profile *ep = arg;
	double weight = (double)sample->u.sample.weight;

	ep->nr++;
	ep->sum += weight;
	ep->squares += weight * weight;
	profile_apply(ep->profile, sample); /* profile_apply() counts refused records */
}

static void open_weights(struct event_profile *ep)
{
	if (ep->weights)
		return;
	if (!ep->mode)
		ep->mode = weight_mode_find(ep->stream->mode, ep->stream->weight);
	if (ep->mode)
		ep->weights = event_weights_open(ep->mode, apply_sample, ep);
}

static void take_call(struct event_profile *ep, const struct event *ev)
{
	open_weights(ep);
	if (ep->weights)
		event_weights_call(ep->weights, ep->stream, ev);
}

void event_profile_other(struct event_profile *ep, const struct event *ev)
{
	switch (ev->type) {
	case REC_META:
		/* A margin of error was computed for the mode of the recording, and is wrong for
		 * others. */
		if (event_is_meta(ev, "margin_of_error") && ep->mode &&
		    strcmp(ep->mode->name, ep->stream->mode) != 0)
			return;
		if (event_is_meta(ev, "warnings")) {
			strbuf_reset(&ep->warnings);
			strbuf_add(&ep->warnings, ev->u.meta.value, ev->u.meta.value_len);
		}
		break;
	case REC_CALL:
		take_call(ep, ev);
		return;
	case REC_COVERAGE:
		open_weights(ep);
		if (ep->weights)
			event_weights_coverage(ep->weights, ep->stream, ev);
		break;
	case REC_SAMPLE:
		if (ep->mode && !weight_mode_takes(ep->mode, ev->u.sample.kind))
			return;
		break;
	case REC_STRING:
	case REC_FUNCTION:
	case REC_FRAME:
	case REC_STACK:
	case REC_PROCESS:
	case REC_THREAD:
		return; /* the stream keeps them */
	default:
		break;
	}
	profile_apply(ep->profile, ev);
}

void event_profile_event(struct event_profile *ep, enum event_kind kind, const struct event *ev)
{
	double before = ep->sum;

	open_weights(ep);
	if (ep->weights)
		event_weights_take(ep->weights, ep->stream, kind, ev);
	else
		ep->ignored++;
	ep->by_kind[kind] += ep->sum - before;
}

/* ---- the end -------------------------------------------------------------------------------- */

static void add_meta(struct event_profile *ep, const char *key, const char *value)
{
	struct event ev = {.type = REC_META};

	ev.u.meta.key = key;
	ev.u.meta.key_len = (uint32_t)strlen(key);
	ev.u.meta.value = value;
	ev.u.meta.value_len = (uint32_t)strlen(value);
	profile_apply(ep->profile, &ev);
}

static void begin_warning(struct event_profile *ep)
{
	if (ep->warnings.len)
		strbuf_addch(&ep->warnings, '\n');
}

/* What processes allocated between their last collection and their end counts only then. */
static void warn_of_unrecorded(struct event_profile *ep, uint64_t kinds)
{
	const char *before = "not recorded: ";

	if (!kinds || (ep->mode->source != WEIGHT_ALLOCATED &&
		       ep->mode->source != WEIGHT_BINARIES && ep->mode->source != WEIGHT_SURVIVED))
		return;
	begin_warning(ep);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		strbuf_addf(&ep->warnings, "%s%s", before, event_rows[kind].name);
		before = ", ";
	}
	strbuf_addstr(&ep->warnings, "; what was allocated up to these is missing");
}

static void warn_of_counts(struct event_profile *ep)
{
	const struct event_weights_counts *c = event_weights_counts(ep->weights);
	const char *spell = ep->mode->source == WEIGHT_ON ? "slices" : "waits";
	char time[32];

	warn_of_unrecorded(ep, c->unrecorded);
	if (c->unknown) {
		begin_warning(ep);
		strbuf_addf(&ep->warnings, "not counted: %" PRIu64 " %s", c->unknown,
			    ep->mode->unknown);
	}
	if (c->unfinished) {
		begin_warning(ep);
		units_format_ns(c->unfinished_ns, time, sizeof(time));
		strbuf_addf(
			&ep->warnings,
			"%" PRIu64
			" %s had not ended when the recording did: counted up to then, %s in all",
			c->unfinished, spell, time);
	}
	if (c->began_before) {
		begin_warning(ep);
		strbuf_addf(&ep->warnings,
			    "not counted: %" PRIu64 " %s that began before the first event "
			    "of their process",
			    c->began_before, spell);
	}
	if (c->gaps) {
		begin_warning(ep);
		strbuf_addf(&ep->warnings,
			    "not counted: %" PRIu64 " %s in which events may have been missed, as "
			    "they were not watched all the time",
			    c->gaps, spell);
	}
	if (c->alone) {
		begin_warning(ep);
		strbuf_addf(&ep->warnings,
			    "%" PRIu64
			    " calls were recorded without their stack: only their last caller "
			    "is shown",
			    c->alone);
	}
	if (c->overflow) {
		begin_warning(ep);
		strbuf_addf(&ep->warnings,
			    "not counted: %" PRIu64
			    " %s, as no more than %u processes are followed",
			    c->overflow, spell, EVENT_WEIGHTS_PROCESSES);
	}
}

/* "RATE LOW HIGH BLOCKS SAMPLED", bytes a second; LOW and HIGH 0 = not known. */
static void add_leak(struct event_profile *ep, double rate, double low, double high)
{
	const struct leak_result *leak = &event_weights_counts(ep->weights)->leak;
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%.0f %.0f %.0f %" PRIu64 " %" PRIu64, rate, low, high, leak->left,
		    leak->sampled);
	add_meta(ep, SNAPSHOT_LEAK_KEY, text.buf);
	strbuf_free(&text);
}

/* What the interval says, and how long to record for one of LEAK_NARROW.  text: time, rate, and
 * both ends of the interval. */
static void add_rate(struct event_profile *ep, double rate, double low, double high, uint64_t ns,
		     char (*text)[32])
{
	const struct leak_result *leak = &event_weights_counts(ep->weights)->leak;
	double wide = rate > 0 ? (high - low) / 2 / rate : 0;
	char longer[32];

	strbuf_addf(&ep->warnings,
		    "%s a second leaked (%s .. %s, 95 %%), by %" PRIu64 " of %" PRIu64
		    " blocks sampled in %s",
		    text[1], text[2], text[3], leak->left, leak->sampled, text[0]);
	if (wide <= LEAK_NARROW)
		return;
	if (!(wide <= LEAK_WIDE)) {
		strbuf_addstr(&ep->warnings,
			      "\nthe interval is wide: record longer (-d), or with a higher "
			      "--max-overhead");
		return;
	}
	units_format_ns((uint64_t)((double)ns * wide * wide / (LEAK_NARROW * LEAK_NARROW)), longer,
			sizeof(longer));
	strbuf_addf(&ep->warnings,
		    "\nwithin +-%.0f %%; for +-%.0f %% record some %s (-d), or with a higher "
		    "--max-overhead",
		    100 * wide, 100 * LEAK_NARROW, longer);
}

/* The rate of the leak, with the 95 % confidence interval of what was sampled, and what speaks
 * against it. */
static void warn_of_leak(struct event_profile *ep, double share)
{
	const struct leak_result *leak = &event_weights_counts(ep->weights)->leak;
	const struct event_stream *s = ep->stream;
	uint64_t start_ns = MAX(s->start_ns, s->watching_ns);
	uint64_t end_ns = MAX(s->start_ns + s->duration_ns, s->last_ns);
	double per_s, low, high;
	char text[4][32];
	bool known;

	if (end_ns <= start_ns)
		return;
	begin_warning(ep);
	per_s = 1e9 / share / (double)(end_ns - start_ns);
	known = leak_weights_interval(leak, coverage_error(&s->coverage, EVENT_LIBC_ALLOC), &low,
				      &high);
	units_format_ns(end_ns - start_ns, text[0], sizeof(text[0]));
	units_format_bytes((uint64_t)((double)leak->bytes * per_s), text[1], sizeof(text[1]));
	units_format_bytes((uint64_t)(low * per_s), text[2], sizeof(text[2]));
	units_format_bytes((uint64_t)(high * per_s), text[3], sizeof(text[3]));
	add_leak(ep, (double)leak->bytes * per_s, low * per_s, high * per_s);
	if (!leak->left && leak->sampled < LEAK_FEW)
		strbuf_addf(&ep->warnings,
			    "only %" PRIu64 " blocks were sampled in %s, which is too few to tell: "
			    "record longer (-d), or with --max-overhead 10",
			    leak->sampled, text[0]);
	else if (!leak->left && known && high > 0)
		strbuf_addf(&ep->warnings,
			    "no leak was found of %" PRIu64 " blocks sampled in %s, but up to %s a "
			    "second may leak (95 %%): what is in use has changed, and too few "
			    "frees were seen to tell its owner from others",
			    leak->sampled, text[0], text[3]);
	else if (!leak->left)
		strbuf_addf(&ep->warnings,
			    "no leak was seen: of %" PRIu64 " blocks sampled in %s none was kept",
			    leak->sampled, text[0]);
	else if (known)
		add_rate(ep, (double)leak->bytes, low, high, end_ns - start_ns, text);
	else
		strbuf_addf(&ep->warnings,
			    "some %s a second leaked, by %" PRIu64 " of %" PRIu64
			    " blocks sampled in %s: too few sampling windows for an interval",
			    text[1], leak->left, leak->sampled, text[0]);
	if (leak->left && share < LEAK_WATCHED)
		strbuf_addf(&ep->warnings,
			    "\nprobes were enabled for %.2g %% of the time; frees in the rest of "
			    "it are estimated from those seen, and from memory",
			    100 * share);
	if (leak->settled < LEAK_SETTLED)
		strbuf_addf(
			&ep->warnings,
			"\nsome of this is no leak, but lives long: of what was kept for %.2g of "
			"the time %.0f %% was freed before %.2g of it. Record longer (-d)",
			LEAK_SURVIVES / 2, 100 * (1 - leak->settled), LEAK_SURVIVES);
	if (leak->overflow)
		strbuf_addf(&ep->warnings,
			    "\nnot counted: %" PRIu64
			    " sampled blocks, as no more than %u blocks of %u stacks are "
			    "followed: what leaked is more by that part. Record shorter (-d)",
			    leak->overflow, LEAK_MAX_BLOCKS, LEAK_MAX_STACKS);
	if (s->counters[COUNTER_BLOCKS_FULL])
		strbuf_addf(&ep->warnings,
			    "\nnot counted: %" PRIu64
			    " sampled blocks, as more than %u of them were in use at once: what "
			    "leaked is more by that part. Record shorter (-d)",
			    s->counters[COUNTER_BLOCKS_FULL], EBEAM_LIBC_BLOCKS);
}

#define NO_WEIGHT 0.05 /* a share of the sum that does not matter to its error */

/* The 95 % confidence interval of the sum of what is scaled is sum / factor to sum * factor: by how
 * the number of events differs between sampling windows, and their weights from each other.  0: not
 * known. */
static double sum_error(const struct event_profile *ep)
{
	double log_factor = 0, sum = 0;

	for (unsigned int kind = 0; kind < NR_EVENT_KINDS; kind++)
		if (ep->mode->scaled_by >> kind & 1)
			sum += ep->by_kind[kind];
	for (unsigned int kind = 0; kind < NR_EVENT_KINDS && sum > 0; kind++) {
		double share = ep->by_kind[kind] / sum;
		double factor = coverage_error(&ep->stream->coverage, kind);

		if (!(ep->mode->scaled_by >> kind & 1) || share <= 0)
			continue;
		if (factor <= 0 && share > NO_WEIGHT)
			return 0;
		/* All kinds have the same windows: their errors add up. */
		log_factor += factor > 0 ? share * log(factor) : 0;
	}
	if (sum <= 0)
		return 0;
	return exp(hypot(log_factor,
			 1.96 * sqrt(MAX(ep->squares / (ep->sum * ep->sum) - 1 / ep->nr, 0))));
}

static void add_sum_error(struct event_profile *ep)
{
	double factor = sum_error(ep);

	if (factor >= 1 && isfinite(factor))
		strbuf_addf(&ep->warnings, "; the sum is right within a factor of %.3g (95 %%)",
			    factor);
	else
		strbuf_addstr(&ep->warnings,
			      "; too few sampling windows to know how far the sum is off");
}

static void scale(struct event_profile *ep)
{
	double share = coverage_share_of(&ep->stream->coverage, ep->mode->scaled_by);

	if (ep->mode->source == WEIGHT_OFF &&
	    coverage_share(&ep->stream->coverage, EVENT_MESSAGE_QUEUED) < 1) {
		begin_warning(ep);
		strbuf_addstr(&ep->warnings,
			      "message_queued was not watched all the time: some time "
			      "that processes were runnable counts as waiting");
	}
	if (ep->mode->source == WEIGHT_LEAK)
		warn_of_leak(ep, MIN(share, 1));
	if (share >= 1)
		return;
	profile_scale(ep->profile, 1 / share);
	begin_warning(ep);
	strbuf_addf(&ep->warnings,
		    "sampled %.3g %%: that part of the events was seen, all numbers are scaled by "
		    "%.3g",
		    100 * share, 1 / share);
	if (ep->mode->source != WEIGHT_LEAK) /* has an interval of its own */
		add_sum_error(ep);
	if (ep->mode->source == WEIGHT_OFF)
		strbuf_addstr(
			&ep->warnings,
			"\nwaits longer than a sampling window are missing, as not both of their "
			"ends were seen: use 'record --mode wait'");
}

void event_profile_finish(struct event_profile *ep)
{
	const struct event_stream *s = ep->stream;
	/* Probes are detached one after the other, so events may come after the end. */
	uint64_t end_ns = MAX(s->start_ns + s->duration_ns, s->last_ns);

	open_weights(ep); /* even without events, as it sets the unit */
	if (!ep->weights)
		return;
	event_weights_finish(ep->weights, s, end_ns);
	warn_of_counts(ep);
	scale(ep);
	add_meta(ep, "mode", ep->mode->name);
	add_meta(ep, "unit", ep->mode->unit);
	add_meta(ep, "title", ep->mode->title);
	if (ep->warnings.len)
		add_meta(ep, "warnings", ep->warnings.buf);
}
