/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of processes as a profile in which each process is one sample, so that the exporters of
 * samples can show processes.  See dump.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/units.h"
#include "beam/term/atoms.h"
#include "beam/term/pid.h"
#include "beam/term/term.h"
#include "beam/vm/facts.h"
#include "cmd/inspect/dump.h"
#include "model/profile/profile.h"

#define LABEL_SIZE 256 /* bytes of a label */

/* Frames kept at top and bottom of a stack: names_intern_stack() allows NAMES_MAX_DEPTH. */
#define STACK_TOP    500
#define STACK_BOTTOM 500
_Static_assert(STACK_TOP + STACK_BOTTOM + 2 <= NAMES_MAX_DEPTH, "too deep for the dictionary");

struct maker {
	const struct dump *d;
	struct profile *p;
	struct term_formats formats;
	struct term_reader reader;
	uint32_t *stack_of; /* of each group: id in d->names */
};

/* ---- definitions ----------------------------------------------------------------------------- */

static uint32_t intern(const struct dump *d, const char *s, size_t len)
{
	return names_intern_string(d->names, s, len, NULL);
}

static uint32_t elided(const struct dump *d, uint32_t nr)
{
	char text[64];
	uint32_t f;

	snprintf(text, sizeof(text), "[... %u frames ...]", nr);
	f = names_intern_function(d->names, 0, intern(d, text, strlen(text)), -1, FRAME_ELIDED,
				  NULL);
	return names_intern_frame(d->names, f, 0, 0, NULL);
}

/* The stack of a group, root first; with dump_current() as the leaf if it has no frame. */
static uint32_t intern_stack(const struct dump *d, const struct stack_group *g)
{
	uint32_t stack = 0, depth = dump_depth(g);

	for (uint32_t i = depth; i-- > 0;) {
		uint32_t frame = (uint32_t)d->groups.items.data[g->first + 1 + i];

		if (depth > STACK_TOP + STACK_BOTTOM && i == depth - STACK_BOTTOM - 1) {
			frame = elided(d, depth - STACK_BOTTOM - STACK_TOP);
			i = STACK_TOP;
		}
		stack = names_intern_stack(d->names, stack, frame, NULL);
	}
	if (dump_current_is_extra(d, g))
		stack = names_intern_stack(d->names, stack,
					   (uint32_t)d->groups.items.data[g->first], NULL);
	return stack;
}

static uint32_t intern_mfa(const struct dump *d, uint64_t module, uint64_t function, uint64_t arity)
{
	size_t m_len, f_len;
	const char *m = beam_atom_text(d->n->atoms, module, &m_len);
	const char *f = beam_atom_text(d->n->atoms, function, &f_len);

	if (!m || !f || arity > 255)
		return 0;
	return names_intern_function(d->names, intern(d, m, m_len), intern(d, f, f_len),
				     (int32_t)arity, FRAME_ERLANG, NULL);
}

/* The initial call as proc_lib keeps it in the dictionary, else as the process was spawned. */
static uint32_t initial_call(const struct dump *d, const struct process_facts *p)
{
	uint64_t words[4];
	uint32_t id = 0;

	if (TERM_IS_BOXED(p->initial_call) &&
	    mem_read(d->n->mem, p->initial_call & ~7ull, words, sizeof(words)) == 0 &&
	    words[0] == HEADER_TUPLE(3) && TERM_IS_SMALL(words[3]))
		id = intern_mfa(d, words[1], words[2], words[3] >> 4);
	return id ? id : intern_mfa(d, p->initial[0], p->initial[1], p->initial[2]);
}

static uint32_t intern_process(struct maker *m, const struct process_facts *p)
{
	const struct dump *d = m->d;
	uint32_t registered = 0, label = 0;
	struct strbuf text = STRBUF_INIT;
	const char *atom;
	char pid[64];
	size_t len;

	atom = p->registered ? beam_atom_text(d->n->atoms, p->registered, &len) : NULL;
	if (atom)
		registered = intern(d, atom, len);
	if (p->label) {
		term_print(&m->reader, &text, p->label);
		label = intern(d, text.buf, text.len);
		strbuf_free(&text);
	}
	pid_format(&d->pids, p->epid, pid, sizeof(pid));
	return names_intern_process(d->names, p->epid, intern(d, pid, strlen(pid)), registered,
				    label, initial_call(d, p), NULL);
}

