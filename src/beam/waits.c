/* SPDX-License-Identifier: BSD-2-Clause */
/* See waits.h. */
#include "beam/waits.h"

#include <string.h>

#include "base/compiler.h"
#include "beam/jit_name.h"
#include "beam/links.h"
#include "beam/term_read.h"

/* Registers of one frame that are looked at; no function of OTP that waits has as many. */
#define MAX_REGISTERS 64
#define BATCH	      1024

#define SUBTAG_MASK 0x3full
#define SUBTAG_REF  0x10ull

/* Functions of OTP 25 to 29, of any arity, whose `receive` waits for an answer only. */
static const struct {
	const char *module, *function;
	enum wait_function kind;
} functions[] = {
	{"gen", "do_call", WAIT_FUNCTION_CALL},
	{"gen", "receive_response", WAIT_FUNCTION_CALL},
	{"gen", "wait_response", WAIT_FUNCTION_CALL},
	{"gen", "monitor_return", WAIT_FUNCTION_CALL},
	{"gen_statem", "call_clean", WAIT_FUNCTION_CALL},
	{"erpc", "call", WAIT_FUNCTION_CALL},
	{"erpc", "result", WAIT_FUNCTION_CALL},
	{"erpc", "receive_response", WAIT_FUNCTION_CALL},
	{"erpc", "wait_response", WAIT_FUNCTION_CALL},
	{"rpc", "do_srv_call", WAIT_FUNCTION_CALL},
	{"rpc", "server_call", WAIT_FUNCTION_CALL},
	{"proc_lib", "sync_start", WAIT_FUNCTION_CALL},
	{"proc_lib", "sync_start_monitor", WAIT_FUNCTION_CALL},
	{"proc_lib", "sync_start_link", WAIT_FUNCTION_LINK},
	{"proc_lib", "stop", WAIT_FUNCTION_CALL},
	{"proc_lib", "await_DOWN", WAIT_FUNCTION_CALL},
	{"proc_lib", "kill_flush", WAIT_FUNCTION_CALL},
	{"supervisor", "shutdown", WAIT_FUNCTION_CALL},
	{"code_server", "call", WAIT_FUNCTION_CALL},
	{"io", "execute_request", WAIT_FUNCTION_CALL},
	{"Elixir.Task", "await", WAIT_FUNCTION_CALL},
	{"Elixir.Task", "await_receive", WAIT_FUNCTION_CALL},
};

/* ---- clues ---------------------------------------------------------------------------------- */

static bool place_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct waits *)ctx)->places.data[id].addr == *(const raddr *)key;
}

static enum wait_function function_kind(const struct stack_location *l)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	enum wait_function kind = WAIT_FUNCTION_ANY;
	int32_t arity;

	if (l->known && jit_name_parse(&l->function, &module, &name, &arity)) {
		for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
			if (strcmp(functions[i].module, module.buf) == 0 &&
			    strcmp(functions[i].function, name.buf) == 0)
				kind = functions[i].kind;
		}
	}
	strbuf_free(&module);
	strbuf_free(&name);
	return kind;
}

static enum wait_function kind_of(struct waits *w, const struct stack_frame *top)
{
	uint32_t hash = hash_mix(0, top->addr);
	uint32_t id = idmap_find(&w->place_index, hash, place_equal, w, &top->addr);
	struct wait_place place = {.addr = top->addr};
	struct stack_location l;

	if (id != IDMAP_NONE)
		return w->places.data[id].function;
	stack_frame_locate(w->code, top, &l);
	place.function = function_kind(&l);
	idmap_add(&w->place_index, hash, (uint32_t)w->places.len);
	vec_push(&w->places, place);
	return place.function;
}

void waits_visit(struct waits *w, uint32_t i, const struct process_stack *s)
{
	enum process_status status = process_status_of(s->state);
	const struct stack_frame *top;
	enum wait_function kind;

	if (s->frames.len == 0 || (status != PROCESS_WAITING && status != PROCESS_SUSPENDED))
		return;
	top = &s->frames.data[0];
	kind = kind_of(w, top);
	for (uint32_t y = 0; y < MIN(top->nr_y, (uint32_t)MAX_REGISTERS); y++) {
		uint64_t term = s->words.data[top->y + y];

		if (TERM_IS_BOXED(term) || (kind == WAIT_FUNCTION_LINK && TERM_IS_PID(term)))
			vec_push(&w->clues, ((struct wait_clue){i, kind, term}));
	}
}

