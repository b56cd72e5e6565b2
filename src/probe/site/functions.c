/* SPDX-License-Identifier: BSD-2-Clause */
/* See functions.h: symbols, and the search by recipes. */
#include "probe/site/functions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "probe/site/code_calls.h"
#include "probe/site/functions_internal.h"

#define MAX_FUNCTION (1u << 20) /* bytes of one function */
#define MAX_CALLS    4096u	/* in one function */
#define MAX_NAMES    1024u	/* names that are looked up */

struct known {
	char name[128];
	uint64_t addr; /* 0 = not found */
	bool busy;     /* is being searched, so that recipes cannot loop */
	char reason[128];
};

struct callees {
	uint64_t function;
	bool ok, only_jump;
	struct function_set set;
};

struct atom_call {
	uint64_t target;
	unsigned int nr;
};

struct functions {
	struct function_space space;
	bool ignore_symbols;
	VEC(struct known *) names;
	VEC(struct callees *) callees;
	VEC(struct atom_call) atom_calls;
	uint64_t atom; /* that atom_calls is for; 0 = none yet */
};

/* ---- sets ------------------------------------------------------------------------------------ */

bool function_set_has(const struct function_set *s, uint64_t addr)
{
	for (size_t i = 0; i < s->at.len; i++)
		if (s->at.data[i] == addr)
			return true;
	return false;
}

static void set_add(struct function_set *s, uint64_t addr)
{
	if (!function_set_has(s, addr))
		vec_push(&s->at, addr);
}

static void set_join(struct function_set *s, const struct function_set *more)
{
	for (size_t i = 0; i < more->at.len; i++)
		set_add(s, more->at.data[i]);
}

/* Keeps the addresses that are in `other` (in = true), or those that are not (false). */
static void set_filter(struct function_set *s, const struct function_set *other, bool in)
{
	size_t n = 0;

	for (size_t i = 0; i < s->at.len; i++)
		if (function_set_has(other, s->at.data[i]) == in)
			s->at.data[n++] = s->at.data[i];
	s->at.len = n;
}

static void set_free(struct function_set *s)
{
	vec_free(&s->at);
}

/* ---- what code calls ------------------------------------------------------------------------- */

static bool is_start(struct functions *f, uint64_t addr)
{
	uint64_t start, end;

	return addr >= f->space.text && addr < f->space.text_end &&
	       f->space.bounds(f->space.ctx, addr, &start, &end) && start == addr;
}

/* Adds the functions that the code calls; false if the code cannot be decoded. */
static bool add_calls(struct functions *f, const struct code_bytes *code, bool process,
		      struct function_set *out, bool *only_jump)
{
	struct code_call *calls = xmalloc(MAX_CALLS * sizeof(*calls));
	size_t nr = code_calls_find(code, calls, MAX_CALLS);

	for (size_t i = 0; nr != SIZE_MAX && i < nr; i++) {
		if (calls[i].target != code->addr && (!process || calls[i].process) &&
		    is_start(f, calls[i].target))
			set_add(out, calls[i].target);
	}
	*only_jump = nr == 1 && calls[0].jump;
	free(calls);
	return nr != SIZE_MAX;
}

static bool scan_code(struct functions *f, uint64_t addr, struct function_set *out, bool *only_jump)
{
	struct code_bytes code = {.addr = addr};
	uint64_t start, end;
	uint8_t *bytes;
	bool ok;

	if (!f->space.bounds(f->space.ctx, addr, &start, &end) || start != addr ||
	    end - start > MAX_FUNCTION)
		return false;
	code.size = (size_t)(end - start);
	bytes = xmalloc(code.size);
	code.bytes = bytes;
	ok = f->space.read(f->space.ctx, addr, bytes, code.size) &&
	     add_calls(f, &code, false, out, only_jump);
	free(bytes);
	return ok;
}

static struct callees *callees(struct functions *f, uint64_t addr)
{
	struct callees *c;

