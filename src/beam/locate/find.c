/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BEAM nodes of this host, and the one that -p names.  A node is recognised by its executable
 * file (identity.c), never by its name; each file is examined once for all processes that run it.
 * If the executable is a dynamic loader, the mapped files of the process are examined.  Names of
 * nodes are read from their memory, and only when they are needed.
 */
#include "beam/locate/find.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "beam/locate/identity.h"
#include "beam/locate/node_open.h"
#include "beam/vm/facts.h"
#include "target/privilege.h"
#include "target/proc.h"

/* The smallest BEAM (+S 1 +A 1) has more than ten threads; most other programs have one. */
#define THREADS_MIN 4

/* Limit of nodes that an error text lists; the others are only counted. */
#define NAMED_MAX 8

#define STATUS_MAX_SIZE 65536

/* What an executable file is. */
struct executable {
	dev_t dev;
	ino_t ino;
	bool beam;
	bool loader; /* a dynamic loader, or a static program: both have no .interp */
};

struct finder {
	VEC(struct executable) executables;
	VEC(int) nodes;
	VEC(int) hidden_nodes; /* pids of processes named beam whose executable may not be read */
	int hidden;	       /* one of these pids; 0 = none */
	int hidden_code;       /* negative errno of the attempt to read its executable */
	unsigned int how;      /* how nodes are opened to read their names: enum beam_open */
};

/* A node with its name, for matching and for error texts. */
struct named_node {
	int os_pid;
	char name[256]; /* "" if it cannot be read */
	char otp[32];
};

/* Examines /proc/PID/exe.  0 and *x is filled, or negative errno: the file may not be read, or a
 * resource limit is reached. */
