/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a node: its executable, identity, layout, tables, and the checks.  A reason why it is
 * unsupported is stored as text, so that list and doctor can show such nodes too.
 */
#include "beam/locate/node_open.h"

#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "beam/locate/anchors.h"
#include "beam/locate/checks.h"
#include "beam/locate/identity.h"
#include "beam/locate/layout_dwarf.h"
#include "beam/term/atoms.h"
#include "target/core.h"
#include "target/function_names.h"
#include "target/privilege.h"
#include "target/proc.h"

#define AUXV_MAX_SIZE 4096

/* Entry point of the program from its auxiliary vector: an address in the executable, whatever its
 * name and its address are.  The auxv file is owned by the node's user: without root, but with
 * CAP_SYS_PTRACE, start_code is used instead.  0 if neither can be read. */
static raddr entry_point(int os_pid)
{
	size_t size;
	char *bytes = proc_read_file(AUXV_MAX_SIZE, &size, "/proc/%d/auxv", os_pid);
	struct proc_stat stat;
	raddr entry = 0;

	for (size_t at = 0; bytes && at + 16 <= size; at += 16) {
		uint64_t pair[2];

		memcpy(pair, bytes + at, sizeof(pair));
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	}
	free(bytes);
	/* start_code 1: the kernel hides the address (fs/proc/array.c). */
	if (!entry && proc_stat_read(&stat, os_pid, NULL) == 0 && stat.start_code > 1)
		entry = stat.start_code;
	return entry;
}

/* 0, or negative errno: why the executable may not be read. */
static int try_executable(int os_pid)
{
	struct elf_file *e = NULL;
	char path[64];
	int fd, code;

	snprintf(path, sizeof(path), "/proc/%d/exe", os_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM || error_limit_fix(errno) ? -errno : 0;
	code = elf_file_open(&e, fd, path, NULL);
	elf_file_close(e);
	return error_limit_fix(code) ? code : 0;
}

static int not_a_node(int os_pid, struct error *err)
{
	struct proc_stat stat;
	int hidden;

	if (proc_stat_read(&stat, os_pid, NULL) != 0)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "no process has pid %d", os_pid);
	hidden = try_executable(os_pid);
	if (error_limit_fix(hidden))
		return error_set(err, ERROR_KIND_FAILED, hidden,
				 "cannot read the executable of pid %d ('%s'): %s", os_pid,
				 stat.comm, error_text(hidden));
	if (hidden)
		return error_set(err, ERROR_KIND_PRIVILEGE, hidden,
				 "cannot read the executable of pid %d ('%s'): %s. %s (see ebeam "
				 "doctor)",
				 os_pid, stat.comm, error_text(hidden),
				 privilege_fix(PRIVILEGE_MEMORY));
	return error_set(err, ERROR_KIND_NO_NODE, -ENOEXEC, "pid %d is '%s', not a BEAM node",
			 os_pid, stat.comm);
}

/* Finds the emulator's mapping and file; false: no mapped file is an emulator. */
static bool find_emulator(struct beam_node *n, raddr entry)
{
	const struct proc_map *map = identity_find(&n->identity, n->objects, entry);

	if (!map)
		return false;
	n->elf = objects_elf(n->objects, map->start, &n->bias);
	if (n->core)
		return true;
	if (entry >= map->start && entry < map->end)
		snprintf(n->exe, sizeof(n->exe), "/proc/%d/exe", n->os_pid);
	else if (objects_file_path(n->os_pid, map, n->exe) != 0)
		return false;
	return true;
}

static int open_executable(struct beam_node *n, struct error *err)
{
	int code = mem_open_live(&n->mem, n->os_pid, err);

	if (!code)
		code = objects_open(&n->objects, n->os_pid, err);
	if (code)
		return code;
	if (!find_emulator(n, entry_point(n->os_pid)))
		return not_a_node(n->os_pid, err);
	return 0;
}

bool beam_node_fits(struct beam_node *n)
{
	beam_atoms_close(n->atoms);
	n->atoms = NULL;
	n->anchors = (struct beam_anchors){0};
	anchors_find(n);
	checks_run(n);
	return !checks_failed(n);
}

/* Uses the first table that passes all checks, and returns true; else the nearest table, to report
 * its failed checks. */
static bool try_tables(struct beam_node *n)
{
	const struct beam_identity *id = &n->identity;
	const struct layout_table *t;

	for (unsigned int i = 0; (t = layout_table_near(id->own_otp, id->vm_probes, i)); i++) {
		layout_use_table(n, t);
		if (beam_node_fits(n))
			return true;
		log_info("pid %d: layout table %s does not fit: check %s failed, it read %s",
			 n->os_pid, t->name, checks_failed(n)->name, checks_failed(n)->seen);
	}
	layout_use_table(n, layout_table_near(id->own_otp, id->vm_probes, 0));
	return beam_node_fits(n);
}

