/* SPDX-License-Identifier: BSD-2-Clause */
/* Statistics of series, and how findings are made.  See diagnosis.h. */
#include "model/diagnosis/diagnosis_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/random.h"
#include "base/units.h"

#define CRITICAL_FROM 80.0 /* least weight of a critical finding */
#define WARNING_FROM  40.0
#define NS_PER_S      1e9

/* ---- series -------------------------------------------------------------------------------- */

void series_add(struct series *s, double value)
{
	s->last = value;
	s->every = MAX(s->every, 1u);
	if (s->added++ % s->every)
		return;
	if (s->nr == SERIES_MAX) {
		for (unsigned int i = 0; i < SERIES_MAX / 2; i++)
			s->v[i] = s->v[2 * i];
		s->nr = SERIES_MAX / 2;
		s->every *= 2;
	}
	s->v[s->nr++] = value;
}

double series_first(const struct series *s)
{
	return s->nr ? s->v[0] : NAN;
}

double series_last(const struct series *s)
{
	return s->nr ? s->last : NAN;
}

double series_least(const struct series *s)
{
	double least = series_last(s);

	for (unsigned int i = 0; i < s->nr; i++)
		least = MIN(least, s->v[i]);
	return least;
}

/* A heap grows in leaps, and shrinks a little after each: so small falls are tolerated. */
double series_growth(const struct series *s)
{
	double grew = series_last(s) - series_first(s), most = series_first(s), drop = 0;
	unsigned int ups = 0;

	for (unsigned int i = 1; i <= s->nr; i++) {
		double now = i < s->nr ? s->v[i] : s->last;

		ups += now > s->v[i - 1];
		most = MAX(most, now);
		drop = MAX(drop, most - now);
	}
	return growth_is_steady(grew, drop, ups) ? grew : 0;
}

/* With fewer intervals a series may look like a burst by chance. */
#define BURST_STEPS 8

bool series_is_burst(const struct series *s)
{
	unsigned int first = 0, last = 0;
	double grew = series_last(s) - series_first(s);

	if (s->nr < BURST_STEPS)
		return false;
	for (unsigned int i = 1; i <= s->nr; i++) {
		double now = i < s->nr ? s->v[i] : s->last;

		if (now - s->v[i - 1] <= 0.1 * grew / s->nr)
			continue;
		first = first ? first : i;
		last = i;
	}
	return first && last < s->nr - 1 && 2 * (last - first + 1) <= s->nr;
}

struct growth growth_of(double grew, double squares, unsigned int steps, double seconds)
{
	struct growth g = {NAN, NAN};
	double spread;

	if (!steps || seconds <= 0)
		return g;
	g.per_s = grew / seconds;
	if (steps < SAMPLES_LEAST)
		return g;
	spread = MAX(squares - grew * grew / steps, 0.0) / (steps - 1);
	g.error = student_95(steps - 1) * sqrt(spread * steps) / seconds;
	return g;
}

struct growth series_growth_rate(const struct series *s, double seconds)
{
	double squares = 0;

	for (unsigned int i = 1; i < s->nr; i++)
		squares += (s->v[i] - s->v[i - 1]) * (s->v[i] - s->v[i - 1]);
	return s->nr < 2 ? (struct growth){NAN, NAN}
			 : growth_of(series_last(s) - series_first(s), squares, s->nr - 1, seconds);
}

bool growth_is_sure(const struct growth *g)
{
	return g->per_s > 0 && g->error < g->per_s;
}

bool growth_is_steady(double grew, double largest_drop, unsigned int ups)
{
	return ups >= 2 && largest_drop <= 0.25 * grew;
}

const struct series *diagnosis_memory(const struct diagnosis *d, const char *type)
{
	static const struct series none;

	for (size_t i = 0; i < d->memory.len; i++)
		if (strcmp(d->memory.data[i].type, type) == 0)
			return &d->memory.data[i].bytes;
	return &none;
}

/* ---- making findings ----------------------------------------------------------------------- */

double diagnosis_seconds(const struct diagnosis *d)
{
	return MAX((double)d->duration_ns / NS_PER_S, 1e-3);
}

struct finding *finding_begin(struct making *m, const char *id, double weight,
			      enum finding_certainty certainty, const char *title, ...)
{
	struct finding new = {.id = id, .certainty = certainty, .title = STRBUF_INIT};
	va_list ap;

	new.weight = MIN(MAX(weight, 0.0), 100.0);
	new.severity = new.weight >= CRITICAL_FROM  ? FINDING_CRITICAL
		       : new.weight >= WARNING_FROM ? FINDING_WARNING
						    : FINDING_NOTE;
	va_start(ap, title);
	strbuf_vaddf(&new.title, title, ap);
	va_end(ap);
	vec_push(&m->f->v, new);
	return &m->f->v.data[m->f->v.len - 1];
}

void finding_evidence(struct finding *f, const char *text, ...)
{
	struct strbuf line = STRBUF_INIT;
	va_list ap;

	va_start(ap, text);
	strbuf_vaddf(&line, text, ap);
	va_end(ap);
	vec_push(&f->evidence, strbuf_detach(&line, NULL));
}