static int examine_executable(struct executable *x, int os_pid)
{
	struct beam_identity identity;
	struct elf_file *e = NULL;
	char path[64];
	int fd, code;

	snprintf(path, sizeof(path), "/proc/%d/exe", os_pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	code = elf_file_open(&e, fd, path, NULL);
	if (code)
		return error_limit_fix(code) ? code : 0;
	x->beam = identity_read(&identity, e) == 0;
	x->loader = !x->beam && !elf_file_section(e, ".interp");
	elf_file_close(e);
	return 0;
}

/* 1 = a dynamic loader has loaded the emulator, 0 = it has not, or negative errno: unknown. */
static int has_loaded_beam(int os_pid)
{
	struct beam_identity identity;
	struct objects *o = NULL;
	int code = objects_open(&o, os_pid, NULL);
	bool found;

	if (code)
		return error_limit_fix(code) ? code : 0;
	found = identity_find(&identity, o, 0) != NULL;
	objects_close(o);
	return found;
}

/* 1 = BEAM, 0 = something else, or negative errno: unknown.  Examines each file once. */
static int examine(struct finder *f, int os_pid)
{
	struct executable x = {0};
	const struct executable *known = NULL;
	struct stat st;
	char path[64];
	int code;

	snprintf(path, sizeof(path), "/proc/%d/exe", os_pid);
	if (stat(path, &st) != 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	for (size_t i = 0; !known && i < f->executables.len; i++)
		if (f->executables.data[i].dev == st.st_dev &&
		    f->executables.data[i].ino == st.st_ino)
			known = &f->executables.data[i];
	if (!known) {
		code = examine_executable(&x, os_pid);
		if (code)
			return code;
		x.dev = st.st_dev;
		x.ino = st.st_ino;
		vec_push(&f->executables, x);
		known = &x;
	}
	return known->loader ? has_loaded_beam(os_pid) : known->beam;
}

static bool has_threads(int os_pid)
{
	struct stat st;
	char path[64];

	/* One link per thread and two of the directory's own. */
	snprintf(path, sizeof(path), "/proc/%d/task", os_pid);
	return stat(path, &st) == 0 && st.st_nlink >= THREADS_MIN + 2;
}

static bool is_called_beam(int os_pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, os_pid, NULL) == 0 && strncmp(stat.comm, "beam", 4) == 0;
}

static int find_nodes(struct finder *f, struct error *err)
{
	int *pids = NULL;
	ssize_t nr = proc_list(&pids, err);

	if (nr < 0)
		return (int)nr;
	for (ssize_t i = 0; i < nr; i++) {
		int found;

		if (!has_threads(pids[i]))
			continue;
		found = examine(f, pids[i]);
		if (found > 0)
			vec_push(&f->nodes, pids[i]);
		if (found < 0 && is_called_beam(pids[i])) {
			vec_push(&f->hidden_nodes, pids[i]);
			if (!f->hidden)
				f->hidden_code = found;
			f->hidden = f->hidden_nodes.data[0];
		}
	}
	free(pids);
	return 0;
}

static void finder_free(struct finder *f)
{
	vec_free(&f->executables);
	vec_free(&f->nodes);
	vec_free(&f->hidden_nodes);
}

static const char *fix_of_hidden(const struct finder *f)
{
	const char *limit = error_limit_fix(f->hidden_code);

	return limit ? limit : privilege_fix(PRIVILEGE_MEMORY);
}

static int hidden_error(int os_pid, int code, struct error *err)
{
	struct proc_stat stat = {0};

	proc_stat_read(&stat, os_pid, NULL);
	if (error_limit_fix(code))
		return error_set(err, ERROR_KIND_FAILED, code,
				 "cannot look into pid %d ('%s'): %s; %s", os_pid, stat.comm,
				 error_text(code), error_limit_fix(code));
	return error_set(err, ERROR_KIND_PRIVILEGE, code,
			 "cannot look into pid %d ('%s'): %s. %s (see ebeam doctor)", os_pid,
			 stat.comm, error_text(code), privilege_fix(PRIVILEGE_MEMORY));
}

int beam_list(int **out, struct error *err)
{
	struct finder f = {0};
	int code = find_nodes(&f, err);

	if (code) {
		finder_free(&f);
		return code;
	}
	for (size_t i = 0; i < f.hidden_nodes.len; i++)
		vec_push(&f.nodes, f.hidden_nodes.data[i]);
	*out = f.nodes.data;
	vec_free(&f.hidden_nodes);
	vec_free(&f.executables);
	return (int)f.nodes.len;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Reads the node's name; negative errno: not permitted, or a resource limit is reached. */
static int name_node(struct named_node *named, int os_pid, unsigned int how)
{
	struct beam_node *n = NULL;
	struct beam_facts facts;
	struct error err = {0};
	int code;

	memset(named, 0, sizeof(*named));
	named->os_pid = os_pid;
	code = beam_node_open(&n, os_pid, how | BEAM_OPEN_PARTIAL, &err);
	if (code)
		return err.kind == ERROR_KIND_PRIVILEGE || error_limit_fix(code) ? code : 0;
	snprintf(named->otp, sizeof(named->otp), "%s", n->identity.otp_text);
	if (beam_node_facts(n, &facts, NULL) == 0)
		memcpy(named->name, facts.name, sizeof(named->name));
	beam_node_close(n);
	return 0;
}

/* Appends "812 (rabbit@a), 990 (OTP 23)". */
static void add_nodes(struct strbuf *out, const int *pids, size_t nr, unsigned int how)
{
	for (size_t i = 0; i < nr && i < NAMED_MAX; i++) {
		struct named_node named;

		strbuf_addf(out, "%s%d", i == 0 ? "" : ", ", pids[i]);
		name_node(&named, pids[i], how);
		if (named.name[0])
			strbuf_addf(out, " (%s)", named.name);
		else if (named.otp[0])
			strbuf_addf(out, " (OTP %s)", named.otp);
	}
	if (nr > NAMED_MAX)
		strbuf_addf(out, " and %zu more", nr - NAMED_MAX);
}

/* Appends the second sentence of an error text: which nodes run. */
static void add_nodes_here(struct strbuf *out, const struct finder *f)
{
	if (f->nodes.len > 0) {
		strbuf_addstr(out, "BEAM nodes here: ");
		add_nodes(out, f->nodes.data, f->nodes.len, f->how);
		if (privilege_unseen())
			strbuf_addf(out, ". Others may run here: %s", privilege_unseen());
	} else if (f->hidden) {
		strbuf_addf(out, "BEAM nodes may run here, but pid %d may not be looked into. %s",
			    f->hidden, fix_of_hidden(f));
	} else if (privilege_unseen()) {
		strbuf_addf(out, "BEAM nodes may run here: %s", privilege_unseen());
	} else {
		strbuf_addstr(out, "No BEAM node runs on this host");
	}
}

/* ---- -p -------------------------------------------------------------------------------------- */

/* Pid of the process that a thread belongs to; 0 if there is no such thread or process. */
static int process_of(int os_tid)
{
	static const char key[] = "\nTgid:";
	char *text = proc_read_file(STATUS_MAX_SIZE, NULL, "/proc/%d/status", os_tid);
	const char *line = text ? strstr(text, key) : NULL;
	int os_pid = line ? atoi(line + strlen(key)) : 0;

	free(text);
	return os_pid;
}

/* Sets an error with what the process is, and the nodes that run.  hidden: its executable may not
 * be read; the process has another name than nodes have. */
static int refuse_pid(int os_pid, bool hidden, struct error *err)
{
	struct strbuf here = STRBUF_INIT;
	struct finder f = {0};
	struct proc_stat stat;
	int code = find_nodes(&f, err);

	if (code)
		return code;
	add_nodes_here(&here, &f);
	if (proc_stat_read(&stat, os_pid, NULL) != 0 && kill(os_pid, 0) != 0 && errno == EPERM)
		code = error_set(err, ERROR_KIND_PRIVILEGE, -EPERM,
				 "pid %d is there, but /proc does not show it (hidepid). %s",
				 os_pid, privilege_fix(PRIVILEGE_MEMORY));
	else if (proc_stat_read(&stat, os_pid, NULL) != 0)
		code = error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "no process has pid %d. %s",
				 os_pid, here.buf);
	else if (stat.state == 'Z' || stat.state == 'X')
		code = error_set(err, ERROR_KIND_NO_NODE, -ESRCH,
				 "pid %d ('%s') is a zombie: it has exited, and its parent has not "
				 "waited for it. %s",
				 os_pid, stat.comm, here.buf);
	else
		code = error_set(
			err, ERROR_KIND_NO_NODE, -ENOEXEC,
			"pid %d (%s'%s') is not a BEAM node%s. %s", os_pid,
			stat.kernel_thread ? "the kernel's own thread " : "", stat.comm,
			hidden ? ", by its name (the kernel does not let ebeam look into it)" : "",
			here.buf);
	strbuf_free(&here);
	finder_free(&f);
	return code;
}

/* Sets the error for a pid that is no node (`found` is 0) or cannot be examined (negative errno).
 * Some executables cannot be read even with CAP_SYS_PTRACE; then the name of the process decides:
 * that of a node is the name of its executable file. */
static int explain_pid(int os_pid, int found, struct error *err)
{
	struct proc_stat stat = {0};

	proc_stat_read(&stat, os_pid, NULL);
	if (found == 0 || stat.kernel_thread)
		return refuse_pid(os_pid, false, err);
	if (privilege_has(CAP_SYS_PTRACE) && !error_limit_fix(found) && !is_called_beam(os_pid))
		return refuse_pid(os_pid, true, err);
	return hidden_error(os_pid, found, err);
}

static int find_pid(int *os_pid, const char *what, struct error *err)
{
	long wanted = strtol(what, NULL, 10); /* has only digits; LONG_MAX if too large */
	int pid = wanted > 0 && wanted <= INT32_MAX ? (int)wanted : 0;
	int process = pid ? process_of(pid) : 0;
	struct finder f = {0};
	int found;

	if (!pid)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "%s is no process id", what);
	if (process && process != pid)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH,
				 "%d is a thread of the process with pid %d: use -p %d", pid,
				 process, process);
	found = examine(&f, pid);
	finder_free(&f);
	if (found <= 0)
		return explain_pid(pid, found, err);
	*os_pid = pid;
	return 0;
}

