/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers and notes of a core file; see core.h.  The ELF structs are read by hand: libelf refuses
 * truncated files, and many cores of crashed nodes are truncated.
 */
#include "target/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "target/core_internal.h"
#include "target/core_writer.h"
#include "target/elf_internal.h"
#include "target/proc_internal.h"

/* vm.max_map_count is 65,530 by default and rarely more than a million. */
#define MAX_SEGMENTS (1u << 21)
/* Limit for all notes together: about 4 KiB for each of up to a few thousand threads, 100 bytes for
 * each mapped file.  A damaged file could have many headers of the same notes. */
#define NOTES_MAX_SIZE ((size_t)256 << 20)
#define MAX_FILES      65536u
/* NT_FILE lists the mappings of a file one after another, so that a name that was seen before is
 * among the last NAMES_BACK ones. */
#define NAMES_BACK 64u

/* ---- reading the file ------------------------------------------------------------------------ */

ssize_t core_file_read_at(const struct core_file *c, uint64_t offset, void *buf, size_t size)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return 0;
	while (done < size) {
		ssize_t n = pread(c->fd, (char *)buf + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/* If the first bytes of a file are those of a compressed one, as systemd-coredump stores cores: the
 * format, and how to unpack it; else NULL. */
static const char *unpack_advice(const unsigned char *head)
{
	static const struct {
		unsigned char magic[6];
		size_t len;
		const char *advice;
	} packed[] = {
		{{0x28, 0xb5, 0x2f, 0xfd},
		 4,
		 "zstd; unpack it first (zstd -d, or coredumpctl dump)"},
		{{0x04, 0x22, 0x4d, 0x18}, 4, "lz4; unpack it first (lz4 -d, or coredumpctl dump)"},
		{{0xfd, '7', 'z', 'X', 'Z'}, 5, "xz; unpack it first (xz -d, or coredumpctl dump)"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(packed); i++)
		if (memcmp(head, packed[i].magic, packed[i].len) == 0)
			return packed[i].advice;
	return NULL;
}

static int read_header(const struct core_file *c, Elf64_Ehdr *ehdr, struct error *err)
{
	ssize_t n = core_file_read_at(c, 0, ehdr, sizeof(*ehdr));
	const char *advice;

	if (n < 0)
		return error_set(err, ERROR_KIND_FAILED, (int)n, "cannot read %s: %s", c->path,
				 error_text((int)n));
	if (n < (ssize_t)sizeof(ehdr->e_ident))
		return error_set(err, ERROR_KIND_FAILED, -ENOEXEC,
				 "%s is not a core file: it has %zd bytes", c->path, n);
	advice = unpack_advice(ehdr->e_ident);
	if (advice)
		return error_set(err, ERROR_KIND_FAILED, -ENOEXEC, "%s is compressed by %s",
				 c->path, advice);
	if (memcmp(ehdr->e_ident, ELFMAG, SELFMAG) != 0)
		return error_set(err, ERROR_KIND_FAILED, -ENOEXEC,
				 "%s is not a core file (no ELF header). Cores are made by "
				 "'gcore PID', or by the kernel when a process crashes; an "
				 "erl_crash.dump is a text file, not a core",
				 c->path);
	if (n < (ssize_t)sizeof(*ehdr))
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "%s is cut short: it has %zd bytes, less than an ELF header",
				 c->path, n);
	if (ehdr->e_ident[EI_CLASS] != ELFCLASS64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ehdr->e_machine != EM_X86_64)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
				 "%s is not of an x86-64 process", c->path);
	if (ehdr->e_type != ET_CORE)
		return error_set(err, ERROR_KIND_FAILED, -ENOEXEC,
				 "%s is not a core file but %s. Give the core with --core, the "
				 "executable with --exe",
				 c->path,
				 ehdr->e_type == ET_REL ? "an object file"
							: "an executable or a library");
	return 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* How many bytes of [offset, offset + size) are in the file. */
static uint64_t have(const struct core_file *c, uint64_t offset, uint64_t size)
{
	return offset >= c->file_size ? 0 : MIN(size, c->file_size - offset);
}

static void expect(struct core_file *c, uint64_t offset, uint64_t size)
{
	uint64_t end = offset + size < offset ? UINT64_MAX : offset + size;

	c->facts.size = MAX(c->facts.size, size ? end : 0);
}

static void add_segment(struct core_file *c, const Elf64_Phdr *p)
{
	uint64_t size = MIN(p->p_filesz, p->p_memsz);

	if (p->p_memsz == 0 || p->p_vaddr + p->p_memsz < p->p_vaddr ||
	    p->p_offset + size < p->p_offset)
		return;
	expect(c, p->p_offset, size);
	vec_push(&c->segments, ((struct core_segment){
				       .start = p->p_vaddr,
				       .end = p->p_vaddr + p->p_memsz,
				       .offset = p->p_offset,
				       .size = size,
				       .have_size = have(c, p->p_offset, size),
				       .r = p->p_flags & PF_R,
				       .w = p->p_flags & PF_W,
				       .x = p->p_flags & PF_X,
			       }));
}

static int by_segment_start(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void sort_segments(struct core_file *c)
{
	size_t kept = 0;

	if (c->segments.len)
		qsort(c->segments.data, c->segments.len, sizeof(*c->segments.data),
		      by_segment_start);
	for (size_t i = 0; i < c->segments.len; i++) {
		const struct core_segment *s = &c->segments.data[i];

		if (kept == 0 || c->segments.data[kept - 1].end <= s->start)
			c->segments.data[kept++] = *s;
	}
	c->segments.len = kept;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static uint32_t add_file(struct core_file *c, const char *name, size_t len)
{
	struct core_mapped_file file = {0};

	for (size_t i = c->files.len; i > 0 && c->files.len - i < NAMES_BACK; i--) {
		const char *known = c->files.data[i - 1].path;

		if (strncmp(known, name, len) == 0 && known[len] == '\0')
			return (uint32_t)i - 1;
	}
	file.path = xstrndup(name, len);
	vec_push(&c->files, file);
	return (uint32_t)c->files.len - 1;
}

/*
 * NT_FILE, fs/binfmt_elf.c fill_files_note(): count, page size, count times {start, end, offset in
 * pages}, count names with NUL.
 */
static void read_files(struct core_file *c, const char *desc, size_t size)
{
	uint64_t count, page;
	const char *names, *end = desc + size;

	if (size < 16)
		return;
	count = bytes_u64(desc, 0);
	page = bytes_u64(desc, 8);
	if (count > MAX_FILES || count > (size - 16) / 24)
		return;
	names = desc + 16 + count * 24;
	for (uint64_t i = 0; i < count; i++) {
		const char *at = desc + 16 + i * 24, *stop;
		uint64_t start = bytes_u64(at, 0), stop_addr = bytes_u64(at, 8);
		uint64_t pages = bytes_u64(at, 16);

		stop = memchr(names, '\0', (size_t)(end - names));
		if (!stop)
			return;
		if (start < stop_addr && (!page || pages <= INT64_MAX / page))
			vec_push(&c->mappings,
				 ((struct core_mapping){
					 start, stop_addr, pages * page,
					 add_file(c, names, (size_t)(stop - names))}));
		names = stop + 1;
	}
}

static void read_auxv(struct core_file *c, const char *desc, size_t size)
{
	for (size_t at = 0; at + 16 <= size; at += 16)
		if (bytes_u64(desc, at) == AT_ENTRY)
			c->facts.entry = bytes_u64(desc, at + 8);
}

/* NT_PRSTATUS: one note per thread; the thread that ended the process comes first. */
static void read_prstatus(struct core_file *c, const char *desc, size_t size)
{
	struct elf_prstatus status;

	if (size < sizeof(status))
		return;
	memcpy(&status, desc, sizeof(status));
	if (c->threads.len == 0)
		c->facts.signal = status.pr_cursig;
	if (!c->facts.os_pid)
		c->facts.os_pid = MAX(status.pr_pid, 0);
	vec_push(&c->threads, core_thread_of(&status));
}

static void read_prpsinfo(struct core_file *c, const char *desc, size_t size)
{
	struct elf_prpsinfo info;

	if (size < sizeof(info))
		return;
	memcpy(&info, desc, sizeof(info));
	c->facts.os_pid = MAX(info.pr_pid, 0);
	memcpy(c->comm, info.pr_fname, sizeof(info.pr_fname));
}

static void read_note(struct core_file *c, const struct elf_note *note)
{
	const char *desc = (const char *)note->desc.data;

	c->facts.torn |= elf_note_is_of(note, CORE_TORN_NOTE);
	if (!elf_note_is_of(note, "CORE"))
		return;
	switch (note->type) {
	case NT_FILE:
		if (!c->mappings.len)
			read_files(c, desc, note->desc.size);
		break;
	case NT_AUXV:
		read_auxv(c, desc, note->desc.size);
		break;
	case NT_PRSTATUS:
		read_prstatus(c, desc, note->desc.size);
		break;
	case NT_PRPSINFO:
		read_prpsinfo(c, desc, note->desc.size);
		break;
	default:
		break;
	}
}

static void read_notes(struct core_file *c, const Elf64_Phdr *p)
{
	uint64_t size = have(c, p->p_offset, p->p_filesz);
	struct elf_note note;
	unsigned char *notes;
	size_t at = 0;
	ssize_t len;

	expect(c, p->p_offset, p->p_filesz);
	if (size > NOTES_MAX_SIZE - c->notes_size)
		return;
	c->notes_size += size;
	notes = xmalloc(size + 1);
	len = core_file_read_at(c, p->p_offset, notes, size);
	while (len > 0 && elf_note_next((struct elf_bytes){notes, (size_t)len}, &at, &note))
		read_note(c, &note);
	free(notes);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Number of program headers; above 65,534 it is in the first section header (binfmt_elf.c). */
static uint64_t count_headers(const struct core_file *c, const Elf64_Ehdr *ehdr)
{
	Elf64_Shdr shdr;

	if (ehdr->e_phnum != PN_XNUM)
		return ehdr->e_phnum;
	if (core_file_read_at(c, ehdr->e_shoff, &shdr, sizeof(shdr)) != (ssize_t)sizeof(shdr))
		return PN_XNUM;
	return shdr.sh_info;
}

static int read_segments(struct core_file *c, const Elf64_Ehdr *ehdr, struct error *err)
{
	uint64_t nr = count_headers(c, ehdr);
	Elf64_Phdr *headers;
	size_t size;
	int rc = 0;

	if (nr == 0 || nr > MAX_SEGMENTS || ehdr->e_phentsize != sizeof(*headers))
		return error_set(err, ERROR_KIND_FAILED, -EBADMSG,
				 "%s is damaged: its program header table is invalid", c->path);
	size = (size_t)nr * sizeof(*headers);
	if (have(c, ehdr->e_phoff, size) < size)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "%s is cut short: it has %" PRIu64
				 " bytes, less than its table of segments needs. Nothing can be "
				 "read from it",
				 c->path, c->file_size);
	headers = xmalloc(size);
	if (core_file_read_at(c, ehdr->e_phoff, headers, size) != (ssize_t)size)
		rc = error_set(err, ERROR_KIND_FAILED, -EIO, "cannot read %s", c->path);
	for (uint64_t i = 0; !rc && i < nr; i++) {
		if (headers[i].p_type == PT_LOAD)
			add_segment(c, &headers[i]);
		else if (headers[i].p_type == PT_NOTE)
			read_notes(c, &headers[i]);
	}
	free(headers);
	sort_segments(c);
	return rc;
}

static int by_mapping_start(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void core_file_sort_mappings(struct core_file *c)
{
	size_t kept = 0;

	if (c->mappings.len)
		qsort(c->mappings.data, c->mappings.len, sizeof(*c->mappings.data),
		      by_mapping_start);
	for (size_t i = 0; i < c->mappings.len; i++) {
		const struct core_mapping *m = &c->mappings.data[i];

		if (kept == 0 || c->mappings.data[kept - 1].end <= m->start)
			c->mappings.data[kept++] = *m;
	}
	c->mappings.len = kept;
}

/* Sets c->exe and c->program: the mapped file that holds the entry point.  If the core has no entry
 * point, the file with the lowest address, as the kernel maps the executable below libraries. */
static void name_program(struct core_file *c)
{
	const struct core_mapping *m = core_mapping_at(c, c->facts.entry);

	for (size_t i = 0; i < c->files.len; i++)
		c->files.data[i].deleted = proc_cut_deleted(c->files.data[i].path);
	if (!m && !c->facts.entry && c->mappings.len)
		m = &c->mappings.data[0];
	if (!m)
		return;
	c->exe = m->file;
	snprintf(c->program, sizeof(c->program), "%s", c->files.data[m->file].path);
}

/* Sets c->fd, and *st, to those of the unpacked file if the core is compressed by gzip. */
static int unpack_if_needed(struct core_file *c, struct stat *st, struct error *err)
{
	unsigned char magic[2];
	int fd;

	if (core_file_read_at(c, 0, magic, sizeof(magic)) != (ssize_t)sizeof(magic) ||
	    magic[0] != 0x1f || magic[1] != 0x8b)
		return 0;
	fd = core_unpack_gzip(c->fd, c->path, err);
	if (fd < 0)
		return fd;
	close(c->fd);
	c->fd = fd;
	return fstat(fd, st) == 0 ? 0
				  : error_set(err, ERROR_KIND_FAILED, -errno, "cannot read %s: %s",
					      c->path, error_text(errno));
}

int core_file_open(struct core_file **out, const char *path, struct error *err)
{
	struct core_file *c = xcalloc(1, sizeof(*c));
	Elf64_Ehdr ehdr;
	struct stat st;
	int rc = 0;

	c->path = xstrdup(path);
	c->exe = UINT32_MAX;
	c->facts.path = c->path;
	c->facts.program = c->program;
	c->facts.comm = c->comm;
	c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (c->fd < 0 || fstat(c->fd, &st) != 0)
		rc = error_set(err,
			       errno == EACCES || errno == EPERM ? ERROR_KIND_PRIVILEGE
								 : ERROR_KIND_FAILED,
			       -errno, "cannot open %s: %s", path, error_text(errno));
	else if (!S_ISREG(st.st_mode))
		rc = error_set(err, ERROR_KIND_FAILED, -EINVAL,
			       "%s is not a core file: it is not a regular file", path);
	rc = rc ? rc : unpack_if_needed(c, &st, err);
	if (!rc) {
		c->file_size = (uint64_t)st.st_size;
		rc = read_header(c, &ehdr, err);
	}
	rc = rc ? rc : read_segments(c, &ehdr, err);
	if (rc) {
		core_file_close(c);
		return rc;
	}
	core_file_sort_mappings(c);
	name_program(c);
	if (c->facts.size > c->file_size)
		c->facts.missing_size = c->facts.size - c->file_size;
	*out = c;
	return 0;
}

void core_file_close(struct core_file *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->files.len; i++) {
		elf_file_close(c->files.data[i].elf);
		free(c->files.data[i].path);
	}
	vec_free(&c->files);
	vec_free(&c->mappings);
	vec_free(&c->segments);
	vec_free(&c->threads);
	if (c->fd >= 0)
		close(c->fd);
	free(c->path);
	free(c);
}

size_t core_file_threads(const struct core_file *c, const struct core_thread **out)
{
	*out = c->threads.data;
	return c->threads.len;
}

const struct core_facts *core_file_facts(const struct core_file *c)
{
	return &c->facts;
}
