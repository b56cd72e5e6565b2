/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF maps by kernel thread, which programs fill with each thread that they meet: threads end
 * (those of NIFs and drivers; schedulers stay as long as the node), and programs do not see that.
 */
#ifndef EBEAM_PROBE_THREAD_MAP_H
#define EBEAM_PROBE_THREAD_MAP_H

#include <stddef.h>

/* Removes the threads that the process does not have any more.  Keys are uint32_t, in the PID
 * namespace of /proc.  Nothing if the process is gone. */
void thread_map_clean(int map_fd, int os_pid);

/* Threads whose value, of so many bytes, does not begin with a word of 0. */
unsigned int thread_map_nonzero(int map_fd, size_t value_size);

#endif
