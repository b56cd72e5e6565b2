/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VM's tables by shape: process and port tables, atoms, code tables, this node, BIFs, scheduler
 * data.  See anchors.h.  Every search first filters candidates in the copy of the writable data;
 * pointers are only followed for those that are left, many in one read.
 */
#include "abi/vm.h"
#include "beam/locate/anchors.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "beam/term/pid.h"
#include "target/proc.h"

/* A user-space address: not in the first page, and canonical with four-level page tables. */
#define ADDRESS_MIN 4096u
#define ADDRESS_MAX (1ull << 47)

/* Limit of addresses in .rodata that are tried as a name's; each name should have one. */
#define CANDIDATES_MAX 64

/* Slots of a process or port table read at once, and in all; used slots are spread over it. */
#define SLOTS_CHUNK	1024
#define SLOTS_MAX	(64 * SLOTS_CHUNK)
#define SAMPLE_ELEMENTS 32
/* sizeof(Process) is 760 to 792, of a port with its lock more than 600 (OTP 25 to 29). */
#define ELEMENT_MIN 256
#define ELEMENT_MAX 4096

/* Boot alone makes more than a thousand atoms; the VM's limit (+t) is below 2^26. */
#define ATOMS_MIN     500
#define INDEX_ENTRIES (1u << 26)

/* The VM has 505 to 553 BIFs (OTP 25 to 29). */
#define BIFS_MIN  100
#define BIFS_MAX  4096
#define MFA_ARITY 255

#define CODE_INDEXES 3 /* ERTS_NUM_CODE_IX, erts/emulator/beam/code_ix.h */

/* ---- helpers ------------------------------------------------------------------------------- */

bool space_is_readable(const struct anchor_space *s, raddr addr, size_t size)
{
	const struct proc_map *map;

	if (addr < ADDRESS_MIN || addr >= ADDRESS_MAX || size > ADDRESS_MAX)
		return false;
	map = proc_maps_find(s->maps, addr);
	return map && map->r && size <= map->end - addr;
}

bool space_is_pointer(const struct anchor_space *s, raddr addr, size_t size)
{
	return addr % 8 == 0 && space_is_readable(s, addr, size);
}

bool space_is_executable(const struct anchor_space *s, raddr addr)
{
	const struct proc_map *map = proc_maps_find(s->maps, addr);

	return map && map->x;
}

bool space_is_erlang_code(const struct anchor_space *s, raddr addr)
{
	return s->interpreted ? space_is_pointer(s, addr, 8) : space_is_executable(s, addr);
}

/* Addresses of a text in .rodata: of a string constant, or of the end of a longer one. */
struct strings {
	raddr addrs[CANDIDATES_MAX];
	size_t nr;
};

static void find_strings(const struct anchor_space *s, const char *text, struct strings *out)
{
	const uint8_t *at = s->rodata, *end = s->rodata + s->rodata_size;

	out->nr = 0;
	while (out->nr < CANDIDATES_MAX &&
	       (at = memmem(at, (size_t)(end - at), text, strlen(text) + 1)) != NULL) {
		out->addrs[out->nr++] = s->rodata_addr + (raddr)(at - s->rodata);
		at++;
	}
}

/* True if the word that is the name of a Hash at offset `at` points to one of these texts. */
static bool is_named(const struct anchor_space *s, size_t at, const struct strings *names)
{
	uint64_t word = space_u64(s, at + (size_t)s->layout->index_table_name);

	for (size_t i = 0; i < names->nr; i++)
		if (word == names->addrs[i])
			return true;
	return false;
}

raddr space_find_only(const struct anchor_space *s, const char *name, size_t size,
		      bool (*is)(const struct anchor_space *s, size_t at, uint64_t arg),
		      uint64_t arg)
{
	struct strings names;
	raddr found = 0;

	if (name) {
		find_strings(s, name, &names);
		size = MAX(size, (size_t)s->layout->index_table_name + 8);
	}
	for (size_t at = 0; at + size <= s->data_size; at += 8) {
		if ((name && !is_named(s, at, &names)) || !is(s, at, arg))
			continue;
		if (found)
			return 0;
		found = s->data_addr + at;
	}
	return found;
}

static bool is_index_table(const struct anchor_space *s, size_t offset)
{
	const struct beam_layout *l = s->layout;

	return space_u32(s, offset + (size_t)l->index_table_entries) <= INDEX_ENTRIES &&
	       space_is_pointer(s, space_u64(s, offset + (size_t)l->index_table_seg_table), 8);
}

