/* SPDX-License-Identifier: BSD-2-Clause */
/* The report of `ebeam doctor` as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/host/doctor_view.h"

static const struct doctor_row rows[] = {
	{.group = "kernel", .feature = "release", .seen = "6.1"},
	{.group = "node", .os_pid = 7, .feature = "process"},
	{.group = "tables",
	 .os_pid = 7,
	 .feature = "clock",
	 .purpose = "time",
	 .state = DOCTOR_DEGRADED,
	 .why = "not found",
	 .fix = "repair it"},
	{.group = "tables",
	 .os_pid = 7,
	 .feature = "ports",
	 .state = DOCTOR_MISSING,
	 .why = "not found",
	 .fix = "repair it",
	 .blocks = ERROR_KIND_UNSUPPORTED},
	{.group = "node", .os_pid = 8, .feature = "process"},
	{.group = "tables", .os_pid = 8, .feature = "clock"},
	{.group = "tables", .os_pid = 8, .feature = "ports"},
};
static const struct doctor_node nodes[] = {{.os_pid = 7, .name = "a\033b", .otp = "27"},
					   {.os_pid = 8, .supported = true}};
static const struct doctor_report report = {
	.rows = rows, .nr_rows = ARRAY_SIZE(rows), .nodes = nodes, .nr_nodes = ARRAY_SIZE(nodes)};

static void as_text(void **state)
{
	const struct doctor_report none = {.none_found = true, .exit_code = ERROR_KIND_KERNEL};
	const struct doctor_report core = {.is_core = true, .exit_code = ERROR_KIND_UNSUPPORTED};
	struct page p;

	UNUSED(state);
	doctor_view_write(page_open(&p), &report, false, false);
	page_expect(&p, "kernel\n"
			"  available  release: 6.1\n"
			"\n"
			"node, pid 7 a?b\n"
			"  available  process\n"
			"\n"
			"tables, pid 7 a?b\n"
			"  degraded   clock: time\n"
			"             why: not found\n"
			"             fix: repair it\n"
			"  missing    ports\n"
			"             why: as above\n"
			"\n"
			"node, pid 8\n"
			"  available  process\n"
			"  available  tables: all 2\n"
			"\n"
			"'ebeam record' will work\n");
	doctor_view_write(page_open(&p), &report, true, true);
	page_has(&p, "\ntables, pid 8\n  \033[32mavailable\033[0m  clock\n");
	page_close(&p);
	doctor_view_write(page_open(&p), &none, false, false);
	page_expect(&p, "\nno BEAM node runs here\n"
			"\n'ebeam record' will not work: kernel feature missing\n");
	doctor_view_write(page_open(&p), &core, false, false);
	page_expect(&p, "\nthis core file cannot be read\n");
}

static void as_json(void **state)
{
	struct page p;

	UNUSED(state);
	doctor_view_json(page_open_json(&p), &report);
	page_has(&p, "{\"data\": {\"record_exit_code\": 0, \"features\": [{\"group\": \"kernel\", "
		     "\"os_pid\": null, \"feature\": \"release\", \"purpose\": null, "
		     "\"state\": \"available\", \"seen\": \"6.1\", \"why\": null, \"fix\": null, "
		     "\"blocks_record\": false}, ");
	page_has(&p, "\"os_pid\": 7, \"feature\": \"ports\", \"purpose\": null, "
		     "\"state\": \"missing\", \"seen\": null, \"why\": \"not found\", "
		     "\"fix\": \"repair it\", \"blocks_record\": true}");
	page_has(&p, "\"nodes\": [{\"os_pid\": 7, \"name\": \"a\\u001bb\", \"otp\": \"27\", "
		     "\"erts\": null, \"flavor\": null, \"layout\": null, \"untested\": null, "
		     "\"supported\": false}, ");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("doctor_view", tests, NULL, NULL);
}
