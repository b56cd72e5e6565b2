/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * doctor: which commands work here.  Each BPF program that a command would load is loaded by
 * itself, configured as by the command, and closed again.  The row of a command says what is
 * missing: kinds that the node does not have, and programs that the kernel refuses.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "beam/otp/layout.h"
#include "cmd/command/command.h"
#include "cmd/host/doctor.h"
#include "cmd/run/live.h"
#include "cmd/top/top_events.h"
#include "event/catalogue.h"
#include "model/profile/event_weights.h"
#include "model/stats/carrier_stats.h"
#include "model/stats/gc_stats.h"
#include "model/stats/message_stats.h"
#include "model/stats/port_io.h"
#include "model/stats/sched_stats.h"
#include "model/stats/spawn_stats.h"
#include "probe/kernel/return_trial.h"
#include "probe/session/programs.h"
#include "probe/session/refusal.h"
#include "target/privilege.h"
#include "target/proc.h"

#define ALL_KINDS ((1ull << NR_EVENT_KINDS) - 1)
#define FIX_REFUSED                                                                                \
	"use the other features, and report this to the authors of ebeam, with the output of "     \
	"'uname -a' and of 'ebeam doctor -vv'"
#define FIX_NOT_IN_NODE "use the other features, or a build of OTP with symbols, which has all"
#define FIX_RETURNS	"use the other features, or Linux 6.12.14, 6.14 or later; see --force"

/* How programs of events are configured. */
enum how {
	HOW_EVENTS, /* deliver events */
	HOW_STACKS, /* deliver events with Erlang stacks */
	HOW_COUNTS, /* only count events */
	NR_HOW
};

enum needs { NEEDS_SAMPLES = 1, NEEDS_CALLS = 2, NEEDS_MEMORY_ONLY = 4, NEEDS_OFF_CPU = 8 };

static uint64_t all_kinds(void)
{
	return ALL_KINDS;
}

static uint64_t gc_kinds(void)
{
	return GC_STATS_KINDS;
}

static uint64_t msg_kinds(void)
{
	return MESSAGE_DEFAULT_KINDS;
}

static uint64_t sched_kinds(void)
{
	return SCHED_STATS_KINDS | 1ull << EVENT_LONG_SCHEDULE;
}

static uint64_t proc_kinds(void)
{
	return SPAWN_KINDS;
}

static uint64_t alloc_kinds(void)
{
	return CARRIER_STATS_KINDS;
}

static uint64_t mode_kinds(void)
{
	uint64_t kinds = 0;

	for (const struct weight_mode *m = weight_modes; m->name; m++)
		kinds |= weight_mode_is_calls(m) || weight_mode_reads_memory(m) ||
					 m->source == WEIGHT_ON /* samples memory, too */
				 ? 0
				 : m->kinds;
	return kinds;
}

/* Commands that load BPF programs. */
static const struct command_row {
	const char *name;
	const char *purpose;
	uint64_t (*kinds)(void); /* NULL = none */
	enum how how;
	unsigned int needs; /* bit set of enum needs, beside kinds */
} command_rows[] = {
	{"record", "where the CPU goes", NULL, HOW_EVENTS, NEEDS_SAMPLES},
	{"record --mode", "where garbage, messages, memory of malloc come from", mode_kinds,
	 HOW_STACKS, 0},
	{"locks", "what threads wait for; record --mode offcpu", NULL, HOW_EVENTS, NEEDS_OFF_CPU},
	{"events", "what happens in the VM", all_kinds, HOW_EVENTS, 0},
	{"gc", "pauses of garbage collection", gc_kinds, HOW_EVENTS, 0},
	{"msg", "who sends to whom", msg_kinds, HOW_EVENTS, 0},
	{"sched", "how busy schedulers are, what runs long", sched_kinds, HOW_EVENTS, 0},
	{"proc", "who starts processes, how they end", proc_kinds, HOW_EVENTS, 0},
	{"alloc", "carriers of the allocators", alloc_kinds, HOW_EVENTS, 0},
	{"port --io", "traffic of ports", port_io_kinds, HOW_EVENTS, 0},
	{"trace", "calls of functions", NULL, HOW_EVENTS, NEEDS_CALLS},
	{"top", "what the node does now", top_events_kinds, HOW_COUNTS,
	 NEEDS_SAMPLES | NEEDS_MEMORY_ONLY},
};

