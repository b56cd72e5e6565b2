/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of /proc/PID other than maps and cgroup: reading them whole, stat, threads, the
 * executable, namespaces, the list of processes.  See proc.h; proc_maps.c and proc_container.c
 * hold the two larger parsers.
 */
#include "target/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "target/proc_internal.h"

/* PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h: a part of the ABI, which CRIU and
 * util-linux use. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

#define STAT_MAX_SIZE	4096
#define STATUS_MAX_SIZE 65536
#define MAX_TASKS	(1 << 22) /* the kernel's own limit of pids (PID_MAX_LIMIT) */

char *proc_read_file(size_t max, size_t *len, const char *path, ...)
{
	char name[PATH_MAX + 256], *buf;
	size_t used = 0, alloc = 4096;
	int fd, saved;
	va_list ap;
	ssize_t n;

	va_start(ap, path);
	vsnprintf(name, sizeof(name), path, ap);
	va_end(ap);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	buf = xmalloc(alloc);
	while ((n = read(fd, buf + used, alloc - 1 - used)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			goto fail;
		used += (size_t)n;
		if (used > max) {
			errno = EFBIG;
			goto fail;
		}
		if (used == alloc - 1) {
			alloc *= 2;
			buf = xrealloc(buf, alloc);
		}
	}
	close(fd);
	buf[used] = '\0';
	if (len)
		*len = used;
	return buf;
fail:
	saved = errno;
	close(fd);
	free(buf);
	errno = saved;
	return NULL;
}

int proc_error(struct error *err, int os_pid, const char *what, int code)
{
	if (code == -ENOENT || code == -ESRCH)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "no process has pid %d", os_pid);
	if (code == -EACCES || code == -EPERM)
		return error_set(err, ERROR_KIND_PRIVILEGE, code,
				 "cannot read /proc/%d/%s: %s. Run as root, or grant "
				 "CAP_SYS_PTRACE (see ebeam doctor)",
				 os_pid, what, error_text(code));
	return error_set(err, ERROR_KIND_FAILED, code, "cannot read /proc/%d/%s: %s", os_pid, what,
			 error_text(code));
}

/* All numeric names in a directory of /proc.  Returns 0 or negative errno. */
static int read_numeric_dir(const char *path, int **out, size_t *nr)
{
	VEC(int) ids = {0};
	DIR *dir = opendir(path);
	struct dirent *d;

	if (!dir)
		return -errno;
	while ((d = readdir(dir)) && ids.len < MAX_TASKS) {
		char *end;
		long id;

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		id = strtol(d->d_name, &end, 10);
		if (*end == '\0' && id > 0 && id <= INT_MAX)
			vec_push(&ids, (int)id);
	}
	closedir(dir);
	*out = ids.data;
	*nr = ids.len;
	return 0;
}

ssize_t proc_list(int **out, struct error *err)
{
	size_t nr;
	int code = read_numeric_dir("/proc", out, &nr);

	if (code)
		return error_set(err, ERROR_KIND_FAILED, code, "cannot read /proc: %s",
				 error_text(code));
	return (ssize_t)nr;
}

