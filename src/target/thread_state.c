/* SPDX-License-Identifier: BSD-2-Clause */
/* See thread_state.h. */
#include "target/thread_state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/units.h"

/* System calls in which threads of a node, its NIFs and drivers mostly block. */
#define FD(name)                                                                                   \
	{                                                                                          \
		SYS_##name, #name, true                                                            \
	}
#define OTHER(name)                                                                                \
	{                                                                                          \
		SYS_##name, #name, false                                                           \
	}
static const struct {
	int64_t number;
	const char *name;
	bool fd;
} syscalls[] = {
#ifdef SYS_open /* calls that newer architectures lack */
	OTHER(open),
	OTHER(poll),
	OTHER(select),
	OTHER(stat),
	OTHER(lstat),
	OTHER(unlink),
	OTHER(rename),
	OTHER(mkdir),
	OTHER(rmdir),
	OTHER(link),
	OTHER(symlink),
	OTHER(readlink),
	OTHER(access),
	OTHER(pause),
	OTHER(fork),
	OTHER(vfork),
	OTHER(pipe),
	FD(epoll_wait),
	FD(getdents),
#endif
	FD(read),
	FD(write),
	FD(pread64),
	FD(pwrite64),
	FD(readv),
	FD(writev),
	FD(preadv),
	FD(pwritev),
	FD(preadv2),
	FD(pwritev2),
	FD(close),
	FD(fstat),
	FD(lseek),
	FD(ioctl),
	FD(fcntl),
	FD(flock),
	FD(fsync),
	FD(fdatasync),
	FD(sync_file_range),
	FD(ftruncate),
	FD(fallocate),
	FD(getdents64),
	FD(fadvise64),
	FD(accept),
	FD(accept4),
	FD(connect),
	FD(recvfrom),
	FD(recvmsg),
	FD(recvmmsg),
	FD(sendto),
	FD(sendmsg),
	FD(sendmmsg),
	FD(shutdown),
	FD(epoll_pwait),
	FD(epoll_ctl),
	FD(splice),
	FD(tee),
	FD(vmsplice),
	FD(sendfile),
	FD(copy_file_range),
	FD(io_uring_enter),
	FD(fchmod),
	FD(fchown),
	FD(syncfs),
	OTHER(openat),
	OTHER(newfstatat),
	OTHER(statx),
	OTHER(unlinkat),
	OTHER(renameat),
	OTHER(renameat2),
	OTHER(mkdirat),
	OTHER(linkat),
	OTHER(symlinkat),
	OTHER(readlinkat),
	OTHER(faccessat),
	OTHER(futex),
	OTHER(nanosleep),
	OTHER(clock_nanosleep),
	OTHER(ppoll),
	OTHER(pselect6),
	OTHER(wait4),
	OTHER(waitid),
	OTHER(mmap),
	OTHER(munmap),
	OTHER(mremap),
	OTHER(mprotect),
	OTHER(madvise),
	OTHER(msync),
	OTHER(mlock),
	OTHER(brk),
	OTHER(socket),
	OTHER(bind),
	OTHER(sched_yield),
	OTHER(restart_syscall),
	OTHER(rt_sigtimedwait),
	OTHER(rt_sigsuspend),
	OTHER(clone),
	OTHER(execve),
	OTHER(exit),
	OTHER(exit_group),
	OTHER(kill),
	OTHER(tgkill),
	OTHER(getrandom),
	OTHER(sync),
	OTHER(mount),
	OTHER(umount2),
	OTHER(semop),
	OTHER(semtimedop),
	OTHER(msgrcv),
	OTHER(msgsnd),
	OTHER(membarrier),
};

const char *syscall_name(int64_t number, bool *fd)
{
	*fd = false;
	for (size_t i = 0; i < ARRAY_SIZE(syscalls); i++) {
		if (syscalls[i].number == number) {
			*fd = syscalls[i].fd;
			return syscalls[i].name;
		}
	}
	return NULL;
}

/* fs/proc/base.c, proc_pid_syscall(): "running", "-1 SP PC", or "NR A0 .. A5 SP PC". */
bool thread_state_parse_syscall(struct thread_state *out, const char *text)
{
	uint64_t a[8] = {0};
	int64_t nr;
	int found;

	out->where = 0;
	if (strncmp(text, "running", 7) == 0) {
		out->where = THREAD_ON_CPU;
		return true;
	}
	found = sscanf(text,
		       "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		       " %" SCNx64 " %" SCNx64 " %" SCNx64,
		       &nr, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6], &a[7]);
	if (found == 3 && nr == -1) {
		out->where = THREAD_OFF_CPU;
		out->sp = a[0];
		out->ip = a[1];
	} else if (found == 9 && nr >= 0) {
		out->where = THREAD_IN_SYSCALL;
		out->syscall = nr;
		memcpy(out->args, a, sizeof(out->args));
		out->sp = a[6];
		out->ip = a[7];
	}
	return out->where != 0;
}

/* Reads a small file of a thread, NUL terminated; false if that fails.  keep NULL: opens and closes
 * the file; else uses the descriptor *keep, after opening it if it is -1, and leaves it open. */
static bool read_small(int os_pid, int os_tid, const char *name, int *keep, char *buf, size_t size)
{
	int fd = keep ? *keep : -1;
	char path[96];
	ssize_t n;

	if (fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", os_pid, os_tid, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0)
		return false;
	n = pread(fd, buf, size - 1, 0);
	if (keep)
		*keep = fd;
	else
		close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

void thread_files_close(struct thread_files *f)
{
	if (f->syscall >= 0)
		close(f->syscall);
	if (f->schedstat >= 0)
		close(f->schedstat);
	*f = THREAD_FILES_NONE;
}

void thread_state_read_where(struct thread_state *out, int os_pid, int os_tid,
			     struct thread_files *files)
{
	char text[256];

	memset(out, 0, sizeof(*out));
	out->at_ns = clock_monotonic_ns();
	out->has_times = read_small(os_pid, os_tid, "schedstat", files ? &files->schedstat : NULL,
				    text, sizeof(text)) &&
			 proc_thread_times_parse(&out->times, text) == 0;
	if (read_small(os_pid, os_tid, "syscall", files ? &files->syscall : NULL, text,
		       sizeof(text)))
		thread_state_parse_syscall(out, text);
}

void thread_state_read(struct thread_state *out, int os_pid, int os_tid)
{
	struct proc_stat stat;
	char text[1024];

	thread_state_read_where(out, os_pid, os_tid, NULL);
	if (read_small(os_pid, os_tid, "stat", NULL, text, sizeof(text)) &&
	    proc_stat_parse(&stat, text) == 0)
		out->state = stat.state;
	/* The text "0" means that the thread runs, or that the kernel hides the function. */
	if (read_small(os_pid, os_tid, "wchan", NULL, text, sizeof(text)) && strcmp(text, "0") != 0)
		snprintf(out->wchan, sizeof(out->wchan), "%.*s", (int)sizeof(out->wchan) - 1, text);
}

bool thread_state_stood(const struct thread_state *a, const struct thread_state *b)
{
	return a->ip && a->ip == b->ip && a->sp == b->sp && a->where == b->where && a->has_times &&
	       b->has_times && a->times.cpu_ns == b->times.cpu_ns;
}

bool syscall_is_futex_wait(int64_t number, uint64_t operation)
{
	if (number != SYS_futex)
		return false;
	switch ((uint32_t)operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		return true;
	default:
		return false;
	}
}
