/* SPDX-License-Identifier: BSD-2-Clause */
/* An answer of `ebeam port --io` as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/port_io_view.h"

static struct port_io_shown ports[] = {
	{.port = "#Port<0.5>",
	 .driver = "spawn",
	 .name = "cat",
	 .pid = "<0.9.0>",
	 .owner = "m:f/1",
	 .in = 4096,
	 .out = 20,
	 .in_per_s = 2048,
	 .out_per_s = 10,
	 .calls = 1100,
	 .busy = 1,
	 .callbacks = {[PORT_IO_OUTPUT] = 20,
		       [PORT_IO_READY_INPUT] = 1000,
		       [PORT_IO_STOP] = 20,
		       [PORT_IO_START] = 20,
		       [PORT_IO_TIMEOUT] = 40},
	 .stopped = true},
	{.in = UINT64_MAX, .out = 7, .out_per_s = 3.5, .calls = 1},
};
static struct port_io_shown drivers[] = {{.driver = "spawn", .ports = 1, .in = 4096}};

static const struct port_io_answer answer = {
	.span_ns = 2000000000u,
	.share_seen = 1,
	.all = {.in = 4096,
		.in_per_s = 2048,
		.out = 27,
		.out_per_s = 13.5,
		.calls = 1101,
		.busy = 1},
	.ports = ports,
	.drivers = drivers,
	.nr_ports = ARRAY_SIZE(ports),
	.nr_drivers = ARRAY_SIZE(drivers),
};

static void as_text(void **state)
{
	const struct table_options o = {
		.columns = "port,driver,in,in_per_s,out_per_s,owner,callbacks", .sort = "-in"};
	struct page p;

	UNUSED(state);
	page_answer(&p, &port_io_view, &answer, &o);
	page_expect(&p, "2.0 s  in 4.0 KiB (2.0 KiB/s)  out 27 B (14 B/s)  1,101 calls  busy 1\n"
			"\n"
			"PORT        DRIVER          IN     IN/S  OUT/S  OWNER  CALLBACKS\n"
			"[unknown]   [unknown]        -        -    4 B  -      -\n"
			"#Port<0.5>  spawn      4.0 KiB  2.0 KiB   10 B  m:f/1  ready_input 1,000, "
			"timeout 40, output 20, start 20\n"
			"\n"
			"By driver\n"
			"  DRIVER  PORTS       IN  OUT  CALLS  BUSY  CALLBACKS\n"
			"  spawn       1  4.0 KiB  0 B      0     0  -\n");
}

static void as_json(void **state)
{
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &port_io_view, &answer,
			 &(struct table_options){.sort = "out", .limit = 1});
	page_has(&p, "\"ports\": [{\"port\": \"#Port<0.5>\", \"driver\": \"spawn\", \"in\": 4096, "
		     "\"out\": 20, \"calls\": 1100, \"busy\": 1, \"pid\": \"<0.9.0>\", "
		     "\"owner\": \"m:f/1\", \"name\": \"cat\", \"callbacks\": {\"output\": 20, ");
	page_has(&p, "\"process_exit\": 0}, \"control_bytes\": 0, "
		     "\"opened\": false, \"stopped\": true}], "
		     "\"drivers\": [{\"driver\": \"spawn\", \"ports\": 1, ");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("port_io_view", tests, NULL, NULL);
}
