/* SPDX-License-Identifier: BSD-2-Clause */
/* BPF maps by kernel thread, to which programs add each thread that they meet.  Threads of NIFs
 * and drivers end (schedulers live as long as the node), which programs do not see. */
#ifndef EBEAM_PROBE_THREAD_MAP_H
#define EBEAM_PROBE_THREAD_MAP_H

#include <stddef.h>

/* Removes the threads that the process no longer has.  Keys are uint32_t, in the PID namespace of
 * /proc.  No effect if the process is gone. */
void thread_map_clean(int map_fd, int os_pid);

/* Number of threads whose value (of value_size bytes) begins with a 64-bit word that is not 0. */
unsigned int thread_map_nonzero(int map_fd, size_t value_size);

#endif
