/* SPDX-License-Identifier: BSD-2-Clause */
/* Sampling of all CPUs; see session_internal.h.  The perf event of a CPU ends when the CPU goes
 * off line, and stays ended when the CPU comes back, which the kernel reports by a uevent. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "probe/kernel/perf.h"
#include "probe/session/programs.h"
#include "probe/session/session_internal.h"

/* Opens a socket for uevents of the kernel.  Some containers do not get them: then CPUs that come
 * on line later are not sampled. */
static int open_messages(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Number of the CPU that has come on line by this uevent; -1 = the uevent is about something
 * else. */
static int came_on_line(const char *message)
{
	int cpu, used = 0;

	return sscanf(message, "online@/devices/system/cpu/cpu%d%n", &cpu, &used) == 1 &&
			       message[used] == '\0'
		       ? cpu
		       : -1;
}

static int sample_cpu(struct session *s, struct sampled_cpu *c)
{
	struct perf_event_attr attr = perf_cpu_clock(s->config.freq);
	int rc, fd;

	if (s->sample_weight > 1) {
		attr.freq = 0;
		attr.sample_period = 1000000000ull / s->config.freq * s->sample_weight;
	}
	bpf_link__destroy(c->link);
	c->link = NULL;
	fd = perf_open(&attr, -1, c->cpu);
	if (fd < 0)
		return fd;
	/* The link owns the descriptor from here on; this also enables the event. */
	c->link = bpf_program__attach_perf_event(s->skel->progs.sample_cpu, fd);
	if (c->link)
		return 0;
	rc = -errno;
	close(fd);
	return rc;
}

int session_sample_cpus(struct session *s)
{
	if (!s->config.freq || (s->config.off_cpu && !s->config.futexes))
		return 0;
	s->cpu_messages = open_messages();
	for (int cpu = 0; cpu < s->nr_cpus; cpu++) {
		struct sampled_cpu c = {.cpu = cpu};
		int rc = s->online[cpu] ? sample_cpu(s, &c) : 0;

		vec_push(&s->cpus, c);
		if (rc && rc != -ENODEV) /* it went off line since s->online was read */
			return rc;
	}
	return 0;
}

/* A CPU that has gone off line again by now is no error. */
static void sample_again(struct session *s, struct sampled_cpu *c)
{
	int rc = sample_cpu(s, c);

	if (rc && rc != -ENODEV)
		log_warn("ebeam: CPU %d is not sampled from here on: %s", c->cpu, error_text(rc));
}

/* Reads anew which CPUs are on line. */
static void sample_all_again(struct session *s)
{
	bool *online = session_online_cpus(s->nr_cpus);

	for (size_t i = 0; i < s->cpus.len; i++)
		if (online[s->cpus.data[i].cpu])
			sample_again(s, &s->cpus.data[i]);
	free(online);
}

uint64_t session_sample_less(struct session *s, unsigned int weight)
{
	s->sample_weight = weight;
	if (s->config.off_cpu)
		session_off_cpu_less(s, weight);
	if (!s->config.off_cpu || s->config.futexes)
		sample_all_again(s);
	return clock_monotonic_ns();
}

void session_follow_cpus(struct session *s)
{
	char message[1024];
	ssize_t len;

	if (s->cpu_messages < 0)
		return;
	for (;;) {
		len = recv(s->cpu_messages, message, sizeof(message) - 1, 0);
		if (len < 0 && errno == ENOBUFS) /* messages were lost: any CPU may have come */
			sample_all_again(s);
		if (len < 0 && (errno == EINTR || errno == ENOBUFS))
			continue;
		if (len <= 0)
			return;
		message[len] = '\0';

		int cpu = came_on_line(message);

		if (cpu >= 0 && (size_t)cpu < s->cpus.len)
			sample_again(s, &s->cpus.data[cpu]);
	}
}

void session_leave_cpus(struct session *s)
{
	for (size_t i = 0; i < s->cpus.len; i++) {
		bpf_link__destroy(s->cpus.data[i].link);
		s->cpus.data[i].link = NULL;
	}
	if (s->cpu_messages >= 0)
		close(s->cpu_messages);
	s->cpu_messages = -1;
}
