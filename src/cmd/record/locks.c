/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam locks`: locks of the VM that threads wait for in the kernel, and what CPUs do for them.
 * A recording as of --mode offcpu, of futexes only, and of samples of the CPUs; each wait is added
 * up as it comes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/random.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/locate/node_open.h"
#include "beam/vm/ets.h"
#include "beam/vm/lock_places.h"
#include "cmd/command/command.h"
#include "cmd/command/loop.h"
#include "cmd/command/options.h"
#include "cmd/output/envelope.h"
#include "cmd/output/render.h"
#include "cmd/record/recording.h"
#include "cmd/run/summary.h"
#include "cmd/run/target.h"
#include "model/process/process_group.h"
#include "model/stats/lock_stats.h"
#include "view/events/locks_view.h"

/* Also the length of a window, if it records in windows. */
#define DRAIN_NS 20000000u
#define LOCK_OF	 "lock of "

static const struct weight_mode locks_mode = {
	"locks", NULL, WEIGHT_LOCKS, "ns", "time blocked by locks", 0, 0, ""};

struct locks_run {
	struct command_context *ctx;
	struct beam_node *node;
	struct recording *recording;
	struct lock_stats stats;
	uint64_t not_copied_ns;
	struct recording_window window; /* of waits that are drained */
	size_t said;	    /* so much of the warnings was there before the run, and said */
	struct arena texts; /* of the answer */
	struct process_groups groups;
	struct lock_row *rows[6];
	size_t nr_rows; /* arrays in rows[] */
};

static bool is_lock(enum sample_kind kind)
{
	return kind >= SAMPLE_OFF_LOCK_ETS && kind <= SAMPLE_OFF_LOCK;
}

/* The state frame at the leaf, "[lock of ...]" or the like: id of its text, 0 = none. */
static uint32_t lock_of(const struct names *names, uint32_t stack)
{
	const struct name_stack *s = names_stack(names, stack);
	const struct name_frame *f = s ? names_frame(names, s->frame) : NULL;
	const struct name_function *fn = f ? names_function(names, f->function) : NULL;
	const char *text = fn && fn->kind == FRAME_STATE ? names_string(names, fn->name_id) : NULL;

	return text && strstr(text, "lock ") ? fn->name_id : 0;
}

static uint32_t pid_of(const struct names *names, uint32_t process)
{
	const struct name_process *p = process ? names_process(names, process) : NULL;

	return p ? p->pid_id : 0;
}

/* Where a process waited: its innermost function of Erlang, and the caller of a BIF or NIF. */
static void find_place(const struct names *names, uint32_t stack, struct lock_wait *wait)
{
	const struct name_function *f;
	const struct name_frame *frame;
	uint32_t *to = &wait->function;

	while ((f = names_next_frame(names, &stack, &frame))) {
		if (f->kind != FRAME_ERLANG && f->kind != FRAME_BIF && f->kind != FRAME_NIF)
			continue;
		*to = frame->function;
		if (f->kind == FRAME_ERLANG || to == &wait->caller)
			return;
		to = &wait->caller;
	}
}

static void take(void *arg, const struct enrich_off_cpu *t)
{
	struct locks_run *run = arg;
	const struct names *names = recording_names(run->recording);
	struct lock_wait wait = {
		.lock = lock_of(names, t->stack),
		.waiter = {t->process, pid_of(names, t->process)},
		.releaser = {t->waker, pid_of(names, t->waker)},
		.kind = t->kind,
		.ns = t->ns - MIN(t->runnable_ns, t->ns),
		.stands_for = t->stands_for,
		.window = run->window.stands_for,
		.goes_on = t->goes_on && !t->runnable_ns,
	};

	if (t->begin_ns < run->window.begin_ns)
		return;
	find_place(names, t->stack, &wait);
	if (is_lock(t->kind))
		lock_stats_add(&run->stats, &wait);
	else if (t->kind == SAMPLE_OFF_FUTEX && !t->copied)
		run->not_copied_ns += (uint64_t)((double)wait.ns * wait.window);
}

static int drain_windows(struct locks_run *run, uint64_t step_ns, struct error *err)
{
	int rc = recording_drain_windows(run->recording, step_ns, &run->window, err);

	if (run->window.ended)
		lock_stats_end_window(&run->stats, run->window.stands_for);
	return rc;
}

static int on_drain(void *arg, struct error *err)
{
	return drain_windows(arg, DRAIN_NS, err);
}

static int run_loop(struct locks_run *run, struct error *err)
{
	struct loop *loop = NULL;
	int rc = loop_open(&loop, err);

	rc = rc ? rc : loop_watch_pid(loop, run->node->os_pid, err);
	rc = rc ? rc : loop_add_timer(loop, DRAIN_NS, on_drain, run, err);
	if (rc == 0 && run->ctx->opt.duration_ns)
		rc = loop_set_deadline(loop, run->ctx->opt.duration_ns, err);
	rc = rc ? rc : loop_run(loop, err);
	loop_close(loop);
	return rc;
}

/* ---- answer ---------------------------------------------------------------------------------- */

/* "[lock of ets table routes]" without what is the same for all: "ets table routes". */
static const char *lock_text(struct locks_run *run, uint32_t id)
{
	const char *text = id ? names_string(recording_names(run->recording), id) : NULL;
	size_t len;

	if (!text)
		return NULL;
	text += *text == '[';
	if (strncmp(text, LOCK_OF, strlen(LOCK_OF)) == 0)
		text += strlen(LOCK_OF);
	len = strlen(text);
	return arena_strndup(&run->texts, text, len && text[len - 1] == ']' ? len - 1 : len);
}

static void name_process(struct locks_run *run, struct lock_row *row, uint32_t id)
{
	const struct names *names = recording_names(run->recording);
	const struct name_process *p = id ? names_process(names, id) : NULL;
	struct strbuf name = STRBUF_INIT;

	if (!p)
		return;
	row->pid = arena_copy(&run->texts, p->pid);
	process_group_name_of(names, id, &name);
	row->name = name.len ? arena_copy(&run->texts, name.buf) : NULL;
	strbuf_free(&name);
}

static const char *function_text(struct locks_run *run, uint32_t id)
{
	const struct names *names = recording_names(run->recording);
	struct strbuf text = STRBUF_INIT;
	const char *copy = NULL;

	if (id)
		names_format_function(&text, names_function(names, id));
	if (text.len)
		copy = arena_copy(&run->texts, text.buf);
	strbuf_free(&text);
	return copy;
}

static uint32_t group_of(void *arg, uint32_t process)
{
	return process_groups_of(arg, process);
}

/* Adds what is known of tables to the rows of their locks. */
static void add_tables(struct locks_run *run, struct lock_row *rows, size_t nr)
{
	static const char *const words[] = {"false", "true", "auto"};
	struct ets_list list;
	struct error why;
	char name[LOCK_NAME_SIZE], locks[32];

	if (ets_read(run->node, &list, &why) != 0)
		return;
	for (size_t i = 0; i < list.len; i++) {
		const struct ets_table *t = &list.data[i];

		lock_place_of_table(run->node, t, name, sizeof(name));
		snprintf(locks, sizeof(locks), "%" PRIu32 " locks", t->nr_locks);
		for (size_t k = 0; k < nr; k++) {
			struct lock_row *r = &rows[k];

			if (!r->lock || strcmp(r->lock, name) != 0)
				continue;
			r->objects = t->size;
			r->write_concurrency = t->write_concurrency < ARRAY_SIZE(words)
						       ? words[t->write_concurrency]
						       : arena_copy(&run->texts, locks);
			r->read_concurrency = words[t->read_concurrency];
		}
	}
	ets_list_free(&list);
}

static struct lock_row row_of(const struct lock_stats *stats, const struct lock_sum *s)
{
	return (struct lock_row){
		.kind = sample_kind_name(s->kind),
		.waits = (uint64_t)(s->waits.sum + 0.5),
		.waits_margin = lock_stats_margin(stats, s->waits.variance),
		.total_ns = (uint64_t)(s->ns.sum + 0.5),
		.margin_ns = lock_stats_margin(stats, s->ns.variance),
		.max_ns = s->max_ns,
		.nr = s->nr,
		.objects = UINT64_MAX,
	};
}

static struct lock_row *make_rows(struct locks_run *run, const struct keytab *of, bool join,
				  size_t *nr)
{
	struct lock_sum *sums = lock_stats_rows(&run->stats, of, nr);
	struct lock_row *rows;

	if (join)
		lock_stats_join(&run->stats, sums, nr, group_of, &run->groups);
	rows = run->rows[run->nr_rows++] = xcalloc(MAX(*nr, 1u), sizeof(*rows));
	for (size_t i = 0; i < *nr; i++) {
		rows[i] = row_of(&run->stats, &sums[i]);
		rows[i].lock = lock_text(run, sums[i].lock);
		rows[i].function = function_text(run, sums[i].function);
		rows[i].caller = function_text(run, sums[i].caller);
		name_process(run, &rows[i], sums[i].process);
	}
	free(sums);
	return rows;
}

/* Losses that the answer may have, in JSON; the closing line has all. */
static const struct {
	enum counter_id id;
	const char *name;
} noted[] = {
	{COUNTER_RING_FULL, "ring_full"},   {COUNTER_THREAD_TABLE_FULL, "thread_table_full"},
	{COUNTER_READ_FAULT, "read_fault"}, {COUNTER_NAMES_FULL, "names_full"},
	{COUNTER_BAD_RECORD, "bad_record"},
};

static int write_answer(struct locks_run *run, const struct locks_answer *a, struct error *err)
{
	struct table_options options = render_table_options(run->ctx, NULL);
	struct envelope_counter counters[ARRAY_SIZE(noted)];
	VEC(const char *) warnings = {0};
	struct jsonw w = JSONW(run->ctx->out);
	int rc;

	options.width = render_width(run->ctx->out);
	if (!run->ctx->opt.json) {
		locks_view.head(run->ctx->out, a);
		return locks_view.write(run->ctx->out, a, &options, err);
	}
	target_json_begin(&w, run->ctx, run->node);
	jsonw_begin_object(&w, "data");
	locks_view.json(&w, a, &options);
	jsonw_end_object(&w);
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++)
		counters[i] = (struct envelope_counter){
			noted[i].name, recording_counter(run->recording, noted[i].id)};
	for (const char *p = recording_warnings(run->recording); *p;) {
		size_t len = strcspn(p, "\n");

		vec_push(&warnings, arena_strndup(&run->texts, p, len));
		p += len + (p[len] == '\n');
	}
	rc = envelope_end(&w, warnings.data, warnings.len, counters, ARRAY_SIZE(counters), err);
	vec_free(&warnings);
	return rc;
}

static void say_end(struct locks_run *run)
{
	const char *warnings = recording_warnings(run->recording) + run->said;
	struct summary s = {.own_cpu = recording_own_cpu(run->recording),
			    .title = locks_mode.title,
			    .warnings = warnings + (*warnings == '\n')};
	struct strbuf line = STRBUF_INIT;
	char waits[32];

	for (int id = 0; id < NR_COUNTERS; id++)
		s.counters[id] = recording_counter(run->recording, (enum counter_id)id);
	recording_node_cost(run->recording, &s.cost);
	summary_advise(&s);
	strbuf_addf(&line, "Waits for locks: %s",
		    units_format_count((uint64_t)(run->stats.all.waits.sum + 0.5), waits,
				       sizeof(waits)));
	summary_format_end(&line, &s);
	log_warn("%s", line.buf);
	strbuf_free(&line);
}

static int show(struct locks_run *run, struct error *err)
{
	uint64_t spins = recording_kind(run->recording, SAMPLE_LOCK), margins[HISTOGRAM_POWERS];
	uint64_t windows_ns = recording_windows_ns(run->recording);
	struct locks_answer a = {
		.duration_ns = windows_ns ? windows_ns
					  : recording_end_ns(run->recording) -
						    recording_start_ns(run->recording),
		.spin_samples = spins,
		.spin_ns = spins * 1000000000ull / run->ctx->opt.freq,
		.not_copied_ns = run->not_copied_ns,
		.overflows = run->stats.overflows,
		.truncated = run->stats.cut,
		.waits = &run->stats.lengths.ns,
		.waits_margins = margins,
	};
	struct lock_sum all = run->stats.all;
	struct lock_row *locks;

	all.waits.variance = lock_stats_variance(&run->stats, &all.waits);
	all.ns.variance = lock_stats_variance(&run->stats, &all.ns);
	a.all = row_of(&run->stats, &all);
	for (size_t i = 0; i < HISTOGRAM_POWERS; i++)
		margins[i] = lock_stats_margin(
			&run->stats,
			lock_stats_variance(&run->stats, &run->stats.lengths.powers[i]));
	locks = make_rows(run, &run->stats.locks, false, &a.nr_locks);
	add_tables(run, locks, a.nr_locks);
	a.locks = locks;
	a.places = make_rows(run, &run->stats.places, false, &a.nr_places);
	a.waiters = make_rows(run, &run->stats.waiters, false, &a.nr_waiters);
	a.releasers = make_rows(run, &run->stats.releasers, false, &a.nr_releasers);
	a.waiter_groups = make_rows(run, &run->stats.waiters, true, &a.nr_waiter_groups);
	a.releaser_groups = make_rows(run, &run->stats.releasers, true, &a.nr_releaser_groups);
	return write_answer(run, &a, err);
}

static int record(struct locks_run *run, struct error *err)
{
	int rc = recording_start(&run->recording, run->node, &run->ctx->opt, &locks_mode, err);

	if (rc)
		return rc;
	recording_on_off_cpu(run->recording, take, run);
	run->said = strlen(recording_warnings(run->recording));
	rc = run_loop(run, err);
	if (rc < 0)
		return rc;
	if (rc == LOOP_END_EXITED)
		log_warn("ebeam: the node (pid %d) exited; what was recorded until then is shown",
			 run->node->os_pid);
	rc = drain_windows(run, 0, err);
	rc = rc ? rc : recording_finish(run->recording, err);
	if (rc)
		return rc;
	if (!run->window.ended)
		lock_stats_end_window(&run->stats, run->window.stands_for);
	process_groups_open(&run->groups, recording_names(run->recording), PROCESS_GROUP_NAME, 0);
	rc = show(run, err);
	process_groups_close(&run->groups);
	if (rc == 0)
		say_end(run);
	return rc;
}

int cmd_locks(struct command_context *ctx, struct error *err)
{
	const struct table table = {.columns = lock_columns};
	struct table_options options = render_table_options(ctx, NULL);
	struct locks_run run = {.ctx = ctx, .window.stands_for = 1};
	int rc = table_check(&table, &options, err);

	rc = rc ? rc : options_check_end(ctx->opt.duration_ns || ctx->opt.dry_run, err);
	rc = rc ? rc : target_open(&run.node, ctx, err);
	if (rc)
		return rc;
	lock_stats_open(&run.stats);
	if (ctx->opt.dry_run)
		recording_describe(run.node, ctx->opt.freq, &locks_mode, ctx->out);
	else
		rc = target_failed(run.node, record(&run, err), err);
	recording_close(run.recording);
	lock_stats_close(&run.stats);
	arena_free(&run.texts);
	for (size_t i = 0; i < ARRAY_SIZE(run.rows); i++)
		free(run.rows[i]);
	beam_node_close(run.node);
	return rc;
}
