/* SPDX-License-Identifier: BSD-2-Clause */
/* See epmd.h.  The protocol: "Distribution Protocol", section EPMD, of the ERTS User's Guide. */
#include "target/epmd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/units.h"
#include "base/xalloc.h"
#include "target/proc.h"
#include "target/sockets.h"

#define NAMES_REQ	 110
#define ANSWER_MAX_SIZE	 (1 << 20)
#define ENVIRON_MAX_SIZE (4 << 20)
#define NS_PER_MS	 1000000

uint16_t epmd_port_parse(const char *environment, size_t size)
{
	static const char key[] = "ERL_EPMD_PORT=";
	size_t at = 0;

	while (at < size) {
		size_t len = strnlen(environment + at, size - at);

		if (len > strlen(key) && len < size - at &&
		    memcmp(environment + at, key, strlen(key)) == 0) {
			long port = strtol(environment + at + strlen(key), NULL, 10);

			if (port > 0 && port <= UINT16_MAX)
				return (uint16_t)port;
		}
		at += len + 1;
	}
	return EPMD_DEFAULT_PORT;
}

uint16_t epmd_port(int os_pid)
{
	size_t size;
	char *text = proc_read_file(ENVIRON_MAX_SIZE, &size, "/proc/%d/environ", os_pid);
	uint16_t port = text ? epmd_port_parse(text, size) : EPMD_DEFAULT_PORT;

	free(text);
	return port;
}

size_t epmd_names_parse(struct epmd_names *out, const char *answer, size_t size)
{
	const char *end = answer + size, *line = answer + 4;

	if (size < 4)
		return 0;
	while (line < end && out->len < EPMD_NAMES_MAX) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		struct epmd_name n;
		char text[320];

		if (!stop)
			break;
		snprintf(text, sizeof(text), "%.*s", (int)(stop - line), line);
		if (sscanf(text, "name %255s at port %hu", n.name, &n.port) == 2) {
			out->data = xrealloc(out->data, (out->len + 1) * sizeof(*out->data));
			out->data[out->len++] = n;
		}
		line = stop + 1;
	}
	return out->len;
}

/* Waits for poll() events of a socket, at most until `until_ns`: 0, -ETIMEDOUT or another
 * -errno. */
static int wait_for(int fd, short events, uint64_t until_ns)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t now = clock_monotonic_ns();
	int rc;

	if (now >= until_ns)
		return -ETIMEDOUT;
	rc = poll(&p, 1, (int)((until_ns - now) / NS_PER_MS) + 1);
	return rc < 0 ? -errno : rc == 0 ? -ETIMEDOUT : 0;
}

static int connect_to(int fd, uint16_t port, uint64_t until_ns)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
	int rc, code = 0;
	socklen_t len = sizeof(code);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	rc = wait_for(fd, POLLOUT, until_ns);
	if (!rc && getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) != 0)
		rc = -errno;
	return rc ? rc : -code;
}

/* Sends the request and reads the whole answer; epmd closes the connection behind it. */
static int ask(int fd, char *answer, size_t *size, uint64_t until_ns)
{
	static const uint8_t request[] = {0, 1, NAMES_REQ};
	int rc = 0;

	*size = 0;
	if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		return -errno;
	while (!rc && *size < ANSWER_MAX_SIZE) {
		ssize_t n;

		rc = wait_for(fd, POLLIN, until_ns);
		if (rc)
			break;
		n = recv(fd, answer + *size, ANSWER_MAX_SIZE - *size, 0);
		if (n == 0)
			break;
		if (n < 0)
			rc = errno == EINTR || errno == EAGAIN ? 0 : -errno;
		else
			*size += (size_t)n;
	}
	return rc ? rc : *size < 4 ? -EPROTO : 0;
}

int epmd_names_read(struct epmd_names *out, int os_pid, struct error *err)
{
	uint64_t until_ns = clock_monotonic_ns() + (uint64_t)EPMD_TIMEOUT_MS * NS_PER_MS;
	char *answer;
	size_t size;
	int fd, rc;

	*out = (struct epmd_names){.port = epmd_port(os_pid)};
	if (!proc_same_network(os_pid))
		return error_set(err, ERROR_KIND_FAILED, -ENETUNREACH,
				 "epmd was not asked: the node is in another network namespace");
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	rc = fd < 0 ? -errno : connect_to(fd, out->port, until_ns);
	answer = xmalloc(ANSWER_MAX_SIZE);
	if (!rc)
		rc = ask(fd, answer, &size, until_ns);
	if (!rc)
		epmd_names_parse(out, answer, size);
	free(answer);
	if (fd >= 0)
		close(fd);
	if (rc)
		return error_set(err, ERROR_KIND_FAILED, rc, "no answer from epmd at port %u: %s",
				 out->port, error_text(rc));
	return 0;
}

void epmd_names_free(struct epmd_names *n)
{
	free(n->data);
	*n = (struct epmd_names){0};
}
