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
 * UID is 8-4-4-4-12 hex digits, with "_" for "-" in names of slices, where "-" separates levels.
 */
#include "target/proc.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define ID_LEN	     64
#define SHORT_ID_LEN 12
#define UID_LEN	     36

#define CGROUP_MAX_SIZE 65536
#define JSON_MAX_SIZE	(4u << 20)

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

/* Finds the id in "docker-ID.scope", "...:cri-containerd:ID" or "ID", but not in that of a
 * container's monitor process ("libpod-conmon-ID.scope"). */
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
	*id = (struct part){part.s + prefix_len, ID_LEN};
	return true;
}

/* Finds the pod's UID in "podUID" or "kubepods-burstable-podUID.slice". */
static bool find_pod(struct part part, char *buf, size_t size)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	const char *pod = memmem(part.s, part.len, "pod", 3);

	/* "kubepods" contains "pod", too. */
	while (pod && (size_t)(part.s + part.len - pod) >= 3 + UID_LEN) {
		size_t same = 0;

		for (; same < UID_LEN; same++) {
			char c = pod[3 + same];

			if (form[same] == '-' ? c != '-' && c != '_'
					      : !c || !strchr("0123456789abcdef", c))
				break;
			if (same + 1 < size)
				buf[same] = c == '_' ? '-' : c;
		}
		if (same == UID_LEN) {
			buf[MIN(same, size - 1)] = '\0';
			return true;
		}
		pod = memmem(pod + 3, (size_t)(part.s + part.len - pod - 3), "pod", 3);
	}
	return false;
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

/* Finds a container's id or name in `part`; `parent` is the path component before it. */
static bool find_id(struct part part, struct part parent, struct proc_container *out)
{
	struct part name = part;

	if (find_hex_id(part, &name)) {
		snprintf(out->long_id, sizeof(out->long_id), "%.*s", ID_LEN, name.s);
		snprintf(out->id, sizeof(out->id), "%.*s", SHORT_ID_LEN, name.s);
		return true;
	}
	out->long_id[0] = '\0'; /* clears the id of the outer container */
	if (part_equals(parent, "machine.slice")) {
		if ((cut_prefix(&name, "systemd-nspawn@") && cut_suffix(&name, ".service")) ||
		    (cut_prefix(&name, "machine-") && cut_suffix(&name, ".scope"))) {
			unescape(name, out->id, sizeof(out->id));
			return true;
		}
		return false;
	}
	if (cut_prefix(&name, "lxc.payload.") || part_equals(parent, "lxc") ||
	    part_equals(parent, "lxc.payload")) {
		snprintf(out->id, sizeof(out->id), "%.*s", (int)MIN(name.len, ID_LEN), name.s);
		return true;
	}
	return false;
}

/* Finds the innermost container of one cgroup path. */
static bool parse_path(struct part path, struct proc_container *out)
{
	const char *end = path.s + path.len;
	struct part parent = {"", 0};
	bool found = false;

	for (const char *p = path.s; p < end;) {
		const char *slash = memchr(p, '/', (size_t)(end - p));
		struct part part = {p, (size_t)((slash ? slash : end) - p)};

		if (part.len > 0) {
			find_pod(part, out->pod, sizeof(out->pod));
			found |= find_id(part, parent, out);
			parent = part;
		}
		p = slash ? slash + 1 : end;
	}
	return found;
}

void proc_container_parse(struct proc_container *out, const char *cgroup_text)
{
	*out = (struct proc_container){0};
	for (const char *line = cgroup_text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *colon = memchr(line, ':', len);

		if (colon)
			colon = memchr(colon + 1, ':', len - (size_t)(colon + 1 - line));
		if (colon) {
			struct part path = {colon + 1, len - (size_t)(colon + 1 - line)};

			if (parse_path(path, out))
				return;
		}
		line += len + (line[len] == '\n');
	}
	out->pod[0] = '\0';
}

/* ---- names --------------------------------------------------------------------------------- */

/* Files of container runtimes, and the JSON keys of the name.  Docker's names start with "/". */
static const struct {
	const char *dir, *file;
	const char *keys[2];
} runtimes[] = {
	{"/var/lib/docker/containers/", "/config.v2.json", {"Name", NULL}},
	{"/run/containerd/io.containerd.runtime.v2.task/k8s.io/",
	 "/config.json",
	 {"annotations", "io.kubernetes.cri.container-name"}},
	{"/run/containers/storage/overlay-containers/",
	 "/userdata/config.json",
	 {"annotations", "io.kubernetes.container.name"}},
};

static json_t *read_json(const char *root, const char *dir, const char *id, const char *file)
{
	size_t len;
	char *text = proc_read_file(JSON_MAX_SIZE, &len, "%s%s%s%s", root, dir, id, file);
	json_t *json = text ? json_loadb(text, len, 0, NULL) : NULL;

	free(text);
	return json;
}

/* Podman has one file for all containers: [{"id": ID, "names": [NAME]}]. */
static const char *podman_name(const json_t *containers, const char *id)
{
	const json_t *one;
	size_t i;

	json_array_foreach(containers, i, one)
	{
		const char *its = json_string_value(json_object_get(one, "id"));

		if (its && strcmp(its, id) == 0)
			return json_string_value(json_array_get(json_object_get(one, "names"), 0));
	}
	return NULL;
}

static void set_name(struct proc_container *c, const char *name)
{
	if (name)
		snprintf(c->name, sizeof(c->name), "%s", name + (*name == '/'));
}

void proc_container_find_name(struct proc_container *c, const char *root)
{
	json_t *json;

	if (!*c->long_id)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes) && !*c->name; i++) {
		const json_t *at = json =
			read_json(root, runtimes[i].dir, c->long_id, runtimes[i].file);

		for (size_t k = 0; k < ARRAY_SIZE(runtimes[i].keys) && runtimes[i].keys[k]; k++)
			at = json_object_get(at, runtimes[i].keys[k]);
		set_name(c, json_string_value(at));
		json_decref(json);
	}
	if (*c->name)
		return;
	json = read_json(root, "/var/lib/containers/storage/overlay-containers", "",
			 "/containers.json");
	set_name(c, podman_name(json, c->long_id));
	json_decref(json);
}

void proc_container(struct proc_container *out, int os_pid)
{
	char *text = proc_read_file(CGROUP_MAX_SIZE, NULL, "/proc/%d/cgroup", os_pid);

	proc_container_parse(out, text ? text : "");
	free(text);
	proc_container_find_name(out, "");
	if (!*out->name) /* ebeam itself may run in a container */
		proc_container_find_name(out, "/proc/1/root");
}
