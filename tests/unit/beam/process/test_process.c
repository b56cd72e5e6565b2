/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes: every field from a made-up table, in the layouts of OTP 25, 27 and 29; what is gone,
 * what does not hold together, trees and queues that lead round in circles, any read that fails.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/process.h"
#include "beam/term/pid.h"
#include "lib/fakenode.h"
#include "lib/mem_faulty.h"

#define SLOTS	 1024u
#define SMALL(i) (((uint64_t)(i) << 4) | 0xf)

static const int releases[] = {24, 25, 27, 29};

struct table {
	struct fakenode *f;
	const struct beam_layout *l;
	raddr tab, invalid;
};

static void put64(struct table *t, raddr base, int32_t offset, uint64_t value)
{
	assert_true(offset >= 0);
	image_u64(t->f->im, base + (raddr)offset, value);
}

static void put32(struct table *t, raddr base, int32_t offset, uint32_t value)
{
	assert_true(offset >= 0);
	image_u32(t->f->im, base + (raddr)offset, value);
}

static void put16(struct table *t, raddr base, int32_t offset, uint16_t value)
{
	assert_true(offset >= 0);
	image_u16(t->f->im, base + (raddr)offset, value);
}

static void table_open(struct table *t, int otp)
{
	raddr ptab;

	t->f = fakenode_open(otp);
	t->l = &t->f->node.layout;
	ptab = t->f->node.anchors.proc_tab;
	fakenode_ptab(t->f, ptab, 10, 3);
	t->tab = image_alloc(t->f->im, 8 * SLOTS);
	t->invalid = image_alloc(t->f->im, 64);
	put64(t, ptab, t->l->ptab_tab, t->tab);
	put32(t, ptab, t->l->ptab_max, SLOTS);
	put64(t, ptab, t->l->ptab_invalid_element, t->invalid);
	image_u64(t->f->im, t->tab + 8 * 1000, t->invalid);
}

static void table_close(struct table *t)
{
	fakenode_close(t->f);
}

/* Numbers that follow each other stand in lines that follow each other (erl_ptab.c). */
static uint32_t slot_of_number(uint32_t number)
{
	return (number & 127) << 3 | (number >> 7 & 7);
}

static uint64_t pid_of_number(const struct table *t, uint32_t number)
{
	uint64_t slot = slot_of_number(number), data = number;

	if (t->f->node.identity.otp >= 26)
		return ((data & ~1023ull) | slot) << 4 | 3;
	return slot << 32 | data << 4 | 3;
}

/* A process that waits, with a heap of 233 words. */
static raddr add_process(struct table *t, uint32_t number)
{
	const struct beam_layout *l = t->l;
	raddr p = image_alloc(t->f->im, (size_t)l->process_size), heap = 0x7e0000000000ull;

	image_u64(t->f->im, t->tab + 8 * (raddr)slot_of_number(number), p);
	put64(t, p, l->process_id, pid_of_number(t, number));
	put32(t, p, l->process_state, 0xa);
	put64(t, p, l->process_heap, heap);
	put64(t, p, l->process_htop, heap + 80);
	put64(t, p, l->process_stop, heap + 8 * 223);
	put64(t, p, l->process_hend, heap + 8 * 233);
	put64(t, p, l->process_heap_sz, 233);
	put64(t, p, l->process_arg_reg, p + (raddr)l->process_def_arg_reg);
	put64(t, p, l->process_group_leader, pid_of_number(t, 0));
	put64(t, p, l->process_parent, TERM_NIL);
	put64(t, p, l->process_reds, 1000 + number);
	return p;
}

static struct process_facts read_one(struct table *t, uint32_t number)
{
	struct process_facts p;

	assert_int_equal(process_read(&t->f->node, pid_of_number(t, number), PROCESS_READ_ALL, &p),
			 0);
	return p;
}

static raddr add_link(struct table *t, raddr parent, raddr left, raddr right)
{
	raddr link = image_alloc(t->f->im, (size_t)t->l->link_size + 8);

	put64(t, link, t->l->link_parent, parent | 1); /* a flag stands in it */
	put64(t, link, t->l->link_left, left);
	put64(t, link, t->l->link_right, right);
	if (left)
		put64(t, left, t->l->link_parent, link);
	if (right)
		put64(t, right, t->l->link_parent, link | 1);
	return link;
}

