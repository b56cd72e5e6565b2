/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verify [OPTION...]: loads every BPF program of ebeam, each by itself, for every layout table and
 * every set of options that makes other code of it; prints which of them the kernel refuses, with
 * the last words of its verifier, and how many it takes.  Needs root, and no node.
 *
 *   --quick           fewer of them, for machines that are slow
 *   --program NAME    only this program
 *   --layout NAME     only this layout table
 *   --options NAME    only this set of options
 *   --stats           what the verifier says of each program, the most of all its loads
 *   --baseline FILE         what grew by more than a quarter since that table was written
 *   --baseline-write FILE   writes the rows of this kernel anew (tests/kernels/run --renew)
 *                           Both are of the layout and the options of BASELINE_* below.
 *   -v                all that the verifier says of programs that are refused
 *
 * Exit code: 0 = the kernel takes all, 1 = it refuses some or some grew, 2 = they could not be
 * tried.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/otp/layout.h"
#include "event/catalogue.h"
#include "lib/verifier_baseline.h"
#include "probe/kernel/features.h"
#include "probe/session/program_trial.h"

/* What has the largest programs. */
#define BASELINE_LAYOUT	 "otp27"
#define BASELINE_OPTIONS "stacks"
#define ALL_KINDS	 ((1ull << NR_EVENT_KINDS) - 1)
#define STACK_LIMIT	 512u /* of a chain of calls, where there are no stacks by CPU */

struct arguments {
	const char *program, *layout, *options, *baseline, *write;
	bool quick, stats, verbose;
};

/* ---- sets of options ------------------------------------------------------------------------ */

enum {
	STACKS = 1 << 0,  /* event_stacks */
	SAMPLES = 1 << 1, /* so that return probes keep what they replace */
	FRAMES = 1 << 2,  /* frame pointers */
	COUNT = 1 << 3,
	SUMS = 1 << 4,
	UNNAMED = 1 << 5,
	BY_PID = 1 << 6, /* events of whom */
	BY_NAME = 1 << 7,
	BY_CALL = 1 << 8,
	FROM = 1 << 9, /* messages of whom */
	TO_NAME = 1 << 10,
	LONGER = 1 << 11,
	USDT = 1 << 12,
	MOST = 1 << 13, /* of terms, as much as there can be */
	TIMES = 1 << 14,
	C_STACK = 1 << 15, /* JIT code without native stack */
	SAMPLED = 1 << 16, /* calls of malloc, with what is freed */
};

/* When, if it is to be quick: what differs from the others in what it makes of the code. */
enum quick {
	NEVER,
	ONCE,  /* for the first and the last layout table */
	ALWAYS /* for each */
};

/* Between them all that a program may look at; of what commands use if nothing is said, each. */
static const struct option_set {
	const char *name;
	unsigned int flags;
	enum quick quick;
} option_sets[] = {
	{"events", 0, NEVER},
	{"stacks", STACKS | TIMES, ALWAYS},
	{"count", COUNT | TIMES, ONCE},
	{"sums", COUNT | SUMS | UNNAMED, NEVER},
	{"count-some", COUNT | SUMS | BY_NAME | BY_CALL | FROM | TO_NAME | LONGER, NEVER},
	{"some", STACKS | BY_NAME | BY_CALL | FROM | TO_NAME | LONGER, ONCE},
	{"frames", SAMPLES | FRAMES | BY_PID | UNNAMED, NEVER},
	{"c-stack", STACKS | SAMPLES | C_STACK, ONCE},
	{"sampled", STACKS | SAMPLED | TIMES, ONCE},
	{"usdt", USDT | STACKS | BY_PID | LONGER | MOST, NEVER},
};

