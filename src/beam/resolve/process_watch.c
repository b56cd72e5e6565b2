/* SPDX-License-Identifier: BSD-2-Clause */
/* See process_watch.h. */
#include "beam/resolve/process_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "beam/process/process_internal.h"
#include "beam/process/waits.h"

/* Slots of the process table that are read at once. */
#define SLOTS_CHUNK (1u << 17)
/* Processes that are read at once. */
#define BLOCK 4096u
/* How often a process is named, each time after it has run: at its start it has no name yet. */
#define NAMINGS	    3
#define NOT_WATCHED 0u
/* Slots that are compared at once. */
#define SLOTS_PIECE 64u
/* Neighbours in `all` that are read by the same sample: they were found one after the other, so
 * most of them are close in memory, too. */
#define GROUP 64u

/* A watched process.  Addresses and slots are in separate arrays for speed, as there are many. */
struct watched {
	uint64_t epid; /* 0: free */
	uint64_t reductions;
	raddr i, stop;
	uint64_t since_ns; /* start of the time in its current state that was not emitted yet */
	uint64_t seen_ns;  /* time of its last sample */
	uint32_t process, stack;
	uint32_t doing; /* see doing_of() */
	uint8_t kind, status, namings;
};

/* Processes that the same sample reads.  The sorted addresses of up to PARTS_MAX parts are kept
 * until a process starts or exits. */
#define PARTS_MAX 4u
struct part {
	VEC(struct process_address) places;
	bool known;
};

/* ErtsPTab.vola.tile, erl_ptab.h of OTP 25 to 29: number of processes, and of ids ever taken and
 * given back (aid_ix, fid_ix); taken - given_back is the number of processes, too. */
struct id_counts {
	uint32_t now, taken, given_back;
};

struct process_watch {
	struct beam_node *n;
	struct beam_resolver *resolver;
	struct names *names;
	process_watch_fn *take;
	void *arg;
	struct stack_code code;
	struct process_reader reader;
	struct process_slots table;
	struct id_counts ids; /* at the previous sample, read before the table */
	uint64_t *slots;      /* part of the process table that was read last */
	raddr *addrs;	      /* by slot: address of the watched process; 0: none */
	uint32_t *at;	      /* by slot: 1 + index in `all` */
	VEC(struct watched) all;
	VEC(uint32_t) unused;		 /* indices in `all` */
	struct part parts[PARTS_MAX];	 /* one for each turn; the first only, if more turns */
	struct process_facts *facts;	 /* BLOCK of them */
	struct process_pending *pending; /* likewise */
	uint32_t *index;		 /* by index of facts: index in `all` */
	size_t changed;			 /* number of changed processes in facts */
	uint64_t jit_list[3];		 /* head of the list of code at the previous sample */
	uint32_t threads[NR_SAMPLE_KINDS];
	uint64_t at_ns, before_ns; /* times of this sample and of the previous one */
	uint64_t samples;
	size_t finished; /* index in `all` up to which process_watch_finish() has come */
	struct resolved_sample resolved;
	struct process_watch_counts counts;
};

/* ---- the state ------------------------------------------------------------------------------- */

#define NOT_KNOWN UINT32_MAX /* no state: a process never has all these bits */

/* All that kind_of() depends on, but for the stack: bits of Process.state, with the lowest two,
 * which are a priority, replaced by "hibernates" and "has a timer". */
static uint32_t doing_of(uint32_t state, uint32_t flags, raddr timer)
{
	return (state & ~3u) | (flags & F_HIBERNATED ? 1 : 0) | (timer ? 2 : 0);
}

/* The function on top of the stack, if it has a module. */
static const struct name_function *top_of(const struct process_watch *w, uint32_t stack)
{
	const struct name_stack *s = names_stack(w->names, stack);
	const struct name_frame *frame = s ? names_frame(w->names, s->frame) : NULL;
	const struct name_function *f = frame ? names_function(w->names, frame->function) : NULL;

	return f && f->module ? f : NULL;
}

/* Functions in which a process waits for the answer of a port. */
static bool waits_for_port(const struct name_function *f)
{
	return strcmp(f->module, "prim_inet") == 0 ||
	       (strcmp(f->module, "os") == 0 && strcmp(f->name, "get_data") == 0) ||
	       (strcmp(f->module, "erts_internal") == 0 &&
		strncmp(f->name, "await_port", strlen("await_port")) == 0);
}

