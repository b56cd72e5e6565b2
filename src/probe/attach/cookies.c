/* SPDX-License-Identifier: BSD-2-Clause */
/* See cookies.h. */
#include "probe/attach/cookies.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/stat.h>

#include "abi/config.h"
#include "target/proc.h"

/* Compares inodes alone: on overlay file systems /proc/PID/maps has another device than stat(). An
 * entry for an address of another file does no harm, as no probe is hit there. */
static bool maps_offset(const struct proc_map *m, uint64_t inode, uint64_t offset)
{
	return m->inode == inode && m->x && offset >= m->offset &&
	       offset - m->offset < m->end - m->start;
}

int cookies_put(int map_fd, int os_pid, const char *path, uint64_t offset, uint64_t cookie)
{
	struct proc_maps maps;
	struct stat st;
	int rc;

	if (stat(path, &st))
		return -errno;
	rc = proc_maps_read(&maps, os_pid, NULL);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < maps.len; i++) {
		const struct proc_map *m = &maps.data[i];
		uint64_t addr = m->start + (offset - m->offset), known;

		if (!maps_offset(m, st.st_ino, offset))
			continue;
		if (bpf_map_lookup_elem(map_fd, &addr, &known))
			known = cookie;
		if ((known ^ cookie) & ~EVENT_COOKIE_SHARED) {
			rc = -EEXIST;
			break;
		}
		known |= cookie;
		rc = bpf_map_update_elem(map_fd, &addr, &known, BPF_ANY) ? -errno : 0;
		if (rc)
			break;
	}
	proc_maps_free(&maps);
	return rc;
}
