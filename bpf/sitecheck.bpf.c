/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tests that a site inside of a function is equivalent to its entry (tools/sitecheck): two
 * uprobes on each function, at the entry and at the site.  In each thread every hit of the site
 * must follow one of the entry, with the same arguments. */
#include "kernel_types.h"
#include <bpf/bpf_helpers.h>

#define MAX_FUNCTIONS 128
#define MAX_CALLERS   16384 /* pairs of function and thread */

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct site_counts {
	uint32_t args;	      /* set by user space: arguments to compare, bit 0 is the first */
	uint32_t stack_depth; /* set by user space: depth of the stack at the site */
	uint64_t entries;     /* hits of the entry */
	uint64_t sites;	      /* hits of the site that follow one of the entry */
	uint64_t strays;      /* hits of the site that follow none */
	uint64_t repeated;    /* hits of the entry without a hit of the site in between */
	uint64_t mismatches;  /* hits of the site with other arguments than at the entry */
	uint64_t late; /* hits of the site by a thread of which no hit of the entry was seen */
	uint64_t lost; /* not tracked: too many threads */
};

struct caller {
	uint64_t args[6], stack;
	bool waiting; /* for a hit of the site */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_FUNCTIONS);
	__type(key, uint32_t);
	__type(value, struct site_counts);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_CALLERS);
	__type(key, uint64_t); /* function, thread */
	__type(value, struct caller);
} callers SEC(".maps");

bool counting;

static __always_inline uint64_t key_of(uint32_t function)
{
	return (uint64_t)function << 32 | (uint32_t)bpf_get_current_pid_tgid();
}

SEC("uprobe")
int at_entry(struct pt_regs *ctx)
{
	uint32_t function = (uint32_t)bpf_get_attach_cookie(ctx);
	struct site_counts *c = bpf_map_lookup_elem(&counts, &function);
	struct caller now = {.waiting = true}, *old;
	uint64_t key = key_of(function);

	if (!c || !counting)
		return 0;
	now.args[0] = ctx->di;
	now.args[1] = ctx->si;
	now.args[2] = ctx->dx;
	now.args[3] = ctx->cx;
	now.args[4] = ctx->r8;
	now.args[5] = ctx->r9;
	now.stack = ctx->sp;
	__sync_fetch_and_add(&c->entries, 1);
	old = bpf_map_lookup_elem(&callers, &key);
	if (old && old->waiting)
		__sync_fetch_and_add(&c->repeated, 1);
	if (bpf_map_update_elem(&callers, &key, &now, BPF_ANY))
		__sync_fetch_and_add(&c->lost, 1);
	return 0;
}

SEC("uprobe")
int at_site(struct pt_regs *ctx)
{
	uint32_t function = (uint32_t)bpf_get_attach_cookie(ctx);
	struct site_counts *c = bpf_map_lookup_elem(&counts, &function);
	uint64_t key = key_of(function);
	struct caller *from;
	uint32_t mask;
	bool same;

	if (!c)
		return 0;
	from = bpf_map_lookup_elem(&callers, &key);
	if (!from) {
		if (counting)
			__sync_fetch_and_add(&c->late, 1);
		return 0;
	}
	if (!from->waiting) {
		if (counting)
			__sync_fetch_and_add(&c->strays, 1);
		return 0;
	}
	from->waiting = false;
	__sync_fetch_and_add(&c->sites, 1);
	mask = c->args;
	same = from->stack == ctx->sp + c->stack_depth;
	same &= !(mask & 1) || from->args[0] == ctx->di;
	same &= !(mask & 2) || from->args[1] == ctx->si;
	same &= !(mask & 4) || from->args[2] == ctx->dx;
	same &= !(mask & 8) || from->args[3] == ctx->cx;
	same &= !(mask & 16) || from->args[4] == ctx->r8;
	same &= !(mask & 32) || from->args[5] == ctx->r9;
	if (!same)
		__sync_fetch_and_add(&c->mismatches, 1);
	return 0;
}
