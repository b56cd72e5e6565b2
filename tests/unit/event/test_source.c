/* SPDX-License-Identifier: BSD-2-Clause */
/* How a source is emptied: all of it, for a time, or until its consumer has enough. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/source.h"

struct counted {
	struct source source;
	uint64_t left, taken, asked;
	uint64_t fail_at, enough_at; /* records; 0 = never */
};

static int next(struct source *s, const struct rec_header **rec, struct error *err)
{
	static const struct rec_header record = {.size = sizeof(record)};
	struct counted *c = (struct counted *)s;

	if (c->fail_at && c->taken == c->fail_at)
		return error_set(err, ERROR_KIND_FAILED, -EIO, "torn");
	*rec = &record;
	return c->left && c->left-- ? 1 : 0;
}

static int take(void *arg, const struct rec_header *rec, struct error *err)
{
	struct counted *c = arg;

	UNUSED(rec);
	UNUSED(err);
	return ++c->taken == c->enough_at ? 1 : 0;
}

static bool go_on(void *arg)
{
	struct counted *c = arg;

	return ++c->asked < 3;
}

static int drain(struct counted *c, uint64_t max_ns, bool ask, struct error *err)
{
	const struct source_consumer consumer = {
		.take = take, .go_on = ask ? go_on : NULL, .arg = c};

	c->source.next = next;
	return source_drain(&c->source, max_ns, &consumer, err);
}

static void all(void **state)
{
	struct counted c = {.left = 100000};
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(drain(&c, SOURCE_DRAIN_ALL, false, &err), 0);
	assert_int_equal(c.taken, 100000);
	assert_int_equal(drain(&c, SOURCE_DRAIN_NS, false, &err), 0); /* nothing is there now */
}

static void for_a_time(void **state)
{
	struct counted c = {.left = UINT64_MAX};
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(drain(&c, 0, false, &err), 1);
	assert_true(c.taken > 0 && c.taken < 1000);
}

static void until_enough(void **state)
{
	struct counted c = {.left = 1000, .enough_at = 10}, asked = {.left = 100000};
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(drain(&c, SOURCE_DRAIN_ALL, false, &err), 1);
	assert_int_equal(c.taken, 10);
	assert_int_equal(drain(&asked, SOURCE_DRAIN_ALL, true, &err), 1);
	assert_int_equal(asked.asked, 3);
	assert_int_equal(asked.taken % 3, 0);
}

static void failure(void **state)
{
	struct counted c = {.left = 1000, .fail_at = 5};
	struct error err = {0};

	UNUSED(state);
	assert_int_equal(drain(&c, SOURCE_DRAIN_ALL, false, &err), -EIO);
	assert_int_equal(c.taken, 5);
	assert_string_equal(err.msg, "torn");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all),
		cmocka_unit_test(for_a_time),
		cmocka_unit_test(until_enough),
		cmocka_unit_test(failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
