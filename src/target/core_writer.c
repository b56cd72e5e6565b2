/* SPDX-License-Identifier: BSD-2-Clause */
/* See core_writer.h. */
#include "target/core_writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/units.h"
#include "base/vec.h"
#include "target/core_internal.h"
#include "target/memory_map.h"
#include "target/proc.h"

#define PAGE	    CORE_PAGE_SIZE
#define CHUNK_PAGES 256u
#define AUXV_MAX    65536
#define STOP_MAX_NS 2000000000ull
/* Of anonymous mappings that are larger, blocks of which no page was touched are left out. */
#define SPARSE_MIN   ((uint64_t)4 << 30)
#define SPARSE_BLOCK ((uint64_t)64 << 20)

/* proc_pid_pagemap(5) */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGEMAP_SWAPPED (1ull << 62)

struct stopped_thread {
	int os_tid;
	int signal; /* that it was about to get when it was stopped; it gets it afterwards */
	struct elf_prstatus status;
};

struct writing {
	struct mem *mem;
	int os_pid, pagemap;
	const struct core_sink *sink;
	struct core_written *out;
	struct proc_maps maps;
	VEC(Elf64_Phdr) headers; /* of maps; one that is sparse has several */
	VEC(size_t) map_of;	 /* by header */
	VEC(struct stopped_thread) threads;
	uint64_t at; /* in the file */
	uint8_t *buf;
};

/* ---- threads --------------------------------------------------------------------------------- */

static bool is_stopped(const struct writing *w, int os_tid)
{
	for (size_t i = 0; i < w->threads.len; i++) {
		if (w->threads.data[i].os_tid == os_tid)
			return true;
	}
	return false;
}

/* Has the thread ended, or does it just now? */
static bool has_ended(int os_pid, int os_tid)
{
	size_t len;
	char *text = proc_read_file(4096, &len, "/proc/%d/task/%d/stat", os_pid, os_tid);
	const char *state = text ? strrchr(text, ')') : NULL;
	bool ended = !state || state[1] == '\0' || state[2] == 'Z' || state[2] == 'X';

	free(text);
	return ended;
}

/* False: the thread has ended, or does not stop in time, as one that waits for a disk. */
static bool wait_stopped(int os_tid, int *status)
{
	uint64_t until = clock_monotonic_ns() + STOP_MAX_NS;
	pid_t found;

	while ((found = waitpid(os_tid, status, __WALL | WNOHANG)) == 0 &&
	       clock_monotonic_ns() < until)
		usleep(50);
	return found == os_tid && WIFSTOPPED(*status);
}

/* Stops a thread and reads its registers.  0, -ESRCH: it has ended, or another negative errno. */
static int stop_thread(struct writing *w, int os_tid)
{
	struct stopped_thread t = {.os_tid = os_tid};
	struct iovec registers = {&t.status.pr_reg, sizeof(t.status.pr_reg)};
	int status;

	if (ptrace(PTRACE_SEIZE, os_tid, NULL, NULL) != 0)
		return errno == EPERM && has_ended(w->os_pid, os_tid) ? -ESRCH : -errno;
	if (ptrace(PTRACE_INTERRUPT, os_tid, NULL, NULL) != 0 || !wait_stopped(os_tid, &status)) {
		ptrace(PTRACE_DETACH, os_tid, NULL, NULL);
		return has_ended(w->os_pid, os_tid) ? -ESRCH : -ETIMEDOUT;
	}
	if (status >> 16 != PTRACE_EVENT_STOP)
		t.signal = WSTOPSIG(status);
	t.status.pr_pid = os_tid;
	if (ptrace(PTRACE_GETREGSET, os_tid, (void *)(uintptr_t)NT_PRSTATUS, &registers) != 0)
		memset(&t.status.pr_reg, 0, sizeof(t.status.pr_reg));
	vec_push(&w->threads, t);
	return 0;
}

static void resume_threads(struct writing *w)
{
	for (size_t i = 0; i < w->threads.len; i++)
		ptrace(PTRACE_DETACH, w->threads.data[i].os_tid, NULL,
		       (void *)(uintptr_t)w->threads.data[i].signal);
}

/* Stops all threads, also those that are started meanwhile. */
static int stop_threads(struct writing *w, struct error *err)
{
	size_t before;

	do {
		struct proc_thread *list;
		ssize_t nr = proc_threads_read(&list, w->os_pid, err);

		if (nr < 0)
			return (int)nr;
		before = w->threads.len;
		for (ssize_t i = 0; i < nr; i++) {
			int rc = is_stopped(w, list[i].os_tid) ? 0 : stop_thread(w, list[i].os_tid);

			if (rc && rc != -ESRCH) {
				free(list);
				return error_set(err, ERROR_KIND_PRIVILEGE, rc,
						 "cannot stop process %d: %s. %s; without --pause "
						 "no thread is stopped",
						 w->os_pid, error_text(rc),
						 rc == -EPERM
							 ? "Another tracer (gdb, strace) has it, "
							   "or CAP_SYS_PTRACE is missing"
							 : "A thread did not stop in 2 s");
			}
		}
		free(list);
	} while (w->threads.len > before);
	return 0;
}

