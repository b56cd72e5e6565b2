/* SPDX-License-Identifier: BSD-2-Clause */
/* See timers.h. */
#include "beam/process/timers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/xalloc.h"
#include "beam/vm/rbtree.h"

/*
 * ErtsTmrHead {u32 roflgs, refc; u; receiver}; then, both in a timer of the tree of times and in
 * one of the wheel, the time when it fires: in clock ticks, of 1 ms on every 64-bit machine
 * (SYS_CLOCK_RESOLUTION).  In ErtsBifTimer either kind takes the first 72 bytes; then follow {u32
 * state, refn[3]; proc_tree, tree {parent, right, left}; message; bp}.
 */
#define TIMER_FLAGS    0
#define TIMER_RECEIVER 16
#define TIMER_TIMEOUT  24
#define TIMER_SIZE     32
#define BIF_STATE      72
#define BIF_REF	       76
#define BIF_PROC_TREE  88
#define BIF_TREE       112
#define BIF_MESSAGE    136
#define BIF_SIZE       152
/* Offsets in a BIF timer that is paused because its process is suspended (OTP 29); they overwrite
 * its reference.  Process has the address of the pointer to the first such timer. */
#define PAUSED_LEFT	152
#define PAUSED_NEXT	160
#define PAUSED_SIZE	168
#define NODE_RIGHT	8 /* behind the parent */
#define NODE_LEFT	16
#define PARENT_FLAGS	3ull
#define FLAG_BIF	(1u << 12) /* ERTS_TMR_ROFLG_* */
#define FLAG_REG_NAME	(1u << 14)
#define FLAG_PAUSED	(1u << 18) /* since OTP 28; the time of an `after` is then the ms left */
#define STATE_ACTIVE	0
#define TIMER_TIMED_OUT 1 /* ERTS_PTMR_TIMEDOUT, in place of an address */

/* ErtsHLTimerService.btm_tree: behind the queue of cancelled timers and the tree of times. */
#define SERVICE_BIF_TREE 120
/* ErtsTimerWheel.pos: behind 1 + 2 * 16384 slots, a pointer, and twice 64 counts. */
#define WHEEL_POS ((1 + 2 * 16384 + 1 + 2 * 64) * 8)

#define NS_PER_TICK 1000000

struct timer_walk {
	struct beam_node *n;
	struct timer_list *out;
	uint64_t receiver; /* a registered name: take timers that send to it; 0 = take all */
	int64_t now;	   /* ticks */
	uint64_t seen;
};

/* ---- current time ------------------------------------------------------------------------- */

/*
 * Current time in ticks.  The node's clock is the kernel's plus an offset that it corrects from
 * time to time: the last correction, {Erlang time, kernel's time}, is at the anchor.  The slight
 * drift since then is ignored.
 */
