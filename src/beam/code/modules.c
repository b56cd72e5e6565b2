/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See modules.h.  Code is loaded into a staging copy of the tables, which then becomes active; the
 * active tables themselves change only when code is purged or deleted
 * (erts/emulator/beam/code_ix.h, module.c, OTP 25 to 29).
 */
#include "beam/code/modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/term/atoms.h"

#define CODE_INDEXES	 3 /* ERTS_NUM_CODE_IX */
#define READ_TRIES	 4
#define MODULES_MAX	 (1u << 20) /* MODULE_LIMIT is 64 k */
#define FUNCTIONS_MAX	 (1u << 20)
#define CODE_SIZE_MAX	 (1u << 30)
#define MODULE_ENTRY_MAX 512 /* sizeof(Module) is 136 or so */

/* A copy of an entry of the module table. */
struct entry {
	uint32_t atom; /* number */
	raddr code, old_code, nif, on_load;
	uint32_t size, old_size;
};

int code_index_active(const struct beam_node *n)
{
	uint32_t ix;
	int rc = n->anchors.active_code_ix ? mem_read_u32(n->mem, n->anchors.active_code_ix, &ix)
					   : -ENOTSUP;

	if (rc)
		return rc;
	return ix < CODE_INDEXES ? (int)ix : -EBADMSG;
}

static struct entry parse_entry(const uint8_t *bytes, const struct beam_layout *l)
{
	const uint8_t *curr = bytes + l->module_curr, *old = bytes + l->module_old;

	return (struct entry){
		.atom = bytes_u32(bytes, l->module_module),
		.code = bytes_u64(curr, l->module_instance_code_hdr),
		.size = bytes_u32(curr, l->module_instance_code_length),
		.nif = bytes_u64(curr, l->module_instance_nif),
		.old_code = bytes_u64(old, l->module_instance_code_hdr),
		.old_size = bytes_u32(old, l->module_instance_code_length),
		.on_load = bytes_u64(bytes, l->module_on_load),
	};
}

static bool is_entry(const struct entry *e)
{
	return e->size <= CODE_SIZE_MAX && e->old_size <= CODE_SIZE_MAX && e->code % 8 == 0 &&
	       e->old_code % 8 == 0 && (e->code || !e->size) && (e->old_code || !e->old_size);
}

/* As erlang:loaded(): entries without code are only there because calls refer to them. */
static bool is_loaded(const struct entry *e)
{
	return e->size != 0 || e->old_size != 0;
}

/* ---- code headers --------------------------------------------------------------------------- */

