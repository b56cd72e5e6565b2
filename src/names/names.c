/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dictionary (see names.h): six tables of entries by dense id, and, if it is filled by
 * interning, a hash index for each.  Entries are in chunks that never move, strings in an arena, so
 * that pointers from getters stay valid.  Ids are checked here, contents are not: strings are
 * stored as given, and converted to valid text by names_format.c.
 */
#include "names/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/xalloc.h"

#define CHUNK_ENTRIES 512u
#define OVERFLOW_TEXT "[overflow]"

struct string_entry {
	const char *s; /* NUL terminated */
	uint32_t size; /* without the NUL */
};

struct stack_entry {
	struct name_stack stack;
	uint32_t depth; /* number of frames, 1.. */
};

struct table {
	char **chunks; /* of CHUNK_ENTRIES entries */
	uint32_t count;
	uint32_t entry_size;
	uint32_t overflow; /* id of the "[overflow]" entry, 0 = not made yet */
	struct idmap index;
};

struct names {
	struct table tables[NR_NAMES_TABLES];
	struct arena strings;
	uint32_t max_entries;
	size_t max_bytes;
	uint64_t overflows;
};

static const uint32_t entry_sizes[NR_NAMES_TABLES] = {
	[NAMES_STRINGS] = sizeof(struct string_entry),
	[NAMES_FUNCTIONS] = sizeof(struct name_function),
	[NAMES_FRAMES] = sizeof(struct name_frame),
	[NAMES_STACKS] = sizeof(struct stack_entry),
	[NAMES_PROCESSES] = sizeof(struct name_process),
	[NAMES_THREADS] = sizeof(struct name_thread),
};

struct names *names_open(void)
{
	return names_open_limited(NAMES_LIMIT, NAMES_MAX_BYTES);
}

struct names *names_open_limited(uint32_t max_entries, size_t max_bytes)
{
	struct names *n = xcalloc(1, sizeof(*n));

	for (int t = 0; t < NR_NAMES_TABLES; t++)
		n->tables[t].entry_size = entry_sizes[t];
	n->max_entries = max_entries;
	n->max_bytes = max_bytes;
	return n;
}

void names_close(struct names *n)
{
	if (!n)
		return;
	for (int t = 0; t < NR_NAMES_TABLES; t++) {
		struct table *table = &n->tables[t];

		for (uint32_t i = 0; i * CHUNK_ENTRIES < table->count; i++)
			free(table->chunks[i]);
		free(table->chunks);
		idmap_free(&table->index);
	}
	arena_free(&n->strings);
	free(n);
}

/* ---- tables ------------------------------------------------------------------------------- */

static void *table_entry(const struct table *table, uint32_t id)
{
	if (id == 0 || id > table->count)
		return NULL;
	id--;
	return table->chunks[id / CHUNK_ENTRIES] + (size_t)(id % CHUNK_ENTRIES) * table->entry_size;
}

/* The array of chunks is doubled when the number of chunks reaches a power of two. */
static uint32_t append(struct table *table, const void *entry)
{
	uint32_t at = table->count % CHUNK_ENTRIES, nr = table->count / CHUNK_ENTRIES;

	if (at == 0) {
		if ((nr & (nr - 1)) == 0)
			table->chunks =
				xrealloc(table->chunks, 2 * MAX(nr, 1u) * sizeof(*table->chunks));
		table->chunks[nr] = xmalloc((size_t)CHUNK_ENTRIES * table->entry_size);
	}
	memcpy(table->chunks[nr] + (size_t)at * table->entry_size, entry, table->entry_size);
	return ++table->count;
}

static void *get(const struct names *n, enum names_table t, uint32_t id)
{
	return table_entry(&n->tables[t], id);
}

const char *names_string(const struct names *n, uint32_t id)
{
	const struct string_entry *entry = get(n, NAMES_STRINGS, id);

	return entry ? entry->s : NULL;
}

const struct name_function *names_function(const struct names *n, uint32_t id)
{
	return get(n, NAMES_FUNCTIONS, id);
}

const struct name_frame *names_frame(const struct names *n, uint32_t id)
{
	return get(n, NAMES_FRAMES, id);
}

const struct name_stack *names_stack(const struct names *n, uint32_t id)
{
	const struct stack_entry *entry = get(n, NAMES_STACKS, id);

	return entry ? &entry->stack : NULL;
}

