/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel.h. */
#include "probe/kernel/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/kernel/libbpf_log.h"

/* Whether both types of programs that ebeam has may call a helper.  libbpf returns 0 only if the
 * kernel says that there is no such helper. */
static bool has_helper(enum bpf_func_id helper)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, helper, NULL) != 0 &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, helper, NULL) != 0;
}

/* Loads a program of a perf event that refers to a map with BPF_F_NO_PREALLOC, as the verifier
 * checks that.  False: it refuses the program. */
static bool try_growing_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	int map = bpf_map_create(BPF_MAP_TYPE_HASH, "ebeam_try", 4, 8, 1, &opts), prog;
	const struct bpf_insn insns[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{.imm = 0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	if (map < 0)
		return true;
	prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "ebeam_try", "Dual BSD/GPL", insns,
			     ARRAY_SIZE(insns), NULL);
	close(map);
	if (prog >= 0)
		close(prog);
	return prog != -EINVAL;
}

void kernel_features(struct kernel_features *out)
{
	libbpf_log_open();
	*out = (struct kernel_features){
		.helpers =
			{
				.task_btf = has_helper(BPF_FUNC_get_current_task_btf),
				.task_regs = has_helper(BPF_FUNC_task_pt_regs),
				.cookies = has_helper(BPF_FUNC_get_attach_cookie),
			},
		.growing_maps = try_growing_map(),
	};
}

enum kernel_stack kernel_program_stack(int prog_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	enum kernel_stack stack;
	uint8_t *code;

	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size) || !info.jited_prog_len)
		return KERNEL_STACK_UNKNOWN;
	code = xcalloc(1, info.jited_prog_len);
	info = (struct bpf_prog_info){.jited_prog_insns = (uint64_t)(uintptr_t)code,
				      .jited_prog_len = info.jited_prog_len};
	size = sizeof(info);
	if (bpf_obj_get_info_by_fd(prog_fd, &info, &size) || !info.jited_prog_insns)
		stack = KERNEL_STACK_UNKNOWN;
	else if (kernel_uses_private_stack(code, info.jited_prog_len))
		stack = KERNEL_STACK_PRIVATE;
	else
		stack = KERNEL_STACK_THREAD;
	free(code);
	return stack;
}
