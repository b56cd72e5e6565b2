/* SPDX-License-Identifier: BSD-2-Clause */
/* See mod_view.h. */
#include "view/inspect/mod_view.h"

#include <inttypes.h>

#define ROW(p) ((const struct mod_row *)(p))

static void col_native_address(struct strbuf *out, const void *row, const void *ctx)
{
	(void)ctx;
	if (ROW(row)->native_address)
		strbuf_addf(out, "0x%" PRIx64, ROW(row)->native_address);
}

static int by_native_address(const void *a, const void *b)
{
	uint64_t x = ROW(a)->native_address, y = ROW(b)->native_address;

	return x < y ? -1 : x > y;
}

static void json_torn(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)name;
	(void)ctx;
	if (ROW(row)->torn)
		jsonw_bool(w, "torn", true);
}

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct mod_row, member)

static const struct table_column columns[] = {
	{FIELD("module", "MODULE", TEXT, name), .torn = offsetof(struct mod_row, torn)},
	{FIELD("size", "SIZE", BYTES, size)},
	{FIELD("functions", "FUNCTIONS", COUNT, functions)},
	{FIELD("old_code", "OLD CODE", FLAG, old_code)},
	{FIELD("old_size", "OLD SIZE", BYTES, old_size), .hidden = true},
	{FIELD("nifs", "NIFS", FLAG, nifs)},
	{FIELD("on_load", "ON LOAD", FLAG, on_load), .hidden = true},
	{"native_address", "NATIVE ADDRESS", TABLE_RIGHT, .text = col_native_address,
	 .compare = by_native_address},
	{FIELD("md5", "MD5", TEXT, md5), .hidden = true},
	{.json = json_torn},
};

const struct table mod_table = {.columns = columns, .row_size = sizeof(struct mod_row)};
