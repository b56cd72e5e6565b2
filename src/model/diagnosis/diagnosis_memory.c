/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: growth, and limits.  See diagnosis_internal.h. */
#include "model/diagnosis/diagnosis_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"

/* ---- rules: memory ------------------------------------------------------------------------- */

/* Weight of a finding: the sooner memory runs out at this rate (bytes per second), the higher. */
static double growth_weight(const struct diagnosis *d, double per_s)
{
	double left = d->memory_max ? (double)d->memory_max - series_last(&d->rss) : NAN;
	double left_s = per_s > 0 ? left / per_s : NAN;

	return left_s < 60 ? 84 : left_s < 600 ? 70 : left_s < 3600 ? 56 : 48;
}

/* In less than 30 s growth may be garbage, which the next collection frees. */
static enum finding_certainty growth_certainty(const struct diagnosis *d)
{
	return diagnosis_seconds(d) >= 30 ? FINDING_LIKELY : FINDING_POSSIBLE;
}

/* The type of memory that grew most; NULL = none is known to have grown. */
static const struct diagnosed_memory *what_grew_most(const struct diagnosis *d)
{
	const struct diagnosed_memory *most = NULL;

	for (size_t i = 1; i < d->memory.len; i++) {
		const struct diagnosed_memory *part = &d->memory.data[i];

		if (series_growth(&part->bytes) > (most ? series_growth(&most->bytes) : 0))
			most = part;
	}
	return most;
}

/* Allocators of which no type of erlang:memory/0 has the blocks, and what gets them. */
static const struct {
	const char *type, *what;
} other_allocators[] = {
	{"driver_alloc", "what NIFs and drivers got by enif_alloc() and driver_alloc()"},
	{"std_alloc", "ports, monitors of other nodes, counters and atomics, and others"},
	{"sl_alloc", "signals, and what is soon freed"},
	{"literal_alloc", "persistent terms, and literals of modules"},
	{"ll_alloc", "tables of the VM, and code"},
	{"temp_alloc", "what one call needs"},
};

static const char *what_gets(const struct diagnosed_allocator *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(other_allocators); i++)
		if (strcmp(other_allocators[i].type, a->type) == 0)
			return other_allocators[i].what;
	return NULL;
}

/* The one of these allocators that has at least half of the growth of all memory; NULL = none. */
static const struct diagnosed_allocator *allocator_that_grew(const struct diagnosis *d, double grew)
{
	for (size_t i = 0; i < d->allocators.len; i++) {
		const struct diagnosed_allocator *a = &d->allocators.data[i];

		if (what_gets(a) && grew > 0 && series_growth(&a->blocks) >= 0.5 * grew)
			return a;
	}
	return NULL;
}

static bool is_of_nifs(const struct diagnosed_allocator *a)
{
	return a && strcmp(a->type, "driver_alloc") == 0;
}

static void report_what_grew(struct finding *f, const struct diagnosis *d)
{
	const struct diagnosed_process *largest = NULL;
	struct texts t = {.nr = 0};

	for (size_t i = 1; i < d->memory.len; i++) {
		const struct diagnosed_memory *part = &d->memory.data[i];
		double grew = series_growth(&part->bytes);

		if (grew >= MIB)
			finding_evidence(f, "%s: %s more, %s now", part->type, text_bytes(&t, grew),
					 text_bytes(&t, series_last(&part->bytes)));
	}
	for (size_t i = 0; i < d->allocators.len; i++) {
		const struct diagnosed_allocator *a = &d->allocators.data[i];
		double grew = series_growth(&a->blocks);

		if (what_gets(a) && grew >= MIB)
			finding_evidence(f, "%s: %s more, %s now: %s", a->type,
					 text_bytes(&t, grew),
					 text_bytes(&t, series_last(&a->blocks)), what_gets(a));
	}
	for (size_t i = 0; i < d->processes.len; i++) {
		const struct diagnosed_process *p = &d->processes.data[i];

		if (p->heap_last < p->heap_first + (uint64_t)MIB)
			continue;
		if (!largest ||
		    p->heap_last - p->heap_first > largest->heap_last - largest->heap_first)
			largest = p;
	}
	/* One that explains little of it leads astray. */
	if (largest && (double)(largest->heap_last - largest->heap_first) >=
			       0.1 * series_growth(&d->memory.data[0].bytes)) {
		char *who = finding_process_text(largest);

		finding_evidence(f, "the heap of %s grew by %s, to %s", who,
				 text_bytes(&t, (double)(largest->heap_last - largest->heap_first)),
				 text_bytes(&t, (double)largest->heap_last));
		free(who);
	}
}

