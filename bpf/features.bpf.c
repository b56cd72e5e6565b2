/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What this kernel can do, found out by loading: each program uses one thing that the main
 * object needs or would like.  Loaded one at a time, so that a refusal names its feature.
 */
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

/*
 * Both ways in which the programs read it: sample.bpf.c by a helper, event.bpf.h by a plain load,
 * as the verifier knows the type.  thread is a part of task_struct, no pointer, so that "a.b" is
 * one field to CO-RE.  The kernel writes it when a thread sets its own (ARCH_SET_FS, which is what
 * the C library does when it makes one), not only when the thread leaves its CPU.
 */
SEC("perf_event")
int feature_fsbase(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	uint64_t loaded = task->thread.fsbase;

	return loaded != 0 && BPF_CORE_READ(task, thread.fsbase) == loaded;
}

SEC("perf_event")
int feature_kernel_stack(void *ctx)
{
	uint64_t buf[4];

	return (int)bpf_get_stack(ctx, buf, sizeof(buf), 0);
}
