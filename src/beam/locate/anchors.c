/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of the VM's tables: by symbol, or by shape where the symbol is hidden.  The searches
 * are in the other anchors_*.c; this file copies the memory that they search and collects the
 * results.
 */
#include "beam/locate/anchors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/vm.h"
#include "base/xalloc.h"
#include "beam/term/pid.h"

/* Writable data of beam.smp is 0.35 MB, constants 0.7 MB, code 2.6 to 4.2 MB (OTP 25 to 29). */
#define SECTION_MAX_SIZE ((size_t)64 << 20)

/* A search can fail because the node loads code or starts processes meanwhile; it is repeated. */
#define SEARCH_TRIES	3
#define SEARCH_PAUSE_US 2000

static raddr symbol_address(const struct beam_node *n, const char *name)
{
	struct elf_symbol sym;

	return elf_file_symbol(n->elf, name, &sym) ? sym.addr + n->bias : 0;
}

/* Reads a pointer or Uint variable of the VM; 0 if there is no such symbol. */
static uint64_t symbol_value(const struct beam_node *n, const char *name)
{
	raddr addr = symbol_address(n, name);
	uint64_t value;

	return addr && mem_read_u64(n->mem, addr, &value) == 0 ? value : 0;
}

static void set_schedulers(struct beam_anchors *a, struct anchor_schedulers normal,
			   struct anchor_schedulers dirty_cpu, struct anchor_schedulers dirty_io)
{
	a->sched = normal.array;
	a->nr_sched = normal.nr;
	a->dirty_cpu = dirty_cpu.array;
	a->nr_dirty_cpu = dirty_cpu.nr;
	a->dirty_io = dirty_io.array;
	a->nr_dirty_io = dirty_io.nr;
}

static struct anchor_schedulers schedulers_by_symbol(const struct beam_node *n, const char *array,
						     const char *count)
{
	raddr addr = symbol_value(n, array);
	uint64_t nr = symbol_value(n, count);

	if (!addr || nr > BEAM_MAX_SCHEDULERS || nr == 0)
		return (struct anchor_schedulers){0};
	return (struct anchor_schedulers){addr, (uint32_t)nr};
}

void anchors_find_by_symbol(struct beam_node *n)
{
	struct beam_anchors *a = &n->anchors;
	struct elf_symbol sym;

	a->proc_tab = symbol_address(n, "erts_proc");
	a->port_tab = symbol_address(n, "erts_port");
	a->atom_table = symbol_address(n, "erts_atom_table");
	a->this_node_ptr = symbol_address(n, "erts_this_node");
	a->this_node = symbol_value(n, "erts_this_node");
	a->dist_table = symbol_address(n, "erts_dist_table");
	a->jit_descriptor = symbol_address(n, "__jit_debug_descriptor");
	a->jit_register = symbol_address(n, "__jit_debug_register_code");
	if (n->identity.otp == 24 || !n->identity.jit)
		a->normal_exit = symbol_value(n, "beam_normal_exit");
	a->frame_layout = symbol_address(n, "erts_frame_layout");
	if (elf_file_symbol(n->elf, "bif_table", &sym) && sym.size >= BEAM_BIF_SIZE) {
		a->bif_table = sym.addr + n->bias;
		a->nr_bifs = (uint32_t)(sym.size / BEAM_BIF_SIZE);
	}
	a->active_code_ix = symbol_address(n, "the_active_code_index");
	a->code_size = symbol_address(n, "erts_total_code_size");
	a->ets_misc = symbol_address(n, "erts_ets_misc_mem_size");
	a->allocators = symbol_address(n, "erts_allctrs_info");
	set_schedulers(a,
		       schedulers_by_symbol(n, "erts_aligned_scheduler_data", "erts_no_schedulers"),
		       schedulers_by_symbol(n, "erts_aligned_dirty_cpu_scheduler_data",
					    "erts_no_dirty_cpu_schedulers"),
		       schedulers_by_symbol(n, "erts_aligned_dirty_io_scheduler_data",
					    "erts_no_dirty_io_schedulers"));
}

/* Copies a section from the file; it is constant, so the process has the same bytes. */
static uint8_t *copy_section(const struct beam_node *n, const char *name, size_t *size, raddr *addr)
{
	uint8_t *bytes = elf_file_copy_section(n->elf, name, SECTION_MAX_SIZE, size, addr);

	if (bytes)
		*addr += n->bias;
	return bytes;
}

