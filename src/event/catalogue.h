/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events of the VM, as abi/catalogue.def lists them: names, groups, fields, words.
 */
#ifndef EBEAM_EVENT_CATALOGUE_H
#define EBEAM_EVENT_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"

enum event_group {
	EVENT_GROUP_PROCESS,
	EVENT_GROUP_SCHEDULER,
	EVENT_GROUP_MESSAGE,
	EVENT_GROUP_GC,
	EVENT_GROUP_PORT,
	EVENT_GROUP_DRIVER,
	EVENT_GROUP_SIGNAL,
	EVENT_GROUP_HEAP,
	EVENT_GROUP_LONG,
	EVENT_GROUP_ALLOC,
	EVENT_GROUP_COPY,
	EVENT_GROUP_NIF,
	EVENT_GROUP_DIST,
	EVENT_GROUP_LIBC, /* not of the VM: not part of "all" */
	NR_EVENT_GROUPS
};

struct event_row {
	const char *name;
	enum event_group group;
	const char *summary;
	const char *differs; /* from OTP's LTTng event of that name; "" = in nothing */
};

struct event_field {
	enum event_kind kind;
	const char *name;
	enum event_field_type type;
};

/* Index in the list of all fields of a kind's first field, and of each field; ..._AGAIN makes both
 * enumerate from the same number. */
enum {
#define EVENT(kind, text, in, happened, other)                                                     \
	EVENT_FIELDS_BEFORE_##kind, EVENT_FIELDS_AGAIN_##kind = EVENT_FIELDS_BEFORE_##kind - 1,
#define EVENT_FIELD(kind, field, text, is) EVENT_FIELD_INDEX_##kind##_##field,
#include "abi/catalogue.def"
#undef EVENT
#undef EVENT_FIELD
};
/* Index of a field's value in its event: EVENT_AT(GC_MINOR_END, RECLAIMED). */
#define EVENT_AT(kind, field)                                                                      \
	((unsigned int)(EVENT_FIELD_INDEX_##kind##_##field - EVENT_FIELDS_BEFORE_##kind))

extern const struct event_row event_rows[NR_EVENT_KINDS];

/* "process", "gc", ... */
const char *event_group_name(enum event_group group);
uint64_t event_group_kinds(enum event_group group); /* bit set */
/* Fields of a kind, in order of their values; *nr <= EVENT_MAX_FIELDS. */
const struct event_field *event_fields(enum event_kind kind, unsigned int *nr);
/* Kind by name, -1 if there is none. */
int event_kind_find(const char *name, size_t len);
/* Text of an enum event_word, NULL if there is none. */
const char *event_word_text(uint64_t word);
/* Number of words of a field in a raw record. */
unsigned int event_field_words(enum event_field_type type);

/* Kinds that only a name or group selects, as their probes are costly; not "all". */
#define EVENT_KINDS_BY_NAME (1ull << EVENT_LIBC_ALLOC)

/* Parses a list of kinds such as "gc,message_send,port_*": names, groups, "all", and prefixes with
 * a *.  0 and *kinds (bit set), or -EINVAL and the unknown word in *bad, *bad_len. */
int event_kinds_parse(const char *list, uint64_t *kinds, const char **bad, size_t *bad_len);

#endif