/* Both halves of a monitor; returns the address of the first. */
static raddr add_monitor(struct table *t, uint32_t refc)
{
	raddr size = (raddr)t->l->monitor_size, data = image_alloc(t->f->im, 2 * size + 56);

	put16(t, data, t->l->monitor_offset, 0);
	put16(t, data + size, t->l->monitor_offset, (uint16_t)size);
	if (t->l->monitor_type != LAYOUT_ABSENT)
		put16(t, data + size, t->l->monitor_flags, 1);
	else
		put32(t, data + size, t->l->monitor_flags, 1 << 7);
	image_u32(t->f->im, data + 2 * size + 8, refc);
	return data;
}

static raddr add_message(struct table *t, raddr next, uint64_t term, uint64_t data, uint64_t used)
{
	raddr m = image_alloc(t->f->im, (size_t)t->l->message_size);

	put64(t, m, t->l->message_next, next);
	put64(t, m, t->l->message_m, term);
	put64(t, m, t->l->message_data, data);
	put64(t, m + (raddr)t->l->message_hfrag, t->l->heap_frag_used_size, used);
	put64(t, m + (raddr)t->l->message_hfrag, t->l->heap_frag_alloc_size, used);
	return m;
}

/* ---- what holds --------------------------------------------------------------------------- */

static void test_plain(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct table t;
		struct process_facts p;
		struct process_list list;
		raddr one;

		table_open(&t, releases[i]);
		add_process(&t, 0);
		one = add_process(&t, 200);
		put32(&t, one, t.l->process_flags, F_TRAP_EXIT);
		put64(&t, one, t.l->process_initial, fakenode_atom(t.f, "lists"));
		p = read_one(&t, 200);
		assert_int_equal(p.addr, one);
		assert_int_equal(p.epid, pid_of_number(&t, 200));
		assert_int_equal(p.status, PROCESS_WAITING);
		assert_int_equal(p.priority, 2);
		assert_true(p.trap_exit);
		assert_false(p.torn);
		assert_int_equal(p.reductions, 1200);
		assert_int_equal(p.heap_size, 233);
		assert_int_equal(p.total_heap_size, 233);
		assert_int_equal(p.stack_size, 10);
		assert_int_equal(p.memory, (uint64_t)t.l->process_size + 8 * 233);
		assert_int_equal(p.initial[0], fakenode_atom(t.f, "lists"));
		assert_int_equal(processes_read(&t.f->node, PROCESS_READ_ALL, &list, NULL), 0);
		assert_int_equal(list.len, 2);
		assert_int_equal(list.data[1].addr, one);
		process_list_free(&list);
		table_close(&t);
	}
}

static void test_status(void **state)
{
	static const struct {
		uint32_t bits;
		enum process_status status;
	} cases[] = {
		{0, PROCESS_WAITING},
		{PSFLG_ACTIVE, PROCESS_RUNNABLE},
		{PSFLG_ACTIVE_SYS, PROCESS_RUNNABLE},
		{PSFLG_ACTIVE | PSFLG_SUSPENDED, PROCESS_SUSPENDED},
		{PSFLG_RUNNING | PSFLG_SUSPENDED, PROCESS_RUNNING},
		{PSFLG_DIRTY_RUNNING, PROCESS_RUNNING},
		{PSFLG_GC | PSFLG_RUNNING, PROCESS_GARBAGE_COLLECTING},
		{PSFLG_EXITING | PSFLG_GC, PROCESS_EXITING},
	};
	struct table t;
	raddr one;

	(void)state;
	table_open(&t, 27);
	one = add_process(&t, 5);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put32(&t, one, t.l->process_state, 0xa | cases[i].bits);
		assert_int_equal(read_one(&t, 5).status, cases[i].status);
	}
	assert_string_equal(process_status_name(PROCESS_GARBAGE_COLLECTING), "garbage_collecting");
	table_close(&t);
}

