/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A growing byte string.  Invariants: `buf` is never NULL and always NUL
 * terminated at buf[len]; len excludes the NUL; the content may hold NULs.
 * STRBUF_INIT or strbuf_init() before use, strbuf_free() after; strbuf_detach()
 * hands the bytes to the caller, who frees them.
 */
#ifndef EBEAM_BASE_STRBUF_H
#define EBEAM_BASE_STRBUF_H

#include <stddef.h>
#include <stdarg.h>

struct strbuf {
	char *buf;
	size_t len;
	size_t alloc; /* 0 while buf is the shared empty string */
};

extern char strbuf_empty[1];
#define STRBUF_INIT                                                                                \
	{                                                                                          \
		.buf = strbuf_empty, .len = 0, .alloc = 0                                          \
	}

void strbuf_init(struct strbuf *sb);
void strbuf_free(struct strbuf *sb);
void strbuf_reset(struct strbuf *sb);
char *strbuf_detach(struct strbuf *sb, size_t *len);
void strbuf_grow(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t len);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);

#endif
