/* SPDX-License-Identifier: BSD-2-Clause */
/* Core files: a small one byte by byte, cut at every length, damaged in every byte. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/core_image.h"
#include "target/core.h"
#include "target/objects.h"

static const char *const no_places[] = {NULL};

/* Files of the test: the executable in a directory of its own, the core in memory, as it is written
 * thousands of times. */
struct files {
	int core_fd;
	char dir[32], exe[64], core[64];
	struct elf_image image;
	struct core_image im;
};

static void write_file(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static void write_core(struct files *f, const void *data, size_t size)
{
	assert_int_equal(ftruncate(f->core_fd, 0), 0);
	assert_int_equal(pwrite(f->core_fd, data, size, 0), size);
}

/* Bytes from the start of the executable that nobody can write: two of its three segments. */
static size_t constant_size(const struct files *f)
{
	Elf64_Phdr phdrs[3];

	memcpy(phdrs, f->image.data + sizeof(Elf64_Ehdr), sizeof(phdrs));
	assert_true(phdrs[2].p_flags & PF_W);
	assert_true(phdrs[0].p_filesz >= phdrs[1].p_offset);
	return phdrs[1].p_offset + phdrs[1].p_filesz;
}

static int setup(void **state)
{
	struct files *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/test_core-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->exe, sizeof(f->exe), "%s/beam.smp", f->dir);
	f->core_fd = memfd_create("core", MFD_CLOEXEC);
	assert_true(f->core_fd >= 0);
	snprintf(f->core, sizeof(f->core), "/proc/self/fd/%d", f->core_fd);
	elf_image_build(&f->image, true);
	write_file(f->exe, f->image.data, f->image.size);
	core_image_build(&f->im, &f->image, f->exe, false);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct files *f = *state;

	unlink(f->exe);
	close(f->core_fd);
	rmdir(f->dir);
	free(f);
	return 0;
}

static int open_bytes(struct files *f, size_t size, struct core_file **out, struct error *err)
{
	memset(err, 0, sizeof(*err));
	write_core(f, f->im.data, size);
	return core_file_open(out, f->core, err);
}

static struct core_file *open_whole(struct files *f)
{
	struct core_file *c = NULL;
	struct error err;

	assert_int_equal(open_bytes(f, f->im.size, &c, &err), 0);
	assert_int_equal(core_file_find_exe(c, NULL, no_places, &err), 0);
	return c;
}

static void test_facts(void **state)
{
	struct files *f = *state;
	struct core_file *c = open_whole(f);
	const struct core_facts *facts = core_file_facts(c);
	const struct core_thread *threads;

	assert_string_equal(facts->path, f->core);
	assert_string_equal(facts->program, f->exe);
	assert_string_equal(facts->comm, "beam.smp");
	assert_int_equal(facts->os_pid, CORE_IMAGE_PID);
	assert_int_equal(facts->signal, CORE_IMAGE_SIGNAL);
	assert_int_equal(core_file_threads(c, &threads), 2);
	assert_int_equal(threads[0].os_tid, CORE_IMAGE_PID);
	assert_int_equal(facts->entry, CORE_IMAGE_EXE + 0x10);
	assert_int_equal(facts->size, f->im.size);
	assert_int_equal(facts->missing_size, 0);
	core_file_close(c);
}

static void test_memory(void **state)
{
	struct files *f = *state;
	struct core_file *c = open_whole(f);
	size_t size = constant_size(f);
	unsigned char buf[0x1000];
	struct mem *m;

	m = mem_open_core(c);
	/* Across two segments. */
	assert_int_equal(mem_read(m, CORE_IMAGE_DATA + 0x1f0, buf, 0x20), 0);
	for (size_t i = 0; i < 0x10; i++) {
		assert_int_equal(buf[i], (unsigned char)(0x1f0 + i));
		assert_int_equal(buf[0x10 + i], (unsigned char)~i);
	}
	/* Past the end, before the start, nowhere, at the end of all addresses. */
	assert_int_equal(mem_read(m, CORE_IMAGE_MORE + CORE_IMAGE_SIZE - 1, buf, 2), -EFAULT);
	assert_int_equal(mem_read(m, CORE_IMAGE_DATA - 1, buf, 2), -EFAULT);
	assert_int_equal(mem_read(m, 0, buf, 1), -EFAULT);
	assert_int_equal(mem_read(m, UINT64_MAX, buf, 2), -EFAULT);
	/* Left out: no zeros are made up. */
	assert_int_equal(mem_read(m, CORE_IMAGE_ABSENT, buf, 1), -EFAULT);
	/* The first page: its begin from the core, the rest from the file; the second mapping. */
	assert_int_equal(mem_read(m, CORE_IMAGE_EXE, buf, size), 0);
	assert_memory_equal(buf, f->image.data, size);
	assert_int_equal(mem_read(m, CORE_IMAGE_EXE2, buf, size), 0);
	assert_memory_equal(buf, f->image.data, size);
	assert_int_equal(mem_read(m, CORE_IMAGE_EXE2, buf, size + 1), -EFAULT);
	mem_close(m);
	core_file_close(c);
}