static const char *build_name(const struct beam_identity *id)
{
	const char *other = identity_other_build(id);

	return other ? other : "jit";
}

#define OTP_FIRST_JIT 24

/* Sets n->unsupported and n->fix.  lacks: a member that this node's DWARF does not have, NULL if it
 * has no DWARF. */
static void refuse_unknown(struct beam_node *n, const struct layout_table *near, const char *lacks)
{
	const struct beam_identity *id = &n->identity;
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "this node runs OTP %s (ERTS %s, %s) built %s VM probes", id->otp_text,
		    id->erts, build_name(id), id->vm_probes ? "with" : "without");
	if (lacks)
		strbuf_addf(&text, ", and %s has no usable offset or size '%s', which %s has",
			    n->layout_origin, lacks, near->name);
	strbuf_addf(&text, "; ebeam has layouts of %s",
		    identity_other_build(id) ? "JIT builds of " : "");
	identity_list_releases(&text);
	strbuf_addf(&text, ", of which %s is the nearest", near->name);
	snprintf(n->unsupported, sizeof(n->unsupported), "%s", text.buf);
	if (identity_other_build(id))
		n->fix = id->own_otp < OTP_FIRST_JIT
				 ? "upgrade Erlang/OTP: the JIT came with OTP 24"
				 : "install the debug symbols of this very build, or run the "
				   "optimised JIT build";
	else if (lacks)
		n->fix = "use --try-layout, which takes the nearest layout that passes all checks; "
			 "or update ebeam";
	else
		n->fix =
			"install the debug symbols of this very build, from which the layout is "
			"read; or use --try-layout, which takes the nearest layout that passes all "
			"checks; or update ebeam";
	n->layout_origin[0] = '\0';
	strbuf_free(&text);
}

static void refuse_layout(struct beam_node *n, bool tried)
{
	const struct beam_check *failed = checks_failed(n);

	if (n->core && core_file_facts(n->core)->missing_size) {
		snprintf(
			n->unsupported, sizeof(n->unsupported),
			"this core file is cut short: what is left of it is too little to read OTP "
			"%s. Failed check: %s; seen: %s",
			n->identity.otp_text, failed->name, failed->seen);
		return;
	}
	snprintf(n->unsupported, sizeof(n->unsupported),
		 "OTP %s (ERTS %s, %s) does not fit the %s (%s)%s. Failed check: %s; seen: %s",
		 n->identity.otp_text, n->identity.erts, build_name(&n->identity),
		 tried ? "nearest layout" : "layout", n->layout_origin,
		 tried ? ", nor any other" : "", failed->name, failed->seen);
	if (tried)
		n->fix = "install the debug symbols of this very build, or update ebeam";
	else if (n->untested[0] && identity_other_build(&n->identity))
		n->fix = "run the optimised JIT build, or update ebeam";
	else if (n->untested[0])
		n->fix = "use --try-layout, which takes the nearest layout that passes all checks; "
			 "or update ebeam";
	else if (strncmp(n->layout_origin, "DWARF", 5) == 0)
		n->fix = "check that the installed debug symbols are those of this very build";
	else
		n->fix = "if this is a patched build, install its debug symbols";
}

/* Finds the node's layout: from DWARF, else the table of its build, else (try_layout) others. */
static void find_layout(struct beam_node *n, bool try_layout)
{
	const struct beam_identity *id = &n->identity;
	const struct layout_table *exact =
		identity_other_build(id) ? NULL : layout_table_find(id->own_otp, id->vm_probes);
	const struct layout_table *near = layout_table_near(id->own_otp, id->vm_probes, 0);
	const char *lacks;
	bool fit;

	try_layout = try_layout && !identity_other_build(id);
	if (layout_use_dwarf(n, near, &lacks) == 0) {
		fit = beam_node_fits(n);
	} else if (exact) {
		layout_use_table(n, exact);
		fit = beam_node_fits(n);
	} else if (try_layout) {
		fit = false;
	} else {
		refuse_unknown(n, near, lacks);
		return;
	}
	if (!fit && try_layout)
		fit = try_tables(n);
	if (!fit)
		refuse_layout(n, try_layout);
}

/* Finds layout and anchors and runs the checks; sets n->unsupported if one fails. */
static void inspect(struct beam_node *n, bool try_layout)
{
	const struct beam_identity *id = &n->identity;

	if (!elf_file_is_x86_64(n->elf))
		snprintf(
			n->unsupported, sizeof(n->unsupported),
			"this node runs OTP %s on another processor than x86-64, which is the only "
			"one that ebeam supports",
			id->otp_text);
	else if (identity_is_supported(id, n->unsupported, sizeof(n->unsupported)))
		find_layout(n, try_layout);
}

