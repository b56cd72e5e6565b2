/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which container a process runs in, from the text of /proc/PID/cgroup: lines
 * "HIERARCHY:CONTROLLERS:PATH" (one line, "0::PATH", in cgroup v2).  Container runtimes write the
 * container's id into the path, each in its own form:
 *
 *   docker      /docker/ID                         /system.slice/docker-ID.scope
 *   podman      /machine.slice/libpod-ID.scope/container
 *   kubernetes  /kubepods/burstable/podUID/ID      .../cri-containerd-ID.scope   .../crio-ID.scope
 *               /system.slice/containerd.service/kubepods-podUID.slice:cri-containerd:ID
 *   lxc         /lxc/NAME        /lxc.payload.NAME        /lxc.payload/NAME
 *   nspawn      /machine.slice/systemd-nspawn@NAME.service    /machine.slice/machine-NAME.scope
 *
 * where ID is 64 hex digits.  The innermost container of a path wins (a container in a container).
 */
#include "target/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define ID_LEN	     64
#define SHORT_ID_LEN 12
#define NAME_SIZE    64

#define CGROUP_MAX_SIZE 65536

/* One component of a path, not NUL terminated. */
struct part {
	const char *s;
	size_t len;
};

static bool part_equals(struct part part, const char *text)
{
	return part.len == strlen(text) && memcmp(part.s, text, part.len) == 0;
}

static bool cut_prefix(struct part *part, const char *prefix)
{
	size_t len = strlen(prefix);

	if (part->len <= len || memcmp(part->s, prefix, len) != 0)
		return false;
	part->s += len;
	part->len -= len;
	return true;
}

static bool cut_suffix(struct part *part, const char *suffix)
{
	size_t len = strlen(suffix);

	if (part->len <= len || memcmp(part->s + part->len - len, suffix, len) != 0)
		return false;
	part->len -= len;
	return true;
}

/* "docker-ID.scope", "...:cri-containerd:ID" or ID alone, but not the monitor process of a
 * container ("libpod-conmon-ID.scope"). */
static bool find_hex_id(struct part part, struct part *id)
{
	size_t prefix_len;

	cut_suffix(&part, ".scope");
	if (part.len < ID_LEN)
		return false;
	prefix_len = part.len - ID_LEN;
	for (size_t i = prefix_len; i < part.len; i++)
		if (!strchr("0123456789abcdef", part.s[i]) || !part.s[i])
			return false;
	if (prefix_len > 0 && part.s[prefix_len - 1] != '-' && part.s[prefix_len - 1] != ':')
		return false;
	if (memmem(part.s, prefix_len, "conmon", strlen("conmon")))
		return false;
	*id = (struct part){part.s + prefix_len, SHORT_ID_LEN};
	return true;
}

/* systemd writes '-' in a unit's name as "\x2d". */
static void unescape(struct part name, char *buf, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < name.len && used + 1 < size; i++) {
		char digits[3] = "";
		char *end;
		long c;

		if (name.s[i] == '\\' && name.len - i >= 4 && name.s[i + 1] == 'x') {
			memcpy(digits, name.s + i + 2, 2);
			c = strtol(digits, &end, 16);
			if (*end == '\0' && c > ' ' && c < 0x7f) {
				buf[used++] = (char)c;
				i += 3;
				continue;
			}
		}
		buf[used++] = name.s[i];
	}
	buf[used] = '\0';
}

/* The container that `part` names; `parent` is the component before it. */
static bool find_name(struct part part, struct part parent, char *buf, size_t size)
{
	struct part name = part;

	if (find_hex_id(part, &name)) {
		snprintf(buf, size, "%.*s", (int)name.len, name.s);
		return true;
	}
	if (part_equals(parent, "machine.slice")) {
		if ((cut_prefix(&name, "systemd-nspawn@") && cut_suffix(&name, ".service")) ||
		    (cut_prefix(&name, "machine-") && cut_suffix(&name, ".scope"))) {
			unescape(name, buf, size);
			return true;
		}
		return false;
	}
	if (cut_prefix(&name, "lxc.payload.") || part_equals(parent, "lxc") ||
	    part_equals(parent, "lxc.payload")) {
		snprintf(buf, size, "%.*s", (int)MIN(name.len, NAME_SIZE), name.s);
		return true;
	}
	return false;
}

/* The innermost container of one cgroup path. */
static bool parse_path(struct part path, char *buf, size_t size)
{
	const char *end = path.s + path.len;
	struct part parent = {"", 0};
	bool found = false;

	for (const char *p = path.s; p < end;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		struct part part = {p, (size_t)((slash ? slash : end) - p)};

		if (part.len > 0) {
			found |= find_name(part, parent, buf, size);
			parent = part;
		}
		p = slash ? slash + 1 : end;
	}
	return found;
}

void proc_container_parse(const char *cgroup_text, char *buf, size_t size)
{
	char name[NAME_SIZE + 1] = "";

	for (const char *line = cgroup_text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *colon = memchr(line, ':', len);

		if (colon)
			colon = memchr(colon + 1, ':', len - (size_t)(colon + 1 - line));
		if (colon) {
			struct part path = {colon + 1, len - (size_t)(colon + 1 - line)};

			if (parse_path(path, name, sizeof(name)))
				break;
		}
		line += len + (line[len] == '\n');
	}
	snprintf(buf, size, "%s", name);
}

void proc_container(int os_pid, char *buf, size_t size)
{
	char path[64], *text;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", os_pid);
	text = proc_read_file(path, CGROUP_MAX_SIZE, NULL);
	proc_container_parse(text ? text : "", buf, size);
	free(text);
}
