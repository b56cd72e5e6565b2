/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor, of one node: its identity, the origin of its layout, each check, each table of the VM. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/units.h"
#include "beam/sched/sched.h"
#include "beam/vm/vm_counters.h"
#include "cmd/host/doctor.h"
#include "cmd/run/target.h"
#include "probe/breakpoint/breakpoints.h"
#include "probe/site/sources.h"
#include "event/catalogue.h"
#include "target/privilege.h"
#include "target/proc.h"

#define LIMITS_MAX_SIZE 4096

/* What does not work if a table was not found.  Rows of tables are only degraded: the checks refuse
 * a node without those that are indispensable. */
static const struct {
	const char *feature;
	size_t offset; /* of the raddr in struct beam_anchors */
	const char *why;
} anchor_rows[] = {
	{"process table", offsetof(struct beam_anchors, proc_tab),
	 "processes cannot be listed; they are known only once they are sampled"},
	{"port table", offsetof(struct beam_anchors, port_tab), "ports are shown without names"},
	{"atom table", offsetof(struct beam_anchors, atom_table),
	 "no module, function or registered process has a name"},
	{"this node", offsetof(struct beam_anchors, this_node), "the node's name is not known"},
	{"JIT code descriptor", offsetof(struct beam_anchors, jit_descriptor),
	 "Erlang functions have no names"},
	{"code loading hook", offsetof(struct beam_anchors, jit_register),
	 "code that is loaded while recording is found late, when the list of code is read again"},
	{"BIF table", offsetof(struct beam_anchors, bif_table),
	 "BIFs are shown as functions of beam.smp"},
	{"module table", offsetof(struct beam_anchors, module_code),
	 "NIFs are shown as functions of their library"},
	{"active code index", offsetof(struct beam_anchors, active_code_ix),
	 "modules cannot be listed: which of three tables of code is in use is not known"},
	{"allocators", offsetof(struct beam_anchors, allocators),
	 "memory by type is not known (ebeam mem)"},
	{"ETS overhead", offsetof(struct beam_anchors, ets_misc),
	 "how much memory all ETS tables use is not known"},
	{"code ranges", offsetof(struct beam_anchors, code_ranges),
	 "how much memory all code uses is not known"},
	{"table of nodes", offsetof(struct beam_anchors, dist_table),
	 "connections to other nodes cannot be shown (ebeam dist)"},
	{"clock", offsetof(struct beam_anchors, clock),
	 "how long timers still run is known only as of when a scheduler last checked them"},
	{"schedulers", offsetof(struct beam_anchors, sched),
	 "a scheduler is known only after its first sample in Erlang code"},
	{"dirty CPU schedulers", offsetof(struct beam_anchors, dirty_cpu),
	 "a dirty scheduler is known only after its first sample in Erlang code"},
	{"dirty IO schedulers", offsetof(struct beam_anchors, dirty_io),
	 "a dirty scheduler is known only after its first sample in Erlang code"},
	{"collections on dirty schedulers", offsetof(struct beam_anchors, dirty_gc),
	 "garbage collections of the node are not counted (ebeam top)"},
	{"limit of ETS tables", offsetof(struct beam_anchors, ets_limit),
	 "how many ETS tables the node was made for is not known (ebeam top)"},
};

#define ANCHOR(member) offsetof(struct beam_anchors, member)
#define NO_ANCHOR      SIZE_MAX

/* What can be read of a node, by which command, with the tables that it needs.  Without the table
 * `better` the command shows less. */
