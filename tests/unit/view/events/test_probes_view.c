/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of --dry-run as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/probes_view.h"

static const char *const kinds[] = {"gc_minor_end", "gc_major_end"};
static struct probes_row rows[] = {
	{.symbol = "collect",
	 .at = "call",
	 .offset = 3,
	 .file_offset = 0x206940,
	 .instruction = "push r15",
	 .emulated = true,
	 .stepped_because = "",
	 .trap_ns = 452,
	 .program = "on_gc",
	 .group = 1,
	 .kinds = kinds,
	 .nr_kinds = 2},
	{.symbol = "back",
	 .is_instruction = true,
	 .at = "instruction",
	 .file_offset = 16,
	 .path = "/lib/x.so",
	 .instruction = "",
	 .stepped_because = "no jump",
	 .trap_ns = UINT32_MAX,
	 .program = "on_back",
	 .group = 2},
};

static const struct probes_answer answer = {
	.rows = rows, .nr = 2, .nr_links = 2, .nr_groups = 2, .no_cost = "not tried"};

static void as_text(void **state)
{
	struct error err;
	struct page p;

	UNUSED(state);
	assert_int_equal(probes_view_write(page_open(&p), &answer, false, &err), 0);
	page_expect(
		&p,
		"FUNCTION   AT             OFFSET  INSTRUCTION  RUN         TRAP  "
		"FOR                         FILE\n"
		"collect+3  call         0x206940  push r15     emulated  452 ns  "
		"gc_minor_end, gc_major_end  -\n"
		"back       instruction      0x10  -            stepped        -  "
		"-                           /lib/x.so\n"
		"\n"
		"2 probes in 2 BPF links and 2 groups; the probes of a group are enabled together\n"
		"the cost of a hit is not known: not tried\n");
}

static void as_json(void **state)
{
	struct page p;

	UNUSED(state);
	probes_view_json(page_open_json(&p), &answer);
	page_expect(&p,
		    "{\"data\": [{\"function\": \"collect\", \"at\": \"call\", "
		    "\"file_offset\": 2124096, \"instruction\": \"push r15\", \"trap_ns\": 452, "
		    "\"kinds\": [\"gc_minor_end\", \"gc_major_end\"], \"file\": null, "
		    "\"offset\": 3, \"emulated\": true, \"stepped_because\": null, "
		    "\"program\": \"on_gc\", \"group\": 1}, {\"function\": null, "
		    "\"at\": \"instruction\", \"file_offset\": 16, \"instruction\": null, "
		    "\"trap_ns\": null, \"kinds\": [], \"file\": \"/lib/x.so\", \"offset\": 0, "
		    "\"emulated\": false, \"stepped_because\": \"no jump\", "
		    "\"program\": \"on_back\", \"group\": 2}]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("probes_view", tests, NULL, NULL);
}
