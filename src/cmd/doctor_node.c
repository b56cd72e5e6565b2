/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor: one node: who it is, where its layout comes from, each check, each table of the VM. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cmd/doctor.h"

/* What is lost where a table was not found.  The checks refuse a node for want of those without
 * which nothing works, so here they only degrade. */
static const struct {
	const char *feature;
	size_t offset; /* of the raddr in struct beam_anchors */
	const char *why;
} anchor_rows[] = {
	{"process table", offsetof(struct beam_anchors, proc_tab),
	 "processes cannot be listed; they are known only once they are sampled"},
	{"port table", offsetof(struct beam_anchors, port_tab), "ports are shown without names"},
	{"atom table", offsetof(struct beam_anchors, atom_table), "nothing can be named"},
	{"this node", offsetof(struct beam_anchors, this_node), "the node's name is not known"},
	{"JIT code descriptor", offsetof(struct beam_anchors, jit_descriptor),
	 "Erlang functions have no names"},
	{"code loading hook", offsetof(struct beam_anchors, jit_register),
	 "code that is loaded while recording is found late, by looking again"},
	{"BIF table", offsetof(struct beam_anchors, bif_table),
	 "BIFs are shown as functions of beam.smp"},
	{"module table", offsetof(struct beam_anchors, module_code),
	 "NIFs are shown as functions of their library"},
	{"schedulers", offsetof(struct beam_anchors, sched),
	 "a scheduler is known only after its first sample in Erlang code"},
	{"dirty CPU schedulers", offsetof(struct beam_anchors, dirty_cpu),
	 "a dirty scheduler is known only after its first sample in Erlang code"},
	{"dirty IO schedulers", offsetof(struct beam_anchors, dirty_io),
	 "a dirty scheduler is known only after its first sample in Erlang code"},
};

static struct doctor_row *add(struct doctor_rows *rows, const struct beam_node *node,
			      const char *group, const char *feature)
{
	struct doctor_row *row = doctor_add(rows, group, feature);

	row->os_pid = node->os_pid;
	return row;
}

static void add_identity(struct doctor_rows *rows, const struct beam_node *node)
{
	const struct beam_identity *id = &node->identity;
	const char *unsupported = beam_node_unsupported(node);
	struct doctor_row *row = add(rows, node, "node", "release and build");

	snprintf(row->seen, sizeof(row->seen), "OTP %s, ERTS %s, %s%s%s%s%s", id->otp_text,
		 id->erts, id->jit ? "jit" : "emu", id->vm_probes ? ", VM probes" : "",
		 id->lock_counting ? ", lock counting" : "", id->debug ? ", debug" : "",
		 id->stripped ? ", stripped" : "");
	if (unsupported) {
		row->state = DOCTOR_MISSING;
		row->blocks = ERROR_KIND_UNSUPPORTED;
		row->fix = "record a node of a supported release";
		snprintf(row->why, sizeof(row->why), "%s", unsupported);
	}
}

static void add_symbols(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row = add(rows, node, "node", "symbols");

	snprintf(row->seen, sizeof(row->seen), "%s",
		 node->identity.hidden	   ? "hidden: the VM's tables are found by their shape"
		 : node->identity.stripped ? "exported ones only"
					   : "all");
	if (!node->identity.stripped)
		return;
	row->state = DOCTOR_DEGRADED;
	row->fix = "install the debug symbols of the node's package";
	snprintf(row->why, sizeof(row->why),
		 "most C functions of the VM are shown by address, not by name");
}

static void add_layout(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row;

	if (!node->layout_origin[0])
		return;
	row = add(rows, node, "node", "struct layout");
	snprintf(row->seen, sizeof(row->seen), "%s", node->layout_origin);
	for (unsigned int i = 0; i < node->nr_checks; i++) {
		const struct beam_check *check = &node->checks[i];

		row = add(rows, node, "layout checks", check->name);
		snprintf(row->seen, sizeof(row->seen), "%s", check->seen);
		if (check->absent) {
			row->state = DOCTOR_DEGRADED;
			snprintf(row->why, sizeof(row->why),
				 "the core file is cut short: what this looks at is not in it");
		}
		if (check->ok)
			continue;
		row->state = DOCTOR_MISSING;
		row->blocks = ERROR_KIND_UNSUPPORTED;
		row->fix = "install the debug symbols of this build, from which the layout is read";
		snprintf(row->why, sizeof(row->why), "the layout does not fit this node");
	}
}

static void add_anchors(struct doctor_rows *rows, const struct beam_node *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(anchor_rows); i++) {
		struct doctor_row *row = add(rows, node, "tables", anchor_rows[i].feature);
		raddr at;

		memcpy(&at, (const char *)&node->anchors + anchor_rows[i].offset, sizeof(at));
		if (at) {
			snprintf(row->seen, sizeof(row->seen), "at 0x%" PRIx64, at);
			continue;
		}
		row->state = DOCTOR_DEGRADED;
		snprintf(row->seen, sizeof(row->seen), "not found");
		snprintf(row->why, sizeof(row->why), "%s", anchor_rows[i].why);
	}
}

void doctor_check_node(struct doctor_rows *rows, const struct beam_node *node)
{
	add_identity(rows, node);
	add_symbols(rows, node);
	add_layout(rows, node);
	/* Nobody has looked for the tables if there is no layout to find them by. */
	if (node->nr_checks)
		add_anchors(rows, node);
}