static bool clock_now(const struct beam_node *n, int64_t *now)
{
	int64_t instance[2], os;
	struct timespec ts;

	if (n->core || !n->anchors.clock || clock_gettime(CLOCK_MONOTONIC, &ts) != 0 ||
	    mem_read(n->mem, n->anchors.clock, instance, sizeof(instance)) != 0)
		return false;
	os = (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
	if (os < instance[1])
		return false;
	*now = (instance[0] + (os - instance[1]) - 1) / NS_PER_TICK + 1;
	return true;
}

/* The latest time, in ticks, at which a scheduler has handled its timers. */
static int64_t wheels_now(struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	int64_t now = 0;

	for (uint32_t i = 0; i < n->anchors.nr_sched; i++) {
		raddr sched = n->anchors.sched + (raddr)i * (raddr)l->sched_stride, wheel;
		uint64_t pos;

		if (mem_read_u64(n->mem, sched + (raddr)l->sched_timer_wheel, &wheel) == 0 &&
		    mem_read_u64(n->mem, wheel + WHEEL_POS, &pos) == 0 && (int64_t)pos > now)
			now = (int64_t)pos;
	}
	return now;
}

/* ---- trees -------------------------------------------------------------------------------- */

static bool is_active(const uint8_t *bytes)
{
	return (bytes_u32(bytes, TIMER_FLAGS) & FLAG_BIF) &&
	       bytes_u32(bytes, BIF_STATE) == STATE_ACTIVE;
}

static void take_timer(void *arg, raddr addr, const uint8_t *bytes)
{
	struct timer_walk *w = arg;
	int64_t at = (int64_t)bytes_u64(bytes, TIMER_TIMEOUT);
	struct timer_item item = {
		.by_name = (bytes_u32(bytes, TIMER_FLAGS) & FLAG_REG_NAME) != 0,
		.message = bytes_u64(bytes, BIF_MESSAGE),
		.left = at - w->now,
	};

	UNUSED(addr);
	if (!is_active(bytes))
		return;
	if (w->receiver && (!item.by_name || bytes_u64(bytes, TIMER_RECEIVER) != w->receiver))
		return;
	memcpy(item.ref, bytes + BIF_REF, sizeof(item.ref));
	vec_push(&w->out->v, item);
}

/* The tree of BIF timers; `at`: offset of the tree's pointers in a timer. */
static struct rbtree tree_of(struct beam_node *n, int32_t at)
{
	return (struct rbtree){.mem = n->mem,
			       .size = BIF_SIZE,
			       .parent = at,
			       .left = at + NODE_LEFT,
			       .right = at + NODE_RIGHT,
			       .flags = PARENT_FLAGS};
}

static void walk(struct timer_walk *w, raddr root)
{
	struct rbtree tree = tree_of(w->n, BIF_PROC_TREE);

	tree.max = TIMERS_MAX;
	tree.take = take_timer;
	tree.arg = w;
	rbtree_walk(&tree, root);
	w->seen = tree.seen;
	w->out->unreadable += tree.unreadable;
	w->out->cut |= tree.cut;
}

/* Walks the BIF timers that all schedulers have started, for any receiver. */
static void walk_all(struct beam_node *n, struct rbtree *tree)
{
	const struct beam_layout *l = &n->layout;

	for (uint32_t i = 0; i < n->anchors.nr_sched; i++) {
		raddr sched = n->anchors.sched + (raddr)i * (raddr)l->sched_stride;
		raddr service, root;

		if (mem_read_u64(n->mem, sched + (raddr)l->sched_timer_service, &service) != 0 ||
		    mem_read_u64(n->mem, service + SERVICE_BIF_TREE, &root) != 0)
			tree->unreadable++;
		else
			rbtree_walk(tree, root);
	}
}

/* Timers that send to a name are only in the trees of all timers. */
static void walk_names(struct timer_walk *w, uint64_t name)
{
	struct rbtree tree = tree_of(w->n, BIF_TREE);

	w->receiver = name;
	tree.max = TIMERS_MAX;
	tree.seen = w->seen;
	tree.take = take_timer;
	tree.arg = w;
	walk_all(w->n, &tree);
	w->out->unreadable += tree.unreadable;
	w->out->cut |= tree.cut;
}

/* ---- one process -------------------------------------------------------------------------- */

static void read_receive(struct timer_walk *w, raddr timer)
{
	struct timer_item item = {.receive = true};
	uint8_t bytes[TIMER_SIZE];
	int64_t at;

	if (timer > TIMER_TIMED_OUT) {
		if (mem_read(w->n->mem, timer, bytes, sizeof(bytes)) != 0) {
			w->out->unreadable++;
			return;
		}
		at = (int64_t)bytes_u64(bytes, TIMER_TIMEOUT);
		item.paused = w->n->identity.otp >= 28 &&
			      (bytes_u32(bytes, TIMER_FLAGS) & FLAG_PAUSED) != 0;
		item.left = item.paused ? at : at - w->now;
	}
	vec_push(&w->out->v, item);
}

/* OTP 29: reads the timers of a suspended process, from a list in Process. */
static void read_paused(struct timer_walk *w, const struct process_facts *p, raddr list)
{
	raddr at;

	if (mem_read_u64(w->n->mem, list, &at) != 0) {
		w->out->unreadable++;
		return;
	}
	while (at) {
		struct timer_item item = {.paused = true};
		uint8_t b[PAUSED_SIZE];

		if (w->seen++ >= TIMERS_MAX) {
			w->out->cut = true;
			return;
		}
		if (mem_read(w->n->mem, at, b, sizeof(b)) != 0 ||
		    !(bytes_u32(b, TIMER_FLAGS) & FLAG_PAUSED) ||
		    bytes_u64(b, TIMER_RECEIVER) != p->addr) {
			w->out->unreadable++;
			return;
		}
		item.message = bytes_u64(b, BIF_MESSAGE);
		item.left = (int64_t)bytes_u64(b, PAUSED_LEFT);
		vec_push(&w->out->v, item);
		at = bytes_u64(b, PAUSED_NEXT);
	}
}

bool timer_of_receive(struct beam_node *n, const struct process_facts *p, int64_t *left_ms)
{
	struct timer_list list = {0};
	struct timer_walk w = {.n = n, .out = &list};
	uint64_t receiver;
	bool known = p->timer > TIMER_TIMED_OUT && clock_now(n, &w.now) &&
		     mem_read_u64(n->mem, p->timer + TIMER_RECEIVER, &receiver) == 0 &&
		     receiver == p->addr;

	if (known)
		read_receive(&w, p->timer);
	known = list.v.len == 1 && !list.v.data[0].paused;
	if (known)
		*left_ms = list.v.data[0].left;
	timers_free(&list);
	return known;
}

static int by_time(const void *a, const void *b)
{
	const struct timer_item *x = a, *y = b;

	if (x->receive != y->receive)
		return x->receive ? -1 : 1;
	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return memcmp(x->ref, y->ref, sizeof(x->ref));
}

void timers_read(struct beam_node *n, const struct process_facts *p, struct timer_list *out)
{
	const struct beam_layout *l = &n->layout;
	struct timer_walk w = {.n = n, .out = out};
	raddr receive = 0, root = 0, paused = 0;

	memset(out, 0, sizeof(*out));
	if (mem_read_u64(n->mem, p->addr + (raddr)l->process_timer, &receive) != 0 ||
	    mem_read_u64(n->mem, p->addr + (raddr)l->process_bif_timers, &root) != 0 ||
	    (l->process_paused_bif_timers != LAYOUT_ABSENT &&
	     mem_read_u64(n->mem, p->addr + (raddr)l->process_paused_bif_timers, &paused) != 0)) {
		out->unreadable++;
		return;
	}
	out->clock_known = clock_now(n, &w.now);
	if (!out->clock_known)
		w.now = wheels_now(n);
	if (receive)
		read_receive(&w, receive);
	walk(&w, root);
	if (paused)
		read_paused(&w, p, paused);
	if (p->registered)
		walk_names(&w, p->registered);
	if (out->v.len)
		qsort(out->v.data, out->v.len, sizeof(*out->v.data), by_time);
}

void timers_free(struct timer_list *t)
{
	vec_free(&t->v);
}

/* ---- all, by receiver --------------------------------------------------------------------- */

struct counting {
	struct timer_totals *out;
	int64_t late;	    /* ticks: what was due then is overdue; INT64_MIN = not known */
	struct idmap index; /* of out->v, by receiver */
};

static bool same_receiver(const void *ctx, uint32_t id, const void *key)
{
	const struct counting *c = ctx;

	/* An atom never has the tag bits of a struct's address. */
	return c->out->v.data[id].to == *(const uint64_t *)key;
}

static void count_timer(void *arg, raddr addr, const uint8_t *bytes)
{
	struct counting *c = arg;
	struct timer_receiver new = {.to = bytes_u64(bytes, TIMER_RECEIVER), .nr = 1};
	uint32_t hash = hash_mix(0, new.to), id;

	UNUSED(addr);
	if (!is_active(bytes))
		return;
	new.by_name = (bytes_u32(bytes, TIMER_FLAGS) & FLAG_REG_NAME) != 0;
	c->out->nr++;
	c->out->overdue += (int64_t)bytes_u64(bytes, TIMER_TIMEOUT) <= c->late;
	id = idmap_find(&c->index, hash, same_receiver, c, &new.to);
	if (id != IDMAP_NONE) {
		c->out->v.data[id].nr++;
		return;
	}
	idmap_add(&c->index, hash, (uint32_t)c->out->v.len);
	vec_push(&c->out->v, new);
}

static int by_nr(const void *a, const void *b)
{
	const struct timer_receiver *x = a, *y = b;

	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

void timer_totals_read(struct beam_node *n, struct timer_totals *out)
{
	struct rbtree tree = tree_of(n, BIF_TREE);
	struct counting c = {.out = out};

	memset(out, 0, sizeof(*out));
	c.late = clock_now(n, &c.late) ? c.late - TIMER_OVERDUE_MS : INT64_MIN;
	tree.max = TIMERS_ALL_MAX;
	tree.take = count_timer;
	tree.arg = &c;
	walk_all(n, &tree);
	out->unreadable = tree.unreadable;
	out->cut = tree.cut;
	idmap_free(&c.index);
	if (out->v.len)
		qsort(out->v.data, out->v.len, sizeof(*out->v.data), by_nr);
}

void timer_totals_free(struct timer_totals *t)
{
	vec_free(&t->v);
}

/* ---- all, one by one ---------------------------------------------------------------------- */

struct each_timer {
	struct beam_node *n;
	void (*visit)(void *arg, const struct timer_any *t);
	void *arg;
	int64_t now;
};

static void visit_timer(void *arg, raddr addr, const uint8_t *bytes)
{
	struct each_timer *e = arg;
	struct timer_any t = {
		.by_name = (bytes_u32(bytes, TIMER_FLAGS) & FLAG_REG_NAME) != 0,
		.to = bytes_u64(bytes, TIMER_RECEIVER),
		.message = bytes_u64(bytes, BIF_MESSAGE),
		.left = MAX((int64_t)bytes_u64(bytes, TIMER_TIMEOUT) - e->now, 0),
	};

	UNUSED(addr);
	if (!is_active(bytes))
		return;
	if (!t.by_name &&
	    mem_read_u64(e->n->mem, t.to + (raddr)e->n->layout.process_id, &t.to) != 0)
		t.to = 0;
	e->visit(e->arg, &t);
}

uint64_t timers_each(struct beam_node *n, void (*visit)(void *arg, const struct timer_any *t),
		     void *arg)
{
	struct rbtree tree = tree_of(n, BIF_TREE);
	struct each_timer e = {.n = n, .visit = visit, .arg = arg};

	if (!clock_now(n, &e.now))
		e.now = wheels_now(n);
	tree.max = TIMERS_ALL_MAX;
	tree.take = visit_timer;
	tree.arg = &e;
	walk_all(n, &tree);
	return tree.unreadable + tree.cut;
}
