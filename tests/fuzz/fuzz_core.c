/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Core files: whatever the bytes are, opening them, finding the executable, the maps and reads all
 * over the place neither crash nor give what is not in the file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/core.h"
#include "target/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads at the ends of a mapping.  What a segment gives must stand somewhere in the file, unless an
 * ELF file of this host was mapped there. */
static void read_around(struct mem *m, const struct proc_map *map, const uint8_t *data, size_t size)
{
	unsigned char buf[16];

	for (int i = 0; i < 4; i++) {
		raddr at = i < 2 ? map->start - (raddr)(8 * i) : map->end - (raddr)(8 * (i - 1));

		if (mem_read(m, at, buf, 8) == 0 && !map->path[0] && i % 2 == 0 &&
		    map->end - map->start >= 8 && !memmem(data, size, buf, 8))
			abort();
	}
}

static void read_all(struct core_file *c, const uint8_t *data, size_t size)
{
	const struct core_facts *facts = core_file_facts(c);
	const struct proc_maps *maps;
	struct objects *o = NULL;
	struct mem *m = NULL;
	uint64_t bias;

	if (facts->missing_size > facts->size || !facts->program || !facts->comm)
		abort();
	m = mem_open_core(c);
	o = objects_open_core(c);
	maps = objects_maps(o);
	for (size_t i = 0; i < maps->len; i++) {
		const struct proc_map *map = &maps->data[i];

		if (map->start >= map->end || (i > 0 && map[-1].end > map->start))
			abort();
		if (i < 64)
			read_around(m, map, data, size);
	}
	objects_elf(o, facts->entry, &bias);
	objects_close(o);
	mem_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const places[] = {NULL};
	static int fd = -1;
	struct core_file *c = NULL;
	struct error err = {0};
	char path[32];

	if (fd < 0)
		fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (core_file_open(&c, path, &err) != 0) {
		if (!err.code || !err.msg[0])
			abort();
		return 0;
	}
	if (core_file_find_exe(c, NULL, places, &err) != 0 && !err.msg[0])
		abort();
	read_all(c, data, size);
	core_file_close(c);
	return 0;
}
