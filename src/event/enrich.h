/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Live only: a source over a source of raw records.  Asks the resolver, writes a definition
 * record before the first use of every id, and turns each raw sample into REC_SAMPLE.
 * Owns its dictionary; borrows `inner` and `resolver`.
 */
#ifndef EBEAM_EVENT_ENRICH_H
#define EBEAM_EVENT_ENRICH_H

#include "event/source.h"
#include "names/resolver.h"

struct enrich;

/* inner may be NULL: then only what is added comes out. */
struct enrich *enrich_open(struct source *inner, struct resolver *resolver);
void enrich_close(struct enrich *e);
/* Samples from then on stand for so many each, until the next such time, which is not before. */
void enrich_set_weight(struct enrich *e, uint32_t weight, uint64_t from_ns);
struct source *enrich_source(struct enrich *e);

/*
 * Queue records of the command's own: they come out of next() before anything newer.  The record
 * that next() returned last is no longer valid after any of these.
 */
void enrich_add_meta(struct enrich *e, const char *key, const char *value);
void enrich_add_counter(struct enrich *e, enum counter_id id, uint64_t value, uint64_t ts_ns);
/* From raw->h.ts_ns on events of this kind are watched or not; NR_EVENT_KINDS = only what the node
 * did is reported. */
void enrich_add_coverage(struct enrich *e, enum event_kind kind,
			 const struct rec_raw_coverage *raw);
/* The same of calls of C functions (EVENT_CALLS). */
void enrich_add_call_coverage(struct enrich *e, const struct rec_raw_coverage *raw);
/* What a scheduler did: as `rec` says, but for its header's type and size. */
void enrich_add_scheduler(struct enrich *e, const struct rec_scheduler *rec);
/* See EVENT_CALL_GAPS_NAME; before any record later than from_ns. */
struct enrich_call_gap {
	uint64_t site, from_ns, to_ns;
	uint32_t os_tid;
};
void enrich_add_call_gap(struct enrich *e, const struct enrich_call_gap *gap);
/* A raw record, as if the source had it. */
void enrich_add_raw(struct enrich *e, const struct rec_header *raw);
/* A sample without stack walk: a state frame (e.g. "[idle]") of a thread, weight samples. */
void enrich_add_state(struct enrich *e, uint32_t thread, const char *state, enum sample_kind kind,
		      uint32_t weight, uint64_t ts_ns);
/* A sample of the command's own: process, stack, thread of the dictionary, kind and status of *of,
 * which stands for `weight`. */
void enrich_add_sample(struct enrich *e, const struct rec_sample *of, uint64_t weight,
		       uint64_t ts_ns);
void enrich_add_end(struct enrich *e, uint64_t ts_ns);

/* Records that the resolver refused; names beyond the dictionary's limit. */
uint64_t enrich_bad_records(const struct enrich *e);
uint64_t enrich_overflows(const struct enrich *e);
/* The dictionary, for the command (threads seen so far). */
struct names *enrich_names(struct enrich *e);

#endif