static const struct {
	const char *feature, *command;
	size_t needs[2], better;
	const char *less; /* what it does not show without `better` */
} abilities[] = {
	{"processes", "ps", {ANCHOR(proc_tab), ANCHOR(atom_table)}, NO_ANCHOR, NULL},
	{"stacks",
	 "dump",
	 {ANCHOR(proc_tab), ANCHOR(atom_table)},
	 ANCHOR(jit_descriptor),
	 "functions have no names"},
	{"time of processes",
	 "record --mode wall",
	 {ANCHOR(proc_tab), ANCHOR(jit_descriptor)},
	 NO_ANCHOR,
	 NULL},
	{"states and dictionaries",
	 "inspect",
	 {ANCHOR(proc_tab), ANCHOR(atom_table)},
	 NO_ANCHOR,
	 NULL},
	{"mailboxes", "inspect", {ANCHOR(proc_tab), ANCHOR(atom_table)}, NO_ANCHOR, NULL},
	{"schedulers now",
	 "sched --now",
	 {ANCHOR(sched), ANCHOR(proc_tab)},
	 ANCHOR(jit_descriptor),
	 "functions have no names"},
	{"crash dumps",
	 "crashdump",
	 {ANCHOR(proc_tab), ANCHOR(atom_table)},
	 ANCHOR(jit_descriptor),
	 "stacks are left out"},
	{"diagnosis", "diagnose", {ANCHOR(sched), ANCHOR(jit_descriptor)}, NO_ANCHOR, NULL},
	{"memory", "mem", {ANCHOR(allocators), ANCHOR(proc_tab)}, NO_ANCHOR, NULL},
	{"binaries",
	 "bin",
	 {ANCHOR(proc_tab), ANCHOR(atom_table)},
	 ANCHOR(sched),
	 "without ETS tables"},
	{"ETS tables", "ets", {ANCHOR(sched), ANCHOR(atom_table)}, NO_ANCHOR, NULL},
	{"ports", "port", {ANCHOR(port_tab), ANCHOR(proc_tab)}, NO_ANCHOR, NULL},
	{"modules", "mod", {ANCHOR(module_code), ANCHOR(active_code_ix)}, NO_ANCHOR, NULL},
	{"distribution", "dist", {ANCHOR(this_node), ANCHOR(atom_table)}, NO_ANCHOR, NULL},
	{"application environment", "env", {ANCHOR(sched), ANCHOR(atom_table)}, NO_ANCHOR, NULL},
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

	doctor_see(row, "OTP %s, ERTS %s, %s%s%s%s%s", id->otp_text, id->erts, beam_flavor(id),
		   id->vm_probes ? ", VM probes" : "", id->lock_counting ? ", lock counting" : "",
		   id->debug ? ", debug" : "", id->stripped ? ", stripped" : "");
	if (unsupported) {
		row->blocks = ERROR_KIND_UNSUPPORTED;
		doctor_lack(row, DOCTOR_MISSING,
			    node->fix ? node->fix : "record a node of a supported build", "%s",
			    unsupported);
	}
}

static void add_process(struct doctor_rows *rows, const struct beam_node *node)
{
	char text[128];

	if (*beam_node_process(node, text, sizeof(text)))
		doctor_see(add(rows, node, "node", "process"), "%s", text);
}

static void add_stopped(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row;

	if (node->core || !proc_is_stopped(node->os_pid))
		return;
	row = add(rows, node, "node", "running");
	doctor_see(row, "no");
	doctor_lack(row, DOCTOR_DEGRADED,
		    "continue it (kill -CONT PID), or see which debugger holds it",
		    "it is stopped (SIGSTOP, or a debugger): nothing happens in it that could be "
		    "recorded; commands that read memory work");
}

static void add_symbols(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row = add(rows, node, "node", "symbols");

	doctor_see(row, "%s",
		   node->identity.hidden     ? "hidden: the VM's tables are found by their shape"
		   : node->identity.stripped ? "exported ones only"
					     : "all");
	if (!node->identity.stripped)
		return;
	doctor_lack(row, DOCTOR_DEGRADED, "install the debug symbols of the node's package",
		    "most C functions of the VM are shown by address, not by name");
}

static void add_layout(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row;

	if (!node->layout_origin[0])
		return;
	row = add(rows, node, "node", "struct layout");
	doctor_see(row, "%s", node->layout_origin);
	if (!beam_node_unsupported(node) && target_untested(node, row->why, sizeof(row->why))) {
		row->state = DOCTOR_DEGRADED;
		row->fix = "update ebeam";
	}
	for (unsigned int i = 0; i < node->nr_checks; i++) {
		const struct beam_check *check = &node->checks[i];

		row = add(rows, node, "layout checks", check->name);
		doctor_see(row, "%s", check->seen);
		if (check->absent)
			doctor_lack(row, DOCTOR_DEGRADED, NULL,
				    "the core file is cut short: the memory that this check reads "
				    "is not in it");
		if (check->ok)
			continue;
		row->blocks = ERROR_KIND_UNSUPPORTED;
		doctor_lack(row, DOCTOR_MISSING, node->fix, "the layout does not fit this node");
	}
}

/* The interpreter has no list of JIT code: the module tables lead to its code. */
static bool is_of_jit(size_t offset)
{
	return offset == ANCHOR(jit_descriptor) || offset == ANCHOR(jit_register);
}

