/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who sends how much to whom, and which mailboxes grow: from message_send, message_queued and
 * message_receive.
 *
 * A message is counted once: where a process sends it (message_send, to a process, an alias or
 * another node), or where it is queued if no process of this node sent it (ports, timers, other
 * nodes).  Where message_send is not among what is watched all are counted where they are queued.
 * Counts are of what was seen; who shows them scales by share() of the same row.
 *
 * All tables are bounded; what does not fit any more is counted under [others].
 */
#ifndef EBEAM_MODEL_MESSAGE_STATS_H
#define EBEAM_MODEL_MESSAGE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "model/process/process_group.h"
#include "model/stream/event_stream.h"

/* Who reads them costs more than it tells. */
#define MESSAGE_DEFAULT_KINDS (1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED)
#define MESSAGE_KINDS                                                                              \
	(1ull << EVENT_MESSAGE_SEND | 1ull << EVENT_MESSAGE_QUEUED | 1ull << EVENT_MESSAGE_RECEIVE)

#define MESSAGE_ENDS_MAX      65536u
#define MESSAGE_PAIRS_MAX     131072u
#define MESSAGE_MAILBOXES_MAX 65536u
#define MESSAGE_NODES_MAX     1024u
#define MESSAGE_UNDECIDED_MAX 1024u

/* A mailbox is called full at so many messages or bytes of messages: Erlang has no limit, but a
 * node gets slow, and then out of memory. */
#define MAILBOX_FULL_MESSAGES 1000000u
#define MAILBOX_FULL_BYTES    (1ull << 30)
/* What is further away than this is no forecast. */
#define MAILBOX_FULL_SOON_NS (86400ull * 1000000000u)
/* What a mailbox must have in it, or must have grown by all the time, to be worth a line. */
#define MAILBOX_LONG  100
#define MAILBOX_GROWN 10

/* What tables of messages have as rows. */
enum message_rows {
	MESSAGE_ROWS_PAIR,
	MESSAGE_ROWS_SENDER,
	MESSAGE_ROWS_RECEIVER,
	NR_MESSAGE_ROWS
};

/* "pair", "sender", "receiver" */
const char *message_rows_name(enum message_rows by);

/* From or to whom. */
enum message_end_type {
	MESSAGE_END_OTHERS,  /* of the first one only: what did not fit */
	MESSAGE_END_PROCESS, /* id = group of processes */
	MESSAGE_END_SOURCE,  /* id = string: a port, a process elsewhere, a part of the VM */
	MESSAGE_END_NAME,    /* id = string: a registered name, at another node */
	MESSAGE_END_NODE,    /* a process of another node */
	MESSAGE_END_UNKNOWN,
};

struct message_counts {
	uint64_t messages;
	uint64_t words;	  /* that were copied, of those whose size is known */
	uint64_t unsized; /* messages whose size is not known */
};

struct message_end {
	enum message_end_type type;
	uint32_t id, node; /* node: string, 0 = this one */
	struct message_counts sent, received;
};

struct message_pair {
	uint32_t from, to; /* ends */
	struct message_counts n;
};

struct message_node {
	uint32_t node; /* string; 0 of the last: what did not fit */
	uint64_t messages;
};

struct mailbox {
	uint64_t epid;
	uint32_t process; /* newest id in the dictionary */
	bool gone;	  /* the process has exited (set by mailbox_set()) */
	bool touched;	  /* since the start of the interval */
	bool asked;	  /* the node, for this answer */
	/* Length when the interval began, as far as it is known: before the first message that was
	 * seen; and the one known last.  The largest in between. */
	uint64_t first_len, len, max_len;
	uint64_t first_ns, last_ns; /* when messages came in the interval; 0 = none did */
	uint64_t received;	    /* by receive; only if message_receive was watched */
	struct message_counts queued;
};

/* Queued by a process of this node, while it is open whether its message_send will be reported. */
struct message_undecided {
	uint32_t from, process;
	uint64_t words;
};

struct message_stats {
	struct event_stream *stream;
	uint64_t kinds; /* that are watched, as far as it is known */
	bool sends;	/* message_send has been seen */
	bool queues;	/* it has not, for so long that it will not be */
	VEC(struct message_undecided) undecided;
	struct process_groups groups;
	VEC(struct message_end) ends;	/* [0] = others */
	VEC(struct message_pair) pairs; /* [0] = others */
	VEC(struct mailbox) boxes;
	VEC(struct message_node) nodes; /* [0] = others */
	struct idmap end_index, pair_index, box_index;
	uint32_t max_ends, max_pairs, max_boxes; /* tests lower them */
	struct message_counts all;
	uint64_t received;	/* message_receive */
	uint64_t lost_boxes;	/* messages to processes beyond max_boxes */
	uint64_t lost_ends;	/* senders and receivers of messages beyond max_ends */
	uint64_t lost_pairs;	/* messages of pairs beyond max_pairs */
	struct histogram sizes; /* words */
};

/* kinds: bit set, of those that may come. */
void message_stats_open(struct message_stats *m, struct event_stream *stream,
			enum process_group_by by, uint64_t kinds);
void message_stats_close(struct message_stats *m);
/* Counts and groups begin at 0 again; lengths of mailboxes stay. */
void message_stats_restart(struct message_stats *m);

void message_stats_take(struct message_stats *m, enum event_kind kind, const struct event *ev);
/* Before counts are read: decides what was left open. */
void message_stats_settle(struct message_stats *m);

/* Part of the messages of a pair that was seen; of what an end sent. */
double message_share(const struct message_stats *m, const struct message_end *from);
/* The same of all messages, and of what an end got. */
double message_share_all(const struct message_stats *m);
/* What had to be put under [others], and messages to mailboxes of which no length is kept. */
uint64_t message_stats_overflows(const struct message_stats *m);

/* "code_server", "<0.80.0>", "name at a@b", "a@b", "#Port<0.5>", "[others]", "[unknown]". */
void message_end_text(const struct message_stats *m, uint32_t end, struct strbuf *out);

/* What the node says now: its length, or that the process is gone. */
void mailbox_set(struct mailbox *b, bool gone, uint64_t len);
/* Messages more than when the interval began; negative if it became shorter. */
int64_t mailbox_growth(const struct mailbox *b);
/* Worth to be reported: long, or growing for most of the interval. */
bool mailbox_is_notable(const struct mailbox *b, uint64_t span_ns);
/* Time until it is full if it goes on like this; UINT64_MAX: it does not grow, or not so fast that
 * it will be within MAILBOX_FULL_SOON_NS. 0: it is. */
uint64_t mailbox_full_in_ns(const struct mailbox *b, uint64_t span_ns);

#endif
