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

/* One ring per CPU; user space sets the size, the inner map and its elements before load. */
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

/* Thread pointer -> scheduler.  Filled by user space where the scheduler arrays are known, and by
 * samples in JIT code, which show both in their registers. */
struct threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EBEAM_THREADS);
	__type(key, uint64_t);
	__type(value, struct thread_info);
};
extern struct threads_map threads SEC(".maps");

/* Call sites already classified. */
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

/* By kernel thread: the return address that a return probe has replaced, while the function that it
 * waits for runs. */
struct kept_return {
	uint64_t at; /* where it stood; 0 = nowhere now */
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

	/* Per CPU, and yet atomic: whoever is preempted between reading and writing would take
	 * back all that was counted meanwhile. */
	if (n)
		__sync_fetch_and_add(n, by);
}

INLINE void count(enum counter_id id)
{
	count_by(id, 1);
}

/* What the node lost to a program that began at start_ns; for samples and code.  What events cost
 * user space knows from how often and how long their programs ran. */
INLINE void count_time(uint64_t start_ns)
{
	count_by(COUNTER_PROBE_NS, bpf_ktime_get_ns() - start_ns);
}

/*
 * A tail call that never happens, as no instruction stands at 0.  From Linux 6.13 on functions of
 * programs like ours get their stack per CPU if it is 64 bytes or more (a private stack), which is
 * wrong for uprobes: they can be preempted, and another thread that runs the same program on that
 * CPU then overwrites it.  A program that has a tail call keeps to the stack of its thread
 * (check_max_stack_depth(), kernel/bpf/verifier.c).  So this stands in every uprobe program; what
 * the kernel made of it is checked after the load (src/probe/kernel/kernel.h).  The map is the
 * unit's own, as all that tail call through a map must be attached in the same way.
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

/* The thread pointer of the current thread.  The kernel writes fsbase when a thread sets its
 * own (ARCH_SET_FS, which is what the C library does when it makes one), not only when the
 * thread leaves its CPU. */
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

/* The ring of this CPU, NULL if there is none (a CPU that came online later). */
INLINE void *ring(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

#endif
