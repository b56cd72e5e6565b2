/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this kernel can do, found by loading: each program uses one feature that the main object
 * needs, or uses if it is there.  Loaded one at a time, so that a refusal is of one feature. */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} feature_ring SEC(".maps");

SEC("perf_event")
int feature_ringbuf(void *ctx)
{
	uint64_t v = 0;

	return (int)bpf_ringbuf_output(&feature_ring, &v, sizeof(v), 0);
}

SEC("perf_event")
int feature_user_regs(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs((void *)task);

	return regs->ip != 0;
}

/* User registers on kernels without bpf_task_pt_regs(): see task_regs_by_stack(), sample.bpf.c. */
SEC("perf_event")
int feature_user_regs_stack(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, stack) != 0;
}

/* thread is part of task_struct, not a pointer, so "a.b" is one field to CO-RE. */
SEC("perf_event")
int feature_fsbase(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	return task->thread.fsbase != 0;
}

SEC("perf_event")
int feature_fsbase_read(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread.fsbase) != 0;
}

SEC("perf_event")
int feature_kernel_stack(void *ctx)
{
	uint64_t buf[4];

	return (int)bpf_get_stack(ctx, buf, sizeof(buf), 0);
}
