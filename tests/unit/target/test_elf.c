/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ELF files: one built here byte by byte, so that every answer is known, then cut at every length,
 * with every bit flipped; this test program itself; a small program before and after strip.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/elf_image.h"
#include "target/elf_internal.h"

static int open_bytes(struct elf_file **out, const void *data, size_t size, struct error *err)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	*out = NULL;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	return elf_file_open(out, fd, "test.elf", err);
}

static struct elf_file *open_built(bool stripped)
{
	struct elf_image im = {.size = 0};
	struct elf_file *e;

	elf_image_build(&im, stripped);
	assert_int_equal(open_bytes(&e, im.data, im.size, NULL), 0);
	return e;
}

/* ---- what it must say ---------------------------------------------------------------------- */

static void check_symbol_at(struct elf_file *e, uint64_t offset, const char *name)
{
	struct elf_symbol sym;
	bool found = elf_file_symbol_at(e, ELF_IMAGE_TEXT_ADDR + offset, &sym);

	if (!name) {
		assert_false(found);
		return;
	}
	assert_true(found);
	assert_string_equal(sym.name, name);
	assert_true(sym.function);
}

static void symbols_by_name_and_address(void **state)
{
	struct elf_file *e = open_built(false);
	struct elf_symbol sym;

	UNUSED(state);
	assert_true(elf_file_symbol(e, "data", &sym));
	assert_int_equal(sym.addr, ELF_IMAGE_TEXT_ADDR + 0x40);
	assert_int_equal(sym.size, 8);
	assert_false(sym.function);
	assert_true(elf_file_symbol(e, "b", &sym)); /* without its version */
	assert_string_equal(sym.name, "b");
	assert_true(elf_file_symbol(e, "exported", &sym)); /* only in .dynsym */
	assert_false(elf_file_symbol(e, "imported", &sym));
	assert_false(elf_file_symbol(e, "dat", &sym));
	assert_false(elf_file_symbol(e, "file.c", &sym));
	assert_false(elf_file_symbol(e, "", &sym));

	check_symbol_at(e, 0x0f, NULL);
	check_symbol_at(e, 0x10, "a"); /* of three names */
	check_symbol_at(e, 0x2f, "a");
	check_symbol_at(e, 0x30, "b");
	check_symbol_at(e, 0x37, "b");
	check_symbol_at(e, 0x38, NULL); /* never a neighbour */
	check_symbol_at(e, 0x40, NULL); /* data is no function */
	check_symbol_at(e, 0x48, NULL);
	check_symbol_at(e, 0x8f, "outer");
	check_symbol_at(e, 0x90, "inner");
	check_symbol_at(e, 0x94, "outer");
	check_symbol_at(e, 0xbf, "outer");
	check_symbol_at(e, 0xc0, NULL);
	check_symbol_at(e, 0xf0, NULL); /* a function without a size covers nothing */
	elf_file_close(e);
}

static void symbols_of_a_stripped_file(void **state)
{
	struct elf_file *e = open_built(true);
	struct elf_symbol sym;

	UNUSED(state);
	assert_true(elf_file_is_stripped(e));
	check_symbol_at(e, 0x30, "exported");
	check_symbol_at(e, 0x10, NULL);
	assert_false(elf_file_symbol(e, "a", &sym));
	elf_file_close(e);
}

static void functions_from_eh_frame(void **state)
{
	static const struct {
		uint64_t at, start, end;
	} cases[] = {
		{0x0f, 0, 0}, {0x10, 0x10, 0x30}, {0x2f, 0x10, 0x30}, {0x30, 0x30, 0x38},
		{0x38, 0, 0}, {0x3f, 0, 0},	  {0x40, 0x40, 0x60}, {0x5f, 0x40, 0x60},
		{0x60, 0, 0}, {0x80, 0x80, 0xa0}, {0xa0, 0xa0, 0xb0}, {0xaf, 0xa0, 0xb0},
		{0xb0, 0, 0}, {0xc0, 0, 0},	  {0xd0, 0, 0},
	};
	struct elf_file *e = open_built(true);
	uint64_t start, end;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool found =
			elf_file_function_at(e, ELF_IMAGE_TEXT_ADDR + cases[i].at, &start, &end);

		assert_int_equal(found, cases[i].end != 0);
		if (found) {
			assert_int_equal(start, ELF_IMAGE_TEXT_ADDR + cases[i].start);
			assert_int_equal(end, ELF_IMAGE_TEXT_ADDR + cases[i].end);
		}
	}
	assert_false(elf_file_function_at(e, 0x10, &start, &end)); /* the discarded one */
	assert_false(elf_file_function_at(e, UINT64_MAX, &start, &end));
	elf_file_close(e);
}

