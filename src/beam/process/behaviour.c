/* SPDX-License-Identifier: BSD-2-Clause */
/* See behaviour.h. */
#include "beam/process/behaviour.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/term/term_read.h"

#define MAX_ROLES 6
#define MAX_VOTES 32

const char *behaviour_name(enum behaviour b)
{
	static const char *const names[] = {"", "gen_server", "gen_statem", "gen_event"};

	return names[b];
}

static const char several_values[] = "several values in the stack frame of its loop could be the "
				     "state; sys:get_state/1 on the node shows it";

static bool fail(struct behaviour_state *out, const char *why)
{
	out->known = false;
	snprintf(out->why, sizeof(out->why), "%s", why);
	return false;
}

/* ---- gen_server: the register of the state -------------------------------------------------- */

struct server_names {
	uint64_t infinity, callback_cache, server_data;
};

static bool is_pid(struct term_reader *r, uint64_t term)
{
	struct term_view v;

	return TERM_IS_PID(term) ||
	       (TERM_IS_BOXED(term) && term_view(r, term, &v) == TERM_KIND_EXTERNAL_PID);
}

static bool is_list(uint64_t term)
{
	return term == TERM_NIL || TERM_IS_LIST(term);
}

static bool is_timeout(const struct server_names *names, uint64_t term)
{
	return (names->infinity && term == names->infinity) ||
	       (TERM_IS_SMALL(term) && TERM_SMALL(term) >= 0);
}

static bool is_tuple(struct term_reader *r, uint64_t term)
{
	struct term_view v;

	return TERM_IS_BOXED(term) && term_view(r, term, &v) == TERM_KIND_TUPLE;
}

/* Is the term a tuple of any arity whose first element is this atom? */
static bool is_record(struct term_reader *r, uint64_t term, uint64_t atom)
{
	uint64_t first;

	return atom && TERM_IS_BOXED(term) && term_element(r, term, 0, &first) == 0 &&
	       first == atom;
}

/* Are elements[from .. to] funs M:F/A?  Both records below have the callbacks in such elements. */
static bool has_callbacks(struct term_reader *r, const uint64_t *elements, uint32_t from,
			  uint32_t to)
{
	struct term_view v;

	for (uint32_t i = from; i <= to; i++) {
		if (!TERM_IS_BOXED(elements[i]) ||
		    term_view(r, elements[i], &v) != TERM_KIND_EXPORT)
			return false;
	}
	return true;
}

/* #callback_cache{module, handle_call, handle_cast, handle_info}: OTP 26 and 27. */
static bool is_callback_cache(struct term_reader *r, uint64_t term, uint64_t tag)
{
	uint64_t e[5];
	uint32_t arity;

	return r->otp >= 26 && is_record(r, term, tag) && term_tuple(r, term, e, 5, &arity) == 0 &&
	       arity == 5 && TERM_IS_ATOM(e[1]) && has_callbacks(r, e, 2, 4);
}

/* #server_data{parent, tag, name, module, hibernate_after, handle_call, handle_cast, handle_info,
 * handle_continue}: since OTP 28.  The parameter `tag` is the atom server_data.  A record of
 * another size is not recognised. */
static bool is_server_data(struct term_reader *r, uint64_t term, uint64_t tag)
{
	uint64_t e[10];
	uint32_t arity;

	return r->otp >= 28 && is_record(r, term, tag) && term_tuple(r, term, e, 10, &arity) == 0 &&
	       arity == 10 && is_pid(r, e[1]) && has_callbacks(r, e, 6, 9);
}

/*
 * For each argument of gen_server:loop other than the state, fills roles[] with the Y registers
 * that can hold it, a bit for each; returns the number of roles.  OTP 25: Parent, Name, State, Mod,
 * HibernateAfterTimeout, Debug; 26 and 27: #callback_cache{} for Mod; since 28: #server_data{},
 * State, Debug, Timer.  `likely`: only registers with the argument's usual value; else all with a
 * possible value.
 */