static raddr anchor_at(const struct beam_node *node, size_t offset)
{
	raddr at;

	if (!node->identity.jit && is_of_jit(offset))
		offset = ANCHOR(module_code);
	memcpy(&at, (const char *)&node->anchors + offset, sizeof(at));
	return at;
}

static const char *anchor_name(size_t offset)
{
	for (size_t i = 0; i < ARRAY_SIZE(anchor_rows); i++)
		if (anchor_rows[i].offset == offset)
			return anchor_rows[i].feature;
	return "a table";
}

static void add_ability(struct doctor_rows *rows, const struct beam_node *node, size_t i)
{
	struct doctor_row *row = add(rows, node, "inspection", abilities[i].feature);
	size_t better = abilities[i].better;

	doctor_see(row, "ebeam %s", abilities[i].command);
	if (better != NO_ANCHOR && !anchor_at(node, better))
		doctor_lack(row, DOCTOR_DEGRADED, NULL, "%s: the %s was not found",
			    abilities[i].less, anchor_name(better));
	for (size_t k = 0; k < ARRAY_SIZE(abilities[i].needs); k++) {
		if (anchor_at(node, abilities[i].needs[k]))
			continue;
		doctor_lack(row, DOCTOR_MISSING, NULL, "the %s was not found",
			    anchor_name(abilities[i].needs[k]));
	}
	if (beam_node_unsupported(node))
		doctor_lack(row, DOCTOR_MISSING, NULL, "%s",
			    node->core ? "the memory in the core file does not fit the layout"
				       : "the layout does not fit this node");
}

/* True if the kernel writes no core when the process crashes. */
static bool has_no_core_limit(int os_pid)
{
	static const char name[] = "\nMax core file size";
	char *text = proc_read_file(LIMITS_MAX_SIZE, NULL, "/proc/%d/limits", os_pid);
	const char *line = text ? strstr(text, name) : NULL;
	bool none;

	line = line ? line + sizeof(name) - 1 + strspn(line + sizeof(name) - 1, " ") : NULL;
	none = line && line[0] == '0' && line[1] == ' '; /* the soft limit is the first number */
	free(text);
	return none;
}

static void add_core_files(struct doctor_rows *rows, const struct beam_node *node)
{
	const char *build_id = elf_file_build_id(node->elf);
	struct doctor_row *row;

	if (node->core)
		return;
	row = add(rows, node, "inspection", "core files");
	doctor_see(row, "--core, made by gcore%s%s%s",
		   has_no_core_limit(node->os_pid)
			   ? " (the kernel makes none if this node crashes: ulimit -c is 0)"
			   : " or the kernel",
		   *build_id ? "; build id " : "; no build id", build_id);
}

static void add_anchors(struct doctor_rows *rows, const struct beam_node *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(anchor_rows); i++) {
		raddr at = anchor_at(node, anchor_rows[i].offset);
		struct doctor_row *row;

		if (!node->identity.jit && is_of_jit(anchor_rows[i].offset))
			continue;
		row = add(rows, node, "tables", anchor_rows[i].feature);
		if (at) {
			doctor_see(row, "at 0x%" PRIx64, at);
			continue;
		}
		doctor_see(row, "not found");
		doctor_lack(row, DOCTOR_DEGRADED, NULL, "%s", anchor_rows[i].why);
	}
}

/* Where the functions of the VM are exported: what probes on them would cost. */
static void add_sites(struct doctor_rows *rows, const struct beam_node *node)
{
	struct doctor_row *row;
	struct source_sites sites;

	if (node->core)
		return;
	source_sites(&sites, node);
	row = add(rows, node, "node", "probe sites");
	doctor_see(row, "%u of %u functions at an emulated instruction%s%s", sites.emulated,
		   sites.found, sites.stepped ? "; single-stepped: " : "", sites.stepped_names);
	if (!sites.found)
		doctor_lack(
			row, DOCTOR_DEGRADED, NULL,
			"this build exports hardly any function of the VM: where the others start "
			"is not known");
	else if (sites.refused)
		doctor_lack(row, DOCTOR_DEGRADED, NULL, "%u functions have no probe site: %s",
			    sites.refused, sites.refused_names);
}