/* Defines all names of d->names in the profile; what a definition refers to is defined before. */
static void define_all(struct maker *m)
{
	const struct names *n = m->d->names;
	struct event e;

	for (uint32_t i = 1; i <= names_count(n, NAMES_STRINGS); i++) {
		const char *s = names_string(n, i);

		e = (struct event){.type = REC_STRING};
		e.u.string.id = i;
		e.u.string.s = s;
		e.u.string.len = (uint32_t)strlen(s);
		profile_apply(m->p, &e);
	}
	for (uint32_t i = 1; i <= names_count(n, NAMES_FUNCTIONS); i++) {
		const struct name_function *f = names_function(n, i);

		e = (struct event){.type = REC_FUNCTION};
		e.u.function.id = i;
		e.u.function.module = f->module_id;
		e.u.function.name = f->name_id;
		e.u.function.arity = f->arity;
		e.u.function.kind = f->kind;
		profile_apply(m->p, &e);
	}
	for (uint32_t i = 1; i <= names_count(n, NAMES_FRAMES); i++) {
		const struct name_frame *f = names_frame(n, i);

		e = (struct event){.type = REC_FRAME};
		e.u.frame.id = i;
		e.u.frame.function = f->function;
		e.u.frame.file = f->file_id;
		e.u.frame.line = f->line;
		profile_apply(m->p, &e);
	}
	for (uint32_t i = 1; i <= names_count(n, NAMES_STACKS); i++) {
		const struct name_stack *s = names_stack(n, i);

		e = (struct event){.type = REC_STACK};
		e.u.stack.id = i;
		e.u.stack.parent = s->parent;
		e.u.stack.frame = s->frame;
		profile_apply(m->p, &e);
	}
	for (uint32_t i = 1; i <= names_count(n, NAMES_PROCESSES); i++) {
		const struct name_process *p = names_process(n, i);

		e = (struct event){.type = REC_PROCESS};
		e.u.process.id = i;
		e.u.process.epid = p->epid;
		e.u.process.pid = p->pid_id;
		e.u.process.registered = p->registered_id;
		e.u.process.label = p->label_id;
		e.u.process.initial_call = p->initial_call;
		profile_apply(m->p, &e);
	}
	for (uint32_t i = 1; i <= names_count(n, NAMES_THREADS); i++) {
		const struct name_thread *t = names_thread(n, i);

		e = (struct event){.type = REC_THREAD};
		e.u.thread.id = i;
		e.u.thread.os_tid = t->os_tid;
		e.u.thread.type = t->type;
		e.u.thread.name = t->name_id;
		profile_apply(m->p, &e);
	}
}

/* ---- samples --------------------------------------------------------------------------------- */

static void add_meta(struct maker *m, const char *key, const char *value)
{
	struct event e = {.type = REC_META};

	e.u.meta.key = key;
	e.u.meta.key_len = (uint32_t)strlen(key);
	e.u.meta.value = value;
	e.u.meta.value_len = (uint32_t)strlen(value);
	profile_apply(m->p, &e);
}

static void add_facts(struct maker *m)
{
	struct beam_node *n = m->d->n;
	struct beam_facts facts;
	char text[32];

	if (beam_node_facts(n, &facts, NULL) == 0)
		add_meta(m, "node", facts.name);
	snprintf(text, sizeof(text), "%d", n->os_pid);
	add_meta(m, "os_pid", text);
	add_meta(m, "otp", n->identity.otp_text);
	add_meta(m, "erts", n->identity.erts);
	add_meta(m, "flavor", beam_flavor(&n->identity));
	if (n->untested[0])
		add_meta(m, "untested", n->untested);
	add_meta(m, "start", units_format_time(clock_realtime_ns(), text, sizeof(text)));
	add_meta(m, "unit", "processes");
}

/* Samples of a profile have a thread: here a made-up thread for each status of processes. */
static uint32_t status_thread(struct maker *m, enum process_status status)
{
	const char *name = process_status_name(status);

	return names_intern_thread(m->d->names, (uint32_t)status + 1, THREAD_OTHER, 0,
				   intern(m->d, name, strlen(name)), NULL);
}

static void add_samples(struct maker *m, const uint32_t *process)
{
	const struct dump *d = m->d;

	for (size_t i = 0; i < d->list.len; i++) {
		struct event e = {.type = REC_SAMPLE, .ts_ns = 1};
		const struct stack_group *g;

		if (d->group_of[i] == DUMP_NO_GROUP)
			continue;
		g = &d->groups.groups.data[d->group_of[i]];
		e.u.sample.process = process[i];
		e.u.sample.stack = m->stack_of[d->group_of[i]];
		e.u.sample.thread = status_thread(m, dump_status(g));
		e.u.sample.weight = 1;
		e.u.sample.kind = SAMPLE_ERLANG;
		e.u.sample.status =
			g->what & DUMP_TRUNCATED ? SAMPLE_STATUS_TRUNCATED : SAMPLE_STATUS_COMPLETE;
		profile_apply(m->p, &e);
	}
}

static void fill(struct maker *m)
{
	const struct dump *d = m->d;
	uint32_t *process = xcalloc(MAX(d->list.len, (size_t)1), sizeof(*process));

	m->stack_of = xcalloc(MAX(d->groups.groups.len, (size_t)1), sizeof(*m->stack_of));
	for (size_t i = 0; i < d->groups.groups.len; i++)
		m->stack_of[i] = intern_stack(d, &d->groups.groups.data[i]);
	for (int s = 0; s <= PROCESS_WAITING; s++)
		status_thread(m, (enum process_status)s);
	for (size_t i = 0; i < d->list.len; i++) {
		if (d->group_of[i] != DUMP_NO_GROUP)
			process[i] = intern_process(m, &d->list.data[i]);
	}
	add_facts(m);
	define_all(m);
	add_samples(m, process);
	free(process);
	free(m->stack_of);
}

int dump_snapshot(const struct dump *d, const struct snapshot_options *options,
		  struct snapshot **out, struct error *err)
{
	struct maker m = {.d = d};
	struct event end = {.type = REC_END};
	int rc = term_reader_init(&m.reader, &m.formats, d->n);

	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "cannot make a profile: %s",
				 error_text(rc));
	m.p = profile_open();
	m.reader.depth = 6;
	m.reader.max_len = LABEL_SIZE;
	fill(&m);
	profile_apply(m.p, &end);
	rc = profile_snapshot(m.p, options, out, err);
	profile_close(m.p);
	return rc;
}
