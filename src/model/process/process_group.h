/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of a dictionary (names/names.h) in groups: each by itself, or all of one name, or of
 * one initial call.  What tables of events have as rows.  Groups may be of functions, too, where
 * --by function is given: whoever counts says of which.
 *
 * Groups are dense from 0.  Group 0 holds what belongs to none: events without a process, and what
 * came when there were `max` groups already (counted).
 */
#ifndef EBEAM_MODEL_PROCESS_GROUP_H
#define EBEAM_MODEL_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idmap.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "names/names.h"

enum process_group_by {
	PROCESS_GROUP_NAME,    /* registered name, else label, else initial call, else pid */
	PROCESS_GROUP_PROCESS, /* an Erlang process, whatever its name is meanwhile */
	PROCESS_GROUP_INITIAL_CALL,
	PROCESS_GROUP_FUNCTION,
	NR_PROCESS_GROUP_BY
};

#define PROCESS_GROUPS_MAX 65536u
#define PROCESS_GROUP_REST 0u

struct process_group {
	/* Of what it is: an epid, or the id of a string or a function; see process_group.c. */
	uint64_t key;
	uint8_t what;
	uint32_t process; /* id of the newest of its processes in the dictionary; 0 = none */
};

struct process_groups {
	const struct names *names;
	enum process_group_by by;
	uint32_t max;
	VEC(struct process_group) v;
	VEC(uint32_t) of; /* by process id: its group + 1, 0 = not looked at yet */
	struct idmap index;
	uint64_t overflows; /* things that were put into group 0 because there were too many */
	bool overflowed;    /* group 0 has such things */
};

/* `max` 0 = PROCESS_GROUPS_MAX. */
void process_groups_open(struct process_groups *g, const struct names *names,
			 enum process_group_by by, uint32_t max);
void process_groups_close(struct process_groups *g);
/* Forgets all groups. */
void process_groups_restart(struct process_groups *g);
/* Forgets all groups but 0 and those with keep[group]; map[group] (both of g->v.len) = what it is
 * now, 0 of those that are forgotten.  `overflows` begins at 0 again. */
void process_groups_keep(struct process_groups *g, const bool *keep, uint32_t *map);

/* Group of a process id; by PROCESS_GROUP_FUNCTION always 0. */
uint32_t process_groups_of(struct process_groups *g, uint32_t process);
/* Group of a function id, 0 = group 0. */
uint32_t process_groups_of_function(struct process_groups *g, uint32_t function);

/* What it is called, as people and JSON read it: "code_server", "<0.80.0>", "lists:map/2"; of
 * group 0 "[others]" if something overflowed into it, else "[none]", of functions
 * "[function not known]". */
void process_group_text(const struct process_groups *g, uint32_t group, struct strbuf *out);
/* Registered name, else label, else initial call of a process; nothing if it has none of them. */
void process_group_name_of(const struct names *names, uint32_t process, struct strbuf *out);

/* "name", "process", "initial-call", "function" */
const char *process_group_by_name(enum process_group_by by);

#endif
