/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where calls arrive, over a made-up node laid out as OTP 25, 27 and 29 lay theirs out: functions
 * of modules, BIFs and NIFs, hints; and what is left of them when memory holds nonsense.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/distance.h"
#include "base/strbuf.h"
#include "beam/code/call_sites.h"
#include "beam/code/call_targets.h"
#include "beam/code/jit.h"
#include "beam/code/modules.h"
#include "lib/fakenode.h"

static const int releases[] = {24, 25, 27, 29};

#define CODE_SIZE 0x1000
#define STEP	  0x100 /* as jitlist_add_code() */
#define C(n)	  (0x400000 + 16 * (n))

struct world {
	struct fakenode *f;
	struct beam_node *n;
	const struct beam_layout *l;
	raddr modules[8], entries[16];
	raddr lists, natives, library, module_tables, jit;
	uint32_t nr_modules, nr_entries;
};

static void put_table(struct world *w, raddr table, const char *name, const raddr *objects,
		      uint32_t nr)
{
	raddr seg_table = image_alloc(w->f->im, 8), segment = image_alloc(w->f->im, 8 * 1024);
	raddr text = image_alloc(w->f->im, strlen(name) + 1);

	image_put(w->f->im, text, name, strlen(name) + 1);
	image_u64(w->f->im, table + (raddr)w->l->index_table_name, text);
	image_u32(w->f->im, table + (raddr)w->l->index_table_shift, 58);
	image_u32(w->f->im, table + (raddr)w->l->index_table_slots, 1024);
	image_u32(w->f->im, table + (raddr)w->l->index_table_entries, nr);
	image_u64(w->f->im, table + (raddr)w->l->index_table_seg_table, seg_table);
	image_u64(w->f->im, seg_table, segment);
	for (uint32_t i = 0; i < nr; i++)
		image_u64(w->f->im, segment + 8 * (raddr)i, objects[i]);
}

/* Function i of the module: its code stands at STEP * (i + 1). */
static raddr entry_of(raddr code, uint32_t i)
{
	return code + STEP * (raddr)(i + 1);
}

static raddr put_module(struct world *w, const char *name, const char *const *functions,
			uint32_t nr, raddr nif)
{
	raddr m = image_alloc(w->f->im, (size_t)w->l->module_size), code;
	raddr curr = m + (raddr)w->l->module_curr;

	code = image_alloc(w->f->im, CODE_SIZE);
	image_u64(w->f->im, code + (raddr)w->l->code_header_num_functions, nr);
	for (uint32_t i = 0; i < nr; i++) {
		raddr info = entry_of(code, i) - BEAM_CODE_INFO_SIZE;
		char function[64];
		uint64_t mfa[3];
		char *slash;

		strcpy(function, functions[i]);
		slash = strrchr(function, '/');
		*slash = '\0';
		fakenode_mfa(w->f, mfa, name, function, (uint64_t)atoi(slash + 1));
		image_put(w->f->im, info + 16, mfa, sizeof(mfa));
		image_u64(w->f->im, code + (raddr)w->l->code_header_functions + 8 * (raddr)i, info);
	}
	image_u32(w->f->im, m + (raddr)w->l->module_module,
		  (uint32_t)(fakenode_atom(w->f, name) >> 6));
	image_u64(w->f->im, curr + (raddr)w->l->module_instance_code_hdr, code);
	image_u32(w->f->im, curr + (raddr)w->l->module_instance_code_length, CODE_SIZE);
	image_u64(w->f->im, curr + (raddr)w->l->module_instance_nif, nif);
	w->modules[w->nr_modules++] = m;
	return code;
}

/* Leads to `address` with the code index in use, or, if it is traced, by its own trampoline. */
static void put_export(struct world *w, const char *module, const char *function, uint64_t arity,
		       raddr address, bool traced)
{
	raddr export = fakenode_export(w->f, module, function, arity);
	raddr entry = image_alloc(w->f->im, 32);

	image_u64(w->f->im, export + 8, traced ? 0x1234 : address);
	image_u64(w->f->im, export + (raddr)w->l->export_info + 56, traced ? address : 0);
	image_u64(w->f->im, entry + 24, export);
	w->entries[w->nr_entries++] = entry;
}

