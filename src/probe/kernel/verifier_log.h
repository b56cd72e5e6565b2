/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel's verifier says of a program: its figures, and why it refuses it.  The log is
 * that of BPF_LOG_STATS, of which a part may be missing.
 */
#ifndef EBEAM_PROBE_VERIFIER_LOG_H
#define EBEAM_PROBE_VERIFIER_LOG_H

#include <stddef.h>
#include <stdint.h>

struct bpf_insn;

#define VERIFIER_FUNCTIONS 256 /* BPF_MAX_SUBPROGS of the kernel */

struct verifier_log {
	unsigned int instructions; /* processed */
	unsigned int total_states, peak_states;
	unsigned int stack[VERIFIER_FUNCTIONS]; /* bytes, by function in order of their code */
	unsigned int nr_functions;		/* 0 = it does not say */
	char words[256];			/* its last ones beside figures; "" = none */
};

void verifier_log_read(struct verifier_log *out, const char *log);

/* A loaded program as the kernel shows it: what is never run is gone, calls have in `imm` which of
 * its functions they call. */
struct verifier_code {
	const struct bpf_insn *insns;
	const uint32_t *starts; /* of its functions, ascending; as many as the log has of them */
	size_t nr;		/* instructions */
};

/*
 * Bytes of stack of the deepest chain of calls, each frame rounded up as the kernels do that round
 * most (to 32; check_max_stack_depth(), kernel/bpf/verifier.c).
 */
unsigned int verifier_log_deepest(const struct verifier_log *log, const struct verifier_code *code);

#endif
