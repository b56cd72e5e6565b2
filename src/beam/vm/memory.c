/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See memory.h.  The sums are those of erlang:memory/0 (erts/preloaded/src/erlang.erl): blocks of
 * every allocator built on alloc_util, and the areas of erts_allocated_areas() of erl_alloc.c.
 */
#include "beam/vm/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/term/atoms.h"

/* AtomText of atom.c, up to OTP 27: a pointer and ATOM_TEXT_SIZE bytes. */
#define ATOM_TEXT_BYTES (8 + 32768)
/* Atoms that are read at once. */
#define ATOMS_CHUNK 65536
/* Number of the newest atoms, which may not be initialised yet. */
#define ATOMS_NEW 64u
/* Since this release the texts of atoms are literals, each with its own size. */
#define OTP_ATOM_LITERALS 28

static uint64_t add(uint64_t a, uint64_t b)
{
	return a == MEMORY_UNKNOWN || b == MEMORY_UNKNOWN ? MEMORY_UNKNOWN : a + b;
}

/* ---- atoms ---------------------------------------------------------------------------------- */

struct atom_names {
	struct beam_atom_texts sum;
	raddr low, high; /* the executable's constants, with names of built-in atoms */
};

/* Finds the bounds of the executable's constants. */
static void find_constants(const struct beam_node *n, struct atom_names *t)
{
	const struct elf_section *s = n->elf ? elf_file_section(n->elf, ".rodata") : NULL;

	if (s) {
		t->low = s->addr + n->bias;
		t->high = t->low + s->size;
	}
}

static void add_atom(struct atom_names *t, raddr name, uint16_t len, bool literals)
{
	struct beam_atom_texts *sum = &t->sum;

	sum->nr++;
	if (literals) {
		sum->used += len;
		return;
	}
	if (name >= t->low && name < t->high)
		return;
	/* Texts are adjacent in the order of the atoms until a buffer is full. */
	sum->buffers += name != sum->end;
	sum->end = name + len;
	sum->used += len;
}

/* Adds the atoms that were not counted before. */
static int read_atom_texts(struct beam_node *n, const struct index_table *table,
			   struct atom_names *t)
{
	const struct beam_layout *l = &n->layout;
	bool literals = n->identity.otp >= OTP_ATOM_LITERALS;
	int32_t name_at = l->atom_name != LAYOUT_ABSENT ? l->atom_name : l->atom_u;
	size_t size = (size_t)MAX(name_at, l->atom_len) + 8;
	struct index_objects atoms;
	int rc = index_table_objects_from(&atoms, n->mem, table, t->sum.nr);
	size_t most = MIN(atoms.v.len, (size_t)ATOMS_CHUNK);
	uint8_t *bytes = xcalloc(most ? most : 1, size);
	bool *ok = xcalloc(most ? most : 1, sizeof(*ok));

	for (size_t from = 0; !rc && from < atoms.v.len; from += ATOMS_CHUNK) {
		size_t nr = MIN(atoms.v.len - from, (size_t)ATOMS_CHUNK);

		read_objects(n->mem, atoms.v.data + from, nr, 0, bytes, size, ok);
		for (size_t i = 0; !rc && i < nr; i++) {
			const uint8_t *atom = bytes + i * size;

			if (!ok[i])
				rc = -EFAULT;
			else
				add_atom(t, bytes_u64(atom, name_at), bytes_u16(atom, l->atom_len),
					 literals);
		}
	}
	vec_free(&atoms.v);
	free(bytes);
	free(ok);
	return rc;
}