void finding_command(struct finding *f, const char *text, ...)
{
	struct strbuf line = STRBUF_INIT;
	va_list ap;

	va_start(ap, text);
	strbuf_vaddf(&line, text, ap);
	va_end(ap);
	vec_push(&f->commands, strbuf_detach(&line, NULL));
}

#define NEXT_TEXT(t) (t)->buf[(t)->nr++ % ARRAY_SIZE((t)->buf)], sizeof((t)->buf[0])

const char *text_count(struct texts *t, double n)
{
	return units_format_count((uint64_t)MAX(n, 0.0), NEXT_TEXT(t));
}

const char *text_bytes(struct texts *t, double n)
{
	return units_format_bytes((uint64_t)MAX(n, 0.0), NEXT_TEXT(t));
}

const char *text_time(struct texts *t, double ns)
{
	return units_format_ns((uint64_t)MAX(ns, 0.0), NEXT_TEXT(t));
}

const struct diagnosed_process *diagnosed_at(const struct diagnosis *d, uint32_t i)
{
	return i < d->processes.len ? &d->processes.data[i] : NULL;
}

char *finding_process_text(const struct diagnosed_process *p)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addstr(&out, p && p->pid ? p->pid : "a process");
	if (p && p->name)
		strbuf_addf(&out, " %s", p->name);
	return strbuf_detach(&out, NULL);
}

static bool is_of(const char *text, const char *pid)
{
	size_t len = strlen(pid);

	return text && strncmp(text, pid, len) == 0 && (text[len] == ' ' || !text[len]);
}

/* The function that a process executes, if its time slice has not ended and a sample of its
 * scheduler has the function; else NULL. */
static const char *function_of_slice(const struct diagnosis *d, const struct diagnosed_process *p)
{
	for (size_t i = 0; i < d->schedulers.len; i++) {
		const struct diagnosed_scheduler *s = &d->schedulers.data[i];

		if (s->lasts && s->function && p->pid && is_of(s->pid, p->pid))
			return s->function;
	}
	return NULL;
}

/* Of a running process the current function is in registers: memory only has where it last
 * stopped. */
void finding_report_process(struct making *m, struct finding *f, const struct diagnosed_process *p)
{
	bool runs = p->status && strcmp(p->status, "running") == 0;
	const char *function = runs ? function_of_slice(m->d, p) : NULL;
	char *who = finding_process_text(p);

	if (p->suspended_by)
		finding_evidence(f, "%s is suspended: %s is busy", who, p->suspended_by);
	else if (function || p->function)
		finding_evidence(f, "%s is %s%s in %s", who, p->status ? p->status : "seen",
				 runs && !function ? ", and was last scheduled out" : "",
				 function ? function : p->function);
	free(who);
}

/* ---- all ----------------------------------------------------------------------------------- */

#define RULE(name) rule_##name,
static void (*const rules[])(struct making *m) = {DIAGNOSIS_RULES(RULE)};
#undef RULE

static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->weight > y->weight ? -1 : x->weight < y->weight;
}

void findings_make(struct findings *f, const struct diagnosis *d)
{
	struct making m = {f, d};

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i](&m);
	if (f->v.len)
		qsort(f->v.data, f->v.len, sizeof(*f->v.data), by_weight);
}

/* True if a finding is more than a note. */
bool findings_above_notes(const struct findings *f)
{
	return f->v.len && f->v.data[0].severity > FINDING_NOTE;
}

void findings_free(struct findings *f)
{
	for (size_t i = 0; i < f->v.len; i++) {
		struct finding *x = &f->v.data[i];

		for (size_t k = 0; k < x->evidence.len; k++)
			free(x->evidence.data[k]);
		for (size_t k = 0; k < x->commands.len; k++)
			free(x->commands.data[k]);
		vec_free(&x->evidence);
		vec_free(&x->commands);
		strbuf_free(&x->title);
	}
	vec_free(&f->v);
}

void diagnosis_free(struct diagnosis *d)
{
	vec_free(&d->limits);
	vec_free(&d->cpu_users);
	vec_free(&d->busy);
	vec_free(&d->memory);
	vec_free(&d->allocators);
	vec_free(&d->newest_atoms);
	vec_free(&d->processes);
	vec_free(&d->circles);
	vec_free(&d->restarts);
	vec_free(&d->schedulers);
	vec_free(&d->dirty_cpu_busy);
	vec_free(&d->dirty_io_busy);
	vec_free(&d->blocked_in);
	vec_free(&d->blocked_on);
	vec_free(&d->overdue);
	vec_free(&d->collecting);
	vec_free(&d->tables);
	vec_free(&d->receivers);
	vec_free(&d->connections);
	vec_free(&d->ports);
}

const char *finding_severity_name(enum finding_severity severity)
{
	static const char *const names[] = {
		[FINDING_NOTE] = "note",
		[FINDING_WARNING] = "warning",
		[FINDING_CRITICAL] = "critical",
	};

	return names[severity];
}

const char *finding_certainty_name(enum finding_certainty certainty)
{
	static const char *const names[] = {
		[FINDING_POSSIBLE] = "possible",
		[FINDING_LIKELY] = "likely",
		[FINDING_CERTAIN] = "certain",
	};

	return names[certainty];
}
