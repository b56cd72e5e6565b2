/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the layout for a node.  DWARF of the very build is right even for a patched VM, so it
 * comes first; the generated tables are what stripped distribution builds are read with.  Either
 * is then checked against the live node (checks.c).
 */
#include "beam/layout_dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "beam/node.h"

/* Struct ErtsSchedulerData, the largest that is looked into, has 41,792 bytes. */
#define STRUCT_MAX_SIZE (1 << 20)

static int32_t *member_of(struct beam_layout *layout, const struct layout_member *m)
{
	return (int32_t *)((char *)layout + m->offset);
}

static int32_t member_value(const struct beam_layout *layout, const struct layout_member *m)
{
	return *(const int32_t *)((const char *)layout + m->offset);
}

void layout_from_dwarf(struct beam_layout *layout, struct dwarf_info *d)
{
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		int64_t value = m->field ? dwarf_field_offset(d, m->type, m->field)
					 : dwarf_type_size(d, m->type);

		*member_of(layout, m) =
			value >= 0 && value <= INT32_MAX ? (int32_t)value : LAYOUT_ABSENT;
	}
}

const char *layout_missing(const struct beam_layout *have, const struct beam_layout *want)
{
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		if (member_value(have, m) == LAYOUT_ABSENT &&
		    member_value(want, m) != LAYOUT_ABSENT)
			return m->member;
	}
	return NULL;
}

const char *layout_outside(const struct beam_layout *l)
{
	const struct {
		const char *prefix;
		int32_t size;
	} structs[] = {{"process_", l->process_size},	      {"ptab_", l->ptab_size},
		       {"sched_", l->sched_stride},	      {"registers_", l->registers_size},
		       {"index_table_", l->index_table_size}, {"export_", l->export_size}};

	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		int32_t value = member_value(l, m), max = STRUCT_MAX_SIZE;

		for (size_t j = 0; j < ARRAY_SIZE(structs); j++)
			if (strncmp(m->member, structs[j].prefix, strlen(structs[j].prefix)) == 0)
				max = MIN(max, structs[j].size);
		/* Sizes may fill it; a field is read as a word, if not as less. */
		if (value < LAYOUT_ABSENT || (m->field ? value + 8 > max : value > max))
			return m->member;
	}
	return NULL;
}

/* `like` says which members such a release has. */
static bool choose_dwarf(struct beam_node *n, const struct layout_table *like)
{
	struct dwarf_info *d = NULL;
	const char *wrong;
	char root[32];

	if (n->core)
		snprintf(root, sizeof(root), "/");
	else
		snprintf(root, sizeof(root), "/proc/%d/root", n->os_pid);
	if (dwarf_info_open(&d, n->elf, root, NULL) != 0)
		return false;
	layout_from_dwarf(&n->layout, d);
	wrong = layout_missing(&n->layout, &like->layout);
	if (!wrong)
		wrong = layout_outside(&n->layout);
	if (wrong)
		log_info("pid %d: DWARF of %s has no usable %s: not used", n->os_pid,
			 dwarf_info_origin(d), wrong);
	else
		snprintf(n->layout_origin, sizeof(n->layout_origin), "DWARF of %s",
			 dwarf_info_origin(d));
	dwarf_info_close(d);
	return !wrong;
}

int layout_choose(struct beam_node *n)
{
	const struct layout_table *exact =
		layout_table_find(n->identity.otp, n->identity.vm_probes);
	const struct layout_table *like =
		exact ? exact : layout_table_find(n->identity.otp, !n->identity.vm_probes);

	if (like && choose_dwarf(n, like))
		return 0;
	if (!exact)
		return -ENOENT;
	n->layout = exact->layout;
	snprintf(n->layout_origin, sizeof(n->layout_origin), "table %s", exact->name);
	return 0;
}
