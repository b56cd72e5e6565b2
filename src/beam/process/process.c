/* SPDX-License-Identifier: BSD-2-Clause */
/* See process.h: reads the process table and the structs in it, and checks their consistency. */
#include "beam/process/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/process/process_internal.h"
#include "beam/process/process_message.h"
#include "beam/term/atoms.h"

/* Slots of the table that are read at once, and limit of processes in a block. */
#define SLOTS_CHUNK   (1u << 17)
#define BLOCK_MAX     8192u
#define READ_ATTEMPTS 4 /* for a process whose facts are not consistent */

/* Limit of the size of struct process (776 to 792 bytes). */
#define PROCESS_MAX_SIZE 4096

const char *process_status_name(enum process_status status)
{
	static const char *const names[] = {
		[PROCESS_EXITING] = "exiting",
		[PROCESS_GARBAGE_COLLECTING] = "garbage_collecting",
		[PROCESS_RUNNING] = "running",
		[PROCESS_SUSPENDED] = "suspended",
		[PROCESS_RUNNABLE] = "runnable",
		[PROCESS_WAITING] = "waiting",
	};

	return (size_t)status < ARRAY_SIZE(names) && names[status] ? names[status] : "?";
}

/* erts_process_state2status(), erl_process.c of OTP 25 to 29. */
enum process_status process_status_of(uint32_t state)
{
	if (state & PSFLG_EXITING)
		return PROCESS_EXITING;
	if (state & PSFLG_GC)
		return PROCESS_GARBAGE_COLLECTING;
	if (state & PSFLGS_ON_SCHEDULER)
		return PROCESS_RUNNING;
	if (state & PSFLG_SUSPENDED)
		return PROCESS_SUSPENDED;
	if (state & (PSFLG_ACTIVE | PSFLG_ACTIVE_SYS | PSFLG_DIRTY_ACTIVE_SYS))
		return PROCESS_RUNNABLE;
	return PROCESS_WAITING;
}

/* ---- one struct --------------------------------------------------------------------------- */

static uint64_t words_between(raddr from, raddr to)
{
	return from && to > from ? (to - from) / 8 : 0;
}

static void take_heap(const struct beam_layout *l, const uint8_t *s, struct process_facts *p)
{
	p->heap = bytes_u64(s, l->process_heap);
	p->htop = bytes_u64(s, l->process_htop);
	p->stop = bytes_u64(s, l->process_stop);
	p->hend = bytes_u64(s, l->process_hend);
	p->abandoned_heap = bytes_u64(s, l->process_abandoned_heap);
	p->old_heap = bytes_u64(s, l->process_old_heap);
	p->old_htop = bytes_u64(s, l->process_old_htop);
	p->old_hend = bytes_u64(s, l->process_old_hend);
	p->mbuf = bytes_u64(s, l->process_mbuf);
	p->msg_frag = bytes_u64(s, l->process_msg_frag);
	p->off_heap = bytes_u64(s, l->process_off_heap_first);
	p->heap_size = bytes_u64(s, l->process_heap_sz);
	p->old_heap_size = p->old_hend ? words_between(p->old_heap, p->old_hend) : 0;
	p->mbuf_size = bytes_u64(s, l->process_mbuf_sz);
	p->total_heap_size = p->heap_size + p->old_heap_size + p->mbuf_size;
	p->stack_size = words_between(p->stop, p->hend);
	p->min_heap_size = bytes_u64(s, l->process_min_heap_size);
	p->min_vheap_size = bytes_u64(s, l->process_min_vheap_size);
	p->max_heap_size = bytes_u64(s, l->process_max_heap_size);
	p->gen_gcs = bytes_u16(s, l->process_gen_gcs);
	p->max_gen_gcs = bytes_u16(s, l->process_max_gen_gcs);
	/* The first part of the sum in erts_process_memory(); process_walk() adds the rest. */
	p->memory = (uint64_t)l->process_size + 8 * p->total_heap_size +
		    (p->abandoned_heap ? 8 * words_between(p->heap, p->hend) : 0);
}

