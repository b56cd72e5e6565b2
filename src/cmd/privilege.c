/* SPDX-License-Identifier: BSD-2-Clause */
/* See privilege.h.  By capget(2) itself; libcap would be a library for one call. */
#include "cmd/privilege.h"

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

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
	if (privilege_has(CAP_SYS_PTRACE))
		return NULL;
	return "without root or CAP_SYS_PTRACE only nodes of the same user can be looked into";
}
