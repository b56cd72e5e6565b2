/* SPDX-License-Identifier: BSD-2-Clause */
/* See sched_cpus_view.h. */
#include "view/events/sched_cpus_view.h"

#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"

struct cpu_row {
	const struct sched_cpu *cpu;
	const char *type;
	struct sched_utilization u;
	double on_cpu, cpu_wait; /* percent; NaN = not known */
	uint64_t slices;
	bool online;
};

static void text_number(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%u", ((const struct cpu_row *)row)->cpu->number);
}

static void json_more(struct jsonw *w, const char *key, const void *row, const void *ctx)
{
	const struct cpu_row *r = row;

	UNUSED(key);
	UNUSED(ctx);
	jsonw_uint(w, "scheduler", r->cpu->number);
	jsonw_bool(w, "online", r->online);
	jsonw_double(w, "error", r->u.error);
	jsonw_string(w, "source", sched_source_name(r->u.source));
	jsonw_begin_object(w, "by");
	jsonw_double(w, "vm", sched_use_counted(&r->cpu->use));
	jsonw_double(w, "events", sched_cpu_by_events(r->cpu));
	jsonw_double(w, "samples", sched_use_seen(&r->cpu->use));
	jsonw_end_object(w);
	jsonw_uint(w, "samples", r->cpu->use.samples);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct cpu_row, member)

static const struct table_column columns[] = {
	{FIELD("type", "SCHEDULER", TEXT, type)},
	{"number", "NO", TABLE_RIGHT, .text = text_number, .json = table_json_none},
	{FIELD("utilization", "UTILIZATION", PART, u.percent)},
	{FIELD("processes", "PROCESSES", PART, u.parts.process)},
	{FIELD("ports", "PORTS", PART, u.parts.port)},
	{FIELD("other", "OTHER", PART, u.parts.other)},
	{FIELD("on_cpu", "ON CPU", PART, on_cpu)},
	{FIELD("cpu_wait", "CPU WAIT", PART, cpu_wait)},
	{FIELD("slices", "SLICES", COUNT, slices)},
	{.json = json_more},
};

/* Rows in the order of type and number; malloc'ed. */
static struct cpu_row *make_rows(const struct sched_answer *a)
{
	const struct sched_stats *s = a->stats;
	uint32_t *order = xcalloc(s->cpus.len, sizeof(*order));
	struct cpu_row *rows = xcalloc(s->cpus.len, sizeof(*rows));

	sched_stats_order(s, order);
	for (size_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[order[i]];

		rows[i] = (struct cpu_row){.cpu = cpu,
					   .type = sched_type_name(cpu->type),
					   .on_cpu = sched_use_on_cpu(&cpu->use),
					   .cpu_wait = sched_use_cpu_wait(&cpu->use),
					   .slices = units_scale(cpu->slices, a->scale),
					   .online = !sched_use_is_offline(&cpu->use)};
		sched_cpu_utilization(s, cpu, &rows[i].u);
	}
	free(order);
	return rows;
}

double sched_percent_of_type(const struct sched_stats *s, enum thread_type type)
{
	double sum = 0;
	unsigned int nr = 0;

	for (size_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[i];
		struct sched_utilization u;

		sched_cpu_utilization(s, cpu, &u);
		if (cpu->type == type && !isnan(u.percent) && !sched_use_is_offline(&cpu->use)) {
			sum += u.percent;
			nr++;
		}
	}
	return nr ? sum / nr : NAN;
}

/* Has the table no row for the scheduler?  Dirty ones that did no work, of which there may be many,
 * and normal ones that are offline or blocked are only counted below the table. */
static bool is_idle(const struct cpu_row *r)
{
	const struct sched_cpu *cpu = r->cpu;

	return (cpu->type != THREAD_NORMAL || !r->online) && !cpu->slices && !cpu->busy.on_ns &&
	       !cpu->use.counted_work_ns && cpu->use.all_seen_work_ns <= 0;
}

#define ROUGH_POINTS 0.5 /* percentage points; smaller errors are not mentioned */
#define WAITED_LONG  5.0 /* percent of the time; shorter waits for a CPU are not mentioned */

int sched_cpus_write(FILE *f, const struct sched_answer *a, bool color, struct error *err)
{
	struct cpu_row *rows = make_rows(a);
	struct table t = {.columns = columns, .rows = rows, .row_size = sizeof(*rows)};
	const struct table_options options = {.color = color};
	unsigned int idle = 0, offline = 0;
	double error = 0, waited = 0;
	int rc = 0;

	for (size_t i = 0; i < a->stats->cpus.len; i++) {
		offline += !rows[i].online;
		error = fmax(error, rows[i].u.error);
		waited = fmax(waited, rows[i].cpu_wait);
		if (!is_idle(&rows[i]))
			rows[t.nr_rows++] = rows[i];
		else if (rows[i].cpu->type != THREAD_NORMAL)
			idle++;
	}
	if (t.nr_rows)
		rc = table_write(f, &t, &options, err);
	if (error >= ROUGH_POINTS)
		fprintf(f,
			"utilization is an estimate from random samples: give or take %.1f "
			"percentage points\n",
			error);
	if (waited >= WAITED_LONG)
		fprintf(f,
			"Scheduler threads were runnable but had no CPU for up to %.1f %% of the "
			"time: slices and waits include that time\n",
			waited);
	if (offline)
		fprintf(f,
			"%u schedulers are offline (schedulers_online), or multi-scheduling is "
			"blocked: no process runs on them\n",
			offline);
	if (idle)
		fprintf(f, "%u dirty schedulers did nothing\n", idle);
	free(rows);
	return rc;
}

void sched_cpus_json(struct jsonw *w, const struct sched_answer *a)
{
	struct cpu_row *rows = make_rows(a);
	const struct table t = {.columns = columns,
				.rows = rows,
				.nr_rows = a->stats->cpus.len,
				.row_size = sizeof(*rows)};

	jsonw_begin_object(w, "utilization");
	for (int type = THREAD_NORMAL; type <= THREAD_DIRTY_IO; type++)
		jsonw_double(w, sched_type_name((enum thread_type)type),
			     sched_percent_of_type(a->stats, (enum thread_type)type));
	jsonw_end_object(w);
	table_json_rows(w, "schedulers", &t, &(struct table_options){0});
	free(rows);
}