static void sections_notes_and_segments(void **state)
{
	struct elf_file *e = open_built(false);
	const struct elf_section *s;
	unsigned char buf[ELF_IMAGE_TEXT_SIZE + 1];
	uint64_t bias = 0, offset;
	unsigned char *copy;
	size_t size;

	UNUSED(state);
	assert_true(elf_file_is_x86_64(e));
	assert_false(elf_file_is_stripped(e));
	assert_string_equal(elf_file_build_id(e), "dead0bef");
	assert_string_equal(elf_file_name(e), "test.elf");
	assert_null(elf_file_copy_section(e, ".data", SIZE_MAX, &size, &bias));
	assert_null(elf_file_copy_section(e, ".bss", SIZE_MAX, &size, &bias));
	assert_null(elf_file_copy_section(e, ".text", ELF_IMAGE_TEXT_SIZE - 1, &size, &bias));
	assert_int_equal(size, 0);
	copy = elf_file_copy_section(e, ".text", ELF_IMAGE_TEXT_SIZE, &size, &bias);
	assert_int_equal(size, ELF_IMAGE_TEXT_SIZE);
	assert_int_equal(bias, ELF_IMAGE_TEXT_ADDR);
	assert_int_equal(copy[size - 1], size - 1);
	free(copy);
	/* It is not loaded. */
	copy = elf_file_copy_section(e, ".note.stapsdt", SIZE_MAX, &size, NULL);
	assert_non_null(memmem(copy, size, "stapsdt", sizeof("stapsdt")));
	free(copy);
	assert_non_null(s = elf_file_section(e, ".bss"));
	assert_true(s->nobits && s->write && s->alloc && !s->exec);
	assert_null(elf_file_section(e, ".data"));
	assert_non_null(s = elf_file_section(e, ".text"));
	assert_true(s->exec && s->alloc && !s->write && !s->nobits);
	offset = s->offset;

	assert_int_equal(elf_file_read(e, ELF_IMAGE_TEXT_ADDR, buf, ELF_IMAGE_TEXT_SIZE), 0);
	for (unsigned int i = 0; i < ELF_IMAGE_TEXT_SIZE; i++)
		assert_int_equal(buf[i], i);
	assert_int_equal(elf_file_read(e, ELF_IMAGE_TEXT_ADDR, buf, ELF_IMAGE_TEXT_SIZE + 1),
			 -EFAULT);
	assert_int_equal(elf_file_read(e, ELF_IMAGE_TEXT_ADDR - 1, buf, 1), -EFAULT);
	assert_int_equal(elf_file_read(e, ELF_IMAGE_FRAME_ADDR + 0x1000, buf, 1),
			 -EFAULT); /* .bss */
	assert_int_equal(elf_file_read(e, UINT64_MAX, buf, 2), -EFAULT);

	assert_int_equal(elf_file_offset_of(e, ELF_IMAGE_TEXT_ADDR + 7), offset + 7);
	assert_int_equal(elf_file_offset_of(e, ELF_IMAGE_TEXT_ADDR + ELF_IMAGE_TEXT_SIZE),
			 UINT64_MAX);

	/* Mapped at 0x7000_0000 from offset 0: the page holds parts of all three segments, and
	 * .eh_frame's fills most of it. */
	assert_true(elf_file_bias(e, 0x70000000, 0, 0x1000, &bias));
	s = elf_file_section(e, ".eh_frame");
	assert_int_equal(bias, 0x70000000 + s->offset - ELF_IMAGE_FRAME_ADDR);
	assert_true(elf_file_bias(e, 0x70000000, offset, ELF_IMAGE_TEXT_SIZE, &bias));
	assert_int_equal(bias, 0x70000000 - ELF_IMAGE_TEXT_ADDR);
	assert_false(elf_file_bias(e, 0x70000000, 1 << 20, 0x1000, &bias));
	assert_false(elf_file_bias(e, 0x70000000, UINT64_MAX, 0x1000, &bias));
	elf_file_close(e);
}

