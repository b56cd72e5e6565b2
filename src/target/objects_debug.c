/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of stripped files, from elsewhere: see objects_internal.h. */
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "target/objects_internal.h"

/* Files that are not copied: those of Chromium have 5 GB. */
#define DEBUG_FILE_MAX ((off_t)8 << 30)
/* Files that are copied, and compressed symbols; larger ones are not used. */
#define DEBUG_COPY_MAX	 ((size_t)64 << 20)
#define DEBUG_DATA_MAX	 ((size_t)16 << 20)
#define DEBUG_LZMA_MAX	 ((uint64_t)128 << 20) /* memory for decompressing */
#define DEBUG_CRC_MAX	 ((off_t)256 << 20)
#define DEBUGLINK_MAX	 4096u
#define DEBUG_CHUNK_SIZE ((size_t)256 << 10)

/* A copy in memory of a file that its owner may truncate while it is mapped, which would end ebeam
 * by SIGBUS; closes fd.  -1: it is too large, or cannot be read. */
static int copy_file(int fd, size_t size, size_t *budget)
{
	bool fits = size <= MIN(DEBUG_COPY_MAX, *budget);
	int copy = fits ? memfd_create("debug", MFD_CLOEXEC) : -1;
	ssize_t n = 1;

	if (copy >= 0)
		*budget -= size;
	for (size_t left = size; copy >= 0 && left && n > 0; left -= (size_t)MAX(n, 0))
		n = sendfile(copy, fd, NULL, left);
	close(fd);
	if (n > 0)
		return copy;
	close(copy);
	return -1;
}

/* Takes fd, which may be -1. */
static struct elf_file *open_symbols(int fd, const char *name)
{
	struct elf_file *elf;

	if (fd < 0 || elf_file_open(&elf, fd, name, NULL) != 0)
		return NULL;
	if (!elf_file_is_stripped(elf))
		return elf;
	elf_file_close(elf);
	return NULL;
}

/* A file that only root of this host can change is used as it is, any other one is copied. */
static int open_debug(const char *path, bool foreign, size_t *budget)
{
	int fd = objects_open_regular(path, NULL);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0) {
		close(fd);
		return -1;
	}
	if (!foreign && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	    st.st_size <= DEBUG_FILE_MAX)
		return fd;
	fd = copy_file(fd, (size_t)st.st_size, budget);
	if (fd < 0)
		log_info("%s is not used: it is too large, or cannot be read", path);
	return fd;
}

/* False if the root directory of the process is ebeam's own, or cannot be known. */
static bool has_own_root(const char *root)
{
	struct stat its, ours;

	return stat(root, &its) == 0 && stat("/", &ours) == 0 &&
	       (its.st_ino != ours.st_ino || its.st_dev != ours.st_dev);
}

/* ---- by build id ----------------------------------------------------------------------------- */

static struct elf_file *open_same_build(int fd, const char *name, const char *build_id)
{
	struct elf_file *elf = open_symbols(fd, name);

	if (!elf || strcmp(elf_file_build_id(elf), build_id) == 0)
		return elf;
	elf_file_close(elf);
	return NULL;
}

static struct elf_file *open_by_build_id(const char *root, const struct elf_file *elf,
					 size_t *budget)
{
	const char *id = elf_file_build_id(elf);
	char path[OBJECTS_PATH_SIZE];

	if (strlen(id) < 3)
		return NULL;
	snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/%.2s/%s.debug", root, id, id + 2);
	return open_same_build(open_debug(path, *root, budget), path, id);
}

/* What the debuginfod client of elfutils has fetched before, for ebeam (dwarf.h) or for others: see
 * debuginfod_find_debuginfo(3). */
static struct elf_file *open_fetched(const struct elf_file *elf, size_t *budget)
{
	const char *id = elf_file_build_id(elf), *dir = getenv("DEBUGINFOD_CACHE_PATH");
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char path[OBJECTS_PATH_SIZE];

	if (strlen(id) < 3 || (!dir && !cache && !home))
		return NULL;
	if (dir)
		snprintf(path, sizeof(path), "%s/%s/debuginfo", dir, id);
	else if (cache)
		snprintf(path, sizeof(path), "%s/debuginfod_client/%s/debuginfo", cache, id);
	else
		snprintf(path, sizeof(path), "%s/.cache/debuginfod_client/%s/debuginfo", home, id);
	return open_same_build(open_debug(path, false, budget), path, id);
}

/* ---- .gnu_debuglink -------------------------------------------------------------------------- */

struct debuglink {
	char name[NAME_MAX + 1];
	uint32_t crc;
};