/* Programs that are not for a kind of events; each list ends with NULL. */
static const char *const sampling[] = {"sample_cpu", NULL};
static const char *const off_cpu[] = {"off_switch", "off_waking", "off_finish", NULL};
static const char *const watching_code[] = {"code_changed", NULL};
static const char *const calling[] = {"call_breakpoint", "call_function", "call_function_return",
				      NULL};

/* What the configuration of programs depends on, and the result of loading them. */
struct doctor_tried {
	struct beam_layout layout;
	unsigned int otp;
	uint64_t usdt_kinds;
	struct program_trials trials[NR_HOW];
};

/* The examination of one node. */
struct examination {
	struct doctor_host *host;
	const struct options *opt;
	struct beam_node *node; /* NULL: as of the newest release */
	struct source_plan plans[NR_HOW];
	uint64_t kinds[NR_HOW];
	struct program_trials *trials; /* array of NR_HOW */
	enum how how;		       /* the one that is_wanted() is called for */
	enum privilege_use lacking;    /* why no program can be tried */
};

/* ---- trying ---------------------------------------------------------------------------------- */

static bool is_any_of(const char *const *names, const char *program)
{
	while (*names && strcmp(*names, program) != 0)
		names++;
	return *names;
}

/* program_choice.wants: does any command load this program with the configuration x->how? */
static bool is_wanted(void *arg, const char *program)
{
	const struct examination *x = arg;
	const struct source_plan *plan = &x->plans[x->how];

	for (unsigned int i = 0; i < plan->nr_points; i++)
		if (plan->points[i].kinds & x->kinds[x->how] &&
		    strcmp(plan->points[i].program, program) == 0)
			return true;
	return x->how == HOW_EVENTS &&
	       (is_any_of(sampling, program) || is_any_of(off_cpu, program) ||
		is_any_of(calling, program) || is_any_of(watching_code, program));
}

static const struct layout_table *newest_layout(void)
{
	const struct layout_table *newest = layout_tables[0];

	for (size_t i = 0; layout_tables[i]; i++)
		newest = layout_tables[i]->otp > newest->otp ? layout_tables[i] : newest;
	return newest;
}

/* Makes a plan for each enum how: the first has all kinds, the others are copies with fewer
 * kinds. */
static void make_plans(struct examination *x)
{
	struct source_plan *all = &x->plans[HOW_EVENTS];

	if (x->node)
		source_plan_node(all, x->node, ALL_KINDS, SOURCE_AUTO, x->opt->force);
	else
		source_plan_everything(all, newest_layout()->otp);
	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++)
		if (command_rows[i].kinds)
			x->kinds[command_rows[i].how] |= command_rows[i].kinds();
	for (int how = HOW_EVENTS + 1; how < NR_HOW; how++) {
		x->plans[how] = *all;
		x->plans[how].kinds &= x->kinds[how];
	}
	source_plan_count(&x->plans[HOW_COUNTS], true);
}

static int make_config(struct session_config *c, struct examination *x, enum how how,
		       struct error *err)
{
	const struct layout_table *table = newest_layout();
	struct source_plan plan;
	int rc = 0;

	program_trials_config(c, &plan, &table->layout, (unsigned int)table->otp);
	if (x->node) {
		const struct live_calls calls = {.words = c->call_words, .depth = c->call_depth};
		const struct live_config asked = {
			.opt = x->opt,
			.events = &x->plans[how],
			.calls = &calls,
			.longer_than_ns = c->longer_than_ns,
		};

		rc = live_session_config(c, x->node, NULL, &asked, err);
	}
	c->events = &x->plans[how];
	c->event_stacks = how == HOW_STACKS;
	c->counting = c->count_sums = c->unnamed = how == HOW_COUNTS;
	/* As attach_count_runs() would find; but calling it would turn the kernel's run counts
	 * on. */
	c->own_times = !privilege_has(CAP_SYS_ADMIN);
	c->btf = x->opt->btf;
	return rc;
}

static int try_all(struct examination *x, struct error *err)
{
	const struct program_choice choice = {.wants = is_wanted, .arg = x};
	int rc = 0;

	for (int how = 0; rc == 0 && how < NR_HOW; how++) {
		struct session_config c;

		x->how = (enum how)how;
		rc = make_config(&c, x, x->how, err);
		rc = rc ? rc : program_trials_run(&x->trials[how], &c, &choice, err);
	}
	return rc;
}

