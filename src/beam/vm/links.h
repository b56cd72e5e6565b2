/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links and monitors of a process or port: what process_info(P, links), (P, monitors),
 * (P, monitored_by) and (P, suspending) say.
 *
 * erl_monitor_link.h, erl_bif_info.c (collect_one_*), OTP 25 to 29.
 */
#ifndef EBEAM_BEAM_LINKS_H
#define EBEAM_BEAM_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "beam/node/node.h"

/* Beyond this a tree or list is cut. */
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
	uint64_t item;	/* pid or port, of another node too: a term */
	bool unlinking; /* process_info() leaves those out */
};

struct monitor_item {
	enum monitor_type type;
	bool target; /* the process is monitored; else it monitors */
	/* Of a spawn_request() without an answer: process_info() leaves those out. */
	bool pending;
	/* Who monitors or is monitored: pid or port; the node's name if a process of another node
	 * is monitored by name; clock_service; MONITOR_RESOURCE, target: an address. */
	uint64_t item;
	uint64_t name, node; /* monitored by name: {Name, Node}; 0 = not */
	uint64_t ref;	     /* 0 if it has none */
	uint64_t suspended;  /* MONITOR_SUSPEND: how many times */
	bool suspend_active; /* else it is not suspended yet */
	bool alias;	     /* its reference is an alias: the monitor is part of a request */
};

struct link_list {
	VEC(struct link_item) v;
	uint64_t unreadable; /* nodes that could not be read, or cannot be what they should */
	bool cut;
};

struct monitor_list {
	VEC(struct monitor_item) v;
	uint64_t unreadable;
	bool cut;
};

/* Flags of an ErtsMonLnkNode, and those in the low bits of its ErtsMonLnkTreeNode.parent. */
#define LINK_FLAG_TARGET	(1u << 0)
#define LINK_FLAG_NAME		(1u << 3)
#define LINK_FLAG_EXTENDED	(1u << 4)
#define LINK_FLAG_SPAWN_PENDING (1u << 5)
#define LINK_PARENT_FLAGS	7ull
struct link_kind {
	uint32_t type, flags;
	bool alias; /* an alias ends with it */
};
/* The offsets are those of the layout for links, or for monitors. */
struct link_kind link_kind_of(const uint8_t *node, int32_t type_at, int32_t flags_at);

/* `links` is the address of the tree's root, as Process.common.u.alive.links has it; 0 = empty. */
void links_read(struct beam_node *n, raddr root, struct link_list *out);
/* Both the tree and the list (lt_monitors: those that are targets here). */
void monitors_read(struct beam_node *n, raddr tree, raddr list, struct monitor_list *out);
void links_free(struct link_list *l);
void monitors_free(struct monitor_list *l);

#endif
