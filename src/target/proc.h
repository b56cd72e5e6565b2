/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts from /proc about one process.  The parsers take text, so that they can be tested without a
 * process; the proc_read_* functions read the files.  All paths start with /proc/PID, so that other
 * mount namespaces, chroots and deleted executables need no special case.
 */
#ifndef EBEAM_TARGET_PROC_H
#define EBEAM_TARGET_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "target/mem.h"

struct proc_map {
	raddr start, end;
	uint64_t offset;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	bool r, w, x, shared;
	char *path; /* "" for anonymous; " (deleted)" removed, see deleted */
	bool deleted;
};

struct proc_maps {
	struct proc_map *data; /* sorted by start */
	size_t len;
};

/* Parses a line "START-END PERM OFFSET MAJOR:MINOR INODE   PATH" without its newline; false: it is
 * none.  map->path is malloc'ed. */
bool proc_map_parse(struct proc_map *map, const char *line, size_t len);
int proc_maps_parse(struct proc_maps *out, const char *text, size_t len);
int proc_maps_read(struct proc_maps *out, int os_pid, struct error *err);
void proc_maps_free(struct proc_maps *maps);
const struct proc_map *proc_maps_find(const struct proc_maps *maps, raddr addr); /* NULL = none */

struct proc_thread {
	int os_tid;
	char name[16];
};

/* Threads of a process; *out is malloc'ed.  Returns their number or negative errno. */
ssize_t proc_threads_read(struct proc_thread **out, int os_pid, struct error *err);

/* Time that a thread has run since it started, and time that it was runnable but did not run. */
struct proc_thread_times {
	uint64_t cpu_ns, wait_ns;
};
int proc_thread_times_parse(struct proc_thread_times *out, const char *text);
/* 0 or negative errno: the thread has exited, or the kernel lacks CONFIG_SCHED_INFO. */
int proc_thread_times_read(struct proc_thread_times *out, int os_pid, int os_tid);

struct proc_stat {
	char comm[64];
	char state;
	bool kernel_thread;
	uint64_t start_ticks; /* since boot, in clock ticks */
	uint64_t utime_ticks, stime_ticks;
	uint64_t rss;	     /* bytes in memory */
	uint64_t start_code; /* an address in the executable's code; 0 or 1 = hidden */
};
/* Stopped by SIGSTOP or by a tracer. */
static inline bool proc_stat_stopped(const struct proc_stat *s)
{
	return s->state == 'T' || s->state == 't';
}
int proc_stat_parse(struct proc_stat *out, const char *text);
int proc_stat_read(struct proc_stat *out, int os_pid, struct error *err);
/* False also if the process has exited. */
bool proc_is_stopped(int os_pid);

/* Seconds since the process started; negative errno on failure. */
int64_t proc_uptime_s(int os_pid);

/* Link text of /proc/PID/exe without " (deleted)"; *deleted may be NULL.  0 or negative errno. */
int proc_exe(int os_pid, char *buf, size_t size, bool *deleted);

/* All pids of the host that ebeam can see; *out is malloc'ed; their number or negative errno. */
ssize_t proc_list(int **out, struct error *err);

/* The container that a process runs in (docker, containerd, podman, lxc, nspawn, kubernetes);
 * unknown fields are "". */
struct proc_container {
	char id[65];	  /* the first 12 hex digits; for lxc and nspawn the name */
	char long_id[65]; /* the whole id, 64 hex digits */
	char name[64];	  /* name that the container runtime has for it */
	char pod[40];	  /* UID of the kubernetes pod */
};
/* Parses the text of /proc/PID/cgroup; sets all fields but `name`. */
void proc_container_parse(struct proc_container *out, const char *cgroup_text);
/* Searches the name in files of docker, containerd, cri-o and podman below `root`. */
void proc_container_find_name(struct proc_container *c, const char *root);
void proc_container(struct proc_container *out, int os_pid);

/* True if ebeam runs in the initial PID namespace (pids in BPF programs are of that namespace). */
bool proc_in_initial_pid_namespace(void);

/* Whole text file, NUL terminated, at most `max` bytes; malloc'ed; NULL with errno set.  `len` may
 * be NULL. */
char *proc_read_file(size_t max, size_t *len, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

/* The kernel's name of a thread, "" if the thread is gone. */
void proc_thread_name(int os_pid, int os_tid, char *buf, size_t size);

/* The thread that its own PID namespace numbers `inner_tid`; 0 = there is none; or negative errno:
 * not known, as a thread could not be asked. */
int proc_thread_of_inner(int os_pid, int inner_tid);

#endif
