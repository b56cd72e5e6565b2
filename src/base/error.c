/* SPDX-License-Identifier: BSD-2-Clause */
/* See error.h. */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	err->kind = kind;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return code;
}

void error_prefix(struct error *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)], prefix[256];
	va_list ap;

	if (!err || !err->code)
		return;
	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, ap);
	va_end(ap);
	snprintf(err->msg, sizeof(err->msg), "%s: %.*s", prefix,
		 (int)(sizeof(err->msg) - strlen(prefix) - 3), old);
}

const char *error_limit_fix(int code)
{
	switch (code < 0 ? -code : code) {
	case EMFILE:
		return "raise the limit of open files (ulimit -n)";
	case ENFILE:
		return "raise the limit of open files of the host (sysctl fs.file-max)";
	case ENOMEM:
		return "raise the limit of memory (ulimit -v, memory.max of the cgroup)";
	default:
		return NULL;
	}
}

const char *error_text(int code)
{
	const char *text = strerrordesc_np(code < 0 ? -code : code);

	return text ? text : "unknown error";
}
