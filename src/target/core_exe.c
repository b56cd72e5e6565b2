/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that were mapped in the process that left a core: finding them on this host, and the
 * proof that they are the same.  The first page of a mapped ELF file is in the core (default
 * coredump_filter, and gcore): it has the program headers and nearly always the build id.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "target/core_internal.h"
#include "target/elf_internal.h"

#define MAX_HEADERS    64 /* program headers of one file: 10 to 15 are usual */
#define NOTES_MAX_SIZE 4096
#define PLACES_MAX     256 /* limit of files that match one pattern */

/* Facts in the core about a mapped ELF file. */
struct identity {
	raddr base; /* address of the first page of the file */
	Elf64_Ehdr ehdr;
	Elf64_Phdr headers[MAX_HEADERS];
	char build_id[2 * ELF_BUILD_ID_MAX + 1]; /* "" = the file has none */
};

/* ---- ELF headers in the core ----------------------------------------------------------------- */

/* Converts a virtual address of the file to an address in the process. */
static raddr address_of(const struct identity *id, uint64_t addr)
{
	for (unsigned int i = 0; i < id->ehdr.e_phnum; i++) {
		const Elf64_Phdr *p = &id->headers[i];

		/* id->base is where file offset 0 is mapped, which the first PT_LOAD segment
		 * holds. */
		if (p->p_type == PT_LOAD)
			return id->base + (addr - (p->p_vaddr - p->p_offset));
	}
	return 0;
}

static void read_build_id(const struct core_file *c, struct identity *id)
{
	unsigned char notes[NOTES_MAX_SIZE];

	for (unsigned int i = 0; i < id->ehdr.e_phnum; i++) {
		const Elf64_Phdr *p = &id->headers[i];
		size_t size = MIN(p->p_filesz, sizeof(notes));

		if (p->p_type == PT_NOTE &&
		    core_file_read_own(c, address_of(id, p->p_vaddr), notes, size) == 0 &&
		    elf_notes_build_id((struct elf_bytes){notes, size}, id->build_id))
			return;
	}
}

/* False if there is no ELF header at base in the core. */
static bool read_identity(const struct core_file *c, raddr base, struct identity *id)
{
	memset(id, 0, sizeof(*id));
	id->base = base;
	if (core_file_read_own(c, base, &id->ehdr, sizeof(id->ehdr)) != 0 ||
	    memcmp(id->ehdr.e_ident, ELFMAG, SELFMAG) != 0 ||
	    id->ehdr.e_ident[EI_CLASS] != ELFCLASS64 || id->ehdr.e_phnum == 0 ||
	    id->ehdr.e_phnum > MAX_HEADERS || id->ehdr.e_phentsize != sizeof(Elf64_Phdr) ||
	    id->ehdr.e_phoff > CORE_PAGE_SIZE ||
	    core_file_read_own(c, base + id->ehdr.e_phoff, id->headers,
			       id->ehdr.e_phnum * sizeof(Elf64_Phdr)) != 0)
		return false;
	read_build_id(c, id);
	return true;
}

static bool identity_of_file(const struct core_file *c, uint32_t file, struct identity *id)
{
	for (size_t i = 0; i < c->mappings.len; i++)
		if (c->mappings.data[i].file == file && c->mappings.data[i].offset == 0)
			return read_identity(c, c->mappings.data[i].start, id);
	return false;
}

/* ---- comparing builds ------------------------------------------------------------------------ */

/* For files without build id: compares entry point and program headers, which have the exact sizes
 * of all segments.  Stripping does not change them; compiling other source does. */
static bool same_headers(const struct identity *id, const struct elf_file *elf)
{
	size_t size = id->ehdr.e_phnum * sizeof(Elf64_Phdr);
	Elf64_Phdr headers[MAX_HEADERS];
	Elf64_Ehdr ehdr;
	int fd = elf_file_fd(elf);

	return pread(fd, &ehdr, sizeof(ehdr), 0) == (ssize_t)sizeof(ehdr) &&
	       ehdr.e_entry == id->ehdr.e_entry && ehdr.e_phnum == id->ehdr.e_phnum &&
	       ehdr.e_machine == id->ehdr.e_machine &&
	       pread(fd, headers, size, (off_t)ehdr.e_phoff) == (ssize_t)size &&
	       memcmp(headers, id->headers, size) == 0;
}