/* Is `what` the name of the node ("rabbit@host"), or the part before the @? */
static bool name_fits(const char *name, const char *what)
{
	size_t len = strlen(what);

	if (strchr(what, '@'))
		return strcmp(name, what) == 0;
	return len > 0 && strncmp(name, what, len) == 0 && name[len] == '@';
}

static int find_name(int *os_pid, const char *what, struct finder *f, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	bool unnamed = false;
	VEC(int) fits = {0};
	int code = 0;

	for (size_t i = 0; i < f->nodes.len; i++) {
		struct named_node named;
		int err_code = name_node(&named, f->nodes.data[i], f->how);

		if (err_code && !f->hidden) {
			f->hidden = f->nodes.data[i];
			f->hidden_code = err_code;
		}
		unnamed |= !err_code && !named.name[0];
		if (name_fits(named.name, what))
			vec_push(&fits, f->nodes.data[i]);
	}
	if (fits.len == 1) {
		*os_pid = fits.data[0];
	} else if (fits.len > 1) {
		add_nodes(&text, fits.data, fits.len, f->how);
		code = error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' fits %zu BEAM nodes; choose one with -p PID: %s", what,
				 fits.len, text.buf);
	} else if (f->hidden) {
		code = hidden_error(f->hidden, f->hidden_code, err);
		error_prefix(err, "no BEAM node that may be looked into is named '%s'", what);
	} else {
		add_nodes_here(&text, f);
		code = error_set(
			err, ERROR_KIND_NO_NODE, -ESRCH, "no BEAM node is named '%s'. %s%s", what,
			text.buf,
			unnamed ? ". The name of a node that is not supported cannot be read: "
				  "choose it with -p PID"
				: "");
	}
	strbuf_free(&text);
	vec_free(&fits);
	return code;
}

