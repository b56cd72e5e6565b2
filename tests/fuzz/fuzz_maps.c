/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Texts of /proc: maps, smaps, stat, cgroup and kallsyms.  All parsers get the same bytes; none may
 * crash, and what they give must keep the promises of their headers.
 */
#include <stdlib.h>
#include <string.h>

#include "target/kallsyms.h"
#include "target/memory_map.h"
#include "target/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_maps(const char *text, size_t size)
{
	struct proc_maps maps;

	if (proc_maps_parse(&maps, text, size) != 0)
		return;
	for (size_t i = 0; i < maps.len; i++) {
		const struct proc_map *m = &maps.data[i];

		if (m->start >= m->end || (i > 0 && maps.data[i - 1].end > m->start) ||
		    proc_maps_find(&maps, m->start) != m ||
		    proc_maps_find(&maps, m->end - 1) != m || strlen(m->path) > size)
			abort();
	}
	proc_maps_free(&maps);
}

static void try_smaps(const char *text, size_t size)
{
	struct memory_map map;

	if (memory_map_parse(&map, text, size) != 0)
		return;
	for (size_t i = 1; i < map.len; i++)
		if (map.data[i - 1].map.end > map.data[i].map.start)
			abort();
	memory_map_free(&map);
}

static void try_kallsyms(const char *text, size_t size)
{
	struct kallsyms *k = NULL;
	const char *name;

	if (kallsyms_parse(&k, text, size, NULL) != 0)
		return;
	for (uint64_t addr = 0; addr < 0x100; addr++) {
		name = kallsyms_find(k, addr);
		if (name && strlen(name) > size)
			abort();
	}
	kallsyms_find(k, UINT64_MAX);
	kallsyms_close(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct proc_container c;
	struct proc_stat st;

	memcpy(text, data, size);
	text[size] = '\0';
	try_maps((const char *)data, size);
	try_smaps((const char *)data, size);
	try_kallsyms((const char *)data, size);
	proc_stat_parse(&st, text);
	if (strlen(st.comm) >= sizeof(st.comm))
		abort();
	proc_container_parse(&c, text);
	if (strlen(c.id) >= sizeof(c.id) || strlen(c.pod) >= sizeof(c.pod))
		abort();
	free(text);
	return 0;
}
