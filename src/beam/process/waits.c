/* SPDX-License-Identifier: BSD-2-Clause */
/* See waits.h. */
#include "beam/process/waits.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/code/jit_name.h"
#include "beam/process/timers.h"
#include "beam/term/term_read.h"
#include "beam/vm/links.h"

/* Limit of the registers of one frame; functions of OTP that wait have fewer. */
#define MAX_REGISTERS 64
#define BATCH	      1024

/* Functions of OTP 25 to 29, of any arity, in which `receive` waits for an answer only. */
static const struct {
	const char *module, *function;
	enum wait_function kind;
	bool timeout;
} functions[] = {
	{"gen", "do_call", WAIT_FUNCTION_CALL, true},
	{"gen", "receive_response", WAIT_FUNCTION_CALL, true},
	{"gen", "wait_response", WAIT_FUNCTION_CALL, true},
	{"gen", "monitor_return", WAIT_FUNCTION_CALL, false},
	{"gen_statem", "call_clean", WAIT_FUNCTION_CALL, false},
	{"erpc", "call", WAIT_FUNCTION_CALL, false},
	{"erpc", "result", WAIT_FUNCTION_CALL, false},
	{"erpc", "receive_response", WAIT_FUNCTION_CALL, false},
	{"erpc", "wait_response", WAIT_FUNCTION_CALL, false},
	{"rpc", "do_srv_call", WAIT_FUNCTION_CALL, false},
	{"rpc", "server_call", WAIT_FUNCTION_CALL, false},
	{"proc_lib", "sync_start", WAIT_FUNCTION_CALL, false},
	{"proc_lib", "sync_start_monitor", WAIT_FUNCTION_CALL, false},
	{"proc_lib", "sync_start_link", WAIT_FUNCTION_LINK, false},
	{"proc_lib", "stop", WAIT_FUNCTION_CALL, false},
	{"proc_lib", "await_DOWN", WAIT_FUNCTION_CALL, false},
	{"proc_lib", "kill_flush", WAIT_FUNCTION_CALL, false},
	{"supervisor", "shutdown", WAIT_FUNCTION_CALL, false},
	{"code_server", "call", WAIT_FUNCTION_CALL, false},
	{"io", "execute_request", WAIT_FUNCTION_CALL, false},
	{"prim_inet", "send", WAIT_FUNCTION_PORT, false}, /* since OTP 26 */
	{"prim_inet", "send_recv_reply", WAIT_FUNCTION_PORT, false},
	{"Elixir.Task", "await", WAIT_FUNCTION_CALL, true},
	{"Elixir.Task", "await_receive", WAIT_FUNCTION_CALL, true},
};

/* ---- clues ---------------------------------------------------------------------------------- */

static bool place_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct waits *)ctx)->places.data[id].addr == *(const raddr *)key;
}

/* Index in functions[]; negative = not found. */
static int find_function(const char *module, const char *function)
{
	int i = (int)ARRAY_SIZE(functions) - 1;

	while (i >= 0 && (strcmp(functions[i].module, module) != 0 ||
			  strcmp(functions[i].function, function) != 0))
		i--;
	return i;
}

bool waits_for_answer_in(const char *module, const char *function)
{
	int at = find_function(module, function);

	return at >= 0 && functions[at].kind != WAIT_FUNCTION_PORT;
}

static void recognize(const struct stack_location *l, struct wait_place *place)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	int32_t arity;
	int at = -1;

	if (l->known && jit_name_parse(&l->function, &module, &name, &arity))
		at = find_function(module.buf, name.buf);
	if (at >= 0) {
		place->function = functions[at].kind;
		place->timeout = functions[at].timeout;
	}
	strbuf_free(&module);
	strbuf_free(&name);
}

static struct wait_place place_of(struct waits *w, const struct stack_frame *top)
{
	uint32_t hash = hash_mix(0, top->addr);
	uint32_t id = idmap_find(&w->place_index, hash, place_equal, w, &top->addr);
	struct wait_place place = {.addr = top->addr, .function = WAIT_FUNCTION_ANY};
	struct stack_location l;

	if (id != IDMAP_NONE)
		return w->places.data[id];
	stack_frame_locate(w->code, top, &l);
	recognize(&l, &place);
	idmap_add(&w->place_index, hash, (uint32_t)w->places.len);
	vec_push(&w->places, place);
	return place;
}

/* Milliseconds of `after`, if the frame has only one integer; -1 = unknown. */
static int64_t timeout_of(const struct process_stack *s, const struct stack_frame *top)
{
	int64_t timeout = -1;

	for (uint32_t y = 0; y < MIN(top->nr_y, (uint32_t)MAX_REGISTERS); y++) {
		uint64_t term = s->words.data[top->y + y];

		if (!TERM_IS_SMALL(term))
			continue;
		if (timeout >= 0 || TERM_SMALL(term) < 0)
			return -1;
		timeout = TERM_SMALL(term);
	}
	return timeout;
}

