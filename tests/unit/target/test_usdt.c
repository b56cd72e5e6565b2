/* SPDX-License-Identifier: BSD-2-Clause */
/* USDT notes of a file whose every answer is known, cut and with every bit flipped; operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/elf_image.h"
#include "target/usdt.h"

static struct elf_file *open_bytes(const void *data, size_t size)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct elf_file *e = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	if (elf_file_open(&e, fd, "test.elf", NULL) != 0)
		return NULL;
	return e;
}

static void test_sites(void **state)
{
	struct elf_image im = {.size = 0};
	struct usdt_site *sites;
	struct elf_file *e;

	UNUSED(state);
	elf_image_build(&im, true);
	e = open_bytes(im.data, im.size);
	assert_non_null(e);
	assert_int_equal(usdt_sites(e, &sites), 4);
	assert_string_equal(sites[0].provider, "erlang");
	assert_string_equal(sites[0].name, "process__hibernate");
	assert_string_equal(sites[0].args, "8@%rdi -4@8(%rsp)");
	assert_int_equal(sites[0].addr, ELF_IMAGE_TEXT_ADDR + 0x12);
	assert_int_equal(sites[0].semaphore, ELF_IMAGE_FRAME_ADDR + 8);
	assert_string_equal(sites[1].name, "process__hibernate");
	assert_string_equal(sites[1].args, "8@%rbx 8@$1");
	assert_int_equal(sites[1].addr, ELF_IMAGE_TEXT_ADDR + 0x34);
	assert_string_equal(sites[2].provider, "other");
	assert_string_equal(sites[2].name, "plain");
	assert_string_equal(sites[2].args, "");
	assert_int_equal(sites[2].addr, ELF_IMAGE_TEXT_ADDR + 0x98);
	assert_int_equal(sites[2].semaphore, 0);
	free(sites);
	elf_file_close(e);
}

static void test_no_sites(void **state)
{
	struct error err;
	struct elf_file *e;
	struct usdt_site *sites;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	UNUSED(state);
	/* An ELF header alone. */
	assert_int_equal(write(fd,
			       "\x7f"
			       "ELF\2\1\1",
			       7),
			 7);
	assert_int_equal(ftruncate(fd, 64), 0);
	assert_int_equal(elf_file_open(&e, fd, "head", &err), 0);
	assert_int_equal(usdt_sites(e, &sites), 0);
	assert_null(sites);
	elf_file_close(e);
}

static void read_all(const unsigned char *data, size_t size)
{
	struct elf_file *e = open_bytes(data, size);
	struct usdt_arg args[USDT_MAX_ARGS];
	struct usdt_site *sites;
	size_t nr;

	if (!e)
		return;
	nr = usdt_sites(e, &sites);
	for (size_t i = 0; i < nr; i++) {
		assert_true(strlen(sites[i].provider) + strlen(sites[i].name) < size);
		assert_true(usdt_parse_args(sites[i].args, args, USDT_MAX_ARGS) <= USDT_MAX_ARGS);
	}
	free(sites);
	elf_file_close(e);
}

static void test_damaged(void **state)
{
	struct elf_image im = {.size = 0};

	UNUSED(state);
	elf_image_build(&im, true);
	for (size_t size = 0; size < im.size; size++)
		read_all(im.data, size);
	for (size_t bit = 0; bit < 8 * im.size; bit++) {
		im.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
		read_all(im.data, im.size);
		im.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}

static void test_args(void **state)
{
	static const struct {
		const char *text;
		struct usdt_arg arg;
	} rows[] = {
		{"8@%rdi", {0, USDT_ARG_REGISTER, USDT_RDI, 8, 0, 0, {0}}},
		{"-4@%r10d", {0, USDT_ARG_REGISTER, USDT_R10, 4, 1, 0, {0}}},
		{"2@%ax", {0, USDT_ARG_REGISTER, USDT_RAX, 2, 0, 0, {0}}},
		{"-1@%sil", {0, USDT_ARG_REGISTER, USDT_RSI, 1, 1, 0, {0}}},
		{"1@%dh", {0, USDT_ARG_REGISTER, USDT_RDX, 1, 0, 8, {0}}},
		{"%r9", {0, USDT_ARG_REGISTER, USDT_R9, 8, 0, 0, {0}}},
		{"8@$0", {0, USDT_ARG_CONSTANT, 0, 8, 0, 0, {0}}},
		{"-4@$-17", {-17, USDT_ARG_CONSTANT, 0, 4, 1, 0, {0}}},
		{"8@$0x20", {32, USDT_ARG_CONSTANT, 0, 8, 0, 0, {0}}},
		{"8@-608(%rbp)", {-608, USDT_ARG_MEMORY, USDT_RBP, 8, 0, 0, {0}}},
		{"-8@(%r15)", {0, USDT_ARG_MEMORY, USDT_R15, 8, 1, 0, {0}}},
		{"472(%r12)", {472, USDT_ARG_MEMORY, USDT_R12, 8, 0, 0, {0}}},
		{"8@erts_this_node_sysname(%rip)", {0}},
		{"8@8(%rip)", {0}},
		{"8@8(%rax,%rbx,4)", {0}},
		{"8f@%xmm0", {0}},
		{"3@%rax", {0}},
		{"16@%rax", {0}},
		{"8@", {0}},
		{"8@%", {0}},
		{"8@%rax)", {0}},
		{"8@8(%rax", {0}},
		{"8@8(%ah)", {0}},
		{"8@$99999999999999999999", {0}},
		{"-9223372036854775808@%rax", {0}},
		{"nonsense", {0}},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct usdt_arg arg;

		memset(&arg, 0xff, sizeof(arg));
		assert_int_equal(usdt_parse_args(rows[i].text, &arg, 1), 1);
		assert_memory_equal(&arg, &rows[i].arg, sizeof(arg));
	}
}

static void test_lists(void **state)
{
	struct usdt_arg args[3];

	UNUSED(state);
	assert_int_equal(usdt_parse_args("", args, 3), 0);
	assert_int_equal(usdt_parse_args("  ", args, 3), 0);
	/* What is not understood keeps its place. */
	assert_int_equal(usdt_parse_args("8@sym(%rip) 8@%rbx  -4@4(%rax) ", args, 3), 3);
	assert_int_equal(args[0].type, USDT_ARG_NONE);
	assert_int_equal(args[1].type, USDT_ARG_REGISTER);
	assert_int_equal(args[1].reg, USDT_RBX);
	assert_int_equal(args[2].type, USDT_ARG_MEMORY);
	assert_int_equal(args[2].offset, 4);
	assert_int_equal(usdt_parse_args("8@%rax 8@%rbx 8@%rcx 8@%rdx", args, 3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites),	cmocka_unit_test(test_no_sites),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_args),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