	for (size_t i = 0; i < f->callees.len; i++)
		if (f->callees.data[i]->function == addr)
			return f->callees.data[i];
	c = xcalloc(1, sizeof(*c));
	c->function = addr;
	c->ok = scan_code(f, addr, &c->set, &c->only_jump);
	vec_push(&f->callees, c);
	return c;
}

const struct function_set *functions_callees(struct functions *f, uint64_t addr)
{
	const struct callees *c = callees(f, addr);

	return c->ok ? &c->set : NULL;
}

bool functions_only_jumps(struct functions *f, uint64_t addr)
{
	const struct callees *c = callees(f, addr);

	return c->ok && c->only_jump;
}

bool functions_bif(struct functions *f, const char *mfa, uint64_t *addr)
{
	return f->space.bif(f->space.ctx, mfa, addr);
}

/* Adds what a function calls; if it only jumps to another function, also what that one calls. */
static bool function_calls(struct functions *f, uint64_t addr, struct function_set *out)
{
	const struct callees *c = callees(f, addr);
	const struct function_set *behind;

	if (!c->ok)
		return false;
	set_join(out, &c->set);
	if (!c->only_jump || c->set.at.len != 1)
		return true;
	behind = functions_callees(f, c->set.at.data[0]);
	if (behind)
		set_join(out, behind);
	return behind != NULL;
}

static bool fragment_calls(struct functions *f, const char *name, bool process,
			   struct function_set *out)
{
	struct code_bytes code = {.read_word = f->space.fragment_word, .ctx = f->space.ctx};
	uint8_t *bytes = NULL;
	bool ok, only_jump;

	if (!f->space.fragment(f->space.ctx, name, &bytes, &code.size, &code.addr))
		return false;
	code.bytes = bytes;
	ok = add_calls(f, &code, process, out, &only_jump);
	free(bytes);
	return ok;
}

static bool instruction_calls(struct functions *f, const char *name, struct function_set *out)
{
	uint64_t addr;

	if (!f->space.instruction(f->space.ctx, name, &addr) || !is_start(f, addr))
		return false;
	set_add(out, addr);
	return true;
}

/* ---- calls with an atom ---------------------------------------------------------------------- */

#define TEXT_MAX_SIZE	 ((uint64_t)64 << 20)
#define MAX_INSTRUCTIONS 12 /* from the load of the argument to the call */

static void count_call(struct functions *f, uint64_t target)
{
	for (size_t i = 0; i < f->atom_calls.len; i++) {
		if (f->atom_calls.data[i].target == target) {
			f->atom_calls.data[i].nr++;
			return;
		}
	}
	vec_push(&f->atom_calls, ((struct atom_call){target, 1}));
}

/* Counts, by target, the calls that follow a `mov $atom, %r8d` (the fifth argument). */
static void find_atom_calls(struct functions *f, uint64_t atom)
{
	uint64_t size = f->space.text_end - f->space.text;
	uint8_t load[6] = {0x41, 0xb8}, *text, *at;

	if (size > TEXT_MAX_SIZE || atom > UINT32_MAX)
		return;
	memcpy(load + 2, &atom, 4);
	text = xmalloc(size);
	at = f->space.read(f->space.ctx, f->space.text, text, size) ? text : NULL;
	while (at && (at = memmem(at, size - (size_t)(at - text), load, sizeof(load))) != NULL) {
		struct code_bytes code = {.bytes = at,
					  .size = size - (size_t)(at - text),
					  .addr = f->space.text + (uint64_t)(at - text)};
		uint64_t target = code_calls_first(&code, MAX_INSTRUCTIONS);

		if (target && is_start(f, target))
			count_call(f, target);
		at++;
	}
	free(text);
}