static double code_growth(const struct diagnosis *d)
{
	return d->code.nr ? MAX(series_last(&d->code) - series_first(&d->code), 0.0) : 0;
}

/* True if much of the growth is loaded code: a node that starts or loads a release needs memory for
 * more than the code itself. */
static bool is_of_code(const struct diagnosis *d, double grew)
{
	return code_growth(d) >= 0.2 * grew;
}

/* Growth by a tenth in an hour, if it is more than chance, is worth a note. */
static bool grows_slowly(const struct diagnosis *d, const struct series *total, double grew)
{
	struct growth g = series_growth_rate(total, diagnosis_seconds(d));

	return grew >= MIB && growth_is_sure(&g) && 3600 * g.per_s >= 0.1 * series_last(total);
}

/* The process that refers to most binaries; NULL = none is known to refer to any. */
static const struct diagnosed_process *binary_holder(const struct diagnosis *d)
{
	const struct diagnosed_process *holder = NULL;

	for (size_t i = 0; i < d->processes.len; i++)
		if (d->processes.data[i].binaries &&
		    (!holder || d->processes.data[i].binaries > holder->binaries))
			holder = &d->processes.data[i];
	return holder;
}

static void report_holder(struct finding *f, const struct diagnosed_process *holder)
{
	char *who = finding_process_text(holder);
	struct texts t = {.nr = 0};

	finding_evidence(f, "%s refers to %s in %s off-heap binaries", who,
			 text_bytes(&t, (double)holder->binaries),
			 text_count(&t, (double)holder->nr_binaries));
	free(who);
}

/* The command that shows more of what grew. */
static void lead_to_what_grew(struct finding *f, const struct diagnosis *d,
			      const struct diagnosed_allocator *a)
{
	const struct diagnosed_process *holder = binary_holder(d);
	const struct diagnosed_memory *what = what_grew_most(d);

	if (is_of_nifs(a))
		finding_command(f, "mem --tags --watch 5s");
	finding_command(f, "mem");
	if (a)
		return;
	if (what && strcmp(what->type, "binary") == 0 && holder) {
		report_holder(f, holder);
		finding_command(f, "inspect '%s' --heap", holder->pid);
	} else {
		finding_command(f, what && strcmp(what->type, "ets") == 0 ? "ets --sort memory"
									  : "ps --sort memory");
	}
}

void rule_memory_grows(struct making *m)
{
	const struct diagnosis *d = m->d;
	const struct series *total = d->memory.len ? &d->memory.data[0].bytes : NULL;
	double seconds = diagnosis_seconds(d), grew = total ? series_growth(total) : 0;
	double per_s = grew / seconds, weight = growth_weight(d, per_s);
	struct texts t = {.nr = 0};
	const struct diagnosed_allocator *a = allocator_that_grew(d, grew);
	enum finding_certainty certainty = growth_certainty(d);
	struct growth rate;
	struct finding *f;

	if (!total)
		return;
	if (!(per_s >= MIB && grew >= 0.02 * series_first(total))) {
		if (!grows_slowly(d, total, grew))
			return;
		weight = seconds >= 30 || is_of_nifs(a) ? weight : 34;
	}
	if (is_of_code(d, grew))
		weight = 30;
	rate = series_growth_rate(total, seconds);
	/* 0 is in the confidence interval */
	if (!isnan(rate.error) && !growth_is_sure(&rate))
		weight = MIN(weight, 34);
	else if (is_of_nifs(a)) /* that is no garbage of Erlang */
		certainty = FINDING_LIKELY;
	f = finding_begin(m, "memory_grows", weight, certainty,
			  "memory of %s grows by %s per second",
			  is_of_nifs(a) ? "NIFs and drivers (driver_alloc)" : "the VM",
			  text_bytes(&t, per_s));
	finding_evidence(f, "from %s to %s in %.1f s%s%s%s", text_bytes(&t, series_first(total)),
			 text_bytes(&t, series_last(total)), seconds,
			 isnan(rate.error) ? "" : ", give or take ",
			 isnan(rate.error) ? "" : text_bytes(&t, rate.error),
			 isnan(rate.error) ? "" : " per second");
	if (is_of_code(d, grew))
		finding_evidence(f, "modules were loaded meanwhile: %s of code",
				 text_bytes(&t, code_growth(d)));
	report_what_grew(f, d);
	lead_to_what_grew(f, d, a);
}

