/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue of records, each preceded by the definitions of the ids to which it refers.  Definitions
 * are not stored, but made from the dictionary when they are popped. */
#ifndef EBEAM_EVENT_RECORD_QUEUE_H
#define EBEAM_EVENT_RECORD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"
#include "names/names.h"

struct record_queue {
	const struct names *names;	   /* borrowed, from the first record_queue_define() on */
	uint32_t defined[NR_NAMES_TABLES]; /* highest id whose definition was popped */
	uint32_t wanted[NR_NAMES_TABLES];  /* highest id that the next record may refer to */
	uint32_t pushed[NR_NAMES_TABLES];  /* highest id that the last pushed record may refer to */
	VEC(uint64_t) definition;	   /* the record of the definition that was popped last */
	VEC(uint64_t) words;		   /* whole records, in words for alignment */
	size_t at;			   /* index in words[] of the next record */
};

void record_queue_free(struct record_queue *q);
/* Appends a zeroed record of at least `size` bytes; valid until the next call. */
void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns);
/* Removes the first record or definition; it is valid until the next push or pop.  NULL = the queue
 * is empty. */
const struct rec_header *record_queue_pop(struct record_queue *q);
/* Records that are pushed after this call come after the definitions of all names that are in the
 * dictionary now.  `n` is the same in each call and must outlive the queue. */
void record_queue_define(struct record_queue *q, const struct names *n);

#endif
