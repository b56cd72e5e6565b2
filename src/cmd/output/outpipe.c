/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See outpipe.h.  O_NONBLOCK would affect all processes that share the pipe or terminal.  Instead
 * poll(2) is called first: after POLLOUT a pipe takes PIPE_BUF bytes without blocking.
 */
#include "cmd/output/outpipe.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/xalloc.h"

#define FULL_SIZE   (1u << 20) /* bytes from which on outpipe_full() is true */
#define BUFFER_SIZE 65536u     /* of the FILE that callers write to */

struct outpipe {
	FILE *target, *front;
	struct strbuf waiting;
	size_t at; /* bytes of `waiting` that are written */
	bool regular;
	int err; /* negative errno of the target */
};

/* Writes once; may block only if `wait`.  False: nothing more can be written now. */
static bool write_some(struct outpipe *o, bool wait)
{
	struct pollfd fd = {.fd = fileno(o->target), .events = POLLOUT};
	size_t left = o->waiting.len - o->at;
	ssize_t written;

	if (!left || o->err)
		return false;
	if (!o->regular && !wait) {
		if (poll(&fd, 1, 0) <= 0)
			return false;
		left = MIN(left, (size_t)PIPE_BUF);
	}
	written = write(fd.fd, o->waiting.buf + o->at, left);
	if (written < 0 && errno == EAGAIN && wait) {
		poll(&fd, 1, -1); /* another process made it non-blocking */
		return true;
	}
	if (written < 0) {
		if (errno == EINTR)
			return true;
		if (errno != EAGAIN)
			o->err = -errno;
		return false;
	}
	o->at += (size_t)written;
	return true;
}

static void write_all(struct outpipe *o, bool wait)
{
	while (write_some(o, wait))
		continue;
	if (o->at == o->waiting.len) {
		strbuf_reset(&o->waiting);
		o->at = 0;
	}
}

static ssize_t take(void *cookie, const char *data, size_t size)
{
	struct outpipe *o = cookie;

	if (!o->err) {
		/* Drops written bytes before the buffer grows. */
		if (o->at > FULL_SIZE) {
			memmove(o->waiting.buf, o->waiting.buf + o->at, o->waiting.len - o->at);
			o->waiting.len -= o->at;
			o->at = 0;
		}
		strbuf_add(&o->waiting, data, size);
		write_all(o, false);
	}
	if (o->err) {
		errno = -o->err;
		return 0; /* fewer bytes than given: how stdio learns of an error */
	}
	return (ssize_t)size;
}

int outpipe_open(struct outpipe **out, FILE *target, struct error *err)
{
	cookie_io_functions_t functions = {.write = take};
	struct outpipe *o = xcalloc(1, sizeof(*o));
	struct stat st;

	*out = NULL;
	o->target = target;
	strbuf_init(&o->waiting);
	o->regular = fstat(fileno(target), &st) == 0 && S_ISREG(st.st_mode);
	fflush(target);
	o->front = fopencookie(o, "w", functions);
	if (!o->front) {
		free(o);
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM, "out of memory");
	}
	setvbuf(o->front, NULL, _IOFBF, BUFFER_SIZE);
	*out = o;
	return 0;
}

void outpipe_close(struct outpipe *o)
{
	if (!o)
		return;
	o->err = o->err ? o->err : -ECANCELED; /* so that fclose() writes nothing */
	fclose(o->front);
	strbuf_free(&o->waiting);
	free(o);
}

FILE *outpipe_file(struct outpipe *o)
{
	return o->front;
}

bool outpipe_full(struct outpipe *o)
{
	fflush(o->front);
	write_all(o, false);
	return o->waiting.len - o->at > FULL_SIZE;
}

bool outpipe_waits(struct outpipe *o)
{
	fflush(o->front);
	write_all(o, false);
	return !o->err && o->waiting.len > o->at;
}

int outpipe_error(struct outpipe *o)
{
	fflush(o->front);
	return o->err;
}

int outpipe_finish(struct outpipe *o)
{
	fflush(o->front);
	write_all(o, true);
	return o->err;
}
