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
#include "probe/site/sources_usdt.h"

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
	assert_int_equal(nr, 8);
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
		{"all", ALL & ~KIND(LIBC_ALLOC), NULL},
		{"libc", KIND(LIBC_ALLOC), NULL},
		{"all,libc_alloc", ALL, NULL},
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
		{"scheduler",
		 KIND(PROCESS_SCHEDULED) | KIND(PROCESS_RUNNABLE) | KIND(SCHEDULER_ACTIVE), NULL},
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

static struct elf_file *open_image(void)
{
	struct elf_image image = {.size = 0};
	struct elf_file *elf;
	int fd = memfd_create("image", 0);

	elf_image_build(&image, true);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image.data, image.size), image.size);
	assert_int_equal(elf_file_open(&elf, fd, "image", NULL), 0);
	return elf;
}

/* A file without any of the functions: all is missing, each with a reason. */
static void test_no_functions(void **state)
{
	static struct source_plan plan;
	struct elf_file *elf = open_image();
	struct functions *functions;
	char text[256];

	UNUSED(state);
	functions_open_file(&functions, elf);
	source_plan(&plan, functions, ALL, SOURCE_UPROBE);
	assert_true(plan.kinds == 0);
	assert_int_equal(plan.nr_points, 0);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		assert_non_null(plan.missing[kind]);
		source_functions((enum event_kind)kind, text, sizeof(text));
		assert_true(*text);
	}
	/* What was not asked for is not missing. */
	source_plan(&plan, functions, KIND(PORT_OPEN), SOURCE_AUTO);
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

/* The same file has USDT probes: of one kind all sites can be read, of another not all. */
static void test_usdt(void **state)
{
	static struct source_plan plan;
	struct elf_file *elf = open_image();
	struct functions *functions;
	char text[256];

	UNUSED(state);
	functions_open_file(&functions, elf);
	for (int choice = SOURCE_AUTO; choice <= SOURCE_USDT; choice++) {
		if (choice == SOURCE_UPROBE)
			continue;
		source_plan(&plan, functions, ALL, (enum source_choice)choice);
		assert_true(plan.kinds == KIND(PROCESS_HIBERNATE));
		assert_true(plan.usdt_kinds == KIND(PROCESS_HIBERNATE));
		assert_null(plan.missing[EVENT_PROCESS_HIBERNATE]);
		assert_non_null(plan.missing[EVENT_MESSAGE_RECEIVE]);
		assert_int_equal(plan.nr_points, 2);
		assert_int_equal(plan.nr_usdt, 2);
		for (unsigned int i = 0; i < 2; i++) {
			const struct source_point *p = &plan.points[i];
			const struct usdt_point *u = &plan.usdt[p->cookie];

			assert_string_equal(p->program, "event_usdt_hibernate");
			assert_true(p->is_instruction && p->kinds == plan.kinds);
			assert_true(
				p->offset ==
				elf_file_offset_of(elf, ELF_IMAGE_TEXT_ADDR + (i ? 0x34 : 0x12)));
			assert_true(p->ref_ctr_offset ==
				    elf_file_offset_of(elf, ELF_IMAGE_FRAME_ADDR + 8));
			assert_int_equal(u->kind, EVENT_PROCESS_HIBERNATE);
			assert_int_equal(u->args[0].reg, i ? USDT_RBX : USDT_RDI);
			assert_int_equal(u->args[1].type, i ? USDT_ARG_CONSTANT : USDT_ARG_MEMORY);
			assert_int_equal(u->args[2].type, USDT_ARG_NONE);
		}
	}
	source_plan(&plan, functions, KIND(PORT_EXIT), SOURCE_USDT);
	assert_int_equal(plan.nr_points, 0);
	functions_close(functions);
	elf_file_close(elf);
	sources_usdt_names(EVENT_GC_MINOR_END, text, sizeof(text));
	assert_string_equal(text, "gc_minor__end");
	assert_true(*sources_usdt_differs(EVENT_GC_MINOR_END));
	sources_usdt_names(EVENT_PROCESS_EXIT, text, sizeof(text));
	assert_string_equal(text, "");
	assert_string_equal(sources_usdt_differs(EVENT_PROCESS_EXIT), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),  cmocka_unit_test(test_fields),
		cmocka_unit_test(test_lists), cmocka_unit_test(test_no_functions),
		cmocka_unit_test(test_usdt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