static void take_queues(const struct beam_layout *l, const uint8_t *s, struct process_facts *p,
			struct process_pending *q)
{
	q->queues[0] = bytes_u64(s, l->process_sig_qs_first);
	q->queues[1] = bytes_u64(s, l->process_sig_qs_cont);
	q->queues[2] = bytes_u64(s, l->process_sig_inq_first);
	q->nmsigs[0] = bytes_u64(s, l->process_sig_qs_nmsigs_next);
	q->nmsigs[1] = bytes_u64(s, l->process_sig_inq_nmsigs_next);
	if (l->process_sig_inq_buffers >= 0) /* since OTP 25 */
		q->queue_buffers = bytes_u64(s, l->process_sig_inq_buffers);
	q->on_heap_messages = bytes_u32(s, l->process_sig_qs_flags) & FS_ON_HEAP_MSGQ;
	/* Since OTP 27 each signal that is no message has the number of messages before it, which
	 * process_walk() adds. */
	q->raw_len = process_raw_length(l, s);
	p->message_queue_len = q->raw_len;
}

/* Bytes of argument registers outside of the struct; as in erl_process_dump.c. */
static uint64_t register_bytes(const struct beam_layout *l, const uint8_t *s, raddr addr)
{
	bool byte = l->process_max_arg_reg - l->process_arity == 1; /* Uint8 since OTP 27 */

	if (bytes_u64(s, l->process_arg_reg) == addr + (raddr)l->process_def_arg_reg)
		return 0;
	return 8 * (byte ? s[l->process_arity] : bytes_u32(s, l->process_arity) & 0x3ff);
}

static void take(const struct process_reader *r, const uint8_t *s, struct process_facts *p,
		 struct process_pending *q)
{
	const struct beam_layout *l = r->l;

	p->epid = bytes_u64(s, l->process_id);
	p->state = bytes_u32(s, l->process_state);
	p->flags = bytes_u32(s, l->process_flags);
	p->status = process_status_of(p->state);
	p->priority = (p->state >> 2) & 3;
	p->trap_exit = p->flags & F_TRAP_EXIT;
	if (!(p->state & PSFLG_EXITING)) /* used for other data in an exiting process */
		for (int i = 0; i < 3; i++)
			p->initial[i] = bytes_u64(s, l->process_initial + 8 * i);
	p->parent = bytes_u64(s, l->process_parent);
	p->group_leader = bytes_u64(s, l->process_group_leader);
	p->reductions = bytes_u64(s, l->process_reds);
	p->i = bytes_u64(s, l->process_i);
	p->current = bytes_u64(s, l->process_current);
	p->dictionary = bytes_u64(s, l->process_dictionary);
	p->links = bytes_u64(s, l->process_links);
	p->monitors = bytes_u64(s, l->process_monitors);
	p->lt_monitors = bytes_u64(s, l->process_lt_monitors);
	p->psd = bytes_u64(s, l->process_psd);
	p->scheduler_data = bytes_u64(s, l->process_scheduler_data);
	p->timer = bytes_u64(s, l->process_timer);
	q->reg = bytes_u64(s, l->process_reg);
	take_heap(l, s, p);
	take_queues(l, s, p, q);
	p->memory += register_bytes(l, s, p->addr) + (p->psd ? (uint64_t)l->psd_size : 0);
}

static bool has_stack(const struct process_facts *p)
{
	return p->heap <= p->stop && p->stop <= p->hend;
}

/* Consistency of the facts; true for every process that does not change while it is read. */
static bool is_whole(const struct process_facts *p)
{
	if (p->heap_size > UINT64_MAX / 64 || p->mbuf_size > UINT64_MAX / 64)
		return false;
	if (p->state & PSFLG_EXITING)
		return true;
	/* A GC ends with stop, heap, hend and heap_size set one after the other: stop has to be
	 * between heap and hend, and heap_size is not compared.  While there is an abandoned heap
	 * neither is checked. */
	if (p->state & PSFLG_GC)
		return p->abandoned_heap || has_stack(p);
	/* If there is an abandoned heap, heap_size is that heap's. */
	if (!p->heap || (!p->abandoned_heap && p->hend - p->heap != 8 * p->heap_size))
		return false;
	/* htop and stop are in registers while the process runs. */
	return has_stack(p) &&
	       ((p->state & PSFLGS_ON_SCHEDULER) || (p->heap <= p->htop && p->htop <= p->stop));
}

