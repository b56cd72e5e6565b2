/* SPDX-License-Identifier: BSD-2-Clause */
/* See resources.h. */
#include "target/resources.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "target/proc.h"

#define FILE_MAX (1u << 20)

uint64_t resources_number(const char *text, const char *name, uint64_t otherwise)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		char *end;
		uint64_t n;

		line += *line == '\n';
		if (strncmp(line, name, len) != 0 || !strchr(": \t", line[len]) || !line[len])
			continue;
		line += len + strspn(line + len, ": \t");
		n = strtoull(line, &end, 10);
		return end != line ? n : otherwise;
	}
	return otherwise;
}

static bool has_controller(const char *names, size_t len, const char *controller)
{
	size_t want = strlen(controller), part;

	for (const char *end = names + len; names < end; names += part + 1) {
		const char *comma = memchr(names, ',', (size_t)(end - names));

		part = comma ? (size_t)(comma - names) : (size_t)(end - names);
		if (part == want && memcmp(names, controller, want) == 0)
			return true;
	}
	return false;
}

/* Lines are ID:CONTROLLER,...:PATH; version 2 has no controllers. */
bool resources_cgroup(const char *text, const char *controller, char *path, int size, bool *v2)
{
	bool found = false;

	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *names, *where;
		bool of_v2;

		line += *line == '\n';
		names = strchr(line, ':');
		where = names ? strchr(names + 1, ':') : NULL;
		if (!where)
			break;
		names++;
		of_v2 = names == where;
		if (of_v2 ? found : !has_controller(names, (size_t)(where - names), controller))
			continue;
		snprintf(path, (size_t)size, "%.*s", (int)strcspn(where + 1, "\n"), where + 1);
		*v2 = of_v2;
		found = true;
		if (!of_v2)
			break; /* on a host with both versions the limits of this controller are
			        * those of version 1 */
	}
	return found;
}

/* Reads a file of a cgroup where the host has mounted the hierarchy; NULL = no such file. */
static char *cgroup_file(const char *controller, const char *where, const char *name)
{
	return proc_read_file(FILE_MAX, NULL, "/sys/fs/cgroup%s%s%s/%s", *controller ? "/" : "",
			      controller, where, name);
}

static void take_cpu(struct resources *out, const char *text)
{
	out->periods = MAX(out->periods, resources_number(text, "nr_periods", 0));
	out->throttled += resources_number(text, "nr_throttled", 0);
}

static void take_memory(struct resources *out, const char *text)
{
	uint64_t max = strtoull(text, NULL, 10); /* "max" (no limit) becomes 0 */

	if (max && (!out->memory_max || max < out->memory_max))
		out->memory_max = max;
}

/* Calls take() with the text of a file of the process's cgroup and of each of its ancestors. */
static void read_cgroups(struct resources *out, const char *cgroups, const char *controller,
			 const char *v1_name, const char *v2_name,
			 void (*take)(struct resources *, const char *text))
{
	char where[4096];
	bool v2;

	if (!resources_cgroup(cgroups, controller, where, sizeof(where), &v2))
		return;
	for (char *end = where + strlen(where); end; end = strrchr(where, '/')) {
		char *text;

		*end = '\0';
		text = cgroup_file(v2 ? "" : controller, where, v2 ? v2_name : v1_name);
		if (text)
			take(out, text);
		free(text);
	}
}

static void read_cgroup(struct resources *out, int os_pid)
{
	char *cgroups = proc_read_file(FILE_MAX, NULL, "/proc/%d/cgroup", os_pid);

	if (!cgroups)
		return;
	read_cgroups(out, cgroups, "cpu", "cpu.stat", "cpu.stat", take_cpu);
	read_cgroups(out, cgroups, "memory", "memory.limit_in_bytes", "memory.max", take_memory);
	free(cgroups);
}

/* ---- a cgroup's memory ----------------------------------------------------------------------- */

