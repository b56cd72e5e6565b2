/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam dump --waits`: who waits for whom, and since when, as a graph; see dump_waits.h. */
#include "cmd/inspect/dump_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/xalloc.h"

/* ---- since when ------------------------------------------------------------------------------ */

static int by_epid(const void *a, const void *b)
{
	const struct dump_seen *x = a, *y = b;

	return x->epid < y->epid ? -1 : x->epid > y->epid;
}

void dump_waits_remember(struct dump *d)
{
	struct dump_seen *old = d->seen.data;
	size_t nr = d->seen.len;

	memset(&d->seen, 0, sizeof(d->seen));
	d->read_ns = clock_monotonic_ns();
	if (nr)
		qsort(old, nr, sizeof(*old), by_epid);
	for (size_t i = 0; i < d->waits.v.len; i++) {
		const struct wait *x = &d->waits.v.data[i];
		struct dump_seen new = {.epid = d->list.data[x->from].epid,
					.item = x->item,
					.mark = x->mark,
					.reason = x->reason,
					.first_ns = d->read_ns};
		const struct dump_seen *before =
			nr ? bsearch(&new, old, nr, sizeof(*old), by_epid) : NULL;

		if (before && before->mark == new.mark &&
		    (before->item == new.item || new.reason == WAIT_ANSWER))
			new.first_ns = before->first_ns;
		vec_push(&d->seen, new);
	}
	free(old);
}

static const struct waits_since unknown = {UINT64_MAX, NULL};

struct waits_since waiting_since(const struct waiting *w, uint32_t node)
{
	uint32_t i = node < w->d->list.len ? w->wait_of.data[node] : 0;
	const struct wait *x = i ? &w->d->waits.v.data[i - 1] : NULL;
	uint64_t ns = i ? w->d->read_ns - w->d->seen.data[i - 1].first_ns : 0;

	if (x && x->waiting_ms >= 0)
		return (struct waits_since){(uint64_t)x->waiting_ms, "timer"};
	return ns ? (struct waits_since){ns / 1000000, "at_least"} : unknown;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* The node of a term, or of a text (malloc'ed, which it takes over); added if it is new. */
static uint32_t other(struct waiting *w, uint64_t item, char *text)
{
	struct other new = {item, text};

	for (size_t i = 0; i < w->others.len; i++) {
		const struct other *o = &w->others.data[i];

		if (text ? o->text && strcmp(o->text, text) == 0 : !o->text && o->item == item) {
			free(text);
			return (uint32_t)(w->d->list.len + i);
		}
	}
	vec_push(&w->others, new);
	return (uint32_t)(w->d->list.len + w->others.len - 1);
}

/* The other end of a port: the peer of its socket, or its external program; malloc'ed, NULL = not
 * known. */
static char *peer_of(struct waiting *w, const struct port_facts *p)
{
	const struct socket_info *socket;
	char target[64], peer[160] = "";

	if (p->os_pid > 0)
		return xasprintf("os pid %lld", (long long)p->os_pid);
	if (w->d->n->core || p->fd_kind != PORT_FD_INET || p->fds[0] < 0 ||
	    proc_fd_target(w->d->n->os_pid, p->fds[0], target, sizeof(target)) != 0)
		return NULL;
	if (!w->sockets.data)
		sockets_read(&w->sockets, w->d->n->os_pid);
	socket = socket_find(&w->sockets, socket_inode(target));
	if (socket)
		socket_peer(socket, peer, sizeof(peer));
	return *peer ? xstrdup(peer) : NULL;
}

/* What a node of `others` waits for in turn: another Erlang node for the controller of its
 * connection, a port for its peer. */
static uint32_t leads_to(struct waiting *w, struct other o)
{
	const struct port_facts *port = o.text ? NULL : waits_port(&w->d->waits, o.item);
	uint64_t controller = o.text || port ? 0 : waits_controller(&w->d->waits, o.item);
	uint32_t process = waits_process(&w->d->waits, controller);
	char *peer = port ? peer_of(w, port) : NULL;

	if (peer)
		return other(w, 0, peer);
	if (!controller)
		return WAIT_NOBODY;
	return process != IDMAP_NONE ? process : other(w, controller, NULL);
}

static void find_longest(struct waiting *w)
{
	for (size_t i = 0; i < w->to.len; i++)
		vec_push(&w->longest, unknown);
	for (size_t i = 0; i < w->d->waits.v.len; i++) {
		uint32_t from = w->d->waits.v.data[i].from;
		struct waits_since s = waiting_since(w, from);
		struct waits_since *most = &w->longest.data[w->to.data[from]];

		if (s.how && (!most->how || s.ms > most->ms))
			*most = s;
	}
}

int waiting_open(struct waiting *w, const struct dump *d, struct error *err)
{
	size_t nr = d->list.len;
	int rc;

	memset(w, 0, sizeof(*w));
	w->d = d;
	rc = term_reader_init(&w->reader, &w->formats, d->n);
	if (rc)
		return beam_node_unreadable(d->n, "process table", rc, err);
	for (size_t i = 0; i < nr; i++) {
		vec_push(&w->to, WAIT_NOBODY);
		vec_push(&w->wait_of, 0);
	}
	for (size_t i = 0; i < d->waits.v.len; i++) {
		const struct wait *x = &d->waits.v.data[i];

		w->wait_of.data[x->from] = (uint32_t)i + 1;
		w->to.data[x->from] = x->to == WAIT_ELSEWHERE ? other(w, x->item, NULL) : x->to;
	}
	for (size_t i = 0; i < w->others.len; i++) {
		uint32_t to = leads_to(w, w->others.data[i]);

		vec_push(&w->to, to);
	}
	find_longest(w);
	wait_graph_make(&w->graph, w->to.data, (uint32_t)(nr + w->others.len), (uint32_t)nr);
	return 0;
}

void waiting_close(struct waiting *w)
{
	wait_graph_free(&w->graph);
	for (size_t i = 0; i < w->others.len; i++)
		free(w->others.data[i].text);
	vec_free(&w->others);
	vec_free(&w->to);
	vec_free(&w->wait_of);
	vec_free(&w->longest);
	socket_table_free(&w->sockets);
	arena_free(&w->texts);
}