void functions_fifth_atom(struct functions *f, const char *atom, uint64_t addr, unsigned int *own,
			  unsigned int *other)
{
	uint64_t term = f->space.atom(f->space.ctx, atom);

	*own = *other = 0;
	if (!term)
		return;
	if (f->atom != term) {
		f->atom_calls.len = 0;
		find_atom_calls(f, term);
		f->atom = term;
	}
	for (size_t i = 0; i < f->atom_calls.len; i++) {
		const struct atom_call *c = &f->atom_calls.data[i];

		if (c->target == addr)
			*own = c->nr;
		else
			*other = MAX(*other, c->nr);
	}
}

/* ---- a recipe -------------------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3))) refuse(struct known *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->reason, sizeof(k->reason), fmt, ap);
	va_end(ap);
}

/* Functions that a clue of a recipe (see struct recipe) leads to. */
static bool clue_calls(struct functions *f, const char *clue, bool process,
		       struct function_set *out)
{
	size_t len = strlen(clue);
	char last = len > 0 ? clue[len - 1] : '\0';
	bool deeper = last == '>' || last == '+', ok;
	struct function_set direct = {0};
	uint64_t addr;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)(len - deeper), clue);
	if (name[0] == '@')
		ok = fragment_calls(f, name + 1, process, &direct);
	else if (name[0] == '$')
		ok = instruction_calls(f, name + 1, &direct);
	else if (strchr(name, ':'))
		ok = functions_bif(f, name, &addr) && function_calls(f, addr, &direct);
	else
		ok = functions_find(f, name, &addr) && function_calls(f, addr, &direct);
	if (ok && last != '>')
		set_join(out, &direct);
	for (size_t i = 0; ok && deeper && i < direct.at.len; i++) {
		const struct function_set *s = functions_callees(f, direct.at.data[i]);

		if (s)
			set_join(out, s);
	}
	set_free(&direct);
	return ok;
}

/* The functions that satisfy all clues; false, with k->reason, if a clue is not found. */
static bool gather(struct functions *f, const struct recipe *r, struct known *k,
		   struct function_set *set)
{
	for (int i = 0; i < 2 * RECIPE_CLUES; i++) {
		bool in = i < RECIPE_CLUES;
		const char *clue = in ? r->called_by[i] : r->not_by[i - RECIPE_CLUES];
		struct function_set calls = {0};

		if (!clue)
			continue;
		if (!clue_calls(f, clue, r->process && in, &calls)) {
			refuse(k, "hidden, and which functions %s calls is not known", clue);
			set_free(&calls);
			return false;
		}
		if (i == 0)
			set_join(set, &calls);
		else
			set_filter(set, &calls, in);
		set_free(&calls);
	}
	return true;
}

static bool is_between(struct functions *f, const struct recipe *r, uint64_t addr)
{
	uint64_t limit;

	return (!r->after || (functions_find(f, r->after, &limit) && addr > limit)) &&
	       (!r->before || (functions_find(f, r->before, &limit) && addr < limit));
}

static void follow(struct functions *f, const struct recipe *r, struct known *k)
{
	struct function_set set = {0};
	unsigned int nr = 0;
	uint64_t found = 0;

	if (gather(f, r, k, &set)) {
		for (size_t i = 0; i < set.at.len; i++) {
			if (!is_between(f, r, set.at.data[i]) ||
			    (r->fits && !r->fits(f, set.at.data[i], &set)))
				continue;
			found = set.at.data[i];
			nr++;
		}
		if (nr == 1)
			k->addr = found;
		else if (nr == 0)
			refuse(k, "hidden, and no function matches its recipe");
		else
			refuse(k, "hidden, and %u functions match its recipe", nr);
	}
	set_free(&set);
}

static bool is_for(const struct recipe *r, const struct functions *f)
{
	return f->space.otp >= r->from_otp && (!r->until_otp || f->space.otp <= r->until_otp);
}

static const struct recipe *recipe_of(const struct functions *f, const char *name)
{
	for (unsigned int i = 0; i < nr_function_recipes; i++)
		if (strcmp(function_recipes[i].name, name) == 0 && is_for(&function_recipes[i], f))
			return &function_recipes[i];
	return NULL;
}

/* ---- by name --------------------------------------------------------------------------------- */

