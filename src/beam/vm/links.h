/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links and monitors of a process or port, as in process_info(P, links), (P, monitors), (P,
 * monitored_by) and (P, suspending).
 *
 * erl_monitor_link.h, erl_bif_info.c (collect_one_*), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_LINKS_H
#define EBEAM_BEAM_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"

/* Larger trees and lists are truncated. */
#define LINKS_MAX 1000000u

enum monitor_type { /* ERTS_MON_TYPE_* of OTP 25 to 29 */
		    MONITOR_PROC,
		    MONITOR_PORT,
		    MONITOR_TIME_OFFSET,
		    MONITOR_DIST_PROC,
		    MONITOR_DIST_PORT,
		    MONITOR_RESOURCE,
		    MONITOR_NODE,
		    MONITOR_NODES,
		    MONITOR_SUSPEND,
		    MONITOR_ALIAS,
		    NR_MONITOR_TYPES
};

struct link_item {
	uint64_t item;	/* term: pid or port, also of another node */
	bool unlinking; /* it is being removed: process_info() leaves it out */
};

struct monitor_item {
	enum monitor_type type;
	bool target; /* the process is monitored; false: it monitors */
	/* The monitor of an unanswered spawn_request(): process_info() leaves it out. */
	bool pending;
	/* The other side: pid or port; the node's name if a process of another node is monitored by
	 * name; clock_service; for MONITOR_RESOURCE as target an address. */
	uint64_t item;
	uint64_t name, node; /* monitored by name: {Name, Node}; else 0 */
	uint64_t ref;	     /* 0 = none */
	uint64_t suspended;  /* MONITOR_SUSPEND: suspend count */
	bool suspend_active; /* false: the process is not suspended yet */
	bool alias;	     /* its reference is an alias, as those of requests */
};

struct link_list {
	VEC(struct link_item) v;
	uint64_t unreadable; /* nodes that could not be read, or were not valid */
	bool cut;
};

struct monitor_list {
	VEC(struct monitor_item) v;
	uint64_t unreadable;
	bool cut;
};

/* Flags of an ErtsMonLnkNode, and bits in its ErtsMonLnkTreeNode.parent. */
#define LINK_FLAG_TARGET	(1u << 0)
#define LINK_FLAG_NAME		(1u << 3)
#define LINK_FLAG_EXTENDED	(1u << 4)
#define LINK_FLAG_SPAWN_PENDING (1u << 5)
#define LINK_PARENT_FLAGS	7ull
struct link_kind {
	uint32_t type, flags;
	bool alias; /* the monitor has an alias, which ends with the monitor */
};
/* The kind of a link or monitor; offsets are those of the layout for links, or for monitors. */
struct link_kind link_kind_of(const uint8_t *node, int32_t type_at, int32_t flags_at);

/* `root`: address of the tree's root, from Process.common.u.alive.links; 0 = empty. */
void links_read(struct beam_node *n, raddr root, struct link_list *out);
/* Reads the tree and the list (lt_monitors: monitors of which this process is the target). */
void monitors_read(struct beam_node *n, raddr tree, raddr list, struct monitor_list *out);
void links_free(struct link_list *l);
void monitors_free(struct monitor_list *l);

#endif