void proc_thread_name(int os_pid, int os_tid, char *buf, size_t size)
{
	char *text = proc_read_file(64, NULL, "/proc/%d/task/%d/comm", os_pid, os_tid);

	snprintf(buf, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
	free(text);
}

ssize_t proc_threads_read(struct proc_thread **out, int os_pid, struct error *err)
{
	struct proc_thread *threads;
	char path[64];
	size_t nr;
	int *ids, code;

	snprintf(path, sizeof(path), "/proc/%d/task", os_pid);
	code = read_numeric_dir(path, &ids, &nr);
	if (code)
		return proc_error(err, os_pid, "task", code);
	threads = xcalloc(nr, sizeof(*threads));
	for (size_t i = 0; i < nr; i++) {
		threads[i].os_tid = ids[i];
		proc_thread_name(os_pid, ids[i], threads[i].name, sizeof(threads[i].name));
	}
	free(ids);
	*out = threads;
	return (ssize_t)nr;
}

/* Number of a thread in its own PID namespace, the last one of NSpid; 0 = the thread has ended, or
 * negative errno. */
static int inner_tid_of(int os_pid, int os_tid)
{
	char *text = proc_read_file(65536, NULL, "/proc/%d/task/%d/status", os_pid, os_tid);
	const char *line = text ? strstr(text, "\nNSpid:") : NULL;
	int tid = 0;

	if (!text)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	for (char *end; line && (line = strpbrk(line + 1, "\t\n")) && *line == '\t';)
		tid = (int)strtol(line + 1, &end, 10);
	free(text);
	return tid > 0 ? tid : -ENODATA;
}

int proc_thread_of_inner(int os_pid, int inner_tid)
{
	char path[64];
	size_t nr;
	int *ids, found = 0, unknown, rc;

	if (inner_tid_of(os_pid, inner_tid) == inner_tid)
		return inner_tid;
	snprintf(path, sizeof(path), "/proc/%d/task", os_pid);
	rc = read_numeric_dir(path, &ids, &nr);
	if (rc)
		return rc;
	unknown = nr ? 0 : -ESRCH; /* the process has ended meanwhile */
	for (size_t i = 0; i < nr && !found; i++) {
		int tid = inner_tid_of(os_pid, ids[i]);

		if (tid == inner_tid)
			found = ids[i];
		else if (tid < 0)
			unknown = tid;
	}
	free(ids);
	return found ? found : unknown;
}

/* "PID (COMM) S ...": the name COMM may have spaces and parentheses, so the last ')' ends it. */
int proc_stat_parse(struct proc_stat *out, const char *text)
{
	/* PF_KTHREAD, include/linux/sched.h of Linux 2.6.30 and later */
	const unsigned int kernel_thread = 0x00200000;
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	unsigned long long utime, stime, start, start_code = 0;
	unsigned int flags;
	long long rss = 0;
	size_t len;
	char state;

	memset(out, 0, sizeof(*out));
	if (!open || !close || close < open)
		return -EINVAL;
	/* proc(5): 3 state, 9 flags, 14 utime, 15 stime, 22 starttime, 24 rss, 26 startcode. */
	if (sscanf(close + 1,
		   " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
		   "%llu %*u %lld %*u %llu",
		   &state, &flags, &utime, &stime, &start, &rss, &start_code) < 5)
		return -EINVAL;
	len = MIN((size_t)(close - open - 1), sizeof(out->comm) - 1);
	memcpy(out->comm, open + 1, len);
	out->state = state;
	out->kernel_thread = flags & kernel_thread;
	out->utime_ticks = utime;
	out->stime_ticks = stime;
	out->start_ticks = start;
	out->rss = rss > 0 ? (uint64_t)rss * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	out->start_code = start_code;
	return 0;
}

/* Reads /proc/PID/`what`, which has the format of stat. */
static int read_stat(struct proc_stat *out, int os_pid, const char *what, struct error *err)
{
	char *text = proc_read_file(STAT_MAX_SIZE, NULL, "/proc/%d/%s", os_pid, what);
	int code;

	if (!text)
		return proc_error(err, os_pid, what, -errno);
	code = proc_stat_parse(out, text);
	free(text);
	if (code)
		return proc_error(err, os_pid, what, code);
	return 0;
}

int proc_stat_read(struct proc_stat *out, int os_pid, struct error *err)
{
	return read_stat(out, os_pid, "stat", err);
}

bool proc_is_stopped(int os_pid)
{
	struct error ignored;
	struct proc_stat s;

	return proc_stat_read(&s, os_pid, &ignored) == 0 && proc_stat_stopped(&s);
}

/* "RUN WAIT SLICES", file schedstat, Documentation/scheduler/sched-stats.rst */
int proc_thread_times_parse(struct proc_thread_times *out, const char *text)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64, &out->cpu_ns, &out->wait_ns) == 2 ? 0 : -EINVAL;
}

int proc_thread_times_read(struct proc_thread_times *out, int os_pid, int os_tid)
{
	char path[64], text[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", os_pid, os_tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return n < 0 ? -errno : -ENODATA;
	text[n] = '\0';
	return proc_thread_times_parse(out, text);
}

int64_t proc_uptime_s(int os_pid)
{
	long hz = sysconf(_SC_CLK_TCK);
	struct proc_stat stat;
	struct timespec now;
	int64_t since_boot_s;
	int code = proc_stat_read(&stat, os_pid, NULL);

	if (code)
		return code;
	if (hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return -EIO;
	since_boot_s = (int64_t)(stat.start_ticks / (uint64_t)hz);
	return MAX(now.tv_sec - since_boot_s, 0);
}

bool proc_cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(path), mark_len = sizeof(mark) - 1;

	if (len < mark_len || strcmp(path + len - mark_len, mark) != 0)
		return false;
	path[len - mark_len] = '\0';
	return true;
}

int proc_exe(int os_pid, char *buf, size_t size, bool *deleted)
{
	char path[64];
	bool cut;
	ssize_t n;

	if (size == 0)
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/%d/exe", os_pid);
	n = readlink(path, buf, size);
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	cut = proc_cut_deleted(buf);
	if (deleted)
		*deleted = cut;
	return 0;
}

bool proc_in_initial_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == INITIAL_PID_NAMESPACE;
}
