/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the log of the kernel's verifier for a program (BPF_LOG_STATS, a part may be missing):
 * its figures, and why it refuses the program. */
#ifndef EBEAM_PROBE_VERIFIER_LOG_H
#define EBEAM_PROBE_VERIFIER_LOG_H

#include <stddef.h>
#include <stdint.h>

struct bpf_insn;

#define VERIFIER_FUNCTIONS 256 /* BPF_MAX_SUBPROGS of the kernel */

struct verifier_log {
	unsigned int instructions; /* processed */
	unsigned int total_states, peak_states;
	unsigned int stack[VERIFIER_FUNCTIONS]; /* bytes, of each function in order of their code */
	unsigned int nr_functions;		/* 0 = the log does not say */
	char words[256]; /* last line that has no figures: why it was refused; "" = none */
};

void verifier_log_read(struct verifier_log *out, const char *log);

/* The code of a loaded program as the kernel shows it: dead code is removed, and the `imm` of a
 * call says which of the functions it calls. */
struct verifier_code {
	const struct bpf_insn *insns;
	const uint32_t *starts; /* of the functions, ascending; as many as log.nr_functions */
	size_t nr;		/* instructions */
};

/* Bytes of stack of the deepest chain of calls, each frame rounded up to 32 bytes, the most that
 * any kernel rounds to (check_max_stack_depth(), kernel/bpf/verifier.c). */
unsigned int verifier_log_deepest(const struct verifier_log *log, const struct verifier_code *code);

#endif
