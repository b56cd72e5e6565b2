/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by names.c (tables, interning) and names_define.c (entries from ids, defining). */
#ifndef EBEAM_NAMES_NAMES_INTERNAL_H
#define EBEAM_NAMES_NAMES_INTERNAL_H

#include "base/arena.h"
#include "base/idmap.h"
#include "base/strbuf.h"
#include "names/names.h"

#define OVERFLOW_TEXT "[overflow]"

struct string_entry {
	const char *s; /* NUL terminated */
	uint32_t size; /* without the NUL */
};

struct stack_entry {
	struct name_stack stack;
	uint32_t depth; /* frames up to the root, 1.. */
};

struct table {
	char **chunks; /* of CHUNK_ENTRIES entries */
	uint32_t count;
	uint32_t entry_size;
	uint32_t overflow; /* id of the "[overflow]" entry, 0 = not needed yet */
	struct idmap index;
};

struct names {
	struct table tables[NR_NAMES_TABLES];
	struct arena strings;
	uint32_t max_entries;
	size_t max_bytes;
	uint64_t overflows;
};

/* Copies an entry behind the last one; its id. */
uint32_t names_append(struct table *table, const void *entry);

/*
 * Entries as they stand in the tables.  keep_bytes(): those of a string that are kept, *len many;
 * in `scratch` if they differ from the input.
 */
const char *names_keep_bytes(const char *s, size_t *len, struct strbuf *scratch);
uint32_t names_append_string(struct names *n, const char *s, size_t len);
struct name_function names_make_function(const struct names *n, uint32_t module, uint32_t name,
					 int32_t arity, enum frame_kind kind);
struct name_frame names_make_frame(const struct names *n, uint32_t function, uint32_t file,
				   uint32_t line);
struct stack_entry names_make_stack(const struct names *n, uint32_t parent, uint32_t frame);
struct name_process names_make_process(const struct names *n, uint64_t epid, uint32_t pid,
				       uint32_t registered, uint32_t label, uint32_t initial_call);
struct name_thread names_make_thread(const struct names *n, uint32_t os_tid, enum thread_type type,
				     uint16_t scheduler, uint32_t name);

#endif
