/* SPDX-License-Identifier: BSD-2-Clause */
/* See atom_beginning.h. */
#include "view/inspect/atom_beginning.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define LEAST_ATOMS	10  /* fewer have no beginning in common */
#define LEAST_BEGINNING 2   /* bytes */
#define KEEP_SHARE	0.9 /* a longer beginning may have that many fewer */

/* Text as Erlang writes it, without the quote that some begin with. */
static const char *bare(const struct mem_atom *a)
{
	return !a->text ? "" : a->text[0] == '\'' ? a->text + 1 : a->text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_beginning(const char *const *texts, size_t nr, const char *with, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < nr; i++)
		count += strncmp(texts[i], with, len) == 0;
	return count;
}

/* If most have it, the one in the middle of the sorted ones has it. */
struct atom_beginning atom_beginning(const struct mem_atom *atoms, size_t nr)
{
	const char **texts = xcalloc(nr + 1, sizeof(*texts));
	struct atom_beginning found = {.len = 0};
	size_t least, count;

	for (size_t i = 0; i < nr; i++)
		texts[i] = bare(&atoms[i]);
	qsort(texts, nr, sizeof(*texts), by_text);
	found.text = texts[nr / 2];
	count = nr < LEAST_ATOMS ? 0 : count_beginning(texts, nr, found.text, LEAST_BEGINNING);
	least = (size_t)ceil(KEEP_SHARE * (double)count);
	if (count * 2 <= nr || strnlen(found.text, LEAST_BEGINNING) < LEAST_BEGINNING)
		least = SIZE_MAX;
	for (size_t len = LEAST_BEGINNING; found.text && len <= strlen(found.text); len++) {
		unsigned char next = (unsigned char)found.text[len];

		count = count_beginning(texts, nr, found.text, len);
		if (count < least)
			break;
		/* Not within a character, an escape sequence, or at the quote behind. */
		if ((next & 0xc0) == 0x80 || strchr("\\'", found.text[len - 1]))
			continue;
		found.len = len;
		found.atoms = count;
	}
	free(texts);
	return found;
}
