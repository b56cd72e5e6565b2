/* SPDX-License-Identifier: BSD-2-Clause */
/* See vm_counters.h. */
#include "beam/vm/vm_counters.h"

#include <stdlib.h>

#define TEXT_MAX_SIZE ((size_t)64 << 20) /* beam.smp has 2.6 to 4.2 MB (OTP 25 to 29) */

void vm_counters_find(struct beam_node *n)
{
	const struct elf_section *data, *bss;
	struct vm_code t;
	uint8_t *text;

	if (n->anchors.counters_sought || !n->elf)
		return;
	n->anchors.counters_sought = true;
	data = elf_file_section(n->elf, ".data");
	bss = elf_file_section(n->elf, ".bss");
	text = elf_file_copy_section(n->elf, ".text", TEXT_MAX_SIZE, &t.size, &t.addr);
	if (!text || !data || !bss) {
		free(text);
		return;
	}
	t.bytes = text;
	t.addr += n->bias;
	t.data = data->addr + n->bias;
	t.data_end = bss->addr + bss->size + n->bias;
	n->anchors.dirty_gc = vm_code_find_dirty_gc(&t, &n->layout);
	n->anchors.ets_limit = vm_code_find_ets_limit(&t);
	free(text);
}