/* ---- process and port tables --------------------------------------------------------------- */

static bool looks_like_ptab(const struct anchor_space *s, size_t at)
{
	const struct beam_layout *l = s->layout;
	uint32_t max = space_u32(s, at + (size_t)l->ptab_max);
	uint64_t element_size;
	raddr tab;

	if (max < BEAM_MIN_PTAB || max > BEAM_MAX_PTAB || (max & (max - 1)) != 0 ||
	    space_u32(s, at + (size_t)l->ptab_pix_mask) != max - 1)
		return false;
	element_size = space_u64(s, at + (size_t)l->ptab_element_size);
	tab = space_u64(s, at + (size_t)l->ptab_tab);
	return element_size >= ELEMENT_MIN && element_size <= ELEMENT_MAX &&
	       space_is_pointer(s, tab, 8) && space_is_readable(s, tab + 8 * (raddr)(max - 1), 8);
}

/* Reads ids (the first word) of up to SAMPLE_ELEMENTS elements, from the first slots in use. */
static size_t sample_ids(const struct anchor_space *s, size_t at, uint64_t *ids)
{
	raddr tab = space_u64(s, at + (size_t)s->layout->ptab_tab);
	raddr invalid = space_u64(s, at + (size_t)s->layout->ptab_invalid_element);
	uint32_t max = space_u32(s, at + (size_t)s->layout->ptab_max);
	size_t nr = 0;

	for (size_t from = 0; nr == 0 && from < MIN(max, SLOTS_MAX); from += SLOTS_CHUNK) {
		struct mem_range ranges[SAMPLE_ELEMENTS];
		raddr slots[SLOTS_CHUNK];
		size_t nr_ranges = 0;

		if (mem_read(s->mem, tab + 8 * from, slots, sizeof(slots)) != 0)
			break;
		for (size_t i = 0; i < SLOTS_CHUNK && nr_ranges < SAMPLE_ELEMENTS; i++)
			if (slots[i] != invalid && space_is_pointer(s, slots[i], 8)) {
				ranges[nr_ranges] = (struct mem_range){.addr = slots[i],
								       .buf = &ids[nr_ranges],
								       .size = sizeof(ids[0])};
				nr_ranges++;
			}
		mem_readv(s->mem, ranges, nr_ranges);
		for (size_t i = 0; i < nr_ranges; i++)
			if (ranges[i].err == 0)
				ids[nr++] = ids[i];
	}
	return nr;
}

static bool is_ptab(const struct anchor_space *s, size_t at, uint64_t id_tag)
{
	uint64_t ids[SAMPLE_ELEMENTS];
	size_t nr, good = 0;

	if (!looks_like_ptab(s, at))
		return false;
	nr = sample_ids(s, at, ids);
	for (size_t i = 0; i < nr; i++)
		good += (ids[i] & TERM_TAG_MASK) == id_tag;
	/* One in eight may have been freed and reused since its slot was read. */
	return good > 0 && (nr - good) * 8 <= nr;
}

raddr shape_find_ptab(const struct anchor_space *s, unsigned int id_tag)
{
	return space_find_only(s, NULL, (size_t)s->layout->ptab_size, is_ptab, id_tag);
}

/* ---- hash tables --------------------------------------------------------------------------- */

/* Atoms 0 and 1 are in the first two slots and have their own numbers. */
static bool is_atom_table(const struct anchor_space *s, size_t at, uint64_t arg)
{
	const struct beam_layout *l = s->layout;
	raddr segment, atoms[2];

	UNUSED(arg);
	if (!is_index_table(s, at) ||
	    space_u32(s, at + (size_t)l->index_table_entries) < ATOMS_MIN ||
	    mem_read_u64(s->mem, space_u64(s, at + (size_t)l->index_table_seg_table), &segment) ||
	    mem_read(s->mem, segment, atoms, sizeof(atoms)) != 0)
		return false;
	for (uint32_t i = 0; i < ARRAY_SIZE(atoms); i++) {
		uint32_t index;

		if (mem_read_u32(s->mem, atoms[i] + (raddr)l->atom_index, &index) || index != i)
			return false;
	}
	return true;
}

raddr shape_find_atom_table(const struct anchor_space *s)
{
	return space_find_only(s, "atom_tab", (size_t)s->layout->index_table_size, is_atom_table,
			       0);
}

