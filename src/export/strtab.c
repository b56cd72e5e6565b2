/* SPDX-License-Identifier: BSD-2-Clause */
/* See strtab.h. */
#include "export/strtab.h"

#include <string.h>

static bool string_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct strtab *t = ctx;

	return strcmp(t->strings.data[id], key) == 0;
}

void strtab_init(struct strtab *t)
{
	*t = (struct strtab){0};
	strtab_id(t, "");
}

void strtab_free(struct strtab *t)
{
	vec_free(&t->strings);
	idmap_free(&t->ids);
}

uint32_t strtab_id(struct strtab *t, const char *text)
{
	uint32_t hash, id;

	text = text ? text : "";
	hash = hash_bytes(text, strlen(text));
	id = idmap_find(&t->ids, hash, string_equal, t, text);
	if (id == IDMAP_NONE) {
		id = (uint32_t)t->strings.len;
		vec_push(&t->strings, (char *)text);
		idmap_add(&t->ids, hash, id);
	}
	return id;
}