static const struct program_trial *find_trial(const struct program_trials *t, const char *program)
{
	for (size_t i = 0; i < t->v.len; i++)
		if (strcmp(t->v.data[i].name, program) == 0)
			return &t->v.data[i];
	return NULL;
}

/* The trial of a program that was refused; NULL: it was loaded, or not tried. */
static const struct program_trial *find_refused(const struct examination *x, enum how how,
						const char *program)
{
	const struct program_trial *t = find_trial(&x->trials[how], program);

	return t && program_trial_refused(t, x->opt->force) ? t : NULL;
}

/* Have all programs that commands would load for this node been tried already? */
static bool has_all(struct examination *x, const struct doctor_tried *tried)
{
	for (int how = 0; how < NR_HOW; how++) {
		const struct source_plan *plan = &x->plans[how];

		x->how = (enum how)how;
		for (unsigned int i = 0; i < plan->nr_points; i++)
			if (is_wanted(x, plan->points[i].program) &&
			    !find_trial(&tried->trials[how], plan->points[i].program))
				return false;
	}
	return true;
}

/* Tries the programs, but only once for all nodes of the same build, as they would be the same. */
static int try_once(struct examination *x, struct error *err)
{
	const struct layout_table *table = newest_layout();
	struct doctor_tried fresh = {
		.layout = x->node ? x->node->layout : table->layout,
		.otp = (unsigned int)(x->node ? x->node->identity.otp : table->otp),
		.usdt_kinds = x->plans[HOW_EVENTS].usdt_kinds,
	};

	for (size_t i = 0; i < x->host->tried.len; i++) {
		struct doctor_tried *tried = x->host->tried.data[i];

		if (memcmp(&tried->layout, &fresh.layout, sizeof(fresh.layout)) == 0 &&
		    tried->otp == fresh.otp && tried->usdt_kinds == fresh.usdt_kinds &&
		    has_all(x, tried)) {
			x->trials = tried->trials;
			return 0;
		}
	}
	vec_push(&x->host->tried, xcalloc(1, sizeof(fresh)));
	*x->host->tried.data[x->host->tried.len - 1] = fresh;
	x->trials = x->host->tried.data[x->host->tried.len - 1]->trials;
	return try_all(x, err);
}

void doctor_host_free(struct doctor_host *host)
{
	for (size_t i = 0; i < host->tried.len; i++) {
		for (int how = 0; how < NR_HOW; how++)
			program_trials_free(&host->tried.data[i]->trials[how]);
		free(host->tried.data[i]);
	}
	vec_free(&host->tried);
}

/* ---- what is missing ------------------------------------------------------------------------- */

/* A row whose state, reason and fix are being found. */
struct verdict {
	struct doctor_row *row;
	struct strbuf why;
};

static void worsen(struct verdict *v, enum doctor_state state, const char *fix)
{
	if (state > v->row->state) {
		v->row->state = state;
		v->row->fix = fix;
	}
	if (v->why.len)
		strbuf_addstr(&v->why, "; ");
}

static bool is_refused(const struct examination *x, enum how how, const char *program, char *why,
		       size_t size)
{
	const struct program_trial *t = find_refused(x, how, program);

	if (!t)
		return false;
	refusal_text(why, size, t);
	return true;
}

/* Is this kind of event missing?  If it is, `why` says the reason. */
static bool is_missing(const struct examination *x, enum how how, enum event_kind kind, char *why,
		       size_t size)
{
	const struct source_plan *plan = &x->plans[how];

	/* Commands sample these kinds in memory, unless they only count. */
	if ((kind == EVENT_LONG_SCHEDULE || kind == EVENT_LONG_GC) && how != HOW_COUNTS &&
	    (!x->node || live_sees_slices(x->node)))
		return false;
	if (plan->missing[kind]) {
		source_missing(plan, kind, why, size);
		return true;
	}
	for (unsigned int i = 0; i < plan->nr_points; i++)
		if (plan->points[i].kinds >> kind & 1 &&
		    is_refused(x, how, plan->points[i].program, why, size))
			return true;
	return false;
}

