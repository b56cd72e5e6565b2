/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/PID/maps -> a sorted array.  The kernel writes the file piece by piece while the process
 * may change its mappings, so a mapping can appear twice or overlap the one before; the later line
 * is the newer one and is kept.
 */
#include "target/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"
#include "target/proc_internal.h"

/* vm.max_map_count is 65,530 by default; lines are about 100 bytes. */
#define MAPS_MAX_SIZE ((size_t)64 << 20)

struct cursor {
	const char *p, *end;
};

/* Parses digits of base 10 or 16 and the character `after` (0: the line may also end here). */
static bool take_number(struct cursor *c, unsigned int base, char after, uint64_t *value)
{
	const char *start = c->p;

	*value = 0;
	for (; c->p < c->end; c->p++) {
		char ch = *c->p;
		unsigned int digit;

		if (ch >= '0' && ch <= '9')
			digit = (unsigned int)(ch - '0');
		else if (base == 16 && ch >= 'a' && ch <= 'f')
			digit = (unsigned int)(ch - 'a') + 10;
		else
			break;
		if (*value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	if (c->p == start)
		return false;
	if (!after)
		return c->p == c->end || *c->p == ' ';
	if (c->p == c->end || *c->p != after)
		return false;
	c->p++;
	return true;
}

/* Parses permissions, "rwxp ": exactly four letters and a space. */
static bool take_permissions(struct cursor *c, struct proc_map *map)
{
	const char *s = c->p;

	if (c->end - s < 5 || (s[0] != 'r' && s[0] != '-') || (s[1] != 'w' && s[1] != '-') ||
	    (s[2] != 'x' && s[2] != '-') || (s[3] != 'p' && s[3] != 's') || s[4] != ' ')
		return false;
	map->r = s[0] == 'r';
	map->w = s[1] == 'w';
	map->x = s[2] == 'x';
	map->shared = s[3] == 's';
	c->p += 5;
	return true;
}

bool proc_map_parse(struct proc_map *map, const char *line, size_t len)
{
	struct cursor c = {line, line + len};
	uint64_t dev_major, dev_minor;

	if (!take_number(&c, 16, '-', &map->start) || !take_number(&c, 16, ' ', &map->end) ||
	    map->start >= map->end || !take_permissions(&c, map) ||
	    !take_number(&c, 16, ' ', &map->offset) || !take_number(&c, 16, ':', &dev_major) ||
	    !take_number(&c, 16, ' ', &dev_minor) || dev_major > UINT32_MAX ||
	    dev_minor > UINT32_MAX || !take_number(&c, 10, 0, &map->inode))
		return false;
	map->dev_major = (uint32_t)dev_major;
	map->dev_minor = (uint32_t)dev_minor;
	while (c.p < c.end && *c.p == ' ')
		c.p++;
	map->path = xstrndup(c.p, (size_t)(c.end - c.p));
	map->deleted = proc_cut_deleted(map->path);
	return true;
}

int proc_maps_parse(struct proc_maps *out, const char *text, size_t len)
{
	VEC(struct proc_map) maps = {0};
	const char *end = text + len;
	int code = 0;

	for (const char *p = text, *eol; p < end; p = eol + 1) {
		struct proc_map map = {0};

		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		if (!proc_map_parse(&map, p, (size_t)(eol - p))) {
			code = -EINVAL;
			break;
		}
		while (maps.len > 0 && maps.data[maps.len - 1].start >= map.start)
			free(maps.data[--maps.len].path);
		if (maps.len > 0 && maps.data[maps.len - 1].end > map.start)
			maps.data[maps.len - 1].end = map.start;
		vec_push(&maps, map);
	}
	*out = (struct proc_maps){.data = maps.data, .len = maps.len};
	if (code)
		proc_maps_free(out);
	return code;
}

int proc_maps_read(struct proc_maps *out, int os_pid, struct error *err)
{
	size_t len;
	char *text = proc_read_file(MAPS_MAX_SIZE, &len, "/proc/%d/maps", os_pid);
	int code;

	*out = (struct proc_maps){0};
	if (!text)
		return proc_error(err, os_pid, "maps", -errno);
	code = proc_maps_parse(out, text, len);
	free(text);
	if (code)
		return proc_error(err, os_pid, "maps", code);
	return 0;
}

void proc_maps_free(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->len; i++)
		free(maps->data[i].path);
	free(maps->data);
	*maps = (struct proc_maps){0};
}

const struct proc_map *proc_maps_find(const struct proc_maps *maps, raddr addr)
{
	size_t at = COUNT_UP_TO(maps->len, i, maps->data[i].end, addr);

	return at < maps->len && maps->data[at].start <= addr ? &maps->data[at] : NULL;
}
