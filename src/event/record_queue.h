/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records that wait for whoever reads them, each after the definitions of what it refers to.  Of
 * definitions the queue holds only how far they go: each is made when it is read.
 */
#ifndef EBEAM_EVENT_RECORD_QUEUE_H
#define EBEAM_EVENT_RECORD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"
#include "names/names.h"

struct record_queue {
	const struct names *names;	   /* borrowed, from the first record_queue_define() on */
	uint32_t defined[NR_NAMES_TABLES]; /* highest id whose definition was read */
	uint32_t wanted[NR_NAMES_TABLES];  /* ... that the record to be read next may refer to */
	uint32_t pushed[NR_NAMES_TABLES];  /* ... that the last record may refer to */
	VEC(uint64_t) definition;	   /* the one that was read last */
	VEC(uint64_t) words;		   /* whole records; words, for their alignment */
	size_t at;			   /* next record in it, in words */
};

void record_queue_free(struct record_queue *q);
/* A zeroed record of at least `size` bytes at the end of the queue; valid until the next one. */
void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns);
/* The first one, valid until something is pushed or read; NULL = there is none. */
const struct rec_header *record_queue_pop(struct record_queue *q);
/* What is pushed next comes behind the definitions of everything that the dictionary has now, which
 * is the same one in each call and outlives the queue. */
void record_queue_define(struct record_queue *q, const struct names *n);

#endif