/* Adds "no gc_minor_end, gc_major_end: REASON", for each reason once. */
static void judge_kinds(struct verdict *v, const struct examination *x, const struct command_row *c,
			enum doctor_state none)
{
	char(*why)[SOURCE_REASON_SIZE] = xcalloc(NR_EVENT_KINDS, sizeof(*why));
	uint64_t kinds = c->kinds(), missing = 0;
	const char *fix = FIX_NOT_IN_NODE;
	bool all;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1 &&
		    is_missing(x, c->how, (enum event_kind)kind, why[kind], sizeof(why[kind])))
			missing |= 1ull << kind;
		if (missing >> kind & 1 && !x->plans[c->how].missing[kind])
			fix = FIX_REFUSED;
	}
	if (missing & x->plans[c->how].unsafe_kinds)
		fix = FIX_RETURNS;
	all = missing == kinds;
	while (missing) {
		int first = __builtin_ctzll(missing);
		unsigned int nr = 0;

		worsen(v, all ? none : DOCTOR_DEGRADED, fix);
		for (int kind = first; kind < NR_EVENT_KINDS; kind++) {
			if (!(missing >> kind & 1) || strcmp(why[kind], why[first]) != 0)
				continue;
			strbuf_addf(&v->why, "%s%s", nr++ ? ", " : "no ", event_rows[kind].name);
			missing &= ~(1ull << kind);
		}
		strbuf_addf(&v->why, ": %s", why[first]);
	}
	free(why);
}

static bool has_uprobes(const struct doctor_host *host)
{
	return host->features.feature[PROBE_FEATURE_UPROBE].ok;
}

static void judge_uprobes(struct verdict *v, const struct examination *x, enum doctor_state state,
			  const char *what)
{
	const struct probe_feature *f = &x->host->features.feature[PROBE_FEATURE_UPROBE];

	if (has_uprobes(x->host))
		return;
	worsen(v, state, doctor_feature_fix(f));
	strbuf_addf(&v->why, "%s: the kernel lets this process place no uprobes (%s)", what,
		    error_text(f->err));
}

/* Adds the first refused program of a list.  `state`: of a command that cannot load it. */
static void judge_programs(struct verdict *v, const struct examination *x,
			   const char *const *programs, enum doctor_state state, const char *what)
{
	char why[512];

	for (; *programs; programs++) {
		const struct program_trial *t = find_refused(x, HOW_EVENTS, *programs);

		if (!t)
			continue;
		refusal_text(why, sizeof(why), t);
		worsen(v, state, FIX_REFUSED);
		strbuf_addf(&v->why, "%s%s", what, why);
		return;
	}
}

static void judge_samples(struct verdict *v, const struct examination *x, enum doctor_state state,
			  const char *what)
{
	const struct probe_feature *clock = &x->host->features.feature[PROBE_FEATURE_CPU_CLOCK];

	judge_programs(v, x, sampling, state, what);
	if (!clock->ok) {
		worsen(v, state, doctor_feature_fix(clock));
		strbuf_addf(&v->why, "%sCPU clock events: %s", what, error_text(clock->err));
	}
}

/* The uprobe that sees code being loaded, which all these commands attach. */
static void judge_code(struct verdict *v, const struct examination *x, enum doctor_state none)
{
	const struct probe_feature *f = &x->host->features.feature[PROBE_FEATURE_UPROBE];
	const struct program_trial *t = find_refused(x, HOW_EVENTS, *watching_code);
	bool unsafe = t && t->rc == -ENOTSUP;

	if (t && !unsafe) {
		judge_programs(v, x, watching_code, none, "");
	} else if (!f->ok || unsafe) {
		worsen(v, DOCTOR_DEGRADED, unsafe ? NULL : doctor_feature_fix(f));
		strbuf_addf(&v->why, "code that is loaded meanwhile has no names: %s",
			    unsafe ? t->verifier.words : error_text(f->err));
	}
}

static void judge_calls(struct verdict *v, const struct examination *x)
{
	struct error none = x->host->no_breakpoints;
	enum doctor_state state = has_uprobes(x->host) ? DOCTOR_DEGRADED : DOCTOR_MISSING;
	unsigned int nr_threads;

	judge_programs(v, x, calling, DOCTOR_MISSING, "");
	if (!none.code && x->node && doctor_free_breakpoints(x->node, &nr_threads, &none))
		none.code = 0; /* one free debug register is enough */
	if (none.code) {
		worsen(v, state,
		       none.kind == ERROR_KIND_PRIVILEGE ? privilege_fix(PRIVILEGE_PERF)
							 : "trace BIFs and NIFs");
		strbuf_addf(&v->why, "Erlang functions: %s", none.msg);
	}
	judge_uprobes(v, x, none.code ? DOCTOR_MISSING : DOCTOR_DEGRADED, "BIFs and NIFs");
	if (!thread_can_start()) {
		worsen(v, DOCTOR_DEGRADED, THREAD_FIX);
		strbuf_addstr(&v->why, "BIFs and NIFs: no thread can be started");
	}
	if (x->node && !x->opt->force && return_trial_check(x->node->os_pid, &none) != 0) {
		worsen(v, DOCTOR_DEGRADED, FIX_RETURNS);
		strbuf_addf(&v->why, "ends of calls of BIFs and NIFs: %s", none.msg);
	}
}

