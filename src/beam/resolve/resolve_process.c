/* SPDX-License-Identifier: BSD-2-Clause */
/* Erlang processes and threads of samples; part of the resolver (resolve.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/vm.h"
#include "beam/process/dictionary.h"
#include "beam/resolve/resolve_internal.h"
#include "beam/sched/sched.h"
#include "target/proc.h"

/* A label that moves while it is read is read again LABEL_ATTEMPTS times with increasing pauses, 13
 * ms in all, as a GC takes time. */
#define LABEL_ATTEMPTS	   10
#define LABEL_WAIT_US(nth) (25u << (nth))
/* Limit of the pauses in a second, for all labels: samples must not wait longer. */
#define LABEL_WAIT_MAX_US 100000u

/*
 * Processes are kept in two generations: when `recent` is full it becomes `older`, and the former
 * `older` is dropped: processes not used since it was `recent`.  BPF keeps far fewer processes, and
 * sends a record again for a process that it has dropped, but not for one that it has just seen.
 */
static struct known_process *known(struct beam_resolver *r, struct names *names, uint64_t epid)
{
	struct known_process *p = keytab_find(&r->recent, epid), new = {.epid = epid};
	char pid[64];

	if (p)
		return p;
	p = keytab_find(&r->older, epid);
	if (p) {
		new = *p;
	} else {
		pid_format(&r->pids, epid, pid, sizeof(pid));
		new.pid = names_intern_string(names, pid, strlen(pid), NULL);
	}
	if (r->recent.nr >= PROCESS_SET_MAX) {
		keytab_free(&r->older);
		r->older = r->recent;
		r->recent = (struct keytab)KEYTAB_INIT(struct known_process);
	}
	p = keytab_add(&r->recent, epid);
	*p = new;
	return p;
}

uint32_t process_of_epid(struct beam_resolver *r, struct names *names, uint64_t epid)
{
	const struct known_process *p;

	if (!TERM_IS_PID(epid))
		return 0;
	p = known(r, names, epid);
	return names_intern_process(names, epid, p->pid, p->registered, p->label, p->initial_call,
				    NULL);
}

void process_starts_with(struct beam_resolver *r, struct names *names, uint64_t epid,
			 uint32_t function)
{
	struct known_process *p;

	if (!TERM_IS_PID(epid))
		return;
	p = known(r, names, epid);
	if (!p->initial_call)
		p->initial_call = function;
}

struct label {
	uint64_t term;
	uint64_t words[RAW_LABEL_WORDS]; /* words that a list or boxed term points to */
};

static void print_label(struct beam_resolver *r, const struct label *l, struct mem *mem,
			struct strbuf *out)
{
	struct term_reader reader = {
		.mem = mem,
		.atoms = r->node->atoms,
		.pids = &r->pids,
		.ports = &r->ports,
		.otp = r->node->identity.otp,
		.copy_addr = l->term & ~7ull,
		.copy = l->words,
		/* All 0 if they could not be copied. */
		.copy_words = l->words[0] ? RAW_LABEL_WORDS : 0,
		.depth = 6,
		.max_len = 200,
	};

	strbuf_reset(out);
	term_print(&reader, out, l->term);
}

static bool read_label_words(struct beam_resolver *r, uint64_t term, uint64_t *words)
{
	return mem_read(r->node->mem, term & ~7ull, words, 8 * RAW_LABEL_WORDS) == 0;
}

/* 0: the words at the label's address are unchanged, so the right memory was read; a GC that moves
 * a term overwrites it.  -ESRCH: the process has exited.  Another errno: the label may have
 * moved. */
static int label_is_there(struct beam_resolver *r, const struct rec_raw_process *raw,
			  const struct label *l)
{
	const struct beam_node *n = r->node;
	uint64_t now[RAW_LABEL_WORDS];
	int rc = dictionary_readable(n->mem, &n->layout, raw->process, raw->epid);

	if (rc)
		return rc;
	return read_label_words(r, l->term, now) && memcmp(now, l->words, sizeof(now)) == 0
		       ? 0
		       : -EAGAIN;
}

/* Reads the label that the process has now: 0, -ESRCH, or the reason why it cannot be read now. */
static int find_label(struct beam_resolver *r, const struct rec_raw_process *raw, struct label *l)
{
	const struct beam_node *n = r->node;
	uint64_t key = beam_atom_find(n->atoms, "$process_label");
	int rc = dictionary_get(n->mem, &n->layout, raw->process, raw->epid, key, &l->term);

	if (rc)
		return rc;
	return TERM_IS_POINTER(l->term) && read_label_words(r, l->term, l->words) ? 0 : -EAGAIN;
}

