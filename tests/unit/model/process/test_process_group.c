/* SPDX-License-Identifier: BSD-2-Clause */
/* model/process/process_group: who belongs together, and what that is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/process/process_group.h"

static uint32_t string(struct names *n, const char *s)
{
	return s ? names_intern_string(n, s, strlen(s), NULL) : 0;
}

static uint32_t function(struct names *n, const char *name, int32_t arity)
{
	return names_intern_function(n, string(n, "m"), string(n, name), arity, FRAME_ERLANG, NULL);
}

static uint32_t process(struct names *n, uint64_t epid, const char *registered, const char *label,
			uint32_t initial_call)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "<0.%u.0>", (unsigned int)epid);
	return names_intern_process(n, epid, string(n, pid), string(n, registered),
				    string(n, label), initial_call, NULL);
}

static void assert_text(const struct process_groups *g, uint32_t group, const char *text)
{
	struct strbuf out = STRBUF_INIT;

	process_group_text(g, group, &out);
	assert_string_equal(out.buf, text);
	strbuf_free(&out);
}

struct fixture {
	struct names *n;
	uint32_t init, plain, named_later, worker_a, worker_b, labelled, bare;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->n = names_open();
	f->init = function(f->n, "init", 1);
	f->plain = process(f->n, 80, NULL, NULL, f->init);
	f->named_later = process(f->n, 80, "server", NULL, f->init);
	f->worker_a = process(f->n, 81, NULL, NULL, f->init);
	f->worker_b = process(f->n, 82, NULL, NULL, f->init);
	f->labelled = process(f->n, 83, NULL, "{worker,1}", f->init);
	f->bare = process(f->n, 84, NULL, NULL, 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	names_close(f->n);
	free(f);
	return 0;
}

static void by_name(void **state)
{
	struct fixture *f = *state;
	struct process_groups g;
	uint32_t workers, server;

	process_groups_open(&g, f->n, PROCESS_GROUP_NAME, 0);
	assert_int_equal(process_groups_of(&g, 0), PROCESS_GROUP_REST);
	assert_int_equal(process_groups_of(&g, 4711), PROCESS_GROUP_REST);
	assert_text(&g, PROCESS_GROUP_REST, "[none]");
	workers = process_groups_of(&g, f->worker_a);
	assert_int_equal(process_groups_of(&g, f->worker_b), workers);
	assert_int_equal(process_groups_of(&g, f->plain), workers);
	assert_text(&g, workers, "m:init/1");
	server = process_groups_of(&g, f->named_later);
	assert_int_not_equal(server, workers);
	assert_text(&g, server, "server");
	assert_text(&g, process_groups_of(&g, f->labelled), "{worker,1}");
	assert_text(&g, process_groups_of(&g, f->bare), "<0.84.0>");
	assert_int_equal(process_groups_of(&g, f->named_later), server);
	process_groups_close(&g);
}

static void by_process_whatever_its_name(void **state)
{
	struct fixture *f = *state;
	struct process_groups g;
	uint32_t group;

	process_groups_open(&g, f->n, PROCESS_GROUP_PROCESS, 0);
	group = process_groups_of(&g, f->plain);
	assert_int_equal(process_groups_of(&g, f->named_later), group);
	assert_int_equal(g.v.data[group].process, f->named_later);
	assert_text(&g, group, "<0.80.0>");
	assert_int_not_equal(process_groups_of(&g, f->worker_a), group);
	process_groups_close(&g);
}

static void by_initial_call(void **state)
{
	struct fixture *f = *state;
	struct process_groups g;
	uint32_t group;

	process_groups_open(&g, f->n, PROCESS_GROUP_INITIAL_CALL, 0);
	group = process_groups_of(&g, f->plain);
	assert_int_equal(process_groups_of(&g, f->named_later), group);
	assert_int_equal(process_groups_of(&g, f->labelled), group);
	assert_int_not_equal(process_groups_of(&g, f->bare), group);
	assert_text(&g, group, "m:init/1");
	process_groups_close(&g);
}

static void by_function(void **state)
{
	struct fixture *f = *state;
	struct process_groups g;
	uint32_t group, nif;

	process_groups_open(&g, f->n, PROCESS_GROUP_FUNCTION, 0);
	assert_int_equal(process_groups_of(&g, f->plain), PROCESS_GROUP_REST);
	assert_int_equal(process_groups_of_function(&g, 0), PROCESS_GROUP_REST);
	group = process_groups_of_function(&g, f->init);
	assert_int_equal(process_groups_of_function(&g, f->init), group);
	assert_text(&g, group, "m:init/1");
	assert_text(&g, PROCESS_GROUP_REST, "[function not known]");
	/* The same one, seen as another kind of code. */
	nif = names_intern_function(f->n, string(f->n, "m"), string(f->n, "init"), 1, FRAME_NIF,
				    NULL);
	assert_int_not_equal(nif, f->init);
	assert_int_equal(process_groups_of_function(&g, nif), group);
	assert_int_not_equal(process_groups_of_function(&g, function(f->n, "init", 2)), group);
	process_groups_close(&g);
}

static void too_many(void **state)
{
	struct fixture *f = *state;
	struct process_groups g;

	process_groups_open(&g, f->n, PROCESS_GROUP_PROCESS, 3);
	assert_int_equal(process_groups_of(&g, f->worker_a), 1);
	assert_int_equal(process_groups_of(&g, f->worker_b), 2);
	assert_int_equal(process_groups_of(&g, f->labelled), PROCESS_GROUP_REST);
	assert_int_equal(process_groups_of(&g, f->bare), PROCESS_GROUP_REST);
	assert_int_equal(process_groups_of(&g, f->labelled), PROCESS_GROUP_REST);
	assert_int_equal(g.overflows, 2);
	assert_text(&g, PROCESS_GROUP_REST, "[others]");
	assert_int_equal(process_groups_of(&g, f->worker_b), 2);
	process_groups_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_process_whatever_its_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_initial_call, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
