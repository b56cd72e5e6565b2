/* SPDX-License-Identifier: BSD-2-Clause */
/* The catalogue of events: names, fields, lists of kinds; and what each kind is made of. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "event/catalogue.h"
#include "lib/elf_image.h"
#include "probe/sources.h"

#include <sys/mman.h>
#include <unistd.h>

#define KIND(kind) (1ull << EVENT_##kind)
#define ALL	   ((1ull << NR_EVENT_KINDS) - 1)

static void test_rows(void **state)
{
	UNUSED(state);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		const struct event_row *row = &event_rows[kind];
		unsigned int nr, words = 0;
		const struct event_field *fields = event_fields((enum event_kind)kind, &nr);

		assert_non_null(row->name);
		assert_true(*row->summary);
		assert_int_equal(event_kind_find(row->name, strlen(row->name)), kind);
		assert_non_null(event_group_name(row->group));
		assert_true(nr <= EVENT_MAX_FIELDS);
		for (unsigned int i = 0; i < nr; i++) {
			assert_int_equal(fields[i].kind, kind);
			assert_true(*fields[i].name);
			words += event_field_words(fields[i].type);
		}
		assert_true(words <= EVENT_RAW_WORDS);
	}
	assert_int_equal(event_kind_find("gc_minor", 8), -1);
	assert_int_equal(event_kind_find("", 0), -1);
	assert_string_equal(event_word_text(EVENT_WORD_OUT_EXITED), "out_exited");
	assert_null(event_word_text(EVENT_WORD_NONE));
	assert_null(event_word_text(NR_EVENT_WORDS));
	assert_null(event_word_text(UINT64_MAX));
}

static void test_fields(void **state)
{
	unsigned int nr;
	const struct event_field *f = event_fields(EVENT_GC_MAJOR_END, &nr);

	UNUSED(state);
	assert_int_equal(nr, 4);
	assert_string_equal(f[0].name, "reclaimed");
	assert_string_equal(f[3].name, "duration_ns");
	assert_int_equal(f[3].type, FIELD_NS);
	f = event_fields(EVENT_PROCESS_SPAWN, &nr);
	assert_int_equal(nr, 2);
	assert_string_equal(f[1].name, "entry");
	event_fields(EVENT_PORT_UNLINK, &nr);
	assert_int_equal(nr, 2);
	/* The last one ends with the table. */
	f = event_fields((enum event_kind)(NR_EVENT_KINDS - 1), &nr);
	assert_in_range(nr, 1, EVENT_MAX_FIELDS);
	assert_int_equal(f[nr - 1].kind, NR_EVENT_KINDS - 1);
}

static void test_lists(void **state)
{
	static const struct {
		const char *list;
		uint64_t kinds; /* 0 = refused */
		const char *bad;
	} rows[] = {
		{"all", ALL, NULL},
		{"gc_minor_end", KIND(GC_MINOR_END), NULL},
		{"gc_minor_end,port_open", KIND(GC_MINOR_END) | KIND(PORT_OPEN), NULL},
		{"gc_m*",
		 KIND(GC_MINOR_START) | KIND(GC_MINOR_END) | KIND(GC_MAJOR_START) |
			 KIND(GC_MAJOR_END),
		 NULL},
		{"gc",
		 KIND(GC_MINOR_START) | KIND(GC_MINOR_END) | KIND(GC_MAJOR_START) |
			 KIND(GC_MAJOR_END),
		 NULL},
		{"message,message_send",
		 KIND(MESSAGE_SEND) | KIND(MESSAGE_QUEUED) | KIND(MESSAGE_RECEIVE), NULL},
		{"scheduler", KIND(PROCESS_SCHEDULED), NULL},
		{"", 0, ""},
		{"gc,", 0, ""},
		{",gc", 0, ",gc"},
		{"*", 0, "*"},
		{"gc_minor_en", 0, "gc_minor_en"},
		{"gc_minor_end ", 0, "gc_minor_end "},
		{"port_open,none,gc", 0, "none,gc"},
		{"nothing*", 0, "nothing*"},
	};
	uint64_t kinds;
	const char *bad;
	size_t len;

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int rc = event_kinds_parse(rows[i].list, &kinds, &bad, &len);

		assert_int_equal(rc, rows[i].kinds ? 0 : -EINVAL);
		if (rows[i].kinds)
			assert_true(kinds == rows[i].kinds);
		else
			assert_string_equal(bad, rows[i].bad);
	}
}

/* A file without any of the functions: all is missing, each with a reason. */
static void test_no_functions(void **state)
{
	static struct source_plan plan;
	struct elf_image image;
	struct functions *functions;
	struct elf_file *elf;
	struct error err;
	char text[256];
	int fd = memfd_create("image", 0);

	UNUSED(state);
	elf_image_build(&image, true);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image.data, image.size), image.size);
	assert_int_equal(elf_file_open(&elf, fd, "image", &err), 0);
	functions_open_file(&functions, elf);
	source_plan(&plan, functions, ALL);
	assert_true(plan.kinds == 0);
	assert_int_equal(plan.nr_points, 0);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		assert_non_null(plan.missing[kind]);
		source_functions((enum event_kind)kind, text, sizeof(text));
		assert_true(*text);
	}
	/* What was not asked for is not missing. */
	source_plan(&plan, functions, KIND(PORT_OPEN));
	assert_string_equal(plan.missing[EVENT_PORT_OPEN], "erts_open_driver");
	assert_null(plan.missing[EVENT_PORT_EXIT]);
	source_missing(&plan, EVENT_PORT_OPEN, text, sizeof(text));
	assert_string_equal(text, "no symbol erts_open_driver");
	functions_close(functions);
	elf_file_close(elf);
	source_functions(EVENT_MESSAGE_SEND, text, 8);
	assert_int_equal(strlen(text), 7);
	source_functions(EVENT_MESSAGE_RECEIVE, text, sizeof(text));
	assert_string_equal(text, "beam_jit_remove_message");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_no_functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
