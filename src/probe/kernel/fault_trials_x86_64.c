/* SPDX-License-Identifier: BSD-2-Clause */
/* Trials of faults that only kernels of x86-64 have; see fault_trials.h. */
#include "probe/kernel/fault_trials.h"

#include <stdint.h>
#include <unistd.h>

#include "probe/kernel/own_probe.h"

#define BELOW_STACK 0x1234

/* A leaf function, which may keep a number below its stack pointer (red zone), and does. */
uint64_t fault_trial_keeps(void);
void fault_trial_nop(void);

__asm__(".pushsection .text\n"
	".hidden fault_trial_keeps\n.hidden fault_trial_nop\n"
	".globl fault_trial_keeps\n.type fault_trial_keeps, @function\n"
	".globl fault_trial_nop\n"
	".p2align 6\n"
	"fault_trial_keeps:\n\tmovq $0x1234, -8(%rsp)\n"
	"fault_trial_nop:\n\t.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
	"\tmovq -8(%rsp), %rax\n\tret\n"
	".size fault_trial_keeps, .-fault_trial_keeps\n"
	".popsection\n");

bool fault_trial_long_nop(void)
{
	struct own_probe p;
	bool kept = true;

	/* The kernel replaces the nop by a call only after the first hit: hence two calls. */
	if (own_probe_attach(&p, (const void *)(uintptr_t)fault_trial_nop, false, getpid()) == 0)
		kept = fault_trial_keeps() == BELOW_STACK && fault_trial_keeps() == BELOW_STACK;
	own_probe_remove(&p);
	return !kept;
}
