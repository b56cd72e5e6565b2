/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Definitions of what maps.bpf.h declares: rings, counters, configuration. */
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct rings_map rings SEC(".maps");
struct counters_map counters SEC(".maps");

RODATA struct probe_config config = {};
struct probe_state state = {};
