/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read from the verifier's log, and the deepest chain of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "base/compiler.h"
#include "probe/kernel/verifier_log.h"

#define FIGURES                                                                                    \
	"verification time 12345 usec\n"                                                           \
	"stack depth 280+0+192\n"                                                                  \
	"processed 73988 insns (limit 1000000) max_states_per_insn 12 total_states 3022 "          \
	"peak_states 1442 mark_read 57\n"

static void figures(void **state)
{
	struct verifier_log log;

	UNUSED(state);
	verifier_log_read(&log, FIGURES);
	assert_int_equal(log.instructions, 73988);
	assert_int_equal(log.total_states, 3022);
	assert_int_equal(log.peak_states, 1442);
	assert_int_equal(log.nr_functions, 3);
	assert_int_equal(log.stack[0], 280);
	assert_int_equal(log.stack[1], 0);
	assert_int_equal(log.stack[2], 192);
	assert_string_equal(log.words, "");
}

static void last_words(void **state)
{
	struct verifier_log log;

	UNUSED(state);
	verifier_log_read(&log, "mark_precise: frame0: last_idx 3\n"
				"combined stack size of 4 calls is 544. Too large\n" FIGURES);
	assert_string_equal(log.words, "combined stack size of 4 calls is 544. Too large");
	/* Cut off, as by a buffer that was too small; and nothing at all. */
	verifier_log_read(&log, "R2 unbounded memory access\nprocessed 12");
	assert_string_equal(log.words, "R2 unbounded memory access");
	assert_int_equal(log.instructions, 12);
	assert_int_equal(log.nr_functions, 0);
	verifier_log_read(&log, "");
	assert_string_equal(log.words, "");
}

static void many_functions(void **state)
{
	char text[VERIFIER_FUNCTIONS * 8] = "stack depth 8";
	struct verifier_log log;

	UNUSED(state);
	for (int i = 0; i < VERIFIER_FUNCTIONS + 9; i++)
		strcat(text, "+16");
	verifier_log_read(&log, text);
	assert_int_equal(log.nr_functions, VERIFIER_FUNCTIONS);
	verifier_log_read(&log, "stack depth what");
	assert_int_equal(log.nr_functions, 0);
}

#define CALL(function)                                                                             \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = (function)          \
	}
#define HELPER                                                                                     \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .imm = 1                                               \
	}
#define EXIT                                                                                       \
	{                                                                                          \
		.code = BPF_JMP | BPF_EXIT                                                         \
	}

static void deepest(void **state)
{
	/* 0 calls 1 and 2, 1 calls 3, 2 a helper: 280 + 40 + 416, each frame in steps of 32. */
	const struct bpf_insn insns[] = {CALL(1), CALL(2), EXIT, CALL(3), EXIT, HELPER, EXIT, EXIT};
	const uint32_t starts[] = {0, 3, 5, 7};
	const struct verifier_code code = {
		.insns = insns, .starts = starts, .nr = ARRAY_SIZE(insns)};
	struct verifier_log log;

	UNUSED(state);
	verifier_log_read(&log, "stack depth 280+40+440+416\n");
	assert_int_equal(verifier_log_deepest(&log, &code), 288 + 64 + 416);
	verifier_log_read(&log, "stack depth 280+0+440+0\n");
	assert_int_equal(verifier_log_deepest(&log, &code), 288 + 448);
	verifier_log_read(&log, "stack depth 8+0+0+0\n");
	assert_int_equal(verifier_log_deepest(&log, &code), 32 + 32 + 32);
	/* Calls to functions of which the log says nothing. */
	verifier_log_read(&log, "stack depth 8\n");
	assert_int_equal(verifier_log_deepest(&log, &code), 32);
	verifier_log_read(&log, "");
	assert_int_equal(verifier_log_deepest(&log, &code), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(last_words),
		cmocka_unit_test(many_functions),
		cmocka_unit_test(deepest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
