/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd/top/top.c: what a step makes of parts that fail.  The parts are stand-ins. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "cmd/top/top.h"
#include "cmd/top/top_samples.h"

static struct {
	int node, drain, step; /* what they return */
	enum top_state state;  /* that of the node */
	unsigned int closed, restarted;
} parts;

static int fails(int rc, enum error_kind kind, struct error *err)
{
	return rc ? error_set(err, kind, rc, "out of it") : 0;
}

int top_node_open(struct top *t, struct error *err)
{
	UNUSED(t);
	UNUSED(err);
	return 0;
}

void top_node_close(struct top *t)
{
	UNUSED(t);
}

int top_node_read(struct top *t, struct error *err)
{
	t->frame.frames++;
	t->frame.state = parts.state;
	return fails(parts.node, ERROR_KIND_NO_NODE, err);
}

int top_samples_open(struct top_samples **out, struct beam_node *n, const struct options *opt,
		     unsigned int freq, struct error *err)
{
	UNUSED(n);
	UNUSED(opt);
	UNUSED(freq);
	UNUSED(err);
	*out = NULL;
	return 0;
}

int top_samples_open_capture(struct top_samples **out, const char *path, uint64_t duration_ns,
			     struct error *err)
{
	UNUSED(duration_ns);
	UNUSED(path);
	UNUSED(err);
	*out = NULL;
	return 0;
}

void top_samples_close(struct top_samples *s)
{
	parts.closed += s != NULL;
}

int top_samples_drain(struct top_samples *s, struct error *err)
{
	UNUSED(s);
	return fails(parts.drain, ERROR_KIND_KERNEL, err);
}

int top_samples_step(struct top_samples *s, struct top_frame *f, struct error *err)
{
	UNUSED(s);
	UNUSED(f);
	return fails(parts.step, parts.node ? ERROR_KIND_NO_NODE : ERROR_KIND_KERNEL, err);
}

int top_samples_restart(struct top_samples *s, struct error *err)
{
	parts.restarted++;
	return top_samples_drain(s, err);
}

int top_samples_play(struct top_samples *s, struct top_frame *f, uint64_t step_ns,
		     struct error *err)
{
	UNUSED(step_ns);
	return top_samples_step(s, f, err);
}

int top_samples_warn(const struct top_samples *s)
{
	UNUSED(s);
	return 0;
}

void top_samples_add_summary(struct top_samples *s, struct summary *to)
{
	UNUSED(s);
	to->samples += 5;
}

bool top_samples_ended(const struct top_samples *s)
{
	UNUSED(s);
	return false;
}

struct event_rates *top_samples_events(struct top_samples *s)
{
	UNUSED(s);
	return NULL;
}

const struct snapshot *top_samples_snapshot(const struct top_samples *s)
{
	UNUSED(s);
	return NULL;
}

double top_samples_of_core(const struct top_samples *s)
{
	UNUSED(s);
	return 0;
}

int top_samples_take(struct top_samples *s, const struct snapshot_options *options,
		     struct snapshot **out, struct error *err)
{
	UNUSED(s);
	UNUSED(options);
	UNUSED(out);
	return fails(-ENODATA, ERROR_KIND_FAILED, err);
}

void top_samples_give_cpu(const struct top_samples *s, struct process_table *t)
{
	UNUSED(s);
	UNUSED(t);
}

/* Never looked into: it only has to be there. */
static struct beam_node *const some_node = (struct beam_node *)&parts;
static struct top_samples *const some_samples = (struct top_samples *)&parts;

static void open_top(struct top *t, struct command_context *ctx)
{
	struct process_row row = {.slot = 1, .pid = 1};
	struct process_cpu cpu = {.pid = 1, .percent = 50};

	memset(&parts, 0, sizeof(parts));
	*ctx = (struct command_context){0};
	*t = (struct top){.ctx = ctx, .node = some_node, .samples = some_samples};
	t->shown = top_panel_find("schedulers"); /* for which nothing is read */
	top_frame_init(&t->frame);
	top_frame_set_schedulers(&t->frame, 1, 0, 0);
	t->frame.schedulers[0].known = true;
	memset(t->frame.schedulers[0].share, 0, sizeof(t->frame.schedulers[0].share));
	t->frame.schedulers[0].share[TOP_SHARE_WAITING] = 1;
	t->frame.window_s = 5;
	t->frame.samples = 7;
	top_frame_sum_schedulers(&t->frame);
	assert_float_equal(t->frame.work[TOP_QUEUE_NORMAL], 0, 0);
	process_table_begin(&t->processes.table, 1, 0);
	assert_int_equal(process_table_put(&t->processes.table, &row), 0);
	process_table_end(&t->processes.table);
	process_table_cpu(&t->processes.table, &cpu, 1);
}

