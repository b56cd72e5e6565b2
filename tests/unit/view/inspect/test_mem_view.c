/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam mem` says: text and JSON of answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/inspect/mem_view.h"

#define MIB (1024u * 1024)

static struct mem_answer mem_answer(void)
{
	static const struct mem_row row = {
		.type = "eheap_alloc", .instances = 2, .all = {100, 6 * MIB, 3, 8 * MIB}};
	struct mem_answer a = {
		.rss = {.known = true,
			.total = 20 * MIB,
			.swap = 1024,
			.huge_pages = 2 * MIB,
			.carriers = 10 * MIB,
			.malloc = 9 * MIB,
			.other = MIB,
			.cgroup = "/app\033",
			.limit = 80 * MIB,
			.current = 40 * MIB,
			.some = 1.25,
			.full = -1,
			.oom_score = 667},
		.counts = {.atoms = {1000, 4000},
			   .processes = {UINT64_MAX, 262144},
			   .ports = {7, UINT64_MAX},
			   .ets = {UINT64_MAX, UINT64_MAX}},
		.total = 8 * MIB,
		.processes = 2 * MIB,
		.code = UINT64_MAX,
		.types = mem_table,
		.instances = mem_table,
	};

	a.types.rows = a.instances.rows = &row;
	a.types.nr_rows = a.instances.nr_rows = 1;
	return a;
}

static void mem_has_what_rss_consists_of(void **state)
{
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	page_has(&p, "RSS                   20.0 MiB  100.0%\n"
		     "  VM carriers         10.0 MiB   50.0%  (of 8.0 MiB: 6.0 MiB in blocks, 2.0 "
		     "MiB in no block)\n"
		     "  cached segments          0 B    0.0%\n");
	page_has(&p, "  other                1.0 MiB    5.0%\n"
		     "swap                   1.0 KiB\n"
		     "huge pages             2.0 MiB   10.0%\n"
		     "cgroup                40.0 MiB   50.0% of its limit of 80.0 MiB; waited for "
		     "memory: some tasks 1.2%, all 0.0% of 10 s  (/app\\e)\n"
		     "oom_score                  667\n\n"
		     "atoms                    1,000   25.0% of 4,000\n"
		     "processes                    ? of 262,144\n"
		     "ports                        7\n"
		     "ETS tables                   ?\n\n"
		     "What erlang:memory() says, and what else of 'system' is left:\n"
		     "total                  8.0 MiB  100.0%\n");
	page_has(&p, "    code                     ?\n");
	page_close(&p);

	a.rss = (struct mem_rss){.cgroup = ""};
	a.types.nr_rows = 0; /* allocators that are switched off */
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	assert_ptr_equal(strstr(page_text(&p), "atoms "), page_text(&p));
	assert_null(strstr(page_text(&p), "Allocators hold"));
	page_close(&p);
}

static void mem_has_what_is_in_no_other_row(void **state)
{
	static const struct mem_row rows[] = {
		{.type = "binary_alloc", .all = {100, 6 * MIB, 3, 8 * MIB}},
		{.type = "ll_alloc", .all = {100, 4 * MIB, 3, 8 * MIB}},
		{.type = "driver_alloc", .all = {10, 3 * MIB, 3, 8 * MIB}},
		{.type = "sl_alloc", .all = {10, 0, 1, MIB}},
	};
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	a.total = 16 * MIB;
	a.other = 5 * MIB;
	a.types.rows = a.instances.rows = rows;
	a.types.nr_rows = a.instances.nr_rows = ARRAY_SIZE(rows);
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	page_has(&p, "    other              5.0 MiB   31.2%  (ll_alloc at most 2.0 MiB, "
		     "driver_alloc 3.0 MiB)\n");
	page_close(&p);
	a.other = UINT64_MAX;
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	page_has(&p, "    other                    ?\n");
	page_close(&p);
}

static void mem_json_has_null_for_what_is_not_known(void **state)
{
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	mem_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"rss\": {\"total\": 20971520, \"carriers\": 10485760, ");
	page_has(&p, "\"oom_score\": 667, \"cgroup\": {\"path\": \"/app\\u001b\", \"limit\": "
		     "83886080, \"current\": 41943040, \"pressure_some_avg10\": 1.25, "
		     "\"pressure_full_avg10\": null}}");
	page_has(&p, "\"counts\": {\"atoms\": {\"count\": 1000, \"limit\": 4000}, \"processes\": "
		     "{\"count\": null, \"limit\": 262144}, ");
	assert_null(strstr(page_text(&p), "growth_per_s"));
	page_close(&p);

	a.rss = (struct mem_rss){.cgroup = ""};
	a.watch = true;
	mem_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"rss\": null, ");
	page_has(&p, "\"growth_per_s\": {\"total\": null, ");
	page_close(&p);
}

static void mem_grows(void **state)
{
	const struct mem_answer before = mem_answer();
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	a.watch = true;
	a.before = &before;
	a.seconds = 2;
	a.total += 5 * MIB;
	a.rss.malloc -= 4 * MIB;
	a.rss.total -= 4 * MIB;
	a.counts.atoms.count += 30;
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	page_has(&p, "RSS                   16.0 MiB  100.0%  -2.0 MiB/s\n");
	page_has(&p, "  malloc               5.0 MiB   31.2%  -2.0 MiB/s\n");
	page_has(&p, "atoms                    1,030   25.8% of 4,000  +15/s\n");
	page_has(&p, "ports                        7\n");
	page_has(&p, "total                 13.0 MiB  100.0%  +2.5 MiB/s\n");
	page_close(&p);
	mem_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"growth_per_s\": {\"total\": 2621440, \"processes\": 0, ");
	page_has(&p, "\"code\": null, ");
	page_has(&p, "\"rss\": {\"total\": -2097152, \"carriers\": 0, ");
	page_has(&p, "\"counts\": {\"atoms\": 15, \"processes\": null, \"ports\": 0, ");
	page_close(&p);
}

/* What grew most comes first, even with less waste, and with who says more of it. */
static void allocators_grow(void **state)
{
	const struct mem_answer before = mem_answer();
	const struct mem_row rows[] = {
		{.type = "eheap_alloc",
		 .instances = 2,
		 .all = {100, 2 * MIB, 3, 8 * MIB},
		 .size_per_s = -1024,
		 .blocks_per_s = -3,
		 .grew = -4096,
		 .growing = true},
		{.type = "ll_alloc", .instances = 1, .all = {1, MIB, 1, MIB}, .growing = true},
		{.type = "driver_alloc",
		 .instances = 2,
		 .all = {256, MIB, 1, MIB},
		 .size_per_s = MIB,
		 .blocks_per_s = 256,
		 .grew = 4 * MIB,
		 .growing = true},
	};
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	a.watch = true;
	a.before = a.first = &before;
	a.seconds = 2;
	a.since_first = 4;
	a.types.rows = a.instances.rows = rows;
	a.types.nr_rows = a.instances.nr_rows = ARRAY_SIZE(rows);
	a.rss.malloc += 2 * MIB;
	assert_int_equal(mem_view_write(page_open(&p), &a,
					&(struct table_options){.sort = "blocks_size_grew"}, NULL),
			 0);
	page_has(&p, "ALLOCATOR     INSTANCE      GREW  GROWTH/S  BLOCKS/S   WASTED ");
	page_has(&p, "\ndriver_alloc     all 2   4.0 MiB   1.0 MiB       256      0 B ");
	page_has(&p, "\nll_alloc         all 1       0 B       0 B         0      0 B ");
	page_has(&p, "\neheap_alloc      all 2  -4.0 KiB  -1.0 KiB      -3.0  6.0 MiB ");
	page_has(&p, "\n\ndriver_alloc grew by 1.0 MiB/s in 4 s: ebeam mem --tags --watch 5s "
		     "(NIFs and drivers that allocate)\n"
		     "malloc grew by 512.0 KiB/s in 4 s: ebeam record --mode malloc --leak -d 1m "
		     "-f text (who allocates)\n");
	page_close(&p);
	mem_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"blocks_size_per_s\": 1048576, \"blocks_per_s\": 256, "
		     "\"blocks_size_grew\": 4194304}");
	page_close(&p);
}

static void mem_shows_atoms(void **state)
{
	static const struct mem_atom rows[] = {{12, "'a b'"}, {11, NULL}, {10, "c"}};
	const struct mem_answer a = mem_answer();
	struct table t = mem_atoms_table;
	struct page p;

	UNUSED(state);
	t.rows = rows;
	t.nr_rows = 3;
	assert_int_equal(mem_atoms_write(page_open(&p), &a, &t, &(struct table_options){0}, NULL),
			 0);
	page_expect(&p, "atoms                    1,000   25.0% of 4,000\n\n"
			"INDEX  ATOM\n   12  'a b'\n   11  -\n   10  c\n");
	mem_atoms_json(page_open_json(&p), &a, &t, &(struct table_options){.limit = 2});
	page_has(&p, "{\"index\": 12, \"atom\": \"'a b'\"}");
	page_has(&p, "{\"index\": 11, \"atom\": null}");
	assert_null(strstr(page_text(&p), "\"c\""));
	page_close(&p);
}

/* The line below atoms of these names, "" = there is none. */
static void check_beginning(const char *const *names, size_t nr, const char *want)
{
	struct mem_atom rows[16];
	const struct mem_answer a = mem_answer();
	struct table t = mem_atoms_table;
	const char *line;
	struct page p;

	for (size_t i = 0; i < nr; i++)
		rows[i] = (struct mem_atom){(uint32_t)i, names[i]};
	t.rows = rows;
	t.nr_rows = nr;
	assert_int_equal(mem_atoms_write(page_open(&p), &a, &t, &(struct table_options){0}, NULL),
			 0);
	line = strstr(page_text(&p), " of the newest ");
	assert_int_equal(line != NULL, *want != '\0');
	if (line)
		page_has(&p, want);
	page_close(&p);
}

static void mem_leads_to_what_is_large(void **state)
{
	static const struct mem_row rows[] = {
		{.type = "binary_alloc", .all = {1, 40 * MIB, 1, 80 * MIB}},
		{.type = "ets_alloc", .all = {1, MIB, 1, 2 * MIB}},
	};
	struct mem_answer a = mem_answer();
	struct page p;

	UNUSED(state);
	a.os_pid = 7;
	a.types.rows = rows;
	a.types.nr_rows = ARRAY_SIZE(rows);
	a.rss.malloc = 33 * MIB;
	a.rss.total = 100 * MIB;
	assert_int_equal(mem_view_write(page_open(&p), &a, &(struct table_options){0}, NULL), 0);
	page_has(&p, "\n\n41.0 MiB of carriers are in no block (fragmentation): ebeam mem -p 7 "
		     "--carriers (who keeps them)\n"
		     "binary_alloc has 40.0 MiB: ebeam bin -p 7 (who holds binaries)\n"
		     "malloc has 33.0 MiB: ebeam record -p 7 --mode malloc --leak -d 1m -f text "
		     "(who allocates)\n");
	page_close(&p);
}

static void atoms_with_one_beginning(void **state)
{
	static const char *const names[] = {"cmp1a", "cmp2a", "cmp1b", "'cmp x'", "cmp9", "ok",
					    "cmp7",  "cmp",   "no",    NULL,	  "cmpz"};
	static const char *const keys[] = {"user_10", "user_11", "user_12", "user_13", "user_14",
					   "user_15", "user_16", "user_17", "user_18", "user_19"};
	static const char *const wide[] = {"\xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4\xc3\xb6",
					   "\xc3\xa4\xc3\xa4\xc3\xbc", "\xc3\xa4\xc3\xa4\xc3\x9f",
					   "\xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4\xc3\xa4",
					   "\xc3\xa4\xc3\xa4\xc3\xa4", "\xc3\xa4\xc3\xa4\xc3\xa4",
					   "\xc3\xa4\xc3\xa4\xc3\xb6", "\xc3\xa4\xc3\xa4\xc3\xb6"};
	static const char *const none[] = {"a", "bc", "d", "e", "f", "g", "h", "i", "j", "k"};

	UNUSED(state);
	check_beginning(names, ARRAY_SIZE(names), "\n8 of the newest 11 begin with 'cmp'\n");
	check_beginning(keys, ARRAY_SIZE(keys), "\n10 of the newest 10 begin with 'user_1'\n");
	check_beginning(wide, ARRAY_SIZE(wide),
			"\n10 of the newest 10 begin with '\xc3\xa4\xc3\xa4'\n");
	check_beginning(none, ARRAY_SIZE(none), "");
	check_beginning(keys, 9, ""); /* too few */
	check_beginning(NULL, 0, "");
}

static void atoms_fill_their_table(void **state)
{
	const struct mem_answer first = mem_answer();
	struct mem_answer a = mem_answer();
	struct table t = mem_atoms_table;
	struct page p;

	UNUSED(state);
	a.watch = true;
	a.before = a.first = &first;
	a.seconds = a.since_first = 4;
	a.counts.atoms.count += 2;
	assert_int_equal(mem_atoms_write(page_open(&p), &a, &t, &(struct table_options){0}, NULL),
			 0);
	page_has(&p, "+0.5/s\n\nINDEX  ATOM\n2 new in 4 s, 0.5/s: at this rate the table is full, "
		     "and the node ends, in 1h39m\n");
	page_close(&p);
}

static void mem_shows_persistent_terms(void **state)
{
	static const struct mem_persistent rows[] = {{"{a,1}", 2000, 16000}, {NULL, 3, 24}};
	struct table t = mem_persistent_table;
	struct page p;

	UNUSED(state);
	t.rows = rows;
	t.nr_rows = 2;
	assert_int_equal(
		mem_persistent_write(page_open(&p), &t, 17000, &(struct table_options){0}, NULL),
		0);
	page_expect(&p, "2 persistent terms, 16.6 KiB with their table\n\n"
			"  MEMORY  WORDS  KEY\n15.6 KiB  2,000  {a,1}\n    24 B      3  -\n");
	mem_persistent_json(page_open_json(&p), &t, 17000, &(struct table_options){0});
	page_has(&p, "\"count\": 2, \"memory\": 17000, ");
	page_has(&p, "{\"bytes\": 24, \"words\": 3, \"key\": null}");
	page_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mem_has_what_rss_consists_of),
		cmocka_unit_test(mem_has_what_is_in_no_other_row),
		cmocka_unit_test(mem_json_has_null_for_what_is_not_known),
		cmocka_unit_test(mem_grows),
		cmocka_unit_test(allocators_grow),
		cmocka_unit_test(mem_shows_atoms),
		cmocka_unit_test(mem_leads_to_what_is_large),
		cmocka_unit_test(atoms_with_one_beginning),
		cmocka_unit_test(atoms_fill_their_table),
		cmocka_unit_test(mem_shows_persistent_terms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