static void test_maps(void **state)
{
	static const struct {
		raddr start, end;
		const char *perms;
		bool exe;
	} expect[] = {
		{CORE_IMAGE_EXE, CORE_IMAGE_EXE + 0x1000, "r--", true},
		{CORE_IMAGE_EXE2, CORE_IMAGE_EXE2 + 0x1000, "r--", true},
		{CORE_IMAGE_DATA, CORE_IMAGE_MORE, "rw-", false},
		{CORE_IMAGE_MORE, CORE_IMAGE_MORE + CORE_IMAGE_SIZE, "rwx", false},
		{CORE_IMAGE_ABSENT, CORE_IMAGE_ABSENT + 0x1000, "rw-", false},
		{0x70000000, 0x70001000, "r--", false},
	};
	struct files *f = *state;
	struct core_file *c = open_whole(f);
	struct proc_maps maps;
	struct objects *o;
	uint64_t bias;

	core_file_maps(c, &maps);
	assert_int_equal(maps.len, sizeof(expect) / sizeof(expect[0]));
	for (size_t i = 0; i < maps.len; i++) {
		const struct proc_map *m = &maps.data[i];
		char perms[] = {m->r ? 'r' : '-', m->w ? 'w' : '-', m->x ? 'x' : '-', 0};

		assert_int_equal(m->start, expect[i].start);
		assert_int_equal(m->end, expect[i].end);
		assert_string_equal(perms, expect[i].perms);
		if (expect[i].exe)
			assert_string_equal(m->path, f->exe);
	}
	assert_string_equal(maps.data[2].path, "");
	assert_string_equal(maps.data[5].path, "/memfd:vmem");
	assert_true(maps.data[5].deleted);
	assert_int_equal(maps.data[5].offset, 5 * 4096);
	proc_maps_free(&maps);

	o = objects_open_core(c);
	assert_int_equal(objects_refresh(o, NULL), 0);
	assert_int_equal(objects_maps(o)->len, 6);
	assert_non_null(objects_elf(o, CORE_IMAGE_EXE, &bias));
	assert_null(objects_elf(o, CORE_IMAGE_DATA, &bias));
	assert_null(objects_elf(o, 0x70000000, &bias));
	objects_close(o);
	core_file_close(c);
}

/* Whatever is read is right or refused. */
static size_t check_reads(struct core_file *c)
{
	unsigned char byte;
	size_t nr = 0;
	struct mem *m;

	m = mem_open_core(c);
	for (size_t i = 0; i < 2 * CORE_IMAGE_SIZE; i++) {
		int rc = mem_read(m, CORE_IMAGE_DATA + i, &byte, 1);

		assert_true(rc == 0 || rc == -EFAULT);
		if (rc == 0) {
			assert_int_equal(byte, i < CORE_IMAGE_SIZE ? (unsigned char)i
								   : (unsigned char)~i);
			nr++;
		}
	}
	mem_close(m);
	return nr;
}

static void cut_everywhere(struct files *f)
{
	size_t headers = sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Phdr);

	for (size_t len = 0; len < f->im.size; len++) {
		struct core_file *c = NULL;
		struct error err;
		struct proc_maps maps;
		int rc = open_bytes(f, len, &c, &err);

		assert_int_equal(rc == 0, len >= headers);
		if (rc) {
			assert_int_equal(err.kind, ERROR_KIND_FAILED);
			assert_non_null(strstr(err.msg, f->core));
			assert_null(c);
			continue;
		}
		assert_int_equal(core_file_facts(c)->missing_size, f->im.size - len);
		rc = core_file_find_exe(c, NULL, no_places, &err);
		assert_true(rc == 0 || err.msg[0]);
		core_file_maps(c, &maps);
		proc_maps_free(&maps);
		if (len >= f->im.more_at + CORE_IMAGE_SIZE)
			assert_int_equal(check_reads(c), 2 * CORE_IMAGE_SIZE);
		else if (len % 16 == 0)
			assert_int_equal(check_reads(c),
					 len > f->im.data_at ? len - f->im.data_at : 0);
		core_file_close(c);
	}
}

