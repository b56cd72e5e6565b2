/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit_otp24.h. */
#include "beam/code/jit_otp24.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/call_targets.h"
#include "beam/term/atoms.h"

#define HEAD_SIZE     24
#define RANGE_SIZE    16 /* without its name */
#define MIN_RANGES    4	 /* header, what precedes a function, its code, footer */
#define MAX_CODE_SIZE (256u << 20)
#define MAX_NAME      1024 /* beam_asm_module.cpp has a buffer of that size */

/* The VM's own functions: the module is called so in OTP 24, too, but each of its functions is of
 * erts_internal, and none has the prologue that its record counts as what precedes the code.  And
 * normal_exit follows apply/3 without a name of its own. */
#define VM_MODULE   "erts_beamasm"
#define VM_PREFIX   "erts_internal:"
#define NORMAL_EXIT VM_MODULE ":normal_exit/0"
#define PRECEDING   "-CodeInfoPrologue"

bool jit_otp24_is_module(const uint8_t *bytes, size_t size)
{
	return size >= HEAD_SIZE && bytes_u64(bytes, 0) >= MIN_RANGES &&
	       bytes_u64(bytes, 0) < UINT32_MAX && bytes_u64(bytes, 16) > 0 &&
	       bytes_u64(bytes, 16) <= MAX_CODE_SIZE;
}

/* ---- records -------------------------------------------------------------------------------- */

struct converter {
	const uint8_t *from, *end;
	uint8_t *to, *at;
	raddr start, size;
	bool vm;
	raddr normal_exit;
	uint32_t nr_ranges;
};

static void put(struct converter *c, uint64_t v, size_t size)
{
	memcpy(c->at, &v, size);
	c->at += size;
}

static void put_range(struct converter *c, raddr start, raddr end, const char *name, size_t len)
{
	put(c, start - c->start, 4);
	put(c, end - c->start, 4);
	put(c, 0, 4);
	put(c, len, 2);
	memcpy(c->at, name, len);
	memset(c->at + len, 0, 2);
	c->at += len + 2;
	c->nr_ranges++;
}

/* As OTP 25 has it: what a return to normal_exit stands behind is of another range. */
static void put_normal_exit(struct converter *c, raddr end)
{
	static const char name[] = NORMAL_EXIT, before[] = NORMAL_EXIT PRECEDING;

	put_range(c, c->normal_exit - 1, c->normal_exit, before, sizeof(before) - 1);
	put_range(c, c->normal_exit, end, name, sizeof(name) - 1);
}