static void check_lost(struct top *t)
{
	assert_null(t->samples);
	assert_int_equal(parts.closed, 1);
	assert_int_equal(t->summary.samples, 5); /* the closing line has them */
	assert_string_equal(t->samples_error, "CPU sampling has stopped: out of it");
	assert_string_equal(top_next_warning(t), t->samples_error);
	assert_null(top_next_warning(t)); /* once */
	t->processes.source.undecoded = 3;
	assert_non_null(strstr(top_next_warning(t), " 3 messages"));
	assert_null(top_next_warning(t));
	assert_true(isnan(t->frame.window_s));
	assert_int_equal(t->frame.samples, 0);
	assert_true(isnan(top_scheduler_work(&t->frame.schedulers[0])));
	assert_true(isnan(t->frame.work[TOP_QUEUE_NORMAL]));
	assert_true(isnan(process_table_find(&t->processes.table, 1)->cpu));
}

static void close_top(struct top *t)
{
	process_table_free(&t->processes.table);
	top_frame_free(&t->frame);
}

static void without_samples_it_goes_on(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	parts.step = -ENOMEM; /* such as a second session, which could not be opened */
	assert_int_equal(top_step(&t, &err), 0);
	assert_int_equal(err.code, 0);
	check_lost(&t);
	assert_int_equal(top_step(&t, &err), 0);
	close_top(&t);

	open_top(&t, &ctx);
	parts.drain = -EIO;
	top_drain(&t);
	check_lost(&t);
	top_drain(&t);
	assert_int_equal(top_step(&t, &err), 0);
	assert_int_equal(t.frame.state, TOP_RUNNING);
	close_top(&t);
}

static void the_end_of_the_node_is_no_loss(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	parts.node = -ESRCH;
	assert_int_equal(top_step(&t, &err), -ESRCH);
	assert_int_equal(t.frame.state, TOP_EXITED);
	assert_string_equal(t.samples_error, "");
	assert_non_null(t.samples); /* what they showed last stays */
	close_top(&t);
}

static void what_is_too_old_is_forgotten(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	t.read_ns = 1;
	top_forget_before(&t);
	assert_int_equal(t.read_ns, 0); /* the next reading has none before it */
	assert_int_equal(parts.restarted, 1);
	assert_non_null(t.samples);
	assert_int_equal(top_step(&t, &err), 0);
	parts.drain = -EIO;
	top_forget_before(&t);
	check_lost(&t);
	top_forget_before(&t); /* without them, too */
	close_top(&t);
}

/* What it did before it was stopped is not what it does. */
static void a_node_that_stops_has_a_new_window(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	assert_int_equal(top_step(&t, &err), 0);
	assert_int_equal(parts.restarted, 0);
	parts.state = TOP_STOPPED;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(top_step(&t, &err), 0);
		assert_int_equal(parts.restarted, 1); /* once */
	}
	parts.state = TOP_RUNNING;
	assert_int_equal(top_step(&t, &err), 0);
	assert_int_equal(parts.restarted, 1);
	parts.state = TOP_STOPPED;
	assert_int_equal(top_step(&t, &err), 0);
	assert_int_equal(parts.restarted, 2);
	close_top(&t);
}

static void rows_are_read_once_a_frame(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	assert_int_equal(top_step(&t, &err), 0);
	assert_true(top_panel_is_read(&t)); /* there is nothing to read */
	top_panel_show(&t, top_panel_find("processes"));
	assert_false(top_panel_is_read(&t));
	assert_int_equal(top_panel_read(&t, &err), 0); /* which are not open here */
	assert_true(top_panel_is_read(&t));
	top_panel_show(&t, top_panel_find("schedulers"));
	top_panel_show(&t, top_panel_find("processes"));
	assert_true(top_panel_is_read(&t));
	/* What could not be read is tried again when somebody comes back to it. */
	strcpy(t.panel_error, "could not");
	top_panel_show(&t, top_panel_find("functions"));
	assert_string_equal(t.panel_error, "");
	top_panel_show(&t, top_panel_find("processes"));
	assert_false(top_panel_is_read(&t));
	assert_int_equal(top_panel_read(&t, &err), 0);
	t.shown = top_panel_find("schedulers");
	assert_int_equal(top_step(&t, &err), 0);
	top_panel_show(&t, top_panel_find("processes"));
	assert_false(top_panel_is_read(&t)); /* that was another frame */
	close_top(&t);
}

/* Samples that were closed, and probes that are gone, have lost what they lost. */
static void what_was_lost_counts_on(void **state)
{
	struct command_context ctx;
	struct error err = {0};
	struct top t;

	UNUSED(state);
	open_top(&t, &ctx);
	t.samples = NULL;
	t.summary.counters[COUNTER_RING_FULL] = 3;
	t.summary.counters[COUNTER_EVENTS_LOST] = 4;
	t.summary.counters[COUNTER_BAD_RECORD] = 2;
	t.summary.dropped_unknown = 1;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(top_step(&t, &err), 0);
		assert_int_equal(t.frame.lost, 7);
		assert_int_equal(t.frame.refused, 3);
	}
	close_top(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_samples_it_goes_on),
		cmocka_unit_test(the_end_of_the_node_is_no_loss),
		cmocka_unit_test(what_is_too_old_is_forgotten),
		cmocka_unit_test(a_node_that_stops_has_a_new_window),
		cmocka_unit_test(rows_are_read_once_a_frame),
		cmocka_unit_test(what_was_lost_counts_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
