/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of everything but processes: atoms, schedulers, the JIT's list, modules, exports, BIFs,
 * ports, this node; see checks.c.
 */
#include <ctype.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/locate/checks_internal.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"

#define INDEX_PAGE     1024 /* INDEX_PAGE_SIZE, erts/emulator/beam/index.h */
#define MODULES_SAMPLE 16
#define EXPORTS_SAMPLE 256

/* struct export_entry {IndexSlot slot; Export *ep;}, erts/emulator/beam/export.c, OTP 25 to 28. */
#define EXPORT_ENTRY_EP 24
#define NO_BIF		UINT32_MAX

bool check_atoms(struct check_run *c)
{
	const char *first, *second;

	if (!c->n->atoms)
		return check_see(c, false, "atom table not found");
	first = beam_atom_text(c->n->atoms, 0x0b, NULL);
	second = beam_atom_text(c->n->atoms, 0x4b, NULL);
	return check_see(c, first && second && !strcmp(first, "false") && !strcmp(second, "true"),
			 "'%.40s' and '%.40s' of %u atoms", first ? first : "?",
			 second ? second : "?", c->s.atoms);
}

/* ---- schedulers, code ----------------------------------------------------------------------- */

bool check_schedulers(struct check_run *c)
{
	const struct beam_anchors *a = &c->n->anchors;
	uint32_t normal, cpu, io;

	if (!a->sched)
		return check_see(c, false, "not found");
	normal = shape_count_schedulers(&c->s.space, a->sched, SCHED_TYPE_NORMAL);
	cpu = a->dirty_cpu ? shape_count_schedulers(&c->s.space, a->dirty_cpu, SCHED_TYPE_DIRTY_CPU)
			   : 0;
	io = a->dirty_io ? shape_count_schedulers(&c->s.space, a->dirty_io, SCHED_TYPE_DIRTY_IO)
			 : 0;
	return check_see(c, normal >= a->nr_sched && cpu >= a->nr_dirty_cpu && io >= a->nr_dirty_io,
			 "%u of %u normal, %u of %u dirty CPU, %u of %u dirty IO", normal,
			 a->nr_sched, cpu, a->nr_dirty_cpu, io, a->nr_dirty_io);
}

/* pthread_t points to the thread's control block, whose first word (glibc and musl, x86-64) is its
 * own address.  That block is in the mapping of the thread's stack, which gcore (gdb 13) writes as
 * zeros if its guard pages are not a mapping of their own (glibc 2.42). */
bool check_scheduler_threads(struct check_run *c)
{
	const struct beam_anchors *a = &c->n->anchors;
	size_t good = 0, left_out = 0;

	for (uint32_t i = 0; i < a->nr_sched; i++) {
		raddr at = a->sched + i * (raddr)c->l->sched_stride, tid, self;

		if (mem_read_u64(c->n->mem, at + (raddr)c->l->sched_tid, &tid) != 0 || !tid ||
		    mem_read_u64(c->n->mem, tid, &self) != 0)
			continue;
		good += self == tid;
		left_out += c->n->core && self == 0;
	}
	return check_see(c, good + left_out == a->nr_sched && a->nr_sched > 0,
			 "%zu of %u schedulers%s", good, a->nr_sched,
			 left_out ? "; the core file lacks the stacks of others" : "");
}

bool check_jit_descriptor(struct check_run *c)
{
	uint8_t bytes[JIT_DESCRIPTOR_SIZE];

	if (!c->n->identity.jit)
		return check_see(c, c->n->anchors.module_code && c->n->anchors.active_code_ix,
				 "no JIT; module table %s, active code index %s",
				 c->n->anchors.module_code ? "found" : "not found",
				 c->n->anchors.active_code_ix ? "found" : "not found");
	if (!c->n->anchors.jit_descriptor)
		return check_see(c, false, "not found");
	if (mem_read(c->n->mem, c->n->anchors.jit_descriptor, bytes, sizeof(bytes)) != 0)
		return check_see(c, false, "not readable");
	return check_see(c, shape_is_jit_descriptor(&c->s.space, bytes), "at 0x%llx",
			 (unsigned long long)c->n->anchors.jit_descriptor);
}