/* False if the executable has no section headers or its data cannot be read. */
static bool space_open(struct anchor_space *s, const struct beam_node *n)
{
	const struct elf_section *data = elf_file_section(n->elf, ".data");
	const struct elf_section *bss = elf_file_section(n->elf, ".bss");
	const struct elf_section *low = elf_file_section(n->elf, "ERTS_LOW_WRITE");
	const struct elf_section *text = elf_file_section(n->elf, ".text");
	uint64_t end;

	*s = (struct anchor_space){.mem = n->mem,
				   .maps = objects_maps(n->objects),
				   .layout = &n->layout,
				   .interpreted = !n->identity.jit};
	if (!data || !bss || !text || bss->addr < data->addr)
		return false;
	end = bss->addr + bss->size;
	if (end - data->addr > SECTION_MAX_SIZE)
		return false;
	s->text = text->addr + n->bias;
	s->text_end = s->text + text->size;
	if (low && low->addr >= data->addr && low->addr + low->size <= end) {
		s->low_write = low->addr + n->bias;
		s->low_write_end = s->low_write + low->size;
	}
	s->data_addr = data->addr + n->bias;
	s->data_size = end - data->addr;
	s->data = xmalloc(s->data_size);
	s->rodata = copy_section(n, ".rodata", &s->rodata_size, &s->rodata_addr);
	if (s->rodata && mem_read(n->mem, s->data_addr, s->data, s->data_size) == 0)
		return true;
	free(s->data);
	free(s->rodata);
	return false;
}

static void space_close(struct anchor_space *s)
{
	free(s->data);
	free(s->rodata);
}

static raddr find_jit_register(const struct beam_node *n)
{
	size_t size;
	raddr addr, found = 0;
	uint8_t *text = copy_section(n, ".text", &size, &addr);

	if (text)
		found = shape_find_jit_register(text, size, addr, n->anchors.jit_descriptor);
	free(text);
	return found;
}

static void open_atoms(struct beam_node *n)
{
	if (!n->atoms && n->anchors.atom_table)
		beam_atoms_open(&n->atoms, n->mem, &n->layout, n->anchors.atom_table);
}

/* Finds the tables of code other than those of modules and exports. */
static void find_code_tables(struct beam_anchors *a, const struct anchor_space *s)
{
	if (!a->staged_exports)
		a->staged_exports = shape_find_code_tables(s, "export_staged_index");
	if (!a->staged_funs)
		a->staged_funs = shape_find_code_tables(s, "fun_staged_index");
	if (!a->fun_table && !a->staged_funs)
		a->fun_table = shape_find_hash(s, "fun_table");
	if (!a->code_ranges)
		a->code_ranges = shape_find_code_ranges(s);
	if (!a->active_code_ix && a->jit_descriptor)
		a->active_code_ix = shape_find_active_code_ix(s, a->jit_descriptor);
}

/* Searches by shape for all anchors that are still 0. */
static void find_missing(struct beam_node *n, const struct anchor_space *s)
{
	struct beam_anchors *a = &n->anchors;

	if (!a->proc_tab)
		a->proc_tab = shape_find_ptab(s, TERM_TAG_PID);
	if (!a->port_tab)
		a->port_tab = shape_find_ptab(s, TERM_TAG_PORT);
	if (!a->atom_table)
		a->atom_table = shape_find_atom_table(s);
	open_atoms(n);
	if (!a->this_node && n->atoms)
		a->this_node = shape_find_this_node(s, n->atoms, &a->this_node_ptr);
	if (!a->jit_descriptor)
		a->jit_descriptor = shape_find_jit_descriptor(s);
	if (!a->jit_register && a->jit_descriptor)
		a->jit_register = find_jit_register(n);
	if (!a->frame_layout && a->jit_descriptor)
		a->frame_layout = shape_find_frame_layout(s, a->jit_descriptor);
	if (!a->bif_table)
		a->bif_table = shape_find_bif_table(s, &a->nr_bifs);
	if (!a->module_code)
		a->module_code = shape_find_code_tables(s, "module_code");
	if (!a->export_table)
		a->export_table = shape_find_code_tables(s, "export_list");
	if (!a->dist_table && a->this_node)
		a->dist_table = shape_find_dist_table(s, a->this_node);
	if (!a->sched)
		set_schedulers(a, shape_find_schedulers(s, SCHED_TYPE_NORMAL),
			       shape_find_schedulers(s, SCHED_TYPE_DIRTY_CPU),
			       shape_find_schedulers(s, SCHED_TYPE_DIRTY_IO));
	find_code_tables(a, s);
	if (!a->ets_misc)
		a->ets_misc = shape_find_ets_misc(s);
	if (!a->allocators)
		a->allocators = shape_find_allocators(s);
	if (!a->clock)
		a->clock = shape_find_clock(s);
}

/* Has the node all anchors that every supported node has?  If not, the search is repeated. */
static bool is_complete(const struct beam_node *n)
{
	const struct beam_anchors *a = &n->anchors;

	return a->proc_tab && a->port_tab && a->atom_table && a->this_node &&
	       (a->jit_descriptor || !n->identity.jit) && a->module_code && a->sched;
}

void anchors_find_by_shape(struct beam_node *n)
{
	for (int i = 0; i < SEARCH_TRIES; i++) {
		struct anchor_space s;

		if (i > 0) {
			usleep(SEARCH_PAUSE_US);
			objects_refresh(n->objects, NULL);
		}
		if (!space_open(&s, n))
			continue;
		find_missing(n, &s);
		space_close(&s);
		if (is_complete(n))
			break;
	}
}

void anchors_find(struct beam_node *n)
{
	anchors_find_by_symbol(n);
	anchors_find_by_shape(n);
}
