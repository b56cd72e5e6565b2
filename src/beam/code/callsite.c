/* SPDX-License-Identifier: BSD-2-Clause */
/* See callsite.h. */
#include "beam/code/callsite.h"

#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/idmap.h"
#include "base/keytab.h"
#include "base/vec.h"
#include "beam/code/callsite_code.h"
#include "beam/term/atoms.h"

#define MAX_SITES 65536 /* in each cache, of call sites and of exports; a full one is emptied */
#define MAX_BIFS  10000 /* OTP 29 has about 700 */

struct bif {
	raddr function;
	uint64_t mfa[3];
};

struct site {
	uint64_t key;	/* return address << 1; lowest bit: a guard BIF fragment made the call */
	raddr function; /* C function that is called there; 0 = unknown */
};

struct exported {
	raddr export;
	uint64_t mfa[3];
};

struct callsites {
	struct beam_node *node;
	const struct jit_code *jit;
	VEC(struct bif) bifs; /* by function */
	struct idmap bif_mfas;
	struct keytab sites, exports;
};

/* More bytes below `registers` cannot have been pushed by fragments, which push 4 words at most. */
#define PUSHED_MAX 128

raddr callsite_return_at(struct mem *mem, bool c_stack, raddr registers, raddr *pushed)
{
	raddr sp;

	*pushed = 0;
	if (!registers || !c_stack)
		return registers ? registers - 8 : 0;
	if (mem_read_u64(mem, registers, &sp) || (sp & 7) || sp > registers ||
	    registers - sp > PUSHED_MAX)
		return 0;
	*pushed = sp;
	return ((sp - 15) & ~15ull) - 8;
}

/* Words of the C stack below the return address that are searched: they hold the registers that the
 * C function and its callees have saved. */
#define SAVED_WORDS  64
#define FRAGMENT_MAX 1024

/* If the word at `sp` is the return address of a call of a fragment: bytes from that fragment's
 * start to `ra`, which are fewest for the fragment that contains `ra`; else FRAGMENT_MAX. */
static raddr fragment_distance(struct mem *mem, const struct address_range *fragments, raddr ra,
			       raddr sp)
{
	raddr caller, to;

	if (mem_read_u64(mem, sp, &caller))
		return FRAGMENT_MAX;
	to = callsite_code_called(mem, caller);
	return to >= fragments->start && to < ra ? MIN(ra - to, FRAGMENT_MAX) : FRAGMENT_MAX;
}

raddr callsite_stack_top(struct mem *mem, const struct address_range *fragments, raddr ra,
			 raddr return_at, raddr stop, raddr heap, raddr hend)
{
	uint64_t saved[SAVED_WORDS];
	uint8_t code[CALLSITE_AFTER_SIZE];
	raddr top = stop, least;

	if (ra < fragments->start || ra >= fragments->end ||
	    mem_read(mem, ra, code, sizeof(code)) || !callsite_code_keeps_stack(code))
		return stop;
	least = fragment_distance(mem, fragments, ra, stop);
	if (mem_read(mem, return_at - sizeof(saved), saved, sizeof(saved)))
		return 0;
	for (size_t i = ARRAY_SIZE(saved); i-- > 0;) {
		raddr distance;

		if ((saved[i] & 7) || saved[i] < heap || saved[i] >= hend)
			continue;
		distance = fragment_distance(mem, fragments, ra, saved[i]);
		/* If both fit, a saved register is preferred to `stop`, which may be from an
		 * earlier call of the same fragment; and the register that was saved first, by the
		 * called function itself, to those that its callees saved. */
		if (distance < least || (top == stop && distance == least)) {
			least = distance;
			top = saved[i];
		}
	}
	return least < FRAGMENT_MAX ? top : 0;
}

static uint32_t hash_mfa(const uint64_t mfa[3])
{
	return hash_mix(hash_mix(hash_mix(1, mfa[0]), mfa[1]), mfa[2]);
}

static bool bif_equal(const void *ctx, uint32_t id, const void *key)
{
	const struct callsites *c = ctx;

	return memcmp(c->bifs.data[id].mfa, key, sizeof(c->bifs.data[id].mfa)) == 0;
}

static int by_function(const void *a, const void *b)
{
	const struct bif *x = a, *y = b;

	return x->function < y->function ? -1 : x->function > y->function;
}

/* Several BIFs may share a C function (aliases), which then does not identify a BIF. */
static void read_bifs(struct callsites *c)
{
	const struct beam_anchors *a = &c->node->anchors;
	uint8_t *table;
	size_t size = (size_t)a->nr_bifs * BEAM_BIF_SIZE;

	if (!a->bif_table || a->nr_bifs == 0 || a->nr_bifs > MAX_BIFS)
		return;
	table = xmalloc(size);
	if (mem_read(c->node->mem, a->bif_table, table, size) == 0) {
		for (uint32_t i = 0; i < a->nr_bifs; i++) {
			const uint8_t *e = table + (size_t)i * BEAM_BIF_SIZE;
			struct bif b = {.function = bytes_u64(e, BEAM_BIF_FUNCTION),
					.mfa = {bytes_u64(e, BEAM_BIF_MODULE),
						bytes_u64(e, BEAM_BIF_NAME),
						bytes_u32(e, BEAM_BIF_ARITY)}};

			vec_push(&c->bifs, b);
		}
		qsort(c->bifs.data, c->bifs.len, sizeof(c->bifs.data[0]), by_function);
		for (uint32_t i = 0; i < c->bifs.len; i++)
			idmap_add(&c->bif_mfas, hash_mfa(c->bifs.data[i].mfa), i);
	}
	free(table);
}

struct callsites *callsites_open(struct beam_node *n, const struct jit_code *jit)
{
	struct callsites *c = xcalloc(1, sizeof(*c));