/* ---- damaged files ------------------------------------------------------------------------ */

/* Every question, with answers that must hold whatever the file says. */
static void ask_everything(struct elf_file *e)
{
	struct elf_symbol sym;
	uint64_t start, end, bias;
	unsigned char buf[64];
	size_t total = 0;

	elf_file_is_x86_64(e);
	elf_file_is_stripped(e);
	free(elf_file_copy_section(e, ".note.stapsdt", SIZE_MAX, &total, NULL));
	assert_true(strlen(elf_file_build_id(e)) <= 128);
	for (size_t i = 0; i < e->nr_sections; i++)
		total += strlen(e->sections[i].name);
	elf_file_symbol(e, "outer", &sym);
	for (uint64_t at = ELF_IMAGE_TEXT_ADDR; at < ELF_IMAGE_TEXT_ADDR + ELF_IMAGE_TEXT_SIZE;
	     at += 4) {
		if (elf_file_symbol_at(e, at, &sym)) {
			assert_true(sym.addr <= at && at - sym.addr < sym.size);
			total += strlen(sym.name);
		}
		if (elf_file_function_at(e, at, &start, &end))
			assert_true(start <= at && at < end);
		elf_file_read(e, at, buf, sizeof(buf));
		elf_file_offset_of(e, at);
	}
	elf_file_bias(e, 0x70000000, 0, 4096, &bias);
	assert_true(total < 1 << 20);
}

static void file_cut_at_every_length(void **state)
{
	struct elf_image im = {.size = 0};
	size_t nr_opened = 0;

	UNUSED(state);
	elf_image_build(&im, false);
	for (size_t size = 0; size < im.size; size++) {
		struct error err = {0};
		struct elf_file *e;

		if (open_bytes(&e, im.data, size, &err) == 0) {
			ask_everything(e);
			elf_file_close(e);
			nr_opened++;
		} else {
			assert_int_equal(err.code, -ENOEXEC);
			assert_non_null(strstr(err.msg, "test.elf is not an ELF file"));
		}
	}
	assert_true(nr_opened > 0); /* the header alone is an ELF file */
}

static void file_with_every_bit_flipped(void **state)
{
	struct elf_image im = {.size = 0};
	struct elf_file *e;

	UNUSED(state);
	elf_image_build(&im, false);
	for (size_t i = 0; i < im.size; i++) {
		for (unsigned int bit = 0; bit < 8; bit++) {
			im.data[i] ^= (unsigned char)(1u << bit);
			if (open_bytes(&e, im.data, im.size, NULL) == 0) {
				ask_everything(e);
				elf_file_close(e);
			}
			im.data[i] ^= (unsigned char)(1u << bit);
		}
	}
}

/* The section cut short: functions found must be some of the true ones. */
static void eh_frame_cut_at_every_length(void **state)
{
	struct elf_image im = {.size = 0};
	Elf64_Ehdr ehdr;
	Elf64_Shdr shdr;
	size_t at, most = 0;

	UNUSED(state);
	elf_image_build(&im, true);
	memcpy(&ehdr, im.data, sizeof(ehdr));
	at = ehdr.e_shoff + S_EH_FRAME * sizeof(shdr);
	memcpy(&shdr, im.data + at, sizeof(shdr));
	for (uint64_t size = shdr.sh_size + 1; size-- > 0;) {
		struct elf_file *e;
		size_t nr = 0;

		shdr.sh_size = size;
		memcpy(im.data + at, &shdr, sizeof(shdr));
		assert_int_equal(open_bytes(&e, im.data, im.size, NULL), 0);
		for (uint64_t addr = ELF_IMAGE_TEXT_ADDR;
		     addr < ELF_IMAGE_TEXT_ADDR + ELF_IMAGE_TEXT_SIZE; addr += 8) {
			uint64_t start, end;

			if (!elf_file_function_at(e, addr, &start, &end))
				continue;
			nr++;
			assert_true(start >= ELF_IMAGE_TEXT_ADDR + 0x10 &&
				    end <= ELF_IMAGE_TEXT_ADDR + 0xb0);
		}
		elf_file_close(e);
		if (most == 0)
			most = nr;
		assert_true(nr <= most);
		if (size == 0)
			assert_int_equal(nr, 0);
	}
	assert_int_equal(most, 15); /* 0x10..0x38, 0x40..0x60, 0x80..0xb0 in steps of 8 */
}

