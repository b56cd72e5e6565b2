/* SPDX-License-Identifier: BSD-2-Clause */
/* Exports for call_targets.h: the addresses that they lead to, and the Export of a function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/xalloc.h"
#include "beam/code/call_targets_internal.h"
#include "beam/code/index_table.h"

/*
 * An Export begins with dispatch.addresses[], one address for each code index.  While it is traced,
 * or its module's on_load function is pending, that address is of the Export's own trampoline.  The
 * trampoline is behind Export.info: a word of padding, an instruction, and the address of the
 * function (export.h, OTP 25 to 29).
 */
#define EXPORT_TRAMPOLINE_ADDRESS (BEAM_CODE_INFO_SIZE + 16)
#define EXPORT_READ_MAX		  256
/* Offset of `ep` in struct export_entry {IndexSlot slot; Export *ep}. */
#define STAGED_ENTRY_OBJECT 24

/* The exports in the table of the active code index. */
struct exports {
	struct index_objects at;
	size_t size; /* bytes of one Export */
	uint8_t *bytes;
	bool *ok; /* which exports could be read */
	int ix;
};

static int by_address(const void *a, const void *b)
{
	raddr x = *(const raddr *)a, y = *(const raddr *)b;

	return x < y ? -1 : x > y;
}

static int find_objects(struct index_objects *out, struct beam_node *n, int ix)
{
	raddr tables =
		n->anchors.export_table ? n->anchors.export_table : n->anchors.staged_exports;
	struct index_table table;
	raddr *objects;
	bool *ok;
	int rc = tables ? 0 : -ENOTSUP;

	rc = rc ? rc
		: index_table_read(&table, n->mem, &n->layout,
				   tables + (raddr)ix * (raddr)n->layout.index_table_size);
	rc = rc ? rc : index_table_objects(out, n->mem, &table);
	if (rc)
		return rc;
	objects = xcalloc(out->v.len + 1, sizeof(*objects));
	ok = xcalloc(out->v.len + 1, sizeof(*ok));
	read_objects(n->mem, out->v.data, out->v.len, STAGED_ENTRY_OBJECT, objects, sizeof(raddr),
		     ok);
	for (size_t i = 0; i < out->v.len; i++)
		out->v.data[i] = ok[i] ? objects[i] : 0;
	free(objects);
	free(ok);
	return 0;
}

static int exports_read(struct exports *e, struct beam_node *n)
{
	const struct beam_layout *l = &n->layout;
	int rc;

	memset(e, 0, sizeof(*e));
	e->size = (size_t)l->export_size;
	e->ix = code_index_active(n);
	if (e->ix < 0)
		return e->ix;
	if (e->size > EXPORT_READ_MAX ||
	    l->export_info + EXPORT_TRAMPOLINE_ADDRESS + 8 > (int)e->size)
		return -ENOTSUP;
	rc = find_objects(&e->at, n, e->ix);
	e->bytes = xcalloc(e->at.v.len + 1, e->size);
	e->ok = xcalloc(e->at.v.len + 1, sizeof(*e->ok));
	read_objects(n->mem, e->at.v.data, e->at.v.len, 0, e->bytes, e->size, e->ok);
	return rc;
}

static void exports_free(struct exports *e)
{
	vec_free(&e->at.v);
	free(e->bytes);
	free(e->ok);
}

int export_addresses_read(struct export_addresses *out, struct beam_node *n, uint64_t module)
{
	const struct beam_layout *l = &n->layout;
	struct exports e;
	int rc = exports_read(&e, n);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < e.at.v.len; i++) {
		const uint8_t *one = e.bytes + i * e.size;

		if (!e.ok[i] || (module && bytes_u64(one, l->export_mfa) != module))
			continue;
		vec_push(&out->v, bytes_u64(one, 8 * e.ix));
		vec_push(&out->v, bytes_u64(one, l->export_info + EXPORT_TRAMPOLINE_ADDRESS));
	}
	if (out->v.len > 0)
		qsort(out->v.data, out->v.len, sizeof(raddr), by_address);
	exports_free(&e);
	return rc;
}

bool export_addresses_has(const struct export_addresses *e, raddr entry)
{
	return entry && e->v.len &&
	       bsearch(&entry, e->v.data, e->v.len, sizeof(raddr), by_address) != NULL;
}

int exports_find(struct beam_node *n, const struct call_target *const *targets, size_t nr,
		 raddr *out)
{
	int at = n->layout.export_mfa;
	struct exports e;
	int rc = exports_read(&e, n);

	memset(out, 0, nr * sizeof(*out));
	for (size_t i = 0; i < e.at.v.len; i++) {
		const uint8_t *one = e.bytes + i * e.size;

		for (size_t k = 0; e.ok[i] && k < nr; k++)
			if (bytes_u64(one, at) == targets[k]->module &&
			    bytes_u64(one, at + 8) == targets[k]->function &&
			    bytes_u64(one, at + 16) == targets[k]->arity)
				out[k] = e.at.v.data[i];
	}
	exports_free(&e);
	return rc;
}