static void put_bif(struct world *w, const char *module, const char *function, uint32_t arity,
		    raddr c_function, uint32_t kind, bool dirty)
{
	raddr row = w->n->anchors.bif_table + w->n->anchors.nr_bifs * (raddr)BEAM_BIF_SIZE;

	fakenode_bif(w->f, module, function, arity, dirty ? 0x999 : c_function);
	image_u64(w->f->im, row + 32, c_function);
	image_u32(w->f->im, row + 40, kind);
}

static void put_nif(struct world *w, raddr entry, raddr function, raddr dirty)
{
	image_u64(w->f->im, entry + 16, function);
	image_u64(w->f->im, entry + 24, w->library);
	image_u64(w->f->im, entry + 32, dirty);
}

static void put_tables(struct world *w)
{
	raddr size = (raddr)w->l->index_table_size, exports;
	struct beam_anchors *a = &w->n->anchors;

	w->module_tables = image_alloc(w->f->im, 3 * size);
	exports = image_alloc(w->f->im, 3 * size);
	for (int i = 0; i < 3; i++) {
		put_table(w, w->module_tables + (raddr)i * size, "module_code", w->modules,
			  i == 1 ? w->nr_modules : 0);
		put_table(w, exports + (raddr)i * size, "export_list", w->entries,
			  i == 1 ? w->nr_entries : 0);
	}
	a->module_code = w->module_tables;
	*(w->n->identity.otp < 28 ? &a->export_table : &a->staged_exports) = exports;
	a->active_code_ix = image_alloc(w->f->im, 8);
	image_u32(w->f->im, a->active_code_ix, 1);
}

static const char *const lists[] = {"map/2", "seq/2", "seq/3", "my own/1", "member/2"};
static const char *const natives[] = {"soft/1", "dirty/2", "plain/0"};
static const char *const of_erlang[] = {"abs/1", "self/0", "apply/2", "send/2"};

static struct world make(int otp)
{
	static const char *const map[] = {"map/2"};
	struct world w = {.f = fakenode_open(otp)};
	raddr erlang, elixir;

	w.n = &w.f->node;
	w.l = &w.n->layout;
	w.n->identity.otp = otp;
	w.n->identity.jit = true;
	w.library = image_alloc(w.f->im, 64);
	w.lists = put_module(&w, "lists", lists, ARRAY_SIZE(lists), 0);
	w.natives = put_module(&w, "natives", natives, ARRAY_SIZE(natives), w.library);
	erlang = put_module(&w, "erlang", of_erlang, ARRAY_SIZE(of_erlang), 0);
	elixir = put_module(&w, "Elixir.Enum", map, 1, 0);
	put_nif(&w, entry_of(w.natives, 0), C(10), 0);
	put_nif(&w, entry_of(w.natives, 1), C(11), C(12));
	put_nif(&w, entry_of(w.lists, 0), C(13), 0); /* of a module without a library: no NIF */
	put_export(&w, "lists", "map", 2, entry_of(w.lists, 0), false);
	put_export(&w, "lists", "seq", 2, entry_of(w.lists, 1), true);
	put_export(&w, "lists", "nosuch", 2, 0, false);
	put_export(&w, "Elixir.Enum", "map", 2, entry_of(elixir, 0), false);
	put_export(&w, "erlang", "abs", 1, entry_of(erlang, 0), false);
	put_bif(&w, "erlang", "abs", 1, C(1), 2, false);
	put_bif(&w, "erlang", "self", 0, C(2), 2, false);
	put_bif(&w, "erlang", "send", 2, C(3), 0, false);
	put_bif(&w, "lists", "member", 2, C(4), 0, false);
	put_bif(&w, "re", "run", 2, C(5), 0, true);
	put_tables(&w);
	return w;
}

static void unmake(struct world *w)
{
	fakenode_close(w->f);
}

