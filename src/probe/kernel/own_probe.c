/* SPDX-License-Identifier: BSD-2-Clause */
/* See own_probe.h. */
#include "probe/kernel/own_probe.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "base/compiler.h"
#include "calibrate.skel.h"
#include "probe/kernel/libbpf_log.h"
#include "probe/kernel/multi.h"
#include "probe/kernel/perf.h"

static int attach(struct own_probe *p, const struct multi_points *points, bool multi, pid_t pid)
{
	struct bpf_program *program = p->skel->progs.calibrate_hit;
	int rc;

	uprobe_prepare(program, multi);
	rc = calibrate_bpf__load(p->skel);
	return rc ? rc : uprobe_attach(&p->uprobe, program, multi, pid, points);
}

int own_probe_attach(struct own_probe *p, const void *function, bool at_return, pid_t pid)
{
	uint64_t offset;
	const struct multi_points points = {
		.path = "/proc/self/exe", .offsets = &offset, .nr = 1, .at_return = at_return};
	int rc = perf_own_offset(function, &offset);

	libbpf_log_open();
	*p = (struct own_probe){.skel = calibrate_bpf__open(), .uprobe = UPROBE_NONE};
	if (rc == 0)
		rc = p->skel ? attach(p, &points, multi_available(), pid) : -errno;
	return rc;
}

uint64_t own_probe_hits(const struct own_probe *p)
{
	return *(volatile uint64_t *)&p->skel->bss->hits;
}

void own_probe_remove(struct own_probe *p)
{
	uprobe_remove(&p->uprobe);
	calibrate_bpf__destroy(p->skel);
}
