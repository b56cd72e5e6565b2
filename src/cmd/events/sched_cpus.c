/* SPDX-License-Identifier: BSD-2-Clause */
/* Of the answer of `ebeam sched`: how busy each scheduler was. */
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "cmd/events/sched.h"
#include "cmd/output/render.h"
#include "view/table/cells.h"

void sched_add_count(struct strbuf *out, uint64_t n, double scale)
{
	cell_count(out, units_scale(n, scale));
}

void sched_add_percent(struct strbuf *out, double percent)
{
	if (!isnan(percent))
		strbuf_addf(out, "%.1f%%", percent);
}

const char *sched_type_name(enum thread_type type)
{
	return type == THREAD_NORMAL	  ? "normal"
	       : type == THREAD_DIRTY_CPU ? "dirty_cpu"
	       : type == THREAD_DIRTY_IO  ? "dirty_io"
					  : "other";
}

static double percent_of(const struct sched_stats *s, const struct sched_cpu *cpu)
{
	struct sched_utilization u;

	sched_cpu_utilization(s, cpu, &u);
	return u.percent;
}

/* Mean of those of a type that are online; NaN if nothing is known. */
double sched_percent_of_type(const struct sched_stats *s, enum thread_type type)
{
	double sum = 0, percent;
	unsigned int nr = 0;

	for (size_t i = 0; i < s->cpus.len; i++) {
		percent = percent_of(s, &s->cpus.data[i]);
		if (s->cpus.data[i].type == type && !isnan(percent) &&
		    !sched_use_is_offline(&s->cpus.data[i].use)) {
			sum += percent;
			nr++;
		}
	}
	return nr ? sum / nr : NAN;
}

static void text_type(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addstr(out, sched_type_name(((const struct sched_cpu *)row)->type));
}

static void text_number(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	strbuf_addf(out, "%u", ((const struct sched_cpu *)row)->number);
}

/* A cell of what sched_cpu_utilization() says. */
#define CPU_CELL(name, field)                                                                      \
	static void text_##name(struct strbuf *out, const void *row, const void *ctx)              \
	{                                                                                          \
		struct sched_utilization u;                                                        \
                                                                                                   \
		sched_cpu_utilization(((const struct sched_answer *)ctx)->stats, row, &u);         \
		sched_add_percent(out, u.field);                                                   \
	}

CPU_CELL(utilization, percent)
CPU_CELL(process, parts.process)
CPU_CELL(port, parts.port)
CPU_CELL(other, parts.other)

static void text_on_cpu(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	sched_add_percent(out, sched_use_on_cpu(&((const struct sched_cpu *)row)->use));
}

static void text_cpu_wait(struct strbuf *out, const void *row, const void *ctx)
{
	UNUSED(ctx);
	sched_add_percent(out, sched_use_cpu_wait(&((const struct sched_cpu *)row)->use));
}

static void text_cpu_slices(struct strbuf *out, const void *row, const void *ctx)
{
	sched_add_count(out, ((const struct sched_cpu *)row)->slices,
			((const struct sched_answer *)ctx)->scale);
}

static const struct table_column cpu_columns[] = {
	{"type", "SCHEDULER", .text = text_type},
	{"number", "NO", TABLE_RIGHT, .text = text_number},
	{"utilization", "UTILIZATION", TABLE_RIGHT, .text = text_utilization},
	{"processes", "PROCESSES", TABLE_RIGHT, .text = text_process},
	{"ports", "PORTS", TABLE_RIGHT, .text = text_port},
	{"other", "OTHER", TABLE_RIGHT, .text = text_other},
	{"on_cpu", "ON CPU", TABLE_RIGHT, .text = text_on_cpu},
	{"cpu_wait", "CPU WAIT", TABLE_RIGHT, .text = text_cpu_wait},
	{"slices", "SLICES", TABLE_RIGHT, .text = text_cpu_slices},
	{0},
};

/* Those are only counted: dirty schedulers that do nothing, of which there are many, and normal
 * ones that are offline or blocked. */
static bool is_idle(const struct sched_cpu *cpu)
{
	return (cpu->type != THREAD_NORMAL || sched_use_is_offline(&cpu->use)) && !cpu->slices &&
	       !cpu->busy.on_ns && !cpu->use.counted_work_ns && cpu->use.all_seen_work_ns <= 0;
}

#define ROUGH_POINTS 0.5 /* less is not worth a word */
#define WAITED_LONG  5.0 /* percent of the time */

