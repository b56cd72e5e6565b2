/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real nodes, one of each release: what is read of processes, stacks, terms, tables, ports and code
 * in their recorded memory is what these nodes wrote of themselves.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "lib/mem_faulty.h"
#include "lib/recorded.h"
#include "target/proc.h"

#define MAX_FILE ((size_t)1 << 20)

static const int releases[] = {25, 27, 29};

/* Line by line, so that the first one that is not right is shown. */
static void compare(int otp, char *seen, char *said)
{
	char *seen_at, *said_at, *a = strtok_r(seen, "\n", &seen_at),
				 *b = strtok_r(said, "\n", &said_at);

	while (a && b && strcmp(a, b) == 0) {
		a = strtok_r(NULL, "\n", &seen_at);
		b = strtok_r(NULL, "\n", &said_at);
	}
	if (a || b)
		fail_msg("OTP %d: seen: %.2000s; the node said: %.2000s", otp, a ? a : "no more",
			 b ? b : "no more");
}

static void test_survey(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		char *path = xasprintf("tests/data/images/node-otp%d.txt", releases[i]);
		struct beam_node *n = recorded_open(releases[i]);
		char *said = proc_read_file(MAX_FILE, NULL, "%s", path);
		struct strbuf seen = STRBUF_INIT;
		struct error err = {0};

		assert_non_null(said);
		assert_int_equal(recorded_survey(n, &seen, &err), 0);
		compare(releases[i], seen.buf, said);
		strbuf_free(&seen);
		free(said);
		free(path);
		recorded_close(n);
	}
}

/* A part of memory that cannot be read costs what stands there, never more. */
static void test_faults(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct beam_node *n = recorded_open(releases[i]);
		struct mem *whole = n->mem;

		for (uint64_t nth = 1; nth < 30000; nth = nth * 3 / 2 + 1) {
			struct strbuf seen = STRBUF_INIT;
			struct error err = {0};

			n->mem = mem_open_faulty(whole, 0, 0, nth);
			recorded_survey(n, &seen, &err);
			strbuf_free(&seen);
			mem_close(n->mem);
		}
		n->mem = whole;
		recorded_close(n);
	}
}

static void test_note(void **state)
{
	struct beam_node *n = recorded_open(27);
	struct strbuf note = STRBUF_INIT;

	(void)state;
	assert_int_equal(n->identity.otp, 27);
	assert_true(n->identity.jit);
	assert_int_equal(n->anchors.nr_sched, 2);
	recorded_note(n, &note);
	assert_non_null(strstr(note.buf, "otp 0x1b\n"));
	assert_false(recorded_take_note(n, "otp 0x1b\nunknown_table 0x10\n"));
	assert_false(recorded_take_note(n, "otp\n"));
	strbuf_free(&note);
	recorded_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_survey),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
