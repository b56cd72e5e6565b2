/* SPDX-License-Identifier: BSD-2-Clause */
/* See node.h: titles of nodes, whether they still run, and errors that name them. */
#include "beam/node/node.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "base/units.h"
#include "target/core.h"
#include "target/proc.h"

#define TITLE_SIZE 32 /* "pid 4711" */

bool beam_node_exits(const struct beam_node *n, int timeout_ms)
{
	struct pollfd ended = {.fd = n->pidfd, .events = POLLIN};

	if (n->core)
		return false;
	if (n->pidfd >= 0)
		return poll(&ended, 1, timeout_ms) != 0;
	/* Kernels before 5.3 have no pidfds, or a seccomp filter forbids them. */
	poll(NULL, 0, timeout_ms);
	return kill(n->os_pid, 0) != 0 && errno != EPERM;
}

bool beam_node_is_there(const struct beam_node *n)
{
	return !beam_node_exits(n, 0);
}

const char *beam_node_title(const struct beam_node *n, char *buf, size_t size)
{
	if (n->core)
		return core_file_facts(n->core)->path;
	snprintf(buf, size, "pid %d", n->os_pid);
	return buf;
}

int beam_node_unreadable(const struct beam_node *n, const char *what, int rc, struct error *err)
{
	char title[TITLE_SIZE];

	if (rc == -ESRCH && !n->core)
		return error_set(err, ERROR_KIND_NO_NODE, rc, "the node (pid %d) has exited",
				 n->os_pid);
	return error_set(err, ERROR_KIND_FAILED, rc, "cannot read the %s of %s: %s", what,
			 beam_node_title(n, title, sizeof(title)), error_text(rc));
}

int beam_node_lacks(const struct beam_node *n, const char *what, struct error *err)
{
	char title[TITLE_SIZE];

	return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP,
			 "%s: cannot find the %s of this OTP %s build (see ebeam doctor with the "
			 "same options)",
			 beam_node_title(n, title, sizeof(title)), what, n->identity.otp_text);
}

const char *beam_node_process(const struct beam_node *n, char *buf, size_t size)
{
	char uptime[32], rss[32];
	struct proc_stat stat;
	int64_t uptime_s = n->core ? -1 : proc_uptime_s(n->os_pid);

	buf[0] = '\0';
	if (uptime_s >= 0 && proc_stat_read(&stat, n->os_pid, NULL) == 0)
		snprintf(buf, size, "up %s, %s in memory",
			 units_format_uptime((uint64_t)uptime_s, uptime, sizeof(uptime)),
			 units_format_bytes(stat.rss, rss, sizeof(rss)));
	return buf;
}

const char *beam_node_unsupported(const struct beam_node *n)
{
	return n->unsupported[0] ? n->unsupported : NULL;
}

char *beam_node_refusal(const struct beam_node *n, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s", n->unsupported, n->fix ? ". What would help: " : "",
		 n->fix ? n->fix : "");
	return buf;
}