/* What to bear in mind when reading the table above. */
static void write_notes(FILE *f, const struct sched_stats *s)
{
	double error = 0, waited = 0, percent;
	struct sched_utilization u;

	for (size_t i = 0; i < s->cpus.len; i++) {
		sched_cpu_utilization(s, &s->cpus.data[i], &u);
		error = fmax(error, u.error);
		percent = sched_use_cpu_wait(&s->cpus.data[i].use);
		waited = isnan(percent) ? waited : fmax(waited, percent);
	}
	if (error >= ROUGH_POINTS)
		fprintf(f, "utilization is seen at random moments: give or take %.1f points\n",
			error);
	if (waited >= WAITED_LONG)
		fprintf(f,
			"Schedulers were to run but had no CPU for up to %.1f %% of the time: "
			"slices and waits are longer by that\n",
			waited);
}

int sched_write_cpus(FILE *f, const struct sched_answer *a, struct error *err)
{
	const struct sched_stats *s = a->stats;
	uint32_t *order = xcalloc(s->cpus.len + 1, sizeof(*order));
	VEC(struct sched_cpu) shown = {0};
	unsigned int idle = 0, offline = 0;
	struct table table;
	const struct table_options options = {
		.color = render_color(&a->sched->ctx->opt, f),
	};
	int rc = 0;

	sched_stats_order(s, order);
	for (size_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[order[i]];

		offline += sched_use_is_offline(&cpu->use);
		if (!is_idle(cpu))
			vec_push(&shown, *cpu);
		else if (cpu->type != THREAD_NORMAL)
			idle++;
	}
	table = (struct table){.columns = cpu_columns,
			       .rows = shown.data,
			       .nr_rows = shown.len,
			       .row_size = sizeof(struct sched_cpu),
			       .ctx = a};
	if (shown.len)
		rc = table_write(f, &table, &options, err);
	write_notes(f, s);
	if (offline)
		fprintf(f,
			"%u schedulers are offline (schedulers_online), or multi-scheduling is "
			"blocked: no process runs on them\n",
			offline);
	if (idle)
		fprintf(f, "%u dirty schedulers did nothing\n", idle);
	vec_free(&shown);
	free(order);
	return rc;
}

static void cpu_json(struct jsonw *w, const struct sched_stats *s, const struct sched_cpu *cpu)
{
	struct sched_utilization u;

	sched_cpu_utilization(s, cpu, &u);
	jsonw_double(w, "utilization", u.percent);
	jsonw_double(w, "processes", u.parts.process);
	jsonw_double(w, "ports", u.parts.port);
	jsonw_double(w, "other", u.parts.other);
	jsonw_double(w, "error", u.error);
	jsonw_string(w, "source", sched_source_name(u.source));
	jsonw_begin_object(w, "by");
	jsonw_double(w, "vm", sched_use_counted(&cpu->use));
	jsonw_double(w, "events", sched_cpu_by_events(cpu));
	jsonw_double(w, "samples", sched_use_seen(&cpu->use));
	jsonw_end_object(w);
	jsonw_uint(w, "samples", cpu->use.samples);
	jsonw_double(w, "on_cpu", sched_use_on_cpu(&cpu->use));
	jsonw_double(w, "cpu_wait", sched_use_cpu_wait(&cpu->use));
}

void sched_cpus_json(struct jsonw *w, const struct sched_answer *a)
{
	const struct sched_stats *s = a->stats;
	uint32_t *order = xcalloc(s->cpus.len + 1, sizeof(*order));

	sched_stats_order(s, order);
	jsonw_begin_object(w, "utilization");
	for (int type = THREAD_NORMAL; type <= THREAD_DIRTY_IO; type++)
		jsonw_double(w, sched_type_name((enum thread_type)type),
			     sched_percent_of_type(s, (enum thread_type)type));
	jsonw_end_object(w);
	jsonw_begin_array(w, "schedulers");
	for (size_t i = 0; i < s->cpus.len; i++) {
		const struct sched_cpu *cpu = &s->cpus.data[order[i]];

		jsonw_begin_object(w, NULL);
		jsonw_string(w, "type", sched_type_name(cpu->type));
		jsonw_uint(w, "scheduler", cpu->number);
		jsonw_bool(w, "online", !sched_use_is_offline(&cpu->use));
		cpu_json(w, s, cpu);
		jsonw_uint(w, "slices", units_scale(cpu->slices, a->scale));
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	free(order);
}