static size_t server_roles(struct term_reader *r, const struct server_names *names,
			   const struct behaviour_registers *b, bool likely,
			   uint32_t roles[MAX_ROLES])
{
	uint32_t data = 0, cache = 0, atom = 0, module = 0, pid = 0, parent = 0, name = 0;
	uint32_t timeout = 0, infinity = 0, list = 0, nil = 0, tuple = 0, all = 0;
	size_t nr = 0;

	for (uint32_t i = 0; i < b->nr; i++) {
		uint64_t y = b->y[i];
		uint32_t bit = 1u << i;

		all |= bit;
		data |= is_server_data(r, y, names->server_data) ? bit : 0;
		cache |= is_callback_cache(r, y, names->callback_cache) ? bit : 0;
		atom |= TERM_IS_ATOM(y) ? bit : 0;
		module |= b->module && y == b->module ? bit : 0;
		pid |= is_pid(r, y) ? bit : 0;
		parent |= (b->parent && y == b->parent) || y == b->epid ? bit : 0;
		name |= y == b->epid || (b->registered && y == b->registered) ? bit : 0;
		timeout |= is_timeout(names, y) ? bit : 0;
		infinity |= names->infinity && y == names->infinity ? bit : 0;
		list |= is_list(y) ? bit : 0;
		nil |= y == TERM_NIL ? bit : 0;
		tuple |= y == TERM_NIL || is_tuple(r, y) ? bit : 0;
	}
	roles[nr++] = likely ? nil : list; /* Debug */
	if (data) {
		roles[nr++] = data;
		roles[nr++] = likely ? nil : tuple; /* Timer */
		return nr;
	}
	roles[nr++] = likely ? parent : pid;
	roles[nr++] = likely ? name : all;
	roles[nr++] = likely && infinity ? infinity : timeout; /* HibernateAfterTimeout */
	roles[nr++] = cache ? cache : likely ? module : atom;
	return nr;
}

/* Can each role have a register of its own that is not in `taken`?  At most one register may remain
 * without a role, and only if it can be the timeout of the loop. */
static bool can_place(const uint32_t *roles, size_t nr, uint32_t taken, uint32_t all,
		      uint32_t timeouts)
{
	if (nr == 0) {
		uint32_t left = all & ~taken;

		return (left & (left - 1)) == 0 && (left & ~timeouts) == 0;
	}
	for (uint32_t set = roles[0] & ~taken; set; set &= set - 1) {
		if (can_place(roles + 1, nr - 1, taken | (set & -set), all, timeouts))
			return true;
	}
	return false;
}

uint32_t behaviour_server_candidates(struct term_reader *r, const struct behaviour_registers *b,
				     bool likely)
{
	struct server_names names = {
		beam_atom_find(r->atoms, "infinity"),
		beam_atom_find(r->atoms, "callback_cache"),
		beam_atom_find(r->atoms, "server_data"),
	};
	uint32_t roles[MAX_ROLES], all, timeouts = 0, found = 0;
	size_t nr;

	if (b->nr == 0 || b->nr > BEHAVIOUR_MAX_REGISTERS)
		return 0;
	all = (1u << b->nr) - 1;
	for (uint32_t i = 0; i < b->nr; i++)
		timeouts |= is_timeout(&names, b->y[i]) ? 1u << i : 0;
	nr = server_roles(r, &names, b, likely, roles);
	for (uint32_t i = 0; i < b->nr; i++) {
		if (can_place(roles, nr, 1u << i, all, timeouts))
			found |= 1u << i;
	}
	return found;
}

/* ---- gen_server: the state ------------------------------------------------------------------ */

/* Module in the process's $initial_call, {Module, Function, Arity}; 0 = unknown. */
static uint64_t initial_module(struct term_reader *r, const struct process_facts *p)
{
	uint64_t mfa[3];
	uint32_t arity;

	if (!p->initial_call || term_tuple(r, p->initial_call, mfa, 3, &arity) != 0 || arity != 3)
		return 0;
	return TERM_IS_ATOM(mfa[0]) ? mfa[0] : 0;
}

static struct behaviour_registers registers_of(struct term_reader *r, const struct process_facts *p,
					       const uint64_t *y, uint32_t nr)
{
	struct behaviour_registers b = {
		.y = y,
		.nr = nr,
		.epid = p->epid,
		.parent = TERM_IS_PID(p->parent) ? p->parent : 0,
		.registered = p->registered,
		.module = initial_module(r, p),
	};

	return b;
}

/* True if all registers of `set` have the same value, which is then the state. */
static bool one_value(const uint64_t *y, uint32_t set, uint64_t *value)
{
	bool any = false;

	for (uint32_t i = 0; set; i++, set >>= 1) {
		if (!(set & 1))
			continue;
		if (any && y[i] != *value)
			return false;
		*value = y[i];
		any = true;
	}
	return any;
}

