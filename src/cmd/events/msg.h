/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam msg`: what its files share. */
#ifndef EBEAM_CMD_MSG_H
#define EBEAM_CMD_MSG_H

#include "cmd/run/event_run.h"
#include "model/stats/message_stats.h"

struct msg {
	struct command_context *ctx;
	struct event_run *run;
	struct message_stats stats;
	uint64_t kinds; /* that are watched */
	bool opened;
};

struct msg_row {
	const struct msg_view *view; /* for its numbers */
	uint32_t from, to;	     /* ends; UINT32_MAX = any */
	struct message_counts n;
	double share;
};

struct msg_view {
	const struct message_stats *stats;
	uint64_t span_ns;
	uint64_t box_span_ns; /* until the lengths of mailboxes were read */
	struct msg_row *rows;
	size_t nr_rows;
	struct mailbox **boxes; /* those that grew most first, then the longest */
	size_t nr_boxes;
};

/* -s and -c, before anything is watched. */
int msg_check(const struct options *o, struct error *err);
/* One answer. */
int msg_show(struct msg *m, struct error *err);
int msg_json(struct msg *m, struct msg_view *v, struct error *err);

double msg_per_second(const struct msg_view *v, double n);
double msg_growth_rate(const struct msg_view *v, const struct mailbox *b);
/* Indices of rows as -s and `limit` (0 = all) want them; malloc'ed. */
int msg_order(const struct msg *m, const struct msg_view *v, unsigned int limit, size_t **order,
	      size_t *nr, struct error *err);
double msg_row_bytes(const struct msg_row *r);
/* The least part that was seen of any kind that is watched. */
double msg_share(const struct msg *m);
const struct name_process *msg_process(const struct msg_view *v, const struct mailbox *b);
/* Most messages first, but [0], which is what did not fit. */
void msg_sort_nodes(struct msg *m);
void msg_node_text(const struct msg *m, const struct message_node *n, struct strbuf *out);

#endif
