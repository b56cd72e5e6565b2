/* SPDX-License-Identifier: BSD-2-Clause */
/* See column.h. */
#include "view/table/column.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "names/names.h"
#include "view/table/cells.h"

bool table_is_right(const struct table_column *c)
{
	return c->align == TABLE_RIGHT || c->type >= TABLE_COUNT;
}

static const void *member_of(const struct table_column *c, const void *row)
{
	return (const char *)row + c->offset;
}

static bool is_unsigned(const struct table_column *c)
{
	return c->size && c->type >= TABLE_FLAG && c->type <= TABLE_NS;
}

static const char *text_of(const struct table_column *c, const void *row)
{
	const char *text;

	if (c->size != sizeof(text))
		return member_of(c, row);
	memcpy(&text, member_of(c, row), sizeof(text));
	return text;
}

static const struct table_name *name_of(const struct table_column *c, const void *row)
{
	return member_of(c, row);
}

static bool has_text(const struct table_column *c, const void *row)
{
	return text_of(c, row) && *text_of(c, row);
}

/* The value of an unsigned member; false = not known. */
static bool unsigned_of(const struct table_column *c, const void *row, uint64_t *n)
{
	size_t size = c->type == TABLE_LIST ? sizeof(*n) : c->size;

	*n = 0;
	memcpy(n, member_of(c, row), size); /* little endian */
	return c->type == TABLE_FLAG || *n != UINT64_MAX >> (64 - 8 * size);
}

/* The value of a number's column; NaN = not known. */
static double number_of(const struct table_column *c, const void *row)
{
	double d;
	uint64_t n;

	if (is_unsigned(c))
		return unsigned_of(c, row, &n) ? (double)n : NAN;
	if (!c->size)
		return c->number(row);
	memcpy(&d, member_of(c, row), sizeof(d));
	return d;
}

/* The value of a known number, as an integer; exact if it is an unsigned member. */
static uint64_t whole(const struct table_column *c, const void *row)
{
	uint64_t n;

	if (is_unsigned(c) && unsigned_of(c, row, &n))
		return n;
	return (uint64_t)llround(fmax(0, fmin(number_of(c, row), 9e18)));
}

static void number_text(const struct table_column *c, struct strbuf *out, const void *row)
{
	double d = number_of(c, row);

	if (isnan(d))
		return;
	switch (c->type) {
	case TABLE_FLAG:
		strbuf_addstr(out, d != 0 ? "yes" : "no");
		break;
	case TABLE_ID:
		strbuf_addf(out, "%" PRIu64, whole(c, row));
		break;
	case TABLE_COUNT:
	case TABLE_LIST:
		cell_count(out, whole(c, row));
		break;
	case TABLE_WORDS:
		cell_count(out, whole(c, row));
		strbuf_addstr(out, whole(c, row) == 1 ? " word" : " words");
		break;
	case TABLE_BYTES:
		cell_bytes(out, d);
		break;
	case TABLE_NS:
		cell_ns(out, d);
		break;
	case TABLE_RATE:
		cell_rate(out, d);
		break;
	case TABLE_SHARE:
		strbuf_addf(out, "%.1f%%", 100 * d);
		break;
	case TABLE_PART:
		strbuf_addf(out, "%.1f%%", d);
		break;
	default:
		strbuf_addf(out, "%.1f", d);
	}
}

void table_cell(const struct table_column *c, struct strbuf *out, const void *row, const void *ctx)
{
	if (c->text)
		c->text(out, row, ctx);
	else if (c->type == TABLE_TEXT)
		strbuf_addstr(out, has_text(c, row) ? text_of(c, row) : "");
	else if (c->type != TABLE_NAME)
		number_text(c, out, row);
	else if (name_of(c, row)->text)
		names_format_module(out, name_of(c, row)->text, name_of(c, row)->len);
	if (c->torn && ((const bool *)row)[c->torn])
		strbuf_addch(out, '~');
}

bool table_compares_text(const struct table_column *c)
{
	return !c->compare && c->type <= TABLE_NAME;
}

int table_compare(const struct table_column *c, const void *a, const void *b)
{
	uint64_t x, y;

	if (c->compare)
		return c->compare(a, b);
	if (is_unsigned(c) && unsigned_of(c, a, &x) && unsigned_of(c, b, &y))
		return (x > y ? -1 : x < y) * (c->type == TABLE_ID ? -1 : 1);
	return cell_by_number(number_of(c, a), number_of(c, b));
}

static void json_list(struct jsonw *w, const char *name, const struct table_list *list)
{
	jsonw_begin_array(w, name);
	for (uint64_t i = 0; i < list->nr; i++)
		jsonw_string(w, NULL, list->texts[i]);
	jsonw_end_array(w);
}

void table_json_none(struct jsonw *w, const char *name, const void *row, const void *ctx)
{
	(void)w;
	(void)name;
	(void)row;
	(void)ctx;
}

void table_json_field(const struct table_column *c, struct jsonw *w, const void *row,
		      const void *ctx)
{
	struct strbuf text = STRBUF_INIT;

	if (c->json) {
		c->json(w, c->name, row, ctx);
	} else if (c->type == TABLE_OWN) {
		c->text(&text, row, ctx);
		jsonw_text(w, c->name, &text);
		strbuf_free(&text);
	} else if (c->type == TABLE_TEXT) {
		jsonw_string(w, c->name, has_text(c, row) ? text_of(c, row) : NULL);
	} else if (c->type == TABLE_NAME && name_of(c, row)->text) {
		jsonw_stringn(w, c->name, name_of(c, row)->text, name_of(c, row)->len);
	} else if (c->type == TABLE_LIST) {
		json_list(w, c->name, member_of(c, row));
	} else if (c->type == TABLE_NAME || isnan(number_of(c, row))) {
		jsonw_null(w, c->name);
	} else if (c->type == TABLE_FLAG) {
		jsonw_bool(w, c->name, number_of(c, row) != 0);
	} else if (c->type <= TABLE_NS) {
		jsonw_uint(w, c->name, whole(c, row));
	} else {
		jsonw_double(w, c->name, number_of(c, row));
	}
}

void table_json_fields(const struct table_column *columns, struct jsonw *w, const void *row,
		       const void *ctx)
{
	const struct table_column *c = columns;

	for (; c->name; c++)
		table_json_field(c, w, row, ctx);
	if (c->json)
		c->json(w, NULL, row, ctx);
}
