/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_targets.h.  erts/emulator/beam/{beam_code.h,module.c,erl_nif.c}, OTP 25 to 29. */
#include "beam/code/call_targets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "beam/code/call_targets_internal.h"
#include "beam/code/index_table.h"
#include "beam/code/jit.h"
#include "beam/code/jit_name.h"
#include "beam/term/atoms.h"
#include "names/elixir.h"
#include "names/names.h"

#define FUNCTIONS_MAX (1u << 20) /* of one module */
#define READ_TRIES    4
/*
 * The code of a NIF after its prologue is replaced (emit_call_nif() in instr_bif.cpp) by a jump,
 * padded to 8 bytes, and three words: the C function of ErtsNativeFunc, which for a dirty NIF only
 * schedules it; erl_module_nif; and the C function that does the work of a dirty NIF, else 0.
 */
#define NIF_FUNCTION	   (BEAM_CALL_PROLOGUE + 8)
#define NIF_LIBRARY	   (BEAM_CALL_PROLOGUE + 16)
#define NIF_DIRTY_FUNCTION (BEAM_CALL_PROLOGUE + 24)
#define HEAD_SIZE	   (BEAM_CODE_INFO_SIZE + NIF_DIRTY_FUNCTION + 8)
#define CODE_INFO_MFA	   16 /* {module, function, arity}; the layout is refused if it differs */

struct finder {
	struct beam_node *n;
	const struct jit_code *jit;
	const struct call_query *query;
	struct call_targets *out;
	struct bif_rows bifs;
	struct export_addresses exports;
	uint64_t module; /* atom; 0 = any */
};

/* ---- one function ---------------------------------------------------------------------------- */

static bool is_wanted(const struct finder *f, uint64_t function, uint64_t arity)
{
	const char *name;

	if (f->query->arity != CALL_ARITY_ANY && (uint64_t)f->query->arity != arity)
		return false;
	if (!f->query->function)
		return true;
	name = beam_atom_text(f->n->atoms, function, NULL);
	return name && strcmp(name, f->query->function) == 0;
}

static void add(struct finder *f, const struct call_target *t)
{
	if (f->out->v.len >= CALL_TARGETS_MAX)
		f->out->beyond++;
	else
		vec_push(&f->out->v, *t);
}

/* True if the JIT's name of the code at the entry is that of *t, or no JIT records are at hand.
 * Sets the serial. */
static bool jit_agrees(const struct finder *f, struct call_target *t)
{
	struct strbuf module = STRBUF_INIT, name = STRBUF_INIT;
	const char *m = beam_atom_text(f->n->atoms, t->module, NULL);
	const char *n = beam_atom_text(f->n->atoms, t->function, NULL);
	struct jit_function j;
	int32_t arity = -1;
	bool same;

	if (!f->jit)
		return true;
	same = m && n && jit_find(f->jit, t->entry, &j) &&
	       jit_name_parse(&j, &module, &name, &arity) && strcmp(module.buf, m) == 0 &&
	       strcmp(name.buf, n) == 0 && arity == t->arity;
	t->serial = same ? j.serial : 0;
	strbuf_free(&module);
	strbuf_free(&name);
	return same;
}

static void find_kind(const struct finder *f, struct call_target *t, const struct module *m,
		      const uint8_t *code)
{
	const struct bif_row *bif = bif_rows_find(&f->bifs, t->module, t->function, t->arity);
	const char *module = beam_atom_text(f->n->atoms, t->module, NULL);
	const char *function = beam_atom_text(f->n->atoms, t->function, NULL);

	t->kind = bif ? CALL_TARGET_BIF : CALL_TARGET_ERLANG;
	if (bif) {
		t->c_function = bif->c_function;
		t->dirty = bif->dirty;
	} else if (m && m->nif && bytes_u64(code, NIF_LIBRARY) == m->nif) {
		uint64_t dirty = bytes_u64(code, NIF_DIRTY_FUNCTION);

		t->kind = CALL_TARGET_NIF;
		t->dirty = dirty != 0;
		t->c_function = dirty ? dirty : bytes_u64(code, NIF_FUNCTION);
	}
	if (module && function && t->kind != CALL_TARGET_NIF &&
	    call_is_inlined(module, function, t->arity, bif && bif->guard))
		t->kind = CALL_TARGET_INLINED_BIF;
}

/* Adds a function if it matches the query.  `head` is a copy of its ErtsCodeInfo, which is at
 * `info`, and of the first bytes of its code. */
