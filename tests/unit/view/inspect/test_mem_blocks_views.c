/* SPDX-License-Identifier: BSD-2-Clause */
/* What `ebeam mem --carriers` and `--tags` say, and which flags they name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "lib/page.h"
#include "view/inspect/carriers_view.h"
#include "view/inspect/tags_view.h"

#define MIB ((uint64_t)1 << 20)

static struct carriers_row row_of(const char *type)
{
	return (struct carriers_row){.type = type, .acul = 60, .sbct = MIB / 2, .lmbcs = 5 * MIB};
}

static void add(struct carriers_row *r, size_t nr, uint64_t size, unsigned int used_percent)
{
	for (size_t i = 0; i < nr; i++)
		carriers_row_add(r, size, size / 100 * used_percent, false, false);
}

static void carriers_by_use(void **state)
{
	struct carriers_row rows[] = {row_of("ets_alloc"), row_of("eheap_alloc"),
				      row_of("ll_alloc")};
	struct carriers_answer a = {.types = carriers_table, .holders = carriers_holders_table};
	struct page p;

	UNUSED(state);
	carriers_row_add(&rows[0], 4096, 4096, false, false);
	carriers_row_add(&rows[0], 4096, 409, false, true);
	carriers_row_add(&rows[1], 8192, 4096, false, false);
	carriers_row_add(&rows[1], 8192, 8000, true, false);
	carriers_row_add(&rows[1], 8192, 0, false, false);
	rows[0].largest_free = 3000;
	rows[0].free_blocks = 1;
	a.types.rows = rows;
	a.types.nr_rows = 3;
	assert_int_equal(carriers_view_write(page_open(&p), &a,
					     &(struct table_options){.sort = "unused", .limit = 2},
					     NULL),
			 0);
	page_expect(&p, "5 carriers hold 32.0 KiB, 15.8 KiB of it unused (50.7% used)\n\n"
			"ALLOCATOR      UNUSED   USED  CARRIERS SIZE  CARRIERS  POOLED  SINGLE  "
			"LARGEST FREE  FREE BLOCKS  BLOCKS\n"
			"eheap_alloc  12.2 KiB  49.2%       24.0 KiB         3       0       1  "
			"         0 B            0       0\n"
			"ets_alloc     3.6 KiB  55.0%        8.0 KiB         2       1       0  "
			"     2.9 KiB            1       0\n"
			"(2 of 3; -n shows more)\n"
			"\n"
			"ALLOCATOR     IN USE  CARRIERS  CARRIERS SIZE   UNUSED\n"
			"eheap_alloc    0-10%         1        8.0 KiB  8.0 KiB\n"
			"eheap_alloc   50-60%         1        8.0 KiB  4.0 KiB\n"
			"eheap_alloc  90-100%         1        8.0 KiB    192 B\n"
			"ets_alloc      0-10%         1        4.0 KiB  3.6 KiB\n"
			"ets_alloc    90-100%         1        4.0 KiB      0 B\n");
	carriers_view_json(page_open_json(&p), &a, &(struct table_options){.sort = "type"});
	page_has(&p, "\"carriers\": [{\"type\": \"eheap_alloc\", \"unused\": 12480,");
	page_has(&p,
		 "\"use\": [{\"from\": 0, \"to\": 10, \"carriers\": 1, \"carriers_size\": 8192, "
		 "\"unused\": 8192}, {\"from\": 10,");
	page_has(&p, "\"acul\": 60, \"sbct\": 524288, \"lmbcs\": 5242880,");
	page_has(&p, "\"flags\": []");
	page_has(&p, "\"sparse_below\": 0, \"holders\": []");
	page_close(&p);
}

/* The flags that are named for a row, "acul as". */
static const char *flags_of(const struct carriers_row *r)
{
	static char flags[64];
	char text[CARRIERS_ADVICE_SIZE];
	const char *flag;

	flags[0] = '\0';
	for (unsigned int i = 0; carriers_advice(r, i, &flag, text); i++) {
		snprintf(flags + strlen(flags), sizeof(flags) - strlen(flags), "%s%s", i ? " " : "",
			 flag);
		assert_memory_equal(text, "+M", 2);
		assert_in_range(strlen(text), 20, CARRIERS_ADVICE_SIZE - 2);
	}
	return flags;
}