static void test_memory(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct table t;
		struct process_facts p;
		uint64_t base, message;
		raddr one, left, right, root, fragment, inner, monitors[2];

		table_open(&t, releases[i]);
		one = add_process(&t, 7);
		base = read_one(&t, 7).memory;
		left = add_link(&t, 0, 0, 0);
		right = add_link(&t, 0, 0, 0);
		image_u64(t.f->im, right + (raddr)t.l->link_size, 1); /* being taken down */
		root = add_link(&t, 0, left, right);
		put64(&t, one, t.l->process_links, root);
		p = read_one(&t, 7);
		assert_int_equal(p.nr_links, 2);
		assert_int_equal(p.memory, base + 3 * (uint64_t)t.l->link_size);
		base = p.memory;
		monitors[0] = add_monitor(&t, 2);
		monitors[1] = add_monitor(&t, 1) + (raddr)t.l->monitor_size;
		put64(&t, one, t.l->process_monitors, monitors[0]);
		put64(&t, one, t.l->process_lt_monitors, monitors[1]);
		put64(&t, monitors[1], t.l->monitor_list_next, monitors[1]);
		p = read_one(&t, 7);
		assert_int_equal(p.nr_monitors, 1);
		assert_int_equal(p.nr_monitored_by, 1);
		/* Half of the first one, the whole of the second, which nobody else has. */
		assert_int_equal(p.memory - base, 3 * (2 * (uint64_t)t.l->monitor_size + 48) / 2);
		base = p.memory;
		message = (uint64_t)t.l->message_size;
		fragment = image_alloc(t.f->im, (size_t)t.l->heap_frag_size);
		put64(&t, fragment, t.l->heap_frag_used_size, 7);
		put64(&t, fragment, t.l->heap_frag_alloc_size, 7);
		inner = add_message(&t, add_message(&t, 0, SMALL(1), 0, 0), SMALL(2), 1, 5);
		put64(&t, one, t.l->process_sig_qs_first, inner);
		put64(&t, one, t.l->process_sig_inq_first,
		      add_message(&t, 0, SMALL(3), fragment, 0));
		if (t.l->process_sig_qs_len != LAYOUT_ABSENT) {
			put64(&t, one, t.l->process_sig_qs_len, 2);
			put64(&t, one, t.l->process_sig_inq_len, 1);
		} else {
			put64(&t, one, t.l->process_sig_qs_mq_len, 2);
			put64(&t, one, t.l->process_sig_inq_mlenoffs, 1);
		}
		p = read_one(&t, 7);
		assert_int_equal(p.message_queue_len, 3);
		assert_int_equal(p.memory - base, 3 * message + 8 * (5 + 7));
		/* A next fragment at the end of all addresses. */
		put64(&t, fragment, t.l->heap_frag_next, UINT64_MAX);
		assert_true(read_one(&t, 7).torn);
		table_close(&t);
	}
}

static uint64_t pair(struct table *t, uint64_t key, uint64_t value)
{
	raddr at = image_alloc(t->f->im, 24);

	image_u64(t->f->im, at, 2 << 6);
	image_u64(t->f->im, at + 8, key);
	image_u64(t->f->im, at + 16, value);
	return at | 2;
}

static void test_dictionary(void **state)
{
	struct table t;
	raddr one, d, cell;
	uint64_t label, initial, other;
	struct process_facts p;

	(void)state;
	table_open(&t, 29);
	other = fakenode_atom(t.f, "other");
	label = fakenode_atom(t.f, "$process_label");
	initial = fakenode_atom(t.f, "$initial_call");
	one = add_process(&t, 7);
	d = image_alloc(t.f->im, 24 + 8 * 16);
	put64(&t, one, t.l->process_dictionary, d);
	image_u32(t.f->im, d, 1);
	image_u32(t.f->im, d + 4, 2);
	image_u32(t.f->im, d + 8, 16);
	image_u64(t.f->im, d + 24 + 8 * ((label >> 6) & 1), pair(&t, label, SMALL(11)));
	cell = image_alloc(t.f->im, 32);
	image_u64(t.f->im, cell, pair(&t, other, SMALL(1)));
	image_u64(t.f->im, cell + 8, (cell + 16) | 1);
	image_u64(t.f->im, cell + 16, pair(&t, initial, SMALL(12)));
	image_u64(t.f->im, cell + 24, TERM_NIL);
	image_u64(t.f->im, d + 24 + 8 * ((initial >> 6) & 1), cell | 1);
	p = read_one(&t, 7);
	assert_int_equal(p.label, SMALL(11));
	assert_int_equal(p.initial_call, SMALL(12));
	assert_int_equal(p.ancestors, 0);
	assert_int_equal(p.memory, (uint64_t)t.l->process_size + 8 * 233 + 24 + 8 * 16);
	image_u64(t.f->im, cell + 24, cell | 1); /* round in a circle */
	assert_true(read_one(&t, 7).torn);
	table_close(&t);
}

