/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of a live process, read with process_vm_readv.  Where a seccomp filter forbids that call
 * (older container runtimes), /proc/PID/mem gives the same bytes, one range a call.  Both need
 * PTRACE_MODE_ATTACH rights, but do not attach, stop the process or write.
 */
#include "target/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "target/privilege.h"

#ifndef IOV_MAX
#define IOV_MAX 1024
#endif

/* One call transfers at most MAX_RW_COUNT (2 GiB less a page); batches stay well below. */
#define BATCH_MAX_SIZE ((size_t)1 << 30)

struct mem_live {
	struct mem mem;
	int os_pid;
	int fd; /* /proc/PID/mem; -1: read with process_vm_readv */
};

/* One read call.  Returns bytes read (at least 1) or negative errno. */
static ssize_t live_read_some(struct mem_live *l, raddr addr, void *buf, size_t size)
{
	struct iovec local = {.iov_base = buf, .iov_len = size};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)addr, .iov_len = size};
	ssize_t n;

	if (l->fd < 0) {
		n = process_vm_readv(l->os_pid, &local, 1, &remote, 1, 0);
		if (n > 0)
			return n;
		return n < 0 ? -errno : -EFAULT;
	}
	n = pread(l->fd, buf, size, (off_t)addr);
	if (n > 0)
		return n;
	if (n == 0)
		return -ESRCH; /* the process has exited */
	return errno == EIO || errno == EINVAL ? -EFAULT : -errno;
}

static int live_read(struct mem *m, raddr addr, void *buf, size_t size)
{
	struct mem_live *l = CONTAINER_OF(m, struct mem_live, mem);

	if (addr + size < addr)
		return -EFAULT;
	while (size > 0) {
		ssize_t n = live_read_some(l, addr, buf, MIN(size, BATCH_MAX_SIZE));

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		addr += (size_t)n;
		buf = (char *)buf + n;
		size -= (size_t)n;
	}
	return 0;
}

/* Fills the arrays for one process_vm_readv() with the first ranges, up to BATCH_MAX_SIZE bytes.
 * Returns how many ranges; 0 if the first alone is too large. */
static size_t fill_batch(const struct mem_range *ranges, size_t nr, struct iovec *local,
			 struct iovec *remote)
{
	size_t total = 0, i;

	for (i = 0; i < nr && i < IOV_MAX; i++) {
		const struct mem_range *r = &ranges[i];

		if (r->size > BATCH_MAX_SIZE - total || r->addr + r->size < r->addr)
			break;
		total += r->size;
		local[i] = (struct iovec){.iov_base = r->buf, .iov_len = r->size};
		remote[i] =
			(struct iovec){.iov_base = (void *)(uintptr_t)r->addr, .iov_len = r->size};
	}
	return i;
}

/* Of a batch of ranges the first `got` bytes were read: sets err = 0 in the ranges that lie in
 * them.  Returns how many these are. */
static size_t accept_batch(struct mem_range *ranges, size_t nr, size_t got)
{
	size_t i;

	for (i = 0; i < nr && ranges[i].size <= got; i++) {
		got -= ranges[i].size;
		ranges[i].err = 0;
	}
	return i;
}

/*
 * The kernel stops at the first byte that it cannot read and returns the number of bytes before it.
 * The range of that byte has failed; the next call starts with the range behind it.
 */
static size_t live_readv(struct mem *m, struct mem_range *ranges, size_t nr)
{
	struct mem_live *l = CONTAINER_OF(m, struct mem_live, mem);
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	size_t nr_ok = 0, i = 0;
	int gone = 0;

	while (i < nr) {
		size_t batch =
			gone || l->fd >= 0 ? 0 : fill_batch(ranges + i, nr - i, local, remote);
		size_t accepted;
		ssize_t n;

		if (batch == 0) {
			struct mem_range *r = &ranges[i++];

			r->err = gone ? gone : live_read(m, r->addr, r->buf, r->size);
			nr_ok += r->err == 0;
			continue;
		}
		n = process_vm_readv(l->os_pid, local, batch, remote, batch, 0);
		if (n < 0 && errno != EFAULT) {
			gone = errno == EINTR ? 0 : -errno;
			continue;
		}
		accepted = accept_batch(ranges + i, batch, n < 0 ? 0 : (size_t)n);
		nr_ok += accepted;
		i += accepted;
		if (accepted < batch)
			ranges[i++].err = -EFAULT;
	}
	return nr_ok;
}

static void live_close(struct mem *m)
{
	struct mem_live *l = CONTAINER_OF(m, struct mem_live, mem);

	if (l->fd >= 0)
		close(l->fd);
	free(l);
}

/* 0 if process_vm_readv may read the process, else negative errno.  Reads address 0, where nothing
 * is mapped: EFAULT means that reading is permitted. */
static int probe_access(int os_pid)
{
	char byte;
	struct iovec local = {.iov_base = &byte, .iov_len = 1};
	struct iovec remote = {.iov_base = NULL, .iov_len = 1};

	if (process_vm_readv(os_pid, &local, 1, &remote, 1, 0) >= 0 || errno == EFAULT)
		return 0;
	return -errno;
}

int mem_open_live(struct mem **out, int os_pid, struct error *err)
{
	struct mem_live *l;
	char path[64];
	int code, fd = -1;

	if (os_pid <= 0)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "no process has pid %d", os_pid);
	code = probe_access(os_pid);
	if (code == -EPERM || code == -ENOSYS) {
		snprintf(path, sizeof(path), "/proc/%d/mem", os_pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			code = 0;
	}
	if (code == -ESRCH) {
		if (kill(os_pid, 0) != 0 && errno == ESRCH)
			return error_set(err, ERROR_KIND_NO_NODE, code, "no process has pid %d",
					 os_pid);
		return error_set(err, ERROR_KIND_NO_NODE, code,
				 "pid %d has no memory: a kernel thread, or it is exiting", os_pid);
	}
	if (code == -EPERM || code == -ENOSYS)
		return error_set(err, ERROR_KIND_PRIVILEGE, code,
				 "cannot read the memory of pid %d: %s. %s (see ebeam doctor)",
				 os_pid, error_text(code), privilege_fix(PRIVILEGE_MEMORY));
	if (code)
		return error_set(err, ERROR_KIND_FAILED, code,
				 "cannot read the memory of pid %d: %s", os_pid, error_text(code));
	l = xcalloc(1, sizeof(*l));
	l->mem = (struct mem){.read = live_read, .readv = live_readv, .close = live_close};
	l->os_pid = os_pid;
	l->fd = fd;
	*out = &l->mem;
	return 0;
}
