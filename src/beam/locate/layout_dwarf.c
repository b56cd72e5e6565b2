/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The layout of a node.  DWARF of the build itself comes first (node_open.c), as it is right even
 * for a patched VM; stripped distribution builds are read with the generated tables.  Both are
 * checked against the live node (checks.c).
 */
#include "beam/locate/layout_dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "beam/locate/identity.h"
#include "beam/node/node.h"

/* The largest struct that is read is ErtsSchedulerData with 41,792 bytes. */
#define STRUCT_MAX_SIZE (1 << 20)

void layout_from_dwarf(struct beam_layout *layout, struct dwarf_info *d)
{
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];
		int64_t value = m->field ? dwarf_field_offset(d, m->type, m->field)
					 : dwarf_type_size(d, m->type);

		*layout_at(layout, m) =
			value >= 0 && value <= INT32_MAX ? (int32_t)value : LAYOUT_ABSENT;
	}
}

const char *layout_missing(const struct beam_layout *have, const struct beam_layout *want)
{
	for (unsigned int i = 0; i < nr_layout_members; i++) {
		const struct layout_member *m = &layout_members[i];

		if (*layout_at(have, m) == LAYOUT_ABSENT && *layout_at(want, m) != LAYOUT_ABSENT)
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
		int32_t value = *layout_at(l, m), max = STRUCT_MAX_SIZE;

		for (size_t j = 0; j < ARRAY_SIZE(structs); j++)
			if (strncmp(m->member, structs[j].prefix, strlen(structs[j].prefix)) == 0)
				max = MIN(max, structs[j].size);
		/* A size may be equal to that of the struct; a field is read as 8 bytes or less. */
		if (value < LAYOUT_ABSENT || (m->field ? value + 8 > max : value > max))
			return m->member;
	}
	return NULL;
}

/* Makes the release of `like` the one whose constants are used for the node.  If that is not the
 * node's own release, or the build is uncommon, sets n->untested to a text with the origin of the
 * layout (`how` and `name`).  True if it is the node's own release. */
static bool use_facts(struct beam_node *n, const struct layout_table *like, const char *how,
		      const char *name)
{
	bool known = n->identity.own_otp == like->otp;
	bool other = identity_other_build(&n->identity) != NULL;

	n->identity.otp = like->otp;
	n->untested[0] = '\0';
	if (!known || other)
		snprintf(n->untested, sizeof(n->untested), "by %s%s, untested %s", how, name,
			 known ? "build" : "release");
	return known;
}

int layout_use_dwarf(struct beam_node *n, const struct layout_table *like, const char **lacks)
{
	struct beam_layout want = like->layout;
	struct dwarf_info *d = NULL;
	char root[32];

	*lacks = NULL;
	if (n->core)
		snprintf(root, sizeof(root), "/");
	else
		snprintf(root, sizeof(root), "/proc/%d/root", n->os_pid);
	if (dwarf_info_open(&d, n->elf, root, NULL) != 0)
		return -ENOENT;
	layout_from_dwarf(&n->layout, d);
	if (!n->identity.native_stack)
		layout_drop_frame_pointer(&want);
	if (!n->identity.jit)
		layout_drop_jit(&want);
	*lacks = layout_missing(&n->layout, &want);
	if (!*lacks)
		*lacks = layout_outside(&n->layout);
	snprintf(n->layout_origin, sizeof(n->layout_origin), "DWARF of %s", dwarf_info_origin(d));
	if (*lacks)
		log_info("pid %d: DWARF of %s is not used, as it has no usable offset or size '%s'",
			 n->os_pid, dwarf_info_origin(d), *lacks);
	else
		use_facts(n, like, "DWARF", "");
	dwarf_info_close(d);
	return *lacks ? -ENOENT : 0;
}

void layout_use_table(struct beam_node *n, const struct layout_table *like)
{
	bool known = use_facts(n, like, "table ", like->name);

	n->layout = like->layout;
	if (!n->identity.native_stack)
		layout_drop_frame_pointer(&n->layout);
	snprintf(n->layout_origin, sizeof(n->layout_origin), "table %s", like->name);
	if (known && n->identity.vm_probes != like->vm_probes)
		snprintf(n->untested, sizeof(n->untested), "by table %s, untested build",
			 like->name);
}
