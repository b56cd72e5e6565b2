/* SPDX-License-Identifier: BSD-2-Clause */
/* See features.h. */
#include "probe/kernel/features.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "features.skel.h"
#include "probe/kernel/kernel_btf.h"
#include "probe/kernel/libbpf_log.h"
#include "probe/kernel/own_probe.h"
#include "probe/kernel/perf.h"
#include "target/proc.h"

static const struct probe_feature descriptions[NR_PROBE_FEATURES] = {
	[PROBE_FEATURE_BTF] = {.name = "kernel BTF",
			       .purpose = "programs adapt to this kernel",
			       .fix = "use a kernel built with CONFIG_DEBUG_INFO_BTF=y, or "
				      "name a file with the BTF of this one: --btf FILE",
			       .required = true},
	[PROBE_FEATURE_BPF] =
		{.name = "BPF ring buffer",
		 .purpose = "samples reach ebeam",
		 .fix = "use a kernel whose bpf() has ring buffers (BPF_MAP_TYPE_RINGBUF)",
		 .required = true},
	[PROBE_FEATURE_USER_REGS] = {.name = "user registers in system calls",
				     .purpose = "Erlang stacks of samples that hit in the kernel",
				     .fix = "use a kernel that has bpf_task_pt_regs(), or "
					    "task_struct.stack in its BTF",
				     .required = true},
	[PROBE_FEATURE_THREAD_BASE] =
		{.name = "thread pointer",
		 .purpose = "distinguishes the schedulers",
		 .fix = "use a kernel that has task_struct.thread.fsbase in its "
			"BTF",
		 .required = true},
	[PROBE_FEATURE_KERNEL_STACK] = {.name = "kernel stacks",
					.purpose = "kernel frames on top of Erlang frames",
					.fix = "grant CAP_PERFMON",
					.required = true},
	[PROBE_FEATURE_CPU_CLOCK] = {.name = "CPU clock events",
				     .purpose = "sampling",
				     .use = PRIVILEGE_PERF,
				     .fix = "use a kernel built with CONFIG_PERF_EVENTS=y",
				     .required = true},
	[PROBE_FEATURE_UPROBE] =
		{.name = "uprobes",
		 .purpose =
			 "events, calls of BIFs and NIFs, and code that is loaded while ebeam runs",
		 .fix = "use a kernel built with CONFIG_UPROBE_EVENTS=y",
		 .use = PRIVILEGE_UPROBE},
};

/* Features that are tried by loading a program, which needs BTF. */
static const bool is_program[NR_PROBE_FEATURES] = {
	[PROBE_FEATURE_BPF] = true,
	[PROBE_FEATURE_USER_REGS] = true,
	[PROBE_FEATURE_THREAD_BASE] = true,
	[PROBE_FEATURE_KERNEL_STACK] = true,
};

static int try_event(struct perf_event_attr *attr, int os_pid, int cpu)
{
	int fd = perf_open(attr, os_pid, cpu);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Target of a uprobe that is never hit, as nothing calls this function. */
static __attribute__((noinline, used)) int uprobe_target(int x)
{
	return x + 1;
}

/* Places a uprobe in this process, as commands do in a node. */
static int try_uprobe(void)
{
	struct own_probe p;
	int rc = own_probe_attach(&p, (const void *)(uintptr_t)uprobe_target, false, getpid());

	own_probe_remove(&p);
	return rc;
}

/* Loads only the program of features.bpf.c with this name: 0 or negative errno. */
static int try_program(const char *name, const char *btf)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf);
	struct features_bpf *skel = features_bpf__open_opts(&opts);
	struct bpf_program *prog;
	int err;

	if (!skel)
		return -errno;
	bpf_object__for_each_program(prog, skel->obj)
		bpf_program__set_autoload(prog, strcmp(bpf_program__name(prog), name) == 0);
	err = features_bpf__load(skel);
	features_bpf__destroy(skel);
	return err;
}

/* Either of two programs will do: ebeam has another way where the first cannot be loaded (struct
 * kernel_helpers). */
static int try_either(const char *first, const char *second, const char *btf)
{
	return try_program(first, btf) ? try_program(second, btf) : 0;
}

static int try_cpu_clock(void)
{
	struct perf_event_attr attr = perf_cpu_clock(99);

	return try_event(&attr, -1, 0);
}

void probe_features(struct probe_features *out, const char *btf)
{
	int err[NR_PROBE_FEATURES];

	libbpf_log_open();
	err[PROBE_FEATURE_BTF] = btf ? 0 : kernel_btf_find();
	err[PROBE_FEATURE_BPF] = try_program("feature_ringbuf", btf);
	err[PROBE_FEATURE_USER_REGS] =
		try_either("feature_user_regs", "feature_user_regs_stack", btf);
	err[PROBE_FEATURE_THREAD_BASE] = try_either("feature_fsbase", "feature_fsbase_read", btf);
	err[PROBE_FEATURE_KERNEL_STACK] = try_program("feature_kernel_stack", btf);
	err[PROBE_FEATURE_CPU_CLOCK] = try_cpu_clock();
	err[PROBE_FEATURE_UPROBE] = try_uprobe();
	for (int i = 0; i < NR_PROBE_FEATURES; i++) {
		out->feature[i] = descriptions[i];
		out->feature[i].err = err[i];
		out->feature[i].ok = err[i] == 0;
		out->feature[i].needs_btf =
			err[i] && err[PROBE_FEATURE_BTF] && is_program[i] && i != PROBE_FEATURE_BTF;
	}
}