static void take_function(struct finder *f, const struct module *m, raddr info, const uint8_t *head)
{
	uint64_t arity = bytes_u64(head, CODE_INFO_MFA + 16);
	struct call_target t = {
		.module = bytes_u64(head, CODE_INFO_MFA),
		.function = bytes_u64(head, CODE_INFO_MFA + 8),
		.arity = (uint8_t)arity,
		.entry = info + BEAM_CODE_INFO_SIZE,
		.code = m->code,
	};

	if (t.module != m->name || !TERM_IS_ATOM(t.function) || arity > CALL_ARITY_MAX) {
		f->out->unreadable++;
		return;
	}
	if (!is_wanted(f, t.function, arity))
		return;
	if (!jit_agrees(f, &t)) {
		f->out->unreadable++;
		return;
	}
	t.exported = export_addresses_has(&f->exports, t.entry);
	find_kind(f, &t, m, head + BEAM_CODE_INFO_SIZE);
	add(f, &t);
}

/* ---- modules --------------------------------------------------------------------------------- */

/* Adds the functions at `infos`.  Pointers to outside of the module's code count as unreadable. */
static void read_heads(struct finder *f, const struct module *m, const raddr *infos, size_t nr)
{
	uint8_t *heads = xcalloc(nr + 1, HEAD_SIZE);
	bool *ok = xcalloc(nr + 1, sizeof(*ok));

	read_objects(f->n->mem, infos, nr, 0, heads, HEAD_SIZE, ok);
	for (size_t i = 0; i < nr; i++) {
		if (ok[i] && infos[i] >= m->code && infos[i] - m->code < m->size)
			take_function(f, m, infos[i], heads + i * HEAD_SIZE);
		else
			f->out->unreadable++;
	}
	free(heads);
	free(ok);
}

static void read_module(struct finder *f, const struct module *m)
{
	raddr at = m->code + (raddr)f->n->layout.code_header_functions, *infos;

	if (!m->code || m->torn || m->functions > FUNCTIONS_MAX) {
		f->out->unreadable += m->code != 0;
		return;
	}
	infos = xcalloc((size_t)m->functions + 1, sizeof(*infos));
	if (mem_read(f->n->mem, at, infos, (size_t)m->functions * sizeof(*infos)) == 0)
		read_heads(f, m, infos, m->functions);
	else
		f->out->unreadable += m->functions;
	free(infos);
}

/* Adds BIFs whose module is not loaded: their C functions can be called nevertheless. */
static void add_bare_bifs(struct finder *f, const struct modules *modules)
{
	for (size_t i = 0; i < f->bifs.v.len; i++) {
		const struct bif_row *b = &f->bifs.v.data[i];
		struct call_target t = {.module = b->module,
					.function = b->function,
					.arity = (uint8_t)b->arity,
					.exported = true};
		bool loaded = false;

		if ((f->module && b->module != f->module) || !is_wanted(f, b->function, b->arity))
			continue;
		for (size_t k = 0; !loaded && k < modules->v.len; k++)
			loaded = modules->v.data[k].name == b->module && modules->v.data[k].code;
		if (loaded)
			continue;
		find_kind(f, &t, NULL, NULL);
		add(f, &t);
	}
}

/* ---- all modules ----------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b, void *atoms)
{
	const struct call_target *x = a, *y = b;
	const uint64_t pairs[2][2] = {{x->module, y->module}, {x->function, y->function}};

	for (int i = 0; i < 2; i++) {
		const char *p, *q;
		int order;

		if (pairs[i][0] == pairs[i][1])
			continue;
		p = beam_atom_text(atoms, pairs[i][0], NULL);
		q = beam_atom_text(atoms, pairs[i][1], NULL);
		order = strcmp(p ? p : "", q ? q : "");
		if (order)
			return order;
	}
	return (int)x->arity - (int)y->arity;
}

/* The loaded module with the name of the query, or with "Elixir." in front of it. */
static const struct module *find_module(const struct finder *f, const struct modules *modules)
{
	const struct module *elixir = NULL;

	for (size_t i = 0; i < modules->v.len; i++) {
		const struct module *m = &modules->v.data[i];
		const char *name = m->code ? beam_atom_text(f->n->atoms, m->name, NULL) : NULL;

		if (name && strcmp(name, f->query->module) == 0)
			return m;
		if (name && strcmp(elixir_bare(name), f->query->module) == 0)
			elixir = m;
	}
	return elixir;
}

/* The atom of a module that has BIFs but is not loaded; 0 = none. */
static uint64_t find_bif_module(const struct finder *f)
{
	for (size_t i = 0; i < f->bifs.v.len; i++) {
		const char *name = beam_atom_text(f->n->atoms, f->bifs.v.data[i].module, NULL);

		if (name && strcmp(name, f->query->module) == 0)
			return f->bifs.v.data[i].module;
	}
	return 0;
}