/* Steady growth, in bytes, of resident memory that is in no carrier.  At most the growth of rss: a
 * carrier that the VM moves to its cache of segments is then in `beyond`, but rss does not grow. */
static double beyond_vm_growth(const struct diagnosis *d)
{
	double grew = series_growth(&d->beyond), rss_grew = series_growth(&d->rss);

	return grew >= 0.9 * rss_grew ? MIN(grew, rss_grew) : 0;
}

static void beyond_vm_grows(struct making *m, double per_s)
{
	const struct diagnosis *d = m->d;
	struct texts t = {.nr = 0};
	struct finding *f;

	f = finding_begin(m, "memory_beyond_vm_grows", growth_weight(d, per_s), growth_certainty(d),
			  "memory outside of the VM's allocators grows by %s per second",
			  text_bytes(&t, per_s));
	finding_evidence(f,
			 "resident memory grew from %s to %s; %s of it are in no carrier of the "
			 "VM's allocators",
			 text_bytes(&t, series_first(&d->rss)),
			 text_bytes(&t, series_last(&d->rss)),
			 text_bytes(&t, series_last(&d->beyond)));
	finding_evidence(f, "a NIF, a driver or a library that calls malloc(3) is the usual cause");
	finding_command(f, "mem");
}

/* True if it rose in four intervals at least, and fell in none. */
static bool only_rises(const struct series *s)
{
	unsigned int ups = 0;

	for (unsigned int i = 1; i < s->nr; i++) {
		if (s->v[i] < s->v[i - 1])
			return false;
		ups += s->v[i] > s->v[i - 1];
	}
	return ups >= 4;
}

/* Steady growth of malloc, in bytes; 0 = none.  On a host that is short of CPU intervals differ too
 * much for a confidence interval: what only rises is enough then. */
static double malloc_growth(const struct diagnosis *d)
{
	struct growth rate = series_growth_rate(&d->malloc, diagnosis_seconds(d));
	double grew = series_growth(&d->malloc);

	return !d->malloc_is_uneven && grew >= 0.5 * MIB &&
			       (growth_is_sure(&rate) || only_rises(&d->malloc))
		       ? grew
		       : 0;
}

void rule_malloc(struct making *m)
{
	const struct diagnosis *d = m->d;
	double grew = malloc_growth(d), seconds = diagnosis_seconds(d), per_s = grew / seconds;
	double now = series_last(&d->malloc), rss = series_last(&d->rss);
	bool large = now >= 64 * MIB && rss > 0 && now >= 0.3 * rss;
	struct texts t = {.nr = 0};
	struct finding *f;

	if (!(grew > 0) && !large)
		return;
	if (grew > 0)
		f = finding_begin(m, "malloc_grows",
				  large || grew >= MIB ? growth_weight(d, per_s) : 34,
				  growth_certainty(d),
				  "memory of malloc(3) grows by %s per second, outside of the VM",
				  text_bytes(&t, per_s));
	else
		f = finding_begin(m, "malloc_large", 24, FINDING_CERTAIN,
				  "%s of the resident memory are of malloc(3), outside of the VM",
				  text_bytes(&t, now));
	if (grew > 0)
		finding_evidence(f, "from %s to %s in %.1f s", text_bytes(&t, now - grew),
				 text_bytes(&t, now), seconds);
	finding_evidence(f,
			 "that is %.0f%% of the resident memory of %s, and erlang:memory() has "
			 "none of it",
			 100 * now / rss, text_bytes(&t, rss));
	finding_evidence(f, "a NIF, a driver or a library that calls malloc(3) is the usual cause");
	finding_command(f, "record --mode malloc --leak -d 1m -f text");
	finding_command(f, "mem");
}

