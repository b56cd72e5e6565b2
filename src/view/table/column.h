/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Columns of tables.  A registry is an array of the columns of one kind of row.  Most columns name
 * a member of the row and its type, which define the text of a cell, the order of rows and the JSON
 * field; other columns have functions for these.  A column without name ends the registry; its
 * json(), if any, writes JSON fields for which there is no column.
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
 * These values mean "not known", shown as "-" and null in JSON: an unsigned number with all bits
 * set, a double that is NaN, a text that is NULL or empty, a name that is NULL.
 */
enum table_type {
	TABLE_OWN,     /* no member: text(), compare() and json() define it */
	TABLE_TEXT,    /* const char *, or (by its size) an array of characters */
	TABLE_NAME,    /* struct table_name: "My.Worker"; JSON: "Elixir.My.Worker" */
	TABLE_FLAG,    /* bool: "yes", "no" */
	TABLE_COUNT,   /* unsigned: "12,345" */
	TABLE_WORDS,   /* unsigned: "12,345 words" */
	TABLE_ID,      /* unsigned: "12345", lowest first */
	TABLE_LIST,    /* struct table_list: the number of elements; JSON: all of them */
	TABLE_BYTES,   /* unsigned: "1.2 MiB" */
	TABLE_NS,      /* unsigned, nanoseconds: "12.3 us" */
	TABLE_RATE,    /* double, per second: "12,345", "0.3" */
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
	const char *name;	/* in --columns and --sort; also the name of the JSON field */
	const char *title;	/* heading */
	enum table_align align; /* numbers are always aligned right */
	bool hidden;		/* only shown with --columns */
	/* Adds the text of the cell; nothing = shown as "-". */
	void (*text)(struct strbuf *out, const void *row, const void *ctx);
	/* The order of --sort, as qsort(3): numbers largest first, names from A to Z.  NULL = the
	 * order of the type; of TABLE_OWN by the bytes of the text. */
	int (*compare)(const void *a, const void *b);
	/* Writes the JSON field.  NULL = as the type; of TABLE_OWN as a string. */
	void (*json)(struct jsonw *w, const char *name, const void *row, const void *ctx);
	enum table_type type;
	uint16_t offset, size;		   /* of the member; size 0 = no member, but number() */
	double (*number)(const void *row); /* computes the value; `type` is one of numbers */
	uint16_t torn; /* offset of a bool that adds "~" to the text; 0 = none */
};

#define TABLE_MEMBER(row, member)                                                                  \
	.offset = offsetof(row, member), .size = (uint16_t)sizeof(((row *)0)->member)
/* A row of a registry: {TABLE_FIELD("size", "OBJECTS", COUNT, struct ets_row, objects)}. */
#define TABLE_FIELD(id, heading, kind, row, member)                                                \
	.name = (id), .title = (heading), .type = TABLE_##kind, TABLE_MEMBER(row, member)
/* A row of a registry for a number that the function `of_row` computes; NAN = not known.
 * TABLE_VALUE() makes such a function of an expression in which `r` is the row. */
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
/* Adds the text of a cell; adds nothing if the value is not known. */
void table_cell(const struct table_column *c, struct strbuf *out, const void *row, const void *ctx);
/* Is a column ordered by the text of its cells?  Then table_compare() cannot be used. */
bool table_compares_text(const struct table_column *c);
int table_compare(const struct table_column *c, const void *a, const void *b);
/* For column.json: writes nothing, as the column is no JSON field. */
void table_json_none(struct jsonw *w, const char *name, const void *row, const void *ctx);
/* Writes the field of a column, in an object that has begun. */
void table_json_field(const struct table_column *c, struct jsonw *w, const void *row,
		      const void *ctx);
/* Writes the fields of all columns, also of hidden ones, and what the last one's json() adds. */
void table_json_fields(const struct table_column *columns, struct jsonw *w, const void *row,
		       const void *ctx);

#endif
