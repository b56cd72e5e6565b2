/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who sends how many messages to whom, and which mailboxes grow: from message_send, message_queued
 * and message_receive.
 *
 * A message is counted once: where a process sends it (message_send, to a process, an alias or
 * another node), or where it is queued if no process of this node sent it (ports, timers, other
 * nodes).  If message_send is not watched, all are counted where they are queued.  Counts are of
 * events that were seen; the caller divides them by message_share() of the row.
 *
 * All tables are bounded; messages that would need a further row count under [others].
 */
#ifndef EBEAM_MODEL_MESSAGE_STATS_H
#define EBEAM_MODEL_MESSAGE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "model/process/process_group.h"
#include "model/stream/event_stream.h"

/* Without message_receive, which costs more than it is worth. */
#define MESSAGE_DEFAULT_KINDS (1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED)
#define MESSAGE_KINDS                                                                              \
	(1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED | 1ull << EVENT_MESSAGE_RECEIVE)

#define MESSAGE_ENDS_MAX      65536u
#define MESSAGE_PAIRS_MAX     131072u
#define MESSAGE_MAILBOXES_MAX 65536u
#define MESSAGE_NODES_MAX     1024u
#define MESSAGE_UNDECIDED_MAX 1024u

/* A mailbox counts as full with so many messages or bytes of messages.  Erlang has no limit, but
 * the node gets slow, and then runs out of memory. */
#define MAILBOX_FULL_MESSAGES 1000000u
#define MAILBOX_FULL_BYTES    (1ull << 30)
/* Forecasts beyond this time are not made. */
#define MAILBOX_FULL_SOON_NS (86400ull * 1000000000u)
/* Mailboxes are reported if they have MAILBOX_LONG messages, or steadily grew by MAILBOX_GROWN. */
#define MAILBOX_LONG  100
#define MAILBOX_GROWN 10

/* What a row of a table of messages is. */
enum message_rows {
	MESSAGE_ROWS_PAIR,
	MESSAGE_ROWS_SENDER,
	MESSAGE_ROWS_RECEIVER,
	NR_MESSAGE_ROWS
};

/* "pair", "sender", "receiver" */
const char *message_rows_name(enum message_rows by);

/* One end of a message: a sender or a receiver. */
enum message_end_type {
	MESSAGE_END_OTHERS,  /* the first element: what is beyond the limit */
	MESSAGE_END_PROCESS, /* id = group of processes */
	MESSAGE_END_SOURCE,  /* id = string: a port, a process of another node, a part of the VM */
	MESSAGE_END_NAME,    /* id = string: a registered name at another node */
	MESSAGE_END_NODE,    /* a process of another node */
	MESSAGE_END_UNKNOWN,
};

struct message_counts {
	uint64_t messages;
	uint64_t words;	  /* copied words, of messages with known size */
	uint64_t unsized; /* messages whose size is not known */
};

struct message_end {
	enum message_end_type type;
	uint32_t id, node; /* node: string id, 0 = this node */
	struct message_counts sent, received;
};

struct message_pair {
	uint32_t from, to; /* indices in ends */
	struct message_counts n;
};

struct message_node {
	uint32_t node; /* string id; 0 in the first: what is beyond the limit */
	uint64_t messages;
};

struct mailbox {
	uint64_t epid;
	uint32_t process; /* newest id in the dictionary */
	bool gone;	  /* has exited (set by mailbox_set()) */
	bool touched;	  /* had messages in this interval */
	bool asked;	  /* its length was read from the node, for the current answer */
	/* Known lengths: before the first message of the interval that was seen, the latest, and
	 * the largest. */
	uint64_t first_len, len, max_len;
	uint64_t first_ns, last_ns; /* of messages that were queued in the interval; 0 = none */
	uint64_t received;	    /* taken by receive; only if message_receive is watched */
	struct message_counts queued;
};

/* A message queued by a process of this node, while it is not known whether message_send is
 * watched. */
struct message_undecided {
	uint32_t from, process;
	uint64_t words;
};

struct message_stats {
	struct event_stream *stream;
	uint64_t kinds; /* watched kinds, as far as known */
	bool sends;	/* message_send was seen, so it is watched */
	bool queues;	/* queued messages had no message_send, so it is not watched */
	VEC(struct message_undecided) undecided;
	struct process_groups groups;
	VEC(struct message_end) ends;	/* [0] = others */
	VEC(struct message_pair) pairs; /* [0] = others */
	VEC(struct mailbox) boxes;
	VEC(struct message_node) nodes; /* [0] = others */
	struct idmap end_index, pair_index, box_index;
	uint32_t max_ends, max_pairs, max_boxes; /* tests set lower ones */
	struct message_counts all;
	uint64_t received;	/* events of message_receive */
	uint64_t lost_boxes;	/* messages to mailboxes beyond max_boxes */
	uint64_t lost_ends;	/* messages with ends beyond max_ends */
	uint64_t lost_pairs;	/* messages of pairs beyond max_pairs */
	struct histogram sizes; /* words */
};

/* kinds: bit set of the event kinds that may be passed to message_stats_take(). */
void message_stats_open(struct message_stats *m, struct event_stream *stream,
			enum process_group_by by, uint64_t kinds);
void message_stats_close(struct message_stats *m);
/* Resets counts and groups for the next interval; lengths of mailboxes stay. */
void message_stats_restart(struct message_stats *m);

void message_stats_take(struct message_stats *m, enum event_kind kind, const struct event *ev);
/* To be called before counts are read: counts messages that were undecided. */
void message_stats_settle(struct message_stats *m);

/* Share (0..1) that was seen of the messages from this sender. */
double message_share(const struct message_stats *m, const struct message_end *from);
/* Share that was seen of all messages, and of those that an end received. */
double message_share_all(const struct message_stats *m);
/* Number of overflows: counts under [others], and messages to mailboxes without a row. */
uint64_t message_stats_overflows(const struct message_stats *m);

/* "code_server", "<0.80.0>", "name at a@b", "a@b", "#Port<0.5>", "[others]", "[unknown]". */
void message_end_text(const struct message_stats *m, uint32_t end, struct strbuf *out);

/* Sets what was read from the node: the length, or that the process has exited. */
void mailbox_set(struct mailbox *b, bool gone, uint64_t len);
/* Change of length in the interval, in messages. */
int64_t mailbox_growth(const struct mailbox *b);
/* True if the mailbox is long, or grew for most of the interval, which is span_ns long. */
bool mailbox_is_notable(const struct mailbox *b, uint64_t span_ns);
/* Time until the mailbox is full if growth goes on; 0: it is full; UINT64_MAX: it does not grow, or
 * needs more than MAILBOX_FULL_SOON_NS. */
uint64_t mailbox_full_in_ns(const struct mailbox *b, uint64_t span_ns);

#endif
