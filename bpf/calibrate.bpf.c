/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Program for measuring the cost of a uprobe: the smallest one that proves that it ran. */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

uint64_t hits; /* written by one thread only */

SEC("uprobe")
int calibrate_hit(void *ctx)
{
	hits++;
	return 0;
}