const struct name_function *names_next_frame(const struct names *n, uint32_t *stack,
					     const struct name_frame **frame)
{
	const struct name_stack *s = names_stack(n, *stack);
	const struct name_frame *f = s ? names_frame(n, s->frame) : NULL;
	const struct name_function *of = f ? names_function(n, f->function) : NULL;

	if (of) {
		*stack = s->parent;
		*frame = f;
	}
	return of;
}

uint32_t names_stack_depth(const struct names *n, uint32_t stack)
{
	const struct stack_entry *entry = get(n, NAMES_STACKS, stack);

	return entry ? entry->depth : 0;
}

const struct name_process *names_process(const struct names *n, uint32_t id)
{
	return get(n, NAMES_PROCESSES, id);
}

const struct name_thread *names_thread(const struct names *n, uint32_t id)
{
	return get(n, NAMES_THREADS, id);
}

uint32_t names_count(const struct names *n, enum names_table table)
{
	return n->tables[table].count;
}

uint64_t names_overflows(const struct names *n)
{
	return n->overflows;
}

/* ---- entries from ids ---------------------------------------------------------------------- */

/*
 * The bytes that are stored of a string: at most NAMES_MAX_STRING, truncated between characters; a
 * NUL (atoms may have one) as the two bytes C0 80, which are not in valid UTF-8, so that strings
 * can be NUL terminated.  `scratch` holds the result if it differs from the input.
 */
static const char *keep_bytes(const char *s, size_t *len, struct strbuf *scratch)
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

static uint32_t append_string(struct names *n, const char *s, size_t len)
{
	struct string_entry entry = {
		.s = arena_strndup(&n->strings, s, len),
		.size = (uint32_t)len,
	};

	return append(&n->tables[NAMES_STRINGS], &entry);
}

static struct name_function make_function(const struct names *n, uint32_t module, uint32_t name,
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

static struct name_frame make_frame(const struct names *n, uint32_t function, uint32_t file,
				    uint32_t line)
{
	return (struct name_frame){
		.function = function,
		.file = names_string(n, file),
		.line = line,
		.file_id = file,
	};
}

static struct stack_entry make_stack(const struct names *n, uint32_t parent, uint32_t frame)
{
	return (struct stack_entry){
		.stack = {.parent = parent, .frame = frame},
		.depth = names_stack_depth(n, parent) + 1,
	};
}

static struct name_process make_process(const struct names *n, uint64_t epid, uint32_t pid,
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

static struct name_thread make_thread(const struct names *n, uint32_t os_tid, enum thread_type type,
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

/* ---- interning ---------------------------------------------------------------------------- */

static uint32_t overflow_id(struct names *n, enum names_table t);

static uint32_t append_overflow(struct names *n, enum names_table t)
{
	uint32_t id = n->tables[t].count + 1;

	switch (t) {
	case NAMES_STRINGS:
		names_define_string(n, id, OVERFLOW_TEXT, strlen(OVERFLOW_TEXT));
		break;
	case NAMES_FUNCTIONS:
		names_define_function(n, id, 0, overflow_id(n, NAMES_STRINGS), -1, FRAME_STATE);
		break;
	case NAMES_FRAMES:
		names_define_frame(n, id, overflow_id(n, NAMES_FUNCTIONS), 0, 0);
		break;
	case NAMES_STACKS:
		names_define_stack(n, id, 0, overflow_id(n, NAMES_FRAMES));
		break;
	case NAMES_PROCESSES:
		names_define_process(n, id, 0, overflow_id(n, NAMES_STRINGS), 0, 0, 0);
		break;
	case NAMES_THREADS:
		names_define_thread(n, id, 0, THREAD_UNKNOWN, 0, overflow_id(n, NAMES_STRINGS));
		break;
	case NR_NAMES_TABLES:
		break;
	}
	return id;
}

/* The "[overflow]" entries are added beyond the limit: at most one of each kind. */
static uint32_t overflow_id(struct names *n, enum names_table t)
{
	struct table *table = &n->tables[t];

	if (!table->overflow)
		table->overflow = append_overflow(n, t);
	return table->overflow;
}

static uint32_t intern_overflow(struct names *n, enum names_table t, bool *is_new)
{
	if (is_new)
		*is_new = !n->tables[t].overflow;
	n->overflows++;
	return overflow_id(n, t);
}

static bool is_full(const struct names *n, enum names_table t)
{
	const struct table *table = &n->tables[t];

	return table->count - (table->overflow ? 1 : 0) >= n->max_entries;
}

static uint32_t intern(struct names *n, enum names_table t, uint32_t hash, idmap_equal_fn *equal,
		       const void *entry, bool *is_new)
{
	struct table *table = &n->tables[t];
	uint32_t id = idmap_find(&table->index, hash, equal, table, entry);

	if (is_new)
		*is_new = id == IDMAP_NONE;
	if (id != IDMAP_NONE)
		return id;
	if (is_full(n, t))
		return intern_overflow(n, t, is_new);
	id = append(table, entry);
	idmap_add(&table->index, hash, id);
	return id;
}

static bool string_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct string_entry *a = table_entry(ctx, id), *b = key;

	return a->size == b->size && memcmp(a->s, b->s, a->size) == 0;
}

static bool function_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct name_function *a = table_entry(ctx, id), *b = key;

	return a->module_id == b->module_id && a->name_id == b->name_id && a->arity == b->arity &&
	       a->kind == b->kind;
}

static bool frame_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct name_frame *a = table_entry(ctx, id), *b = key;

	return a->function == b->function && a->file_id == b->file_id && a->line == b->line;
}

