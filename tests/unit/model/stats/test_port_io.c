/* SPDX-License-Identifier: BSD-2-Clause */
/* model/stats/port_io: from made-up events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "lib/eventfix.h"
#include "model/stats/port_io.h"

struct fixture {
	struct eventfix f;
	struct port_io p;
	uint32_t tcp, spawn, one, two, owner;
};

static void open_all(struct fixture *x)
{
	eventfix_open(&x->f);
	port_io_open(&x->p, &x->f.stream);
	x->tcp = eventfix_string(&x->f, "tcp_inet");
	x->spawn = eventfix_string(&x->f, "spawn");
	x->one = eventfix_string(&x->f, "#Port<0.1>");
	x->two = eventfix_string(&x->f, "#Port<0.2>");
	x->owner = eventfix_process(&x->f, 80, "owner", 0);
}

static void close_all(struct fixture *x)
{
	port_io_close(&x->p);
	eventfix_close(&x->f);
}

static void take(struct fixture *x, enum event_kind kind, uint32_t port, uint32_t driver,
		 uint64_t a, uint64_t b)
{
	struct event ev = eventfix_event(&x->f, x->owner, 5, (uint64_t)port, (uint64_t)driver, a, b,
					 EVENT_UNKNOWN);

	port_io_take(&x->p, kind, &ev);
}

static struct port_io_row *row(struct fixture *x, uint32_t port)
{
	for (size_t i = 0; i < x->p.rows.len; i++)
		if (x->p.rows.data[i].port == port)
			return &x->p.rows.data[i];
	return NULL;
}

static struct port_io_row scaled(struct fixture *x, uint32_t port)
{
	struct port_io_row r = *row(x, port);

	port_io_scale(&x->p, &r);
	return r;
}

static void test_counts(void **state)
{
	struct fixture x;
	struct port_io_row r, *drivers;
	size_t nr;

	UNUSED(state);
	open_all(&x);
	take(&x, EVENT_DRIVER_START, x.one, x.spawn, 0, 0);
	take(&x, EVENT_DRIVER_OUTPUT, x.one, x.spawn, 100, 0);
	take(&x, EVENT_DRIVER_OUTPUTV, x.one, x.spawn, 11, 0);
	take(&x, EVENT_DRIVER_OUTPUTV, x.one, x.spawn, EVENT_UNKNOWN, 0);
	take(&x, EVENT_DRIVER_CONTROL, x.one, x.spawn, 77, 3);
	take(&x, EVENT_DRIVER_CALL, x.one, x.spawn, 78, 4);
	take(&x, EVENT_DRIVER_READY_INPUT, x.one, x.spawn, 0, 0);
	take(&x, EVENT_DRIVER_READY_INPUT, x.one, x.spawn, 40, 0);
	take(&x, EVENT_PORT_BUSY, x.one, x.spawn, 0, 0);
	take(&x, EVENT_DRIVER_STOP, x.one, x.spawn, 55, 111);
	take(&x, EVENT_MESSAGE_SEND, x.one, x.spawn, 1, 1); /* not ours */
	take(&x, EVENT_DRIVER_TIMEOUT, x.two, x.tcp, 0, 0);
	r = scaled(&x, x.one);
	assert_int_equal(port_io_bytes_out(&r), 111);
	assert_int_equal(port_io_control_bytes(&r), 7);
	assert_int_equal(port_io_bytes_in(&r), 55);
	assert_int_equal(port_io_calls(&r), 9);
	assert_int_equal(r.calls[PORT_IO_OUTPUTV], 2);
	assert_int_equal(r.busy, 1);
	assert_int_equal(r.process, x.owner);
	assert_true(r.opened && r.stopped);
	/* Nothing tells what came in. */
	r = scaled(&x, x.two);
	assert_true(port_io_bytes_in(&r) == EVENT_UNKNOWN);
	assert_true(port_io_is_active(&r));
	nr = port_io_by_driver((struct port_io_row[]){scaled(&x, x.one), scaled(&x, x.two)}, 2,
			       &drivers);
	assert_int_equal(nr, 2);
	assert_int_equal(drivers[0].driver, x.spawn);
	assert_int_equal(drivers[0].bytes_in, 55);
	assert_int_equal(drivers[0].bytes_out, 111);
	assert_int_equal(drivers[1].nr, 1);
	assert_int_equal(port_io_calls(&drivers[1]), 1);
	free(drivers);
	close_all(&x);
}