static enum process_found judge(const struct process_reader *r, const struct process_facts *p,
				const struct process_pending *q)
{
	if (!TERM_IS_PID(p->epid) || process_slot_of(&r->format, p->epid) != q->slot ||
	    (p->state & PSFLG_FREE))
		return PROCESS_VANISHED;
	return is_whole(p) ? PROCESS_FOUND : PROCESS_BAD;
}

void process_take(const struct process_reader *r, struct process_facts *p,
		  struct process_pending *q, const uint8_t *bytes)
{
	raddr addr = p->addr;
	uint64_t slot = q->slot;

	*p = (struct process_facts){.addr = addr, .slot = (uint32_t)slot};
	*q = (struct process_pending){.slot = slot, .found = PROCESS_VANISHED};
	if (!bytes)
		return;
	take(r, bytes, p, q);
	q->found = judge(r, p, q);
}

/* ---- blocks ------------------------------------------------------------------------------- */

int process_reader_open(struct process_reader *r, struct beam_node *n, unsigned int what,
			struct error *err)
{
	int rc;

	*r = (struct process_reader){.n = n, .mem = n->mem, .l = &n->layout, .what = what};
	if (!n->anchors.proc_tab || r->l->process_size <= 0 ||
	    r->l->process_size > PROCESS_MAX_SIZE)
		return beam_node_lacks(n, "process table", err);
	rc = id_format_read(&r->format, n->mem, r->l, n->anchors.proc_tab, n->identity.otp);
	if (rc)
		return beam_node_unreadable(n, "process table", rc, err);
	if (what & PROCESS_READ_DICTIONARY) {
		r->key_label = beam_atom_find(n->atoms, "$process_label");
		r->key_initial_call = beam_atom_find(n->atoms, "$initial_call");
		r->key_ancestors = beam_atom_find(n->atoms, "$ancestors");
	}
	r->bytes = xmalloc((size_t)PROCESS_BATCH * (size_t)r->l->process_size);
	r->ranges = xmalloc(PROCESS_BATCH * sizeof(*r->ranges));
	return 0;
}

void process_reader_close(struct process_reader *r)
{
	free(r->bytes);
	free(r->ranges);
}

static void read_block_once(struct process_reader *r, struct process_block *b)
{
	process_read_structs(r, b);
	process_walk(r, b);
}

/* True if the process has left its slot: its memory was or will be freed, and reused. */
static bool is_gone(const struct process_reader *r, const struct process_facts *p)
{
	raddr now;

	return mem_read_u64(r->mem, r->tab + 8 * (raddr)p->slot, &now) != 0 || now != p->addr;
}

/* Reads an inconsistent process again, alone. */
static void read_again(struct process_reader *r, struct process_facts *p, struct process_pending *q)
{
	struct process_block one = {.facts = p, .pending = q, .nr = 1};

	for (int i = 1; i < READ_ATTEMPTS && q->found == PROCESS_BAD; i++)
		read_block_once(r, &one);
	if (q->found != PROCESS_BAD)
		return;
	if (is_gone(r, p)) {
		q->found = PROCESS_VANISHED;
		return;
	}
	/* Still inconsistent: keeps the facts, but clears impossible values. */
	q->found = PROCESS_FOUND;
	p->torn = true;
	if (!has_stack(p))
		p->stack_size = 0;
	if (p->message_queue_len < 0 || p->message_queue_len > PROCESS_MESSAGES_MAX)
		p->message_queue_len = 0;
}

/* Reads the block and moves the processes that were found to its front; returns their number. */
static size_t read_block(struct process_reader *r, struct process_block *b,
			 struct process_totals *totals)
{
	size_t kept = 0;

	read_block_once(r, b);
	for (size_t i = 0; i < b->nr; i++) {
		struct process_facts *p = &b->facts[i];

		if (b->pending[i].found == PROCESS_BAD)
			read_again(r, p, &b->pending[i]);
		/* is_whole() accepts every exiting process, so its slot is checked instead. */
		if (b->pending[i].found == PROCESS_FOUND && (p->state & PSFLG_EXITING) &&
		    is_gone(r, p))
			b->pending[i].found = PROCESS_VANISHED;
		if (b->pending[i].found == PROCESS_VANISHED) {
			totals->vanished++;
			continue;
		}
		totals->torn += p->torn;
		if (kept != i)
			b->facts[kept] = *p;
		kept++;
	}
	totals->processes += kept;
	return kept;
}

