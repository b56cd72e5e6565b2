/* SPDX-License-Identifier: BSD-2-Clause */
/* See funs.h.  erts/emulator/beam/erl_fun.[ch], OTP 24 to 29. */
#include "beam/code/funs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/code/modules.h"

/* Up to OTP 27 the last two words of an ErlFunEntry are a reference count and the address during a
 * purge.  It is a hash table's bucket in OTP 24, and stands behind one after that; it begins with
 * its addresses, but in OTP 24, where the only one stands before arity and module. */
#define REFERENCES_FROM_END 16
#define BUCKET_SIZE	    16
#define ADDRESS_24	    48

static raddr address_at(const struct beam_node *n, int code_index)
{
	if (n->identity.otp == 24)
		return ADDRESS_24;
	return n->anchors.fun_table ? 0 : 8 * (raddr)code_index;
}

static struct fun decode(const struct beam_node *n, const uint8_t *entry, int code_index)
{
	const struct beam_layout *l = &n->layout;
	struct fun f = {.references = 1};

	memcpy(&f.module, entry + l->fun_entry_module, sizeof(f.module));
	memcpy(&f.uniq, entry + l->fun_entry_old_uniq, sizeof(f.uniq));
	memcpy(&f.index, entry + l->fun_entry_old_index, sizeof(f.index));
	memcpy(&f.address, entry + address_at(n, code_index), sizeof(f.address));
	if (n->anchors.fun_table)
		memcpy(&f.references, entry + l->fun_entry_size - REFERENCES_FROM_END,
		       sizeof(f.references));
	return f;
}

static int read_entries(struct index_objects *entries, const struct beam_node *n, int code_index)
{
	const struct beam_layout *l = &n->layout;
	struct index_table table;
	int rc;

	if (n->anchors.fun_table)
		return hash_table_objects(entries, n->mem, l, n->anchors.fun_table);
	if (!n->anchors.staged_funs)
		return -ENOTSUP;
	rc = index_table_read(&table, n->mem, l,
			      n->anchors.staged_funs +
				      (raddr)code_index * (raddr)l->index_table_size);
	return rc ? rc : staged_table_objects(entries, n->mem, &table);
}

int funs_read(struct funs *out, const struct beam_node *n)
{
	raddr offset = n->anchors.fun_table && n->identity.otp > 24 ? BUCKET_SIZE : 0;
	size_t size = (size_t)n->layout.fun_entry_size;
	struct index_objects entries = {0};
	int ix = code_index_active(n), rc;
	uint8_t *buf;
	bool *ok;

	*out = (struct funs){0};
	rc = ix < 0 ? ix : read_entries(&entries, n, ix);
	if (rc) {
		vec_free(&entries.v);
		return rc;
	}
	buf = xcalloc(entries.v.len + 1, size);
	ok = xcalloc(entries.v.len + 1, sizeof(*ok));
	read_objects(n->mem, entries.v.data, entries.v.len, offset, buf, size, ok);
	for (size_t i = 0; i < entries.v.len; i++) {
		if (ok[i])
			vec_push(&out->v, decode(n, buf + i * size, ix));
		else
			out->unreadable++;
	}
	free(buf);
	free(ok);
	vec_free(&entries.v);
	return 0;
}

void funs_free(struct funs *f)
{
	vec_free(&f->v);
}