void rule_beyond_vm(struct making *m)
{
	double per_s = beyond_vm_growth(m->d) / diagnosis_seconds(m->d);
	double rss = series_last(&m->d->rss), beyond = series_least(&m->d->beyond);
	struct texts t = {.nr = 0};
	struct finding *f;

	/* rule_malloc() has said it. */
	if (2 * malloc_growth(m->d) >= beyond_vm_growth(m->d) && malloc_growth(m->d) > 0)
		return;
	if (per_s >= MIB && series_last(&m->d->beyond) >= 64 * MIB) {
		beyond_vm_grows(m, per_s);
		return;
	}
	if (!(beyond >= 256 * MIB) || beyond < 0.3 * rss ||
	    2 * series_last(&m->d->malloc) >= beyond)
		return;
	/* Healthy nodes may have much such memory, too: only its growth shows a leak. */
	f = finding_begin(m, "memory_beyond_vm", 30, FINDING_POSSIBLE,
			  "%s of the resident memory are outside of the VM's allocators",
			  text_bytes(&t, beyond));
	finding_evidence(f, "resident: %s; carriers of all allocators: %s", text_bytes(&t, rss),
			 text_bytes(&t, rss - beyond));
	finding_evidence(f,
			 "it did not grow steadily in %.1f s: it is what the VM or libc keeps for "
			 "reuse, or what a NIF, a driver or a library allocated by malloc(3)",
			 diagnosis_seconds(m->d));
	finding_command(f, "mem");
}

void rule_fragmentation(struct making *m)
{
	for (size_t i = 0; i < m->d->allocators.len; i++) {
		const struct diagnosed_allocator *a = &m->d->allocators.data[i];
		double held = (double)a->carriers_size, used = (double)a->blocks_size;
		struct texts t = {.nr = 0};
		struct finding *f;

		if (held - used < 200 * MIB || used > 0.5 * held)
			continue;
		f = finding_begin(m, "fragmentation",
				  MIN(46 + 8 * log10((held - used) / (200 * MIB)), 66.0),
				  FINDING_CERTAIN,
				  "fragmentation: carriers of %s hold %s that no "
				  "block uses",
				  a->type, text_bytes(&t, held - used));
		finding_evidence(f, "%.1f%% of the %s of these carriers are in use",
				 100 * used / held, text_bytes(&t, held));
		finding_command(f, "mem --carriers");
	}
}