/* The section: a file name, zeros up to a multiple of 4, a CRC-32. */
static bool read_debuglink(const struct elf_file *elf, struct debuglink *link)
{
	size_t size, len;
	char *bytes =
		(char *)elf_file_copy_section(elf, ".gnu_debuglink", DEBUGLINK_MAX, &size, NULL);
	bool valid = false;

	if (bytes) {
		len = strnlen(bytes, size);
		valid = len > 0 && len < sizeof(link->name) && (len / 4 + 1) * 4 + 4 <= size &&
			!memchr(bytes, '/', len);
	}
	if (valid) {
		memcpy(link->name, bytes, len + 1);
		memcpy(&link->crc, bytes + (len / 4 + 1) * 4, sizeof(link->crc));
	}
	free(bytes);
	return valid;
}

/* False, too, if the file is so large that reading it would take seconds. */
static bool has_crc(int fd, uint32_t crc)
{
	uint8_t *chunk = xmalloc(DEBUG_CHUNK_SIZE);
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while (at <= DEBUG_CRC_MAX && (n = pread(fd, chunk, DEBUG_CHUNK_SIZE, at)) > 0) {
		sum = crc32(sum, chunk, (uInt)n);
		at += n;
	}
	free(chunk);
	return at <= DEBUG_CRC_MAX && n == 0 && sum == crc;
}

static struct elf_file *open_by_debuglink(const char *root, const struct elf_file *elf,
					  size_t *budget)
{
	const char *file = elf_file_name(elf), *slash = strrchr(file, '/');
	int dir = slash ? (int)(slash - file) : 0, fd;
	char paths[3][OBJECTS_PATH_SIZE];
	struct debuglink link;

	if (file[0] != '/' || !read_debuglink(elf, &link))
		return NULL;
	snprintf(paths[0], sizeof(paths[0]), "%s%.*s/%s", root, dir, file, link.name);
	snprintf(paths[1], sizeof(paths[1]), "%s%.*s/.debug/%s", root, dir, file, link.name);
	snprintf(paths[2], sizeof(paths[2]), "%s/usr/lib/debug%.*s/%s", root, dir, file, link.name);
	for (int i = 0; i < 3; i++) {
		fd = open_debug(paths[i], *root, budget);
		if (fd >= 0 && has_crc(fd, link.crc))
			return open_symbols(fd, paths[i]);
		if (fd >= 0) {
			log_info("%s is not used: it is too large, or its CRC is not that of "
				 "%s's .gnu_debuglink",
				 paths[i], file);
			close(fd);
		}
	}
	return NULL;
}

/* ---- .gnu_debugdata -------------------------------------------------------------------------- */

/* Decompresses xz data into a file in memory; -1 if it is damaged or too large. */
static int decompress(const uint8_t *data, size_t size, size_t *budget)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	int fd = memfd_create("debugdata", MFD_CLOEXEC);
	uint8_t *chunk = xmalloc(DEBUG_CHUNK_SIZE);
	lzma_ret rc = lzma_stream_decoder(&stream, DEBUG_LZMA_MAX, 0);
	bool written = fd >= 0;

	stream.next_in = data;
	stream.avail_in = size;
	while (rc == LZMA_OK && written && stream.total_out <= MIN(DEBUG_COPY_MAX, *budget)) {
		stream.next_out = chunk;
		stream.avail_out = DEBUG_CHUNK_SIZE;
		rc = lzma_code(&stream, LZMA_FINISH);
		written = write(fd, chunk, DEBUG_CHUNK_SIZE - stream.avail_out) ==
			  (ssize_t)(DEBUG_CHUNK_SIZE - stream.avail_out);
	}
	*budget -= MIN(*budget, stream.total_out);
	lzma_end(&stream);
	free(chunk);
	if (rc == LZMA_STREAM_END && written)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static struct elf_file *open_debugdata(const struct elf_file *elf, size_t *budget)
{
	size_t size;
	uint8_t *data = elf_file_copy_section(elf, ".gnu_debugdata", DEBUG_DATA_MAX, &size, NULL);
	struct elf_file *symbols =
		data ? open_symbols(decompress(data, size, budget), ".gnu_debugdata") : NULL;

	free(data);
	return symbols;
}

struct elf_file *objects_open_debug(int os_pid, const struct elf_file *elf, size_t *budget)
{
	struct elf_file *debug = NULL;
	char root[32];
	bool own;

	if (!elf_file_is_stripped(elf))
		return NULL;
	snprintf(root, sizeof(root), "/proc/%d/root", os_pid);
	own = os_pid && has_own_root(root);
	if (own)
		debug = open_by_build_id(root, elf, budget);
	debug = debug ? debug : open_by_build_id("", elf, budget);
	debug = debug ? debug : open_by_debuglink(own ? root : "", elf, budget);
	debug = debug ? debug : open_fetched(elf, budget);
	debug = debug ? debug : open_debugdata(elf, budget);
	if (debug)
		log_debug("symbols of %s: %s", elf_file_name(elf), elf_file_name(debug));
	return debug;
}