static void read_headers(struct modules *out, const struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	size_t nr = out->v.len, size = (size_t)l->code_header_functions;
	raddr *addrs = xcalloc(nr, sizeof(*addrs));
	uint8_t *bytes = xcalloc(nr, size);
	bool *ok = xcalloc(nr, sizeof(*ok));

	for (size_t i = 0; i < nr; i++)
		addrs[i] = out->v.data[i].code;
	read_objects(n->mem, addrs, nr, 0, bytes, size, ok);
	for (size_t i = 0; i < nr; i++) {
		struct module *m = &out->v.data[i];
		uint64_t functions = bytes_u64(bytes + i * size, l->code_header_num_functions);

		addrs[i] = ok[i] ? bytes_u64(bytes + i * size, l->code_header_md5_ptr) : 0;
		if (!m->code)
			continue;
		if (ok[i] && functions <= FUNCTIONS_MAX)
			m->functions = (uint32_t)functions;
		else
			m->torn = true;
	}
	free(bytes);
	bytes = xcalloc(nr, MODULE_MD5_SIZE);
	read_objects(n->mem, addrs, nr, 0, bytes, MODULE_MD5_SIZE, ok);
	for (size_t i = 0; i < nr; i++) {
		struct module *m = &out->v.data[i];

		m->has_md5 = ok[i];
		memcpy(m->md5, bytes + i * MODULE_MD5_SIZE, MODULE_MD5_SIZE);
	}
	free(addrs);
	free(bytes);
	free(ok);
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct module module_of(const struct entry *e)
{
	return (struct module){
		.name = ((uint64_t)e->atom << 6) | 0x0b, /* make_atom(), erl_term.h */
		.code = e->code,
		.size = e->size,
		.old_code = e->old_code != 0,
		.old_start = e->old_code,
		.old_size = e->old_size,
		.on_load = e->on_load != 0,
		.nifs = e->nif != 0,
		.nif = e->nif,
	};
}

static void add_entry(struct modules *out, const struct entry *e)
{
	out->code_size += e->size + (uint64_t)e->old_size;
	vec_push(&out->v, module_of(e));
}

static raddr table_of(const struct beam_node *n, int ix)
{
	return n->anchors.module_code + (raddr)ix * (raddr)n->layout.index_table_size;
}

static int read_entries(struct modules *out, const struct beam_node *n, raddr table_at)
{
	size_t size = (size_t)n->layout.module_size;
	struct index_objects objects;
	struct index_table table;
	uint8_t *bytes;
	bool *ok;
	int rc;

	rc = index_table_read(&table, n->mem, &n->layout, table_at);
	if (!rc && table.entries > MODULES_MAX)
		rc = -EBADMSG;
	rc = rc ? rc : index_table_objects(&objects, n->mem, &table);
	if (rc)
		return rc;
	bytes = xcalloc(objects.v.len, size);
	ok = xcalloc(objects.v.len, sizeof(*ok));
	read_objects(n->mem, objects.v.data, objects.v.len, 0, bytes, size, ok);
	for (size_t i = 0; i < objects.v.len; i++) {
		struct entry e = parse_entry(bytes + i * size, &n->layout);

		if (!ok[i] || !is_entry(&e))
			out->unreadable++;
		else if (is_loaded(&e))
			add_entry(out, &e);
	}
	vec_free(&objects.v);
	free(bytes);
	free(ok);
	return 0;
}

static int by_name(const void *a, const void *b, void *atoms)
{
	const char *x = beam_atom_text(atoms, ((const struct module *)a)->name, NULL);
	const char *y = beam_atom_text(atoms, ((const struct module *)b)->name, NULL);

	return strcmp(x ? x : "", y ? y : "");
}

int modules_read(struct modules *out, const struct beam_node *n, struct error *err)
{
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (!n->anchors.module_code || !n->anchors.active_code_ix)
		return beam_node_lacks(
			n, n->anchors.module_code ? "active code index" : "module table", err);
	for (int i = 0; i < READ_TRIES; i++) {
		int ix = code_index_active(n);

		modules_free(out);
		memset(out, 0, sizeof(*out));
		rc = ix < 0 ? ix : read_entries(out, n, table_of(n, ix));
		if (rc)
			break;
		read_headers(out, n);
		/* The same table is still active: nothing was loaded meanwhile. */
		out->moved = code_index_active(n) != ix;
		if (!out->moved)
			break;
	}
	if (rc) {
		modules_free(out);
		return beam_node_unreadable(n, "modules", rc, err);
	}
	if (out->v.len > 0)
		qsort_r(out->v.data, out->v.len, sizeof(out->v.data[0]), by_name, n->atoms);
	return 0;
}

void modules_free(struct modules *m)
{
	vec_free(&m->v);
}

/* ---- one module ----------------------------------------------------------------------------- */

static bool read_entry(const struct beam_node *n, raddr at, uint64_t name, struct module *out)
{
	uint8_t bytes[MODULE_ENTRY_MAX];
	struct entry e;

	if (!at || (size_t)n->layout.module_size > sizeof(bytes) ||
	    mem_read(n->mem, at, bytes, (size_t)n->layout.module_size))
		return false;
	e = parse_entry(bytes, &n->layout);
	*out = module_of(&e);
	return is_entry(&e) && out->name == name;
}

/* Addresses of entries are constant: a table grows by segments. */
static int find_entry(struct module_watch *w, const struct beam_node *n, int ix, struct module *out)
{
	struct index_objects objects;
	struct index_table table;
	int rc = index_table_read(&table, n->mem, &n->layout, table_of(n, ix));

	if (!rc && table.entries > MODULES_MAX)
		rc = -EBADMSG;
	rc = rc ? rc : index_table_objects(&objects, n->mem, &table);
	if (rc)
		return rc;
	w->at[ix] = 0;
	for (size_t i = 0; i < objects.v.len && !w->at[ix]; i++) {
		if (read_entry(n, objects.v.data[i], w->name, out))
			w->at[ix] = objects.v.data[i];
	}
	vec_free(&objects.v);
	return w->at[ix] ? 0 : -ENOENT;
}

int module_watch_read(struct module_watch *w, const struct beam_node *n, struct module *out)
{
	int ix = n->anchors.module_code ? code_index_active(n) : -ENOTSUP, rc = 0;

	if (ix < 0)
		return ix;
	if (!read_entry(n, w->at[ix], w->name, out))
		rc = find_entry(w, n, ix, out);
	return code_index_active(n) == ix ? rc : -EAGAIN;
}