static bool is_same(const struct identity *id, const struct elf_file *elf)
{
	const char *build_id = elf_file_build_id(elf);

	if (id->build_id[0] && build_id[0])
		return strcmp(id->build_id, build_id) == 0;
	return same_headers(id, elf);
}

/* False for a file of debug symbols only, which has the same build id but no bytes of code. */
static bool has_contents(const struct elf_file *elf)
{
	const struct elf_section *text = elf_file_section(elf, ".text");

	return !text || !text->nobits;
}

static struct elf_file *open_elf(const char *path, struct error *err)
{
	struct elf_file *elf = NULL;
	struct stat st;
	int fd;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		error_set(err, ERROR_KIND_FAILED, -EINVAL, "cannot open %s: it is %s", path,
			  S_ISDIR(st.st_mode) ? "a directory" : "not a file");
		return NULL;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		error_set(err, ERROR_KIND_FAILED, -errno, "cannot open %s: %s", path,
			  error_text(errno));
		return NULL;
	}
	if (elf_file_open(&elf, fd, path, err) != 0)
		return NULL;
	return elf;
}

/* Opens the file if it is of the same build as the one in the core; else NULL. */
static struct elf_file *open_same(const char *path, const struct identity *id)
{
	struct elf_file *elf = open_elf(path, NULL);

	if (elf && (!is_same(id, elf) || !has_contents(elf))) {
		elf_file_close(elf);
		elf = NULL;
	}
	return elf;
}

/* ---- libraries ------------------------------------------------------------------------------- */

struct elf_file *core_file_open_mapped(struct core_file *c, uint32_t file)
{
	struct core_mapped_file *f = &c->files.data[file];
	struct identity id;

	if (f->tried)
		return f->elf;
	f->tried = true;
	if (file != c->exe && identity_of_file(c, file, &id))
		f->elf = open_same(f->path, &id);
	if (file != c->exe && !f->elf)
		log_debug("%s: this host does not have the same %s: its functions have no names",
			  c->path, f->path);
	return f->elf;
}

/* ---- the executable -------------------------------------------------------------------------- */

/* For a core without notes: derives the executable's mappings from its program headers. */
static void map_exe(struct core_file *c, const struct identity *id, const char *path)
{
	struct core_mapped_file file = {.path = xstrdup(path), .tried = true};

	c->exe = (uint32_t)c->files.len;
	vec_push(&c->files, file);
	for (unsigned int i = 0; i < id->ehdr.e_phnum; i++) {
		const Elf64_Phdr *p = &id->headers[i];
		uint64_t before = p->p_vaddr % CORE_PAGE_SIZE;
		uint64_t size = (before + p->p_filesz + CORE_PAGE_SIZE - 1) &
				~(uint64_t)(CORE_PAGE_SIZE - 1);
		raddr start = address_of(id, p->p_vaddr) - before;

		if (p->p_type == PT_LOAD && p->p_filesz && p->p_offset >= before &&
		    start + size > start)
			vec_push(&c->mappings,
				 ((struct core_mapping){start, start + size, p->p_offset - before,
							c->exe}));
	}
	core_file_sort_mappings(c);
	c->facts.entry = address_of(id, id->ehdr.e_entry);
	snprintf(c->program, sizeof(c->program), "%s", path);
}

/* For a core without notes: finds the segment that begins with the headers of `elf`. */
static bool search_exe(struct core_file *c, const struct elf_file *elf, struct identity *id)
{
	for (size_t i = 0; i < c->segments.len; i++)
		if (c->segments.data[i].have_size >= sizeof(Elf64_Ehdr) &&
		    read_identity(c, c->segments.data[i].start, id) && is_same(id, elf))
			return true;
	return false;
}

