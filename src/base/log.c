/* SPDX-License-Identifier: BSD-2-Clause */
/* See log.h.  Level and takers (functions that receive lines) are global: there is one stderr. */
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"

static int current_level = LOG_LEVEL_WARN;
static log_taker *taker;
static void *taker_arg;
static _Thread_local log_taker *thread_taker;
static _Thread_local void *thread_taker_arg;

void log_set_level(int level)
{
	current_level = level;
}

void log_set_taker(log_taker *take, void *arg)
{
	taker = take;
	taker_arg = arg;
}

void log_set_thread_taker(log_taker *take, void *arg)
{
	thread_taker = take;
	thread_taker_arg = arg;
}

int log_level(void)
{
	return current_level;
}

/* Escapes control characters: names of nodes, commands and files, and arguments, must not control
 * the terminal. */
static void add_harmless(struct strbuf *out, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		/* The C1 controls, U+0080 to U+009F, are C2 80 to C2 9F in UTF-8. */
		if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f)
			strbuf_addf(out, "\\x%02x", *++s);
		else if ((*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7f)
			strbuf_addf(out, "\\x%02x", *s);
		else
			strbuf_addch(out, (char)*s);
	}
}

void log_plain(const char *text)
{
	fputs(text, stderr);
}

void log_print(enum log_level level, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	va_list ap;

	if ((int)level > current_level)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	add_harmless(&line, text.buf);
	if (thread_taker) {
		thread_taker(thread_taker_arg, line.buf);
	} else if (taker) {
		taker(taker_arg, line.buf);
	} else {
		/* What was written before comes before it, if both go to the same pipe. */
		fflush(NULL);
		strbuf_addch(&line, '\n');
		fwrite(line.buf, 1, line.len, stderr);
	}
	strbuf_free(&line);
	strbuf_free(&text);
}

void log_progress(const char *fmt, ...)
{
	const char *term = getenv("TERM");
	va_list ap;

	/* A dumb terminal cannot erase a line: progress would be lines one after the other. */
	if (!term || strcmp(term, "dumb") == 0)
		return;
	fputs("\r\033[K", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fflush(stderr);
}
