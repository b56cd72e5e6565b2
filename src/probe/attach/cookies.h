/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cookies of uprobes where the kernel keeps none (before 5.15): their programs find them by the
 * address at which they were hit (cookie_of(), bpf/event.bpf.h).
 */
#ifndef EBEAM_PROBE_COOKIES_H
#define EBEAM_PROBE_COOKIES_H

#include <stdint.h>

/*
 * Makes the cookie of an entry probe known, for each address at which the process has that offset
 * of the file mapped.  Probes on one address must not differ in their cookies but for
 * EVENT_COOKIE_SHARED, which is set if one has it.  0 or negative errno: -ENOENT = not mapped,
 * -EEXIST = another probe is there, of another cookie.
 */
int cookies_put(int map_fd, int os_pid, const char *path, uint64_t offset, uint64_t cookie);

#endif