static const char *or_none(const char *build_id)
{
	return build_id[0] ? build_id : "none";
}

static int refuse_build(const struct core_file *c, const struct identity *id,
			const struct elf_file *elf, struct error *err)
{
	return error_set(err, ERROR_KIND_FAILED, -ESTALE,
			 "%s is not the build that left %s: its build id is %s, that of the core "
			 "%s. Give the executable that was running with --exe",
			 elf_file_name(elf), c->path, or_none(elf_file_build_id(elf)),
			 or_none(id->build_id));
}

/* If the node was started as "ld.so beam.smp", the core's executable is the loader: searches all
 * mapped files for `elf`, and makes it the executable. */
static void find_loaded(struct core_file *c, struct identity *id, const struct elf_file *elf)
{
	struct identity other;

	for (uint32_t i = 0; i < c->files.len; i++) {
		if (!identity_of_file(c, i, &other) || !is_same(&other, elf))
			continue;
		*id = other;
		c->exe = i;
		snprintf(c->program, sizeof(c->program), "%s", c->files.data[i].path);
		return;
	}
}

/* Makes `path` (--exe) the executable.  Fails if it is of another build than the one in the core,
 * or has debug symbols only. */
static int take_exe(struct core_file *c, const char *path, struct error *err)
{
	struct elf_file *elf = open_elf(path, err);
	struct identity id;
	bool known;
	int rc = 0;

	if (!elf)
		return err ? err->code : -ENOENT;
	known = c->exe != UINT32_MAX && identity_of_file(c, c->exe, &id);
	if (known && !is_same(&id, elf))
		find_loaded(c, &id, elf);
	if (!has_contents(elf)) {
		rc = error_set(err, ERROR_KIND_FAILED, -ENODATA,
			       "%s holds debug symbols only: give the executable itself with "
			       "--exe",
			       path);
	} else if (known && !is_same(&id, elf)) {
		rc = refuse_build(c, &id, elf, err);
	} else if (c->exe == UINT32_MAX) {
		if (search_exe(c, elf, &id))
			map_exe(c, &id, path);
		else
			rc = error_set(
				err, ERROR_KIND_FAILED, -ENODATA,
				"%s has no list of mapped files (is it cut short?), and %s is "
				"not found in its memory",
				c->path, path);
	}
	if (rc) {
		elf_file_close(elf);
		return rc;
	}
	c->files.data[c->exe].tried = true;
	c->files.data[c->exe].elf = elf;
	return 0;
}

static struct elf_file *try_places(const struct identity *id, const char *pattern)
{
	struct elf_file *elf = NULL;
	glob_t found = {0};

	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; !elf && i < MIN(found.gl_pathc, PLACES_MAX); i++)
			elf = open_same(found.gl_pathv[i], id);
	globfree(&found);
	return elf;
}

/* Fedora and others install links from build ids to executables in these folders. */
static struct elf_file *try_build_id(const struct identity *id)
{
	static const char *const roots[] = {"/usr/lib/.build-id", "/usr/lib/debug/.build-id"};
	struct elf_file *elf = NULL;

	for (size_t i = 0; !elf && id->build_id[0] && i < ARRAY_SIZE(roots); i++) {
		char *path = xasprintf("%s/%.2s/%s", roots[i], id->build_id, id->build_id + 2);

		elf = open_same(path, id);
		free(path);
	}
	return elf;
}

static struct elf_file *try_beside_core(const struct core_file *c, const struct identity *id)
{
	const char *slash = strrchr(c->path, '/'), *name = strrchr(c->program, '/');
	char *path = xasprintf("%.*s%s", slash ? (int)(slash - c->path) + 1 : 0, c->path,
			       name ? name + 1 : c->program);
	struct elf_file *elf = open_same(path, id);

	free(path);
	return elf;
}

