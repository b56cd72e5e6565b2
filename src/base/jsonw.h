/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes JSON as a stream, for data of any length: a million rows must not be in memory as a tree.
 * (Small documents are built with jansson.)  Values in an object have a key; in an array key is
 * NULL.  The caller must end each object and array that it begins.
 *
 * Layout: one line for each element of a "rows" array; all on one line with one_line, for streams
 * of documents.
 */
#ifndef EBEAM_BASE_JSONW_H
#define EBEAM_BASE_JSONW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strbuf.h"

#define JSONW_MAX_DEPTH 64

/* Begin with JSONW(file), end with jsonw_finish(). */
struct jsonw {
	FILE *f; /* NULL: all output stays in buf */
	struct strbuf buf;
	int err;       /* errno of the first write that failed */
	bool one_line; /* set by the caller before the first value */
	unsigned int depth;
	bool any[JSONW_MAX_DEPTH];  /* the object or array at this depth has an element */
	bool rows[JSONW_MAX_DEPTH]; /* the array at this depth has one element a line */
};

#define JSONW(file)                                                                                \
	{                                                                                          \
		.f = (file), .buf = STRBUF_INIT                                                    \
	}

void jsonw_begin_object(struct jsonw *w, const char *key);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w, const char *key);
/* An array with each element on a line of its own, unless one_line. */
void jsonw_begin_rows(struct jsonw *w, const char *key);
void jsonw_end_array(struct jsonw *w);

void jsonw_null(struct jsonw *w, const char *key);
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_uint(struct jsonw *w, const char *key, uint64_t value);
/* UINT64_MAX, which means not known (EVENT_UNKNOWN and others), becomes null. */
void jsonw_known(struct jsonw *w, const char *key, uint64_t value);
/* null unless known. */
void jsonw_uint_if(struct jsonw *w, const char *key, bool known, uint64_t value);
/* null if not finite. */
void jsonw_double(struct jsonw *w, const char *key, double value);
/* Any bytes; invalid UTF-8 becomes U+FFFD.  null if text is NULL. */
void jsonw_string(struct jsonw *w, const char *key, const char *text);
void jsonw_stringn(struct jsonw *w, const char *key, const char *text, size_t len);
/* null if empty.  Empties the strbuf for its next use. */
void jsonw_text(struct jsonw *w, const char *key, struct strbuf *text);
/* A value that is JSON text already. */
void jsonw_raw(struct jsonw *w, const char *key, const char *json);

/* Writes the buffer to f and frees it.  0, or negative errno of a write that failed. */
int jsonw_finish(struct jsonw *w);

#endif
