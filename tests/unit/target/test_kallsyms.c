/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel symbols: small texts in the format of /proc/kallsyms, damaged ones, and the real file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "target/kallsyms.h"

static const char text[] = "0000000000000000 A fixed_percpu_data\n"
			   "ffffffff81000000 T _stext\n"
			   "ffffffff81000000 T _text\n"
			   "ffffffff81000100 t do_one_initcall\n"
			   "ffffffff81000200 W arch_weak\n"
			   "ffffffff81000300 D init_task\n"
			   "ffffffff81000380 d more_data\n"
			   "ffffffff81000400 T after_data\n"
			   "ffffffffc0100000 t mod_second\t[kvm_intel]\n"
			   "ffffffffc0000000 t mod_first\t[kvm]\n"
			   "ffffffffc0200000 t bpf_prog_6deef7357e7b4530\t[bpf]\n";

static struct kallsyms *parse(const char *s)
{
	struct kallsyms *k = NULL;
	struct error err = {0};

	assert_int_equal(kallsyms_parse(&k, s, strlen(s), &err), 0);
	return k;
}

static void check(const struct kallsyms *k, uint64_t addr, const char *name)
{
	const char *found = kallsyms_find(k, addr);

	if (!name)
		assert_null(found);
	else
		assert_non_null(found);
	if (name)
		assert_string_equal(found, name);
}

static void names_by_address(void **state)
{
	struct kallsyms *k = parse(text);

	UNUSED(state);
	check(k, 0, NULL);
	check(k, 0xffffffff80ffffff, NULL);
	check(k, 0xffffffff81000000, "_stext"); /* the first of two names */
	check(k, 0xffffffff810000ff, "_stext");
	check(k, 0xffffffff81000100, "do_one_initcall");
	check(k, 0xffffffff810002ff, "arch_weak");
	check(k, 0xffffffff81000300, NULL); /* data does not get a function's name */
	check(k, 0xffffffff810003ff, NULL);
	check(k, 0xffffffff81000400, "after_data");
	check(k, 0xffffffffc0000000, "mod_first"); /* modules come unsorted, names without [..] */
	check(k, 0xffffffffc01fffff, "mod_second");
	check(k, 0xffffffffc0200000, "bpf_prog_6deef7357e7b4530");
	check(k, 0xffffffffc0200fff, "bpf_prog_6deef7357e7b4530");
	check(k, 0xffffffffc0300000, NULL); /* far above the last */
	check(k, UINT64_MAX, NULL);
	kallsyms_close(k);
}

static void data_and_function_at_one_address(void **state)
{
	struct kallsyms *k = parse("1000 T f\n2000 D data\n2000 T g\n3000 T h\n3000 D data2\n");

	UNUSED(state);
	check(k, 0x1fff, "f");
	check(k, 0x2000, "g");
	check(k, 0x3000, "h");
	kallsyms_close(k);
}

static void lines_that_are_none(void **state)
{
	struct kallsyms *k =
		parse("rubbish\n\n1000\n1000 T\n1000 T \nxyz T f\n12345678123456781 T long\n"
		      "1000  T twospaces\n1000 T good\n2000 T last");

	UNUSED(state);
	check(k, 0x1000, "good");
	check(k, 0x2000, "last"); /* without a newline */
	kallsyms_close(k);
}

static void hidden_addresses(void **state)
{
	static const char *const hidden[] = {
		"0000000000000000 T _stext\n0000000000000000 t do_one_initcall\n",
		"",
		"rubbish\n",
	};
	struct kallsyms *k = NULL;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		struct error err = {0};

		assert_int_equal(kallsyms_parse(&k, hidden[i], strlen(hidden[i]), &err), -EPERM);
		assert_int_equal(err.kind, ERROR_KIND_PRIVILEGE);
		assert_non_null(strstr(err.msg, "kptr_restrict"));
	}
	kallsyms_close(NULL);
}

static void only_data(void **state)
{
	struct kallsyms *k = parse("1000 D data\n");

	UNUSED(state);
	check(k, 0x1000, NULL);
	kallsyms_close(k);
}

static void text_cut_at_every_length(void **state)
{
	UNUSED(state);
	for (size_t len = 0; len < sizeof(text); len++) {
		char *exact = malloc(len ? len : 1); /* so that ASan sees reads past the end */
		struct kallsyms *k = NULL;

		memcpy(exact, text, len);
		if (kallsyms_parse(&k, exact, len, NULL) == 0) {
			const char *name = kallsyms_find(k, 0xffffffff81000180);

			if (name)
				assert_true(strncmp("do_one_initcall", name, strlen(name)) == 0 ||
					    strncmp("_stext", name, strlen(name)) == 0);
			kallsyms_close(k);
		}
		free(exact);
	}
}

/* Longer than any buffer of the reader, so that lines lie across its borders. */
static void many_symbols(void **state)
{
	enum { NR = 50000 };
	size_t size = NR * 48, used = 0;
	char *big = malloc(size), name[32];
	struct kallsyms *k = NULL;

	UNUSED(state);
	for (int i = 0; i < NR; i++)
		used += (size_t)snprintf(big + used, size - used, "%016x t function_%d\n",
					 0x1000 + i * 16, i);
	assert_int_equal(kallsyms_parse(&k, big, used, NULL), 0);
	for (int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		assert_string_equal(kallsyms_find(k, 0x1000 + (uint64_t)i * 16 + 15), name);
	}
	kallsyms_close(k);
	free(big);
}

static void the_running_kernel(void **state)
{
	struct error err = {0};
	struct kallsyms *k = NULL;
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long long addr, wanted = 0;
	char line[512], name[256], type;
	int code;

	UNUSED(state);
	if (!f)
		skip(); /* a kernel without CONFIG_KALLSYMS */
	while (!wanted && fgets(line, sizeof(line), f))
		if (sscanf(line, "%llx %c %255s", &addr, &type, name) == 3 &&
		    strcmp(name, "vfs_read") == 0)
			wanted = addr;
	fclose(f);
	code = kallsyms_open(&k, &err);
	if (!wanted) {
		assert_int_equal(code, -EPERM);
		assert_int_equal(err.kind, ERROR_KIND_PRIVILEGE);
		return;
	}
	assert_int_equal(code, 0);
	check(k, wanted, "vfs_read");
	check(k, wanted + 1, "vfs_read");
	check(k, 0x400000, NULL);
	kallsyms_close(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_by_address),
		cmocka_unit_test(data_and_function_at_one_address),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(hidden_addresses),
		cmocka_unit_test(only_data),
		cmocka_unit_test(text_cut_at_every_length),
		cmocka_unit_test(many_symbols),
		cmocka_unit_test(the_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
