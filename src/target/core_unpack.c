/* SPDX-License-Identifier: BSD-2-Clause */
/* A core file that is compressed by gzip, as `ebeam core` writes it, is unpacked to a file without
 * a name, whose pages of zeros take no space. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/log.h"
#include "target/core_internal.h"

#define BUFFER_SIZE (1u << 20)
#define GZIP_WINDOW (15 + 16)

struct unpacking {
	int in, out;
	uint64_t size; /* that was unpacked */
	z_stream z;
	uint8_t *packed, *plain; /* BUFFER_SIZE each */
};

static int write_at(int fd, const uint8_t *data, size_t size, uint64_t at)
{
	while (size > 0) {
		ssize_t n = pwrite(fd, data, size, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int put(struct unpacking *u, size_t size)
{
	int rc = 0;

	for (size_t at = 0, n; at < size && !rc; at += n) {
		n = MIN(size - at, (size_t)CORE_PAGE_SIZE);
		if (n < CORE_PAGE_SIZE || !core_page_is_zero(u->plain + at))
			rc = write_at(u->out, u->plain + at, n, u->size + at);
	}
	u->size += size;
	return rc;
}

/* What is behind a place that is damaged, or missing, is left out: the core is truncated. */
static int unpack(struct unpacking *u)
{
	int rc = Z_OK, code = 0;
	ssize_t n = 1;

	while (rc == Z_OK && !code && (n = read(u->in, u->packed, BUFFER_SIZE)) > 0) {
		u->z.next_in = u->packed;
		u->z.avail_in = (uInt)n;
		do {
			u->z.next_out = u->plain;
			u->z.avail_out = BUFFER_SIZE;
			rc = inflate(&u->z, Z_NO_FLUSH);
			code = put(u, BUFFER_SIZE - u->z.avail_out);
			if (rc == Z_STREAM_END) /* another member may follow, or the end */
				rc = inflateReset(&u->z);
		} while (rc == Z_OK && !code && (u->z.avail_in || u->z.avail_out == 0));
	}
	if (n < 0)
		return -errno;
	/* Also if it ends with zeros. */
	return code ? code : ftruncate(u->out, (off_t)u->size) ? -errno : 0;
}

int core_unpack_gzip(int fd, const char *path, struct error *err)
{
	const char *dir = getenv("TMPDIR");
	struct unpacking u = {.in = fd};
	int rc = 0;

	dir = dir && *dir ? dir : "/var/tmp";
	u.out = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (u.out < 0 || lseek(fd, 0, SEEK_SET) != 0)
		rc = -errno;
	else if (inflateInit2(&u.z, GZIP_WINDOW) != Z_OK)
		rc = -ENOMEM;
	if (!rc) {
		log_info("%s is unpacked to a file in %s", path, dir);
		u.packed = xmalloc(BUFFER_SIZE);
		u.plain = xmalloc(BUFFER_SIZE);
		rc = unpack(&u);
		inflateEnd(&u.z);
		free(u.packed);
		free(u.plain);
	}
	if (!rc)
		return u.out;
	if (u.out >= 0)
		close(u.out);
	return error_set(err, ERROR_KIND_FAILED, rc,
			 "%s is compressed by gzip and cannot be unpacked in %s: %s. TMPDIR names "
			 "another directory; or unpack it first (gzip -d)",
			 path, dir, error_text(rc));
}
