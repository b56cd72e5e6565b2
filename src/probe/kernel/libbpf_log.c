/* SPDX-License-Identifier: BSD-2-Clause */
/* See libbpf_log.h. */
#include "probe/kernel/libbpf_log.h"

#include <bpf/libbpf.h>
#include <stdarg.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT;

	UNUSED(level);
	if (log_level() < LOG_LEVEL_DEBUG)
		return 0;
	strbuf_vaddf(&text, fmt, ap);
	/* libbpf ends its lines with a newline, and so does the log. */
	while (text.len && text.buf[text.len - 1] == '\n')
		text.buf[--text.len] = '\0';
	log_debug("%s", text.buf);
	strbuf_free(&text);
	return 0;
}

void libbpf_log_open(void)
{
	libbpf_set_print(print);
}
