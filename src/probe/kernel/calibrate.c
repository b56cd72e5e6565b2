/* SPDX-License-Identifier: BSD-2-Clause */
/* See calibrate.h.  Time is CPU time of this thread, and the fastest of several rounds counts,
 * so that other work of the machine is not taken for the cost of a probe. */
#include "probe/kernel/calibrate.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "calibrate.skel.h"
#include "probe/kernel/libbpf_log.h"
#include "probe/kernel/multi.h"
#include "probe/kernel/perf.h"
#include "probe/kernel/return_trial.h"

#define ROUNDS 8u
#define CALLS  32u /* in a round */

/* In assembly, as the cost depends on the first instruction. */
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

/* The probes of one measurement. */
struct probes {
	struct calibrate_bpf *skel;
	bool multi;
	struct bpf_link *links[ARRAY_SIZE(targets)];
	int fds[ARRAY_SIZE(targets)]; /* of perf events, one for each target, instead of links */
};

struct calibrator {
	/* Removes the probes of the last measurement, which the next one must not hit. */
	pthread_t removal;
	bool is_removing;
};

/* ns that the fastest round took. */
static uint64_t time_calls(void (*volatile function)(void))
{
	uint64_t best = UINT64_MAX;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_thread_ns(), took;

		for (unsigned int i = 0; i < CALLS; i++)
			function();
		took = clock_thread_ns() - start;
		best = MIN(best, took);
	}
	return best;
}

static int no_uprobes(int rc, struct error *err)
{
	bool forbidden = rc == -EPERM || rc == -EACCES;

	return error_set(err, forbidden ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
			 "cannot measure what a uprobe costs: %s", error_text(rc));
}

static uint64_t nr_hits(const struct probes *p)
{
	return *(volatile uint64_t *)&p->skel->bss->hits;
}

static int attach(struct probes *p, size_t target, uint64_t offset)
{
	const struct multi_points points = {
		.path = "/proc/self/exe",
		.offsets = &offset,
		.nr = 1,
		.at_return = targets[target].at_return,
	};

	if (p->multi) {
		p->fds[target] = multi_link(bpf_program__fd(p->skel->progs.calibrate_hit), getpid(),
					    &points);
		return MIN(p->fds[target], 0);
	}
	p->links[target] = bpf_program__attach_uprobe(p->skel->progs.calibrate_hit,
						      points.at_return, 0, points.path, offset);
	return p->links[target] ? 0 : -errno;
}

static int measure(struct probes *p, size_t target, unsigned int *ns, struct error *err)
{
	void (*function)(void) = targets[target].function;
	uint64_t offset, alone, probed, before = nr_hits(p);
	int rc = perf_own_offset((const void *)(uintptr_t)function, &offset);

	if (rc)
		return no_uprobes(rc, err);
	alone = time_calls(function);
	rc = attach(p, target, offset);
	if (rc)
		return no_uprobes(rc, err);
	probed = time_calls(function);
	if (nr_hits(p) - before != ROUNDS * CALLS)
		return error_set(err, ERROR_KIND_KERNEL, -EIO,
				 "a uprobe is placed, but %u calls of its function made %llu hits",
				 ROUNDS * CALLS, (unsigned long long)(nr_hits(p) - before));
	*ns = probed > alone ? (unsigned int)((probed - alone) / CALLS) : 0;
	return 0;
}

/* A seccomp filter of this process may refuse the system call of return probes, too: then a return
 * is assumed to cost two hits. */
static int measure_safely(struct probes *p, size_t target, const struct calibration *known,
			  unsigned int *ns, struct error *err)
{
	if (!targets[target].at_return || return_trial_check(getpid(), NULL) == 0)
		return measure(p, target, ns, err);
	*ns = 2 * known->emulated_ns;
	return 0;
}

static void *take_away(void *arg)
{
	struct probes *p = arg;

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		bpf_link__destroy(p->links[i]);
		if (p->fds[i] >= 0)
			close(p->fds[i]);
	}
	calibrate_bpf__destroy(p->skel);
	free(p);
	return NULL;
}

static int load(struct probes *p, struct error *err)
{
	int rc;

	p->skel = calibrate_bpf__open();
	if (!p->skel)
		return no_uprobes(-errno, err);
	if (p->multi)
		bpf_program__set_expected_attach_type(p->skel->progs.calibrate_hit,
						      (enum bpf_attach_type)MULTI_ATTACH_TYPE);
	rc = calibrate_bpf__load(p->skel);
	return rc ? no_uprobes(rc, err) : 0;
}

static void wait_for_removal(struct calibrator *c)
{
	if (c->is_removing)
		pthread_join(c->removal, NULL);
	c->is_removing = false;
}

void calibrator_open(struct calibrator **out)
{
	*out = xcalloc(1, sizeof(**out));
}

int calibrator_measure(struct calibrator *c, bool multi, struct calibration *out, struct error *err)
{
	unsigned int *const ns[] = {&out->emulated_ns, &out->stepped_ns, &out->return_ns};
	struct probes *p = xcalloc(1, sizeof(*p));
	int rc;

	libbpf_log_open();
	*out = (struct calibration){0};
	wait_for_removal(c);
	p->multi = multi;
	memset(p->fds, -1, sizeof(p->fds));
	rc = load(p, err);
	for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(targets); i++)
		rc = measure_safely(p, i, out, ns[i], err);
	c->is_removing = thread_start(&c->removal, take_away, p);
	if (!c->is_removing)
		take_away(p);
	return rc;
}

void calibrator_close(struct calibrator *c)
{
	if (!c)
		return;
	wait_for_removal(c);
	free(c);
}
