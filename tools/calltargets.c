/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calltargets PID [PATTERN...]: what calls of a node can be watched, a line of JSON for each
 * function: those that a pattern names ("lists:map/2", "lists:map", "lists:_"), or all.
 *
 * calltargets PID --count PATTERN...: counts calls.  Arms an execution breakpoint on every thread
 * for each Erlang function (one may have an offset: "lists:map/2+8"; at most four fit), a uprobe
 * for each BIF and NIF; says "ready", and after a line on standard input prints what the counters
 * of the kernel say.  "@entry" behind a BIF or NIF: its code in the module instead.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonw.h"
#include "beam/code/call_targets.h"
#include "beam/code/jit.h"
#include "beam/locate/node_open.h"
#include "beam/sched/sched.h"
#include "beam/term/atoms.h"
#include "probe/kernel/perf.h"
#include "target/objects.h"
#include "target/proc.h"

struct asked {
	char text[600];
	struct call_query query;
	unsigned int offset;
	bool entry;
};

struct counter {
	struct call_target target;
	VEC(int) fds;
};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "calltargets: %s: %s\n", what, why);
	exit(1);
}

/* "module:function/arity", "_" for any. */
static struct asked *parse(const char *pattern)
{
	struct asked *a = xcalloc(1, sizeof(*a));
	char *p, *end;

	if (strlen(pattern) >= sizeof(a->text))
		fail(pattern, "too long");
	strcpy(a->text, pattern);
	a->query.arity = CALL_ARITY_ANY;
	if ((p = strstr(a->text, "@entry"))) {
		*p = '\0';
		a->entry = true;
	}
	p = strrchr(a->text, '/');
	if (p && p > a->text && p[-1] != ':' && p[1] >= '0' && p[1] <= '9') {
		*p = '\0';
		a->query.arity = (int)strtol(p + 1, &end, 10);
		a->offset = *end == '+' ? (unsigned int)atoi(end + 1) : 0;
	}
	p = strchr(a->text, ':');
	if (!p)
		fail(pattern, "no module");
	*p++ = '\0';
	a->query.module = strcmp(a->text, "_") == 0 ? NULL : a->text;
	a->query.function = strcmp(p, "_") == 0 ? NULL : p;
	return a;
}

/* ---- listing -------------------------------------------------------------------------------- */

static void hex(struct jsonw *w, const char *key, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	jsonw_string(w, key, value ? text : NULL);
}

static const char *const kinds[] = {
	[CALL_TARGET_ERLANG] = "erlang",
	[CALL_TARGET_BIF] = "bif",
	[CALL_TARGET_INLINED_BIF] = "inlined_bif",
	[CALL_TARGET_NIF] = "nif",
};

static void show(struct beam_node *n, const struct call_target *t)
{
	struct jsonw w = JSONW(stdout);
	struct call_code code;

	jsonw_begin_object(&w, NULL);
	jsonw_string(&w, "module", beam_atom_text(n->atoms, t->module, NULL));
	jsonw_string(&w, "function", beam_atom_text(n->atoms, t->function, NULL));
	jsonw_uint(&w, "arity", t->arity);
	jsonw_string(&w, "kind", kinds[t->kind]);
	jsonw_bool(&w, "exported", t->exported);
	jsonw_bool(&w, "dirty", t->dirty);
	jsonw_uint(&w, "serial", t->serial);
	hex(&w, "entry", t->entry);
	hex(&w, "c_function", t->c_function);
	if (call_target_code(&code, n, t)) {
		jsonw_string(&w, "file", elf_file_name(code.elf));
		hex(&w, "offset", code.offset);
		jsonw_string(&w, "symbol", code.symbol);
	}
	jsonw_end_object(&w);
	jsonw_finish(&w);
	putchar('\n');
}

/* ---- counting ------------------------------------------------------------------------------- */

static void open_breakpoints(struct counter *c, int os_pid, raddr addr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = addr,
		.bp_len = sizeof(long),
		.pinned = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct proc_thread *threads;
	struct error err;
	ssize_t nr = proc_threads_read(&threads, os_pid, &err);

	if (nr < 0)
		fail("threads", err.msg);
	for (ssize_t i = 0; i < nr; i++) {
		int fd = perf_open(&attr, threads[i].os_tid, -1);

		if (fd < 0)
			fail("breakpoint", strerror(-fd));
		vec_push(&c->fds, fd);
	}
	free(threads);
}

static uint32_t uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned int type = 0;

	if (!f || fscanf(f, "%u", &type) != 1)
		fail("uprobes", "this kernel has none");
	fclose(f);
	return type;
}

/* On the threads that can call it: each costs the kernel a while to arm. */
static bool may_call(const struct proc_thread *thread, const struct call_target *t)
{
	uint16_t number;
	enum thread_type type = sched_type_of_name(thread->name, &number);

	return t->dirty ? type == THREAD_DIRTY_CPU || type == THREAD_DIRTY_IO
			: type == THREAD_NORMAL;
}