static void judge(struct verdict *v, const struct examination *x, const struct command_row *c,
		  const struct error *untried)
{
	bool without = c->needs & NEEDS_MEMORY_ONLY && x->lacking != PRIVILEGE_MEMORY;
	enum doctor_state none = without ? DOCTOR_DEGRADED : DOCTOR_MISSING;

	if (c->kinds && !thread_can_start()) {
		worsen(v, c->how == HOW_COUNTS ? DOCTOR_DEGRADED : DOCTOR_MISSING, THREAD_FIX);
		strbuf_addstr(&v->why, "no thread can be started (see limits)");
		return;
	}
	/* Trying all programs takes more files than one command does. */
	if (untried->code && programs_needs_files(untried->code)) {
		worsen(v, DOCTOR_DEGRADED, error_limit_fix(EMFILE));
		strbuf_addf(&v->why, "not tried: %s", untried->msg);
		return;
	}
	if (untried->code) {
		worsen(v, none,
		       untried->kind != ERROR_KIND_PRIVILEGE ? error_limit_fix(untried->code)
		       : x->lacking == PRIVILEGE_BPF	     ? programs_fix()
							     : privilege_fix(x->lacking));
		strbuf_addf(&v->why, "%s%s",
			    none == DOCTOR_DEGRADED ? "no samples, no events: " : "", untried->msg);
		return;
	}
	if (c->needs & NEEDS_SAMPLES)
		judge_samples(v, x, none, "no samples: ");
	if (c->needs & NEEDS_OFF_CPU) {
		judge_programs(v, x, off_cpu, none, "no times off CPUs: ");
		/* locks also samples what spins, which record --mode offcpu does not. */
		judge_samples(v, x, DOCTOR_DEGRADED, "record alone, no samples: ");
	}
	if (c->needs & NEEDS_CALLS)
		judge_calls(v, x);
	if (c->kinds) {
		judge_kinds(v, x, c, none);
		judge_uprobes(v, x, none, "no events");
	}
	if (v->row->state != DOCTOR_MISSING)
		judge_code(v, x, none);
}

static void add_row(struct doctor_rows *rows, const struct examination *x,
		    const struct command_row *c, const struct error *untried)
{
	struct doctor_row *row = doctor_add(rows, "commands", c->name);
	struct verdict v = {.row = row, .why = STRBUF_INIT};

	row->os_pid = x->node ? x->node->os_pid : 0;
	row->purpose = c->purpose;
	judge(&v, x, c, untried);
	snprintf(row->why, sizeof(row->why), "%s", v.why.buf);
	if (row->state == DOCTOR_MISSING && c->needs == NEEDS_SAMPLES)
		row->blocks = untried->code ? (int)untried->kind : ERROR_KIND_KERNEL;
	strbuf_free(&v.why);
}

void doctor_check_commands(struct doctor_rows *rows, struct doctor_host *host,
			   const struct options *opt, struct beam_node *node,
			   const struct error *unreadable)
{
	struct examination *x = xcalloc(1, sizeof(*x));
	struct error untried = *unreadable;

	x->host = host;
	x->opt = opt;
	x->node = node;
	x->lacking = unreadable->code ? PRIVILEGE_MEMORY : PRIVILEGE_BPF;
	make_plans(x);
	if (untried.code)
		; /* the node cannot be read: nothing to try */
	else if (programs_locked_down())
		programs_error(-EPERM, &untried);
	else if (!proc_in_initial_pid_namespace())
		error_set(&untried, ERROR_KIND_KERNEL, -ENOTSUP, "%s", SESSION_PID_NAMESPACE);
	else
		try_once(x, &untried);
	for (size_t i = 0; i < ARRAY_SIZE(command_rows); i++)
		add_row(rows, x, &command_rows[i], &untried);
	free(x);
}