void memory_read_atoms(struct memory_areas *out, struct beam_node *n)
{
	struct atom_names t = {.sum = n->atom_texts};
	struct index_table table, before;

	out->atom_table = out->atom_space = out->atom_space_used = MEMORY_UNKNOWN;
	if (!n->anchors.atom_table ||
	    index_table_read(&table, n->mem, &n->layout, n->anchors.atom_table) != 0)
		return;
	out->atom_table = table.bytes;
	find_constants(n, &t);
	/* The newest atoms are counted in each call, as they may not be initialised yet. */
	before = table;
	before.entries = MAX(table.entries, ATOMS_NEW) - ATOMS_NEW;
	if (read_atom_texts(n, &before, &t) != 0)
		return;
	n->atom_texts = t.sum;
	if (read_atom_texts(n, &table, &t) != 0)
		return;
	out->atom_space_used = t.sum.used;
	out->atom_space =
		n->identity.otp >= OTP_ATOM_LITERALS ? t.sum.used : t.sum.buffers * ATOM_TEXT_BYTES;
}

/* ---- processes and ETS ---------------------------------------------------------------------- */

/* erts_ptab_mem_size() of erl_ptab.c: slots and free ids. */
static uint64_t process_table_bytes(struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	raddr tab = n->anchors.proc_tab, free_ids;
	uint32_t max;

	if (!tab || mem_read_u32(n->mem, tab + (raddr)l->ptab_max, &max) != 0 ||
	    mem_read_u64(n->mem, tab + (raddr)l->ptab_free_id_data, &free_ids) != 0)
		return MEMORY_UNKNOWN;
	return (uint64_t)max * (free_ids ? 8 + 4 : 8);
}

static uint64_t variable(struct beam_node *n, raddr addr)
{
	uint64_t value;

	return addr && mem_read_u64(n->mem, addr, &value) == 0 ? value : MEMORY_UNKNOWN;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* As erts_memory() of erl_alloc.c: the interpreter's code is in blocks of allocators, the JIT's
 * code (BEAMASM) is not. */
static void add_up(struct memory *m, const struct allocators *a, bool jit)
{
	const struct memory_areas *areas = &m->areas;
	uint64_t heaps = add(allocators_blocks_size(a, "eheap_alloc"), areas->process_table);
	uint64_t named;

	m->total = add(allocators_blocks_size(a, NULL), jit ? areas->loaded_code : 0);
	m->processes = m->processes_used = MEMORY_UNKNOWN;
	/* Sizes of a single instance can be negative: all are added modulo 2^64. */
	if (a->has_fix && heaps != MEMORY_UNKNOWN) {
		m->processes = heaps + a->fix.allocated;
		m->processes_used = heaps + a->fix.used;
	}
	m->system = m->total != MEMORY_UNKNOWN && m->processes != MEMORY_UNKNOWN
			    ? m->total - m->processes
			    : MEMORY_UNKNOWN;
	m->atom = add(areas->atom_space, areas->atom_table);
	m->atom_used = add(areas->atom_space_used, areas->atom_table);
	m->binary = allocators_blocks_size(a, "binary_alloc");
	m->ets = add(allocators_blocks_size(a, "ets_alloc"), areas->ets_misc);
	m->code = add(areas->module_table, areas->export_table);
	m->code = add(m->code, areas->export_list);
	m->code = add(m->code, areas->fun_table);
	m->code = add(m->code, areas->fun_list);
	m->code = add(m->code, areas->module_refs);
	m->code = add(m->code, areas->loaded_code);
	named = add(add(m->atom, m->binary), add(m->code, m->ets));
	/* They are not all read at the same moment: a sum may be too large. */
	m->other = m->system == MEMORY_UNKNOWN || named == MEMORY_UNKNOWN ? MEMORY_UNKNOWN
		   : m->system > named					  ? m->system - named
									  : 0;
}

int memory_read(struct memory *out, struct beam_node *n, const struct allocators *allocators,
		struct error *err)
{
	char title[32];

	memset(out, 0, sizeof(*out));
	if (allocators->disabled)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
				 "%s: an allocator is switched off (+M...e false), so the VM does "
				 "not count its memory; start the node without that flag",
				 beam_node_title(n, title, sizeof(title)));
	out->areas.process_table = process_table_bytes(n);
	out->areas.ets_misc = variable(n, n->anchors.ets_misc);
	memory_read_atoms(&out->areas, n);
	memory_read_code(&out->areas, n);
	add_up(out, allocators, n->identity.jit);
	return 0;
}