static enum sample_kind kind_of(const struct process_watch *w, const struct process_facts *p,
				uint32_t stack)
{
	const struct name_function *top;

	switch (p->status) {
	case PROCESS_EXITING:
		return SAMPLE_EXITING;
	case PROCESS_GARBAGE_COLLECTING:
		return SAMPLE_GC;
	case PROCESS_RUNNING:
		return SAMPLE_RUNNING;
	case PROCESS_SUSPENDED:
		return SAMPLE_SUSPENDED;
	case PROCESS_RUNNABLE:
		return p->state & (PSFLG_DIRTY_CPU_PROC | PSFLG_DIRTY_IO_PROC)
			       ? SAMPLE_WAITING_DIRTY
			       : SAMPLE_RUNNABLE;
	case PROCESS_WAITING:
		break;
	}
	if (p->flags & F_HIBERNATED)
		return SAMPLE_HIBERNATING;
	top = top_of(w, stack);
	if (top && waits_for_port(top))
		return SAMPLE_WAITING_PORT;
	/* In a function that waits for an answer, the timer is the timeout of a call. */
	return p->timer && !(top && waits_for_answer_in(top->module, top->name))
		       ? SAMPLE_WAITING_TIMER
		       : SAMPLE_WAITING_RECEIVE;
}

/* Samples have a thread: each kind has one of its own, all named "processes". */
static uint32_t thread_of(struct process_watch *w, enum sample_kind kind)
{
	static const char name[] = "processes";

	if (!w->threads[kind])
		w->threads[kind] = names_intern_thread(
			w->names, (uint32_t)kind + 1, THREAD_OTHER, 0,
			names_intern_string(w->names, name, strlen(name), NULL), NULL);
	return w->threads[kind];
}

/* Emits the state of a process up to end_ns. */
static void emit(struct process_watch *w, struct watched *p, uint64_t end_ns)
{
	struct rec_sample sample = {
		.process = p->process,
		.stack = p->stack,
		.thread = thread_of(w, (enum sample_kind)p->kind),
		.kind = p->kind,
		.status = p->status,
	};

	if (end_ns > p->since_ns)
		w->take(w->arg, &sample, end_ns - p->since_ns, end_ns);
	p->since_ns = end_ns;
}

static uint64_t middle(uint64_t a, uint64_t b)
{
	return a + (b - a) / 2;
}

/* ---- start and exit of processes ------------------------------------------------------------- */

static uint32_t slot_of(const struct process_watch *w, const struct watched *p)
{
	return (uint32_t)process_slot_of(&w->reader.format, p->epid);
}

static void forget_places(struct process_watch *w)
{
	for (size_t i = 0; i < PARTS_MAX; i++)
		w->parts[i].known = false;
}

static uint32_t add(struct process_watch *w, const struct process_facts *p)
{
	uint32_t index;

	if (w->unused.len) {
		index = w->unused.data[--w->unused.len];
	} else {
		index = (uint32_t)w->all.len;
		vec_push(&w->all, (struct watched){0});
	}
	w->at[p->slot] = index + 1;
	w->addrs[p->slot] = p->addr;
	forget_places(w);
	w->all.data[index] = (struct watched){
		.epid = p->epid,
		.since_ns = w->before_ns,
		.seen_ns = w->before_ns,
		.kind = NR_SAMPLE_KINDS, /* no state yet */
	};
	w->counts.processes++;
	w->counts.most = MAX(w->counts.most, w->counts.processes);
	return index;
}

/* The process has exited since the previous sample. */
static void end(struct process_watch *w, struct watched *p)
{
	if (p->kind != NR_SAMPLE_KINDS) {
		emit(w, p, middle(w->before_ns, w->at_ns));
		w->counts.by_kind[p->kind]--;
	}
	w->at[slot_of(w, p)] = NOT_WATCHED;
	w->addrs[slot_of(w, p)] = 0;
	forget_places(w);
	p->epid = 0;
	vec_push(&w->unused, (uint32_t)(p - w->all.data));
	w->counts.processes--;
}

