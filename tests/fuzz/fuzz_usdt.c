/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of USDT probes: any text is some number of them, each whole or none. */
#include <stdlib.h>
#include <string.h>

#include "target/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct usdt_arg args[USDT_MAX_ARGS];
	char *text = malloc(size + 1);
	unsigned int nr;

	memcpy(text, data, size);
	text[size] = '\0';
	nr = usdt_parse_args(text, args, USDT_MAX_ARGS);
	if (nr > USDT_MAX_ARGS)
		abort();
	for (unsigned int i = 0; i < nr; i++) {
		const struct usdt_arg *a = &args[i];

		if (a->type == USDT_ARG_NONE)
			continue;
		if (a->type > USDT_ARG_MEMORY || a->reg >= NR_USDT_REGISTERS ||
		    (a->size != 1 && a->size != 2 && a->size != 4 && a->size != 8) ||
		    (a->shift && a->shift != 8))
			abort();
	}
	free(text);
	return 0;
}
