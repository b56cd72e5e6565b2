/* SPDX-License-Identifier: BSD-2-Clause */
/* See write_error.h. */
#include "base/write_error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBE_SIZE 4096

bool write_error_reader_is_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0;
}

/* Finds why an earlier write failed: stdio keeps no errno, and has dropped the bytes, so that a
 * flush may now succeed.  poll() shows that a pipe has no reader; fallocate() with
 * FALLOC_FL_KEEP_SIZE fails as the write did if the file cannot grow, without changing the file.
 * -EIO: not found. */
static int reason_of(int fd)
{
	struct rlimit limit;
	struct stat st;

	if (write_error_reader_is_gone(fd))
		return -EPIPE;
	if (fstat(fd, &st) != 0)
		return -EIO;
	if (!S_ISREG(st.st_mode)) /* writing 0 bytes shows the error of a device like /dev/full */
		return S_ISCHR(st.st_mode) && write(fd, "", 0) < 0 ? -errno : -EIO;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && (rlim_t)st.st_size >= limit.rlim_cur)
		return -EFBIG;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, PROBE_SIZE) == 0 ||
	    errno == EOPNOTSUPP || errno == ENOSYS)
		return -EIO;
	return -errno;
}

int write_error_of(FILE *f)
{
	errno = 0;
	if (fflush(f) != 0)
		return errno ? -errno : -EIO;
	return ferror(f) ? reason_of(fileno(f)) : 0;
}

static int file_too_large(struct error *err, const char *what)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return error_set(err, ERROR_KIND_FAILED, -EFBIG,
				 "cannot write %s: %s. This process may write files of %llu bytes "
				 "at most: raise 'ulimit -f'",
				 what, error_text(EFBIG), (unsigned long long)limit.rlim_cur);
	return error_set(err, ERROR_KIND_FAILED, -EFBIG,
			 "cannot write %s: %s. The file system does not support "
			 "larger files; write it to another one",
			 what, error_text(EFBIG));
}

static const char *advice(int code)
{
	switch (-code) {
	case ENOSPC:
		return ". Make room (df, df -i), or write it elsewhere";
	case EDQUOT:
		return ". Remove files of the same owner (quota -s), or write it elsewhere";
	case EROFS:
		return ". The file system is mounted read-only; write it elsewhere";
	case EPIPE:
		return ". The program that reads it has exited";
	case EBADF:
		return ". It is closed, or not open for writing";
	case ENAMETOOLONG:
		return ". Choose a shorter name";
	case ENXIO:
		return ". It is a socket, or a device that is not there";
	case EIO:
		return ". Search the kernel log (dmesg) for disk errors, or write it elsewhere";
	default:
		return "";
	}
}

int write_error_set(struct error *err, const char *what, int code)
{
	if (code == -EFBIG)
		return file_too_large(err, what);
	return error_set(err, ERROR_KIND_FAILED, code, "cannot write %s: %s%s", what,
			 error_text(code), advice(code));
}
