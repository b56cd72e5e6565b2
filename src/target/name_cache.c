/* SPDX-License-Identifier: BSD-2-Clause */
/* See name_cache.h. */
#include "target/name_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "target/elf_internal.h"

#define MAX_SIZE (8 << 20) /* bytes of a file; names of libcrypto take 200 kB */

/* ---- the directory --------------------------------------------------------------------------- */

static bool is_own(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

/* -1 = there is none that can be used. */
static int open_directory(bool make)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	char parent[PATH_MAX], path[PATH_MAX + 8];
	int fd;

	if (cache && *cache == '/')
		snprintf(parent, sizeof(parent), "%s", cache);
	else if (geteuid() == 0)
		snprintf(parent, sizeof(parent), "/var/cache");
	else if (home && *home == '/')
		snprintf(parent, sizeof(parent), "%s/.cache", home);
	else
		return -1;
	snprintf(path, sizeof(path), "%s/ebeam", parent);
	if (make) {
		if (geteuid() != 0)
			mkdir(parent, 0700);
		mkdir(path, 0755);
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !is_own(fd, S_IFDIR)) {
		log_info("%s is not used: another user owns or can write it", path);
		close(fd);
		fd = -1;
	}
	return fd;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* False: this ebeam has no build id. */
static bool own_build_id(char id[2 * ELF_BUILD_ID_MAX + 1])
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;

	*id = '\0';
	if (fd >= 0 && elf_file_open(&elf, fd, "ebeam", NULL) == 0) {
		snprintf(id, 2 * ELF_BUILD_ID_MAX + 1, "%s", elf_file_build_id(elf));
		elf_file_close(elf);
	}
	return *id != '\0';
}

/* First line of the file of `elf` with this text, and its name.  False: it cannot be kept. */
static bool describe(const struct elf_file *elf, const char *text, size_t size,
		     struct strbuf *first_line, char name[NAME_MAX])
{
	char own[2 * ELF_BUILD_ID_MAX + 1];
	struct stat st;

	if (!*elf_file_build_id(elf) || !own_build_id(own) || fstat(elf_file_fd(elf), &st) != 0)
		return false;
	snprintf(name, NAME_MAX, "names-%s", elf_file_build_id(elf));
	/* Whoever links a file chooses its build id, so it must be the very file. */
	strbuf_addf(first_line,
		    "ebeam names, ebeam %s, file %s %jx:%jx %jd %jd.%09ld, %zu bytes %08lx\n", own,
		    elf_file_build_id(elf), (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		    (intmax_t)st.st_size, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec, size,
		    crc32_z(crc32(0, NULL, 0), (const Bytef *)text, size));
	return true;
}

static char *read_file(int directory, const char *name, size_t *size)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;

	if (fd >= 0 && is_own(fd, S_IFREG) && fstat(fd, &st) == 0 && st.st_size <= MAX_SIZE) {
		*size = (size_t)st.st_size;
		text = xmalloc(*size + 1);
		text[*size] = '\0';
		if (read(fd, text, *size) != (ssize_t)*size) {
			free(text);
			text = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

char *name_cache_read(const struct elf_file *elf)
{
	int directory = open_directory(false);
	struct strbuf first_line = STRBUF_INIT;
	char name[NAME_MAX], *text = NULL, *end;
	size_t size;

	if (directory < 0)
		return NULL;
	snprintf(name, sizeof(name), "names-%s", elf_file_build_id(elf));
	text = read_file(directory, name, &size);
	end = text ? strchr(text, '\n') : NULL;
	if (end && describe(elf, end + 1, size - (size_t)(end + 1 - text), &first_line, name) &&
	    first_line.len == (size_t)(end + 1 - text) &&
	    memcmp(first_line.buf, text, first_line.len) == 0) {
		memmove(text, end + 1, size - first_line.len + 1);
	} else {
		free(text);
		text = NULL;
	}
	strbuf_free(&first_line);
	close(directory);
	return text;
}

static bool write_all(int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n <= 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

void name_cache_write(const struct elf_file *elf, const struct strbuf *text)
{
	int directory = open_directory(true), fd;
	struct strbuf first_line = STRBUF_INIT;
	char name[NAME_MAX], part[NAME_MAX];

	if (directory >= 0 && describe(elf, text->buf, text->len, &first_line, name)) {
		snprintf(part, sizeof(part), "part-%d", getpid());
		unlinkat(directory, part, 0);
		fd = openat(directory, part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd < 0 || !write_all(fd, first_line.buf, first_line.len) ||
		    !write_all(fd, text->buf, text->len) ||
		    renameat(directory, part, directory, name) != 0) {
			log_info("names of functions are not kept: %s", strerror(errno));
			unlinkat(directory, part, 0);
		}
		if (fd >= 0)
			close(fd);
	}
	strbuf_free(&first_line);
	if (directory >= 0)
		close(directory);
}
