/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout tables, and the description of struct beam_layout that layoutgen, the DWARF reader and
 * doctor iterate over.  Both come from one list each: LAYOUT_VALUES in beam/otp/tables.h and
 * BEAM_LAYOUT_FIELDS in abi/layout.h.
 */
#include "beam/otp/layout.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/otp/tables.h"

#define TABLE(column, otp, vm_probes, name, source)                                                \
	&(const struct layout_table){                                                              \
		otp, vm_probes, name, source, {LAYOUT_VALUES(LAYOUT_##column)}},
const struct layout_table *const layout_tables[] = {LAYOUT_TABLES(TABLE) NULL};
#undef TABLE

/* A member without its row in LAYOUT_VALUES, or in another order, is found at compile time. */
#define ROW(member, ...) int32_t member;
struct rows {
	LAYOUT_VALUES(ROW)
};
#undef ROW
#define IN_ORDER(member, ...)                                                                      \
	_Static_assert(offsetof(struct rows, member) == offsetof(struct beam_layout, member),      \
		       "the row of " #member " stands elsewhere than in BEAM_LAYOUT_FIELDS");
LAYOUT_VALUES(IN_ORDER)
#undef IN_ORDER
_Static_assert(sizeof(struct rows) == sizeof(struct beam_layout), "a member has no row");

#define MEMBER_F(member, type, field) {#member, type, field, offsetof(struct beam_layout, member)},
#define MEMBER_S(member, type)	      {#member, type, NULL, offsetof(struct beam_layout, member)},
const struct layout_member layout_members[] = {BEAM_LAYOUT_FIELDS(MEMBER_F, MEMBER_S)};
#undef MEMBER_F
#undef MEMBER_S
const unsigned int nr_layout_members = ARRAY_SIZE(layout_members);

/* All members are int32_t, so equal sizes mean that layout_members has every member. */
_Static_assert(ARRAY_SIZE(layout_members) * sizeof(int32_t) == sizeof(struct beam_layout),
	       "layout_members does not describe the whole struct beam_layout");

static bool forgotten[ARRAY_SIZE(layout_tables)];

const struct layout_table *layout_table_find(int otp, bool vm_probes)
{
	for (size_t i = 0; layout_tables[i]; i++)
		if (layout_tables[i]->otp == otp && layout_tables[i]->vm_probes == vm_probes &&
		    !forgotten[i])
			return layout_tables[i];
	return NULL;
}

/* Distance of a table from a release and variant; no two tables are at the same distance. */
static int distance(const struct layout_table *t, int otp, bool vm_probes)
{
	return 4 * abs(t->otp - otp) + 2 * (t->otp < otp) + (t->vm_probes != vm_probes);
}

const struct layout_table *layout_table_near(int otp, bool vm_probes, unsigned int i)
{
	const struct layout_table *found = NULL, *last = NULL;

	do {
		last = found;
		found = NULL;
		for (size_t k = 0; layout_tables[k]; k++) {
			const struct layout_table *t = layout_tables[k];
			int far = distance(t, otp, vm_probes);

			if (!forgotten[k] && (!last || far > distance(last, otp, vm_probes)) &&
			    (!found || far < distance(found, otp, vm_probes)))
				found = t;
		}
	} while (found && i--);
	return found;
}

void layout_drop_frame_pointer(struct beam_layout *l)
{
	int32_t gone = l->process_frame_pointer;

	if (gone == LAYOUT_ABSENT)
		return;
	for (size_t i = 0; i < nr_layout_members; i++) {
		int32_t *value = layout_at(l, &layout_members[i]);

		if (strcmp(layout_members[i].type, "struct process") == 0 && *value > gone)
			*value -= 8;
	}
	l->process_frame_pointer = LAYOUT_ABSENT;
}

void layout_drop_jit(struct beam_layout *l)
{
	l->registers_size = l->registers_tmp_mem = l->registers_x = LAYOUT_ABSENT;
}

bool layout_knows(int otp)
{
	return layout_table_find(otp, false) || layout_table_find(otp, true);
}

void layout_forget(int otp)
{
	bool others = false;

	for (size_t i = 0; layout_tables[i]; i++)
		others |= !forgotten[i] && layout_tables[i]->otp != otp;
	if (!others)
		return;
	for (size_t i = 0; layout_tables[i]; i++)
		forgotten[i] |= layout_tables[i]->otp == otp;
}