/* ---- which memory ---------------------------------------------------------------------------- */

static bool is_file(const struct proc_map *m)
{
	return m->path[0] == '/' && !m->deleted && strncmp(m->path, "/dev/zero", 9) != 0 &&
	       strncmp(m->path, "/memfd:", 7) != 0;
}

/* Data of a file that the dynamic loader wrote, and then made read-only (RELRO). */
static bool is_relro(const struct proc_map *m, const struct proc_map *next)
{
	return is_file(m) && !m->shared && !m->w && !m->x && m->offset && next && next->w &&
	       next->inode == m->inode && next->dev_major == m->dev_major &&
	       next->dev_minor == m->dev_minor;
}

/* Bytes of a mapping that go to the file; `next`: the mapping behind it, or NULL. */
static uint64_t bytes_to_copy(const struct proc_map *m, const struct proc_map *next)
{
	if (!m->r || strcmp(m->path, "[vvar]") == 0 || strcmp(m->path, "[vsyscall]") == 0 ||
	    strcmp(m->path, "[vvar_vclock]") == 0)
		return 0;
	if (is_file(m) && (!m->w || m->shared) && !is_relro(m, next))
		return m->offset == 0 ? PAGE : 0; /* its ELF header */
	return m->end - m->start;
}

/* The header of the same part of the same memory as that of mapping m; SIZE_MAX = none. */
static size_t find_twin(const struct writing *w, const struct proc_map *m)
{
	for (size_t k = 0; m->shared && m->inode && k < w->headers.len; k++) {
		const struct proc_map *o = &w->maps.data[w->map_of.data[k]];

		if (o->shared && o->inode == m->inode && o->dev_major == m->dev_major &&
		    o->dev_minor == m->dev_minor && o->offset == m->offset &&
		    o->end - o->start >= m->end - m->start && w->headers.data[k].p_filesz)
			return k;
	}
	return SIZE_MAX;
}

/* The offset of a header is for now the number of its twin + 1, or 0. */
static void add_header(struct writing *w, size_t map, raddr from, raddr to, uint64_t size)
{
	const struct proc_map *m = &w->maps.data[map];
	Elf64_Phdr h = {
		.p_type = PT_LOAD,
		.p_flags = (m->r ? PF_R : 0u) | (m->w ? PF_W : 0u) | (m->x ? PF_X : 0u),
		.p_vaddr = from,
		.p_memsz = to - from,
		.p_filesz = size,
		.p_offset = find_twin(w, m) + 1,
		.p_align = PAGE,
	};

	vec_push(&w->headers, h);
	vec_push(&w->map_of, map);
}

/* Headers for blocks with pages that were touched, and, without bytes in the file, for others. */
static void add_sparse(struct writing *w, size_t map, struct memory_pages *pages)
{
	const struct proc_map *m = &w->maps.data[map];
	raddr at = m->start, end, next;

	while (at < m->end) {
		end = memory_pages_touched(pages, at, m->end);
		if (end < m->end)
			end = MAX(at, end & ~(raddr)(SPARSE_BLOCK - 1));
		if (end > at)
			add_header(w, map, at, end, 0);
		at = end;
		while (end < m->end) {
			next = MIN((end | (SPARSE_BLOCK - 1)) + 1, m->end);
			if (memory_pages_touched(pages, end, next) == next)
				break;
			end = next;
		}
		if (end > at)
			add_header(w, map, at, end, end - at);
		at = end;
	}
}

static bool is_sparse(const struct proc_map *m)
{
	return !m->shared && m->path[0] != '/' && m->end - m->start >= SPARSE_MIN;
}

static void plan_headers(struct writing *w, const char *pagemap)
{
	struct memory_pages *pages = memory_pages_open(pagemap);

	for (size_t i = 0; i < w->maps.len; i++) {
		const struct proc_map *m = &w->maps.data[i];
		uint64_t size = bytes_to_copy(m, i + 1 < w->maps.len ? m + 1 : NULL);

		if (size && pages && is_sparse(m))
			add_sparse(w, i, pages);
		else
			add_header(w, i, m->start, m->end, size);
	}
	memory_pages_close(pages);
}