/* Keeps pids and what is a reference of this node. */
static void keep_references(struct waits *w)
{
	struct mem_range *ranges = xcalloc(BATCH, sizeof(*ranges));
	uint64_t *headers = xcalloc(BATCH, sizeof(*headers));
	size_t kept = 0;

	for (size_t from = 0; from < w->clues.len; from += BATCH) {
		size_t nr = MIN(w->clues.len - from, (size_t)BATCH);

		for (size_t i = 0; i < nr; i++) {
			uint64_t term = w->clues.data[from + i].term;
			/* Of a pid nothing is read: any readable word will do. */
			raddr at = TERM_IS_BOXED(term)
					   ? TERM_ADDR(term)
					   : w->list->data[w->clues.data[from + i].from].addr;

			ranges[i] = (struct mem_range){at, &headers[i], sizeof(headers[i]), 0};
		}
		mem_readv(w->n->mem, ranges, nr);
		for (size_t i = 0; i < nr; i++) {
			struct wait_clue c = w->clues.data[from + i];

			if (TERM_IS_PID(c.term) ||
			    (!ranges[i].err && (headers[i] & SUBTAG_MASK) == SUBTAG_REF))
				w->clues.data[kept++] = c;
		}
	}
	w->clues.len = kept;
	free(ranges);
	free(headers);
}

/* ---- proof ---------------------------------------------------------------------------------- */

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

static void add(struct waits *w, uint32_t from, uint64_t item)
{
	struct wait wait = {.from = from, .to = WAIT_ELSEWHERE, .item = item};
	uint32_t id = idmap_find(&w->pid_index, hash_mix(0, item), pid_equal, w, &item);

	if (TERM_IS_PID(item) && id != IDMAP_NONE)
		wait.to = id;
	vec_push(&w->v, wait);
}

static bool prove_monitor(struct waits *w, struct term_reader *r, const struct monitor_list *l,
			  const struct wait_clue *c)
{
	for (size_t i = 0; i < l->v.len; i++) {
		const struct monitor_item *m = &l->v.data[i];

		if (m->target || m->pending || !m->ref ||
		    (c->function == WAIT_FUNCTION_ANY && !m->alias) ||
		    !same_reference(r, c->term, m->ref))
			continue;
		add(w, c->from, m->item);
		return true;
	}
	return false;
}

static bool prove_link(struct waits *w, const struct link_list *l, const struct wait_clue *c)
{
	for (size_t i = 0; i < l->v.len; i++) {
		if (l->v.data[i].item != c->term || l->v.data[i].unlinking)
			continue;
		add(w, c->from, c->term);
		return true;
	}
	return false;
}

/* The clues [from, to) are of one process. */
static void prove(struct waits *w, struct term_reader *r, size_t from, size_t to)
{
	const struct process_facts *p = &w->list->data[w->clues.data[from].from];
	struct monitor_list monitors = {0};
	struct link_list links = {0};
	bool proven = false;

	monitors_read(w->n, p->monitors, 0, &monitors);
	if (w->clues.data[from].function == WAIT_FUNCTION_LINK)
		links_read(w->n, p->links, &links);
	w->unreadable += monitors.unreadable + links.unreadable;
	for (size_t i = from; i < to && !proven; i++) {
		const struct wait_clue *c = &w->clues.data[i];

		proven = TERM_IS_PID(c->term) ? prove_link(w, &links, c)
					      : prove_monitor(w, r, &monitors, c);
	}
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

void waits_end(struct waits *w)
{
	struct term_formats formats;
	struct term_reader r;

	if (term_reader_init(&r, &formats, w->n))
		return;
	keep_references(w);
	for (size_t i = 0, next; i < w->clues.len; i = next) {
		for (next = i + 1;
		     next < w->clues.len && w->clues.data[next].from == w->clues.data[i].from;)
			next++;
		prove(w, &r, i, next);
	}
}

void waits_free(struct waits *w)
{
	vec_free(&w->v);
	vec_free(&w->places);
	vec_free(&w->clues);
	idmap_free(&w->place_index);
	idmap_free(&w->pid_index);
}
