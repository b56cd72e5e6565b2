/* SPDX-License-Identifier: BSD-2-Clause */
/* Links and monitors of a port, and the processes that wait because it is busy. */
#include <errno.h>
#include <stdlib.h>

#include "abi/vm.h"
#include "beam/vm/links.h"
#include "beam/vm/ports_internal.h"

#define SUSPENDED_MAX 1000

/* ErtsProcList {Eterm pid; Uint64 started; next, prev}, erl_process.h, OTP 25 to 29. */
#define PROCLIST_SIZE 32

/* Sorts local ids by their words: by number, if it is in the high bits. */
static int by_term(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void begin(const struct port_list *l, struct port_refs *refs)
{
	refs->first = l->terms.len;
}

static void end(struct port_list *l, struct port_refs *refs)
{
	refs->len = l->terms.len - refs->first;
	if (refs->len > 1)
		qsort(l->terms.data + refs->first, refs->len, sizeof(*l->terms.data), by_term);
}

static void read_links(struct beam_node *n, struct port_list *l, struct port_job *j)
{
	struct link_list links = {0};

	if (!j->links)
		return;
	links_read(n, j->links, &links);
	begin(l, &j->facts.links);
	for (size_t i = 0; i < links.v.len; i++)
		if (!links.v.data[i].unlinking)
			vec_push(&l->terms, links.v.data[i].item);
	end(l, &j->facts.links);
	j->facts.torn |= links.unreadable > 0;
	j->cut |= links.cut;
	links_free(&links);
}

static void read_monitors(struct beam_node *n, struct port_list *l, struct port_job *j)
{
	struct monitor_list monitors = {0};
	struct port_refs *refs[] = {&j->facts.monitors, &j->facts.monitored_by};

	if (!j->monitors && !j->lt_monitors)
		return;
	monitors_read(n, j->monitors, j->lt_monitors, &monitors);
	for (int target = 0; target < 2; target++) {
		begin(l, refs[target]);
		for (size_t i = 0; i < monitors.v.len; i++)
			if (monitors.v.data[i].target == target && !monitors.v.data[i].pending)
				vec_push(&l->terms, monitors.v.data[i].item);
		end(l, refs[target]);
	}
	j->facts.torn |= monitors.unreadable > 0;
	j->cut |= monitors.cut;
	monitors_free(&monitors);
}

int proclist_read(struct beam_node *n, raddr list, struct proclist *out, size_t max)
{
	raddr at = list;

	while (at) {
		uint64_t words[PROCLIST_SIZE / 8];
		int rc;

		if (out->pids.len >= max) {
			out->cut = true;
			return 0;
		}
		rc = mem_read(n->mem, at, words, sizeof(words));
		if (rc)
			return rc;
		if (!TERM_IS_PID(words[0]))
			return -EBADMSG;
		vec_push(&out->pids, words[0]);
		at = words[2] == list ? 0 : words[2];
	}
	return 0;
}

/* Reads the suspended processes in the order in which they will be resumed. */
static void read_suspended(struct beam_node *n, struct port_list *l, struct port_job *j)
{
	struct proclist list = {0};

	if (!j->suspended)
		return;
	if (proclist_read(n, j->suspended, &list, SUSPENDED_MAX) != 0)
		j->facts.torn = true;
	j->cut |= list.cut;
	begin(l, &j->facts.suspended);
	for (size_t i = 0; i < list.pids.len; i++)
		vec_push(&l->terms, list.pids.data[i]);
	j->facts.suspended.len = list.pids.len;
	vec_free(&list.pids);
}

void ports_read_refs(struct beam_node *n, struct port_list *l, struct port_job *jobs, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (jobs[i].gone || jobs[i].facts.torn)
			continue;
		read_links(n, l, &jobs[i]);
		read_monitors(n, l, &jobs[i]);
		read_suspended(n, l, &jobs[i]);
	}
}
