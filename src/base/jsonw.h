/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON written as a stream, for data of any length: a million rows must not stand in memory as a
 * tree.  (Small documents are built with jansson.)  Values in an object take a key, those in an
 * array none: pass NULL.  Nesting is the caller's: each begin has its end.
 *
 * Layout: one line for each element of a "rows" array, everything inside it on that line; all on
 * one line with one_line, for streams of documents.
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
	FILE *f; /* NULL: all stays in buf */
	struct strbuf buf;
	int err;       /* errno of the first write that failed */
	bool one_line; /* the caller's, from the beginning */
	unsigned int depth;
	bool any[JSONW_MAX_DEPTH];  /* something was written at this depth */
	bool rows[JSONW_MAX_DEPTH]; /* elements stand on lines of their own */
};

#define JSONW(file)                                                                                \
	{                                                                                          \
		.f = (file), .buf = STRBUF_INIT                                                    \
	}

void jsonw_begin_object(struct jsonw *w, const char *key);
void jsonw_end_object(struct jsonw *w);
void jsonw_begin_array(struct jsonw *w, const char *key);
/* An array whose elements stand on lines of their own, if not all stands on one. */
void jsonw_begin_rows(struct jsonw *w, const char *key);
void jsonw_end_array(struct jsonw *w);

void jsonw_null(struct jsonw *w, const char *key);
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_uint(struct jsonw *w, const char *key, uint64_t value);
/* UINT64_MAX, which stands for what is not known (EVENT_UNKNOWN and others): null. */
void jsonw_known(struct jsonw *w, const char *key, uint64_t value);
/* Not known: null. */
void jsonw_uint_if(struct jsonw *w, const char *key, bool known, uint64_t value);
/* Not finite: null. */
void jsonw_double(struct jsonw *w, const char *key, double value);
/* Any bytes; what is not UTF-8 becomes U+FFFD.  NULL text: null. */
void jsonw_string(struct jsonw *w, const char *key, const char *text);
void jsonw_stringn(struct jsonw *w, const char *key, const char *text, size_t len);
/* Empty: null.  Leaves the text empty, for the next one. */
void jsonw_text(struct jsonw *w, const char *key, struct strbuf *text);
/* A value that is JSON text already. */
void jsonw_raw(struct jsonw *w, const char *key, const char *json);

/* Hands all to f, frees the buffer.  0, or negative errno of a write that failed. */
int jsonw_finish(struct jsonw *w);

#endif
