/* SPDX-License-Identifier: BSD-2-Clause */
/* See tty.h. */
#include "view/screen/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"

/* Global, as a signal handler has no argument. */
static struct {
	atomic_bool active;
	int fd;
	struct termios before;
	char leave[256];
	size_t leave_len;
} remembered;

void tty_remember(const struct tty *tty, const char *leave)
{
	static bool registered;

	atomic_store(&remembered.active, false);
	remembered.leave_len = MIN(strlen(leave), sizeof(remembered.leave));
	memcpy(remembered.leave, leave, remembered.leave_len);
	remembered.fd = tty->fd;
	remembered.before = tty->before;
	if (!registered)
		atexit(tty_restore);
	registered = true;
	atomic_store(&remembered.active, true);
}

bool tty_remembered(void)
{
	return atomic_load(&remembered.active);
}

void tty_forget(void)
{
	atomic_store(&remembered.active, false);
}

void tty_restore(void)
{
	ssize_t written;

	if (!atomic_exchange(&remembered.active, false))
		return;
	written = write(remembered.fd, remembered.leave, remembered.leave_len);
	UNUSED(written); /* nothing can be done about an error */
	tcsetattr(remembered.fd, TCSANOW, &remembered.before);
}

/* A descriptor of the same terminal that does not block. */
static int open_own(int fd)
{
	char path[40];
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	/* A terminal of another user cannot be opened: writes to a duplicate of fd may block. */
	return own >= 0 ? own : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int tty_open(struct tty *tty, int fd, struct error *err)
{
	*tty = (struct tty){.fd = -1, .out = STRBUF_INIT};
	if (!isatty(fd))
		return error_set(err, ERROR_KIND_FAILED, -ENOTTY, "not a terminal");
	tty->fd = open_own(fd);
	if (tty->fd < 0 || tcgetattr(tty->fd, &tty->before) != 0)
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot open the terminal: %s",
				 error_text(errno));
	tty->during = tty->before;
	return 0;
}

void tty_close(struct tty *tty)
{
	strbuf_free(&tty->out);
	if (tty->fd >= 0)
		close(tty->fd);
	tty->fd = -1;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void tty_send(struct tty *tty, int wait_ms)
{
	int64_t until = now_ms() + wait_ms;

	while (tty->sent < tty->out.len && !tty->gone) {
		struct pollfd p = {.fd = tty->fd, .events = POLLOUT};
		ssize_t n = write(tty->fd, tty->out.buf + tty->sent, tty->out.len - tty->sent);
		int64_t left = until - now_ms();

		if (n > 0) {
			tty->sent += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			tty->gone = true;
			break;
		}
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return;
	}
	strbuf_reset(&tty->out);
	tty->sent = 0;
}

bool tty_pending(const struct tty *tty)
{
	return tty->sent < tty->out.len;
}

bool tty_is_gone(struct tty *tty)
{
	struct pollfd p = {.fd = tty->fd, .events = POLLIN};

	if (poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP | POLLNVAL)))
		tty->gone = true;
	return tty->gone;
}