/* Pauses before attempt `nth`; false if the pauses of this second are used up. */
static bool wait_for_label(struct beam_resolver *r, uint64_t ts_ns, int nth)
{
	uint64_t second = ts_ns / 1000000000u;

	if (second != r->label_second) {
		r->label_second = second;
		r->label_waited_us = 0;
	}
	if (r->label_waited_us >= LABEL_WAIT_MAX_US)
		return false;
	r->label_waited_us += LABEL_WAIT_US(nth);
	usleep(LABEL_WAIT_US(nth));
	return true;
}

/* Prints a label that is a pointer.  A record has only the first words of a large one; the rest is
 * read now, from its address or, if it has moved, from its new address; "..." if that fails. */
static void print_moving_label(struct beam_resolver *r, const struct rec_raw_process *raw,
			       struct label *l, struct strbuf *out)
{
	const struct label first = *l;
	int rc = 0;

	for (int i = 0; i < LABEL_ATTEMPTS && rc != -ESRCH; i++) {
		if (rc == 0) {
			print_label(r, l, r->node->mem, out);
			rc = label_is_there(r, raw, l);
			if (rc == 0)
				return;
		}
		if (i && !wait_for_label(r, raw->h.ts_ns, i - 1))
			break;
		rc = find_label(r, raw, l);
	}
	print_label(r, &first, NULL, out);
}

static uint32_t label_string(struct beam_resolver *r, struct names *names,
			     const struct rec_raw_process *raw)
{
	struct strbuf text = STRBUF_INIT;
	struct label l = {.term = raw->label};
	uint32_t id;

	memcpy(l.words, raw->label_words, sizeof(l.words));
	if (TERM_IS_POINTER(l.term))
		print_moving_label(r, raw, &l, &text);
	else
		print_label(r, &l, NULL, &text);
	id = names_intern_string(names, text.buf, text.len, NULL);
	strbuf_free(&text);
	return id;
}

static uint32_t initial_function(struct beam_resolver *r, struct names *names,
				 const struct rec_raw_process *raw)
{
	uint32_t function = 0;

	/* $initial_call of proc_lib; the arity is a small integer. */
	if (raw->initial_call[0] && TERM_IS_SMALL(raw->initial_call[2])) {
		uint64_t mfa[3] = {raw->initial_call[0], raw->initial_call[1],
				   raw->initial_call[2] >> 4};

		function = function_of_mfa(r, names, mfa, FRAME_ERLANG);
	}
	if (!function && raw->initial[0])
		function = function_of_mfa(r, names, raw->initial, FRAME_ERLANG);
	return function;
}

void resolve_process_record(struct resolver *base, struct names *names,
			    const struct rec_raw_process *raw)
{
	struct beam_resolver *r = (struct beam_resolver *)base; /* base is its first member */
	struct known_process *p;
	size_t len;
	const char *text;

	if (!TERM_IS_PID(raw->epid))
		return;
	p = known(r, names, raw->epid);
	text = raw->registered ? beam_atom_text(r->node->atoms, raw->registered, &len) : NULL;
	p->registered = text ? names_intern_string(names, text, len, NULL) : 0;
	p->label = raw->label ? label_string(r, names, raw) : 0;
	p->initial_call = initial_function(r, names, raw);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void thread_name(int os_pid, int os_tid, char *buf, size_t size)
{
	proc_thread_name(os_pid, os_tid, buf, size);
	if (!buf[0])
		snprintf(buf, size, "thread %d", os_tid);
}

const struct known_thread *thread_of_tid(struct beam_resolver *r, struct names *names, int os_tid,
					 enum thread_type type, uint16_t scheduler)
{
	struct known_thread t = {.os_tid = os_tid, .type = type, .scheduler = scheduler};
	char name[32];
	uint32_t id;

	for (size_t i = 0; i < r->threads.len; i++) {
		struct known_thread *k = &r->threads.data[i];

		/* A thread that was unknown to BPF before keeps the type found by its name. */
		if (k->os_tid == os_tid && (type == THREAD_UNKNOWN || k->type == type))
			return k;
	}
	thread_name(r->node->os_pid, os_tid, name, sizeof(name));
	if (type == THREAD_UNKNOWN)
		t.type = sched_type_of_name(name, &t.scheduler);
	id = names_intern_string(names, name, strlen(name), NULL);
	t.id = names_intern_thread(names, (uint32_t)os_tid, t.type, t.scheduler, id, NULL);
	if (r->threads.len < EBEAM_THREADS)
		vec_push(&r->threads, t);
	else
		r->threads.data[EBEAM_THREADS - 1] = t;
	return &r->threads.data[r->threads.len - 1];
}

uint32_t beam_resolver_thread(struct beam_resolver *r, struct names *names, int os_tid)
{
	return thread_of_tid(r, names, os_tid, THREAD_UNKNOWN, 0)->id;
}
