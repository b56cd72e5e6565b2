/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts from DWARF: of this program, whose compiler (offsetof, sizeof) is the oracle; then of a
 * copy whose DWARF was moved to a debug file, found by build id and by .gnu_debuglink below
 * another root directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "target/dwarf.h"

/* Shapes that the VM's structs have. */
union shape_value {
	uint64_t word;
	struct {
		uint32_t low, high;
	} halves;
};

typedef struct shape_table_ {
	char pad[40];
	struct {
		struct {
			const volatile uint64_t *tab;
			int max;
		} o;
		char align[128];
	} r;
} shape_table;

typedef const struct shape_table_ shape_const_table;
typedef shape_const_table shape_alias;

struct shape {
	uint32_t id;
	union {
		uint64_t tag;
		struct {
			uint8_t kind;
			uint8_t size[7];
			union {
				uint16_t deepest;
			};
		};
	}; /* both anonymous: transparent in paths */
	union shape_value value;
	shape_alias table;
	unsigned int bit_a : 3, bit_b : 9, bit_c : 20;
	struct shape *next;
	int last[5];
};

struct shape the_shape; /* emitted, so that its types are */
shape_table the_table;
struct shape_unknown; /* never defined */
struct shape_unknown *the_unknown;

#define CHECK_FIELD(d, type, ctype, field)                                                         \
	assert_int_equal(dwarf_field_offset(d, type, #field), offsetof(ctype, field))

static void check_layouts(struct dwarf_info *d)
{
	assert_int_equal(dwarf_type_size(d, "struct shape"), sizeof(struct shape));
	assert_int_equal(dwarf_type_size(d, "shape_table"), sizeof(shape_table));
	assert_int_equal(dwarf_type_size(d, "shape_alias"), sizeof(shape_table));
	assert_int_equal(dwarf_type_size(d, "struct shape_table_"), sizeof(shape_table));
	assert_int_equal(dwarf_type_size(d, "union shape_value"), sizeof(union shape_value));
	assert_int_equal(dwarf_type_size(d, "uint16_t"), 2);
	CHECK_FIELD(d, "struct shape", struct shape, id);
	CHECK_FIELD(d, "struct shape", struct shape, tag);
	CHECK_FIELD(d, "struct shape", struct shape, kind);
	CHECK_FIELD(d, "struct shape", struct shape, size);
	CHECK_FIELD(d, "struct shape", struct shape, deepest);
	CHECK_FIELD(d, "struct shape", struct shape, value);
	CHECK_FIELD(d, "struct shape", struct shape, value.word);
	CHECK_FIELD(d, "struct shape", struct shape, value.halves.high);
	CHECK_FIELD(d, "struct shape", struct shape, table.r.o.max);
	CHECK_FIELD(d, "struct shape", struct shape, next);
	CHECK_FIELD(d, "struct shape", struct shape, last);
	CHECK_FIELD(d, "shape_alias", shape_table, r.o.tab);
	CHECK_FIELD(d, "shape_table", shape_table, r.align);
	CHECK_FIELD(d, "union shape_value", union shape_value, halves.low);
	/* Bit fields: the byte in which they start. */
	assert_int_equal(dwarf_field_offset(d, "struct shape", "bit_a"),
			 offsetof(struct shape, next) - 8);
	assert_int_equal(dwarf_field_offset(d, "struct shape", "bit_c"),
			 offsetof(struct shape, next) - 7);
}

static void check_absent(struct dwarf_info *d)
{
	static const char *const fields[] = {
		"nothing", "i",	     "idx",	 "value.nothing", "id.x",
		"next.id", ".value", "value..x", "last.x",	  "value.word.x",
		".",	   "",	     "value.",
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		assert_int_equal(dwarf_field_offset(d, "struct shape", fields[i]), -ENOENT);
	assert_int_equal(dwarf_type_size(d, "shape"), -ENOENT); /* no such typedef */
	assert_int_equal(dwarf_type_size(d, "union shape"), -ENOENT);
	assert_int_equal(dwarf_type_size(d, "struct shape_alias"), -ENOENT);
	assert_int_equal(dwarf_type_size(d, "struct nothing"), -ENOENT);
	assert_int_equal(dwarf_type_size(d, "struct shape_unknown"), -ENOENT);
	assert_int_equal(dwarf_type_size(d, ""), -ENOENT);
	assert_int_equal(dwarf_type_size(d, "struct "), -ENOENT);
	assert_int_equal(dwarf_field_offset(d, "struct nothing", "id"), -ENOENT);
}

static struct elf_file *open_elf(const char *path)
{
	struct elf_file *e = NULL;
	struct error err = {0};

	assert_int_equal(elf_file_open(&e, open(path, O_RDONLY | O_CLOEXEC), path, &err), 0);
	return e;
}

static void layouts_of_this_program(void **state)
{
	struct elf_file *e = open_elf("/proc/self/exe");
	struct dwarf_info *d = NULL;

	UNUSED(state);
	assert_int_equal(dwarf_info_open(&d, e, NULL, NULL), 0);
	assert_string_equal(dwarf_info_origin(d), "the executable");
	check_absent(d); /* indexes everything */
	check_layouts(d);
	dwarf_info_close(d);
	assert_int_equal(dwarf_info_open(&d, e, "/nowhere", NULL), 0);
	check_layouts(d);
	dwarf_info_close(d);
	dwarf_info_close(NULL);
	elf_file_close(e); /* its descriptor is still its own */
}

/* ---- debug files -------------------------------------------------------------------------- */

static bool have_tools(void)
{
	return system("command -v objcopy >/dev/null && command -v strip >/dev/null") == 0;
}

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_int_equal(system(command), 0);
}

/* DIR/prog: this program, stripped; DIR/prog.debug: its DWARF. */
static void split_program(char *dir)
{
	assert_non_null(mkdtemp(dir));
	run("cd %s && cp /proc/%d/exe full && objcopy --only-keep-debug full prog.debug && "
	    "strip -o prog full",
	    dir, (int)getpid());
}

static void remove_dir(const char *dir)
{
	run("rm -r %s", dir);
}

static void no_dwarf_anywhere(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", path[64];
	struct dwarf_info *d = NULL;
	struct error err = {0};
	struct elf_file *e;

	UNUSED(state);
	if (!have_tools())
		skip();
	split_program(dir);
	run("rm %s/prog.debug", dir); /* beside the program it would be found */
	snprintf(path, sizeof(path), "%s/prog", dir);
	e = open_elf(path);
	assert_int_equal(dwarf_info_open(&d, e, dir, &err), -ENOENT);
	assert_int_equal(err.code, 0);
	assert_null(d);
	elf_file_close(e);
	remove_dir(dir);
}

static void debug_file_by_build_id(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", path[64];
	struct dwarf_info *d = NULL;
	struct elf_file *e;
	const char *id;

	UNUSED(state);
	if (!have_tools())
		skip();
	split_program(dir);
	snprintf(path, sizeof(path), "%s/prog", dir);
	e = open_elf(path);
	id = elf_file_build_id(e);
	if (strlen(id) < 4) { /* a linker that writes none */
		elf_file_close(e);
		remove_dir(dir);
		skip();
	}
	run("cd %s && mkdir -p usr/lib/debug/.build-id/%.2s && "
	    "mv prog.debug usr/lib/debug/.build-id/%.2s/%s.debug",
	    dir, id, id, id + 2);
	assert_int_equal(dwarf_info_open(&d, e, dir, NULL), 0);
	assert_non_null(strstr(dwarf_info_origin(d), "/usr/lib/debug/.build-id/"));
	check_layouts(d);
	dwarf_info_close(d);
	elf_file_close(e);
	remove_dir(dir);
}

static void debug_file_by_link(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", path[64];
	struct dwarf_info *d = NULL;
	struct elf_file *e;

	UNUSED(state);
	if (!have_tools())
		skip();
	split_program(dir);
	run("cd %s && objcopy -R .note.gnu.build-id --add-gnu-debuglink=prog.debug prog linked && "
	    "mkdir -p usr/lib/debug%s && mv prog.debug usr/lib/debug%s",
	    dir, dir, dir);
	snprintf(path, sizeof(path), "%s/linked", dir);
	e = open_elf(path);
	assert_int_equal(dwarf_info_open(&d, e, dir, NULL), 0);
	assert_non_null(strstr(dwarf_info_origin(d), "prog.debug"));
	check_layouts(d);
	dwarf_info_close(d);
	elf_file_close(e);
	remove_dir(dir);
}

/* Another program's debug file in the right place: its build id gives it away. */
static void debug_file_of_another_program(void **state)
{
	char dir[] = "/tmp/ebeam-test-XXXXXX", path[64];
	struct dwarf_info *d = NULL;
	struct elf_file *e;
	const char *id;

	UNUSED(state);
	if (!have_tools())
		skip();
	split_program(dir);
	snprintf(path, sizeof(path), "%s/prog", dir);
	e = open_elf(path);
	id = elf_file_build_id(e);
	if (strlen(id) >= 4) {
		run("cd %s && objcopy -R .note.gnu.build-id prog.debug other && "
		    "mkdir -p usr/lib/debug/.build-id/%.2s && "
		    "mv other usr/lib/debug/.build-id/%.2s/%s.debug && rm prog.debug",
		    dir, id, id, id + 2);
		assert_int_equal(dwarf_info_open(&d, e, dir, NULL), -ENOENT);
	}
	elf_file_close(e);
	remove_dir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_of_this_program),
		cmocka_unit_test(no_dwarf_anywhere),
		cmocka_unit_test(debug_file_by_build_id),
		cmocka_unit_test(debug_file_by_link),
		cmocka_unit_test(debug_file_of_another_program),
	};

	the_shape.next = &the_shape;
	the_unknown = NULL;
	the_table.r.o.max = 1;
	unsetenv("DEBUGINFOD_URLS"); /* the network is no part of this test */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