/* Which events of the VM can be had, one row for each group of them. */
static void add_events(struct doctor_rows *rows, struct beam_node *node, bool force)
{
	struct source_plan plan;

	if (node->core)
		return;
	source_plan_node(&plan, node, (1ull << NR_EVENT_KINDS) - 1, SOURCE_AUTO, force);
	for (int group = 0; group < NR_EVENT_GROUPS; group++) {
		struct doctor_row *row =
			add(rows, node, "events", event_group_name((enum event_group)group));
		char why[SOURCE_REASON_SIZE] = "";
		int nr = 0, nr_missing = 0, nr_usdt = 0;

		for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
			if ((int)event_rows[kind].group != group)
				continue;
			nr++;
			nr_missing += plan.missing[kind] != NULL;
			nr_usdt += plan.usdt_kinds >> kind & 1;
			if (plan.missing[kind] && !*why)
				source_missing(&plan, (enum event_kind)kind, why, sizeof(why));
		}
		doctor_see(row, "ebeam events: %d of %d kinds%s", nr - nr_missing, nr,
			   !nr_usdt			? ""
			   : nr_usdt == nr - nr_missing ? ", all by USDT probes"
							: ", some by USDT probes");
		if (!nr_missing && group == EVENT_GROUP_DRIVER && plan.unwatched)
			doctor_lack(
				row, DOCTOR_DEGRADED, NULL,
				"%u callbacks of drivers cannot be watched (ebeam events -v says "
				"which)",
				plan.unwatched);
		if (!nr_missing)
			continue;
		doctor_lack(row, nr_missing == nr ? DOCTOR_MISSING : DOCTOR_DEGRADED, NULL,
			    "the functions on which they are probed were not found in this build "
			    "(%s%s)",
			    why, nr_missing > 1 ? ", and others" : "");
	}
}

/* Returns the smallest number of free debug registers of a thread that runs Erlang code. */
unsigned int doctor_free_breakpoints(const struct beam_node *node, unsigned int *nr_threads,
				     struct error *err)
{
	struct proc_thread *threads = NULL;
	ssize_t nr = proc_threads_read(&threads, node->os_pid, err);
	unsigned int least = EBEAM_BREAKPOINTS;
	uint16_t number;

	*nr_threads = 0;
	for (ssize_t i = 0; i < nr; i++) {
		struct error why = {0};
		unsigned int have;

		if (sched_type_of_name(threads[i].name, &number) != THREAD_NORMAL)
			continue;
		have = breakpoints_free(threads[i].os_tid, &why);
		(*nr_threads)++;
		/* A thread that has just ended does not count. */
		if (have < least && why.code != -ESRCH) {
			least = have;
			*err = why;
		}
	}
	free(threads);
	return least;
}

static void add_breakpoints(struct doctor_rows *rows, const struct beam_node *node)
{
	unsigned int nr_threads, least;
	struct doctor_row *row;
	struct error err = {0};
	struct rlimit files;

	if (node->core)
		return;
	row = add(rows, node, "node", "debug registers");
	row->purpose = "trace sees calls of Erlang functions";
	least = doctor_free_breakpoints(node, &nr_threads, &err);
	if (!nr_threads) {
		doctor_lack(
			row, DOCTOR_DEGRADED, error_limit_fix(err.code), "%s",
			err.code ? err.msg
				 : "no thread has the name of a scheduler: all would be watched");
		return;
	}
	doctor_see(row, "%u of %d free on each of %u scheduler%s", least, EBEAM_BREAKPOINTS,
		   nr_threads, nr_threads == 1 ? "" : "s");
	if (least < EBEAM_BREAKPOINTS) {
		doctor_lack(row, least ? DOCTOR_DEGRADED : DOCTOR_MISSING, doctor_error_fix(&err),
			    "%s", err.msg);
		row->fix = row->fix ? row->fix : "end the programs that use them (gdb, perf)";
		return;
	}
	breakpoints_raise_files(nr_threads);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < breakpoints_files(nr_threads))
		doctor_lack(row, DOCTOR_DEGRADED, "raise the limit of open files (ulimit -n)",
			    "four breakpoints on each scheduler need %u open files, and %" PRIu64
			    " are allowed",
			    breakpoints_files(nr_threads), (uint64_t)files.rlim_cur);
}

void doctor_check_node(struct doctor_rows *rows, struct beam_node *node, bool force)
{
	add_identity(rows, node);
	add_process(rows, node);
	add_stopped(rows, node);
	add_symbols(rows, node);
	add_sites(rows, node);
	add_breakpoints(rows, node);
	add_layout(rows, node);
	/* Without checks there is no layout, and the VM's tables were not searched for. */
	if (!node->nr_checks)
		return;
	vm_counters_find(node);
	add_anchors(rows, node);
	for (size_t i = 0; i < ARRAY_SIZE(abilities); i++)
		add_ability(rows, node, i);
	add_core_files(rows, node);
	add_events(rows, node, force);
}
