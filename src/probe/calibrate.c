/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See calibrate.h.  Time is CPU time of this thread, and of several rounds the fastest counts: what
 * else the machine does must not look like the cost of a probe.
 */
#include "probe/calibrate.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "calibrate.skel.h"
#include "probe/perf.h"

#define ROUNDS 8u
#define CALLS  32u /* in a round */

/* In assembly, because the first instruction is what is measured. */
void calibrate_emulated(void);
void calibrate_stepped(void);
void calibrate_return(void);

__asm__(".pushsection .text\n"
	".hidden calibrate_emulated\n.hidden calibrate_stepped\n.hidden calibrate_return\n"
	".globl calibrate_emulated\n.type calibrate_emulated, @function\n"
	"calibrate_emulated:\n\tpush %rbx\n\tpop %rbx\n\tret\n"
	".size calibrate_emulated, .-calibrate_emulated\n"
	".globl calibrate_stepped\n.type calibrate_stepped, @function\n"
	"calibrate_stepped:\n\tmov %rdi, %rax\n\tret\n"
	".size calibrate_stepped, .-calibrate_stepped\n"
	".globl calibrate_return\n.type calibrate_return, @function\n"
	"calibrate_return:\n\tpush %rbx\n\tpop %rbx\n\tret\n"
	".size calibrate_return, .-calibrate_return\n"
	".popsection\n");

/* In the order of struct calibration. */
static const struct {
	void (*function)(void);
	bool at_return;
} targets[] = {
	{calibrate_emulated, false},
	{calibrate_stepped, false},
	{calibrate_return, true},
};

struct calibrator {
	struct calibrate_bpf *skel;
	struct bpf_link *links[ARRAY_SIZE(targets)];
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ns of the fastest round. */
static uint64_t time_calls(void (*volatile function)(void))
{
	uint64_t best = UINT64_MAX;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t start = cpu_ns(), took;

		for (unsigned int i = 0; i < CALLS; i++)
			function();
		took = cpu_ns() - start;
		best = MIN(best, took);
	}
	return best;
}

static int no_uprobes(int rc, struct error *err)
{
	bool forbidden = rc == -EPERM || rc == -EACCES;

	return error_set(err, forbidden ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
			 "cannot measure uprobes: %s", error_text(rc));
}

static uint64_t nr_hits(const struct calibrator *c)
{
	return *(volatile uint64_t *)&c->skel->bss->hits;
}

static int measure(struct calibrator *c, size_t target, unsigned int *ns, struct error *err)
{
	void (*function)(void) = targets[target].function;
	uint64_t offset, alone, probed, before = nr_hits(c);
	int rc = perf_own_offset((const void *)(uintptr_t)function, &offset);

	if (rc)
		return no_uprobes(rc, err);
	alone = time_calls(function);
	c->links[target] =
		bpf_program__attach_uprobe(c->skel->progs.calibrate_hit, targets[target].at_return,
					   0, "/proc/self/exe", offset);
	if (!c->links[target])
		return no_uprobes(-errno, err);
	probed = time_calls(function);
	if (nr_hits(c) - before != ROUNDS * CALLS)
		return error_set(err, ERROR_KIND_KERNEL, -EIO,
				 "uprobes are placed, but %u calls made %llu hits", ROUNDS * CALLS,
				 (unsigned long long)(nr_hits(c) - before));
	*ns = probed > alone ? (unsigned int)((probed - alone) / CALLS) : 0;
	return 0;
}

int calibrator_open(struct calibrator **out, struct calibration *result, struct error *err)
{
	unsigned int *const ns[] = {&result->emulated_ns, &result->stepped_ns, &result->return_ns};
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a failure is an answer here */
	struct calibrator *c = xcalloc(1, sizeof(*c));
	int rc = 0;

	*result = (struct calibration){0};
	c->skel = calibrate_bpf__open_and_load();
	if (!c->skel)
		rc = no_uprobes(-errno, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(targets); i++)
		rc = measure(c, i, ns[i], err);
	libbpf_set_print(print);
	if (rc) {
		calibrator_close(c);
		c = NULL;
	}
	*out = c;
	return rc;
}

void calibrator_close(struct calibrator *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		bpf_link__destroy(c->links[i]);
	calibrate_bpf__destroy(c->skel);
	free(c);
}
