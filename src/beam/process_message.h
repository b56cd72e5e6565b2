/* SPDX-License-Identifier: BSD-2-Clause */
/* The signal queues of a process: how many messages, and what they hold.  Part of process.c. */
#ifndef EBEAM_BEAM_PROCESS_MESSAGE_H
#define EBEAM_BEAM_PROCESS_MESSAGE_H

#include "beam/process_internal.h"

/* More messages than these are read in a row, many with one read, instead of level by level. */
#define PROCESS_LONG_QUEUE 16

/* Makes p->message_queue_len what process_info has.  -EAGAIN: it would not stand still. */
int process_count_messages(struct process_reader *r, struct process_facts *p,
			   struct process_pending *q);
/* Counts a message and its words; returns the address of a fragment that is still to be read. */
raddr process_take_message(const struct process_reader *r, struct process_facts *p,
			   struct process_pending *q, const uint8_t *message);
/* All messages, one after the other. */
int process_read_messages(struct process_reader *r, struct process_facts *p,
			  struct process_pending *q);

#endif
