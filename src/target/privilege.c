/* SPDX-License-Identifier: BSD-2-Clause */
/* See privilege.h.  Uses capget(2) directly instead of libcap for this one call. */
#include "target/privilege.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#include "target/proc.h"

#define FORBIDDEN " forbids it: a seccomp filter, as container runtimes have, or a security module"
#define ALLOW_IT  ". Allow it there, or run ebeam on the host"

#define BTF_MAX_SIZE (64u << 20)

static bool effective(int capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return data[capability / 32].effective & (UINT32_C(1) << (capability % 32));
}

/* Most of what needs a capability needs it in the initial user namespace. */
static bool in_initial_user_namespace(void)
{
	char *text = proc_read_file(4096, NULL, "/proc/self/uid_map");
	unsigned int inside, outside, nr;
	bool initial = !text || (sscanf(text, "%u %u %u", &inside, &outside, &nr) == 3 &&
				 inside == 0 && outside == 0 && nr == UINT32_MAX);

	free(text);
	return initial;
}

bool privilege_has(int capability)
{
	/* CAP_SYS_PTRACE of a user namespace is enough to read processes of that namespace. */
	if (capability != CAP_SYS_PTRACE && !in_initial_user_namespace())
		return false;
	if (capability == CAP_BPF || capability == CAP_PERFMON)
		return effective(capability) || effective(CAP_SYS_ADMIN);
	return effective(capability);
}

const char *privilege_filter_fix(int code)
{
	char *text = code == -ENOSYS ? proc_read_file(8192, NULL, "/proc/self/status") : NULL;
	bool filtered = text && strstr(text, "\nSeccomp:\t2");

	free(text);
	return filtered ? "a seccomp filter, as container runtimes have, may be what refuses it: "
			  "allow it there, or run ebeam on the host"
			: NULL;
}

/* The number in a file; `without` if there is no such file. */
static int small_number(const char *path, int without)
{
	char *text = proc_read_file(64, NULL, "%s", path);
	int number = text ? atoi(text) : without;

	free(text);
	return number;
}

/* hidepid shows only processes that may be traced: is process 1, which always exists, hidden? */
static bool proc_hides_others(void)
{
	struct stat st;

	return stat("/proc/1", &st) != 0 &&
	       !(privilege_has(CAP_SYS_PTRACE) && in_initial_user_namespace());
}

const char *privilege_unseen(void)
{
	if (!proc_in_initial_pid_namespace())
		return "ebeam runs in a PID namespace, and sees only the processes in it: run it "
		       "on the host, or in a container with --pid=host";
	if (proc_hides_others())
		return "/proc shows only processes of the same user (hidepid): run as root of the "
		       "host, or grant CAP_SYS_PTRACE there";
	return NULL;
}

const char *privilege_blind_spot(void)
{
	const char *unseen = privilege_unseen();

	if (unseen)
		return unseen;
	if (!in_initial_user_namespace())
		return "ebeam runs in a user namespace, and cannot read nodes outside of it";
	if (privilege_has(CAP_SYS_PTRACE))
		return NULL;
	return "without root or CAP_SYS_PTRACE ebeam can read nodes of the same user at most";
}

/* Debian and Ubuntu kernels: above 2, perf_event_open() needs CAP_SYS_ADMIN. */
static bool is_paranoid(void)
{
	return small_number("/proc/sys/kernel/perf_event_paranoid", 2) > 2;
}

/* Searches the kernel's BTF, as attaching a uprobe as a test needs privileges. */
static bool has_uprobe_multi(void)
{
	static const char word[] = "BPF_TRACE_UPROBE_MULTI";
	size_t len;
	char *types = proc_read_file(BTF_MAX_SIZE, &len, "/sys/kernel/btf/vmlinux");
	bool has = !types || memmem(types, len, word, sizeof(word));

	free(types);
	return has;
}

static const char *memory_fix(void)
{
	if (small_number("/proc/sys/kernel/yama/ptrace_scope", 0) >= 3)
		return "kernel.yama.ptrace_scope is 3: nobody, not even root, may read the memory "
		       "of other processes until the host is booted with another value";
	if (!privilege_has(CAP_SYS_PTRACE) && privilege_has(CAP_BPF) && privilege_has(CAP_PERFMON))
		return "Run as root, or grant CAP_SYS_PTRACE";
	if (!privilege_has(CAP_SYS_PTRACE))
		return has_uprobe_multi()
			       ? "Run as root, or grant CAP_SYS_PTRACE (samples and probes need "
				 "CAP_BPF and CAP_PERFMON, too)"
			       : "Run as root, or grant CAP_SYS_PTRACE (samples and probes need "
				 "CAP_SYS_ADMIN, too)";
	if (!effective(CAP_DAC_READ_SEARCH) && !effective(CAP_DAC_OVERRIDE))
		return "ebeam has CAP_SYS_PTRACE. If the node's executable may be read only by "
		       "its own user or group (ls -lL /proc/PID/exe), grant CAP_DAC_READ_SEARCH "
		       "too; else something else" FORBIDDEN ALLOW_IT;
	return "ebeam has CAP_SYS_PTRACE, but something else" FORBIDDEN ALLOW_IT;
}

static const char *capabilities_fix(void)
{
	if (!has_uprobe_multi())
		return "Run as root, or grant CAP_SYS_ADMIN and CAP_SYS_PTRACE: this kernel, as "
		       "all before 6.6, wants CAP_SYS_ADMIN for uprobes";
	if (is_paranoid())
		return "Run as root, or grant CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, and for "
		       "samples and breakpoints CAP_SYS_ADMIN: kernel.perf_event_paranoid is "
		       "above 2";
	return "Run as root, or grant CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE";
}

static const char *perf_fix(void)
{
	if (!privilege_has(CAP_SYS_ADMIN) && is_paranoid())
		return "kernel.perf_event_paranoid is above 2, where this kernel wants "
		       "CAP_SYS_ADMIN for perf events. Grant it, or sysctl "
		       "kernel.perf_event_paranoid=2";
	return "ebeam has CAP_PERFMON, but something else" FORBIDDEN ALLOW_IT;
}

static const char *uprobe_fix(void)
{
	if (!privilege_has(CAP_SYS_ADMIN))
		return "Run as root, or grant CAP_SYS_ADMIN too: uprobes need it where the kernel "
		       "places them by perf events";
	return "ebeam has CAP_SYS_ADMIN, but something else" FORBIDDEN ALLOW_IT;
}

const char *privilege_fix(enum privilege_use use)
{
	if (!in_initial_user_namespace())
		return "ebeam runs in a user namespace, whose capabilities do not permit this. "
		       "Run it as root of the host";
	if (use == PRIVILEGE_MEMORY)
		return memory_fix();
	if (!privilege_has(CAP_BPF) || !privilege_has(CAP_PERFMON))
		return capabilities_fix();
	if (use == PRIVILEGE_PERF)
		return perf_fix();
	if (use == PRIVILEGE_UPROBE)
		return uprobe_fix();
	return "ebeam has CAP_BPF and CAP_PERFMON, but something else" FORBIDDEN ALLOW_IT;
}