void rule_binaries(struct making *m)
{
	const struct diagnosis *d = m->d;
	double total = series_last(diagnosis_memory(d, "total"));
	double binary = series_last(diagnosis_memory(d, "binary"));
	const struct diagnosed_process *holder = binary_holder(d);
	struct texts t = {.nr = 0};
	struct finding *f;
	bool unused, garbage;

	if (!holder || !(binary >= 50 * MIB && binary >= 0.4 * total))
		return;
	unused = holder->binaries_used < 0.5 * (double)holder->binaries;
	garbage = holder->binaries_garbage > 0.5 * (double)holder->binaries;
	/* Few large binaries are likely data in use; many may be garbage. */
	f = finding_begin(
		m, "binaries",
		holder->binaries > 0.5 * binary && (holder->nr_binaries >= 20 || unused) ? 46 : 32,
		!unused				  ? FINDING_POSSIBLE
		: isnan(holder->binaries_garbage) ? FINDING_LIKELY
						  : FINDING_CERTAIN,
		"%s of %s of the VM's memory are off-heap binaries", text_bytes(&t, binary),
		text_bytes(&t, total));
	report_holder(f, holder);
	if (!isnan(holder->binaries_used)) {
		char *who = finding_process_text(holder);

		finding_evidence(
			f, "%s uses %s of these %s%s", who, text_bytes(&t, holder->binaries_used),
			text_bytes(&t, (double)holder->binaries),
			unused && !garbage
				? ": its terms are parts of binaries (sub-binaries), which "
				  "binary:copy/1 would free"
				: "");
		if (holder->binaries_garbage > 0.05 * (double)holder->binaries)
			finding_evidence(f,
					 "only garbage on its heap refers to %s of these, until it "
					 "is collected (erlang:garbage_collect/1, hibernation)",
					 text_bytes(&t, holder->binaries_garbage));
		free(who);
	}
	finding_evidence(
		f, "a term that refers to a small part of a large binary keeps all of it in "
		   "memory, and "
		   "a process that rarely collects garbage keeps binaries that it no longer needs");
	finding_command(f, "bin");
	finding_command(f, "inspect '%s' --heap", holder->pid);
}

static const struct diagnosed_limit *limit_of(const struct diagnosis *d, const char *what)
{
	for (size_t i = 0; i < d->limits.len; i++)
		if (strcmp(d->limits.data[i].what, what) == 0)
			return &d->limits.data[i];
	return NULL;
}

/* Until the limit is reached at this rate; NAN = not known. */
static double seconds_left(const struct diagnosed_limit *l, double per_s)
{
	return l && l->max > l->used && per_s > 0 ? (double)(l->max - l->used) / per_s : NAN;
}

#define LIMIT_FAR 3e9 /* seconds: a hundred years, of which it is not worth speaking */

static void report_limit(struct finding *f, const struct diagnosis *d, const char *what,
			 double per_s)
{
	const struct diagnosed_limit *l = limit_of(d, what);
	double left_s = seconds_left(l, per_s);
	struct texts t = {.nr = 0};
	char left[32];

	if (!(left_s < LIMIT_FAR))
		return;
	finding_evidence(f, "at this rate the limit of %s %s is reached in %s",
			 text_count(&t, (double)l->max), what,
			 units_format_uptime((uint64_t)left_s, left, sizeof(left)));
}

/* Upper bound of new atoms for each byte of loaded code; OTP's own modules have one in 700. */
#define ATOMS_OF_CODE (1 / 200.0)

void rule_atoms(struct making *m)
{
	const struct diagnosis *d = m->d;
	double grew = series_growth(&d->atoms);
	bool code = code_growth(d) * ATOMS_OF_CODE >= 0.5 * grew;
	bool burst = series_is_burst(&d->atoms);
	double weight = code || burst ? 30 : 56 + MIN(4 * log10(grew / 20), 10.0);
	struct texts t = {.nr = 0};
	struct finding *f;

	if (grew < 20 || grew < 4 * diagnosis_seconds(d))
		return;
	if (code || burst)
		f = finding_begin(m, "atoms_grow", weight, FINDING_CERTAIN, "%s new atoms %s",
				  text_count(&t, grew),
				  code ? "while modules were loaded" : "in one burst");
	else
		f = finding_begin(m, "atoms_grow", weight, FINDING_LIKELY,
				  "atoms are created steadily: %s per second",
				  text_count(&t, ceil(grew / diagnosis_seconds(d))));
	finding_evidence(
		f,
		"from %s to %s in %.1f s; atoms are never removed, and at the limit the node "
		"crashes",
		text_count(&t, series_first(&d->atoms)), text_count(&t, series_last(&d->atoms)),
		diagnosis_seconds(d));
	if (!code && !burst)
		report_limit(f, d, "atoms", grew / diagnosis_seconds(d));
	if (code)
		finding_evidence(f, "%s of code were loaded meanwhile, which brings new atoms",
				 text_bytes(&t, code_growth(d)));
	for (size_t i = 0; i < d->newest_atoms.len; i++)
		finding_evidence(f, "a new atom: %s", d->newest_atoms.data[i]);
	finding_command(f, "trace 'erlang:binary_to_atom/2 -> stack' "
			   "'erlang:list_to_atom/1 -> stack' -d 10");
}

