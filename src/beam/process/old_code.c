/* SPDX-License-Identifier: BSD-2-Clause */
/* See old_code.h. */
#include "beam/process/old_code.h"

#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"

int old_code_read(struct old_code *o, struct beam_node *n, struct error *err)
{
	struct modules modules;
	int rc = modules_read(&modules, n, err);

	memset(o, 0, sizeof(*o));
	if (rc)
		return rc;
	o->low = UINT64_MAX;
	for (size_t i = 0; i < modules.v.len; i++) {
		const struct module *m = &modules.v.data[i];

		if (!m->old_code || m->old_start > UINT64_MAX - m->old_size)
			continue;
		vec_push(&o->modules, ((struct old_module){.name = m->name,
							   .start = m->old_start,
							   .end = m->old_start + m->old_size}));
		o->low = MIN(o->low, m->old_start);
		o->high = MAX(o->high, m->old_start + m->old_size);
	}
	modules_free(&modules);
	return 0;
}

/* `first`: index in o->uses of the first entry of this process. */
static void check_address(struct old_code *o, uint32_t process, size_t first, raddr addr)
{
	if (addr < o->low || addr >= o->high)
		return;
	for (uint32_t i = 0; i < o->modules.len; i++) {
		struct old_module *m = &o->modules.data[i];
		bool known = false;

		if (addr < m->start || addr >= m->end)
			continue;
		for (size_t k = first; k < o->uses.len && !known; k++)
			known = o->uses.data[k].module == i;
		if (!known) {
			vec_push(&o->uses, ((struct old_use){process, i}));
			m->processes++;
		}
		return;
	}
}

void old_code_visit(struct old_code *o, uint32_t process, const struct process_stack *s)
{
	size_t first = o->uses.len;

	if (!o->modules.len)
		return;
	check_address(o, process, first, s->i);
	for (size_t i = 0; i < s->words.len; i++) {
		if (TERM_IS_HEADER(s->words.data[i]))
			check_address(o, process, first, s->words.data[i]);
	}
}

void old_code_free(struct old_code *o)
{
	vec_free(&o->modules);
	vec_free(&o->uses);
}
