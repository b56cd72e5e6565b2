/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the checks of a layout: their list, the sample of processes that they use, and retries. The
 * node runs meanwhile: processes end, heaps move.  So a check uses a sample of up to 64 processes,
 * accepts one in eight that changed while it was read, and fails only if it fails several times
 * with new samples.  The checks are in checks_process.c, checks_vm.c and checks_fields.c.
 *
 * To add a check: add a function to one of these, and a line to BEAM_CHECKS in checks_internal.h.
 */
#include "beam/locate/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/locate/checks_internal.h"
#include "beam/term/atoms.h"

/* A check that fails is repeated after a pause, as the node may be changing what it reads, for
 * longer if the node's threads wait for a CPU.  Pauses double until their sum over all checks is
 * PATIENCE_US; then each is PAUSE_US. */
#define TRIES	    6
#define PAUSE_US    2000u
#define PATIENCE_US 200000u

/* Slots of the process table that are searched for a sample. */
#define SLOTS_MAX (64 * CHECK_SLOTS)

#define MFA_ARITY_MAX 255

bool check_see(struct check_run *c, bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->seen, sizeof(c->n->checks[0].seen), fmt, ap);
	va_end(ap);
	return ok;
}

bool check_mostly(struct check_run *c, size_t good, size_t nr, const char *what)
{
	/* Of a core that was copied while the node ran parts are of different moments. */
	bool torn = c->n->core && core_file_facts(c->n->core)->torn;

	return check_see(c, (nr - good) * (torn ? 2 : 8) <= nr, "%zu of %zu %s", good, nr, what);
}

bool check_is_atom(const struct check_run *c, uint64_t term)
{
	return TERM_IS_ATOM(term) && term >> 6 < c->s.atoms;
}

bool check_is_mfa(const struct check_run *c, const uint64_t mfa[3])
{
	return check_is_atom(c, mfa[0]) && check_is_atom(c, mfa[1]) && mfa[2] <= MFA_ARITY_MAX;
}

bool check_read_mfa(const struct check_run *c, raddr addr, uint64_t mfa[3])
{
	return mem_read_u64(c->n->mem, addr + (raddr)c->l->mfa_module, &mfa[0]) == 0 &&
	       mem_read_u64(c->n->mem, addr + (raddr)c->l->mfa_function, &mfa[1]) == 0 &&
	       mem_read_u64(c->n->mem, addr + (raddr)c->l->mfa_arity, &mfa[2]) == 0 &&
	       check_is_mfa(c, mfa);
}

bool check_null_or_pointer(const struct check_run *c, raddr addr)
{
	return !addr || space_is_pointer(&c->s.space, addr, 8);
}

/* The process table spreads pids over cache lines (erl_ptab.c, OTP 25 to 29): the first processes
 * are in the first slots of the lines, later ones behind them. */
#define LINE_SLOTS 8
_Static_assert(CHECK_SLOTS % LINE_SLOTS == 0, "whole lines");

static size_t spread(size_t i)
{
	return i * LINE_SLOTS % CHECK_SLOTS + i * LINE_SLOTS / CHECK_SLOTS;
}

