/* SPDX-License-Identifier: BSD-2-Clause */
/* See interpreted.h. */
#include "beam/code/interpreted.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "beam/code/index_table.h"
#include "beam/code/jit_record.h"
#include "beam/code/modules.h"
#include "beam/term/atoms.h"
#include "names/names.h"

#define FUNCTIONS_MAX (1u << 20)
#define NAME_MAX_LEN  1024 /* bytes, as in records of OTP 24 */
#define MFA_SIZE      24   /* ErtsCodeMFA: module, function, arity */

/* Appends an atom quoted as by erts_printf("%T"), as in function names of JIT records. */
static void add_atom(const struct beam_node *n, struct strbuf *out, uint64_t term)
{
	size_t len;
	const char *text = beam_atom_text(n->atoms, term, &len);

	if (text)
		names_format_atom(out, text, len);
	else
		strbuf_addch(out, '?');
}

static void add_function(const struct beam_node *n, struct jit_record *out, uint64_t start,
			 uint64_t end, const uint64_t mfa[3])
{
	struct strbuf name = STRBUF_INIT;

	add_atom(n, &name, mfa[0]);
	strbuf_addch(&name, ':');
	add_atom(n, &name, mfa[1]);
	strbuf_addf(&name, "/%u", (unsigned int)mfa[2]);
	jit_record_add(out, (uint32_t)start, (uint32_t)end, name.buf,
		       MIN(name.len, (size_t)NAME_MAX_LEN));
	strbuf_free(&name);
}

/* Adds functions: the code of each begins behind its ErtsCodeInfo and ends at the next one's. */
static void add_functions(const struct beam_node *n, struct jit_record *out, raddr code,
			  uint64_t size, const raddr *infos, const uint64_t *mfas, const bool *ok,
			  size_t nr)
{
	uint32_t head = (uint32_t)n->layout.code_info_mfa + MFA_SIZE;

	for (size_t i = 0; i < nr; i++) {
		uint64_t start = infos[i] + head - code, end = infos[i + 1] - code;

		if (!ok[i] || infos[i] < code || infos[i + 1] < infos[i] + head || end > size)
			continue;
		add_function(n, out, start, end, &mfas[3 * i]);
	}
}

static bool read_functions(const struct beam_node *n, raddr code, raddr **infos, size_t *nr)
{
	uint64_t functions;

	if (mem_read_u64(n->mem, code + (raddr)n->layout.code_header_num_functions, &functions) ||
	    functions == 0 || functions > FUNCTIONS_MAX)
		return false;
	*nr = (size_t)functions;
	*infos = xcalloc(*nr + 1, sizeof(**infos)); /* one more: the end of the last function */
	if (mem_read(n->mem, code + (raddr)n->layout.code_header_functions, *infos,
		     8 * (*nr + 1)) == 0)
		return true;
	free(*infos);
	return false;
}

static void add_module(const struct beam_node *n, uint64_t name, raddr code, uint64_t size,
		       interpreted_fn *take, void *arg)
{
	const char *text = beam_atom_text(n->atoms, name, NULL), *module = text ? text : "?";
	struct jit_record out;
	uint64_t *mfas;
	uint8_t *record;
	uint32_t record_size;
	raddr *infos;
	size_t nr;
	bool *ok;

	if (!code || size > UINT32_MAX || !read_functions(n, code, &infos, &nr))
		return;
	mfas = xcalloc(nr, MFA_SIZE);
	ok = xcalloc(nr, sizeof(*ok));
	read_objects(n->mem, infos, nr, (raddr)n->layout.code_info_mfa, mfas, MFA_SIZE, ok);
	jit_record_begin(&out, code, (uint32_t)size, module, strlen(module)); /* without quotes */
	add_functions(n, &out, code, size, infos, mfas, ok, nr);
	free(infos);
	free(mfas);
	free(ok);
	record = jit_record_end(&out, &record_size);
	take(arg, code, record, record_size);
}

int interpreted_records(const struct beam_node *n, interpreted_fn *take, void *arg,
			struct error *err)
{
	struct modules all;
	int rc = modules_read(&all, n, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < all.v.len; i++) {
		const struct module *m = &all.v.data[i];

		add_module(n, m->name, m->old_start, m->old_size, take, arg);
		add_module(n, m->name, m->code, m->size, take, arg);
	}
	modules_free(&all);
	return 0;
}
