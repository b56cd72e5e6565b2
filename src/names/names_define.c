/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries made of ids, and the side that defines them one after the other; see names.h. */
#include "names/names_internal.h"

#include <errno.h>
#include <string.h>

/* ---- entries from ids, shared by interning and defining ----------------------------------- */

/*
 * The bytes that are kept of a string: at most NAMES_MAX_STRING of them, cut between characters;
 * a NUL (atoms may hold one) as the two bytes C0 80, which no UTF-8 text contains, so that
 * strings can be NUL terminated.  `scratch` holds the result if it differs from the input.
 */
const char *names_keep_bytes(const char *s, size_t *len, struct strbuf *scratch)
{
	size_t keep = *len;

	if (keep > NAMES_MAX_STRING) {
		keep = NAMES_MAX_STRING;
		while (keep > NAMES_MAX_STRING - 4 && ((unsigned char)s[keep] & 0xc0) == 0x80)
			keep--;
	}
	*len = keep;
	if (!keep || !memchr(s, 0, keep))
		return keep ? s : "";
	for (size_t i = 0; i < keep; i++) {
		if (s[i])
			strbuf_addch(scratch, s[i]);
		else
			strbuf_add(scratch, "\xc0\x80", 2);
	}
	*len = scratch->len;
	return scratch->buf;
}

uint32_t names_append_string(struct names *n, const char *s, size_t len)
{
	struct string_entry entry = {
		.s = arena_strndup(&n->strings, s, len),
		.size = (uint32_t)len,
	};

	return names_append(&n->tables[NAMES_STRINGS], &entry);
}

struct name_function names_make_function(const struct names *n, uint32_t module, uint32_t name,
					 int32_t arity, enum frame_kind kind)
{
	return (struct name_function){
		.module = names_string(n, module),
		.name = names_string(n, name),
		.arity = arity,
		.kind = kind,
		.module_id = module,
		.name_id = name,
	};
}

struct name_frame names_make_frame(const struct names *n, uint32_t function, uint32_t file,
				   uint32_t line)
{
	return (struct name_frame){
		.function = function,
		.file = names_string(n, file),
		.line = line,
		.file_id = file,
	};
}

struct stack_entry names_make_stack(const struct names *n, uint32_t parent, uint32_t frame)
{
	return (struct stack_entry){
		.stack = {.parent = parent, .frame = frame},
		.depth = names_stack_depth(n, parent) + 1,
	};
}

struct name_process names_make_process(const struct names *n, uint64_t epid, uint32_t pid,
				       uint32_t registered, uint32_t label, uint32_t initial_call)
{
	return (struct name_process){
		.epid = epid,
		.pid = names_string(n, pid),
		.registered = names_string(n, registered),
		.label = names_string(n, label),
		.initial_call = initial_call,
		.pid_id = pid,
		.registered_id = registered,
		.label_id = label,
	};
}

struct name_thread names_make_thread(const struct names *n, uint32_t os_tid, enum thread_type type,
				     uint16_t scheduler, uint32_t name)
{
	return (struct name_thread){
		.os_tid = os_tid,
		.type = type,
		.scheduler = scheduler,
		.name = names_string(n, name),
		.name_id = name,
	};
}

/* ---- defining ----------------------------------------------------------------------------- */

static bool is_known(const struct names *n, enum names_table t, uint32_t id)
{
	return id != 0 && id <= n->tables[t].count;
}

static bool is_known_or_none(const struct names *n, enum names_table t, uint32_t id)
{
	return id <= n->tables[t].count;
}

/* The overflow entry of the side that interned has its place beyond the limit here too. */
static int check_definition(const struct names *n, enum names_table t, uint32_t id)
{
	if (id == 0 || id != n->tables[t].count + 1)
		return -EINVAL;
	return n->tables[t].count > n->max_entries ? -ENOSPC : 0;
}

int names_define_string(struct names *n, uint32_t id, const char *s, size_t len)
{
	struct strbuf scratch = STRBUF_INIT;
	int ret = check_definition(n, NAMES_STRINGS, id);

	if (ret)
		return ret;
	s = names_keep_bytes(s, &len, &scratch);
	if (n->strings.total + len >= n->max_bytes + sizeof(OVERFLOW_TEXT))
		ret = -ENOSPC;
	else
		names_append_string(n, s, len);
	strbuf_free(&scratch);
	return ret;
}

int names_define_function(struct names *n, uint32_t id, uint32_t module, uint32_t name,
			  int32_t arity, uint32_t kind)
{
	int ret = check_definition(n, NAMES_FUNCTIONS, id);
	struct name_function entry;

	if (ret)
		return ret;
	if (!is_known_or_none(n, NAMES_STRINGS, module) || !is_known(n, NAMES_STRINGS, name) ||
	    arity < -1 || kind > FRAME_STATE)
		return -EINVAL;
	entry = names_make_function(n, module, name, arity, (enum frame_kind)kind);
	names_append(&n->tables[NAMES_FUNCTIONS], &entry);
	return 0;
}

int names_define_frame(struct names *n, uint32_t id, uint32_t function, uint32_t file,
		       uint32_t line)
{
	int ret = check_definition(n, NAMES_FRAMES, id);
	struct name_frame entry;

	if (ret)
		return ret;
	if (!is_known(n, NAMES_FUNCTIONS, function) || !is_known_or_none(n, NAMES_STRINGS, file))
		return -EINVAL;
	entry = names_make_frame(n, function, file, line);
	names_append(&n->tables[NAMES_FRAMES], &entry);
	return 0;
}

int names_define_stack(struct names *n, uint32_t id, uint32_t parent, uint32_t frame)
{
	int ret = check_definition(n, NAMES_STACKS, id);
	struct stack_entry entry;

	if (ret)
		return ret;
	entry = names_make_stack(n, parent, frame);
	if (!is_known_or_none(n, NAMES_STACKS, parent) || !is_known(n, NAMES_FRAMES, frame) ||
	    entry.depth > NAMES_MAX_DEPTH)
		return -EINVAL;
	names_append(&n->tables[NAMES_STACKS], &entry);
	return 0;
}

int names_define_process(struct names *n, uint32_t id, uint64_t epid, uint32_t pid,
			 uint32_t registered, uint32_t label, uint32_t initial_call)
{
	int ret = check_definition(n, NAMES_PROCESSES, id);
	struct name_process entry;

	if (ret)
		return ret;
	if (!is_known(n, NAMES_STRINGS, pid) || !is_known_or_none(n, NAMES_STRINGS, registered) ||
	    !is_known_or_none(n, NAMES_STRINGS, label) ||
	    !is_known_or_none(n, NAMES_FUNCTIONS, initial_call))
		return -EINVAL;
	entry = names_make_process(n, epid, pid, registered, label, initial_call);
	names_append(&n->tables[NAMES_PROCESSES], &entry);
	return 0;
}

int names_define_thread(struct names *n, uint32_t id, uint32_t os_tid, uint32_t type,
			uint16_t scheduler, uint32_t name)
{
	int ret = check_definition(n, NAMES_THREADS, id);
	struct name_thread entry;

	if (ret)
		return ret;
	if (type > THREAD_OTHER || !is_known_or_none(n, NAMES_STRINGS, name))
		return -EINVAL;
	entry = names_make_thread(n, os_tid, (enum thread_type)type, scheduler, name);
	names_append(&n->tables[NAMES_THREADS], &entry);
	return 0;
}
