/* SPDX-License-Identifier: BSD-2-Clause */
/* --where: any text is a filter that can be asked, or an error: one line, the text, a caret. */
#include <stdlib.h>
#include <string.h>

#include "model/process/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct filter_field fields[] = {{"a", true}, {"b", false}, {"c", false}};

static void get(const void *row, size_t field, struct filter_value *v)
{
	*v = (struct filter_value){.known = field < 2, .number = 1, .text = row, .len = 3};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct error err = {0};
	struct filter *f = NULL;

	memcpy(text, data, size);
	text[size] = '\0';
	if (filter_parse(&f, text, fields, 3, &err) == 0) {
		filter_holds(f, get, "abc");
		if (filter_uses(f) >= 8 || !filter_uses(f))
			abort();
		filter_free(f);
	} else if (err.kind != ERROR_KIND_USAGE || !err.msg[0]) {
		abort();
	}
	free(text);
	return 0;
}