raddr shape_find_code_tables(const struct anchor_space *s, const char *name)
{
	size_t size = (size_t)s->layout->index_table_size, first = 0, nr = 0;
	struct strings names;
	bool used = false;

	find_strings(s, name, &names);
	for (size_t at = 0; at + size <= s->data_size; at += 8) {
		if (!is_named(s, at, &names) || !is_index_table(s, at))
			continue;
		if (nr == 0)
			first = at;
		if (at != first + nr++ * size)
			return 0;
		used |= space_u32(s, at + (size_t)s->layout->index_table_entries) > 0;
	}
	return nr == CODE_INDEXES && used ? s->data_addr + first : 0;
}

/* ---- this node ----------------------------------------------------------------------------- */

struct node_candidate {
	raddr variable, node, dist_entry;
	uint64_t sysname, dist_sysname;
};

/* Reads `size` bytes at addrs[i] to bytes + i * size; ok[i] = they were readable. */
static void read_many(const struct anchor_space *s, const raddr *addrs, size_t nr, size_t size,
		      uint8_t *bytes, bool *ok)
{
	struct mem_range *ranges = xcalloc(nr, sizeof(*ranges));

	for (size_t i = 0; i < nr; i++)
		ranges[i] =
			(struct mem_range){.addr = addrs[i], .buf = bytes + i * size, .size = size};
	mem_readv(s->mem, ranges, nr);
	for (size_t i = 0; i < nr; i++)
		ok[i] = ranges[i].err == 0;
	free(ranges);
}

/* Keeps variables that point to {.., atom sysname, .., pointer dist_entry}; returns how many. */
static size_t keep_nodes(const struct anchor_space *s, struct node_candidate *c, size_t nr)
{
	const struct beam_layout *l = s->layout;
	size_t size = (size_t)MAX(l->node_sysname, l->node_dist_entry) + 8, kept = 0;
	raddr *addrs = xcalloc(nr, sizeof(*addrs));
	uint8_t *bytes = xcalloc(nr, size);
	bool *ok = xcalloc(nr, sizeof(*ok));

	for (size_t i = 0; i < nr; i++)
		addrs[i] = c[i].node;
	read_many(s, addrs, nr, size, bytes, ok);
	for (size_t i = 0; i < nr; i++) {
		struct node_candidate n = c[i];

		memcpy(&n.sysname, bytes + i * size + l->node_sysname, 8);
		memcpy(&n.dist_entry, bytes + i * size + l->node_dist_entry, 8);
		if (ok[i] && TERM_IS_ATOM(n.sysname) && n.sysname >> 6 < INDEX_ENTRIES &&
		    space_is_pointer(s, n.dist_entry, (size_t)l->dist_sysname + 8))
			c[kept++] = n;
	}
	free(addrs);
	free(bytes);
	free(ok);
	return kept;
}

/* Keeps candidates whose DistEntry has the same name, and that is "...@..."; returns how many. */
static size_t keep_named_nodes(const struct anchor_space *s, struct beam_atoms *atoms,
			       struct node_candidate *c, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		struct node_candidate n = c[i];
		const char *name;

		if (mem_read_u64(s->mem, n.dist_entry + (raddr)s->layout->dist_sysname,
				 &n.dist_sysname) != 0 ||
		    n.dist_sysname != n.sysname)
			continue;
		name = beam_atom_text(atoms, n.sysname, NULL);
		if (name && strchr(name, '@'))
			c[kept++] = n;
	}
	return kept;
}

raddr shape_find_this_node(const struct anchor_space *s, struct beam_atoms *atoms, raddr *variable)
{
	size_t node_size = (size_t)s->layout->node_dist_entry + 8;
	VEC(struct node_candidate) c = {0};
	raddr found = 0;

	*variable = 0;
	for (size_t at = 0; at + 8 <= s->data_size; at += 8) {
		struct node_candidate n = {.variable = s->data_addr + at, .node = space_u64(s, at)};

		if (space_is_pointer(s, n.node, node_size))
			vec_push(&c, n);
	}
	if (c.len > 0)
		c.len = keep_nodes(s, c.data, c.len);
	c.len = keep_named_nodes(s, atoms, c.data, c.len);
	for (size_t i = 0; i < c.len; i++)
		if (c.data[i].node != c.data[0].node)
			c.len = 0; /* ambiguous */
	if (c.len > 0)
		found = c.data[0].node;
	if (c.len == 1)
		*variable = c.data[0].variable;
	vec_free(&c);
	return found;
}