/* ---- the table ---------------------------------------------------------------------------- */

int process_slots_open(struct process_slots *s, struct process_reader *r, struct error *err)
{
	raddr table = r->n->anchors.proc_tab;
	int rc = mem_read_u64(r->mem, table + (raddr)r->l->ptab_tab, &s->tab);

	rc = rc ? rc : mem_read_u32(r->mem, table + (raddr)r->l->ptab_max, &s->max);
	rc = rc ? rc : mem_read_u64(r->mem, table + (raddr)r->l->ptab_invalid_element, &s->invalid);
	if (rc == 0 && (!s->max || s->max > BEAM_MAX_PTAB))
		rc = -EBADMSG;
	if (rc)
		return beam_node_unreadable(r->n, "process table", rc, err);
	r->tab = s->tab;
	return 0;
}

struct scan {
	struct process_reader r;
	struct process_slots slots;
	struct process_block block;
	uint64_t *chunk; /* slots that are read at once */
	int (*visit)(void *arg, struct process_facts *block, size_t nr);
	void *arg;
	struct process_totals *totals;
};

static int flush(struct scan *s)
{
	size_t nr = read_block(&s->r, &s->block, s->totals);

	s->block.nr = 0;
	return nr ? s->visit(s->arg, s->block.facts, nr) : 0;
}

static int scan_slots(struct scan *s, uint32_t from, uint32_t nr)
{
	int rc = 0;

	for (uint32_t i = 0; i < nr && rc == 0; i++) {
		raddr addr = s->chunk[i];
		struct process_block *b = &s->block;

		if (!addr || addr == s->slots.invalid)
			continue;
		b->facts[b->nr].addr = addr;
		b->pending[b->nr].slot = from + i;
		if (++b->nr == BLOCK_MAX)
			rc = flush(s);
	}
	return rc;
}

static int scan_table(struct scan *s, struct error *err)
{
	int rc = 0;

	for (uint32_t from = 0; from < s->slots.max && rc == 0; from += SLOTS_CHUNK) {
		uint32_t nr = MIN(s->slots.max - from, SLOTS_CHUNK);

		rc = mem_read(s->r.mem, s->slots.tab + 8 * (raddr)from, s->chunk, 8 * (size_t)nr);
		if (rc)
			return beam_node_unreadable(s->r.n, "process table", rc, err);
		rc = scan_slots(s, from, nr);
	}
	return rc ? rc : flush(s);
}

int processes_scan(struct beam_node *n, unsigned int what,
		   int (*visit)(void *arg, struct process_facts *block, size_t nr), void *arg,
		   struct process_totals *totals, struct error *err)
{
	struct process_totals own;
	struct scan s = {.visit = visit, .arg = arg, .totals = totals ? totals : &own};
	int rc = process_reader_open(&s.r, n, what, err);

	*s.totals = (struct process_totals){0};
	if (rc)
		return rc;
	rc = process_slots_open(&s.slots, &s.r, err);
	if (rc == 0) {
		s.chunk = xmalloc(8 * (size_t)MIN(s.slots.max, SLOTS_CHUNK));
		s.block.facts = xmalloc(BLOCK_MAX * sizeof(*s.block.facts));
		s.block.pending = xmalloc(BLOCK_MAX * sizeof(*s.block.pending));
		rc = scan_table(&s, err);
	}
	free(s.chunk);
	free(s.block.facts);
	free(s.block.pending);
	process_reader_close(&s.r);
	return rc;
}

struct kept {
	VEC(struct process_facts) v;
};

static int keep(void *arg, struct process_facts *block, size_t nr)
{
	struct kept *k = arg;

	vec_reserve(&k->v, k->v.len + nr);
	memcpy(k->v.data + k->v.len, block, nr * sizeof(*block));
	k->v.len += nr;
	return 0;
}

int processes_read(struct beam_node *n, unsigned int what, struct process_list *out,
		   struct error *err)
{
	struct kept kept = {0};
	struct process_totals totals;
	int rc = processes_scan(n, what, keep, &kept, &totals, err);

