/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The maps that several units share, each defined once in maps.bpf.c.  The linker checks every
 * declaration against its definition.
 */
#ifndef EBEAM_BPF_MAPS_H
#define EBEAM_BPF_MAPS_H

#include "env.h"
#include "abi/config.h"
#include "abi/record.h"

/* One ring per CPU; before the load user space sets size, inner map and elements. */
struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
};
extern struct rings_map rings SEC(".maps");

struct counters_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_COUNTERS);
	__type(key, uint32_t);
	__type(value, uint64_t);
};
extern struct counters_map counters SEC(".maps");

/* Thread pointer -> scheduler.  Elements come from user space, if the scheduler arrays are known,
 * and from samples in JIT code, where registers lead to the scheduler (learn_thread()). */
struct threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__type(key, uint64_t);
	__type(value, struct thread_info);
};
extern struct threads_map threads SEC(".maps");

/* Cache of classified call sites. */
struct site_value {
	uint32_t generation;
	uint32_t site_class;
};
struct sites_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, uint64_t);
	__type(value, struct site_value);
};
extern struct sites_map sites SEC(".maps");

/* What is known of Erlang processes; see process.bpf.h. */
struct process_value {
	uint64_t checked_ns;
	uint64_t registered, initial_call, label;
};
struct processes_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, struct process_value);
};
extern struct processes_map processes SEC(".maps");

/* By kernel thread: the return address that a return probe has replaced, until the probed function
 * returns. */
struct kept_return {
	uint64_t at; /* address on the stack; 0 = none */
	uint64_t ra;
};
struct kept_returns_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__type(key, uint32_t);
	__type(value, struct kept_return);
};
extern struct kept_returns_map kept_returns SEC(".maps");

extern RODATA struct probe_config config;
extern struct probe_state state;

INLINE void count_by(enum counter_id id, uint64_t by)
{
	uint32_t key = id;
	uint64_t *n = bpf_map_lookup_elem(&counters, &key);

	/* Atomic although per CPU: a program that is preempted between load and store would undo
	 * what was counted meanwhile. */
	if (n)
		__sync_fetch_and_add(n, by);
}

INLINE void count(enum counter_id id)
{
	count_by(id, 1);
}

/* Adds the time since start_ns, which the node lost to this program; for samples and code.  For
 * events user space knows it from hits and run times. */
INLINE void count_time(uint64_t start_ns)
{
	count_by(COUNTER_PROBE_NS, bpf_ktime_get_ns() - start_ns);
}

/*
 * A tail call that is never made, as no probe has the address 0.  From Linux 6.13 on functions of
 * uprobe programs have a stack per CPU if it is 64 bytes or more (private stack).  That is wrong
 * for uprobes: they can be preempted, and another thread that runs the same program on that CPU
 * then overwrites the stack.  A program with a tail call keeps the stack of its thread
 * (check_max_stack_depth(), kernel/bpf/verifier.c).  So this is in every uprobe program; after the
 * load the machine code is checked (src/probe/kernel/kernel.h).  Each unit has its own map, as all
 * programs that tail call through a map must be attached in the same way.
 */
struct no_programs_map {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
};
INLINE void no_private_stack(struct pt_regs *ctx, void *no_programs)
{
	if (!ctx->ip)
		bpf_tail_call(ctx, no_programs, 0);
}

/* The thread pointer of the current thread.  The kernel updates fsbase when a thread sets its own
 * (ARCH_SET_FS, as the C library does for a new thread), not only when the thread leaves its
 * CPU. */
INLINE uint64_t thread_pointer(void)
{
	const struct task_struct *task;

	if (config.kernel.task_btf) {
		task = (void *)bpf_get_current_task_btf();
		return task->thread.fsbase;
	}
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, thread.fsbase);
}

/* The ring of this CPU, NULL if there is none (a CPU that came on line later). */
INLINE void *ring(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

#endif
