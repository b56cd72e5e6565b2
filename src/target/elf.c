/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ELF file: opening, sections, segments, notes.  libelf reads the headers; the bytes of
 * sections are taken from its mapping of the file with bounds checks of this file, so that every
 * offset and size in the file is checked in the same way.
 */
#include "target/elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "target/elf_internal.h"

struct elf_bytes elf_file_bytes(const struct elf_file *e, uint64_t offset, uint64_t size)
{
	if (size == 0 || offset > e->file.size || size > e->file.size - offset)
		return (struct elf_bytes){0};
	return (struct elf_bytes){e->file.data + offset, size};
}

struct elf_bytes elf_section_bytes(const struct elf_file *e, size_t i)
{
	const struct elf_section *s = &e->sections[i];

	if (s->nobits)
		return (struct elf_bytes){0};
	return elf_file_bytes(e, s->offset, s->size);
}

const char *elf_bytes_string(struct elf_bytes strings, uint64_t offset)
{
	if (offset >= strings.size || !memchr(strings.data + offset, '\0', strings.size - offset))
		return NULL;
	return (const char *)strings.data + offset;
}

/* Section headers outside of the file count as "no sections". */
static void read_sections(struct elf_file *e)
{
	size_t nr, strings_index;
	struct elf_bytes strings = {0};
	GElf_Shdr shdr;
	Elf_Scn *scn;

	if (elf_getshdrnum(e->elf, &nr) != 0 || nr == 0 || nr > ELF_MAX_SECTIONS)
		return;
	if (elf_getshdrstrndx(e->elf, &strings_index) == 0) {
		scn = elf_getscn(e->elf, strings_index);
		if (scn && gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_STRTAB)
			strings = elf_file_bytes(e, shdr.sh_offset, shdr.sh_size);
	}
	e->sections = xcalloc(nr, sizeof(*e->sections));
	e->section_types = xcalloc(nr, sizeof(*e->section_types));
	for (size_t i = 0; i < nr; i++) {
		const char *name;

		scn = elf_getscn(e->elf, i);
		if (!scn || !gelf_getshdr(scn, &shdr))
			break;
		name = elf_bytes_string(strings, shdr.sh_name);
		e->sections[i] = (struct elf_section){
			.name = name ? name : "",
			.addr = shdr.sh_addr,
			.size = shdr.sh_size,
			.offset = shdr.sh_offset,
			.alloc = shdr.sh_flags & SHF_ALLOC,
			.write = shdr.sh_flags & SHF_WRITE,
			.exec = shdr.sh_flags & SHF_EXECINSTR,
			.nobits = shdr.sh_type == SHT_NOBITS || shdr.sh_type == SHT_NULL,
		};
		e->section_types[i] = shdr.sh_type;
		e->nr_sections = i + 1;
	}
}

static void read_loads(struct elf_file *e)
{
	size_t nr;

	if (elf_getphdrnum(e->elf, &nr) != 0 || nr == 0 || nr > ELF_MAX_SECTIONS)
		return;
	e->loads = xcalloc(nr, sizeof(*e->loads));
	for (size_t i = 0; i < nr; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(e->elf, (int)i, &phdr))
			break;
		if (phdr.p_type != PT_LOAD || phdr.p_filesz == 0 ||
		    phdr.p_vaddr + phdr.p_filesz < phdr.p_vaddr ||
		    phdr.p_offset + phdr.p_filesz < phdr.p_offset)
			continue;
		e->loads[e->nr_loads++] = (struct elf_load){
			.addr = phdr.p_vaddr,
			.offset = phdr.p_offset,
			.file_size = phdr.p_filesz,
			.write = phdr.p_flags & PF_W,
			.exec = phdr.p_flags & PF_X,
		};
	}
}

bool elf_note_next(struct elf_bytes notes, size_t *at, struct elf_note *out)
{
	size_t left = notes.size - *at, name;
	Elf64_Nhdr note;

	if (left < sizeof(note))
		return false;
	memcpy(&note, notes.data + *at, sizeof(note));
	left -= sizeof(note);
	name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
	if (name > left || note.n_descsz > left - name)
		return false;
	*at += sizeof(note);
	out->type = note.n_type;
	out->owner = (struct elf_bytes){notes.data + *at, note.n_namesz};
	*at += name;
	out->desc = (struct elf_bytes){notes.data + *at, note.n_descsz};
	*at += MIN(((size_t)note.n_descsz + 3) & ~(size_t)3, left - name);
	return true;
}