static bool is_clue(enum wait_function function, uint64_t term)
{
	switch (function) {
	case WAIT_FUNCTION_PORT:
		return TERM_IS_PORT(term);
	case WAIT_FUNCTION_LINK:
		return TERM_IS_BOXED(term) || TERM_IS_PID(term);
	default:
		return TERM_IS_BOXED(term);
	}
}

void waits_visit(struct waits *w, uint32_t i, const struct process_stack *s)
{
	enum process_status status = process_status_of(s->state);
	const struct stack_frame *top;
	struct wait_place place;
	int64_t timeout;

	if (status == PROCESS_SUSPENDED)
		vec_push(&w->suspended, i);
	if (s->frames.len == 0 || (status != PROCESS_WAITING && status != PROCESS_SUSPENDED))
		return;
	top = &s->frames.data[0];
	place = place_of(w, top);
	timeout = place.timeout ? timeout_of(s, top) : -1;
	for (uint32_t y = 0; y < MIN(top->nr_y, (uint32_t)MAX_REGISTERS); y++) {
		uint64_t term = s->words.data[top->y + y];

		if (is_clue(place.function, term))
			vec_push(&w->clues, ((struct wait_clue){i, place.function, term, timeout}));
	}
}

/* Removes the clues that are no pid, port or reference of this node. */
static void keep_references(struct waits *w)
{
	struct mem_range *ranges = xcalloc(BATCH, sizeof(*ranges));
	uint64_t *headers = xcalloc(BATCH, sizeof(*headers));
	size_t kept = 0;

	for (size_t from = 0; from < w->clues.len; from += BATCH) {
		size_t nr = MIN(w->clues.len - from, (size_t)BATCH);

		for (size_t i = 0; i < nr; i++) {
			uint64_t term = w->clues.data[from + i].term;
			/* Pids and ports have no header; their range reads any readable address. */
			raddr at = TERM_IS_BOXED(term)
					   ? TERM_ADDR(term)
					   : w->list->data[w->clues.data[from + i].from].addr;

			ranges[i] = (struct mem_range){at, &headers[i], sizeof(headers[i]), 0};
		}
		mem_readv(w->n->mem, ranges, nr);
		for (size_t i = 0; i < nr; i++) {
			struct wait_clue c = w->clues.data[from + i];

			if (!TERM_IS_BOXED(c.term) ||
			    (!ranges[i].err && HEADER_SUBTAG(headers[i]) == SUBTAG_REF))
				w->clues.data[kept++] = c;
		}
	}
	w->clues.len = kept;
	free(ranges);
	free(headers);
}

/* ---- proof by monitors and links ------------------------------------------------------------ */

static bool same_reference(struct term_reader *r, uint64_t a, uint64_t b)
{
	struct term_view x, y;

	if (term_view(r, a, &x) != TERM_KIND_REF || term_view(r, b, &y) != TERM_KIND_REF)
		return false;
	return x.id.nr_numbers == y.id.nr_numbers &&
	       memcmp(x.id.numbers, y.id.numbers, 4ul * x.id.nr_numbers) == 0;
}

static bool pid_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct waits *)ctx)->list->data[id].epid == *(const uint64_t *)key;
}

uint32_t waits_process(const struct waits *w, uint64_t item)
{
	return TERM_IS_PID(item) ? idmap_find(&w->pid_index, hash_mix(0, item), pid_equal, w, &item)
				 : IDMAP_NONE;
}

static struct wait make(const struct waits *w, uint32_t from, uint64_t item,
			enum wait_reason reason)
{
	struct wait wait = {.from = from,
			    .to = WAIT_ELSEWHERE,
			    .item = item,
			    .reason = reason,
			    .mark = w->list->data[from].reductions,
			    .waiting_ms = -1};
	uint32_t id = waits_process(w, item);

	if (id != IDMAP_NONE)
		wait.to = id;
	return wait;
}

void waits_add(struct waits *w, uint32_t from, uint64_t item, enum wait_reason reason)
{
	vec_push(&w->v, make(w, from, item, reason));
}

/* wait.mark of a request, from its reference: later requests of the process have other numbers. */
static uint64_t mark_of(struct term_reader *r, uint64_t ref)
{
	struct term_view x;

	if (term_view(r, ref, &x) != TERM_KIND_REF)
		return 0;
	return (uint64_t)x.id.numbers[2] << 50 ^ (uint64_t)x.id.numbers[1] << 18 ^ x.id.numbers[0];
}

