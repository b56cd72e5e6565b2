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

extern RODATA struct probe_config config;
extern struct probe_state state;

INLINE void count_by(enum counter_id id, uint64_t by)
{
	uint32_t key = id;
	uint64_t *n = bpf_map_lookup_elem(&counters, &key);

	/* Per CPU, and a lost race with an interrupting program costs one count. */
	if (n)
		*n += by;
}

INLINE void count(enum counter_id id)
{
	count_by(id, 1);
}

/* What the node lost to a program that began at start_ns. */
INLINE void count_time(uint64_t start_ns)
{
	count_by(COUNTER_PROBE_NS, bpf_ktime_get_ns() - start_ns);
}

/* The ring of this CPU, NULL if there is none (a CPU that came online later). */
INLINE void *ring(void)
{
	uint32_t cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

#endif
