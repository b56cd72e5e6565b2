/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring for each CPU that is online, and one shared by those that come later; see
 * session_internal.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/session/programs.h"
#include "probe/session/session_internal.h"

#define RINGS_SIZE	 (128u << 20) /* total; on hosts with many CPUs each ring is smaller */
#define EVENT_RING_LEAST (1u << 20)

/* The largest C stack and a usual sample. */
#define SAMPLE_SIZE (sizeof(struct rec_raw_cstack) + 1024)
/* Room for so many of them, or for those of so many milliseconds: twice what comes from one reading
 * to the next (record.c: after 50 samples, but not sooner than after 100 ms), as the host may be
 * short of CPU. */
#define SAMPLES_LEAST 100
#define SAMPLES_MS    250

/* Times off a CPU are as many as there are threads, not as CPUs: room for so many a second. */
#define OFF_CPU_RATE 2000u

static uint32_t least_size(unsigned int freq, bool events)
{
	if (events)
		return EVENT_RING_LEAST;
	return freq > 1000 ? 1u << 21 : freq > 250 ? 1u << 20 : 1u << 19;
}

/* Bytes of the ring of a CPU, a power of two; nr_cpus: CPUs that are online. */
static uint32_t ring_size(unsigned int freq, bool events, int nr_cpus)
{
	uint64_t samples = MAX((uint64_t)freq * SAMPLES_MS / 1000, (uint64_t)SAMPLES_LEAST);
	uint64_t wanted = events ? SESSION_RING_SIZE : samples * SAMPLE_SIZE;
	uint32_t size = least_size(freq, events);

	while (size < wanted && size < SESSION_RING_SIZE &&
	       2 * size <= RINGS_SIZE / (unsigned int)MAX(nr_cpus, 1))
		size *= 2;
	return size;
}

static int parse_cpu_list(const char *text, bool *online, int nr)
{
	int found = 0, from, to, used;

	while (*text && *text != '\n') {
		if (sscanf(text, "%d-%d%n", &from, &to, &used) != 2) {
			if (sscanf(text, "%d%n", &from, &used) != 1)
				break;
			to = from;
		}
		for (int i = from; i <= to && i < nr; i++) {
			if (i >= 0 && !online[i]) {
				online[i] = true;
				found++;
			}
		}
		text += used;
		if (*text == ',')
			text++;
	}
	return found;
}

bool *session_online_cpus(int nr)
{
	bool *online = xcalloc((size_t)nr, sizeof(*online));
	char text[4096] = "";
	FILE *f = fopen("/sys/devices/system/cpu/online", "re");

	if (f) {
		if (!fgets(text, sizeof(text), f))
			text[0] = '\0';
		fclose(f);
	}
	if (parse_cpu_list(text, online, nr) == 0)
		memset(online, 1, (size_t)nr * sizeof(*online));
	return online;
}

int session_create_rings(struct session *s, struct error *err)
{
	uint32_t size;
	int rc = bpf_map__set_max_entries(s->skel->maps.rings, (uint32_t)s->nr_cpus);
	int nr = 0;

	for (int cpu = 0; cpu < s->nr_cpus; cpu++)
		nr += s->online[cpu];
	size = ring_size(s->config.off_cpu ? OFF_CPU_RATE : s->config.freq,
			 s->config.events || s->config.calls, nr);
	/* The last ring, a small one, is shared by all CPUs that are off line now, if there are
	 * any. */
	for (int i = 0; i < MIN(nr + 1, s->nr_cpus) && rc == 0; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ebeam_ring", 0, 0,
					i < nr ? size : MIN(size, EVENT_RING_LEAST), NULL);

		if (fd < 0)
			return programs_error(fd, err);
		vec_push(&s->rings, fd);
		if (s->rings.len == 1)
			rc = bpf_map__set_inner_map_fd(s->skel->maps.rings, fd);
	}
	return rc ? programs_error(rc, err) : 0;
}

int session_install_rings(struct session *s, struct error *err)
{
	int outer = bpf_map__fd(s->skel->maps.rings);
	size_t i = 0;

	for (int cpu = 0; cpu < s->nr_cpus; cpu++) {
		uint32_t key = (uint32_t)cpu;
		size_t ring = s->online[cpu] ? i++ : s->rings.len - 1;

		if (bpf_map_update_elem(outer, &key, &s->rings.data[ring], BPF_ANY))
			return programs_error(-errno, err);
	}
	return ring_set_open(&s->ring_set, s->rings.data, (unsigned int)s->rings.len, err);
}
