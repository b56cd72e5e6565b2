/* SPDX-License-Identifier: BSD-2-Clause */
/* See verifier_log.h. */
#include "probe/kernel/verifier_log.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* Frames of calls that the kernel allows at most. */
#define MAX_CHAIN 8
#define ROUND_UP  32u

static bool starts_with(const char *line, const char *prefix)
{
	return strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Parses the stack sizes "40+128+0". */
static void read_stack(struct verifier_log *out, const char *text)
{
	char *end;

	out->nr_functions = 0;
	while (out->nr_functions < VERIFIER_FUNCTIONS) {
		out->stack[out->nr_functions++] = (unsigned int)strtoul(text, &end, 10);
		if (end == text)
			out->nr_functions--;
		if (end == text || *end != '+')
			return;
		text = end + 1;
	}
}

static unsigned int number_behind(const char *line, size_t len, const char *word)
{
	const char *at = memmem(line, len, word, strlen(word));

	return at ? (unsigned int)strtoul(at + strlen(word), NULL, 10) : 0;
}

static void read_line(struct verifier_log *out, const char *line, size_t len)
{
	if (starts_with(line, "processed ")) {
		out->instructions = number_behind(line, len, "processed ");
		out->total_states = number_behind(line, len, "total_states ");
		out->peak_states = number_behind(line, len, "peak_states ");
	} else if (starts_with(line, "stack depth ")) {
		read_stack(out, line + strlen("stack depth "));
	} else if (len && !starts_with(line, "verification time ")) {
		snprintf(out->words, sizeof(out->words), "%.*s", (int)len, line);
	}
}

void verifier_log_read(struct verifier_log *out, const char *log)
{
	*out = (struct verifier_log){0};
	while (*log) {
		size_t len = strcspn(log, "\n");

		read_line(out, log, len);
		log += len + (log[len] == '\n');
	}
}

/* ---- the deepest chain --------------------------------------------------------------------- */

struct chains {
	const struct verifier_log *log;
	const struct verifier_code *code;
	unsigned int deepest[VERIFIER_FUNCTIONS]; /* from a function on; 0 = not known yet */
};

static bool is_call(const struct bpf_insn *i)
{
	return i->code == (BPF_JMP | BPF_CALL) && i->src_reg == BPF_PSEUDO_CALL;
}

static unsigned int deepest_from(struct chains *c, unsigned int function, unsigned int level)
{
	const uint32_t *starts = c->code->starts;
	size_t end = function + 1 < c->log->nr_functions ? starts[function + 1] : c->code->nr;
	unsigned int own = MAX(c->log->stack[function], 1u), below = 0;

	if (c->deepest[function])
		return c->deepest[function];
	for (size_t i = starts[function]; level < MAX_CHAIN && i < end; i++) {
		const struct bpf_insn *insn = &c->code->insns[i];
		unsigned int depth = 0;

		if (is_call(insn) && (uint32_t)insn->imm < c->log->nr_functions)
			depth = deepest_from(c, (uint32_t)insn->imm, level + 1);
		below = MAX(below, depth);
	}
	c->deepest[function] = (own + ROUND_UP - 1) / ROUND_UP * ROUND_UP + below;
	return c->deepest[function];
}

unsigned int verifier_log_deepest(const struct verifier_log *log, const struct verifier_code *code)
{
	struct chains c = {.log = log, .code = code};

	return log->nr_functions && code->nr ? deepest_from(&c, 0, 1) : 0;
}
