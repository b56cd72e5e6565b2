/* SPDX-License-Identifier: BSD-2-Clause */
/* See privilege.h.  By capget(2) itself; libcap would be a library for one call. */
#include "target/privilege.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "target/proc.h"

#define FORBIDDEN " forbids it: a seccomp filter, as container runtimes have, or a security module"
#define ALLOW_IT  ". Allow it there, or run ebeam on the host"

static bool effective(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return data[capability / 32].effective & (UINT32_C(1) << (capability % 32));
}

bool privilege_has(int capability)
{
	if (capability == CAP_BPF || capability == CAP_PERFMON)
		return effective(capability) || effective(CAP_SYS_ADMIN);
	return effective(capability);
}

const char *privilege_blind_spot(void)
{
	if (proc_hides_others())
		return "/proc shows only processes of the same user (hidepid): run as root of the "
		       "host, or grant CAP_SYS_PTRACE there";
	if (privilege_has(CAP_SYS_PTRACE))
		return NULL;
	return "without root or CAP_SYS_PTRACE only nodes of the same user can be looked into";
}

/* `without`: if there is no such file. */
static int small_number(const char *path, int without)
{
	char *text = proc_read_file(path, 64, NULL);
	int number = text ? atoi(text) : without;

	free(text);
	return number;
}

/* Capabilities count only there. */
static bool in_initial_user_namespace(void)
{
	char *text = proc_read_file("/proc/self/uid_map", 4096, NULL);
	unsigned int inside, outside, nr;
	bool initial = !text || (sscanf(text, "%u %u %u", &inside, &outside, &nr) == 3 &&
				 inside == 0 && outside == 0 && nr == UINT32_MAX);

	free(text);
	return initial;
}

static const char *memory_fix(void)
{
	if (small_number("/proc/sys/kernel/yama/ptrace_scope", 0) >= 3)
		return "kernel.yama.ptrace_scope is 3: nobody, not even root, may read the memory "
		       "of other processes until the host is booted with another value";
	if (!privilege_has(CAP_SYS_PTRACE))
		return "Run as root, or grant CAP_SYS_PTRACE";
	return "ebeam has CAP_SYS_PTRACE, but something else" FORBIDDEN ALLOW_IT;
}

static const char *perf_fix(void)
{
	if (!privilege_has(CAP_SYS_ADMIN) &&
	    small_number("/proc/sys/kernel/perf_event_paranoid", 2) > 2)
		return "kernel.perf_event_paranoid is above 2, where this kernel wants "
		       "CAP_SYS_ADMIN for perf events. Grant it, or sysctl "
		       "kernel.perf_event_paranoid=2";
	return "ebeam has CAP_PERFMON, but something else" FORBIDDEN ALLOW_IT;
}

static const char *uprobe_fix(void)
{
	if (!privilege_has(CAP_SYS_ADMIN))
		return "Run as root, or grant CAP_SYS_ADMIN too, which uprobes need that are "
		       "placed by perf events";
	return "ebeam has CAP_SYS_ADMIN, but something else" FORBIDDEN ALLOW_IT;
}

const char *privilege_fix(enum privilege_use use)
{
	if (!in_initial_user_namespace())
		return "ebeam runs in a user namespace, where capabilities do not count for this. "
		       "Run it as root of the host";
	if (use == PRIVILEGE_MEMORY)
		return memory_fix();
	if (!privilege_has(CAP_BPF) || !privilege_has(CAP_PERFMON))
		return "Run as root, or grant CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE";
	if (use == PRIVILEGE_PERF)
		return perf_fix();
	if (use == PRIVILEGE_UPROBE)
		return uprobe_fix();
	return "ebeam has CAP_BPF and CAP_PERFMON, but something else" FORBIDDEN ALLOW_IT;
}
