/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CPU sampling: one perf_event program on every CPU, for the threads of one node.  A thin shell
 * around thread.bpf.h: from registers to records, without names. */
#include "thread.bpf.h"

/* Only perf_event programs use it: a sample may interrupt another kind of program on its CPU, but
 * never another sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sample_scratch);
} scratch SEC(".maps");

INLINE struct sample_scratch *scratch_here(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&scratch, &zero);
}

/* A volatile load, so that the compiler does not merge the branches of read_regs() into loads by
 * one computed pointer, which the verifier forbids for the context. */
#define CTX_REG(reg) (*(const volatile unsigned long *)&ctx->regs.reg)

INLINE void read_regs(struct bpf_perf_event_data *ctx, struct user_regs *r,
		      struct rec_raw_sample *rec)
{
	/* cs & 3: privilege level of the interrupted code. */
	if (ctx->regs.cs & 3) {
		READ_REGS(r, CTX_REG);
	} else {
		rec->flags |= RAW_SAMPLE_KERNEL;
		if (!kernel_regs(r))
			return;
	}
	rec->flags |= RAW_SAMPLE_REGS;
	rec->user_ip = r->ip;
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	uint64_t pid_tgid = bpf_get_current_pid_tgid();
	struct sample_scratch *s;
	struct user_regs r = {};

	if (pid_tgid >> 32 != config.os_pid)
		return 0;
	count(COUNTER_HITS);
	s = scratch_here();
	if (!s)
		return 0;
	walk_begin(&s->walk, bpf_ktime_get_ns());
	read_regs(ctx, &r, &s->walk.rec);
	kernel_stack(ctx, &s->walk);
	sample_read(s, &r);
	sample_emit(s, s->walk.rec.h.ts_ns);
	count_time(s->walk.rec.h.ts_ns);
	return 0;
}