/* Functions for NIFs and drivers: their symbols stay exported (OTP 29 hides the others). */
static bool is_for_extensions(const char *name)
{
	static const char *const others[] = {"add_driver_entry", "set_busy_port"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (strcmp(name, others[i]) == 0)
			return true;
	}
	return strncmp(name, "enif_", 5) == 0 || strncmp(name, "driver_", 7) == 0 ||
	       strncmp(name, "erl_drv_", 8) == 0;
}

/* Refuses a function with a symbol if the recipe's caller has an inlined copy of it. */
static void refuse_inlined(struct functions *f, const struct recipe *r, struct known *k)
{
	const struct function_set *calls;
	uint64_t caller, rest;

	if (!r || !r->caller || !functions_find(f, r->caller, &caller))
		return;
	calls = functions_callees(f, caller);
	if (!calls || function_set_has(calls, k->addr))
		return;
	k->busy = false; /* the recipe of `rest` may look this function up */
	if (r->rest && recipe_of(f, r->rest) && functions_find(f, r->rest, &rest))
		return;
	refuse(k, "the compiler has put a copy of it into %s, which no probe sees", r->caller);
	k->addr = 0;
}

static void find_address(struct functions *f, struct known *k)
{
	const struct recipe *r = recipe_of(f, k->name);

	if ((!f->ignore_symbols || is_for_extensions(k->name)) && !(r && r->not_by_symbol) &&
	    f->space.symbol(f->space.ctx, k->name, &k->addr)) {
		refuse_inlined(f, r, k);
		return;
	}
	k->addr = 0;
	if (r && f->space.bif)
		follow(f, r, k);
	if (!k->addr && f->space.matched && !f->ignore_symbols && !(r && r->not_by_symbol) &&
	    f->space.matched(f->space.ctx, k->name, &k->addr)) {
		k->reason[0] = '\0';
		refuse_inlined(f, r, k);
	}
}

static struct known *known(struct functions *f, const char *name)
{
	struct known *k;

	for (size_t i = 0; i < f->names.len; i++)
		if (strcmp(f->names.data[i]->name, name) == 0)
			return f->names.data[i];
	if (f->names.len >= MAX_NAMES || strlen(name) >= sizeof(k->name))
		return NULL;
	k = xcalloc(1, sizeof(*k));
	memcpy(k->name, name, strlen(name) + 1);
	vec_push(&f->names, k);
	k->busy = true;
	find_address(f, k);
	k->busy = false;
	return k;
}

int functions_otp(const struct functions *f)
{
	return f->space.otp;
}

const struct elf_file *functions_elf(const struct functions *f)
{
	return f->space.elf;
}

bool functions_find(struct functions *f, const char *name, uint64_t *addr)
{
	const struct known *k = known(f, name);

	if (!k || k->busy || !k->addr)
		return false;
	*addr = k->addr;
	return true;
}

const char *functions_reason(struct functions *f, const char *name)
{
	const struct known *k = known(f, name);

	return k ? k->reason : "too many names";
}

const char *functions_recipe(const struct functions *f, unsigned int i)
{
	for (unsigned int k = 0; k < nr_function_recipes; k++)
		if (!function_recipes[k].step && is_for(&function_recipes[k], f) && i-- == 0)
			return function_recipes[k].name;
	return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

void functions_open_space(struct functions **out, const struct function_space *space)
{
	struct functions *f = xcalloc(1, sizeof(*f));

	f->space = *space;
	*out = f;
}

void functions_ignore_symbols(struct functions *f)
{
	f->ignore_symbols = true;
}

void functions_close(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->names.len; i++)
		free(f->names.data[i]);
	for (size_t i = 0; i < f->callees.len; i++) {
		set_free(&f->callees.data[i]->set);
		free(f->callees.data[i]);
	}
	if (f->space.close)
		f->space.close(f->space.ctx);
	vec_free(&f->names);
	vec_free(&f->callees);
	vec_free(&f->atom_calls);
	free(f);
}
