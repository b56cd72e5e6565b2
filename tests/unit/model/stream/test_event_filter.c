/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stream/event_filter: functions as people write them, and which events are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "lib/eventfix.h"
#include "model/stream/event_filter.h"

static void functions(void **state)
{
	static const struct {
		const char *text, *module, *function;
		int arity;
	} good[] = {
		{"lists:map/2", "lists", "map", 2},
		{"'my mod':'a\\'b'/0", "my mod", "a'b", 0},
		{"MyApp.Worker.init/1", "Elixir.MyApp.Worker", "init", 1},
		{"'Elixir.MyApp':init/1", "Elixir.MyApp", "init", 1},
		{"Elixir.MyApp:init/1", "Elixir.MyApp", "init", 1},
		{"m:f/255", "m", "f", 255},
	};
	static const char *const bad[] = {
		"",	      "lists",	     "lists:map",
		"lists:map/", "lists:map/x", "lists:map/256",
		":map/2",     "lists:/2",    "'lists:map/2",
		"MyApp/1",    ".f/1",	     "MyApp./1",
		"m:f/1000",   "m:f/-1",
	};
	struct event_call call;
	char *longer = malloc(1024);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(event_call_parse(good[i].text, &call), 0);
		assert_string_equal(call.module, good[i].module);
		assert_string_equal(call.function, good[i].function);
		assert_int_equal(call.arity, good[i].arity);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(event_call_parse(bad[i], &call) < 0);
	memset(longer, 'A', 1023);
	strcpy(longer + 1000, ".f/1");
	assert_true(event_call_parse(longer, &call) < 0);
	memset(longer, 'a', 1000);
	strcpy(longer + 1000, ":f/1");
	assert_true(event_call_parse(longer, &call) < 0);
	free(longer);
}

struct fixture {
	struct eventfix f;
	struct event_filter filter;
	uint32_t run, parent, worker, other, worker_pid, port;
};

static void open_all(struct fixture *x)
{
	eventfix_open(&x->f);
	event_filter_init(&x->filter);
	x->run = eventfix_function(&x->f, "work", "run", 1);
	x->parent = eventfix_process(&x->f, 1, "parent", 0);
	x->worker = eventfix_process(&x->f, 2, NULL, x->run);
	x->worker_pid = names_process(x->f.stream.names, x->worker)->pid_id;
	x->other = eventfix_process(&x->f, 3, "Elixir.My.Name", 0);
	x->port = eventfix_string(&x->f, "#Port<0.1>");
}

static void close_all(struct fixture *x)
{
	event_filter_free(&x->filter);
	eventfix_close(&x->f);
}

static bool takes(struct fixture *x, enum event_kind kind, struct event ev)
{
	return event_filter_takes(&x->filter, &x->f.stream, kind, &ev);
}

static bool takes_exit(struct fixture *x, uint32_t process)
{
	return takes(x, EVENT_PROCESS_EXIT, eventfix_event(&x->f, process, 1, 0ull));
}

static bool takes_spawn(struct fixture *x, uint32_t child, uint32_t parent)
{
	return takes(x, EVENT_PROCESS_SPAWN,
		     eventfix_event(&x->f, child, 2, (uint64_t)parent, 0ull));
}

static bool takes_send(struct fixture *x, uint32_t from, uint32_t to, uint32_t name)
{
	return takes(
		x, EVENT_MESSAGE_SEND,
		eventfix_event(&x->f, from, 5, (uint64_t)to, 1ull, (uint64_t)name, 0ull, 0ull));
}

static bool takes_queued(struct fixture *x, uint32_t to, uint32_t from)
{
	return takes(x, EVENT_MESSAGE_QUEUED,
		     eventfix_event(&x->f, to, 3, (uint64_t)from, 1ull, 1ull));
}

static void processes(void **state)
{
	struct fixture x;

	(void)state;
	open_all(&x);
	assert_true(takes_exit(&x, x.worker));
	assert_true(takes_exit(&x, 0));
	x.filter.process = "parent";
	assert_true(takes_exit(&x, x.parent));
	assert_false(takes_exit(&x, x.worker));
	assert_false(takes_exit(&x, 0));
	/* A spawn is about both. */
	assert_true(takes_spawn(&x, x.worker, x.parent));
	assert_false(takes_spawn(&x, x.worker, x.other));
	x.filter.process = "My.Name";
	assert_true(takes_exit(&x, x.other));
	x.filter.process = "0.2.0";
	assert_true(takes_exit(&x, x.worker));
	assert_int_equal(event_call_parse("work:run/1", &x.filter.call), 0);
	assert_true(takes_exit(&x, x.worker));
	x.filter.process = NULL;
	assert_true(takes_exit(&x, x.worker));
	assert_false(takes_exit(&x, x.other));
	assert_int_equal(event_call_parse("work:run/2", &x.filter.call), 0);
	assert_false(takes_exit(&x, x.worker));
	close_all(&x);
}

