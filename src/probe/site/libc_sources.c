/* SPDX-License-Identifier: BSD-2-Clause */
/* See libc_sources.h. */
#include "probe/site/libc_sources.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "target/objects.h"

#define KIND (1ull << EVENT_LIBC_ALLOC)

/* Signatures: bpf/event_libc.bpf.h. */
static const struct {
	const char *name;
	enum event_word op;
	const char *args;
	bool needed;
} functions[] = {
	{"malloc", EVENT_WORD_MALLOC, "di", true},
	{"calloc", EVENT_WORD_CALLOC, "di si", true},
	{"realloc", EVENT_WORD_REALLOC, "di si", true},
	{"memalign", EVENT_WORD_MEMALIGN, "si", false},
	{"aligned_alloc", EVENT_WORD_MEMALIGN, "si", false},
	{"posix_memalign", EVENT_WORD_POSIX_MEMALIGN, "di dx", false},
	{"mmap", EVENT_WORD_MMAP, "si", false},
	{"mmap64", EVENT_WORD_MMAP, "si", false},
	{"free", EVENT_WORD_FREE, "di", true},
	{"munmap", EVENT_WORD_MUNMAP, "di si", false},
};

static bool frees(enum event_word op)
{
	return op == EVENT_WORD_FREE || op == EVENT_WORD_MUNMAP;
}

static struct source_point point_of(size_t i)
{
	return (struct source_point){
		.symbol = functions[i].name,
		.program = frees(functions[i].op) ? LIBC_SOURCES_FREE : "event_libc_alloc",
		.args = functions[i].args,
		.kinds = KIND,
		.gives = KIND,
		.cookie = functions[i].op,
	};
}

/* Adds the points of a function; false if there is no room. */
static bool add_points(struct source_plan *plan, const struct source_point *of, uint64_t offset,
		       const struct placement_pair *sites)
{
	struct source_point point = *of;

	point.offset = offset + sites->call.offset;
	point.site = sites->call;
	if (!source_plan_add(plan, &point))
		return false;
	if (frees((enum event_word)of->cookie))
		return true;
	point.program = "event_libc_alloc_return";
	point.args = "";
	point.cookie = 0;
	point.at_return = true;
	point.offset = offset + sites->back.offset;
	point.site = sites->back;
	return source_plan_add(plan, &point);
}

/* True if the function of this address has points already: memalign and aligned_alloc may be one,
 * as are mmap and mmap64. */
static bool is_known(const struct source_plan *plan, const char *path, uint64_t addr)
{
	for (unsigned int i = 0; i < plan->nr_points; i++) {
		const struct source_point *p = &plan->points[i];

		if (p->kinds & KIND && p->path == path && p->addr == addr)
			return true;
	}
	return false;
}

static void refuse(struct source_plan *plan, const char *symbol, const char *why)
{
	source_plan_take_out(plan, KIND, symbol, why);
}

static void add_file(struct source_plan *plan, const struct elf_file *elf, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions) && plan->kinds & KIND; i++) {
		struct source_point point = point_of(i);
		struct placement_pair sites;
		struct elf_symbol symbol;
		const char *why = "no such symbol";
		bool ok;

		point.path = path;
		ok = elf_file_symbol(elf, functions[i].name, &symbol) && symbol.function;
		if (ok && is_known(plan, path, symbol.addr))
			continue;
		if (ok) {
			point.addr = symbol.addr;
			ok = placement_find_pair(&sites, elf, symbol.addr,
						 source_arguments(point.args),
						 !frees(functions[i].op));
			why = sites.call.ok ? sites.back.reason : sites.call.reason;
		}
		if (ok) {
			ok = add_points(plan, &point, elf_file_offset_of(elf, symbol.addr), &sites);
			why = SOURCE_TOO_MANY;
		}
		if (ok)
			continue;
		log_info("%s: %s() is not watched: %s", elf_file_name(elf), functions[i].name, why);
		if (functions[i].needed)
			refuse(plan, functions[i].name, why);
	}
}

static bool has_malloc(const struct elf_file *elf)
{
	struct elf_symbol symbol;

	return elf && elf_file_symbol(elf, "malloc", &symbol) && symbol.function &&
	       elf_file_symbol(elf, "free", &symbol) && symbol.function;
}

/* Of glibc: "ld-linux-x86-64.so.2", before 2.34 "ld-2.31.so".  musl has one file for both. */
static bool is_dynamic_linker(const char *path)
{
	const char *name = strrchr(path, '/') + 1;

	return strncmp(name, "ld-", 3) == 0 && strncmp(name, "ld-musl", 7) != 0;
}

/* The i-th mapped file that exports malloc, but for the dynamic linker of glibc, whose own malloc
 * serves itself; NULL: there are not so many. */
static const struct elf_file *file_with_malloc(const struct beam_node *n, unsigned int i,
					       const struct proc_map **map)
{
	const struct proc_maps *maps = objects_maps(n->objects);
	const struct elf_file *seen = NULL;

	for (size_t k = 0; k < maps->len; k++) {
		const struct elf_file *elf;
		uint64_t bias;

		*map = &maps->data[k];
		if (!(*map)->x || (*map)->path[0] != '/' || is_dynamic_linker((*map)->path))
			continue;
		elf = objects_elf(n->objects, (*map)->start, &bias);
		if (elf == seen || !has_malloc(elf))
			continue;
		seen = elf;
		if (i-- == 0)
			return elf;
	}
	return NULL;
}

void libc_sources_add(struct source_plan *plan, const struct beam_node *n, uint64_t kinds)
{
	const struct proc_map *map;
	const struct elf_file *elf;
	const char *path;

	if (!(kinds & KIND))
		return;
	plan->kinds |= KIND;
	plan->missing[EVENT_LIBC_ALLOC] = NULL;
	for (unsigned int i = 0; (elf = file_with_malloc(n, i, &map)); i++) {
		path = elf == n->elf ? NULL : source_plan_path(plan, n->os_pid, map);
		if (elf != n->elf && !path)
			refuse(plan, "malloc", "too many libraries, or its file cannot be opened");
		if (plan->kinds & KIND)
			add_file(plan, elf, path);
	}
	if (!file_with_malloc(n, 0, &map))
		refuse(plan, "malloc",
		       "no mapped file exports it: the node is linked statically, without symbols");
}

bool libc_sources_is_glibc(const struct beam_node *n)
{
	const struct proc_map *map;
	const struct elf_file *elf = file_with_malloc(n, 0, &map);
	struct elf_symbol symbol;

	return elf && !file_with_malloc(n, 1, &map) &&
	       elf_file_symbol(elf, "gnu_get_libc_version", &symbol);
}

void libc_sources_everything(struct source_plan *plan)
{
	const struct placement_pair nowhere = {0};

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		struct source_point point = point_of(i);

		add_points(plan, &point, 0, &nowhere);
	}
}
