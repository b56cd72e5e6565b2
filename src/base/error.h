/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One error value, filled once at the innermost site that knows the facts.
 *
 * Functions that can fail return 0 or a negative errno; those whose failure a
 * user can act on also take `struct error *err` last and return error_set().
 * `kind` selects the exit code (see cmd), so the site that knows whether a node
 * is gone, unsupported or forbidden says so; callers may add a prefix but never
 * replace the text.  `err` may be NULL wherever it is accepted.
 */
#ifndef EBEAM_BASE_ERROR_H
#define EBEAM_BASE_ERROR_H

#include <stdarg.h>

enum error_kind {
	ERROR_KIND_FAILED = 1,	    /* exit 1: anything else */
	ERROR_KIND_USAGE = 2,	    /* exit 2: wrong options or arguments */
	ERROR_KIND_NO_NODE = 3,	    /* exit 3: no such process, or not a BEAM node */
	ERROR_KIND_PRIVILEGE = 4,   /* exit 4: capability or root missing */
	ERROR_KIND_KERNEL = 5,	    /* exit 5: kernel feature missing */
	ERROR_KIND_UNSUPPORTED = 6, /* exit 6: OTP release or build not supported */
	ERROR_KIND_PARTIAL = 7,	    /* exit 7: result incomplete: a limit, a damaged capture */
};

struct error {
	enum error_kind kind;
	int code; /* negative errno, 0 = no error */
	char msg[1024];
};

/* Fill *err (if not NULL) and return `code`, so that `return error_set(...)` works. */
int error_set(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Put "prefix: " before the text of an error that is already set. */
void error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Advice ("raise ...") if the errno `code` means that a limit of this process or of the host was
 * reached; NULL for any other errno. */
const char *error_limit_fix(int code);

/* Short text of a negative or positive errno; never NULL. */
const char *error_text(int code);

#endif
