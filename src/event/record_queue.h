/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that wait to be read, each after the definitions of the ids in it.  Of definitions the
 * queue only has the last ids: each is made when it is read. */
#ifndef EBEAM_EVENT_RECORD_QUEUE_H
#define EBEAM_EVENT_RECORD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"
#include "names/names.h"

struct record_queue {
	const struct names *names;	   /* borrowed, from the first record_queue_define() on */
	uint32_t defined[NR_NAMES_TABLES]; /* highest id with a definition that was read */
	uint32_t wanted[NR_NAMES_TABLES];  /* the same that the record to be read next may need */
	uint32_t pushed[NR_NAMES_TABLES];  /* the same that the last pushed record may need */
	VEC(uint64_t) definition;	   /* the one that was returned last */
	VEC(uint64_t) words;		   /* whole records, in words for alignment */
	size_t at;			   /* next record in words[] */
};

void record_queue_free(struct record_queue *q);
/* Appends a zeroed record of at least `size` bytes; valid until the next call. */
void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns);
/* Takes the first record, valid until something is pushed or read; NULL = the queue is empty. */
const struct rec_header *record_queue_pop(struct record_queue *q);
/* Records pushed from now on come after definitions of all that is in the dictionary now.  `n` is
 * the same in each call and must outlive the queue. */
void record_queue_define(struct record_queue *q, const struct names *n);

#endif