static int no_exe(const struct core_file *c, const struct identity *id, struct error *err)
{
	struct elf_file *elf = open_elf(c->program, NULL);
	int rc;

	if (elf && id) {
		rc = refuse_build(c, id, elf, err);
	} else if (elf) {
		rc = error_set(err, ERROR_KIND_FAILED, -ENODATA,
			       "%s does not have the first page of %s, so that ebeam cannot check "
			       "that the file is of the same build. If it is, give it with --exe",
			       c->path, c->program);
	} else {
		rc = error_set(err, ERROR_KIND_FAILED, -ENOENT,
			       "the executable that left %s is not on this host: %s, build id %s. "
			       "Copy it here and give it with --exe",
			       c->path, c->program, id ? or_none(id->build_id) : "unknown");
	}
	elf_file_close(elf);
	return rc;
}

int core_file_find_exe(struct core_file *c, const char *exe, const char *const *places,
		       struct error *err)
{
	struct elf_file *elf;
	struct identity id;

	if (exe)
		return take_exe(c, exe, err);
	if (c->exe == UINT32_MAX)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "%s has no list of mapped files%s. Give the executable with --exe",
				 c->path, c->facts.missing_size ? ", as it is cut short" : "");
	if (!identity_of_file(c, c->exe, &id))
		return no_exe(c, NULL, err);
	elf = open_same(c->program, &id);
	elf = elf ? elf : try_beside_core(c, &id);
	elf = elf ? elf : try_build_id(&id);
	for (size_t i = 0; !elf && places[i]; i++)
		elf = try_places(&id, places[i]);
	if (!elf)
		return no_exe(c, &id, err);
	c->files.data[c->exe].tried = true;
	c->files.data[c->exe].elf = elf;
	return 0;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static void add_map(struct core_file *c, struct proc_map *map, const struct core_mapping *m)
{
	map->path = xstrdup(m ? c->files.data[m->file].path : "");
	if (m) {
		map->offset = m->offset + (map->start - m->start);
		map->inode = m->file + 1; /* cores have no inodes: any unique number; 0 = no file */
		map->deleted = c->files.data[m->file].deleted;
	}
}

/* A part of a mapped file for which the core has no segment (gcore leaves out read-only data and
 * code): its permissions come from the program headers of the file. */
static void add_gap(struct core_file *c, const struct core_mapping *m, raddr start, raddr end,
		    struct proc_map *map)
{
	const struct elf_file *elf = core_file_open_mapped(c, m->file);

	*map = (struct proc_map){.start = start, .end = end, .r = true};
	map->x = elf && elf_file_is_code(elf, m->offset + (start - m->start));
	add_map(c, map, m);
}

void core_file_maps(struct core_file *c, struct proc_maps *out)
{
	VEC(struct proc_map) maps = {0};
	size_t s = 0, m = 0;
	raddr at = 0; /* mappings below this address have been added */

	while (s < c->segments.len || m < c->mappings.len) {
		const struct core_segment *seg = s < c->segments.len ? &c->segments.data[s] : NULL;
		const struct core_mapping *file = m < c->mappings.len ? &c->mappings.data[m] : NULL;
		raddr from = file ? MAX(file->start, at) : 0;
		struct proc_map map;

		if (file && (file->end <= at)) {
			m++;
			continue;
		}
		if (!seg || (file && from < seg->start)) {
			at = seg ? MIN(file->end, seg->start) : file->end;
			add_gap(c, file, from, at, &map);
		} else {
			map = (struct proc_map){.start = seg->start,
						.end = seg->end,
						.r = seg->r,
						.w = seg->w,
						.x = seg->x};
			add_map(c, &map, core_mapping_at(c, seg->start));
			at = seg->end;
			s++;
		}
		vec_push(&maps, map);
	}
	*out = (struct proc_maps){.data = maps.data, .len = maps.len};
}

struct elf_file *core_file_elf(struct core_file *c, const struct proc_map *map)
{
	if (map->inode == 0 || map->inode > c->files.len)
		return NULL;
	return core_file_open_mapped(c, (uint32_t)map->inode - 1);
}
