/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread_map.h. */
#include "probe/session/thread_map.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/limits.h"
#include "base/xalloc.h"

static bool lives(int os_pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", os_pid, tid);
	return access(path, F_OK) == 0;
}

void thread_map_clean(int map_fd, int os_pid)
{
	uint32_t key, next;
	bool more;

	if (map_fd < 0 || !lives(os_pid, (uint32_t)os_pid))
		return;
	more = bpf_map_get_next_key(map_fd, NULL, &next) == 0;
	/* Bounded, as programs may add threads all the time. */
	for (unsigned int i = 0; more && i < 2 * EBEAM_THREADS; i++) {
		key = next;
		more = bpf_map_get_next_key(map_fd, &key, &next) == 0;
		if (!lives(os_pid, key))
			bpf_map_delete_elem(map_fd, &key);
	}
}

unsigned int thread_map_nonzero(int map_fd, size_t value_size)
{
	unsigned int nr = 0;
	uint32_t key, *last = NULL;
	uint64_t *value;

	if (map_fd < 0 || value_size < sizeof(*value))
		return 0;
	value = xcalloc(1, value_size);
	for (unsigned int i = 0; i < EBEAM_THREADS; i++) {
		if (bpf_map_get_next_key(map_fd, last, &key))
			break;
		last = &key;
		nr += bpf_map_lookup_elem(map_fd, &key, value) == 0 && value[0];
	}
	free(value);
	return nr;
}
