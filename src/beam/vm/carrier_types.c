/* SPDX-License-Identifier: BSD-2-Clause */
/* See carrier_types.h. */
#include "beam/vm/carrier_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"

#define SECTION_MAX_SIZE ((size_t)64 << 20)
#define TYPES_MIN	 64 /* a shorter array is another one */

static const char first_name[] = "invalid_type";

/* Compilers place the array, whose pointers are relocated, in either. */
static const char *const data_sections[] = {".data", ".data.rel.ro"};

/* ---- where it is ----------------------------------------------------------------------------- */

raddr carrier_types_find(const uint8_t *data, size_t size, raddr addr, const uint8_t *texts,
			 size_t texts_size, raddr texts_addr)
{
	raddr found = 0;

	for (size_t at = 0; at + 8 * TYPES_MIN <= size; at += 8) {
		uint64_t offset = bytes_u64(data, (int64_t)at) - texts_addr;

		if (offset >= texts_size || texts_size - offset < sizeof(first_name) ||
		    memcmp(texts + offset, first_name, sizeof(first_name)) != 0)
			continue;
		if (found)
			return 0;
		found = addr + at;
	}
	return found;
}

static raddr find_in(struct beam_node *n, const char *section, const uint8_t *texts,
		     size_t texts_size, raddr texts_addr)
{
	const struct elf_section *s = elf_file_section(n->elf, section);
	uint8_t *data;
	raddr found = 0;

	if (!s || s->size > SECTION_MAX_SIZE)
		return 0;
	data = xmalloc(s->size);
	if (mem_read(n->mem, s->addr + n->bias, data, s->size) == 0)
		found = carrier_types_find(data, s->size, s->addr + n->bias, texts, texts_size,
					   texts_addr);
	free(data);
	return found;
}

static raddr find_table(struct beam_node *n)
{
	struct elf_symbol sym;
	size_t size;
	raddr addr, found = 0;
	uint8_t *texts;

	if (!n->elf)
		return 0;
	if (elf_file_symbol(n->elf, "erts_alc_n2td", &sym))
		return sym.addr + n->bias;
	texts = elf_file_copy_section(n->elf, ".rodata", SECTION_MAX_SIZE, &size, &addr);
	for (size_t i = 0; texts && !found && i < ARRAY_SIZE(data_sections); i++)
		found = find_in(n, data_sections[i], texts, size, addr + n->bias);
	free(texts);
	return found;
}

/* ---- what it says ---------------------------------------------------------------------------- */

static bool read_name(struct beam_node *n, raddr addr, char name[CARRIER_TYPE_SIZE])
{
	if (mem_read_string(n->mem, addr, name, CARRIER_TYPE_SIZE) != 0)
		return false;
	for (size_t i = 0; name[i]; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return name[0] != '\0';
}

int carrier_types_read(struct carrier_types *out, struct beam_node *n, struct error *err)
{
	raddr table = find_table(n), addr = 1;

	*out = (struct carrier_types){.names = xcalloc(CARRIER_TYPES_MAX, sizeof(*out->names))};
	while (table && out->nr < CARRIER_TYPES_MAX &&
	       mem_read_u64(n->mem, table + 8 * (raddr)out->nr, &addr) == 0 && addr &&
	       read_name(n, addr, out->names[out->nr]))
		out->nr++;
	if (addr != 0 || out->nr < TYPES_MIN || strcmp(out->names[0], first_name) != 0) {
		carrier_types_free(out);
		return beam_node_lacks(n, "table of the types of blocks", err);
	}
	while ((out->nr - 1) >> out->bits)
		out->bits++;
	return 0;
}

void carrier_types_free(struct carrier_types *t)
{
	free(t->names);
	*t = (struct carrier_types){0};
}

const char *carrier_type_name(const struct carrier_types *t, uint32_t type)
{
	return type > 0 && type < t->nr ? t->names[type] : NULL;
}
