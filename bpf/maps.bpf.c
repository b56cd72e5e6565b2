/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Definitions of what maps.bpf.h declares: rings, counters, configuration. */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct rings_map rings SEC(".maps");
struct counters_map counters SEC(".maps");
struct threads_map threads SEC(".maps");
struct sites_map sites SEC(".maps");
struct processes_map processes SEC(".maps");
struct kept_returns_map kept_returns SEC(".maps");

RODATA struct probe_config config = {};
struct probe_state state = {};