bool elf_note_is_of(const struct elf_note *note, const char *owner)
{
	return note->owner.size == strlen(owner) + 1 &&
	       memcmp(note->owner.data, owner, note->owner.size) == 0;
}

bool elf_notes_build_id(struct elf_bytes notes, char out[2 * ELF_BUILD_ID_MAX + 1])
{
	struct elf_note note;
	size_t at = 0;

	while (elf_note_next(notes, &at, &note)) {
		if (note.type != NT_GNU_BUILD_ID || !elf_note_is_of(&note, "GNU") ||
		    note.desc.size > ELF_BUILD_ID_MAX)
			continue;
		for (size_t i = 0; i < note.desc.size; i++)
			snprintf(out + 2 * i, 3, "%02x", note.desc.data[i]);
		return true;
	}
	return false;
}

static void read_build_id(struct elf_file *e)
{
	for (size_t i = 0; i < e->nr_sections; i++) {
		if (e->section_types[i] == SHT_NOTE &&
		    elf_notes_build_id(elf_section_bytes(e, i), e->build_id))
			return;
	}
}

/*
 * Maps the whole file, shared.  Into a private mapping that may become executable the kernel writes
 * the breakpoints of uprobes on this file: ebeam would read these instead of the file's bytes.
 */
static Elf *map_shared(struct elf_file *e)
{
	struct stat st;

	if (fstat(e->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0)
		return NULL;
	e->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, e->fd, 0);
	if (e->map == MAP_FAILED) {
		e->map = NULL;
		return NULL;
	}
	e->map_size = (size_t)st.st_size;
	return elf_memory(e->map, e->map_size);
}

int elf_file_open(struct elf_file **out, int fd, const char *name, struct error *err)
{
	struct elf_file *e = xcalloc(1, sizeof(*e));
	int code, map_errno;
	GElf_Ehdr ehdr;

	e->fd = fd;
	e->name = xstrdup(name);
	elf_version(EV_CURRENT);
	errno = 0;
	e->elf = map_shared(e);
	map_errno = errno;
	if (!e->elf)
		e->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	e->file.data = e->elf ? (const unsigned char *)elf_rawfile(e->elf, &e->file.size) : NULL;
	if (!e->file.data && !e->map && map_errno == ENOMEM) {
		elf_file_close(e);
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM, "cannot map %s: %s", name,
				 error_text(ENOMEM));
	}
	if (!e->file.data || elf_kind(e->elf) != ELF_K_ELF || !gelf_getehdr(e->elf, &ehdr)) {
		code = error_set(err, ERROR_KIND_FAILED, -ENOEXEC, "%s is not an ELF file%s%s",
				 name, e->elf ? "" : ": ", e->elf ? "" : elf_errmsg(-1));
		elf_file_close(e);
		return code;
	}
	e->is_64_lsb = ehdr.e_ident[EI_CLASS] == ELFCLASS64 && ehdr.e_ident[EI_DATA] == ELFDATA2LSB;
	e->machine = ehdr.e_machine;
	read_sections(e);
	read_loads(e);
	if (e->is_64_lsb)
		read_build_id(e);
	e->symbols = elf_symbols_new(e);
	e->frames = elf_frames_new();
	*out = e;
	return 0;
}

void elf_file_close(struct elf_file *e)
{
	if (!e)
		return;
	elf_symbols_free(e->symbols);
	elf_frames_free(e->frames);
	free(e->sections);
	free(e->section_types);
	free(e->loads);
	free(e->name);
	elf_end(e->elf);
	if (e->map)
		munmap(e->map, e->map_size);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
}

const char *elf_file_name(const struct elf_file *e)
{
	return e->name;
}

bool elf_file_is_x86_64(const struct elf_file *e)
{
	return e->is_64_lsb && e->machine == EM_X86_64;
}

bool elf_file_is_stripped(const struct elf_file *e)
{
	for (size_t i = 0; i < e->nr_sections; i++)
		if (e->section_types[i] == SHT_SYMTAB)
			return false;
	return true;
}

