/* SPDX-License-Identifier: BSD-2-Clause */
/* See kernel_faults.h.  Commits are those of Linus Torvalds' tree. */
#include "cmd/host/kernel_faults.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/compiler.h"
#include "probe/kernel/fault_trials.h"
#include "probe/kernel/multi.h"
#include "probe/kernel/return_trial.h"
#include "target/proc.h"

static enum fault_state find_private_stacks(void)
{
	return fault_trial_private_stacks() ? FAULT_AVOIDED : FAULT_ABSENT;
}

static enum fault_state find_returns(void)
{
	return return_trial() == RETURN_KILLS ? FAULT_PRESENT : FAULT_ABSENT;
}

static enum fault_state find_long_nop(void)
{
	return fault_trial_long_nop() ? FAULT_AVOIDED : FAULT_ABSENT;
}

static enum fault_state find_filter(void)
{
	return multi_filters_threads() ? FAULT_PRESENT : FAULT_ABSENT;
}

static enum fault_state find_growing_maps(void)
{
	return fault_trial_growing_maps() ? FAULT_AVOIDED : FAULT_ABSENT;
}

static enum fault_state find_panic_on_warn(void)
{
	char *text = proc_read_file(16, NULL, "/proc/sys/kernel/panic_on_warn");
	bool set = text && atoi(text) != 0;

	free(text);
	return set ? FAULT_PRESENT : FAULT_ABSENT;
}

/* Real-time kernels say so in this file, and others do not have it. */
static enum fault_state find_sleeping_rings(void)
{
	char *text = proc_read_file(16, NULL, "/sys/kernel/realtime");
	bool real_time = text && atoi(text) != 0;

	free(text);
	return real_time && fault_trial_sleeping_rings() ? FAULT_PRESENT : FAULT_ABSENT;
}

/* The fault cannot be tried, as it crashes the host: the version decides.  Kernels of Debian have
 * their stable release only in u.version: "6.1.0-50-amd64" is "...  Debian 6.1.192-1 ...". */
static enum fault_state find_exit_race(void)
{
	static const struct {
		unsigned int major, minor, repaired;
	} series[] = {{6, 1, 131}, {6, 6, 83}, {6, 10, 99}, {6, 11, 99}, {6, 12, 19}};
	unsigned int major = 0, minor = 0, patch = 0;
	struct utsname u;
	char *at;
	char text[32];

	if (uname(&u) || sscanf(u.release, "%u.%u.%u", &major, &minor, &patch) < 2)
		return FAULT_ABSENT;
	snprintf(text, sizeof(text), " %u.%u.", major, minor);
	at = strstr(u.version, text);
	if (at)
		patch = (unsigned int)atoi(at + strlen(text));
	for (size_t i = 0; i < ARRAY_SIZE(series); i++) {
		if (major == series[i].major && minor == series[i].minor)
			return patch < series[i].repaired ? FAULT_POSSIBLE : FAULT_ABSENT;
	}
	return FAULT_ABSENT;
}