void rule_tables(struct making *m)
{
	double total = series_last(diagnosis_memory(m->d, "total"));

	for (size_t i = 0; i < m->d->tables.len; i++) {
		const struct diagnosed_table *x = &m->d->tables.data[i];
		double grew = series_growth(&x->objects);
		bool burst = series_is_burst(&x->objects);
		struct texts t = {.nr = 0};
		struct finding *f;

		if (grew < 500 || grew < 100 * x->seconds ||
		    grew < 0.01 * series_first(&x->objects))
			continue;
		/* A small one that grows slowly is a cache that fills. */
		if ((double)x->bytes < MIB && grew < 1000 * x->seconds)
			continue;
		if ((double)x->bytes < 16 * MIB && (double)x->bytes < 0.01 * total)
			continue;
		if (burst)
			f = finding_begin(
				m, "ets_grows", 34, FINDING_CERTAIN,
				"%s objects were inserted into the ETS table %s in one burst",
				text_count(&t, grew), x->name);
		else
			f = finding_begin(
				m, "ets_grows",
				(double)x->bytes < 16 * MIB && grew < 2000 * x->seconds
					? 34
					: 47 + MIN(6 * log10((double)x->bytes / (16 * MIB) + 1),
						   15.0),
				FINDING_LIKELY, "the ETS table %s grows by %s objects per second",
				x->name, text_count(&t, grew / x->seconds));
		finding_evidence(f, "from %s to %s objects in %.1f s; it takes %s",
				 text_count(&t, series_first(&x->objects)),
				 text_count(&t, series_last(&x->objects)), x->seconds,
				 text_bytes(&t, (double)x->bytes));
		if (x->owner)
			finding_evidence(f, "its owner is %s", x->owner);
		if (strchr(x->name, '\''))
			finding_command(f, "ets");
		else
			finding_command(f, "ets '%s'", x->name);
	}
}

/* Weight of a finding: the sooner the limit is reached, the higher; that of none is `least`. */
static double limit_weight(const struct diagnosis *d, const char *what, double per_s, double least)
{
	double left_s = seconds_left(limit_of(d, what), per_s);

	return left_s < 60 ? 84 : left_s < 600 ? 70 : left_s < 3600 ? 56 : least;
}

/* Uncertain whether a fault: a node may just have more clients than before. */
void rule_processes_grow(struct making *m)
{
	const struct diagnosis *d = m->d;
	double seconds = diagnosis_seconds(d), grew = series_growth(&d->nr_processes);
	struct growth rate = series_growth_rate(&d->nr_processes, seconds);
	struct texts t = {.nr = 0};
	struct finding *f;

	if (grew < 200 || grew < 10 * seconds || grew < 0.02 * series_first(&d->nr_processes) ||
	    !growth_is_sure(&rate))
		return;
	f = finding_begin(m, "processes_grow", limit_weight(d, "processes", rate.per_s, 46),
			  growth_certainty(d), "the number of processes grows by %s per second",
			  text_count(&t, rate.per_s));
	finding_evidence(f, "from %s to %s in %.1f s, give or take %s per second",
			 text_count(&t, series_first(&d->nr_processes)),
			 text_count(&t, series_last(&d->nr_processes)), seconds,
			 text_count(&t, rate.error));
	report_limit(f, d, "processes", rate.per_s);
	if (d->spawner)
		finding_evidence(
			f, "of the %s new processes that scans found, %s were started by %s",
			text_count(&t, d->spawned_all), text_count(&t, d->spawned), d->spawner);
	finding_command(f, "ps");
	finding_command(f, "proc -d 10");
}