/* Takes live processes that were started first: they live longest, and are of all kinds. */
static void take_sample(struct check_run *c)
{
	const struct beam_layout *l = c->l;
	struct mem *mem = c->n->mem;
	raddr tab = 0, invalid = 0, slots[CHECK_SLOTS], ptab = c->n->anchors.proc_tab;
	struct mem_range ranges[CHECK_SAMPLE];
	uint32_t max = 0;
	size_t nr = 0;

	c->s.nr = 0;
	objects_refresh(c->n->objects, NULL);
	c->s.space = (struct anchor_space){.mem = mem,
					   .maps = objects_maps(c->n->objects),
					   .layout = l,
					   .interpreted = !c->n->identity.jit};
	c->s.atoms = c->n->atoms ? (uint32_t)MAX(beam_atoms_count(c->n->atoms), 0) : 0;
	if (!ptab || mem_read_u64(mem, ptab + (raddr)l->ptab_tab, &tab) != 0 ||
	    mem_read_u64(mem, ptab + (raddr)l->ptab_invalid_element, &invalid) != 0 ||
	    mem_read_u32(mem, ptab + (raddr)l->ptab_max, &max) != 0)
		return;
	for (size_t from = 0; from < MIN(max, SLOTS_MAX) && nr < CHECK_SAMPLE;
	     from += CHECK_SLOTS) {
		if (mem_read(mem, tab + 8 * from, slots, sizeof(slots)) != 0)
			break;
		for (size_t i = 0; i < CHECK_SLOTS && nr < CHECK_SAMPLE; i++) {
			raddr slot = slots[spread(i)];

			if (slot == invalid || !space_is_pointer(&c->s.space, slot, 8))
				continue;
			c->s.addrs[nr] = slot;
			ranges[nr] =
				(struct mem_range){.addr = slot,
						   .buf = c->s.bytes + nr * (size_t)l->process_size,
						   .size = (size_t)l->process_size};
			nr++;
		}
	}
	mem_readv(mem, ranges, nr);
	for (size_t i = 0; i < nr; i++) {
		if (ranges[i].err)
			continue;
		memmove(c->s.bytes + c->s.nr * (size_t)l->process_size, ranges[i].buf,
			(size_t)l->process_size);
		c->s.addrs[c->s.nr++] = c->s.addrs[i];
	}
}

static const struct {
	const char *name;
	bool (*run)(struct check_run *c);
	bool fields; /* run only if the layout is not the table of this build */
} checks[] = {
#define ALWAYS(function, name)	  {name, function, false},
#define OF_FIELDS(function, name) {name, function, true},
	BEAM_CHECKS(ALWAYS, OF_FIELDS)
#undef ALWAYS
#undef OF_FIELDS
};

/* The first checks of the list, which must pass even for a truncated core. */
#define NR_ESSENTIAL 5

_Static_assert(ARRAY_SIZE(checks) <= BEAM_MAX_CHECKS, "BEAM_MAX_CHECKS is too small");

static bool is_cut(const struct beam_node *n)
{
	return n->core && core_file_facts(n->core)->missing_size > 0;
}

/* False without native stack: such a build is read with the table of another one, without the frame
 * pointer's offset. */
static bool is_table_of_build(const struct beam_node *n)
{
	return !n->untested[0] && n->identity.native_stack &&
	       strncmp(n->layout_origin, "DWARF", 5) != 0;
}

void checks_run(struct beam_node *n)
{
	struct check_run c = {.n = n, .l = &n->layout};
	unsigned int left_us = PATIENCE_US;

	c.s.bytes = xcalloc(CHECK_SAMPLE, (size_t)n->layout.process_size);
	take_sample(&c);
	n->nr_checks = 0;
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		struct beam_check *check = &n->checks[n->nr_checks];

		/* Checks of fields rely on the other checks to have passed. */
		if (checks[i].fields && (is_table_of_build(n) || checks_failed(n)))
			continue;
		n->nr_checks++;

		check->name = checks[i].name;
		c.seen = check->seen;
		check->ok = checks[i].run(&c);
		for (int tries = 0; !check->ok && tries < TRIES && !n->core; tries++) {
			unsigned int pause_us = MIN(PAUSE_US << tries, left_us);

			usleep(MAX(pause_us, PAUSE_US));
			left_us -= pause_us;
			take_sample(&c);
			check->ok = checks[i].run(&c);
		}
		if (!check->ok && i >= NR_ESSENTIAL && is_cut(n))
			check->ok = check->absent = true;
	}
	free(c.s.bytes);
}

const struct beam_check *checks_failed(const struct beam_node *n)
{
	for (unsigned int i = 0; i < n->nr_checks; i++)
		if (!n->checks[i].ok)
			return &n->checks[i];
	return NULL;
}
