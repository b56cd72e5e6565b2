/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See drivers.h.  Finds drivers by symbol if there are symbols; else tries all words of the
 * executable's writable data as drivers and as pointers to drivers.  In both cases a driver must
 * agree with the ErlDrvEntry that it was made from.
 */
#include "beam/vm/drivers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/vec.h"
#include "target/objects.h"

/* erts_driver_t is 192 bytes with all its callbacks; offset of `entry`, OTP 24 to 29. */
#define DRIVER_SIZE  192
#define DRIVER_ENTRY 64
#define MAX_DRIVERS  256
#define DATA_MAX     ((size_t)64 << 20)

/* ErlDrvEntry, erl_driver.h: the binary interface of drivers, the same since OTP R15. */
#define ENTRY_SIZE  56
#define ENTRY_START 8
#define ENTRY_STOP  16
#define ENTRY_NAME  48

struct finder {
	const struct beam_node *node;
	VEC(struct driver_facts) found;
};

static bool is_known(const struct finder *f, raddr addr)
{
	for (size_t i = 0; i < f->found.len; i++)
		if (f->found.data[i].addr == addr)
			return true;
	return false;
}

static bool is_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~')
			return false;
	return true;
}

static bool is_code(const struct finder *f, raddr addr)
{
	const struct proc_map *map = proc_maps_find(objects_maps(f->node->objects), addr);

	return map && map->x;
}

/* Parses a driver; true if it is one: *d then has all but its address. */
static bool parse_driver(const struct finder *f, const uint8_t *bytes, struct driver_facts *d)
{
	static const int32_t offsets[NR_DRIVER_CALLBACKS] = {
#define DRIVER_OFFSET(id, name) [DRIVER_##id] = offsetof(struct beam_layout, driver_##name),
		DRIVER_CALLBACKS(DRIVER_OFFSET)
#undef DRIVER_OFFSET
	};
	const struct beam_layout *l = &f->node->layout;
	raddr name = bytes_u64(bytes, l->driver_name), entry = bytes_u64(bytes, DRIVER_ENTRY);
	uint8_t from[ENTRY_SIZE];

	if (!name || !entry || (entry & 7) ||
	    mem_read(f->node->mem, entry, from, sizeof(from)) != 0 ||
	    bytes_u64(from, ENTRY_NAME) != name ||
	    mem_read_string(f->node->mem, name, d->name, sizeof(d->name)) != 0 || !is_name(d->name))
		return false;
	for (int i = 0; i < NR_DRIVER_CALLBACKS; i++) {
		int32_t offset;

		memcpy(&offset, (const char *)l + offsets[i], sizeof(offset));
		if (offset < 0 || offset > DRIVER_SIZE - 8)
			return false;
		d->callbacks[i] = bytes_u64(bytes, offset);
		if (d->callbacks[i] && !is_code(f, d->callbacks[i]))
			return false;
	}
	return d->callbacks[DRIVER_START] == bytes_u64(from, ENTRY_START) &&
	       d->callbacks[DRIVER_STOP] == bytes_u64(from, ENTRY_STOP);
}

/* Adds the driver at `addr`, if it is one, and those before and behind it in its list. */
static bool take(struct finder *f, raddr addr)
{
	const struct beam_layout *l = &f->node->layout;
	struct driver_facts d = {.addr = addr};
	uint8_t bytes[DRIVER_SIZE];
	raddr next, prev;

	if (!addr || (addr & 7) || is_known(f, addr) || f->found.len >= MAX_DRIVERS ||
	    mem_read(f->node->mem, addr, bytes, sizeof(bytes)) != 0 || !parse_driver(f, bytes, &d))
		return false;
	vec_push(&f->found, d);
	next = bytes_u64(bytes, l->driver_next);
	prev = bytes_u64(bytes, l->driver_prev);
	/* The recursion ends, as each call adds a driver or returns. */
	take(f, next);
	take(f, prev);
	return true;
}

static bool by_symbol(struct finder *f)
{
	static const char *const unlisted[] = {"fd_driver", "spawn_driver", "forker_driver",
					       "vanilla_driver"}; /* vanilla_driver: up to OTP 25 */
	const struct beam_node *n = f->node;
	struct elf_symbol symbol;
	raddr head;

	if (!elf_file_symbol(n->elf, "driver_list", &symbol) ||
	    mem_read_u64(n->mem, symbol.addr + n->bias, &head) != 0 || !take(f, head))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(unlisted); i++)
		if (elf_file_symbol(n->elf, unlisted[i], &symbol))
			take(f, symbol.addr + n->bias);
	return true;
}

static void by_shape(struct finder *f)
{
	const struct beam_node *n = f->node;
	const struct elf_section *data = elf_file_section(n->elf, ".data");
	const struct elf_section *bss = elf_file_section(n->elf, ".bss");
	const struct proc_maps *maps = objects_maps(n->objects);
	size_t size;
	raddr base;
	uint8_t *copy;

	if (!data || !bss || bss->addr < data->addr)
		return;
	size = bss->addr + bss->size - data->addr;
	if (size < DRIVER_SIZE || size > DATA_MAX)
		return;
	base = data->addr + n->bias;
	copy = xmalloc(size);
	if (mem_read(n->mem, base, copy, size) != 0)
		size = 0;
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word = bytes_u64(copy, (int32_t)i);
		const struct proc_map *map;

		/* A driver in the data itself: its entry is there, too. */
		if (i + DRIVER_SIZE <= size) {
			raddr entry = bytes_u64(copy, (int32_t)(i + DRIVER_ENTRY));

			if (entry >= base && entry < base + size)
				take(f, base + i);
		}
		if (!word || (word & 7) || (word >= base && word < base + size))
			continue;
		map = proc_maps_find(maps, word);
		if (map && map->r && map->w)
			take(f, word);
	}
	free(copy);
}

int drivers_read(const struct beam_node *n, struct driver_list *out, struct error *err)
{
	struct finder f = {.node = n};

	*out = (struct driver_list){0};
	/* Reads the maps again, as a library may have been loaded. */
	objects_refresh(n->objects, NULL);
	if (!by_symbol(&f))
		by_shape(&f);
	if (!f.found.len)
		return beam_node_lacks(n, "list of drivers", err);
	out->data = f.found.data;
	out->len = f.found.len;
	return 0;
}

void driver_list_free(struct driver_list *l)
{
	free(l->data);
	*l = (struct driver_list){0};
}