/* Ports, and ETS tables, whose limit is only a hint for the VM. */
static void numbers_grow(struct making *m, const char *id, const char *what, const char *limit,
			 const struct series *s, const char *command)
{
	const struct diagnosis *d = m->d;
	double seconds = diagnosis_seconds(d), grew = series_growth(s);
	struct growth rate = series_growth_rate(s, seconds);
	struct texts t = {.nr = 0};
	struct finding *f;

	if (grew < 20 || grew < 2 * seconds || grew < 0.02 * series_first(s) ||
	    !growth_is_sure(&rate))
		return;
	f = finding_begin(m, id, limit_weight(d, limit, rate.per_s, 44), growth_certainty(d),
			  "the number of %s grows by %s per second", what,
			  text_count(&t, rate.per_s));
	finding_evidence(f, "from %s to %s in %.1f s, give or take %s per second",
			 text_count(&t, series_first(s)), text_count(&t, series_last(s)), seconds,
			 text_count(&t, rate.error));
	report_limit(f, d, limit, rate.per_s);
	finding_command(f, "%s", command);
}

void rule_numbers_grow(struct making *m)
{
	numbers_grow(m, "ports_grow", "ports", "ports", &m->d->nr_ports, "port");
	numbers_grow(m, "ets_tables_grow", "ETS tables", "", &m->d->nr_tables, "ets");
}

#define TIMERS_LEAST 100000u

/* A server may have a timer for each of its clients: it is a fault if one process has many. */
void rule_timers(struct making *m)
{
	const struct diagnosis *d = m->d;
	double most = d->receivers.len ? (double)d->receivers.data[0].nr : 0;
	struct texts t = {.nr = 0};
	struct finding *f;

	if (d->nr_timers < TIMERS_LEAST)
		return;
	f = finding_begin(m, "timers",
			  most >= TIMERS_LEAST ? MIN(46 + 12 * log10(most / TIMERS_LEAST), 66.0)
					       : 28,
			  FINDING_LIKELY, "%s%s timers wait to send a message",
			  d->more_timers ? "more than " : "", text_count(&t, (double)d->nr_timers));
	for (size_t i = 0; i < MIN(d->receivers.len, (size_t)FINDING_NAMES_SHOWN); i++)
		finding_evidence(
			f, "%s of them to %s", text_count(&t, (double)d->receivers.data[i].nr),
			d->receivers.data[i].text ? d->receivers.data[i].text : "a process");
	if (d->nr_receivers > d->receivers.len)
		finding_evidence(f, "to %s processes in all",
				 text_count(&t, (double)d->nr_receivers));
	if (d->timers_size)
		finding_evidence(f,
				 "timers of all kinds take %s without their messages: 'ebeam mem' "
				 "counts that as memory of processes, 'ebeam ps' does not",
				 text_bytes(&t, (double)d->timers_size));
	finding_evidence(f,
			 "a timer that is not cancelled stays in memory, with its message, until "
			 "it expires or its process exits");
	if (d->receivers.len && d->receivers.data[0].pid)
		finding_command(f, "inspect '%s'", d->receivers.data[0].pid);
	finding_command(f, "trace 'erlang:send_after/3 -> stack' "
			   "'erlang:start_timer/3 -> stack' -d 10");
}

void rule_limits(struct making *m)
{
	for (size_t i = 0; i < m->d->limits.len; i++) {
		const struct diagnosed_limit *l = &m->d->limits.data[i];
		double share = l->max ? (double)l->used / (double)l->max : 0;
		struct texts t = {.nr = 0};
		struct finding *f;

		if (share < 0.6)
			continue;
		f = finding_begin(m, "limit", share < 0.8 ? 30 : 60 + 190 * (share - 0.8),
				  FINDING_CERTAIN, "%.0f%% of the limit of %s are used",
				  100 * share, l->what);
		finding_evidence(f, "%s of %s", text_count(&t, (double)l->used),
				 text_count(&t, (double)l->max));
		if (l->command)
			finding_command(f, "%s", l->command);
	}
}
