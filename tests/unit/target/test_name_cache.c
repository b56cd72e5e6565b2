/* SPDX-License-Identifier: BSD-2-Clause */
/* target/name_cache: what is kept is read again, unless it is not whole, or others may have written
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/name_cache.h"

struct fixture {
	char dir[64], own[128], file[256];
	struct elf_file *elf;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){.dir = "/tmp/name_cache.XXXXXX"};
	assert_non_null(mkdtemp(f.dir));
	setenv("XDG_CACHE_HOME", f.dir, 1);
	assert_int_equal(
		elf_file_open(&f.elf, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "self", NULL),
		0);
	snprintf(f.own, sizeof(f.own), "%s/ebeam", f.dir);
	snprintf(f.file, sizeof(f.file), "%s/names-%s", f.own, elf_file_build_id(f.elf));
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	elf_file_close(f->elf);
	unlink(f->file);
	rmdir(f->own);
	rmdir(f->dir);
	unsetenv("XDG_CACHE_HOME");
	return 0;
}

static void keep(const struct fixture *f, const char *text)
{
	struct strbuf s = STRBUF_INIT;

	strbuf_addstr(&s, text);
	name_cache_write(f->elf, &s);
	strbuf_free(&s);
}

static void check(const struct fixture *f, const char *expected)
{
	char *text = name_cache_read(f->elf);

	if (expected) {
		assert_non_null(text);
		assert_string_equal(text, expected);
	} else {
		assert_null(text);
	}
	free(text);
}

static void kept(void **state)
{
	struct fixture *f = *state;

	check(f, NULL);
	keep(f, "1000 one\n2000 two\n");
	check(f, "1000 one\n2000 two\n");
	keep(f, "1000 three\n");
	check(f, "1000 three\n");
	keep(f, "");
	check(f, "");
}

static void damaged(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char byte;
	int fd;

	keep(f, "1000 one\n2000 two\n");
	assert_int_equal(stat(f->file, &st), 0);
	for (off_t size = st.st_size - 1; size >= 0; size--) {
		assert_int_equal(truncate(f->file, size), 0);
		check(f, NULL);
	}
	for (off_t at = 0; at < st.st_size; at++) {
		keep(f, "1000 one\n2000 two\n");
		fd = open(f->file, O_RDWR | O_CLOEXEC);
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
		check(f, NULL);
	}
	keep(f, "1000 one\n");
	check(f, "1000 one\n");
}

static void of_others(void **state)
{
	struct fixture *f = *state;
	char target[512];

	keep(f, "1000 one\n");
	assert_int_equal(chmod(f->file, 0664), 0);
	check(f, NULL);
	keep(f, "1000 two\n"); /* another file in its place */
	check(f, "1000 two\n");
	assert_int_equal(chmod(f->own, 0777), 0);
	check(f, NULL);
	keep(f, "1000 three\n");
	assert_int_equal(chmod(f->own, 0755), 0);
	check(f, "1000 two\n");
	if (geteuid() == 0) {
		assert_int_equal(chown(f->file, 1, 1), 0);
		check(f, NULL);
		assert_int_equal(chown(f->own, 1, 1), 0);
		keep(f, "1000 three\n");
		assert_int_equal(chown(f->own, 0, 0), 0);
		check(f, NULL);
	}
	snprintf(target, sizeof(target), "%s.real", f->file);
	assert_int_equal(rename(f->file, target), 0);
	assert_int_equal(symlink(target, f->file), 0);
	check(f, NULL);
	unlink(target);
}

static void no_place(void **state)
{
	struct fixture *f = *state;
	int fd = open(f->own, O_WRONLY | O_CREAT | O_CLOEXEC, 0644); /* a file in its place */

	close(fd);
	keep(f, "1000 one\n");
	check(f, NULL);
	unlink(f->own);
	setenv("XDG_CACHE_HOME", "/proc/self/no", 1);
	keep(f, "1000 one\n");
	check(f, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_place, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
