/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for code: tables of modules, exports and funs, the lists of code ranges, and the code
 * itself.  The VM has most of these sums in static variables, which cannot be found: they are
 * computed from the tables, as in module.c, export.c, beam_ranges.c and erl_code_staged.h.
 */
#include "beam/vm/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/code/modules.h"

#define CODE_INDEXES 3 /* ERTS_NUM_CODE_IX, code_ix.h; as in struct beam_staged_count */
/* struct ranges {modules; n, allocated; mid} and Range {start, end}, beam_ranges.c. */
#define RANGES_SIZE	 32
#define RANGES_ALLOCATED 16
#define RANGE_SIZE	 16
/* Buckets by hash_init() for MODULE_SIZE (50) modules, in three tables, which tot_module_bytes does
 * not include: the smallest 2^n that is at least 3 * 50 / 4 (hash.c). */
#define MODULE_INITIAL_BUCKETS 64

struct staged {
	uint64_t tables, objects; /* bytes of the tables, number of distinct objects */
};

static int by_address(const void *a, const void *b)
{
	raddr x = *(const raddr *)a, y = *(const raddr *)b;

	return x < y ? -1 : x > y;
}

static uint64_t count_distinct(raddr *addrs, size_t nr)
{
	uint64_t distinct = 0;

	if (nr > 0)
		qsort(addrs, nr, sizeof(*addrs), by_address);
	for (size_t i = 0; i < nr; i++)
		distinct += i == 0 || addrs[i] != addrs[i - 1];
	return distinct;
}

/* Sets *last to the address of the newest entry; 0: there is none. */
static int read_last(raddr *last, struct beam_node *n, const struct index_table *table)
{
	struct index_objects newest;
	int rc;

	*last = 0;
	if (table->entries == 0)
		return 0;
	rc = index_table_objects_from(&newest, n->mem, table, table->entries - 1);
	if (!rc)
		*last = newest.v.data[0];
	vec_free(&newest.v);
	return rc;
}

static bool is_counted(const struct beam_staged_count *a, const struct beam_staged_count *b)
{
	return a->tables == b->tables && memcmp(a->entries, b->entries, sizeof(a->entries)) == 0 &&
	       memcmp(a->last, b->last, sizeof(a->last)) == 0;
}

static int count_objects(uint64_t *nr, struct beam_node *n,
			 const struct index_table tables[CODE_INDEXES])
{
	struct index_objects objects = {0};
	int rc = 0;

	for (int i = 0; !rc && i < CODE_INDEXES; i++)
		rc = staged_table_objects(&objects, n->mem, &tables[i]);
	if (!rc)
		*nr = count_distinct(objects.v.data, objects.v.len);
	vec_free(&objects.v);
	return rc;
}

/* Three tables of entries that point to objects, which the tables share.  Only the newest entries
 * are added and removed: as long as they are the same, all others are. */
static int read_staged(struct staged *out, struct beam_node *n, raddr at,
		       struct beam_staged_count *known)
{
	struct beam_staged_count now = {.tables = at};
	struct index_table tables[CODE_INDEXES];
	int rc = at ? 0 : -ENOTSUP;

	memset(out, 0, sizeof(*out));
	for (int i = 0; !rc && i < CODE_INDEXES; i++) {
		rc = index_table_read(&tables[i], n->mem, &n->layout,
				      at + (raddr)i * (raddr)n->layout.index_table_size);
		rc = rc ? rc : read_last(&now.last[i], n, &tables[i]);
		now.entries[i] = rc ? 0 : tables[i].entries;
		out->tables += rc ? 0 : tables[i].bytes;
	}
	if (rc)
		return rc;
	if (!is_counted(known, &now)) {
		rc = count_objects(&now.objects, n, tables);
		if (rc)
			return rc;
		*known = now;
	}
	out->objects = known->objects;
	return 0;
}

static void read_exports(struct memory_areas *out, struct beam_node *n)
{
	raddr tables =
		n->anchors.export_table ? n->anchors.export_table : n->anchors.staged_exports;
	struct staged s;

	out->export_table = out->export_list = MEMORY_UNKNOWN;
	if (read_staged(&s, n, tables, &n->exports_count) != 0)
		return;
	out->export_table = s.tables;
	out->export_list =
		s.objects * ((uint64_t)n->layout.export_size + CODE_INDEXES * STAGED_ENTRY_SIZE);
}

static void read_funs(struct memory_areas *out, struct beam_node *n)
{
	struct staged s;

	out->fun_table = MEMORY_UNKNOWN;
	if (n->anchors.fun_table) {
		if (hash_table_bytes(&out->fun_table, n->mem, &n->layout, n->anchors.fun_table))
			out->fun_table = MEMORY_UNKNOWN;
	} else if (read_staged(&s, n, n->anchors.staged_funs, &n->funs_count) == 0) {
		out->fun_table = s.tables;
		out->fun_list = s.objects * ((uint64_t)n->layout.fun_entry_size +
					     CODE_INDEXES * STAGED_ENTRY_SIZE);
	}
}

/* tot_module_bytes of module.c: growth of the tables since start, and their entries. */
static void read_module_table(struct memory_areas *out, struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	uint64_t bytes = 0;

	out->module_table = MEMORY_UNKNOWN;
	if (!n->anchors.module_code)
		return;
	for (int i = 0; i < CODE_INDEXES; i++) {
		struct index_table t;

		if (index_table_read(&t, n->mem, l,
				     n->anchors.module_code +
					     (raddr)i * (raddr)l->index_table_size) != 0)
			return;
		bytes += t.bytes - (uint64_t)l->index_table_size - 8 * MODULE_INITIAL_BUCKETS -
			 sizeof("module_code") + (uint64_t)t.entries * (uint64_t)l->module_size;
	}
	out->module_table = bytes;
}

static void read_ranges(struct memory_areas *out, struct beam_node *n)
{
	uint64_t sum = 0;

	out->module_refs = MEMORY_UNKNOWN;
	for (int i = 0; i < CODE_INDEXES; i++) {
		raddr at = n->anchors.code_ranges + (raddr)i * RANGES_SIZE + RANGES_ALLOCATED;
		uint64_t allocated;

		if (!n->anchors.code_ranges || mem_read_u64(n->mem, at, &allocated) != 0)
			return;
		sum += allocated;
	}
	out->module_refs = sum * RANGE_SIZE;
}

static void read_code_size(struct memory_areas *out, struct beam_node *n)
{
	struct modules modules;

	if (n->anchors.code_size &&
	    mem_read_u64(n->mem, n->anchors.code_size, &out->loaded_code) == 0)
		return;
	out->loaded_code = MEMORY_UNKNOWN;
	if (modules_read(&modules, n, NULL) != 0)
		return;
	if (!modules.unreadable)
		out->loaded_code = modules.code_size;
	modules_free(&modules);
}

void memory_read_code(struct memory_areas *out, struct beam_node *n)
{
	out->fun_list = 0;
	read_module_table(out, n);
	read_exports(out, n);
	read_funs(out, n);
	read_ranges(out, n);
	read_code_size(out, n);
}
