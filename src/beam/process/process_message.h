/* SPDX-License-Identifier: BSD-2-Clause */
/* The signal queues of a process: number of messages, and their sizes.  Part of process.c. */
#ifndef EBEAM_BEAM_PROCESS_MESSAGE_H
#define EBEAM_BEAM_PROCESS_MESSAGE_H

#include "beam/process/process_internal.h"

/* Messages of longer queues are read one by one from large reads, not level by level. */
#define PROCESS_LONG_QUEUE 16

/* Bytes that every entry of a queue has: a message on the heap ends before `hfrag`
 * (ErtsMessageRef), other signals may be shorter. */
static inline size_t process_message_least(const struct beam_layout *l)
{
	return (size_t)l->message_m + 8;
}

/* Limit of the messages of one process, as many as 1.5 TiB hold.  Larger lengths are from memory
 * that is being initialised or freed. */
#define PROCESS_MESSAGES_MAX (1ll << 36)
/* Completes p->message_queue_len to the number of process_info.  -EAGAIN: the queues changed. */
int process_count_messages(struct process_reader *r, struct process_facts *p,
			   struct process_pending *q);
/* Counts a message and its words; *fragment is the address of its heap fragment that is still to be
 * read, or 0.  Ignores other signals.  -EAGAIN: it was freed meanwhile. */
int process_take_message(const struct process_reader *r, struct process_facts *p,
			 struct process_pending *q, const uint8_t *message, raddr *fragment);
/* Counts the words of a fragment of a message.  -EAGAIN: as above. */
int process_take_fragment(const struct process_reader *r, struct process_pending *q,
			  const uint8_t *fragment);
/* Reads and counts all messages, one after the other.  -EAGAIN: the queues changed. */
int process_read_messages(struct process_reader *r, struct process_facts *p,
			  struct process_pending *q);

#endif
