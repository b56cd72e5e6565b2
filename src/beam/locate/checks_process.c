/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of the process table and of struct process; see checks.c.  Bits of state and flags:
 * erts/emulator/beam/erl_process.h, the same in OTP 25 to 29.
 */
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/locate/checks_internal.h"
#include "beam/process/process.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"

/* Process.state: two priorities of two bits each (2 = normal), then flags (process.h). */
#define STATE_PRIORITIES 0xf
#define STATE_NORMAL	 0xa
#define STATE_GOING	 (PSFLG_FREE | PSFLG_EXITING)
#define STATE_BUSY	 (STATE_GOING | PSFLGS_ON_SCHEDULER | PSFLG_GC)

/* Fewer `current` functions prove nothing: of 50 waiting processes only 2 to 5 have one. */
#define CURRENT_MIN 10

/* The second process that the VM starts at boot, always; erts/preloaded, OTP 20 and later. */
#define SECOND_PROCESS "erts_code_purger"

bool check_is_busy(const struct check_run *c, size_t i)
{
	return check_u32(c, i, c->l->process_state) & STATE_BUSY;
}

/* ---- the table ----------------------------------------------------------------------------- */

bool check_process_table(struct check_run *c)
{
	raddr ptab = c->n->anchors.proc_tab, tab;
	uint32_t max, mask;

	if (!ptab)
		return check_see(c, false, "not found");
	if (mem_read_u32(c->n->mem, ptab + (raddr)c->l->ptab_max, &max) != 0 ||
	    mem_read_u32(c->n->mem, ptab + (raddr)c->l->ptab_pix_mask, &mask) != 0 ||
	    mem_read_u64(c->n->mem, ptab + (raddr)c->l->ptab_tab, &tab) != 0)
		return check_see(c, false, "not readable");
	return check_see(c,
			 max >= BEAM_MIN_PTAB && max <= BEAM_MAX_PTAB && mask == max - 1 &&
				 space_is_pointer(&c->s.space, tab, 8),
			 "%u slots, index mask 0x%x", max, mask);
}

bool check_process_size(struct check_run *c)
{
	uint64_t size;

	if (!c->n->anchors.proc_tab ||
	    mem_read_u64(c->n->mem, c->n->anchors.proc_tab + (raddr)c->l->ptab_element_size,
			 &size) != 0)
		return check_see(c, false, "not readable");
	return check_see(c, size == (uint64_t)c->l->process_size,
			 "%llu bytes in the node, %d in the layout", (unsigned long long)size,
			 c->l->process_size);
}

bool check_process_count(struct check_run *c)
{
	uint32_t count, max;

	if (!c->n->anchors.proc_tab ||
	    mem_read_u32(c->n->mem, c->n->anchors.proc_tab + (raddr)c->l->ptab_count, &count) ||
	    mem_read_u32(c->n->mem, c->n->anchors.proc_tab + (raddr)c->l->ptab_max, &max) != 0)
		return check_see(c, false, "not readable");
	/* The sample is from the first slots, which have all processes of a small node. */
	return check_see(c, count <= max && count >= c->s.nr - c->s.nr / 8,
			 "%u processes are counted, %zu of them were sampled", count, c->s.nr);
}

bool check_ids(struct check_run *c)
{
	size_t good = 0;

	for (size_t i = 0; i < c->s.nr; i++)
		good += TERM_IS_PID(check_u64(c, i, c->l->process_id));
	return good > 0 && check_mostly(c, good, c->s.nr, "processes");
}

/* ---- names --------------------------------------------------------------------------------- */

/* Text of the registered name of a sampled process, NULL if it has none; *consistent becomes false
 * if the entry of the name does not point back to the process. */
static const char *registered_name(struct check_run *c, size_t i, bool *consistent)
{
	raddr reg = check_u64(c, i, c->l->process_reg), back;
	const char *text;
	uint64_t name;

	*consistent = true;
	if (!reg)
		return NULL;
	*consistent = false;
	if (!space_is_pointer(&c->s.space, reg, 8) ||
	    mem_read_u64(c->n->mem, reg + (raddr)c->l->regproc_p, &back) != 0 ||
	    mem_read_u64(c->n->mem, reg + (raddr)c->l->regproc_name, &name) != 0 || !c->n->atoms)
		return NULL;
	text = beam_atom_text(c->n->atoms, name, NULL);
	*consistent = text && back == c->s.addrs[i];
	return text;
}