static void flags_only_where_figures_say_so(void **state)
{
	struct carriers_row r = row_of("binary_alloc");

	UNUSED(state);
	assert_string_equal(flags_of(&r), "");
	add(&r, 3, MIB, 5); /* too little */
	assert_string_equal(flags_of(&r), "");
	add(&r, 100, MIB, 5); /* small carriers, of a pool */
	r.largest_free = MIB;
	r.free_blocks = 103;
	assert_string_equal(flags_of(&r), "");
	r.acul = 0;
	assert_string_equal(flags_of(&r), "acul");
	r.type = "temp_alloc"; /* has no such flag */
	assert_string_equal(flags_of(&r), "");
	r = row_of("ets_alloc");
	add(&r, 40, 5 * MIB, 20);
	r.largest_free = 4 * MIB;
	assert_string_equal(flags_of(&r), "lmbcs");
	r.lmbcs = UINT64_MAX;
	assert_string_equal(flags_of(&r), "");
	/* The same in small pieces, in carriers that are in use by half. */
	r = row_of("ets_alloc");
	add(&r, 40, 5 * MIB, 55);
	r.free_blocks = 100000;
	r.largest_free = 10 * MIB;
	assert_string_equal(flags_of(&r), "");
	r.largest_free = 10000;
	assert_string_equal(flags_of(&r), "as");
	add(&r, 1000, 5 * MIB, 98); /* little of all that they hold */
	assert_string_equal(flags_of(&r), "");
	for (int i = 0; i < 1000; i++)
		carriers_row_add(&r, MIB, MIB - 40, true, false);
	assert_string_equal(flags_of(&r), "sbct");
}

static void lines_about_flags(void **state)
{
	struct carriers_row r = row_of("eheap_alloc");
	struct carriers_answer a = {.types = carriers_table, .holders = carriers_holders_table};
	struct page p;

	UNUSED(state);
	r.acul = 0;
	add(&r, 40, 5 * MIB, 20);
	a.types.rows = &r;
	a.types.nr_rows = 1;
	assert_int_equal(carriers_view_write(page_open(&p), &a, &(struct table_options){0}, NULL),
			 0);
	page_has(&p, "\n\n+MHacul de: 160.0 MiB are unused in carriers with less than 30% in use, "
		     "and other instances cannot take these: carriers do not migrate\n"
		     "+MHlmbcs: 40 carriers with less than 30% in use keep 160.0 MiB; smaller ones "
		     "(now up to 5.0 MiB) are empty sooner, and given back\n");
	page_close(&p);
}

/* Who keeps much is said first; who has blocks only beside others is not. */
static void holders_of_blocks(void **state)
{
	const struct carriers_holder holders[] = {
		{.allocator = "eheap_alloc",
		 .kind = "other",
		 .in = {9, 90 * MIB, 80 * MIB},
		 .blocks = 10,
		 .blocks_size = 1024},
		{.allocator = "eheap_alloc",
		 .kind = "process",
		 .holder = "my_batch:row/1",
		 .holders = 900,
		 .in = {40, 200 * MIB, 180 * MIB},
		 .alone = 38,
		 .blocks = 1800,
		 .blocks_size = 19 * MIB},
		{.allocator = "eheap_alloc",
		 .kind = "process",
		 .holder = "beside",
		 .holders = 1,
		 .in = {8, 64 * MIB, 60 * MIB},
		 .blocks = 1,
		 .blocks_size = 1024},
		{.allocator = "ets_alloc",
		 .kind = "table",
		 .holder = "cache",
		 .holders = 1,
		 .in = {4, 20 * MIB, 19 * MIB},
		 .alone = 4,
		 .blocks = 99,
		 .blocks_size = MIB},
		{.allocator = "ets_alloc",
		 .kind = "table",
		 .holder = "one",
		 .holders = 1,
		 .in = {1, 17 * MIB, 16 * MIB},
		 .alone = 1,
		 .blocks = 9,
		 .blocks_size = MIB},
	};
	struct carriers_row row = row_of("eheap_alloc");
	struct carriers_answer a = {
		.types = carriers_table, .holders = carriers_holders_table, .percent = 30};
	struct page p;

	UNUSED(state);
	a.types.rows = &row;
	a.types.nr_rows = 1;
	a.holders.rows = holders;
	a.holders.nr_rows = ARRAY_SIZE(holders);
	assert_int_equal(carriers_view_write(page_open(&p), &a, &(struct table_options){0}, NULL),
			 0);
	page_has(&p, "\n\n900 processes of my_batch:row/1 keep 40 carriers of eheap_alloc with "
		     "200.0 MiB: 20.0 MiB in use, 19.0 MiB of it theirs; in 38 of them nobody else "
		     "has a block\n"
		     "1 table cache keeps 4 carriers of ets_alloc with 20.0 MiB: 1.0 MiB in use, "
		     "1.0 MiB of it theirs, where nobody else has a block\n"
		     "1 table one keeps 1 carrier of ets_alloc with 17.0 MiB: 1.0 MiB in use, "
		     "1.0 MiB of it theirs, where nobody else has a block\n\n"
		     "ALLOCATOR ");
	page_has(&p, "\nWho has blocks in carriers with less than 30% in use\n"
		     "ALLOCATOR    WHO             KIND     NUMBER     UNUSED  CARRIERS  CARRIERS "
		     "SIZE  ALONE  BLOCKS  BLOCKS SIZE\n"
		     "eheap_alloc  my_batch:row/1  process     900  180.0 MiB        40      200.0 "
		     "MiB     38   1,800     19.0 MiB\n"
		     "eheap_alloc  (other)         other         -   80.0 MiB ");
	page_has(&p, "\na carrier counts for each who has a block in it; (other): blocks of no ");
	page_close(&p);
	carriers_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "{\"allocator\": \"eheap_alloc\", \"holder\": null, \"kind\": \"other\", "
		     "\"holders\": 0, \"unused\": 83886080, \"carriers\": 9, ");
	page_close(&p);
}

