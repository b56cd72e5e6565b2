/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of `ebeam events` share. */
#ifndef EBEAM_CMD_EVENTS_H
#define EBEAM_CMD_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/jsonw.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "event/catalogue.h"
#include "event/event.h"
#include "names/names.h"

/* Takes events and definitions, live or of a capture, and writes what is asked for. */
struct events_view {
	FILE *out; /* NULL: only counts */
	bool json, stacks;
	uint64_t kinds;	     /* bit set: the others are left out */
	const char *process; /* of a capture: only events of this pid or name; NULL = all */
	uint64_t limit;	     /* events; 0 = all */
	uint64_t start_epoch_ns, start_ns; /* CLOCK_MONOTONIC; both of one moment */

	struct names *names;
	VEC(int16_t) kind_of; /* by string id: kind + 1, 0 = not looked at yet, -1 = none we know */
	struct strbuf line;
	struct jsonw w;
	uint64_t shown, by_kind[NR_EVENT_KINDS];
	uint64_t unknown, refused; /* kinds of another version; what does not decode or fit */
	uint64_t counters[NR_COUNTERS];
	bool finished;
	int write_errno; /* of the first write that failed; 0 = none */
	char node[256];
};

int events_view_open(struct events_view *v, struct error *err);
void events_view_close(struct events_view *v);
/* 1: that is enough (limit reached, or the output is gone); 0: more. */
int events_view_take(struct events_view *v, const struct rec_header *rec);

/* One event as text or JSON, into v->line, with its newline. */
void events_format(struct events_view *v, enum event_kind kind, const struct event *ev);

/* --list: the catalogue as text or JSON; with a node: what it has of it. */
struct beam_node;
int events_list(struct command_context *ctx, struct beam_node *n, struct error *err);

#endif
