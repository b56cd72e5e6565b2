/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the reason why processes are suspended; see waits.h. */
#include <stdlib.h>

#include "abi/vm.h"
#include "base/xalloc.h"
#include "beam/process/waits.h"
#include "beam/term/term.h"
#include "beam/vm/links.h"

/* For each process of the list: is it suspended, and was the reason found? */
enum explained { NOT_SUSPENDED, NOT_EXPLAINED, EXPLAINED };

static void add_one(struct waits *w, uint8_t *explained, uint64_t epid, uint64_t item,
		    enum wait_reason reason)
{
	uint32_t from = waits_process(w, epid);

	if (from == IDMAP_NONE || explained[from] != NOT_EXPLAINED)
		return;
	explained[from] = EXPLAINED;
	waits_add(w, from, item, reason);
}

static void by_nodes(struct waits *w, uint8_t *explained)
{
	if (dist_read(w->n, &w->dist, NULL) != 0) {
		w->unreadable++;
		return;
	}
	for (size_t i = 0; i < w->dist.v.len; i++) {
		const struct dist_facts *d = &w->dist.v.data[i];

		for (size_t k = 0; k < d->nr_waiting; k++)
			add_one(w, explained, w->dist.waiting.data[d->first_waiting + k], d->name,
				WAIT_NODE);
	}
}

static void read_ports(struct waits *w)
{
	if (w->have_ports)
		return;
	w->have_ports = true;
	w->unreadable += ports_read(w->n, &w->ports, NULL) != 0;
}

static void by_ports(struct waits *w, uint8_t *explained)
{
	read_ports(w);
	for (size_t i = 0; i < w->ports.len; i++) {
		const struct port_facts *p = &w->ports.data[i];

		for (size_t k = 0; k < p->suspended.len; k++)
			add_one(w, explained, w->ports.terms.data[p->suspended.first + k], p->id,
				WAIT_PORT);
	}
}

static void by_process(struct waits *w, uint8_t *explained, uint32_t from)
{
	const struct process_facts *p = &w->list->data[from];
	struct monitor_list l;

	monitors_read(w->n, 0, p->lt_monitors, &l);
	w->unreadable += l.unreadable;
	for (size_t i = 0; i < l.v.len; i++) {
		if (l.v.data[i].type == MONITOR_SUSPEND && l.v.data[i].target)
			add_one(w, explained, p->epid, l.v.data[i].item, WAIT_SUSPENDER);
	}
	monitors_free(&l);
}

void waits_of_suspended(struct waits *w)
{
	uint8_t *explained;

	if (w->suspended.len == 0)
		return;
	explained = xcalloc(w->list->len, sizeof(*explained));
	for (size_t i = 0; i < w->suspended.len; i++)
		explained[w->suspended.data[i]] = NOT_EXPLAINED;
	by_nodes(w, explained);
	by_ports(w, explained);
	for (size_t i = 0; i < w->suspended.len; i++) {
		uint32_t from = w->suspended.data[i];

		if (explained[from] == NOT_EXPLAINED)
			by_process(w, explained, from);
		w->unexplained += explained[from] == NOT_EXPLAINED;
	}
	free(explained);
}

void waits_of_ports(struct waits *w)
{
	for (size_t i = 0; i < w->v.len; i++) {
		struct wait *x = &w->v.data[i];
		const struct port_facts *port;

		if (x->reason != WAIT_ANSWER || !TERM_IS_PORT(x->item))
			continue;
		read_ports(w);
		port = waits_port(w, x->item);
		if (port && port_is_busy(port))
			x->reason = WAIT_PORT;
	}
}

const struct port_facts *waits_port(const struct waits *w, uint64_t item)
{
	for (size_t i = 0; i < w->ports.len; i++) {
		if (w->ports.data[i].id == item)
			return &w->ports.data[i];
	}
	return NULL;
}

uint64_t waits_controller(const struct waits *w, uint64_t node)
{
	for (size_t i = 0; i < w->dist.v.len; i++) {
		if (w->dist.v.data[i].name == node)
			return w->dist.v.data[i].controller;
	}
	return 0;
}

const char *wait_reason_name(enum wait_reason reason)
{
	static const char *const names[] = {"answer", "busy_port", "busy_dist_port", "suspended",
					    "monitor"};

	return names[reason];
}
