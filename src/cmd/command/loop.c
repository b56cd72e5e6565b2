/* SPDX-License-Identifier: BSD-2-Clause */
/* See loop.h. */
#include "cmd/command/loop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "cmd/command/signals.h"
#include "target/proc.h"

#define LOOP_EVENTS 16 /* events taken from the kernel at once */

#define PID_CHECK_NS 200000000u /* interval of exit checks without a pidfd */

/* A descriptor in the epoll set. */
struct watch {
	struct watch *next;
	int fd;
	bool owned;	   /* closed with the loop */
	bool timer;	   /* a timerfd, which has to be read */
	bool signal;	   /* a signalfd, likewise */
	int os_pid;	   /* the timer checks whether that process has exited; 0 = none */
	enum loop_end end; /* why a readable fd ends the loop; 0 = it calls fn */
	int (*fn)(void *ctx, struct error *err);
	void *ctx;
};

struct loop {
	int epoll_fd;
	struct watch *watches;
	sigset_t blocked; /* by loop_add_signal() */
};

static int system_error(struct error *err, const char *what)
{
	return error_set(err, ERROR_KIND_FAILED, -errno, "event loop: %s: %s", what,
			 error_text(errno));
}

/* Adds a copy of *proto to the epoll set, and stores it in *out (NULL ok).  An owned fd is closed
 * on failure. */
static int add(struct loop *l, const struct watch *proto, struct watch **out, struct error *err)
{
	struct watch *w = xmalloc(sizeof(*w));
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};

	*w = *proto;
	if (epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev) != 0) {
		int rc = system_error(err, "epoll_ctl");

		if (w->owned)
			close(w->fd);
		free(w);
		return rc;
	}
	w->next = l->watches;
	l->watches = w;
	if (out)
		*out = w;
	return 0;
}

int loop_open(struct loop **out, struct error *err)
{
	struct loop *l = xcalloc(1, sizeof(*l));
	struct watch signals = {.end = LOOP_END_SIGNAL};
	int rc;

	*out = NULL;
	sigemptyset(&l->blocked);
	l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epoll_fd < 0) {
		rc = system_error(err, "epoll_create1");
		goto failed;
	}
	rc = signals.fd = signals_catch(err);
	if (rc < 0)
		goto failed;
	rc = add(l, &signals, NULL, err);
	if (rc)
		goto failed;
	*out = l;
	return 0;
failed:
	loop_close(l);
	return rc;
}

void loop_close(struct loop *l)
{
	if (!l)
		return;
	while (l->watches) {
		struct watch *w = l->watches;

		l->watches = w->next;
		if (w->owned)
			close(w->fd);
		free(w);
	}
	pthread_sigmask(SIG_UNBLOCK, &l->blocked, NULL);
	if (l->epoll_fd >= 0)
		close(l->epoll_fd);
	free(l);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

/* Sets a timerfd; period_ns 0: it expires once. */
static int set_timer(int fd, int flags, uint64_t first_ns, uint64_t period_ns)
{
	struct itimerspec spec = {.it_value = timespec_of(first_ns),
				  .it_interval = timespec_of(period_ns)};

	return timerfd_settime(fd, flags, &spec, NULL);
}

/* Adds a timerfd; first_ns 0: it is not armed. */
static int add_timerfd(struct loop *l, struct watch *w, uint64_t first_ns, uint64_t period_ns,
		       struct watch **out, struct error *err)
{
	w->owned = true;
	w->timer = true;
	w->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->fd < 0)
		return system_error(err, "timerfd_create");
	if (set_timer(w->fd, 0, first_ns, period_ns) != 0) {
		int rc = system_error(err, "timerfd_settime");

		close(w->fd);
		return rc;
	}
	return add(l, w, out, err);
}

int loop_add_timer(struct loop *l, uint64_t period_ns, int (*fn)(void *ctx, struct error *err),
		   void *ctx, struct error *err)
{
	struct watch w = {.fn = fn, .ctx = ctx};

	return add_timerfd(l, &w, period_ns, period_ns, NULL, err);
}