/* ---- names -------------------------------------------------------------------------------- */

static void add_name(struct table *t, raddr process, const char *name)
{
	raddr reg = image_alloc(t->f->im, 64);

	put64(t, reg, t->l->regproc_p, process);
	put64(t, reg, t->l->regproc_name, fakenode_atom(t->f, name));
	put64(t, process, t->l->process_reg, reg);
}

static void check_refused(struct table *t, const char *text, enum error_kind kind,
			  const char *message)
{
	struct error err = {0};
	uint64_t epid;

	assert_true(process_parse(&t->f->node, text, &epid, &err) < 0);
	assert_int_equal(err.kind, kind);
	assert_non_null(strstr(err.msg, message));
}

static void test_parse(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct table t;
		uint64_t epid;

		table_open(&t, releases[i]);
		add_name(&t, add_process(&t, 200), "code_server");
		add_name(&t, add_process(&t, 201), "Elixir.My.Name");
		add_name(&t, add_process(&t, 203), "<0.1.0> it's");
		add_name(&t, add_process(&t, 204), "");
		add_name(&t, add_process(&t, 205), "Elixir.Both");
		add_name(&t, add_process(&t, 206), "Both");
		assert_int_equal(process_parse(&t.f->node, "<0.200.0>", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 200));
		assert_int_equal(process_parse(&t.f->node, "0.201.0", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 201));
		assert_int_equal(process_parse(&t.f->node, "code_server", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 200));
		assert_int_equal(process_parse(&t.f->node, "Elixir.My.Name", &epid, NULL), 0);
		assert_int_equal(process_parse(&t.f->node, "My.Name", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 201));
		assert_int_equal(process_parse(&t.f->node, "Both", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 206)); /* the one that is called so */
		assert_int_equal(process_parse(&t.f->node, "'Elixir.My.Name'", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 201));
		assert_int_equal(process_parse(&t.f->node, ":code_server", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 200));
		assert_int_equal(process_parse(&t.f->node, "'<0.1.0> it\\'s'", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 203));
		assert_int_equal(process_parse(&t.f->node, "''", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 204));
		assert_int_equal(process_parse(&t.f->node, "'code_server'", &epid, NULL), 0);
		assert_int_equal(epid, pid_of_number(&t, 200));
		check_refused(&t, "'code_serve'", ERROR_KIND_NO_NODE, "''code_serve''");
		check_refused(&t, "<0.202.0>", ERROR_KIND_NO_NODE,
			      "no process of this node has the pid <0.202.0>");
		check_refused(&t, "0.200.1", ERROR_KIND_NO_NODE,
			      "no process of this node has the pid <0.200.1>");
		check_refused(&t, "<0.99999999999.0>", ERROR_KIND_NO_NODE, "no process");
		check_refused(&t, "<0.200.0", ERROR_KIND_USAGE, "is not a pid");
		check_refused(&t, "<1.200.0>", ERROR_KIND_USAGE, "is not a pid");
		check_refused(&t, "nobody", ERROR_KIND_NO_NODE, "registered as 'nobody'");
		table_close(&t);
	}
}

/* ---- what does not hold ------------------------------------------------------------------- */

static void check_list(struct table *t, size_t len, uint64_t vanished, uint64_t torn)
{
	struct process_list list;

	assert_int_equal(processes_read(&t->f->node, PROCESS_READ_ALL, &list, NULL), 0);
	assert_int_equal(list.len, len);
	assert_int_equal(list.vanished, vanished);
	assert_int_equal(list.torn, torn);
	process_list_free(&list);
}

static void test_gone(void **state)
{
	struct table t;
	raddr one;

	(void)state;
	table_open(&t, 27);
	add_process(&t, 1);
	one = add_process(&t, 2);
	check_list(&t, 2, 0, 0);
	put32(&t, one, t.l->process_state, 0xa | PSFLG_FREE);
	check_list(&t, 1, 1, 0);
	put32(&t, one, t.l->process_state, 0xa);
	put64(&t, one, t.l->process_id, pid_of_number(&t, 3)); /* the memory has another use */
	check_list(&t, 1, 1, 0);
	put64(&t, one, t.l->process_id, 0x7e0000000010ull);
	check_list(&t, 1, 1, 0);
	image_u64(t.f->im, t.tab + 8 * (raddr)slot_of_number(2), 0xdead0000);
	check_list(&t, 1, 1, 0);
	table_close(&t);
}

