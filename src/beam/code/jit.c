/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit.h. */
#include "beam/code/jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"
#include "beam/code/code_lines.h"
#include "beam/code/interpreted.h"
#include "beam/code/jit_otp24.h"

#define MAX_ENTRIES	(1u << 20)   /* of the GDB JIT interface's list */
#define MAX_RECORD_SIZE (64u << 20)  /* bytes; the largest seen is below 1 MiB */
#define MAX_TOTAL_SIZE	(512u << 20) /* of all records; a fresh node has 1.5 MB */
#define MAX_CODE_SIZE	(256u << 20)
#define MAX_LINES	(16u << 20) /* of all code headers; a fresh node has 25,000 */

/* How often a list that changed while it was read is read again. */
#define LIST_ATTEMPTS 8

/* Attempts to read a module's lines from its code header, which is filled in only after the
 * module's record is published. */
#define LINES_ATTEMPTS 8

enum record_kind { RECORD_EMULATOR = 0, RECORD_MODULE = 1 };

struct module {
	raddr start, end; /* of the module's code */
	raddr entry;	  /* address of the jit_code_entry */
	uint32_t serial;
	uint32_t nr_ranges;
	uint32_t *ranges; /* offsets of ranges in `bytes`, by start; made on first use */
	uint32_t name_len;
	uint8_t *bytes;
	uint32_t size;
	struct code_lines lines; /* used if the record has none */
	unsigned int lines_left; /* attempts left to read them; 0 = do not try */
};

/* Count of the lines of modules without lines in their records (OTP 24, interpreter), which are
 * read on first use. */
struct lines_held {
	size_t nr, most;
	bool full; /* `most` was reached and a warning logged */
};

struct jit_code {
	struct mem *mem;
	const struct beam_node *node; /* NULL = unknown */
	raddr descriptor;
	VEC(struct module *) modules; /* by start, disjoint */
	struct address_range fragments;
	bool frame_pointers;
	raddr normal_exit;
	uint32_t serial;
	uint64_t total_size; /* of all records in memory */
	struct lines_held *lines;
	uint64_t unreadable;
};

/* ---- records --------------------------------------------------------------------------------- */

/* Module record: u32 kind, u64 base @8, u32 nr_ranges @16, u32 code_size @20, u16 name_len @24,
 * name @26, ranges @32 + name_len.  Range: u32 start, end, nr_lines, u16 name_len, name @14; 16 +
 * name_len bytes.  Line: u32 start, line, u16 file_len, file @10; 12 + file_len bytes. */
#define MODULE_HEAD 32
#define RANGE_HEAD  16
#define LINE_HEAD   12

/* Bytes of the range at `at` with its lines; 0 if they exceed the record. */
static uint32_t range_size(const uint8_t *bytes, uint32_t size, uint32_t at)
{
	uint64_t end = at;
	uint32_t nr_lines;

	if (size - at < RANGE_HEAD)
		return 0;
	nr_lines = bytes_u32(bytes, at + 8);
	end += RANGE_HEAD + (uint64_t)bytes_u16(bytes, at + 12);
	for (uint32_t i = 0; i < nr_lines; i++) {
		if (end + LINE_HEAD > size)
			return 0;
		end += LINE_HEAD + (uint64_t)bytes_u16(bytes, end + 8);
	}
	return end <= size ? (uint32_t)(end - at) : 0;
}

/* Checks a module record to its last byte and fills the head of *m. */
static bool parse_module(struct module *m, const uint8_t *bytes, uint32_t size)
{
	uint32_t code_size, at, end;

	if (size < MODULE_HEAD || bytes_u32(bytes, 0) != RECORD_MODULE)
		return false;
	m->start = bytes_u64(bytes, 8);
	m->nr_ranges = bytes_u32(bytes, 16);
	code_size = bytes_u32(bytes, 20);
	m->name_len = bytes_u16(bytes, 24);
	if (code_size == 0 || code_size > MAX_CODE_SIZE || m->start > UINT64_MAX - code_size ||
	    m->name_len > size - MODULE_HEAD)
		return false;
	m->end = m->start + code_size;
	at = MODULE_HEAD + m->name_len;
	for (uint32_t i = 0; i < m->nr_ranges; i++) {
		uint32_t step = range_size(bytes, size, at);

		if (!step)
			return false;
		end = bytes_u32(bytes, at + 4);
		if (bytes_u32(bytes, at) > end || end > code_size)
			return false;
		at += step;
	}
	return at == size;
}

