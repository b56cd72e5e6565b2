/* SPDX-License-Identifier: BSD-2-Clause */
/* Cookies of uprobes on kernels without BPF cookies (before 5.15): programs look them up by the
 * address at which they were hit (cookie_of(), bpf/event.bpf.h). */
#ifndef EBEAM_PROBE_COOKIES_H
#define EBEAM_PROBE_COOKIES_H

#include <stdint.h>

/*
 * Stores the cookie of an entry probe in the map, once for each address at which the process has
 * that offset of the file mapped.  Probes at one address must have the same cookie but for
 * EVENT_COOKIE_SHARED, which is set if one of them has it.  0 or negative errno: -ENOENT = the
 * offset is not mapped, -EEXIST = there is a probe with another cookie.
 */
int cookies_put(int map_fd, int os_pid, const char *path, uint64_t offset, uint64_t cookie);

#endif
