/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of rows.  A registry has a row for each: most say what a member of the row is, and its
 * text, its order and its JSON field follow from that; the others have functions of their own.
 * The last row has no name; its json(), if there is one, writes fields that are no column.
 */
#ifndef EBEAM_VIEW_COLUMN_H
#define EBEAM_VIEW_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/jsonw.h"
#include "base/strbuf.h"

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/*
 * What is not known is shown as "-", and null in JSON: an unsigned number with all bits set, a
 * double that is NaN, a text that is NULL or empty, a name that is NULL.
 */
enum table_type {
	TABLE_OWN,     /* as text(), compare() and json() say */
	TABLE_TEXT,    /* const char *, or an array of characters of another size */
	TABLE_NAME,    /* struct table_name: as people write it; JSON: as it is */
	TABLE_FLAG,    /* bool: "yes", "no" */
	TABLE_COUNT,   /* unsigned: "12,345" */
	TABLE_WORDS,   /* unsigned: "12,345 words" */
	TABLE_ID,      /* unsigned: "12345", lowest first */
	TABLE_LIST,    /* struct table_list: how many; JSON: all */
	TABLE_BYTES,   /* unsigned: "1.2 MiB" */
	TABLE_NS,      /* unsigned, nanoseconds: "12.3 us" */
	TABLE_RATE,    /* double, of a second: "12,345", "0.3" */
	TABLE_SHARE,   /* double, 1 = all: "12.3%" */
	TABLE_PERCENT, /* double, 100 = one CPU: "12.3" */
	TABLE_PART,    /* double, 100 = all: "12.3%" */
};

/* A module or a registered name. */
struct table_name {
	const char *text;
	size_t len;
};

struct table_list {
	uint64_t nr;
	const char **texts;
};

struct table_column {
	const char *name;  /* as in --columns and --sort, and the JSON field of the same meaning */
	const char *title; /* heading */
	enum table_align align; /* numbers stand right in any case */
	bool hidden;		/* shown only if asked for */
	/* Adds the text of the cell; nothing = shown as "-". */
	void (*text)(struct strbuf *out, const void *row, const void *ctx);
	/* The order of --sort, as qsort(3): numbers largest first, names from A to Z.  NULL = as
	 * the type says; without one by the bytes of the text. */
	int (*compare)(const void *a, const void *b);
	/* Writes the field.  NULL = as the type says; without one as a string. */
	void (*json)(struct jsonw *w, const char *name, const void *row, const void *ctx);
	enum table_type type;
	uint16_t offset, size;		   /* of the member; size 0 = the value is computed: */
	double (*number)(const void *row); /* of a number's type */
	uint16_t torn; /* offset of a bool that adds "~" to the text; 0 = none */
};

#define TABLE_MEMBER(row, member)                                                                  \
	.offset = offsetof(row, member), .size = (uint16_t)sizeof(((row *)0)->member)
/* A row of a registry: {TABLE_FIELD("size", "OBJECTS", COUNT, struct ets_row, objects)}. */
#define TABLE_FIELD(id, heading, kind, row, member)                                                \
	.name = (id), .title = (heading), .type = TABLE_##kind, TABLE_MEMBER(row, member)
/* The same of a number that is computed: by a function, which TABLE_VALUE() makes of an expression
 * of `r`, the row; NAN = not known. */
#define TABLE_NUMBER(id, heading, kind, of_row)                                                    \
	.name = (id), .title = (heading), .type = TABLE_##kind, .number = (of_row)

#define TABLE_VALUE(name, of_row, value)                                                           \
	static double name(const void *row)                                                        \
	{                                                                                          \
		const of_row *r = row;                                                             \
                                                                                                   \
		return (double)(value);                                                            \
	}

bool table_is_right(const struct table_column *c);
/* The text of a cell; nothing = not known. */
void table_cell(const struct table_column *c, struct strbuf *out, const void *row, const void *ctx);
/* The column's order is that of the text of its cells: table_compare() says nothing. */
bool table_compares_text(const struct table_column *c);
int table_compare(const struct table_column *c, const void *a, const void *b);
/* A column's json() if it is no field. */
void table_json_none(struct jsonw *w, const char *name, const void *row, const void *ctx);
/* The field of that name, in an object that has begun. */
void table_json_field(const struct table_column *c, struct jsonw *w, const void *row,
		      const void *ctx);
/* All of them, hidden ones too, and what the last row adds. */
void table_json_fields(const struct table_column *columns, struct jsonw *w, const void *row,
		       const void *ctx);

#endif
