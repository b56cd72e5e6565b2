/* SPDX-License-Identifier: BSD-2-Clause */
/* See fault_trials.h. */
#include "probe/kernel/fault_trials.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "probe/kernel/kernel.h"

/* Loads a program of two functions, each of which uses more than half of the 512 bytes of a BPF
 * stack: the verifier only accepts it if functions have stacks of their own. */
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

bool fault_trial_growing_maps(void)
{
	struct kernel_features features;

	kernel_features(&features);
	return !features.growing_maps;
}

bool fault_trial_sleeping_rings(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "bpf_ringbuf", BTF_KIND_STRUCT) : -ENOENT;
	const struct btf_type *ring = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	const char *lock = "";
	bool sleeps;

	for (unsigned int i = 0; ring && i < btf_vlen(ring); i++) {
		const struct btf_member *m = &btf_members(ring)[i];

		if (strcmp(btf__name_by_offset(btf, m->name_off), "spinlock") == 0)
			lock = btf__name_by_offset(btf, btf__type_by_id(btf, m->type)->name_off);
	}
	sleeps = strcmp(lock, "spinlock_t") == 0;
	btf__free(btf);
	return sleeps;
}