static void configure(struct session_config *c, struct source_plan *plan,
		      const struct layout_table *table, unsigned int flags)
{
	program_trials_config(c, plan, &table->layout, (unsigned int)table->otp);
	plan->usdt_kinds = flags & USDT ? ALL_KINDS : 0;
	c->freq = flags & SAMPLES ? 99 : 0;
	c->frame_pointers = flags & FRAMES;
	c->c_stack = flags & C_STACK;
	c->event_stacks = flags & STACKS;
	c->counting = flags & COUNT;
	c->count_sums = flags & SUMS;
	c->own_times = flags & TIMES;
	c->libc_every = flags & SAMPLED ? 4096 : 0;
	c->libc_frees = flags & SAMPLED;
	c->unnamed = flags & UNNAMED;
	c->event_epid = flags & BY_PID ? PROGRAM_TRIAL_TERM : 0;
	c->event_who.name = flags & BY_NAME ? PROGRAM_TRIAL_TERM : 0;
	for (size_t i = 0; flags & BY_CALL && i < ARRAY_SIZE(c->event_who.call); i++)
		c->event_who.call[i] = PROGRAM_TRIAL_TERM;
	c->message_from.epid = flags & FROM ? PROGRAM_TRIAL_TERM : 0;
	c->message_to.name = flags & TO_NAME ? PROGRAM_TRIAL_TERM : 0;
	c->gc_longer_than_ns = flags & LONGER ? 1000000 : 0;
	c->call_stacks = flags & STACKS;
	if (flags & MOST) {
		c->call_words = TERM_COPY_WORDS;
		c->call_depth = 64;
	}
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* The most of all loads of one program. */
struct row {
	char name[64];
	unsigned int loads, instructions, total_states, peak_states, deepest;
	int private_stack;
	char stack[128]; /* of the load with the deepest chain: "40+128+0" */
};

struct sums {
	VEC(struct row) rows;
	unsigned int passed, failed;
};

static struct row *row_of(struct sums *s, const char *name)
{
	struct row fresh = {.private_stack = -1};

	for (size_t i = 0; i < s->rows.len; i++)
		if (strcmp(s->rows.data[i].name, name) == 0)
			return &s->rows.data[i];
	snprintf(fresh.name, sizeof(fresh.name), "%s", name);
	vec_push(&s->rows, fresh);
	return &s->rows.data[s->rows.len - 1];
}

static void write_stack(char *out, size_t size, const struct verifier_log *v)
{
	size_t at = 0;

	out[0] = '\0';
	for (unsigned int i = 0; i < v->nr_functions && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%u", i ? "+" : "", v->stack[i]);
}

static void add_up(struct sums *s, const struct program_trial *t)
{
	const struct verifier_log *v = &t->verifier;
	struct row *r = row_of(s, t->name);

	r->loads++;
	r->instructions = MAX(r->instructions, v->instructions);
	r->total_states = MAX(r->total_states, v->total_states);
	r->peak_states = MAX(r->peak_states, v->peak_states);
	r->private_stack = MAX(r->private_stack, t->private_stack);
	if (!r->stack[0] || t->deepest > r->deepest)
		write_stack(r->stack, sizeof(r->stack), v);
	r->deepest = MAX(r->deepest, t->deepest);
	s->passed += t->rc == 0;
	s->failed += t->rc != 0;
}

static void print_stats(const struct sums *s)
{
	unsigned int nr_private = 0, nr_unknown = 0, nr_deep = 0;

	printf("%-32s %6s %12s %8s %7s %6s %8s  %s\n", "program", "loads", "instructions", "states",
	       "peak", "chain", "private", "stack");
	for (size_t i = 0; i < s->rows.len; i++) {
		const struct row *r = &s->rows.data[i];

		nr_private += r->private_stack > 0;
		nr_unknown += r->private_stack < 0;
		nr_deep += r->deepest > STACK_LIMIT;
		printf("%-32s %6u %12u %8u %7u %6u %8s  %s\n", r->name, r->loads, r->instructions,
		       r->total_states, r->peak_states, r->deepest,
		       r->private_stack < 0   ? "?"
		       : r->private_stack > 0 ? "yes"
					      : "no",
		       r->stack);
	}
	printf("%u of %zu programs have a private stack, of %u it is not known; %u need more than "
	       "%u bytes of stack\n",
	       nr_private, s->rows.len, nr_unknown, nr_deep, STACK_LIMIT);
}

/* ---- the table of what the verifier saw ------------------------------------------------------ */

static void make_rows(struct baseline *out, const struct sums *s)
{
	struct utsname u = {.release = "unknown"};

	uname(&u);
	for (size_t i = 0; i < s->rows.len; i++) {
		const struct row *r = &s->rows.data[i];
		struct baseline_row row = {
			.instructions = r->instructions,
			.stack = r->deepest,
			.states = r->total_states,
		};

		baseline_kernel(row.kernel, sizeof(row.kernel), u.release);
		memcpy(row.program, r->name, sizeof(row.program));
		vec_push(&out->rows, row);
	}
}

/* A file that is to be written may be absent. */
static bool read_table(struct baseline *out, const char *path, bool absent)
{
	FILE *f = fopen(path, "re");
	bool ok = f ? baseline_read(out, f) : absent && errno == ENOENT;

	if (!ok)
		fprintf(stderr, "verify: %s: %s\n", path, strerror(errno));
	if (f)
		fclose(f);
	return ok;
}

static int write_table(const char *path, const struct baseline *now)
{
	struct baseline b = {0};
	int rc = 2;
	FILE *f;

	if (read_table(&b, path, true)) {
		baseline_renew(&b, now);
		f = fopen(path, "we");
		if (f)
			baseline_write(&b, f);
		if (f && fclose(f) == 0)
			rc = 0;
		else
			fprintf(stderr, "verify: %s: %s\n", path, strerror(errno));
	}
	vec_free(&b.rows);
	return rc;
}

static int compare_table(const char *path, const struct baseline *now)
{
	struct baseline b = {0};
	unsigned int grown = 0;
	bool known = false;
	int rc = 2;

	if (read_table(&b, path, false)) {
		grown = baseline_compare(&b, now, &known, stdout);
		if (!known || grown)
			printf("baseline: %s: renew %s with tests/kernels/run --renew\n",
			       known ? "programs grew or are new" : "this kernel is not in it",
			       path);
		rc = grown != 0;
	}
	vec_free(&b.rows);
	return rc;
}

static int use_table(const struct arguments *a, const struct sums *s)
{
	struct baseline now = {0};
	int rc;

	make_rows(&now, s);
	rc = a->baseline ? compare_table(a->baseline, &now) : 0;
	if (rc == 0 && a->write)
		rc = write_table(a->write, &now);
	vec_free(&now.rows);
	return rc;
}

/* ---- the run ------------------------------------------------------------------------------- */

static bool is_asked(void *arg, const char *program)
{
	const struct arguments *a = arg;

	return !a->program || strcmp(a->program, program) == 0;
}

static void print_refusal(const struct program_trial *t, const char *layout, const char *options)
{
	printf("refused  %s  %s  %s: %s%s%s\n", t->name, layout, options, error_text(t->rc),
	       t->verifier.words[0] ? ": " : "", t->verifier.words);
	if (t->log)
		printf("%s\n", t->log);
	fflush(stdout);
}

struct job {
	const struct layout_table *table;
	const struct option_set *set;
	enum attach_way way;
};

/* 0, or 2 if it cannot be tried. */
static int try_set(struct sums *s, const struct arguments *a, const struct job *job)
{
	const struct program_choice choice = {
		.wants = is_asked, .arg = (void *)(uintptr_t)a, .keep_logs = a->verbose};
	static struct source_plan plan;
	struct program_trials trials = {0};
	struct session_config c;
	struct error err;
	char options[64];

	configure(&c, &plan, job->table, job->set->flags);
	c.attach_way = job->way;
	snprintf(options, sizeof(options), "%s%s", job->set->name,
		 job->way == ATTACH_PERF ? " (by perf events)" : "");
	if (program_trials_run(&trials, &c, &choice, &err)) {
		fprintf(stderr, "verify: %s  %s: %s\n", job->table->name, options, err.msg);
		program_trials_free(&trials);
		return 2;
	}
	for (size_t i = 0; i < trials.v.len; i++) {
		const struct program_trial *t = &trials.v.data[i];

		add_up(s, t);
		if (t->rc)
			print_refusal(t, job->table->name, options);
	}
	program_trials_free(&trials);
	return 0;
}

static bool is_named(const char *asked, const char *name)
{
	return !asked || strcmp(asked, name) == 0;
}

static bool is_due(const struct arguments *a, const struct option_set *set, bool outer)
{
	return !a->quick || set->quick == ALWAYS || (set->quick == ONCE && outer);
}

/* The other way of attaching is another set of helpers, whatever the options. */
static int try_all(struct sums *s, const struct arguments *a)
{
	enum attach_way best = attach_way();
	int rc = 0;

	for (size_t t = 0; layout_tables[t]; t++) {
		bool outer = t == 0 || !layout_tables[t + 1];

		if (!is_named(a->layout, layout_tables[t]->name))
			continue;
		for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(option_sets); i++) {
			const struct option_set *set = &option_sets[i];
			struct job job = {.table = layout_tables[t], .set = set, .way = best};

			if (!is_named(a->options, set->name) || !is_due(a, set, outer))
				continue;
			rc = try_set(s, a, &job);
			job.way = ATTACH_PERF;
			if (rc == 0 && best != ATTACH_PERF && set->quick == ALWAYS && t == 0)
				rc = try_set(s, a, &job);
		}
	}
	return rc;
}

static void print_features(void)
{
	struct probe_features features;

	probe_features(&features, NULL);
	for (int i = 0; i < NR_PROBE_FEATURES; i++) {
		const struct probe_feature *f = &features.feature[i];

		printf("feature  %s: %s\n", f->name, f->ok ? "yes" : error_text(f->err));
	}
}

static void usage(FILE *out)
{
	fprintf(out, "usage: verify [--quick] [--program NAME] [--layout NAME] [--options NAME] "
		     "[--stats] [-v]\n       verify --baseline FILE | --baseline-write FILE\n"
		     "layouts:");
	for (size_t i = 0; layout_tables[i]; i++)
		fprintf(out, " %s", layout_tables[i]->name);
	fprintf(out, "\noptions:");
	for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++)
		fprintf(out, " %s", option_sets[i].name);
	fputc('\n', out);
}