/* Completes the node that open_executable() has opened. */
static int finish_open(struct beam_node **out, struct beam_node *n, const char *what,
		       unsigned int how, struct error *err)
{
	bool partial = how & BEAM_OPEN_PARTIAL;
	char process[128], refusal[BEAM_NODE_REFUSAL_SIZE], reference[16];
	int code = 0;

	n->how = how;
	snprintf(reference, sizeof(reference), "otp-%d", n->identity.own_otp);
	n->function_names = function_names_new();
	function_names_add(n->function_names, n->elf, reference);
	inspect(n, how & BEAM_OPEN_TRY_LAYOUT);
	/* A node that exited meanwhile fails checks, too, without a fault of the layout. */
	if (beam_node_exits(n, n->unsupported[0] && !partial ? BEAM_NODE_EXIT_MS : 0)) {
		code = error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "the node (%s) has exited", what);
	} else if (n->unsupported[0] && !partial) {
		beam_node_process(n, process, sizeof(process));
		code = error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP, "%s%s%s%s: %s", what,
				 *process ? " (" : "", process, *process ? ")" : "",
				 beam_node_refusal(n, refusal, sizeof(refusal)));
	}
	if (code)
		beam_node_close(n);
	else
		*out = n;
	return code;
}

int beam_node_open(struct beam_node **out, int os_pid, unsigned int how, struct error *err)
{
	struct beam_node *n = xcalloc(1, sizeof(*n));
	char what[32];
	int code;

	n->os_pid = os_pid;
	n->pidfd = os_pid > 0 ? (int)syscall(SYS_pidfd_open, os_pid, 0) : -1;
	code = open_executable(n, err);
	if (code) {
		beam_node_close(n);
		return code;
	}
	snprintf(what, sizeof(what), "pid %d", os_pid);
	return finish_open(out, n, what, how, err);
}

/* Paths of the emulator in packages and installations; the right file is found by its build id. */
static const char *const places[] = {
	"/usr/lib/erlang/erts-*/bin/beam.smp",	     "/usr/lib64/erlang/erts-*/bin/beam.smp",
	"/usr/local/lib/erlang/erts-*/bin/beam.smp", "/opt/*/erts-*/bin/beam.smp",
	"/opt/*/lib/erlang/erts-*/bin/beam.smp",     NULL,
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int not_a_node_core(const struct core_facts *facts, struct error *err)
{
	const char *program = *facts->program ? facts->program : facts->comm;
	bool loader = strncmp(base_name(program), "ld-", 3) == 0;

	return error_set(err, ERROR_KIND_NO_NODE, -ENOEXEC,
			 "%s is a core of '%s', not of a BEAM node%s", facts->path, program,
			 loader ? " by the files that are on this host. If this dynamic loader "
				  "was started with an emulator, give that with --exe"
				: "");
}

/* True if the core may be of a node, by the names of the program in it: the executable need not be
 * on this host. */
static bool is_called_beam(const struct core_facts *facts)
{
	return strncmp(base_name(facts->program), "beam", 4) == 0 ||
	       strncmp(facts->comm, "beam", 4) == 0 || (!*facts->program && !*facts->comm);
}

static int open_core(struct beam_node *n, const char *core, const char *exe, struct error *err)
{
	const struct core_facts *facts;
	int code = core_file_open(&n->core, core, err);

	if (code)
		return code;
	facts = core_file_facts(n->core);
	n->os_pid = facts->os_pid;
	code = core_file_find_exe(n->core, exe, places, err);
	if (code)
		return exe || is_called_beam(facts) ? code : not_a_node_core(facts, err);
	n->mem = mem_open_core(n->core);
	n->objects = objects_open_core(n->core);
	if (!find_emulator(n, facts->entry))
		return not_a_node_core(facts, err);
	return 0;
}

int beam_node_open_core(struct beam_node **out, const char *core, const char *exe, unsigned int how,
			struct error *err)
{
	struct beam_node *n = xcalloc(1, sizeof(*n));
	int code;

	n->pidfd = -1;
	code = open_core(n, core, exe, err);
	if (code) {
		beam_node_close(n);
		return code;
	}
	return finish_open(out, n, core, how, err);
}

void beam_node_close(struct beam_node *n)
{
	if (!n)
		return;
	function_names_close(n->function_names);
	beam_atoms_close(n->atoms);
	objects_close(n->objects);
	mem_close(n->mem);
	core_file_close(n->core);
	if (n->pidfd >= 0)
		close(n->pidfd);
	free(n);
}
