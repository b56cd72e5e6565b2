/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native address -> file and function.  Three caches, since a profiler needs this for every frame:
 * results by address, the object of each mapping, and objects by (device, inode).  Objects are
 * never freed before the struct objects, so that returned names stay valid.
 */
#include "target/objects.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keytab.h"
#include "base/units.h"
#include "base/vec.h"
#include "target/objects_internal.h"

/* Cache of results by address: direct mapped, 64 bytes each. */
#define CACHE_BITS 12
#define CACHE_LEN  (1u << CACHE_BITS)

/* A node maps some tens of files; each open file costs a descriptor. */
#define MAX_OBJECTS 1024
#define MAX_OPEN    256

/* Bytes of debug files that are copied to memory or decompressed. */
#define DEBUG_BUDGET ((size_t)256 << 20)

/* The maps are read again for an address outside of all mappings, but at most once in this time:
 * stacks with wrong addresses would otherwise cost one read of the maps for each address. */
#define REFRESH_INTERVAL_NS 250000000ull

struct object {
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	char *name;		      /* base name */
	bool tried;		      /* elf was opened, or that failed */
	struct elf_file *elf, *debug; /* debug: with the symbols of a stripped file; or NULL */
	bool borrowed;		      /* elf is owned by the core file */
	struct keytab named;	      /* struct named */
};

/* State of the mapping that has the same index in maps. */
struct mapping {
	struct object *object; /* NULL: not resolved yet */
	bool has_bias;
	uint64_t bias;
};

struct cached {
	raddr addr; /* 0: empty */
	struct object_function function;
};

/* A name from objects_name() or objects_name_functions(). */
struct named {
	uint64_t start; /* key: address of the function in the file */
	char *name;
	enum symbol_source source;
};

struct objects {
	int os_pid;
	struct core_file *core; /* NULL: a live process */
	struct proc_maps maps;
	struct mapping *mappings;
	uint64_t read_ns; /* when the maps were read */
	unsigned int generation;
	VEC(struct object *) objects;
	bool has_cached; /* something is in the cache */
	size_t nr_open;
	size_t debug_budget; /* bytes of debug files that may still be kept in memory */
	struct object anon;  /* for mappings without a file */
	struct object other; /* for all files beyond MAX_OBJECTS */
	struct cached cache[CACHE_LEN];
};

static void take_maps(struct objects *o, struct proc_maps *maps)
{
	proc_maps_free(&o->maps);
	free(o->mappings);
	o->maps = *maps;
	o->mappings = xcalloc(maps->len, sizeof(*o->mappings));
	o->generation++;
	memset(o->cache, 0, sizeof(o->cache));
}

static bool maps_equal(const struct proc_maps *a, const struct proc_maps *b)
{
	for (size_t i = 0; i < a->len && a->len == b->len; i++) {
		const struct proc_map *x = &a->data[i], *y = &b->data[i];

		if (x->start != y->start || x->end != y->end || x->offset != y->offset ||
		    x->inode != y->inode || x->dev_major != y->dev_major ||
		    x->dev_minor != y->dev_minor || x->x != y->x)
			return false;
	}
	return a->len == b->len;
}

int objects_refresh(struct objects *o, struct error *err)
{
	struct proc_maps maps;
	int code;

	if (o->core)
		return 0;
	o->read_ns = clock_monotonic_ns();
	code = proc_maps_read(&maps, o->os_pid, err);
	if (code)
		return code; /* the process may have exited; keep the old maps */
	if (maps_equal(&o->maps, &maps))
		proc_maps_free(&maps);
	else
		take_maps(o, &maps);
	return 0;
}

static struct objects *objects_new(void)
{
	struct objects *o = xcalloc(1, sizeof(*o));

	o->debug_budget = DEBUG_BUDGET;
	o->anon = (struct object){.name = "[anon]", .tried = true};
	o->other = (struct object){.name = "[other]", .tried = true};
	return o;
}

struct objects *objects_open_core(struct core_file *core)
{
	struct objects *o = objects_new();
	struct proc_maps maps;

	o->core = core;
	o->os_pid = core_file_facts(core)->os_pid;
	core_file_maps(core, &maps);
	take_maps(o, &maps);
	return o;
}

int objects_open(struct objects **out, int os_pid, struct error *err)
{
	struct objects *o = objects_new();
	int code;

	o->os_pid = os_pid;
	code = objects_refresh(o, err);
	if (code) {
		objects_close(o);
		return code;
	}
	*out = o;
	return 0;
}

void objects_close(struct objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->objects.len; i++) {
		struct keytab *named = &o->objects.data[i]->named;

		for (struct named *n = keytab_next(named, NULL); n; n = keytab_next(named, n))
			free(n->name);
		keytab_free(named);
		if (!o->objects.data[i]->borrowed)
			elf_file_close(o->objects.data[i]->elf);
		elf_file_close(o->objects.data[i]->debug);
		free(o->objects.data[i]->name);
		free(o->objects.data[i]);
	}
	vec_free(&o->objects);
	proc_maps_free(&o->maps);
	free(o->mappings);
	free(o);
}