static bool takes_unsure(struct fixture *x, enum event_kind kind, unsigned int at, uint64_t ns,
			 unsigned int error_at, uint64_t error_ns)
{
	struct event ev = eventfix_event(&x->f, x->worker, 0);

	ev.u.vm.nr_values = (error_at ? error_at : at) + 1;
	for (unsigned int i = 0; i < ev.u.vm.nr_values; i++)
		ev.u.vm.values[i] = 7;
	ev.u.vm.values[at] = ns;
	if (error_at)
		ev.u.vm.values[error_at] = error_ns;
	return takes(x, kind, ev);
}

static bool takes_end(struct fixture *x, enum event_kind kind, unsigned int at, uint64_t ns)
{
	return takes_unsure(x, kind, at, ns, 0, 0);
}

/* Short ones are left out, and all beginnings: nobody knows of them yet. */
static void durations(void **state)
{
	static const struct {
		enum event_kind kind;
		unsigned int at, error;
	} ends[] = {
		{EVENT_GC_MINOR_END, EVENT_AT(GC_MINOR_END, DURATION),
		 EVENT_AT(GC_MINOR_END, ERROR)},
		{EVENT_GC_MAJOR_END, EVENT_AT(GC_MAJOR_END, DURATION),
		 EVENT_AT(GC_MAJOR_END, ERROR)},
		{EVENT_NIF_RETURN, EVENT_AT(NIF_RETURN, DURATION), EVENT_AT(NIF_RETURN, ERROR)},
		{EVENT_LONG_GC, EVENT_AT(LONG_GC, DURATION), EVENT_AT(LONG_GC, ERROR)},
		{EVENT_LONG_SCHEDULE, EVENT_AT(LONG_SCHEDULE, DURATION),
		 EVENT_AT(LONG_SCHEDULE, ERROR)},
	};
	struct fixture x;

	(void)state;
	open_all(&x);
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			assert_true(takes_end(&x, ends[i].kind, ends[i].at, 1000));
			assert_true(takes_end(&x, ends[i].kind, ends[i].at, 999) == !pass);
			assert_true(takes_end(&x, ends[i].kind, ends[i].at, EVENT_UNKNOWN) ==
				    !pass);
			/* It may have taken so long. */
			assert_true(takes_unsure(&x, ends[i].kind, ends[i].at, 600, ends[i].error,
						 400));
			assert_true(takes_unsure(&x, ends[i].kind, ends[i].at, 600, ends[i].error,
						 399) == !pass);
			assert_true(takes_unsure(&x, ends[i].kind, ends[i].at, 999, ends[i].error,
						 EVENT_UNKNOWN) == !pass);
		}
		assert_true(takes_end(&x, EVENT_GC_MINOR_START, 0, 5000) == !pass);
		assert_true(takes_end(&x, EVENT_NIF_ENTRY, 0, 5000) == !pass);
		assert_true(takes_exit(&x, x.worker));
		x.filter.longer_than_ns = 1000;
	}
	close_all(&x);
}

static void messages(void **state)
{
	struct fixture x;
	uint32_t away;

	(void)state;
	open_all(&x);
	away = eventfix_string(&x.f, "away");
	x.filter.from = "<0.2.0>";
	assert_true(takes_send(&x, x.worker, x.other, 0));
	assert_false(takes_send(&x, x.other, x.worker, 0));
	assert_true(takes_queued(&x, x.other, x.worker_pid));
	assert_false(takes_queued(&x, x.other, x.port));
	assert_false(takes_queued(&x, x.other, 0));
	/* By name: who is meant by the pid in message_queued, the message_send before says. */
	x.filter.from = "My.Name";
	assert_false(takes_queued(&x, x.worker,
				  names_process(x.f.stream.names, x.other)->pid_id + 1000));
	assert_true(takes_send(&x, x.other, x.worker, 0));
	assert_true(takes_queued(&x, x.worker, names_process(x.f.stream.names, x.other)->pid_id));
	x.filter.to = "parent";
	assert_false(takes_send(&x, x.other, x.worker, 0));
	assert_true(takes_send(&x, x.other, x.parent, 0));
	x.filter.from = NULL;
	x.filter.to = "away";
	assert_true(takes_send(&x, x.other, 0, away));
	assert_false(takes_queued(&x, x.parent, x.port));
	x.filter.to = "parent";
	assert_true(takes_queued(&x, x.parent, x.port));
	assert_true(takes_exit(&x, x.worker));
	close_all(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(durations),
		cmocka_unit_test(processes),
		cmocka_unit_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
