/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of `ebeam events`. */
#ifndef EBEAM_CMD_EVENTS_H
#define EBEAM_CMD_EVENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/jsonw.h"
#include "cmd/command/command.h"
#include "model/stream/event_stream.h"

/* Formats events as lines. */
struct events_format {
	const struct event_stream *stream;
	bool json, stacks;
	struct strbuf line; /* the last one, with its newline */
	struct jsonw w;
};

void events_format_open(struct events_format *v);
void events_format_close(struct events_format *v);
/* One event as text or JSON, into v->line. */
void events_format(struct events_format *v, enum event_kind kind, const struct event *ev);

/* --count. */
int events_count(struct command_context *ctx, uint64_t kinds, struct error *err);

/* --list: the catalogue of kinds as text or JSON; with a node: which of them it has. */
struct beam_node;
int events_list(struct command_context *ctx, struct beam_node *n, struct error *err);

#endif