static void blocks_by_origin(void **state)
{
	const struct tags_size sizes[] = {{48, 1}, {48, 1000}, {80, 1}}; /* 64 and 256 bytes */
	const struct tags_row rows[] = {
		{.blocks = 1, .size = 64, .smallest = 64, .largest = 64, .sizes = 0, .nr_sizes = 1},
		{.origin = "system",
		 .is_module = true,
		 .type = "binary",
		 .blocks = 1000,
		 .size = 64000,
		 .smallest = 64,
		 .largest = 64,
		 .sizes = 1,
		 .nr_sizes = 1},
		{.origin = "Elixir.My.Nif",
		 .is_module = true,
		 .type = "nif_internal",
		 .blocks = 1,
		 .size = 260,
		 .smallest = 260,
		 .largest = 260,
		 .sizes = 2,
		 .nr_sizes = 1},
	};
	const struct tags_allocator allocators[] = {
		{"binary_alloc", true, false, 1002, 65536, 0, 0},
		{"ets_alloc", false, false, 0, 0, 12345, 4096},
		{"ll_alloc", false, false, 0, 0, 1, 1024},
	};
	struct tags_answer a = {
		.rows = tags_table, .sizes = sizes, .allocators = allocators, .nr_allocators = 3};
	const struct table_options by_size = {.sort = "blocks_size", .limit = 2};
	struct page p;

	UNUSED(state);
	a.rows.rows = rows;
	a.rows.nr_rows = 3;
	a.rows.ctx = &a;
	assert_int_equal(histogram_bucket(64), 48);
	assert_int_equal(histogram_bucket(260), 80);
	assert_int_equal(tags_view_write(page_open(&p), &a, &by_size, false, NULL), 0);
	page_expect(&p,
		    "Tagged: 1,002 blocks, 64.0 KiB\n"
		    "Not tagged: 12,346 blocks, 5.0 KiB, of ets_alloc 4.0 KiB, ll_alloc 1.0 KiB\n"
		    "(erl +Muatags true tags the blocks of all allocators)\n"
		    "\n"
		    "ORIGIN  TYPE          BLOCKS SIZE  BLOCKS   MEAN  LARGEST\n"
		    "system  binary           62.5 KiB   1,000   64 B     64 B\n"
		    "My.Nif  nif_internal        260 B       1  260 B    260 B\n"
		    "(2 of 3; -n shows more)\n");
	assert_int_equal(tags_view_write(page_open(&p), &a, &by_size, true, NULL), 0);
	page_has(&p, "\n\nsystem binary  1,000  p50 64 B  p90 64 B  p99 64 B  max 64 B\n"
		     "  ");
	page_has(&p, "\n\nMy.Nif nif_internal  1  p50 260 B");
	page_has(&p, "|\n(2 of 3; -n shows more)\n");
	page_close(&p);
	tags_view_json(page_open_json(&p), &a, &(struct table_options){.sort = "blocks"});
	page_has(&p,
		 "\"by\": \"module\", \"tags\": [{\"origin\": \"system\", \"type\": \"binary\", "
		 "\"blocks_size\": 64000, \"blocks\": 1000,");
	page_has(&p, "{\"origin\": \"Elixir.My.Nif\",");
	page_has(&p, "{\"origin\": null, \"type\": null,");
	page_has(&p, "\"buckets\": [{\"from\": 64, \"to\": 127, \"count\": 1000}]");
	page_has(
		&p,
		"{\"type\": \"ets_alloc\", \"tags\": false, \"function_tags\": false, "
		"\"tagged\": 0, \"tagged_size\": 0, \"untagged\": 12345, \"untagged_size\": 4096}");
	page_close(&p);
	a.rows.nr_rows = 0;
	a.nr_allocators = 1;
	assert_int_equal(
		tags_view_write(page_open(&p), &a, &(struct table_options){0}, false, NULL), 0);
	page_expect(&p, "Tagged: 1,002 blocks, 64.0 KiB\n");
}

