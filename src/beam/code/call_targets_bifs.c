/* SPDX-License-Identifier: BSD-2-Clause */
/* BIFs for call_targets.h: the BIF table, and which BIFs the JIT inlines as instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/call_targets_internal.h"
#include "beam/term/atoms.h"

#define MAX_BIFS 10000 /* OTP 29 has about 700 */
/* Fields of BifEntry that node.h lacks: `impl`, the C function that does the work (`f` is the same,
 * or schedules it on a dirty scheduler), and `kind` (bif.h, utils/make_tables, OTP 25 to 29). */
#define BIF_IMPL       32
#define BIF_KIND       40
#define BIF_KIND_GUARD 2
#define BIF_KIND_LAST  2

/* ---- the table ------------------------------------------------------------------------------ */

static int by_mfa(const void *a, const void *b)
{
	const struct bif_row *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	return x->arity < y->arity ? -1 : x->arity > y->arity;
}

int bif_rows_read(struct bif_rows *out, struct beam_node *n)
{
	const struct beam_anchors *a = &n->anchors;
	size_t size = (size_t)a->nr_bifs * BEAM_BIF_SIZE;
	uint8_t *table;
	int rc;

	memset(out, 0, sizeof(*out));
	if (!a->bif_table || a->nr_bifs == 0 || a->nr_bifs > MAX_BIFS)
		return -ENOTSUP;
	table = xmalloc(size);
	rc = mem_read(n->mem, a->bif_table, table, size);
	for (const uint8_t *row = table; !rc && row < table + size; row += BEAM_BIF_SIZE) {
		uint32_t kind = bytes_u32(row, BIF_KIND);
		raddr impl = bytes_u64(row, BIF_IMPL);
		struct bif_row r = {
			.module = bytes_u64(row, BEAM_BIF_MODULE),
			.function = bytes_u64(row, BEAM_BIF_NAME),
			.arity = bytes_u32(row, BEAM_BIF_ARITY),
			.c_function = impl,
			.dirty = impl != bytes_u64(row, BEAM_BIF_FUNCTION),
			.guard = kind == BIF_KIND_GUARD,
		};

		if (TERM_IS_ATOM(r.module) && TERM_IS_ATOM(r.function) &&
		    r.arity <= CALL_ARITY_MAX && impl && kind <= BIF_KIND_LAST)
			vec_push(&out->v, r);
	}
	free(table);
	if (out->v.len > 0)
		qsort(out->v.data, out->v.len, sizeof(out->v.data[0]), by_mfa);
	return rc;
}

const struct bif_row *bif_rows_find(const struct bif_rows *rows, uint64_t module, uint64_t function,
				    uint32_t arity)
{
	const struct bif_row key = {.module = module, .function = function, .arity = arity};

	return rows->v.len ? bsearch(&key, rows->v.data, rows->v.len, sizeof(key), by_mfa) : NULL;
}

void bif_rows_free(struct bif_rows *rows)
{
	vec_free(&rows->v);
}

/* ---- inlined BIFs --------------------------------------------------------------------------- */

struct mfa_row {
	const char *module, *function;
	uint32_t arity;
};

static bool is_in(const struct mfa_row *rows, size_t nr, const char *module, const char *function,
		  uint32_t arity)
{
	for (size_t i = 0; i < nr; i++)
		if (rows[i].arity == arity && strcmp(rows[i].function, function) == 0 &&
		    strcmp(rows[i].module, module) == 0)
			return true;
	return false;
}

bool call_is_inlined(const char *module, const char *function, uint32_t arity, bool guard_bif)
{
	/* Guard BIFs that the JIT does not inline: compiled code always calls the C function
	 * (jit/x86/ops.tab, "i_bif1", "i_bif2", "i_bif3"). */
	static const struct mfa_row called[] = {
		{"erlang", "abs", 1},	{"erlang", "binary_part", 2}, {"erlang", "binary_part", 3},
		{"erlang", "ceil", 1},	{"erlang", "float", 1},	      {"erlang", "floor", 1},
		{"erlang", "round", 1}, {"erlang", "size", 1},	      {"erlang", "trunc", 1},
	};
	/* Other BIFs that the JIT inlines (ops.tab, "u$func:erlang:apply/2"...); maps:get/2 and
	 * maps:is_key/2 become map_get/2 and is_map_key/2 in the compiler. */
	static const struct mfa_row instructions[] = {
		{"erlang", "apply", 2},	   {"erlang", "apply", 3},
		{"erlang", "yield", 0},	   {"erlang", "hibernate", 3},
		{"erlang", "load_nif", 2}, {"erlang", "call_on_load_function", 1},
		{"os", "perf_counter", 0}, {"maps", "get", 2},
		{"maps", "is_key", 2},
	};

	if (guard_bif)
		return !is_in(called, ARRAY_SIZE(called), module, function, arity);
	return is_in(instructions, ARRAY_SIZE(instructions), module, function, arity);
}
