/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam crashdump`: processes, with their messages, dictionaries, stacks and heaps. */
#include "cmd/inspect/crashdump.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/dictionary.h"
#include "beam/process/heap_fragments.h"
#include "beam/process/signals.h"
#include "beam/vm/links.h"

/* Limit of one process; further messages are left out. */
#define MESSAGES_MAX 2000000u

/* ErtsPTabElementCommon: up to OTP 26 {id, refc, tracer, trace_flags, ...}, since 27 with the flags
 * behind the union that ends with `monitors`; F_SENSITIVE (erl_ptab.h, erl_process.h, OTP 24 to
 * 29). */
#define TRACE_FLAGS_26 24
#define F_SENSITIVE    (1u << 3)

/* ErtsMessage.m: the trace token follows the term. */
#define M_TOKEN 8

/* ---- facts ----------------------------------------------------------------------------------- */

static void print_mfa(struct crashdump *c, struct strbuf *out, const uint64_t mfa[3])
{
	if (!beam_mfa_format(c->n->atoms, mfa, out))
		strbuf_addstr(out, "undefined:undefined/0");
}

static void separate(struct strbuf *out)
{
	if (out->len)
		strbuf_addstr(out, ", ");
}

/* {to,Pid,Ref}, {to,{Name,Node},Ref}, or {from,...}. */
static void print_monitor(struct crashdump *c, struct strbuf *out, const struct monitor_item *m)
{
	if (m->type > MONITOR_NODE)
		return;
	separate(out);
	strbuf_addf(out, "{%s,", m->target ? "from" : "to");
	if (m->type == MONITOR_RESOURCE && m->target) {
		strbuf_addstr(out, "{resource,undefined}"); /* of a NIF, whose name is not known */
	} else if (m->name && !m->target) {
		strbuf_addch(out, '{');
		crashdump_print(c, out, m->name);
		strbuf_addch(out, ',');
		crashdump_print(c, out, m->node);
		strbuf_addch(out, '}');
	} else {
		crashdump_print(c, out, m->item);
	}
	strbuf_addch(out, ',');
	crashdump_print(c, out, m->ref ? m->ref : TERM_NIL);
	strbuf_addch(out, '}');
}

static void print_links(struct crashdump *c, const struct process_facts *p, struct strbuf *out)
{
	struct link_list links = {0};
	struct monitor_list monitors = {0};

	if (p->links)
		links_read(&c->view, p->links, &links);
	if (p->monitors || p->lt_monitors)
		monitors_read(&c->view, p->monitors, p->lt_monitors, &monitors);
	for (size_t i = 0; i < links.v.len; i++) {
		separate(out);
		crashdump_print(c, out, links.v.data[i].item);
	}
	for (size_t i = 0; i < monitors.v.len; i++)
		print_monitor(c, out, &monitors.v.data[i]);
	c->unreadable += links.unreadable + monitors.unreadable;
	c->cut += links.cut + monitors.cut;
	links_free(&links);
	monitors_free(&monitors);
}

static uint64_t number_at(struct crashdump *c, const struct process_facts *p, int32_t offset)
{
	uint64_t n;

	if (offset < 0 || mem_read_u64(c->cached, p->addr + (raddr)offset, &n) != 0)
		return CRASHDUMP_UNKNOWN;
	return n;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a == CRASHDUMP_UNKNOWN || b == CRASHDUMP_UNKNOWN || b > a ? CRASHDUMP_UNKNOWN
									 : a - b;
}

static void read_vheap(struct crashdump *c, const struct process_facts *p,
		       struct crashdump_process *out)
{
	const struct beam_layout *l = &c->n->layout;

	out->vheap = number_at(c, p, l->process_off_heap_overhead);
	out->old_vheap = number_at(c, p, l->process_bin_old_vheap);
	out->vheap_unused = difference(number_at(c, p, l->process_bin_vheap_sz), out->vheap);
	out->old_vheap_unused =
		difference(number_at(c, p, l->process_bin_old_vheap_sz), out->old_vheap);
}

/* Adds each fragment of a chain to the process's memory; returns their number. */
static uint64_t own_fragments(struct crashdump *c, raddr fragment)
{
	struct heap_fragments f = heap_fragments_of(c->n, c->cached, fragment);

	while (heap_fragments_next(&f) &&
	       term_dump_spend(&c->terms, (uint64_t)c->n->layout.heap_frag_size))
		term_dump_own(&c->terms, f.start, f.end);
	c->unreadable += f.unreadable;
	c->cut += f.cut;
	return f.nr;
}

static int own_received(void *arg, const struct signal_message *m)
{
	if (m->fragment)
		own_fragments(arg, m->fragment);
	return 0;
}

/* Not known if one of them was read while the process changed it. */
static uint64_t words_between(raddr from, raddr to)
{
	return to >= from ? (to - from) / 8 : CRASHDUMP_UNKNOWN;
}

static void write_facts(struct crashdump *c, const struct process_facts *p, uint64_t fragments)
{
	const struct beam_layout *l = &c->n->layout;
	uint64_t mfa[3];
	uint32_t arity;
	struct crashdump_process out = {
		.status = process_status_name(p->status),
		.running = (p->state & (PSFLG_RUNNING | PSFLG_DIRTY_RUNNING | PSFLG_GC)) != 0,
		.messages = p->message_queue_len,
		.fragments = fragments,
		.fragments_size = p->mbuf_size,
		.reductions = p->reductions,
		.heap = p->heap_size,
		.old_heap = p->old_heap_size,
		.heap_unused = words_between(p->htop, p->hend),
		.old_heap_unused = words_between(p->old_htop, p->old_hend),
		.memory = p->memory,
		.arity = CRASHDUMP_UNKNOWN,
		.state = p->state,
		.new_signals = c->n->identity.otp >= 27,
	};
	struct strbuf *text = crashdump_text_of(c, CRASHDUMP_TEXT_PID);

	crashdump_print(c, text, p->epid);
	out.pid = text->buf;
	text = crashdump_text_of(c, CRASHDUMP_TEXT_NAME);
	if (p->registered) {
		crashdump_print(c, text, p->registered);
		out.name = text->buf;
	}
	text = crashdump_text_of(c, CRASHDUMP_TEXT_SPAWNED);
	print_mfa(c, text, p->initial);
	out.spawned_as = text->buf;
	text = crashdump_text_of(c, CRASHDUMP_TEXT_CURRENT);
	if (p->current && beam_mfa_read(c->cached, l, p->current, mfa)) {
		print_mfa(c, text, mfa);
		out.current = text->buf;
	}
	text = crashdump_text_of(c, CRASHDUMP_TEXT_PARENT);
	crashdump_print(c, text, TERM_IS_PID(p->parent) ? p->parent : TERM_NIL);
	out.spawned_by = text->buf;
	text = crashdump_text_of(c, CRASHDUMP_TEXT_LINKS);
	if (!(p->state & PSFLG_EXITING))
		print_links(c, p, text);
	out.links = text->buf;
	text = crashdump_text_of(c, CRASHDUMP_TEXT_COUNTER);
	crashdump_print_counter(c, text, p->i, false);
	out.counter = text->buf;
	if (!(p->state & (PSFLG_RUNNING | PSFLG_RUNNING_SYS | PSFLG_GC)) && l->process_arity >= 0 &&
	    mem_read_u32(c->cached, p->addr + (raddr)l->process_arity, &arity) == 0)
		out.arity = arity & 0xff;
	read_vheap(c, p, &out);
	crashdump_process_write(c->out, &out);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int take_message(void *arg, const struct signal_message *m)
{
	struct crashdump *c = arg;
	struct crashdump_message message = {.term = m->term, .token = TERM_NIL};

	if (c->messages.len >= MESSAGES_MAX) {
		c->cut++;
		return 1;
	}
	if (!term_dump_spend(&c->terms, (uint64_t)c->n->layout.message_size))
		return 1;
	if (mem_read_u64(c->cached, m->addr + (raddr)c->n->layout.message_m + M_TOKEN,
			 &message.token) != 0 ||
	    (message.token & 3) == 0)
		message.token = TERM_NIL;
	if (m->fragment)
		own_fragments(c, m->fragment);
	vec_push(&c->messages, message);
	return 0;
}

static void read_messages(struct crashdump *c, const struct process_facts *p)
{
	struct signal_counts counts;

	c->messages.len = 0;
	if (signals_walk(&c->view, c->cached, p->addr, take_message, c, &counts) != 0) {
		c->unreadable++;
		return;
	}
	c->unreadable += counts.unreadable;
	c->cut += counts.cut + counts.buffers;
}

static void write_messages(struct crashdump *c, const char *pid)
{
	if (!c->messages.len)
		return;
	fprintf(c->out, "=proc_messages:%s\n", pid);
	for (size_t i = 0; i < c->messages.len; i++) {
		const struct crashdump_message *m = &c->messages.data[i];

		/* From another node, in a form that only its receiver decodes. */
		if (m->term)
			term_dump_element(&c->terms, m->term);
		else
			fputs("AA:#Undecoded", c->out);
		fputc(':', c->out);
		term_dump_element(&c->terms, m->token);
		fputc('\n', c->out);
	}
}

/* ---- dictionary ------------------------------------------------------------------------------ */

#define PAIR_SIZE 24 /* a tuple */

struct pairs {
	struct crashdump *c;
	const char *pid;
	bool any;
};

static int write_pair(void *arg, uint64_t pair, uint64_t key, uint64_t value)
{
	struct pairs *v = arg;

	UNUSED(key);
	UNUSED(value);
	if (!v->any)
		fprintf(v->c->out, "=proc_dictionary:%s\n", v->pid);
	v->any = true;
	term_dump_element(&v->c->terms, pair);
	fputc('\n', v->c->out);
	return term_dump_spend(&v->c->terms, PAIR_SIZE) ? 0 : -ENOSPC;
}

static void write_dictionary(struct crashdump *c, const struct process_facts *p, const char *pid)
{
	struct pairs v = {.c = c, .pid = pid};
	uint64_t unreadable;

	if (!p->dictionary)
		return;
	if (dictionary_pairs(c->cached, p->dictionary, write_pair, &v, &unreadable) != 0)
		c->unreadable++;
	else
		c->unreadable += unreadable;
}

/* ---- stack ----------------------------------------------------------------------------------- */

/* One line for each word, as the VM does; for a frame pointer and the address behind it one.  The
 * text of COUNTER is of the function whose frame it is: at first that of the next instruction. */
static void write_words(struct crashdump *c, const struct process_stack *s)
{
	struct strbuf *text = &c->texts[CRASHDUMP_TEXT_COUNTER];
	size_t step = c->code.frame_pointers ? 2 : 1;
	unsigned int y = 0;

	for (size_t i = 0; i < s->words.len; i++) {
		uint64_t word = s->words.data[i];

		if ((word & 3) == 0 && i + step <= s->words.len) {
			i += step - 1;
			strbuf_reset(text);
			crashdump_print_counter(c, text, s->words.data[i], true);
			fprintf(c->out, "0x%" PRIx64 ":SReturn addr %s\n", s->stop + 8 * i,
				text->buf);
			y = 0;
			continue;
		}
		fprintf(c->out, "y%u:", y++);
		if (TERM_IS_CATCH(word))
			fprintf(c->out, "SCatch %" PRIu64 " in %s", word >> 6, text->buf);
		else
			term_dump_element(&c->terms, word);
		fputc('\n', c->out);
	}
}

static void write_stack(struct crashdump *c, const struct process_facts *p, const char *pid)
{
	fprintf(c->out, "=proc_stack:%s\n", pid);
	if (!c->has_code)
		return;
	if (process_stack_read(&c->view, &c->code, p, &c->stack) != 0)
		c->unreadable++;
	else if (term_dump_spend(&c->terms, 8 * c->stack.words.len))
		write_words(c, &c->stack);
	c->cut += c->stack.cut;
}

/* ---- one process ----------------------------------------------------------------------------- */

static bool is_sensitive(struct crashdump *c, const struct process_facts *p)
{
	const struct beam_layout *l = &c->n->layout;
	raddr at = c->n->identity.otp >= 27 ? (raddr)l->process_monitors + 8
					    : (raddr)l->process_id + TRACE_FLAGS_26;
	uint32_t flags;

	return mem_read_u32(c->cached, p->addr + at, &flags) != 0 || (flags & F_SENSITIVE) != 0;
}

/* Adds the memory of a process; returns the number of its fragments. */
static uint64_t own_memory(struct crashdump *c, const struct process_facts *p)
{
	struct term_dump *d = &c->terms;
	struct signal_counts counts = {0};

	term_dump_begin(d);
	term_dump_own(d, p->heap, p->hend);
	if (p->old_heap)
		term_dump_own(d, p->old_heap, p->old_hend);
	if (p->abandoned_heap)
		term_dump_own(d, p->abandoned_heap, p->abandoned_heap + 8 * p->heap_size);
	if (p->msg_frag) {
		signals_walk_received(&c->view, c->cached, p->msg_frag, own_received, c, &counts);
		c->unreadable += counts.unreadable;
		c->cut += counts.cut;
	}
	return own_fragments(c, p->mbuf);
}

/* Has the process run since its facts were read, so that its heap may have changed? */
static bool has_run(struct crashdump *c, const struct process_facts *p)
{
	const struct beam_layout *l = &c->n->layout;
	uint64_t now[4];
	struct mem_range ranges[] = {
		{p->addr + (raddr)l->process_id, &now[0], 8, 0},
		{p->addr + (raddr)l->process_htop, &now[1], 8, 0},
		{p->addr + (raddr)l->process_heap, &now[2], 8, 0},
		{p->addr + (raddr)l->process_reds, &now[3], 8, 0},
	};

	return mem_readv(c->n->mem, ranges, ARRAY_SIZE(ranges)) != ARRAY_SIZE(ranges) ||
	       now[0] != p->epid || now[1] != p->htop || now[2] != p->heap ||
	       now[3] != p->reductions || process_stack_is_stale(p->state);
}

static void write_process(struct crashdump *c, const struct process_facts *p)
{
	uint64_t fragments = own_memory(c, p);
	const char *pid;

	c->processes++;
	write_facts(c, p, fragments);
	/* As the VM: neither what a process with flag `sensitive` hides, nor heaps in the middle of
	 * a garbage collection. */
	if (is_sensitive(c, p)) {
		c->sensitive++;
	} else if (!(p->state & (PSFLG_EXITING | PSFLG_GC))) {
		pid = c->texts[CRASHDUMP_TEXT_PID].buf;
		read_messages(c, p);
		term_dump_own_end(&c->terms);
		write_messages(c, pid);
		write_dictionary(c, p, pid);
		write_stack(c, p, pid);
		fprintf(c->out, "=proc_heap:%s\n", pid);
		term_dump_heap(&c->terms);
		term_dump_binaries(&c->terms);
	}
	c->torn += p->torn || has_run(c, p);
}

static int write_block(void *arg, struct process_facts *block, size_t nr)
{
	struct crashdump *c = arg;

	mem_cached_forget(c->cached);
	for (size_t i = 0; i < nr; i++) {
		write_process(c, &block[i]);
		if (ferror(c->out))
			return -EIO;
	}
	return 0;
}

int crashdump_processes(struct crashdump *c, struct error *err)
{
	struct process_totals totals;
	int rc = processes_scan(c->n, PROCESS_READ_MEMORY, write_block, c, &totals, err);

	c->vanished = totals.vanished;
	return ferror(c->out) ? 0 : rc; /* outfile_commit() reports what could not be written */
}

static int stop_at_first(void *arg, struct process_facts *block, size_t nr)
{
	UNUSED(arg);
	UNUSED(block);
	UNUSED(nr);
	return 1;
}

int crashdump_check(struct crashdump *c, struct error *err)
{
	struct process_totals totals;

	return MIN(processes_scan(c->n, 0, stop_at_first, NULL, &totals, err), 0);
}
