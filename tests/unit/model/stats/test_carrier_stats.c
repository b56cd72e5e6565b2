/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/carrier_stats: carriers added up, from made-up events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "lib/eventfix.h"
#include "event/event.h"
#include "model/stats/carrier_stats.h"
#include "model/stream/event_stream.h"

#define ETS   7u
#define EHEAP 8u
#define MBC   1u /* words of the dictionary */
#define SBC   2u

static void open_all(struct eventfix *f, struct carrier_stats *s)
{
	eventfix_open(f);
	assert_int_equal(eventfix_string(f, event_word_text(EVENT_WORD_MBC)), MBC);
	assert_int_equal(eventfix_string(f, event_word_text(EVENT_WORD_SBC)), SBC);
	carrier_stats_open(s, &f->stream);
}

static void add(struct carrier_stats *s, enum event_kind kind, uint32_t type, uint64_t third,
		uint64_t fourth, bool many)
{
	struct event ev = {.type = REC_EVENT};

	ev.u.vm.nr_values = EVENT_AT(CARRIER_CREATE, CARRIER) + 1;
	ev.u.vm.values[0] = type;
	ev.u.vm.values[2] = third;
	ev.u.vm.values[3] = fourth;
	ev.u.vm.values[EVENT_AT(CARRIER_CREATE, CARRIER)] = many ? MBC : SBC;
	carrier_stats_take(s, kind, &ev);
}

static void sums(void **state)
{
	struct eventfix f;
	struct carrier_stats s;
	const struct carrier_row *r;

	UNUSED(state);
	open_all(&f, &s);
	add(&s, EVENT_CARRIER_CREATE, ETS, 1000, 0, true);
	add(&s, EVENT_CARRIER_CREATE, ETS, 500, 0, false);
	add(&s, EVENT_CARRIER_CREATE, EHEAP, 70, 0, true);
	add(&s, EVENT_CARRIER_DESTROY, ETS, 1000, 0, true);
	add(&s, EVENT_CARRIER_RESIZE, ETS, 500, 900, false);
	add(&s, EVENT_CARRIER_RESIZE, ETS, 900, 200, false);
	add(&s, EVENT_CARRIER_POOL_PUT, EHEAP, 70, 0, false);
	add(&s, EVENT_CARRIER_POOL_GET, EHEAP, 70, 0, false);
	add(&s, EVENT_CARRIER_POOL_PUT, EHEAP, 70, 0, false);
	assert_int_equal(s.rows.len, 2);
	r = &s.rows.data[0];
	assert_int_equal(r->type, ETS);
	assert_int_equal(r->mbcs.created, 1);
	assert_int_equal(r->mbcs.created_bytes, 1000);
	assert_int_equal(r->mbcs.destroyed_bytes, 1000);
	assert_int_equal(r->sbcs.created, 1);
	assert_int_equal(r->resized, 2);
	assert_int_equal(r->grown_bytes, 400);
	assert_int_equal(r->shrunk_bytes, 700);
	assert_int_equal(carrier_row_churn(r), 3);
	assert_int_equal(carrier_row_delta(r), 200);
	r = &s.rows.data[1];
	assert_int_equal(r->pool_put, 2);
	assert_int_equal(r->pool_put_bytes, 140);
	assert_int_equal(r->pool_get, 1);
	assert_int_equal(s.sizes.nr, 3);
	assert_int_equal(s.sizes.sum, 1570);
	carrier_stats_restart(&s);
	assert_int_equal(s.rows.len, 0);
	assert_int_equal(s.sizes.nr, 0);
	carrier_stats_close(&s);
	eventfix_close(&f);
}

/* Each kind by what was seen of it. */
static void scaled(void **state)
{
	struct carrier_row r = {.mbcs = {10, 1000, 4, 400}, .sbcs = {.created = 1}, .pool_put = 3};
	struct eventfix f;
	struct carrier_stats s;

	UNUSED(state);
	open_all(&f, &s);
	carrier_row_scale(&s, &r);
	assert_int_equal(r.mbcs.created, 10);
	coverage_take(&f.stream.coverage, EVENT_CARRIER_CREATE, COVERAGE_ON, 100000, 1);
	carrier_row_scale(&s, &r);
	assert_int_equal(r.mbcs.created, 100);
	assert_int_equal(r.mbcs.created_bytes, 10000);
	assert_int_equal(r.sbcs.created, 10);
	assert_int_equal(r.mbcs.destroyed, 4);
	assert_int_equal(r.pool_put, 3);
	assert_int_equal(carrier_row_churn(&r), 114);
	assert_int_equal(carrier_row_delta(&r), 9600);
	carrier_stats_close(&s);
	eventfix_close(&f);
}

/* Less than before; sizes that are not known; more types than there can be. */
static void odd(void **state)
{
	struct eventfix f;
	struct carrier_stats s;
	uint64_t all = 0;

	UNUSED(state);
	open_all(&f, &s);
	add(&s, EVENT_CARRIER_DESTROY, ETS, 300, 0, true);
	assert_true(carrier_row_delta(&s.rows.data[0]) == -300);
	add(&s, EVENT_CARRIER_DESTROY, ETS, EVENT_UNKNOWN, 0, true);
	assert_int_equal(s.rows.data[0].mbcs.destroyed, 2);
	assert_true(carrier_row_delta(&s.rows.data[0]) == -300);
	for (uint32_t type = 100; type < 200; type++)
		add(&s, EVENT_CARRIER_CREATE, type, 1, 0, true);
	assert_int_equal(s.rows.len, CARRIER_TYPES);
	assert_int_equal(s.rows.data[CARRIER_TYPES - 1].type, 0);
	for (size_t i = 0; i < s.rows.len; i++)
		all += s.rows.data[i].mbcs.created;
	assert_int_equal(all, 100);
	carrier_stats_close(&s);
	eventfix_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums),
		cmocka_unit_test(scaled),
		cmocka_unit_test(odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
