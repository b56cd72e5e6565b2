/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities that this process has in effect. */
#ifndef EBEAM_CMD_PRIVILEGE_H
#define EBEAM_CMD_PRIVILEGE_H

#include <stdbool.h>

/* `capability` is a CAP_* of linux/capability.h, or CAP_BPF or CAP_PERFMON, which stand for
 * CAP_SYS_ADMIN too, as in the kernel. */
bool privilege_has(int capability);

/* A sentence for the user if nodes of other users cannot be seen or read; else NULL. */
const char *privilege_blind_spot(void);

#endif
