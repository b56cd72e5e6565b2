/* SPDX-License-Identifier: BSD-2-Clause */
/* See fault_trials.h. */
#include "probe/kernel/fault_trials.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/kernel/kernel.h"
#include "probe/kernel/own_probe.h"

/* Two functions, each with more than half of what one stack holds (512 bytes). */
bool fault_trial_private_stacks(void)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -304},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -304},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ebeam_try", "Dual BSD/GPL", insns,
				 ARRAY_SIZE(insns), NULL);

	if (prog < 0)
		return false;
	close(prog);
	return true;
}

#define BELOW_STACK 0x1234

/* What a function without calls may do: it keeps a number below its stack pointer. */
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

	/* The nop is replaced when it has been hit. */
	if (own_probe_place(&p, (const void *)(uintptr_t)fault_trial_nop, false, getpid()) == 0)
		kept = fault_trial_keeps() == BELOW_STACK && fault_trial_keeps() == BELOW_STACK;
	own_probe_remove(&p);
	return !kept;
}

bool fault_trial_growing_maps(void)
{
	struct kernel_features features;

	kernel_features(&features);
	return !features.growing_maps;
}