/* Reads the names of the processes in w->facts, of each process NAMINGS times at most. */
static void name_block(struct process_watch *w, size_t nr)
{
	struct process_block b = {.facts = w->facts, .pending = w->pending, .nr = nr};

	for (size_t i = 0; i < nr; i++) {
		struct watched *p = &w->all.data[w->index[i]];

		if (p->namings == NAMINGS)
			w->pending[i].found = PROCESS_VANISHED;
		else
			p->namings++;
	}
	process_walk(&w->reader, &b);
	for (size_t i = 0; i < nr; i++) {
		if (w->pending[i].found == PROCESS_FOUND)
			beam_resolver_process(w->resolver, w->names, &w->facts[i]);
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static uint32_t intern_stack(struct process_watch *w)
{
	uint32_t stack = 0;

	for (uint32_t i = 0; i < w->resolved.nr_frames; i++)
		stack = names_intern_stack(w->names, stack, w->resolved.frames[i], NULL);
	return stack;
}

static uint32_t not_read(struct process_watch *w)
{
	static const char text[] = "[stack not read]";
	uint32_t f = names_intern_function(w->names, 0,
					   names_intern_string(w->names, text, strlen(text), NULL),
					   -1, FRAME_RUNTIME, NULL);

	return names_intern_stack(w->names, 0, names_intern_frame(w->names, f, 0, 0, NULL), NULL);
}

/* Sets a process's state.  A new state counts from the middle between its two samples on. */
static void take_stack(void *arg, size_t i, int rc, const struct process_stack *s)
{
	struct process_watch *w = arg;
	const struct process_facts *p = &w->facts[i];
	struct watched *of = &w->all.data[w->index[i]];
	bool first = of->kind == NR_SAMPLE_KINDS;
	const struct process_stack none = {0};
	struct watched now = *of;
	uint64_t from;

	if (rc == -ESRCH && !first) {
		end(w, of);
		return;
	}
	w->counts.stacks++;
	w->counts.unstable += rc != 0;
	beam_resolver_stack(w->resolver, w->names, p->epid, rc ? &none : s, &w->resolved);
	now.process = w->resolved.process;
	now.stack = rc ? not_read(w) : intern_stack(w);
	now.status = rc ? SAMPLE_STATUS_STACK_UNREADABLE : (uint8_t)w->resolved.status;
	/* The process may have been scheduled in after its struct was read. */
	now.kind = (uint8_t)(!rc && s->stale && p->status != PROCESS_GARBAGE_COLLECTING &&
					     p->status != PROCESS_EXITING
				     ? SAMPLE_RUNNING
				     : kind_of(w, p, now.stack));
	from = middle(of->seen_ns, w->at_ns);
	w->counts.by_kind[now.kind]++;
	if (!first)
		w->counts.by_kind[of->kind]--;
	if (first) {
		now.since_ns = from;
	} else if (now.process != of->process || now.stack != of->stack || now.kind != of->kind ||
		   now.status != of->status) {
		emit(w, of, from);
		now.since_ns = from;
	}
	now.reductions = p->reductions;
	now.i = p->i;
	now.stop = p->stop;
	/* If it runs its struct may be outdated: NOT_KNOWN makes the next sample read it. */
	now.doing = s->stale ? NOT_KNOWN : doing_of(p->state, p->flags, p->timer);
	now.namings = of->namings;
	now.seen_ns = w->at_ns;
	*of = now;
}

static bool did_not_run(const struct beam_layout *l, const struct watched *of, const uint8_t *s)
{
	return of->kind != NR_SAMPLE_KINDS && bytes_u64(s, l->process_id) == of->epid &&
	       bytes_u64(s, l->process_reds) == of->reductions &&
	       bytes_u64(s, l->process_i) == of->i && bytes_u64(s, l->process_stop) == of->stop &&
	       doing_of(bytes_u32(s, l->process_state), bytes_u32(s, l->process_flags),
			bytes_u64(s, l->process_timer)) == of->doing;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Adds a process to w->facts if it has changed. */
static void compare(void *arg, uint32_t index, const uint8_t *bytes)
{
	struct process_watch *w = arg;
	struct watched *of = &w->all.data[index];
	struct process_facts *p = &w->facts[w->changed];
	struct process_pending *q = &w->pending[w->changed];

	if (bytes && did_not_run(w->reader.l, of, bytes)) {
		of->seen_ns = w->at_ns;
		return;
	}
	q->slot = slot_of(w, of);
	p->addr = w->addrs[q->slot];
	process_take(&w->reader, p, q, bytes);
	if (q->found == PROCESS_VANISHED || p->epid != of->epid)
		end(w, of);
	else
		w->index[w->changed++] = index;
}

static void read_block(struct process_watch *w, const struct process_address *places, size_t nr)
{
	w->changed = 0;
	process_structs_each(&w->reader, places, nr, compare, w);
	w->counts.reads += nr;
	name_block(w, w->changed);
	process_stacks_each(w->n, &w->code, w->facts, w->changed, take_stack, w);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Compares slots from *done on with the watched processes, until BLOCK new ones are found: ends
 * processes that have left their slots, and adds new ones to facts[]; returns the number of new
 * ones. */
static size_t compare_slots(struct process_watch *w, uint32_t from, uint32_t nr, uint32_t *done)
{
	size_t found = 0;
	uint32_t i = *done;

	while (i < nr && found < BLOCK) {
		uint32_t piece = MIN(nr - i, SLOTS_PIECE), at = w->at[from + i];
		raddr addr = w->slots[i] == w->table.invalid ? 0 : w->slots[i];

		if (i % SLOTS_PIECE == 0 &&
		    memcmp(w->slots + i, w->addrs + from + i, 8 * (size_t)piece) == 0) {
			i += piece;
			continue;
		}
		if (addr != w->addrs[from + i]) {
			if (at)
				end(w, &w->all.data[at - 1]);
			if (addr) {
				w->facts[found].addr = addr;
				w->pending[found++].slot = from + i;
			}
		}
		i++;
	}
	*done = i;
	return found;
}

/* Reads the new processes whose addresses are in w->facts, and adds them. */
static void take_new(struct process_watch *w, size_t nr)
{
	struct process_block b = {.facts = w->facts, .pending = w->pending, .nr = nr};
	size_t kept = 0;

	process_read_structs(&w->reader, &b);
	w->counts.reads += nr;
	for (size_t i = 0; i < nr; i++) {
		if (w->pending[i].found == PROCESS_VANISHED)
			continue;
		w->facts[kept] = w->facts[i];
		w->pending[kept] = w->pending[i];
		w->index[kept] = add(w, &w->facts[kept]);
		kept++;
	}
	name_block(w, kept);
	process_stacks_each(w->n, &w->code, w->facts, kept, take_stack, w);
}

/* True if no process has started or exited since the table was read, and all were found.  False if
 * the counts do not agree, as while the VM takes or gives back an id. */
static bool table_is_same(struct process_watch *w)
{
	const struct id_counts before = w->ids;
	raddr at = w->n->anchors.proc_tab + (raddr)w->n->layout.ptab_count;

	if (mem_read(w->n->mem, at, &w->ids, sizeof(w->ids)))
		return false;
	return memcmp(&before, &w->ids, sizeof(before)) == 0 && w->ids.now == w->counts.processes &&
	       w->ids.taken - w->ids.given_back == w->ids.now;
}

static int read_table(struct process_watch *w, struct error *err)
{
	if (table_is_same(w))
		return 0;
	for (uint32_t from = 0; from < w->table.max; from += SLOTS_CHUNK) {
		uint32_t nr = MIN(w->table.max - from, SLOTS_CHUNK), done = 0;
		int rc = mem_read(w->n->mem, w->table.tab + 8 * (raddr)from, w->slots,
				  8 * (size_t)nr);

		if (rc)
			return beam_node_unreadable(w->n, "process table", rc, err);
		while (done < nr)
			take_new(w, compare_slots(w, from, nr, &done));
	}
	return 0;
}

/* Reads the list of code if it has changed. */
static void read_code(struct process_watch *w)
{
	/* The interpreter has no list: a change of the active code index means other code. */
	bool jit = w->n->identity.jit;
	raddr list = jit ? w->n->anchors.jit_descriptor : w->n->anchors.active_code_ix;
	uint64_t now[3] = {0};

	if (!list || mem_read(w->n->mem, list, now, jit ? sizeof(now) : sizeof(uint32_t)) ||
	    memcmp(now, w->jit_list, sizeof(now)) == 0)
		return;
	memcpy(w->jit_list, now, sizeof(now));
	jit_sync(w->code.jit, NULL);
	beam_resolver_sync(w->resolver, NULL);
}

/* ---- interface ------------------------------------------------------------------------------- */

static void list_places(struct process_watch *w, struct part *part, uint32_t turn, uint32_t turns)
{
	uint64_t others = (turns - 1) * (uint64_t)GROUP;

	part->known = true;
	part->places.len = 0;
	for (uint64_t i = turn * GROUP; i < w->all.len;
	     i += i % GROUP == GROUP - 1 ? 1 + others : 1) {
		const struct watched *p = &w->all.data[i];
		struct process_address place = {.index = (uint32_t)i};

		if (!p->epid)
			continue;
		if (p->seen_ns == w->at_ns) { /* read_table() has just read it */
			part->known = false;
			continue;
		}
		place.addr = w->addrs[slot_of(w, p)];
		vec_push(&part->places, place);
	}
	process_addresses_sort(part->places.data, part->places.len);
}

uint32_t process_watch_turns(uint32_t processes)
{
	if (processes <= PROCESS_WATCH_ALL)
		return 1;
	return MAX(2u, (processes + PROCESS_WATCH_PART - 1) / PROCESS_WATCH_PART);
}

static void read_part(struct process_watch *w)
{
	uint32_t turns = process_watch_turns(w->counts.processes), turn;
	struct part *part;

	if (turns != w->counts.every)
		forget_places(w);
	w->counts.every = turns;
	turn = (uint32_t)(w->samples % turns);
	part = &w->parts[turns > PARTS_MAX ? 0 : turn];
	if (!part->known || turns > PARTS_MAX)
		list_places(w, part, turn, turns);
	for (size_t i = 0; i < part->places.len; i += BLOCK)
		read_block(w, part->places.data + i, MIN(part->places.len - i, (size_t)BLOCK));
}

int process_watch_sample(struct process_watch *w, uint64_t at_ns, struct error *err)
{
	int rc;

	w->before_ns = w->at_ns ? w->at_ns : at_ns;
	w->at_ns = at_ns;
	w->samples++;
	read_code(w);
	rc = read_table(w, err);
	if (rc == 0)
		read_part(w);
	return rc;
}

bool process_watch_finish(struct process_watch *w, uint64_t end_ns)
{
	size_t end = MIN(w->finished + PROCESS_WATCH_FINISH, w->all.len);

	for (; w->finished < end; w->finished++) {
		struct watched *p = &w->all.data[w->finished];

		if (p->epid && p->kind != NR_SAMPLE_KINDS)
			emit(w, p, end_ns);
	}
	return w->finished < w->all.len;
}

const struct process_watch_counts *process_watch_counts(const struct process_watch *w)
{
	return &w->counts;
}

int process_watch_open(struct process_watch **out, struct beam_node *n, struct beam_resolver *r,
		       struct names *names, process_watch_fn *take, void *arg, struct error *err)
{
	struct process_watch *w = xcalloc(1, sizeof(*w));
	int rc;

	w->n = n;
	w->resolver = r;
	w->names = names;
	w->take = take;
	w->arg = arg;
	rc = process_reader_open(&w->reader, n, PROCESS_READ_DICTIONARY, err);
	rc = rc ? rc : process_slots_open(&w->table, &w->reader, err);
	rc = rc ? rc : stack_code_open(&w->code, n, err);
	if (rc) {
		process_watch_close(w);
		return rc;
	}
	w->slots = xmalloc(8 * (size_t)MIN(w->table.max, SLOTS_CHUNK));
	w->at = xcalloc(w->table.max, sizeof(*w->at));
	w->addrs = xcalloc(w->table.max, sizeof(*w->addrs));
	w->facts = xmalloc(BLOCK * sizeof(*w->facts));
	w->pending = xmalloc(BLOCK * sizeof(*w->pending));
	w->index = xmalloc(BLOCK * sizeof(*w->index));
	*out = w;
	return 0;
}

void process_watch_close(struct process_watch *w)
{
	if (!w)
		return;
	stack_code_close(&w->code);
	process_reader_close(&w->reader);
	vec_free(&w->all);
	vec_free(&w->unused);
	free(w->slots);
	for (size_t i = 0; i < PARTS_MAX; i++)
		vec_free(&w->parts[i].places);
	free(w->at);
	free(w->addrs);
	free(w->facts);
	free(w->pending);
	free(w->index);
	free(w);
}
