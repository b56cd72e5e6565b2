/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks that a file of BTF is of the running kernel (src/probe/session/btf_file.c): compares
 * fields of the calling task, read by that BTF, with results of BPF helpers.  Run once, by
 * BPF_PROG_TEST_RUN. */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* CO-RE ignores what follows ___ in a name.  ebeam's programs read thread and `stack`; the other
 * fields lie between these. */
struct task_struct___asked {
	void *stack;
	int pid;
	int tgid;
	char comm[16];
	struct thread_struct thread;
} __attribute__((preserve_access_index));

/* Read by the fields of the BTF; 0 = it has no such field. */
uint64_t field_pid_tgid, field_fsbase, field_stack;
char field_comm[16];
/* From helpers. */
uint64_t kernel_pid_tgid;
char kernel_comm[16];

SEC("raw_tp")
int own_task(void *ctx)
{
	struct task_struct___asked *task = (void *)bpf_get_current_task();

	kernel_pid_tgid = bpf_get_current_pid_tgid();
	bpf_get_current_comm(kernel_comm, sizeof(kernel_comm));
	if (!bpf_core_field_exists(task->pid) || !bpf_core_field_exists(task->tgid) ||
	    !bpf_core_field_exists(task->comm) || !bpf_core_field_exists(task->stack) ||
	    !bpf_core_field_exists(task->thread.fsbase))
		return 0;
	field_pid_tgid = (uint64_t)(uint32_t)BPF_CORE_READ(task, tgid) << 32 |
			 (uint32_t)BPF_CORE_READ(task, pid);
	field_fsbase = BPF_CORE_READ(task, thread.fsbase);
	field_stack = (uint64_t)BPF_CORE_READ(task, stack);
	bpf_core_read_str(field_comm, sizeof(field_comm), &task->comm);
	return 0;
}
