/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Facts about a node that change while it runs, read again in each call, as from erlang:node/0 and
 * erlang:system_info/1; uptime is that of the operating system's process.
 */
#include "beam/vm/facts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "target/proc.h"

static int read_name(struct beam_node *n, char *buf, size_t size)
{
	raddr node = n->anchors.this_node;
	const char *text;
	uint64_t name;
	size_t len;
	int code = 0;

	buf[0] = '\0';
	if (!node)
		return 0; /* not found by shape: the check for this_node reports it */
	/* Starting distribution replaces the ErlNode. */
	if (n->anchors.this_node_ptr)
		code = mem_read_u64(n->mem, n->anchors.this_node_ptr, &node);
	if (!code)
		code = mem_read_u64(n->mem, node + (raddr)n->layout.node_sysname, &name);
	if (code)
		return code;
	text = beam_atom_text(n->atoms, name, &len);
	if (!text)
		return -EBADMSG;
	len = MIN(len, size - 1);
	/* Truncates between two characters of UTF-8. */
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return 0;
}

/* erts_ptab_count(): while an id is being allocated in a full table, count exceeds max. */
static int read_count(struct beam_node *n, raddr ptab, uint32_t *count)
{
	uint32_t now, max;
	int code;

	*count = 0;
	if (!ptab)
		return 0;
	code = mem_read_u32(n->mem, ptab + (raddr)n->layout.ptab_count, &now);
	if (!code)
		code = mem_read_u32(n->mem, ptab + (raddr)n->layout.ptab_max, &max);
	if (!code)
		*count = MIN(now, max);
	return code;
}

int beam_node_facts(struct beam_node *n, struct beam_facts *out, struct error *err)
{
	int64_t atoms, uptime = 0;
	char title[32];
	int code;

	memset(out, 0, sizeof(*out));
	if (n->unsupported[0])
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP, "%s: %s",
				 beam_node_title(n, title, sizeof(title)), n->unsupported);
	out->schedulers = n->anchors.nr_sched;
	out->dirty_cpu_schedulers = n->anchors.nr_dirty_cpu;
	out->dirty_io_schedulers = n->anchors.nr_dirty_io;
	code = read_name(n, out->name, sizeof(out->name));
	if (!code)
		code = read_count(n, n->anchors.proc_tab, &out->process_count);
	if (!code)
		code = read_count(n, n->anchors.port_tab, &out->port_count);
	atoms = beam_atoms_count(n->atoms);
	if (!code && atoms < 0)
		code = (int)atoms;
	if (!n->core)
		uptime = proc_uptime_s(n->os_pid);
	if (!code && uptime < 0)
		code = (int)uptime;
	if (code == -ESRCH || !beam_node_is_there(n))
		return beam_node_unreadable(n, "name and counters", -ESRCH, err);
	if (code)
		return beam_node_unreadable(n, "name and counters", code, err);
	out->atom_count = (uint32_t)atoms;
	out->has_uptime = !n->core;
	out->uptime_s = (uint64_t)uptime;
	return 0;
}