static int find(struct world *w, struct call_targets *t, const char *module, const char *function,
		int arity, struct error *err)
{
	const struct call_query query = {module, function, arity};

	memset(err, 0, sizeof(*err));
	return call_targets_find(t, w->n, NULL, &query, err);
}

static struct call_target one(struct world *w, const char *module, const char *function, int arity)
{
	struct call_targets t;
	struct call_target found;
	struct error err;

	assert_int_equal(find(w, &t, module, function, arity, &err), 0);
	assert_int_equal(t.v.len, 1);
	assert_int_equal(t.unreadable + t.beyond, 0);
	assert_false(t.moved);
	found = t.v.data[0];
	call_targets_free(&t);
	return found;
}

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct call_target t = one(&w, "lists", "map", 2);

		assert_int_equal(t.kind, CALL_TARGET_ERLANG);
		assert_true(t.entry == entry_of(w.lists, 0) && !t.c_function && t.exported);
		assert_true(t.code == w.lists && t.serial == 0);
		t = one(&w, "lists", "seq", 2);
		assert_true(t.exported && t.entry == entry_of(w.lists, 1));
		t = one(&w, "lists", "seq", 3);
		assert_true(!t.exported && t.arity == 3);
		t = one(&w, "lists", "member", 2);
		assert_true(t.kind == CALL_TARGET_BIF && t.c_function == C(4) && t.entry);
		t = one(&w, "natives", "soft", 1);
		assert_true(t.kind == CALL_TARGET_NIF && t.c_function == C(10) && !t.dirty);
		t = one(&w, "natives", "dirty", 2);
		assert_true(t.kind == CALL_TARGET_NIF && t.c_function == C(12) && t.dirty);
		t = one(&w, "natives", "plain", 0);
		assert_true(t.kind == CALL_TARGET_ERLANG && !t.c_function);
		t = one(&w, "erlang", "abs", 1);
		assert_true(t.kind == CALL_TARGET_BIF && t.c_function == C(1) && t.exported);
		t = one(&w, "erlang", "self", 0);
		assert_true(t.kind == CALL_TARGET_INLINED_BIF && t.c_function == C(2));
		t = one(&w, "erlang", "apply", 2);
		assert_true(t.kind == CALL_TARGET_INLINED_BIF && !t.c_function && t.entry);
		t = one(&w, "re", "run", 2); /* not loaded */
		assert_true(t.kind == CALL_TARGET_BIF && t.dirty && t.c_function == C(5));
		assert_true(!t.entry && !t.code);
		unmake(&w);
	}
}

static void test_any(void **state)
{
	static const char *const names[] = {
		"'Elixir.Enum':map/2", "erlang:abs/1", "erlang:apply/2",  "erlang:self/0",
		"erlang:send/2",       "lists:map/2",  "lists:member/2",  "lists:'my own'/1",
		"lists:seq/2",	       "lists:seq/3",  "natives:dirty/2", "natives:plain/0",
		"natives:soft/1",      "re:run/2"};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct strbuf text = STRBUF_INIT;
		struct call_targets t;
		struct error err;

		assert_int_equal(find(&w, &t, NULL, NULL, CALL_ARITY_ANY, &err), 0);
		assert_int_equal(t.v.len, ARRAY_SIZE(names));
		for (size_t k = 0; k < t.v.len; k++) {
			strbuf_reset(&text);
			call_target_name(&text, w.n, &t.v.data[k]);
			assert_string_equal(text.buf, names[k]);
		}
		call_targets_free(&t);
		assert_int_equal(find(&w, &t, "lists", "seq", CALL_ARITY_ANY, &err), 0);
		assert_int_equal(t.v.len, 2);
		call_targets_free(&t);
		assert_int_equal(find(&w, &t, NULL, "map", 2, &err), 0);
		assert_int_equal(t.v.len, 2);
		call_targets_free(&t);
		strbuf_free(&text);
		unmake(&w);
	}
}