static void test_cut(void **state)
{
	struct files *f = *state;

	cut_everywhere(f);
	core_image_build(&f->im, &f->image, f->exe, true);
	cut_everywhere(f);
}

/* What was cut off is not taken from the file: it may have been written. */
static void test_cut_page_is_not_replaced(void **state)
{
	struct files *f = *state;
	struct core_file *c = NULL;
	struct error err;
	unsigned char buf[8];
	struct mem *m;

	core_image_build(&f->im, &f->image, f->exe, false);
	assert_int_equal(open_bytes(f, f->im.data_at - 8, &c, &err), 0);
	assert_int_equal(core_file_find_exe(c, f->exe, no_places, &err), 0);
	m = mem_open_core(c);
	assert_int_equal(mem_read(m,
				  CORE_IMAGE_EXE + sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) - 8,
				  buf, 8),
			 -EFAULT);
	assert_int_equal(
		mem_read(m, CORE_IMAGE_EXE + sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr), buf, 8),
		0);
	mem_close(m);
	core_file_close(c);
}

/* gcore writes the notes last: without them the executable tells what was mapped. */
static void test_without_notes(void **state)
{
	struct files *f = *state;
	struct core_file *c = NULL;
	struct error err;
	struct mem *m;
	size_t size = constant_size(f);
	unsigned char buf[0x1000];

	core_image_build(&f->im, &f->image, f->exe, true);
	assert_int_equal(open_bytes(f, f->im.more_at + CORE_IMAGE_SIZE, &c, &err), 0);
	assert_int_equal(core_file_facts(c)->os_pid, 0);
	assert_int_not_equal(core_file_find_exe(c, NULL, no_places, &err), 0);
	assert_non_null(strstr(err.msg, "--exe"));
	assert_int_equal(core_file_find_exe(c, f->exe, no_places, &err), 0);
	assert_int_equal(core_file_facts(c)->entry, CORE_IMAGE_EXE - ELF_IMAGE_RO_ADDR);
	m = mem_open_core(c);
	assert_int_equal(mem_read(m, CORE_IMAGE_EXE, buf, size), 0);
	assert_memory_equal(buf, f->image.data, size);
	mem_close(m);
	core_file_close(c);
}

static void test_other_build(void **state)
{
	struct files *f = *state;
	struct core_file *c = NULL;
	struct elf_image other;
	struct error err;

	assert_int_equal(open_bytes(f, f->im.size, &c, &err), 0);
	elf_image_build(&other, true);
	other.data[offsetof(Elf64_Ehdr, e_entry)] ^= 8;
	write_file(f->exe, other.data, other.size);
	assert_int_not_equal(core_file_find_exe(c, NULL, no_places, &err), 0);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	assert_non_null(strstr(err.msg, "is not the build"));
	assert_int_not_equal(core_file_find_exe(c, f->exe, no_places, &err), 0);
	assert_non_null(strstr(err.msg, "is not the build"));
	unlink(f->exe);
	assert_int_not_equal(core_file_find_exe(c, NULL, no_places, &err), 0);
	assert_non_null(strstr(err.msg, "not on this host"));
	assert_int_not_equal(core_file_find_exe(c, f->exe, no_places, &err), 0);
	assert_non_null(strstr(err.msg, "cannot open"));
	assert_int_equal(core_file_find_exe(c, f->dir, no_places, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "it is a directory"));
	assert_int_equal(core_file_find_exe(c, "/dev/null", no_places, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "it is not a file"));
	write_file(f->exe, f->image.data, f->image.size);
	assert_int_equal(core_file_find_exe(c, NULL, no_places, &err), 0);
	core_file_close(c);
}

/* By a pattern, which must not be fooled by other files. */
static void test_places(void **state)
{
	struct files *f = *state;
	struct core_file *c = NULL;
	struct error err;
	char moved[64], pattern[64];
	const char *places[] = {"/nonexistent/*", pattern, NULL};

	snprintf(moved, sizeof(moved), "%s/moved", f->dir);
	snprintf(pattern, sizeof(pattern), "%s/*", f->dir);
	assert_int_equal(open_bytes(f, f->im.size, &c, &err), 0);
	assert_int_equal(rename(f->exe, moved), 0);
	assert_int_equal(core_file_find_exe(c, NULL, places, &err), 0);
	assert_int_equal(rename(moved, f->exe), 0);
	core_file_close(c);
}