static bool one_bit(uint32_t set)
{
	return set && (set & (set - 1)) == 0;
}

struct election {
	struct beam_node *n;
	struct term_reader *r;
	const struct process_facts *p; /* the process whose state is searched */
	uint32_t nr;		       /* number of registers */
	unsigned int votes[BEHAVIOUR_MAX_REGISTERS], all_votes;
};

static void vote(struct election *e, const struct process_facts *p, const uint64_t *y)
{
	struct behaviour_registers b = registers_of(e->r, p, y, e->nr);
	uint32_t set = behaviour_server_candidates(e->r, &b, true);

	if (!one_bit(set))
		return;
	e->votes[__builtin_ctz(set)]++;
	e->all_votes++;
}

/* Lets processes of the block vote that wait at the same instruction as e->p. */
static int ask_block(void *arg, struct process_facts *block, size_t nr)
{
	struct election *e = arg;
	/* Without native stack the first word of the frame is its return address. */
	raddr skip = e->n->identity.native_stack ? 0 : 8;

	for (size_t i = 0; i < nr && e->all_votes < MAX_VOTES; i++) {
		const struct process_facts *o = &block[i];
		uint64_t y[BEHAVIOUR_MAX_REGISTERS];
		struct process_facts whole;

		if (o->i == e->p->i && o->epid != e->p->epid && o->status == PROCESS_WAITING &&
		    o->stop + skip + 8ull * e->nr <= o->hend &&
		    process_read(e->n, o->epid, PROCESS_READ_DICTIONARY, &whole) == 0 &&
		    whole.i == e->p->i &&
		    mem_read(e->n->mem, whole.stop + skip, y, 8ull * e->nr) == 0)
			vote(e, &whole, y);
	}
	return e->all_votes < MAX_VOTES ? 0 : 1;
}

/*
 * Finds the register of the state by vote of all processes that wait at the same instruction.  A
 * process votes if the usual values of the other arguments leave only one register.  Its vote may
 * be wrong (a state that is the process's own pid or its parent), so three in four must agree.
 * Returns the bit of the register; 0 if they do not agree.
 */
static uint32_t elect(struct beam_node *n, struct term_reader *r, const struct process_facts *p,
		      const uint64_t *y, uint32_t nr)
{
	struct election e = {.n = n, .r = r, .p = p, .nr = nr};

	vote(&e, p, y);
	if (processes_scan(n, 0, ask_block, &e, NULL, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < nr; i++) {
		if (e.votes[i] && e.votes[i] * 4 >= e.all_votes * 3)
			return 1u << i;
	}
	return 0;
}

static bool server_state(struct beam_node *n, const struct process_facts *p, struct term_reader *r,
			 const uint64_t *y, uint32_t nr, struct behaviour_state *out)
{
	struct behaviour_registers b = registers_of(r, p, y, nr);
	uint32_t set = behaviour_server_candidates(r, &b, false);

	if (!set)
		return fail(out, "the stack frame of its gen_server loop differs from those that "
				 "ebeam knows");
	if (!one_value(y, set, &out->value) &&
	    !one_value(y, set & elect(n, r, p, y, nr), &out->value))
		return fail(out, several_values);
	return out->known = true;
}

/* ---- gen_statem, gen_event ------------------------------------------------------------------ */

/* Finds {State, Data}, which is in #state{state_data = {State, Data}, postponed, ...}. */
static bool statem_state(struct term_reader *r, const uint64_t *y, uint32_t nr,
			 struct behaviour_state *out)
{
	uint64_t tag = beam_atom_find(r->atoms, "state"), record[2], pair;
	unsigned int found = 0;
	uint32_t arity;

	for (uint32_t i = 0; i < nr; i++) {
		if (!is_record(r, y[i], tag) || term_tuple(r, y[i], record, 2, &arity) != 0 ||
		    arity < 5 || term_tuple(r, record[1], &pair, 1, &arity) != 0 || arity != 2)
			continue;
		if (found++ && out->value != record[1])
			return fail(out, several_values);
		out->value = record[1];
	}
	if (!found)
		return fail(out, "the stack frame of its gen_statem loop differs from those that "
				 "ebeam knows");
	return out->known = true;
}

/* Is `list` a list of #handler{module, id, state, supervised}? */
static bool is_handlers(struct term_reader *r, uint64_t list)
{
	uint64_t tag = beam_atom_find(r->atoms, "handler"), head;

	if (!is_list(list))
		return false;
	while (term_next(r, &list, &head)) {
		if (!tag || !term_is_tagged(r, head, tag, 5))
			return false;
	}
	return list == TERM_NIL;
}

/* Finds the list of handlers, or []; debug options are also a list, but not of handlers. */
static bool event_state(struct term_reader *r, const uint64_t *y, uint32_t nr,
			struct behaviour_state *out)
{
	unsigned int found = 0, empty = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (y[i] == TERM_NIL) {
			empty++;
		} else if (is_handlers(r, y[i])) {
			if (found++ && out->value != y[i])
				return fail(out, several_values);
			out->value = y[i];
		}
	}
	if (!found && !empty)
		return fail(out, "the stack frame of its gen_event loop differs from those that "
				 "ebeam knows");
	if (!found)
		out->value = TERM_NIL;
	return out->known = true;
}