/* Signals that are no messages wait before and between them. */
static void test_signals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		bool offsets;
		struct table t;
		raddr one, signal, message;

		table_open(&t, releases[i]);
		offsets = t.l->process_sig_qs_len == LAYOUT_ABSENT;
		one = add_process(&t, 7);
		signal = image_alloc(t.f->im, (size_t)t.l->message_size);
		image_u64(t.f->im, signal + 16, 0x38);		       /* tag: not a message */
		image_u64(t.f->im, signal + 24, offsets ? 1 : 0xbeef); /* one stands before it */
		message = add_message(&t, signal, SMALL(1), 0, 0);
		image_u64(t.f->im, signal, add_message(&t, 0, SMALL(2), 0, 0));
		put64(&t, one, t.l->process_sig_inq_first, message);
		put64(&t, one, t.l->process_sig_inq_nmsigs_next,
		      message + (raddr)t.l->message_next);
		if (offsets)
			put64(&t, one, t.l->process_sig_inq_mlenoffs, 1);
		else
			put64(&t, one, t.l->process_sig_inq_len, 2);
		check_list(&t, 1, 0, 0);
		assert_int_equal(read_one(&t, 7).message_queue_len, 2);
		/* On its way out they are freed: nobody follows them. */
		put32(&t, one, t.l->process_state, 0xa | PSFLG_EXITING);
		image_u64(t.f->im, signal + 24, 0xfec400000000);
		check_list(&t, 1, 0, 0);
		assert_int_equal(read_one(&t, 7).message_queue_len, offsets ? 1 : 2);
		table_close(&t);
	}
}

static void test_torn(void **state)
{
	struct table t;
	raddr one, link, message;

	(void)state;
	table_open(&t, 29);
	one = add_process(&t, 2);
	put64(&t, one, t.l->process_heap_sz, 234);
	check_list(&t, 1, 0, 1);
	put64(&t, one, t.l->process_heap_sz, 233);
	put64(&t, one, t.l->process_htop, 1);
	check_list(&t, 1, 0, 1);
	put32(&t, one, t.l->process_state, 0xa | PSFLG_RUNNING); /* it is in a register */
	check_list(&t, 1, 0, 0);
	link = add_link(&t, 0, 0, 0);
	put64(&t, link, t.l->link_left, link); /* its own child */
	put64(&t, one, t.l->process_links, link);
	check_list(&t, 1, 0, 1);
	put64(&t, one, t.l->process_links, 0xdead0000);
	check_list(&t, 1, 0, 1);
	put64(&t, one, t.l->process_links, 0);
	message = add_message(&t, 0, SMALL(1), 0, 0);
	put64(&t, message, t.l->message_next, message);
	put64(&t, one, t.l->process_sig_qs_first, message);
	put64(&t, one, t.l->process_sig_qs_mq_len, 1);
	check_list(&t, 1, 0, 1);
	put64(&t, one, t.l->process_sig_qs_mq_len, 1000);
	check_list(&t, 1, 0, 1);
	put64(&t, message, t.l->message_next, 0);
	put64(&t, one, t.l->process_sig_qs_mq_len, 1);
	check_list(&t, 1, 0, 0);
	put64(&t, message, t.l->message_data, 1);
	put64(&t, message + (raddr)t.l->message_hfrag, t.l->heap_frag_used_size, 100);
	check_list(&t, 1, 0, 1); /* more is in use than there is */
	put64(&t, one, t.l->process_sig_qs_mq_len, (uint64_t)-5);
	check_list(&t, 1, 0, 1);
	assert_int_equal(read_one(&t, 2).message_queue_len, 0);
	table_close(&t);
}

/* Messages on the heap and signals are shorter than what is read of them, and may be the last in
 * their page; and a name is a name, whatever becomes of the queue. */