	*out = (struct process_list){0};
	if (rc) {
		vec_free(&kept.v);
		return rc;
	}
	*out = (struct process_list){.data = kept.v.data,
				     .len = kept.v.len,
				     .vanished = totals.vanished,
				     .torn = totals.torn};
	return 0;
}

void process_list_free(struct process_list *l)
{
	free(l->data);
	*l = (struct process_list){0};
}

/* ---- one process -------------------------------------------------------------------------- */

static raddr find_in(struct process_reader *r, uint64_t epid)
{
	uint64_t slot = process_slot_of(&r->format, epid), id;
	struct process_slots s;
	raddr addr;

	if (!TERM_IS_PID(epid) || process_slots_open(&s, r, NULL) != 0 || slot >= s.max ||
	    mem_read_u64(r->mem, s.tab + 8 * slot, &addr) != 0 || !addr || addr == s.invalid ||
	    mem_read_u64(r->mem, addr + (raddr)r->l->process_id, &id) != 0 || id != epid)
		return 0;
	return addr;
}

int process_read(struct beam_node *n, uint64_t epid, unsigned int what, struct process_facts *out)
{
	struct process_reader r;
	struct process_pending pending = {0};
	struct process_block b = {.facts = out, .pending = &pending, .nr = 1};
	struct process_totals totals = {0};
	int rc = process_reader_open(&r, n, what, NULL);

	if (rc)
		return rc;
	*out = (struct process_facts){.addr = find_in(&r, epid)};
	pending.slot = process_slot_of(&r.format, epid);
	rc = out->addr && read_block(&r, &b, &totals) == 1 && out->epid == epid ? 0 : -ESRCH;
	process_reader_close(&r);
	return rc;
}

/* ---- names -------------------------------------------------------------------------------- */

struct search {
	struct beam_atoms *atoms;
	const char *text; /* set if the text is a name as printed, with quotes or colon */
	uint64_t names[2], epid;
};

static int search_block(void *arg, struct process_facts *block, size_t nr)
{
	struct search *s = arg;

	for (size_t i = 0; i < nr; i++) {
		uint64_t name = block[i].registered;
		bool exact = name && (name == s->names[0] ||
				      (s->text && beam_atom_is(s->atoms, name, s->text)));

		if (exact || (name && name == s->names[1]))
			s->epid = block[i].epid;
		if (exact || (s->epid && !s->names[0] && !s->text))
			return 1;
	}
	return 0;
}

/* Finds a registered process: its name in Erlang, in Elixir without "Elixir.", or as printed, with
 * quotes or Elixir's colon. */
static int parse_name(struct beam_node *n, const char *text, uint64_t *epid, struct error *err)
{
	char elixir[1100];
	struct search s = {.atoms = n->atoms, .text = strchr("':", *text) ? text : NULL};
	int rc;

	snprintf(elixir, sizeof(elixir), "Elixir.%s", text);
	s.names[0] = beam_atom_find(n->atoms, text);
	s.names[1] = beam_atom_find(n->atoms, elixir);
	if (s.names[0] || s.names[1] || s.text) {
		rc = processes_scan(n, 0, search_block, &s, NULL, err);
		if (rc < 0)
			return rc;
	}
	if (!s.epid)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH,
				 "no process of this node is registered as '%s' (see ebeam ps)",
				 text);
	*epid = s.epid;
	return 0;
}

int process_parse(struct beam_node *n, const char *text, uint64_t *epid, struct error *err)
{
	uint64_t number, serial;
	struct process_reader r;
	int rc;

	if (!pid_parse(text, &number, &serial)) {
		if (*text == '<')
			return error_set(
				err, ERROR_KIND_USAGE, -EINVAL,
				"'%s' is not a pid of this node: its pids look like <0.80.0>",
				text);
		return parse_name(n, text, epid, err);
	}
	rc = process_reader_open(&r, n, 0, err);
	if (rc)
		return rc;
	*epid = pid_term(&r.format, number, serial);
	if (!*epid || !find_in(&r, *epid))
		rc = error_set(err, ERROR_KIND_NO_NODE, -ESRCH,
			       "no process of this node has the pid %s%s%s: it has exited, or "
			       "never existed (see ebeam ps)",
			       *text == '<' ? "" : "<", text, *text == '<' ? "" : ">");
	process_reader_close(&r);
	return rc;
}