/* ---- BIFs ---------------------------------------------------------------------------------- */

static bool is_bif(const struct anchor_space *s, size_t at)
{
	uint64_t module = space_u64(s, at + BEAM_BIF_MODULE);
	uint64_t name = space_u64(s, at + BEAM_BIF_NAME);
	raddr function = space_u64(s, at + BEAM_BIF_FUNCTION);

	return TERM_IS_ATOM(module) && module >> 6 < INDEX_ENTRIES && TERM_IS_ATOM(name) &&
	       name >> 6 < INDEX_ENTRIES && space_u64(s, at + BEAM_BIF_ARITY) <= MFA_ARITY &&
	       function >= s->text && function < s->text_end;
}

static uint32_t count_bifs_at(const struct anchor_space *s, size_t at)
{
	uint32_t nr = 0;

	while (nr < BIFS_MAX && at + BEAM_BIF_SIZE <= s->data_size && is_bif(s, at)) {
		at += BEAM_BIF_SIZE;
		nr++;
	}
	return nr;
}

raddr shape_find_bif_table(const struct anchor_space *s, uint32_t *nr)
{
	raddr found = 0;

	*nr = 0;
	for (size_t at = 0; at + 8 <= s->data_size; at += 8) {
		uint32_t count = count_bifs_at(s, at);

		if (count < BIFS_MIN)
			continue;
		if (found) {
			*nr = 0;
			return 0;
		}
		found = s->data_addr + at;
		*nr = count;
		at += (size_t)count * BEAM_BIF_SIZE - 8;
	}
	return found;
}

/* ---- scheduler data ------------------------------------------------------------------------ */

/* True if `bytes` are the ErtsSchedulerData of number `no` (1..) and of this type. */
static bool is_scheduler(const struct anchor_space *s, const uint8_t *bytes, enum sched_type type,
			 uint64_t no)
{
	const struct beam_layout *l = s->layout;
	raddr registers = bytes_u64(bytes, l->sched_registers);
	raddr run_queue = bytes_u64(bytes, l->sched_run_queue);

	if (bytes_u32(bytes, l->sched_type) != (uint32_t)type ||
	    bytes_u64(bytes, type == SCHED_TYPE_NORMAL ? l->sched_no : l->sched_dirty_no) != no)
		return false;
	return space_is_pointer(s, registers, 8) && space_is_pointer(s, run_queue, 8);
}

uint32_t shape_count_schedulers(const struct anchor_space *s, raddr array, enum sched_type type)
{
	const struct beam_layout *l = s->layout;
	const int32_t ends[] = {l->sched_registers, l->sched_type, l->sched_no, l->sched_dirty_no,
				l->sched_run_queue};
	size_t size = 0;
	uint8_t *bytes;
	uint32_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		size = MAX(size, (size_t)ends[i] + 8);
	bytes = xmalloc(size);
	while (nr < BEAM_MAX_SCHEDULERS) {
		raddr at = array + nr * (raddr)l->sched_stride;

		if (mem_read(s->mem, at, bytes, size) != 0 || !is_scheduler(s, bytes, type, nr + 1))
			break;
		nr++;
	}
	free(bytes);
	return nr;
}

/* True if `nr` is in section ERTS_LOW_WRITE, where the VM has its own count of these schedulers, as
 * well as the array's address. */
static bool has_count(const struct anchor_space *s, uint32_t nr)
{
	for (raddr at = s->low_write; at + 8 <= s->low_write_end; at += 8)
		if (space_u64(s, at - s->data_addr) == nr)
			return true;
	return false;
}

struct anchor_schedulers shape_find_schedulers(const struct anchor_space *s, enum sched_type type)
{
	const struct anchor_schedulers none = {0};
	struct anchor_schedulers found = {0};

	for (raddr at = s->low_write; at + 8 <= s->low_write_end; at += 8) {
		struct anchor_schedulers c = {.array = space_u64(s, at - s->data_addr)};

		if (!space_is_pointer(s, c.array, (size_t)s->layout->sched_size) ||
		    c.array == found.array)
			continue;
		c.nr = shape_count_schedulers(s, c.array, type);
		if (c.nr == 0 || !has_count(s, c.nr))
			continue;
		if (found.nr > 0)
			return none;
		found = c;
	}
	return found;
}