/* Mappings without a file on disk: heaps, the JIT's memfd, shared anonymous memory. */
static bool is_anonymous(const struct proc_map *map)
{
	static const char *const prefixes[] = {"/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"};

	if (strcmp(map->path, "[vdso]") == 0)
		return false;
	if (map->path[0] != '/')
		return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(map->path, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static struct object *object_of_map(struct objects *o, const struct proc_map *map)
{
	struct object *obj;
	const char *slash = strrchr(map->path, '/');

	if (is_anonymous(map))
		return &o->anon;
	for (size_t i = 0; i < o->objects.len; i++) {
		obj = o->objects.data[i];
		if (obj->inode == map->inode && obj->dev_major == map->dev_major &&
		    obj->dev_minor == map->dev_minor)
			return obj;
	}
	if (o->objects.len == MAX_OBJECTS)
		return &o->other;
	obj = xcalloc(1, sizeof(*obj));
	*obj = (struct object){
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
		.name = xstrdup(slash ? slash + 1 : map->path),
		.named = KEYTAB_INIT(struct named),
	};
	vec_push(&o->objects, obj);
	return obj;
}

/* The object whose file is open as `elf`; NULL = none. */
static struct object *object_of_file(const struct objects *o, const struct elf_file *elf)
{
	for (size_t i = 0; i < o->objects.len; i++) {
		if (o->objects.data[i]->elf == elf)
			return o->objects.data[i];
	}
	return NULL;
}

/* The mapping at an index of maps, with its object opened and its load bias set. */
static const struct mapping *resolve_mapping(struct objects *o, size_t i)
{
	struct mapping *m = &o->mappings[i];
	const struct proc_map *map = &o->maps.data[i];

	if (m->object)
		return m;
	m->object = object_of_map(o, map);
	if (!m->object->tried) {
		m->object->tried = true;
		m->object->borrowed = o->core != NULL;
		if (o->core)
			m->object->elf = core_file_elf(o->core, map);
		else if (o->nr_open < MAX_OPEN)
			m->object->elf = objects_open_elf(o->os_pid, map);
		o->nr_open += m->object->elf != NULL;
		if (m->object->elf && o->nr_open < MAX_OPEN)
			m->object->debug = objects_open_debug(o->core ? 0 : o->os_pid,
							      m->object->elf, &o->debug_budget);
		o->nr_open += m->object->debug != NULL;
	}
	if (m->object->elf)
		m->has_bias = elf_file_bias(m->object->elf, map->start, map->offset,
					    map->end - map->start, &m->bias);
	return m;
}

/* The mapping that holds addr; reads the maps again if there is none. */
static const struct proc_map *find_map(struct objects *o, raddr addr, bool exec)
{
	const struct proc_map *map = proc_maps_find(&o->maps, addr);

	if (map && (map->x || !exec))
		return map;
	if (clock_monotonic_ns() - o->read_ns < REFRESH_INTERVAL_NS ||
	    objects_refresh(o, NULL) != 0)
		return NULL;
	map = proc_maps_find(&o->maps, addr);
	return map && (map->x || !exec) ? map : NULL;
}

static void describe(const struct mapping *m, const struct proc_map *map, raddr addr,
		     struct object_function *out)
{
	const struct elf_file *elf = m->object->elf, *debug = m->object->debug;
	uint64_t at = addr - m->bias, start, end;
	struct elf_symbol symbol;
	enum symbol_source source = SYMBOL_SOURCE_NONE;

	*out = (struct object_function){.object = m->object->name, .offset = addr};
	if (!m->has_bias) {
		if (map->inode)
			out->offset = map->offset + (addr - map->start); /* file offset */
		return;
	}
	out->offset = at;
	if (elf_file_function_at(elf, at, &start, &end)) {
		out->offset = start;
		out->start = start + m->bias;
		out->end = end + m->bias;
	}
	if (elf_file_stub_at(elf, at, &symbol))
		source = SYMBOL_SOURCE_PLT;
	else if (elf_file_symbol_at(elf, at, &symbol))
		source = elf_file_is_stripped(elf) ? SYMBOL_SOURCE_DYNSYM : SYMBOL_SOURCE_SYMTAB;
	else if (debug && elf_file_symbol_at(debug, at, &symbol))
		source = SYMBOL_SOURCE_DEBUG_FILE;
	if (source != SYMBOL_SOURCE_NONE) {
		out->symbol = symbol.name;
		out->source = source;
		if (source == SYMBOL_SOURCE_PLT || out->start == out->end) {
			out->start = symbol.addr + m->bias;
			out->end = out->start + symbol.size;
		}
	}
}

static void add_name(struct objects *o, struct object *obj, uint64_t start, const char *name,
		     enum symbol_source source)
{
	struct named *n;

	if (start == 0 || obj->named.nr >= OBJECTS_MAX_NAMED || keytab_find(&obj->named, start))
		return;
	n = keytab_add(&obj->named, start);
	n->name = xstrdup(name);
	n->source = source;
	if (o->has_cached)
		memset(o->cache, 0, sizeof(o->cache));
	o->has_cached = false;
}

void objects_name(struct objects *o, raddr start, const char *name, enum symbol_source source)
{
	const struct proc_map *map = find_map(o, start, true);
	const struct mapping *m = map ? resolve_mapping(o, (size_t)(map - o->maps.data)) : NULL;

	if (m && m->has_bias)
		add_name(o, m->object, start - m->bias, name, source);
}

void objects_name_functions(struct objects *o, const struct elf_file *elf,
			    const struct function_name *names, size_t nr)
{
	struct object *obj = object_of_file(o, elf);

	for (size_t i = 0; obj && i < nr; i++)
		add_name(o, obj, names[i].addr, names[i].name, SYMBOL_SOURCE_REFERENCE);
}

static void take_name(const struct mapping *m, struct object_function *f)
{
	const struct named *n = m->has_bias && f->start != f->end
					? keytab_find(&m->object->named, f->start - m->bias)
					: NULL;

	if (n) {
		f->symbol = n->name;
		f->source = n->source;
	}
}

int objects_find(struct objects *o, raddr addr, struct object_function *out)
{
	/* Fibonacci hashing: code addresses differ in their low bits. */
	struct cached *c = &o->cache[(addr * 0x9E3779B97F4A7C15ull) >> (64 - CACHE_BITS)];
	const struct proc_map *map;
	const struct mapping *m;

	if (c->addr == addr && addr != 0) {
		*out = c->function;
		return 0;
	}
	map = find_map(o, addr, true);
	if (!map)
		return -ENOENT;
	m = resolve_mapping(o, (size_t)(map - o->maps.data));
	describe(m, map, addr, out);
	if (!out->symbol)
		take_name(m, out);
	*c = (struct cached){.addr = addr, .function = *out};
	o->has_cached = true;
	return 0;
}

const char *object_function_name(const struct object_function *f, char *buf, size_t size)
{
	if (f->symbol || f->object[0] == '[')
		snprintf(buf, size, "%s", f->symbol ? f->symbol : f->object);
	else
		snprintf(buf, size, "%s+0x%" PRIx64, f->object, f->offset);
	return buf;
}

static struct elf_file *elf_at(struct objects *o, const struct proc_map *map, uint64_t *bias)
{
	const struct mapping *m;

	if (!map)
		return NULL;
	m = resolve_mapping(o, (size_t)(map - o->maps.data));
	if (!m->has_bias)
		return NULL;
	*bias = m->bias;
	return m->object->elf;
}

struct elf_file *objects_elf(struct objects *o, raddr addr, uint64_t *bias)
{
	return elf_at(o, find_map(o, addr, false), bias);
}

struct elf_file *objects_code(struct objects *o, raddr addr, uint64_t *bias)
{
	const struct proc_map *map = proc_maps_find(&o->maps, addr);

	return elf_at(o, map && map->x ? map : NULL, bias);
}

const struct elf_file *objects_debug(const struct objects *o, const struct elf_file *elf)
{
	const struct object *obj = object_of_file(o, elf);

	return obj ? obj->debug : NULL;
}

bool objects_file(const struct objects *o, size_t i, const char **name, const char **build_id)
{
	const struct object *obj;

	if (i >= o->objects.len)
		return false;
	obj = o->objects.data[i];
	*name = obj->name;
	*build_id = obj->elf ? elf_file_build_id(obj->elf) : "";
	return true;
}

void objects_name_imports(struct objects *o, struct mem *mem, const struct elf_file *elf,
			  uint64_t bias)
{
	struct elf_import *imports = NULL;
	size_t nr = elf_file_imports(elf, &imports);
	struct object_function f;
	uint64_t value, other;

	for (size_t i = 0; i < nr; i++) {
		if (mem_read_u64(mem, imports[i].slot + bias, &value) == 0 &&
		    objects_find(o, value, &f) == 0 && !f.symbol && f.start == value &&
		    f.start != f.end && objects_elf(o, value, &other) != elf)
			objects_name(o, value, imports[i].name, SYMBOL_SOURCE_IMPORT);
	}
	free(imports);
}

unsigned int objects_generation(const struct objects *o)
{
	return o->generation;
}

const struct proc_maps *objects_maps(const struct objects *o)
{
	return &o->maps;
}
