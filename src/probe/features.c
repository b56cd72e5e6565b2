/* SPDX-License-Identifier: BSD-2-Clause */
/* See features.h. */
#include "probe/features.h"

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
#include "probe/perf.h"
#include "target/proc.h"

static const struct probe_feature descriptions[NR_PROBE_FEATURES] = {
	[PROBE_FEATURE_BTF] = {.name = "kernel BTF",
			       .purpose = "programs adapt to this kernel",
			       .fix = "use a kernel built with CONFIG_DEBUG_INFO_BTF=y",
			       .required = true},
	[PROBE_FEATURE_BPF] =
		{.name = "BPF ring buffer",
		 .purpose = "samples reach ebeam",
		 .fix = "Linux 5.15 or later; run as root, or grant CAP_BPF and CAP_PERFMON",
		 .required = true},
	[PROBE_FEATURE_USER_REGS] = {.name = "user registers in system calls",
				     .purpose = "Erlang stacks of samples that hit in the kernel",
				     .fix = "Linux 5.15 or later",
				     .required = true},
	[PROBE_FEATURE_THREAD_BASE] = {.name = "thread pointer",
				       .purpose = "tells the schedulers apart",
				       .fix = "Linux 5.15 or later with BTF",
				       .required = true},
	[PROBE_FEATURE_KERNEL_STACK] = {.name = "kernel stacks",
					.purpose = "kernel frames on top of Erlang frames",
					.fix = "grant CAP_PERFMON",
					.required = true},
	[PROBE_FEATURE_CPU_CLOCK] = {.name = "CPU clock events",
				     .purpose = "sampling",
				     .fix = "run as root or grant CAP_PERFMON; see "
					    "kernel.perf_event_paranoid",
				     .required = true},
	[PROBE_FEATURE_UPROBE] =
		{.name = "uprobes",
		 .purpose =
			 "sees code being loaded, at once; without, it is found by looking again",
		 .fix = "use a kernel built with CONFIG_UPROBE_EVENTS=y",
		 .privilege_fix = "run as root, or grant CAP_SYS_ADMIN too"},
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

/* Never called: a uprobe on it is hit by nobody. */
static __attribute__((noinline, used)) int uprobe_target(int x)
{
	return x + 1;
}

/* Number of the kernel's event source for uprobes, negative errno. */
static int uprobe_type(void)
{
	char *text = proc_read_file("/sys/bus/event_source/devices/uprobe/type", 64, NULL);
	int type = text ? atoi(text) : -errno;

	free(text);
	return type;
}

/* Opens a uprobe on this program: whether that is allowed differs from kernel to kernel. */
static int try_uprobe(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .disabled = 1};
	uint64_t offset;
	int type = uprobe_type(), rc;

	if (type < 0)
		return type;
	rc = perf_own_offset(uprobe_target, &offset);
	if (rc)
		return rc;
	attr.type = (uint32_t)type;
	attr.uprobe_path = (uint64_t)(uintptr_t) "/proc/self/exe";
	attr.probe_offset = offset;
	return try_event(&attr, 0, -1);
}

/* Loads the one program of features.bpf.c with this name: 0 or negative errno. */
static int try_program(const char *name)
{
	struct features_bpf *skel = features_bpf__open();
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

static int try_btf(void)
{
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

static int try_cpu_clock(void)
{
	struct perf_event_attr attr = perf_cpu_clock(99);

	return try_event(&attr, -1, 0);
}

void probe_features(struct probe_features *out)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* a failure is an answer here */
	int err[NR_PROBE_FEATURES];

	err[PROBE_FEATURE_BTF] = try_btf();
	err[PROBE_FEATURE_BPF] = try_program("feature_ringbuf");
	err[PROBE_FEATURE_USER_REGS] = try_program("feature_user_regs");
	err[PROBE_FEATURE_THREAD_BASE] = try_program("feature_fsbase");
	err[PROBE_FEATURE_KERNEL_STACK] = try_program("feature_kernel_stack");
	err[PROBE_FEATURE_CPU_CLOCK] = try_cpu_clock();
	err[PROBE_FEATURE_UPROBE] = try_uprobe();
	libbpf_set_print(print);
	for (int i = 0; i < NR_PROBE_FEATURES; i++) {
		out->feature[i] = descriptions[i];
		out->feature[i].err = err[i];
		out->feature[i].ok = err[i] == 0;
		out->feature[i].needs_btf =
			err[i] && err[PROBE_FEATURE_BTF] && is_program[i] && i != PROBE_FEATURE_BTF;
	}
}
