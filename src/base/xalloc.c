/* SPDX-License-Identifier: BSD-2-Clause */
/* See xalloc.h. */
#include "base/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"

static void *checked(void *p)
{
	static _Thread_local bool reporting;

	if (p)
		return p;
	if (!reporting) {
		reporting = true;
		log_error("ebeam: out of memory; %s", error_limit_fix(ENOMEM));
	} else {
		/* Not even that much is left. */
		log_plain("ebeam: out of memory; ");
		log_plain(error_limit_fix(ENOMEM));
		log_plain("\n");
	}
	exit(1);
}

void *xmalloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t nr, size_t size)
{
	return checked(calloc(nr ? nr : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	return checked(realloc(p, size ? size : 1));
}

char *xstrndup(const char *s, size_t len)
{
	char *p = xmalloc(len + 1);

	if (len) /* with len 0 s may be NULL */
		memcpy(p, s, len);
	p[len] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *p = NULL;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&p, fmt, ap);
	va_end(ap);
	return checked(n < 0 ? NULL : p);
}
