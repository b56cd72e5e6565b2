/* SPDX-License-Identifier: BSD-2-Clause */
/* See allocator_calls.h.  Allctr_t: erts/emulator/beam/erl_alloc_util.h. */
#include "beam/vm/allocator_calls.h"

#include "base/compiler.h"
#include "beam/vm/allocators.h"

static void add(struct allocator_calls *c, const char *name, raddr addr)
{
	for (size_t i = 0; i < c->nr; i++) {
		if (c->v[i].addr == addr && c->v[i].name == name)
			return;
	}
	if (c->nr < ALLOCATOR_CALLS_MAX) {
		c->v[c->nr].name = name;
		c->v[c->nr].addr = addr;
		c->nr++;
	}
}

int allocator_calls_read(struct allocator_calls *out, struct beam_node *n, struct error *err)
{
	const struct beam_layout *l = &n->layout;
	const struct {
		const char *name;
		int32_t offset;
	} calls[] = {
		{"Allctr_t.mseg_alloc", l->allctr_mseg_alloc},
		{"Allctr_t.mseg_realloc", l->allctr_mseg_realloc},
		{"Allctr_t.mseg_dealloc", l->allctr_mseg_dealloc},
		{"Allctr_t.sys_alloc", l->allctr_sys_alloc},
		{"Allctr_t.sys_realloc", l->allctr_sys_realloc},
		{"Allctr_t.sys_dealloc", l->allctr_sys_dealloc},
		{"Allctr_t.add_mbc", l->allctr_add_mbc},
		{"Allctr_t.remove_mbc", l->allctr_remove_mbc},
	};
	struct allocators a;
	int rc;

	out->nr = 0;
	rc = allocators_read(&a, n, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < a.v.len; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(calls); k++) {
			raddr addr = a.v.data[i].address + (raddr)calls[k].offset, function;

			/* add_mbc, remove_mbc are 0 if carriers cannot migrate. */
			if (calls[k].offset >= 0 && mem_read_u64(n->mem, addr, &function) == 0 &&
			    function)
				add(out, calls[k].name, function);
		}
	}
	allocators_free(&a);
	return 0;
}
