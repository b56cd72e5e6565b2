/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whether what a uprobe's program keeps can be overwritten by another thread that runs the same
 * program on the same CPU: one program for each place to keep it in.  Each writes words that only
 * its thread would write, takes its time, and looks whether they are still there.
 */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

#define WORDS 12   /* of 8 bytes: the kernel gives frames below 64 bytes no stack by CPU */
#define SPIN  4000 /* calls of a helper */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct words {
	uint64_t word[WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct words);
} by_cpu SEC(".maps");

struct {
	__uint(type, 3); /* BPF_MAP_TYPE_PROG_ARRAY */
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, sizeof(uint32_t));
} nothing SEC(".maps");

uint64_t runs, overwritten;
volatile uint32_t taken; /* never, but the verifier does not know */

static __always_inline void keep(volatile uint64_t *word)
{
	uint64_t seed = bpf_get_current_pid_tgid() << 8;
	uint64_t wrong = 0;

#pragma clang loop unroll(full)
	for (int i = 0; i < WORDS; i++)
		word[i] = seed + i;
	for (int i = 0; i < SPIN; i++)
		bpf_ktime_get_ns();
#pragma clang loop unroll(full)
	for (int i = 0; i < WORDS; i++)
		wrong |= word[i] ^ (seed + i);
	__sync_fetch_and_add(&runs, 1);
	if (wrong)
		__sync_fetch_and_add(&overwritten, 1);
}

SEC("uprobe")
int in_frame(void *ctx)
{
	volatile uint64_t word[WORDS];

	keep(word);
	return 0;
}

SEC("uprobe")
int in_frame_with_tail_call(void *ctx)
{
	volatile uint64_t word[WORDS];

	if (taken)
		bpf_tail_call(ctx, &nothing, 0);
	keep(word);
	return 0;
}

/* The control: this one is overwritten wherever such a program is preempted. */
SEC("uprobe")
int in_map_by_cpu(void *ctx)
{
	uint32_t key = 0;
	struct words *w = bpf_map_lookup_elem(&by_cpu, &key);

	if (w)
		keep(w->word);
	return 0;
}