static bool stack_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct stack_entry *a = table_entry(ctx, id), *b = key;

	return a->stack.parent == b->stack.parent && a->stack.frame == b->stack.frame;
}

static bool process_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct name_process *a = table_entry(ctx, id), *b = key;

	return a->epid == b->epid && a->pid_id == b->pid_id &&
	       a->registered_id == b->registered_id && a->label_id == b->label_id &&
	       a->initial_call == b->initial_call;
}

static bool thread_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct name_thread *a = table_entry(ctx, id), *b = key;

	return a->os_tid == b->os_tid && a->type == b->type && a->scheduler == b->scheduler &&
	       a->name_id == b->name_id;
}

static uint32_t hash_two(uint32_t a, uint32_t b)
{
	return hash_mix(0, (uint64_t)a << 32 | b);
}

/* Not by intern(): the bytes are copied to the arena only if the string is new. */
uint32_t names_intern_string(struct names *n, const char *s, size_t len, bool *is_new)
{
	struct table *table = &n->tables[NAMES_STRINGS];
	struct strbuf scratch = STRBUF_INIT;
	struct string_entry key;
	uint32_t hash, id;

	key.s = keep_bytes(s, &len, &scratch);
	key.size = (uint32_t)len;
	hash = hash_bytes(key.s, len);
	id = idmap_find(&table->index, hash, string_equal, table, &key);
	if (is_new)
		*is_new = id == IDMAP_NONE;
	if (id == IDMAP_NONE) {
		if (is_full(n, NAMES_STRINGS) || n->strings.total + len >= n->max_bytes) {
			id = intern_overflow(n, NAMES_STRINGS, is_new);
		} else {
			id = append_string(n, key.s, len);
			idmap_add(&table->index, hash, id);
		}
	}
	strbuf_free(&scratch);
	return id;
}

uint32_t names_intern_function(struct names *n, uint32_t module, uint32_t name, int32_t arity,
			       enum frame_kind kind, bool *is_new)
{
	struct name_function entry = make_function(n, module, name, arity, kind);
	uint32_t hash = hash_mix(hash_two(module, name), hash_two((uint32_t)arity, kind));

	return intern(n, NAMES_FUNCTIONS, hash, function_equal, &entry, is_new);
}

void names_set_symbol_source(struct names *n, uint32_t function, enum symbol_source source)
{
	struct name_function *f = get(n, NAMES_FUNCTIONS, function);

	if (f && f->kind == FRAME_NATIVE && f->symbol_source == SYMBOL_SOURCE_NONE)
		f->symbol_source = source;
}

uint32_t names_intern_frame(struct names *n, uint32_t function, uint32_t file, uint32_t line,
			    bool *is_new)
{
	struct name_frame entry = make_frame(n, function, file, line);
	uint32_t hash = hash_mix(hash_two(function, file), line);

	return intern(n, NAMES_FRAMES, hash, frame_equal, &entry, is_new);
}

uint32_t names_intern_stack(struct names *n, uint32_t parent, uint32_t frame, bool *is_new)
{
	struct stack_entry entry = make_stack(n, parent, frame);

	if (entry.depth > NAMES_MAX_DEPTH)
		return intern_overflow(n, NAMES_STACKS, is_new);
	return intern(n, NAMES_STACKS, hash_two(parent, frame), stack_equal, &entry, is_new);
}

