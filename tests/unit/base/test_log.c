/* SPDX-License-Identifier: BSD-2-Clause */
/* Where lines of the log go. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

static void keep(void *arg, const char *line)
{
	snprintf(arg, 64, "%s", line);
}

static void *say(void *arg)
{
	log_set_thread_taker(keep, arg);
	log_warn("of a thread\033[1m");
	return NULL;
}

/* The lines of a thread that has its own taker go there, those of others where they did. */
static void test_takers(void **state)
{
	char all[64] = "", thread[64] = "";
	pthread_t t;

	UNUSED(state);
	log_set_taker(keep, all);
	assert_int_equal(pthread_create(&t, NULL, say, thread), 0);
	pthread_join(t, NULL);
	assert_string_equal(thread, "of a thread\\x1b[1m");
	assert_string_equal(all, "");
	log_warn("of %s", "all");
	assert_string_equal(all, "of all");
	log_set_thread_taker(keep, thread);
	log_debug("not said");
	log_warn("of this one");
	assert_string_equal(thread, "of this one");
	log_set_thread_taker(NULL, NULL);
	log_warn("of all again");
	assert_string_equal(all, "of all again");
	log_set_taker(NULL, NULL);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_takers),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