const char *elf_file_build_id(const struct elf_file *e)
{
	return e->build_id;
}

const struct elf_section *elf_file_section(const struct elf_file *e, const char *name)
{
	for (size_t i = 0; i < e->nr_sections; i++)
		if (strcmp(e->sections[i].name, name) == 0)
			return &e->sections[i];
	return NULL;
}

int elf_file_read(const struct elf_file *e, uint64_t addr, void *buf, size_t size)
{
	for (size_t i = 0; i < e->nr_loads; i++) {
		const struct elf_load *l = &e->loads[i];
		uint64_t skip = addr - l->addr;
		struct elf_bytes bytes;

		if (addr < l->addr || skip > l->file_size || size > l->file_size - skip)
			continue;
		if (size == 0)
			return 0;
		bytes = elf_file_bytes(e, l->offset + skip, size);
		if (!bytes.data)
			return -EFAULT;
		memcpy(buf, bytes.data, size);
		return 0;
	}
	return -EFAULT;
}

uint8_t *elf_file_copy_section(const struct elf_file *e, const char *name, size_t max, size_t *size,
			       uint64_t *addr)
{
	const struct elf_section *s = elf_file_section(e, name);
	struct elf_bytes bytes = {0};
	uint8_t *copy;

	*size = 0;
	if (s)
		bytes = elf_section_bytes(e, (size_t)(s - e->sections));
	if (!bytes.data || bytes.size > max)
		return NULL;
	copy = xmalloc(bytes.size);
	memcpy(copy, bytes.data, bytes.size);
	*size = bytes.size;
	if (addr)
		*addr = s->addr;
	return copy;
}

size_t elf_file_read_constant(const struct elf_file *e, uint64_t offset, void *buf, size_t size)
{
	for (size_t i = 0; i < e->nr_loads; i++) {
		const struct elf_load *l = &e->loads[i];
		struct elf_bytes bytes;

		if (l->write || offset < l->offset || offset - l->offset >= l->file_size)
			continue;
		if (size > l->file_size - (offset - l->offset))
			size = l->file_size - (offset - l->offset);
		bytes = elf_file_bytes(e, offset, size);
		if (!bytes.data)
			return 0;
		memcpy(buf, bytes.data, bytes.size);
		return bytes.size;
	}
	return 0;
}

bool elf_file_is_code(const struct elf_file *e, uint64_t offset)
{
	for (size_t i = 0; i < e->nr_loads; i++) {
		const struct elf_load *l = &e->loads[i];

		if (l->exec && offset >= l->offset && offset - l->offset < l->file_size)
			return true;
	}
	return false;
}

uint64_t elf_file_offset_of(const struct elf_file *e, uint64_t addr)
{
	for (size_t i = 0; i < e->nr_loads; i++) {
		const struct elf_load *l = &e->loads[i];

		if (addr >= l->addr && addr - l->addr < l->file_size)
			return l->offset + (addr - l->addr);
	}
	return UINT64_MAX;
}

/* A mapping starts and ends at page borders, so it can hold bytes of the neighbouring segments
 * too: the segment that fills most of it is the one it was made for. */
bool elf_file_bias(const struct elf_file *e, raddr start, uint64_t offset, uint64_t size,
		   uint64_t *bias)
{
	uint64_t most = 0;

	if (offset + size < offset)
		return false;
	for (size_t i = 0; i < e->nr_loads; i++) {
		const struct elf_load *l = &e->loads[i];
		uint64_t from = l->offset > offset ? l->offset : offset;
		uint64_t to = l->offset + l->file_size;

		if (to > offset + size)
			to = offset + size;
		if (to <= from || to - from <= most)
			continue;
		most = to - from;
		*bias = start + (l->offset - offset) - l->addr;
	}
	return most > 0;
}

int elf_file_fd(const struct elf_file *e)
{
	return e->fd;
}

const struct elf_section *elf_section_at(const struct elf_file *e, uint64_t addr)
{
	for (size_t i = 0; i < e->nr_sections; i++) {
		const struct elf_section *s = &e->sections[i];

		if (s->alloc && addr >= s->addr && addr - s->addr < s->size)
			return s;
	}
	return NULL;
}