/* clang-format off */
const struct kernel_fault kernel_faults[] = {
	{
		.name = "private stacks of uprobe programs",
		.kernels = "6.13 and later",
		.what = "BPF programs of the kind that uprobes have get a stack for each CPU "
			"(a76ab5731e32, 7d1cd70d4b16), but have been preemptible since 6.0 "
			"(8c7dcb84e3b7): another thread that runs the same program on that CPU "
			"overwrites the stack, and the kernel crashes.",
		.ebeam = "ebeam's uprobe programs are written so that the kernel gives them no "
			 "private stack, and each is checked after it is loaded, if ebeam may see "
			 "the kernel's code (CAP_SYSLOG, kernel.kptr_restrict below 2). One that "
			 "has a private stack is not attached, unless --force is given.",
		.find = find_private_stacks,
		.by_program = true,
	},
	{
		.name = "return probes in processes with a seccomp filter",
		.kernels = "6.11 to 6.13, 6.12 before 6.12.14",
		.what = "A function with a return probe returns by way of a system call "
			"(ff474a78cef5). A filter that does not know this system call, as those of "
			"container runtimes, refuses it, and the process crashes. Fixed by "
			"cf6cb56ef244.",
		.ebeam = "If a node has a seccomp filter, ebeam first tries a return probe on a "
			 "child process of its own with such a filter. If the child crashes, "
			 "events that need return probes are missing for that node, unless "
			 "--force is given.",
		.fix = "use Linux 6.12.14, 6.14 or later",
		.find = find_returns,
		.by_program = true,
	},
	{
		.name = "uprobes on 5-byte nops",
		.kernels = "6.18 and later, until 554ba38456da",
		.what = "Once it is hit, such a nop is replaced by a call (ba2bfc97b462), whose "
			"return address overwrites the red zone: what a leaf function keeps "
			"below the stack pointer.",
		.ebeam = "ebeam places no probe on a 5-byte nop, except at the entry of a "
			 "function.",
		.find = find_long_nop,
		.by_program = true,
	},
	{
		.name = "user stacks of exiting threads",
		.kernels = "6.10 and 6.11; 6.12 before 6.12.19; and, from autumn 2024 on, 6.1 "
			   "before 6.1.131 and 6.6 before 6.6.83",
		.what = "If the kernel walks the user stack of a thread that is exiting and has "
			"hit a uprobe before, it crashes in is_uprobe_at_func_entry "
			"(cfa7f3d2c526). Fixed by b583ef82b671.",
		.ebeam = "ebeam walks the stacks of nodes itself, so it does not cause this. But "
			 "another profiler on the same host (perf record -g, or one that runs all "
			 "the time) can, in a node that ebeam's uprobes are in.",
		.fix = "do not run another profiler beside ebeam, or use a repaired kernel",
		.find = find_exit_race,
	},
	{
		.name = "kernel warnings when a uprobe is placed",
		.kernels = "6.16 and later with CONFIG_EXT4_DEBUG; others may have their own",
		.what = "If the page of the file is not in the page cache, the kernel reads it "
			"(install_breakpoint, read_cache_page) without a lock that ext4 expects, "
			"and ext4 warns (7871da20d484). With kernel.panic_on_warn=1 any warning "
			"stops the host.",
		.ebeam = "ebeam reads each page into the page cache before it places a probe "
			 "there. It cannot prevent other warnings.",
		.seen = "kernel.panic_on_warn is set",
		.fix = "sysctl kernel.panic_on_warn=0 while ebeam runs",
		.find = find_panic_on_warn,
	},
	{
		.name = "uprobe_multi links that filter by thread",
		.kernels = "6.6 to 6.9, 6.6 before 6.6.35",
		.what = "The filter by process lets only the hits of one thread through. Fixed by "
			"46ba0e49b642.",
		.ebeam = "ebeam tests the filter. If it is broken, ebeam places each uprobe by a "
			 "perf event, as on kernels before 6.6: each takes up to 0.1 s to remove.",
		.fix = "use Linux 6.6.35, 6.10 or later",
		.find = find_filter,
		.by_program = true,
	},
	{
		.name = "hash maps without preallocation",
		.kernels = "before 6.1",
		.what = "Programs of perf events may not use hash maps that are not preallocated "
			"(BPF_F_NO_PREALLOC), and the kernel warns of uprobe programs that do. "
			"Allowed since 96da3f7d489d.",
		.ebeam = "ebeam tests whether they are allowed. If not, it preallocates its maps, "
			 "which then take memory for all threads from the start.",
		.find = find_growing_maps,
		.by_program = true,
	},
	{
		.name = "ring buffers of real-time kernels",
		.kernels = "PREEMPT_RT before 6.12",
		.what = "The lock of a BPF ring buffer is one that may sleep, but programs of perf "
			"events and of the scheduler's tracepoints run where nothing may sleep: "
			"the "
			"kernel warns, and may hang. Fixed by 8b62645b09f8.",
		.ebeam = "'ebeam record' without --mode, 'record --mode offcpu', 'locks' and 'top' "
			 "have such programs: do not run them there. Commands that only read "
			 "memory, "
			 "and events, whose uprobes may sleep, are not affected.",
		.seen = "a real-time kernel whose BPF ring buffers have locks that sleep",
		.fix = "use Linux 6.12 or later, or a kernel without PREEMPT_RT",
		.find = find_sleeping_rings,
	},
	{
		.name = "uprobe programs freed while they run",
		.kernels = "6.0 to 6.12, stable kernels until December 2024",
		.what = "A BPF program of a uprobe may be freed while a thread is still in it "
			"(8c7dcb84e3b7; CVE-2024-56675). Fixed by ef1b808e3b7c.",
		.ebeam = "ebeam removes all probes before it closes its programs. If it is killed "
			 "with SIGKILL the kernel does both at once: end it with Ctrl-C or "
			 "SIGTERM.",
	},
	{
		.name = "timers of CPU clock events",
		.kernels = "6.16.8 to 6.17.7; 6.17.8 to 6.18",
		.what = "An event that stops itself after a number of samples hangs its CPU "
			"(18dbcbfabfff, fixed by eb3182ef0405); since then its timer may still run "
			"when the event is freed (CVE-2026-23014, fixed by ff5860f5088e).",
		.ebeam = "ebeam samples by CPU clock events, but none stops itself, and each is "
			 "disabled on its CPU before it is closed: neither happens.",
	},
	{.name = NULL},
};
/* clang-format on */