static void files_that_are_no_elf(void **state)
{
	struct error err = {0};
	struct elf_file *e;

	UNUSED(state);
	assert_int_equal(open_bytes(&e, "#!/bin/sh\n", 10, &err), -ENOEXEC);
	assert_int_equal(err.kind, ERROR_KIND_FAILED);
	assert_int_equal(open_bytes(&e, "!<arch>\n", 8, &err), -ENOEXEC);
	assert_int_equal(open_bytes(&e, "", 0, &err), -ENOEXEC);
	assert_int_equal(elf_file_open(&e, open("/proc", O_RDONLY), "/proc", &err), -ENOEXEC);
	assert_int_equal(elf_file_open(&e, -1, "gone", &err), -ENOEXEC);
	elf_file_close(NULL);
}

/* ---- real files --------------------------------------------------------------------------- */

int elf_test_function(int x);
__attribute__((noinline)) int elf_test_function(int x)
{
	return x * 3 + 1;
}

/* As compilers name a function that is called within its file, beside the name that it has. */
static int two_names(int x)
{
	return x * 5 + 1;
}
static int second_name(int x) __asm__("two_names.localalias")
	__attribute__((alias("two_names"), used));

static void this_program(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbol sym, at;
	uint64_t start, end;
	struct elf_file *e;

	UNUSED(state);
	assert_int_equal(elf_file_open(&e, fd, "/proc/self/exe", NULL), 0);
	assert_int_equal(elf_file_fd(e), fd);
	assert_true(elf_file_symbol(e, "elf_test_function", &sym));
	assert_true(sym.function && sym.size > 0);
	assert_true(elf_file_symbol_at(e, sym.addr + sym.size - 1, &at));
	assert_string_equal(at.name, "elf_test_function");
	assert_true(elf_file_symbol(e, "two_names.localalias", &sym));
	assert_true(elf_file_symbol_at(e, sym.addr, &at));
	assert_string_equal(at.name, "two_names");
	assert_int_equal(two_names(1), second_name(1));
	assert_true(elf_file_function_at(e, sym.addr + 1, &start, &end));
	assert_int_equal(start, sym.addr);
	assert_int_equal(end, sym.addr + sym.size);
	elf_file_close(e);
}

static void program_before_and_after_strip(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", command[512], path[64];
	struct elf_symbol sym, gone;
	uint64_t start, end;
	struct elf_file *e;

	UNUSED(state);
	if (system("command -v cc >/dev/null && command -v strip >/dev/null") != 0)
		skip();
	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "cd %s && echo '__attribute__((noinline)) static int hid(int x)"
		 "{ __asm__ volatile(\"\"); return x + 1; }"
		 "int main(int c, char **v) { (void)v; return hid(c); }' > a.c && cc -O1 -o a a.c "
		 "&& "
		 "cp a b && strip b",
		 dir);
	assert_int_equal(system(command), 0);
	snprintf(path, sizeof(path), "%s/a", dir);
	assert_int_equal(elf_file_open(&e, open(path, O_RDONLY), path, NULL), 0);
	assert_false(elf_file_is_stripped(e));
	assert_true(elf_file_symbol(e, "hid", &sym));
	elf_file_close(e);
	snprintf(path, sizeof(path), "%s/b", dir);
	assert_int_equal(elf_file_open(&e, open(path, O_RDONLY), path, NULL), 0);
	assert_true(elf_file_is_stripped(e));
	assert_false(elf_file_symbol(e, "hid", &gone));
	assert_false(elf_file_symbol_at(e, sym.addr, &gone));
	assert_true(elf_file_function_at(e, sym.addr, &start, &end)); /* strip keeps .eh_frame */
	assert_int_equal(start, sym.addr);
	assert_int_equal(end - start, sym.size);
	elf_file_close(e);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_by_name_and_address),
		cmocka_unit_test(symbols_of_a_stripped_file),
		cmocka_unit_test(functions_from_eh_frame),
		cmocka_unit_test(sections_notes_and_segments),
		cmocka_unit_test(file_cut_at_every_length),
		cmocka_unit_test(file_with_every_bit_flipped),
		cmocka_unit_test(eh_frame_cut_at_every_length),
		cmocka_unit_test(files_that_are_no_elf),
		cmocka_unit_test(this_program),
		cmocka_unit_test(program_before_and_after_strip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
