/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See signals.h.  The handler only uses async-signal-safe functions and atomic state.  A signalfd
 * would not work for the second signal, which must end the program even if no loop reads it.
 */
#include "cmd/command/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

#define SIGNALS_FILES 8 /* a command writes one file, sometimes two */

static struct {
	_Atomic(const char *) path;
	atomic_bool keep_at_exit;
} files[SIGNALS_FILES];

static atomic_int wake_fd = -1;	       /* -1 until signals_catch() */
static _Atomic(signals_fn *) put_back; /* set by signals_before_end(); NULL = none */
static _Atomic uint64_t first_signal;  /* CLOCK_MONOTONIC ns, 0 = none yet */

static void remove_files(bool at_exit)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *path = atomic_load(&files[i].path);

		if (path && !(at_exit && atomic_load(&files[i].keep_at_exit)))
			unlink(path);
	}
}

static void remove_files_at_exit(void)
{
	remove_files(true);
}

static void on_signal(int signo)
{
	int saved_errno = errno, fd = atomic_load(&wake_fd);
	uint64_t now, first = 0, one = 1;
	struct timespec ts;
	signals_fn *fn;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (fd >= 0 && atomic_compare_exchange_strong(&first_signal, &first, now)) {
		ssize_t written = write(fd, &one, sizeof(one));

		UNUSED(written); /* cannot fail: the eventfd's value is 0 */
		errno = saved_errno;
		return;
	}
	if (fd >= 0 && now - first <= SIGNALS_SAME_NS) {
		errno = saved_errno;
		return;
	}
	remove_files(false);
	fn = atomic_load(&put_back);
	if (fn)
		fn();
	_exit(128 + signo);
}

void signals_setup(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGINT);
	sigaddset(&sa.sa_mask, SIGTERM);
	sigaddset(&sa.sa_mask, SIGHUP);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	/* An ignored SIGHUP (nohup(1)) stays ignored.  SIGINT is ignored in any command that a
	 * script starts in the background, which must still end well at `kill -INT`. */
	if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &sa, NULL);
	/* SIGPIPE and SIGXFSZ become errors of write(2): these are reported, and files removed. */
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	sigaction(SIGXFSZ, &sa, NULL);
	atexit(remove_files_at_exit);
}

int signals_catch(struct error *err)
{
	int fd = atomic_load(&wake_fd);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot make an eventfd: %s",
				 error_text(errno));
	atomic_store(&wake_fd, fd);
	return fd;
}

void signals_before_end(signals_fn *fn)
{
	atomic_store(&put_back, fn);
}

int signals_remove_file(const char *path, bool keep_at_exit)
{
	for (int i = 0; i < SIGNALS_FILES; i++) {
		if (!atomic_load(&files[i].path)) {
			atomic_store(&files[i].keep_at_exit, keep_at_exit);
			atomic_store(&files[i].path, path);
			return i;
		}
	}
	return -EMFILE;
}

void signals_release_file(int slot)
{
	if (slot >= 0)
		atomic_store(&files[slot].path, NULL);
}