static bool has_suffix(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

static bool convert_range(struct converter *c)
{
	char renamed[MAX_NAME + sizeof(VM_MODULE)];
	const char *name = (const char *)c->from + RANGE_SIZE;
	raddr start, end;
	size_t len;

	if (c->end - c->from <= RANGE_SIZE)
		return false;
	start = bytes_u64(c->from, 0);
	end = bytes_u64(c->from, 8);
	len = strnlen(name, (size_t)(c->end - c->from) - RANGE_SIZE);
	c->from += RANGE_SIZE + len + 1;
	if (c->from > c->end || len > MAX_NAME || start < c->start || end < start ||
	    end - c->start > c->size)
		return false;
	if (c->vm && has_suffix(name, len, PRECEDING) && end - start > BEAM_CALL_PROLOGUE)
		end -= BEAM_CALL_PROLOGUE;
	else if (c->vm && memmem(name, len, "::", 2) == NULL &&
		 start - c->start > BEAM_CALL_PROLOGUE)
		start -= BEAM_CALL_PROLOGUE;
	if (c->vm && len > strlen(VM_PREFIX) && memcmp(name, VM_PREFIX, strlen(VM_PREFIX)) == 0) {
		len = (size_t)snprintf(renamed, sizeof(renamed), VM_MODULE ":%.*s",
				       (int)(len - strlen(VM_PREFIX)), name + strlen(VM_PREFIX));
		name = renamed;
	}
	if (c->vm && c->normal_exit > start + 1 && c->normal_exit < end) {
		put_range(c, start, c->normal_exit - 1, name, len);
		put_normal_exit(c, end);
		c->normal_exit = 0; /* once: there is no room for more */
	} else {
		put_range(c, start, end, name, len);
	}
	return true;
}

uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size)
{
	struct converter c = {.end = bytes + size, .normal_exit = normal_exit};
	const char *name = (const char *)bytes + HEAD_SIZE;
	uint64_t nr, left;
	size_t len;

	if (!jit_otp24_is_module(bytes, size))
		return NULL;
	nr = bytes_u64(bytes, 0);
	c.start = bytes_u64(bytes, 8);
	c.size = bytes_u64(bytes, 16);
	len = strnlen(name, size - HEAD_SIZE);
	if (len >= size - HEAD_SIZE || len > MAX_NAME || nr > size / RANGE_SIZE)
		return NULL;
	c.from = bytes + HEAD_SIZE + len + 1;
	c.vm = strcmp(name, VM_MODULE) == 0;
	/* A range takes a byte less than before, the head 7 more; one range is cut in three. */
	c.to = c.at = xcalloc(1, size + nr + 256);
	put(&c, 1, 8);
	put(&c, c.start, 8);
	put(&c, 0, 4); /* number of ranges: below */
	put(&c, c.size, 4);
	put(&c, len, 2);
	memcpy(c.at, name, len);
	c.at = c.to + 32 + len;
	for (left = nr; left > 0 && convert_range(&c); left--)
		;
	if (left > 0 || c.from != c.end) {
		free(c.to);
		return NULL;
	}
	memcpy(c.to + 16, &c.nr_ranges, 4);
	*converted_size = (uint32_t)(c.at - c.to);
	return c.to;
}

/* ---- lines ---------------------------------------------------------------------------------- */

#define MAX_FUNCTIONS  (1u << 20)
#define MAX_LINES      (4u << 20)
#define MAX_FILES      256
#define MAX_TABLE_SIZE 64

/* BeamCodeLineTab of a module (beam_code.h). */
struct line_table {
	raddr files, locations, addresses; /* arrays */
	uint32_t location_size;
	size_t nr;
};

static bool is_within(int64_t offset, int64_t size, int64_t end)
{
	return offset >= 0 && offset + size <= end;
}

static bool read_table(struct line_table *t, const struct beam_node *n, raddr start, raddr end,
		       bool *none)
{
	const struct beam_layout *l = &n->layout;
	uint8_t header[MAX_TABLE_SIZE * 2], table[MAX_TABLE_SIZE];
	uint64_t functions, last;
	raddr at;

	*none = false;
	if (!is_within(l->code_header_num_functions, 8, l->code_header_functions) ||
	    !is_within(l->code_header_line_table, 8, l->code_header_functions) ||
	    !is_within(l->line_table_fname_ptr, 8, l->line_table_func_tab) ||
	    !is_within(l->line_table_loc_size, 4, l->line_table_func_tab) ||
	    !is_within(l->line_table_loc_tab, 8, l->line_table_func_tab) ||
	    l->code_header_functions > (int)sizeof(header) ||
	    l->line_table_func_tab > (int)sizeof(table) ||
	    mem_read(n->mem, start, header, (size_t)l->code_header_functions))
		return false;
	functions = bytes_u64(header, l->code_header_num_functions);
	at = bytes_u64(header, l->code_header_line_table);
	if (functions == 0 || functions > MAX_FUNCTIONS)
		return false;
	*none = at == 0;
	if (!at || mem_read(n->mem, at, table, (size_t)l->line_table_func_tab))
		return false;
	at += (raddr)l->line_table_func_tab;
	t->files = bytes_u64(table, l->line_table_fname_ptr);
	t->location_size = bytes_u32(table, l->line_table_loc_size);
	t->locations = bytes_u64(table, l->line_table_loc_tab);
	if (mem_read_u64(n->mem, at, &t->addresses) ||
	    mem_read_u64(n->mem, at + 8 * functions, &last) || last < t->addresses ||
	    (last - t->addresses) / 8 > MAX_LINES || (last - t->addresses) / 8 > end - start)
		return false;
	t->nr = (size_t)(last - t->addresses) / 8;
	return t->location_size == 2 || t->location_size == 4;
}