/* ---- loops and wakeups ---------------------------------------------------------------------- */

static const struct loop {
	const char *module, *function;
	enum behaviour behaviour;
} loops[] = {
	{"gen_server", "loop", BEHAVIOUR_GEN_SERVER},
	{"gen_server", "loop_hibernate", BEHAVIOUR_GEN_SERVER}, /* since OTP 28 */
	{"gen_server", "loop_wakeup", BEHAVIOUR_GEN_SERVER},
	{"gen_statem", "loop_receive", BEHAVIOUR_GEN_STATEM}, /* up to OTP 27 */
	{"gen_statem", "loop", BEHAVIOUR_GEN_STATEM},
	{"gen_statem", "loop_hibernate", BEHAVIOUR_GEN_STATEM},
	{"gen_statem", "loop_wakeup", BEHAVIOUR_GEN_STATEM},
	{"gen_event", "fetch_msg", BEHAVIOUR_GEN_EVENT},
};

/* Args of proc_lib:hibernate(Module, Function, Args): the state is always the same element. */
static const struct wakeup {
	const char *module, *function;
	enum behaviour behaviour;
	uint32_t nr_args, state; /* state: index of the argument that is the state, 0 .. */
} wakeups[] = {
	{"gen_server", "wake_hib", BEHAVIOUR_GEN_SERVER, 6, 2},
	{"gen_event", "wake_hib", BEHAVIOUR_GEN_EVENT, 5, 2},
	{"gen_statem", "wakeup_from_hibernate", BEHAVIOUR_GEN_STATEM, 3, 2},
};

static bool frame_is(const struct stack_location *at, const char *module, const char *function)
{
	size_t m = strlen(module), f = strlen(function);
	const struct jit_function *j = &at->function;

	return at->known && j->name_len > m + f + 2 && memcmp(j->name, module, m) == 0 &&
	       j->name[m] == ':' && memcmp(j->name + m + 1, function, f) == 0 &&
	       j->name[m + 1 + f] == '/';
}

static bool atom_is(struct term_reader *r, uint64_t term, const char *text)
{
	size_t len;
	const char *have = beam_atom_text(r->atoms, term, &len);

	return have && strcmp(have, text) == 0;
}

static size_t list_take(struct term_reader *r, uint64_t list, uint64_t *items, size_t max)
{
	uint64_t head;
	size_t nr = 0;

	while (term_next(r, &list, &head)) {
		if (nr == max)
			return max + 1;
		items[nr++] = head;
	}
	return list == TERM_NIL ? nr : max + 1;
}

/* Finds the saved arguments of a hibernating process, which will call proc_lib:wake_up(M, F, A). */
static const struct wakeup *find_wakeup(struct beam_node *n, struct term_reader *r,
					const struct process_facts *p, uint64_t *args)
{
	const struct beam_layout *l = &n->layout;
	uint64_t x[3], mfa[3];
	raddr arg_reg;

	if (!(p->flags & F_HIBERNATED) ||
	    mem_read_u64(n->mem, p->addr + (raddr)l->process_arg_reg, &arg_reg) != 0 ||
	    mem_read(n->mem, arg_reg, x, sizeof(x)) != 0 || !atom_is(r, x[0], "proc_lib") ||
	    !atom_is(r, x[1], "wake_up") || list_take(r, x[2], mfa, 3) != 3)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(wakeups); i++) {
		const struct wakeup *w = &wakeups[i];

		if (atom_is(r, mfa[0], w->module) && atom_is(r, mfa[1], w->function) &&
		    list_take(r, mfa[2], args, w->nr_args) == w->nr_args)
			return w;
	}
	return NULL;
}

