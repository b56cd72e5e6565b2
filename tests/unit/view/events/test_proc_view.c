/* SPDX-License-Identifier: BSD-2-Clause */
/* An answer of `ebeam proc` as text, and parents and names as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/events/proc_view.h"

#define NO_LIFE .mean_lifetime_ns = NAN, .max_lifetime_ns = NAN

static struct proc_row rows[] = {
	{.group = "m:f/1", .spawned = 1, .living = UINT64_MAX, .spawned_per_s = 0.5, NO_LIFE}};
static struct proc_row parents[] = {
	{.group = "my_sup",
	 .spawned = 50000,
	 .exited = 8,
	 .crashed = 8,
	 .living = 49992,
	 .spawned_per_s = 25000,
	 .mean_lifetime_ns = 1999.7,
	 .max_lifetime_ns = 3000,
	 .last_crash = "{bad,\"\033\"}",
	 .restart_loop = true,
	 .spawn_storm = true,
	 .piles_up = true},
	{.group = "b",
	 .spawned = 30000,
	 .living = 7,
	 .spawned_per_s = 15000,
	 NO_LIFE,
	 .spawn_storm = true},
};
static struct proc_reason reasons[] = {{"normal", false, 9, 4.5}};
static struct proc_name names[] = {{"[others]", 2, 0, false}, {"worker", 3, 2, true}};
static const struct histogram no_lifetimes;

static const struct proc_answer answer = {
	.span_ns = 2000000000u,
	.by = PROCESS_GROUP_INITIAL_CALL,
	.counts = {{"spawned", "80,001", 80001}, {"taken", "0", 0}},
	.nr_counts = 2,
	.parent_unknown = 1234,
	.rows = rows,
	.parents = parents,
	.reasons = reasons,
	.names = names,
	.nr_rows = ARRAY_SIZE(rows),
	.nr_parents = ARRAY_SIZE(parents),
	.nr_reasons = ARRAY_SIZE(reasons),
	.nr_names = ARRAY_SIZE(names),
	.lifetimes = &no_lifetimes,
};

static void as_text(void **state)
{
	const struct table_options o = {.columns = "group,spawned,living,mean_lifetime_ns"};
	struct page p;

	UNUSED(state);
	page_answer(&p, &proc_view, &answer, &o);
	page_expect(&p,
		    "2.0 s  spawned 80,001 (40,001/s)  taken 0\n"
		    "! restart loop? my_sup started 50,000 (25,000/s), 8 of its processes crashed: "
		    "{bad,\"\\e\"}, 49,992 live\n"
		    "! spawn storm: b started 30,000 (15,000/s)\n"
		    "\n"
		    "INITIAL CALL  SPAWNED  LIVING  MEAN LIFE\n"
		    "m:f/1               1       -          -\n"
		    "\n"
		    "Parents (not known of 1,234 processes that exited)\n"
		    "  SPAWNED      /S  EXITED  CRASHED  LIVING  MEAN LIFE  MAX LIFE  PARENT  "
		    "LAST CRASH\n"
		    "   50,000  25,000       8        8  49,992    2.00 us   3.00 us  my_sup  "
		    "{bad,\"\\e\"}\n"
		    "   30,000  15,000       0        0       7          -         -  b       -\n"
		    "\n"
		    "Exit reasons\n"
		    "  EXITS   /S  CRASH  REASON\n"
		    "      9  4.5  no     normal\n"
		    "\n"
		    "Names that were registered more than once\n"
		    "         3  worker\n");
}

static void as_json(void **state)
{
	const struct table_options o = {.limit = 1, .sort = "-living"};
	struct page p;

	UNUSED(state);
	page_answer_json(&p, &proc_view, &answer, &o);
	page_has(&p,
		 "\"parents\": [{\"spawned\": 50000, \"spawned_per_s\": 25000, \"exited\": 8, "
		 "\"crashed\": 8, \"living\": 49992, \"mean_lifetime_ns\": 1999, "
		 "\"max_lifetime_ns\": 3000, \"parent\": \"my_sup\", "
		 "\"last_crash\": \"{bad,\\\"\\u001b\\\"}\", \"restart_loop\": true, "
		 "\"spawn_storm\": true, \"piles_up\": true}], "
		 "\"reasons\": [{\"exits\": 9, \"crash\": false, \"reason\": \"normal\"}], "
		 "\"names\": [{\"name\": \"[others]\", \"registered\": 2, \"unregistered\": 0}], ");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_text),
		cmocka_unit_test(as_json),
	};

	return cmocka_run_group_tests_name("proc_view", tests, NULL, NULL);
}