uint32_t names_intern_process(struct names *n, uint64_t epid, uint32_t pid, uint32_t registered,
			      uint32_t label, uint32_t initial_call, bool *is_new)
{
	struct name_process entry = make_process(n, epid, pid, registered, label, initial_call);
	uint32_t hash = hash_mix(hash_two(pid, registered), epid);

	hash = hash_mix(hash, hash_two(label, initial_call));
	return intern(n, NAMES_PROCESSES, hash, process_equal, &entry, is_new);
}

uint32_t names_intern_thread(struct names *n, uint32_t os_tid, enum thread_type type,
			     uint16_t scheduler, uint32_t name, bool *is_new)
{
	struct name_thread entry = make_thread(n, os_tid, type, scheduler, name);
	uint32_t hash = hash_mix(hash_two(os_tid, name), hash_two(type, scheduler));

	return intern(n, NAMES_THREADS, hash, thread_equal, &entry, is_new);
}

/* ---- defining ----------------------------------------------------------------------------- */

static bool is_known_or_none(const struct names *n, enum names_table t, uint32_t id)
{
	return id <= n->tables[t].count;
}

static bool is_known(const struct names *n, enum names_table t, uint32_t id)
{
	return id != 0 && is_known_or_none(n, t, id);
}

/* Accepts one id beyond the limit: that of the "[overflow]" entry, which interning adds there. */
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
	s = keep_bytes(s, &len, &scratch);
	if (n->strings.total + len >= n->max_bytes + sizeof(OVERFLOW_TEXT))
		ret = -ENOSPC;
	else
		append_string(n, s, len);
	strbuf_free(&scratch);
	return ret;
}

static int define(struct names *n, enum names_table t, uint32_t id, bool is_valid,
		  const void *entry)
{
	int ret = check_definition(n, t, id);

	if (ret || !is_valid)
		return ret ? ret : -EINVAL;
	append(&n->tables[t], entry);
	return 0;
}

int names_define_function(struct names *n, uint32_t id, uint32_t module, uint32_t name,
			  int32_t arity, uint32_t kind)
{
	struct name_function entry = make_function(n, module, name, arity, (enum frame_kind)kind);
	bool is_valid = is_known_or_none(n, NAMES_STRINGS, module) &&
			is_known(n, NAMES_STRINGS, name) && arity >= -1 && kind <= FRAME_STATE;

	return define(n, NAMES_FUNCTIONS, id, is_valid, &entry);
}

int names_define_frame(struct names *n, uint32_t id, uint32_t function, uint32_t file,
		       uint32_t line)
{
	struct name_frame entry = make_frame(n, function, file, line);
	bool is_valid =
		is_known(n, NAMES_FUNCTIONS, function) && is_known_or_none(n, NAMES_STRINGS, file);

	return define(n, NAMES_FRAMES, id, is_valid, &entry);
}

int names_define_stack(struct names *n, uint32_t id, uint32_t parent, uint32_t frame)
{
	struct stack_entry entry = make_stack(n, parent, frame);
	bool is_valid = is_known_or_none(n, NAMES_STACKS, parent) &&
			is_known(n, NAMES_FRAMES, frame) && entry.depth <= NAMES_MAX_DEPTH;

	return define(n, NAMES_STACKS, id, is_valid, &entry);
}

int names_define_process(struct names *n, uint32_t id, uint64_t epid, uint32_t pid,
			 uint32_t registered, uint32_t label, uint32_t initial_call)
{
	struct name_process entry = make_process(n, epid, pid, registered, label, initial_call);
	bool is_valid = is_known(n, NAMES_STRINGS, pid) &&
			is_known_or_none(n, NAMES_STRINGS, registered) &&
			is_known_or_none(n, NAMES_STRINGS, label) &&
			is_known_or_none(n, NAMES_FUNCTIONS, initial_call);

	return define(n, NAMES_PROCESSES, id, is_valid, &entry);
}

int names_define_thread(struct names *n, uint32_t id, uint32_t os_tid, uint32_t type,
			uint16_t scheduler, uint32_t name)
{
	struct name_thread entry = make_thread(n, os_tid, (enum thread_type)type, scheduler, name);
	bool is_valid = type <= THREAD_OTHER && is_known_or_none(n, NAMES_STRINGS, name);

	return define(n, NAMES_THREADS, id, is_valid, &entry);
}
