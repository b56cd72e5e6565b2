/* SPDX-License-Identifier: BSD-2-Clause */
/* See summary.h. */
#include "cmd/run/summary.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/units.h"

static const struct {
	const char *name, *text, *advice;
} counter_rows[NR_COUNTERS] = {
#define COUNTER(id, json, what, todo)	   [COUNTER_##id] = {json, what, todo},
#define COUNTER_USER(id, json, what, todo) [COUNTER_##id] = {json, what, todo},
#include "abi/counters.def"
#undef COUNTER
#undef COUNTER_USER
};

enum counter_class {
	CLASS_NOTE, /* something went wrong, no sample is missing */
	CLASS_LOST, /* samples are missing */
	CLASS_FACT, /* nothing went wrong */
};

static enum counter_class class_of(enum counter_id id)
{
	switch (id) {
	case COUNTER_RING_FULL:
	case COUNTER_BAD_RECORD:
	case COUNTER_CALLS_LOST:
		return CLASS_LOST;
	case COUNTER_HITS:
	case COUNTER_CODE_LOADS:
	case COUNTER_CODE_UNLOADS:
	case COUNTER_CODE_TRUNCATED: /* mostly read later; else COUNTER_CODE_UNREADABLE, too */
	case COUNTER_PROBE_NS:
	case COUNTER_CALLS:
	case COUNTER_CALLS_REJECTED:
	case COUNTER_EVENTS:
	case COUNTER_EVENTS_LOST: /* not of samples; `ebeam events` reports them */
		return CLASS_FACT;
	default:
		return CLASS_NOTE;
	}
}

void summary_of_snapshot(struct summary *out, const struct snapshot *s)
{
	const char *margin = snapshot_meta(s, "margin_of_error");

	*out = (struct summary){
		.samples = s->samples,
		.dropped_unknown = s->dropped_unknown,
		.own_cpu = -1,
		.cost.percent = NAN,
		.unit = snapshot_meta(s, "unit"),
		.title = snapshot_meta(s, "title"),
		.margin_ns = margin ? strtoull(margin, NULL, 10) : 0,
		.warnings = snapshot_meta(s, "warnings"),
	};
	for (int i = 0; i < NR_SAMPLE_STATUSES; i++)
		out->by_status[i] = s->by_status[i];
	for (int i = 0; i < NR_COUNTERS; i++)
		out->counters[i] = snapshot_counter(s, counter_rows[i].name);
}

static double percent(const struct summary *s, enum sample_status status)
{
	return s->samples ? 100.0 * (double)s->by_status[status] / (double)s->samples : 0;
}

double summary_complete(const struct summary *s)
{
	return s->samples ? percent(s, SAMPLE_STATUS_COMPLETE) : 100;
}

/* Only 100 % is shown as 100: 99.96 becomes 99.9, not 100.0. */
static double not_whole(double value, double next_below_100)
{
	return value < 100 && value > next_below_100 ? next_below_100 : value;
}

static void add_percent(struct strbuf *out, double value)
{
	strbuf_addf(out, "%.1f%%", not_whole(value, 99.9));
}

/* "lost 12 (ring_full 10, bad_record 2)", the counters of a class that are not 0; CLASS_LOST also
 * as "lost 0". */
static void add_counters(struct strbuf *out, const struct summary *s, enum counter_class class,
			 const char *word)
{
	uint64_t sum = class == CLASS_LOST ? s->dropped_unknown : 0;
	struct strbuf names = STRBUF_INIT;
	char count[32];

	if (sum)
		strbuf_addf(&names, "undefined %" PRIu64, sum);
	for (int i = 0; i < NR_COUNTERS; i++) {
		if (class_of((enum counter_id)i) != class || !s->counters[i])
			continue;
		sum += s->counters[i];
		strbuf_addf(&names, "%s%s %" PRIu64, names.len ? ", " : "", counter_rows[i].name,
			    s->counters[i]);
	}
	if (class == CLASS_LOST)
		strbuf_addf(out, "  %s %s", word, units_format_count(sum, count, sizeof(count)));
	else if (names.len)
		strbuf_addf(out, "  %s", word);
	if (names.len)
		strbuf_addf(out, " (%s)", names.buf);
	strbuf_free(&names);
}

/* "Time in GC: 12.3 ms", instead of the number of samples. */
static void add_weighed(struct strbuf *out, const struct summary *s)
{
	const char *unit = s->unit ? s->unit : "";
	char text[32];

	strbuf_addf(out, "%c%s: ", toupper((unsigned char)s->title[0]), s->title + 1);
	if (strcmp(unit, "ns") == 0) {
		strbuf_addstr(out, units_format_ns(s->samples, text, sizeof(text)));
		if (s->margin_ns)
			strbuf_addf(out, " +- %s",
				    units_format_ns(s->margin_ns, text, sizeof(text)));
	} else if (strcmp(unit, "bytes") == 0)
		strbuf_addstr(out, units_format_bytes(s->samples, text, sizeof(text)));
	else
		strbuf_addf(out, "%s %s", units_format_count(s->samples, text, sizeof(text)), unit);
}

void summary_format_end(struct strbuf *out, const struct summary *s)
{
	if (!s->no_losses) {
		add_counters(out, s, CLASS_LOST, "lost");
		add_counters(out, s, CLASS_NOTE, "noted");
	}
	if (s->own_cpu >= 0)
		strbuf_addf(out, "  own CPU %.2f%%", s->own_cpu);
	live_cost_add(&s->cost, out);
	if (s->path)
		strbuf_addf(out, "  -> %s", s->path);
}

void summary_format(struct strbuf *out, const struct summary *s)
{
	char count[32];

	if (s->title)
		add_weighed(out, s);
	else
		strbuf_addf(out, "Samples: %s",
			    units_format_count(s->samples, count, sizeof(count)));
	if (s->samples) {
		strbuf_addstr(out, "  complete ");
		add_percent(out, summary_complete(s));
	}
	for (int i = SAMPLE_STATUS_COMPLETE + 1; i < NR_SAMPLE_STATUSES; i++) {
		if (!s->by_status[i])
			continue;
		strbuf_addf(out, "  %s ", sample_status_name((enum sample_status)i));
		add_percent(out, percent(s, (enum sample_status)i));
	}
	summary_format_end(out, s);
}

static void report_warnings(const char *p)
{
	while (*p) {
		size_t len = strcspn(p, "\n");

		log_warn("ebeam: %.*s", (int)len, p);
		p += len + (p[len] == '\n');
	}
}

void summary_advise(const struct summary *s)
{
	if (s->title && s->warnings)
		report_warnings(s->warnings);
	for (int i = 0; i < NR_COUNTERS; i++)
		if (s->counters[i] && *counter_rows[i].advice)
			log_warn("ebeam: %" PRIu64 " %s; %s", s->counters[i], counter_rows[i].text,
				 counter_rows[i].advice);
}

void summary_print(const struct summary *s)
{
	struct strbuf line = STRBUF_INIT;

	summary_advise(s);
	summary_format(&line, s);
	log_warn("%s", line.buf);
	strbuf_free(&line);
}

int summary_exit_code(const struct summary *s, double min_complete)
{
	if (!(summary_complete(s) < min_complete))
		return 0;
	log_warn("ebeam: %.2f%% of the samples are complete, less than the %.2f%% asked for",
		 not_whole(summary_complete(s), 99.99), min_complete);
	return ERROR_KIND_PARTIAL;
}
