/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answer of `ebeam msg`: who sends to whom, growing mailboxes, messages to other nodes, sizes.
 * Numbers are estimates for all messages, if not all were seen.
 */
#ifndef EBEAM_VIEW_MSG_H
#define EBEAM_VIEW_MSG_H

#include "base/histogram.h"
#include "view/table/answer_view.h"

struct msg_counts {
	uint64_t messages, without_size; /* without_size: those whose size is not known */
	uint64_t bytes;			 /* copied for the receivers */
	double messages_per_s, bytes_per_s;
};

struct msg_row {
	const char *from, *to; /* NULL = any */
	struct msg_counts n;
};

struct msg_box {
	const char *pid, *name; /* NULL = not known */
	uint64_t len, max_len, queued, queued_bytes;
	uint64_t received; /* UINT64_MAX = not known */
	double growth, growth_per_s;
	double full_in_s; /* until MAILBOX_FULL_MESSAGES or _BYTES; NAN = no or slow growth */
};

struct msg_node {
	const char *name;
	uint64_t messages;
};

struct msg_answer {
	uint64_t span_ns;
	double share_seen;	  /* coverage of the event kind with the lowest one, 0 .. 1 */
	const char *by, *rows_of; /* --by; what a row stands for: "pair" and others */
	bool has_from, has_to;	  /* rows have `from`, `to` */
	const char *estimate;	  /* all.messages as text */
	struct msg_counts all;
	/* Messages: to other nodes; beyond limits (message_stats_overflows()); to mailboxes beyond
	 * max_boxes. */
	uint64_t to_nodes, overflows, lost_boxes;
	unsigned int max_boxes;
	bool boxes_asked;	/* lengths were read from the node, else from the last messages */
	struct msg_row *rows;	/* most messages first */
	struct msg_box *boxes;	/* largest growth first */
	struct msg_node *nodes; /* [0] = nodes beyond the limit; then most messages first */
	size_t nr_rows, nr_boxes, nr_nodes;
	const struct histogram *sizes; /* words */
	double sizes_scale;
};

/* The columns of struct msg_row. */
const struct table_column *msg_columns(bool has_from, bool has_to);
extern const struct answer_view msg_view; /* of struct msg_answer */

#endif
