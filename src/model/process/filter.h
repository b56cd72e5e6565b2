/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --where: selects rows.
 *
 *   memory > 10M and not (status == waiting or registered_name ~ "^logger")
 *
 * A comparison is FIELD OPERATOR VALUE.  For numbers: == != < <= > >=, the value with a suffix k, M
 * or G (1,000s) or Ki, Mi, Gi (1,024s).  For texts: == != and ~ (a regular expression as in Perl
 * and Erlang's re that matches a part of it), !~; values that are not one word are in quotes.  A
 * field alone holds if it is true, a number other than 0, or a text.  `and`, `or`, `not`, &&, ||, !
 * and parentheses as in C.  A field that a row does not have is unequal to everything but null:
 * FIELD == null.
 */
#ifndef EBEAM_MODEL_FILTER_H
#define EBEAM_MODEL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct filter;

struct filter_field {
	const char *name;
	bool number; /* else a text */
};

struct filter_value {
	bool known;
	double number;
	const char *text;
	size_t len;
};

/* fields[0 .. nr-1] are owned by the caller; at most 64.  Errors are of ERROR_KIND_USAGE: their
 * message has the text, and a caret below the fault. */
int filter_parse(struct filter **out, const char *text, const struct filter_field *fields,
		 size_t nr, struct error *err);
void filter_free(struct filter *f); /* NULL ok */
/* Bit set of the fields that the filter reads. */
uint64_t filter_uses(const struct filter *f);
/* How often a regular expression took too many steps on a text: then neither ~ nor !~ holds. */
uint64_t filter_gave_up(const struct filter *f);
bool filter_holds(struct filter *f,
		  void (*get)(const void *row, size_t field, struct filter_value *v),
		  const void *row);

#endif
