/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native addresses -> names, in this process, where our own pointers are the oracle:
 * the program, libc, the vDSO, a deleted file, JIT-like and anonymous code, mappings that come
 * later; and once more without the privilege to open map_files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/objects.h"

#define PAGE 4096u

static raddr addr_of(const void *p)
{
	return (raddr)(uintptr_t)p;
}

static struct objects *open_self(void)
{
	struct objects *o = NULL;
	struct error err = {0};

	assert_int_equal(objects_open(&o, getpid(), &err), 0);
	return o;
}

static const struct proc_map *map_of(struct objects *o, const void *p)
{
	const struct proc_map *map = proc_maps_find(objects_maps(o), addr_of(p));

	assert_non_null(map);
	return map;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int objects_test_function(int x);
__attribute__((noinline)) int objects_test_function(int x)
{
	return x * 5 + 2;
}

/* The address of a function in libc; one that the sanitizers do not wrap. */
static const void *libc_function(void)
{
	return (const void *)(uintptr_t)getauxval;
}

static void functions_of_the_program(void **state)
{
	struct objects *o = open_self();
	struct object_function f, again;
	uint64_t bias;
	struct elf_file *e;
	struct elf_symbol sym;
	char buf[256];
	raddr addr = addr_of((void *)(uintptr_t)objects_test_function);

	UNUSED(state);
	for (int i = 0; i < 3; i++) { /* the second and third time from the cache */
		assert_int_equal(objects_find(o, addr + 1, &f), 0);
		assert_string_equal(f.symbol, "objects_test_function");
		assert_string_equal(f.object, base_name(map_of(o, (void *)(uintptr_t)addr)->path));
		assert_int_equal(f.start, addr);
		assert_true(f.end > addr);
	}
	assert_string_equal(object_function_name(&f, buf, sizeof(buf)), "objects_test_function");
	assert_int_equal(objects_find(o, f.end - 1, &again), 0);
	assert_int_equal(again.start, addr);
	e = objects_elf(o, addr, &bias);
	assert_non_null(e);
	assert_true(elf_file_symbol(e, "objects_test_function", &sym));
	assert_int_equal(sym.addr + bias, addr);
	assert_int_equal(f.offset, sym.addr);
	/* Data of the same file has the same bias. */
	assert_ptr_equal(objects_elf(o, addr_of("some text"), &bias), e);
	assert_int_equal(sym.addr + bias, addr);
	objects_close(o);
}

static void check_libc(struct objects *o, const char **name)
{
	struct object_function f;
	const void *p = libc_function();

	*name = NULL;
	if (objects_find(o, addr_of(p), &f) == 0)
		*name = f.symbol;
}

static void functions_of_a_library(void **state)
{
	struct objects *o = open_self();
	const char *name;

	UNUSED(state);
	check_libc(o, &name);
	assert_non_null(name);
	assert_non_null(strstr(name, "getauxval"));
	objects_close(o);
}

static void functions_of_the_vdso(void **state)
{
	raddr base = getauxval(AT_SYSINFO_EHDR);
	struct objects *o;
	struct object_function f;
	struct elf_symbol sym;
	struct elf_file *e;
	uint64_t bias = 1;

	UNUSED(state);
	if (!base)
		skip(); /* booted with vdso=0 */
	o = open_self();
	e = objects_elf(o, base, &bias);
	assert_non_null(e);
	assert_true(elf_file_symbol(e, "__vdso_clock_gettime", &sym));
	assert_int_equal(objects_find(o, sym.addr + bias, &f), 0);
	assert_string_equal(f.object, "[vdso]");
	assert_non_null(strstr(f.symbol, "clock_gettime"));
	objects_close(o);
}

/* A copy of libc, mapped as the loader would, then deleted: the names are still to be had. */
static void functions_of_a_deleted_file(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", copy[64], command[PATH_MAX + 128];
	struct objects *o = open_self();
	const struct proc_map *libc = map_of(o, libc_function());
	size_t size = (size_t)(libc->end - libc->start);
	uint64_t at = addr_of(libc_function()) - libc->start;
	struct object_function f;
	char *code;
	int fd;

	UNUSED(state);
	assert_non_null(mkdtemp(dir));
	snprintf(copy, sizeof(copy), "%s/library copy.so", dir);
	snprintf(command, sizeof(command), "cp '%s' '%s'", libc->path, copy);
	assert_int_equal(system(command), 0);
	fd = open(copy, O_RDONLY | O_CLOEXEC);
	code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, (off_t)libc->offset);
	assert_true(code != MAP_FAILED);
	close(fd);
	assert_int_equal(unlink(copy), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(objects_refresh(o, NULL), 0);
	assert_true(map_of(o, code)->deleted);
	assert_int_equal(objects_find(o, addr_of(code) + at, &f), 0);
	assert_string_equal(f.object, "library copy.so");
	if (geteuid() == 0) { /* without map_files there is no way to a deleted library */
		assert_non_null(f.symbol);
		assert_non_null(strstr(f.symbol, "getauxval"));
		assert_int_equal(f.start, addr_of(code) + at);
	}
	munmap(code, size);
	objects_close(o);
}

static void code_without_a_file(void **state)
{
	int fd = memfd_create("vmem", MFD_CLOEXEC);
	struct object_function f;
	struct objects *o;
	char *jit, *anon, *plain, buf[64];
	uint64_t bias;

	UNUSED(state);
	assert_int_equal(ftruncate(fd, PAGE), 0);
	jit = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	anon = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	plain = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(jit != MAP_FAILED && anon != MAP_FAILED && plain != MAP_FAILED);
	o = open_self();
	assert_int_equal(objects_find(o, addr_of(jit) + 16, &f), 0);
	assert_string_equal(f.object, "[anon]");
	assert_null(f.symbol);
	assert_int_equal(f.start, f.end);
	assert_string_equal(object_function_name(&f, buf, sizeof(buf)), "[anon]");
	assert_int_equal(objects_find(o, addr_of(anon) + 16, &f), 0);
	assert_string_equal(f.object, "[anon]");
	assert_null(objects_elf(o, addr_of(jit), &bias));
	assert_int_equal(objects_find(o, addr_of(plain), &f), -ENOENT); /* not executable */
	assert_int_equal(objects_find(o, addr_of(&f), &f), -ENOENT);
	assert_int_equal(objects_find(o, 0, &f), -ENOENT);
	assert_int_equal(objects_find(o, 0, &f), -ENOENT);
	assert_int_equal(objects_find(o, UINT64_MAX, &f), -ENOENT);
	assert_null(objects_elf(o, 8, &bias));
	objects_close(o);
	munmap(jit, PAGE);
	munmap(anon, PAGE);
	munmap(plain, PAGE);
	close(fd);
}

static void code_that_comes_and_goes(void **state)
{
	struct objects *o = open_self();
	struct object_function f;
	char *p;

	UNUSED(state);
	p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	usleep(300000); /* the maps are read again, but not at once */
	assert_int_equal(objects_find(o, addr_of(p), &f), 0);
	munmap(p, PAGE);
	assert_int_equal(objects_refresh(o, NULL), 0);
	assert_int_equal(objects_find(o, addr_of(p), &f), -ENOENT);
	objects_close(o);
}

static void names_without_symbols(void **state)
{
	struct object_function f = {.object = "beam.smp", .offset = 0x1ab770};
	char buf[64], tiny[6];

	UNUSED(state);
	assert_string_equal(object_function_name(&f, buf, sizeof(buf)), "beam.smp+0x1ab770");
	assert_string_equal(object_function_name(&f, tiny, sizeof(tiny)), "beam.");
	f.symbol = "sched_yield";
	assert_string_equal(object_function_name(&f, buf, sizeof(buf)), "sched_yield");
}

/* A function that no symbol covers, if there is one in libc behind a known one. */
static bool unnamed_function(struct objects *o, struct object_function *f)
{
	for (unsigned int i = 0; i < 4096; i++) {
		if (objects_find(o, addr_of(libc_function()) + 64 * (raddr)i, f))
			return false;
		if (!f->symbol && f->start != f->end)
			return true;
	}
	return false;
}

static void names_from_elsewhere(void **state)
{
	struct objects *o = open_self();
	struct object_function f, named;
	raddr own = addr_of((void *)(uintptr_t)objects_test_function);
	struct function_name by_file = {.name = "by_reference"};
	const struct elf_file *elf;
	uint64_t bias;
	char name[32];

	UNUSED(state);
	if (!unnamed_function(o, &f)) {
		objects_close(o);
		skip();
	}
	objects_name(o, f.start, "found_by_proof", SYMBOL_SOURCE_PROBE);
	objects_name(o, own, "no_name_for_what_has_one", SYMBOL_SOURCE_PROBE);
	assert_int_equal(objects_find(o, f.end - 1, &named), 0);
	assert_string_equal(named.symbol, "found_by_proof");
	assert_int_equal(named.start, f.start);
	assert_int_equal(objects_find(o, own, &named), 0);
	assert_string_equal(named.symbol, "objects_test_function");
	for (unsigned int i = 0; i < 2 * OBJECTS_MAX_NAMED; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		objects_name(o, f.end + i, name, SYMBOL_SOURCE_PROBE);
	}
	assert_int_equal(objects_find(o, f.start, &named), 0);
	assert_string_equal(named.symbol, "found_by_proof");
	objects_close(o);

	/* By the file: wherever it is mapped. */
	o = open_self();
	assert_int_equal(objects_find(o, f.start, &named), 0);
	assert_null(named.symbol);
	elf = objects_elf(o, f.start, &bias);
	assert_non_null(elf);
	by_file.addr = f.start - bias;
	objects_name_functions(o, elf, &by_file, 1);
	assert_int_equal(objects_find(o, f.start, &named), 0);
	assert_string_equal(named.symbol, "by_reference");
	assert_int_equal(named.source, SYMBOL_SOURCE_REFERENCE);
	objects_close(o);
}

static void processes_that_are_not_there(void **state)
{
	struct objects *o = NULL;
	struct error err = {0};
	pid_t pid = fork();
	struct object_function f;

	UNUSED(state);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(objects_open(&o, pid, &err), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* What was read before is still known; what was not cannot be had. */
	assert_int_equal(objects_find(o, addr_of((void *)(uintptr_t)objects_test_function), &f), 0);
	assert_int_equal(objects_refresh(o, &err), -ESRCH);
	assert_int_equal(objects_find(o, addr_of((void *)(uintptr_t)objects_test_function), &f), 0);
	objects_close(o);
	assert_int_equal(objects_open(&o, pid, &err), -ESRCH);
	assert_int_equal(err.kind, ERROR_KIND_NO_NODE);
	objects_close(NULL);
}

/* Opening map_files takes a capability; /proc/PID/root/PATH is the way without. */
static void without_map_files(void **state)
{
	int status = -1;
	pid_t pid;

	UNUSED(state);
	if (geteuid() != 0)
		skip(); /* then functions_of_a_library has tested it */
	pid = fork();
	if (pid == 0) {
		const char *name = NULL;
		struct objects *o;

		if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0 ||
		    prctl(PR_SET_DUMPABLE, 1) != 0 || access("/proc/self/map_files", R_OK) != 0 ||
		    objects_open(&o, getpid(), NULL) != 0)
			_exit(2);
		check_libc(o, &name);
		_exit(name && strstr(name, "getauxval") ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_program),
		cmocka_unit_test(functions_of_a_library),
		cmocka_unit_test(functions_of_the_vdso),
		cmocka_unit_test(functions_of_a_deleted_file),
		cmocka_unit_test(code_without_a_file),
		cmocka_unit_test(code_that_comes_and_goes),
		cmocka_unit_test(names_without_symbols),
		cmocka_unit_test(names_from_elsewhere),
		cmocka_unit_test(processes_that_are_not_there),
		cmocka_unit_test(without_map_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