/* One module: its code and its NIF library, whichever table is in use. */
static void test_module_watch(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct module_watch watch = {.name = fakenode_atom(w.f, "natives")};
		struct module_watch none = {.name = fakenode_atom(w.f, "nosuch")};
		raddr curr = w.modules[1] + (raddr)w.l->module_curr, was;
		struct module m;

		assert_int_equal(module_watch_read(&watch, w.n, &m), 0);
		assert_true(m.code == w.natives && m.nif == w.library && m.name == watch.name);
		assert_true(watch.at[1] == w.modules[1]);
		image_u64(w.f->im, curr + (raddr)w.l->module_instance_code_hdr, w.lists);
		image_u64(w.f->im, curr + (raddr)w.l->module_instance_nif, 0);
		assert_int_equal(module_watch_read(&watch, w.n, &m), 0);
		assert_true(m.code == w.lists && m.nif == 0);
		/* What is known of an entry is not believed for ever. */
		was = watch.at[1];
		watch.at[1] = w.modules[0];
		assert_int_equal(module_watch_read(&watch, w.n, &m), 0);
		assert_true(watch.at[1] == was && m.name == watch.name);
		assert_int_equal(module_watch_read(&none, w.n, &m), -ENOENT);
		image_u32(w.f->im, w.n->anchors.active_code_ix, 2); /* an empty table */
		assert_int_equal(module_watch_read(&watch, w.n, &m), -ENOENT);
		image_u32(w.f->im, w.n->anchors.active_code_ix, 3);
		assert_int_equal(module_watch_read(&watch, w.n, &m), -EBADMSG);
		unmake(&w);
	}
}

/* What the JIT calls the code at the entry. */
static void test_jit(void **state)
{
	static const char *const same[] = {"lists:map/2", "lists:seq/2", "lists:seq/3",
					   "lists:'my own'/1", "lists:member/2"};
	static const char *const other[] = {"lists:map/2", "lists:seq/2", "lists:seq/2",
					    "lists:'my own'/1", "lists:member/2"};
	(void)state;
	for (int differs = 0; differs < 2; differs++) {
		const struct call_query query = {"lists", NULL, CALL_ARITY_ANY};
		struct world w = make(27);
		raddr descriptor = jitlist_open(w.f->im);
		struct call_targets t;
		struct jit_code *jit;
		struct error err;

		jitlist_add_code(w.f->im, descriptor, w.lists, CODE_SIZE, differs ? other : same,
				 5);
		jit_open(&jit, w.n->mem, descriptor);
		assert_int_equal(jit_sync(jit, &err), 0);
		assert_int_equal(call_targets_find(&t, w.n, jit, &query, &err), 0);
		assert_int_equal(t.v.len, 5 - differs);
		assert_int_equal(t.unreadable, differs);
		assert_true(t.v.data[0].serial > 0);
		call_targets_free(&t);
		jit_close(jit);
		unmake(&w);
	}
}

static void assert_refused(struct world *w, const char *module, const char *function, int arity,
			   const char *text)
{
	struct call_targets t;
	struct error err;

	assert_int_equal(find(w, &t, module, function, arity, &err), -ENOENT);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	assert_string_equal(err.msg, text);
	assert_true(t.v.data == NULL);
}

static void test_near(void **state)
{
	(void)state;
	struct world w = make(27);

	assert_refused(&w, "list", "map", 2,
		       "the node has no module 'list' loaded; did you mean 'lists'?");
	assert_refused(&w, "LISTS", NULL, CALL_ARITY_ANY,
		       "the node has no module 'LISTS' loaded; did you mean 'lists'?");
	assert_refused(&w, "Enmu", "map", 2,
		       "the node has no module 'Enmu' loaded; did you mean 'Enum'?");
	assert_refused(&w, "quite another", "map", 2,
		       "the node has no module 'quite another' loaded");
	assert_refused(&w, "lists", "mpa", CALL_ARITY_ANY,
		       "module 'lists' has no function mpa; did you mean 'map'?");
	assert_refused(&w, "lists", "map", 3,
		       "module 'lists' has no function map/3; map has arity 2");
	assert_refused(&w, "lists", "seq", 9,
		       "module 'lists' has no function seq/9; seq has arities 2 and 3");
	assert_refused(&w, "Elixir.Enum", "reduce", 2, "module 'Enum' has no function reduce/2");
	assert_refused(&w, "lists", NULL, 7, "module 'lists' has no function at all with arity 7");
	assert_refused(&w, NULL, "nosuch", 1,
		       "no loaded module has a function with this name and arity");
	assert_true(one(&w, "Enum", "map", 2).code != 0);
	assert_true(one(&w, "Elixir.Enum", "map", 2).code != 0);
	unmake(&w);
}