static bool state_of_args(struct term_reader *r, const struct wakeup *w, const uint64_t *args,
			  struct behaviour_state *out)
{
	const uint64_t *arg = &args[w->state];

	out->hibernating = true;
	out->behaviour = w->behaviour;
	if (w->behaviour == BEHAVIOUR_GEN_STATEM)
		return statem_state(r, arg, 1, out);
	if (w->behaviour == BEHAVIOUR_GEN_EVENT)
		return event_state(r, arg, 1, out);
	out->value = *arg;
	return out->known = true;
}

static bool state_of_frame(struct beam_node *n, const struct process_facts *p,
			   const struct process_stack *stack, struct term_reader *r,
			   struct behaviour_state *out)
{
	const struct stack_frame *f = &stack->frames.data[0];
	const uint64_t *y = stack->words.data + f->y;

	if (f->nr_y == 0 || f->nr_y > BEHAVIOUR_MAX_REGISTERS ||
	    (uint64_t)f->y + f->nr_y > stack->words.len)
		return fail(out, "the stack frame of its loop has no values, or more than ebeam "
				 "knows of");
	if (out->behaviour == BEHAVIOUR_GEN_SERVER)
		return server_state(n, p, r, y, f->nr_y, out);
	return out->behaviour == BEHAVIOUR_GEN_STATEM ? statem_state(r, y, f->nr_y, out)
						      : event_state(r, y, f->nr_y, out);
}

/* Why no state was found: inside a callback, a behaviour's function is deeper in the stack. */
static void explain(const struct stack_code *c, const struct process_stack *stack,
		    struct behaviour_state *out)
{
	static const char *const modules[] = {"", "gen_server:", "gen_statem:", "gen_event:"};

	for (size_t i = 0; i < stack->frames.len; i++) {
		struct stack_location at;

		stack_frame_locate(c, &stack->frames.data[i], &at);
		for (int b = BEHAVIOUR_GEN_SERVER; at.known && b <= BEHAVIOUR_GEN_EVENT; b++) {
			size_t len = strlen(modules[b]);

			if (at.function.name_len <= len ||
			    memcmp(at.function.name, modules[b], len) != 0)
				continue;
			out->behaviour = (enum behaviour)b;
			fail(out,
			     stack->stale
				     ? "the process is running, so its state is not in memory; "
				       "try again when it waits for messages"
				     : "the process is inside a callback, so its state is not in "
				       "its loop; try again when it waits for messages");
			return;
		}
	}
	fail(out, "not a gen_server, gen_statem or gen_event");
}

void behaviour_state_read(struct beam_node *n, const struct stack_code *c,
			  const struct process_facts *p, const struct process_stack *stack,
			  struct term_reader *r, struct behaviour_state *out)
{
	uint64_t args[8];
	const struct wakeup *w = find_wakeup(n, r, p, args);
	struct stack_location at = {0};

	memset(out, 0, sizeof(*out));
	if (w) {
		state_of_args(r, w, args, out);
		return;
	}
	if (stack->frames.len && !stack->stale)
		stack_frame_locate(c, &stack->frames.data[0], &at);
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		if (!frame_is(&at, loops[i].module, loops[i].function))
			continue;
		out->behaviour = loops[i].behaviour;
		out->hibernating = (p->flags & F_HIBERNATED) != 0;
		state_of_frame(n, p, stack, r, out);
		return;
	}
	explain(c, stack, out);
}

/* gen_event: prints [{Module, Id, State}, ...] for its handlers. */
void behaviour_state_print(const struct behaviour_state *s, struct term_reader *r,
			   struct strbuf *out)
{
	uint64_t list = s->value, head, handler[4];
	uint32_t arity;
	bool any = false;

	if (s->behaviour != BEHAVIOUR_GEN_EVENT) {
		term_print(r, out, s->value);
		return;
	}
	strbuf_addch(out, '[');
	while (term_next(r, &list, &head)) {
		if (term_tuple(r, head, handler, 4, &arity) != 0)
			break;
		strbuf_addstr(out, any ? ",{" : "{");
		for (int i = 1; i < 4; i++) {
			term_print(r, out, handler[i]);
			strbuf_addstr(out, i < 3 ? "," : "}");
		}
		any = true;
	}
	strbuf_addch(out, ']');
}
