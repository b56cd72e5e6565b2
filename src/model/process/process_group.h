/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of processes of a dictionary (names/names.h), which are the rows of tables of events: a
 * process, or all processes of one name or initial call.  With --by function a group is a function,
 * which the caller finds for each event.
 *
 * Groups are numbered from 0.  Group 0 is for events without a process, and for those that would
 * need a new group when there are `max` already (counted in `overflows`).
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
	PROCESS_GROUP_PROCESS, /* one Erlang process, whatever its name at the time */
	PROCESS_GROUP_INITIAL_CALL,
	PROCESS_GROUP_FUNCTION,
	NR_PROCESS_GROUP_BY
};

#define PROCESS_GROUPS_MAX 65536u
#define PROCESS_GROUP_REST 0u

struct process_group {
	/* Key, whose meaning depends on `what`: see process_group.c. */
	uint64_t key;
	uint8_t what;
	uint32_t process; /* dictionary id of its newest process; 0 = none */
};

struct process_groups {
	const struct names *names;
	enum process_group_by by;
	uint32_t max;
	VEC(struct process_group) v;
	VEC(uint32_t) of; /* by process id: its group + 1, 0 = not set yet */
	struct idmap index;
	uint64_t overflows; /* assignments to group 0 because there were `max` groups */
	bool overflowed;    /* group 0 has such assignments */
};

/* max == 0: PROCESS_GROUPS_MAX. */
void process_groups_open(struct process_groups *g, const struct names *names,
			 enum process_group_by by, uint32_t max);
void process_groups_close(struct process_groups *g);
/* Forgets all groups. */
void process_groups_restart(struct process_groups *g);
/* Forgets all groups but 0 and those with keep[group].  map[group] is the new number, 0 if it is
 * forgotten; both arrays have g->v.len elements.  `overflows` begins at 0 again. */
void process_groups_keep(struct process_groups *g, const bool *keep, uint32_t *map);

/* Group of a process id; 0 for PROCESS_GROUP_FUNCTION. */
uint32_t process_groups_of(struct process_groups *g, uint32_t process);
/* Number of processes for which process_groups_of() returned the group. */
uint32_t process_groups_members(const struct process_groups *g, uint32_t group);
/* Group of a function id; 0 for function id 0. */
uint32_t process_groups_of_function(struct process_groups *g, uint32_t function);

/* Name of a group, as displayed and in JSON: "code_server", "<0.80.0>", "lists:map/2"; of group 0
 * "[others]" if it has overflows, else "[none]", for functions "[function not known]". */
void process_group_text(const struct process_groups *g, uint32_t group, struct strbuf *out);
/* Appends registered name, else label, else initial call of a process; nothing if it has none. */
void process_group_name_of(const struct names *names, uint32_t process, struct strbuf *out);

/* "name", "process", "initial-call", "function" */
const char *process_group_by_name(enum process_group_by by);

#endif