static void test_distance(void **state)
{
	char longest[DISTANCE_MAX_LEN + 2];

	(void)state;
	memset(longest, 'a', sizeof(longest));
	longest[DISTANCE_MAX_LEN + 1] = '\0';
	assert_int_equal(word_distance("map", "map"), 0);
	assert_int_equal(word_distance("mpa", "map"), 1);
	assert_int_equal(word_distance("", "map"), 3);
	assert_int_equal(word_distance("mapfold", "map"), 4);
	assert_true(word_distance(longest, "a") == SIZE_MAX);
	assert_int_equal(word_distance(longest + 1, ""), DISTANCE_MAX_LEN);
}

/* Loaded again: other code, the same function. */
static void test_reload(void **state)
{
	(void)state;
	struct world w = make(29);
	struct call_target before = one(&w, "lists", "map", 2), after;
	raddr curr = w.modules[0] + (raddr)w.l->module_curr, code;

	code = put_module(&w, "lists", lists, 1, 0);
	image_u64(w.f->im, curr + (raddr)w.l->module_instance_code_hdr, code);
	after = one(&w, "lists", "map", 2);
	assert_true(after.entry != before.entry);
	assert_true(after.entry == entry_of(code, 0) && after.code == code);
	unmake(&w);
}

static void test_corrupted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		raddr functions = w.lists + (raddr)w.l->code_header_functions;
		struct call_targets t;
		struct error err;

		image_u64(w.f->im, functions, 0x10);				/* no memory */
		image_u64(w.f->im, functions + 8, entry_of(w.natives, 0) - 40); /* another's */
		image_u64(w.f->im, entry_of(w.lists, 2) - 8, 999);		/* arity */
		image_u64(w.f->im, entry_of(w.lists, 3) - 16, 15);		/* no atom */
		assert_int_equal(find(&w, &t, "lists", NULL, CALL_ARITY_ANY, &err), 0);
		assert_int_equal(t.v.len, 1);
		assert_int_equal(t.unreadable, 4);
		call_targets_free(&t);
		image_u64(w.f->im, w.lists + (raddr)w.l->code_header_num_functions, 1ull << 40);
		assert_int_equal(find(&w, &t, "lists", NULL, CALL_ARITY_ANY, &err), 0);
		assert_true(t.v.len == 0 && t.unreadable > 0);
		call_targets_free(&t);
		image_u64(w.f->im, w.lists + (raddr)w.l->code_header_num_functions, 1000000);
		assert_int_equal(find(&w, &t, "lists", NULL, CALL_ARITY_ANY, &err), 0);
		assert_true(t.v.len == 0 && t.unreadable == 1000000);
		call_targets_free(&t);
		w.n->anchors.nr_bifs = 1u << 30;
		assert_int_equal(find(&w, &t, "lists", NULL, CALL_ARITY_ANY, &err), -ENOTSUP);
		assert_int_equal(err.kind, ERROR_KIND_UNSUPPORTED);
		w.n->identity.jit = false;
		assert_int_equal(find(&w, &t, "lists", NULL, CALL_ARITY_ANY, &err), -ENOTSUP);
		unmake(&w);
	}
}

/* ---- return site ----------------------------------------------------------------------------- */

/* Code at the end of what a module has; 0x90 all else. */
#define CODE_AT 0xc00

