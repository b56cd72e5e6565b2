/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is left of a run whose programs the kernel refuses: kinds of events, and calls beside them.
 * Which programs those are is made up here: trials take a kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/session/programs.h"
#include "probe/session/refusal.h"

#define GC   (1ull << EVENT_GC_MINOR_END)
#define SEND (1ull << EVENT_MESSAGE_SEND)

/* ---- instead of program_trial.c and programs.c ----------------------------------------------- */

static const char *const *programs; /* refused ones; ends with NULL */
static bool untried, locked_down;

int program_trials_run(struct program_trials *out, const struct session_config *c,
		       const struct program_choice *choice, struct error *err)
{
	UNUSED(c);
	UNUSED(choice);
	UNUSED(err);
	vec_push(&out->v, ((struct program_trial){.name = "gc_minor_begin"}));
	for (unsigned int i = 0; programs[i]; i++) {
		struct program_trial t = {.rc = -EINVAL};

		snprintf(t.name, sizeof(t.name), "%s", programs[i]);
		snprintf(t.verifier.words, sizeof(t.verifier.words), "words %u", i);
		vec_push(&out->v, t);
	}
	return untried ? -EPERM : 0;
}

bool program_trial_refused(const struct program_trial *t, bool force)
{
	UNUSED(force);
	return t->rc != 0;
}

void program_trials_free(struct program_trials *t)
{
	vec_free(&t->v);
}

bool programs_locked_down(void)
{
	return locked_down;
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct run {
	struct source_plan plan;
	struct session_config config;
	struct error err;
};

static void run_init(struct run *r, bool calls, bool beside)
{
	memset(r, 0, sizeof(*r));
	untried = locked_down = false;
	r->plan.points[0] = (struct source_point){
		.symbol = "garbage_collect", .program = "gc_end", .kinds = GC};
	r->plan.points[1] = (struct source_point){
		.symbol = "erts_queue_message", .program = "message_send", .kinds = SEND};
	r->plan.nr_points = 2;
	r->plan.kinds = GC | SEND;
	r->config.events = &r->plan;
	r->config.calls = calls;
	r->config.calls_beside = beside;
	error_set(&r->err, ERROR_KIND_KERNEL, -EINVAL, "cannot load");
}

static int drop(struct run *r, const char *const *refused)
{
	programs = refused;
	return refusal_drop(&r->config, NULL, -EINVAL, &r->err);
}

#define REFUSED(...) ((const char *const[]){__VA_ARGS__, NULL})

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_calls_beside(void **state)
{
	struct run r;

	UNUSED(state);
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("call_return_at", "call_return")), 0);
	assert_false(r.config.calls);
	assert_true(r.plan.kinds == (GC | SEND));
	/* With a kind of events. */
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("gc_end", "call_return_at")), 0);
	assert_false(r.config.calls);
	assert_true(r.plan.kinds == SEND);
	/* Nothing of calls is refused: they stay. */
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("gc_end")), 0);
	assert_true(r.config.calls);
	assert_string_equal(r.plan.missing[EVENT_GC_MINOR_END], "garbage_collect");
	assert_string_equal(r.plan.refused[EVENT_GC_MINOR_END],
			    "the kernel refuses gc_end: words 0");
}

/* Calls that were asked for are not left out. */
static void test_calls_asked_for(void **state)
{
	struct run r;

	UNUSED(state);
	run_init(&r, true, false);
	assert_int_equal(drop(&r, REFUSED("gc_end", "call_return_at")), -EINVAL);
	assert_true(r.config.calls);
	assert_non_null(strstr(r.err.msg, "the kernel refuses call_return_at: words 1"));
	/* Their events are. */
	run_init(&r, true, false);
	assert_int_equal(drop(&r, REFUSED("gc_end", "message_send")), 0);
	assert_true(r.config.calls);
	assert_true(r.plan.kinds == 0);
}

/* Without events, calls beside them are no run; but samples are. */
static void test_nothing_left(void **state)
{
	struct run r;

	UNUSED(state);
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("message_send", "gc_end")), -EINVAL);
	assert_non_null(strstr(r.err.msg, "the kernel refuses message_send: words 0"));
	run_init(&r, true, true);
	r.config.freq = 99;
	assert_int_equal(drop(&r, REFUSED("message_send", "gc_end")), 0);
}

/* A program of neither; one whose name only looks like that of calls. */
static void test_needed(void **state)
{
	struct run r;

	UNUSED(state);
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("call_return_at", "code_loaded")), -EINVAL);
	assert_non_null(strstr(r.err.msg, "the kernel refuses code_loaded: words 1"));
	run_init(&r, true, true);
	assert_int_equal(drop(&r, REFUSED("calls")), -EINVAL);
	assert_true(r.config.calls);
	/* A kernel that refuses all programs has said why; so has one where none can be tried. */
	run_init(&r, true, true);
	locked_down = true;
	assert_int_equal(drop(&r, REFUSED("code_loaded")), -EINVAL);
	assert_string_equal(r.err.msg, "cannot load");
	run_init(&r, true, true);
	untried = true;
	assert_int_equal(drop(&r, REFUSED("call_return_at")), -EINVAL);
	assert_string_equal(r.err.msg, "cannot load");
	assert_true(r.config.calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_beside),
		cmocka_unit_test(test_calls_asked_for),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
