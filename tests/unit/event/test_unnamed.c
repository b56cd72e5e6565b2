/* SPDX-License-Identifier: BSD-2-Clause */
/* event/unnamed: numbers of raw events come through, all that would need a name is empty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "event/unnamed.h"

static void test_numbers(void **state)
{
	struct resolver *r = unnamed_resolver();
	struct rec_raw_event raw = {
		.kind = EVENT_MESSAGE_SEND, .nr_values = 2, .epid = 0x1234, .values = {99, 5}};
	struct resolved_event out;
	struct names *names;

	UNUSED(state);
	names = names_open();
	assert_int_equal(r->event(r, names, &raw, &out), 0);
	assert_int_equal(out.nr_values, 5);
	assert_int_equal(out.process, 0);
	assert_int_equal(out.values[EVENT_AT(MESSAGE_SEND, TO)], 0);
	assert_int_equal(out.values[EVENT_AT(MESSAGE_SEND, SIZE)], 5);
	assert_int_equal(out.values[EVENT_AT(MESSAGE_SEND, NAME)], 0);
	assert_non_null(names_thread(names, out.thread));

	/* A field of several words moves those behind it; one that is left out is unknown. */
	raw = (struct rec_raw_event){
		.kind = EVENT_NIF_RETURN, .nr_values = 4, .values = {1, 2, 3, 777}};
	assert_int_equal(r->event(r, names, &raw, &out), 0);
	assert_int_equal(out.values[EVENT_AT(NIF_RETURN, DURATION)], 777);
	raw.nr_values = 3;
	assert_int_equal(r->event(r, names, &raw, &out), 0);
	assert_int_equal(out.values[EVENT_AT(NIF_RETURN, DURATION)], EVENT_UNKNOWN);

	/* However many come, the dictionary stays as it is. */
	for (uint64_t i = 0; i < 1000; i++) {
		raw.epid = raw.os_tid = (uint32_t)i;
		raw.kind = (uint16_t)(i % NR_EVENT_KINDS);
		assert_int_equal(r->event(r, names, &raw, &out), 0);
	}
	assert_int_equal(names_count(names, NAMES_PROCESSES), 0);
	assert_int_equal(names_count(names, NAMES_THREADS), 1);
	raw.kind = NR_EVENT_KINDS;
	assert_true(r->event(r, names, &raw, &out) < 0);
	names_close(names);
}

static void test_samples(void **state)
{
	const struct rec_raw_sample raw = {.cpu = 1};
	struct resolver *r = unnamed_resolver();
	struct resolved_sample out;

	UNUSED(state);
	assert_true(r->sample(r, NULL, &raw, &out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