static raddr put_call(struct world *w, raddr at, raddr entry)
{
	uint8_t call[5] = {0xe8};
	int32_t rel = (int32_t)(entry - (at + sizeof(call)));

	memcpy(call + 1, &rel, sizeof(rel));
	image_put(w->f->im, at, call, sizeof(call));
	return at + sizeof(call);
}

static raddr put_external(struct world *w, raddr at, raddr export, size_t filler)
{
	bool otp24 = w->n->identity.otp == 24;
	size_t size = otp24 ? 3 : 4;
	uint8_t code[10 + 8 + 4] = {0x48, 0xb8};

	at += otp24; /* so that it ends where the others do */
	memcpy(code + 2, &export, sizeof(export));
	memset(code + 10, 0x90, filler);
	memcpy(code + 10 + filler, otp24 ? "\xff\x14\xe8" : "\x42\xff\x14\xe0", size);
	image_put(w->f->im, at, code, 10 + filler + size);
	return at + 10 + filler + size;
}

static void assert_sites(struct world *w, const struct call_target *t, size_t max,
			 const raddr *expected, size_t nr)
{
	struct call_sites sites;
	struct error err;

	assert_int_equal(call_sites_find(&sites, w->n, &t, 1, max, &err), 0);
	assert_false(sites.incomplete);
	assert_int_equal(sites.v.len, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sites.v.data[i], expected[i]);
	call_sites_free(&sites);
}

static void test_sites(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct world w = make(releases[i]);
		struct call_target map = one(&w, "lists", "map", 2), own;
		raddr code = w.lists + CODE_AT, other = w.natives + CODE_AT;
		raddr export, found[3];

		own = one(&w, "lists", "my own", 1);
		assert_sites(&w, &map, 4, NULL, 0);
		/* Local ones, forwards or back, end at multiples of 4: this one does not. */
		put_call(&w, code + 0x10, map.entry);
		found[0] = put_call(&w, code + 0x1f, map.entry);
		put_call(&w, code + 0x2f, map.entry + 8);
		put_call(&w, other + 0xf, map.entry); /* modules do not call each other so */
		assert_sites(&w, &map, 4, found, 1);
		/* By the export, from any module; not with another one, nor with too much between.
		 */
		export = w.entries[0];
		assert_int_equal(mem_read(w.n->mem, export + 24, &export, sizeof(export)), 0);
		found[1] = put_external(&w, code + 0x4e, export, 0);
		found[2] = put_external(&w, other + 0x30, export, 2);
		put_external(&w, other + 0x60, export + 8, 2);
		put_external(&w, other + 0x90, export, 6);
		assert_sites(&w, &map, 4, found, 3);
		assert_sites(&w, &own, 4, NULL, 0);
		/* More than are wanted: so many that it shows. */
		assert_sites(&w, &map, 1, found, 2);
		unmake(&w);
	}
	(void)state;
}

/* Whatever stands at the end of the code, nothing behind it is read. */
static void test_sites_cut(void **state)
{
	static const uint8_t local[] = {0x90, 0x90, 0x90, 0xe8, 0xf8, 0xff, 0xff, 0xff};
	static const uint8_t external[] = {0x48, 0xb8, 8,    7,	   6,	 5,    4,    3,
					   2,	 1,    0x42, 0xff, 0x14, 0xe0, 0x90, 0x90};
	raddr export = 0x0102030405060708;

	for (size_t size = 0; size <= sizeof(local); size++) {
		uint8_t *bytes = memcpy(malloc(size + 1), local, size);
		struct call_sites sites = {0};

		bytes = realloc(bytes, MAX(size, 1));
		call_sites_scan(&sites, 25, false, bytes, size, 0x1000, 0x1000, 0, 9);
		assert_int_equal(sites.v.len, size == sizeof(local));
		call_sites_free(&sites);
		free(bytes);
	}
	for (size_t size = 0; size <= sizeof(external); size++) {
		uint8_t *bytes = memcpy(malloc(size + 1), external, size);
		struct call_sites sites = {0};

		bytes = realloc(bytes, MAX(size, 1));
		call_sites_scan(&sites, 25, false, bytes, size, 0x1002, 0, export, 9);
		assert_int_equal(sites.v.len, size >= 14);
		call_sites_free(&sites);
		free(bytes);
	}
	(void)state;
}