/* What the node says counts for more than what events said before. */
static void test_counters(void **state)
{
	struct fixture x;
	struct port_io_row r;

	UNUSED(state);
	open_all(&x);
	take(&x, EVENT_DRIVER_READY_INPUT, x.one, x.tcp, 1000, 0);
	r = scaled(&x, x.one);
	assert_int_equal(port_io_bytes_in(&r), 0);
	port_io_started(row(&x, x.one), 900, 50);
	port_io_counted(row(&x, x.one), 1200, 70);
	r = scaled(&x, x.one);
	assert_int_equal(port_io_bytes_in(&r), 300);
	assert_int_equal(port_io_bytes_out(&r), 0); /* of events: all were seen */
	/* An older record comes late. */
	take(&x, EVENT_DRIVER_READY_INPUT, x.one, x.tcp, 1100, 0);
	r = scaled(&x, x.one);
	assert_int_equal(port_io_bytes_in(&r), 300);
	/* Half of the time nothing was watched: counters know better. */
	take(&x, EVENT_DRIVER_OUTPUTV, x.one, x.tcp, 8, 0);
	coverage_take(&x.f.stream.coverage, EVENT_DRIVER_OUTPUTV, COVERAGE_ON, 500000, 1);
	r = scaled(&x, x.one);
	assert_int_equal(r.calls[PORT_IO_OUTPUTV], 2);
	assert_int_equal(port_io_bytes_out(&r), 20);
	take(&x, EVENT_DRIVER_OUTPUTV, x.two, x.tcp, 8, 0);
	r = scaled(&x, x.two);
	assert_int_equal(port_io_bytes_out(&r), 16);
	close_all(&x);
}

static void test_intervals(void **state)
{
	struct fixture x;
	struct port_io_row r;

	UNUSED(state);
	open_all(&x);
	take(&x, EVENT_DRIVER_OUTPUT, x.one, x.spawn, 100, 0);
	take(&x, EVENT_DRIVER_STOP, x.one, x.spawn, 5, 100);
	take(&x, EVENT_DRIVER_READY_INPUT, x.two, x.tcp, 10, 0);
	port_io_counted(row(&x, x.two), 30, 0);
	port_io_restart(&x.p);
	assert_null(row(&x, x.one));
	r = scaled(&x, x.two);
	assert_false(port_io_is_active(&r));
	assert_int_equal(r.driver, x.tcp);
	take(&x, EVENT_DRIVER_READY_INPUT, x.two, x.tcp, 30, 0);
	port_io_counted(row(&x, x.two), 45, 0);
	r = scaled(&x, x.two);
	assert_int_equal(port_io_bytes_in(&r), 15);
	assert_int_equal(r.calls[PORT_IO_READY_INPUT], 1);
	close_all(&x);
}

/* Too many ports, and calls of no known port: counted under one row. */
static void test_bounds(void **state)
{
	struct fixture x;

	UNUSED(state);
	open_all(&x);
	x.p.max_rows = 2;
	take(&x, EVENT_DRIVER_OUTPUT, x.one, x.spawn, 1, 0);
	take(&x, EVENT_DRIVER_OUTPUT, x.two, x.spawn, 2, 0);
	take(&x, EVENT_DRIVER_STOP, x.two, x.spawn, 2, 2);
	take(&x, EVENT_DRIVER_OUTPUT, 0, x.spawn, 4, 0);
	assert_int_equal(x.p.rows.len, 2);
	assert_int_equal(scaled(&x, x.one).bytes_out, 1);
	assert_int_equal(scaled(&x, 0).bytes_out, 6);
	assert_int_equal(scaled(&x, 0).driver, 0);
	port_io_restart(&x.p);
	assert_int_equal(x.p.rows.data[0].port, 0);
	close_all(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
