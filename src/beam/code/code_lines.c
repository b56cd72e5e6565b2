/* SPDX-License-Identifier: BSD-2-Clause */
/* See code_lines.h. */
#include "beam/code/code_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/search.h"
#include "base/xalloc.h"
#include "beam/code/call_targets.h"
#include "beam/term/atoms.h"

#define MAX_FUNCTIONS  (1u << 20)
#define MAX_LINES      (4u << 20)
#define MAX_FILES      256
#define MAX_TABLE_SIZE 64

/* BeamCodeLineTab of a module (beam_code.h). */
struct line_table {
	raddr files, locations, addresses; /* of arrays in the node */
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

/* Decodes locations as LOC_FILE() and LOC_LINE() of beam_code.h do: file 0 is the module's own,
 * line 0 is unknown. */
static void fill(struct code_lines *out, const struct beam_node *n, const struct line_table *t,
		 raddr start, raddr end, const uint64_t *addresses, const uint8_t *locations)
{
	const char *known[MAX_FILES] = {out->module_file};

	for (size_t i = 0; i < t->nr; i++) {
		uint32_t location = t->location_size == 2 ? bytes_u16(locations, 2 * (int64_t)i)
							  : bytes_u32(locations, 4 * (int64_t)i);
		struct code_line *line = &out->at[out->nr];

		if (addresses[i] < start || addresses[i] >= end ||
		    (out->nr && addresses[i] - start < line[-1].start))
			continue;
		line->start = (uint32_t)(addresses[i] - start);
		line->file = file_of(n, t, location >> 24, known);
		line->line = line->file ? location & 0xffffff : 0;
		out->nr++;
	}
}

bool code_lines_read(struct code_lines *out, const struct beam_node *n, raddr start, raddr end,
		     const char *module, size_t module_len, size_t most)
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
		code_lines_free(out);
	return ok;
}

void code_lines_free(struct code_lines *l)
{
	free(l->at);
	free(l->module_file);
	memset(l, 0, sizeof(*l));
}

const struct code_line *code_lines_at(const struct code_lines *l, uint32_t function,
				      uint32_t offset)
{
	size_t nr = COUNT_UP_TO(l->nr, i, l->at[i].start, offset);

	/* The first line of a function may have an address before its code, but not before its
	 * ErtsCodeInfo; lines before that belong to another function. */
	if (nr == 0 || !l->at[nr - 1].line ||
	    l->at[nr - 1].start + BEAM_CODE_INFO_SIZE + BEAM_CALL_PROLOGUE < function)
		return NULL;
	return &l->at[nr - 1];
}