static void plan_offsets(struct writing *w, uint64_t first)
{
	uint64_t at = first;

	for (size_t i = 0; i < w->headers.len; i++) {
		Elf64_Phdr *h = &w->headers.data[i];

		if (h->p_offset) {
			h->p_offset = w->headers.data[h->p_offset - 1].p_offset;
		} else {
			h->p_offset = at;
			at += h->p_filesz;
		}
	}
	w->out->size = at;
}

/* ---- headers and notes ----------------------------------------------------------------------- */

static void pad(struct strbuf *out, size_t to)
{
	while (out->len % to)
		strbuf_addch(out, '\0');
}

static void add_note_of(struct strbuf *out, const char *owner, uint32_t type, const void *desc,
			size_t size)
{
	Elf64_Nhdr header = {.n_namesz = (uint32_t)strlen(owner) + 1,
			     .n_descsz = (uint32_t)size,
			     .n_type = type};

	strbuf_add(out, &header, sizeof(header));
	strbuf_add(out, owner, strlen(owner) + 1);
	pad(out, 4);
	strbuf_add(out, desc, size);
	pad(out, 4);
}

static void add_note(struct strbuf *out, uint32_t type, const void *desc, size_t size)
{
	add_note_of(out, "CORE", type, desc, size);
}

static void add_u64(struct strbuf *out, uint64_t value)
{
	strbuf_add(out, &value, sizeof(value));
}

static void add_files(const struct writing *w, struct strbuf *out)
{
	struct strbuf table = STRBUF_INIT;
	uint64_t nr = 0;

	for (size_t i = 0; i < w->maps.len; i++)
		nr += w->maps.data[i].path[0] == '/';
	add_u64(&table, nr);
	add_u64(&table, PAGE);
	for (size_t i = 0; i < w->maps.len; i++) {
		const struct proc_map *m = &w->maps.data[i];

		if (m->path[0] != '/')
			continue;
		add_u64(&table, m->start);
		add_u64(&table, m->end);
		add_u64(&table, m->offset / PAGE);
	}
	for (size_t i = 0; i < w->maps.len; i++) {
		const struct proc_map *m = &w->maps.data[i];

		if (m->path[0] == '/')
			strbuf_addf(&table, "%s%s", m->path, m->deleted ? " (deleted)" : "");
		if (m->path[0] == '/')
			strbuf_addch(&table, '\0');
	}
	add_note(out, NT_FILE, table.buf, table.len);
	strbuf_free(&table);
}

static void add_notes(const struct writing *w, struct strbuf *out)
{
	struct elf_prpsinfo info = {.pr_pid = w->os_pid};
	struct proc_stat stat;
	struct error ignored;
	size_t len;
	char *auxv = proc_read_file(AUXV_MAX, &len, "/proc/%d/auxv", w->os_pid);

	for (size_t i = 0; i < w->threads.len; i++)
		add_note(out, NT_PRSTATUS, &w->threads.data[i].status,
			 sizeof(w->threads.data[i].status));
	if (proc_stat_read(&stat, w->os_pid, &ignored) == 0)
		snprintf(info.pr_fname, sizeof(info.pr_fname), "%.15s", stat.comm);
	add_note(out, NT_PRPSINFO, &info, sizeof(info));
	if (!w->threads.len)
		add_note_of(out, CORE_TORN_NOTE, 1, "", 0);
	if (auxv)
		add_note(out, NT_AUXV, auxv, len);
	free(auxv);
	add_files(w, out);
}

static int put(struct writing *w, const void *data, size_t size)
{
	w->at += size;
	return w->sink->write(w->sink->arg, data, size);
}

static int skip(struct writing *w, uint64_t size)
{
	w->at += size;
	return size ? w->sink->skip(w->sink->arg, size) : 0;
}

/* ELF header, program headers, a section header if there are too many of these for e_phnum, notes;
 * then zeros up to the first segment. */
static int write_head(struct writing *w)
{
	uint64_t nr = w->headers.len + 1,
		 headers_end = sizeof(Elf64_Ehdr) + nr * sizeof(Elf64_Phdr);
	struct strbuf notes = STRBUF_INIT;
	Elf64_Shdr section = {.sh_info = (uint32_t)nr};
	Elf64_Ehdr e = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = nr >= PN_XNUM ? PN_XNUM : (uint16_t)nr,
	};
	Elf64_Phdr note = {.p_type = PT_NOTE, .p_offset = headers_end, .p_align = 4};
	uint64_t first;
	int rc;

	add_notes(w, &notes);
	note.p_filesz = notes.len;
	if (nr >= PN_XNUM) {
		e.e_shoff = headers_end;
		e.e_shentsize = sizeof(section);
		e.e_shnum = 1;
		note.p_offset += sizeof(section);
	}
	first = (note.p_offset + notes.len + PAGE - 1) / PAGE * PAGE;
	plan_offsets(w, first);
	rc = put(w, &e, sizeof(e));
	rc = rc ? rc : put(w, &note, sizeof(note));
	rc = rc ? rc : put(w, w->headers.data, w->headers.len * sizeof(*w->headers.data));
	if (!rc && e.e_shnum)
		rc = put(w, &section, sizeof(section));
	rc = rc ? rc : put(w, notes.buf, notes.len);
	rc = rc ? rc : skip(w, first - w->at);
	strbuf_free(&notes);
	return rc;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Copies pages that are there; a page that cannot be read is zeros. */