static int find_in(struct finder *f, const struct modules *modules, struct error *err)
{
	const struct module *only = NULL;
	int rc;

	if (f->query->module) {
		only = find_module(f, modules);
		f->module = only ? only->name : find_bif_module(f);
		if (!f->module)
			return call_targets_no_module(f->n, modules, f->query->module, err);
	}
	rc = export_addresses_read(&f->exports, f->n, f->module);
	if (rc)
		return beam_node_unreadable(f->n, "exports", rc, err);
	for (size_t i = 0; i < modules->v.len; i++)
		if (!f->module || &modules->v.data[i] == only)
			read_module(f, &modules->v.data[i]);
	add_bare_bifs(f, modules);
	if (f->out->v.len > 0)
		qsort_r(f->out->v.data, f->out->v.len, sizeof(f->out->v.data[0]), by_name,
			f->n->atoms);
	return 0;
}

/* Sets the error for a query without results, with the functions of the module as a hint. */
static int explain(struct finder *f, const struct modules *modules, struct error *err)
{
	const struct call_query all = {.module = f->query->module, .arity = CALL_ARITY_ANY};
	const struct call_query *asked = f->query;
	int rc;

	if (!asked->module)
		return error_set(err, ERROR_KIND_FAILED, -ENOENT,
				 "no loaded module has a function with this name and arity");
	vec_free(&f->exports.v);
	f->query = &all;
	rc = find_in(f, modules, err);
	return rc ? rc : call_targets_no_function(f->n, f->out, asked, err);
}

static int find_once(struct call_targets *out, struct beam_node *n, const struct jit_code *jit,
		     const struct call_query *query, struct error *err)
{
	struct finder f = {.n = n, .jit = jit, .query = query, .out = out};
	struct modules modules;
	int rc, ix = code_index_active(n);

	memset(out, 0, sizeof(*out));
	rc = modules_read(&modules, n, err);
	if (rc)
		return rc;
	rc = bif_rows_read(&f.bifs, n);
	if (rc)
		rc = rc == -ENOTSUP ? beam_node_lacks(n, "BIF table", err)
				    : beam_node_unreadable(n, "BIF table", rc, err);
	rc = rc ? rc : find_in(&f, &modules, err);
	if (!rc && out->v.len == 0 && out->unreadable == 0)
		rc = explain(&f, &modules, err);
	out->moved = modules.moved || code_index_active(n) != ix;
	bif_rows_free(&f.bifs);
	vec_free(&f.exports.v);
	modules_free(&modules);
	return rc;
}

int call_targets_find(struct call_targets *out, struct beam_node *n, const struct jit_code *jit,
		      const struct call_query *query, struct error *err)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!n->identity.jit)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
				 "calls cannot be traced: the node runs interpreted code (the emu "
				 "flavor), and ebeam traces JIT code only");
	if (n->layout.code_info_mfa != CODE_INFO_MFA)
		return beam_node_lacks(n, "layout of ErtsCodeInfo", err);
	for (int i = 0; i < READ_TRIES; i++) {
		call_targets_free(out);
		rc = find_once(out, n, jit, query, err);
		if (!out->moved)
			break;
	}
	if (rc)
		call_targets_free(out);
	return rc;
}

void call_targets_free(struct call_targets *t)
{
	vec_free(&t->v);
}

void call_target_name(struct strbuf *out, struct beam_node *n, const struct call_target *t)
{
	const char *module = beam_atom_text(n->atoms, t->module, NULL);
	const char *function = beam_atom_text(n->atoms, t->function, NULL);

	if (!module || !function)
		module = function = "?";
	names_format_atom(out, module, strlen(module));
	strbuf_addch(out, ':');
	names_format_atom(out, function, strlen(function));
	strbuf_addf(out, "/%u", t->arity);
}

bool call_target_code(struct call_code *out, struct beam_node *n, const struct call_target *t)
{
	const struct proc_map *map;
	struct elf_symbol symbol;
	uint64_t bias;

	memset(out, 0, sizeof(*out));
	if (!t->c_function || !n->objects)
		return false;
	out->elf =
		objects_elf(n->objects, t->c_function, &bias); /* reads the process's maps again */
	map = proc_maps_find(objects_maps(n->objects), t->c_function);
	if (!out->elf || !map || !map->x)
		return false;
	out->addr = t->c_function - bias;
	out->offset = t->c_function - map->start + map->offset;
	out->map = map;
	if (elf_file_symbol_at(out->elf, out->addr, &symbol) && symbol.addr == out->addr)
		out->symbol = symbol.name;
	return true;
}