static void open_uprobe(struct counter *c, struct beam_node *n)
{
	struct perf_event_attr attr = {.type = uprobe_type(), .size = sizeof(attr)};
	struct proc_thread *threads;
	struct call_code code;
	struct error err;
	char path[OBJECTS_PATH_SIZE];
	ssize_t nr;

	if (!call_target_code(&code, n, &c->target))
		fail("C function", "it is in no file");
	if (objects_file_path(n->os_pid, code.map, path))
		fail("C function", "its file cannot be opened");
	attr.config1 = (uintptr_t)path;
	attr.config2 = code.offset;
	nr = proc_threads_read(&threads, n->os_pid, &err);
	for (ssize_t i = 0; i < nr; i++) {
		int fd = may_call(&threads[i], &c->target) ? perf_open(&attr, threads[i].os_tid, -1)
							   : -EAGAIN;

		if (fd == -EAGAIN)
			continue;
		if (fd < 0)
			fail("uprobe", strerror(-fd));
		vec_push(&c->fds, fd);
	}
	free(threads);
}

static uint64_t total(const struct counter *c)
{
	uint64_t sum = 0, one;

	for (size_t i = 0; i < c->fds.len; i++) {
		if (read(c->fds.data[i], &one, sizeof(one)) != sizeof(one))
			fail("counter", "it was taken away"); /* pinned, and no room for it */
		sum += one;
	}
	return sum;
}

static void count(struct beam_node *n, struct counter *counters, const struct asked *const *asked,
		  int nr)
{
	struct strbuf name = STRBUF_INIT;
	char line[16];

	for (int i = 0; i < nr; i++) {
		struct counter *c = &counters[i];

		if (asked[i]->entry || !c->target.c_function)
			open_breakpoints(c, n->os_pid, c->target.entry + asked[i]->offset);
		else
			open_uprobe(c, n);
	}
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		line[0] = '\0';
	for (int i = 0; i < nr; i++) {
		struct jsonw w = JSONW(stdout);

		strbuf_reset(&name);
		call_target_name(&name, n, &counters[i].target);
		jsonw_begin_object(&w, NULL);
		jsonw_string(&w, "function", name.buf);
		jsonw_string(&w, "kind", kinds[counters[i].target.kind]);
		jsonw_uint(&w, "offset", asked[i]->offset);
		jsonw_bool(&w, "at_entry", asked[i]->entry || !counters[i].target.c_function);
		jsonw_uint(&w, "hits", total(&counters[i]));
		jsonw_end_object(&w);
		jsonw_finish(&w);
		putchar('\n');
	}
	strbuf_free(&name);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void find(struct call_targets *out, struct beam_node *n, const struct jit_code *jit,
		 const struct call_query *query)
{
	struct error err;

	if (call_targets_find(out, n, jit, query, &err) != 0)
		fail("functions", err.msg);
	if (out->unreadable || out->beyond || out->moved)
		fprintf(stderr,
			"calltargets: %" PRIu64 " unreadable, %" PRIu64 " beyond the limit%s\n",
			out->unreadable, out->beyond, out->moved ? ", code moved" : "");
}

static void list(struct beam_node *n, const struct jit_code *jit, const struct call_query *query)
{
	struct call_targets targets;

	find(&targets, n, jit, query);
	for (size_t i = 0; i < targets.v.len; i++)
		show(n, &targets.v.data[i]);
	call_targets_free(&targets);
}

static void count_all(struct beam_node *n, const struct jit_code *jit, int nr, char **patterns)
{
	struct counter *counters = xcalloc((size_t)nr, sizeof(*counters));
	struct asked **asked = xcalloc((size_t)nr, sizeof(struct asked *));

	for (int i = 0; i < nr; i++) {
		struct call_targets targets;

		asked[i] = parse(patterns[i]);
		find(&targets, n, jit, &asked[i]->query);
		if (targets.v.len != 1)
			fail(patterns[i], "names several functions");
		counters[i].target = targets.v.data[0];
		call_targets_free(&targets);
	}
	count(n, counters, (const struct asked *const *)asked, nr);
	for (int i = 0; i < nr; i++) {
		for (size_t k = 0; k < counters[i].fds.len; k++)
			close(counters[i].fds.data[k]);
		vec_free(&counters[i].fds);
		free(asked[i]);
	}
	free(counters);
	free(asked);
}

int main(int argc, char **argv)
{
	static const struct call_query all = {.arity = CALL_ARITY_ANY};
	int os_pid = argc > 1 ? atoi(argv[1]) : 0;
	bool counting = argc > 3 && strcmp(argv[2], "--count") == 0;
	struct jit_code *jit;
	struct beam_node *n;
	struct error err;

	if (beam_node_open(&n, os_pid, 0, &err) != 0)
		fail("node", err.msg);
	jit_open_node(&jit, n);
	if (jit_sync(jit, &err) != 0)
		fail("code", err.msg);
	if (counting)
		count_all(n, jit, argc - 3, argv + 3);
	else if (argc == 2)
		list(n, jit, &all);
	for (int i = 2; !counting && i < argc; i++) {
		struct asked *a = parse(argv[i]);

		list(n, jit, &a->query);
		free(a);
	}
	jit_close(jit);
	beam_node_close(n);
	return 0;
}