static int find_only(int *os_pid, const struct finder *f, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int code;

	if (f->nodes.len == 1) {
		*os_pid = f->nodes.data[0];
		if (f->hidden)
			log_warn("ebeam: using pid %d, the only BEAM node that may be looked into; "
				 "pid %d, which may not be, may be a node too. %s",
				 *os_pid, f->hidden, fix_of_hidden(f));
		return 0;
	}
	if (f->nodes.len == 0 && f->hidden)
		return hidden_error(f->hidden, f->hidden_code, err);
	if (f->nodes.len == 0 && privilege_unseen())
		return error_set(err, ERROR_KIND_PRIVILEGE, -EPERM, "no BEAM node is seen: %s",
				 privilege_unseen());
	if (f->nodes.len == 0)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "no BEAM node runs on this host");
	add_nodes(&text, f->nodes.data, f->nodes.len, f->how);
	code = error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "%zu BEAM nodes run here; choose one with -p: %s", f->nodes.len, text.buf);
	strbuf_free(&text);
	return code;
}

/* A pid has only digits; a node's name has others. */
static bool is_number(const char *text)
{
	return text[0] && text[strspn(text, "0123456789")] == '\0';
}

int beam_find(int *os_pid, const char *what, unsigned int how, struct error *err)
{
	struct finder f = {.how = how};
	int code;

	if (what && is_number(what))
		return find_pid(os_pid, what, err);
	code = find_nodes(&f, err);
	if (!code)
		code = what ? find_name(os_pid, what, &f, err) : find_only(os_pid, &f, err);
	finder_free(&f);
	return code;
}
