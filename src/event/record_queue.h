/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that wait for whoever reads them, each after the definitions of what it refers to. */
#ifndef EBEAM_EVENT_RECORD_QUEUE_H
#define EBEAM_EVENT_RECORD_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/vec.h"
#include "names/names.h"

struct record_queue {
	uint32_t defined[NR_NAMES_TABLES]; /* highest id that has its definition record */
	VEC(uint64_t) words;		   /* whole records; words, for their alignment */
	size_t at;			   /* next record in it, in words */
};

void record_queue_free(struct record_queue *q);
/* A zeroed record of at least `size` bytes at the end of the queue; valid until the next one. */
void *record_queue_push(struct record_queue *q, enum rec_type type, size_t size, uint64_t ts_ns);
/* The first one, valid until something is pushed; NULL = there is none. */
const struct rec_header *record_queue_pop(struct record_queue *q);
/* Definition records of everything that the dictionary got since the last call. */
void record_queue_define(struct record_queue *q, const struct names *n);

#endif
