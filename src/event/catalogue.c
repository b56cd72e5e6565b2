/* SPDX-License-Identifier: BSD-2-Clause */
/* See catalogue.h; all tables are made of abi/catalogue.def. */
#include "event/catalogue.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

const struct event_row event_rows[NR_EVENT_KINDS] = {
#define EVENT(kind, text, in, happened, other)                                                     \
	[EVENT_##kind] = {.name = (text),                                                          \
			  .group = EVENT_GROUP_##in,                                               \
			  .summary = (happened),                                                   \
			  .differs = (other)},
#define EVENT_FIELD(kind, field, text, is)
#include "abi/catalogue.def"
#undef EVENT
#undef EVENT_FIELD
};

static const struct event_field fields[] = {
#define EVENT(kind, text, in, happened, other)
#define EVENT_FIELD(of, field, text, is) {.kind = EVENT_##of, .name = (text), .type = FIELD_##is},
#include "abi/catalogue.def"
#undef EVENT
#undef EVENT_FIELD
};
#define NR_FIELDS (sizeof(fields) / sizeof(fields[0]))

static const uint16_t first_field[NR_EVENT_KINDS] = {
#define EVENT(kind, text, in, happened, other) [EVENT_##kind] = EVENT_FIELDS_BEFORE_##kind,
#define EVENT_FIELD(kind, field, text, is)
#include "abi/catalogue.def"
#undef EVENT
#undef EVENT_FIELD
};

const char *event_group_name(enum event_group group)
{
	static const char *const names[NR_EVENT_GROUPS] = {
		[EVENT_GROUP_PROCESS] = "process", [EVENT_GROUP_SCHEDULER] = "scheduler",
		[EVENT_GROUP_MESSAGE] = "message", [EVENT_GROUP_GC] = "gc",
		[EVENT_GROUP_PORT] = "port",	   [EVENT_GROUP_DRIVER] = "driver",
		[EVENT_GROUP_SIGNAL] = "signal",   [EVENT_GROUP_HEAP] = "heap",
		[EVENT_GROUP_LONG] = "long",	   [EVENT_GROUP_ALLOC] = "alloc",
		[EVENT_GROUP_COPY] = "copy",	   [EVENT_GROUP_NIF] = "nif",
		[EVENT_GROUP_DIST] = "dist",	   [EVENT_GROUP_LIBC] = "libc",
	};

	return names[group];
}

uint64_t event_group_kinds(enum event_group group)
{
	uint64_t kinds = 0;

	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (event_rows[kind].group == group)
			kinds |= 1ull << kind;
	}
	return kinds;
}

const struct event_field *event_fields(enum event_kind kind, unsigned int *nr)
{
	size_t first = first_field[kind], i = first;

	while (i < NR_FIELDS && fields[i].kind == kind)
		i++;
	*nr = (unsigned int)(i - first);
	return &fields[first];
}

int event_kind_find(const char *name, size_t len)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (strlen(event_rows[kind].name) == len &&
		    memcmp(event_rows[kind].name, name, len) == 0)
			return kind;
	}
	return -1;
}

const char *event_word_text(uint64_t word)
{
	static const char *const texts[NR_EVENT_WORDS] = {
#define EVENT_WORD_TEXT(id, text) [EVENT_WORD_##id] = text,
		EVENT_WORDS(EVENT_WORD_TEXT)
#undef EVENT_WORD_TEXT
	};

	return word < NR_EVENT_WORDS ? texts[word] : NULL;
}

unsigned int event_field_words(enum event_field_type type)
{
	if (type == FIELD_MFA)
		return 3;
	return type == FIELD_TEXT ? EVENT_TEXT_WORDS : 1;
}

/* ---- lists of kinds ------------------------------------------------------------------------ */

static bool equals(const char *text, const char *word, size_t len)
{
	return strlen(text) == len && memcmp(text, word, len) == 0;
}

static bool matches(const struct event_row *row, const char *word, size_t len)
{
	bool by_name = EVENT_KINDS_BY_NAME >> (row - event_rows) & 1;

	if ((equals("all", word, len) && !by_name) ||
	    equals(event_group_name(row->group), word, len) || equals(row->name, word, len))
		return true;
	return len > 1 && word[len - 1] == '*' && strncmp(row->name, word, len - 1) == 0;
}

int event_kinds_parse(const char *list, uint64_t *kinds, const char **bad, size_t *bad_len)
{
	*kinds = 0;
	for (;;) {
		size_t len = strcspn(list, ",");
		uint64_t found = 0;

		for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
			if (matches(&event_rows[kind], list, len))
				found |= 1ull << kind;
		}
		if (!found) {
			*bad = list;
			*bad_len = len;
			return -EINVAL;
		}
		*kinds |= found;
		if (!list[len])
			return 0;
		list += len + 1;
	}
}