size_t check_index_entries(const struct check_run *c, raddr tables, raddr *entries, size_t max)
{
	uint32_t most = 0;
	raddr seg_table = 0, segment;

	for (int i = 0; i < 3; i++) {
		raddr table = tables + (raddr)i * (raddr)c->l->index_table_size;
		uint32_t nr;

		if (mem_read_u32(c->n->mem, table + (raddr)c->l->index_table_entries, &nr) == 0 &&
		    nr > most &&
		    mem_read_u64(c->n->mem, table + (raddr)c->l->index_table_seg_table,
				 &seg_table) == 0)
			most = nr;
	}
	max = MIN(max, MIN(most, INDEX_PAGE));
	if (max == 0 || mem_read_u64(c->n->mem, seg_table, &segment) != 0 ||
	    mem_read(c->n->mem, segment, entries, max * sizeof(*entries)) != 0)
		return 0;
	return max;
}

/* The first modules are preloaded ones; init is among them. */
bool check_modules(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	raddr modules[MODULES_SAMPLE];
	size_t nr, good = 0;
	bool init = false;

	if (!c->n->anchors.module_code)
		return check_see(c, true,
				 "module table not found: NIF libraries will have no names");
	nr = check_index_entries(c, c->n->anchors.module_code, modules, MODULES_SAMPLE);
	for (size_t i = 0; i < nr; i++) {
		raddr curr = modules[i] + (raddr)l->module_curr, code, nif;
		const char *name = NULL;
		uint32_t atom, len;

		if (mem_read_u32(c->n->mem, modules[i] + (raddr)l->module_module, &atom) != 0 ||
		    mem_read_u64(c->n->mem, curr + (raddr)l->module_instance_code_hdr, &code) ||
		    mem_read_u64(c->n->mem, curr + (raddr)l->module_instance_nif, &nif) ||
		    mem_read_u32(c->n->mem, curr + (raddr)l->module_instance_code_length, &len))
			continue;
		if (c->n->atoms)
			name = beam_atom_text(c->n->atoms, ((uint64_t)atom << 6) | 0x0b, NULL);
		init |= name && strcmp(name, "init") == 0;
		good += name && check_null_or_pointer(c, nif) &&
			(code ? len > 0 && space_is_erlang_code(&c->s.space, code) : len == 0);
	}
	if (!init)
		return check_see(c, false, "init is not among the first %zu modules", nr);
	return check_mostly(c, good, nr, "modules");
}

/* True if entry `number` of the BIF table has this MFA, or the table was not found. */
static bool is_that_bif(const struct check_run *c, uint32_t number, const uint64_t mfa[3])
{
	uint64_t bif[3];

	if (!c->n->anchors.bif_table)
		return true;
	return number < c->n->anchors.nr_bifs &&
	       mem_read(c->n->mem, c->n->anchors.bif_table + number * BEAM_BIF_SIZE, bif,
			sizeof(bif)) == 0 &&
	       memcmp(bif, mfa, sizeof(bif)) == 0;
}

bool check_exports(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	raddr entries[EXPORTS_SAMPLE];
	size_t nr, good = 0, bifs = 0;

	if (l->export_info + l->code_info_mfa != l->export_mfa)
		return check_see(c, false, "the layout has two different offsets of the MFA");
	if (!c->n->anchors.export_table)
		return check_see(c, true, "this release keeps exports in another kind of table");
	nr = check_index_entries(c, c->n->anchors.export_table, entries, EXPORTS_SAMPLE);
	for (size_t i = 0; i < nr; i++) {
		uint64_t mfa[3];
		uint32_t bif;
		raddr ep;

		if (mem_read_u64(c->n->mem, entries[i] + EXPORT_ENTRY_EP, &ep) != 0 ||
		    !check_read_mfa(c, ep + (raddr)l->export_mfa, mfa) ||
		    mem_read_u32(c->n->mem, ep + (raddr)l->export_bif_number, &bif) != 0)
			continue;
		good += bif == NO_BIF || is_that_bif(c, bif, mfa);
		bifs += bif != NO_BIF;
	}
	return check_see(c, good > 0 && (nr - good) * 8 <= nr && bifs > 0,
			 "%zu of %zu exports, %zu of them BIFs", good, nr, bifs);
}

