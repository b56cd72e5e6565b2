/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the file behind a mapping, whatever mount namespace the process is in and even if the file
 * was deleted.  Ways, the exact one first:
 *
 *   /proc/PID/map_files/START-END   the mapped file itself; needs CAP_SYS_ADMIN or
 *                                   CAP_CHECKPOINT_RESTORE
 *   /proc/PID/root/PATH, PATH       a file of that name, taken only if it is the mapped inode
 *                                   (maps shows a chroot's files by their path outside of it)
 *   /proc/PID/exe                   the executable itself, deleted or not
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "target/objects_internal.h"

/* The vDSO is two to four pages. */
#define VDSO_MAX_SIZE ((size_t)1 << 20)

/* overlayfs and btrfs: stat() reports another device number than maps, but the same inode. */
static bool device_is_virtual(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

static bool is_mapped_file(int fd, const struct stat *st, const struct proc_map *map)
{
	if (st->st_ino != map->inode)
		return false;
	return (major(st->st_dev) == map->dev_major && minor(st->st_dev) == map->dev_minor) ||
	       device_is_virtual(fd);
}

int objects_open_regular(const char *path, const struct proc_map *check)
{
	struct stat st;
	int fd;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (check && !is_mapped_file(fd, &st, check))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Tries all ways; `path` is the one that succeeded. */
static int open_mapped_file(int os_pid, const struct proc_map *map, char path[OBJECTS_PATH_SIZE])
{
	char exe[PATH_MAX];
	int fd;

	snprintf(path, OBJECTS_PATH_SIZE, "/proc/%d/map_files/%llx-%llx", os_pid,
		 (unsigned long long)map->start, (unsigned long long)map->end);
	fd = objects_open_regular(path, NULL);
	if (fd >= 0)
		return fd;
	snprintf(path, OBJECTS_PATH_SIZE, "/proc/%d/root%s", os_pid, map->path);
	fd = objects_open_regular(path, map);
	if (fd >= 0)
		return fd;
	snprintf(path, OBJECTS_PATH_SIZE, "%s", map->path);
	fd = objects_open_regular(path, map);
	if (fd >= 0)
		return fd;
	snprintf(path, OBJECTS_PATH_SIZE, "/proc/%d/exe", os_pid);
	fd = objects_open_regular(path, map);
	if (fd < 0 && proc_exe(os_pid, exe, sizeof(exe), NULL) == 0 && strcmp(exe, map->path) == 0)
		fd = objects_open_regular(path, NULL);
	return fd;
}

/* The vDSO is an ELF file that exists only in memory. */
static int copy_vdso(int os_pid, const struct proc_map *map)
{
	size_t size = (size_t)(map->end - map->start);
	struct mem *mem = NULL;
	char *copy;
	int fd = -1;

	if (map->end - map->start > VDSO_MAX_SIZE || mem_open_live(&mem, os_pid, NULL) != 0)
		return -1;
	copy = xmalloc(size);
	if (mem_read(mem, map->start, copy, size) == 0)
		fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, copy, size) != (ssize_t)size) {
		close(fd);
		fd = -1;
	}
	free(copy);
	mem_close(mem);
	return fd;
}

int objects_file_path(int os_pid, const struct proc_map *map, char path[OBJECTS_PATH_SIZE])
{
	int fd = open_mapped_file(os_pid, map, path);

	if (fd < 0)
		return -ENOENT;
	close(fd);
	return 0;
}

struct elf_file *objects_open_elf(int os_pid, const struct proc_map *map)
{
	char path[OBJECTS_PATH_SIZE];
	struct elf_file *elf = NULL;
	struct error err = {0};
	int fd;

	fd = strcmp(map->path, "[vdso]") == 0 ? copy_vdso(os_pid, map)
					      : open_mapped_file(os_pid, map, path);
	if (fd < 0) {
		log_debug("pid %d: cannot open %s: its functions have no names", os_pid, map->path);
		return NULL;
	}
	if (elf_file_open(&elf, fd, map->path, &err) != 0)
		log_debug("pid %d: %s", os_pid, err.msg);
	return elf;
}