static double average(const char *text, const char *name)
{
	static const char field[] = "avg10=";
	const char *line = strstr(text, name);
	const char *at = line ? strstr(line, field) : NULL;
	char *end;
	double value;

	if (!at || at > line + strcspn(line, "\n"))
		return -1;
	value = strtod(at + sizeof(field) - 1, &end);
	return end != at + sizeof(field) - 1 && value >= 0 && value <= 100 ? value : -1;
}

void resources_pressure(const char *text, double *some_avg10, double *full_avg10)
{
	*some_avg10 = average(text, "some ");
	*full_avg10 = average(text, "full ");
}

static uint64_t cgroup_number(bool v2, const char *where, const char *v1_name, const char *v2_name)
{
	char *text = cgroup_file(v2 ? "" : "memory", where, v2 ? v2_name : v1_name), *end = NULL;
	uint64_t n = text ? strtoull(text, &end, 10) : 0;
	bool known = text && end != text; /* "max" is no limit */

	free(text);
	/* Version 1 has no limit but the largest number of pages. */
	return known && n < (uint64_t)1 << 62 ? n : UINT64_MAX;
}

/* The lowest limit of the cgroup `where` and its ancestors, and what else is known of that one. */
static void find_cgroup(struct resources_cgroup *out, char *where, bool v2)
{
	char *text;

	for (char *end = where + strlen(where); end; end = strrchr(where, '/')) {
		uint64_t limit, current;

		*end = '\0';
		limit = cgroup_number(v2, where, "memory.limit_in_bytes", "memory.max");
		current = cgroup_number(v2, where, "memory.usage_in_bytes", "memory.current");
		if (current == UINT64_MAX || (*out->path && limit >= out->limit))
			continue;
		snprintf(out->path, sizeof(out->path), "%s", *where ? where : "/");
		out->limit = limit;
		out->current = current;
		text = v2 ? cgroup_file("", where, "memory.pressure") : NULL;
		if (text)
			resources_pressure(text, &out->some_avg10, &out->full_avg10);
		free(text);
	}
}

void resources_cgroup_read(struct resources_cgroup *out, int os_pid)
{
	char *cgroups = proc_read_file(FILE_MAX, NULL, "/proc/%d/cgroup", os_pid), *text;
	char where[4096];
	bool v2;

	*out = (struct resources_cgroup){.limit = UINT64_MAX,
					 .current = UINT64_MAX,
					 .some_avg10 = -1,
					 .full_avg10 = -1,
					 .oom_score = -1};
	if (cgroups && resources_cgroup(cgroups, "memory", where, sizeof(where), &v2))
		find_cgroup(out, where, v2);
	free(cgroups);
	text = proc_read_file(FILE_MAX, NULL, "/proc/%d/oom_score", os_pid);
	if (text)
		out->oom_score = atoi(text);
	free(text);
}

/* ---- open files ------------------------------------------------------------------------------ */

static uint64_t count_files(int os_pid)
{
	char path[64];
	uint64_t nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", os_pid);
	dir = opendir(path);
	for (struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
		nr += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return nr;
}

static uint64_t read_files_max(int os_pid)
{
	static const char name[] = "Max open files";
	char *text = proc_read_file(FILE_MAX, NULL, "/proc/%d/limits", os_pid);
	char *line = text ? strstr(text, name) : NULL;
	uint64_t max = 0;

	if (line) {
		line += sizeof(name) - 1;
		line += strspn(line, " ");
		max = strncmp(line, "unlimited", 9) == 0 ? UINT64_MAX : strtoull(line, NULL, 10);
	}
	free(text);
	return max;
}

void resources_read(struct resources *out, int os_pid)
{
	struct error ignored;
	struct proc_stat stat;
	char *text;

	*out = (struct resources){0};
	if (proc_stat_read(&stat, os_pid, &ignored) == 0)
		out->rss = stat.rss;
	text = proc_read_file(FILE_MAX, NULL, "/proc/meminfo");
	if (text && out->rss)
		out->memory_max = out->rss + 1024 * resources_number(text, "MemAvailable", 0);
	free(text);
	read_cgroup(out, os_pid);
}

void resources_files(int os_pid, uint64_t *nr, uint64_t *max)
{
	*nr = count_files(os_pid);
	*max = read_files_max(os_pid);
}