int loop_add_alarm(struct loop *l, struct loop_alarm **out, int (*fn)(void *ctx, struct error *err),
		   void *ctx, struct error *err)
{
	struct watch w = {.fn = fn, .ctx = ctx}, *added = NULL;
	int rc = add_timerfd(l, &w, 0, 0, &added, err);

	*out = (struct loop_alarm *)added;
	return rc;
}

void loop_set_alarm(struct loop_alarm *a, uint64_t first_ns, uint64_t period_ns)
{
	/* 0 would disarm the timerfd. */
	set_timer(((struct watch *)a)->fd, TFD_TIMER_ABSTIME, first_ns ? first_ns : 1, period_ns);
}

int loop_add_fd(struct loop *l, int fd, int (*fn)(void *ctx, struct error *err), void *ctx,
		struct error *err)
{
	struct watch w = {.fd = fd, .fn = fn, .ctx = ctx};

	return add(l, &w, NULL, err);
}

int loop_add_signal(struct loop *l, int signo, int (*fn)(void *ctx, struct error *err), void *ctx,
		    struct error *err)
{
	struct watch w = {.fn = fn, .ctx = ctx, .owned = true, .signal = true};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	w.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w.fd < 0)
		return system_error(err, "signalfd");
	sigaddset(&l->blocked, signo);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return add(l, &w, NULL, err);
}

int loop_set_deadline(struct loop *l, uint64_t ns, struct error *err)
{
	struct watch w = {.end = LOOP_END_DEADLINE};

	/* 0 would disarm the timerfd. */
	return add_timerfd(l, &w, ns ? ns : 1, 0, NULL, err);
}

int loop_watch_pid(struct loop *l, int os_pid, struct error *err)
{
	struct watch w = {.owned = true, .end = LOOP_END_EXITED};

	/* By syscall(2), as glibc has pidfd_open() only since 2.36. */
	w.fd = (int)syscall(SYS_pidfd_open, os_pid, 0);
	if (w.fd < 0 && errno == ESRCH)
		return error_set(err, ERROR_KIND_NO_NODE, -ESRCH, "process %d has exited", os_pid);
	if (w.fd >= 0)
		return add(l, &w, NULL, err);
	/* A kernel before 5.3, or a seccomp filter, has no pidfd_open(2). */
	w = (struct watch){.os_pid = os_pid};
	return add_timerfd(l, &w, PID_CHECK_NS, PID_CHECK_NS, NULL, err);
}

static bool has_exited(int os_pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, os_pid, NULL) != 0 || stat.state == 'Z' || stat.state == 'X';
}

/* Handles a readable descriptor.  0; positive = ends the loop; negative errno of the callback. */
static int handle(struct watch *w, struct error *err)
{
	struct signalfd_siginfo info;
	uint64_t expirations;
	int rc;

	/* The descriptor is not read, so that loop_run() sees it, too, if this is loop_poll(). */
	if (w->end)
		return (int)w->end;
	if (w->timer && read(w->fd, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
		return 0;
	if (w->os_pid)
		return has_exited(w->os_pid) ? LOOP_END_EXITED : 0;
	if (w->signal && read(w->fd, &info, sizeof(info)) < 0 && errno == EAGAIN)
		return 0;
	rc = w->fn(w->ctx, err);
	return rc > 0 ? LOOP_END_STOPPED : rc;
}

/* Waits once, and handles all that is due; 0 = the loop goes on. */
static int step(struct loop *l, int timeout_ms, struct error *err)
{
	struct epoll_event events[LOOP_EVENTS];
	int end = 0, nr = epoll_wait(l->epoll_fd, events, LOOP_EVENTS, timeout_ms);

	if (nr < 0 && errno == EINTR)
		return 0;
	if (nr < 0)
		return system_error(err, "epoll_wait");
	for (int i = 0; i < nr; i++) {
		int rc = handle(events[i].data.ptr, err);

		if (rc < 0)
			return rc;
		if (rc)
			end = end ? MIN(end, rc) : rc;
	}
	return end;
}

int loop_run(struct loop *l, struct error *err)
{
	int end;

	do
		end = step(l, -1, err);
	while (end == 0);
	return end;
}

int loop_poll(struct loop *l, struct error *err)
{
	return step(l, 0, err);
}