static void module_free(struct module *m)
{
	if (!m)
		return;
	code_lines_free(&m->lines);
	free(m->ranges);
	free(m->bytes);
	free(m);
}

static const char *module_name(const struct module *m, uint32_t *len)
{
	/* Some releases count the terminating NUL in the name's length. */
	const char *name = (const char *)m->bytes + 26;

	*len = (uint32_t)strnlen(name, m->name_len);
	return name;
}

static int by_range_start(const void *a, const void *b, void *bytes)
{
	uint32_t x = bytes_u32(bytes, *(const uint32_t *)a);
	uint32_t y = bytes_u32(bytes, *(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

/* Finds the offsets of a module's ranges; on first use, as most modules are never sampled. */
static void index_ranges(struct module *m)
{
	uint32_t at = MODULE_HEAD + m->name_len;

	m->ranges = xmalloc(sizeof(*m->ranges) * (m->nr_ranges ? m->nr_ranges : 1));
	for (uint32_t i = 0; i < m->nr_ranges; i++) {
		m->ranges[i] = at;
		at += range_size(m->bytes, m->size, at);
	}
	qsort_r(m->ranges, m->nr_ranges, sizeof(*m->ranges), by_range_start, m->bytes);
}

/* ---- the list of modules --------------------------------------------------------------------- */

/* Index of the first module that ends above addr. */
static size_t lower(const struct jit_code *j, raddr addr)
{
	return COUNT_UP_TO(j->modules.len, i, j->modules.data[i]->end, addr);
}

static void remove_at(struct jit_code *j, size_t i, size_t nr)
{
	if (nr == 0)
		return;
	for (size_t k = i; k < i + nr; k++) {
		j->total_size -= j->modules.data[k]->size;
		j->lines->nr -= j->modules.data[k]->lines.nr;
		module_free(j->modules.data[k]);
	}
	memmove(&j->modules.data[i], &j->modules.data[i + nr],
		(j->modules.len - i - nr) * sizeof(j->modules.data[0]));
	j->modules.len -= nr;
}

/* Inserts m and takes ownership.  Removes modules that it overlaps: they were purged, and their
 * memory reused. */
static void insert(struct jit_code *j, struct module *m)
{
	size_t i = lower(j, m->start), nr = 0;

	while (i + nr < j->modules.len && j->modules.data[i + nr]->start < m->end)
		nr++;
	remove_at(j, i, nr);
	vec_reserve(&j->modules, j->modules.len + 1);
	memmove(&j->modules.data[i + 1], &j->modules.data[i],
		(j->modules.len - i) * sizeof(j->modules.data[0]));
	j->modules.data[i] = m;
	j->modules.len++;
	j->total_size += m->size;
}

/* The pseudo module of shared fragments is called `global`, and so is a module of application
 * kernel, which also has the ranges "global::codeHeader" and "global::codeFooter". */
static bool is_fragment_block(const struct module *m)
{
	uint32_t at = MODULE_HEAD + m->name_len;

	for (uint32_t i = 0; i < m->nr_ranges && i < 3; i++) {
		uint16_t len = bytes_u16(m->bytes, at + 12);
		const uint8_t *name = m->bytes + at + 14;

		if (len > 8 && memcmp(name, "global::", 8) == 0 &&
		    memmem(name, len, "::code", 6) == NULL)
			return true;
		at += range_size(m->bytes, m->size, at);
	}
	return false;
}

/* Converts a valid record of OTP 24 to the format of later releases and returns true; leaves other
 * records as they are. */
static bool modernize(struct jit_code *j, uint8_t **bytes, uint32_t *size)
{
	uint8_t *converted;

	if (!jit_otp24_is_module(*bytes, *size))
		return false;
	converted = jit_otp24_convert(*bytes, *size, j->normal_exit, size);
	if (!converted)
		return false;
	free(*bytes);
	*bytes = converted;
	return true;
}

static bool add_record(struct jit_code *j, raddr entry, uint8_t *bytes, uint32_t size)
{
	bool otp24;
	struct module *m;

	if ((size >= 24 || size == JIT_OTP24_EMULATOR_SIZE) &&
	    bytes_u32(bytes, 0) == RECORD_EMULATOR) {
		if (size >= 24) {
			j->frame_pointers = bytes_u32(bytes, 8) != 0;
			j->normal_exit = bytes_u64(bytes, 16);
		}
		free(bytes);
		return true;
	}
	otp24 = modernize(j, &bytes, &size);
	m = xcalloc(1, sizeof(*m));
	m->lines_left = otp24 ? LINES_ATTEMPTS : 0;
	m->bytes = bytes;
	m->size = size;
	if (j->total_size + size > MAX_TOTAL_SIZE || !parse_module(m, bytes, size)) {
		module_free(m);
		j->unreadable++;
		return false;
	}
	m->entry = entry;
	m->serial = ++j->serial;
	insert(j, m);
	if (is_fragment_block(m))
		j->fragments = (struct address_range){m->start, m->end};
	return true;
}

void jit_open(struct jit_code **out, struct mem *mem, raddr descriptor)
{
	struct jit_code *j = xcalloc(1, sizeof(*j));

	j->mem = mem;
	j->descriptor = descriptor;
	j->lines = xcalloc(1, sizeof(*j->lines));
	j->lines->most = MAX_LINES;
	*out = j;
}

bool jit_is_known(const struct beam_node *n)
{
	return n->identity.jit ? n->anchors.jit_descriptor != 0
			       : n->anchors.module_code && n->anchors.active_code_ix;
}

void jit_open_node(struct jit_code **out, const struct beam_node *n)
{
	jit_open(out, n->mem, n->anchors.jit_descriptor);
	(*out)->node = n;
	(*out)->normal_exit = n->anchors.normal_exit;
}

void jit_limit_lines(struct jit_code *j, size_t most)
{
	j->lines->most = most;
}

void jit_close(struct jit_code *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->modules.len; i++)
		module_free(j->modules.data[i]);
	vec_free(&j->modules);
	free(j->lines);
	free(j);
}

/* Adds one record: from the copied bytes, else from memory at `record`. */
static bool take_record(struct jit_code *j, raddr entry, raddr record, uint64_t size,
			const void *bytes, uint32_t copied)
{
	uint8_t *copy;

	if (size < 4 || size > MAX_RECORD_SIZE) {
		j->unreadable++;
		return false;
	}
	copy = xmalloc(size);
	if (copied == size) {
		memcpy(copy, bytes, size);
	} else if (mem_read(j->mem, record, copy, size)) {
		free(copy);
		j->unreadable++;
		return false;
	}
	return add_record(j, entry, copy, (uint32_t)size);
}

/* Index of the module with this entry, or the number of modules.  A linear search of thousands of
 * modules is cheap compared to the load of a module that causes it. */
static size_t index_of_entry(const struct jit_code *j, raddr entry)
{
	size_t i = 0;

	while (i < j->modules.len && j->modules.data[i]->entry != entry)
		i++;
	return i;
}

void jit_unloaded(struct jit_code *j, raddr entry)
{
	size_t i = index_of_entry(j, entry);

	if (i < j->modules.len)
		remove_at(j, i, 1);
}

bool jit_loaded(struct jit_code *j, raddr entry, raddr record, uint64_t size, const void *bytes,
		uint32_t copied)
{
	/* The entry was freed and reused: its old module is gone. */
	jit_unloaded(j, entry);
	return take_record(j, entry, record, size, bytes, copied);
}

/* ---- the node's list ------------------------------------------------------------------------- */

struct entry { /* struct jit_code_entry */
	uint64_t next, prev, record, record_size;
};

struct listed {
	raddr addr;
	struct entry e;
};

struct listing {
	VEC(struct listed) entries; /* newest first */
};

/*
 * Walks the list once.  0, or negative errno if its end was not reached.  An entry may be freed
 * during the walk: its memory then has other contents, without a `prev` that points back.
 */
static int walk_list(struct jit_code *j, struct listing *l)
{
	raddr at, previous = 0, mark = 0; /* Brent's cycle detection */
	size_t next_mark = 1;
	int rc = mem_read_u64(j->mem, j->descriptor + 16, &at);

	l->entries.len = 0;
	while (rc == 0 && at) {
		struct listed item = {.addr = at};

		rc = mem_read(j->mem, at, &item.e, sizeof(item.e));
		if (rc)
			break;
		if (at == mark || l->entries.len >= MAX_ENTRIES)
			return -EBADMSG;
		if (previous && item.e.prev != previous)
			return -EBADMSG;
		if (l->entries.len == next_mark) {
			mark = at;
			next_mark *= 2;
		}
		vec_push(&l->entries, item);
		previous = at;
		at = item.e.next;
	}
	return rc;
}

/* Adds a module's code, unless the same code is known already. */
static void take_interpreted(void *arg, raddr entry, uint8_t *bytes, uint32_t size)
{
	struct jit_code *j = arg;
	size_t i = lower(j, entry);
	const struct module *m = i < j->modules.len ? j->modules.data[i] : NULL;

	if (m && m->start == entry && m->size == size && memcmp(m->bytes, bytes, size) == 0) {
		free(bytes);
		return;
	}
	if (add_record(j, entry, bytes, size))
		j->modules.data[lower(j, entry)]->lines_left = LINES_ATTEMPTS;
}

int jit_sync(struct jit_code *j, struct error *err)
{
	struct listing l = {0};
	int rc;

	j->unreadable = 0; /* counted again below */
	if (j->node && !j->node->identity.jit)
		return interpreted_records(j->node, take_interpreted, j, err);
	for (int i = 0; i < LIST_ATTEMPTS; i++) {
		rc = walk_list(j, &l);
		if (rc == 0)
			break;
	}
	/* Modules behind a broken link are not found; this counts as one unreadable record. */
	if (rc)
		j->unreadable++;
	for (size_t i = l.entries.len; i-- > 0;) {
		const struct listed *item = &l.entries.data[i];

		take_record(j, item->addr, item->e.record, item->e.record_size, NULL, 0);
	}
	vec_free(&l.entries);
	if (j->modules.len == 0)
		return error_set(err, ERROR_KIND_UNSUPPORTED, rc ? rc : -ENOENT,
				 "the list of JIT code at 0x%lx cannot be read: %s",
				 (unsigned long)j->descriptor, rc ? error_text(rc) : "it is empty");
	return 0;
}

/* ---- lookup ---------------------------------------------------------------------------------- */

static bool has_suffix(const char *s, uint32_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

static void read_lines(const struct jit_code *j, struct module *m)
{
	struct lines_held *held = j->lines;
	uint32_t len;
	const char *name = module_name(m, &len);

	m->lines_left--;
	if (!code_lines_read(&m->lines, j->node, m->start, m->end, name, len,
			     held->most - held->nr))
		return;
	m->lines_left = 0;
	held->nr += m->lines.nr;
	if (!m->lines.too_many || held->full)
		return;
	held->full = true;
	log_warn("ebeam: functions of module %.*s, and maybe of others, are shown without line "
		 "numbers: ebeam keeps at most %zu lines of all modules",
		 (int)len, name, held->most);
}

static bool find_header_line(const struct jit_code *j, struct module *m, uint32_t function,
			     uint32_t offset, struct jit_function *out)
{
	const struct code_line *line;

	if (m->lines_left && j->node)
		read_lines(j, m);
	line = code_lines_at(&m->lines, function, offset);
	if (!line)
		return false;
	out->line = line->line;
	out->file = line->file;
	out->file_len = (uint32_t)strlen(line->file);
	return true;
}

/* The last line that starts at or below the offset.  Up to OTP 27.1 the lines of a function include
 * those of the next functions (OTP-19362), which are beyond its end and so never found. */
static void find_line(const struct module *m, uint32_t at, uint32_t offset,
		      struct jit_function *out)
{
	uint32_t nr = bytes_u32(m->bytes, at + 8), best = 0;
	const uint8_t *p = m->bytes + at + RANGE_HEAD + bytes_u16(m->bytes, at + 12);

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t start = bytes_u32(p, 0), file_len = bytes_u16(p, 8);

		if (start <= offset && (start >= best || !out->line)) {
			best = start;
			out->line = bytes_u32(p, 4);
			out->file = (const char *)p + 10;
			out->file_len = (uint32_t)strnlen(out->file, file_len);
		}
		p += LINE_HEAD + file_len;
	}
	if (out->line == 0 || out->file_len == 0) {
		out->file = NULL;
		out->file_len = 0;
	}
}

static void describe(const struct module *m, uint32_t at, struct jit_function *out)
{
	const char *colon;

	memset(out, 0, sizeof(*out));
	out->start = m->start + bytes_u32(m->bytes, at);
	out->end = m->start + bytes_u32(m->bytes, at + 4);
	out->name = (const char *)m->bytes + at + 14;
	out->name_len = (uint32_t)strnlen(out->name, bytes_u16(m->bytes, at + 12));
	out->module = module_name(m, &out->module_len);
	out->serial = m->serial;
	out->preamble = has_suffix(out->name, out->name_len, "-CodeInfoPrologue");
	colon = memmem(out->name, out->name_len, "::", 2);
	out->fragment = colon && (uint32_t)(colon - out->name) == out->module_len;
}

bool jit_find(const struct jit_code *j, raddr addr, struct jit_function *out)
{
	size_t i = lower(j, addr), nr;
	struct module *m;
	uint32_t offset, range;

	if (i >= j->modules.len || addr < j->modules.data[i]->start)
		return false;
	m = j->modules.data[i];
	offset = (uint32_t)(addr - m->start);
	if (!m->ranges)
		index_ranges(m);
	nr = COUNT_UP_TO(m->nr_ranges, k, bytes_u32(m->bytes, m->ranges[k]), offset);
	if (nr == 0)
		return false;
	range = m->ranges[nr - 1];
	if (bytes_u32(m->bytes, range + 4) <= offset)
		return false;
	describe(m, range, out);
	if (out->fragment || !find_header_line(j, m, bytes_u32(m->bytes, range), offset, out))
		find_line(m, range, offset, out);
	return true;
}

uint32_t jit_serial(const struct jit_code *j, raddr addr)
{
	size_t i = lower(j, addr);

	return i < j->modules.len && addr >= j->modules.data[i]->start ? j->modules.data[i]->serial
								       : 0;
}

bool jit_fragment(const struct jit_code *j, const char *name, struct address_range *out)
{
	size_t i = lower(j, j->fragments.start), want = strlen(name);
	const struct module *m;
	uint32_t at;

	if (!j->fragments.end || i >= j->modules.len)
		return false;
	m = j->modules.data[i];
	at = MODULE_HEAD + m->name_len;
	for (uint32_t k = 0; k < m->nr_ranges; k++) {
		struct jit_function f;

		describe(m, at, &f);
		if (f.name_len == want + 8 && memcmp(f.name + 8, name, want) == 0) {
			*out = (struct address_range){f.start, f.end};
			return true;
		}
		at += range_size(m->bytes, m->size, at);
	}
	return false;
}

struct address_range jit_fragments(const struct jit_code *j)
{
	return j->fragments;
}

raddr jit_normal_exit(const struct jit_code *j)
{
	return j->normal_exit;
}

bool jit_frame_pointers(const struct jit_code *j)
{
	return j->frame_pointers;
}

bool jit_module_at(const struct jit_code *j, size_t i, struct address_range *out)
{
	if (i >= j->modules.len)
		return false;
	*out = (struct address_range){j->modules.data[i]->start, j->modules.data[i]->end};
	return true;
}

bool jit_module_of(const struct jit_code *j, raddr entry, struct address_range *out)
{
	return jit_module_at(j, index_of_entry(j, entry), out);
}

size_t jit_modules(const struct jit_code *j)
{
	return j->modules.len;
}

uint64_t jit_unreadable(const struct jit_code *j)
{
	return j->unreadable;
}
