/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_sites.h. */
#include "beam/code/call_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/code/call_targets_internal.h"

#define CODE_MAX (256u << 20) /* of one module */

/* True if the module may call one of the targets: one is exported, or a function of the module. */
static bool may_call(const struct module *m, const struct call_target *const *targets,
		     const raddr *exports, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (exports[i] || targets[i]->module == m->name)
			return true;
	return false;
}

static void scan_module(struct call_sites *out, struct beam_node *n, const struct module *m,
			const struct call_target *const *targets, const raddr *exports, size_t nr,
			size_t max)
{
	uint8_t *code;

	if (!may_call(m, targets, exports, nr))
		return;
	if (!m->code || m->torn || m->size > CODE_MAX) {
		out->incomplete |= m->code != 0;
		return;
	}
	code = xmalloc((size_t)m->size + 1);
	if (mem_read(n->mem, m->code, code, (size_t)m->size) != 0)
		out->incomplete = true;
	else
		for (size_t i = 0; i < nr; i++)
			call_sites_scan(out, n->identity.otp, !n->identity.native_stack, code,
					(size_t)m->size, m->code,
					targets[i]->module == m->name ? targets[i]->entry : 0,
					exports[i], max);
	free(code);
}

int call_sites_find(struct call_sites *out, struct beam_node *n,
		    const struct call_target *const *targets, size_t nr, size_t max,
		    struct error *err)
{
	raddr exports[CALL_SITES_FUNCTIONS];
	struct modules modules;
	int rc, ix = code_index_active(n);

	memset(out, 0, sizeof(*out));
	if (nr > CALL_SITES_FUNCTIONS)
		return error_set(err, ERROR_KIND_FAILED, -E2BIG,
				 "return sites of more than %d functions were asked for at once",
				 CALL_SITES_FUNCTIONS);
	rc = modules_read(&modules, n, err);
	if (rc)
		return rc;
	rc = exports_find(n, targets, nr, exports);
	if (rc)
		rc = beam_node_unreadable(n, "exports", rc, err);
	for (size_t i = 0; rc == 0 && i < modules.v.len && out->v.len <= max; i++)
		scan_module(out, n, &modules.v.data[i], targets, exports, nr, max);
	out->incomplete |= modules.moved || code_index_active(n) != ix;
	modules_free(&modules);
	return rc;
}

void call_sites_free(struct call_sites *s)
{
	vec_free(&s->v);
}
