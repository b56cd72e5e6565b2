/* SPDX-License-Identifier: BSD-2-Clause */
/* The signal queues of a process: how many messages, and what they hold.  Part of process.c. */
#ifndef EBEAM_BEAM_PROCESS_MESSAGE_H
#define EBEAM_BEAM_PROCESS_MESSAGE_H

#include "beam/process/process_internal.h"

/* More messages than these are read in a row, many with one read, instead of level by level. */
#define PROCESS_LONG_QUEUE 16

/* Bytes that each thing in a queue has: a message on the heap ends before `hfrag`
 * (ErtsMessageRef), a signal even sooner. */
static inline size_t process_message_least(const struct beam_layout *l)
{
	return (size_t)l->message_m + 8;
}

/* Messages of one process: as many as 1.5 TiB hold.  A length beyond is what memory held that is
 * being given to a new process, or taken from one. */
#define PROCESS_MESSAGES_MAX (1ll << 36)
/* Makes p->message_queue_len what process_info has.  -EAGAIN: it would not stand still. */
int process_count_messages(struct process_reader *r, struct process_facts *p,
			   struct process_pending *q);
/* Counts a message and its words; *fragment is the address of one that is still to be read, or 0.
 * -EAGAIN: it cannot be one. */
int process_take_message(const struct process_reader *r, struct process_facts *p,
			 struct process_pending *q, const uint8_t *message, raddr *fragment);
/* The same for a fragment. */
int process_take_fragment(const struct process_reader *r, struct process_pending *q,
			  const uint8_t *fragment);
/* All messages, one after the other. */
int process_read_messages(struct process_reader *r, struct process_facts *p,
			  struct process_pending *q);

#endif