/* True if the first process of the sample is <0.0.0>, which has slot 0. */
static bool has_init(const struct check_run *c)
{
	/* Number and serial are in the low 32 bits up to OTP 25, in the whole word later; both are
	 * 0 for the first process. */
	return c->s.nr > 0 && check_u32(c, 0, c->l->process_id) == TERM_TAG_PID;
}

bool check_init(struct check_run *c)
{
	const char *name;
	bool consistent;

	if (!has_init(c))
		return check_see(c, false, "slot 0 has another process or none");
	name = registered_name(c, 0, &consistent);
	return check_see(c, consistent && name && strcmp(name, "init") == 0,
			 "registered as '%.80s'", name ? name : "?");
}

bool check_trap_exit(struct check_run *c)
{
	uint32_t flags;

	if (!has_init(c))
		return check_see(c, false, "slot 0 has another process or none");
	flags = check_u32(c, 0, c->l->process_flags);
	return check_see(c, flags & F_TRAP_EXIT, "flags 0x%x", flags);
}

/* The process that was started second has number 1: this checks the constants by which the table
 * maps slots to numbers. */
bool check_numbers(struct check_run *c)
{
	struct id_format format;
	char text[64];

	if (!c->n->anchors.proc_tab ||
	    id_format_read(&format, c->n->mem, c->l, c->n->anchors.proc_tab, c->n->identity.otp))
		return check_see(c, false, "not readable");
	for (size_t i = 0; i < c->s.nr; i++) {
		bool consistent;
		const char *name = registered_name(c, i, &consistent);

		if (!name || strcmp(name, SECOND_PROCESS) != 0)
			continue;
		pid_format(&format, check_u64(c, i, c->l->process_id), text, sizeof(text));
		return check_see(c, strcmp(text, "<0.1.0>") == 0, SECOND_PROCESS " is %s", text);
	}
	return check_see(c, false, "none of %zu processes has this name", c->s.nr);
}

bool check_registered(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		bool consistent;

		if (!check_u64(c, i, c->l->process_reg))
			continue;
		registered_name(c, i, &consistent);
		good += consistent;
		nr++;
	}
	return check_mostly(c, good, nr, "registered processes");
}

/* ---- state, heap, code --------------------------------------------------------------------- */

bool check_states(struct check_run *c)
{
	size_t good = 0;

	for (size_t i = 0; i < c->s.nr; i++)
		good += (check_u32(c, i, c->l->process_state) & STATE_PRIORITIES) == STATE_NORMAL;
	return check_see(c, good * 2 > c->s.nr, "%zu of %zu processes", good, c->s.nr);
}

bool check_heaps(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	size_t good = 0, nr = 0;
	bool apart = false;

	for (size_t i = 0; i < c->s.nr; i++) {
		uint64_t heap = check_u64(c, i, l->process_heap);
		uint64_t htop = check_u64(c, i, l->process_htop);
		uint64_t stop = check_u64(c, i, l->process_stop);
		uint64_t hend = check_u64(c, i, l->process_hend);
		bool sized = hend - heap == 8 * check_u64(c, i, l->process_heap_sz);

		if (check_is_busy(c, i))
			continue;
		nr++;
		/* heap_sz is not the size while a process waits for a GC on a dirty scheduler: its
		 * heap is a heap fragment then, and its own one abandoned_heap. */
		good += heap && heap <= htop && htop <= stop && stop <= hend &&
			(sized || check_u64(c, i, l->process_abandoned_heap));
		apart |= sized && heap < htop && htop < stop && stop < hend;
	}
	/* In some heap all four pointers differ, unless two offsets are of the same field. */
	if (nr > 0 && !apart)
		return check_see(c, false, "two of the pointers are equal in all %zu processes",
				 nr);
	return check_mostly(c, good, nr, "waiting processes");
}

