/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages under way: each send is matched with the next receive of the same two processes, in
 * order.  Bounded: beyond FLOWS_MAX messages or pairs of processes, sends have no flow. */
#ifndef EBEAM_MODEL_FLOWS_H
#define EBEAM_MODEL_FLOWS_H

#include <stdint.h>

#define FLOWS_MAX (1u << 16)

struct flows;

struct flow_point {
	uint64_t ts_ns;
	uint32_t tid;
};

struct flows *flows_open(void);
void flows_close(struct flows *f);
/* Adds a message.  from, to: ids of the two processes, of any kind; 0 = unknown. */
void flows_begin(struct flows *f, uint32_t from, uint32_t to, const struct flow_point *at);
/* Removes the oldest message between the two: *at = its send; returns a unique id, 0 = none. */
uint64_t flows_end(struct flows *f, uint32_t from, uint32_t to, struct flow_point *at);
/* Number of sends without a receive, or beyond the limit. */
uint64_t flows_unmatched(const struct flows *f);

#endif