/* Waiting time in ms: the time of `after` less its remaining time; -1 if one of them is unknown. */
static int64_t waiting_since(struct waits *w, const struct wait_clue *c)
{
	int64_t left;

	if (c->timeout_ms < 0 || !timer_of_receive(w->n, &w->list->data[c->from], &left) ||
	    left > c->timeout_ms)
		return -1;
	return c->timeout_ms - left;
}

static bool prove_monitor(struct waits *w, struct term_reader *r, const struct monitor_list *l,
			  const struct wait_clue *c, struct wait *other)
{
	for (size_t i = 0; i < l->v.len; i++) {
		const struct monitor_item *m = &l->v.data[i];

		struct wait wait;

		if (m->target || m->pending || !m->ref || !same_reference(r, c->term, m->ref))
			continue;
		wait = make(w, c->from, m->item, WAIT_ANSWER);
		wait.mark = mark_of(r, m->ref);
		if (c->function == WAIT_FUNCTION_ANY && !m->alias) {
			wait.reason = WAIT_MONITOR;
			*other = wait;
			continue;
		}
		wait.waiting_ms = waiting_since(w, c);
		vec_push(&w->v, wait);
		return true;
	}
	return false;
}

static bool prove_link(struct waits *w, const struct link_list *l, const struct wait_clue *c)
{
	for (size_t i = 0; i < l->v.len; i++) {
		if (l->v.data[i].item != c->term || l->v.data[i].unlinking)
			continue;
		waits_add(w, c->from, c->term, WAIT_ANSWER);
		return true;
	}
	return false;
}

/* Finds the wait of one process by its clues, w->clues[from .. to-1]. */
static void prove(struct waits *w, struct term_reader *r, size_t from, size_t to)
{
	const struct process_facts *p = &w->list->data[w->clues.data[from].from];
	struct monitor_list monitors = {0};
	struct wait other = {.reason = WAIT_ANSWER};
	struct link_list links = {0};
	bool proven = false;

	if (w->clues.data[from].function == WAIT_FUNCTION_PORT) {
		if (to - from == 1)
			waits_add(w, w->clues.data[from].from, w->clues.data[from].term,
				  WAIT_ANSWER);
		return;
	}
	monitors_read(w->n, p->monitors, 0, &monitors);
	if (w->clues.data[from].function == WAIT_FUNCTION_LINK)
		links_read(w->n, p->links, &links);
	w->unreadable += monitors.unreadable + links.unreadable;
	for (size_t i = from; i < to && !proven; i++) {
		const struct wait_clue *c = &w->clues.data[i];

		proven = TERM_IS_PID(c->term) ? prove_link(w, &links, c)
					      : prove_monitor(w, r, &monitors, c, &other);
	}
	if (!proven && other.reason == WAIT_MONITOR)
		vec_push(&w->monitors, other);
	monitors_free(&monitors);
	links_free(&links);
}

void waits_begin(struct waits *w, struct beam_node *n, const struct stack_code *code,
		 const struct process_list *list)
{
	memset(w, 0, sizeof(*w));
	w->n = n;
	w->code = code;
	w->list = list;
	for (size_t i = 0; i < list->len; i++)
		idmap_add(&w->pid_index, hash_mix(0, list->data[i].epid), (uint32_t)i);
}

static int by_process(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Is the process in w->v[0 .. nr-1], the sorted waits of suspended processes? */
static bool is_suspended(const struct waits *w, size_t nr, uint32_t from)
{
	return nr && bsearch(&(struct wait){.from = from}, w->v.data, nr, sizeof(struct wait),
			     by_process);
}

void waits_end(struct waits *w)
{
	struct term_formats formats;
	struct term_reader r;
	size_t nr;

	waits_of_suspended(w);
	nr = w->v.len;
	if (nr)
		qsort(w->v.data, nr, sizeof(struct wait), by_process);
	if (term_reader_init(&r, &formats, w->n))
		return;
	keep_references(w);
	for (size_t i = 0, next; i < w->clues.len; i = next) {
		for (next = i + 1;
		     next < w->clues.len && w->clues.data[next].from == w->clues.data[i].from;)
			next++;
		if (!is_suspended(w, nr, w->clues.data[i].from))
			prove(w, &r, i, next);
	}
	if (nr)
		qsort(w->v.data, w->v.len, sizeof(struct wait), by_process);
	waits_of_ports(w);
}

void waits_free(struct waits *w)
{
	vec_free(&w->v);
	vec_free(&w->monitors);
	vec_free(&w->suspended);
	port_list_free(&w->ports);
	dist_list_free(&w->dist);
	vec_free(&w->places);
	vec_free(&w->clues);
	idmap_free(&w->place_index);
	idmap_free(&w->pid_index);
}