static void expect_error(struct files *f, const void *bytes, size_t size, enum error_kind kind,
			 const char *text)
{
	struct core_file *c = NULL;
	struct error err = {0};

	write_core(f, bytes, size);
	assert_true(core_file_open(&c, f->core, &err) < 0);
	assert_null(c);
	assert_int_equal(err.kind, kind);
	if (!strstr(err.msg, text))
		fail_msg("no '%s' in '%s'", text, err.msg);
}

static void test_not_a_core(void **state)
{
	struct files *f = *state;
	struct core_file *c = NULL;
	struct error err = {0};
	unsigned char bytes[256] = "=erl_crash_dump:0.5\n";

	expect_error(f, "", 0, ERROR_KIND_FAILED, "not a core file");
	expect_error(f, bytes, sizeof(bytes), ERROR_KIND_FAILED, "erl_crash.dump");
	expect_error(f, f->image.data, f->image.size, ERROR_KIND_FAILED, "--exe");
	memcpy(bytes, "\x28\xb5\x2f\xfd", 4);
	expect_error(f, bytes, sizeof(bytes), ERROR_KIND_FAILED, "zstd -d");
	memcpy(bytes, f->im.data, sizeof(bytes));
	bytes[offsetof(Elf64_Ehdr, e_machine)] = EM_AARCH64;
	expect_error(f, bytes, sizeof(bytes), ERROR_KIND_UNSUPPORTED, "x86-64 process");
	memcpy(bytes, f->im.data, sizeof(bytes));
	bytes[offsetof(Elf64_Ehdr, e_phentsize)] = 1;
	expect_error(f, bytes, sizeof(bytes), ERROR_KIND_FAILED, "damaged");
	assert_int_equal(core_file_open(&c, "/nonexistent", &err), -ENOENT);
	assert_int_equal(core_file_open(&c, f->dir, &err), -EINVAL);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
}

/* A hundred thousand headers that all lead to the same notes: a small file, but hours of work. */
static void test_notes_again_and_again(void **state)
{
	enum { NR = 100000, NOTES = 16 << 20 };
	size_t notes_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + NR * sizeof(Elf64_Phdr);
	struct files *f = *state;
	unsigned char *bytes = calloc(1, notes_at + NOTES);
	Elf64_Phdr header = {.p_type = PT_NOTE, .p_offset = notes_at, .p_filesz = NOTES};
	Elf64_Shdr section = {.sh_info = NR};
	const struct core_thread *threads;
	struct core_file *c = NULL;
	struct error err = {0};
	Elf64_Ehdr ehdr;

	memcpy(&ehdr, f->im.data, sizeof(ehdr));
	ehdr.e_phnum = PN_XNUM;
	ehdr.e_shoff = sizeof(ehdr);
	ehdr.e_phoff = sizeof(ehdr) + sizeof(section);
	memcpy(bytes, &ehdr, sizeof(ehdr));
	memcpy(bytes + ehdr.e_shoff, &section, sizeof(section));
	for (size_t i = 0; i < NR; i++)
		memcpy(bytes + ehdr.e_phoff + i * sizeof(header), &header, sizeof(header));
	write_core(f, bytes, notes_at + NOTES);
	free(bytes);
	assert_int_equal(core_file_open(&c, f->core, &err), 0);
	assert_int_equal(core_file_threads(c, &threads), 0);
	core_file_close(c);
}

/* No flipped bit may crash it or make it read what is not there. */
static void test_flipped_bits(void **state)
{
	struct files *f = *state;
	size_t opened = 0;

	core_image_build(&f->im, &f->image, f->exe, false);
	for (size_t bit = 0; bit < f->im.data_at * 8; bit++) {
		struct core_file *c = NULL;
		unsigned char buf[64];
		struct objects *o;
		struct error err;
		struct mem *m;

		f->im.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
		if (open_bytes(f, f->im.size, &c, &err) == 0) {
			opened++;
			core_file_find_exe(c, NULL, no_places, &err);
			o = objects_open_core(c);
			m = mem_open_core(c);
			for (size_t i = 0; i < objects_maps(o)->len; i++) {
				const struct proc_map *map = &objects_maps(o)->data[i];

				assert_true(map->start < map->end);
				assert_true(i == 0 || map[-1].end <= map->start);
				mem_read(m, map->start, buf, sizeof(buf));
				mem_read(m, map->end - sizeof(buf), buf, sizeof(buf));
			}
			mem_close(m);
			objects_close(o);
			core_file_close(c);
		}
		f->im.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	assert_true(opened > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_page_is_not_replaced),
		cmocka_unit_test(test_without_notes),
		cmocka_unit_test(test_other_build),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_not_a_core),
		cmocka_unit_test(test_notes_again_and_again),
		cmocka_unit_test(test_flipped_bits),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