static int copy_pages(struct writing *w, raddr addr, size_t pages)
{
	bool whole = mem_read(w->mem, addr, w->buf, pages * PAGE) == 0;
	int rc = 0;

	for (size_t i = 0; i < pages && !rc; i++) {
		uint8_t *page = w->buf + i * PAGE;

		if (!whole)
			rc = mem_read(w->mem, addr + i * PAGE, page, PAGE);
		if (rc == -ESRCH)
			return rc;
		if (rc) {
			rc = 0;
			w->out->unreadable += PAGE;
			memset(page, 0, PAGE);
		}
		if (core_page_is_zero(page)) {
			rc = skip(w, PAGE);
		} else {
			w->out->copied += PAGE;
			rc = put(w, page, PAGE);
		}
	}
	return rc;
}

/* Which of the pages from addr on were touched; true for all if that is not known. */
static void find_touched(const struct writing *w, const struct proc_map *m, raddr addr,
			 size_t pages, bool touched[CHUNK_PAGES])
{
	uint64_t entries[CHUNK_PAGES];
	ssize_t n = -1;

	if (w->pagemap >= 0 && !m->shared && m->path[0] != '/')
		n = pread(w->pagemap, entries, pages * 8, (off_t)(addr / PAGE * 8));
	for (size_t i = 0; i < pages; i++)
		touched[i] = n != (ssize_t)(pages * 8) ||
			     entries[i] & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED);
}

static int copy_segment(struct writing *w, const struct proc_map *m, raddr from, uint64_t size)
{
	bool touched[CHUNK_PAGES];
	int rc = 0;

	for (uint64_t done = 0; done < size && !rc;) {
		size_t pages = (size_t)MIN((size - done) / PAGE, (uint64_t)CHUNK_PAGES), n;

		find_touched(w, m, from + done, pages, touched);
		for (size_t i = 0; i < pages && !rc; i += n) {
			for (n = 1; i + n < pages && touched[i + n] == touched[i]; n++)
				;
			rc = touched[i] ? copy_pages(w, from + done + i * PAGE, n)
					: skip(w, n * PAGE);
		}
		done += pages * PAGE;
	}
	return rc;
}

static int copy_segments(struct writing *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->headers.len && !rc; i++) {
		const Elf64_Phdr *h = &w->headers.data[i];

		/* One that shares another's place in the file was copied with it. */
		if (h->p_filesz && h->p_offset == w->at)
			rc = copy_segment(w, &w->maps.data[w->map_of.data[i]], h->p_vaddr,
					  h->p_filesz);
	}
	return rc;
}

int core_write(struct mem *mem, int os_pid, bool pause, const struct core_sink *sink,
	       struct core_written *out, struct error *err)
{
	struct writing w = {.mem = mem, .os_pid = os_pid, .sink = sink, .out = out};
	uint64_t begin = clock_monotonic_ns();
	char path[32];
	int rc = 0;

	*out = (struct core_written){0};
	snprintf(path, sizeof(path), "/proc/%d/pagemap", os_pid);
	w.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	w.buf = xmalloc(CHUNK_PAGES * PAGE);
	if (pause)
		rc = stop_threads(&w, err);
	rc = rc ? rc : proc_maps_read(&w.maps, os_pid, err);
	if (!rc)
		plan_headers(&w, path);
	rc = rc ? rc : write_head(&w);
	rc = rc ? rc : copy_segments(&w);
	resume_threads(&w);
	if (rc == -ESRCH)
		error_set(err, ERROR_KIND_FAILED, rc, "process %d has exited", os_pid);
	out->threads = w.threads.len;
	out->paused_ns = pause ? clock_monotonic_ns() - begin : 0;
	proc_maps_free(&w.maps);
	vec_free(&w.headers);
	vec_free(&w.map_of);
	vec_free(&w.threads);
	free(w.buf);
	if (w.pagemap >= 0)
		close(w.pagemap);
	return rc;
}
