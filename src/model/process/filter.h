/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --where: which rows are wanted.
 *
 *   memory > 10M and not (status == waiting or registered_name ~ "^logger")
 *
 * A comparison is FIELD OPERATOR VALUE.  Of numbers: == != < <= > >=, the value with k, M or G
 * (1,000s) or Ki, Mi, Gi (1,024s) behind it.  Of texts: == != and ~ (a regular expression as
 * in Perl and Erlang's re that is found somewhere in it), !~; the value in quotes if it is not one
 * word.  A field alone is true if it is true, not 0, or there.  `and`, `or`, `not`, &&, ||, ! and
 * parentheses as in C.  What a row does not have is unequal to everything but null: FIELD == null.
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

/* fields[0 .. nr-1] stay the caller's; at most 64.  ERROR_KIND_USAGE: the text, with a caret below
 * the place. */
int filter_parse(struct filter **out, const char *text, const struct filter_field *fields,
		 size_t nr, struct error *err);
void filter_free(struct filter *f); /* NULL ok */
/* Bit set of the fields that it looks at. */
uint64_t filter_uses(const struct filter *f);
/* How often an expression took too many steps on a text: there neither ~ nor !~ holds. */
uint64_t filter_gave_up(const struct filter *f);
bool filter_holds(struct filter *f,
		  void (*get)(const void *row, size_t field, struct filter_value *v),
		  const void *row);

#endif