	c->node = n;
	c->jit = jit;
	c->sites = (struct keytab)KEYTAB_INIT(struct site);
	c->exports = (struct keytab)KEYTAB_INIT(struct exported);
	read_bifs(c);
	return c;
}

void callsites_close(struct callsites *c)
{
	if (!c)
		return;
	vec_free(&c->bifs);
	idmap_free(&c->bif_mfas);
	keytab_free(&c->sites);
	keytab_free(&c->exports);
	free(c);
}

void callsites_forget(struct callsites *c)
{
	keytab_free(&c->sites);
}

bool callsite_bif_of(struct callsites *c, raddr function, uint64_t mfa[3])
{
	const struct bif key = {.function = function}, *b = NULL;

	if (function && c->bifs.len)
		b = bsearch(&key, c->bifs.data, c->bifs.len, sizeof(key), by_function);
	if (!b)
		return false;
	/* Shared by several BIFs. */
	if ((b > c->bifs.data && b[-1].function == function) ||
	    (b + 1 < c->bifs.data + c->bifs.len && b[1].function == function))
		return false;
	memcpy(mfa, b->mfa, sizeof(b->mfa));
	return true;
}

bool callsite_is_bif(struct callsites *c, const uint64_t mfa[3])
{
	return idmap_find(&c->bif_mfas, hash_mfa(mfa), bif_equal, c, mfa) != IDMAP_NONE;
}

static bool valid_mfa(struct callsites *c, const uint64_t mfa[3])
{
	size_t len;

	return TERM_IS_ATOM(mfa[0]) && TERM_IS_ATOM(mfa[1]) && mfa[2] <= 255 &&
	       beam_atom_text(c->node->atoms, mfa[0], &len) &&
	       beam_atom_text(c->node->atoms, mfa[1], &len);
}

/* The MFA of an Export.  Exports are never freed: the result can be cached for ever. */
static bool export_mfa(struct callsites *c, raddr export, uint64_t mfa[3])
{
	struct exported *e = keytab_find(&c->exports, export), new = {.export = export};

	if (!export || (export & 7))
		return false;
	if (!e) {
		if (mem_read(c->node->mem, export + (uint32_t)c->node->layout.export_mfa, new.mfa,
			     sizeof(new.mfa)) ||
		    !valid_mfa(c, new.mfa))
			return false;
		if (c->exports.nr >= MAX_SITES)
			keytab_free(&c->exports);
		e = keytab_add(&c->exports, export);
		*e = new;
	}
	memcpy(mfa, e->mfa, sizeof(e->mfa));
	return true;
}

/* The C function that `call [rip + disp]` before `ra` calls (0 = another instruction); false if the
 * constant with its address is unreadable. */
static bool direct_target(struct callsites *c, raddr ra, const uint8_t *code, raddr *function)
{
	raddr slot = callsite_code_slot(code, ra);

	*function = 0;
	return !slot || mem_read_u64(c->node->mem, slot, function) == 0;
}

/* The C function that is called at a call site, from the code there; 0 if unknown. */
static raddr site_function(struct callsites *c, raddr ra, bool guard)
{
	uint64_t key = ra << 1 | guard;
	struct site *s = keytab_find(&c->sites, key);
	uint8_t code[CALLSITE_CODE_SIZE];
	raddr function;

	if (s)
		return s->function;
	if (mem_read(c->node->mem, ra - CALLSITE_CODE_SIZE, code, sizeof(code)))
		return 0;
	if (guard)
		function = callsite_code_guard(code);
	else if (!direct_target(c, ra, code, &function))
		return 0;
	if (c->sites.nr >= MAX_SITES)
		callsites_forget(c);
	s = keytab_add(&c->sites, key);
	s->function = function;
	return function;
}

static bool is_named(const struct callsite_callee *t, const char *name)
{
	return t->fragment_len == strlen(name) && memcmp(t->fragment, name, t->fragment_len) == 0;
}

static void fragment_target(struct callsites *c, raddr caller_ra, uint64_t light_bif,
			    const uint64_t current[3], struct callsite_callee *t)
{
	if (is_named(t, "call_light_bif_shared")) {
		export_mfa(c,
			   c->node->identity.otp == 24
				   ? callsite_code_light_bif(c->node->mem, caller_ra)
				   : light_bif,
			   t->mfa);
	} else if (is_named(t, "call_bif_shared") || is_named(t, "dispatch_bif")) {
		if (valid_mfa(c, current))
			memcpy(t->mfa, current, sizeof(t->mfa));
	} else if (is_named(t, "call_nif_shared") || is_named(t, "call_nif_early") ||
		   is_named(t, "dispatch_nif")) {
		t->nif = true;
		if (valid_mfa(c, current))
			memcpy(t->mfa, current, sizeof(t->mfa));
	} else if ((is_named(t, "i_bif_body_shared") || is_named(t, "i_bif_guard_shared")) &&
		   caller_ra) {
		t->function = site_function(c, caller_ra, true);
		callsite_bif_of(c, t->function, t->mfa);
	}
}

void callsite_target(struct callsites *c, raddr ra, raddr caller_ra, uint64_t light_bif,
		     const uint64_t current[3], struct callsite_callee *out)
{
	struct jit_function f;

	memset(out, 0, sizeof(*out));
	if (!jit_find(c->jit, ra - 1, &f))
		return;
	out->function = site_function(c, ra, false);
	if (f.fragment && f.name_len > f.module_len + 2) {
		out->fragment = f.name + f.module_len + 2;
		out->fragment_len = f.name_len - f.module_len - 2;
		fragment_target(c, caller_ra, light_bif, current, out);
	} else {
		callsite_bif_of(c, out->function, out->mfa);
	}
}