static const char *file_of(const struct beam_node *n, const struct line_table *t, uint32_t file,
			   const char **known)
{
	uint64_t term;

	if (!known[file] && mem_read_u64(n->mem, t->files + 8 * (raddr)(file - 1), &term) == 0)
		known[file] = beam_atom_text(n->atoms, term, NULL);
	return known[file];
}

/* LOC_FILE() and LOC_LINE() of beam_code.h; file 0 is the module's own, and location 0 is none. */
static void fill(struct jit_otp24_lines *out, const struct beam_node *n, const struct line_table *t,
		 raddr start, raddr end, const uint64_t *addresses, const uint8_t *locations)
{
	const char *known[MAX_FILES] = {out->module_file};

	for (size_t i = 0; i < t->nr; i++) {
		uint32_t location = t->location_size == 2 ? bytes_u16(locations, 2 * (int64_t)i)
							  : bytes_u32(locations, 4 * (int64_t)i);
		struct jit_otp24_line *line = &out->at[out->nr];

		if (addresses[i] < start || addresses[i] >= end ||
		    (out->nr && addresses[i] - start < line[-1].start))
			continue;
		line->start = (uint32_t)(addresses[i] - start);
		line->file = file_of(n, t, location >> 24, known);
		line->line = line->file ? location & 0xffffff : 0;
		out->nr++;
	}
}

bool jit_otp24_lines_read(struct jit_otp24_lines *out, const struct beam_node *n, raddr start,
			  raddr end, const char *module, size_t module_len, size_t most)
{
	struct line_table t;
	uint64_t *addresses;
	uint8_t *locations;
	bool none, ok;

	memset(out, 0, sizeof(*out));
	if (!n->atoms || !read_table(&t, n, start, end, &none))
		return n->atoms && none;
	out->too_many = t.nr > most;
	if (out->too_many)
		return true;
	addresses = xcalloc(t.nr + 1, sizeof(*addresses));
	locations = xcalloc(t.nr + 1, t.location_size);
	out->at = xcalloc(t.nr + 1, sizeof(*out->at));
	out->module_file = xmalloc(module_len + sizeof(".erl"));
	memcpy(out->module_file, module, module_len);
	memcpy(out->module_file + module_len, ".erl", sizeof(".erl"));
	ok = mem_read(n->mem, t.addresses, addresses, 8 * t.nr) == 0 &&
	     mem_read(n->mem, t.locations, locations, t.location_size * t.nr) == 0;
	if (ok)
		fill(out, n, &t, start, end, addresses, locations);
	out->at = xrealloc(out->at, (out->nr + 1) * sizeof(*out->at));
	free(addresses);
	free(locations);
	if (!ok)
		jit_otp24_lines_free(out);
	return ok;
}

void jit_otp24_lines_free(struct jit_otp24_lines *l)
{
	free(l->at);
	free(l->module_file);
	memset(l, 0, sizeof(*l));
}

const struct jit_otp24_line *jit_otp24_line_at(const struct jit_otp24_lines *l, uint32_t function,
					       uint32_t offset)
{
	size_t lo = 0, hi = l->nr;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (l->at[mid].start <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* The line of a function's head stands before its code. */
	if (lo == 0 || !l->at[lo - 1].line ||
	    l->at[lo - 1].start + BEAM_CODE_INFO_SIZE + BEAM_CALL_PROLOGUE < function)
		return NULL;
	return &l->at[lo - 1];
}