static void blocks_grow(void **state)
{
	const struct tags_row rows[] = {
		{.origin = "system",
		 .type = "binary",
		 .blocks = 9,
		 .size = 1024,
		 .size_per_s = 0,
		 .blocks_per_s = 0,
		 .grew = 0},
		{.origin = "jiffy",
		 .type = "nif_internal",
		 .blocks = 2,
		 .size = 128,
		 .size_per_s = 64,
		 .blocks_per_s = 1,
		 .grew = 128},
	};
	struct tags_answer a = {.rows = tags_table, .watch = true, .grows = true};
	struct page p;

	UNUSED(state);
	a.rows.rows = rows;
	a.rows.nr_rows = 2;
	a.rows.ctx = &a;
	assert_int_equal(tags_view_write(page_open(&p), &a,
					 &(struct table_options){.sort = "blocks_size_grew"}, false,
					 NULL),
			 0);
	page_has(&p, "ORIGIN  TYPE           GREW  GROWTH/S  BLOCKS/S  BLOCKS SIZE  BLOCKS   MEAN "
		     " LARGEST\n"
		     "jiffy   nif_internal  128 B      64 B       1.0        128 B       2   64 B "
		     "     0 B\n"
		     "system  binary          0 B       0 B         0      1.0 KiB       9  114 B "
		     "     0 B\n");
	page_close(&p);
	tags_view_json(page_open_json(&p), &a, &(struct table_options){0});
	page_has(&p, "\"blocks_size_per_s\": 64, \"blocks_per_s\": 1, \"blocks_size_grew\": 128");
	page_close(&p);
}

/* Processes have names; what is not tagged so has the flag that does it. */
static void blocks_by_owner(void **state)
{
	const struct tags_row rows[] = {
		{.origin = "<0.80.0>",
		 .term = 0x503,
		 .name = "my_server",
		 .type = "binary",
		 .blocks = 2,
		 .size = 128},
		{.origin = "<0.81.0>", .term = 0x513, .type = "binary", .blocks = 1, .size = 64},
	};
	const struct tags_row sum = {.type = "binary", .blocks = 3, .size = 192, .largest = 64};
	struct tags_allocator binaries = {"binary_alloc", true, false, 3, 192, 0, 0};
	struct tags_answer a = {.by = TAGS_BY_PROCESS,
				.rows = tags_table,
				.allocators = &binaries,
				.nr_allocators = 1};
	struct page p;

	UNUSED(state);
	a.rows.rows = rows;
	a.rows.nr_rows = 2;
	a.rows.ctx = &a;
	assert_int_equal(
		tags_view_write(page_open(&p), &a, &(struct table_options){0}, false, NULL), 0);
	page_expect(&p, "Tagged: 3 blocks, 192 B\n\n"
			"ORIGIN    TYPE    BLOCKS SIZE  BLOCKS  MEAN  LARGEST  NAME\n"
			"<0.80.0>  binary        128 B       2  64 B      0 B  my_server\n"
			"<0.81.0>  binary         64 B       1  64 B      0 B  -\n");
	binaries.function_tags = true;
	assert_int_equal(
		tags_view_write(page_open(&p), &a, &(struct table_options){0}, false, NULL), 0);
	page_has(&p, "functions instead of processes: +M...atags code)");
	page_close(&p);
	binaries.function_tags = false;
	a.by = TAGS_BY_FUNCTION;
	assert_int_equal(
		tags_view_write(page_open(&p), &a, &(struct table_options){0}, false, NULL), 0);
	page_has(&p, "(erl +Muatags code tags blocks with functions)\n");
	page_close(&p);
	a.by = TAGS_BY_TYPE;
	a.rows.rows = &sum;
	a.rows.nr_rows = 1;
	assert_int_equal(
		tags_view_write(page_open(&p), &a, &(struct table_options){0}, false, NULL), 0);
	page_expect(&p, "Tagged: 3 blocks, 192 B\n\n"
			"TYPE    BLOCKS SIZE  BLOCKS  MEAN  LARGEST\n"
			"binary        192 B       3  64 B     64 B\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carriers_by_use),
		cmocka_unit_test(flags_only_where_figures_say_so),
		cmocka_unit_test(lines_about_flags),
		cmocka_unit_test(holders_of_blocks),
		cmocka_unit_test(blocks_by_origin),
		cmocka_unit_test(blocks_by_owner),
		cmocka_unit_test(blocks_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