bool check_bifs(struct check_run *c)
{
	uint8_t bif[BEAM_BIF_SIZE];
	uint64_t mfa[3];
	raddr function;
	size_t good = 0;

	if (!c->n->anchors.bif_table)
		return check_see(c, true,
				 "BIF table not found: BIFs are named by their native function");
	for (uint32_t i = 0; i < c->n->anchors.nr_bifs; i++) {
		if (mem_read(c->n->mem, c->n->anchors.bif_table + i * BEAM_BIF_SIZE, bif,
			     sizeof(bif)) != 0)
			break;
		memcpy(mfa, bif, sizeof(mfa));
		memcpy(&function, bif + BEAM_BIF_FUNCTION, sizeof(function));
		good += check_is_mfa(c, mfa) && space_is_executable(&c->s.space, function);
	}
	return check_see(c, good == c->n->anchors.nr_bifs, "%zu of %u BIFs", good,
			 c->n->anchors.nr_bifs);
}

/* The name of a driver is like that of a file; a port's is its command, which can be any bytes. */
static bool is_driver_name(const char *name)
{
	for (size_t i = 0; name[i]; i++)
		if (!isgraph((unsigned char)name[i]))
			return false;
	return name[0] != '\0';
}

static bool check_port(const struct check_run *c, raddr port)
{
	const struct beam_layout *l = c->l;
	struct mem *mem = c->n->mem;
	raddr name, driver;
	char text[64];
	uint64_t id;

	return mem_read_u64(mem, port + (raddr)l->port_id, &id) == 0 && TERM_IS_PORT(id) &&
	       mem_read_u64(mem, port + (raddr)l->port_name, &name) == 0 &&
	       mem_read_string(mem, name, text, sizeof(text)) == 0 &&
	       mem_read_u64(mem, port + (raddr)l->port_drv_ptr, &driver) == 0 &&
	       mem_read_u64(mem, driver + (raddr)l->driver_name, &name) == 0 &&
	       mem_read_string(mem, name, text, sizeof(text)) == 0 && is_driver_name(text);
}

bool check_ports(struct check_run *c)
{
	raddr ptab = c->n->anchors.port_tab, tab, invalid, slots[CHECK_SLOTS];
	size_t good = 0, nr = 0;

	if (!ptab)
		return check_see(c, true, "port table not found: ports will have no names");
	if (mem_read_u64(c->n->mem, ptab + (raddr)c->l->ptab_tab, &tab) != 0 ||
	    mem_read_u64(c->n->mem, ptab + (raddr)c->l->ptab_invalid_element, &invalid) != 0 ||
	    mem_read(c->n->mem, tab, slots, sizeof(slots)) != 0)
		return check_see(c, false, "not readable");
	for (size_t i = 0; i < CHECK_SLOTS && nr < CHECK_SAMPLE; i++) {
		if (slots[i] == invalid || !space_is_pointer(&c->s.space, slots[i], 8))
			continue;
		nr++;
		good += check_port(c, slots[i]);
	}
	/* Ports are opened and closed faster than processes. */
	return check_see(c, good * 2 >= nr, "%zu of %zu ports", good, nr);
}

bool check_this_node(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	uint64_t name, dist_name = 0;
	const char *text = NULL;
	raddr node = c->n->anchors.this_node, dist;

	if (!node)
		return check_see(c, true, "erts_this_node not found: the node's name is not known");
	if (c->n->anchors.this_node_ptr)
		mem_read_u64(c->n->mem, c->n->anchors.this_node_ptr, &node);
	if (mem_read_u64(c->n->mem, node + (raddr)l->node_sysname, &name) != 0 ||
	    mem_read_u64(c->n->mem, node + (raddr)l->node_dist_entry, &dist) != 0 ||
	    mem_read_u64(c->n->mem, dist + (raddr)l->dist_sysname, &dist_name) != 0)
		return check_see(c, false, "not readable");
	if (c->n->atoms)
		text = beam_atom_text(c->n->atoms, name, NULL);
	return check_see(c, name == dist_name && text && strchr(text, '@'), "'%.100s'",
			 text ? text : "?");
}