static bool parse(struct arguments *a, int argc, char **argv)
{
	/* clang-format off */
	static const struct option long_options[] = {
		{"quick", no_argument, NULL, 'q'},
		{"program", required_argument, NULL, 'p'},
		{"layout", required_argument, NULL, 'l'},
		{"options", required_argument, NULL, 'o'},
		{"stats", no_argument, NULL, 's'},
		{"baseline", required_argument, NULL, 'b'},
		{"baseline-write", required_argument, NULL, 'w'},
		{0},
	};
	/* clang-format on */
	int c;

	while ((c = getopt_long(argc, argv, "v", long_options, NULL)) >= 0) {
		switch (c) {
		case 'q':
			a->quick = true;
			break;
		case 'p':
			a->program = optarg;
			break;
		case 'l':
			a->layout = optarg;
			break;
		case 'o':
			a->options = optarg;
			break;
		case 's':
			a->stats = true;
			break;
		case 'b':
			a->baseline = optarg;
			break;
		case 'w':
			a->write = optarg;
			break;
		case 'v':
			a->verbose = true;
			break;
		default:
			return false;
		}
	}
	/* The table is of all programs, and of the same loads each time. */
	if (a->baseline || a->write) {
		if (a->quick || a->program || a->layout || a->options)
			return false;
		a->layout = BASELINE_LAYOUT;
		a->options = BASELINE_OPTIONS;
	}
	return optind == argc;
}

int main(int argc, char **argv)
{
	uint64_t start = clock_monotonic_ns();
	struct arguments a = {0};
	struct sums s = {0};
	int rc;

	if (!parse(&a, argc, argv)) {
		usage(stderr);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	print_features();
	rc = try_all(&s, &a);
	if (rc == 0 && s.passed + s.failed == 0) {
		fputs("verify: there is no such program, layout or set of options\n", stderr);
		rc = 2;
	}
	if (a.stats)
		print_stats(&s);
	printf("%u passed, %u failed (%.1f s)\n", s.passed, s.failed,
	       (double)(clock_monotonic_ns() - start) / 1e9);
	if (rc == 0)
		rc = use_table(&a, &s);
	vec_free(&s.rows);
	return rc ? rc : s.failed != 0;
}