bool check_initial_calls(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		uint64_t mfa[3];

		/* u.initial shares its memory with data of exiting processes. */
		if (check_u32(c, i, c->l->process_state) & STATE_GOING)
			continue;
		for (int j = 0; j < 3; j++)
			mfa[j] = check_u64(c, i, c->l->process_initial + 8 * j);
		nr++;
		good += check_is_mfa(c, mfa);
	}
	return check_mostly(c, good, nr, "processes");
}

/* `current` is NULL, or points into code that the process once ran.  That code may have been purged
 * since: a few invalid pointers prove nothing. */
bool check_current(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		raddr current = check_u64(c, i, c->l->process_current);
		uint64_t mfa[3];

		if (check_is_busy(c, i) || !current)
			continue;
		nr++;
		good += check_read_mfa(c, current, mfa);
	}
	return check_see(c, nr < CURRENT_MIN || good * 2 > nr, "%zu of %zu current functions", good,
			 nr);
}

bool check_continuations(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		raddr at = check_u64(c, i, c->l->process_i);
		bool is_code = space_is_erlang_code(&c->s.space, at);

		/* A process that is to run on a dirty scheduler, or returns from one, continues in
		 * a stub outside of modules, as many do that load code at start. */
		if (check_is_busy(c, i) || (!is_code && (check_u32(c, i, c->l->process_state) &
							 (PSFLG_ACTIVE | PSFLGS_DIRTY_WORK))))
			continue;
		nr++;
		good += is_code;
	}
	return check_mostly(c, good, nr, "waiting processes");
}

bool check_leaders(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		uint64_t leader = check_u64(c, i, c->l->process_group_leader);
		uint64_t parent = check_u64(c, i, c->l->process_parent);

		/* Boxed: an external pid.  The parent of init is [], of others an atom. */
		bool leader_ok = TERM_IS_PID(leader) || TERM_IS_BOXED(leader);
		bool parent_ok = TERM_IS_PID(parent) || TERM_IS_BOXED(parent) ||
				 parent == TERM_NIL || check_is_atom(c, parent);

		if (check_is_busy(c, i))
			continue;
		nr++;
		good += leader_ok && parent_ok;
	}
	return check_mostly(c, good, nr, "waiting processes");
}

/* ProcDict {unsigned used_mask, used, array_size, split, ...}: a linear hash table of which `split`
 * of its (used_mask + 1) / 2 buckets were split; erts/emulator/beam/erl_process_dict.h. */
static bool is_dictionary(const struct check_run *c, raddr dictionary)
{
	struct {
		uint32_t mask, used, size, split;
	} d;

	return mem_read(c->n->mem, dictionary, &d, sizeof(d)) == 0 &&
	       (d.mask & (d.mask + 1)) == 0 && d.used == d.mask / 2 + 1 + d.split &&
	       d.used <= d.size;
}

bool check_dictionaries(struct check_run *c)
{
	size_t good = 0, nr = 0, wanted = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		raddr dictionary = check_u64(c, i, c->l->process_dictionary);
		bool is_active = check_u32(c, i, c->l->process_state) & PSFLG_ACTIVE;

		if (check_is_busy(c, i))
			continue;
		/* Processes that proc_lib started have a dictionary, once they have run. */
		wanted += !is_active && c->n->atoms &&
			  beam_atom_is(c->n->atoms, check_u64(c, i, c->l->process_initial),
				       "proc_lib");
		if (!dictionary)
			continue;
		nr++;
		good += is_dictionary(c, dictionary);
	}
	if (nr == 0 && wanted > 0)
		return check_see(c, false,
				 "none of %zu processes that proc_lib started has a dictionary",
				 wanted);
	return check_mostly(c, good, nr, "dictionaries");
}

bool check_descheduled(struct check_run *c)
{
	size_t good = 0, nr = 0;

	for (size_t i = 0; i < c->s.nr; i++) {
		if (check_is_busy(c, i))
			continue;
		nr++;
		good += check_u64(c, i, c->l->process_scheduler_data) == 0 &&
			check_null_or_pointer(c, check_u64(c, i, c->l->process_next));
	}
	return check_mostly(c, good, nr, "waiting processes");
}