/* Code at 0x1000 that calls what stands at 0x1100, and by an export, without native stack. */
static void test_sites_c_stack(void **state)
{
	/* lea, mov, jmp; padding up to the return site */
	static const uint8_t local_26[] = {0x48, 0x8d, 0x05, 0x09, 0, 0, 0,    0x48, 0x89, 0x45,
					   0,	 0xe9, 0xf0, 0,	   0, 0, 0x90, 0x90, 0x90, 0x90};
	static const uint8_t short_26[] = {0x48, 0x8d, 0x05, 0x09, 0,	 0,    0,
					   0x48, 0x89, 0x45, 0,	   0xeb, 0xf3, 0x90,
					   0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	static const uint8_t local_24[] = {0x48, 0x8d, 0x05, 0x09, 0, 0, 0,    0x49, 0x89, 0x04,
					   0x24, 0xe9, 0xf0, 0,	   0, 0, 0x90, 0x90, 0x90, 0x90};
	static const uint8_t external_26[] = {
		0x48, 0xb8, 8, 7,    6,	   5,	 4, 3,	  2,	1,    0x48, 0x8d, 0x3d, 0x0b,
		0,    0,    0, 0x48, 0x89, 0x7d, 0, 0x42, 0xff, 0x24, 0xe0, 0x90, 0x90, 0x90};
	static const uint8_t external_24[] = {
		0x48, 0xb8, 8, 7,    6,	   5,	 4,    3,    2,	   1,	 0x48, 0x8d, 0x3d, 0x0b,
		0,    0,    0, 0x49, 0x89, 0x3c, 0x24, 0xff, 0x24, 0xe8, 0x90, 0x90, 0x90, 0x90};
	const raddr export = 0x0102030405060708;
	const struct {
		int otp;
		const uint8_t *code;
		size_t size, whole; /* so much of it is needed */
		raddr entry, export, site;
	} calls[] = {
		{26, local_26, sizeof(local_26), 16, 0x1100, 0, 0x1010},
		{26, short_26, sizeof(short_26), 16, 0x1000, 0, 0x1010},
		{24, local_24, sizeof(local_24), 16, 0x1100, 0, 0x1010},
		{26, external_26, sizeof(external_26), 26, 0, export, 0x101c},
		{24, external_24, sizeof(external_24), 26, 0, export, 0x101c},
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		for (size_t size = 0; size <= calls[i].size; size++) {
			uint8_t *bytes = memcpy(malloc(size + 1), calls[i].code, size);
			struct call_sites sites = {0}, none = {0};
			int other = calls[i].otp == 24 ? 26 : 24;

			bytes = realloc(bytes, MAX(size, 1));
			call_sites_scan(&sites, calls[i].otp, true, bytes, size, 0x1000,
					calls[i].entry, calls[i].export, 9);
			assert_int_equal(sites.v.len, size >= calls[i].whole);
			if (sites.v.len)
				assert_int_equal(sites.v.data[0], calls[i].site);
			call_sites_scan(&none, calls[i].otp, true, bytes, size, 0x1000,
					calls[i].entry ? calls[i].entry + 1 : 0,
					calls[i].export ? export + 8 : 0, 9);
			call_sites_scan(&none, other, true, bytes, size, 0x1000, calls[i].entry,
					calls[i].export, 9);
			assert_int_equal(none.v.len, 0);
			call_sites_free(&sites);
			call_sites_free(&none);
			free(bytes);
		}
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),	      cmocka_unit_test(test_any),
		cmocka_unit_test(test_module_watch),  cmocka_unit_test(test_jit),
		cmocka_unit_test(test_near),	      cmocka_unit_test(test_distance),
		cmocka_unit_test(test_reload),	      cmocka_unit_test(test_corrupted),
		cmocka_unit_test(test_sites),	      cmocka_unit_test(test_sites_cut),
		cmocka_unit_test(test_sites_c_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
