/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The few kernel types that the programs touch, by hand, so that the build needs no BTF of a
 * running kernel.  preserve_access_index makes libbpf relocate the fields at load.
 */
#ifndef EBEAM_BPF_KERNEL_TYPES_H
#define EBEAM_BPF_KERNEL_TYPES_H

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef _Bool bool;
#define true 1
#define false 0

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint32_t __wsum;

/* uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };
enum { BPF_RB_AVAIL_DATA = 0, BPF_RB_RING_SIZE = 1 };

/* asm/ptrace.h, x86-64 */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
} __attribute__((preserve_access_index));

/* linux/bpf_perf_event.h; the context of a perf_event program, kernel converts the accesses. */
struct bpf_perf_event_data {
	struct {
		unsigned long r15, r14, r13, r12, bp, bx;
		unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
		unsigned long orig_ax, ip, cs, flags, sp, ss;
	} regs;
	uint64_t sample_period;
	uint64_t addr;
};

/* linux/bpf.h: what bpf_perf_prog_read_value() gives, times in ns. */
struct bpf_perf_event_value {
	uint64_t counter;
	uint64_t enabled;
	uint64_t running;
};

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

struct task_struct {
	void *stack;
	int pid, tgid;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

/* The state of a task, by either name: __state since Linux 5.14. */
struct task_struct___named {
	unsigned int __state;
} __attribute__((preserve_access_index));
struct task_struct___before {
	long state;
} __attribute__((preserve_access_index));

#endif