static void test_edge(void **state)
{
	static const size_t lengths[] = {1, 100};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases) * ARRAY_SIZE(lengths); i++) {
		uint64_t nr = lengths[i % ARRAY_SIZE(lengths)];
		raddr one, page = 0x7d0000000000ull, first = 0;
		struct process_facts p;
		struct table t;

		table_open(&t, releases[i / ARRAY_SIZE(lengths)]);
		one = add_process(&t, 7);
		add_name(&t, one, "code_server");
		image_map(t.f->im, page, 4096);
		for (uint64_t k = 0; k < nr - 1; k++)
			first = add_message(&t, first, SMALL(k), 0, 0);
		put64(&t, page + 4096 - 40, t.l->message_next, first);
		put64(&t, page + 4096 - 40, t.l->message_m, SMALL(nr));
		put64(&t, one, t.l->process_sig_qs_first, page + 4096 - 40);
		if (t.l->process_sig_qs_len != LAYOUT_ABSENT)
			put64(&t, one, t.l->process_sig_qs_len, nr);
		else
			put64(&t, one, t.l->process_sig_qs_mq_len, nr);
		p = read_one(&t, 7);
		assert_false(p.torn);
		assert_int_equal(p.message_queue_len, nr);
		assert_int_equal(p.memory, (uint64_t)t.l->process_size + 8 * 233 +
						   nr * (uint64_t)t.l->message_size);
		put64(&t, page + 4096 - 40, t.l->message_next, 0xdead0000);
		p = read_one(&t, 7);
		assert_true(p.torn);
		assert_int_equal(p.registered, fakenode_atom(t.f, "code_server"));
		table_close(&t);
	}
}

/* A dictionary that is the last in its page: it may have fewer slots than are read at once. */
static void test_edge_dictionary(void **state)
{
	static const uint32_t sizes[] = {1, 8, 10};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases) * ARRAY_SIZE(sizes); i++) {
		uint32_t size = sizes[i % ARRAY_SIZE(sizes)];
		raddr one, page = 0x7d0000000000ull, dictionary = page + 4096 - 24 - 8ull * size;
		struct process_facts p;
		struct table t;

		table_open(&t, releases[i / ARRAY_SIZE(sizes)]);
		one = add_process(&t, 7);
		image_map(t.f->im, page, 4096);
		put32(&t, dictionary, 8, size);
		for (uint32_t k = 0; k < size; k++)
			image_u64(t.f->im, dictionary + 24 + 8ull * k, 0x3b);
		put64(&t, one, t.l->process_dictionary, dictionary);
		p = read_one(&t, 7);
		assert_false(p.torn);
		assert_int_equal(p.memory,
				 (uint64_t)t.l->process_size + 8 * 233 + 24 + 8ull * size);
		table_close(&t);
	}
}

static void test_faults(void **state)
{
	struct table t;
	struct mem *whole;
	uint64_t nth = 0, reads;
	raddr one;

	(void)state;
	table_open(&t, 25);
	one = add_process(&t, 2);
	add_name(&t, one, "name");
	put64(&t, one, t.l->process_links, add_link(&t, 0, add_link(&t, 0, 0, 0), 0));
	put64(&t, one, t.l->process_monitors, add_monitor(&t, 2));
	put64(&t, one, t.l->process_sig_qs_first, add_message(&t, 0, SMALL(1), 1, 3));
	put64(&t, one, t.l->process_sig_qs_len, 1);
	whole = t.f->node.mem;
	reads = image_reads(t.f->im);
	check_list(&t, 1, 0, 0);
	reads = image_reads(t.f->im) - reads;
	while (++nth <= reads) {
		struct process_list list;
		int rc;

		t.f->node.mem = mem_open_faulty(whole, 0, 0, nth);
		rc = processes_read(&t.f->node, PROCESS_READ_ALL, &list, NULL);
		mem_close(t.f->node.mem);
		assert_true(rc == 0 ? list.len + list.vanished == 1 : rc == -EFAULT);
		if (rc == 0)
			process_list_free(&list);
	}
	t.f->node.mem = whole;
	table_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	   cmocka_unit_test(test_status),
		cmocka_unit_test(test_memory),	   cmocka_unit_test(test_signals),
		cmocka_unit_test(test_dictionary), cmocka_unit_test(test_parse),
		cmocka_unit_test(test_gone),	   cmocka_unit_test(test_torn),
		cmocka_unit_test(test_edge),	   cmocka_unit_test(test_edge_dictionary),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
